// Lab 11's attention with the Tensor Memory Accelerator (TMA) and wgmma; measure.py compares it with PyTorch's.
//
// A block takes 128 queries at a time, and has three groups of 128 threads. One thread of the first copies queries, and
// tiles of 128 keys and values, into two buffers each. The other two groups have 64 queries each. While the tensor
// cores multiply a tile's weights by its values, the group computes the softmax of the next tile's scores
// (FlashAttention-3: Shah et al., 2024). Blocks stay, so that the next queries arrive while the last result leaves.
#include "hopper.hpp"

#include <algorithm>

#include "lab/device.hpp"
#include "lab/hopper.hpp"

namespace lab11 {
namespace {

using namespace lab::hopper;

/// 2^x; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

constexpr int size = 128, queries = 128, keys = 128, stages = 2, threads = 384, warpgroup = 128, groups = 2;
constexpr int line = 128, box = 64, boxes = size / box;  // columns of a row of `line` bytes
constexpr int own_queries = queries / groups;

struct tiles {
  alignas(1024) bf16 q[stages][groups][boxes][own_queries * box];  // later the result
  alignas(1024) bf16 k[stages][boxes][keys * box];
  alignas(1024) bf16 v[stages][boxes][keys * box];
  arrivals q_filled[stages], q_emptied[stages], k_filled[stages], k_emptied[stages], v_filled[stages],
      v_emptied[stages];
  int number[stages];  // of the piece whose queries are in q
};

/// Weights of a tile's scores, relative to a maximum that is at least as large as any before: rows g and g + 8 of each
/// warp's 16, in four lanes each. Returns in `kept` what of earlier sums is left.
template <bool masked>
__device__ void softmax(float (&score)[64], float (&most)[2], float (&total)[2], float (&kept)[2], float scale,
                        int first_key, int tokens, int last_key) {
  const int pair = threadIdx.x % 4 * 2;
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float highest = most[r];
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& one = score[4 * j + 2 * r + i];
        if (masked) {
          const int key = first_key + 8 * j + pair + i;
          if (key >= tokens || key > last_key + 8 * r) one = -INFINITY;
        }
        highest = fmaxf(highest, one);
      }
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 1));
    highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, 2));
    kept[r] = power_of_2((most[r] - highest) * scale);
    most[r] = highest;
    const float shift = highest * scale;
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 16; ++j)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float& one = score[4 * j + 2 * r + i];
        one = power_of_2(one * scale - shift);
        sum += one;
      }
    total[r] = total[r] * kept[r] + sum;
  }
}

__device__ void round(unsigned (&weights)[8][4], const float (&score)[64]) {
#pragma unroll
  for (int j = 0; j < 8; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i)
      weights[j][i] = packed(score[8 * j + i / 2 * 4 + i % 2 * 2], score[8 * j + i / 2 * 4 + i % 2 * 2 + 1]);
}

/// A piece of work: 128 queries of one head. Those that run at the same time belong to a few heads, whose keys and
/// values fit L2 together; within these heads the longest way comes first, so that none is left to the end.
struct piece {
  __device__ piece(int number, int heads, int tokens, int heads_at_a_time, bool causal) {
    const int rows = (tokens - 1) / queries + 1, first_head = number / (heads_at_a_time * rows) * heads_at_a_time;
    const int together = min(heads_at_a_time, heads - first_head), within = number - first_head * rows;
    head = first_head + within % together;
    first = (rows - 1 - within / together) * queries;
    steps = ((causal ? min(first + queries, tokens) : tokens) - 1) / keys + 1;
  }
  int head, first, steps;
};

/// How many pieces have been taken. Each block takes until it gets a number that is none: after so many the counter
/// begins again at 0, for the next launch. So one launch at a time.
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

