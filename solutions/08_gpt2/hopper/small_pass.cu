// All layers of GPT-2 124M for up to four sequences of at most 64 tokens in one kernel. Separate kernels spend most of
// their time waiting: for the launch, for the first weights, for the last block. Here 24 blocks per sequence stay for
// the whole pass, and a layer is four products of theirs:
//
//   QKV, then attention | projection, x += | expand, GELU | contract, x +=
//
// - After each of the four, the blocks of a sequence meet at a counter in memory that only rises. Weights do not wait
//   for that: a thread of each block copies its share of all layers, in order, into a ring of tiles in shared memory.
// - A block computes 64 x 128 sums (64 x 96 for QKV) in steps of 64 along k: four warps by wgmma. Four others prepare
//   what comes next, and all eight do the rest. A cluster of four blocks has the columns of two heads, or 512 columns
//   of the MLP; or the same 128 columns and a quarter of k each. In bulk copies from shared to shared memory, its
//   blocks exchange queries, keys and values for attention, and partial sums, rounded to bf16.
// - The residual stream x stays in registers, in FP32: always the same 16 x 128 elements per block. No pass over it
//   computes a LayerNorm. With its weights w, b, a matrix W, and a row's mean m and deviation d,
//   W (w (x - m) / d + b) = (W (w x) - m W w) / d + W b. So the blocks write w x, and each row's mean and squares over
//   128 columns; the next product's results become those of the normalized row. W w and W b are computed once.
#include "small_pass.cuh"

#include <memory>

#include "lab/device.hpp"
#include "lab/hopper.hpp"
#include "lab/tensor_core.hpp"

namespace lab08 {
namespace {

using namespace lab::hopper;
using bf16 = __nv_bfloat16;

constexpr int channels = 768, heads = 12, size = 64;                  // of a head
constexpr int rows = 64, columns = 128, qkv_columns = 96, step = 64;  // of a block's sums; along k
constexpr int ranks = 4, clusters = channels / columns, blocks = ranks * clusters, sequences = 4;  // at most
constexpr int multiplying = 128, computing = 256, threads = computing + 128;
constexpr int stages = 7, a_bytes = rows * step * 2;
constexpr int part = qkv_columns / 3, pitch = part + 8;           // a block's columns of queries, of keys, of values
constexpr int own_rows = rows / ranks, pitch_sums = columns + 8;  // pitches such that rows meet different banks
static_assert(channels % (ranks * step) == 0 && 3 * 2 * size == ranks * qkv_columns && heads == 2 * clusters);

struct tiles {
  alignas(1024) bf16 a[stages][rows * step];
  alignas(1024) bf16 b[stages][columns * step];
  union {
    struct {
      bf16 qkv[3][rows * pitch];                                   // this block's half of a head
      bf16 q[rows / 2 * pitch], k[rows * pitch], v[rows * pitch];  // the other half, of queries only this block's rows
    };
    struct {
      bf16 sums[rows * pitch_sums], received[ranks - 1][own_rows * pitch_sums];
    };
  };
  alignas(16) float2 folded[columns], parts[rows * clusters], norms[rows];
  arrivals filled[stages], emptied[stages], parts_filled, exchanged;
  unsigned long long begun;
};

struct arguments {
  CUtensorMap qkv, projection, expand, contract;  // weights, all layers
  CUtensorMap of_x, of_mixed, of_hidden;          // left factors
  // w x, 64 columns of all rows after another, so that a tile is contiguous; results of attention, GELU, last LayerNorm
  bf16 *x, *mixed, *hidden, *out;
  float2* parts;                             // (rows, clusters): mean, and squared distances from it
  const float2 *qkv_folded, *expand_folded;  // for each output: W w, W b + bias of the product
  const bf16 *projection_bias, *contract_bias, *token_embedding, *position_embedding;
  const float *norm1, *norm2, *last_norm, *last_norm_bias;  // weights of LayerNorms, all layers
  const int* ids;
  unsigned long long* counters;  // one per sequence, 128 bytes apart
  int layers, tokens;
};

struct ring {
  int stage = 0, phase = 0;
  __device__ void next() {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  }
};

// ---- where the blocks of a sequence meet

struct place {
  int rank, cluster, sequence;
  unsigned long long *counter, target;  // the counter reaches the target when all have arrived

