// Prices of European options in closed form, two at a time, compared with the host's.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__device__ inline float cndGPU(float d) {
  const float A1 = 0.31938153f, A2 = -0.356563782f, A3 = 1.781477937f, A4 = -1.821255978f, A5 = 1.330274429f;
  const float RSQRT2PI = 0.39894228040143267793994605993438f;
  float K = __fdividef(1.0f, (1.0f + 0.2316419f * fabsf(d)));
  float cnd = RSQRT2PI * __expf(-0.5f * d * d) * (K * (A1 + K * (A2 + K * (A3 + K * (A4 + K * A5)))));
  if (d > 0) cnd = 1.0f - cnd;
  return cnd;
}

__device__ inline void BlackScholesBodyGPU(float& CallResult, float& PutResult, float S, float X, float T, float R,
                                           float V) {
  float sqrtT = __fdividef(1.0F, rsqrtf(T));
  float d1 = __fdividef(__logf(S / X) + (R + 0.5f * V * V) * T, V * sqrtT);
  float d2 = d1 - V * sqrtT;
  float CNDD1 = cndGPU(d1), CNDD2 = cndGPU(d2);
  float expRT = __expf(-R * T);
  CallResult = S * CNDD1 - X * expRT * CNDD2;
  PutResult = X * expRT * (1.0f - CNDD2) - S * (1.0f - CNDD1);
}

__launch_bounds__(128) __global__
    void BlackScholesGPU(float2* __restrict d_CallResult, float2* __restrict d_PutResult,
                         float2* __restrict d_StockPrice, float2* __restrict d_OptionStrike,
                         float2* __restrict d_OptionYears, float Riskfree, float Volatility, int optN) {
  const int opt = blockDim.x * blockIdx.x + threadIdx.x;
  if (opt < (optN / 2)) {
    float callResult1, callResult2, putResult1, putResult2;
    BlackScholesBodyGPU(callResult1, putResult1, d_StockPrice[opt].x, d_OptionStrike[opt].x, d_OptionYears[opt].x,
                        Riskfree, Volatility);
    BlackScholesBodyGPU(callResult2, putResult2, d_StockPrice[opt].y, d_OptionStrike[opt].y, d_OptionYears[opt].y,
                        Riskfree, Volatility);
    d_CallResult[opt] = make_float2(callResult1, callResult2);
    d_PutResult[opt] = make_float2(putResult1, putResult2);
  }
}

int main() {
  const int n = 10000, bytes = n * sizeof(float);
  const float r = 0.02f, v = 0.30f;
  std::vector<float> h[3], call(n), put(n);
  const float low[3] = {5.0f, 1.0f, 0.25f}, high[3] = {30.0f, 100.0f, 10.0f};
  srand(5347);
  float* d[5];
  for (int k = 0; k < 5; ++k)
    if (cudaMalloc((void**)&d[k], bytes) != cudaSuccess) return 2;
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < n; ++i) h[k].push_back(low[k] + (high[k] - low[k]) * rand() / RAND_MAX);
    cudaMemcpy(d[k + 2], h[k].data(), bytes, cudaMemcpyHostToDevice);
  }
#define DIV_UP(a, b) (((a) + (b)-1) / (b))
  BlackScholesGPU<<<DIV_UP((n / 2), 128), 128 /*, 480, 128*/>>>((float2*)d[0], (float2*)d[1], (float2*)d[2],
                                                                (float2*)d[3], (float2*)d[4], r, v, n);
  cudaMemcpy(call.data(), d[0], bytes, cudaMemcpyDeviceToHost);
  if (cudaMemcpy(put.data(), d[1], bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    const double S = h[0][i], X = h[1][i], T = h[2][i];
    const double d1 = (std::log(S / X) + (r + 0.5 * v * v) * T) / (v * std::sqrt(T)), d2 = d1 - v * std::sqrt(T);
    const double n1 = 0.5 * std::erfc(-d1 / std::sqrt(2)), n2 = 0.5 * std::erfc(-d2 / std::sqrt(2));
    const double c = S * n1 - X * std::exp(-r * T) * n2;
    wrong += !(std::fabs(c - call[i]) < 1e-3);
    wrong += !(std::fabs(c - S + X * std::exp(-r * T) - put[i]) < 1e-3);  // put-call parity
  }
  for (float* p : d) cudaFree(p);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
