// Lab 00, the first kernel: what your files must define.
//
// A matrix is row-major: element (r, c) of a matrix with `columns` columns is at index r * columns + c. Pointers of the
// device part are device pointers from cudaMalloc (256-byte aligned); inputs and outputs never overlap. Launch on
// `stream` and return without waiting. Sizes are at least 1.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace lab00 {

/// index.cu: out[i] = 2 * in[i]. n is a multiple of 256.
void twice(float* out,       // (n)
           const float* in,  // (n)
           int n, cudaStream_t stream);

/// guard.cu: out[i] = a[i] + b[i], for any n.
void add(float* out,                      // (n)
         const float* a, const float* b,  // (n)
         int n, cudaStream_t stream);

/// plane.cu: out(r, c) = column[r] * row[c]; at most 100,000 rows.
void outer_product(float* out,           // (rows, columns)
                   const float* column,  // (rows)
                   const float* row,     // (columns)
                   int rows, int columns, cudaStream_t stream);

/// neighbours.cu: out(r, c) = in(r, c) + in(r, c + 1); the right neighbour of a row's last element is its first. Each
/// element is loaded from global memory once.
void add_neighbours(float* out,       // (rows, 256)
                    const float* in,  // (rows, 256)
                    int rows, cudaStream_t stream);

/// row_sums.cu: out[r] = the sum of row r, in any order. All threads of a block sum a row together.
void row_sums(float* out,       // (rows)
              const float* in,  // (rows, 256)
              int rows, cudaStream_t stream);

/// grid_stride.cu: out[i] = 2 * x[i] + y[i], for any n, by at most 256 blocks.
void add_twice(float* out,                      // (n)
               const float* x, const float* y,  // (n)
               int n, cudaStream_t stream);

/// sum.cpp: the sum of n numbers, in any order, on one core of the CPU.
float sum(const float* in,  // (n), host
          std::size_t n);

/// chunks.cu, given: the same as add_twice, but each thread takes a run of elements that lie side by side.
void add_twice_in_chunks(float* out,                      // (n)
                         const float* x, const float* y,  // (n)
                         int n, cudaStream_t stream);

}  // namespace lab00
