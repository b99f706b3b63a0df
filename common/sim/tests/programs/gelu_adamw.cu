// Two elementwise kernels of a training step: an activation with its gradient, and the optimiser.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define GELU_SCALING_FACTOR sqrtf(2.0f / M_PI)

__global__ void gelu_forward(float* out, const float* inp, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float xi = inp[i];
    float cube = 0.044715f * xi * xi * xi;
    out[i] = 0.5f * xi * (1.0f + tanhf(GELU_SCALING_FACTOR * (xi + cube)));
  }
}

__global__ void gelu_backward(float* dinp, const float* inp, const float* dout, const int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) {
    float x = inp[i];
    float tanh_out = tanhf(GELU_SCALING_FACTOR * (x + 0.044715f * x * x * x));
    float cosh_out = coshf(GELU_SCALING_FACTOR * (x + 0.044715f * x * x * x));
    float sech = 1.0f / (cosh_out * cosh_out);
    dinp[i] = (0.5f * (1.0f + tanh_out) + x * 0.5f * sech * GELU_SCALING_FACTOR * (1.0f + 3.0f * 0.044715f * x * x)) *
              dout[i];
  }
}

__device__ inline float mix(float start, float end, float weight) {
  return fma(weight, end, fma(-weight, start, start));
}

__global__ void adamw(float* params, float* grads, float* m_memory, float* v_memory, long n, float rate, float beta1,
                      float beta2, float beta1_correction, float beta2_correction, float eps, float decay) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float grad = grads[i], m = m_memory[i], v = v_memory[i];
  m = mix(grad, m, beta1);
  m_memory[i] = m;
  v = mix(grad * grad, v, beta2);
  v_memory[i] = v;
  m /= beta1_correction;
  v /= beta2_correction;
  params[i] -= rate * (m / (sqrtf(v) + eps) + decay * params[i]);
}

int main() {
  const int n = 5001, steps = 5;
  std::vector<float> x(n), y(n), dx(n), ones(n, 1.0f);
  for (int i = 0; i < n; ++i) x[i] = std::sin(i * 0.37f) * 3;
  float* d[5];
  for (float*& p : d)
    if (cudaMalloc(&p, n * sizeof(float)) != cudaSuccess) return 2;
  cudaMemcpy(d[0], x.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(d[2], ones.data(), n * sizeof(float), cudaMemcpyHostToDevice);
  const int block = 128, grid = (n + block - 1) / block;
  gelu_forward<<<grid, block>>>(d[1], d[0], n);
  gelu_backward<<<grid, block>>>(d[3], d[0], d[2], n);
  cudaMemcpy(y.data(), d[1], n * sizeof(float), cudaMemcpyDeviceToHost);
  if (cudaMemcpy(dx.data(), d[3], n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  int wrong = 0;
  const auto gelu = [](double v) {
    return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)));
  };
  for (int i = 0; i < n; ++i) {
    wrong += !(std::fabs(gelu(x[i]) - y[i]) < 1e-5);
    wrong += !(std::fabs((gelu(x[i] + 1e-5) - gelu(x[i] - 1e-5)) / 2e-5 - dx[i]) < 1e-4);
  }
  cudaMemset(d[1], 0, n * sizeof(float));
  cudaMemset(d[4], 0, n * sizeof(float));
  for (int t = 1; t <= steps; ++t)
    adamw<<<grid, block>>>(d[0], d[3], d[1], d[4], n, 1e-2f, 0.9f, 0.999f, 1.0f - std::pow(0.9f, t),
                           1.0f - std::pow(0.999f, t), 1e-8f, 0.01f);
  if (cudaMemcpy(y.data(), d[0], n * sizeof(float), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  for (int i = 0; i < n; ++i) {
    double p = x[i], m = 0, v = 0;
    for (int t = 1; t <= steps; ++t) {
      m = 0.9 * m + 0.1 * dx[i];
      v = 0.999 * v + 0.001 * double(dx[i]) * dx[i];
      p -= 1e-2 * (m / (1 - std::pow(0.9, t)) / (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-8) + 0.01 * p);
    }
    wrong += !(std::fabs(p - y[i]) < 1e-4);
  }
  for (float* p : d) cudaFree(p);
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