  __device__ unsigned long long count() const {
    unsigned long long found;
    asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(counter) : "memory");
    return found;
  }
  /// The next call waits for the blocks' next arrival.
  __device__ void wait() {
    target += blocks;
    while (count() < target) {
    }
    asm volatile("fence.proxy.async.global;" ::: "memory");  // what they wrote may be read by TMA
  }
  /// One thread arrives when all of its block have written.
  __device__ void arrive() const { asm volatile("red.release.gpu.global.add.u64 [%0], 1;" ::"l"(counter) : "memory"); }
};

// ---- LayerNorm

/// A row's mean and 1 / deviation.
__device__ float2 norm_of(const float2* parts) {
  float mean = 0.0f, squares = 0.0f;
  for (int i = 0; i < clusters; ++i) mean += parts[i].x / clusters;
  for (int i = 0; i < clusters; ++i) squares += parts[i].y + columns * (parts[i].x - mean) * (parts[i].x - mean);
  return make_float2(mean, rsqrtf(squares / channels + 1e-5f));
}

/// 16 threads have a row of 128 elements of x: x[4 i + c] is in column 64 i + 4 (thread % 16) + c.
struct residual {
  float x[8] = {};
  int row, column;  // of the cluster's 64 x 128

  __device__ void add(int i, uint2 four) {
    x[4 * i] += __uint_as_float(four.x << 16), x[4 * i + 1] += __uint_as_float(four.x & 0xFFFF0000u);
    x[4 * i + 2] += __uint_as_float(four.y << 16), x[4 * i + 3] += __uint_as_float(four.y & 0xFFFF0000u);
  }
  __device__ uint2 normalized(int i, const float4& w, const float4& b, float mean, float factor) const {
    const float* const v = x + 4 * i;
    return make_uint2(packed((v[0] - mean) * factor * w.x + b.x, (v[1] - mean) * factor * w.y + b.y),
                      packed((v[2] - mean) * factor * w.z + b.z, (v[3] - mean) * factor * w.w + b.w));
  }
  __device__ float sum_of_row(float value) const {
    for (int distance = 8; distance > 0; distance /= 2) value += __shfl_xor_sync(~0u, value, distance);
    return value;
  }
  /// Writes w x, and this part's mean and squares.
  __device__ void publish(const arguments& in, const place& at, const float4 (&w)[2]) const {
    const int global_row = at.sequence * rows + row;
    float sum = 0.0f, squares = 0.0f;
    for (const float v : x) sum += v;
    const float mean = sum_of_row(sum) / columns;
    for (const float v : x) squares += (v - mean) * (v - mean);
    squares = sum_of_row(squares);
    if (threadIdx.x % 16 == 0) in.parts[global_row * clusters + at.cluster] = make_float2(mean, squares);
#pragma unroll
    for (int i = 0; i < 2; ++i)
      *reinterpret_cast<uint2*>(in.x + ((at.cluster * 2 + i) * sequences * rows + global_row) * step + column) =
          normalized(i, w[i], {}, 0.0f, 1.0f);
  }
};

__device__ float gelu(float x) {
  float tanh;
  asm("tanh.approx.f32 %0, %1;" : "=f"(tanh) : "f"(0.79788456f * x * (1.0f + 0.044715f * x * x)));
  return 0.5f * x * (1.0f + tanh);
}
/// 2^x
__device__ float power_of_2(float x) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
}

// ---- the computing threads' work

/// The sums of `steps` tiles of the ring.
template <int n>
__device__ void product(float (&d)[n], tiles& s, ring& at, int steps) {
  for (float& sum : d) sum = 0.0f;
  int before = 0;
  const auto release = [&] {
    if (threadIdx.x % 32 == 0) s.emptied[before].arrive();
  };
#pragma unroll 1
  for (int k = 0; k < steps; ++k) {
    s.filled[at.stage].wait(at.phase);
    const std::uint64_t a = factor(s.a[at.stage], 16, 1024), b = factor(s.b[at.stage], 16, 1024);
    fence_products();
#pragma unroll
    for (unsigned i = 0; i < step / 8; i += 2) multiply_transposed(d, a + i, b + i, 1);
    commit_products();
    wait_for_products<1>();
    if (k > 0) release();
    before = at.stage;
    at.next();
  }
  wait_for_products<0>();
  release();
}

