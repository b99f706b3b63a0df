// The matrix product on tensor cores. wmma hides which lane holds what; mma and ldmatrix show it, and the layout in
// shared memory becomes ours to choose; asynchronous copies hide the latency of global memory. What each rung brings:
// WORKLOG.md.
#include <cuda_pipeline.h>
#include <mma.h>

#include <algorithm>

#include <lab/device.hpp>
#include <lab/tensor_core.hpp>

#include "low_precision.hpp"

namespace lab09 {
namespace {

constexpr int chunk = 8;  // elements in 16 bytes, the most that one load or copy moves

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

/// 16 bytes of a row-major matrix, zeros outside. `columns` is a multiple of 8, so no chunk is half inside.
__device__ uint4 chunk_at(const bf16* matrix, int row, int column, int rows, int columns) {
  if (row >= rows || column >= columns) return make_uint4(0, 0, 0, 0);
  return *reinterpret_cast<const uint4*>(matrix + static_cast<std::size_t>(row) * columns + column);
}

__device__ unsigned packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

// Four warps, each 32 x 32 elements of C in 2 x 2 fragments. Rows of the tiles are 16 bytes longer than their contents,
// so that the rows of a fragment start in different banks.
__global__ void __launch_bounds__(128) wmma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  using namespace nvcuda;
  constexpr int edge = 64, depth = 32, threads = 128, pad = 8;
  __shared__ __align__(32) bf16 tile_a[edge][depth + pad];
  __shared__ __align__(32) bf16 tile_b[depth][edge + pad];
  __shared__ __align__(32) float sums[edge][edge + 4];
  const int r0 = blockIdx.y * edge, q0 = blockIdx.x * edge, thread = threadIdx.x;
  const int row = thread / 64 * 32, column = thread / 32 % 2 * 32;  // of the warp's part
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum[2][2];
  for (auto& line : sum)
    for (auto& one : line) wmma::fill_fragment(one, 0.0f);
  for (int i0 = 0; i0 < k; i0 += depth) {
    for (int at = thread; at < edge * depth / chunk; at += threads) {
      const int ar = at / (depth / chunk), ai = at % (depth / chunk) * chunk;
      const int bi = at / (edge / chunk), bq = at % (edge / chunk) * chunk;
      *reinterpret_cast<uint4*>(&tile_a[ar][ai]) = chunk_at(a, r0 + ar, i0 + ai, m, k);
      *reinterpret_cast<uint4*>(&tile_b[bi][bq]) = chunk_at(b, i0 + bi, q0 + bq, k, n);
    }
    __syncthreads();
    //! [wmma]
    for (int i = 0; i < depth; i += 16) {
      wmma::fragment<wmma::matrix_a, 16, 16, 16, bf16, wmma::row_major> left[2];
      wmma::fragment<wmma::matrix_b, 16, 16, 16, bf16, wmma::row_major> right[2];
      for (int u = 0; u < 2; ++u) {
        wmma::load_matrix_sync(left[u], &tile_a[row + 16 * u][i], depth + pad);
        wmma::load_matrix_sync(right[u], &tile_b[i][column + 16 * u], edge + pad);
      }
      for (int u = 0; u < 2; ++u)
        for (int v = 0; v < 2; ++v) wmma::mma_sync(sum[u][v], left[u], right[v], sum[u][v]);
    }
    //! [wmma]
    __syncthreads();
  }
  // Which lane holds which sum is not known, so they go through shared memory.
  for (int u = 0; u < 2; ++u)
    for (int v = 0; v < 2; ++v)
      wmma::store_matrix_sync(&sums[row + 16 * u][column + 16 * v], sum[u][v], edge + 4, wmma::mem_row_major);
  __syncthreads();
  for (int at = thread; at < edge * edge / 4; at += threads) {
    const int r = at / (edge / 4), q = at % (edge / 4) * 4;
    if (r0 + r >= m || q0 + q >= n) continue;
    const float4 four = *reinterpret_cast<const float4*>(&sums[r][q]);
    *reinterpret_cast<uint2*>(c + static_cast<std::size_t>(r0 + r) * n + q0 + q) =
        make_uint2(packed(four.x, four.y), packed(four.z, four.w));
  }
}

/// A block computes rows x columns elements of C, from tiles of rows x depth and depth x columns in `stages` buffers;
/// a warp `warp_rows` x `warp_columns` of them.
template <int rows_, int columns_, int depth_, int warp_rows_, int warp_columns_, int stages_>
struct tiling {
  static constexpr int rows = rows_, columns = columns_, depth = depth_, stages = stages_;
  static constexpr int warp_rows = warp_rows_, warp_columns = warp_columns_;
  static constexpr int threads = rows / warp_rows * (columns / warp_columns) * 32;
  static constexpr int chunks_a = rows * depth / chunk, chunks_b = depth * columns / chunk;
  static constexpr int shared_bytes = stages * (chunks_a + chunks_b) * 16;
  static_assert(chunks_a % threads == 0 && chunks_b % threads == 0 && depth % 16 == 0 && warp_columns % 32 == 0);
};

//! [swizzle]
/// Where a chunk of a tile lies, in chunks. 8 chunks of 16 bytes are all 32 banks. ldmatrix reads the same chunk of 8
/// rows at once: without the exclusive-or they would all be in the same four banks.
template <int tile_columns>
__device__ int place(int row, int column) {
  constexpr int across = tile_columns / chunk, rows_per_line = across < 8 ? 8 / across : 1;
  constexpr int mask = across < 8 ? across - 1 : 7;
  return row * across + (column / chunk ^ (row / rows_per_line & mask));
}
//! [swizzle]

/// A warp's part of the product: what it loads for 16 steps along k, and its sums.
template <class tile>
struct warp_product {
  static constexpr int high = tile::warp_rows / 16, wide = tile::warp_columns / 8;  // parts of 16 x 8

