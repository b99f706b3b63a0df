// A training step in bf16: embedding, LayerNorm, GELU, cross-entropy, AdamW. All are bound by memory: 16 bytes per
// load, and what one kernel can do while it has a row is not left to another.
#include "kernels.hpp"

#include <cstdint>

#include "lab/device.hpp"

namespace lab14::mixed {
namespace {

__device__ float low(unsigned two) { return __uint_as_float(two << 16); }
__device__ float high(unsigned two) { return __uint_as_float(two & 0xFFFF0000u); }
__device__ unsigned packed(float first, float second) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(first, second);
  return *reinterpret_cast<const unsigned*>(&both);
}

__device__ void load_4(float (&to)[4], const float* from) {
  const float4 x = *reinterpret_cast<const float4*>(from);
  to[0] = x.x, to[1] = x.y, to[2] = x.z, to[3] = x.w;
}
__device__ void load_4(float (&to)[4], const bf16* from) {
  const uint2 x = *reinterpret_cast<const uint2*>(from);
  to[0] = low(x.x), to[1] = high(x.x), to[2] = low(x.y), to[3] = high(x.y);
}
__device__ void store_4(float* to, const float (&x)[4]) {
  *reinterpret_cast<float4*>(to) = make_float4(x[0], x[1], x[2], x[3]);
}
__device__ void store_4(bf16* to, const float (&x)[4]) {
  *reinterpret_cast<uint2*>(to) = make_uint2(packed(x[0], x[1]), packed(x[2], x[3]));
}
__device__ void load_8(float (&to)[8], const bf16* from) {
  const uint4 x = *reinterpret_cast<const uint4*>(from);
  const unsigned two[] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 4; ++i) to[2 * i] = low(two[i]), to[2 * i + 1] = high(two[i]);
}
__device__ void store_8(bf16* to, const float (&x)[8]) {
  *reinterpret_cast<uint4*>(to) =
      make_uint4(packed(x[0], x[1]), packed(x[2], x[3]), packed(x[4], x[5]), packed(x[6], x[7]));
}

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(~0u, value, step);
  return value;
}
__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(~0u, value, step));
  return value;
}

int blocks_for(std::size_t threads, int of) { return static_cast<int>((threads + of - 1) / of); }

// ---- sums over rows -------------------------------------------------------------------------------------------------

__global__ void sum_partial_kernel(bf16* gradient, const float* partial, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= columns) return;
  float sum = 0.0f;
#pragma unroll 12
  for (int i = 0; i < sharers; ++i) sum += partial[static_cast<std::size_t>(i) * columns + c];
  gradient[c] = __float2bfloat16(sum);
}

constexpr int column_threads = 96, at_once = 4;

/// d_in = d_out gelu'(in) where `with_gelu`; a thread has eight columns, a block every `sharers`-th row, four at once.
template <bool with_gelu>
__global__ void column_kernel(bf16* d_in, float* partial, int pitch, const bf16* in, const bf16* d_out, int rows,
                              int columns) {
  const int c = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * 8;
  __shared__ float of_turns[at_once][8][column_threads];
  float sum[8] = {};
#pragma unroll 4
  for (int row = blockIdx.y + threadIdx.y * sharers; row < rows && c < columns; row += at_once * sharers) {
    const std::size_t at = static_cast<std::size_t>(row) * columns + c;
    float d[8];
    load_8(d, d_out + at);
    if constexpr (with_gelu) {
      float x[8];
      load_8(x, in + at);
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        constexpr float factor = 0.79788456f, cubic = 0.044715f;
        const float clamped = fminf(fmaxf(x[i], -10.0f), 10.0f), square = clamped * clamped;
        // tanh u = 2 s - 1, and its derivative is 4 s (1 - s).
        const float s = __fdividef(1.0f, 1.0f + __expf(-2.0f * factor * clamped * (1.0f + cubic * square)));
        d[i] *= s + clamped * 2.0f * s * (1.0f - s) * factor * (1.0f + 3.0f * cubic * square);
      }
      store_8(d_in + at, d);
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] += d[i];
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) of_turns[threadIdx.y][i][threadIdx.x] = sum[i];
  __syncthreads();
  if (threadIdx.y > 0 || c >= columns) return;
