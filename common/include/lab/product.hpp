// The matrix product that device code is compared with.
#pragma once

#include <cublas_v2.h>

#include "lab/buffer.hpp"

namespace lab {

/// Row-major C (m, n) = A (m, k) B (k, n), all f32 (without tensor cores) or all bf16, on the device. cuBLAS is
/// column-major, so this computes C^T = B^T A^T.
inline cublasStatus_t row_major_product(cublasHandle_t handle, dtype type, int m, int n, int k, const void* a,
                                        const void* b, void* c) {
  const float one = 1, zero = 0;
  const bool low = type == dtype::bf16;
  const auto as = low ? CUDA_R_16BF : CUDA_R_32F;
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, b, as, n, a, as, k, &zero, c, as, n,
                      low ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_PEDANTIC, CUBLAS_GEMM_DEFAULT);
}

}  // namespace lab
