// Whole small algorithms: reductions, scans, divergence, stencils, sparse and irregular work.
#include <algorithm>

#include "goldens.hpp"

namespace {

using namespace goldens;

// ---- reductions

/// Thread t adds its neighbour `step` away: warps thin out lane by lane.
__global__ void reduce_interleaved(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < 256; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) s[threadIdx.x] += s[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

/// The same with the active threads side by side: bank conflicts instead.
__global__ void reduce_strided(float* out, const float* in) {
  __shared__ float s[256];
  s[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (unsigned step = 1; step < 256; step *= 2) {
    const unsigned at = 2 * step * threadIdx.x;
    if (at < 256) s[at] += s[at + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__global__ void reduce_halves(float* out, const float* in, int n) {
  __shared__ float s[256];
  const int i = blockIdx.x * 256 + threadIdx.x;
  s[threadIdx.x] = i < n ? in[i] : 0.0f;
  __syncthreads();
#pragma unroll 1
  for (unsigned half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = s[0];
}

__device__ float sum_of_warp(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_down_sync(0xffffffffu, v, step);
  return v;
}

/// Sums of warps, then of the warps' sums.
__device__ float sum_of_block(float v) {
  __shared__ float of_warp[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  v = sum_of_warp(v);
  if (lane == 0) of_warp[warp] = v;
  __syncthreads();
  v = threadIdx.x < blockDim.x / 32 ? of_warp[lane] : 0.0f;
  return warp == 0 ? sum_of_warp(v) : 0.0f;
}

__global__ void reduce_shuffled(float* out, const float* in, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void reduce_quads(float* out, const float4* in, int quads) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
    const float4 v = in[i];
    sum += v.x + v.y + v.z + v.w;
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void dot(float* out, const float* a, const float* b, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) atomicAdd(out, sum);
}

__global__ void max_of_rows(float* out, const float* in, int columns) {
  float most = -1e30f;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) most = fmaxf(most, in[blockIdx.x * columns + c]);
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(0xffffffffu, most, step));
  __shared__ float of_warp[8];
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (unsigned w = 0; w < blockDim.x / 32; ++w) most = fmaxf(most, of_warp[w]);
    out[blockIdx.x] = most;
  }
}

// ---- scans

__global__ void scan_hillis_steele(float* out, const float* in) {
  __shared__ float s[2][256];
  int from = 0;
  s[0][threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
#pragma unroll 1
  for (int step = 1; step < 256; step *= 2) {
    float v = s[from][threadIdx.x];
    if (static_cast<int>(threadIdx.x) >= step) v += s[from][threadIdx.x - step];
    from = 1 - from;
    s[from][threadIdx.x] = v;
    __syncthreads();
  }
  out[blockIdx.x * 256 + threadIdx.x] = s[from][threadIdx.x];
}

__host__ __device__ constexpr int padded(int i, bool pad) { return pad ? i + i / 32 : i; }

/// Up and down a tree; with `Pad`, one extra word for every 32, so that strides are odd.
template <bool Pad>
__global__ void scan_blelloch(float* out, const float* in) {
  __shared__ float s[512 + 16];
  const int t = threadIdx.x, first = blockIdx.x * 512;
  s[padded(t, Pad)] = in[first + t];
  s[padded(t + 256, Pad)] = in[first + t + 256];
  int step = 1;
#pragma unroll 1
  for (int active = 256; active > 0; active /= 2) {
    __syncthreads();
    if (t < active) s[padded(step * (2 * t + 2) - 1, Pad)] += s[padded(step * (2 * t + 1) - 1, Pad)];
    step *= 2;
  }
  __syncthreads();
  if (t == 0) s[padded(511, Pad)] = 0.0f;
#pragma unroll 1
  for (int active = 1; active < 512; active *= 2) {
    step /= 2;
    __syncthreads();
    if (t < active) {
      const int low = padded(step * (2 * t + 1) - 1, Pad), high = padded(step * (2 * t + 2) - 1, Pad);
      const float v = s[low], w = s[high];
      s[low] = w;
      s[high] = v + w;
    }
  }
  __syncthreads();
  out[first + t] = s[padded(t, Pad)];
  out[first + t + 256] = s[padded(t + 256, Pad)];
}

__global__ void scan_shuffled(float* out, float* block_sums, const float* in, int n) {
  __shared__ float of_warp[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float v = i < n ? in[i] : 0.0f;
  for (int step = 1; step < 32; step *= 2) {
    const float below = __shfl_up_sync(0xffffffffu, v, step);
    if (lane >= step) v += below;
  }
  if (lane == 31) of_warp[warp] = v;
  __syncthreads();
  float before = 0.0f;
#pragma unroll 1
  for (int w = 0; w < warp; ++w) before += of_warp[w];
  if (i < n) out[i] = v + before;
  if (threadIdx.x == blockDim.x - 1) block_sums[blockIdx.x] = v + before;
}

__global__ void add_block_sums(float* out, const float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && blockIdx.x > 0) out[i] += sums[blockIdx.x - 1];
}

// ---- divergence

__global__ void branch_by_lane(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v;
  if (threadIdx.x % 2 == 0) {
    v = sinf(a[i]);
  } else {
    v = expf(b[2 * i]);
  }
  out[i] = v;
}

__global__ void branch_by_warp(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v;
  if (threadIdx.x / 32 % 2 == 0) {
    v = sinf(a[i]);
  } else {
    v = expf(b[2 * i]);
  }
  out[i] = v;
}

/// Lane i runs i % 7 iterations of the outer loop, and iteration j of it runs j + 1 iterations of the inner loop.
__global__ void nested_unequal(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int turns = threadIdx.x % 32 % 7;
  float sum = 0.0f;
#pragma unroll 1
  for (int j = 0; j < turns; ++j)
#pragma unroll 1
    for (int k = 0; k <= j; ++k) sum += in[(i + 37 * j + k) % n];
  out[i] = sum;
}

__global__ void return_early(float* out, const float* in, float limit, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = in[i];
  if (v > limit) return;
  out[i] = v * in[n - 1 - i];
}

__global__ void switch_on_data(float* out, const float* in, const int* kind, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = 0.0f;
  switch (kind[i]) {
    case 0: v = sinf(in[i]); break;
    case 1: v = cosf(in[i + 1]) * in[i + 2]; break;
    case 2: v = expf(in[2 * i]); break;
    default: v = 1.0f;
  }
  out[i] = v;
}

/// The Collatz path length: a data-dependent number of turns, and no memory.
__global__ void collatz(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  long long x = i + 1;
  int turns = 0;
#pragma unroll 1
  while (x != 1) {
    x = x % 2 == 0 ? x / 2 : 3 * x + 1;
    ++turns;
  }
  out[i] = turns;
}

__global__ void mandelbrot(int* out, int width, int height, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const float cx = -2.0f + 3.0f * static_cast<float>(px) / static_cast<float>(width);
  const float cy = -1.5f + 3.0f * static_cast<float>(py) / static_cast<float>(height);
  float x = 0.0f, y = 0.0f;
  int k = 0;
#pragma unroll 1
  for (; k < limit && x * x + y * y < 4.0f; ++k) {
    const float t = x * x - y * y + cx;
    y = 2.0f * x * y + cy;
    x = t;
  }
  out[py * width + px] = k;
}

/// An LCG for each thread; counts hits in the quarter circle.
__global__ void monte_carlo(int* hits, int samples) {
  unsigned state = 1234567u + 747796405u * (blockIdx.x * blockDim.x + threadIdx.x);
  int inside = 0;
#pragma unroll 1
  for (int s = 0; s < samples; ++s) {
    state = state * 1664525u + 1013904223u;
    const float x = static_cast<float>(state >> 8) * (1.0f / 16777216.0f);
    state = state * 1664525u + 1013904223u;
    const float y = static_cast<float>(state >> 8) * (1.0f / 16777216.0f);
    if (x * x + y * y < 1.0f) ++inside;
  }
  hits[blockIdx.x * blockDim.x + threadIdx.x] = inside;
}

// ---- stencils and convolutions

__global__ void jacobi(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < 1 || c < 1 || r >= rows - 1 || c >= columns - 1) return;
  const float* p = in + r * columns + c;
  out[r * columns + c] = 0.25f * (p[-1] + p[1] + p[-columns] + p[columns]);
}

/// The same through a tile with a halo.
__global__ void jacobi_tiled(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[18][18];
  const int x = threadIdx.x + 1, y = threadIdx.y + 1;
  const int c = blockIdx.x * 16 + threadIdx.x, r = blockIdx.y * 16 + threadIdx.y;
  if (r < rows && c < columns) {
    tile[y][x] = in[r * columns + c];
    if (x == 1 && c > 0) tile[y][0] = in[r * columns + c - 1];
    if (x == 16 && c + 1 < columns) tile[y][17] = in[r * columns + c + 1];
    if (y == 1 && r > 0) tile[0][x] = in[(r - 1) * columns + c];
    if (y == 16 && r + 1 < rows) tile[17][x] = in[(r + 1) * columns + c];
  }
  __syncthreads();
  if (r < 1 || c < 1 || r >= rows - 1 || c >= columns - 1) return;
  out[r * columns + c] = 0.25f * (tile[y][x - 1] + tile[y][x + 1] + tile[y - 1][x] + tile[y + 1][x]);
}

__global__ void heat_volume(float* out, const float* in, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1) return;
  const int i = (z * ny + y) * nx + x;
  const float middle = in[i], sides = in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx];
  out[i] = 0.4f * middle + 0.1f * (sides + in[i - nx * ny] + in[i + nx * ny]);
}

__constant__ float weights[25];

__global__ void convolve(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns) return;
  float sum = 0.0f;
#pragma unroll 1
  for (int dy = -2; dy <= 2; ++dy)
#pragma unroll 1
    for (int dx = -2; dx <= 2; ++dx) {
      const int y = min(max(r + dy, 0), rows - 1), x = min(max(c + dx, 0), columns - 1);
      sum += weights[(dy + 2) * 5 + dx + 2] * in[y * columns + x];
    }
  out[r * columns + c] = sum;
}

__global__ void game_of_life(unsigned char* out, const unsigned char* in, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= columns) return;
  int alive = 0;
#pragma unroll 1
  for (int k = 0; k < 9; ++k) {
    const int y = (r + k / 3 + rows - 1) % rows, x = (c + k % 3 + columns - 1) % columns;
    alive += in[y * columns + x];
  }
  const int self = in[r * columns + c];
  out[r * columns + c] = alive == 3 || (self == 1 && alive == 4);
}

// ---- sparse and irregular

__global__ void spmv_scalar(float* y, const int* row, const int* column, const float* value, const float* x, int rows) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const int end = row[r + 1];
  float sum = 0.0f;
#pragma unroll 1
  for (int k = row[r]; k < end; ++k) sum += value[k] * x[column[k]];
  y[r] = sum;
}

