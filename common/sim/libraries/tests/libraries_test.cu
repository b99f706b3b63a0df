// cuRAND, cuFFT, cuSPARSE and cuSOLVER as programs call them.
#include <cuda_profiler_api.h>
#include <cuda_runtime.h>
#include <cufftXt.h>
#include <curand.h>
#include <curand_kernel.h>
#include <cusolverDn.h>
#include <cusparse_v2.h>
#include <gtest/gtest.h>

#include <nvtx3/nvToolsExt.h>

#include <cmath>
#include <complex>
#include <vector>

namespace sim {
const std::vector<std::string>& host_faults();
}

namespace {

struct Libraries : testing::Test {
  void TearDown() override { cudaDeviceReset(); }
  template <class T>
  T* managed(std::size_t n) {
    T* data = nullptr;
    EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
    return data;
  }
};

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
  EXPECT_EQ(host[0], first);  // the same seed gives the same numbers
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

using Fft = Libraries;

/// The transform by its definition.
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

__device__ cufftComplex load_conjugate(void* in, std::size_t offset, void* caller, void*) {
  const cufftComplex z = static_cast<cufftComplex*>(in)[offset];
  const float factor = *static_cast<float*>(caller);
  return {factor * z.x, -factor * z.y};
}
__device__ cufftCallbackLoadC conjugate_pointer = load_conjugate;

TEST_F(Fft, PlansByTypeAndCallbacks) {
  auto* data = managed<cufftComplex>(4);
  auto* factor = managed<float>(1);
  *factor = 2;
  for (int i = 0; i < 4; ++i) data[i] = make_cuComplex(1, static_cast<float>(i));
  cufftHandle plan = 0;
  long long n = 4;
  std::size_t bytes = 0;
  ASSERT_EQ(cufftCreate(&plan), CUFFT_SUCCESS);
  EXPECT_EQ(
      cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 1, CUDA_R_16F, nullptr, 1, 1, CUDA_C_32F, 1, &bytes, CUDA_C_32F),
      CUFFT_INVALID_TYPE);
  ASSERT_EQ(
      cufftXtMakePlanMany(plan, 1, &n, nullptr, 1, 1, CUDA_C_32F, nullptr, 1, 1, CUDA_C_32F, 1, &bytes, CUDA_C_32F),
      CUFFT_SUCCESS);
  cufftCallbackLoadC loads = nullptr;
  ASSERT_EQ(cudaMemcpyFromSymbol(&loads, conjugate_pointer, sizeof loads), cudaSuccess);
  void* caller = factor;
  EXPECT_EQ(cufftXtSetCallback(plan, reinterpret_cast<void**>(&loads), CUFFT_CB_LD_REAL, &caller), CUFFT_INVALID_TYPE);
  ASSERT_EQ(cufftXtSetCallback(plan, reinterpret_cast<void**>(&loads), CUFFT_CB_LD_COMPLEX, &caller), CUFFT_SUCCESS);
  ASSERT_EQ(cufftXtExec(plan, data, data, CUFFT_FORWARD), CUFFT_SUCCESS);
  EXPECT_NEAR(data[0].x, 8, 1e-5);
  EXPECT_NEAR(data[0].y, -12, 1e-5);
  int devices[] = {0, 1};
  EXPECT_EQ(cufftXtSetGPUs(plan, 2, devices), CUFFT_INVALID_DEVICE);
}

// ---- cuSPARSE

