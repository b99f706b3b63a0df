// Each operation in one kernel. Elements alone are easy; where a row is needed whole, the threads of a block keep it in
// their registers from the first load to the store, and only sums and maxima travel between them.
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
    const float4 x = *reinterpret_cast<const float4*>(from);
    values[0] = x.x, values[1] = x.y, values[2] = x.z, values[3] = x.w;
  } else {
    values[0] = *from;
  }
}

template <int width>
__device__ void store(float* to, const float* values) {
  if constexpr (width == 4)
    *reinterpret_cast<float4*>(to) = make_float4(values[0], values[1], values[2], values[3]);
  else
    *to = values[0];
}

// ---- elements alone ------------------------------------------------------------------------------------------------

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

constexpr int rows_together = 64;  // the bias is loaded once for this many rows: less than 1 % of the bytes

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

// ---- rows ----------------------------------------------------------------------------------------------------------

//! [reduced]
/// `value` of all lanes of the warp, combined; every lane gets the result.
template <class operation>
__device__ float reduced(float value, operation combine) {
  for (int distance = 16; distance > 0; distance /= 2) value = combine(value, __shfl_xor_sync(~0u, value, distance));
  return value;
}
//! [reduced]
__device__ float sum_of(float value) {
  return reduced(value, [](float a, float b) { return a + b; });
}
__device__ float largest_of(float value) {
  return reduced(value, [](float a, float b) { return fmaxf(a, b); });
}

/// What each warp of the block found out about its part of the row: lane w gets warp w's, and lanes beyond the last
/// warp get `nothing`. The only barrier of a row.
//! [from_all_warps]
template <class finding>
__device__ finding from_all_warps(finding mine, finding nothing) {
  __shared__ finding all[32];
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  if (lane == 0) all[threadIdx.x / 32] = mine;
  __syncthreads();
  return lane < warps ? all[lane] : nothing;
}
//! [from_all_warps]

/// The thread's part of a row; `beyond` stands for what lies past its end.
template <int width, int kept>
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

template <int width, int kept>
__device__ void store_row(float* row, const float (&x)[kept], int columns) {
#pragma unroll
  for (int k = 0; k < kept; k += width) {
    const int c = k * blockDim.x + width * threadIdx.x;
    if (c < columns) store<width>(row + c, x + k);
  }
}

struct spread {
  float count, sum, squares;  ///< elements, their sum, and the squared distances from their own mean
};

template <int width, int kept>
__global__ void layernorm_kernel(float* out,       // (rows, columns)
                                 const float* in,  // (rows, columns)
                                 int columns) {
  const int start = blockIdx.x * columns;
  float x[kept];
  load_row<width, kept>(x, in + start, columns, 0.0f);
  spread mine{};
  for (const float value : x) mine.sum += value;
  mine.sum = sum_of(mine.sum);
  const int first_of_warp = width * static_cast<int>(threadIdx.x / 32 * 32), block = static_cast<int>(blockDim.x);
#pragma unroll
  for (int k = 0; k < kept; k += width) mine.count += min(max(columns - k * block - first_of_warp, 0), 32 * width);
  const float own_mean = mine.sum / fmaxf(mine.count, 1.0f);
#pragma unroll
  for (int k = 0; k < kept; ++k) {
    const int c = k / width * width * blockDim.x + width * threadIdx.x;
    if (c < columns) mine.squares += (x[k] - own_mean) * (x[k] - own_mean);
  }
  mine.squares = sum_of(mine.squares);
  // Squared distances from the row's mean are those from the part's mean, plus those between means (Chan, Golub and
  // LeVeque, 1979): no cancellation, and the mean need not be known first.
  const spread part = from_all_warps(mine, spread{});
  const float mean = sum_of(part.sum) / columns;
  const float apart = part.count > 0.0f ? part.sum / part.count - mean : 0.0f;
  const float scale = rsqrtf(sum_of(part.squares + part.count * apart * apart) / columns + 1e-5f);
  for (float& value : x) value = (value - mean) * scale;
  store_row<width, kept>(out + start, x, columns);
}

struct peak {
  float largest, sum;  ///< the sum of exp(x - largest)
};

template <int width, int kept>
__global__ void softmax_kernel(float* out,       // (rows, columns)
                               const float* in,  // (rows, columns)
                               int columns) {
  const int start = blockIdx.x * columns;
  float x[kept];
  load_row<width, kept>(x, in + start, columns, -INFINITY);
  peak mine{-INFINITY, 0.0f};
  for (const float value : x) mine.largest = fmaxf(mine.largest, value);
  mine.largest = largest_of(mine.largest);
  const float shift = mine.largest == -INFINITY ? 0.0f : mine.largest;  // nothing of the row: exp gives zeros
  for (float& value : x) mine.sum += value = __expf(value - shift);
  mine.sum = sum_of(mine.sum);
  // Each warp's sum is scaled to the row's maximum, which need not be known first.
  const peak part = from_all_warps(mine, peak{-INFINITY, 0.0f});
  const float maximum = largest_of(part.largest);
  const float scale = __expf(mine.largest - maximum) / sum_of(part.sum * __expf(part.largest - maximum));
  for (float& value : x) value *= scale;
  store_row<width, kept>(out + start, x, columns);
}

/// One block per row, in whole warps; a thread keeps 8 floats of it in registers, or 16 of a row of more than 8192,
/// which a block of 1024 threads could not keep otherwise.
constexpr int longest_of_8 = 8192;
int threads_for(int columns) { return 32 * ceil_div(ceil_div(columns, columns > longest_of_8 ? 16 : 8), 32); }

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
  const bool wide = columns % 4 == 0;
  const auto kernel = columns > longest_of_8 ? (wide ? layernorm_kernel<4, 16> : layernorm_kernel<1, 16>)
                                             : (wide ? layernorm_kernel<4, 8> : layernorm_kernel<1, 8>);
  kernel<<<rows, threads_for(columns), 0, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const bool wide = columns % 4 == 0;
  const auto kernel = columns > longest_of_8 ? (wide ? softmax_kernel<4, 16> : softmax_kernel<1, 16>)
                                             : (wide ? softmax_kernel<4, 8> : softmax_kernel<1, 8>);
  kernel<<<rows, threads_for(columns), 0, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab04
