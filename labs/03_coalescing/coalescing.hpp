// Lab 03, coalescing: what your files must define.
//
// All matrices are row-major: element (r, c) of a matrix with `columns` columns is at index r * columns + c.
// All pointers of the device part are device pointers from cudaMalloc (256-byte aligned); inputs and outputs never
// overlap. Launch on `stream` and return without waiting. Sizes are at least 1; an element count fits in an int.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace lab03 {

// ---- layout.cu: which thread touches what -------------------------------------------------------------------------

/// out = 1 / (1 + exp(-in)), elementwise; one thread walks down one column, so that a warp touches neighbouring
/// elements.
void sigmoid_thread_per_column(float* out,       // (rows, columns)
                               const float* in,  // (rows, columns)
                               int rows, int columns, cudaStream_t stream);

/// out = in, 16 bytes per thread and access (`float4`); the last n % 4 elements one by one.
void copy_vectorized(float* out,       // (n)
                     const float* in,  // (n)
                     int n, cudaStream_t stream);

/// From an array of structs to a struct of arrays: x[i] = points[3 i], y[i] = points[3 i + 1], z[i] = points[3 i + 2].
/// Every sector that crosses the bus must be used whole, in both directions.
void points_to_arrays(float* x, float* y, float* z,  // (n) each
                      const float* points,           // (n, 3)
                      int n, cudaStream_t stream);

// ---- transpose.cu: one of the two sides is always in the wrong order ----------------------------------------------
// All three: out(c, r) = in(r, c).

/// Through a 32 x 32 tile in shared memory: global loads and stores both coalesced.
void transpose_tiled(float* out,       // (columns, rows)
                     const float* in,  // (rows, columns)
                     int rows, int columns, cudaStream_t stream);

/// The same tile, padded or swizzled so that no two lanes of a warp access the same bank.
void transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream);

/// As fast as you can make it.
void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream);

// ---- column_sums.cpp: the same lesson on the CPU, where a cache line plays the role of a sector -------------------

/// sums[c] = sum over r of in(r, c), on one thread. Any order of addition.
void column_sums(float* sums,      // (columns), host
                 const float* in,  // (rows, columns), host
                 std::size_t rows, std::size_t columns);

// ---- patterns.cu: given, the experiments for your predictions ------------------------------------------------------

/// out[i] = in[i * stride].
void copy_strided(float* out,       // (n)
                  const float* in,  // (n * stride)
                  int n, int stride, cudaStream_t stream);

/// out[i] = in[i + offset].
void copy_offset(float* out,       // (n)
                 const float* in,  // (n + offset)
                 int n, int offset, cudaStream_t stream);

/// out = 1 / (1 + exp(-in)), elementwise; one thread walks along one row. This is the slow way.
void sigmoid_thread_per_row(float* out,       // (rows, columns)
                            const float* in,  // (rows, columns)
                            int rows, int columns, cudaStream_t stream);

/// out(c, r) = in(r, c): one thread per element, straight from global to global memory.
void transpose_naive(float* out,       // (columns, rows)
                     const float* in,  // (rows, columns)
                     int rows, int columns, cudaStream_t stream);

/// One warp writes a tile of 32 rows of `pitch` floats in shared memory row by row and reads its first 32 columns
/// back, column by column: out[c * 32 + lane] = in[lane * 32 + c]. 32 <= pitch <= 64.
void read_tile_columns(float* out,       // (32, 32)
                       const float* in,  // (32, 32)
                       int pitch, cudaStream_t stream);

}  // namespace lab03
