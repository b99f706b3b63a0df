// A runner whose kernels are right but wasteful, each in one way: advice_test.cpp has the advice that each must get.
// Each doubles n floats.
#include <lab/call.hpp>

namespace {

__global__ void grid_stride(float* out, const float* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = 2 * in[i];
}

// The lanes of a warp are 32 elements apart, so each request touches 32 sectors.
__global__ void rows_by_lanes(float* out, const float* in, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = 0; i < 32; ++i)
    if (row * 32 + i < n) out[row * 32 + i] = 2 * in[row * 32 + i];
}

// Writes a tile by rows and reads it by columns, with `pitch` floats per row. Blocks of 32 x 32.
template <int pitch>
__global__ void through_a_tile(float* out, const float* in, int n) {
  __shared__ float tile[32 * pitch];
  const int i = blockIdx.x * 1024 + threadIdx.y * 32 + threadIdx.x;
  if (i < n) tile[threadIdx.y * pitch + threadIdx.x] = in[i];
  __syncthreads();
  const int there = blockIdx.x * 1024 + threadIdx.x * 32 + threadIdx.y;
  const float value = there < n ? tile[threadIdx.x * pitch + threadIdx.y] : 0;
  __syncthreads();
  tile[threadIdx.y + threadIdx.x * pitch] = 2 * value;
  __syncthreads();
  if (i < n) out[i] = tile[threadIdx.y * pitch + threadIdx.x];
}

template <int blocks>
void strided(const lab::call& c) {
  const int n = c.parameter(0), all = (n + 255) / 256;
  grid_stride<<<blocks ? blocks : all, 256, 0, c.stream>>>(c.output<float>(0), c.input<float>(0), n);
}

template <int pitch>
void tiled(const lab::call& c) {
  const int n = c.parameter(0);
  through_a_tile<pitch><<<(n + 1023) / 1024, dim3(32, 32), 0, c.stream>>>(c.output<float>(0), c.input<float>(0), n);
}

constexpr lab::entry table[] = {
    {"good", lab::part::device, strided<0>},
    {"four_blocks", lab::part::device, strided<4>},
    {"lanes_are_rows", lab::part::device,
     [](const lab::call& c) {
       const int n = c.parameter(0);
       rows_by_lanes<<<(n / 32 + 255) / 256, 256, 0, c.stream>>>(c.output<float>(0), c.input<float>(0), n);
     }},
    {"columns", lab::part::device, tiled<32>},
    {"padded_columns", lab::part::device, tiled<33>},
    {"much_shared_memory", lab::part::device,
     [](const lab::call& c) {
       const int n = c.parameter(0), bytes = 150 << 10;
       cudaFuncSetAttribute(grid_stride, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
       grid_stride<<<(n + 255) / 256, 256, bytes, c.stream>>>(c.output<float>(0), c.input<float>(0), n);
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