template <bool causal>
__global__ void __launch_bounds__(threads)
    attention(const __grid_constant__ CUtensorMap map_q, const __grid_constant__ CUtensorMap map_k,
              const __grid_constant__ CUtensorMap map_v, const __grid_constant__ CUtensorMap map_out, float* lse,
              int heads, int tokens, int heads_at_a_time, float scale) {
  extern __shared__ std::byte raw[];
  tiles& s = *reinterpret_cast<tiles*>(raw + (1024 - address(raw) % 1024) % 1024);
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      for (arrivals* one : {&s.q_filled[i], &s.k_filled[i], &s.v_filled[i]}) one->init(1);
      for (arrivals* one : {&s.q_emptied[i], &s.k_emptied[i], &s.v_emptied[i]}) one->init(groups);
    }
    fence_init();
  }
  __syncthreads();

  const int pieces = heads * ((tokens - 1) / queries + 1);
  const int role = threadIdx.x / warpgroup, thread = threadIdx.x % warpgroup;
  turn of_q, of_k, of_v;
  if (role == 0) {
    fewer_registers<24>();
    if (thread > 0) return;
    for (;; of_q.next()) {
      const auto number = static_cast<int>(atomicInc(&taken, pieces + gridDim.x - 1));
      s.q_emptied[of_q.stage].wait(of_q.phase ^ 1);
      s.number[of_q.stage] = number;
      if (number >= pieces) {
        s.q_filled[of_q.stage].arrive();
        return;
      }
      const piece p(number, heads, tokens, heads_at_a_time, causal);
      s.q_filled[of_q.stage].arrive_and_expect(sizeof s.q[0]);
      for (int g = 0; g < groups; ++g)
        for (int b = 0; b < boxes; ++b)
          copy_box(s.q[of_q.stage][g][b], map_q, s.q_filled[of_q.stage], p.head, p.first + g * own_queries, b * box);
      for (int t = 0; t < p.steps; ++t, of_k.next()) {
        s.k_emptied[of_k.stage].wait(of_k.phase ^ 1);
        s.k_filled[of_k.stage].arrive_and_expect(sizeof s.k[0]);
        for (int b = 0; b < boxes; ++b)
          copy_box(s.k[of_k.stage][b], map_k, s.k_filled[of_k.stage], p.head, t * keys, b * box);
        s.v_emptied[of_k.stage].wait(of_k.phase ^ 1);
        s.v_filled[of_k.stage].arrive_and_expect(sizeof s.v[0]);
        for (int b = 0; b < boxes; ++b)
          copy_box(s.v[of_k.stage][b], map_v, s.v_filled[of_k.stage], p.head, t * keys, b * box);
      }
    }
  }
  more_registers<240>();
  const int group = role - 1, lane = thread % 32;
  float out[64], score[64], most[2], total[2], kept[2];
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
  // The two groups take turns: while one computes a softmax, the other's products have the tensor cores.
  const auto my_turn = [&] { group_barrier<2 * warpgroup>(1 + group); };
  const auto your_turn = [&] { group_arrive<2 * warpgroup>(2 - group); };
  if (group == 1) your_turn();

  for (;; of_q.next()) {
    s.q_filled[of_q.stage].wait(of_q.phase);
    const int number = s.number[of_q.stage];
    if (number >= pieces) break;
    const piece p(number, heads, tokens, heads_at_a_time, causal);
    const int query = p.first + group * own_queries + thread / 32 * 16 + lane / 4;  // and query + 8
    const auto weigh = [&](int t) {
      if (t == p.steps - 1)
        softmax<true>(score, most, total, kept, scale, t * keys, tokens, causal ? query : tokens);
      else
        softmax<false>(score, most, total, kept, scale, t * keys, tokens, tokens);
    };
    most[0] = most[1] = -INFINITY;
    total[0] = total[1] = 0.0f;
    my_turn();
    scores_of();
    your_turn();
    wait_for_products<0>(score);
    release_k();
    weigh(0);
    round(weights, score);
    for (int t = 1; t < p.steps; ++t) {
      my_turn();
      scores_of();
      values_of(t > 1);
      your_turn();
      wait_for_products<1>(score);
      release_k();
      weigh(t);
      wait_for_products<0>(out);
      release_v();
#pragma unroll
      for (int i = 0; i < 64; ++i) out[i] *= kept[i / 2 % 2];
      round(weights, score);
    }
    values_of(p.steps > 1);
    wait_for_products<0>(out);
    release_v();

    // The result goes where the group's queries were, with the same swizzle; whole rows leave from there.
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      total[r] += __shfl_xor_sync(~0u, total[r], 1);
      total[r] += __shfl_xor_sync(~0u, total[r], 2);
      if (lane % 4 == 0 && query + 8 * r < tokens)
        lse[static_cast<std::size_t>(p.head) * tokens + query + 8 * r] =
            0.69314718f * (most[r] * scale + log2f(total[r]));
      total[r] = 1.0f / total[r];
    }
    const int q = lane / 8, row = thread / 32 * 16 + q % 2 * 8 + lane % 8;
    auto& result = s.q[of_q.stage][group];
#pragma unroll
    for (int j = 0; j < 16; j += 2)
      stmatrix(&result[j / 8][row * box + ((j % 8 + q / 2) ^ (row & 7)) * 8],
               packed(out[4 * j] * total[0], out[4 * j + 1] * total[0]),
               packed(out[4 * j + 2] * total[1], out[4 * j + 3] * total[1]),
               packed(out[4 * j + 4] * total[0], out[4 * j + 5] * total[0]),
               packed(out[4 * j + 6] * total[1], out[4 * j + 7] * total[1]));
    fence_writes();
    group_barrier<warpgroup>(3 + group);
    if (thread == 0) {
      for (int b = 0; b < boxes; ++b) store_box(map_out, result[b], p.head, p.first + group * own_queries, b * box);
      commit_stores();
      wait_for_reads();
      s.q_emptied[of_q.stage].arrive();
    }
  }
  if (group == 0) my_turn();  // the other's last
}

}  // namespace

void attention_hopper(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens,
                      bool causal, cudaStream_t stream) {
  constexpr int bytes = sizeof(tiles) + 1024, l2_share = 16 << 20;
  const auto kernel = causal ? attention<true> : attention<false>;
  static const int multiprocessors = [] {
    int count = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    for (const auto each : {attention<true>, attention<false>})
      LAB_CUDA_CHECK(cudaFuncSetAttribute(each, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    return count;
  }();
  const int together = std::max(1, l2_share / (tokens * 2 * size * static_cast<int>(sizeof(bf16))));
  const auto map = [&](const bf16* p, int rows) { return map_of(p, {heads, tokens, size}, {1, rows, box}); };
  kernel<<<std::min(multiprocessors, heads * ((tokens - 1) / queries + 1)), threads, bytes, stream>>>(
      map(q, own_queries), map(k, keys), map(v, keys), map(out, own_queries), lse, heads, tokens, together,
      1.44269504f / sqrtf(size));
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab11
