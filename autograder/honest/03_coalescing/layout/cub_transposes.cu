// CUB does the loads, the stores and the exchange.
#include <cub/block/block_load.cuh>
#include <cub/block/block_store.cuh>
#include <lab/device.hpp>

#include "coalescing.hpp"

namespace {

template <int threads>
__global__ __launch_bounds__(threads) void split_kernel(float* x, float* y, float* z, const float* points, int n) {
  using Load = cub::BlockLoad<float, threads, 3, cub::BLOCK_LOAD_TRANSPOSE>;
  __shared__ typename Load::TempStorage temp;
  float point[3];
  const int first = blockIdx.x * threads;
  Load(temp).Load(points + 3 * first, point, 3 * (n - first) < 3 * threads ? 3 * (n - first) : 3 * threads);
  const int i = first + static_cast<int>(threadIdx.x);
  if (i < n) x[i] = point[0], y[i] = point[1], z[i] = point[2];
}

template <int threads>
__global__ __launch_bounds__(threads) void copy_kernel(float* out, const float* in, int n) {
  constexpr int tile = 4 * threads;
  using Load = cub::BlockLoad<float, threads, 4, cub::BLOCK_LOAD_VECTORIZE>;
  using Store = cub::BlockStore<float, threads, 4, cub::BLOCK_STORE_VECTORIZE>;
  const int base = blockIdx.x * tile;
  float items[4];
  if (base + tile <= n) {
    Load().Load(const_cast<float*>(in) + base, items);  // CUB vectorizes pointers only
    Store().Store(out + base, items);
  } else {
    for (int i = base + threadIdx.x; i < n; i += threads) out[i] = in[i];
  }
}

template <typename F>
__global__ void per_column(float* out, const float* in, int rows, int columns, F f) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  for (int r = 0; r < rows; ++r, out += columns, in += columns) out[c] = f(in[c]);
}

struct Sigmoid {
  __device__ float operator()(float x) const { return __fdividef(1.0f, 1.0f + __expf(-x)); }
};

}  // namespace

namespace lab03 {

void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  per_column<<<(columns + 63) / 64, 64, 0, stream>>>(out, in, rows, columns, Sigmoid{});
  LAB_CUDA_CHECK(cudaGetLastError());
}

void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  copy_kernel<256><<<(n + 1023) / 1024, 256, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  split_kernel<128><<<(n + 127) / 128, 128, 0, stream>>>(x, y, z, points, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab03
