#include <bit>
#include <compare>
#include <initializer_list>
#include <numeric>
#include <vector>
#include "decode.hpp"

namespace {

template <class Tag>
class quantity {
 public:
  constexpr explicit quantity(std::int64_t n = 0) : n_(n) {}
  constexpr std::int64_t count() const { return n_; }
  friend constexpr quantity operator+(quantity a, quantity b) { return quantity(a.n_ + b.n_); }
  friend constexpr quantity operator*(std::int64_t k, quantity a) { return quantity(k * a.n_); }
  constexpr quantity& operator+=(quantity o) { return *this = *this + o; }
  friend auto operator<=>(const quantity&, const quantity&) = default;

 private:
  std::int64_t n_;
};
using elements = quantity<struct element_tag>;
using bytes = quantity<struct byte_tag>;
constexpr bytes in_memory(elements e) { return bytes(2 * e.count()); }
constexpr elements operator""_e(unsigned long long n) { return elements(static_cast<std::int64_t>(n)); }
static_assert(in_memory(3_e + 2 * 1_e) == bytes(10));

struct matrix {
  std::int64_t rows = 1, columns = 1;
  constexpr elements size() const { return elements(rows * columns); }
  constexpr double operations() const { return 2.0 * static_cast<double>(rows) * static_cast<double>(columns); }
};

struct architecture {
  explicit architecture(const lab10::shape& s)
      : layer{{.rows = s.heads * std::int64_t{s.size} + 2 * s.kv_heads * std::int64_t{s.size}, .columns = s.width},
              {.rows = s.width, .columns = s.heads * std::int64_t{s.size}},
              {.rows = 2 * std::int64_t{s.hidden}, .columns = s.width},
              {.rows = s.width, .columns = s.hidden}},
        embedding{s.vocabulary, s.width},
        layers(s.layers),
        width(s.width) {}
  std::vector<matrix> layer;
  matrix embedding;
  std::int64_t layers, width;

  elements weights() const {
    elements each = elements(2 * width);
    for (const matrix& m : layer) each += m.size();
    return layers * each + embedding.size() + elements(width);
  }
  double operations() const {
    const double each = std::accumulate(layer.begin(), layer.end(), 0.0, [](double sum, const matrix& m) { return sum + m.operations(); });
    return static_cast<double>(layers) * each + embedding.operations();
  }
};

/// A number stored as the upper half of a float.
struct brain_float {
  std::uint16_t bits;
  operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

struct row_view {
  const std::uint16_t* first;
  std::size_t n;
  friend float operator*(row_view w, const float* x) {
    float sum[8] = {};
    for (std::size_t i = 0; i < w.n; i += 8)
      for (std::size_t j = 0; j < 8; ++j) sum[j] += brain_float{w.first[i + j]} * x[i + j];
    return (sum[0] + sum[4]) + (sum[1] + sum[5]) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
  }
};

}  // namespace

namespace lab10 {

std::int64_t weight_bytes(const shape& s) { return in_memory(architecture(s).weights()).count(); }
std::int64_t cache_bytes(const shape& s, std::int64_t tokens) {
  const elements of_a_token(std::int64_t{2} * s.layers * s.kv_heads * s.size);
  return in_memory(tokens * of_a_token).count();
}
std::int64_t token_bytes(const shape& s, std::int64_t position) { return weight_bytes(s) + cache_bytes(s, position + 1); }
double intensity(const shape& s, std::int64_t position) {
  const matrix scores{s.heads * (position + 1), s.size};
  const double attention = 2 * static_cast<double>(s.layers) * scores.operations();
  return (architecture(s).operations() + attention) / static_cast<double>(token_bytes(s, position));
}
double least_seconds(const shape& s, std::int64_t position, double bytes_per_second) {
  return static_cast<double>(token_bytes(s, position)) / bytes_per_second;
}
void matvec_host(float* y, const std::uint16_t* w, const float* x, std::size_t rows, std::size_t columns) {
  for (std::size_t r = 0; r < rows; ++r) y[r] = row_view{w + r * columns, columns} * x;
}

}  // namespace lab10
