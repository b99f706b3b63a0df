#include <atomic>
#include <mutex>
#include <shared_mutex>
#include "coalescing.hpp"

std::mutex guard;
std::shared_mutex readers;
std::once_flag once;
std::atomic<long> total{0};
std::recursive_mutex again;

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  std::call_once(once, [] { total = 1; });
  std::scoped_lock lock(guard, again);
  std::shared_lock reading(readers);
  total.fetch_add(static_cast<long>(rows * columns), std::memory_order_relaxed);
  for (std::size_t c = 0; c < columns; ++c) sums[c] = 0.0f;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) sums[c] += in[r * columns + c];
}
