// Thrust's and CUB's blocks: one block per row.
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cfloat>
#include "forward.hpp"

#define MAX_EACH 16

template <int BS>
__global__ void norm_kernel(float* out, const float* in, const float* weight, const float* bias, int channels) {
  typedef cub::BlockReduce<float, BS> Reduce;
  __shared__ typename Reduce::TempStorage tmp;
  __shared__ float mean, rstd;
  in += (size_t)blockIdx.x * channels;
  out += (size_t)blockIdx.x * channels;
  float v[MAX_EACH];
  float sum = 0;
  for (int i = 0; i < MAX_EACH; i++) {
    int c = threadIdx.x + i * BS;
    if (c < channels) { v[i] = in[c]; sum += v[i]; }
  }
  float s = Reduce(tmp).Sum(sum);
  if (threadIdx.x == 0) mean = s / channels;
  __syncthreads();
  float sq = 0;
  for (int i = 0; i < MAX_EACH; i++)
    if (threadIdx.x + i * BS < channels) sq += (v[i] - mean) * (v[i] - mean);
  s = Reduce(tmp).Sum(sq);
  if (threadIdx.x == 0) rstd = 1.0f / sqrtf(s / channels + 1e-5f);
  __syncthreads();
  for (int i = 0; i < MAX_EACH; i++) {
    int c = threadIdx.x + i * BS;
    if (c < channels) out[c] = (v[i] - mean) * rstd * weight[c] + bias[c];
  }
}

__global__ void softmax_kernel(float* out, const float* scores, long rows, int tokens, float scale) {
  typedef cub::WarpReduce<float> Reduce;
  __shared__ Reduce::TempStorage tmp[8];
  long row = blockIdx.x * 8L + threadIdx.x / 32;
  int lane = threadIdx.x % 32, w = threadIdx.x / 32;
  if (row >= rows) return;
  int t = row % tokens;
  const float* x = scores + row * tokens;
  float* y = out + row * tokens;
  // online: the running maximum and sum, one pass
  float v[128];
  float m = -FLT_MAX, s = 0;
  for (int i = 0, c = lane; c <= t; i++, c += 32) {
    v[i] = scale * x[c];
    float n = fmaxf(m, v[i]);
    s = s * expf(m - n) + expf(v[i] - n);
    m = n;
  }
  float all = Reduce(tmp[w]).Reduce(m, [] __device__(float a, float b) { return a > b ? a : b; });
  all = __shfl_sync(0xffffffff, all, 0);
  s *= expf(m - all);
  __syncwarp();
  s = Reduce(tmp[w]).Sum(s);
  s = __shfl_sync(0xffffffff, s, 0);
  for (int i = 0, c = lane; c < tokens; i++, c += 32) y[c] = c <= t ? expf(v[i] - all) / s : 0.0f;
}

void lab08::layer_norm(float* out, const float* in, const float* weight, const float* bias, int rows, int channels, cudaStream_t stream) {
  norm_kernel<256><<<rows, 256, 0, stream>>>(out, in, weight, bias, channels);
}

void lab08::causal_softmax(float* out, const float* scores, int matrices, int tokens, float scale, cudaStream_t stream) {
  long rows = (long)matrices * tokens;
  softmax_kernel<<<(unsigned)((rows + 7) / 8), 256, 0, stream>>>(out, scores, rows, tokens, scale);
}