/// d as products of normalized rows.
template <int n>
__device__ void normalize(float (&d)[n], const tiles& s) {
  const int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
  const float2 of_row[2] = {s.norms[row], s.norms[row + 8]};
#pragma unroll
  for (int i = 0; i < n; i += 4) {
    const float4 two = *reinterpret_cast<const float4*>(s.folded + 2 * i + threadIdx.x % 4 * 2);
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      const auto [mean, factor] = of_row[r];
      d[i + 2 * r] = factor * (d[i + 2 * r] - mean * two.x) + two.y;
      d[i + 2 * r + 1] = factor * (d[i + 2 * r + 1] - mean * two.z) + two.w;
    }
  }
}

/// Writes sums, rounded. After `width` columns come the next ones' rows.
template <int width, int pitch, int n>
__device__ void store(bf16* to, const float (&d)[n]) {
  to += (threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4) * pitch + threadIdx.x % 4 * 2;
#pragma unroll
  for (int i = 0; i < n; i += 2) {
    const int column = i / 4 * 8;
    *reinterpret_cast<unsigned*>(to + (column / width * rows + i / 2 % 2 * 8) * pitch + column % width) =
        packed(d[i], d[i + 1]);
  }
}

/// 32 queries of a head: a warp computes the scores of 16, then 16 columns of the result.
__device__ void attention(const arguments& in, tiles& s, const place& at, int parity) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, which = warp % 2, quarter = warp / 2, pair = lane % 4 * 2;
  const int half = at.rank % 2, query = half * 32 + which * 16 + lane / 4;
  float scores[8][4] = {}, result[2][4] = {}, total[2];
#pragma unroll
  for (const bool own : {true, false}) {  // 32 columns of the head that this block computed, and 32 of the other block
    if (!own) s.exchanged.wait(parity);
    const bf16 *const q = own ? s.qkv[0] + half * (rows / 2) * pitch : s.q, *const k = own ? s.qkv[1] : s.k;
    unsigned of_q[2][4];
    for (int i = 0; i < 2; ++i) lab::ldmatrix(of_q[i], q + (16 * which + lane % 16) * pitch + 16 * i + lane / 16 * 8);
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      unsigned of_k[4];
      lab::ldmatrix(of_k, k + (8 * n + lane % 8) * pitch + lane / 8 * 8);
      lab::mma(scores[n], of_q[0], {of_k[0], of_k[1]});
      lab::mma(scores[n], of_q[1], {of_k[2], of_k[3]});
    }
  }
  constexpr float scale = 0.125f * 1.44269504f;  // 1 / sqrt(size); exp(x) = 2^(x log2(e))
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float most = -INFINITY, sum = 0.0f;
    for (int n = 0; n < 8; ++n)
      for (int i = 2 * r; i < 2 * r + 2; ++i) {
        if (8 * n + pair + i % 2 > query + 8 * r) scores[n][i] = -INFINITY;
        most = fmaxf(most, scores[n][i]);
      }
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
    most = fmaxf(most, __shfl_xor_sync(~0u, most, 2)) * scale;
    for (int n = 0; n < 8; ++n)
      for (int i = 2 * r; i < 2 * r + 2; ++i) sum += scores[n][i] = power_of_2(scores[n][i] * scale - most);
    sum += __shfl_xor_sync(~0u, sum, 1);
    total[r] = 1.0f / (sum + __shfl_xor_sync(~0u, sum, 2));
  }
  const bf16* const v = quarter / 2 == half ? s.qkv[2] : s.v;
