// c = a b, square and row-major, from the first attempt to vectorised register tiles; matrix times vector.
#include "goldens.hpp"

namespace {

using namespace goldens;

__global__ void matmul_naive(float* c, const float* a, const float* b, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

/// Neighbouring threads take neighbouring rows: nothing coalesces.
__global__ void matmul_swapped(float* c, const float* a, const float* b, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= n || column >= n) return;
  float sum = 0.0f;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

/// Any size: what lies outside counts as zero.
template <int Tile, int Pad>
__global__ void matmul_tiled(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[Tile][Tile + Pad], tb[Tile][Tile + Pad];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * Tile + x, row = blockIdx.y * Tile + y;
  float sum = 0.0f;
#pragma unroll 1
  for (int first = 0; first < n; first += Tile) {
    ta[y][x] = row < n && first + x < n ? a[row * n + first + x] : 0.0f;
    tb[y][x] = column < n && first + y < n ? b[(first + y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < Tile; ++k) sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

/// b's tile is kept transposed: without padding all lanes read one bank.
template <int Pad>
__global__ void matmul_tiled_transposed(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[32][33], tb[32][32 + Pad];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
  float sum = 0.0f;
#pragma unroll 1
  for (int first = 0; first < n; first += 32) {
    ta[y][x] = a[row * n + first + x];
    tb[x][y] = b[(first + y) * n + column];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 32; ++k) sum += ta[y][k] * tb[x][k];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

/// The usual way to write it: nvcc unrolls and reads four neighbours of ta's row at once.
__global__ void matmul_tiled_unrolled(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[32][32], tb[32][32];
  const int x = threadIdx.x, y = threadIdx.y;
  const int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
  float sum = 0.0f;
  for (int first = 0; first < n; first += 32) {
    ta[y][x] = a[row * n + first + x];
    tb[y][x] = b[(first + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k) sum += ta[y][k] * tb[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

/// A tile of 64 x 64; each of 512 threads holds eight rows of one column.
__global__ void matmul_register_column(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[64][9], tb[8][64];
  const int column = threadIdx.x % 64, group = threadIdx.x / 64;
  const int r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  const int ay = threadIdx.x / 8, ax = threadIdx.x % 8;
  float sum[8] = {};
#pragma unroll 1
  for (int first = 0; first < n; first += 8) {
    ta[ay][ax] = a[(r0 + ay) * n + first + ax];
    tb[group][column] = b[(first + group) * n + c0 + column];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
      const float right = tb[k][column];
#pragma unroll
      for (int i = 0; i < 8; ++i) sum[i] += ta[group * 8 + i][k] * right;
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) c[(r0 + group * 8 + i) * n + c0 + column] = sum[i];
}

/// A tile of 64 x 64; each of 16 x 16 threads holds 4 x 4 elements, 16 apart.
__global__ void matmul_register_tile(float* c, const float* a, const float* b, int n) {
  __shared__ float ta[64][17], tb[16][64];
  const int x = threadIdx.x, y = threadIdx.y, r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
  float sum[4][4] = {};
#pragma unroll 1
  for (int first = 0; first < n; first += 16) {
#pragma unroll
    for (int i = 0; i < 4; ++i) ta[y + 16 * i][x] = a[(r0 + y + 16 * i) * n + first + x];
#pragma unroll
    for (int j = 0; j < 4; ++j) tb[y][x + 16 * j] = b[(first + y) * n + c0 + x + 16 * j];
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
      float left[4], right[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) left[i] = ta[y + 16 * i][k];
#pragma unroll
      for (int j = 0; j < 4; ++j) right[j] = tb[k][x + 16 * j];
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) c[(r0 + y + 16 * i) * n + c0 + x + 16 * j] = sum[i][j];
}

/// A tile of 128 x 128; each of 256 threads holds 8 x 8. All loads and stores are of 16 bytes; a's tile is transposed.
__global__ void __launch_bounds__(256) matmul_vectorised(float* c, const float* a, const float* b, int n) {
  __shared__ __align__(16) float ta[8][128], tb[8][128];
  const int x = threadIdx.x % 16, y = threadIdx.x / 16, r0 = blockIdx.y * 128, c0 = blockIdx.x * 128;
  const int ay = threadIdx.x / 2, ax = threadIdx.x % 2 * 4, by = threadIdx.x / 32, bx = threadIdx.x % 32 * 4;
  float sum[8][8] = {};
#pragma unroll 1
  for (int first = 0; first < n; first += 8) {
    const float4 va = *reinterpret_cast<const float4*>(&a[(r0 + ay) * n + first + ax]);
    ta[ax][ay] = va.x;
    ta[ax + 1][ay] = va.y;
    ta[ax + 2][ay] = va.z;
    ta[ax + 3][ay] = va.w;
    *reinterpret_cast<float4*>(&tb[by][bx]) = *reinterpret_cast<const float4*>(&b[(first + by) * n + c0 + bx]);
    __syncthreads();
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
      const float4 l0 = *reinterpret_cast<const float4*>(&ta[k][y * 4]);
      const float4 l1 = *reinterpret_cast<const float4*>(&ta[k][64 + y * 4]);
      const float4 q0 = *reinterpret_cast<const float4*>(&tb[k][x * 4]);
      const float4 q1 = *reinterpret_cast<const float4*>(&tb[k][64 + x * 4]);
      const float left[8] = {l0.x, l0.y, l0.z, l0.w, l1.x, l1.y, l1.z, l1.w};
      const float right[8] = {q0.x, q0.y, q0.z, q0.w, q1.x, q1.y, q1.z, q1.w};
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] += left[i] * right[j];
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const int row = r0 + i / 4 * 64 + y * 4 + i % 4;
    *reinterpret_cast<float4*>(&c[row * n + c0 + x * 4]) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    *reinterpret_cast<float4*>(&c[row * n + c0 + 64 + x * 4]) = make_float4(sum[i][4], sum[i][5], sum[i][6], sum[i][7]);
  }
}

/// Outer products into memory: what each iteration adds goes to c itself. nvcc may keep c in a register.
__global__ void matmul_in_memory(float* c, const float* a, const float* b, int n) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (column >= n) return;
  c[row * n + column] = 0.0f;
  for (int k = 0; k < n; ++k) c[row * n + column] += a[row * n + k] * b[k * n + column];
}

__global__ void multiply_rows(float* y, const float* a, const float* x, int rows, int columns) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += a[r * columns + c] * x[c];
  y[r] = sum;
}

/// y = transposed a times x: neighbours read neighbours.
__global__ void multiply_columns(float* y, const float* a, const float* x, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) sum += a[r * columns + c] * x[r];
  y[c] = sum;
}

__global__ void multiply_row_per_warp(float* y, const float4* a, const float4* x, int rows, int quads) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  float sum = 0.0f;
  for (int q = lane; q < quads; q += 32) {
    const float4 u = a[r * quads + q], v = x[q];
    sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (lane == 0) y[r] = sum;
}

}  // namespace

cudaError_t run_matmul() {
  memory m;
  const int n = 128;
  float* a = m.filled(256 * 256, [](std::size_t i) { return noise(i); });
  float* b = m.filled(256 * 256, [](std::size_t i) { return noise(i + 99); });
  float* c = m.bytes<float>(256 * 256);
  const dim3 square(16, 16), large(32, 32);
  matmul_naive<<<dim3(8, 8), square>>>(c, a, b, n);
  matmul_naive<<<dim3(4, 13), dim3(32, 8)>>>(c, a, b, 100);
  matmul_swapped<<<dim3(8, 8), square>>>(c, a, b, n);
  matmul_tiled<16, 0><<<dim3(8, 8), square>>>(c, a, b, n);
  matmul_tiled<16, 1><<<dim3(8, 8), square>>>(c, a, b, n);
  matmul_tiled<32, 0><<<dim3(4, 4), large>>>(c, a, b, n);
  matmul_tiled<32, 0><<<dim3(4, 4), large>>>(c, a, b, 100);
  matmul_tiled<32, 1><<<dim3(4, 4), large>>>(c, a, b, n);
  matmul_tiled_transposed<0><<<dim3(3, 3), large>>>(c, a, b, 96);
  matmul_tiled_transposed<1><<<dim3(3, 3), large>>>(c, a, b, 96);
  matmul_tiled_unrolled<<<dim3(4, 4), large>>>(c, a, b, n);
  matmul_register_column<<<dim3(2, 2), 512>>>(c, a, b, n);
  matmul_register_tile<<<dim3(2, 2), square>>>(c, a, b, n);
  matmul_vectorised<<<dim3(2, 2), 256>>>(c, a, b, 256);
  matmul_in_memory<<<dim3(1, 100), n>>>(c, a, b, 100);
  multiply_rows<<<3, 64>>>(c, a, b, 150, 200);
  multiply_columns<<<4, 64>>>(c, a, b, 150, 200);
  multiply_row_per_warp<<<38, 128>>>(c, reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b), 150,
                                     50);
  return finished();
}

cudaError_t time_matmul() {
  memory m;
  const int n = 1024;
  float *a = m.bytes<float>(n * n, 0x3c), *b = m.bytes<float>(n * n, 0x3c), *c = m.bytes<float>(n * n);
  matmul_naive<<<dim3(12, 48), dim3(32, 8)>>>(c, a, b, 384);
  matmul_swapped<<<dim3(8, 32), dim3(32, 8)>>>(c, a, b, 256);
  matmul_tiled<16, 0><<<dim3(24, 24), dim3(16, 16)>>>(c, a, b, 384);
  matmul_tiled<32, 0><<<dim3(12, 12), dim3(32, 32)>>>(c, a, b, 384);
  matmul_register_column<<<dim3(6, 6), 512>>>(c, a, b, 384);
  matmul_register_tile<<<dim3(8, 8), dim3(16, 16)>>>(c, a, b, 512);
  matmul_vectorised<<<dim3(8, 8), 256>>>(c, a, b, n);
  multiply_rows<<<blocks_for(n, 128), 128>>>(c, a, b, n, n);
  multiply_row_per_warp<<<n / 4, 128>>>(c, reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b), n,
                                        n / 4);
  return finished();
}
