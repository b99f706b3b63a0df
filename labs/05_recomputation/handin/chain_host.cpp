// The chain on one core as a framework runs it: each sigmoid calls std::exp, and both intermediate results are kept.
#include "recomputation.hpp"

#include <cmath>

namespace lab05 {
namespace {

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }

}  // namespace

void forward_host(float* out, float* kept, const float* in, std::size_t n) {
  // TODO(lab05.chain_host_throughput): sigmoid.hpp has a cheaper sigmoid. With it, what is worth keeping?
  for (std::size_t i = 0; i < n; ++i) {
    kept[i] = sigmoid(in[i]);
    kept[n + i] = sigmoid(kept[i]);
    out[i] = sigmoid(kept[n + i]);
  }
}

void backward_host(float* d_in, const float* in, const float* kept, const float* d_out, std::size_t n) {
  (void)in;  // delete this line once it is used
  for (std::size_t i = 0; i < n; ++i) {
    const float first = kept[i], second = kept[n + i], third = sigmoid(second);
    d_in[i] = d_out[i] * third * (1 - third) * second * (1 - second) * first * (1 - first);
  }
}

}  // namespace lab05