  struct factors {
    unsigned a[high][4], b[wide][2];
  };

  __device__ warp_product() {
    constexpr int across = tile::columns / tile::warp_columns;
    const int warp = threadIdx.x / 32, along = threadIdx.x % 16, side = threadIdx.x % 32 / 16 * chunk;
    row = warp / across * tile::warp_rows;
    column = warp % across * tile::warp_columns;
    at_a = place<tile::depth>(row + along, side);
    at_b = place<tile::columns>(along, column + side);
  }

  /// Four matrices of 8 x 8 at a time: lanes 0 to 15 name the 16 rows of the left half, 16 to 31 those of the right.
  /// The position of a lane's row in the tile is computed once: a step of 16 rows down adds to it, and a step of
  /// chunks along the row is an exclusive-or.
  __device__ void load_a(factors& f, const uint4* tile_a, int i, int u) const {
    lab::ldmatrix(f.a[u], tile_a + (at_a ^ i / chunk) + 16 * u * (tile::depth / chunk));
  }

  /// The rows of B's tile are its k, but mma wants neighbours along k in a register: transposed. v is even.
  __device__ void load_b(factors& f, const uint4* tile_b, int i, int v) const {
    unsigned both[4];
    lab::ldmatrix_trans(both, tile_b + (at_b ^ v) + i * (tile::columns / chunk));
    f.b[v][0] = both[0];
    f.b[v][1] = both[1];
    f.b[v + 1][0] = both[2];
    f.b[v + 1][1] = both[3];
  }

  __device__ void load(factors& f, const uint4* tile_a, const uint4* tile_b, int i) const {
#pragma unroll
    for (int u = 0; u < high; ++u) load_a(f, tile_a, i, u);
#pragma unroll
    for (int v = 0; v < wide; v += 2) load_b(f, tile_b, i, v);
  }

  /// before(v) runs before the products of column v.
  template <class function>
  __device__ void multiply(const factors& f, function before) {
#pragma unroll
    for (int v = 0; v < wide; ++v) {
      before(v);
#pragma unroll
      for (int u = 0; u < high; ++u) {
        const int forth_and_back = v % 2 == 0 ? u : high - 1 - u;
        lab::mma(sum[forth_and_back][v], f.a[forth_and_back], f.b[v]);
      }
    }
  }

  /// Multiplies f, and loads the factors of another 16 steps meanwhile: one load before each column of products.
  __device__ void multiply(const factors& f, factors& next, const uint4* tile_a, const uint4* tile_b, int i) {
    static_assert(2 * high == wide, "as many loads as columns");
    multiply(f, [&](int v) { v % 2 == 0 ? load_b(next, tile_b, i, v) : load_a(next, tile_a, i, v / 2); });
  }

