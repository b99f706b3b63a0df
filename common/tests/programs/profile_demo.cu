// A program to profile: three layers of ranges, a kernel in each, and one NVTX range. Its argument scales the work.
//   ./course profile common/tests/programs/profile_demo.cu
//   ./course profile common/tests/programs/profile_demo.cu --backend cuda -- 64
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <lab/range.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace {

__global__ void fill(float* x, float value, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = value;
}

__global__ void residual_add(float* out, const float* a, const float* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = a[i] + b[i];
}

/// C (rows, n) = A (rows, k) B (k, n), one thread per element.
__global__ void product(float* c, const float* a, const float* b, int n, int k) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), row = static_cast<int>(blockIdx.y);
  if (column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
  c[row * n + column] = sum;
}

/// Reads along columns: 32 sectors per request.
__global__ void transpose(float* out, const float* in, int rows, int columns) {
  const int row = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), column = static_cast<int>(blockIdx.y);
  if (row < rows) out[column * rows + row] = in[row * columns + column];
}

float* zeros(int n) {
  float* made = nullptr;
  if (cudaMalloc(&made, sizeof(float) * static_cast<std::size_t>(n)) != cudaSuccess) std::exit(1);
  fill<<<(n + 255) / 256, 256>>>(made, 0.0f, n);
  return made;
}

}  // namespace

int main(int argc, char** argv) {
  const int rows = 64 * std::max(1, argc > 1 ? std::atoi(argv[1]) : 1), columns = 768, n = rows * columns;
  nvtxRangePushA("set up");
  float *a = zeros(n), *b = zeros(n), *weights = zeros(columns * columns), *out = zeros(n);
  nvtxRangePop();
  for (int layer = 0; layer < 3; ++layer) {
    const lab::range here("layer");
    {
      const lab::range inner("residual", {.flops = 1.0 * n, .bytes = 12.0 * n});
      residual_add<<<(n + 255) / 256, 256>>>(out, a, b, n);
    }
    {
      const lab::range inner("product",
                             {.flops = 2.0 * n * columns, .bytes = 4.0 * (2.0 * n + 1.0 * columns * columns)});
      product<<<dim3((columns + 127) / 128, rows), 128>>>(b, out, weights, columns, columns);
    }
    const lab::range inner("transpose", {.bytes = 8.0 * n});
    transpose<<<dim3((rows + 63) / 64, columns), 64>>>(out, b, rows, columns);
  }
  const cudaError_t status = cudaDeviceSynchronize();
  for (float* memory : {a, b, weights, out}) cudaFree(memory);
  std::printf("%d rows: %s\n", rows, cudaGetErrorString(status));
  return status == cudaSuccess ? 0 : 1;
}