/// 1 0 2
/// 0 3 0
/// 4 5 6
struct Sparse : Libraries {
  void SetUp() override {
    ASSERT_EQ(cusparseCreate(&sparse), CUSPARSE_STATUS_SUCCESS);
    offsets = managed<int>(4), columns = managed<int>(6), rows = managed<int>(6), values = managed<float>(6);
    for (int i = 0; i < 4; ++i) offsets[i] = std::vector{0, 2, 3, 6}[i];
    for (int i = 0; i < 6; ++i) {
      columns[i] = std::vector{0, 2, 1, 0, 1, 2}[i];
      rows[i] = std::vector{0, 0, 1, 2, 2, 2}[i];
      values[i] = static_cast<float>(i + 1);
    }
    ASSERT_EQ(cusparseCreateCsr(&a, 3, 3, 6, offsets, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
              CUSPARSE_STATUS_SUCCESS);
  }
  void TearDown() override {
    cusparseDestroySpMat(a);
    cusparseDestroy(sparse);
    Libraries::TearDown();
  }
  template <class T>
  cusparseDnVecDescr_t vector(T* data, int n) {
    cusparseDnVecDescr_t made = nullptr;
    EXPECT_EQ(cusparseCreateDnVec(&made, n, data, sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_64F), CUSPARSE_STATUS_SUCCESS);
    return made;
  }
  cusparseStatus_t multiply(cusparseOperation_t op, cusparseSpMatDescr_t m, float alpha, const float* x, float beta,
                            float* y) {
    const cusparseDnVecDescr_t in = vector(const_cast<float*>(x), 3), out = vector(y, 3);
    const cusparseStatus_t status =
        cusparseSpMV(sparse, op, &alpha, m, in, &beta, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, nullptr);
    cusparseDestroyDnVec(in);
    cusparseDestroyDnVec(out);
    return status;
  }
  cusparseHandle_t sparse = nullptr;
  cusparseSpMatDescr_t a = nullptr;
  int *offsets = nullptr, *columns = nullptr, *rows = nullptr;
  float* values = nullptr;
};

TEST_F(Sparse, MatrixTimesVector) {
  auto *x = managed<float>(3), *y = managed<float>(3);
  for (int i = 0; i < 3; ++i) x[i] = static_cast<float>(i + 1), y[i] = 10;
  ASSERT_EQ(multiply(CUSPARSE_OPERATION_NON_TRANSPOSE, a, 2, x, 1, y), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{24, 22, 74}));
  ASSERT_EQ(multiply(CUSPARSE_OPERATION_TRANSPOSE, a, 1, x, 0, y), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{13, 21, 20}));
  cusparseSpMatDescr_t coo = nullptr;
  ASSERT_EQ(
      cusparseCreateCoo(&coo, 3, 3, 6, rows, columns, values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
      CUSPARSE_STATUS_SUCCESS);
  ASSERT_EQ(multiply(CUSPARSE_OPERATION_TRANSPOSE, coo, 1, x, 0, y), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(y, y + 3), (std::vector<float>{13, 21, 20}));
  cusparseDestroySpMat(coo);
}

TEST_F(Sparse, IndicesOutsideAreReported) {
  auto *x = managed<float>(3), *y = managed<float>(3);
  columns[1] = 3;
  EXPECT_EQ(multiply(CUSPARSE_OPERATION_NON_TRANSPOSE, a, 1, x, 0, y), CUSPARSE_STATUS_EXECUTION_FAILED);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  ASSERT_FALSE(sim::host_faults().empty());
  EXPECT_EQ(sim::host_faults().back(),
            "cusparseSpMV: entry 1 is at row 0, column 3 of a matrix of 3 x 3; check its indices");
}

