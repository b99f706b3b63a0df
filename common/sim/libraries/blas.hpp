// Shared by cuBLAS and cublasLt: operands in device memory, converted to the compute type and back, and their products.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <complex>
#include <functional>
#include <vector>

#include "cublasLt.h"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace sim::blas {

template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;

/// 0 for a type that is not supported.
std::size_t bytes_of(cudaDataType type);
/// A supported type that is not complex.
bool is_real(cudaDataType type);

/// A matrix in device memory.
struct operand {
  const char* name;
  void* data;
  cudaDataType type;
  int rows, columns, ld;
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * bytes_of(type);
  }
  bool fits() const { return ld >= std::max(1, rows); }
};

/// Convert an operand to numbers of T and back. T is float or double, or std::complex of these for a complex operand.
template <class T>
matrix<T> load(const operand& o);
template <class T>
void store(const operand& o, const matrix<T>& values);

template <class T>
matrix<T> turned(cublasOperation_t op, const matrix<T>& m) {
  if (op == CUBLAS_OP_N) return m;
  return op == CUBLAS_OP_T ? matrix<T>(m.transpose()) : matrix<T>(m.adjoint());
}
/// Computes in T; for float, rounds the factors to TF32 on request.
template <class T>
matrix<T> product_of(cublasOperation_t op_a, cublasOperation_t op_b, matrix<T> x, matrix<T> y, bool tf32);

bool is_operation(cublasOperation_t op);
bool computes_wide(cublasComputeType_t compute);
/// Whether the data's address and the step between columns are multiples of 16 bytes.
bool is_aligned(const operand& o);

/// Enqueues a call. It takes as long as its arithmetic or the transfer of its operands, whichever is longer.
cublasStatus_t run(cudaStream_t stream, const char* call, const std::vector<operand>& operands, double flops,
                   const std::function<void()>& work);

/// Whether the host can access a scalar argument, unless the pointer mode is the device's; if not, reports it.
bool host_reaches(cublasHandle_t handle, const void* at);

/// alpha and beta: read now from the host, or from the device when the call runs.
template <class T>
std::function<T()> scalar(cublasHandle_t handle, const T* at) {
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE || !host_reaches(handle, at)) return [at] { return *at; };
  return [value = *at] { return value; };
}
std::function<double()> scalar(cublasHandle_t handle, const void* at, cublasComputeType_t compute);

}  // namespace sim::blas