__global__ void spmv_vector(float* y, const int* row, const int* column, const float* value, const float* x, int rows) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const int end = row[r + 1];
  float sum = 0.0f;
#pragma unroll 1
  for (int k = row[r] + lane; k < end; k += 32) sum += value[k] * x[column[k]];
  sum = sum_of_warp(sum);
  if (lane == 0) y[r] = sum;
}

/// A thread for each element of `a`: bisection finds how many of `b` come before it in the merged array.
__global__ void merge_sorted(int* out, const int* a, const int* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int key = a[i];
  int low = 0, high = n;
#pragma unroll 1
  while (low < high) {
    const int middle = (low + high) / 2;
    if (b[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  out[i + low] = key;
}

__global__ void n_body(float4* force, const float4* body, int n) {
  __shared__ float4 tile[128];
  const int i = blockIdx.x * 128 + threadIdx.x;
  const float4 me = body[i];
  float fx = 0.0f, fy = 0.0f, fz = 0.0f;
#pragma unroll 1
  for (int first = 0; first < n; first += 128) {
    tile[threadIdx.x] = body[first + threadIdx.x];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 128; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float near = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      const float pull = other.w * near * near * near;
      fx += dx * pull;
      fy += dy * pull;
      fz += dz * pull;
    }
    __syncthreads();
  }
  force[i] = make_float4(fx, fy, fz, 0.0f);
}

/// One level of a breadth-first search, one thread per node.
__global__ void expand_frontier(int* next, const int* level, const int* row, const int* column, int depth, int nodes) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes || level[v] != depth) return;
  const int end = row[v + 1];
#pragma unroll 1
  for (int k = row[v]; k < end; ++k) atomicCAS(&next[column[k]], -1, depth + 1);
}

