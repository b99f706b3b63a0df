// Global memory: widths, strides, offsets, gathers and scatters, structures, blocks of two and three dimensions.
#include <algorithm>

#include "goldens.hpp"

namespace {

using namespace goldens;

template <class T>
__global__ void copy_elements(T* out, const T* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

template <class T>
__global__ void read_strided(T* out, const T* in, int n, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride];
}

template <class T>
__global__ void write_strided(T* out, const T* in, int n, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i * stride] = in[i];
}

template <class T>
__global__ void read_shifted(T* out, const T* in, int n, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i + offset];
}

/// Rows of float4 that begin at multiples of 16 bytes, but not always at a sector boundary.
__global__ void copy_pitched_rows(float4* out, const float* in, int quads, int pitch) {
  const float4* row = reinterpret_cast<const float4*>(in + blockIdx.x * pitch);
  for (int c = threadIdx.x; c < quads; c += blockDim.x) out[blockIdx.x * quads + c] = row[c];
}

__global__ void gather(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

__global__ void scatter(float* out, const float* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[index[i]] = in[i];
}

__global__ void gather_quads(float4* out, const float4* in, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

/// Each thread follows its own chain.
__global__ void chase(int* out, const int* next, int steps, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = i;
#pragma unroll 1
  for (int k = 0; k < steps; ++k) at = next[at];
  out[i] = at;
}

/// One value for each block, one for each warp, one for each lane.
__global__ void broadcast(float* out, const float* of_block, const float* of_warp, const float* of_lane) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = of_block[blockIdx.x] + of_warp[i / 32] + of_lane[threadIdx.x % 32];
}

__global__ void read_only(float* out, const float* __restrict__ in, const float* __restrict__ table, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = __ldg(&in[i]) * __ldg(&table[i % 64]);
}

__global__ void copy_streaming(float4* out, const float4* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) __stcs(&out[i], __ldcs(&in[i]));
}

struct particle {
  float x, y, z, vx, vy, vz, mass;
};
__global__ void drift_structures(particle* p, float dt, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  p[i].x += dt * p[i].vx;
  p[i].y += dt * p[i].vy;
  p[i].z += dt * p[i].vz;
}

__global__ void drift_arrays(float* x, float* y, float* z, const float* vx, const float* vy, const float* vz, float dt,
                             int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  x[i] += dt * vx[i];
  y[i] += dt * vy[i];
  z[i] += dt * vz[i];
}

__global__ void reverse(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[n - 1 - i] = in[i];
}

__global__ void grey(float* out, const uchar4* pixels, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uchar4 p = pixels[i];
  out[i] = 0.299f * static_cast<float>(p.x) + 0.587f * static_cast<float>(p.y) + 0.114f * static_cast<float>(p.z);
}

__global__ void multiply_complex(float2* out, const float2* a, const float2* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 x = a[i], y = b[i];
  out[i] = make_float2(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x);
}

__global__ void widen(double* out, const short* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<double>(in[i]);
}

__global__ void saxpy_grid_stride(float* y, const float* x, float a, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}

__global__ void triad(float* out, const float* b, const float* c, float s, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = b[i] + s * c[i];
}

/// threadIdx.x runs along a row, or along a column.
__global__ void copy_matrix(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) out[r * columns + c] = in[r * columns + c];
}
__global__ void copy_matrix_by_columns(float* out, const float* in, int rows, int columns) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x, c = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) out[r * columns + c] = in[r * columns + c];
}

/// (x, y, z) to (z, y, x).
__global__ void turn_volume(float* out, const float* in, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) out[(x * ny + y) * nz + z] = in[(z * ny + y) * nx + x];
}

/// Each thread owns a run of neighbours, so the lanes of a warp read places that lie far apart.
__global__ void sum_runs(float* out, const float* in, int length, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
#pragma unroll 1
  for (int k = 0; k < length; ++k) sum += in[i * length + k];
  out[i] = sum;
}

__global__ void fill(float* out, float value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value;
}

template <class T>
void copy_all(memory& m, int n, int block) {
  T *in = m.bytes<T>(n, 0x3c), *out = m.bytes<T>(n);
  copy_elements<<<blocks_for(n, block), block>>>(out, in, n);
}

/// Random with repeats.
std::vector<int> random_indices(int n, int below) {
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) index[i] = static_cast<int>(hash(i) % below);
  return index;
}

}  // namespace

