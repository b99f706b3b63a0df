// The ladder of the matrix product. Each rung fetches the same data fewer times than the one below: from global memory
// into shared memory, from there into registers. What each brings, and what did not work: WORKLOG.md.
#include <cuda_pipeline.h>

#include <lab/device.hpp>

#include "tiling.hpp"

namespace lab06 {
namespace {

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

//! [naive]
__global__ void naive_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;  // the lanes of a warp: one below the other
  const int q = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || q >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + q];
  c[r * n + q] = sum;
}
//! [naive]

//! [coalesced]
// The same with the lanes along a row: all read one element of A, and 32 neighbours of B.
__global__ void coalesced_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || q >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + q];
  c[r * n + q] = sum;
}
//! [coalesced]

//! [tiled]
// Each element that a block fetches serves 32 threads, so global traffic falls by 32. What lies outside a matrix
// becomes a zero in the tile: it adds nothing, and the inner loop needs no bounds.
__global__ void tiled_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int edge = 32;
  __shared__ float tile_a[edge][edge], tile_b[edge][edge];
  const int x = threadIdx.x, y = threadIdx.y;
  const int r = blockIdx.y * edge + y, q = blockIdx.x * edge + x;
  if (r >= m || q >= n) return;  // and fetches nothing for the others
  float sum = 0.0f;
  for (int i0 = 0; i0 < k; i0 += edge) {
    tile_a[y][x] = r < m && i0 + x < k ? a[r * k + i0 + x] : 0.0f;
    tile_b[y][x] = i0 + y < k && q < n ? b[(i0 + y) * n + q] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < edge; ++i) sum += tile_a[y][i] * tile_b[i][x];
    __syncthreads();  // nobody may fill the tile again while others still read it
  }
  if (r < m && q < n) c[r * n + q] = sum;
}
//! [tiled]

//! [1d]
// One element of B, once in a register, serves 8 multiplications: 9 shared loads for 8 of them, not 16.
__global__ void __launch_bounds__(512) kernel_1d(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int edge = 64, depth = 8, mine = 8;
  __shared__ float tile_a[edge][depth], tile_b[depth][edge];
  const int r0 = blockIdx.y * edge, q0 = blockIdx.x * edge;
  const int ar = threadIdx.x / depth, ai = threadIdx.x % depth;  // what this thread fetches
  const int bi = threadIdx.x / edge, bq = threadIdx.x % edge;
  const int row = threadIdx.x / edge * mine, column = threadIdx.x % edge;  // what it computes
  float sum[mine] = {};
  for (int i0 = 0; i0 < k; i0 += depth) {
    tile_a[ar][ai] = r0 + ar < m && i0 + ai < k ? a[(r0 + ar) * k + i0 + ai] : 0.0f;
    tile_b[bi][bq] = i0 + bi < k && q0 + bq < n ? b[(i0 + bi) * n + q0 + bq] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < depth; ++i) {
      const float right = tile_b[i][column];
#pragma unroll
      for (int j = 0; j < mine; ++j) sum[j] += tile_a[row + j][i] * right;
    }
    __syncthreads();
  }
  for (int j = 0; j < mine; ++j)
    if (r0 + row + j < m && q0 + column < n) c[(r0 + row + j) * n + q0 + column] = sum[j];
}
//! [1d]

