// Shared memory: widths, strides, broadcasts, tiles, dynamic arrays, and what warps pass on through it.
#include "goldens.hpp"

namespace {

using namespace goldens;

/// Lane i reads element i * stride.
template <class T, int Size>
__global__ void load_shared_strided(T* out, const T* in, int stride) {
  __shared__ T tile[Size];
  for (int i = threadIdx.x; i < Size; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x * stride];
}

/// Lane i writes element i * stride.
template <class T, int Size>
__global__ void store_shared_strided(T* out, const T* in, int stride) {
  __shared__ T tile[Size];
  tile[threadIdx.x * stride] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x ^ 1) * stride];
}

/// Any pattern, for a block of several warps.
template <class T>
__global__ void permute_shared(T* out, const T* in, const int* index) {
  __shared__ T tile[256];
  tile[index[threadIdx.x]] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[index[threadIdx.x ^ 3]];
}

/// Reads one value for all threads, one for each warp, and one for every four lanes.
__global__ void broadcast_shared(float* out, const float* in) {
  __shared__ float tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[blockIdx.x] + tile[threadIdx.x / 32 * 9] + tile[threadIdx.x / 4];
}

/// Every four lanes read four quads of their own row; the rows are a pitch apart.
template <int Pitch>
__global__ void read_quads(float4* out, const float* in) {
  __shared__ __align__(16) float tile[32 * Pitch];
  for (int i = threadIdx.x; i < 32 * Pitch; i += blockDim.x) tile[i] = in[i];
  __syncthreads();
  const int row = threadIdx.x / 4, quad = threadIdx.x % 4;
  out[threadIdx.x] = *reinterpret_cast<const float4*>(&tile[row * Pitch + quad * 4]);
}

/// A table looked up by data.
__global__ void look_up(float* out, const unsigned char* in, const float* table, int n) {
  __shared__ float entries[256];
  entries[threadIdx.x] = table[threadIdx.x];
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = entries[in[i]];
}

/// Points of three floats.
__global__ void sum_coordinates(float* out, const float* in, int n) {
  __shared__ float points[3 * 256];
  const int first = blockIdx.x * 3 * 256;
#pragma unroll 1
  for (int i = threadIdx.x; i < 3 * 256; i += 256) points[i] = first + i < 3 * n ? in[first + i] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 1
  for (int k = 0; k < 3; ++k) sum += points[3 * threadIdx.x + k];
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) out[i] = sum;
}

extern __shared__ float dynamic_floats[];

