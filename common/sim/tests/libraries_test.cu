// cuBLAS and cuRAND as programs call them.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cufft.h>
#include <curand.h>
#include <curand_kernel.h>
#include <gtest/gtest.h>

#include <nvtx3/nvToolsExt.h>

#include <cmath>
#include <complex>
#include <vector>

namespace {

struct Blas : testing::Test {
  void SetUp() override { ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS); }
  void TearDown() override {
    cublasDestroy(handle);
    cudaDeviceReset();
  }
  template <class T>
  T* managed(std::size_t n) {
    T* data = nullptr;
    EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
    return data;
  }
  cublasHandle_t handle = nullptr;
};

/// D = epilogue(A^T B + bias) by cublasLt; A is (k, m), B is (k, n).
struct lt_product {
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  lt_product(int m, int n, int k) {
    const cublasOperation_t turned = CUBLAS_OP_T;
    EXPECT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned);
    cublasLtMatrixLayoutCreate(&a, CUDA_R_32F, k, m, k);
    cublasLtMatrixLayoutCreate(&b, CUDA_R_32F, k, n, k);
    cublasLtMatrixLayoutCreate(&d, CUDA_R_32F, m, n, m);
  }
  ~lt_product() {
    for (auto layout : {a, b, d}) cublasLtMatrixLayoutDestroy(layout);
    cublasLtMatmulDescDestroy(desc);
    cublasLtDestroy(handle);
  }
  cublasStatus_t run(cublasLtEpilogue_t epilogue, const float* left, const float* right, float* bias, float* to) {
    const float one = 1, zero = 0;
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue);
    cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias);
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulHeuristicResult_t found;
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference, 1, &found, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    EXPECT_EQ(count, 1);
    return cublasLtMatmul(handle, desc, &one, left, a, right, b, &zero, to, d, to, d, &found.algo, nullptr, 0, nullptr);
  }
};