//! [2d]
// 8 + 8 loads serve 64 multiplications. A thread's 8 columns lie 16 apart, so that neighbouring lanes read neighbouring
// banks; A's tile is stored turned, so that its rows too are neighbours.
__global__ void __launch_bounds__(256) kernel_2d(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int edge = 128, depth = 8, mine = 8, across = edge / mine;
  __shared__ float tile_a[depth][edge + 4], tile_b[depth][edge];
  const int r0 = blockIdx.y * edge, q0 = blockIdx.x * edge;
  const int x = threadIdx.x % across, y = threadIdx.x / across;
  float sum[mine][mine] = {};
  for (int i0 = 0; i0 < k; i0 += depth) {
#pragma unroll
    for (int step = 0; step < edge * depth; step += 256) {
      const int at = step + threadIdx.x;
      const int ar = at / depth, ai = at % depth, bi = at / edge, bq = at % edge;
      tile_a[ai][ar] = r0 + ar < m && i0 + ai < k ? a[(r0 + ar) * k + i0 + ai] : 0.0f;
      tile_b[bi][bq] = i0 + bi < k && q0 + bq < n ? b[(i0 + bi) * n + q0 + bq] : 0.0f;
    }
    __syncthreads();
//! [2d_products]
#pragma unroll
    for (int i = 0; i < depth; ++i) {
      float left[mine], right[mine];
#pragma unroll
      for (int j = 0; j < mine; ++j) {
        left[j] = tile_a[i][y + j * across];
        right[j] = tile_b[i][x + j * across];
      }
#pragma unroll
      for (int u = 0; u < mine; ++u)
#pragma unroll
        for (int v = 0; v < mine; ++v) sum[u][v] += left[u] * right[v];
    }
    //! [2d_products]
    __syncthreads();
  }
#pragma unroll
  for (int u = 0; u < mine; ++u)
#pragma unroll
    for (int v = 0; v < mine; ++v) {
      const int r = r0 + y + u * across, q = q0 + x + v * across;
      if (r < m && q < n) c[r * n + q] = sum[u][v];
    }
}
//! [2d]

__device__ float4 float4_at(const float* p) { return *reinterpret_cast<const float4*>(p); }

//! [vectorized]
// The same tiles with a quarter of the instructions: 4 loads of 16 bytes serve 64 multiplications. n and k are
// multiples of 4, so that a float4 lies inside its row or outside it, never half.
__global__ void __launch_bounds__(256)
    vectorized_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int edge = 128, depth = 8, across = 16;
  __shared__ __align__(16) float tile_a[depth][edge + 4];
  __shared__ __align__(16) float tile_b[depth][edge];
  const int r0 = blockIdx.y * edge, q0 = blockIdx.x * edge;
  const int ar = threadIdx.x / 2, ai = threadIdx.x % 2 * 4, bi = threadIdx.x / 32, bq = threadIdx.x % 32 * 4;
  const int x = threadIdx.x % across * 4, y = threadIdx.x / across * 4;
  const float4 zero = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  float sum[8][8] = {};
  //! [vectorized_fetch]
  for (int i0 = 0; i0 < k; i0 += depth) {
    const float4 from_a = r0 + ar < m && i0 + ai < k ? float4_at(a + (r0 + ar) * k + i0 + ai) : zero;
    tile_a[ai][ar] = from_a.x;
    tile_a[ai + 1][ar] = from_a.y;
    tile_a[ai + 2][ar] = from_a.z;
    tile_a[ai + 3][ar] = from_a.w;
    *reinterpret_cast<float4*>(&tile_b[bi][bq]) =
        i0 + bi < k && q0 + bq < n ? float4_at(b + (i0 + bi) * n + q0 + bq) : zero;
    __syncthreads();
    //! [vectorized_fetch]
#pragma unroll
    for (int i = 0; i < depth; ++i) {
      float left[8], right[8];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        *reinterpret_cast<float4*>(left + 4 * half) = float4_at(&tile_a[i][y + half * edge / 2]);
        *reinterpret_cast<float4*>(right + 4 * half) = float4_at(&tile_b[i][x + half * edge / 2]);
      }
#pragma unroll
      for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int v = 0; v < 8; ++v) sum[u][v] += left[u] * right[v];
    }
    __syncthreads();
  }
#pragma unroll
  for (int u = 0; u < 8; ++u)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int r = r0 + y + u / 4 * edge / 2 + u % 4, q = q0 + x + half * edge / 2;
      if (r < m && q < n)
        *reinterpret_cast<float4*>(c + r * n + q) =
            make_float4(sum[u][4 * half], sum[u][4 * half + 1], sum[u][4 * half + 2], sum[u][4 * half + 3]);
    }
}
//! [vectorized]