#pragma unroll
  for (int t = 0; t < 4; ++t) {
    const unsigned weights[4] = {packed(scores[2 * t][0], scores[2 * t][1]), packed(scores[2 * t][2], scores[2 * t][3]),
                                 packed(scores[2 * t + 1][0], scores[2 * t + 1][1]),
                                 packed(scores[2 * t + 1][2], scores[2 * t + 1][3])};
    unsigned of_v[4];
    lab::ldmatrix_trans(of_v, v + (16 * t + lane % 16) * pitch + quarter % 2 * 16 + lane / 16 * 8);
    lab::mma(result[0], weights, {of_v[0], of_v[1]});
    lab::mma(result[1], weights, {of_v[2], of_v[3]});
  }
  bf16* const to =
      in.mixed + (at.sequence * rows + query) * channels + (2 * at.cluster + at.rank / 2) * size + 16 * quarter + pair;
#pragma unroll
  for (int n = 0; n < 2; ++n)
    for (int r = 0; r < 2; ++r)
      *reinterpret_cast<unsigned*>(to + 8 * r * channels + 8 * n) =
          packed(result[n][2 * r] * total[r], result[n][2 * r + 1] * total[r]);
}

__device__ void compute(const arguments& in, tiles& s, const place& at) {
  const int thread = threadIdx.x;
  // The role comes from a shuffle, which tells the compiler that a warp's threads share it: descriptors stay uniform.
  const bool multiplies = __shfl_sync(~0u, thread / 32, 0) < multiplying / 32;
  ring of_tiles;
  int exchanges = 0;
  residual stream;
  stream.row = own_rows * at.rank + thread / 16, stream.column = thread % 16 * 4;
  const int first_column = at.cluster * columns + stream.column;  // of all channels

  const auto load_norm = [&](float4(&to)[2], const float* from) {
    for (int i = 0; i < 2; ++i) to[i] = __ldg(reinterpret_cast<const float4*>(from + first_column + 64 * i));
  };
  const auto add = [&](const bf16* from) {
    for (int i = 0; i < 2; ++i) stream.add(i, __ldg(reinterpret_cast<const uint2*>(from + first_column + 64 * i)));
  };
  const auto arrive = [&] {
    group_barrier<computing>(1);
    if (thread == 0) at.arrive();
  };
  // The product with normalized rows. The threads that do not multiply prepare for it.
  const auto multiply_normalized = [&](auto& d, const float2* folded, int parity) {
    if (multiplies) {
      product(d, s, of_tiles, channels / step);
    } else {
      const int t = thread - multiplying;
      s.folded[t] = __ldg(folded);
      if (t < rows) {
        s.parts_filled.wait(parity);
        s.norms[t] = norm_of(s.parts + t * clusters);
      }
    }
    group_barrier<computing>(1);
    if (multiplies) normalize(d, s);
  };

  {  // the embedding; rows after the text are 0
    float4 w[2];
    load_norm(w, in.norm1);
    if (stream.row < in.tokens) {
      add(in.token_embedding + static_cast<std::size_t>(in.ids[at.sequence * in.tokens + stream.row]) * channels);
      add(in.position_embedding + stream.row * channels);
    }
    stream.publish(in, at, w);
    arrive();
  }

  for (int half = 0; half < 2 * in.layers; ++half) {  // of a layer: attention, then the MLP
    const int layer = half / 2;
    if (half % 2 == 0) {
      // Of two heads, each block of the cluster has half a head: 32 columns of queries, of keys and of values.
      if (thread == 0) s.exchanged.arrive_and_expect(sizeof s.q + sizeof s.k + sizeof s.v);
      const int column = min(thread % multiplying, qkv_columns - 1);
      const int first = (3 * layer + column / part) * channels + at.cluster * 2 * size + at.rank * part;
      float d[48];
      multiply_normalized(d, in.qkv_folded + first + column % part, 0);
      if (multiplies) {
        store<part, pitch>(s.qkv[0], d);
        fence_writes();
      }
      group_barrier<computing>(1);
      if (thread == 0) {
        const int other = at.rank ^ 1;
        copy_to_rank(s.q, s.qkv[0] + other % 2 * (rows / 2) * pitch, s.exchanged, other, sizeof s.q);
        copy_to_rank(s.k, s.qkv[1], s.exchanged, other, sizeof s.k);
        copy_to_rank(s.v, s.qkv[2], s.exchanged, other, sizeof s.v);
      }
      attention(in, s, at, exchanges++ % 2);
    } else {
      const int first = (at.cluster * ranks + at.rank) * columns;
      float d[64];
      multiply_normalized(d, in.expand_folded + layer * 4 * channels + first + thread % multiplying, 1);
      if (multiplies) {
#pragma unroll
        for (float& sum : d) sum = gelu(sum);
        store<columns, pitch_sums>(s.sums, d);
      }
      group_barrier<computing>(1);
      for (int i = 0; i < 4; ++i) {
        const int r = 16 * i + thread / 16, c = thread % 16 * 8;
        *reinterpret_cast<uint4*>(in.hidden + (at.sequence * rows + r) * 4 * channels + first + c) =
            *reinterpret_cast<const uint4*>(s.sums + r * pitch_sums + c);
      }
    }
    arrive();

    // x += the product of a quarter of k in each block; the rows of the sums belong to the four.
    float4 w[2];
    load_norm(w, half % 2 == 0           ? in.norm2 + layer * channels
                 : layer + 1 < in.layers ? in.norm1 + (layer + 1) * channels
                                         : in.last_norm);
    add((half % 2 == 0 ? in.projection_bias : in.contract_bias) + layer * channels);
    if (thread == 0) s.exchanged.arrive_and_expect(sizeof s.received);
    if (multiplies) {
      float d[64];
      product(d, s, of_tiles, half % 2 == 0 ? channels / step / ranks : channels / step);
      store<columns, pitch_sums>(s.sums, d);
      fence_writes();
    }
    group_barrier<computing>(1);
    if (thread < ranks - 1) {
      const int to = (at.rank + 1 + thread) % ranks;
      copy_to_rank(s.received[ranks - 2 - thread], s.sums + to * own_rows * pitch_sums, s.exchanged, to,
                   sizeof s.received[0]);
    }
    s.exchanged.wait(exchanges++ % 2);
#pragma unroll
    for (int r = 0; r < ranks; ++r) {
      const bf16* const from = r == 0 ? s.sums + at.rank * own_rows * pitch_sums : s.received[r - 1];
      for (int i = 0; i < 2; ++i)
        stream.add(i, *reinterpret_cast<const uint2*>(from + thread / 16 * pitch_sums + stream.column + 64 * i));
    }
    stream.publish(in, at, w);
    arrive();
  }

  float4 w[2], b[2];
  load_norm(w, in.last_norm);
  load_norm(b, in.last_norm_bias);
  place end = at;
  end.target += 4ull * static_cast<unsigned>(in.layers) * blocks;
  end.wait();
  if (stream.row >= in.tokens) return;
  const auto [mean, factor] = norm_of(in.parts + (at.sequence * rows + stream.row) * clusters);
  bf16* const to = in.out + (at.sequence * in.tokens + stream.row) * channels + first_column;
#pragma unroll
  for (int i = 0; i < 2; ++i) *reinterpret_cast<uint2*>(to + 64 * i) = stream.normalized(i, w[i], b[i], mean, factor);
}

