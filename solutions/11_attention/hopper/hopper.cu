// Lab 11's attention with the Tensor Memory Accelerator (TMA) and wgmma. results/compare.py compares it with cuDNN's.
//
// A block has two or three groups of 128 threads, with 64 queries each, and a thread that copies queries, and tiles of
// 128 keys and values, into two buffers each. While the tensor cores multiply a tile's weights by its values, a group
// computes the softmax of the next tile's scores (FlashAttention-3: Shah et al., 2024). Blocks stay, so that the next
// queries arrive while the last result leaves.
#include "hopper.hpp"

#include <algorithm>
#include <stdexcept>

#include "lab/device.hpp"
#include "lab/hopper.hpp"
#include "of_gpt2.hpp"

namespace lab11 {
namespace {

using namespace lab::hopper;

/// 2^x; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

constexpr int keys = 128, stages = 2, warpgroup = 128, own_queries = 64;
constexpr int line = 128, box = 64;  // columns of a row of `line` bytes

/// What a block uses for heads of `size` columns. Sums of 64 columns leave registers for a third group: with two, a
/// multiprocessor has too little to do while softmaxes wait for their exponentials.
template <int size>
struct plan {
  static constexpr int groups = size == 64 ? 3 : 2, queries = groups * own_queries, boxes = size / box;
  static constexpr int threads = (groups + 1) * warpgroup;
  static constexpr int registers = groups == 3 ? 160 : 240, registers_of_copier = groups == 3 ? 32 : 24;

  struct tiles {
    alignas(1024) bf16 q[stages][groups][boxes][own_queries * box];  // later the result
    alignas(1024) bf16 k[stages][boxes][keys * box];
    alignas(1024) bf16 v[stages][boxes][keys * box];
    arrivals q_filled[stages], q_emptied[stages], k_filled[stages], k_emptied[stages], v_filled[stages],
        v_emptied[stages];
    int number[stages];  // of the piece whose queries are in q
  };
};

/// A softmax over rows g and g + 8 of each warp's 16, tile by tile; four lanes share a row. Weights are
/// relative to `most`, which follows the largest score only when that is 2^8 times as heavy: earlier sums rarely
/// change.
struct softmax {
  float most[2] = {-INFINITY, -INFINITY}, total[2] = {}, kept[2] = {};

  /// Turns a tile's scores into weights. If it returns true, sums of earlier tiles must be multiplied by `kept`.
  template <bool masked>
  __device__ bool weigh(float (&score)[64], float scale, int first_key, int tokens, int last_key) {
    const int pair = threadIdx.x % 4 * 2;
    float highest[2][2] = {{most[0], -INFINITY}, {most[1], -INFINITY}};  // two chains per row
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& one = score[4 * j + 2 * r + i];
          if (masked) {
            const int key = first_key + 8 * j + pair + i;
            if (key >= tokens || key > last_key + 8 * r) one = -INFINITY;
          }
          highest[r][i] = fmaxf(highest[r][i], one);
        }
    float now[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      now[r] = fmaxf(highest[r][0], highest[r][1]);
      now[r] = fmaxf(now[r], __shfl_xor_sync(~0u, now[r], 1));
      now[r] = fmaxf(now[r], __shfl_xor_sync(~0u, now[r], 2));
    }
    const bool higher =
        __any_sync(~0u, (now[0] - most[0]) * scale > 8.0f || (now[1] - most[1]) * scale > 8.0f);  // for the whole warp
    if (higher)
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        kept[r] = power_of_2((most[r] - now[r]) * scale);
        most[r] = now[r];
        total[r] *= kept[r];
      }
    const float shift[2] = {most[0] * scale, most[1] * scale};
    float sum[2][2] = {};
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int r = 0; r < 2; ++r)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& one = score[4 * j + 2 * r + i];
          one = power_of_2(one * scale - shift[r]);
          sum[r][i] += one;
        }
