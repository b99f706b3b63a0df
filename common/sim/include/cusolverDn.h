// The simulated device's cuSOLVER for dense matrices, computed on the host with Eigen: factorisations, solutions,
// eigenvalues and singular values. Matrices are column-major; results have LAPACK's form. Each matrix is one entry in
// the launch log.
#pragma once
#define CUSOLVERDN_H_  // programs test for it

#include <stddef.h>
#include <stdint.h>

#include "cuComplex.h"
#include "cusolver_common.h"

using cusolverDnHandle_t = struct cusolverDnContext*;
using cusolverDnParams_t = struct cusolverDnParams*;

extern "C" {
cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle);
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle);
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream);
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream);

// T is the element type, R the type of absolute values. No call needs a workspace, but each asks for one element.
// `info`: 0, or i if the i-th pivot or leading minor is unusable.
#define SIM_CUSOLVER(X, T, R)                                                                                         \
  cusolverStatus_t cusolverDn##X##potrf_bufferSize(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a,     \
                                                   int lda, int* elements);                                           \
  cusolverStatus_t cusolverDn##X##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda,       \
                                        T* work, int elements, int* info);                                            \
  cusolverStatus_t cusolverDn##X##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int columns,         \
                                        const T* a, int lda, T* b, int ldb, int* info);                               \
  cusolverStatus_t cusolverDn##X##getrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T* a, int lda,            \
                                                   int* elements);                                                    \
  cusolverStatus_t cusolverDn##X##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* work, int* pivots, \
                                        int* info);                                                                   \
  cusolverStatus_t cusolverDn##X##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,          \
                                        const T* a, int lda, const int* pivots, T* b, int ldb, int* info);            \
  cusolverStatus_t cusolverDn##X##geqrf_bufferSize(cusolverDnHandle_t handle, int m, int n, T* a, int lda,            \
                                                   int* elements);                                                    \
  cusolverStatus_t cusolverDn##X##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T* work,      \
                                        int elements, int* info);                                                     \
  cusolverStatus_t cusolverDn##X##gesvd_bufferSize(cusolverDnHandle_t handle, int m, int n, int* elements);           \
  cusolverStatus_t cusolverDn##X##gesvd(cusolverDnHandle_t handle, signed char job_u, signed char job_vt, int m,      \
                                        int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T* work,          \
                                        int elements, R* real_work, int* info);
// Calls with another name for complex elements: orgqr and ungqr, ormqr and unmqr, syevd and heevd.
#define SIM_CUSOLVER_NAMED(X, T, R, orgqr, ormqr, syevd)                                                               \
  cusolverStatus_t cusolverDn##X##orgqr##_bufferSize(cusolverDnHandle_t handle, int m, int n, int k, const T* a,       \
                                                     int lda, const T* tau, int* elements);                            \
  cusolverStatus_t cusolverDn##X##orgqr(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau,   \
                                        T* work, int elements, int* info);                                             \
  cusolverStatus_t cusolverDn##X##ormqr##_bufferSize(cusolverDnHandle_t handle, cublasSideMode_t side,                 \
                                                     cublasOperation_t op, int m, int n, int k, const T* a, int lda,   \
                                                     const T* tau, const T* c, int ldc, int* elements);                \
  cusolverStatus_t cusolverDn##X##ormqr(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op, int m, \
                                        int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T* work,       \
                                        int elements, int* info);                                                      \
  cusolverStatus_t cusolverDn##X##syevd##_bufferSize(cusolverDnHandle_t handle, cusolverEigMode_t mode,                \
                                                     cublasFillMode_t uplo, int n, const T* a, int lda, const R* w,    \
                                                     int* elements);                                                   \
  cusolverStatus_t cusolverDn##X##syevd(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo,      \
                                        int n, T* a, int lda, R* w, T* work, int elements, int* info);