#pragma unroll
  for (int turn = 1; turn < at_once; ++turn)
#pragma unroll
    for (int i = 0; i < 8; ++i) sum[i] += of_turns[turn][i][threadIdx.x];
  float* const to = partial + static_cast<std::size_t>(blockIdx.y) * pitch + c;
  *reinterpret_cast<float4*>(to) = make_float4(sum[0], sum[1], sum[2], sum[3]);
  *reinterpret_cast<float4*>(to + 4) = make_float4(sum[4], sum[5], sum[6], sum[7]);
}

// ---- embedding ------------------------------------------------------------------------------------------------------

__global__ void embed_kernel(float* x, const float* token_weights, const float* position_weights, const int* tokens,
                             int length, int channels) {
  const int row = blockIdx.x, c = static_cast<int>(threadIdx.x) * 4;
  float token[4], position[4];
  load_4(token, token_weights + static_cast<std::size_t>(tokens[row]) * channels + c);
  load_4(position, position_weights + static_cast<std::size_t>(row % length) * channels + c);
#pragma unroll
  for (int i = 0; i < 4; ++i) token[i] += position[i];
  store_4(x + static_cast<std::size_t>(row) * channels + c, token);
}

constexpr int embed_threads = 256;

/// Block `row` < rows: all rows with this token, if it is the first of them. Block rows + t: position t.
__global__ void __launch_bounds__(embed_threads)
    embed_backward_kernel(bf16* d_tokens, bf16* d_positions, const float* d, const int* tokens, int rows, int length,
                          int channels) {
  __shared__ int next;
  const int c = static_cast<int>(threadIdx.x) * 4;
  const bool mine = c < channels;
  float sum[4] = {};
  const auto add = [&](int row) {
    float x[4];
    load_4(x, d + static_cast<std::size_t>(row) * channels + c);
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[i] += x[i];
  };
  if (static_cast<int>(blockIdx.x) >= rows) {
    const int position = static_cast<int>(blockIdx.x) - rows;
    if (!mine) return;
    for (int row = position; row < rows; row += length) add(row);
    store_4(d_positions + static_cast<std::size_t>(position) * channels + c, sum);
    return;
  }
  const int first = blockIdx.x, token = tokens[first];
  bool before = false;
  for (int row = threadIdx.x; row < first; row += embed_threads) before |= tokens[row] == token;
  if (__syncthreads_or(before)) return;
  if (mine) add(first);
  for (int from = first + 1; from < rows; from += embed_threads) {  // adds them in the order of the rows
    const int row = from + static_cast<int>(threadIdx.x);
    bool same = row < rows && tokens[row] == token;
    while (__syncthreads_or(same)) {
      if (threadIdx.x == 0) next = rows;
      __syncthreads();
      if (same) atomicMin(&next, row);
      __syncthreads();
      if (mine) add(next);
      if (row == next) same = false;
      __syncthreads();
    }
  }
  if (!mine) return;
  bf16* const to = d_tokens + static_cast<std::size_t>(token) * channels + c;
  float old[4];
  load_4(old, to);
#pragma unroll
  for (int i = 0; i < 4; ++i) sum[i] += old[i];
  store_4(to, sum);
}

// ---- LayerNorm: a warp has a row ------------------------------------------------------------------------------------

constexpr int norm_warps = 4, norm_threads = 32 * norm_warps, backward_warps = 8,
              backward_threads = 32 * backward_warps;

template <int parts>
__global__ void __launch_bounds__(norm_threads)
    add_and_norm_kernel(float* sum, bf16* out, float* means, float* rstds, const float* x, const bf16* addend,
                        const float* weight, const float* bias, int rows, int channels) {
  const int row = blockIdx.x * norm_warps + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (row >= rows) return;
  const std::size_t start = static_cast<std::size_t>(row) * channels;
  float v[parts][4], total = 0.0f, squares = 0.0f;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int c = 128 * p + 4 * lane;
#pragma unroll
    for (float& one : v[p]) one = 0.0f;
    if (c >= channels) continue;
    load_4(v[p], x + start + c);
    if (addend) {
      float more[4];
      load_4(more, addend + start + c);
#pragma unroll
      for (int i = 0; i < 4; ++i) v[p][i] += more[i];
      store_4(sum + start + c, v[p]);
    }
#pragma unroll
    for (const float one : v[p]) total += one;
  }
  const float mean = warp_sum(total) / channels;
