// From lab 04: a router. A token goes to the expert that a softmax over its scores likes best, of those that it may
// use.
#include <cassert>

#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

__global__ void route(int* choice, float* weight, const float* scores, const unsigned* allowed, int tokens,
                      int experts) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= tokens) return;
  const auto score = [&](int e) { return (allowed[t] >> e & 1) != 0 ? scores[t * experts + e] : -INFINITY; };
  float largest = -INFINITY, sum = 0, best = 0;
  for (int e = 0; e < experts; ++e) largest = fmaxf(largest, score(e));
  if (largest == -INFINITY) {
    choice[t] = experts;
    weight[t] = 0;
    return;
  }
  for (int e = 0; e < experts; ++e) sum += expf(score(e) - largest);
  int chosen = -1;
  for (int e = 0; e < experts; ++e) {
    const float probability = expf(score(e) - largest) / sum;
    if (probability > best) {
      best = probability;
      chosen = e;
    }
  }
  assert(chosen >= 0);
  choice[t] = chosen;
  weight[t] = best;
}

}  // namespace

void pick_expert(int* choice, float* weight, const float* scores, const unsigned* allowed, int tokens, int experts,
                 cudaStream_t stream) {
  route<<<(tokens + 63) / 64, 64, 0, stream>>>(choice, weight, scores, allowed, tokens, experts);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int tokens = draw(300, 900), experts = draw(4, 16), padded = draw(70, tokens - 1);
  std::vector<unsigned> allowed(tokens);
  for (unsigned& mask : allowed) mask = 1u << draw(0, experts - 1) | 1u << draw(0, experts - 1);
  allowed[padded] = 0;
  const float* scores = uploaded(std::vector<float>(tokens * experts, 1));
  int* choice = allocate<int>(tokens);
  float* weight = allocate<float>(tokens);
  pick_expert(choice, weight, scores, uploaded(allowed), tokens, experts, nullptr);
  check(cudaGetLastError());
  std::printf("weight of token 0: %g\n", downloaded(weight, 1)[0]);
}
