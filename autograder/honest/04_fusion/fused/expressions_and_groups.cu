#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdint>
#include "fusion.hpp"

namespace cg = cooperative_groups;

// ---- expression templates, evaluated in a kernel -----------------------------------------------------------------
namespace et {
struct leaf {
  const float* p;
  __device__ float operator()(int i) const { return p[i]; }
};
template <class A, class F>
struct unary {
  A a;
  F f;
  __device__ float operator()(int i) const { return f(a(i)); }
};
template <class E>
__global__ void evaluate(float* out, E e, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = e(i);
}
}  // namespace et

struct pythagoras {
  __device__ float operator()(float x) const {
    const float s = sinf(x), c = cosf(x);
    return s * s + c * c;
  }
};

__device__ inline float half_gelu(float x) { return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x))); }

__global__ void bgr(float* out, const float* in, const float* bias, const float* residual, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < columns) {
    const float mine = bias[c];
    for (int r = blockIdx.y * blockDim.y + threadIdx.y; r < rows; r += gridDim.y * blockDim.y)
      out[r * columns + c] = residual[r * columns + c] + half_gelu(in[r * columns + c] + mine);
  }
}

template <int Warps, int Each>
struct row_block {
  static constexpr int threads = 32 * Warps;
  float v[Each];

  template <class Op>
  __device__ static float all(float x, Op op, float none) {
    __shared__ float of_warp[Warps];
    const auto block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    x = cg::reduce(warp, x, op);
    if (warp.thread_rank() == 0) of_warp[warp.meta_group_rank()] = x;
    block.sync();
    x = warp.thread_rank() < Warps ? of_warp[warp.thread_rank()] : none;
    x = cg::reduce(warp, x, op);
    block.sync();
    return x;
  }
  template <class F>
  __device__ void each(int columns, F f) {
#pragma unroll
    for (int e = 0; e < Each; ++e)
      if (const int c = e * threads + threadIdx.x; c < columns) f(v[e], c);
  }
};

enum class op { layernorm, softmax };

template <op What, int Warps, int Each>
__global__ void rowwise(float* out, const float* in, int columns) {
  row_block<Warps, Each> row;
  const std::int64_t base = std::int64_t{blockIdx.x} * columns;
  if constexpr (What == op::layernorm) {
    float sum = 0, squares = 0;
    row.each(columns, [&](float& x, int c) { sum += x = in[base + c]; });
    const float mean = row.all(sum, cg::plus<float>(), 0.0f) / columns;
    row.each(columns, [&](float& x, int) { x -= mean, squares += x * x; });
    const float scale = 1.0f / sqrtf(row.all(squares, cg::plus<float>(), 0.0f) / columns + 1e-5f);
    row.each(columns, [&](float& x, int c) { out[base + c] = x * scale; });
  } else {
    float most = -3.4e38f, sum = 0;
    row.each(columns, [&](float& x, int c) { most = fmaxf(most, x = in[base + c]); });
    most = row.all(most, cg::greater<float>(), -3.4e38f);
    row.each(columns, [&](float& x, int) { sum += x = expf(x - most); });
    sum = row.all(sum, cg::plus<float>(), 0.0f);
    row.each(columns, [&](float& x, int c) { out[base + c] = x / sum; });
  }
}

template <op What>
static void rows_of(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  if (columns <= 256 * 8)
    rowwise<What, 8, 8><<<rows, 256, 0, stream>>>(out, in, columns);
  else
    rowwise<What, 32, 16><<<rows, 1024, 0, stream>>>(out, in, columns);
}

namespace lab04 {
void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  et::evaluate<<<(n + 127) / 128, 128, 0, stream>>>(out, et::unary<et::leaf, pythagoras>{{in}, {}}, n);
}
void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns, cudaStream_t stream) {
  bgr<<<dim3((columns + 31) / 32, 16), dim3(32, 8), 0, stream>>>(out, in, bias, residual, rows, columns);
}
void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) { rows_of<op::layernorm>(out, in, rows, columns, stream); }
void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) { rows_of<op::softmax>(out, in, rows, columns, stream); }
}  // namespace lab04
