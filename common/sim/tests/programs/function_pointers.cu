// Function pointers in device code: a table in the kernel, a __device__ variable, and functors as arguments.
#include <cmath>
#include <cstdio>
#include <vector>

typedef float (*operation)(float);
__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return x + x; }
__device__ float negate(float x) { return -x; }

__device__ operation chosen = twice;

__global__ void apply_table(float* out, const float* in, int n) {
  const operation table[] = {square, twice, negate};
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[i % 3](in[i]);
}
__global__ void apply_chosen(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = chosen(in[i]);
}

struct scale_and_shift {
  float scale, shift;
  __host__ __device__ float operator()(float x) const { return scale * x + shift; }
};
template <class F>
__global__ void transform(float* out, const float* in, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(in[i]);
}

int main() {
  const int n = 1000;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = i * 0.25f;
  float *d_in, *d_out;
  if (cudaMalloc(&d_in, n * 4) != cudaSuccess || cudaMalloc(&d_out, n * 4) != cudaSuccess) return 2;
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  int wrong = 0;
  const scale_and_shift f{3.0f, 1.0f};
  for (int test = 0; test < 3; ++test) {
    if (test == 0) apply_table<<<4, 256>>>(d_out, d_in, n);
    if (test == 1) apply_chosen<<<4, 256>>>(d_out, d_in, n);
    if (test == 2) transform<<<4, 256>>>(d_out, d_in, n, f);
    if (cudaMemcpy(out.data(), d_out, n * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    for (int i = 0; i < n; ++i) {
      const float x = in[i], by_table[] = {x * x, x + x, -x};
      const float expected = test == 0 ? by_table[i % 3] : test == 1 ? x + x : f(x);
      wrong += !(std::fabs(out[i] - expected) < 1e-3f);
    }
  }
  cudaFree(d_in);
  cudaFree(d_out);
  std::puts(wrong == 0 ? "PASSED" : "FAILED");
  return wrong != 0;
}