// ---- the copying threads' work

__device__ void copy_weights(const arguments& in, tiles& s, const place& at) {
  ring to;
  const auto next_tile = [&](int count) {
    s.emptied[to.stage].wait(to.phase ^ 1);
    s.filled[to.stage].arrive_and_expect(count * step * 2);
  };
  const auto copy = [&](const CUtensorMap& map, int row, int first, int end) {
#pragma unroll 1
    for (int k = first; k < end; k += step, to.next()) {
      next_tile(columns);
      copy_box(s.b[to.stage], map, s.filled[to.stage], row, k);
    }
  };
#pragma unroll 1
  for (int layer = 0; layer < in.layers; ++layer) {
    const int row = layer * channels + at.cluster * columns, quarter = channels / ranks;
#pragma unroll 1
    for (int k = 0; k < channels; k += step, to.next()) {
      next_tile(qkv_columns);
      copy_box(s.b[to.stage], in.qkv, s.filled[to.stage], 3 * layer, at.cluster * 2 * size + at.rank * part, k);
    }
    copy(in.projection, row, at.rank * quarter, (at.rank + 1) * quarter);
    copy(in.expand, 4 * row + at.rank * columns, 0, channels);
    copy(in.contract, row, at.rank * channels, (at.rank + 1) * channels);
  }
}

