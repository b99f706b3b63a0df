// Layer normalisation as a ladder: one thread per row, then one warp per row with everything in registers. A CPU is the
// judge.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void cudaCheck(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess) {
    printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
}
#define cudaCheck(err) (cudaCheck(err, __FILE__, __LINE__))
template <class T>
__host__ __device__ T ceil_div(T dividend, T divisor) {
  return (dividend + divisor - 1) / divisor;
}

void layernorm_forward_cpu(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                           const float* bias, int B, int T, int C) {
  for (int bt = 0; bt < B * T; bt++) {
    const float* x = inp + bt * C;
    float m = 0.0f, v = 0.0f;
    for (int i = 0; i < C; i++) m += x[i];
    m /= C;
    for (int i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m);
    float s = 1.0f / sqrtf(v / C + 1e-5f);
    for (int i = 0; i < C; i++) out[bt * C + i] = s * (x[i] - m) * weight[i] + bias[i];
    mean[bt] = m;
    rstd[bt] = s;
  }
}

__global__ void layernorm_forward_kernel1(float* out, float* mean, float* rstd, const float* inp, const float* weight,
                                          const float* bias, int N, int C) {
  int idx = blockIdx.x * blockDim.x + threadIdx.x;
  if (idx >= N) return;
  const float* x = inp + idx * C;
  float m = 0.0f, v = 0.0f;
  for (int i = 0; i < C; i++) m += x[i];
  m = m / C;
  for (int i = 0; i < C; i++) v += (x[i] - m) * (x[i] - m);
  float s = 1.0f / sqrtf(v / C + 1e-5f);
  for (int i = 0; i < C; i++) out[idx * C + i] = (s * (x[i] - m)) * weight[i] + bias[i];
  mean[idx] = m;
  rstd[idx] = s;
}

__device__ float warpReduceSum(float val) {
  for (int offset = 16; offset > 0; offset /= 2) val += __shfl_xor_sync(0xFFFFFFFF, val, offset);
  return val;
}

__global__ void layernorm_forward_kernel3(float* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                          const float* __restrict__ inp, const float* __restrict__ weight,
                                          const float* __restrict__ bias, int N, int C) {
  int lane = threadIdx.x % warpSize;
  int idx = blockIdx.x * (blockDim.x / warpSize) + threadIdx.x / warpSize;
  if (idx >= N) return;
  const float* x = inp + idx * C;
  float sum = 0.0f;
  for (int i = lane; i < C; i += warpSize) sum += x[i];
  float m = warpReduceSum(sum) / C;
  if (lane == 0 && mean != nullptr) __stcs(mean + idx, m);
  sum = 0.0f;
  for (int i = lane; i < C; i += warpSize) sum += (x[i] - m) * (x[i] - m);
  float s = rsqrtf(warpReduceSum(sum) / C + 1e-5f);
  if (lane == 0 && rstd != nullptr) __stcs(rstd + idx, s);
  float* o = out + idx * C;
  for (int c = lane; c < C; c += warpSize) __stcs(o + c, s * (__ldcs(x + c) - m) * weight[c] + bias[c]);
}

void layernorm_forward(int kernel_num, float* out, float* mean, float* rstd, const float* inp, const float* weight,
                       const float* bias, int B, int T, int C, const int block_size) {
  const int N = B * T;
  switch (kernel_num) {
    case 1:
      layernorm_forward_kernel1<<<ceil_div(N, block_size), block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
      break;
    case 3:
      layernorm_forward_kernel3<<<ceil_div(N * 32, block_size), block_size>>>(out, mean, rstd, inp, weight, bias, N, C);
      break;
  }
  cudaCheck(cudaGetLastError());
}

float* make_random_float(size_t N) {
  float* arr = (float*)malloc(N * sizeof(float));
  for (size_t i = 0; i < N; i++) arr[i] = ((float)rand() / RAND_MAX) * 2.0 - 1.0;
  return arr;
}

template <class T>
void validate_result(T* device_result, const T* cpu_reference, const char* name, size_t n, float tolerance) {
  T* copy = (T*)malloc(n * sizeof(T));
  cudaCheck(cudaMemcpy(copy, device_result, n * sizeof(T), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < n; i++)
    if (!(fabs(cpu_reference[i] - copy[i]) <= tolerance)) {
      printf("Mismatch of %s at %zu: %f vs %f\n", name, i, cpu_reference[i], copy[i]);
      exit(EXIT_FAILURE);
    }
  free(copy);
}

int main() {
  srand(0);
  const int B = 3, T = 37, C = 96;
  float *out = (float*)malloc(B * T * C * sizeof(float)), *mean = (float*)malloc(B * T * sizeof(float));
  float* rstd = (float*)malloc(B * T * sizeof(float));
  float *inp = make_random_float(B * T * C), *weight = make_random_float(C), *bias = make_random_float(C);
  float *d_out, *d_mean, *d_rstd, *d_inp, *d_weight, *d_bias;
  cudaCheck(cudaMalloc(&d_out, B * T * C * sizeof(float)));
  cudaCheck(cudaMalloc(&d_mean, B * T * sizeof(float)));
  cudaCheck(cudaMalloc(&d_rstd, B * T * sizeof(float)));
  cudaCheck(cudaMalloc(&d_inp, B * T * C * sizeof(float)));
  cudaCheck(cudaMalloc(&d_weight, C * sizeof(float)));
  cudaCheck(cudaMalloc(&d_bias, C * sizeof(float)));
  cudaCheck(cudaMemcpy(d_inp, inp, B * T * C * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(d_weight, weight, C * sizeof(float), cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(d_bias, bias, C * sizeof(float), cudaMemcpyHostToDevice));
  layernorm_forward_cpu(out, mean, rstd, inp, weight, bias, B, T, C);
  int block_sizes[] = {32, 64, 128, 256, 512, 1024};
  for (int kernel_num : {1, 3})
    for (int block_size : block_sizes) {
      layernorm_forward(kernel_num, d_out, d_mean, d_rstd, d_inp, d_weight, d_bias, B, T, C, block_size);
      validate_result(d_out, out, "out", B * T * C, 1e-4f);
      validate_result(d_mean, mean, "mean", B * T, 1e-5f);
      validate_result(d_rstd, rstd, "rstd", B * T, 1e-4f);
    }
  printf("All results match.\n");
  for (float* p : {out, mean, rstd, inp, weight, bias}) free(p);
  for (float* p : {d_out, d_mean, d_rstd, d_inp, d_weight, d_bias}) cudaCheck(cudaFree(p));
  return 0;
}
