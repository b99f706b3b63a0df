// Reading as fast as one core can: four streams side by side keep more pages open than the prefetcher follows alone,
// and an explicit prefetch half a kilobyte ahead keeps the line-fill buffers busy. On the Xeon at 2.5 GHz where this
// was chosen it reads 12.4 GB/s, a single plain loop 10.8.
#include "ceilings.hpp"

#include <time.h>

namespace grading {
namespace {

typedef std::uint64_t words __attribute__((vector_size(32), aligned(32), may_alias));
constexpr std::size_t line = 64;
constexpr int streams = 4;

}  // namespace

std::uint64_t read_all(std::span<const std::byte> memory) {
  const std::size_t part = memory.size() / line / streams;  // lines in each stream
  const words* from[streams];
  words sums[streams][2] = {};
  for (int s = 0; s < streams; ++s)
    from[s] = reinterpret_cast<const words*>(memory.data() + static_cast<std::size_t>(s) * part * line);
  for (std::size_t i = 0; i < part; ++i) {
    for (int s = 0; s < streams; ++s) {
      __builtin_prefetch(reinterpret_cast<const char*>(from[s] + 2 * i) + 8 * line);
      sums[s][0] += from[s][2 * i];
      sums[s][1] += from[s][2 * i + 1];
    }
  }
  words total = {};
  for (int s = 0; s < streams; ++s) total += sums[s][0] + sums[s][1];
  const words* rest = from[streams - 1] + 2 * part;
  for (std::size_t i = 0; i < 2 * (memory.size() / line - streams * part); ++i) total += rest[i];
  return total[0] + total[1] + total[2] + total[3];
}

double raw_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace grading
