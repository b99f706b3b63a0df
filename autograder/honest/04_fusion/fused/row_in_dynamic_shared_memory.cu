// A row per block in dynamic shared memory, generic lambdas, cooperative groups, spans.
#include "fusion.hpp"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <limits>
#include <span>

namespace cg = cooperative_groups;

namespace lab04 {
namespace {

template <typename F, typename... T>
concept elementwise = requires(F f, T... x) {
  { f(x...) } -> std::convertible_to<float>;
};

struct square_sum {
  __device__ float operator()(float x) const {
    const float s = sinf(x), c = cosf(x);
    return fmaf(s, s, c * c);
  }
};

template <int per_thread, elementwise<float> F>
__global__ void transform(std::span<float> out, std::span<const float> in, F f) {
  const auto grid = cg::this_grid();
  const std::size_t groups = out.size() / 4;
  auto* out4 = reinterpret_cast<float4*>(out.data());
  auto* in4 = reinterpret_cast<const float4*>(in.data());
  for (std::size_t i = grid.thread_rank(); i < groups; i += grid.size()) {
    const auto [x, y, z, w] = in4[i];
    out4[i] = make_float4(f(x), f(y), f(z), f(w));
  }
  const std::size_t tail = groups * 4 + grid.thread_rank();
  if (tail < out.size()) out[tail] = f(in[tail]);
}

__device__ float gelu_of(float x) {
  const float u = 0.79788456f * (x + 0.044715f * x * x * x);
  return x - x / (1.0f + __expf(2.0f * u));
}

template <int width>
__global__ void bias_gelu(float* __restrict__ out, const float* __restrict__ in, const float* __restrict__ bias,
                          const float* __restrict__ residual, int rows, int columns) {
  using vector = std::conditional_t<width == 4, float4, float>;
  const auto* in_v = reinterpret_cast<const vector*>(in);
  const auto* residual_v = reinterpret_cast<const vector*>(residual);
  auto* out_v = reinterpret_cast<vector*>(out);
  const int groups = columns / width;
  const int g = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (g >= groups) return;
  const vector b = reinterpret_cast<const vector*>(bias)[g];
  const auto each = [&](auto x, auto bb, auto r) { return r + gelu_of(x + bb); };
  for (int r = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y); r < rows; r += gridDim.y * blockDim.y) {
    const auto i = static_cast<std::size_t>(r) * groups + g;
    const vector x = in_v[i], y = residual_v[i];
    if constexpr (width == 4)
      out_v[i] = {each(x.x, b.x, y.x), each(x.y, b.y, y.y), each(x.z, b.z, y.z), each(x.w, b.w, y.w)};
    else
      out_v[i] = each(x, b, y);
  }
}

template <typename Op>
__device__ float all(const cg::thread_block& block, float value, Op op, float* scratch) {
  const auto warp = cg::tiled_partition<32>(block);
  value = cg::reduce(warp, value, op);
  if (warp.thread_rank() == 0) scratch[warp.meta_group_rank()] = value;
  block.sync();
  value = scratch[0];
  for (unsigned w = 1; w < warp.meta_group_size(); ++w) value = op(value, scratch[w]);
  return value;
}

enum class kind { norm, soft };

template <kind which>
__global__ void row_kernel(float* out, const float* in, int columns) {
  extern __shared__ float row[];
  __shared__ std::array<std::array<float, 32>, 2> scratch;
  const auto block = cg::this_thread_block();
  const auto at = static_cast<std::ptrdiff_t>(blockIdx.x) * columns;
  const auto for_each = [&](auto&& f) {
    for (int c = block.thread_rank(); c < columns; c += block.size()) f(c);
  };
  if constexpr (which == kind::norm) {
    float sum = 0;
    for_each([&](int c) { sum += row[c] = in[at + c]; });
    const float mean = all(block, sum, cg::plus<float>{}, scratch[0].data()) / static_cast<float>(columns);
    float squares = 0;
    for_each([&](int c) { row[c] -= mean, squares = fmaf(row[c], row[c], squares); });
    const float variance = all(block, squares, cg::plus<float>{}, scratch[1].data()) / static_cast<float>(columns);
    const float factor = rsqrtf(variance + 1e-5f);
    for_each([&](int c) { out[at + c] = row[c] * factor; });
  } else {
    float largest = -std::numeric_limits<float>::infinity();
    for_each([&](int c) { largest = fmaxf(largest, row[c] = in[at + c]); });
    largest = all(block, largest, cg::greater<float>{}, scratch[0].data());
    float sum = 0;
    for_each([&](int c) { sum += row[c] = __expf(row[c] - largest); });
    sum = all(block, sum, cg::plus<float>{}, scratch[1].data());
    for_each([&](int c) { out[at + c] = __fdividef(row[c], sum); });
  }
}

template <kind which>
void launch_rows(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  static const bool once = [] {
    return cudaFuncSetAttribute(row_kernel<which>, cudaFuncAttributeMaxDynamicSharedMemorySize, 16384 * 4) ==
           cudaSuccess;
  }();
  (void)once;
  const int threads = std::clamp((columns + 127) / 128 * 32, 32, 1024);
  row_kernel<which><<<rows, threads, columns * sizeof(float), stream>>>(out, in, columns);
}

}  // namespace

void sin2_plus_cos2(float* out, const float* in, int n, cudaStream_t stream) {
  const auto count = static_cast<std::size_t>(n);
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>((count / 4 + 127) / 128, 1, 132 * 16));
  transform<4><<<blocks, 128, 0, stream>>>(std::span{out, count}, std::span{in, count}, square_sum{});
}

void bias_gelu_residual(float* out, const float* in, const float* bias, const float* residual, int rows, int columns,
                        cudaStream_t stream) {
  const auto launch = [&]<int width>(std::integral_constant<int, width>) {
    const int groups = columns / width;
    const dim3 block(32, 8), grid((groups + 31) / 32, std::min((rows + 31) / 32, 65535));
    bias_gelu<width><<<grid, block, 0, stream>>>(out, in, bias, residual, rows, columns);
  };
  if (columns % 4 == 0) launch(std::integral_constant<int, 4>{});
  else launch(std::integral_constant<int, 1>{});
}

void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch_rows<kind::norm>(out, in, rows, columns, stream);
}

void softmax(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch_rows<kind::soft>(out, in, rows, columns, stream);
}

}  // namespace lab04
