// How many requests share one read of the weights? A roofline says.
#include "serving.hpp"

#include <algorithm>
#include <cmath>

namespace lab15 {

namespace {

double cache_of(const model& of, std::int64_t context) {
  return of.cache_bytes_per_token * static_cast<double>(context);
}

}  // namespace

double step_seconds(const machine& on, const model& of, std::int64_t batch, std::int64_t context) {
  const auto sequences = static_cast<double>(batch);
  return std::max((of.weight_bytes + sequences * cache_of(of, context)) / on.bytes_per_second,
                  sequences * of.flops_per_token / on.flops_per_second);
}

std::int64_t turning_point(const machine& on, const model& of, std::int64_t context) {
  //! [turning_point]
  const double weights = of.weight_bytes / on.bytes_per_second;
  const double more_arithmetic = of.flops_per_token / on.flops_per_second;  // of one more sequence
  const double more_memory = cache_of(of, context) / on.bytes_per_second;
  if (more_arithmetic <= more_memory) return -1;
  return static_cast<std::int64_t>(std::ceil(weights / (more_arithmetic - more_memory)));
  //! [turning_point]
}

std::int64_t advise(const machine& on, const model& of, std::int64_t context, double limit) {
  const double cache = cache_of(of, context);
  const double by_bytes = (limit * on.bytes_per_second - of.weight_bytes) / cache;
  const double by_arithmetic = limit * on.flops_per_second / of.flops_per_token;
  const double by_memory = (on.memory_bytes - of.weight_bytes) / cache;
  return static_cast<std::int64_t>(std::floor(std::max(0.0, std::min({by_bytes, by_arithmetic, by_memory}))));
}

}  // namespace lab15