__device__ void copy_activations(const arguments& in, tiles& s, place at) {
  ring to;
  const auto copy = [&](const CUtensorMap& map, int row, int column) {
    s.emptied[to.stage].wait(to.phase ^ 1);
    s.filled[to.stage].arrive_and_expect(a_bytes);
    copy_box(s.a[to.stage], map, s.filled[to.stage], at.sequence * rows + row, column);
    to.next();
  };
  const auto copy_x = [&] {
    at.wait();  // and for the reads of the last parts, by this block
    s.parts_filled.arrive_and_expect(sizeof s.parts);
    copy_bytes(s.parts, in.parts + at.sequence * rows * clusters, s.parts_filled, sizeof s.parts);
#pragma unroll 1
    for (int i = 0; i < channels / step; ++i) copy(in.of_x, i * sequences * rows, 0);
  };
  for (int layer = 0; layer < in.layers; ++layer) {
    copy_x();
    at.wait();
#pragma unroll 1
    for (int i = 0; i < channels / ranks; i += step) copy(in.of_mixed, 0, at.rank * channels / ranks + i);
    copy_x();
    at.wait();
#pragma unroll 1
    for (int i = 0; i < channels; i += step) copy(in.of_hidden, 0, at.rank * channels + i);
  }
}

__global__ void __cluster_dims__(ranks, 1, 1) __launch_bounds__(threads, 1)
    small_pass_kernel(const __grid_constant__ arguments in) {
  extern __shared__ std::byte raw[];
  tiles& s = *reinterpret_cast<tiles*>(raw + (1024 - address(raw) % 1024) % 1024);
  place at{cluster_rank(), static_cast<int>(blockIdx.x) / ranks % clusters, static_cast<int>(blockIdx.x) / blocks};
  at.counter = in.counters + 16 * at.sequence;
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) s.filled[i].init(2), s.emptied[i].init(multiplying / 32);
    s.parts_filled.init(1), s.exchanged.init(1);
    fence_init();
    // Each launch adds the same number. So before this block arrives, the counter tells where the launch began.
    const unsigned long long count = at.count();
    s.begun = count - count % (blocks * (4ull * static_cast<unsigned>(in.layers) + 1));
  }
  cluster_barrier();
  at.target = s.begun;
  // The role comes from a shuffle, which tells the compiler that a warp's threads share it.
  if (const int warp = __shfl_sync(~0u, static_cast<int>(threadIdx.x) / 32, 0); warp < computing / 32) {
    more_registers<232>();
    compute(in, s, at);
  } else {
    fewer_registers<40>();
    if (threadIdx.x == computing) copy_weights(in, s, at);
    if (threadIdx.x == computing + 32) copy_activations(in, s, at);
  }
  __syncwarp();
  cluster_barrier();  // no block ends while others may still read its shared memory
}

/// A warp per output: (W w, W b + the product's bias).
__global__ void fold_kernel(float2* to, const bf16* matrix, const bf16* bias, const float* w, const float* b,
                            int outputs) {
  const int output = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const int layer = output / outputs;
  float by_w = 0.0f, by_b = 0.0f;
  for (int k = lane; k < channels; k += 32) {
    const float m = __bfloat162float(matrix[static_cast<std::size_t>(output) * channels + k]);
    by_w += m * w[layer * channels + k], by_b += m * b[layer * channels + k];
  }
  for (int distance = 16; distance > 0; distance /= 2)
    by_w += __shfl_xor_sync(~0u, by_w, distance), by_b += __shfl_xor_sync(~0u, by_b, distance);
  if (lane == 0) to[output] = make_float2(by_w, by_b + __bfloat162float(bias[output]));
}

constexpr int shared_bytes = sizeof(tiles) + 1024;

