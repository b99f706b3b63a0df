// cuBLAS, run on the host: matrices are column-major, sums are in FP32 or FP64. A call appears in the launch log under
// its name, with modelled time and no counts.
#pragma once
#define CUBLAS_V2_H_  // programs test for it
#define CUBLAS_API_H_

#include "cuComplex.h"
#include "cuda_runtime.h"
#include "library_types.h"
#if __has_include("cuda_fp16.h")
#include "cuda_fp16.h"
#endif
#if __has_include("cuda_bf16.h")
#include "cuda_bf16.h"
#endif

#define CUBLASAPI
#define CUBLASWINAPI

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1, CUBLAS_FILL_MODE_FULL = 2 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasAtomicsMode_t { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 };
enum cublasMath_t {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};
enum cublasGemmAlgo_t {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0 = 0,
  CUBLAS_GEMM_ALGO1 = 1,
  CUBLAS_GEMM_ALGO2 = 2,
  CUBLAS_GEMM_ALGO3 = 3,
  CUBLAS_GEMM_ALGO4 = 4,
  CUBLAS_GEMM_ALGO5 = 5,
  CUBLAS_GEMM_ALGO6 = 6,
  CUBLAS_GEMM_ALGO7 = 7,
  CUBLAS_GEMM_ALGO8 = 8,
  CUBLAS_GEMM_ALGO9 = 9,
  CUBLAS_GEMM_ALGO10 = 10,
  CUBLAS_GEMM_ALGO11 = 11,
  CUBLAS_GEMM_ALGO12 = 12,
  CUBLAS_GEMM_ALGO13 = 13,
  CUBLAS_GEMM_ALGO14 = 14,
  CUBLAS_GEMM_ALGO15 = 15,
  CUBLAS_GEMM_ALGO16 = 16,
  CUBLAS_GEMM_ALGO17 = 17,
  CUBLAS_GEMM_ALGO18 = 18,
  CUBLAS_GEMM_ALGO19 = 19,
  CUBLAS_GEMM_ALGO20 = 20,
  CUBLAS_GEMM_ALGO21 = 21,
  CUBLAS_GEMM_ALGO22 = 22,
  CUBLAS_GEMM_ALGO23 = 23,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP = 100,
  CUBLAS_GEMM_ALGO1_TENSOR_OP = 101,
  CUBLAS_GEMM_ALGO2_TENSOR_OP = 102,
  CUBLAS_GEMM_ALGO3_TENSOR_OP = 103,
  CUBLAS_GEMM_ALGO4_TENSOR_OP = 104,
  CUBLAS_GEMM_ALGO5_TENSOR_OP = 105,
  CUBLAS_GEMM_ALGO6_TENSOR_OP = 106,
  CUBLAS_GEMM_ALGO7_TENSOR_OP = 107,
  CUBLAS_GEMM_ALGO8_TENSOR_OP = 108,
  CUBLAS_GEMM_ALGO9_TENSOR_OP = 109,
  CUBLAS_GEMM_ALGO10_TENSOR_OP = 110,
  CUBLAS_GEMM_ALGO11_TENSOR_OP = 111,
  CUBLAS_GEMM_ALGO12_TENSOR_OP = 112,
  CUBLAS_GEMM_ALGO13_TENSOR_OP = 113,
  CUBLAS_GEMM_ALGO14_TENSOR_OP = 114,
  CUBLAS_GEMM_ALGO15_TENSOR_OP = 115,
};
enum cublasComputeType_t {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};
using cublasHandle_t = struct cublasContext*;

extern "C" {
cublasStatus_t cublasCreate_v2(cublasHandle_t* handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version);
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasGetStream_v2(cublasHandle_t handle, cudaStream_t* stream);
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t* mode);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);
cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode);
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t mode);
const char* cublasGetStatusName(cublasStatus_t status);
const char* cublasGetStatusString(cublasStatus_t status);
cublasStatus_t cublasSetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step);
cublasStatus_t cublasGetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step);
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld);
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld);
cublasStatus_t cublasSetVectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream);
cublasStatus_t cublasGetVectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step,
                                    cudaStream_t stream);
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                                    int to_ld, cudaStream_t stream);
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, void* to,
                                    int to_ld, cudaStream_t stream);
cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type, const void* x,
                            cudaDataType x_type, int x_step, void* y, cudaDataType y_type, int y_step,
                            cudaDataType compute);
cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type, void* x,
                            cudaDataType x_type, int x_step, cudaDataType compute);
cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType x_type, int x_step, void* result,
                            cudaDataType result_type, cudaDataType compute);
cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType x_type, int x_step, const void* y,
                           cudaDataType y_type, int y_step, void* result, cudaDataType result_type,
                           cudaDataType compute);

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long a_stride, const void* b, cudaDataType b_type, int ldb,
                                          long long b_stride, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batches, cublasComputeType_t compute,
                                          cublasGemmAlgo_t algorithm);
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                   int k, const void* alpha, const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb, const void* beta,
                                   void* const c[], cudaDataType c_type, int ldc, int batches,
                                   cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

// T is the element type, R the type of absolute values. First functions for all types, then for real types, then for
// complex types.
#define SIM_CUBLAS(X, RX, T, R)                                                                                        \
  cublasStatus_t cublas##X##gemm_v2(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,      \
                                    int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,            \
                                    const T* beta, T* c, int ldc);                                                     \
  cublasStatus_t cublas##X##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,  \
                                               int m, int n, int k, const T* alpha, const T* a, int lda,               \
                                               long long a_stride, const T* b, int ldb, long long b_stride,            \
                                               const T* beta, T* c, int ldc, long long c_stride, int batches);         \
  cublasStatus_t cublas##X##gemmBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,  \
                                        int n, int k, const T* alpha, const T* const a[], int lda, const T* const b[], \
                                        int ldb, const T* beta, T* const c[], int ldc, int batches);                   \
  cublasStatus_t cublas##X##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,  \
                                 const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c,        \
                                 int ldc);                                                                             \
  cublasStatus_t cublas##X##gemv_v2(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,         \
                                    const T* a, int lda, const T* x, int x_step, const T* beta, T* y, int y_step);     \
  cublasStatus_t cublas##X##trsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
                                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,     \
                                    const T* a, int lda, T* b, int ldb);                                               \
  cublasStatus_t cublas##X##symm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, \
                                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,     \
                                    int ldc);                                                                          \
  cublasStatus_t cublas##X##symv_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* a,   \
                                    int lda, const T* x, int x_step, const T* beta, T* y, int y_step);                 \
  cublasStatus_t cublas##X##syrk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,  \
                                    const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc);                \
  cublasStatus_t cublas##X##syrkx(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,    \
                                  const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,       \
                                  int ldc);                                                                            \
  cublasStatus_t cublas##X##syr2k_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k, \
                                     const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,    \
                                     int ldc);                                                                         \
  cublasStatus_t cublas##X##syr_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,    \
                                   int x_step, T* a, int lda);                                                         \
  cublasStatus_t cublas##X##syr2_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,   \
                                    int x_step, const T* y, int y_step, T* a, int lda);                                \
  cublasStatus_t cublas##X##trmm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
                                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,     \
                                    const T* a, int lda, const T* b, int ldb, T* c, int ldc);                          \
  cublasStatus_t cublas##X##trmv_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,                \
                                    cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step);          \
  cublasStatus_t cublas##X##trsv_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,                \
                                    cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step);          \
  cublasStatus_t cublas##X##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a, int lda,      \
                                 const T* x, int x_step, T* c, int ldc);                                               \
  cublasStatus_t cublas##X##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,  \
                                         int batches);                                                                 \
  cublasStatus_t cublas##X##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int x_step, T* y,        \
                                    int y_step);                                                                       \
  cublasStatus_t cublas##X##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int x_step);                   \
  cublasStatus_t cublas##X##copy_v2(cublasHandle_t handle, int n, const T* x, int x_step, T* y, int y_step);           \
  cublasStatus_t cublas##X##swap_v2(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step);                 \
  cublasStatus_t cublas##RX##nrm2_v2(cublasHandle_t handle, int n, const T* x, int x_step, R* result);                 \
  cublasStatus_t cublas##RX##asum_v2(cublasHandle_t handle, int n, const T* x, int x_step, R* result);                 \
  cublasStatus_t cublasI##X##amax_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result);               \
  cublasStatus_t cublasI##X##amin_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result);
