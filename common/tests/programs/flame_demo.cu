// A program whose proportions are known: one of two host functions computes three times as long as the other, and one
// of two lines of a kernel requests eight times as many sectors as the other.
//   ./course profile common/tests/programs/flame_demo.cu --backend sim --flame
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

__global__ void two_lines(float* out, const float* near, const float* far, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float here = near[i];
  const float there = far[(i % 512) * (n / 512) + i / 512];
  out[i] = here + there;
}

volatile double start = 1;  // unknown to the compiler

double compute(int rounds) {
  double x = start;
  for (int i = 0; i < rounds; ++i) x = x * 0.999999 + 1e-6;
  return x;
}

constexpr int rounds = 10'000'000;
[[gnu::noinline]] double one_time() { return compute(rounds) + 1; }
[[gnu::noinline]] double three_times() { return compute(3 * rounds) + 3; }

[[gnu::noinline]] void on_the_device() {
  constexpr int n = 1 << 17;
  float *near = nullptr, *far = nullptr, *out = nullptr;
  for (float** array : {&near, &far, &out})
    if (cudaMalloc(array, n * sizeof(float)) != cudaSuccess) std::exit(1);
  cudaMemset(near, 0, n * sizeof(float));
  cudaMemset(far, 0, n * sizeof(float));
  two_lines<<<n / 256, 256>>>(out, near, far, n);
  for (float* array : {near, far, out}) cudaFree(array);
}

}  // namespace

int main() {
  on_the_device();
  std::printf("%g\n", one_time() + three_times());
}