#pragma unroll
  for (int p = 0; p < parts; ++p)
    if (128 * p + 4 * lane < channels)
#pragma unroll
      for (float& one : v[p]) one -= mean, squares += one * one;
  const float rstd = rsqrtf(warp_sum(squares) / channels + 1e-5f);
  if (lane == 0) means[row] = mean, rstds[row] = rstd;
#pragma unroll
  for (int p = 0; p < parts; ++p) {
    const int c = 128 * p + 4 * lane;
    if (c >= channels) continue;
    float w[4], b[4];
    load_4(w, weight + c);
    load_4(b, bias + c);
#pragma unroll
    for (int i = 0; i < 4; ++i) v[p][i] = v[p][i] * rstd * w[i] + b[i];
    store_4(out + start + c, v[p]);
  }
}

/// Lanes also hold the three sums over rows of all their columns.
template <int parts>
__global__ void __launch_bounds__(backward_threads, 1)
    norm_backward_kernel(float* d, bf16* d_rounded, float* of_weight, float* of_bias, float* of_d, int pitch,
                         bool fresh, const float* x, const float* means, const float* rstds, const float* weight,
                         const bf16* d_out, int rows, int channels) {
  __shared__ float of_warps[backward_warps][128 * parts];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  float sums[3][parts][4] = {}, w[parts][4] = {};
#pragma unroll
  for (int p = 0; p < parts; ++p)
    if (128 * p + 4 * lane < channels) load_4(w[p], weight + 128 * p + 4 * lane);
  for (int row = blockIdx.x * backward_warps + warp; row < rows; row += sharers * backward_warps) {
    const std::size_t start = static_cast<std::size_t>(row) * channels;
    const float mean = means[row], rstd = rstds[row];
    float normal[parts][4] = {}, g[parts][4] = {}, old[parts][4] = {}, sum_g = 0.0f, sum_gn = 0.0f;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int c = 128 * p + 4 * lane;
      if (c >= channels) continue;
      load_4(normal[p], x + start + c);
      load_4(g[p], d_out + start + c);
      if (!fresh) load_4(old[p], d + start + c);
    }
#pragma unroll
    for (int p = 0; p < parts; ++p)
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        normal[p][i] = (normal[p][i] - mean) * rstd;
        sums[0][p][i] += g[p][i] * normal[p][i];
        sums[1][p][i] += g[p][i];
        g[p][i] *= w[p][i];
        sum_g += g[p][i], sum_gn += g[p][i] * normal[p][i];
      }
    sum_g = warp_sum(sum_g) / channels, sum_gn = warp_sum(sum_gn) / channels;
#pragma unroll
    for (int p = 0; p < parts; ++p) {
      const int c = 128 * p + 4 * lane;
      if (c >= channels) continue;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        old[p][i] += rstd * (g[p][i] - sum_g - normal[p][i] * sum_gn);
        sums[2][p][i] += old[p][i];
      }
      store_4(d + start + c, old[p]);
      store_4(d_rounded + start + c, old[p]);
    }
  }
  float* const to[] = {of_weight, of_bias, of_d};
#pragma unroll
  for (int k = 0; k < 3; ++k) {
    if (!to[k]) continue;
    __syncthreads();
#pragma unroll
    for (int p = 0; p < parts; ++p) store_4(&of_warps[warp][128 * p + 4 * lane], sums[k][p]);
    __syncthreads();
    for (int c = threadIdx.x; c < channels; c += backward_threads) {
      float sum = 0.0f;
#pragma unroll
      for (int i = 0; i < backward_warps; ++i) sum += of_warps[i][c];
      to[k][static_cast<std::size_t>(blockIdx.x) * pitch + c] = sum;
    }
  }
}

