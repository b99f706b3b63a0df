// Kernels whose counters were read on hardware. Built with nvcc this is a program for ncu, see collect.sh; with simcc,
// goldens_test.cpp runs the same launches and compares.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "coalescing.hpp"
#include "goldens.hpp"

namespace {

template <class T>
__global__ void swap_neighbours(T* out, const T* in) {
  __shared__ T tile[256];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

/// One warp; lane i reads element index[i] of shared memory.
template <class T>
__global__ void gather_shared(T* out, const T* in, const int* index) {
  __shared__ T tile[1024];
  for (int i = threadIdx.x; i < 1024; i += 32) tile[i] = in[i];
  __syncthreads();
  out[threadIdx.x] = tile[index[threadIdx.x]];
}

__global__ void gather_global(float* out, const float* in, const int* index) {
  out[threadIdx.x] = in[index[threadIdx.x]];
}

__global__ void scatter_global(float* out, const int* index) {
  out[index[threadIdx.x]] = static_cast<float>(threadIdx.x);
}

/// Which element each lane wants: all the same, in pairs, in fours, halves alike, quarters alike, strides, backwards.
constexpr int patterns = 10;
int wanted(int pattern, int lane) {
  const int table[patterns] = {0,        lane / 2, lane / 4,  lane % 16, lane % 8,
                               2 * lane, 8 * lane, 31 - lane, lane & ~2, 32 * lane};
  return table[pattern];
}

}  // namespace

cudaError_t run_coalescing() {
  using namespace lab03;
  const std::size_t n = std::size_t{1} << 22;
  goldens::memory memory;
  float *in = memory.bytes<float>(n, 0x3c), *out = memory.bytes<float>(n);
  int* index = memory.bytes<int>(32);
  for (const auto& [rows, columns, quads] : {std::tuple{1024, 1024, 1024}, {33, 65, 36}}) {
    transpose_naive(out, in, rows, columns, nullptr);
    transpose_tiled(out, in, rows, columns, nullptr);
    transpose_padded(out, in, rows, columns, nullptr);
    transpose(out, in, quads, quads == 36 ? 68 : columns, nullptr);
  }
  sigmoid_thread_per_row(out, in, 1024, 1024, nullptr);
  sigmoid_thread_per_column(out, in, 1024, 1024, nullptr);
  for (const int stride : {1, 2, 3, 8, 32}) copy_strided(out, in, 4096, stride, nullptr);
  for (const int offset : {0, 1, 8, 31}) copy_offset(out, in, 4096, offset, nullptr);
  copy_vectorized(out, in, 1 << 20, nullptr);
  points_to_arrays(out, out + (1 << 18), out + (1 << 19), in, 1 << 18, nullptr);
  for (const int pitch : {32, 33, 34, 36, 40, 48}) read_tile_columns(out, in, pitch, nullptr);

  auto *in2 = reinterpret_cast<float2*>(in), *out2 = reinterpret_cast<float2*>(out);
  auto *in4 = reinterpret_cast<float4*>(in), *out4 = reinterpret_cast<float4*>(out);
  swap_neighbours<<<1, 256>>>(out, in);
  swap_neighbours<<<1, 256>>>(out2, in2);
  swap_neighbours<<<1, 256>>>(out4, in4);
  for (int pattern = 0; pattern < patterns; ++pattern) {
    int lanes[32];
    for (int lane = 0; lane < 32; ++lane) lanes[lane] = wanted(pattern, lane);
    cudaMemcpy(index, lanes, sizeof lanes, cudaMemcpyHostToDevice);
    gather_shared<<<1, 32>>>(out, in, index);
    gather_shared<<<1, 32>>>(out2, in2, index);
    gather_shared<<<1, 32>>>(out4, in4, index);
    gather_global<<<1, 32>>>(out, in, index);
    scatter_global<<<1, 32>>>(out, index);
  }
  return goldens::finished();
}

/// Every launch in order; the timed ones separately. Returns the first error.
cudaError_t run_golden_kernels(bool timed) {
  using list = cudaError_t (*)();
  static constexpr list small[] = {run_coalescing, run_access, run_shared,     run_atomics,
                                   run_blocks,     run_matmul, run_transformer};
  static constexpr list large[] = {time_access, time_blocks, time_matmul, time_transformer};
  cudaError_t error = cudaSuccess;
  if (timed) {
    for (const list run : large)
      if (error == cudaSuccess) error = run();
  } else {
    for (const list run : small)
      if (error == cudaSuccess) error = run();
  }
  return error;
}

#ifndef LAB_SIMULATED_DEVICE
int main(int argc, char** argv) {
  const cudaError_t error = run_golden_kernels(argc > 1 && std::strcmp(argv[1], "timed") == 0);
  if (error != cudaSuccess) std::fprintf(stderr, "golden kernels: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 1;
}
#endif
