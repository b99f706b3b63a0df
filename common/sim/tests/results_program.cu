// Prints hashes of what kernels compute, for arm64_test.sh: the bits are the same on every processor. It calls
// only those functions of the C library that glibc computes alike on all: not tanhf, erff, tanf, cbrt and others.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

constexpr int n = 1 << 14;

__device__ float number(int i) {  // of either sign, 2^-20 to 2^12
  const unsigned word = i * 2654435761u + 12345u;
  return ldexpf((word >> 8 & 1 ? 1.0f : -1.0f) * (1.0f + (word >> 9) * 0x1p-23f), static_cast<int>(word & 31) - 20);
}

__global__ void multiply_adds(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = number(i);
  for (int k = 0; k < 64; ++k) sum += number(i + k) * number(3 * i + k) - sum * 0.25f;
  out[i] = sum;
}
__global__ void quotients(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] =
      number(i) / number(i + 1) + sqrtf(fabsf(number(i + 2))) + rsqrtf(fabsf(number(i + 3))) + fmodf(number(i), 3.0f);
}
__global__ void doubles(double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = number(i);
  for (int k = 0; k < 16; ++k) sum = fma(sum, 0.75, number(i + k)) + sum * number(i);
  out[i] = sum;
}
__global__ void halves(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const __half h = __hadd(__hmul(__float2half(number(i)), __float2half(number(i + 1))), __float2half(0.1f));
  const __nv_bfloat16 b =
      __hadd(__hmul(__float2bfloat16(number(i)), __float2bfloat16(number(i + 1))), __float2bfloat16(0.1f));
  out[i] = __half2float(h) + __bfloat162float(b);
}
__global__ void conversions(int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const char sign = static_cast<char>(i);
  out[i] = __float2int_rn(number(i)) + __float2int_rz(number(i) * 3) + sign + (sign >> 2) + static_cast<short>(i * 77);
}
__global__ void functions(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float x = number(i), small = fmodf(x, 8.0f), positive = fabsf(x) + 1e-3f;
  out[i] = expf(small) + logf(positive) + sinf(small) + cosf(small) + powf(positive, 0.3f);
}
__global__ void double_functions(double* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = number(i), small = fmod(x, 8.0), positive = fabs(x) + 1e-3;
  out[i] = exp(small) + log(positive) + sin(small) + cos(small) + pow(positive, 0.3);
}
__global__ void softmax(float* out) {
  __shared__ float part[128];
  const int t = threadIdx.x;
  float most = -INFINITY, sum = 0;
  for (int k = t; k < 1024; k += 128) most = fmaxf(most, number(blockIdx.x * 1024 + k));
  part[t] = most;
  __syncthreads();
  for (int half = 64; half > 0; half /= 2) {
    if (t < half) part[t] = fmaxf(part[t], part[t + half]);
    __syncthreads();
  }
  most = part[0];
  for (int k = t; k < 1024; k += 128) sum += expf(number(blockIdx.x * 1024 + k) - most);
  for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(~0u, sum, lanes);
  out[blockIdx.x * 128 + t] = sum;
}

template <class T>
void print(const char* name, void (*kernel)(T*), int threads = 128) {
  T* out = nullptr;
  cudaMalloc(&out, n * sizeof(T));
  cudaMemset(out, 0, n * sizeof(T));
  kernel<<<n / 1024 * (threads == 128 ? 8 : 1), 128>>>(out);
  std::vector<T> values(n);
  cudaMemcpy(values.data(), out, n * sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(out);
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const T& value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    hash = (hash ^ bits) * 0x100000001b3;
  }
  std::printf("%-18s %016llx\n", name, static_cast<unsigned long long>(hash));
}

}  // namespace

int main() {
  print("multiply_adds", multiply_adds);
  print("quotients", quotients);
  print("doubles", doubles);
  print("halves", halves);
  print("conversions", conversions);
  print("functions", functions);
  print("double_functions", double_functions);
  print("softmax", softmax, 16);
  return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