  /// A lane has two neighbours of each of four parts, 4 bytes in each of four places. The four lanes of a row exchange
  /// them, so that each has the 8 of one part, 16 bytes in one place.
  __device__ void store(bf16* c, int r0, int q0, int m, int n) const {
    const int lane = threadIdx.x % 32, mine = lane % 4;
#pragma unroll
    for (int u = 0; u < high; ++u)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int v = 0; v < wide; v += 4) {
          unsigned own[4], got[4];
#pragma unroll
          for (int j = 0; j < 4; ++j) own[j] = packed(sum[u][v + j][2 * half], sum[u][v + j][2 * half + 1]);
          const auto of = [](const unsigned(&x)[4], int i) {
            return i < 2 ? (i ? x[1] : x[0]) : (i == 2 ? x[2] : x[3]);
          };
          unsigned received[4];  // [j]: from lane mine ^ j, its piece of part `mine`
#pragma unroll
          for (int j = 0; j < 4; ++j) received[j] = __shfl_xor_sync(0xffffffff, of(own, mine ^ j), j);
#pragma unroll
          for (int j = 0; j < 4; ++j) got[j] = of(received, mine ^ j);
          const int r = r0 + row + 16 * u + 8 * half + lane / 4, q = q0 + column + 8 * (v + mine);
          if (r < m && q < n)
            *reinterpret_cast<uint4*>(c + static_cast<std::size_t>(r) * n + q) =
                make_uint4(got[0], got[1], got[2], got[3]);
        }
  }

  int row, column;  // of its first element in the block's tile
  int at_a, at_b;   // where this lane's rows for ldmatrix are in the tiles, at the first step and part
  float sum[high][wide][4] = {};
};

using by_mma = tiling<128, 128, 32, 64, 32, 1>;

__global__ void __launch_bounds__(by_mma::threads)
    mma_kernel(bf16* c, const bf16* a, const bf16* b, int m, int n, int k) {
  using tile = by_mma;
  static_assert(tile::stages == 1);
  __shared__ uint4 tile_a[tile::shared_bytes / 16];
  uint4* const tile_b = tile_a + tile::chunks_a;
  const int r0 = blockIdx.y * tile::rows, q0 = blockIdx.x * tile::columns;
  warp_product<tile> product;
  for (int i0 = 0; i0 < k; i0 += tile::depth) {
    for (int at = threadIdx.x; at < tile::chunks_a; at += tile::threads) {
      const int ar = at / (tile::depth / chunk), ai = at % (tile::depth / chunk) * chunk;
      tile_a[place<tile::depth>(ar, ai)] = chunk_at(a, r0 + ar, i0 + ai, m, k);
    }
    for (int at = threadIdx.x; at < tile::chunks_b; at += tile::threads) {
      const int bi = at / (tile::columns / chunk), bq = at % (tile::columns / chunk) * chunk;
      tile_b[place<tile::columns>(bi, bq)] = chunk_at(b, i0 + bi, q0 + bq, k, n);
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile::depth; i += 16) {
      typename warp_product<tile>::factors f;
      product.load(f, tile_a, tile_b, i);
      product.multiply(f, [](int) {});
    }
    __syncthreads();
  }
  product.store(c, r0, q0, m, n);
}

/// Copies the tiles of one step along k after the other, asynchronously. `whole`: all lie inside the matrices. A thread
/// copies the same chunk of every step_a-th or step_b-th row. 8 divides these, so that `place` moves by whole rows.
template <class tile, bool whole>
struct tile_copies {
  static constexpr int across_a = tile::depth / chunk, across_b = tile::columns / chunk;
  static constexpr int step_a = tile::threads / across_a, step_b = tile::threads / across_b;
  static_assert(step_a % 8 == 0 && step_b % 8 == 0 && tile::threads % across_a == 0 && tile::threads % across_b == 0);

  __device__ tile_copies(const bf16* a_, const bf16* b_, int m_, int n_, int k_) : a(a_), b(b_), m(m_), n(n_), k(k_) {}
  __device__ void start_at(int r0, int q0) {
    const int thread = threadIdx.x;
    row_a = r0 + thread / across_a;
    column_a = thread % across_a * chunk;
    row_b = thread / across_b;
    column_b = q0 + thread % across_b * chunk;
    at_a = place<tile::depth>(thread / across_a, column_a);
    at_b = place<tile::columns>(row_b, column_b - q0);
    from_a = a + static_cast<std::size_t>(row_a) * k + column_a;
    from_b = b + static_cast<std::size_t>(row_b) * n + column_b;
  }
  __device__ void next_into(uint4* to_a, uint4* to_b) {
#pragma unroll
    for (int i = 0; i < tile::chunks_a / tile::threads; ++i)
      copy(to_a + at_a + i * tile::threads, from_a + static_cast<std::size_t>(i * step_a) * k, a,
           row_a + i * step_a < m && column_a < k);
#pragma unroll
    for (int i = 0; i < tile::chunks_b / tile::threads; ++i)
      copy(to_b + at_b + i * tile::threads, from_b + static_cast<std::size_t>(i * step_b) * n, b,
           row_b + i * step_b < k && column_b < n);
    from_a += tile::depth;
    from_b += static_cast<std::size_t>(tile::depth) * n;
    column_a += tile::depth;
    row_b += tile::depth;
  }
  __device__ static void copy(uint4* to, const bf16* from, const bf16* matrix, bool inside) {
    if constexpr (whole)
      __pipeline_memcpy_async(to, from, 16);
    else
      __pipeline_memcpy_async(to, inside ? from : matrix, 16, inside ? 0 : 16);
  }