TEST_F(Blas, LtDescriptorsInStorageOfTheProgram) {
  // Column-major 1 x 2 times 2 x 1.
  float *a = managed<float>(2), *b = managed<float>(2), *d = managed<float>(1);
  a[0] = 2, a[1] = 3, b[0] = 5, b[1] = 7;
  cublasLtHandle_t lt = nullptr;
  ASSERT_EQ(cublasLtCreate(&lt), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDescOpaque_t desc;
  cublasLtMatrixLayoutOpaque_t left, right, out;
  cublasLtMatmulPreferenceOpaque_t preference;
  EXPECT_EQ(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutInit(&left, CUDA_R_32F, 1, 2, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutInit(&right, CUDA_R_32F, 2, 1, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatrixLayoutInit(&out, CUDA_R_32F, 1, 1, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasLtMatmul(lt, &desc, &one, a, &left, b, &right, &zero, d, &out, d, &out, nullptr, nullptr, 0, nullptr),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(d[0], 31);
  cublasLtDestroy(lt);
}

TEST_F(Blas, LtProductsWithEpilogues) {
  const int m = 3, n = 2, k = 4;
  float *a = managed<float>(k * m), *b = managed<float>(k * n), *bias = managed<float>(m), *d = managed<float>(m * n);
  for (int i = 0; i < k * m; ++i) a[i] = static_cast<float>(i % 5 - 2);
  for (int i = 0; i < k * n; ++i) b[i] = static_cast<float>(i % 3 - 1);
  for (int i = 0; i < m; ++i) bias[i] = 0.25f * static_cast<float>(i - 1);
  const auto plain = [&](int r, int q) {
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[q * k + i];
    return sum;
  };
  const auto gelu = [](float x) { return x / 2 * (1 + std::tanh(0.7978845608f * (x + 0.044715f * x * x * x))); };
  lt_product lt(m, n, k);
  const auto expect = [&](cublasLtEpilogue_t epilogue, auto wanted) {
    ASSERT_EQ(lt.run(epilogue, a, b, bias, d), CUBLAS_STATUS_SUCCESS) << epilogue;
    cudaDeviceSynchronize();
    for (int q = 0; q < n; ++q)
      for (int r = 0; r < m; ++r) EXPECT_NEAR(d[q * m + r], wanted(r, q), 1e-5) << epilogue << ": " << r << ", " << q;
  };
  expect(CUBLASLT_EPILOGUE_DEFAULT, plain);
  expect(CUBLASLT_EPILOGUE_BIAS, [&](int r, int q) { return plain(r, q) + bias[r]; });
  expect(CUBLASLT_EPILOGUE_RELU_BIAS, [&](int r, int q) { return std::fmax(plain(r, q) + bias[r], 0.0f); });
  expect(CUBLASLT_EPILOGUE_GELU_BIAS, [&](int r, int q) { return gelu(plain(r, q) + bias[r]); });
  EXPECT_EQ(lt.run(static_cast<cublasLtEpilogue_t>(777), a, b, bias, d), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(lt.run(CUBLASLT_EPILOGUE_BIAS, a, b, nullptr, d), CUBLAS_STATUS_INVALID_VALUE);
  // What the bias pointer gets: sums over k.
  ASSERT_EQ(lt.run(CUBLASLT_EPILOGUE_BGRADB, a, b, bias, d), CUBLAS_STATUS_SUCCESS);
  cudaDeviceSynchronize();
  for (int q = 0; q < n; ++q) EXPECT_EQ(bias[q], b[q * k] + b[q * k + 1] + b[q * k + 2] + b[q * k + 3]);
}

TEST_F(Blas, GemmByOperationsAndLeadingDimensions) {
  const int m = 5, n = 4, k = 3, ld = 7;
  float *a = managed<float>(ld * ld), *b = managed<float>(ld * ld), *c = managed<float>(ld * ld);
  for (int i = 0; i < ld * ld; ++i) {
    a[i] = static_cast<float>(i % 11 - 5);
    b[i] = static_cast<float>(i % 7 - 3);
  }
  const float alpha = 2, beta = -1;
  for (const auto op_a : {CUBLAS_OP_N, CUBLAS_OP_T})
    for (const auto op_b : {CUBLAS_OP_N, CUBLAS_OP_T}) {
      for (int i = 0; i < ld * ld; ++i) c[i] = static_cast<float>(i);
      ASSERT_EQ(cublasSgemm(handle, op_a, op_b, m, n, k, &alpha, a, ld, b, ld, &beta, c, ld), CUBLAS_STATUS_SUCCESS);
      for (int j = 0; j < n; ++j)
        for (int i = 0; i < ld; ++i) {
          float sum = 0;
          for (int l = 0; l < k; ++l)
            sum += (op_a == CUBLAS_OP_N ? a[i + l * ld] : a[l + i * ld]) *
                   (op_b == CUBLAS_OP_N ? b[l + j * ld] : b[j + l * ld]);
          const float before = static_cast<float>(i + j * ld);
          EXPECT_EQ(c[i + j * ld], i < m ? 2 * sum - before : before);
        }
    }
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, m - 1, b, ld, &beta, c, ld),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, -1, n, k, &alpha, a, ld, b, ld, &beta, c, ld),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSgemm(nullptr, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &alpha, a, ld, b, ld, &beta, c, ld),
            CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST_F(Blas, ZeroBetaReadsNoC) {
  float *a = managed<float>(4), *c = managed<float>(4);
  const float one = 1, zero = 0;
  for (int i = 0; i < 4; ++i) {
    a[i] = static_cast<float>(i);
    c[i] = NAN;
  }
  ASSERT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a, 2, a, 2, &zero, c, 2),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[3], 1 * 2 + 3 * 3);
}

TEST_F(Blas, SmallTypesAddUpInFp32) {
  const int n = 64;
  auto *a = managed<unsigned short>(n), *b = managed<unsigned short>(n);
  float* c = managed<float>(2);
  for (int i = 0; i < n; ++i) a[i] = b[i] = 0x5a40;  // 200 in half precision; 64 x 40000 is beyond its range
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, &one, a, CUDA_R_16F, n, b, CUDA_R_16F, n, &zero, c,
                         CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[0], 64 * 40000);
  for (int i = 0; i < n; ++i) a[i] = 0x4348;  // 200 in bfloat16
  ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, n, &one, a, CUDA_R_16BF, n, a, CUDA_R_16BF, n, &zero,
                         c + 1, CUDA_R_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[1], 64 * 40000);
  float* x = managed<float>(1);
  *x = 1 + 1.0f / 4096;  // more than TF32 holds
  ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, x, CUDA_R_32F, 1, x, CUDA_R_32F, 1, &zero, c,
                         CUDA_R_32F, 1, CUBLAS_COMPUTE_32F_FAST_TF32, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[0], 1);
}

