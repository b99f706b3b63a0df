// Lab 06, part 3: what blas.cu must define, with calls to cuBLAS alone.
//
// cuBLAS is column-major: in a matrix with leading dimension ld, it expects element (r, c) at index c * ld + r.
// All matrices here are row-major, as in tiling.hpp, and stay where they are. Each function makes exactly one call, to
// cublasSgemm or cublasSgemmStridedBatched, and does nothing else on the device: no kernel, no copy, no memory of its
// own. The stream is in the handle, so you need not know it.
#pragma once

#include <cublas_v2.h>

#include "tiling.hpp"

namespace lab06 {

/// C = A B, where A or B may be stored transposed.
void blas_product(cublasHandle_t blas,                   // uses FP32 and reads alpha and beta from host memory
                  float* c,                              // (m, n)
                  const float* a, bool a_is_transposed,  // (m, k), or (k, m) if transposed
                  const float* b, bool b_is_transposed,  // (k, n), or (n, k) if transposed
                  int m, int n, int k);

/// A part of a larger row-major matrix: its element (0, 0) is element (row, column) of the whole.
template <class T>
struct block {
  T* whole;
  int columns;  ///< of the whole
  int row, column;
};

/// C = alpha A B + beta C, where A (m, k), B (k, n) and C (m, n) are blocks. Nothing outside C's block changes. If beta
/// is 0, C may hold anything at first, even NaN.
void blas_block(cublasHandle_t blas, float alpha, block<const float> a, block<const float> b, float beta,
                block<float> c, int m, int n, int k);

// Attention. For each token, qkv holds the queries of all heads, then their keys, then their values, so Q, K and V of a
// head are (tokens, head_dim) each, and none of them is contiguous.

/// For each head, scores = Q K^T / sqrt(head_dim).
void blas_scores(cublasHandle_t blas,
                 float* scores,     // (heads, tokens, tokens)
                 const float* qkv,  // (tokens, 3, heads, head_dim)
                 int tokens, int heads, int head_dim);

/// For each head, out = weights V.
void blas_mix(cublasHandle_t blas,
              float* out,            // (tokens, heads, head_dim)
              const float* weights,  // (heads, tokens, tokens)
              const float* qkv,      // (tokens, 3, heads, head_dim)
              int tokens, int heads, int head_dim);

// In your files the two calls go through these functions of calls.cpp, with the same parameters. They count calls, and
// fail in any other function: the products of sgemm.cu and gemm.cpp are your own.
cublasStatus_t counted_sgemm(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                             const float* alpha, const float* a, int lda, const float* b, int ldb, const float* beta,
                             float* c, int ldc);
cublasStatus_t counted_sgemm_batched(cublasHandle_t blas, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                     int k, const float* alpha, const float* a, int lda, long long stride_a,
                                     const float* b, int ldb, long long stride_b, const float* beta, float* c, int ldc,
                                     long long stride_c, int batches);

}  // namespace lab06

/// @cond
#undef cublasSgemm
#define cublasSgemm lab06::counted_sgemm
#undef cublasSgemmStridedBatched
#define cublasSgemmStridedBatched lab06::counted_sgemm_batched
/// @endcond