#pragma unroll
    for (int r = 0; r < 2; ++r) total[r] += sum[r][0] + sum[r][1];
    return higher;
  }
};

__device__ void round(unsigned (&weights)[8][4], const float (&score)[64]) {
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weights[j][i] = packed(score[8 * j + i / 2 * 4 + i % 2 * 2], score[8 * j + i / 2 * 4 + i % 2 * 2 + 1]);
}

/// Where the sums of weights go: log2 of the sum times `unit`, `pitch` numbers apart from head to head.
struct logarithms {
  float* lse;  // or null
  int pitch;
  float unit;
};

/// A piece of work: a block's queries of one head. Those that run at the same time belong to a few heads, whose keys
/// and values fit in L2 together; within these heads the longest pieces come first, so that none is left to the end.
struct piece {
  __device__ piece(int number, int queries, int heads, int tokens, int heads_at_a_time, bool causal) {
    const int rows = (tokens - 1) / queries + 1, first_head = number / (heads_at_a_time * rows) * heads_at_a_time;
    const int together = min(heads_at_a_time, heads - first_head), within = number - first_head * rows;
    head = first_head + within % together;
    first = (rows - 1 - within / together) * queries;
    steps = ((causal ? min(first + queries, tokens) : tokens) - 1) / keys + 1;
  }
  int head, first, steps;
};

/// How many pieces have been taken. Each block takes numbers until one is too large; once all blocks have, the counter
/// begins again at 0, for the next launch. So only one launch may run at a time.
__device__ unsigned taken;

/// Which of two buffers comes next, and the parity of its barriers' phase.
struct turn {
  int stage = 0, phase = 0;
  __device__ void next() {
    stage ^= 1;
    phase ^= stage == 0;
  }
};
static_assert(stages == 2);

