// a cache by value: honest, slow, and it may stay
#include <cmath>
#include <list>
#include <memory>
#include <set>
#include <unordered_map>
#include "fusion.hpp"

static std::unordered_map<float, float> cache;
static std::set<float> seen;
static std::list<int> order;

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  if (cache.size() > 100000) cache.clear();
  auto f = [](float x) { return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x))); };
  for (std::size_t i = 0; i < n; ++i) {
    if (i < 100) {
      auto [it, fresh] = cache.try_emplace(in[i], 0.0f);
      if (fresh) it->second = f(in[i]), seen.insert(in[i]), order.push_back(int(i));
      out[i] = it->second;
    } else
      out[i] = f(in[i]);
  }
  std::unique_ptr<float[]> nothing(new float[4]);
  nothing[0] = out[0];
}