__global__ void nearest_centre(int* nearest, const float2* point, const float2* centre, int centres, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 p = point[i];
  float best = 1e30f;
  int best_at = 0;
#pragma unroll 1
  for (int k = 0; k < centres; ++k) {
    const float2 c = centre[k];
    const float d = (p.x - c.x) * (p.x - c.x) + (p.y - c.y) * (p.y - c.y);
    if (d < best) {
      best = d;
      best_at = k;
    }
  }
  nearest[i] = best_at;
}

__global__ void count_votes(int* out, const int* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned odd = __ballot_sync(0xffffffffu, in[i] & 1);
  if (threadIdx.x % 32 == 0) out[i / 32] = __popc(odd);
}

struct sparse {
  int *row, *column, rows;
  float* value;
};
/// Rows of 0 to 2 * mean - 1 elements.
sparse random_sparse(memory& m, int rows, int mean) {
  std::vector<int> row(rows + 1, 0), column;
  for (int r = 0; r < rows; ++r) row[r + 1] = row[r] + static_cast<int>(hash(r) % (2 * mean));
  for (int k = 0; k < row[rows]; ++k) column.push_back(static_cast<int>(hash(k + 77) % rows));
  float* value = m.filled(column.size(), [](std::size_t i) { return noise(i); });
  return {m.copy(row), m.copy(column), rows, value};
}

}  // namespace

