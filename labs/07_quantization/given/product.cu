// Given, not handed in: the library's product, with bf16 in and out.
#include <cublas_v2.h>

#include <stdexcept>
#include <string>

#include "quantization.hpp"

namespace lab07 {
namespace {

void expect(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS refused the product: error " + std::to_string(status) +
                             "; are the sizes positive, and no leading dimension smaller than its row?");
}

/// One handle for the whole process: creating it takes longer than most products. By default the library may split k
/// and add the partial sums in bf16, as it does for odd sizes on an H200; this mode keeps them in FP32.
cublasHandle_t handle() {
  static const cublasHandle_t instance = [] {
    cublasHandle_t made = nullptr;
    expect(cublasCreate(&made));
    expect(cublasSetMathMode(made, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));
    return made;
  }();
  return instance;
}

}  // namespace

// cuBLAS is column-major: its B^T A^T is our row-major A B.
void product(bf16* c, int ldc, const bf16* a, int lda, const bf16* b, int ldb, int m, int n, int k,
             cudaStream_t stream) {
  const auto end = [](const bf16* matrix, int rows, int columns, int leading) {
    return matrix + std::int64_t{rows - 1} * leading + columns;
  };
  const bf16* const end_c = end(c, m, n, ldc);
  if ((c < end(a, m, k, lda) && a < end_c) || (c < end(b, k, n, ldb) && b < end_c))
    throw std::runtime_error("product: c overlaps a or b, which are still read while c is written");
  const float one = 1.0f, zero = 0.0f;
  expect(cublasSetStream(handle(), stream));
  expect(cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, CUDA_R_16BF, ldb, a, CUDA_R_16BF, lda,
                      &zero, c, CUDA_R_16BF, ldc, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

}  // namespace lab07
