#include "quantization.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <span>
namespace lab07 {
namespace {
constexpr std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
}
std::int64_t tiles(const shape& s, const kernel& by) { return up(s.m, by.tile_m) * up(s.n, by.tile_n); }
int occupancy(const kernel& by, const device& on) {
  const auto of_warp = up(32 * by.registers, on.register_unit) * on.register_unit;
  const auto threads = on.threads_of_sm / by.threads;
  const auto shared = by.shared_bytes + on.reserved_bytes;
  return static_cast<int>(std::ranges::min({std::int64_t{threads}, std::int64_t{on.blocks_of_sm},
                                            on.registers_of_sm / (of_warp * (by.threads / 32)),
                                            shared ? std::int64_t{on.shared_bytes_of_sm / shared} : std::int64_t{1 << 30}}));
}
std::int64_t waves(const shape& s, const kernel& by, const device& on) {
  return up(tiles(s, by), std::int64_t{on.multiprocessors} * occupancy(by, on));
}
double utilization(const shape& s, const kernel& by, const device& on) {
  const double useful = static_cast<double>(s.m) * s.n;
  const double room = static_cast<double>(waves(s, by, on)) * on.multiprocessors * occupancy(by, on) * by.tile_m * by.tile_n;
  return useful / room;
}
double seconds(const shape& s, const kernel& by, const device& on) {
  const double blocks = static_cast<double>(on.multiprocessors) * occupancy(by, on);
  const double compute = blocks * 2.0 * by.tile_m * by.tile_n * s.k / on.flops_per_second;
  const double fetch = blocks * (by.tile_m + by.tile_n) * static_cast<double>(s.k) * by.element_bytes / on.l2_bytes_per_second;
  return on.launch_seconds + static_cast<double>(waves(s, by, on)) * std::max(compute, fetch);
}
std::int64_t next_cliff(std::int64_t n, const kernel& by, const device& on) {
  const auto at = [&](std::int64_t x) { return waves({x, x, 1}, by, on); };
  const auto now = at(n);
  // binary search: waves never fall
  std::int64_t low = n, high = n + 1;
  while (at(high) == now) high = low + 2 * (high - low);
  while (high - low > 1) {
    const auto middle = low + (high - low) / 2;
    (at(middle) > now ? high : low) = middle;
  }
  return high;
}
int best_kernel(const shape& s, const kernel* candidates, int count, const device& on) {
  std::span all{candidates, static_cast<std::size_t>(count)};
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < count; ++i)
    if (occupancy(all[i], on) > 0)
      if (const double t = seconds(s, all[i], on); t < least) least = t, best = i;
  return best;
}
}  // namespace lab07