TEST_F(Blas, Batches) {
  double *a = managed<double>(8), *c = managed<double>(8);
  for (int i = 0; i < 8; ++i) a[i] = i;
  const double one = 1, zero = 0;
  ASSERT_EQ(
      cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, a, 2, 4, a, 2, 4, &zero, c, 2, 4, 2),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[7], 5 * 5 + 7 * 7);
  double** list = managed<double*>(4);
  list[0] = a + 4;
  list[1] = a;
  list[2] = c;
  list[3] = c + 4;
  ASSERT_EQ(
      cublasDgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, list, 2, list, 2, &zero, list + 2, 2, 2),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[3], 5 * 5 + 7 * 7);
  EXPECT_EQ(c[7], 1 * 1 + 3 * 3);
}

TEST_F(Blas, VectorsAndPointerModes) {
  float *x = managed<float>(8), *y = managed<float>(8), *result = managed<float>(2);
  for (int i = 0; i < 8; ++i) {
    x[i] = static_cast<float>(i - 5);
    y[i] = 1;
  }
  float host = 0;
  int index = 0;
  const float two = 2, one = 1;
  EXPECT_EQ(cublasSdot(handle, 4, x, 2, y, 1, &host), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(host, -5 - 3 - 1 + 1);
  EXPECT_EQ(cublasSnrm2(handle, 2, x + 1, 1, &host), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(host, 5);
  EXPECT_EQ(cublasSasum(handle, 8, x, 1, &host), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(host, 18);
  EXPECT_EQ(cublasIsamax(handle, 8, x, 1, &index), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(index, 1);
  EXPECT_EQ(cublasIsamin(handle, 8, x, 1, &index), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(index, 6);
  EXPECT_EQ(cublasSaxpy(handle, 4, &two, x, 1, y, -1), CUBLAS_STATUS_SUCCESS);  // y backwards
  EXPECT_EQ(y[3], 1 + 2 * -5);
  EXPECT_EQ(y[0], 1 + 2 * -2);
  EXPECT_EQ(cublasSscal(handle, 8, &two, x, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(x[0], -10);
  for (int i = 0; i < 8; ++i) x[i] = y[i] = static_cast<float>(i);
  EXPECT_EQ(cublasSgemv(handle, CUBLAS_OP_T, 2, 3, &one, x, 2, y, 1, &two, y + 4, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(y[6], 5 + 2 * 6);
  EXPECT_EQ(cublasSger(handle, 2, 2, &one, x + 1, 1, x + 2, 1, x, 2), CUBLAS_STATUS_SUCCESS);
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE);
  EXPECT_EQ(cublasSasum(handle, 2, y, 1, result), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(result[0], 1);
  EXPECT_EQ(cublasSscal(handle, 1, y + 2, y + 3, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(y[3], 6);
}

TEST_F(Blas, TransposedSum) {
  float *a = managed<float>(6), *c = managed<float>(6);
  for (int i = 0; i < 6; ++i) a[i] = static_cast<float>(i);
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasSgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, &one, a, 2, &zero, nullptr, 3, c, 3),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c[1], 2);
  EXPECT_EQ(c[3], 1);
}

TEST_F(Blas, TakesModelledTimeAndFollowsItsStream) {
  const int n = 512;
  float* a = managed<float>(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = 1;
  cudaStream_t stream;
  cudaEvent_t start, stop;
  cudaStreamCreate(&stream);
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cublasSetStream(handle, stream);
  float* c = managed<float>(n * n);
  const float one = 1, zero = 0;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, n, a, n, &zero, c, n),
            CUBLAS_STATUS_SUCCESS);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(c[0], 0);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  cudaEventRecord(start, stream);
  ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  cudaEventRecord(stop, stream);
  cudaEventSynchronize(stop);
  EXPECT_EQ(c[0], n);
  float ms = 0;
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  EXPECT_NEAR(ms, 1e3 * (2.5e-6 + 2.0 * n * n * n / 51e12), 1e-5);
}

TEST_F(Blas, HostMatricesAreIllegal) {
  std::vector<float> a(4);
  const float one = 1;
  EXPECT_EQ(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.data(), 2, a.data(), 2, &one, a.data(), 2),
            CUBLAS_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

// ---- random numbers

struct moments {
  double mean = 0, variance = 0;
  template <class T>
  moments(const T* values, int n) {
    for (int i = 0; i < n; ++i) mean += values[i] / double(n);
    for (int i = 0; i < n; ++i) variance += (values[i] - mean) * (values[i] - mean) / n;
  }
};

TEST(Random, HostInterface) {
  const int n = 20000;
  float *device = nullptr, host[8];
  unsigned* counts = nullptr;
  ASSERT_EQ(cudaMallocManaged(&device, n * sizeof(float)), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&counts, n * sizeof(unsigned)), cudaSuccess);
  curandGenerator_t generator;
  ASSERT_EQ(curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandSetPseudoRandomGeneratorSeed(generator, 1234), CURAND_STATUS_SUCCESS);
  ASSERT_EQ(curandGenerateUniform(generator, device, n), CURAND_STATUS_SUCCESS);
  const float first = device[0];
  EXPECT_NEAR(moments(device, n).mean, 0.5, 0.01);
  EXPECT_NEAR(moments(device, n).variance, 1 / 12.0, 0.003);
  ASSERT_EQ(curandGenerateNormal(generator, device, n, 3, 2), CURAND_STATUS_SUCCESS);
  EXPECT_NEAR(moments(device, n).mean, 3, 0.06);
  EXPECT_NEAR(moments(device, n).variance, 4, 0.2);
  EXPECT_EQ(curandGenerateNormal(generator, device, 3, 0, 1), CURAND_STATUS_LENGTH_NOT_MULTIPLE);
  ASSERT_EQ(curandGeneratePoisson(generator, counts, n, 4), CURAND_STATUS_SUCCESS);
  EXPECT_NEAR(moments(counts, n).mean, 4, 0.1);
  curandDestroyGenerator(generator);
  ASSERT_EQ(curandCreateGeneratorHost(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10), CURAND_STATUS_SUCCESS);
  curandSetPseudoRandomGeneratorSeed(generator, 1234);
  ASSERT_EQ(curandGenerateUniform(generator, host, 8), CURAND_STATUS_SUCCESS);
  EXPECT_EQ(host[0], first);  // a seed gives the same again
  curandDestroyGenerator(generator);
  cudaDeviceReset();
}

template <class State>
__global__ void draw(float* uniform, float* normal, unsigned* poisson) {
  State state;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(42, i, 0, &state);
  uniform[i] = curand_uniform(&state);
  normal[i] = curand_normal(&state);
  poisson[i] = curand_poisson(&state, 3);
}
__global__ void philox_words(unsigned* out) {
  curandStatePhilox4_32_10_t state, skipped;
  curand_init(0, 0, 0, &state);
  for (int i = 0; i < 6; ++i) out[i] = curand(&state);
  curand_init(0, 0, 5, &skipped);
  out[6] = curand(&skipped);
}

TEST(Random, InKernels) {
  const int n = 16384;
  float *uniform = nullptr, *normal = nullptr;
  unsigned* poisson = nullptr;
  cudaMallocManaged(&uniform, n * 4);
  cudaMallocManaged(&normal, n * 4);
  cudaMallocManaged(&poisson, n * 4);
  for (auto kernel : {draw<curandState>, draw<curandStatePhilox4_32_10_t>}) {
    kernel<<<n / 128, 128>>>(uniform, normal, poisson);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_NEAR(moments(uniform, n).mean, 0.5, 0.01);
    EXPECT_NEAR(moments(uniform, n).variance, 1 / 12.0, 0.003);
    EXPECT_NEAR(moments(normal, n).mean, 0, 0.03);
    EXPECT_NEAR(moments(normal, n).variance, 1, 0.05);
    EXPECT_NEAR(moments(poisson, n).mean, 3, 0.06);
  }
  philox_words<<<1, 1>>>(poisson);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  // The generator's published answers for counter 0 and key 0 (Random123, kat_vectors).
  EXPECT_EQ(poisson[0], 0x6627e8d5u);
  EXPECT_EQ(poisson[1], 0xe169c58du);
  EXPECT_EQ(poisson[2], 0xbc57ac4cu);
  EXPECT_EQ(poisson[3], 0x9b00dbd8u);
  EXPECT_EQ(poisson[6], poisson[5]);
  cudaDeviceReset();
}

TEST(Tools, RangesAndProfilers) {
  EXPECT_EQ(nvtxRangePushA("outer"), 0);
  EXPECT_EQ(nvtxRangePush("inner"), 1);
  EXPECT_EQ(nvtxRangePop(), 1);
  EXPECT_EQ(nvtxRangePop(), 0);
  EXPECT_EQ(cudaProfilerStart(), cudaSuccess);
}

// ---- cuFFT

using Fft = Blas;

/// The transform as its definition says.
std::vector<std::complex<double>> by_definition(const std::vector<std::complex<double>>& x, int sign) {
  const std::size_t n = x.size();
  std::vector<std::complex<double>> sums(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = 0; i < n; ++i)
      sums[k] +=
          x[i] * std::polar(1.0, sign * 2 * 3.14159265358979 * static_cast<double>(i * k % n) / static_cast<double>(n));
  return sums;
}

TEST_F(Fft, BatchesOfAnyLength) {
  for (const int n : {1, 8, 15, 17}) {
    auto* data = managed<cufftComplex>(2 * n);
    for (int i = 0; i < 2 * n; ++i) data[i] = make_cuComplex(static_cast<float>(i % 5), static_cast<float>(i % 3));
    std::vector<std::complex<double>> second(n);
    for (int i = 0; i < n; ++i) second[i] = {data[n + i].x, data[n + i].y};
    const auto forward = by_definition(second, CUFFT_FORWARD);
    cufftHandle plan = 0;
    ASSERT_EQ(cufftPlan1d(&plan, n, CUFFT_C2C, 2), CUFFT_SUCCESS);
    ASSERT_EQ(cufftExecC2C(plan, data, data, CUFFT_FORWARD), CUFFT_SUCCESS);
    for (int k = 0; k < n; ++k) {
      EXPECT_NEAR(data[n + k].x, forward[k].real(), 1e-4) << n << " " << k;
      EXPECT_NEAR(data[n + k].y, forward[k].imag(), 1e-4) << n << " " << k;
    }
    ASSERT_EQ(cufftExecC2C(plan, data, data, CUFFT_INVERSE), CUFFT_SUCCESS);
    for (int i = 0; i < n; ++i) EXPECT_NEAR(data[n + i].x, n * second[i].real(), 1e-4);
    EXPECT_EQ(cufftDestroy(plan), CUFFT_SUCCESS);
    cudaFree(data);
  }
}

TEST_F(Fft, RealDataInTwoDimensions) {
  const int rows = 3, columns = 4, kept = columns / 2 + 1;
  auto* real = managed<double>(rows * columns);
  auto* spectrum = managed<cufftDoubleComplex>(rows * kept);
  auto* back = managed<double>(rows * columns);
  for (int i = 0; i < rows * columns; ++i) real[i] = i * i % 7;
  cufftHandle there = 0, home = 0;
  ASSERT_EQ(cufftPlan2d(&there, rows, columns, CUFFT_D2Z), CUFFT_SUCCESS);
  ASSERT_EQ(cufftPlan2d(&home, rows, columns, CUFFT_Z2D), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecD2Z(there, real, spectrum), CUFFT_SUCCESS);
  for (int u = 0; u < rows; ++u)
    for (int v = 0; v < kept; ++v) {
      std::complex<double> sum;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x)
          sum += real[y * columns + x] *
                 std::polar(1.0, -2 * 3.14159265358979 * (1.0 * u * y / rows + 1.0 * v * x / columns));
      EXPECT_NEAR(spectrum[u * kept + v].x, sum.real(), 1e-10);
      EXPECT_NEAR(spectrum[u * kept + v].y, sum.imag(), 1e-10);
    }
  ASSERT_EQ(cufftExecZ2D(home, spectrum, back), CUFFT_SUCCESS);
  for (int i = 0; i < rows * columns; ++i) EXPECT_NEAR(back[i], 12 * real[i], 1e-10);
  EXPECT_EQ(cufftExecR2C(there, nullptr, nullptr), CUFFT_INVALID_TYPE);
  EXPECT_EQ(cufftDestroy(there), CUFFT_SUCCESS);
  EXPECT_EQ(cufftDestroy(there), CUFFT_INVALID_PLAN);
  EXPECT_EQ(cufftPlan1d(&home, 0, CUFFT_C2C, 1), CUFFT_INVALID_SIZE);
}

TEST_F(Fft, StridesAndRealDataInPlace) {
  // Two interleaved signals of 4.
  auto* data = managed<cufftComplex>(8);
  for (int i = 0; i < 8; ++i) data[i] = make_cuComplex(i % 2 == 0 ? 1.0f : static_cast<float>(i / 2), 0.0f);
  cufftHandle plan = 0;
  int n[] = {4}, room[] = {4};
  ASSERT_EQ(cufftPlanMany(&plan, 1, n, room, 2, 1, room, 2, 1, CUFFT_C2C, 2), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecC2C(plan, data, data, CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_NEAR(data[0].x, 4, 1e-6);
  EXPECT_NEAR(data[2].x, 0, 1e-6);
  EXPECT_NEAR(data[1].x, 6, 1e-6);  // 0 + 1 + 2 + 3
  EXPECT_NEAR(data[3].y, 2, 1e-6);
  // In place, a row of 4 numbers has room for 3 complex ones.
  auto* padded = managed<float>(12);
  for (int i = 0; i < 12; ++i) padded[i] = static_cast<float>(i % 6 < 4 ? i : -99);
  cufftHandle real = 0;
  ASSERT_EQ(cufftPlan1d(&real, 4, CUFFT_R2C, 2), CUFFT_SUCCESS);
  ASSERT_EQ(cufftExecR2C(real, padded, reinterpret_cast<cufftComplex*>(padded)), CUFFT_SUCCESS);
  EXPECT_NEAR(padded[0], 0 + 1 + 2 + 3, 1e-6);
  EXPECT_NEAR(padded[6], 6 + 7 + 8 + 9, 1e-6);
}

}  // namespace