cudaError_t run_access() {
  memory m;
  const int n = 20000, block = 256;
  const unsigned grid = blocks_for(n, block);
  copy_all<unsigned char>(m, n, block);
  copy_all<unsigned short>(m, n, block);
  copy_all<float>(m, n, block);
  copy_all<double>(m, n, block);
  copy_all<float2>(m, n, block);
  copy_all<float4>(m, n, block);
  copy_all<double2>(m, n, block);
  copy_all<uchar4>(m, n, block);
  copy_all<ushort2>(m, n, block);
  copy_all<float3>(m, n, block);
  copy_all<int3>(m, n, block);

  float *in = m.bytes<float>(1 << 20, 0x3c), *out = m.bytes<float>(1 << 20);
  auto *in1 = reinterpret_cast<unsigned char*>(in), *out1 = reinterpret_cast<unsigned char*>(out);
  auto *in2 = reinterpret_cast<unsigned short*>(in), *out2 = reinterpret_cast<unsigned short*>(out);
  auto *in8 = reinterpret_cast<double*>(in), *out8 = reinterpret_cast<double*>(out);
  auto *in16 = reinterpret_cast<float4*>(in), *out16 = reinterpret_cast<float4*>(out);
  for (const int stride : {3, 5, 32}) read_strided<<<grid, block>>>(out1, in1, n, stride);
  for (const int stride : {2, 7}) read_strided<<<grid, block>>>(out2, in2, n, stride);
  for (const int stride : {2, 4, 9}) read_strided<<<grid, block>>>(out, in, n, stride);
  for (const int stride : {2, 3}) read_strided<<<grid, block>>>(out8, in8, n, stride);
  for (const int stride : {2, 5}) read_strided<<<grid, block>>>(out16, in16, n, stride);
  for (const int stride : {3, 8}) write_strided<<<grid, block>>>(out, in, n, stride);
  write_strided<<<grid, block>>>(out16, in16, n, 3);
  write_strided<<<grid, block>>>(out1, in1, n, 7);
  for (const int offset : {1, 17}) read_shifted<<<grid, block>>>(out1, in1, n, offset);
  for (const int offset : {1, 5}) read_shifted<<<grid, block>>>(out8, in8, n, offset);
  for (const int offset : {1, 2}) read_shifted<<<grid, block>>>(out16, in16, n, offset);

  copy_pitched_rows<<<100, 64>>>(out16, in, 50, 204);
  copy_pitched_rows<<<100, 48>>>(out16, in, 33, 132);

  const std::vector<int> shuffled = permutation(n), repeats = random_indices(n, n);
  std::vector<int> sorted = repeats;
  std::sort(sorted.begin(), sorted.end());
  const int *by_permutation = m.copy(shuffled), *by_repeats = m.copy(repeats), *by_order = m.copy(sorted);
  for (const int* index : {by_permutation, by_repeats, by_order}) gather<<<grid, block>>>(out, in, index, n);
  scatter<<<grid, block>>>(out, in, by_permutation, n);
  gather_quads<<<grid, block>>>(out16, in16, by_repeats, n);
  chase<<<blocks_for(2000, 128), 128>>>(reinterpret_cast<int*>(out), by_permutation, 8, 2000);
  broadcast<<<50, 256>>>(out, in, in, in);
  read_only<<<grid, block>>>(out, in, in + 64, n);
  copy_streaming<<<grid, block>>>(out16, in16, n);

  drift_structures<<<grid, block>>>(reinterpret_cast<particle*>(in), 0.1f, n);
  drift_arrays<<<grid, block>>>(in, in + n, in + 2 * n, in + 3 * n, in + 4 * n, in + 5 * n, 0.1f, n);
  reverse<<<grid, block>>>(out, in, n);
  grey<<<grid, block>>>(out, reinterpret_cast<const uchar4*>(in), n);
  multiply_complex<<<grid, block>>>(reinterpret_cast<float2*>(out), reinterpret_cast<const float2*>(in),
                                    reinterpret_cast<const float2*>(in) + n, n);
  widen<<<grid, block>>>(out8, reinterpret_cast<const short*>(in), n);
  saxpy_grid_stride<<<8, 256>>>(out, in, 2.0f, n);
  triad<<<grid, block>>>(out, in, in + n, 2.0f, n);

  for (const dim3 shape : {dim3(16, 16), dim3(32, 8), dim3(8, 32), dim3(100, 3)}) {
    const dim3 tiles(blocks_for(130, shape.x), blocks_for(70, shape.y));
    copy_matrix<<<tiles, shape>>>(out, in, 70, 130);
  }
  copy_matrix_by_columns<<<dim3(5, 9), dim3(16, 16)>>>(out, in, 70, 130);
  turn_volume<<<dim3(5, 5, 5), dim3(8, 8, 4)>>>(out, in, 40, 33, 20);
  turn_volume<<<dim3(2, 5, 5), dim3(32, 8, 4)>>>(out, in, 40, 33, 20);
  for (const int threads : {48, 100, 257}) triad<<<blocks_for(n, threads), threads>>>(out, in, in + n, 2.0f, n);
  for (const int length : {2, 8, 33}) sum_runs<<<8, 128>>>(out, in, length, 1000);
  fill<<<grid, block>>>(out, 1.0f, n);
  return finished();
}

cudaError_t time_access() {
  memory m;
  const int n = 1 << 24, block = 256;
  float *in = m.bytes<float>(2 * n, 0x3c), *out = m.bytes<float>(2 * n);
  auto *in16 = reinterpret_cast<float4*>(in), *out16 = reinterpret_cast<float4*>(out);
  copy_elements<<<n / block, block>>>(out, in, n);
  copy_elements<<<n / 2 / block, block>>>(out16, in16, n / 2);
  copy_elements<<<n / block, block>>>(reinterpret_cast<unsigned char*>(out), reinterpret_cast<unsigned char*>(in), n);
  triad<<<n / block, block>>>(out, in, in + n, 2.0f, n);
  saxpy_grid_stride<<<132 * 8, block>>>(out, in, 2.0f, n);
  read_strided<<<n / 16 / block, block>>>(out, in, n / 16, 32);
  read_strided<<<n / 4 / block, block>>>(out, in, n / 4, 8);
  read_shifted<<<n / block, block>>>(out, in, n, 1);
  fill<<<n / block, block>>>(out, 1.0f, n);
  const int few = 1 << 22;
  const int* index = m.copy(permutation(few));
  gather<<<few / block, block>>>(out, in, index, few);
  scatter<<<few / block, block>>>(out, in, index, few);
  drift_structures<<<few / block, block>>>(reinterpret_cast<particle*>(in), 0.1f, few);
  chase<<<8, 128>>>(reinterpret_cast<int*>(out), index, 1000, 1024);
  return finished();
}
