// Lab 09's product with the Tensor Memory Accelerator (TMA), wgmma and clusters of two blocks; measure.cu compares it
// with cuBLAS.
//
// A cluster computes 256 x 256 elements of C, each of its two blocks 128 x 256, from tiles of 128 bytes along k in four
// buffers. A block has three groups of 128 threads. One thread of the first copies: A's tile for its own block, half of
// B's tile for both. The other two groups compute 64 x 256 each. Blocks stay, and go through C cluster by cluster.
#include "hopper.hpp"

#include <cuda_fp8.h>

#include "lab/device.hpp"
#include "lab/hopper.hpp"

namespace lab09 {
namespace {

using namespace lab::hopper;
using e4m3 = __nv_fp8_e4m3;

constexpr int rows = 128, columns = 256, line = 128;  // of a block's tile of C; bytes along k of a step
constexpr int stages = 4, passes = 2, threads = 384, warpgroup = 128;
constexpr int store_columns = line / sizeof(bf16), boxes = columns / store_columns / passes;

struct tiles {
  alignas(1024) std::byte a[stages][rows * line];
  alignas(1024) std::byte b[stages][columns * line];
  alignas(1024) bf16 c[2][boxes][64 * store_columns];  // for each computing group a quarter of the block's tile
  arrivals filled[stages], emptied[stages];
};

template <class T>
__global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(threads)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
            const __grid_constant__ CUtensorMap map_c, int m, int n, int k) {
  constexpr int step = line / sizeof(T);
  constexpr bool b_along_n = sizeof(T) == 2;
  extern __shared__ std::byte raw[];
  tiles& s = *reinterpret_cast<tiles*>(raw + (1024 - address(raw) % 1024) % 1024);
  const int rank = cluster_rank();
  if (threadIdx.x == 0) {
    for (int i = 0; i < stages; ++i) {
      s.filled[i].init(1);
      s.emptied[i].init(4);  // the computing groups of both blocks: half of B comes from the other
    }
    fence_init();
  }
  cluster_barrier();

  // Clusters go through groups of 8 rows of tiles, column by column: those that run at the same time share rows of A
  // and columns of B in L2.
  constexpr int group = 8;
  const int clusters = gridDim.x / 2, steps = (k + step - 1) / step;
  const int down = (m + 2 * rows - 1) / (2 * rows), across = (n + columns - 1) / columns, pairs = down * across;
  const auto row_of = [&](int pair) {
    const int first = pair / (group * across) * group;
    return (first + pair % (group * across) % min(group, down - first)) * 2 * rows + rank * rows;
  };
  const auto column_of = [&](int pair) {
    const int first = pair / (group * across) * group;
    return pair % (group * across) / min(group, down - first) * columns;
  };
  int stage = 0, phase = 0;
  const auto advance = [&] {
    if (++stage == stages) {
      stage = 0;
      phase ^= 1;
    }
  };

  const int role = threadIdx.x / warpgroup, thread = threadIdx.x % warpgroup;
  if (role == 0) {
    fewer_registers<24>();  // the others need them: 128 sums per thread
    if (thread == 0)
      for (int pair = blockIdx.x / 2; pair < pairs; pair += clusters) {
        const int r0 = row_of(pair), q0 = column_of(pair);
        for (int t = 0; t < steps; ++t, advance()) {
          s.emptied[stage].wait(phase ^ 1);
          s.filled[stage].arrive_and_expect((rows + columns) * line);
          copy_box(s.a[stage], map_a, s.filled[stage], r0, t * step);
          if constexpr (b_along_n)
            for (int box = 2 * rank; box < 2 * rank + 2; ++box)
              multicast_box(s.b[stage] + box * step * line, map_b, s.filled[stage], t * step, q0 + box * step, 0b11);
          else
            multicast_box(s.b[stage] + rank * columns / 2 * line, map_b, s.filled[stage], q0 + rank * columns / 2,
                          t * step, 0b11);
        }
      }
  } else {
    more_registers<240>();
    const int half = role - 1, lane = thread % 32, q = lane / 8, row = thread / 32 * 16 + q % 2 * 8 + lane % 8;
    float d[128];  // wgmma's layout: 32 parts of 8 columns, in each two neighbours of row g and two of row g + 8
    for (int pair = blockIdx.x / 2; pair < pairs; pair += clusters) {
      int before = -1;
      const auto release = [&] {
        if (before >= 0 && thread < 2) s.emptied[before].arrive_in(thread);
      };
      for (int t = 0; t < steps; ++t, advance()) {
        s.filled[stage].wait(phase);
        fence_products();
        const std::uint64_t a = factor(s.a[stage] + half * 64 * line, 16, 8 * line);
        const std::uint64_t b =
            b_along_n ? factor(s.b[stage], step * line, 8 * line) : factor(s.b[stage], 16, 8 * line);
        constexpr int b_step = b_along_n ? 16 * line : 32;  // bytes from 16 rows, or 32 bytes of a row, to the next
#pragma unroll
        for (int i = 0; i < line / 32; ++i) {
          const std::uint64_t a_part = a + static_cast<unsigned>(i * 32 / 16);
          const std::uint64_t b_part = b + static_cast<unsigned>(i * b_step / 16);
          if constexpr (b_along_n)
            multiply(d, a_part, b_part, t > 0 || i > 0);
          else
            multiply_transposed_e4m3(d, a_part, b_part, t > 0 || i > 0);
        }
        commit_products();
        wait_for_products<1>();  // the step before is done
        release();
        before = stage;
      }
      wait_for_products<0>();
      release();
      const int r0 = row_of(pair) + half * 64, q0 = column_of(pair);
#pragma unroll
      for (int pass = 0; pass < passes; ++pass) {
        if (thread == 0) wait_for_reads();
        group_barrier<warpgroup>(role);
#pragma unroll
        for (int j = 8 * boxes * pass; j < 8 * boxes * (pass + 1); j += 2)
          stmatrix(&s.c[half][j / 8 - boxes * pass][row * store_columns + ((j % 8 + q / 2) ^ (row & 7)) * 8],
                   packed(d[4 * j], d[4 * j + 1]), packed(d[4 * j + 2], d[4 * j + 3]),
                   packed(d[4 * j + 4], d[4 * j + 5]), packed(d[4 * j + 6], d[4 * j + 7]));
        fence_writes();
        group_barrier<warpgroup>(role);
        if (thread == 0) {
          for (int box = 0; box < boxes; ++box)
            store_box(map_c, s.c[half][box], r0, q0 + (boxes * pass + box) * store_columns);
          commit_stores();
        }
      }
    }
    if (thread == 0) wait_for_stores();
  }
  cluster_barrier();  // no block ends while the other may still arrive at its barriers
}

template <class T>
void launch(bf16* c, const T* a, const T* b, int m, int n, int k, cudaStream_t stream) {
  constexpr int step = line / sizeof(T);
  const CUtensorMap map_a = map_of(a, {m, k}, {rows, step}), map_c = map_of(c, {m, n}, {64, store_columns});
  const CUtensorMap map_b = sizeof(T) == 2 ? map_of(b, {k, n}, {step, step}) : map_of(b, {n, k}, {columns / 2, step});
  constexpr int bytes = sizeof(tiles) + 1024;
  static const int blocks = [] {
    LAB_CUDA_CHECK(cudaFuncSetAttribute(product<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    int multiprocessors = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
    return multiprocessors / 2 * 2;
  }();
  product<T><<<blocks, threads, bytes, stream>>>(map_a, map_b, map_c, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void gemm_hopper(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  launch(c, a, b, m, n, k, stream);
}

/// The same in e4m3, with B (n, k), for measure.cu.
void gemm_hopper(bf16* c, const e4m3* a, const e4m3* b, int m, int n, int k, cudaStream_t stream) {
  launch(c, a, b, m, n, k, stream);
}

}  // namespace lab09
