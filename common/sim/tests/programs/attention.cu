// Causal attention of a few heads: scores, softmax, weighted sum in three kernels, and all in one with a running
// maximum.
#include <cuda_runtime.h>

#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int B = 2, T = 40, NH = 3, HS = 16, C = NH * HS;

__global__ void query_key(float* preatt, const float* inp) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * NH * T * T) return;
  const int t2 = idx % T, t = (idx / T) % T, h = (idx / (T * T)) % NH, b = idx / (NH * T * T);
  if (t2 > t) {
    preatt[idx] = -INFINITY;
    return;
  }
  const float* query = inp + b * T * 3 * C + t * 3 * C + h * HS;
  const float* key = inp + b * T * 3 * C + t2 * 3 * C + h * HS + C;
  float val = 0.0f;
  for (int i = 0; i < HS; i++) val += query[i] * key[i];
  preatt[idx] = val / sqrtf(HS);
}

__global__ void softmax(float* att, const float* preatt) {
  const int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
  const float* x = preatt + row * T;
  float m = -FLT_MAX, sum = 0.0f;
  for (int i = lane; i < T; i += 32) m = fmaxf(m, x[i]);
  for (int o = 16; o > 0; o /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  for (int i = lane; i < T; i += 32) sum += expf(x[i] - m);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  for (int i = lane; i < T; i += 32) att[row * T + i] = expf(x[i] - m) / sum;
}

__global__ void value(float* out, const float* att, const float* inp) {
  const int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= B * T * C) return;
  const int c = idx % C, t = idx / C % T, b = idx / (T * C), h = c / HS;
  float sum = 0.0f;
  for (int t2 = 0; t2 <= t; t2++)
    sum += att[((b * NH + h) * T + t) * T + t2] * inp[b * T * 3 * C + t2 * 3 * C + 2 * C + c];
  out[idx] = sum;
}

/// A block for each head, a thread for each query, keys and values by tiles: one pass, nothing stored in between.
__global__ void attention_one_pass(float* out, const float* inp) {
  constexpr int tile = 8;
  __shared__ float k[tile][HS], v[tile][HS];
  const int h = blockIdx.x, b = blockIdx.y, t = threadIdx.x;
  float q[HS], acc[HS] = {}, m = -INFINITY, sum = 0.0f;
  for (int i = 0; i < HS; ++i) q[i] = t < T ? inp[(b * T + t) * 3 * C + h * HS + i] : 0.0f;
  for (int first = 0; first < T; first += tile) {
    for (int i = threadIdx.x; i < tile * HS; i += blockDim.x) {
      const float* row = inp + (b * T + first + i / HS) * 3 * C + h * HS + i % HS;
      k[i / HS][i % HS] = row[C];
      v[i / HS][i % HS] = row[2 * C];
    }
    __syncthreads();
    for (int j = 0; j < tile && first + j <= t && t < T; ++j) {
      float s = 0.0f;
      for (int i = 0; i < HS; ++i) s += q[i] * k[j][i];
      s /= sqrtf(HS);
      const float larger = fmaxf(m, s), scale = expf(m - larger), p = expf(s - larger);
      sum = sum * scale + p;
      for (int i = 0; i < HS; ++i) acc[i] = acc[i] * scale + p * v[j][i];
      m = larger;
    }
    __syncthreads();
  }
  if (t < T)
    for (int i = 0; i < HS; ++i) out[(b * T + t) * C + h * HS + i] = acc[i] / sum;
}

void attention_cpu(float* out, const float* inp) {
  for (int b = 0; b < B; ++b)
    for (int t = 0; t < T; ++t)
      for (int h = 0; h < NH; ++h) {
        double score[T], sum = 0;
        for (int t2 = 0; t2 <= t; ++t2) {
          double dot = 0;
          for (int i = 0; i < HS; ++i)
            dot += inp[(b * T + t) * 3 * C + h * HS + i] * inp[(b * T + t2) * 3 * C + h * HS + C + i];
          sum += score[t2] = std::exp(dot / std::sqrt(double(HS)));
        }
        for (int i = 0; i < HS; ++i) {
          double v = 0;
          for (int t2 = 0; t2 <= t; ++t2) v += score[t2] / sum * inp[(b * T + t2) * 3 * C + h * HS + 2 * C + i];
          out[(b * T + t) * C + h * HS + i] = static_cast<float>(v);
        }
      }
}

int main() {
  std::vector<float> inp(B * T * 3 * C), expected(B * T * C), out(B * T * C);
  for (float& x : inp) x = 2.0f * rand() / RAND_MAX - 1.0f;
  attention_cpu(expected.data(), inp.data());
  float *d_inp, *d_pre, *d_att, *d_out;
  cudaMalloc(&d_inp, inp.size() * 4);
  cudaMalloc(&d_pre, B * NH * T * T * 4);
  cudaMalloc(&d_att, B * NH * T * T * 4);
  cudaMalloc(&d_out, out.size() * 4);
  cudaMemcpy(d_inp, inp.data(), inp.size() * 4, cudaMemcpyHostToDevice);
  int wrong = 0;
  for (int version = 0; version < 2; ++version) {
    cudaMemset(d_out, 0, out.size() * 4);
    if (version == 0) {
      query_key<<<(B * NH * T * T + 255) / 256, 256>>>(d_pre, d_inp);
      softmax<<<B * NH * T / 4, 128>>>(d_att, d_pre);
      value<<<(B * T * C + 255) / 256, 256>>>(d_out, d_att, d_inp);
    } else {
      attention_one_pass<<<dim3(NH, B), 64>>>(d_out, d_inp);
    }
    if (cudaMemcpy(out.data(), d_out, out.size() * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    for (size_t i = 0; i < out.size(); ++i) wrong += !(std::fabs(out[i] - expected[i]) < 1e-4f);
  }
  for (float* p : {d_inp, d_pre, d_att, d_out}) cudaFree(p);
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