TEST_F(Sparse, ProductsAndConversions) {
  const float one = 1, zero = 0;
  auto *b = managed<float>(6), *c = managed<float>(6), *all = managed<float>(9);
  for (int i = 0; i < 6; ++i) b[i] = static_cast<float>(i);  // row-major 3 x 2
  cusparseDnMatDescr_t in = nullptr, out = nullptr, dense = nullptr;
  cusparseCreateDnMat(&in, 3, 2, 2, b, CUDA_R_32F, CUSPARSE_ORDER_ROW);
  cusparseCreateDnMat(&out, 3, 2, 3, c, CUDA_R_32F, CUSPARSE_ORDER_COL);
  cusparseCreateDnMat(&dense, 3, 3, 3, all, CUDA_R_32F, CUSPARSE_ORDER_ROW);
  const auto n = CUSPARSE_OPERATION_NON_TRANSPOSE;
  ASSERT_EQ(cusparseSpMM(sparse, n, n, &one, a, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMM_ALG_DEFAULT, nullptr),
            CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(c, c + 6), (std::vector<float>{8, 6, 34, 11, 9, 49}));
  ASSERT_EQ(cusparseSparseToDense(sparse, a, dense, CUSPARSE_SPARSETODENSE_ALG_DEFAULT, nullptr),
            CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<float>(all, all + 9), (std::vector<float>{1, 0, 2, 0, 3, 0, 4, 5, 6}));

  // A * A, and the dense matrix back to CSC.
  cusparseSpGEMMDescr_t work = nullptr;
  cusparseSpMatDescr_t square = nullptr;
  ASSERT_EQ(cusparseSpGEMM_createDescr(&work), CUSPARSE_STATUS_SUCCESS);
  auto* square_offsets = managed<int>(4);
  cusparseCreateCsr(&square, 3, 3, 0, square_offsets, nullptr, nullptr, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                    CUSPARSE_INDEX_BASE_ONE, CUDA_R_32F);
  std::size_t bytes = 0;
  ASSERT_EQ(cusparseSpGEMM_compute(sparse, n, n, &one, a, a, &zero, square, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work,
                                   &bytes, nullptr),
            CUSPARSE_STATUS_SUCCESS);
  ASSERT_EQ(cusparseSpGEMM_compute(sparse, n, n, &one, a, a, &zero, square, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work,
                                   &bytes, all),
            CUSPARSE_STATUS_SUCCESS);
  std::int64_t rows_of_it = 0, columns_of_it = 0, nonzeros = 0;
  cusparseSpMatGetSize(square, &rows_of_it, &columns_of_it, &nonzeros);
  ASSERT_EQ(nonzeros, 7);
  auto* square_columns = managed<int>(7);
  auto* square_values = managed<float>(7);
  cusparseCsrSetPointers(square, square_offsets, square_columns, square_values);
  ASSERT_EQ(cusparseSpGEMM_copy(sparse, n, n, &one, a, a, &zero, square, CUDA_R_32F, CUSPARSE_SPGEMM_DEFAULT, work),
            CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<int>(square_offsets, square_offsets + 4), (std::vector<int>{1, 4, 5, 8}));
  EXPECT_EQ(std::vector<float>(square_values, square_values + 7), (std::vector<float>{9, 10, 14, 9, 28, 45, 44}));
  cusparseSpGEMM_destroyDescr(work);

  auto *csc_offsets = managed<int>(4), *csc_rows = managed<int>(6);
  auto* csc_values = managed<float>(6);
  ASSERT_EQ(
      cusparseCsr2cscEx2(sparse, 3, 3, 6, values, offsets, columns, csc_values, csc_offsets, csc_rows, CUDA_R_32F,
                         CUSPARSE_ACTION_NUMERIC, CUSPARSE_INDEX_BASE_ZERO, CUSPARSE_CSR2CSC_ALG_DEFAULT, nullptr),
      CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(std::vector<int>(csc_offsets, csc_offsets + 4), (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ(std::vector<float>(csc_values, csc_values + 6), (std::vector<float>{1, 4, 3, 5, 2, 6}));
  auto *coo_rows = managed<int>(6), *again = managed<int>(4);
  cusparseXcsr2coo(sparse, offsets, 6, 3, coo_rows, CUSPARSE_INDEX_BASE_ZERO);
  EXPECT_EQ(std::vector<int>(coo_rows, coo_rows + 6), std::vector<int>(rows, rows + 6));
  cusparseXcoo2csr(sparse, coo_rows, 6, 3, again, CUSPARSE_INDEX_BASE_ZERO);
  EXPECT_EQ(std::vector<int>(again, again + 4), std::vector<int>(offsets, offsets + 4));
  for (const auto m : {in, out, dense}) cusparseDestroyDnMat(m);
  cusparseDestroySpMat(square);
}

TEST_F(Sparse, IncompleteFactorsSolveASystem) {
  // The product of the factors has A's values at A's places.
  auto *factors = managed<float>(6), *x = managed<float>(3), *y = managed<float>(3), *z = managed<float>(3);
  std::copy(values, values + 6, factors);
  csrilu02Info_t info = nullptr;
  cusparseMatDescr_t about = nullptr;
  cusparseCreateCsrilu02Info(&info);
  cusparseCreateMatDescr(&about);
  ASSERT_EQ(
      cusparseScsrilu02(sparse, 3, 6, about, factors, offsets, columns, info, CUSPARSE_SOLVE_POLICY_NO_LEVEL, nullptr),
      CUSPARSE_STATUS_SUCCESS);
  int zero_pivot = 0;
  EXPECT_EQ(cusparseXcsrilu02_zeroPivot(sparse, info, &zero_pivot), CUSPARSE_STATUS_SUCCESS);
  EXPECT_EQ(zero_pivot, -1);
  cusparseSpMatDescr_t triangles[2] = {};
  cusparseFillMode_t fills[] = {CUSPARSE_FILL_MODE_LOWER, CUSPARSE_FILL_MODE_UPPER};
  cusparseDiagType_t diagonals[] = {CUSPARSE_DIAG_TYPE_UNIT, CUSPARSE_DIAG_TYPE_NON_UNIT};
  float* sides[] = {x, y, z};
  for (int i = 0; i < 3; ++i) x[i] = std::vector<float>{7, 6, 32}[i];  // A (1, 2, 3)
  for (int i = 0; i < 2; ++i) {
    cusparseCreateCsr(&triangles[i], 3, 3, 6, offsets, columns, factors, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                      CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
    cusparseSpMatSetAttribute(triangles[i], CUSPARSE_SPMAT_FILL_MODE, &fills[i], sizeof fills[i]);
    cusparseSpMatSetAttribute(triangles[i], CUSPARSE_SPMAT_DIAG_TYPE, &diagonals[i], sizeof diagonals[i]);
    const float one = 1;
    const cusparseDnVecDescr_t from = vector(sides[i], 3), to = vector(sides[i + 1], 3);
    ASSERT_EQ(cusparseSpSV_solve(sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, triangles[i], from, to, CUDA_R_32F,
                                 CUSPARSE_SPSV_ALG_DEFAULT, nullptr),
              CUSPARSE_STATUS_SUCCESS);
  }
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(z[i], i + 1, 1e-5);  // complete, because no entry is dropped here
}

// ---- cuSOLVER

struct Solver : Libraries {
  void SetUp() override {
    ASSERT_EQ(cusolverDnCreate(&solver), CUSOLVER_STATUS_SUCCESS);
    info = managed<int>(1);
  }
  void TearDown() override {
    cusolverDnDestroy(solver);
    Libraries::TearDown();
  }
  /// Column-major.
  template <class T>
  T* matrix(const std::vector<T>& values) {
    T* made = managed<T>(values.size());
    std::copy(values.begin(), values.end(), made);
    return made;
  }
  cusolverDnHandle_t solver = nullptr;
  int* info = nullptr;
};

TEST_F(Solver, SystemsByLuAndCholesky) {
  auto* a = matrix<double>({0, 2, 4, 1, 1, 1, 3, 5, 8});
  auto* pivots = managed<int>(3);
  ASSERT_EQ(cusolverDnDgetrf(solver, 3, 3, a, 3, nullptr, pivots, info), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(*info, 0);
  EXPECT_EQ(pivots[0], 3);
  auto* right = matrix<double>({11, 19, 30});  // A (1, 2, 3)
  ASSERT_EQ(cusolverDnDgetrs(solver, CUBLAS_OP_N, 3, 1, a, 3, pivots, right, 3, info), CUSOLVER_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(right[i], i + 1, 1e-12);
  auto* transposed = matrix<double>({16, 6, 37});  // A^T (1, 2, 3)
  ASSERT_EQ(cusolverDnDgetrs(solver, CUBLAS_OP_T, 3, 1, a, 3, pivots, transposed, 3, info), CUSOLVER_STATUS_SUCCESS);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(transposed[i], i + 1, 1e-12);
  auto* singular = matrix<float>({1, 2, 2, 4});
  ASSERT_EQ(cusolverDnSgetrf(solver, 2, 2, singular, 2, nullptr, pivots, info), CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(*info, 2);

  auto* positive = matrix<float>({4, 2, 2, 5});
  auto* side = matrix<float>({8, 12});
  for (const auto uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const float given[] = {4, 2, 2, 5}, values[] = {8, 12};
    std::copy(given, given + 4, positive);
    std::copy(values, values + 2, side);
    ASSERT_EQ(cusolverDnSpotrf(solver, uplo, 2, positive, 2, nullptr, 0, info), CUSOLVER_STATUS_SUCCESS);
    EXPECT_EQ(*info, 0);
    EXPECT_NEAR(positive[uplo == CUBLAS_FILL_MODE_LOWER ? 1 : 2], 1, 1e-6);
    ASSERT_EQ(cusolverDnSpotrs(solver, uplo, 2, 1, positive, 2, side, 2, info), CUSOLVER_STATUS_SUCCESS);
    EXPECT_NEAR(side[0], 1, 1e-6);
    EXPECT_NEAR(side[1], 2, 1e-6);
  }
  positive[0] = -1;
  ASSERT_EQ(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, 2, positive, 2, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(*info, 1);
}

TEST_F(Solver, OrthogonalFactors) {
  // complex, since there conjugates matter: Q^H A = R, and Q has orthonormal columns
  const std::vector<cuDoubleComplex> given = {{1, 2}, {0, 1}, {3, 0}, {2, 0}, {1, 1}, {0, 4}};
  auto *a = matrix(given), *c = matrix(given), *tau = managed<cuDoubleComplex>(2);
  ASSERT_EQ(cusolverDnZgeqrf(solver, 3, 2, a, 3, tau, nullptr, 0, info), CUSOLVER_STATUS_SUCCESS);
  ASSERT_EQ(cusolverDnZunmqr(solver, CUBLAS_SIDE_LEFT, CUBLAS_OP_C, 3, 2, 2, a, 3, tau, c, 3, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  for (int column = 0; column < 2; ++column)
    for (int row = 0; row < 3; ++row) {
      const cuDoubleComplex r = row <= column ? a[3 * column + row] : cuDoubleComplex{0, 0};
      EXPECT_NEAR(c[3 * column + row].x, r.x, 1e-12) << row << "," << column;
      EXPECT_NEAR(c[3 * column + row].y, r.y, 1e-12) << row << "," << column;
    }
  ASSERT_EQ(cusolverDnZungqr(solver, 3, 2, 2, a, 3, tau, nullptr, 0, info), CUSOLVER_STATUS_SUCCESS);
  cuDoubleComplex product = {0, 0};
  for (int i = 0; i < 3; ++i) product = cuCadd(product, cuCmul(cuConj(a[i]), a[3 + i]));
  EXPECT_NEAR(cuCabs(product), 0, 1e-12);
}

TEST_F(Solver, EigenvaluesAndSingularValues) {
  auto *a = matrix<double>({2, 1, 1, 2}), *w = managed<double>(2);
  ASSERT_EQ(cusolverDnDsyevd(solver, CUSOLVER_EIG_MODE_VECTOR, CUBLAS_FILL_MODE_UPPER, 2, a, 2, w, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(w[0], 1, 1e-12);
  EXPECT_NEAR(w[1], 3, 1e-12);
  EXPECT_NEAR(a[2] - a[3], 0, 1e-12);  // the eigenvector for 3
  const std::vector<float> given = {3, 0, 0, 0, 4, 0};
  auto *m = matrix(given), *s = managed<float>(2), *u = managed<float>(9), *vt = managed<float>(4);
  ASSERT_EQ(cusolverDnSgesvd(solver, 'A', 'A', 3, 2, m, 3, s, u, 3, vt, 2, nullptr, 0, nullptr, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(s[0], 4, 1e-6);
  EXPECT_NEAR(s[1], 3, 1e-6);
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 2; ++column) {
      float sum = 0;
      for (int k = 0; k < 2; ++k) sum += u[3 * k + row] * s[k] * vt[2 * column + k];
      EXPECT_NEAR(sum, given[3 * column + row], 1e-5);
    }
  EXPECT_EQ(cusolverDnSgesvd(solver, 'A', 'A', 2, 3, m, 2, s, u, 2, vt, 3, nullptr, 0, nullptr, info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusolverDnSpotrf(solver, CUBLAS_FILL_MODE_LOWER, 2, m, 1, nullptr, 0, info), CUSOLVER_STATUS_INVALID_VALUE);
}

TEST_F(Solver, CallsWithSizesOf64Bits) {
  cusolverDnParams_t params = nullptr;
  ASSERT_EQ(cusolverDnCreateParams(&params), CUSOLVER_STATUS_SUCCESS);
  const auto lower = CUBLAS_FILL_MODE_LOWER;
  const cudaDataType real = CUDA_R_64F, complex = CUDA_C_32F;
  std::size_t on_device = 0, on_host = 1;
  auto *a = matrix<double>({0, 2, 1, 1}), *x = matrix<double>({2, 4});  // A (1, 2)
  auto* pivots = managed<std::int64_t>(2);
  ASSERT_EQ(cusolverDnXgetrf_bufferSize(solver, params, 2, 2, real, a, 2, real, &on_device, &on_host),
            CUSOLVER_STATUS_SUCCESS);
  void* work = managed<char>(on_device);
  ASSERT_EQ(cusolverDnXgetrf(solver, params, 2, 2, real, a, 2, pivots, real, work, on_device, nullptr, on_host, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_EQ(pivots[0], 2);
  ASSERT_EQ(cusolverDnXgetrs(solver, params, CUBLAS_OP_N, 2, 1, real, a, 2, pivots, real, x, 2, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_NEAR(x[1], 2, 1e-12);
  auto *p = matrix<cuComplex>({{4, 0}, {0, 2}, {0, -2}, {5, 0}}), *b = matrix<cuComplex>({{4, 0}, {0, 2}});
  ASSERT_EQ(cusolverDnXpotrf(solver, params, lower, 2, complex, p, 2, complex, work, on_device, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(p[1].y, 1, 1e-6);
  ASSERT_EQ(cusolverDnXpotrs(solver, params, lower, 2, 1, complex, p, 2, complex, b, 2, info), CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(b[0].x, 1, 1e-6);
  EXPECT_NEAR(b[1].y, 0, 1e-6);
  auto* h = matrix<cuComplex>({{2, 0}, {0, 1}, {0, -1}, {2, 0}});
  auto* w = managed<float>(2);
  ASSERT_EQ(cusolverDnXsyevd(solver, params, CUSOLVER_EIG_MODE_NOVECTOR, lower, 2, complex, h, 2, CUDA_R_32F, w,
                             complex, work, on_device, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(w[0], 1, 1e-6);
  EXPECT_NEAR(w[1], 3, 1e-6);
  auto *m = matrix<double>({3, 4, 0, 0}), *tau = managed<double>(2), *s = managed<double>(2);
  ASSERT_EQ(cusolverDnXgesvd(solver, params, 'N', 'N', 2, 2, real, m, 2, real, s, real, nullptr, 2, real, nullptr, 2,
                             real, work, on_device, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(s[0], 5, 1e-12);
  ASSERT_EQ(cusolverDnXgeqrf(solver, params, 2, 1, real, m, 2, real, tau, real, work, on_device, nullptr, 0, info),
            CUSOLVER_STATUS_SUCCESS);
  EXPECT_NEAR(std::abs(m[0]), 5, 1e-12);
  EXPECT_EQ(cusolverDnXgeqrf(solver, params, 2, 1, real, m, 2, complex, tau, real, work, on_device, nullptr, 0, info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusolverDnXpotrs(solver, params, lower, std::int64_t{1} << 40, 1, real, a, 2, real, x, 2, info),
            CUSOLVER_STATUS_INVALID_VALUE);
  EXPECT_EQ(cusolverDnDestroyParams(params), CUSOLVER_STATUS_SUCCESS);
}

}  // namespace
