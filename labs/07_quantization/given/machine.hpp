// Lab 07: a product, a kernel and a device, as the numbers that determine how many waves the product takes.
#pragma once

#include <cstdint>

namespace lab07 {

/// C (m, n) = A (m, k) B (k, n). Sizes are at least 1 and at most 2^40; the number of tiles fits in an int64.
struct shape {
  std::int64_t m, n, k;
};

/// A kernel: each block computes tile_m x tile_n elements of C, even if the tile extends past the edge of C.
struct kernel {
  int tile_m, tile_n;
  int threads;        ///< per block, a multiple of 128
  int registers;      ///< per thread, at most 255
  int shared_bytes;   ///< per block, a multiple of 128; may be 0
  int element_bytes;  ///< of A and B
};

/// A device, as common/sim/devices describes it. `of_sm`: what one multiprocessor has for all of its blocks together.
struct device {
  int multiprocessors;
  int threads_of_sm, blocks_of_sm, registers_of_sm, shared_bytes_of_sm;
  int register_unit;   ///< a warp's registers, 32 times a thread's, are rounded up to a multiple of this
  int reserved_bytes;  ///< shared memory that the system reserves for each block; may be 0
  double flops_per_second;
  double l2_bytes_per_second;
  double launch_seconds;
};

/// Elements of the workspace of padded_gemm: room for all three matrices with each side rounded up to a multiple of 64.
constexpr std::int64_t workspace_elements(std::int64_t m, std::int64_t n, std::int64_t k) {
  const auto up = [](std::int64_t side) { return (side + 63) / 64 * 64; };
  return up(m) * up(k) + up(k) * up(n) + up(m) * up(n);
}

}  // namespace lab07
