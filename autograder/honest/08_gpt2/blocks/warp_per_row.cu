#include <cfloat>
#include <lab/device.hpp>
#include "forward.hpp"

#define WARP 32
__device__ inline float warp_sum(float v) {
  for (int o = WARP / 2; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffff, v, o);
  return v;
}
__device__ inline float warp_max(float v) {
  for (int o = WARP / 2; o > 0; o >>= 1) v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, o));
  return v;
}
__global__ void norm(float* out, const float* in, const float* weight, const float* bias, int rows, int C) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  const float* x = in + row * C;
  float s = 0;
  for (int c = lane; c < C; c += WARP) s += x[c];
  const float mean = warp_sum(s) / C;
  float v = 0;
  for (int c = lane; c < C; c += WARP) v += (x[c] - mean) * (x[c] - mean);
  const float scale = rsqrtf(warp_sum(v) / C + 1e-5f);
  for (int c = lane; c < C; c += WARP) out[row * C + c] = (x[c] - mean) * scale * weight[c] + bias[c];
}
__global__ void masked(float* out, const float* in, int rows, int T, float scale) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
  if (row >= rows) return;
  const int t = row % T;
  const float* x = in + (size_t)row * T;
  float m = -FLT_MAX, s = 0;
  for (int c = lane; c <= t; c += WARP) m = fmaxf(m, x[c]);
  m = warp_max(m);
  for (int c = lane; c <= t; c += WARP) s += expf(scale * (x[c] - m));
  s = 1.0f / warp_sum(s);
  for (int c = lane; c < T; c += WARP) out[(size_t)row * T + c] = c <= t ? expf(scale * (x[c] - m)) * s : 0.0f;
}
static const dim3 lanes_by_rows(WARP, 4);
namespace lab08 {
void layer_norm(float* out, const float* in, const float* weight, const float* bias, int rows, int channels, cudaStream_t stream) {
  norm<<<(rows + 3) / 4, lanes_by_rows, 0, stream>>>(out, in, weight, bias, rows, channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void causal_softmax(float* out, const float* scores, int matrices, int tokens, float scale, cudaStream_t stream) {
  masked<<<(matrices * tokens + 3) / 4, lanes_by_rows, 0, stream>>>(out, scores, matrices * tokens, tokens, scale);
  LAB_CUDA_CHECK(cudaGetLastError());
}
}