cudaError_t run_blocks() {
  memory m;
  const int n = 16384, block = 256, grid = n / block;
  float* in = m.filled(4 * n, [](std::size_t i) { return noise(i); });
  float *out = m.bytes<float>(4 * n), *sums = m.bytes<float>(1024);
  int* counts = m.bytes<int>(4 * n);
  reduce_interleaved<<<grid, block>>>(out, in);
  reduce_strided<<<grid, block>>>(out, in);
  reduce_halves<<<grid, block>>>(out, in, n - 100);
  reduce_shuffled<<<7, block>>>(out, in, n);
  reduce_quads<<<5, 128>>>(out, reinterpret_cast<const float4*>(in), n / 4);
  dot<<<8, block>>>(sums, in, in + n, n);
  max_of_rows<<<40, 128>>>(out, in, 300);
  scan_hillis_steele<<<16, block>>>(out, in);
  scan_blelloch<false><<<16, block>>>(out, in);
  scan_blelloch<true><<<16, block>>>(out, in);
  scan_shuffled<<<grid, block>>>(out, sums, in, n - 100);
  add_block_sums<<<grid, block>>>(out, sums, n - 100);

  branch_by_lane<<<grid, block>>>(out, in, in, n - 100);
  branch_by_warp<<<grid, block>>>(out, in, in, n - 100);
  nested_unequal<<<16, 96>>>(out, in, n);
  return_early<<<grid, block>>>(out, in, 0.3f, n - 100);
  const int* kind = m.filled(n, [](std::size_t i) { return static_cast<int>(hash(i + 5) % 4); });
  switch_on_data<<<grid, block>>>(out, in, kind, n - 100);
  collatz<<<8, 100>>>(counts, 777);
  mandelbrot<<<dim3(5, 9), dim3(32, 8)>>>(counts, 150, 70, 100);
  mandelbrot<<<dim3(10, 5), dim3(16, 16)>>>(counts, 150, 70, 100);
  monte_carlo<<<4, 257>>>(counts, 50);

  const dim3 shape(32, 8), tiles(blocks_for(150, 32), blocks_for(90, 8));
  jacobi<<<tiles, shape>>>(out, in, 90, 150);
  jacobi_tiled<<<dim3(10, 6), dim3(16, 16)>>>(out, in, 90, 150);
  heat_volume<<<dim3(5, 5, 5), dim3(8, 8, 4)>>>(out, in, 40, 40, 20);
  const std::vector<float> kernel(25, 0.04f);
  cudaMemcpyToSymbol(weights, kernel.data(), sizeof weights);
  convolve<<<tiles, shape>>>(out, in, 90, 150);
  auto* cells = m.filled(n, [](std::size_t i) { return static_cast<unsigned char>(hash(i) % 2); });
  game_of_life<<<tiles, shape>>>(reinterpret_cast<unsigned char*>(counts), cells, 90, 150);

  const sparse a = random_sparse(m, 2000, 12);
  spmv_scalar<<<blocks_for(a.rows, 128), 128>>>(out, a.row, a.column, a.value, in, a.rows);
  spmv_vector<<<blocks_for(a.rows, 4), 128>>>(out, a.row, a.column, a.value, in, a.rows);
  std::vector<int> keys(2000);
  for (int i = 0; i < 2000; ++i) keys[i] = static_cast<int>(hash(i) % 100000) * 2;
  std::sort(keys.begin(), keys.end());
  const int* even = m.copy(keys);
  for (int& key : keys) key += 1 + 2 * (key % 3);
  std::sort(keys.begin(), keys.end());
  merge_sorted<<<blocks_for(2000, 128), 128>>>(counts, even, m.copy(keys), 2000);
  n_body<<<4, 128>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in), 512);
  const int* level = m.filled(a.rows, [](std::size_t i) { return i % 50 == 0 ? 3 : -1; });
  expand_frontier<<<blocks_for(a.rows, 128), 128>>>(m.bytes<int>(a.rows, 0xff), level, a.row, a.column, 3, a.rows);
  nearest_centre<<<grid, block>>>(counts, reinterpret_cast<const float2*>(in), reinterpret_cast<const float2*>(in) + n,
                                  16, n - 100);
  count_votes<<<grid, block>>>(counts, kind);
  return finished();
}