struct buffers {
  explicit buffers(std::size_t layers) : qkv_folded(layers * 3 * channels), expand_folded(layers * 4 * channels) {
    LAB_CUDA_CHECK(cudaMemset(counters.data(), 0, counters.bytes()));
  }
  static constexpr std::size_t elements = std::size_t{sequences} * rows * channels;
  lab::device_buffer<bf16> x{elements}, mixed{elements}, hidden{4 * elements};
  lab::device_buffer<float2> parts{std::size_t{sequences} * rows * clusters}, qkv_folded, expand_folded;
  lab::device_buffer<unsigned long long> counters{16 * sequences};
};

}  // namespace

gpt2::all_layers small_pass(const gpt2::config& of, const bf16* weights, const float* norms, int batch, int length) {
  using gpt2::tensor;
  if (of.channels != channels || of.heads != heads || batch > sequences || length > rows) return {};
  int device = 0, major = 0, minor = 0, resident = 0;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  LAB_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  if (major != 9 || minor != 0) return {};
  LAB_CUDA_CHECK(cudaFuncSetAttribute(small_pass_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  cudaLaunchAttribute together{};  // all blocks are resident, or the launch fails
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t launch{};
  launch.gridDim = static_cast<unsigned>(batch * blocks);
  launch.blockDim = threads;
  launch.dynamicSmemBytes = shared_bytes;
  LAB_CUDA_CHECK(cudaOccupancyMaxActiveClusters(&resident, small_pass_kernel, &launch));
  if (resident < batch * clusters) return {};

  const auto room = std::make_shared<buffers>(static_cast<std::size_t>(of.layers));
  const auto at = [&](tensor which) { return weights + offset_of(of, which); };
  // Of all layers: norm1's weights, its biases, and norm2's; then the last LayerNorm's.
  const std::size_t all_norms = static_cast<std::size_t>(of.layers) * channels;
  const auto fold = [&](const lab::device_buffer<float2>& to, tensor matrix, tensor bias, const float* w) {
    const int all = static_cast<int>(to.size());
    fold_kernel<<<all / 8, 256>>>(to.data(), at(matrix), at(bias), w, w + all_norms, all / of.layers);
    LAB_CUDA_CHECK(cudaGetLastError());
  };
  fold(room->qkv_folded, tensor::qkv_weight, tensor::qkv_bias, norms);
  fold(room->expand_folded, tensor::expand_weight, tensor::expand_bias, norms + 2 * all_norms);

  arguments in{};
  const int outputs = of.layers * channels, all_rows = sequences * rows;
  in.qkv = map_of(at(tensor::qkv_weight), {3 * of.layers, channels, channels}, {3, part, step});
  in.projection = map_of(at(tensor::projection_weight), {outputs, channels}, {columns, step});
  in.expand = map_of(at(tensor::expand_weight), {4 * outputs, channels}, {columns, step});
  in.contract = map_of(at(tensor::contract_weight), {outputs, 4 * channels}, {columns, step});
  in.x = room->x.data(), in.mixed = room->mixed.data(), in.hidden = room->hidden.data();
  in.of_x = map_of(in.x, {channels / step * all_rows, step}, {rows, step});
  in.of_mixed = map_of(in.mixed, {all_rows, channels}, {rows, step});
  in.of_hidden = map_of(in.hidden, {all_rows, 4 * channels}, {rows, step});
  in.parts = room->parts.data();
  in.qkv_folded = room->qkv_folded.data(), in.expand_folded = room->expand_folded.data();
  in.projection_bias = at(tensor::projection_bias), in.contract_bias = at(tensor::contract_bias);
  in.token_embedding = at(tensor::token_embedding), in.position_embedding = at(tensor::position_embedding);
  in.norm1 = norms, in.norm2 = norms + 2 * all_norms;
  in.last_norm = norms + 4 * all_norms, in.last_norm_bias = in.last_norm + channels;
  in.counters = room->counters.data();
  in.layers = of.layers, in.tokens = length;
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  return [room, in, launch, together](const int* ids, bf16* out, cudaStream_t stream) mutable {
    in.ids = ids, in.out = out;
    launch.stream = stream, launch.attrs = &together, launch.numAttrs = 1;
    LAB_CUDA_CHECK(cudaLaunchKernelEx(&launch, small_pass_kernel, in));
  };
}

}  // namespace lab08
