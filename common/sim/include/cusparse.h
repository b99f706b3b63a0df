// The simulated device's cuSPARSE, computed on the host with Eigen: matrices in CSR, CSC and COO, real values. Sums are
// in FP64 and are rounded once.
#pragma once
#define CUSPARSE_H_  // programs test for it

#include <cstddef>
#include <cstdint>

#include "cuda_runtime.h"
#include "library_types.h"

#define CUSPARSEAPI
#define CUSPARSE_VERSION 12600
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6

enum cusparseStatus_t {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11,
};
enum cusparsePointerMode_t { CUSPARSE_POINTER_MODE_HOST = 0, CUSPARSE_POINTER_MODE_DEVICE = 1 };
enum cusparseAction_t { CUSPARSE_ACTION_SYMBOLIC = 0, CUSPARSE_ACTION_NUMERIC = 1 };
enum cusparseMatrixType_t {
  CUSPARSE_MATRIX_TYPE_GENERAL = 0,
  CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3,
};
enum cusparseFillMode_t { CUSPARSE_FILL_MODE_LOWER = 0, CUSPARSE_FILL_MODE_UPPER = 1 };
enum cusparseDiagType_t { CUSPARSE_DIAG_TYPE_NON_UNIT = 0, CUSPARSE_DIAG_TYPE_UNIT = 1 };
enum cusparseIndexBase_t { CUSPARSE_INDEX_BASE_ZERO = 0, CUSPARSE_INDEX_BASE_ONE = 1 };
enum cusparseOperation_t {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2,
};
enum cusparseDirection_t { CUSPARSE_DIRECTION_ROW = 0, CUSPARSE_DIRECTION_COLUMN = 1 };
enum cusparseSolvePolicy_t { CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0, CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1 };
enum cusparseFormat_t { CUSPARSE_FORMAT_CSR = 1, CUSPARSE_FORMAT_CSC = 2, CUSPARSE_FORMAT_COO = 3 };
enum cusparseOrder_t { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };
enum cusparseIndexType_t { CUSPARSE_INDEX_32I = 2, CUSPARSE_INDEX_64I = 3 };
enum cusparseSpMatAttribute_t { CUSPARSE_SPMAT_FILL_MODE = 0, CUSPARSE_SPMAT_DIAG_TYPE = 1 };
enum cusparseCsr2CscAlg_t { CUSPARSE_CSR2CSC_ALG_DEFAULT = 1, CUSPARSE_CSR2CSC_ALG1 = 1 };
enum cusparseSparseToDenseAlg_t { CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0 };
enum cusparseDenseToSparseAlg_t { CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0 };
enum cusparseSpMVAlg_t {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG2 = 4,
};
enum cusparseSpMMAlg_t {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_COO_ALG2 = 2,
  CUSPARSE_SPMM_COO_ALG3 = 3,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_COO_ALG4 = 5,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12,
};
enum cusparseSpGEMMAlg_t {
  CUSPARSE_SPGEMM_DEFAULT = 0,
  CUSPARSE_SPGEMM_CSR_ALG_DETERMINITIC = 1,
  CUSPARSE_SPGEMM_CSR_ALG_NONDETERMINITIC = 2,
  CUSPARSE_SPGEMM_ALG1 = 3,
  CUSPARSE_SPGEMM_ALG2 = 4,
  CUSPARSE_SPGEMM_ALG3 = 5,
};
enum cusparseSpSVAlg_t { CUSPARSE_SPSV_ALG_DEFAULT = 0 };
enum cusparseSpSMAlg_t { CUSPARSE_SPSM_ALG_DEFAULT = 0 };
enum cusparseSDDMMAlg_t { CUSPARSE_SDDMM_ALG_DEFAULT = 0 };