  const bf16 *a, *b, *from_a, *from_b;
  int m, n, k, row_a, column_a, row_b, column_b, at_a, at_b;
};

// As many blocks as multiprocessors; each computes one part of C after another. While one buffer is used, copies into
// the others are under way; those for a block's next part begin before it stores this one. The factors of the next 16
// steps are loaded from shared memory between the current products, even across tiles, so that the tensor cores never
// wait for either. The loop is unrolled over the buffers, so that their addresses cost no instructions. Parts are taken
// in groups of 8 rows, column by column: those computed at the same time share rows of A and columns of B in L2.
template <class tile, bool whole>
__global__ void __launch_bounds__(tile::threads) pipelined_kernel(bf16* __restrict__ c, const bf16* __restrict__ a,
                                                                  const bf16* __restrict__ b, int m, int n, int k) {
  extern __shared__ uint4 buffers[];
  constexpr int group = 8, stages = tile::stages, buffer_chunks = tile::chunks_a + tile::chunks_b;
  constexpr int to_b = tile::chunks_a;
  const int across = ceil_div(n, tile::columns), down = ceil_div(m, tile::rows);
  const int rounds = ceil_div(k, stages * tile::depth);  // over all buffers; tiles beyond k are zeros

  tile_copies<tile, whole> copies(a, b, m, n, k);
  int r0, q0;
  const auto start = [&](int part) {
    const int first = part / (group * across) * group, in_group = min(group, down - first);
    const int within = part % (group * across);
    r0 = (first + within % in_group) * tile::rows;
    q0 = within / in_group * tile::columns;
    copies.start_at(r0, q0);
#pragma unroll
    for (int stage = 0; stage < stages - 1; ++stage) {
      copies.next_into(buffers + stage * buffer_chunks, buffers + stage * buffer_chunks + to_b);
      __pipeline_commit();
    }
  };
  start(blockIdx.x);
  for (int part = blockIdx.x; part < across * down; part += gridDim.x) {
    __pipeline_wait_prior(stages - 2);
    __syncthreads();
    warp_product<tile> product;
    typename warp_product<tile>::factors f[2];
    product.load(f[0], buffers, buffers + to_b, 0);
    for (int round = 0; round < rounds; ++round) {
#pragma unroll
      for (int stage = 0; stage < stages; ++stage) {
        uint4* const here = buffers + stage * buffer_chunks;
        uint4* const next = buffers + (stage + 1) % stages * buffer_chunks;
        uint4* const emptied = buffers + (stage + stages - 1) % stages * buffer_chunks;
#pragma unroll
        for (int i = 0; i < tile::depth; i += 16) {
          const bool last = i + 16 == tile::depth;
          if (last) {  // the next tile has arrived, and no thread reads this one any more
            __pipeline_wait_prior(stages - 2);
            __syncthreads();
          }
          if (i == 0) {
            if (stage == 0 || round + 1 < rounds) copies.next_into(emptied, emptied + to_b);
            __pipeline_commit();
          }
          const uint4* const from = last ? next : here;
          product.multiply(f[i / 16 % 2], f[1 - i / 16 % 2], from, from + to_b, last ? 0 : i + 16);
        }
      }
    }
    const int r = r0, q = q0;
    if (part + static_cast<int>(gridDim.x) < across * down) {
      __syncthreads();  // the last loads, which nothing needs, are over
      start(part + gridDim.x);
    }
    product.store(c, r, q, m, n);
  }
}

template <class tile>
void launch_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  static_assert(tile::depth / 16 % 2 == 0, "the two sets of factors take turns across tiles");
  const bool whole = m % tile::rows == 0 && n % tile::columns == 0 && k % (tile::stages * tile::depth) == 0;
  const auto kernel = whole ? pipelined_kernel<tile, true> : pipelined_kernel<tile, false>;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, tile::shared_bytes));
  int device, multiprocessors;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  const int parts = ceil_div(m, tile::rows) * ceil_div(n, tile::columns);
  kernel<<<std::min(parts, multiprocessors), tile::threads, tile::shared_bytes, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  wmma_kernel<<<dim3(ceil_div(n, 64), ceil_div(m, 64)), 128, 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  const dim3 blocks(ceil_div(n, by_mma::columns), ceil_div(m, by_mma::rows));
  mma_kernel<<<blocks, by_mma::threads, 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  launch_pipelined<tiling<128, 256, 32, 64, 64, 4>>(c, a, b, m, n, k, stream);
}

}  // namespace lab09
