#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/std/array>
#include <cuda/std/limits>
#include <lab/device.hpp>
#include "decode.hpp"

namespace cg = cooperative_groups;
namespace lab10 {

using warp_t = cg::thread_block_tile<32>;
static constexpr int W = 4;  // warps in a block

__device__ static float dot(const warp_t& warp, const bf16* row, const float* x, const bf16* gain, int columns) {
  float sum = 0;
  for (int c = 2 * warp.thread_rank(); c < columns; c += 2 * warp.size()) {
    float2 w = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(row + c));
    if (gain) {
      const float2 g = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(gain + c));
      w.x *= g.x, w.y *= g.y;
    }
    const float2 in = *reinterpret_cast<const float2*>(x + c);
    sum = fmaf(w.x, in.x, fmaf(w.y, in.y, sum));
  }
  return cg::reduce(warp, sum, cg::plus<float>());
}

__device__ static float root_mean_square(const warp_t& warp, const float* x, int columns) {
  float squares = 0;
  for (int c = warp.thread_rank(); c < columns; c += warp.size()) squares += x[c] * x[c];
  return sqrtf(cg::reduce(warp, squares, cg::plus<float>()) / columns + 1e-5f);
}

enum class what { plain, normalized, gated };

template <what kind>
__global__ void __launch_bounds__(32 * W) rows_kernel(float* y, const bf16* w, const float* x, const bf16* norm, const float* residual, int rows, int columns) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int row = blockIdx.x * W + warp.meta_group_rank();
  if (row >= rows) return;
  float result = dot(warp, w + size_t(row) * columns, x, norm, columns);
  if constexpr (kind != what::plain) {
    const float root = root_mean_square(warp, x, columns);
    result /= root;
    if constexpr (kind == what::gated) {
      const float up = dot(warp, w + (size_t(row) + rows) * columns, x, norm, columns) / root;
      result = result / (1.f + __expf(-result)) * up;
    }
  }
  if (warp.thread_rank() == 0) y[row] = residual ? result + residual[row] : result;
}

