// How many accesses per second and core the simulated device observes: a copy, a grid-stride triad, the tiled
// transpose, a tiled matmul. With SIM_SAMPLE=64: the cost of unobserved blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

__global__ void copy(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

__global__ void triad(float* out, const float* in, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] += 2 * in[i];
}

__global__ void transpose(float* out, const float* in, int n) {
  __shared__ float tile[32][33];
  const int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, lane = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8) tile[k][lane] = in[(r0 + k) * n + c0 + lane];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8) out[(c0 + k) * n + r0 + lane] = tile[lane][k];
}

__global__ void multiply(float* c, const float* a, const float* b, int n) {
  __shared__ float of_a[16][16], of_b[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    of_a[y][x] = a[row * n + k0 + x];
    of_b[y][x] = b[(k0 + y) * n + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += of_a[y][k] * of_b[k][x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

/// The CPU seconds of all threads together: per core, whatever else runs on the machine.
double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// The time of a drand48 call, the yardstick for this machine, measured with each repeat.
double reference() {
  const int calls = 1'000'000;
  const double begin = seconds();
  for (int i = 0; i < calls; ++i) drand48();
  return (seconds() - begin) / calls;
}

/// False if an access takes longer than `most` calls of drand48.
template <class Launch>
bool measure(const char* what, double accesses, double most, Launch launch) {
  double best = 1, calls = 1e9;
  for (int repeat = 0; repeat < 5; ++repeat) {
    const double call = reference(), begin = seconds();
    launch();
    const double access = (seconds() - begin) / accesses;
    best = std::min(best, access);
    calls = std::min(calls, access / call);
  }
  std::printf("%-10s %6.1f million accesses per second and core, each %.1f calls to drand48 (at most %.0f)\n", what,
              1e-6 / best, calls, most);
  return calls <= most;
}

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 2048, m = n / 8;  // elements on a side; m: of the matmul
  float *in = nullptr, *out = nullptr;
  const std::size_t bytes = sizeof(float) * n * n;
  if (cudaMalloc(&in, bytes) != cudaSuccess || cudaMalloc(&out, bytes) != cudaSuccess) return 1;
  cudaMemset(in, 1, bytes);
  bool good = measure("copy", 2.0 * n * n, 8, [&] { copy<<<n * n / 256, 256>>>(out, in, n * n); });
  good &= measure("triad", 3.0 * n * n, 8, [&] { triad<<<528, 256>>>(out, in, n * n); });
  good &= measure("transpose", 4.0 * n * n, 8, [&] { transpose<<<dim3(n / 32, n / 32), dim3(32, 8)>>>(out, in, n); });
  good &= measure("matmul", (2.0 * m * (2 + 2 * 16) / 16 + 1) * m * m, 8,
                  [&] { multiply<<<dim3(m / 16, m / 16), dim3(16, 16)>>>(out, in, in, m); });
  cudaFree(in);
  cudaFree(out);
  return cudaGetLastError() == cudaSuccess && good ? 0 : 1;
}
