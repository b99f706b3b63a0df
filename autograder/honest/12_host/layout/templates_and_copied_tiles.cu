// A template for each size, tiles copied to arrays by memcpy and its kind, the scores of a tile at a time.
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "host.hpp"

namespace lab12 {
namespace {

constexpr int queries = 40, keys = 24;

template <int size>
struct tile {
  std::array<std::array<float, size>, keys> k, v;
};

template <int size>
class head {
 public:
  void operator()(float* out, const float* q, const float* k, const float* v, int tokens) {
    for (int first = 0; first < tokens; first += queries) {
      const int n = std::min(queries, tokens - first);
      most_.fill(-INFINITY);
      sum_.fill(0);
      for (auto& row : result_) row.fill(0);
      for (int at = 0; at < tokens; at += keys) {
        const int m = std::min(keys, tokens - at);
        std::memcpy(tile_->k.data(), k + at * size, sizeof(float) * static_cast<std::size_t>(m * size));
        mempcpy(tile_->v.data(), v + at * size, sizeof(float) * static_cast<std::size_t>(m * size));
        for (int i = 0; i < n; ++i) add(static_cast<std::size_t>(i), q + (first + i) * size, m);
      }
      for (int i = 0; i < n; ++i)
        for (int c = 0; c < size; ++c)
          out[(first + i) * size + c] = result_[static_cast<std::size_t>(i)][static_cast<std::size_t>(c)] / sum_[static_cast<std::size_t>(i)];
    }
  }

 private:
  void add(std::size_t i, const float* q, int m) {
    std::array<float, keys> score;
    float now = most_[i];
    for (std::size_t j = 0; j < static_cast<std::size_t>(m); ++j) {
      score[j] = std::inner_product(q, q + size, tile_->k[j].begin(), 0.f) / std::sqrt(static_cast<float>(size));
      now = std::max(now, score[j]);
    }
    const float old = std::exp(most_[i] - now);
    for (float& r : result_[i]) r *= old;
    sum_[i] *= old;
    most_[i] = now;
    for (std::size_t j = 0; j < static_cast<std::size_t>(m); ++j) {
      const float w = std::exp(score[j] - now);
      sum_[i] += w;
      for (std::size_t c = 0; c < size; ++c) result_[i][c] += w * tile_->v[j][c];
    }
  }
  std::array<float, queries> most_, sum_;
  std::array<std::array<float, size>, queries> result_;
  std::unique_ptr<tile<size>> tile_ = std::make_unique<tile<size>>();
};

using any_head = std::function<void(float*, const float*, const float*, const float*, int)>;

template <int size>
any_head make() {
  const auto one = std::make_shared<head<size>>();
  return [one](float* out, const float* q, const float* k, const float* v, int n) { (*one)(out, q, k, v, n); };
}

}  // namespace

void attention(float* out, const float* q, const float* k, const float* v, int tokens, int size) {
  static const std::map<int, any_head (*)()> all{{16, make<16>}, {32, make<32>}, {48, make<48>}, {64, make<64>}};
  const auto found = all.find(size);
  if (found == all.end()) throw std::invalid_argument("size");
  found->second()(out, q, k, v, tokens);
}

struct alignas(bytes_per_worker) mine {
  volatile std::int64_t total;
};

void count_positive(volatile std::int64_t* totals, const std::int32_t* x, std::size_t n, int worker, int workers) {
  volatile std::int64_t& total = reinterpret_cast<volatile mine*>(totals)[worker].total;
  const auto w = static_cast<std::size_t>(worker), all = static_cast<std::size_t>(workers);
  std::int64_t sum = 0;
  for (std::size_t i = n * w / all, end = n * (w + 1) / all; i != end; ++i)
    if (x[i] > 0) total = ++sum;
}

std::int64_t total_of(const volatile std::int64_t* totals, int worker, int) {
  return reinterpret_cast<const volatile mine*>(totals)[worker].total;
}

}  // namespace lab12
