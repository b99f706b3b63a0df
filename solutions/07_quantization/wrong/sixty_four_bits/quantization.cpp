// Tiles, waves and time, in 64 bits: a tile that is needed in part is needed, a wave that is full in part is a wave.
#include "quantization.hpp"

#include <algorithm>

namespace lab07 {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a - 1) / b + 1; }

/// Blocks that the whole device runs at a time.
std::int64_t blocks_of_wave(const kernel& by, const device& on) {
  return std::int64_t{on.multiprocessors} * occupancy(by, on);
}

std::int64_t square_waves(std::int64_t n, const kernel& by, const device& on) { return waves({n, n, 1}, by, on); }

}  // namespace

std::int64_t tiles(const shape& s, const kernel& by) { return ceil_div(s.m, by.tile_m) * ceil_div(s.n, by.tile_n); }

//! [occupancy]
int occupancy(const kernel& by, const device& on) {
  const std::int64_t registers_of_warp = ceil_div(32 * by.registers, on.register_unit) * on.register_unit;
  const std::int64_t registers = by.threads / 32 * registers_of_warp;
  const std::int64_t shared = std::max(by.shared_bytes + on.reserved_bytes, 1);
  return static_cast<int>(std::min<std::int64_t>({on.threads_of_sm / by.threads, on.blocks_of_sm,
                                                  on.registers_of_sm / registers, on.shared_bytes_of_sm / shared}));
}
//! [occupancy]

//! [waves]
std::int64_t waves(const shape& s, const kernel& by, const device& on) {
  return ceil_div(tiles(s, by), blocks_of_wave(by, on));
}

double utilization(const shape& s, const kernel& by, const device& on) {
  const double of_tile = static_cast<double>(by.tile_m) * by.tile_n;
  const auto places = static_cast<double>(waves(s, by, on) * blocks_of_wave(by, on));
  return static_cast<double>(s.m * s.n) / (places * of_tile);
}
//! [waves]

//! [seconds]
double seconds(const shape& s, const kernel& by, const device& on) {
  const double blocks = static_cast<double>(blocks_of_wave(by, on)), k = static_cast<double>(s.k);
  const double computing = blocks * 2 * by.tile_m * by.tile_n * k / on.flops_per_second;
  const double fetching = blocks * (by.tile_m + by.tile_n) * k * by.element_bytes / on.l2_bytes_per_second;
  return on.launch_seconds + static_cast<double>(waves(s, by, on)) * std::max(computing, fetching);
}
//! [seconds]

//! [next_cliff]
// Only behind a multiple of a tile's side does the number of tiles change.
std::int64_t next_cliff(std::int64_t n, const kernel& by, const device& on) {
  const std::int64_t now = square_waves(n, by, on);
  while (square_waves(n, by, on) == now)
    n = std::min(ceil_div(n, by.tile_m) * by.tile_m, ceil_div(n, by.tile_n) * by.tile_n) + 1;
  return n;
}
//! [next_cliff]

int best_kernel(const shape& s, const kernel* candidates, int count, const device& on) {
  int best = -1;
  for (int i = 0; i < count; ++i)
    if (occupancy(candidates[i], on) > 0 &&
        (best < 0 || seconds(s, candidates[i], on) < seconds(s, candidates[best], on)))
      best = i;
  return best;
}

}  // namespace lab07