template <int size, bool causal>
__global__ void __launch_bounds__(plan<size>::threads)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_out, logarithms lse,
              int heads, int heads_in_a_row, int tokens, int heads_at_a_time, float scale) {
  using plan = plan<size>;
  using tiles = typename plan::tiles;
  constexpr int groups = plan::groups, queries = plan::queries, boxes = plan::boxes;
  extern __shared__ std::byte raw[];
  tiles& s = *reinterpret_cast<tiles*>(raw + (1024 - address(raw) % 1024) % 1024);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      for (arrivals* one : {&s.q_filled[i], &s.k_filled[i], &s.v_filled[i]}) one->init(1);
      for (arrivals* one : {&s.k_emptied[i], &s.v_emptied[i]}) one->init(groups);
      s.q_emptied[i].init(groups * warpgroup);  // all have read `number`
    }
    fence_init();
  }
  __syncthreads();

  const int pieces = heads * ((tokens - 1) / queries + 1);
  // The role comes from a shuffle, which tells the compiler that a warp's threads share it.
  const int role = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / warpgroup, 0), thread = threadIdx.x % warpgroup;
  turn of_q, of_k, of_v;
  if (role == 0) {
    fewer_registers<plan::registers_of_copier>();
    if (thread > 0) return;
    for (;; of_q.next()) {
      const auto number = static_cast<int>(atomicInc(&taken, pieces + gridDim.x - 1));
      s.q_emptied[of_q.stage].wait(of_q.phase ^ 1);
      s.number[of_q.stage] = number;
      if (number >= pieces) {
        s.q_filled[of_q.stage].arrive();
        return;
      }
      const piece p(number, queries, heads, tokens, heads_at_a_time, causal);
      s.q_filled[of_q.stage].arrive_and_expect(sizeof s.q[0]);
      for (int g = 0; g < groups; ++g)
        for (int b = 0; b < boxes; ++b)
          copy_box(s.q[of_q.stage][g][b], map_q, s.q_filled[of_q.stage], p.head / heads_in_a_row,
                   p.first + g * own_queries, p.head % heads_in_a_row * size + b * box);
      for (int t = 0; t < p.steps; ++t, of_k.next()) {
        s.k_emptied[of_k.stage].wait(of_k.phase ^ 1);
        s.k_filled[of_k.stage].arrive_and_expect(sizeof s.k[0]);
        for (int b = 0; b < boxes; ++b)
          copy_box(s.k[of_k.stage][b], map_k, s.k_filled[of_k.stage], p.head / heads_in_a_row, t * keys,
                   p.head % heads_in_a_row * size + b * box);
        s.v_emptied[of_k.stage].wait(of_k.phase ^ 1);
        s.v_filled[of_k.stage].arrive_and_expect(sizeof s.v[0]);
        for (int b = 0; b < boxes; ++b)
          copy_box(s.v[of_k.stage][b], map_v, s.v_filled[of_k.stage], p.head / heads_in_a_row, t * keys,
                   p.head % heads_in_a_row * size + b * box);
      }
    }
  }
  more_registers<plan::registers>();
  const int group = role - 1, lane = thread % 32;
  float out[size / 2], score[64];
  unsigned weights[8][4];

  const auto scores_of = [&] {
    s.k_filled[of_k.stage].wait(of_k.phase);
    fence_products();
#pragma unroll
    for (int i = 0; i < size / 16; ++i)
      multiply_transposed(score, factor(s.q[of_q.stage][group][i / 4], 16, 8 * line) + static_cast<unsigned>(i % 4 * 2),
                          factor(s.k[of_k.stage][i / 4], 16, 8 * line) + static_cast<unsigned>(i % 4 * 2), i > 0);
    commit_products();
  };
  const auto release_k = [&] {
    if (thread == 0) s.k_emptied[of_k.stage].arrive();
    of_k.next();
  };
  const auto values_of = [&](bool add) {
    s.v_filled[of_v.stage].wait(of_v.phase);
    fence_products();
#pragma unroll
    for (int i = 0; i < keys / 16; ++i)
      multiply(out, weights[i], factor(s.v[of_v.stage][0], keys * line, 8 * line) + static_cast<unsigned>(i * line),
               add || i > 0);
    commit_products();
  };
  const auto release_v = [&] {
    if (thread == 0) s.v_emptied[of_v.stage].arrive();
    of_v.next();
  };

  for (;; of_q.next()) {
    s.q_filled[of_q.stage].wait(of_q.phase);
    const int number = s.number[of_q.stage];
    if (number >= pieces) break;
    const piece p(number, queries, heads, tokens, heads_at_a_time, causal);
    const int first = p.first + group * own_queries, query = first + thread / 32 * 16 + lane / 4;  // and query + 8
    const int whole = (causal ? p.first : tokens) / keys;  // tiles in which nothing is masked
    const int steps = causal ? __shfl_sync(~0u, min(p.steps, (first + own_queries - 1) / keys + 1), 0) : p.steps;
    softmax rows;
    const auto weigh = [&](int t) {
      return t < whole ? rows.template weigh<false>(score, scale, t * keys, tokens, tokens)
                       : rows.template weigh<true>(score, scale, t * keys, tokens, causal ? query : tokens);
    };
    scores_of();
    wait_for_products<0>(score);
    release_k();
    weigh(0);
    round(weights, score);
    for (int t = 1; t < steps; ++t) {
      scores_of();
      values_of(t > 1);
      wait_for_products<1>(score);
      release_k();
      const bool higher = weigh(t);
      wait_for_products<0>(out);
      release_v();
      if (higher)
#pragma unroll
        for (int i = 0; i < size / 2; ++i) out[i] *= rows.kept[i / 2 % 2];
      round(weights, score);
    }
    values_of(steps > 1);
    wait_for_products<0>(out);
    release_v();
    for (int t = steps; t < p.steps; ++t) {  // needed only by other groups
      s.k_filled[of_k.stage].wait(of_k.phase);
      release_k();
      s.v_filled[of_v.stage].wait(of_v.phase);
      release_v();
    }

    // The result goes where the group's queries were, with the same swizzle; whole rows leave from there.
    float inverse[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float total = rows.total[r];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      if (lse.lse && lane % 4 == 0 && query + 8 * r < tokens)
        lse.lse[static_cast<std::size_t>(p.head) * lse.pitch + query + 8 * r] =
            lse.unit * (rows.most[r] * scale + log2f(total));
      inverse[r] = 1.0f / total;
    }
    const int q = lane / 8, row = thread / 32 * 16 + q % 2 * 8 + lane % 8;
    auto& result = s.q[of_q.stage][group];
#pragma unroll
    for (int j = 0; j < size / 8; j += 2)
      stmatrix(&result[j / 8][row * box + ((j % 8 + q / 2) ^ (row & 7)) * 8],
               packed(out[4 * j] * inverse[0], out[4 * j + 1] * inverse[0]),
               packed(out[4 * j + 2] * inverse[1], out[4 * j + 3] * inverse[1]),
               packed(out[4 * j + 4] * inverse[0], out[4 * j + 5] * inverse[0]),
               packed(out[4 * j + 6] * inverse[1], out[4 * j + 7] * inverse[1]));
    fence_writes();
    group_barrier<warpgroup>(1 + group);
    if (thread == 0) {
      for (int b = 0; b < boxes; ++b)
        store_box(map_out, result[b], p.head / heads_in_a_row, first, p.head % heads_in_a_row * size + b * box);
      commit_stores();
      wait_for_reads();
    }
    s.q_emptied[of_q.stage].arrive();
  }
}