#define SIM_CUBLAS_REAL(X, T)                                                                                    \
  cublasStatus_t cublas##X##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,  \
                                   const T* y, int y_step, T* a, int lda);                                       \
  cublasStatus_t cublas##X##rot_v2(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step, const T* c, \
                                   const T* s);                                                                  \
  cublasStatus_t cublas##X##dot_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step, \
                                   T* result);
#define SIM_CUBLAS_COMPLEX(X, XR, T, R)                                                                                \
  cublasStatus_t cublas##X##geru_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,       \
                                    const T* y, int y_step, T* a, int lda);                                            \
  cublasStatus_t cublas##X##gerc_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,       \
                                    const T* y, int y_step, T* a, int lda);                                            \
  cublasStatus_t cublas##X##gemm3m(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,       \
                                   int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,             \
                                   const T* beta, T* c, int ldc);                                                      \
  cublasStatus_t cublas##X##gemm3mBatched(                                                                             \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha,      \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int batches);    \
  cublasStatus_t cublas##X##gemm3mStridedBatched(                                                                      \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha,      \
      const T* a, int lda, long long a_stride, const T* b, int ldb, long long b_stride, const T* beta, T* c, int ldc,  \
      long long c_stride, int batches);                                                                                \
  cublasStatus_t cublas##X##hemm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, \
                                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,     \
                                    int ldc);                                                                          \
  cublasStatus_t cublas##X##hemv_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* a,   \
                                    int lda, const T* x, int x_step, const T* beta, T* y, int y_step);                 \
  cublasStatus_t cublas##X##herk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,  \
                                    const R* alpha, const T* a, int lda, const R* beta, T* c, int ldc);                \
  cublasStatus_t cublas##X##her2k_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k, \
                                     const T* alpha, const T* a, int lda, const T* b, int ldb, const R* beta, T* c,    \
                                     int ldc);                                                                         \
  cublasStatus_t cublas##X##her_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const R* alpha, const T* x,    \
                                   int x_step, T* a, int lda);                                                         \
  cublasStatus_t cublas##X##her2_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,   \
                                    int x_step, const T* y, int y_step, T* a, int lda);                                \
  cublasStatus_t cublas##XR##scal_v2(cublasHandle_t handle, int n, const R* alpha, T* x, int x_step);                  \
  cublasStatus_t cublas##X##dotu_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,      \
                                    T* result);                                                                        \
  cublasStatus_t cublas##X##dotc_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,      \
                                    T* result);
// X is the type's letter in the calls' names; after I it is lower case: cublasIsamax.
#define cublasIsamax_v2 cublasISamax_v2
#define cublasIdamax_v2 cublasIDamax_v2
#define cublasIsamin_v2 cublasISamin_v2
#define cublasIdamin_v2 cublasIDamin_v2
#define cublasIcamax_v2 cublasICamax_v2
#define cublasIzamax_v2 cublasIZamax_v2
#define cublasIcamin_v2 cublasICamin_v2
#define cublasIzamin_v2 cublasIZamin_v2
#ifndef SIM_COMPLEX_FLOAT  // cublas.cpp treats the same bytes as std::complex
#define SIM_COMPLEX_FLOAT cuComplex
#define SIM_COMPLEX_DOUBLE cuDoubleComplex
#endif
SIM_CUBLAS(S, S, float, float)
SIM_CUBLAS(D, D, double, double)
SIM_CUBLAS_REAL(S, float)
SIM_CUBLAS_REAL(D, double)
SIM_CUBLAS(C, Sc, SIM_COMPLEX_FLOAT, float)
SIM_CUBLAS(Z, Dz, SIM_COMPLEX_DOUBLE, double)
SIM_CUBLAS_COMPLEX(C, Cs, SIM_COMPLEX_FLOAT, float)
SIM_CUBLAS_COMPLEX(Z, Zd, SIM_COMPLEX_DOUBLE, double)
}

