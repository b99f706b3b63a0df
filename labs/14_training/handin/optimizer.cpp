// AdamW on one core, as it is written in the paper: right, and slow.
#include <cmath>

#include "training.hpp"

namespace lab14 {

void adamw_host(float* w, float* m, float* v, const float* g, std::size_t n, const adamw_settings& with, int step) {
  // TODO(lab14.adamw_host_throughput): what in this loop is the same for all parameters? What keeps it from using
  // vectors? root.hpp has a square root for loops.
  for (std::size_t i = 0; i < n; ++i) {
    m[i] = with.beta1 * m[i] + (1 - with.beta1) * g[i];
    v[i] = with.beta2 * v[i] + (1 - with.beta2) * g[i] * g[i];
    const double mean = m[i] / (1 - std::pow(static_cast<double>(with.beta1), step));
    const double square = v[i] / (1 - std::pow(static_cast<double>(with.beta2), step));
    w[i] -= with.learning_rate * with.weight_decay * w[i];
    w[i] -= static_cast<float>(with.learning_rate * mean / (std::sqrt(square) + with.epsilon));
  }
}

}  // namespace lab14