template <what kind>
static void rows_of(float* y, const bf16* w, const float* x, const bf16* norm, const float* residual, int rows, int columns, cudaStream_t s) {
  rows_kernel<kind><<<(rows + W - 1) / W, 32 * W, 0, s>>>(y, w, x, norm, residual, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void matvec(float* y, const bf16* w, const float* x, const float* residual, int rows, int columns, cudaStream_t stream) {
  rows_of<what::plain>(y, w, x, nullptr, residual, rows, columns, stream);
}
void norm_matvec(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) {
  rows_of<what::normalized>(y, w, x, norm, nullptr, rows, columns, stream);
}
void norm_gate(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) {
  rows_of<what::gated>(y, w, x, norm, nullptr, rows, columns, stream);
}

struct complex_number {
  float re, im;
  __device__ friend complex_number operator*(complex_number a, complex_number b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
};

__global__ void rotate(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position, int heads, int kv_heads, int size, int capacity) {
  const int pairs = (heads + 2 * kv_heads) * size / 2;
  for (int i = cg::this_grid().thread_rank(); i < pairs; i += cg::this_grid().size()) {
    const int head = 2 * i / size, at = 2 * i % size;
    complex_number z{qkv[2 * i], qkv[2 * i + 1]};
    if (head < heads + kv_heads) z = z * complex_number{rotary[*position * size + at], rotary[*position * size + at + 1]};
    if (head < heads) {
      q[2 * i] = z.re;
      q[2 * i + 1] = z.im;
    } else {
      const bool key = head < heads + kv_heads;
      const int own = head - heads - (key ? 0 : kv_heads);
      bf16* const to = (key ? k_cache : v_cache) + (size_t(own) * capacity + *position) * size + at;
      to[0] = __float2bfloat16(z.re);
      to[1] = __float2bfloat16(z.im);
    }
  }
}

void rotate_append(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position, int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  rotate<<<((heads + 2 * kv_heads) * size / 2 + 127) / 128, 128, 0, stream>>>(q, k_cache, v_cache, qkv, rotary, position, heads, kv_heads, size, capacity);
  LAB_CUDA_CHECK(cudaGetLastError());
}

// one block per query head; its warps take turns with the keys, and meet in shared memory
template <int size>
__global__ void __launch_bounds__(256) attend_kernel(float* out, const float* q, const bf16* k, const bf16* v, const int* position, int group, int capacity) {
  constexpr int own = size / 32, warps = 8;
  __shared__ float most[warps], total[warps], sums[warps][size];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int me = warp.meta_group_rank(), lane = warp.thread_rank(), tokens = *position + 1;
  const size_t head = size_t(blockIdx.x / group) * capacity * size;
  cuda::std::array<float, own> mine, sum;
  for (int i = 0; i < own; ++i) mine[i] = q[blockIdx.x * size + i * 32 + lane], sum[i] = 0;
  float highest = -cuda::std::numeric_limits<float>::infinity(), weights = 0;
  for (int t = me; t < tokens; t += warps) {
    float score = 0;
    for (int i = 0; i < own; ++i) score += mine[i] * __bfloat162float(k[head + size_t(t) * size + i * 32 + lane]);
    score = cg::reduce(warp, score, cg::plus<float>()) * rsqrtf(size);
    const float now = fmaxf(highest, score), kept = expf(highest - now), weight = expf(score - now);
    highest = now;
    weights = weights * kept + weight;
    for (int i = 0; i < own; ++i) sum[i] = sum[i] * kept + weight * __bfloat162float(v[head + size_t(t) * size + i * 32 + lane]);
  }
  if (lane == 0) most[me] = highest, total[me] = weights;
  for (int i = 0; i < own; ++i) sums[me][i * 32 + lane] = sum[i];
  block.sync();
  if (block.thread_rank() < size) {
    float top = most[0], num = 0, den = 0;
    for (int w = 1; w < warps; ++w) top = fmaxf(top, most[w]);
    for (int w = 0; w < warps; ++w) {
      const float share = total[w] > 0 ? expf(most[w] - top) : 0.f;
      num += share * sums[w][block.thread_rank()];
      den += share * total[w];
    }
    out[blockIdx.x * size + block.thread_rank()] = num / den;
  }
}

void attend(float* out, float*, const float* q, const bf16* k_cache, const bf16* v_cache, const int* position, int heads, int kv_heads, int size, int capacity, cudaStream_t stream) {
  const auto kernel = size == 64 ? attend_kernel<64> : attend_kernel<128>;
  kernel<<<heads, 256, 0, stream>>>(out, q, k_cache, v_cache, position, heads / kv_heads, capacity);
  LAB_CUDA_CHECK(cudaGetLastError());
}

__global__ void embed(float* x, const bf16* table, const int* token, int width) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < width) x[i] = table[size_t(*token) * width + i];
}

class carve {
 public:
  explicit carve(float* from) : next_(from) {}
  float* operator()(int n) { return std::exchange(next_, next_ + n); }

 private:
  float* next_;
};

void decode_token(float* logits, const model& m, const state& s, cudaStream_t stream) {
  const shape& d = m.shape;
  carve take(s.scratch);
  const int qkv_rows = (d.heads + 2 * d.kv_heads) * d.size;
  float *x = take(d.width), *hidden = take(d.hidden), *qkv = take(qkv_rows), *q = take(d.heads * d.size), *attention = take(d.heads * d.size);
  embed<<<(d.width + 127) / 128, 128, 0, stream>>>(x, m.embedding, s.token, d.width);
  for (const layer* l = m.layers; l != m.layers + d.layers; ++l) {
    const size_t cache = size_t(l - m.layers) * d.kv_heads * d.capacity * d.size;
    norm_matvec(qkv, l->qkv, x, l->norm1, qkv_rows, d.width, stream);
    rotate_append(q, s.k_cache + cache, s.v_cache + cache, qkv, m.rotary, s.position, d.heads, d.kv_heads, d.size, d.capacity, stream);
    attend(attention, nullptr, q, s.k_cache + cache, s.v_cache + cache, s.position, d.heads, d.kv_heads, d.size, d.capacity, stream);
    matvec(x, l->out, attention, x, d.width, d.heads * d.size, stream);
    norm_gate(hidden, l->gate_up, x, l->norm2, d.hidden, d.width, stream);
    matvec(x, l->down, hidden, x, d.width, d.hidden, stream);
  }
  norm_matvec(logits, m.embedding, x, m.norm, d.vocabulary, d.width, stream);
}

__global__ void __launch_bounds__(256) choose(int* chosen, const float* logits, int n, int* token, int* position) {
  __shared__ unsigned long long best;
  const auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) best = 0;
  block.sync();
  for (int i = block.thread_rank(); i < n; i += block.size()) {
    const unsigned bits = __float_as_uint(logits[i] + 0.0f);  // -0 becomes 0
    const unsigned ordered = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    atomicMax(&best, static_cast<unsigned long long>(ordered) << 32 | static_cast<unsigned>(n - i));
  }
  block.sync();
  if (block.thread_rank() == 0) {
    *token = chosen[*position] = n - static_cast<int>(best & 0xFFFFFFFFu);
    ++*position;
  }
}

void generate(int* chosen, float* logits, const model& m, const state& s, int count, cudaStream_t stream) {
  while (count-- > 0) {
    decode_token(logits, m, s, stream);
    choose<<<1, 256, 0, stream>>>(chosen, logits, m.shape.vocabulary, s.token, s.position);
    LAB_CUDA_CHECK(cudaGetLastError());
  }
}

}  // namespace lab10