__global__ void reverse_blocks(float* out, const float* in) {
  dynamic_floats[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic_floats[blockDim.x - 1 - threadIdx.x];
}

/// Two arrays in one dynamic array: values, and where they go.
__global__ void sort_by_key_pairs(float* out, const float* in, const int* key) {
  float* values = dynamic_floats;
  int* keys = reinterpret_cast<int*>(dynamic_floats + blockDim.x);
  values[threadIdx.x] = in[threadIdx.x];
  keys[threadIdx.x] = key[threadIdx.x];
  __syncthreads();
  out[keys[threadIdx.x]] = values[threadIdx.x];
}

template <int Tile>
__global__ void transpose_tile(float* out, const float* in, int n) {
  __shared__ float tile[Tile][Tile];
  const int x0 = blockIdx.x * Tile, y0 = blockIdx.y * Tile;
  tile[threadIdx.y][threadIdx.x] = in[(y0 + threadIdx.y) * n + x0 + threadIdx.x];
  __syncthreads();
  out[(x0 + threadIdx.y) * n + y0 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

/// Conflict-free without padding: columns are exchanged by exclusive or.
__global__ void transpose_swizzled(float* out, const float* in, int n) {
  __shared__ float tile[32][32];
  const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, x = threadIdx.x;
#pragma unroll 1
  for (int y = threadIdx.y; y < 32; y += 8) tile[y][x ^ y] = in[(y0 + y) * n + x0 + x];
  __syncthreads();
#pragma unroll 1
  for (int y = threadIdx.y; y < 32; y += 8) out[(x0 + y) * n + y0 + x] = tile[x][y ^ x];
}

/// Two elements per lane: pairs of columns.
__global__ void transpose_pairs(float2* out, const float2* in, int pairs) {
  __shared__ __align__(8) float tile[32][66];
  const int x0 = blockIdx.x * 32, y0 = blockIdx.y * 32, x = threadIdx.x;
#pragma unroll 1
  for (int y = threadIdx.y; y < 32; y += 8) *reinterpret_cast<float2*>(&tile[y][2 * x]) = in[(y0 + y) * pairs + x0 + x];
  __syncthreads();
#pragma unroll 1
  for (int y = threadIdx.y; y < 64; y += 8)
    if (x < 16) out[(2 * x0 + y) * pairs + y0 / 2 + x] = make_float2(tile[2 * x][y], tile[2 * x + 1][y]);
}

/// Radius 3, with a halo.
__global__ void stencil_shared(float* out, const float* in, int n) {
  __shared__ float line[256 + 6];
  const int i = blockIdx.x * 256 + threadIdx.x;
  line[threadIdx.x + 3] = i < n ? in[i] : 0.0f;
  if (threadIdx.x < 3) line[threadIdx.x] = i >= 3 ? in[i - 3] : 0.0f;
  if (threadIdx.x >= 253) line[threadIdx.x + 6] = i + 3 < n ? in[i + 3] : 0.0f;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 1
  for (int k = 0; k < 7; ++k) sum += line[threadIdx.x + k];
  if (i < n) out[i] = sum;
}

/// Each warp sums its own 32 values through shared memory.
__global__ void sum_warps_in_shared(float* out, const float* in) {
  __shared__ float values[256];
  const int lane = threadIdx.x % 32;
  values[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncwarp();
#pragma unroll 1
  for (int step = 16; step > 0; step /= 2) {
    if (lane < step) values[threadIdx.x] += values[threadIdx.x + step];
    __syncwarp();
  }
  if (lane == 0) out[(blockIdx.x * 256 + threadIdx.x) / 32] = values[threadIdx.x];
}

__global__ void sort_bitonic(float* data) {
  __shared__ float s[512];
  const int t = threadIdx.x;
  s[t] = data[blockIdx.x * 512 + t];
  s[t + 256] = data[blockIdx.x * 512 + t + 256];
  __syncthreads();
#pragma unroll 1
  for (int size = 2; size <= 512; size *= 2)
#pragma unroll 1
    for (int step = size / 2; step > 0; step /= 2) {
      const int low = 2 * t - (t & (step - 1)), high = low + step;
      const bool up = (low & size) == 0;
      const float a = s[low], b = s[high];
      s[low] = (a < b) == up ? a : b;
      s[high] = (a < b) == up ? b : a;
      __syncthreads();
    }
  data[blockIdx.x * 512 + t] = s[t];
  data[blockIdx.x * 512 + t + 256] = s[t + 256];
}

}  // namespace

cudaError_t run_shared() {
  memory m;
  const int n = 1 << 16;
  auto value = [](std::size_t i) { return noise(i); };
  float *in = m.filled(n, value), *out = m.bytes<float>(n);
  auto *in1 = reinterpret_cast<unsigned char*>(in), *out1 = reinterpret_cast<unsigned char*>(out);
  auto *in2 = reinterpret_cast<unsigned short*>(in), *out2 = reinterpret_cast<unsigned short*>(out);
  auto *in8 = reinterpret_cast<float2*>(in), *out8 = reinterpret_cast<float2*>(out);
  auto *in16 = reinterpret_cast<float4*>(in), *out16 = reinterpret_cast<float4*>(out);
  for (const int stride : {1, 2, 3, 4, 8, 16, 32, 33}) load_shared_strided<float, 2112><<<2, 64>>>(out, in, stride);
  for (const int stride : {1, 2, 3, 4, 8, 16, 33}) load_shared_strided<float2, 2112><<<2, 64>>>(out8, in8, stride);
  for (const int stride : {1, 2, 3, 4, 8, 16, 33}) load_shared_strided<float4, 1060><<<2, 32>>>(out16, in16, stride);
  for (const int stride : {2, 9})
    load_shared_strided<double, 2112>
        <<<2, 64>>>(reinterpret_cast<double*>(out), reinterpret_cast<const double*>(in), stride);
  for (const int stride : {1, 4, 32}) load_shared_strided<unsigned char, 4096><<<2, 64>>>(out1, in1, stride);
  for (const int stride : {1, 3, 64}) load_shared_strided<unsigned short, 4096><<<2, 64>>>(out2, in2, stride);
  for (const int stride : {1, 2, 8, 32, 33}) store_shared_strided<float, 2112><<<1, 64>>>(out, in, stride);
  for (const int stride : {1, 2, 5}) store_shared_strided<float2, 2112><<<1, 64>>>(out8, in8, stride);
  for (const int stride : {1, 3, 8}) store_shared_strided<float4, 1060><<<1, 32>>>(out16, in16, stride);

  const int* index = m.copy(permutation(256));
  permute_shared<<<1, 256>>>(out, in, index);
  permute_shared<<<1, 256>>>(out8, in8, index);
  permute_shared<<<1, 256>>>(out16, in16, index);
  permute_shared<<<1, 256>>>(out2, in2, index);
  broadcast_shared<<<3, 256>>>(out, in);
  read_quads<32><<<1, 128>>>(out16, in);
  read_quads<36><<<1, 128>>>(out16, in);
  read_quads<40><<<1, 128>>>(out16, in);
  look_up<<<blocks_for(20000, 256), 256>>>(out, in1, in, 20000);
  sum_coordinates<<<blocks_for(5000, 256), 256>>>(out, in, 5000);
  reverse_blocks<<<10, 200, 200 * sizeof(float)>>>(out, in);
  sort_by_key_pairs<<<1, 256, 256 * 8>>>(out, in, index);
  transpose_tile<16><<<dim3(12, 12), dim3(16, 16)>>>(out, in, 192);
  transpose_tile<32><<<dim3(6, 6), dim3(32, 32)>>>(out, in, 192);
  transpose_swizzled<<<dim3(6, 6), dim3(32, 8)>>>(out, in, 192);
  transpose_pairs<<<dim3(3, 6), dim3(32, 8)>>>(out8, in8, 96);
  stencil_shared<<<blocks_for(5000, 256), 256>>>(out, in, 5000);
  sum_warps_in_shared<<<8, 256>>>(out, in);
  sort_bitonic<<<4, 256>>>(in);
  return finished();
}