#define SIM_CUSOLVER_TYPES(EACH, NAMED)           \
  EACH(S, float, float)                           \
  EACH(D, double, double)                         \
  EACH(C, cuComplex, float)                       \
  EACH(Z, cuDoubleComplex, double)                \
  NAMED(S, float, float, orgqr, ormqr, syevd)     \
  NAMED(D, double, double, orgqr, ormqr, syevd)   \
  NAMED(C, cuComplex, float, ungqr, unmqr, heevd) \
  NAMED(Z, cuDoubleComplex, double, ungqr, unmqr, heevd)
SIM_CUSOLVER_TYPES(SIM_CUSOLVER, SIM_CUSOLVER_NAMED)
#undef SIM_CUSOLVER
#undef SIM_CUSOLVER_NAMED
}

// The same with 64-bit sizes and the element types as arguments. All matrices of a call have one type.
enum cusolverDnFunction_t { CUSOLVERDN_GETRF = 0, CUSOLVERDN_POTRF = 1 };
enum cusolverAlgMode_t { CUSOLVER_ALG_0 = 0, CUSOLVER_ALG_1 = 1, CUSOLVER_ALG_2 = 2 };
extern "C" {
cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params);
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params);
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t params, cusolverDnFunction_t function,
                                         cusolverAlgMode_t algorithm);
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cublasFillMode_t uplo, int64_t n, cudaDataType a_type, const void* a,
                                             int64_t lda, cudaDataType compute, size_t* device_bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, cudaDataType a_type, void* a, int64_t lda, cudaDataType compute,
                                  void* device_work, size_t device_bytes, void* host_work, size_t host_bytes,
                                  int* info);
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasFillMode_t uplo,
                                  int64_t n, int64_t columns, cudaDataType a_type, const void* a, int64_t lda,
                                  cudaDataType b_type, void* b, int64_t ldb, int* info);
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType a_type, const void* a, int64_t lda, cudaDataType compute,
                                             size_t* device_bytes, size_t* host_bytes);
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType a_type, void* a, int64_t lda, int64_t* pivots, cudaDataType compute,
                                  void* device_work, size_t device_bytes, void* host_work, size_t host_bytes,
                                  int* info);
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t params, cublasOperation_t op, int64_t n,
                                  int64_t columns, cudaDataType a_type, const void* a, int64_t lda,
                                  const int64_t* pivots, cudaDataType b_type, void* b, int64_t ldb, int* info);
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                             cudaDataType a_type, const void* a, int64_t lda, cudaDataType tau_type,
                                             const void* tau, cudaDataType compute, size_t* device_bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t params, int64_t m, int64_t n,
                                  cudaDataType a_type, void* a, int64_t lda, cudaDataType tau_type, void* tau,
                                  cudaDataType compute, void* device_work, size_t device_bytes, void* host_work,
                                  size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params,
                                             cusolverEigMode_t mode, cublasFillMode_t uplo, int64_t n,
                                             cudaDataType a_type, const void* a, int64_t lda, cudaDataType w_type,
                                             const void* w, cudaDataType compute, size_t* device_bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t params, cusolverEigMode_t mode,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType a_type, void* a, int64_t lda,
                                  cudaDataType w_type, void* w, cudaDataType compute, void* device_work,
                                  size_t device_bytes, void* host_work, size_t host_bytes, int* info);
cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char job_u,
                                             signed char job_vt, int64_t m, int64_t n, cudaDataType a_type,
                                             const void* a, int64_t lda, cudaDataType s_type, const void* s,
                                             cudaDataType u_type, const void* u, int64_t ldu, cudaDataType vt_type,
                                             const void* vt, int64_t ldvt, cudaDataType compute, size_t* device_bytes,
                                             size_t* host_bytes);
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t params, signed char job_u,
                                  signed char job_vt, int64_t m, int64_t n, cudaDataType a_type, void* a, int64_t lda,
                                  cudaDataType s_type, void* s, cudaDataType u_type, void* u, int64_t ldu,
                                  cudaDataType vt_type, void* vt, int64_t ldvt, cudaDataType compute, void* device_work,
                                  size_t device_bytes, void* host_work, size_t host_bytes, int* info);
}
