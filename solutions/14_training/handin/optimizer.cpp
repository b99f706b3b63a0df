// AdamW on one core. What is the same for all parameters is computed once, in double: then a parameter costs one
// division, and the loop is vectorized and waits for memory.
#include <cmath>

#include "root.hpp"
#include "training.hpp"

namespace lab14 {

//! [adamw]
void adamw_host(float* __restrict__ w, float* __restrict__ m, float* __restrict__ v, const float* __restrict__ g,
                std::size_t n, const adamw_settings& with, int step) {
  const adamw_settings s = with;  // a copy: otherwise each store might change it
  const auto correction = [step](float beta) { return 1.0 - std::pow(static_cast<double>(beta), step); };
  const auto rate = static_cast<float>(s.learning_rate / correction(s.beta1));
  const auto root_scale = static_cast<float>(1.0 / std::sqrt(correction(s.beta2)));
  const float decay = s.learning_rate * s.weight_decay;
  for (std::size_t i = 0; i < n; ++i) {
    m[i] = s.beta1 * m[i] + (1.0f - s.beta1) * g[i];
    v[i] = s.beta2 * v[i] + (1.0f - s.beta2) * g[i] * g[i];
    w[i] -= decay * w[i] + rate * m[i] / (root_scale * square_root(v[i]) + s.epsilon);
  }
}
//! [adamw]

}  // namespace lab14
