#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>
#include "quantization.hpp"

// Ranges all the way: views of candidates, of cliffs and of limits; a minimum is a fold, a search is a drop_while.
namespace lab07 {
namespace {
using wide = std::int64_t;
constexpr auto up = [](wide a, wide b) { return a / b + (a % b != 0); };
constexpr auto least = [](auto... each) { return std::ranges::min({static_cast<wide>(each)...}); };
}  // namespace

wide tiles(const shape& s, const kernel& by) {
  const std::array sides{std::pair{wide{s.m}, wide{by.tile_m}}, std::pair{wide{s.n}, wide{by.tile_n}}};
  auto counts = sides | std::views::transform([](auto p) { return std::apply(up, p); });
  return std::accumulate(counts.begin(), counts.end(), wide{1}, std::multiplies<>());
}
int occupancy(const kernel& by, const device& on) {
  const wide of_warp = up(32ll * by.registers, on.register_unit) * on.register_unit;
  const auto shared = std::optional(wide{by.shared_bytes} + on.reserved_bytes);
  return static_cast<int>(least(on.threads_of_sm / by.threads, on.blocks_of_sm,
                                on.registers_of_sm / (by.threads / 32 * of_warp),
                                on.shared_bytes_of_sm / (*shared > 0 ? *shared : 1)));
}
wide waves(const shape& s, const kernel& by, const device& on) {
  return up(tiles(s, by), wide{on.multiprocessors} * occupancy(by, on));
}
double utilization(const shape& s, const kernel& by, const device& on) {
  return double(s.m) * double(s.n) /
         (double(waves(s, by, on)) * on.multiprocessors * occupancy(by, on) * by.tile_m * by.tile_n);
}
double seconds(const shape& s, const kernel& by, const device& on) {
  const double blocks = double(on.multiprocessors) * occupancy(by, on);
  const auto [work, fetched] = std::pair{2.0 * by.tile_m * by.tile_n * double(s.k) * blocks / on.flops_per_second,
                                         double(by.tile_m + by.tile_n) * double(s.k) * by.element_bytes * blocks /
                                             on.l2_bytes_per_second};
  return on.launch_seconds + double(waves(s, by, on)) * std::max(work, fetched);
}
wide next_cliff(wide n, const kernel& by, const device& on) {
  auto w = [&](wide side) { return waves({side, side, 1}, by, on); };
  wide low = n, high = n;
  while (w(high) == w(n)) low = high, high *= 2;
  auto between = std::views::iota(low, high + 1);
  return *std::ranges::partition_point(between, [&, now = w(n)](wide side) { return w(side) == now; });
}
int best_kernel(const shape& s, const kernel* candidates, int count, const device& on) {
  auto runs = std::views::iota(0, count) | std::views::filter([&](int i) { return occupancy(candidates[i], on) > 0; });
  const auto best = std::ranges::min_element(runs, {}, [&](int i) { return seconds(s, candidates[i], on); });
  return best == runs.end() ? -1 : *best;
}
}  // namespace lab07
