// A thread per four channels with compensated sums, cooperative groups, and one launch whose grid waits for itself.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <lab/device.hpp>

#include <algorithm>
#include <span>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

// ---- GELU ----------------------------------------------------------------------------------------------------------

constexpr int block_size = 256;

template <class T>
__global__ void gelu_kernel(std::span<T> to, std::span<const T> in, std::span<const T> d) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < in.size(); i += gridDim.x * blockDim.x) {
    const T x = in[i];
    if (fabsf(x) > 20) { to[i] = x > 0 ? d[i] : 0; continue; }
    const T t = tanhf(0.79788456f * (x + 0.044715f * x * x * x));
    to[i] = d[i] * (0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 0.134145f * x * x));
  }
}
constexpr int most_blocks = 128, threads = 256;

__global__ void rows_then_columns(float* d_x, float* d_weight, float* d_bias, float* partial, const float* x, const float* weight, const float* mean, const float* rstd, const float* d_out, int rows, int channels) {
  namespace cg = cooperative_groups;
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  __shared__ double2 parts[threads / 32];
  // A thread has one quad of channels, a block a row at a time; column sums are compensated (Kahan).
  const int q = threadIdx.x, width = channels / 4;
  const bool has = q < width;
  float4 sw{}, cw{}, sb{}, cb{};
  const float4 w = has ? reinterpret_cast<const float4*>(weight)[q] : float4{};
  const auto add = [](float& s, float& c, float y) { y -= c; const float t = s + y; c = (t - s) - y; s = t; };
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    float4 n{}, d{}, so{};
    if (has) {
      n = reinterpret_cast<const float4*>(x)[row * width + q];
      d = reinterpret_cast<const float4*>(d_out)[row * width + q];
      so = reinterpret_cast<const float4*>(d_x)[row * width + q];
    }
    const float mu = mean[row], r = rstd[row];
    double a = 0, b = 0;
    if (has) {
      n = {(n.x - mu) * r, (n.y - mu) * r, (n.z - mu) * r, (n.w - mu) * r};
      add(sw.x, cw.x, d.x * n.x), add(sw.y, cw.y, d.y * n.y), add(sw.z, cw.z, d.z * n.z), add(sw.w, cw.w, d.w * n.w);
      add(sb.x, cb.x, d.x), add(sb.y, cb.y, d.y), add(sb.z, cb.z, d.z), add(sb.w, cb.w, d.w);
      d = {d.x * w.x, d.y * w.y, d.z * w.z, d.w * w.w};
      a = double(d.x) + d.y + d.z + d.w, b = double(d.x) * n.x + double(d.y) * n.y + double(d.z) * n.z + double(d.w) * n.w;
    }
    a = cg::reduce(tile, a, cg::plus<double>()), b = cg::reduce(tile, b, cg::plus<double>());
    if (tile.thread_rank() == 0) parts[threadIdx.x / 32] = {a, b};
    block.sync();
    a = b = 0;
    for (unsigned i = 0; i < blockDim.x / 32; ++i) a += parts[i].x, b += parts[i].y;
    block.sync();
    const float ga = float(a / channels), gb = float(b / channels);
    if (has)
      reinterpret_cast<float4*>(d_x)[row * width + q] = {so.x + r * (d.x - ga - n.x * gb), so.y + r * (d.y - ga - n.y * gb), so.z + r * (d.z - ga - n.z * gb), so.w + r * (d.w - ga - n.w * gb)};
  }
  if (has) {
    reinterpret_cast<float4*>(partial)[(2 * blockIdx.x) * width + q] = sw;
    reinterpret_cast<float4*>(partial)[(2 * blockIdx.x + 1) * width + q] = sb;
  }
  cg::this_grid().sync();
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < 2 * channels; c += gridDim.x * blockDim.x) {
    double total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) total += partial[b * 2 * channels + c];
    float& to = c < channels ? d_weight[c] : d_bias[c - channels];
    to = float(to + total);
  }
}
}  // namespace

void gelu_backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  gelu_kernel<float><<<264, 96, 0, stream>>>({d_in, std::size_t(n)}, {in, std::size_t(n)}, {d_out, std::size_t(n)});
  LAB_CUDA_CHECK(cudaGetLastError());
}

std::size_t layer_norm_partial(int, int channels) { return 256 * static_cast<std::size_t>(channels); }

void layer_norm_backward(float* d_x, float* d_weight, float* d_bias, float* partial, const float* x,
                         const float* weight, const float* mean, const float* rstd, const float* d_out, int rows,
                         int channels, cudaStream_t stream) {
  void* arguments[] = {&d_x, &d_weight, &d_bias, &partial, &x, &weight, &mean, &rstd, &d_out, &rows, &channels};
  LAB_CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(rows_then_columns), dim3(std::min(rows, most_blocks)), dim3(threads), arguments, 0, stream));
}

}  // namespace lab14
