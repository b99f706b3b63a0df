// What the simulated device counts and reports: the drawings show its counts and its layouts, not ours.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace drawings {

constexpr int sector_bytes = 32;
using warp_offsets = std::array<int, 32>;  ///< in bytes, by lane

/// Sectors of global memory that a load touches of `bytes` (2, 4, 8 or 16) per lane, counted.
int counted_sectors(const warp_offsets& offsets, int bytes);
/// Wavefronts of a load from shared memory of `bytes` (4, 8 or 16) per lane, counted.
int counted_wavefronts(const warp_offsets& offsets, int bytes);
/// Wavefronts of an ldmatrix of four matrices; lane l passes the offset of row l % 8 of matrix l / 8.
int counted_matrix_wavefronts(const warp_offsets& offsets);

struct element {
  int row, column;
};
/// By lane, what its registers hold of A (16 x 16), B (16 x 8) and C (16 x 8), as ldmatrix loads and mma multiplies
/// them.
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
/// relu(2 x + b), all arrays: as three kernels, which scale, add and cut off, or as one.
std::vector<launch_bytes> counted_chain(int n, bool fused);
/// A gate, sigmoid(x) g: its forward and its backward pass, with the sigmoid stored or computed again.
std::vector<launch_bytes> counted_gate(int n, bool stored);

/// The sectors that these accesses touch, in order; throws if the simulated device counts another number of them.
std::vector<int> touched_sectors(const warp_offsets& offsets, int bytes);

/// The first report about two texts that swap places and keep their lengths (faults.cu).
std::string reported_lengths();
/// About reads of memory: not written yet, written, past what is written, past the allocation, freed. Empty: no report.
std::vector<std::string> reported_reads();
/// About two warps without a barrier between them.
std::string reported_race();

}  // namespace drawings