using cusparseHandle_t = struct cusparseContext*;
using cusparseMatDescr_t = struct cusparseMatDescr*;
using csrilu02Info_t = struct csrilu02Info*;
using cusparseSpVecDescr_t = struct cusparseSpVecDescr*;
using cusparseDnVecDescr_t = struct cusparseDnVecDescr*;
using cusparseSpMatDescr_t = struct cusparseSpMatDescr*;
using cusparseDnMatDescr_t = struct cusparseDnMatDescr*;
using cusparseConstSpVecDescr_t = const cusparseSpVecDescr*;
using cusparseConstDnVecDescr_t = const cusparseDnVecDescr*;
using cusparseConstSpMatDescr_t = const cusparseSpMatDescr*;
using cusparseConstDnMatDescr_t = const cusparseDnMatDescr*;
using cusparseSpSVDescr_t = struct cusparseSolveDescr*;
using cusparseSpSMDescr_t = struct cusparseSolveDescr*;
using cusparseSpGEMMDescr_t = struct cusparseSpGEMMDescr*;

extern "C" {
cusparseStatus_t cusparseCreate(cusparseHandle_t* handle);
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle);
cusparseStatus_t cusparseGetVersion(cusparseHandle_t handle, int* version);
const char* cusparseGetErrorName(cusparseStatus_t status);
const char* cusparseGetErrorString(cusparseStatus_t status);
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream);
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream);
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode);
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode);

// ---- descriptions of matrices and vectors in device memory

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* description);
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t description);
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t description, cusparseMatrixType_t type);
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t description, cusparseIndexBase_t base);
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t description, cusparseFillMode_t mode);
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t description, cusparseDiagType_t type);
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vector, std::int64_t size, std::int64_t nonzeros,
                                     void* indices, void* values, cusparseIndexType_t index_type,
                                     cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector);
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, std::int64_t size, void* values, cudaDataType type);
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector);
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void** values);
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values);
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* matrix, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* row_offsets, void* column_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* matrix, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* column_offsets, void* row_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* matrix, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* row_indices, void* column_indices, void* values,
                                   cusparseIndexType_t indices_type, cusparseIndexBase_t base, cudaDataType type);
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t matrix);
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t matrix, std::int64_t* rows, std::int64_t* columns,
                                      std::int64_t* nonzeros);
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t matrix, void** values);
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void* values);
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t matrix, cusparseSpMatAttribute_t attribute, void* data,
                                           std::size_t bytes);
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t matrix, void* row_offsets, void* column_indices,
                                        void* values);
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t matrix, int batches, std::int64_t offsets_stride,
                                            std::int64_t columns_values_stride);
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* matrix, std::int64_t rows, std::int64_t columns,
                                     std::int64_t ld, void* values, cudaDataType type, cusparseOrder_t order);
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t matrix);
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t matrix, void** values);
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t matrix, int batches, std::int64_t stride);

// ---- products. No call needs a buffer, but each asks for one byte: programs allocate what they are told to.

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y);
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x);
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y);
cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm,
                                         std::size_t* bytes);
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm,
                                         void* buffer);
/// y = alpha op(A) x + beta y
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, std::size_t* bytes);
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                                         cusparseSpMMAlg_t algorithm, void* buffer);
/// C = alpha op(A) op(B) + beta C
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute,
                              cusparseSpMMAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                          const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t algorithm, std::size_t* bytes);
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                          const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                                          const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                          cusparseSDDMMAlg_t algorithm, void* buffer);
/// C = alpha op(A) op(B) + beta C, for the elements in the sparsity pattern of C only.
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                               cusparseSDDMMAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* description);
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t description);
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t handle, cusparseOperation_t op_a,
                                               cusparseOperation_t op_b, const void* alpha, cusparseConstSpMatDescr_t a,
                                               cusparseConstSpMatDescr_t b, const void* beta, cusparseSpMatDescr_t c,
                                               cudaDataType compute, cusparseSpGEMMAlg_t algorithm,
                                               cusparseSpGEMMDescr_t description, std::size_t* bytes, void* buffer);
/// With a buffer: computes C = alpha A B; then cusparseSpMatGetSize returns C's size.
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                        const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                        cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t description,
                                        std::size_t* bytes, void* buffer);