#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetWorkspace cublasSetWorkspace_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasSgemv cublasSgemv_v2
#define cublasDgemv cublasDgemv_v2
#define cublasSger cublasSger_v2
#define cublasDger cublasDger_v2
#define cublasStrsm cublasStrsm_v2
#define cublasDtrsm cublasDtrsm_v2
#define cublasSsymm cublasSsymm_v2
#define cublasDsymm cublasDsymm_v2
#define cublasSsymv cublasSsymv_v2
#define cublasDsymv cublasDsymv_v2
#define cublasSsyrk cublasSsyrk_v2
#define cublasDsyrk cublasDsyrk_v2
#define cublasSsyr2k cublasSsyr2k_v2
#define cublasDsyr2k cublasDsyr2k_v2
#define cublasSsyr cublasSsyr_v2
#define cublasDsyr cublasDsyr_v2
#define cublasSsyr2 cublasSsyr2_v2
#define cublasDsyr2 cublasDsyr2_v2
#define cublasStrmm cublasStrmm_v2
#define cublasDtrmm cublasDtrmm_v2
#define cublasStrmv cublasStrmv_v2
#define cublasDtrmv cublasDtrmv_v2
#define cublasStrsv cublasStrsv_v2
#define cublasDtrsv cublasDtrsv_v2
#define cublasSrot cublasSrot_v2
#define cublasDrot cublasDrot_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasDaxpy cublasDaxpy_v2
#define cublasSscal cublasSscal_v2
#define cublasDscal cublasDscal_v2
#define cublasScopy cublasScopy_v2
#define cublasDcopy cublasDcopy_v2
#define cublasSswap cublasSswap_v2
#define cublasDswap cublasDswap_v2
#define cublasSdot cublasSdot_v2
#define cublasDdot cublasDdot_v2
#define cublasSnrm2 cublasSnrm2_v2
#define cublasDnrm2 cublasDnrm2_v2
#define cublasSasum cublasSasum_v2
#define cublasDasum cublasDasum_v2
#define cublasIsamax cublasIsamax_v2
#define cublasIdamax cublasIdamax_v2
#define cublasIsamin cublasIsamin_v2
#define cublasIdamin cublasIdamin_v2
#define cublasCgemm cublasCgemm_v2
#define cublasCgemv cublasCgemv_v2
#define cublasCtrsm cublasCtrsm_v2
#define cublasCsymm cublasCsymm_v2
#define cublasCsymv cublasCsymv_v2
#define cublasCsyrk cublasCsyrk_v2
#define cublasCsyr2k cublasCsyr2k_v2
#define cublasCsyr cublasCsyr_v2
#define cublasCsyr2 cublasCsyr2_v2
#define cublasCtrmm cublasCtrmm_v2
#define cublasCtrmv cublasCtrmv_v2
#define cublasCtrsv cublasCtrsv_v2
#define cublasCaxpy cublasCaxpy_v2
#define cublasCscal cublasCscal_v2
#define cublasCcopy cublasCcopy_v2
#define cublasCswap cublasCswap_v2
#define cublasCgeru cublasCgeru_v2
#define cublasCgerc cublasCgerc_v2
#define cublasChemm cublasChemm_v2
#define cublasChemv cublasChemv_v2
#define cublasCherk cublasCherk_v2
#define cublasCher2k cublasCher2k_v2
#define cublasCher cublasCher_v2
#define cublasCher2 cublasCher2_v2
#define cublasCdotu cublasCdotu_v2
#define cublasCdotc cublasCdotc_v2
#define cublasZgemm cublasZgemm_v2
#define cublasZgemv cublasZgemv_v2
#define cublasZtrsm cublasZtrsm_v2
#define cublasZsymm cublasZsymm_v2
#define cublasZsymv cublasZsymv_v2
#define cublasZsyrk cublasZsyrk_v2
#define cublasZsyr2k cublasZsyr2k_v2
#define cublasZsyr cublasZsyr_v2
#define cublasZsyr2 cublasZsyr2_v2
#define cublasZtrmm cublasZtrmm_v2
#define cublasZtrmv cublasZtrmv_v2
#define cublasZtrsv cublasZtrsv_v2
#define cublasZaxpy cublasZaxpy_v2
#define cublasZscal cublasZscal_v2
#define cublasZcopy cublasZcopy_v2
#define cublasZswap cublasZswap_v2
#define cublasZgeru cublasZgeru_v2
#define cublasZgerc cublasZgerc_v2
#define cublasZhemm cublasZhemm_v2
#define cublasZhemv cublasZhemv_v2
#define cublasZherk cublasZherk_v2
#define cublasZher2k cublasZher2k_v2
#define cublasZher cublasZher_v2
#define cublasZher2 cublasZher2_v2
#define cublasZdotu cublasZdotu_v2
#define cublasZdotc cublasZdotc_v2
#define cublasCsscal cublasCsscal_v2
#define cublasZdscal cublasZdscal_v2
#define cublasScnrm2 cublasScnrm2_v2
#define cublasDznrm2 cublasDznrm2_v2
#define cublasScasum cublasScasum_v2
#define cublasDzasum cublasDzasum_v2
#define cublasIcamax cublasIcamax_v2
#define cublasIzamax cublasIzamax_v2
#define cublasIcamin cublasIcamin_v2
#define cublasIzamin cublasIzamin_v2

