// Attention as its formula reads: a product, a softmax, a product. Each is a launch; in between, the scores go to
// memory and back. Blocks of 16 x 16 threads, one element each: the products are not what this lab is about.
#include <lab/device.hpp>

#include "attention.hpp"

namespace lab11 {
namespace {

constexpr int side = 16;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void scores_kernel(float* scores, const float* q, const float* k, int tokens, int size, bool causal,
                              float scale) {
  const int key = blockIdx.x * side + threadIdx.x, query = blockIdx.y * side + threadIdx.y;
  const std::size_t head = blockIdx.z;
  if (key >= tokens || query >= tokens) return;
  float sum = 0.0f;
  for (int i = 0; i < size; ++i) sum += q[(head * tokens + query) * size + i] * k[(head * tokens + key) * size + i];
  scores[(head * tokens + query) * tokens + key] = causal && key > query ? -INFINITY : sum * scale;
}

/// One warp per row, three passes over it.
__global__ void softmax_kernel(float* scores, int tokens) {
  float* row = scores + static_cast<std::size_t>(blockIdx.x) * tokens;
  float most = -INFINITY, sum = 0.0f;
  for (int i = threadIdx.x; i < tokens; i += 32) most = fmaxf(most, row[i]);
  for (int step = 16; step > 0; step /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
  for (int i = threadIdx.x; i < tokens; i += 32) sum += expf(row[i] - most);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  for (int i = threadIdx.x; i < tokens; i += 32) row[i] = expf(row[i] - most) / sum;
}

__global__ void values_kernel(float* out, const float* weights, const float* v, int tokens, int size) {
  const int column = blockIdx.x * side + threadIdx.x, query = blockIdx.y * side + threadIdx.y;
  const std::size_t head = blockIdx.z;
  if (query >= tokens) return;
  float sum = 0.0f;
  for (int key = 0; key < tokens; ++key)
    sum += weights[(head * tokens + query) * tokens + key] * v[(head * tokens + key) * size + column];
  out[(head * tokens + query) * size + column] = sum;
}

}  // namespace

void attention_unfused(float* out, float* scores, const float* q, const float* k, const float* v, int heads, int tokens,
                       int size, bool causal, cudaStream_t stream) {
  const dim3 block(side, side);
  const int down = ceil_div(tokens, side);
  scores_kernel<<<dim3(down, down, heads), block, 0, stream>>>(scores, q, k, tokens, size, causal,
                                                               1.0f / sqrtf(static_cast<float>(size)));
  softmax_kernel<<<heads * tokens, 32, 0, stream>>>(scores, tokens);
  values_kernel<<<dim3(size / side, down, heads), block, 0, stream>>>(out, scores, v, tokens, size);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab11
