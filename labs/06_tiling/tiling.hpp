// Lab 06, tiling: what your files must define.
//
// All functions compute C = A B. All matrices are row-major: element (r, c) of a matrix with `columns` columns is at
// index r * columns + c. All pointers of the device part are device pointers from cudaMalloc (256-byte aligned); inputs
// and outputs never overlap. Launch on `stream` and return without waiting. Sizes are 1 to 500,000, which is more
// than a grid has blocks in y, and each matrix's number of elements fits in an int. Each element of C is a sum of float
// products added up in float; no tensor cores.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace lab06 {

// ---- sgemm.cu: the ladder, one function per rung ------------------------------------------------------------------

/// One thread per element; the lanes of a warp go down a column of C. Given, in naive.cu.
void sgemm_naive(float* c,        // (m, n)
                 const float* a,  // (m, k)
                 const float* b,  // (k, n)
                 int m, int n, int k, cudaStream_t stream);

/// One thread per element; the lanes of a warp go along a row of C.
void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// A block of 32 x 32 threads computes 32 x 32 elements of C, from tiles of A and B of 32 x 32 in shared memory.
void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// A block computes 64 x 64 elements, from tiles of 64 x 8 and 8 x 64; each thread 8 elements of one column.
void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// A block computes 128 x 128 elements, from tiles of 128 x 8 and 8 x 128; each thread 8 x 8.
void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// The same tiles, with 16 bytes in every load from shared memory, and in every access to global memory where the sizes
/// allow.
void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// The same tiles in two buffers: asynchronous copies fill one while the other is used, in whole tiles, and no element
/// passes through a register on its way to shared memory.
void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// A block of 8 warps computes 128 x 256 elements, from tiles of 128 x 8 and 8 x 256 in two buffers; each warp 32 x 128
/// of them, its lanes 4 x 8, each thread 8 x 16.
void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// As fast as you can make it. The tiles of the previous rung, and at least 16 steps along k from one barrier to the
/// next.
void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

// ---- gemm.cpp: the same on the CPU, where caches and vector registers hold the tiles ------------------------------

/// c = a b on one thread; the previous contents of c do not matter.
void gemm(float* c,        // (m, n), host
          const float* a,  // (m, k), host
          const float* b,  // (k, n), host
          std::size_t m, std::size_t n, std::size_t k);

}  // namespace lab06
