// cuBLAS and cuBLASLt as programs call them.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "runtime_test.hpp"

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
  // The bias pointer receives sums over k.
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

TEST_F(Blas, TriangularSystems) {
  constexpr int m = 3, n = 2;
  double *a = managed<double>(9), *b = managed<double>(6);
  for (int i = 0; i < 9; ++i) a[i] = i % 4 == 0 ? 4 + i : 1 + 0.1 * i;
  const double half = 0.5;
  for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (const auto fill : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
      for (const auto op : {CUBLAS_OP_N, CUBLAS_OP_T})
        for (const auto diagonal : {CUBLAS_DIAG_NON_UNIT, CUBLAS_DIAG_UNIT}) {
          const int rows = side == CUBLAS_SIDE_LEFT ? m : n, columns = side == CUBLAS_SIDE_LEFT ? n : m;
          const auto triangle = [&](int i, int j) {
            if (op == CUBLAS_OP_T) std::swap(i, j);
            if (i == j) return diagonal == CUBLAS_DIAG_UNIT ? 1.0 : a[4 * i];
            return (i > j) == (fill == CUBLAS_FILL_MODE_LOWER) ? a[i + 3 * j] : 0.0;
          };
          for (int i = 0; i < 6; ++i) b[i] = i + 1;
          ASSERT_EQ(cublasDtrsm(handle, side, fill, op, diagonal, rows, columns, &half, a, 3, b, rows),
                    CUBLAS_STATUS_SUCCESS);
          for (int i = 0; i < rows; ++i)
            for (int j = 0; j < columns; ++j) {
              double sum = 0;
              for (int k = 0; k < m; ++k)
                sum += side == CUBLAS_SIDE_LEFT ? triangle(i, k) * b[k + rows * j] : b[i + rows * k] * triangle(k, j);
              EXPECT_NEAR(sum, half * (i + rows * j + 1), 1e-12);
            }
        }
  EXPECT_EQ(cublasDtrsm(handle, CUBLAS_SIDE_LEFT, CUBLAS_FILL_MODE_LOWER, CUBLAS_OP_N, CUBLAS_DIAG_UNIT, m, n, &half, a,
                        m - 1, b, m),
            CUBLAS_STATUS_INVALID_VALUE);
}

/// A has its upper triangle in columns of 2; B is 2 x 2.
TEST_F(Blas, SymmetricAndTriangularMatrices) {
  double *a = managed<double>(4), *b = managed<double>(4), *c = managed<double>(4), *x = managed<double>(2),
         *y = managed<double>(2);
  const double one = 1, two = 2, zero = 0;
  const auto fill = CUBLAS_FILL_MODE_UPPER;
  const auto begin = [&] {
    const double upper[] = {1, -99, 2, 3}, factor[] = {1, 2, 3, 4}, sum[] = {5, 6, 7, 8};
    std::copy(upper, upper + 4, a), std::copy(factor, factor + 4, b), std::copy(sum, sum + 4, c);
    x[0] = 1, x[1] = 2, y[0] = 3, y[1] = 4;
  };
  using all = std::vector<double>;
  begin();
  ASSERT_EQ(cublasDsymm(handle, CUBLAS_SIDE_LEFT, fill, 2, 2, &two, a, 2, b, 2, &one, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{15, 22, 29, 44}));
  ASSERT_EQ(cublasDsymv(handle, fill, 2, &one, a, 2, x, 1, &two, y, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{y, y + 2}), (all{11, 16}));
  begin();
  ASSERT_EQ(cublasDsyrk(handle, fill, CUBLAS_OP_N, 2, 2, &one, b, 2, &zero, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{10, 6, 14, 20}));  // c[1] is unchanged
  ASSERT_EQ(cublasDsyrkx(handle, fill, CUBLAS_OP_T, 2, 2, &one, b, 2, b, 2, &zero, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{5, 6, 11, 25}));
  ASSERT_EQ(cublasDsyr2k(handle, fill, CUBLAS_OP_N, 2, 2, &one, b, 2, b, 2, &zero, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{20, 6, 28, 40}));
  ASSERT_EQ(cublasDsyr(handle, fill, 2, &one, x, 1, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{21, 6, 30, 44}));
  ASSERT_EQ(cublasDsyr2(handle, fill, 2, &one, x, 1, y, 1, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{27, 6, 40, 60}));
  ASSERT_EQ(
      cublasDtrmm(handle, CUBLAS_SIDE_LEFT, fill, CUBLAS_OP_N, CUBLAS_DIAG_NON_UNIT, 2, 2, &two, a, 2, b, 2, c, 2),
      CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{10, 12, 22, 24}));
  ASSERT_EQ(cublasDtrmv(handle, fill, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, 2, a, 2, x, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{x, x + 2}), (all{1, 4}));
  ASSERT_EQ(cublasDtrsv(handle, fill, CUBLAS_OP_T, CUBLAS_DIAG_UNIT, 2, a, 2, x, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{x, x + 2}), (all{1, 2}));
  ASSERT_EQ(cublasDdgmm(handle, CUBLAS_SIDE_RIGHT, 2, 2, b, 2, x, 1, c, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{c, c + 4}), (all{1, 2, 6, 8}));
  ASSERT_EQ(cublasDrot(handle, 2, x, 1, y, 1, &zero, &one), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{x, x + 2}), (all{3, 4}));
  EXPECT_EQ((all{y, y + 2}), (all{-1, -2}));
  double norm = 0;
  ASSERT_EQ(cublasNrm2Ex(handle, 2, x, CUDA_R_64F, 1, &norm, CUDA_R_64F, CUDA_R_64F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(norm, 5);
  ASSERT_EQ(cublasAxpyEx(handle, 2, &two, CUDA_R_64F, x, CUDA_R_64F, 1, y, CUDA_R_64F, 1, CUDA_R_64F),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasScalEx(handle, 2, &two, CUDA_R_64F, y, CUDA_R_64F, 1, CUDA_R_64F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((all{y, y + 2}), (all{10, 12}));
  EXPECT_EQ(cublasDsymv(handle, fill, 2, &one, a, 1, x, 1, &two, y, 1), CUBLAS_STATUS_INVALID_VALUE);
}

using complex = std::complex<double>;
complex number_of(cuDoubleComplex z) { return {z.x, z.y}; }

/// op(A)(i, j), column-major.
complex element(cublasOperation_t op, const cuDoubleComplex* a, int ld, int i, int j) {
  if (op == CUBLAS_OP_N) return number_of(a[i + ld * j]);
  return op == CUBLAS_OP_T ? number_of(a[j + ld * i]) : std::conj(number_of(a[j + ld * i]));
}

TEST_F(Blas, ComplexProducts) {
  constexpr int n = 3;
  auto *a = managed<cuDoubleComplex>(18), *b = managed<cuDoubleComplex>(18), *c = managed<cuDoubleComplex>(18),
       **list = managed<cuDoubleComplex*>(3);
  for (int i = 0; i < 18; ++i) a[i] = {1.0 + i % 5, i % 3 - 1.0}, b[i] = {i % 4 - 2.0, 0.5 * i};
  const cuDoubleComplex alpha = {2, 1}, beta = {0, 1}, one = {1, 0}, zero = {0, 0};
  const auto ops = {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C};
  const auto reset = [&] {
    for (int i = 0; i < 18; ++i) c[i] = {1, 1};
  };
  const auto expect = [&](cuDoubleComplex got, complex wanted) {
    EXPECT_NEAR(got.x, wanted.real(), 1e-9);
    EXPECT_NEAR(got.y, wanted.imag(), 1e-9);
  };
  for (const auto op_a : ops)
    for (const auto op_b : ops) {
      const auto product = [&](int batch, int i, int j) {
        complex sum = 0;
        for (int k = 0; k < n; ++k)
          sum += element(op_a, a + 9 * batch, n, i, k) * element(op_b, b + 9 * batch, n, k, j);
        return number_of(alpha) * sum + number_of(beta) * complex(1, 1);
      };
      for (int form = 0; form < 3; ++form) {
        reset();
        list[0] = a, list[1] = b, list[2] = c;
        ASSERT_EQ(form == 0   ? cublasZgemm(handle, op_a, op_b, n, n, n, &alpha, a, n, b, n, &beta, c, n)
                  : form == 1 ? cublasZgemmStridedBatched(handle, op_a, op_b, n, n, n, &alpha, a, n, 9, b, n, 9, &beta,
                                                          c, n, 9, 2)
                              : cublasZgemm3mBatched(handle, op_a, op_b, n, n, n, &alpha, list, n, list + 1, n, &beta,
                                                     list + 2, n, 1),
                  CUBLAS_STATUS_SUCCESS);
        for (int batch = 0; batch < (form == 1 ? 2 : 1); ++batch)
          for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) expect(c[9 * batch + i + n * j], product(batch, i, j));
      }
      ASSERT_EQ(cublasZgeam(handle, op_a, op_b, n, n, &alpha, a, n, &beta, b, n, c, n), CUBLAS_STATUS_SUCCESS);
      expect(c[1], number_of(alpha) * element(op_a, a, n, 1, 0) + number_of(beta) * element(op_b, b, n, 1, 0));
    }
  for (const auto op : ops) {
    reset();
    ASSERT_EQ(cublasZgemv(handle, op, n, n, &alpha, a, n, b, 1, &zero, c, 1), CUBLAS_STATUS_SUCCESS);
    complex sum = 0;
    for (int k = 0; k < n; ++k) sum += element(op, a, n, 1, k) * number_of(b[k]);
    expect(c[1], number_of(alpha) * sum);
    for (const auto side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {  // trsm undoes what trmm computes
      const auto fill = CUBLAS_FILL_MODE_LOWER;
      ASSERT_EQ(cublasZtrmm(handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, n, n, &one, a, n, b, n, c, n),
                CUBLAS_STATUS_SUCCESS);
      ASSERT_EQ(cublasZtrsm(handle, side, fill, op, CUBLAS_DIAG_NON_UNIT, n, n, &alpha, a, n, c, n),
                CUBLAS_STATUS_SUCCESS);
      for (int i = 0; i < 9; ++i) expect(c[i], number_of(alpha) * number_of(b[i]));
    }
  }
  reset();
  ASSERT_EQ(cublasZgeru(handle, n, n, &alpha, a, 1, b, 1, c, n), CUBLAS_STATUS_SUCCESS);
  expect(c[3], complex(1, 1) + number_of(alpha) * number_of(a[0]) * number_of(b[1]));
  ASSERT_EQ(cublasZgerc(handle, n, n, &alpha, a, 1, b, 1, c, n), CUBLAS_STATUS_SUCCESS);
  expect(c[3], complex(1, 1) + number_of(alpha) * number_of(a[0]) * 2.0 * number_of(b[1]).real());
  cuComplex *small = managed<cuComplex>(2), f = {0, 1}, none = {0, 0};
  small[0] = {1, 2};
  ASSERT_EQ(cublasCgemm(handle, CUBLAS_OP_C, CUBLAS_OP_N, 1, 1, 1, &f, small, 1, small, 1, &none, small + 1, 1),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(small[1].x, 0);
  EXPECT_EQ(small[1].y, 5);
  EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &f, small, CUDA_C_32F, 1, small, CUDA_R_32F, 1,
                         &none, small, CUDA_C_32F, 1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(Blas, HermitianMatrices) {
  auto *a = managed<cuDoubleComplex>(4), *b = managed<cuDoubleComplex>(4), *c = managed<cuDoubleComplex>(4);
  const cuDoubleComplex one = {1, 0}, zero = {0, 0};
  const double two = 2, none = 0;
  a[0] = {1, 0}, a[2] = {2, 3}, a[3] = {4, 0}, a[1] = {-99, -99};  // only the upper triangle is used
  b[0] = {1, 0}, b[1] = {0, 1}, b[2] = {0, 0}, b[3] = {1, 0};
  const auto fill = CUBLAS_FILL_MODE_UPPER;
  const auto expect = [&](cuDoubleComplex got, double x, double y) {
    EXPECT_EQ(got.x, x);
    EXPECT_EQ(got.y, y);
  };
  ASSERT_EQ(cublasZhemm(handle, CUBLAS_SIDE_LEFT, fill, 2, 2, &one, a, 2, b, 2, &zero, c, 2), CUBLAS_STATUS_SUCCESS);
  expect(c[0], -2, 2), expect(c[1], 2, 1), expect(c[2], 2, 3), expect(c[3], 4, 0);
  ASSERT_EQ(cublasZsymm(handle, CUBLAS_SIDE_LEFT, fill, 2, 2, &one, a, 2, b, 2, &zero, c, 2), CUBLAS_STATUS_SUCCESS);
  expect(c[0], -2, 2), expect(c[1], 2, 7);
  c[1] = {7, 7};
  ASSERT_EQ(cublasZherk(handle, fill, CUBLAS_OP_N, 2, 2, &two, b, 2, &none, c, 2), CUBLAS_STATUS_SUCCESS);
  expect(c[0], 2, 0), expect(c[1], 7, 7), expect(c[2], 0, -2), expect(c[3], 4, 0);
  ASSERT_EQ(cublasZherk(handle, fill, CUBLAS_OP_C, 2, 2, &two, b, 2, &none, c, 2), CUBLAS_STATUS_SUCCESS);
  expect(c[0], 4, 0), expect(c[2], 0, -2), expect(c[3], 2, 0);
}

TEST_F(Blas, ComplexVectors) {
  auto *x = managed<cuDoubleComplex>(2), *y = managed<cuDoubleComplex>(2);
  const auto reset = [&] { x[0] = {3, -4}, x[1] = {1, 6}, y[0] = {0, 1}, y[1] = {2, 0}; };
  const cuDoubleComplex alpha = {0, 2};
  const double half = 0.5;
  cuDoubleComplex dot;
  double real = 0;
  int place = 0;
  reset();
  ASSERT_EQ(cublasZdotu(handle, 2, x, 1, y, 1, &dot), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(number_of(dot), complex(6, 15));
  ASSERT_EQ(cublasZdotc(handle, 2, x, 1, y, 1, &dot), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(number_of(dot), complex(-2, -9));
  ASSERT_EQ(cublasDznrm2(handle, 1, x, 1, &real), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(real, 5);
  ASSERT_EQ(cublasDzasum(handle, 2, x, 1, &real), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(real, 14);
  ASSERT_EQ(cublasIzamin(handle, 2, x, 1, &place), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(place, 1);  // the first of equal |real| + |imaginary|
  ASSERT_EQ(cublasZaxpy(handle, 2, &alpha, x, 1, y, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(number_of(y[0]), complex(8, 7));
  ASSERT_EQ(cublasZscal(handle, 1, &alpha, x, 1), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasZdscal(handle, 1, &half, x, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(number_of(x[0]), complex(4, 3));
  ASSERT_EQ(cublasZswap(handle, 2, x, 1, y, 1), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasZcopy(handle, 2, y, 1, x, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(number_of(x[0]), complex(4, 3));
  ASSERT_EQ(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasZdotc(handle, 1, x, 1, x, 1, y), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(number_of(y[0]), complex(25, 0));
}

TEST_F(Blas, FactorsOfBatches) {
  float *a = managed<float>(8), **list = managed<float*>(2);
  int *pivots = managed<int>(4), *info = managed<int>(2);
  list[0] = a;
  list[1] = a + 4;
  const float first[] = {1, 4, 2, 12}, second[] = {0, 0, 1, 2};  // the second one is singular
  std::copy(first, first + 4, a);
  std::copy(second, second + 4, a + 4);
  ASSERT_EQ(cublasSgetrfBatched(handle, 2, list, 2, pivots, info, 2), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((std::vector<float>{a, a + 4}), (std::vector<float>{4, 0.25f, 12, -1}));
  EXPECT_EQ((std::vector<int>{pivots, pivots + 2}), (std::vector<int>{2, 2}));
  EXPECT_EQ((std::vector<int>{info, info + 2}), (std::vector<int>{0, 1}));
  std::copy(first, first + 4, a);
  ASSERT_EQ(cublasSgetrfBatched(handle, 2, list, 2, nullptr, info, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ((std::vector<float>{a, a + 4}), (std::vector<float>{1, 4, 2, 4}));
}

TEST_F(Blas, HalvesAndCopiesInAStream) {
  __half *x = managed<__half>(4), *y = managed<__half>(4), *z = managed<__half>(2);
  for (int i = 0; i < 4; ++i) {
    x[i] = __float2half(static_cast<float>(i + 1));
    y[i] = __float2half(static_cast<float>(i == 0));
  }
  float sum = 0;
  EXPECT_EQ(cublasDotEx(handle, 2, x, CUDA_R_16F, 2, y, CUDA_R_16F, -1, &sum, CUDA_R_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(sum, 3);  // y backwards
  __half** list = managed<__half*>(3);
  list[0] = x;
  list[1] = x + 2;
  list[2] = z;
  const __half one = __float2half(1), zero = __float2half(0);
  EXPECT_EQ(
      cublasHgemmBatched(handle, CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, 2, &one, list, 2, list + 1, 2, &zero, list + 2, 1, 1),
      CUBLAS_STATUS_SUCCESS);
  cudaDeviceSynchronize();
  EXPECT_EQ(__half2float(z[0]), 1 * 3 + 2 * 4);

  const int from[] = {1, 2, 3, 4, 5, 6};
  int *to = nullptr, back[4] = {};
  ASSERT_EQ(cudaMalloc(&to, 4 * sizeof(int)), cudaSuccess);
  EXPECT_EQ(cublasSetMatrixAsync(2, 2, sizeof(int), from, 3, to, 2, nullptr), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasGetVectorAsync(2, sizeof(int), to, 2, back, 1, nullptr), CUBLAS_STATUS_SUCCESS);
  cudaDeviceSynchronize();
  EXPECT_EQ(back[0], 1);
  EXPECT_EQ(back[1], 4);
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
  // A GPU's host cannot write to device memory.
  cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_HOST);
  float* on_device = nullptr;
  ASSERT_EQ(cudaMalloc(&on_device, sizeof(float)), cudaSuccess);
  const std::size_t before = sim::host_faults().size();
  EXPECT_EQ(cublasSasum(handle, 2, y, 1, on_device), CUBLAS_STATUS_EXECUTION_FAILED);
  ASSERT_EQ(sim::host_faults().size(), before + 1);
  EXPECT_NE(sim::host_faults().back().find("a number of this call is in device memory"), std::string::npos);
  cudaFree(on_device);
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

}  // namespace
