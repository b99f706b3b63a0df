// Given, not handed in: each operation is its own kernel, which reads its operands from memory and writes its result
// back, as in a framework without a compiler. Count the passes over memory.
#include "fusion.hpp"

namespace lab04 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

struct add {
  __device__ float operator()(float a, float b) const { return a + b; }
};
struct multiply {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct add_constant {
  float constant;
  __device__ float operator()(float x) const { return x + constant; }
};
struct scale {
  float factor;
  __device__ float operator()(float x) const { return factor * x; }
};
struct square {
  __device__ float operator()(float x) const { return x * x; }
};
struct sine {
  __device__ float operator()(float x) const { return sinf(x); }
};
struct cosine {
  __device__ float operator()(float x) const { return cosf(x); }
};
struct tangent {
  __device__ float operator()(float x) const { return tanhf(x); }
};

// `out` may also be an operand.
template <class function>
__global__ void unary_kernel(float* out, const float* a, int n, function f) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = f(a[i]);
}

template <class function>
__global__ void binary_kernel(float* out, const float* a, const float* b, int n, function f) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < n) out[i] = f(a[i], b[i]);
}

template <class function>
void unary(float* out, const float* a, int n, cudaStream_t stream, function f) {
  unary_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, a, n, f);
}

template <class function>
void binary(float* out, const float* a, const float* b, int n, cudaStream_t stream, function f) {
  binary_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, a, b, n, f);
}

enum class reduction { sum, maximum };

/// The sum (or the maximum) of f over a row, valid only in thread 0 of its block.
template <reduction how, class function>
__device__ float reduced_row(const float* row, int columns, function f) {
  __shared__ float partial[block_size];
  float value = how == reduction::sum ? 0.0f : -INFINITY;
  for (int c = threadIdx.x; c < columns; c += block_size)
    value = how == reduction::sum ? value + f(row[c]) : fmaxf(value, f(row[c]));
  partial[threadIdx.x] = value;
  for (unsigned half = block_size / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x >= half) continue;
    const float other = partial[threadIdx.x + half];
    partial[threadIdx.x] = how == reduction::sum ? partial[threadIdx.x] + other : fmaxf(partial[threadIdx.x], other);
  }
  return partial[0];
}

struct itself {
  __device__ float operator()(float x) const { return x; }
};
struct squared_distance {
  float from;
  __device__ float operator()(float x) const { return (x - from) * (x - from); }
};

/// One thread reads the row's value for all threads of its block.
__device__ float of_row(const float* values) {
  __shared__ float value;
  if (threadIdx.x == 0) value = values[blockIdx.x];
  __syncthreads();
  return value;
}

__global__ void mean_kernel(float* means, const float* in, int columns) {
  const float sum = reduced_row<reduction::sum>(in + blockIdx.x * columns, columns, itself{});
  if (threadIdx.x == 0) means[blockIdx.x] = sum / columns;
}

__global__ void deviation_kernel(float* deviations, const float* in, const float* means, int columns) {
  const squared_distance f{of_row(means)};
  const float sum = reduced_row<reduction::sum>(in + blockIdx.x * columns, columns, f);
  if (threadIdx.x == 0) deviations[blockIdx.x] = sqrtf(sum / columns + 1e-5f);
}

__global__ void normalize_kernel(float* out, const float* in, const float* means, const float* deviations,
                                 int columns) {
  __shared__ float mean, deviation;
  if (threadIdx.x == 0) mean = means[blockIdx.x], deviation = deviations[blockIdx.x];
  __syncthreads();
  for (int c = threadIdx.x; c < columns; c += block_size)
    out[blockIdx.x * columns + c] = (in[blockIdx.x * columns + c] - mean) / deviation;
}

__global__ void maximum_kernel(float* maxima, const float* in, int columns) {
  const float maximum = reduced_row<reduction::maximum>(in + blockIdx.x * columns, columns, itself{});
  if (threadIdx.x == 0) maxima[blockIdx.x] = maximum;
}

__global__ void exp_kernel(float* out, const float* in, const float* maxima, int columns) {
  const float maximum = of_row(maxima);
  for (int c = threadIdx.x; c < columns; c += block_size)
    out[blockIdx.x * columns + c] = expf(in[blockIdx.x * columns + c] - maximum);
}

__global__ void sum_kernel(float* sums, const float* in, int columns) {
  const float sum = reduced_row<reduction::sum>(in + blockIdx.x * columns, columns, itself{});
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void divide_kernel(float* out, const float* sums, int columns) {
  const float sum = of_row(sums);
  for (int c = threadIdx.x; c < columns; c += block_size) out[blockIdx.x * columns + c] /= sum;
}

}  // namespace

void gelu_unfused(float* out, const float* in, int n, cudaStream_t stream) {
  unary(out, in, n, stream, square{});           // x^2
  binary(out, out, in, n, stream, multiply{});   // x^3
  unary(out, out, n, stream, scale{0.044715f});  // 0.044715 x^3
  binary(out, in, out, n, stream, add{});        // x + ...
  unary(out, out, n, stream, scale{0.79788456f});
  unary(out, out, n, stream, tangent{});
  unary(out, out, n, stream, add_constant{1.0f});
  unary(out, out, n, stream, scale{0.5f});
  binary(out, in, out, n, stream, multiply{});  // x (1 + tanh ...) / 2; twice x may be too large for a float
}

void sin2_plus_cos2_unfused(float* out, float* scratch, const float* in, int n, cudaStream_t stream) {
  unary(out, in, n, stream, sine{});
  unary(out, out, n, stream, square{});
  unary(scratch, in, n, stream, cosine{});
  unary(scratch, scratch, n, stream, square{});
  binary(out, out, scratch, n, stream, add{});
}

void layernorm_unfused(float* out, float* means, float* deviations, const float* in, int rows, int columns,
                       cudaStream_t stream) {
  mean_kernel<<<rows, block_size, 0, stream>>>(means, in, columns);
  deviation_kernel<<<rows, block_size, 0, stream>>>(deviations, in, means, columns);
  normalize_kernel<<<rows, block_size, 0, stream>>>(out, in, means, deviations, columns);
}

void softmax_unfused(float* out, float* maxima, float* sums, const float* in, int rows, int columns,
                     cudaStream_t stream) {
  maximum_kernel<<<rows, block_size, 0, stream>>>(maxima, in, columns);
  exp_kernel<<<rows, block_size, 0, stream>>>(out, in, maxima, columns);
  sum_kernel<<<rows, block_size, 0, stream>>>(sums, out, columns);
  divide_kernel<<<rows, block_size, 0, stream>>>(out, sums, columns);
}

}  // namespace lab04
