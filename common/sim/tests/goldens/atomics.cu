// Atomics. Where nvcc adds up a warp's lanes before it adds to memory, or where code loops, the launch is named in
// goldens_test.cpp: such counts depend on the compiler, or on which thread comes first.
#include "goldens.hpp"

namespace {

using namespace goldens;

__global__ void add_float_one(float* sum, const float* in) {
  atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void add_float_lanes(float* sums, const float* in) {
  atomicAdd(&sums[threadIdx.x % 32], in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void add_float_strided(float* sums, const float* in, int stride) {
  atomicAdd(&sums[threadIdx.x * stride], in[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void add_double_pairs(double* sums, const float* in) {
  atomicAdd(&sums[threadIdx.x / 2], static_cast<double>(in[blockIdx.x * blockDim.x + threadIdx.x]));
}

__global__ void histogram_global(unsigned* bins, const unsigned char* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1u);
}

__global__ void histogram_shared(unsigned* bins, const unsigned char* in, int n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[in[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

__global__ void max_by_group(int* most, const int* in, const int* group, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMax(&most[group[i]], in[i]);
}

/// The previous value is used, so nothing can be added up beforehand.
__global__ void append_per_group(int* out, int* filled, const int* group, int capacity, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int g = group[i];
  const int at = atomicAdd(&filled[g], 1);
  out[g * capacity + at] = i;
}

__global__ void set_bits(unsigned* words, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bit = index[i];
  atomicOr(&words[bit / 32], 1u << (bit % 32));
}

__global__ void exchange(int* out, int* slots, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = atomicExch(&slots[i ^ 5], i);
}

__global__ void add_wide(unsigned long long* sums, const int* index, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[index[i]], 1ull);
}

/// Each thread has its own word: its first try succeeds.
__global__ void compare_and_swap_own(int* words, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicCAS(&words[i], 0, i);
}

__global__ void min_in_shared(int* least, const int* in, int n) {
  __shared__ int of[32];
  if (threadIdx.x < 32) of[threadIdx.x] = 0x7fffffff;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMin(&of[threadIdx.x % 32], in[i]);
  __syncthreads();
  if (threadIdx.x < 32) atomicMin(&least[threadIdx.x], of[threadIdx.x]);
}

// ---- dependent on the compiler, or on which thread comes first

__global__ void count_positive(int* count, const int* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && in[i] > 0) atomicAdd(count, 1);
}

__global__ void add_int_one(int* sum, const int* in) { atomicAdd(sum, in[blockIdx.x * blockDim.x + threadIdx.x]); }

__global__ void count_in_shared(int* count, const int* in) {
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd(&mine, in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(count, mine);
}

__global__ void add_float_shared(float* sums, const float* in) {
  __shared__ float mine[32];
  if (threadIdx.x < 32) mine[threadIdx.x] = 0.0f;
  __syncthreads();
  atomicAdd(&mine[threadIdx.x % 32], in[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&sums[threadIdx.x], mine[threadIdx.x]);
}

/// CUDA has no atomic multiplication, so a loop tries until it succeeds.
__global__ void multiply_into(unsigned* product, const int* in) {
  const unsigned factor = static_cast<unsigned>(in[blockIdx.x * blockDim.x + threadIdx.x]) | 1u;
  unsigned seen = atomicCAS(product, 0u, 0u), expected;
  do {
    expected = seen;
    seen = atomicCAS(product, expected, expected * factor);
  } while (seen != expected);
}

}  // namespace

cudaError_t run_atomics() {
  memory m;
  const int n = 8192, block = 256, grid = n / block;
  float* in = m.filled(n, [](std::size_t i) { return noise(i); });
  int* numbers = m.filled(n, [](std::size_t i) { return static_cast<int>(hash(i)) >> 8; });
  int* group = m.filled(n, [](std::size_t i) { return static_cast<int>(hash(i) % 64); });
  int* order = m.copy(permutation(n));
  float* sums = m.bytes<float>(1 << 16);
  int* words = m.bytes<int>(1 << 16);
  auto* bytes = reinterpret_cast<const unsigned char*>(numbers);
  auto* bins = m.bytes<unsigned>(256);
  add_float_one<<<grid, block>>>(sums, in);
  add_float_lanes<<<grid, block>>>(sums, in);
  for (const int stride : {1, 2, 8, 33}) add_float_strided<<<grid, block>>>(sums, in, stride);
  add_double_pairs<<<grid, block>>>(m.bytes<double>(256), in);
  histogram_global<<<grid, block>>>(bins, bytes, n);
  histogram_shared<<<4, block>>>(bins, bytes, n);
  max_by_group<<<grid, block>>>(words, numbers, group, n);
  append_per_group<<<grid, block>>>(m.bytes<int>(64 * 1024), m.bytes<int>(64), group, 1024, n);
  set_bits<<<grid, block>>>(bins, order, n);
  exchange<<<grid, block>>>(numbers, words, n);
  add_wide<<<grid, block>>>(m.bytes<unsigned long long>(n), order, n);
  compare_and_swap_own<<<grid, block>>>(m.bytes<int>(n), n);
  min_in_shared<<<grid, block>>>(words, numbers, n);
  count_positive<<<grid, block>>>(words, numbers, n);
  add_int_one<<<grid, block>>>(words, numbers);
  count_in_shared<<<grid, block>>>(words, numbers);
  add_float_shared<<<grid, block>>>(sums, in);
  multiply_into<<<4, 64>>>(bins, numbers);
  return finished();
}
