// Lab 07, tile quantization: what your files must define.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "machine.hpp"

namespace lab07 {

// ---- quantization.cpp: how long a product takes if each block computes one tile; machine.hpp has the terms --------

/// Tiles that cover C: blocks of the launch.
std::int64_t tiles(const shape& s, const kernel& by);

/// Blocks that one multiprocessor runs at a time; 0 if not even one fits.
int occupancy(const kernel& by, const device& on);

/// Waves that the launch takes; a wave is as many blocks as the whole device runs at a time. The last may be smaller.
/// From here on at least one block fits on a multiprocessor, unless stated otherwise.
std::int64_t waves(const shape& s, const kernel& by, const device& on);

/// Multiply-adds that the product needs, over those that all waves could have done if each were full of whole tiles.
double utilization(const shape& s, const kernel& by, const device& on);

/// The launch, then one full wave after another. In a wave each block does 2 tile_m tile_n k operations, and all blocks
/// share flops_per_second; each block fetches (tile_m + tile_n) k elements, and all share l2_bytes_per_second. A wave
/// takes as long as the slower of the two.
double seconds(const shape& s, const kernel& by, const device& on);

/// The smallest n greater than `n` for which the product of two n x n matrices takes more waves than for `n`.
std::int64_t next_cliff(std::int64_t n, const kernel& by, const device& on);

/// Index of the kernel with the lowest `seconds`, the first if several are equal; -1 if none fits on a multiprocessor.
int best_kernel(const shape& s, const kernel* candidates, int count, const device& on);

// ---- padded_gemm.cu: give the library sizes that it likes ---------------------------------------------------------
//
// Device pointers come from cudaMalloc (256-byte aligned) and never overlap. Matrices are row-major; a leading
// dimension is the distance between two rows, in elements. Launch on `stream` and return without waiting; no function
// of yours allocates memory. A padded matrix's element count fits in an int.

using bf16 = __nv_bfloat16;

/// Given, product.cu: c = a b by cuBLAS on tensor cores, with sums in FP32. It is fast if the rows of a, b and c all
/// start at multiples of 16 bytes. If c has the leading dimension ldc, only its n columns are written. c overlaps
/// neither a nor b.
void product(bf16* c, int ldc,        // (m, n)
             const bf16* a, int lda,  // (m, k)
             const bf16* b, int ldb,  // (k, n)
             int m, int n, int k, cudaStream_t stream);

/// Copies in to the upper left corner of out, and writes zeros to the rest.
void pad(bf16* out,       // (padded_rows, padded_columns)
         const bf16* in,  // (rows, columns)
         int rows, int columns, int padded_rows, int padded_columns, cudaStream_t stream);

/// Copies the upper left corner of in to out.
void unpad(bf16* out,       // (rows, columns)
           const bf16* in,  // (., padded_columns)
           int rows, int columns, int padded_columns, cudaStream_t stream);

/// c = a b for any sizes, nearly as fast as for aligned ones. Use kernels such as pad's for copies, not
/// cudaMemcpy2DAsync. If the sizes are already aligned, launch one product and nothing else.
void padded_gemm(bf16* c,          // (m, n)
                 const bf16* a,    // (m, k)
                 const bf16* b,    // (k, n)
                 bf16* workspace,  // (workspace_elements(m, n, k)), may hold anything at first
                 int m, int n, int k, cudaStream_t stream);

// ---- staircase.cu: given: kernels with a single, fixed tile -------------------------------------------------------

/// c = a b in FP32. Each block computes 16 x 16 elements of c, going along k 16 at a time, and does the same work if
/// its tile extends past an edge.
void fixed_tile_gemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream);

/// c = a b in FP32; each block computes tile_m x 128 elements of c, tile_m 128 or 256, and has a multiprocessor to
/// itself. Rows begin `ld` elements apart, ld >= n, k; if ld is a multiple of 32, rows are aligned for every n. Throws
/// lab::device_error if the launch is refused.
void wide_tile_gemm(float* c,        // (n, n)
                    const float* a,  // (n, k)
                    const float* b,  // (k, n)
                    int n, int k, int ld, int tile_m, cudaStream_t stream);

// ---- narrow_gemm.cpp: the same on the CPU, where vector registers are the tiles -----------------------------------

/// c = a b on one thread; the previous contents of c do not matter. n is at most 64.
void narrow_gemm(float* c,        // (m, n), host
                 const float* a,  // (m, k), host
                 const float* b,  // (k, n), host
                 std::size_t m, std::size_t n, std::size_t k);

}  // namespace lab07