cudaError_t time_blocks() {
  memory m;
  const int n = 1 << 24, block = 256;
  float *in = m.bytes<float>(n, 0x3c), *out = m.bytes<float>(n), *sums = m.bytes<float>(n / block);
  int* counts = m.bytes<int>(n);
  reduce_shuffled<<<132 * 8, block>>>(out, in, n);
  reduce_quads<<<132 * 8, block>>>(out, reinterpret_cast<const float4*>(in), n / 4);
  reduce_interleaved<<<n / 4 / block, block>>>(out, in);
  scan_shuffled<<<n / 4 / block, block>>>(out, sums, in, n / 4);
  jacobi<<<dim3(4096 / 32, 2048 / 8), dim3(32, 8)>>>(out, in, 2048, 4096);
  jacobi_tiled<<<dim3(4096 / 16, 2048 / 16), dim3(16, 16)>>>(out, in, 2048, 4096);
  mandelbrot<<<dim3(64, 128), dim3(32, 8)>>>(counts, 2048, 1024, 200);
  n_body<<<64, 128>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in), 64 * 128);
  const sparse a = random_sparse(m, 1 << 18, 16);
  spmv_scalar<<<blocks_for(a.rows, 128), 128>>>(out, a.row, a.column, a.value, in, a.rows);
  spmv_vector<<<blocks_for(a.rows, 4), 128>>>(out, a.row, a.column, a.value, in, a.rows);
  return finished();
}
