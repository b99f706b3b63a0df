// What the simulated device counts and reports: the drawings show its counts and its layouts, not ours.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace drawings {

constexpr int sector_bytes = 32;
using warp_offsets = std::array<int, 32>;  ///< in bytes, by lane

/// The counted sectors of a global load of `bytes` (2, 4, 8 or 16) per lane.
int counted_sectors(const warp_offsets& offsets, int bytes);
/// The counted wavefronts of a load of `bytes` (4, 8 or 16) per lane from shared memory.
int counted_wavefronts(const warp_offsets& offsets, int bytes);
/// Wavefronts of an ldmatrix of four matrices; lane l passes the offset of row l % 8 of matrix l / 8.
int counted_matrix_wavefronts(const warp_offsets& offsets);

struct element {
  int row, column;
};
/// The elements of A (16 x 16), B (16 x 8) and C (16 x 8) in each lane's registers, as ldmatrix loads and mma
/// multiplies them.
struct fragments {
  std::array<std::array<element, 8>, 32> a;  ///< two elements in each of four registers
  std::array<std::array<element, 4>, 32> b;
  std::array<std::array<element, 4>, 32> c;
};
fragments found_fragments();

/// Bytes that each launch of `call` loads and stores.
struct launch_bytes {
  double loaded, stored;
};
std::vector<launch_bytes> counted_gelu_unfused(int n);
/// relu(2 x + b) on arrays: as three kernels, which scale, add and clamp, or as one.
std::vector<launch_bytes> counted_chain(int n, bool fused);
/// The forward and backward pass of a gate, sigmoid(x) g, with the sigmoid stored or recomputed.
std::vector<launch_bytes> counted_gate(int n, bool stored);

/// The sectors that these accesses touch, in order; throws if the simulated device counts a different number.
std::vector<int> touched_sectors(const warp_offsets& offsets, int bytes);

/// The first report about two texts that swap places and keep their lengths (faults.cu).
std::string reported_lengths();
/// The reports on reads of unwritten memory, written memory, past what is written, past the allocation, freed memory.
/// Empty: no report.
std::vector<std::string> reported_reads();
/// The report on two warps without a barrier between them.
std::string reported_race();

}  // namespace drawings
