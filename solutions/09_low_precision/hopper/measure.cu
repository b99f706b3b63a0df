// gemm_hopper beside cuBLASLt in the same run, in bf16 and e4m3. For GPUs of compute capability 9.0:
//   cmake --build build --target lab09.hopper.measure && build/bin/lab09.hopper.measure
// checks ragged shapes, then prints the measurements as JSON.
#include <cublasLt.h>
#include <cuda_fp8.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hopper.hpp"
#include "lab/device.hpp"

namespace lab09 {

/// B (n, k); defined by the solution, and no part of the contract.
void gemm_hopper(bf16* c, const __nv_fp8_e4m3* a, const __nv_fp8_e4m3* b, int m, int n, int k, cudaStream_t stream);

}  // namespace lab09

namespace {

using lab09::bf16;
using e4m3 = __nv_fp8_e4m3;

// ---- The rival -----------------------------------------------------------------------------------------------------

void check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "hopper: %s failed with status %d\n", what, status);
  std::exit(1);
}

class rival {
 public:
  rival() {
    check(cublasLtCreate(&handle_), "cublasLtCreate");
    LAB_CUDA_CHECK(cudaMalloc(&workspace_, workspace_bytes));
  }
  rival(const rival&) = delete;
  rival& operator=(const rival&) = delete;
  ~rival() {
    cublasLtDestroy(handle_);
    cudaFree(workspace_);
  }

  /// The same product by cuBLASLt, with its first choice of algorithm and, in e4m3, fast accumulation.
  template <class T>
  void gemm(bf16* c, const T* a, const T* b, int m, int n, int k) {
    // cuBLAS's matrices are column-major: C^T (n, m) = B^T A^T.
    const cudaDataType_t type = sizeof(T) == 2 ? CUDA_R_16BF : CUDA_R_8F_E4M3;
    const cublasOperation_t of_b = sizeof(T) == 2 ? CUBLAS_OP_N : CUBLAS_OP_T;
    if (m != m_ || n != n_ || k != k_ || type != type_) {
      check(cublasLtMatmulDescCreate(&what_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
      check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_TRANSA, &of_b, sizeof of_b), "TRANSA");
      const std::int8_t fast = sizeof(T) == 1;
      check(cublasLtMatmulDescSetAttribute(what_, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast), "FAST_ACCUM");
      const bool whole = of_b == CUBLAS_OP_N;
      check(cublasLtMatrixLayoutCreate(&b_, type, whole ? n : k, whole ? k : n, whole ? n : k), "layout of B");
      check(cublasLtMatrixLayoutCreate(&a_, type, k, m, k), "layout of A");
      check(cublasLtMatrixLayoutCreate(&c_, CUDA_R_16BF, n, m, n), "layout of C");
      cublasLtMatmulPreference_t wish;
      check(cublasLtMatmulPreferenceCreate(&wish), "preference");
      const std::size_t bytes = workspace_bytes;
      check(cublasLtMatmulPreferenceSetAttribute(wish, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes),
            "workspace");
      int found = 0;
      check(cublasLtMatmulAlgoGetHeuristic(handle_, what_, b_, a_, c_, c_, wish, 1, &how_, &found), "heuristic");
      check(found == 1 ? 0 : 1, "finding an algorithm");
      m_ = m, n_ = n, k_ = k, type_ = type;
    }
    const float one = 1, zero = 0;
    check(cublasLtMatmul(handle_, what_, &one, b, b_, a, a_, &zero, c, c_, c, c_, &how_.algo, workspace_,
                         workspace_bytes, nullptr),
          "cublasLtMatmul");
  }

 private:
  static constexpr std::size_t workspace_bytes = 64u << 20;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  cublasLtMatmulDesc_t what_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, c_ = nullptr;
  cublasLtMatmulHeuristicResult_t how_{};
  cudaDataType_t type_ = CUDA_R_32F;
  int m_ = 0, n_ = 0, k_ = 0;
};

// ---- Check and measure ---------------------------------------------------------------------------------------------

template <class T>
__global__ void fill(T* x, std::size_t n, unsigned seed) {
  for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < n;
       i += std::size_t{gridDim.x} * blockDim.x) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + seed;
    h = (h ^ h >> 16) * 2246822519u;
    x[i] = T(static_cast<float>((h ^ h >> 13) & 0xffff) / 32768.0f - 1.0f);
  }
}

/// error[0]: the largest |got - sum| over the sum of |a b|, over elements spread over C, sums in double.
template <class T>
__global__ void errors(float* error, const bf16* got, const T* a, const T* b, int m, int n, int k, int every) {
  const std::size_t size = static_cast<std::size_t>(m) * n;
  for (std::size_t i = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * every; i < size;
       i += std::size_t{gridDim.x} * blockDim.x * every) {
    const std::size_t r = i / n, q = i % n;
    double sum = 0, size_of_sum = 0;
    for (int j = 0; j < k; ++j) {
      const double term =
          double(float(a[r * k + j])) * double(float(sizeof(T) == 2 ? b[std::size_t(j) * n + q] : b[q * k + j]));
      sum += term;
      size_of_sum += fabs(term);
    }
    const float off = static_cast<float>(fabs(double(float(got[i])) - sum) / size_of_sum);
    atomicMax(reinterpret_cast<int*>(error), __float_as_int(off == off ? off : 1e30f));  // a NaN is as wrong as can be
  }
}

