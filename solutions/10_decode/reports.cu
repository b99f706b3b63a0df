// The kernels of labs/10_decode/given/reports.md: five ways to multiply a matrix by a vector, each with its own limit.
//
//   nvcc -std=c++20 -O3 -arch=native solutions/10_decode/reports.cu -o reports
//   ncu --clock-control none --page details --section SpeedOfLight --section LaunchStats --section Occupancy
//     --section SchedulerStats --section WarpStateStats --section MemoryWorkloadAnalysis_Tables
//     --section ComputeWorkloadAnalysis ./reports
//
// Each computes 262,144 rows of 512 columns, 268 MB in bf16, or 67 MB in int4. The program checks their results.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using bf16 = __nv_bfloat16;

constexpr int rows = 262144, columns = 512, threads = 256, warps = threads / 32, group = 64, together = 4;

/// Eight neighbouring weights times eight numbers of x.
__device__ float product_of_eight(uint4 weights, const float (&x)[8]) {
  const unsigned two[] = {weights.x, weights.y, weights.z, weights.w};
  float sum = 0.0f;
#pragma unroll
  for (int i = 0; i < 8; ++i) sum += __uint_as_float(i % 2 ? two[i / 2] & 0xFFFF0000u : two[i / 2] << 16) * x[i];
  return sum;
}

__device__ void load_eight(float (&to)[8], const float* from) {
  const float4 low = reinterpret_cast<const float4*>(from)[0], high = reinterpret_cast<const float4*>(from)[1];
  to[0] = low.x, to[1] = low.y, to[2] = low.z, to[3] = low.w;
  to[4] = high.x, to[5] = high.y, to[6] = high.z, to[7] = high.w;
}

__device__ uint4 eight_weights(const bf16* w, int row, int column) {
  return *reinterpret_cast<const uint4*>(w + static_cast<std::size_t>(row) * columns + column);
}

__device__ float over_lanes(float sum) {
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  return sum;
}

/// A warp per four rows, 16 bytes per lane and load.
__device__ void four_rows(float* y, const bf16* w, const float* x, int first) {
  const int lane = threadIdx.x % 32;
  float sum[together] = {}, in[8];
#pragma unroll
  for (int c = lane * 8; c < columns; c += 256) {
    load_eight(in, x + c);
#pragma unroll
    for (int r = 0; r < together; ++r) sum[r] += product_of_eight(eight_weights(w, first + r, c), in);
  }
#pragma unroll
  for (int r = 0; r < together; ++r) {
    sum[r] = over_lanes(sum[r]);
    if (lane == 0) y[first + r] = sum[r];
  }
}

__global__ void __launch_bounds__(threads) reference(float* y, const bf16* w, const float* x) {
  four_rows(y, w, x, (blockIdx.x * warps + threadIdx.x / 32) * together);
}

/// The same with few blocks.
__global__ void __launch_bounds__(threads) kernel_a(float* y, const bf16* w, const float* x) {
  for (int first = (blockIdx.x * warps + threadIdx.x / 32) * together; first < rows;
       first += gridDim.x * warps * together)
    four_rows(y, w, x, first);
}

/// Weights in int4, with a scale for each 64. A lane unpacks them by division.
__global__ void __launch_bounds__(threads)
    kernel_b(float* y, const unsigned* w, const float* scales, const float* x, unsigned base) {
  const int row = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0.0f, in[8];
#pragma unroll
  for (int c = lane * 8; c < columns; c += 256) {
    load_eight(in, x + c);
    const std::size_t at = static_cast<std::size_t>(row) * columns + c;
    unsigned eight = w[at / 8];
    float part = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; ++i, eight /= base) part += (static_cast<float>(eight % base) - 8.0f) * in[i];
    sum += scales[at / group] * part;
  }
  sum = over_lanes(sum);
  if (lane == 0) y[row] = sum;
}

/// A thread per row.
__global__ void __launch_bounds__(threads) kernel_c(float* y, const bf16* w, const float* x) {
  const int row = blockIdx.x * threads + threadIdx.x;
  float sum = 0.0f;
  for (int c = 0; c < columns; ++c) sum += __bfloat162float(w[static_cast<std::size_t>(row) * columns + c]) * x[c];
  y[row] = sum;
}

/// x comes from shared memory, where the numbers of one lane lie together.
__global__ void __launch_bounds__(threads) kernel_d(float* y, const bf16* w, const float* x) {
  constexpr int own = columns / 32;
  __shared__ float sorted[columns];
  for (int c = threadIdx.x; c < columns; c += threads) sorted[c % 256 / 8 * own + c / 256 * 8 + c % 8] = x[c];
  __syncthreads();
  const int row = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  float sum = 0.0f, in[8];
#pragma unroll
  for (int k = 0; k < columns / 256; ++k) {
#pragma unroll
    for (int i = 0; i < 8; ++i) in[i] = *static_cast<const volatile float*>(&sorted[lane * own + k * 8 + i]);
    sum += product_of_eight(eight_weights(w, row, k * 256 + lane * 8), in);
  }
  sum = over_lanes(sum);
  if (lane == 0) y[row] = sum;
}

void check(cudaError_t error) {
  if (error != cudaSuccess) std::printf("%s\n", cudaGetErrorString(error)), std::exit(1);
}

template <class T>
T* on_device(const std::vector<T>& from) {
  T* to = nullptr;
  check(cudaMalloc(&to, from.size() * sizeof(T)));
  check(cudaMemcpy(to, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice));
  return to;
}

}  // namespace

int main() {
  // Weights from -8 to 7, exact in both formats; all scales are 1.
  constexpr std::size_t count = static_cast<std::size_t>(rows) * columns;
  std::vector<bf16> w(count);
  std::vector<unsigned> packed(count / 8);
  std::vector<float> x(columns), expected(rows), y(rows);
  for (int c = 0; c < columns; ++c) x[c] = static_cast<float>(c % 17 - 8) / 8.0f;
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned digit = static_cast<unsigned>(i * 2654435761u >> 13) % 16;
    w[i] = __float2bfloat16(static_cast<float>(digit) - 8.0f);
    packed[i / 8] |= digit << (i % 8 * 4);
    expected[i / columns] += (static_cast<float>(digit) - 8.0f) * x[i % columns];
  }
  const bf16* const weights = on_device(w);
  const unsigned* const digits = on_device(packed);
  const float* const scales = on_device(std::vector<float>(count / group, 1.0f));
  const float* const in = on_device(x);
  float* const out = on_device(y);
  const auto compare = [&](const char* name) {
    check(cudaGetLastError());
    check(cudaMemcpy(y.data(), out, rows * sizeof(float), cudaMemcpyDeviceToHost));
    for (int r = 0; r < rows; ++r)
      if (!(std::fabs(y[r] - expected[r]) <= 0.01f)) {
        std::printf("%s: row %d is %g, not %g\n", name, r, y[r], expected[r]);
        std::exit(1);
      }
    check(cudaMemset(out, 0xFF, rows * sizeof(float)));
  };
  reference<<<rows / warps / together, threads>>>(out, weights, in);
  compare("reference");
  kernel_a<<<24, threads>>>(out, weights, in);
  compare("kernel_a");
  kernel_b<<<rows / warps, threads>>>(out, digits, scales, in, 16);
  compare("kernel_b");
  kernel_c<<<rows / threads, threads>>>(out, weights, in);
  compare("kernel_c");
  kernel_d<<<rows / warps, threads>>>(out, weights, in);
  compare("kernel_d");
}