//! [sgemm]
// The top rung. A block of 8 warps computes 128 x 256 elements, a warp 32 x 128, a thread 8 x 16: 128 sums in
// registers, and 6 shared loads of 16 bytes for 128 multiplications. Three things hide what remains:
//
// - The tiles of the next three steps are on their way into shared memory while this one is used (asynchronous copies,
//   which pass through no register). A goes in turned, 4 bytes at a time: a warp copies 16 columns of 2 rows. Copying
//   8 columns of 4 rows would meet no bank twice, where this meets 16 of them twice, but fetches half as much of a row
//   at a time, and is 4 % slower on an H200.
// - What the next of the 16 steps inside a tile needs is loaded from shared memory before the arithmetic of this one.
// - The multiplications go through the 8 x 16 sums like an ox through a field: from one to the next only one factor
//   changes, at the turns as well, and the other stays in the operand cache in front of the arithmetic unit.
//
// Blocks run through groups of 8 rows of tiles, column by column, so that what runs at the same time shares rows of A
// and columns of B in L2.
constexpr int block_rows = 128, block_columns = 256, depth = 16, stages = 4, threads = 256;
constexpr int pitch_a = block_rows + 4, stage_a = depth * pitch_a, stage_b = depth * block_columns;
constexpr int shared_bytes = stages * (stage_a + stage_b) * static_cast<int>(sizeof(float));
constexpr int group = 8;

/// `whole`: m, n, k are multiples of 128, 256 and 16. Otherwise what lies outside is filled with zeros, and copies are
/// 4 bytes wide, since rows may start anywhere.
template <bool whole>
__global__ void __launch_bounds__(threads, 1)
    sgemm_kernel(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
  extern __shared__ float4 shared[];
  float* const tiles_a = reinterpret_cast<float*>(shared);  // [stages][depth][pitch_a]
  float* const tiles_b = tiles_a + stages * stage_a;        // [stages][depth][block_columns]
  const int thread = threadIdx.x;

  const int down = ceil_div(m, block_rows), across = ceil_div(n, block_columns);
  const int group_start = blockIdx.x / (group * across) * group;
  const int in_group = blockIdx.x % (group * across), group_rows = min(group, down - group_start);
  const int r0 = (group_start + in_group % group_rows) * block_rows, q0 = in_group / group_rows * block_columns;

  // Copying: 16 threads along the 16 columns of A's tile, 16 rows at a time; 64 float4s along the 256 columns of B's.
  constexpr int rows_at_once = threads / depth, steps_at_once = threads / (block_columns / 4);
  const int ai = thread % depth, ar = thread / depth, bi = thread / (block_columns / 4);
  const int bq = thread % (block_columns / 4) * 4;
  const float* from_a = a + static_cast<std::size_t>(r0 + ar) * k + ai;
  const float* from_b = b + static_cast<std::size_t>(bi) * n + q0 + bq;
  int copied = 0;  // columns of A and rows of B
  const auto copy = [&](int stage) {
    float* const to_a = tiles_a + stage * stage_a + ai * pitch_a + ar;
    float* const to_b = tiles_b + stage * stage_b + bi * block_columns + bq;
#pragma unroll
    for (int r = 0; r < block_rows; r += rows_at_once) {
      const bool inside = whole || (r0 + ar + r < m && copied + ai < k);
      const float* const from = inside ? from_a + static_cast<std::size_t>(r) * k : a;
      __pipeline_memcpy_async(to_a + r, from, 4, inside ? 0 : 4);
    }
#pragma unroll
    for (int i = 0; i < depth; i += steps_at_once) {
      const float* const from = from_b + static_cast<std::size_t>(i) * n;
      if constexpr (whole) {
        __pipeline_memcpy_async(to_b + i * block_columns, from, 16);
      } else {
        for (int j = 0; j < 4; ++j) {
          const bool inside = copied + bi + i < k && q0 + bq + j < n;
          __pipeline_memcpy_async(to_b + i * block_columns + j, inside ? from + j : b, 4, inside ? 0 : 4);
        }
      }
    }
    from_a += depth;
    from_b += static_cast<std::size_t>(depth) * n;
    copied += depth;
  };

  // Computing: 4 x 2 warps of 4 x 8 lanes. A thread's rows are 2 runs of 4, its columns 4 runs of 4.
  const int warp = thread / 32, lane = thread % 32;
  const int row = warp % 4 * 32 + lane / 8 * 4, column = warp / 4 * 128 + lane % 8 * 4;
  float sum[8][16] = {}, left[2][8], right[2][16];
  const auto load = [&](int into, int stage, int step) {
    const float* const rows = tiles_a + stage * stage_a + step * pitch_a + row;
    const float* const columns = tiles_b + stage * stage_b + step * block_columns + column;
#pragma unroll
    for (int u = 0; u < 8; u += 4) *reinterpret_cast<float4*>(&left[into][u]) = float4_at(rows + 4 * u);
#pragma unroll
    for (int v = 0; v < 16; v += 4) *reinterpret_cast<float4*>(&right[into][v]) = float4_at(columns + 8 * v);
  };

  const int tiles = ceil_div(k, depth);
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) {
    if (stage < tiles) copy(stage);
    __pipeline_commit();
  }
  __pipeline_wait_prior(stages - 2);
  __syncthreads();
  int reading = 0, writing = stages - 1;
  load(0, 0, 0);
  //! [pipeline]
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int step = 0; step < depth; ++step) {
      if (step == depth - 1) {
        // The next tile must be there for all; and all have left the one before, which may now be overwritten.
        __pipeline_wait_prior(stages - 2);
        __syncthreads();
        reading = reading + 1 == stages ? 0 : reading + 1;
      }
      if (step < depth - 1 || tile + 1 < tiles) load((step + 1) % 2, reading, (step + 1) % depth);
      if (step == 0) {
        if (tile + stages - 1 < tiles) copy(writing);
        writing = writing + 1 == stages ? 0 : writing + 1;
        __pipeline_commit();
      }
#pragma unroll
      for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int v = 0; v < 16; ++v) {
          const int turned = u % 2 ? 15 - v : v;
          sum[u][turned] += left[step % 2][u] * right[step % 2][turned];
        }
    }
  }
  //! [pipeline]