template <class T>
struct matrices {
  matrices(int m_, int n_, int k_) : m(m_), n(n_), k(k_) {
    LAB_CUDA_CHECK(cudaMalloc(&a, sizeof(T) * m * k));
    LAB_CUDA_CHECK(cudaMalloc(&b, sizeof(T) * k * n));
    LAB_CUDA_CHECK(cudaMalloc(&c, sizeof(bf16) * m * n));
    LAB_CUDA_CHECK(cudaMalloc(&error, sizeof(float)));
    fill<<<1024, 256>>>(a, static_cast<std::size_t>(m) * k, 1);
    fill<<<1024, 256>>>(b, static_cast<std::size_t>(k) * n, 77);
  }
  matrices(const matrices&) = delete;
  matrices& operator=(const matrices&) = delete;
  ~matrices() {
    for (void* p : {static_cast<void*>(a), static_cast<void*>(b), static_cast<void*>(c), static_cast<void*>(error)})
      cudaFree(p);
  }
  template <class F>
  float error_of(F&& compute, int every) {
    LAB_CUDA_CHECK(cudaMemset(c, 0xff, sizeof(bf16) * m * n));
    LAB_CUDA_CHECK(cudaMemset(error, 0, sizeof(float)));
    compute();
    errors<<<1024, 256>>>(error, c, a, b, m, n, k, every);
    float result;
    LAB_CUDA_CHECK(cudaMemcpy(&result, error, sizeof result, cudaMemcpyDeviceToHost));
    return result;
  }
  std::size_t m, n, k;
  T *a, *b;
  bf16* c;
  float* error;
};

/// Milliseconds of one call, by events.
template <class F>
float milliseconds(F&& compute) {
  static cudaEvent_t from, to;
  static const bool made = (cudaEventCreate(&from), cudaEventCreate(&to), true);
  static_cast<void>(made);
  LAB_CUDA_CHECK(cudaEventRecord(from));
  compute();
  LAB_CUDA_CHECK(cudaEventRecord(to));
  LAB_CUDA_CHECK(cudaEventSynchronize(to));
  float result;
  LAB_CUDA_CHECK(cudaEventElapsedTime(&result, from, to));
  return result;
}

float quantile(std::vector<float> x, double q) {
  std::sort(x.begin(), x.end());
  return x[static_cast<std::size_t>(q * static_cast<double>(x.size() - 1))];
}

template <class T>
void check_shapes(const char* format) {
  // A bf16 result is off by 2^-9 of itself; tensor cores add e4m3 products with about 14 bits.
  const float most = sizeof(T) == 2 ? 0.004f : 0.006f;
  const int granule = 16 / sizeof(T);
  for (const auto& [m, n, k] : {std::array{1, 8, granule},
                                {127, 264, 5 * granule},
                                {129, 520, 1000 / granule * granule},
                                {256, 256, 64},
                                {1000, 776, 2048},
                                {3000, 2504, 1024}}) {
    matrices<T> x(m, n, k);
    const float error = x.error_of([&] { lab09::gemm_hopper(x.c, x.a, x.b, m, n, k, nullptr); }, 1);
    if (error <= most) continue;
    std::fprintf(stderr, "hopper: %s, %d x %d x %d is off by %g\n", format, m, n, k, error);
    std::exit(1);
  }
}

template <class T>
void measure(const char* format, rival& other) {
  for (const int n : {4096, 8192}) {
    matrices<T> x(n, n, n);
    const auto mine = [&] { lab09::gemm_hopper(x.c, x.a, x.b, n, n, n, nullptr); };
    const auto theirs = [&] { other.gemm(x.c, x.a, x.b, n, n, n); };
    const float error = x.error_of(mine, 9973), theirs_error = x.error_of(theirs, 9973);
    std::vector<float> ratio, flops, others;
    for (int i = 0; i < 60; ++i) {  // in alternating order; the clock falls under this load, for both
      const bool first = i % 2 == 0;
      float a = first ? milliseconds(mine) : 0, b = milliseconds(theirs);
      if (!first) a = milliseconds(mine);
      if (i < 10) continue;
      ratio.push_back(b / a);
      flops.push_back(2e-9f * n * n * static_cast<float>(n) / a);
      others.push_back(2e-9f * n * n * static_cast<float>(n) / b);
    }
    std::printf(
        "%s{\"format\": \"%s\", \"size\": %d, \"ratio\": %.4f, \"ratio_10\": %.4f, \"ratio_90\": %.4f, \"tflops\": "
        "%.1f, \"cublas_tflops\": %.1f, \"error\": %.5f, \"cublas_error\": %.5f}",
        sizeof(T) == 2 && n == 4096 ? "[\n  " : ",\n  ", format, n, quantile(ratio, 0.5), quantile(ratio, 0.1),
        quantile(ratio, 0.9), quantile(flops, 0.5), quantile(others, 0.5), error, theirs_error);
  }
}

}  // namespace

int main() {
  check_shapes<bf16>("bf16");
  check_shapes<e4m3>("e4m3");
  rival other;
  measure<bf16>("bf16", other);
  measure<e4m3>("e4m3", other);
  std::printf("\n]\n");
}