// ---- cross-entropy: a row stays in the registers of 1024 threads ----------------------------------------------------

constexpr int loss_threads = 1024, loss_parts = 7;
constexpr float log2_e = 1.44269504f;

/// 2^x; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

/// The first `count` of eight numbers (possibly none), followed by -infinity, whose weight is 0.
__device__ uint4 without_padding(const uint4& x, int count) {
  unsigned two[] = {x.x, x.y, x.z, x.w};
#pragma unroll
  for (int i = 0; i < 8; ++i)
    if (i >= count) two[i / 2] = i % 2 ? (two[i / 2] & 0xFFFFu) | 0xFF800000u : (two[i / 2] & 0xFFFF0000u) | 0xFF80u;
  return {two[0], two[1], two[2], two[3]};
}

/// The sum or maximum over the block, in all threads.
template <class Combine>
__device__ float of_block(float value, float (&of_warps)[32], const Combine& combine) {
  value = combine(value);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = value;
  __syncthreads();
  return combine(of_warps[threadIdx.x % 32]);
}

__global__ void __launch_bounds__(loss_threads)
    cross_entropy_kernel(float* losses, bf16* logits, const int* targets, const step_numbers* numbers, int vocabulary,
                         int pitch) {
  __shared__ float of_warps[2][32];
  const int target = targets[blockIdx.x];
  bf16* const row = logits + static_cast<std::size_t>(blockIdx.x) * pitch;
  uint4 kept[loss_parts];
  float most = -INFINITY, sum = 0.0f;
  const auto each = [&](const auto& use) {
#pragma unroll
    for (int p = 0; p < loss_parts; ++p) {
      const int c = 8 * (p * loss_threads + static_cast<int>(threadIdx.x));
      if (c < pitch) use(kept[p], c);
    }
  };
  each([&](uint4& x, int c) {
    x = *reinterpret_cast<const uint4*>(row + c);
    if (c + 8 > vocabulary) x = without_padding(x, vocabulary - c);
  });
  const float of_target = target >= 0 ? __bfloat162float(row[target]) : 0.0f;
  each([&](const uint4& x, int) {
    const unsigned two[] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) most = fmaxf(most, fmaxf(low(two[i]), high(two[i])));
  });
  most = of_block(most, of_warps[0], warp_max);  // its barrier is after the load of row[target]
  const float shift = most * log2_e;
  const auto weight = [&](float logit) { return power_of_2(logit * log2_e - shift); };
  each([&](const uint4& x, int) {
    const unsigned two[] = {x.x, x.y, x.z, x.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) sum += weight(low(two[i])) + weight(high(two[i]));
  });
  sum = of_block(sum, of_warps[1], warp_sum);
  const float scale = target >= 0 ? numbers->scale : 0.0f, share = scale / sum;
  each([&](const uint4& x, int c) {
    const unsigned two[] = {x.x, x.y, x.z, x.w};
    float d[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      const float logit = i % 2 ? high(two[i / 2]) : low(two[i / 2]);
      d[i] = share * weight(logit);
    }
    if (c == target / 8 * 8 && target >= 0)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        if (c + i == target) d[i] -= scale;
    store_8(row + c, d);
  });
  if (threadIdx.x == 0) losses[blockIdx.x] = target >= 0 ? most + __logf(sum) - of_target : 0.0f;
}

// ---- AdamW ----------------------------------------------------------------------------------------------------------