#pragma unroll
  for (int u = 0; u < 8; ++u) {
    const int r = r0 + row + u / 4 * 16 + u % 4;
#pragma unroll
    for (int v = 0; v < 16; v += 4) {
      const int q = q0 + column + 8 * v;
      float* const to = c + static_cast<std::size_t>(r) * n + q;
      if (whole) {
        *reinterpret_cast<float4*>(to) = make_float4(sum[u][v], sum[u][v + 1], sum[u][v + 2], sum[u][v + 3]);
      } else if (r < m) {
#pragma unroll
        for (int j = 0; j < 4; ++j)
          if (q + j < n) to[j] = sum[u][v + j];
      }
    }
  }
}
//! [sgemm]

}  // namespace

void sgemm_naive(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  naive_kernel<<<dim3(ceil_div(m, 32), ceil_div(n, 8)), dim3(32, 8), 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_coalesced(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  coalesced_kernel<<<dim3(ceil_div(n, 32), ceil_div(m, 8)), dim3(32, 8), 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_tiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  tiled_kernel<<<dim3(ceil_div(n, 32), ceil_div(m, 32)), dim3(32, 32), 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_1d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  kernel_1d<<<dim3(ceil_div(n, 64), ceil_div(m, 64)), 512, 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_2d(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  kernel_2d<<<dim3(ceil_div(n, 128), ceil_div(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_vectorized(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  if (n % 4 != 0 || k % 4 != 0) return sgemm_2d(c, a, b, m, n, k, stream);
  vectorized_kernel<<<dim3(ceil_div(n, 128), ceil_div(m, 128)), 256, 0, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const bool whole = m % block_rows == 0 && n % block_columns == 0 && k % depth == 0;
  const auto kernel = whole ? sgemm_kernel<true> : sgemm_kernel<false>;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  kernel<<<ceil_div(m, block_rows) * ceil_div(n, block_columns), threads, shared_bytes, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab06
