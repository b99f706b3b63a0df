// Optional: the matrix product by TMA and wgmma. Nothing is computed yet. Build and check it with
//   cmake --build build --target lab09.hopper.sim && build/bin/lab09.hopper.sim
#include "hopper.hpp"

#include "lab/device.hpp"
#include "lab/hopper.hpp"

namespace lab09 {
namespace {

using namespace lab::hopper;

constexpr int rows = 64, columns = 256, depth = 64;  // of the tile that a block computes, and of a step along k

struct tiles {
  alignas(1024) bf16 a[rows * depth];
  alignas(1024) bf16 b[columns / 64][depth * 64];  // a row of a box has 128 bytes
  arrivals filled;
};

__global__ void __launch_bounds__(128)
    product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, bf16* c, int m, int n,
            int k) {
  extern __shared__ std::byte raw[];
  tiles& s = *reinterpret_cast<tiles*>(raw + (1024 - address(raw) % 1024) % 1024);
  // TODO stage 1: one thread initializes the barrier, expects the bytes of the tiles, and copies their boxes; all wait.
  // TODO stage 2: 128 threads multiply the tiles, and store their sums. Then steps along k, one after the other: which
  //               phase does each one wait for?
  // TODO stage 3: several buffers, and a separate warp that copies. Which threads signal that a buffer may be filled
  // again?
  // TODO stage 4: clusters.
  (void)s, (void)map_a, (void)map_b, (void)c, (void)m, (void)n, (void)k;  // delete once used
}

}  // namespace

void gemm_hopper(bf16* c, const bf16* a, const bf16* b, int m, int n, int k, cudaStream_t stream) {
  constexpr int bytes = sizeof(tiles) + 1024;
  const dim3 blocks((n + columns - 1) / columns, (m + rows - 1) / rows);
  LAB_CUDA_CHECK(cudaFuncSetAttribute(product, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  product<<<blocks, 128, bytes, stream>>>(map_of(a, {m, k}, {rows, depth}), map_of(b, {k, n}, {depth, 64}), c, m, n, k);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab09