__global__ void adamw_kernel(float* w, float* m, float* v, bf16* rounded, const bf16* gradient, std::size_t count,
                             std::size_t decayed, adamw_settings with, const step_numbers* numbers) {
  const std::size_t at = (static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
  if (at >= count) return;
  const float correction1 = with.learning_rate * numbers->correction1, correction2 = numbers->correction2;
  const float kept = at < decayed ? 1.0f - with.learning_rate * with.weight_decay : 1.0f;
  float of_w[4], of_m[4], of_v[4], g[4];
  load_4(of_w, w + at);
  load_4(of_m, m + at);
  load_4(of_v, v + at);
  load_4(g, gradient + at);
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    of_m[i] = with.beta1 * of_m[i] + (1.0f - with.beta1) * g[i];
    of_v[i] = with.beta2 * of_v[i] + (1.0f - with.beta2) * g[i] * g[i];
    of_w[i] = kept * of_w[i] - correction1 * of_m[i] / (sqrtf(of_v[i]) * correction2 + with.epsilon);
  }
  store_4(w + at, of_w);
  store_4(m + at, of_m);
  store_4(v + at, of_v);
  store_4(rounded + at, of_w);
}

}  // namespace

void sum_partial(bf16* gradient, const float* partial, int columns, cudaStream_t stream) {
  sum_partial_kernel<<<blocks_for(columns, 128), 128, 0, stream>>>(gradient, partial, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void embed(float* x, const float* token_weights, const float* position_weights, const int* tokens, int rows, int length,
           int channels, cudaStream_t stream) {
  embed_kernel<<<rows, channels / 4, 0, stream>>>(x, token_weights, position_weights, tokens, length, channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void embed_backward(bf16* d_tokens, bf16* d_positions, const float* d, const int* tokens, int rows, int length,
                    int channels, cudaStream_t stream) {
  embed_backward_kernel<<<rows + length, embed_threads, 0, stream>>>(d_tokens, d_positions, d, tokens, rows, length,
                                                                     channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void add_and_norm(float* sum, bf16* out, float* mean, float* rstd, const float* x, const bf16* addend,
                  const float* weight, const float* bias, int rows, int channels, cudaStream_t stream) {
  const auto kernel = channels <= 128   ? add_and_norm_kernel<1>
                      : channels <= 768 ? add_and_norm_kernel<6>
                                        : add_and_norm_kernel<8>;
  kernel<<<blocks_for(rows, norm_warps), norm_threads, 0, stream>>>(sum, out, mean, rstd, x, addend, weight, bias, rows,
                                                                    channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void norm_backward(float* d, bf16* d_rounded, float* of_weight, float* of_bias, float* of_d, int pitch, bool fresh,
                   const float* x, const float* mean, const float* rstd, const float* weight, const bf16* d_out,
                   int rows, int channels, cudaStream_t stream) {
  const auto kernel = channels <= 128   ? norm_backward_kernel<1>
                      : channels <= 768 ? norm_backward_kernel<6>
                                        : norm_backward_kernel<8>;
  kernel<<<sharers, backward_threads, 0, stream>>>(d, d_rounded, of_weight, of_bias, of_d, pitch, fresh, x, mean, rstd,
                                                   weight, d_out, rows, channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gelu_backward(bf16* d_in, float* partial, int pitch, const bf16* in, const bf16* d_out, int rows, int columns,
                   cudaStream_t stream) {
  column_kernel<true>
      <<<dim3(blocks_for(columns / 8, column_threads), sharers), dim3(column_threads, at_once), 0, stream>>>(
          d_in, partial, pitch, in, d_out, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void column_sums(float* partial, int pitch, const bf16* in, int rows, int columns, cudaStream_t stream) {
  column_kernel<false>
      <<<dim3(blocks_for(columns / 8, column_threads), sharers), dim3(column_threads, at_once), 0, stream>>>(
          nullptr, partial, pitch, nullptr, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void cross_entropy(float* losses, bf16* logits, const int* targets, const step_numbers* numbers, int rows,
                   int vocabulary, int pitch, cudaStream_t stream) {
  cross_entropy_kernel<<<rows, loss_threads, 0, stream>>>(losses, logits, targets, numbers, vocabulary, pitch);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void adamw(float* w, float* m, float* v, bf16* rounded, const bf16* gradient, std::size_t count, std::size_t decayed,
           const adamw_settings& with, const step_numbers* numbers, cudaStream_t stream) {
  adamw_kernel<<<blocks_for(count / 4, 256), 256, 0, stream>>>(w, m, v, rounded, gradient, count, decayed, with,
                                                               numbers);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14::mixed
