// How far Hopper goes: lab 11's attention with the Tensor Memory Accelerator (TMA) and wgmma. For GPUs of compute
// capability 9.0 and the simulated device, heads of 128, bf16. hopper_check.cu checks it, measure.py compares it with
// PyTorch's.
//
// A block takes 128 queries at a time, and has three groups of 128 threads. One thread of the first copies queries, and
// tiles of 128 keys and values, into two buffers each. The other two groups have 64 queries each. While the tensor
// cores multiply a tile's weights by its values, the group computes the softmax of the next tile's scores
// (FlashAttention-3: Shah et al., 2024). Blocks stay, so that the next queries arrive while the last result leaves.
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <lab/device.hpp>
#include <lab/hopper.hpp>

namespace {

using namespace lab::hopper;
using bf16 = __nv_bfloat16;

// ---- The instructions ----------------------------------------------------------------------------------------------

/// Copies the box of a tensor (heads, tokens, columns) that begins at (head, row, column).
__device__ void copy_box(void* to, const CUtensorMap& map, arrivals& arrived, int head, int row, int column) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(address(to)),
      "l"(&map), "r"(address(&arrived)), "r"(column), "r"(row), "r"(head)
      : "memory");
}
__device__ void store_box(const CUtensorMap& map, const void* from, int head, int row, int column) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(address(from)), "r"(column), "r"(row), "r"(head)
               : "memory");
}

#define EIGHT(from)                                                                                             \
  "+f"(d[from]), "+f"(d[from + 1]), "+f"(d[from + 2]), "+f"(d[from + 3]), "+f"(d[from + 4]), "+f"(d[from + 5]), \
      "+f"(d[from + 6]), "+f"(d[from + 7])
#define ALL_64 EIGHT(0), EIGHT(8), EIGHT(16), EIGHT(24), EIGHT(32), EIGHT(40), EIGHT(48), EIGHT(56)
#define SUMS                                                                                                        \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, %25, %26, %27, %28, %29, %30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, "  \
  "%46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}"

/// d = a b^T + (add ? d : 0): 64 x 128 elements, 16 columns of each, by 128 threads.
__device__ void multiply_rows(float (&d)[64], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " SUMS
               ", %64, %65, p, 1, 1, 0, 0;\n}"
               : ALL_64
               : "l"(a), "l"(b), "r"(add));
}
/// d = a b + (add ? d : 0): the left factor in registers, 16 rows of b.
__device__ void multiply(float (&d)[64], const unsigned (&a)[4], std::uint64_t b, int add) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 " SUMS
               ", {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
               : ALL_64
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
__device__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int under_way>
__device__ void wait_for_products(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %64;" : ALL_64 : "n"(under_way) : "memory");
}

/// 2^x; results below 2^-126 are 0.
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// ---- The kernel ----------------------------------------------------------------------------------------------------

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
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();

  const int pieces = heads * ((tokens - 1) / queries + 1);
  const int role = threadIdx.x / warpgroup, thread = threadIdx.x % warpgroup;
  turn of_q, of_k, of_v;
  if (role == 0) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
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
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  const int group = role - 1, lane = thread % 32;
  float out[64], score[64], most[2], total[2], kept[2];
  unsigned weights[8][4];

  const auto scores_of = [&] {
    s.k_filled[of_k.stage].wait(of_k.phase);
    fence();
#pragma unroll
    for (int i = 0; i < size / 16; ++i)
      multiply_rows(score, factor(s.q[of_q.stage][group][i / 4], 16, 8 * line) + static_cast<unsigned>(i % 4 * 2),
                    factor(s.k[of_k.stage][i / 4], 16, 8 * line) + static_cast<unsigned>(i % 4 * 2), i > 0);
    commit();
  };
  const auto release_k = [&] {
    if (thread == 0) s.k_emptied[of_k.stage].arrive();
    of_k.next();
  };
  const auto values_of = [&](bool add) {
    s.v_filled[of_v.stage].wait(of_v.phase);
    fence();
#pragma unroll
    for (int i = 0; i < keys / 16; ++i)
      multiply(out, weights[i], factor(s.v[of_v.stage][0], keys * line, 8 * line) + static_cast<unsigned>(i * line),
               add || i > 0);
    commit();
  };
  const auto release_v = [&] {
    if (thread == 0) s.v_emptied[of_v.stage].arrive();
    of_v.next();
  };
  // The two groups take turns: while one computes a softmax, the other's products have the tensor cores.
  const auto my_turn = [&] { asm volatile("bar.sync %0, 256;" ::"r"(1 + group) : "memory"); };
  const auto your_turn = [&] { asm volatile("bar.arrive %0, 256;" ::"r"(2 - group) : "memory"); };
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

    // The result goes to where the group's queries were, swizzled as they, and whole rows from there.
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
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("bar.sync %0, 128;" ::"r"(3 + group) : "memory");
    if (thread == 0) {
      for (int b = 0; b < boxes; ++b) store_box(map_out, result[b], p.head, p.first + group * own_queries, b * box);
      asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::: "memory");
      s.q_emptied[of_q.stage].arrive();
    }
  }
  if (group == 0) my_turn();  // the other's last
}

/// A tensor (heads, tokens, size) in boxes of box_rows x 128 bytes of one head.
CUtensorMap map_of(const bf16* p, int heads, int tokens, int box_rows) {
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how;
    LAB_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how));
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  }();
  CUtensorMap map;
  const cuuint64_t sizes[] = {size, static_cast<cuuint64_t>(tokens), static_cast<cuuint64_t>(heads)};
  const cuuint64_t pitches[] = {size * sizeof(bf16), static_cast<cuuint64_t>(tokens) * size * sizeof(bf16)};
  const cuuint32_t a_box[] = {box, static_cast<cuuint32_t>(box_rows), 1}, apart[] = {1, 1, 1};
  if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 3, const_cast<bf16*>(p), sizes, pitches, a_box, apart,
             CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::fprintf(stderr, "hopper: no tensor map for %d heads of %d tokens\n", heads, tokens);
    std::exit(1);
  }
  return map;
}

}  // namespace

/// q, k, v, out (heads, tokens, 128), lse (heads, tokens); device pointers, aligned to 16 bytes.
extern "C" void attention_hopper(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads,
                                 int tokens, int causal, cudaStream_t stream) {
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
  kernel<<<std::min(multiprocessors, heads * ((tokens - 1) / queries + 1)), threads, bytes, stream>>>(
      map_of(q, heads, tokens, own_queries), map_of(k, heads, tokens, keys), map_of(v, heads, tokens, keys),
      map_of(out, heads, tokens, own_queries), lse, heads, tokens, together, 1.44269504f / sqrtf(size));
  LAB_CUDA_CHECK(cudaGetLastError());
}