/// Maps have planes of `heads_in_a_row` heads each, side by side in rows of a token each.
template <int size, class Map>
void launch(const Map& map, logarithms lse, int heads, int heads_in_a_row, int tokens, bool causal,
            cudaStream_t stream) {
  using plan = plan<size>;
  constexpr int bytes = sizeof(typename plan::tiles) + 1024, l2_share = 16 << 20;
  const auto kernel = causal ? attention<size, true> : attention<size, false>;
  static const int multiprocessors = [] {
    int count = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    for (const auto each : {attention<size, true>, attention<size, false>})
      LAB_CUDA_CHECK(cudaFuncSetAttribute(each, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return count;
  }();
  const int together = std::max(1, l2_share / (tokens * 2 * size * static_cast<int>(sizeof(bf16))));
  const int pieces = heads * ((tokens - 1) / plan::queries + 1);
  const CUtensorMap q = map(0, own_queries), k = map(1, keys), v = map(2, keys), out = map(3, own_queries);
  kernel<<<std::min(multiprocessors, pieces), plan::threads, bytes, stream>>>(
      q, k, v, out, lse, heads, heads_in_a_row, tokens, together, 1.44269504f / sqrtf(size));
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void attention_hopper(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                      int size, bool causal, cudaStream_t stream) {
  if (size != 64 && size != 128) throw std::invalid_argument("attention_hopper: heads have 64 or 128 columns");
  const bf16* const all[] = {q, k, v, out};
  const auto map = [&](int which, int rows) { return map_of(all[which], {heads, tokens, size}, {1, rows, box}); };
  const logarithms natural{lse, tokens, 0.69314718f};
  if (size == 64)
    launch<64>(map, natural, heads, 1, tokens, causal, stream);
  else
    launch<128>(map, natural, heads, 1, tokens, causal, stream);
}

void attention_of_gpt2(bf16* out, float* lse, int pitch, const bf16* qkv, int batch, int tokens, int heads,
                       cudaStream_t stream) {
  const int columns = heads * 64;
  const auto map = [&](int which, int rows) {
    return which < 3 ? map_of(qkv + which * columns, {batch, tokens, columns}, {1, rows, box}, 3 * columns)
                     : map_of(out, {batch, tokens, columns}, {1, rows, box});
  };
  launch<64>(map, {lse, pitch, 1.0f}, batch * heads, heads, tokens, true, stream);
}

}  // namespace lab11