/// Stores the result in the arrays that C has now.
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                     const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                     cusparseSpGEMMAlg_t algorithm, cusparseSpGEMMDescr_t description);

// ---- triangular systems, incomplete factors

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* description);
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t description);
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                         cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x,
                                         cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpSVAlg_t algorithm,
                                         cusparseSpSVDescr_t description, std::size_t* bytes);
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                       cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                       cudaDataType compute, cusparseSpSVAlg_t algorithm,
                                       cusparseSpSVDescr_t description, void* buffer);
/// op(A) y = alpha x, where A is the triangle that its attributes name.
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t algorithm, cusparseSpSVDescr_t description);
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* description);
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t description);
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                         const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                         cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,
                                         cusparseSpSMDescr_t description, std::size_t* bytes);
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                       const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                       cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,
                                       cusparseSpSMDescr_t description, void* buffer);
/// op(A) C = alpha op(B)
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                    cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t algorithm,
                                    cusparseSpSMDescr_t description);
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info);
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info);
/// The row of the first zero on the diagonal; -1 if there is none.
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t handle, csrilu02Info_t info, int* position);
#define SIM_CUSPARSE(X, T)                                                                                            \
  cusparseStatus_t cusparse##X##csrilu02_bufferSize(cusparseHandle_t handle, int m, int nonzeros,                     \
                                                    const cusparseMatDescr_t a, T* values, const int* row_offsets,    \
                                                    const int* columns, csrilu02Info_t info, int* bytes);             \
  cusparseStatus_t cusparse##X##csrilu02_analysis(                                                                    \
      cusparseHandle_t handle, int m, int nonzeros, const cusparseMatDescr_t a, const T* values,                      \
      const int* row_offsets, const int* columns, csrilu02Info_t info, cusparseSolvePolicy_t policy, void* buffer);   \
  cusparseStatus_t cusparse##X##csrilu02(cusparseHandle_t handle, int m, int nonzeros, const cusparseMatDescr_t a,    \
                                         T* values, const int* row_offsets, const int* columns, csrilu02Info_t info,  \
                                         cusparseSolvePolicy_t policy, void* buffer);                                 \
  cusparseStatus_t cusparse##X##nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,             \
                                    const cusparseMatDescr_t description, const T* a, int lda, int* by_row_or_column, \
                                    int* total);
SIM_CUSPARSE(S, float)
SIM_CUSPARSE(D, double)
#undef SIM_CUSPARSE

// ---- conversions

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t handle, cusparseConstSpMatDescr_t a,
                                                  cusparseDnMatDescr_t b, cusparseSparseToDenseAlg_t algorithm,
                                                  std::size_t* bytes);
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                  cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                                  std::size_t* bytes);
/// Counts the nonzeros, and writes B's offsets.
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                                void* buffer);
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t algorithm,
                                               void* buffer);
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t handle, int m, int n, int nonzeros, const void* values,
                                               const int* row_offsets, const int* columns, void* csc_values,
                                               int* column_offsets, int* rows, cudaDataType type,
                                               cusparseAction_t action, cusparseIndexBase_t base,
                                               cusparseCsr2CscAlg_t algorithm, std::size_t* bytes);
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nonzeros, const void* values,
                                    const int* row_offsets, const int* columns, void* csc_values, int* column_offsets,
                                    int* rows, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                                    cusparseCsr2CscAlg_t algorithm, void* buffer);
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* row_offsets, int nonzeros, int m, int* rows,
                                  cusparseIndexBase_t base);
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rows, int nonzeros, int m, int* row_offsets,
                                  cusparseIndexBase_t base);
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* permutation);
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t handle, int m, int n, int nonzeros,
                                                const int* row_offsets, const int* columns, std::size_t* bytes);
/// Sorts each row by column. The permutation, initially null or the identity, becomes each entry's original position.
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int n, int nonzeros, const cusparseMatDescr_t a,
                                  const int* row_offsets, int* columns, int* permutation, void* buffer);
}
