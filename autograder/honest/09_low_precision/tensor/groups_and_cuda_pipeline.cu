#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <lab/device.hpp>
#include <lab/tensor_core.hpp>
#include "low_precision.hpp"

namespace cg = cooperative_groups;
namespace lab09 {

struct extent {
  int m, n, k;
  __host__ __device__ friend bool operator==(const extent&, const extent&) = default;
};

// 64 x 64 of C by 4 warps of 32 x 32; rows of the tiles are 16 bytes longer than what they hold
struct stage {
  static constexpr int edge = 64, depth = 16, pitch_a = depth + 8, pitch_b = edge + 8;
  alignas(16) bf16 a[edge][pitch_a];
  alignas(16) bf16 b[depth][pitch_b];
};

__device__ void fill(cg::thread_block block, stage& s, const bf16* a, const bf16* b, extent e, int r0, int c0, int k0, auto&& copy) {
  const uint4 none{};
  for (int i = block.thread_rank(); i < stage::edge * 2; i += block.size()) {
    const int r = r0 + i / 2, q = k0 + i % 2 * 8;
    void* const to = &s.a[i / 2][i % 2 * 8];
    if (r < e.m && q < e.k) copy(to, a + size_t(r) * e.k + q);
    else *static_cast<uint4*>(to) = none;
  }
  for (int i = block.thread_rank(); i < stage::depth * 8; i += block.size()) {
    const int r = k0 + i / 8, q = c0 + i % 8 * 8;
    void* const to = &s.b[i / 8][i % 8 * 8];
    if (r < e.k && q < e.n) copy(to, b + size_t(r) * e.n + q);
    else *static_cast<uint4*>(to) = none;
  }
}

struct sums {
  float d[2][4][4] = {};
  __device__ void add(const stage& s, cg::thread_block_tile<32> warp, int wr, int wc) {
    const int lane = warp.thread_rank(), along = lane % 16, side = lane / 16 * 8;
    unsigned fa[2][4];
    for (int u = 0; u < 2; ++u) lab::ldmatrix(fa[u], &s.a[wr + 16 * u + along][side]);
    for (int v = 0; v < 4; v += 2) {
      unsigned both[4];
      lab::ldmatrix_trans(both, &s.b[along][wc + 8 * v + side]);
      const unsigned left[2] = {both[0], both[1]}, right[2] = {both[2], both[3]};
      for (int u = 0; u < 2; ++u) {
        lab::mma(d[u][v], fa[u], left);
        lab::mma(d[u][v + 1], fa[u], right);
      }
    }
  }
  __device__ void store(bf16* c, extent e, cg::thread_block_tile<32> warp, int r0, int c0) const {
    const int lane = warp.thread_rank();
    for (int u = 0; u < 2; ++u)
      for (int v = 0; v < 4; ++v)
        for (int h = 0; h < 2; ++h) {
          const int r = r0 + 16 * u + 8 * h + lane / 4, q = c0 + 8 * v + lane % 4 * 2;
          if (r < e.m && q < e.n)
            *reinterpret_cast<__nv_bfloat162*>(c + size_t(r) * e.n + q) = __floats2bfloat162_rn(d[u][v][2 * h], d[u][v][2 * h + 1]);
        }
  }
};

template <int stages>
__global__ void __launch_bounds__(128) through_a_pipeline(bf16* c, const bf16* a, const bf16* b, extent e) {
  __shared__ stage s[stages];
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int r0 = block.group_index().y * stage::edge, c0 = block.group_index().x * stage::edge;
  const int wr = warp.meta_group_rank() / 2 * 32, wc = warp.meta_group_rank() % 2 * 32;
  auto pipe = cuda::make_pipeline();
  const auto fetch = [&](int k0) {
    pipe.producer_acquire();
    if (k0 < e.k)
      fill(block, s[k0 / stage::depth % stages], a, b, e, r0, c0, k0,
           [&](void* to, const bf16* from) { cuda::memcpy_async(to, from, cuda::aligned_size_t<16>(16), pipe); });
    pipe.producer_commit();
  };
  sums total;
  for (int i = 0; i < stages - 1; ++i) fetch(i * stage::depth);
  for (int k0 = 0; k0 < e.k; k0 += stage::depth) {
    fetch(k0 + (stages - 1) * stage::depth);
    cuda::pipeline_consumer_wait_prior<stages - 1>(pipe);
    block.sync();
    total.add(s[k0 / stage::depth % stages], warp, wr, wc);
    block.sync();
    pipe.consumer_release();
  }
  total.store(c, e, warp, r0 + wr, c0 + wc);
}

__global__ void __launch_bounds__(128) through_a_barrier(bf16* c, const bf16* a, const bf16* b, extent e) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ stage s;
  __shared__ barrier arrived;
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const int r0 = block.group_index().y * stage::edge, c0 = block.group_index().x * stage::edge;
  const int wr = warp.meta_group_rank() / 2 * 32, wc = warp.meta_group_rank() % 2 * 32;
  if (block.thread_rank() == 0) init(&arrived, block.size());
  block.sync();
  sums total;
  for (int k0 = 0; k0 < e.k; k0 += stage::depth) {
    fill(block, s, a, b, e, r0, c0, k0,
         [&](void* to, const bf16* from) { cuda::memcpy_async(to, from, cuda::aligned_size_t<16>(16), arrived); });
    arrived.arrive_and_wait();
    total.add(s, warp, wr, wc);
    block.sync();
  }
  total.store(c, e, warp, r0 + wr, c0 + wc);
}

static dim3 tiles(extent e) { return {unsigned(e.n + 63) / 64, unsigned(e.m + 63) / 64}; }

void gemm_wmma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  const extent e{m, n, k};
  through_a_barrier<<<tiles(e), 128, 0, stream>>>(c, a, b, e);
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}
void gemm_mma(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  const extent e{m, n, k};
  through_a_pipeline<2><<<tiles(e), 128, 0, stream>>>(c, a, b, e);
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}
void gemm_pipelined(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  const extent e{m, n, k};
  through_a_pipeline<3><<<tiles(e), 128, 0, stream>>>(c, a, b, e);
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}

}  // namespace lab09
