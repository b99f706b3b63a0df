// Each operation in one kernel, as it was first handed in: a block keeps a row in registers, 16 floats per thread, and
// needs two barriers, one for the maximum or the mean, and one for the sum. See WORKLOG.md.
#include <lab/device.hpp>

#include "fusion.hpp"

namespace lab04 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

/// `width` floats side by side: 4 where a row starts at a multiple of 16 bytes, else 1.
template <int width>
__device__ void load(float* values, const float* from) {
  if constexpr (width == 4) {
    const float4 x = __ldcs(reinterpret_cast<const float4*>(from));
    values[0] = x.x, values[1] = x.y, values[2] = x.z, values[3] = x.w;
  } else {
    values[0] = __ldcs(from);
  }
}

template <int width>
__device__ void store(float* to, const float* values) {
  if constexpr (width == 4)
    __stcs(reinterpret_cast<float4*>(to), make_float4(values[0], values[1], values[2], values[3]));
  else
    __stcs(to, values[0]);
}

// ---- elements alone -------------------------------------------------------------------------------------------------

__device__ float sin2_plus_cos2_of(float x) {
  float s, c;
  sincosf(x, &s, &c);
  return s * s + c * c;
}

__global__ void sin2_plus_cos2_kernel(float* out,       // (n)
                                      const float* in,  // (n)
                                      int n) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  const int quads = n / 4;
  if (i < quads) {
    float x[4];
    load<4>(x, in + 4 * i);
    for (float& value : x) value = sin2_plus_cos2_of(value);
    store<4>(out + 4 * i, x);
  } else if (const int last = 4 * quads + (i - quads); last < n) {
    out[last] = sin2_plus_cos2_of(in[last]);
  }
}

__device__ float gelu_of(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return __fdividef(x, 1.0f + __expf(-2.0f * u));
}

constexpr int rows_together = 64;  // the bias is loaded once for so many rows: less than 1 % of the bytes

// A thread walks down its columns, so that their bias stays in registers; a warp touches neighbours.
template <int width>
__global__ void bias_gelu_residual_kernel(float* out,             // (rows, columns)
                                          const float* in,        // (rows, columns)
                                          const float* bias,      // (columns)
                                          const float* residual,  // (rows, columns)
                                          int rows, int columns) {
  const int c = width * (blockIdx.x * block_size + threadIdx.x);
  if (c >= columns) return;
  float b[width];
  load<width>(b, bias + c);
  const int first = blockIdx.y * rows_together, last = min(rows, first + rows_together);
#pragma unroll 4
  for (int r = first; r < last; ++r) {
    float x[width], rest[width];
    load<width>(x, in + r * columns + c);
    load<width>(rest, residual + r * columns + c);
    for (int i = 0; i < width; ++i) x[i] = rest[i] + gelu_of(x[i] + b[i]);
    store<width>(out + r * columns + c, x);
  }
}

// ---- rows -----------------------------------------------------------------------------------------------------------

constexpr int kept = 16;  // floats of the row that a thread keeps; 1024 threads keep 16384

struct plus {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct larger {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

/// `value` of all threads of the block, combined; in every thread. Each use needs a `partial` of its own.
template <class operation>
__device__ float reduced(float value, float* partial, operation combine) {
  for (int distance = 16; distance > 0; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  const int warps = blockDim.x / 32;
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[0];
  for (int warp = 1; warp < warps; ++warp) value = combine(value, partial[warp]);
  return value;
}

/// The thread's part of a row; `beyond` stands for what lies behind its end.
template <int width>
__device__ void load_row(float (&x)[kept], const float* row, int columns, float beyond) {
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * blockDim.x + width * threadIdx.x;
    if (c < columns) {
      load<width>(x + k, row + c);
    } else {
      for (int i = 0; i < width; ++i) x[k + i] = beyond;
    }
  }
}

template <int width>
__device__ void store_row(float* row, const float (&x)[kept], int columns) {
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * blockDim.x + width * threadIdx.x;
    if (c < columns) store<width>(row + c, x + k);
  }
}

template <int width>
__global__ void layernorm_kernel(float* out,       // (rows, columns)
                                 const float* in,  // (rows, columns)
                                 int columns) {
  __shared__ float partial[2][32];
  const int start = blockIdx.x * columns;
  float x[kept];
  load_row<width>(x, in + start, columns, 0.0f);
  float sum = 0.0f;
  for (const float value : x) sum += value;
  const float mean = reduced(sum, partial[0], plus{}) / columns;
  float squares = 0.0f;
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    x[k] -= mean;
    const int c = k / width * width * blockDim.x + width * threadIdx.x;
    if (c < columns) squares += x[k] * x[k];
  }
  const float scale = rsqrtf(reduced(squares, partial[1], plus{}) / columns + 1e-5f);
  for (float& value : x) value *= scale;
  store_row<width>(out + start, x, columns);
}

template <int width>
__global__ void softmax_kernel(float* out,       // (rows, columns)
                               const float* in,  // (rows, columns)
                               int columns) {
  __shared__ float partial[2][32];
  const int start = blockIdx.x * columns;
  float x[kept];
  load_row<width>(x, in + start, columns, -INFINITY);
  float maximum = -INFINITY, sum = 0.0f;
  for (const float value : x) maximum = fmaxf(maximum, value);
  maximum = reduced(maximum, partial[0], larger{});
  for (float& value : x) sum += value = __expf(value - maximum);
  const float scale = 1.0f / reduced(sum, partial[1], plus{});
  for (float& value : x) value *= scale;
  store_row<width>(out + start, x, columns);
}

/// Threads that keep a row of so many columns: whole warps.
int threads_for(int columns) { return 32 * ceil_div(ceil_div(columns, kept), 32); }

}  // namespace

void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  sin2_plus_cos2_kernel<<<ceil_div(n / 4 + n % 4, block_size), block_size, 0, stream>>>(out, in, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns,
                        cudaStream_t stream) {
  const bool wide = columns % 4 == 0;
  const dim3 grid(ceil_div(wide ? columns / 4 : columns, block_size), ceil_div(rows, rows_together));
  (wide ? bias_gelu_residual_kernel<4> : bias_gelu_residual_kernel<1>)<<<grid, block_size, 0, stream>>>(
      out, in, bias, residual, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const auto kernel = columns % 4 == 0 ? layernorm_kernel<4> : layernorm_kernel<1>;
  kernel<<<rows, threads_for(columns), 0, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const auto kernel = columns % 4 == 0 ? softmax_kernel<4> : softmax_kernel<1>;
  kernel<<<rows, threads_for(columns), 0, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab04