/// Before cuBLAS 11, the compute type was an element type.
inline cublasComputeType_t sim_compute_type(cudaDataType type) {
  return type == CUDA_R_64F   ? CUBLAS_COMPUTE_64F
         : type == CUDA_R_32I ? CUBLAS_COMPUTE_32I
         : type == CUDA_R_16F ? CUBLAS_COMPUTE_16F
                              : CUBLAS_COMPUTE_32F;
}
inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                   int k, const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                                   cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type,
                                   int ldc, cudaDataType compute, cublasGemmAlgo_t algorithm) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, a_type, lda, b, b_type, ldb, beta, c, c_type, ldc,
                      sim_compute_type(compute), algorithm);
}
#if __has_include("cuda_fp16.h")
inline cublasStatus_t cublasHgemm(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                  int k, const __half* alpha, const __half* a, int lda, const __half* b, int ldb,
                                  const __half* beta, __half* c, int ldc) {
  return cublasGemmEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_16F, lda, b, CUDA_R_16F, ldb, beta, c, CUDA_R_16F,
                      ldc, CUBLAS_COMPUTE_16F, CUBLAS_GEMM_DEFAULT);
}
inline cublasStatus_t cublasHgemmBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                         int n, int k, const __half* alpha, const __half* const a[], int lda,
                                         const __half* const b[], int ldb, const __half* beta, __half* const c[],
                                         int ldc, int batches) {
  return cublasGemmBatchedEx(handle, op_a, op_b, m, n, k, alpha, reinterpret_cast<const void* const*>(a), CUDA_R_16F,
                             lda, reinterpret_cast<const void* const*>(b), CUDA_R_16F, ldb, beta,
                             reinterpret_cast<void* const*>(c), CUDA_R_16F, ldc, batches, CUBLAS_COMPUTE_16F,
                             CUBLAS_GEMM_DEFAULT);
}
inline cublasStatus_t cublasHgemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,
                                                int m, int n, int k, const __half* alpha, const __half* a, int lda,
                                                long long a_stride, const __half* b, int ldb, long long b_stride,
                                                const __half* beta, __half* c, int ldc, long long c_stride,
                                                int batches) {
  return cublasGemmStridedBatchedEx(handle, op_a, op_b, m, n, k, alpha, a, CUDA_R_16F, lda, a_stride, b, CUDA_R_16F,
                                    ldb, b_stride, beta, c, CUDA_R_16F, ldc, c_stride, batches, CUBLAS_COMPUTE_16F,
                                    CUBLAS_GEMM_DEFAULT);
}
#endif
