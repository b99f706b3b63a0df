// The ladder of the matrix product. Each rung fetches the same data fewer times than the one below: from global memory
// into shared memory, from there into registers. What each brings, and what did not work: WORKLOG.md.
#include <cuda_pipeline.h>

#include <lab/device.hpp>

#include "tiling.hpp"

namespace lab06 {
namespace {

constexpr int block_rows = 128, threads = 256;  // of the upper rungs

__host__ __device__ constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void naive_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;  // the lanes of a warp: one below the other
  const int q = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || q >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + q];
  c[r * n + q] = sum;
}

// The same with the lanes along a row: all read one element of A, and 32 neighbours of B.
__global__ void coalesced_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  const int q = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= m || q >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + q];
  c[r * n + q] = sum;
}

// Each element that a block fetches serves 32 threads, so global traffic falls by 32. What lies outside a matrix
// becomes a zero in the tile: it adds nothing, and the inner loop needs no bounds.
__global__ void tiled_kernel(float* c, const float* a, const float* b, int m, int n, int k) {
  constexpr int edge = 32;
  __shared__ float tile_a[edge][edge], tile_b[edge][edge];
  const int x = threadIdx.x, y = threadIdx.y;
  const int r = blockIdx.y * edge + y, q = blockIdx.x * edge + x;
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
    tile_a[ar][ai] = r0 + ar < m ? a[(r0 + ar) * k + i0 + ai] : 0.0f;
    tile_b[bi][bq] = q0 + bq < n ? b[(i0 + bi) * n + q0 + bq] : 0.0f;
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

__device__ float4 float4_at(const float* p) { return *reinterpret_cast<const float4*>(p); }

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
  for (int i0 = 0; i0 < k; i0 += depth) {
    const float4 from_a = r0 + ar < m && i0 + ai < k ? float4_at(a + (r0 + ar) * k + i0 + ai) : zero;
    tile_a[ai][ar] = from_a.x;
    tile_a[ai + 1][ar] = from_a.y;
    tile_a[ai + 2][ar] = from_a.z;
    tile_a[ai + 3][ar] = from_a.w;
    *reinterpret_cast<float4*>(&tile_b[bi][bq]) =
        i0 + bi < k && q0 + bq < n ? float4_at(b + (i0 + bi) * n + q0 + bq) : zero;
    __syncthreads();
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

// ---- copies ahead
// ----------------------------------------------------------------------------------------------------

/// Copies the tiles of A (rows x depth) and B (depth x columns) of one step after the other into one of several
/// buffers, asynchronously, past the registers. A goes in turned, 4 bytes at a time: a warp copies `depth` columns.
/// `whole`: the tiles divide m, n and k. Otherwise what lies outside is filled with zeros, and all copies are 4 bytes
/// wide, since rows may start anywhere.
template <int rows, int columns, int depth, bool whole>
struct tile_copies {
  static constexpr int pitch_a = rows + 4, size_a = depth * pitch_a, size_b = depth * columns;
  static constexpr int rows_at_once = threads / depth, steps_at_once = threads / (columns / 4);

  __device__ tile_copies(float* to_a, float* to_b, const float* matrix_a, const float* matrix_b, int m_, int n_, int k_,
                         int first_row, int first_column)
      : tiles_a(to_a),
        tiles_b(to_b),
        a(matrix_a),
        b(matrix_b),
        m(m_),
        n(n_),
        k(k_),
        r0(first_row),
        q0(first_column),
        from_a(a + static_cast<std::size_t>(r0 + ar) * k + ai),
        from_b(b + static_cast<std::size_t>(bi) * n + q0 + bq) {}

  __device__ void next_into(int buffer) {
    float* const to_a = tiles_a + buffer * size_a + ai * pitch_a + ar;
    float* const to_b = tiles_b + buffer * size_b + bi * columns + bq;
#pragma unroll
    for (int r = 0; r < rows; r += rows_at_once) {
      const bool inside = whole || (r0 + ar + r < m && copied + ai < k);
      const float* const from = inside ? from_a + static_cast<std::size_t>(r) * k : a;
      __pipeline_memcpy_async(to_a + r, from, 4, inside ? 0 : 4);
    }
#pragma unroll
    for (int i = 0; i < depth; i += steps_at_once) {
      const float* const from = from_b + static_cast<std::size_t>(i) * n;
      if constexpr (whole) {
        __pipeline_memcpy_async(to_b + i * columns, from, 16);
      } else {
        for (int j = 0; j < 4; ++j) {
          const bool inside = copied + bi + i < k && q0 + bq + j < n;
          __pipeline_memcpy_async(to_b + i * columns + j, inside ? from + j : b, 4, inside ? 0 : 4);
        }
      }
    }
    from_a += depth;
    from_b += static_cast<std::size_t>(depth) * n;
    copied += depth;
  }

 private:
  // `depth` threads along the columns of A's tile, and a float4 each along those of B's.
  const int thread = threadIdx.x, ai = thread % depth, ar = thread / depth;
  const int bi = thread / (columns / 4), bq = thread % (columns / 4) * 4;
  float *const tiles_a, *const tiles_b;  // [buffers][depth][pitch_a] and [buffers][depth][columns], shared
  const float *const a, *const b;
  const int m, n, k, r0, q0;
  const float *from_a, *from_b;
  int copied = 0;  // columns of A and rows of B
};

/// Where a thread's sums lie in its block's tile: its rows are runs of 4, `row_step` apart, and so are its columns.
template <int row_step, int column_step>
struct sums_at {
  int row, column;

  /// What all of them need of one step: a row of A's turned tile and one of B's.
  template <int height, int width>
  __device__ void load(float (&left)[height], float (&right)[width], const float* row_of_a, const float* row_of_b) {
#pragma unroll
    for (int u = 0; u < height; u += 4)
      *reinterpret_cast<float4*>(left + u) = float4_at(row_of_a + row + u / 4 * row_step);
#pragma unroll
    for (int v = 0; v < width; v += 4)
      *reinterpret_cast<float4*>(right + v) = float4_at(row_of_b + column + v / 4 * column_step);
  }

  template <bool whole, int height, int width>
  __device__ void store(float* c, const float (&sum)[height][width], int r0, int q0, int m, int n) {
#pragma unroll
    for (int u = 0; u < height; ++u) {
      const int r = r0 + row + u / 4 * row_step + u % 4;
#pragma unroll
      for (int v = 0; v < width; v += 4) {
        const int q = q0 + column + v / 4 * column_step;
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
};

// As vectorized: 16 x 16 threads, each 8 x 8 sums in runs that lie 64 apart.
struct flat {
  static constexpr int columns = 128, width = 8;
  using sums = sums_at<64, 64>;
  static __device__ sums mine() {
    const int thread = threadIdx.x;
    return {thread / 16 * 4, thread % 16 * 4};
  }
};

// A block of 8 warps computes 128 x 256 elements, a warp 32 x 128, a thread 8 x 16: 128 sums in registers, and 6 shared
// loads of 16 bytes for 128 multiplications. The warps stand 4 x 2, the lanes of a warp 4 x 8, so that what a warp
// loads lies close together, and most of it serves several lanes.
struct by_warps {
  static constexpr int columns = 256, width = 16;
  using sums = sums_at<16, 32>;
  static __device__ sums mine() {
    const int thread = threadIdx.x, warp = thread / 32, lane = thread % 32;
    return {warp % 4 * 32 + lane / 8 * 4, warp / 4 * 128 + lane % 8 * 4};
  }
};

// Two buffers: while one is used, the next tiles are on their way into the other. The one barrier of a step says two
// things: the tiles of this step are there for all, and all have left those of the step before, which may be
// overwritten.
template <class layout, bool whole>
__global__ void __launch_bounds__(threads, 1) two_buffers_kernel(float* __restrict__ c, const float* __restrict__ a,
                                                                 const float* __restrict__ b, int m, int n, int k) {
  constexpr int depth = 8;
  using copies = tile_copies<block_rows, layout::columns, depth, whole>;
  __shared__ __align__(16) float tiles_a[2][depth][copies::pitch_a];
  __shared__ __align__(16) float tiles_b[2][depth][layout::columns];
  const int r0 = blockIdx.y * block_rows, q0 = blockIdx.x * layout::columns;
  copies ahead(tiles_a[0][0], tiles_b[0][0], a, b, m, n, k, r0, q0);
  typename layout::sums mine = layout::mine();
  float sum[8][layout::width] = {};
  ahead.next_into(0);
  __pipeline_commit();
  for (int tile = 0; tile * depth < k; ++tile) {
    __pipeline_wait_prior(0);
    __syncthreads();
    if ((tile + 1) * depth < k) ahead.next_into((tile + 1) % 2);
    __pipeline_commit();
#pragma unroll
    for (int step = 0; step < depth; ++step) {
      float left[8], right[layout::width];
      mine.load(left, right, tiles_a[tile % 2][step], tiles_b[tile % 2][step]);
#pragma unroll
      for (int u = 0; u < 8; ++u)
#pragma unroll
        for (int v = 0; v < layout::width; ++v) sum[u][v] += left[u] * right[v];
    }
  }
  mine.template store<whole>(c, sum, r0, q0, m, n);
}

// The top rung: the tiles of the rung before, 16 deep, with three things more that hide what remains:
//
// - The tiles of the next three steps are on their way while this one is used, and a barrier comes half as often. A
// warp
//   copies 16 columns of 2 rows of A. Copying 8 columns of 4 rows would meet no bank twice, where this meets 16 of them
//   twice, but fetches half as much of a row at a time, and is 4 % slower on an H200.
// - What the next of the 16 steps inside a tile needs is loaded from shared memory before the arithmetic of this one.
// - The multiplications go through the 8 x 16 sums like an ox through a field: from one to the next only one factor
//   changes, at the turns as well, and the other stays in the operand cache in front of the arithmetic unit.
//
// Blocks run through groups of 8 rows of tiles, column by column, so that what runs at the same time shares rows of A
// and columns of B in L2.
constexpr int block_columns = by_warps::columns, depth = 16, stages = 4, group = 8;
template <bool whole>
using deep_copies = tile_copies<block_rows, block_columns, depth, whole>;
constexpr int shared_bytes =
    stages * (deep_copies<true>::size_a + deep_copies<true>::size_b) * static_cast<int>(sizeof(float));

template <bool whole>
__global__ void __launch_bounds__(threads, 1)
    sgemm_kernel(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b, int m, int n, int k) {
  using copies = deep_copies<whole>;
  extern __shared__ float4 shared[];
  float* const tiles_a = reinterpret_cast<float*>(shared);
  float* const tiles_b = tiles_a + stages * copies::size_a;

  const int down = ceil_div(m, block_rows), across = ceil_div(n, block_columns);
  const int group_start = blockIdx.x / (group * across) * group;
  const int in_group = blockIdx.x % (group * across), group_rows = min(group, down - group_start);
  const int r0 = (group_start + in_group % group_rows) * block_rows, q0 = in_group / group_rows * block_columns;

  copies ahead(tiles_a, tiles_b, a, b, m, n, k, r0, q0);
  by_warps::sums mine = by_warps::mine();
  float sum[8][16] = {}, left[2][8], right[2][16];
  const auto load = [&](int into, int stage, int step) {
    mine.load(left[into], right[into], tiles_a + stage * copies::size_a + step * copies::pitch_a,
              tiles_b + stage * copies::size_b + step * block_columns);
  };

  const int tiles = ceil_div(k, depth);
#pragma unroll
  for (int stage = 0; stage < stages - 1; ++stage) {
    if (stage < tiles) ahead.next_into(stage);
    __pipeline_commit();
  }
  __pipeline_wait_prior(stages - 2);
  __syncthreads();
  int reading = 0, writing = stages - 1;
  load(0, 0, 0);
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
        if (tile + stages - 1 < tiles) ahead.next_into(writing);
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
  mine.template store<whole>(c, sum, r0, q0, m, n);
}

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

template <class layout>
void with_two_buffers(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const bool whole = m % block_rows == 0 && n % layout::columns == 0 && k % 8 == 0;
  const dim3 grid(ceil_div(n, layout::columns), ceil_div(m, block_rows));
  (whole ? two_buffers_kernel<layout, true> : two_buffers_kernel<layout, false>)<<<grid, threads, 0, stream>>>(c, a, b,
                                                                                                               m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void sgemm_pipelined(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  with_two_buffers<flat>(c, a, b, m, n, k, stream);
}

void sgemm_warptiled(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  with_two_buffers<by_warps>(c, a, b, m, n, k, stream);
}

void sgemm(float* c, const float* a, const float* b, int m, int n, int k, cudaStream_t stream) {
  const bool whole = m % block_rows == 0 && n % block_columns == 0 && k % depth == 0;
  const auto kernel = whole ? sgemm_kernel<true> : sgemm_kernel<false>;
  LAB_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  kernel<<<ceil_div(m, block_rows) * ceil_div(n, block_columns), threads, shared_bytes, stream>>>(c, a, b, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab06
