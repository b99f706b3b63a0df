/* C with macros: one 128-bit integer type for everything, no loops where a formula will do. */
#include <math.h>
#include "quantization.hpp"

typedef __int128 wide;
typedef std::int64_t i64;
#define UP(a, b) (((wide)(a) + (b)-1) / (b))
#define LESS(a, b) ((a) < (b) ? (a) : (b))
#define SLOTS(by, on) ((wide)lab07::occupancy(by, on) * (on).multiprocessors)

i64 lab07::tiles(const shape& s, const kernel& by) { return (i64)(UP(s.m, by.tile_m) * UP(s.n, by.tile_n)); }

int lab07::occupancy(const kernel& by, const device& on) {
  int fit = LESS(on.blocks_of_sm, on.threads_of_sm / by.threads);
  const int unit = on.register_unit, of_warp = (int)(UP(32 * by.registers, unit) * unit);
  if (of_warp) fit = LESS(fit, on.registers_of_sm / of_warp / (by.threads / 32));
  const i64 bytes = (i64)by.shared_bytes + on.reserved_bytes;
  return bytes ? (int)LESS((i64)fit, on.shared_bytes_of_sm / bytes) : fit;
}

i64 lab07::waves(const shape& s, const kernel& by, const device& on) { return (i64)UP(tiles(s, by), SLOTS(by, on)); }

double lab07::utilization(const shape& s, const kernel& by, const device& on) {
  const double room = (double)waves(s, by, on) * (double)SLOTS(by, on) * by.tile_m * by.tile_n;
  return (double)s.m * (double)s.n / room;
}

double lab07::seconds(const shape& s, const kernel& by, const device& on) {
  const double blocks = (double)SLOTS(by, on), k = (double)s.k;
  const double math = blocks * 2.0 * by.tile_m * by.tile_n * k / on.flops_per_second;
  const double fetch = blocks * ((double)by.tile_m + by.tile_n) * k * by.element_bytes / on.l2_bytes_per_second;
  return fma((double)waves(s, by, on), fmax(math, fetch), on.launch_seconds);
}

i64 lab07::next_cliff(i64 n, const kernel& by, const device& on) {
  /* bisection: waves grow with n */
#define W(x) UP(UP(x, by.tile_m) * UP(x, by.tile_n), slots)
  const wide slots = SLOTS(by, on), now = W(n);
  wide low = n, high = (wide)n + 1;
  while (W(high) == now) low = high, high *= 2;
  while (high - low > 1) {
    const wide mid = (low + high) / 2;
    *(W(mid) == now ? &low : &high) = mid;
  }
  return (i64)high;
#undef W
}

int lab07::best_kernel(const shape& s, const kernel* candidates, int count, const device& on) {
  int best = -1;
  double least = HUGE_VAL;
  for (int i = 0; i < count; i++) {
    if (!occupancy(candidates[i], on)) continue;
    const double time = seconds(s, candidates[i], on);
    if (time < least || best < 0) best = i, least = time;
  }
  return best;
}
