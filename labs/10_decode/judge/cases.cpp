// Lab 10's problems: what a token costs, products with one vector, the cache, attention over it, and whole tokens of
// small models with random weights. Each result is recomputed in double; only numbers in the cache are rounded.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>
#include <limits>
#include <string>
#include <utility>

namespace {

using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;
using floats = std::vector<float>;
using doubles = std::vector<double>;
using numbers = std::vector<bfloat16>;

constexpr double unit = 0x1p-24;  // the rounding of one operation in FP32

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

numbers rounded(const floats& values) {
  numbers result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), lab::to_bfloat16);
  return result;
}

/// `count` numbers, uniform in [-most, most), from 16 random bits each; then `nans` NaNs.
buffer random_numbers(int64_t count, float most, int64_t nans, std::uint64_t seed) {
  const std::vector<std::uint8_t> bytes = lab::random_bytes(2 * at(count), seed);
  buffer result({dtype::bf16, count + nans});  // all NaNs
  const auto values = result.as<bfloat16>();
  lab::for_each_index(at(count), [&](std::size_t i) {
    const auto whole = static_cast<std::int16_t>(bytes[2 * i] | bytes[2 * i + 1] << 8);
    values[i] = lab::to_bfloat16(most * 0x1p-15f * static_cast<float>(whole));
  });
  return result;
}

double wide(bfloat16 x) { return static_cast<double>(static_cast<float>(x)); }

// ---- what a token costs -------------------------------------------------------------------------------------------

/// In the order in which calls.cpp reads them.
struct shape {
  int64_t layers, width, heads, kv_heads, size, hidden, vocabulary, capacity;

  std::vector<int64_t> parameters() const {
    return {layers, width, heads, kv_heads, size, hidden, vocabulary, capacity};
  }
  int64_t layer_matrices() const {
    return (heads + 2 * kv_heads) * size * width + width * heads * size + 3 * hidden * width;
  }
  int64_t weights() const { return vocabulary * width + width + layers * (layer_matrices() + 2 * width); }
  int64_t cache() const { return layers * kv_heads * capacity * size; }  ///< elements of K, and of V
};

constexpr shape llama_1b{16, 2048, 32, 8, 64, 8192, 128'256, 8192};
constexpr shape llama_8b{32, 4096, 32, 8, 128, 14'336, 128'256, 131'072};
constexpr shape gpt2_like{12, 768, 12, 12, 64, 2048, 50'257, 1024};
constexpr shape tiny{1, 8, 1, 1, 64, 8, 2, 4};

/// The result is a double, so that predictions can be compared with it.
test_case formula(const std::string& name, const char* of, const shape& s, std::vector<int64_t> more, double right) {
  test_case c;
  c.entry = name;
  c.id = fmt::format("{}/{}", name, of);
  for (const int64_t one : more) c.id += fmt::format("-{}", one);
  c.where = lab::part::host;
  c.parameters = s.parameters();
  c.parameters.insert(c.parameters.end(), more.begin(), more.end());
  c.outputs = {{dtype::f64, 1}};
  c.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  c.check = [=](std::span<const buffer>, std::span<const buffer> outputs) -> std::string {
    const double got = outputs[0].as<double>()[0], want = right;
    return std::abs(got - want) <= 1e-9 * want ? ""
                                               : fmt::format("the result is {:.10g}, should be {:.10g}", got, want);
  };
  return c;
}

void add_formulas(std::vector<test_case>& all, const char* of, const shape& s, int64_t position) {
  const int64_t weights = 2 * s.weights(), a_token = 4 * s.layers * s.kv_heads * s.size;
  const int64_t bytes = weights + a_token * (position + 1);
  const double operations = 2.0 * static_cast<double>(s.vocabulary * s.width + s.layers * s.layer_matrices()) +
                            4.0 * static_cast<double>(s.layers * s.heads * s.size) * static_cast<double>(position + 1);
  if (position == 0) all.push_back(formula("weight_bytes", of, s, {}, static_cast<double>(weights)));
  all.push_back(formula("cache_bytes", of, s, {position + 1}, static_cast<double>(a_token * (position + 1))));
  all.push_back(formula("token_bytes", of, s, {position}, static_cast<double>(bytes)));
  all.push_back(formula("intensity", of, s, {position}, operations / static_cast<double>(bytes)));
  for (const int64_t gigabytes : {4250, 936})  // bandwidth of an H200 and of an RTX 3090
    all.push_back(formula("least_seconds", of, s, {position, gigabytes},
                          static_cast<double>(bytes) / (1e9 * static_cast<double>(gigabytes))));
}

// ---- products with one vector -------------------------------------------------------------------------------------

/// The error of an FP32 sum of `count` terms in any order, relative to the sum of their magnitudes. Rounding errors
/// have both signs, so their sum grows with the square root of the count.
double off_in_sum(int64_t count) { return 2 * (std::sqrt(static_cast<double>(count)) + 32) * unit; }

/// The allowed error of a product.
double allowed_off(int64_t columns, double terms) { return off_in_sum(columns) * terms; }

double norm_factor(std::span<const double> x) {
  double squares = 0;
  for (const double one : x) squares += one * one;
  return 1 / std::sqrt(squares / static_cast<double>(x.size()) + 1e-5);
}

doubles normalized(std::span<const double> x, std::span<const bfloat16> norm) {
  const double factor = norm_factor(x);
  doubles result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] * wide(norm[i]) * factor;
  return result;
}

doubles widened(std::span<const float> x) { return {x.begin(), x.end()}; }

std::string first_wrong(std::size_t count, const std::function<std::string(std::size_t)>& wrong_at, std::size_t each) {
  std::vector<std::string> wrong(count);
  lab::for_each_index(
      count, [&](std::size_t i) { wrong[i] = wrong_at(i); }, each);
  const auto is_wrong = [](const std::string& text) { return !text.empty(); };
  const auto first = std::find_if(wrong.begin(), wrong.end(), is_wrong);
  if (first == wrong.end()) return "";
  return fmt::format("{} of {} are wrong: {}", std::count_if(wrong.begin(), wrong.end(), is_wrong), count, *first);
}

std::string off(const char* what, std::size_t i, double got, double want, double allowed) {
  if (std::abs(got - want) <= allowed) return "";
  return fmt::format("{}[{}] is {:.7g}, should be {:.7g}, and may be off by {:.2g}", what, i, got, want, allowed);
}

enum class product : std::uint8_t { host, plain, added, in_place, normalized, gated };

/// With weights up to 100, a gate's exponential overflows.
test_case matvec(product kind, int64_t rows, int64_t columns, float size_of_x = 1.0f, float size_of_w = 1.0f) {
  constexpr const char* entries[] = {"matvec_host", "matvec", "matvec", "matvec", "norm_matvec", "norm_gate"};
  constexpr const char* marks[] = {"", "", "-residual", "-in_place", "", ""};
  const bool added = kind == product::added || kind == product::in_place;
  const bool norms = kind == product::normalized || kind == product::gated;
  test_case c;
  c.entry = entries[static_cast<int>(kind)];
  c.id = fmt::format("{}/{}x{}{}{}", c.entry, rows, columns, marks[static_cast<int>(kind)],
                     size_of_x == 1.0f  ? ""
                     : size_of_x < 1.0f ? "-small"
                                        : "-large") +
         (size_of_w == 1.0f ? "" : "-steep");
  c.where = kind == product::host ? lab::part::host : lab::part::device;
  c.parameters = {rows, columns, kind == product::added ? 1 : kind == product::in_place ? 2 : 0};
  c.outputs = {{dtype::f32, rows}};
  const int64_t all_rows = kind == product::gated ? 2 * rows : rows;
  c.inputs = [=](std::uint64_t seed) {
    floats x = lab::random_floats(at(columns), seed + 1);
    for (float& one : x) one = size_of_x * (one + 0.25f);
    const float most = norms ? size_of_w * 2.0f / std::sqrt(static_cast<float>(columns)) : 1.0f;
    // On the host, reading past the end of W returns NaN; on the device, it is always reported.
    std::vector<buffer> result{random_numbers(all_rows * columns, most, kind == product::host ? 64 : 0, seed),
                               buffer::of(x)};
    if (added) result.push_back(buffer::of(lab::random_floats(at(rows), seed + 2)));
    if (norms) {
      floats norm = lab::random_floats(at(columns), seed + 2);
      for (float& one : norm) one = 1.0f + 0.5f * one;
      result.push_back(buffer::of(rounded(norm)));
    }
    return result;
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto w = before[0].as<bfloat16>();
    const auto y = outputs[0].as<float>();
    doubles x = widened(before[1].as<float>());
    if (norms) x = normalized(x, before[2].as<bfloat16>());
    const auto row = [&](std::size_t r) { return lab::dot_of(w.subspan(r * at(columns), at(columns)), std::span(x)); };
    return first_wrong(
        at(rows),
        [&](std::size_t r) {
          lab::dot one = row(r);
          double want = one.sum, allowed = (norms ? 2 : 1) * allowed_off(columns, one.terms);
          if (added) {
            want += static_cast<double>(before[2].as<float>()[r]);
            allowed += 2 * unit * std::abs(want);
          }
          if (kind == product::gated) {
            const lab::dot up = row(r + at(rows));
            const double gate = one.sum / (1 + std::exp(-one.sum)), off_gate = 2 * allowed_off(columns, one.terms);
            want = gate * up.sum;
            allowed = 1.1 * off_gate * std::abs(up.sum) + std::abs(gate) * 2 * allowed_off(columns, up.terms) +
                      16 * unit * std::abs(want) + 4 * off_gate * allowed_off(columns, up.terms);
          }
          return off("y", r, static_cast<double>(y[r]), want, allowed + 1e-30);
        },
        at(columns));
  };
  const auto weights = static_cast<double>(all_rows * columns);
  c.work = {2 * weights, 2 * weights + 4 * static_cast<double>(columns + rows)};
  return c;
}

// ---- the cache ----------------------------------------------------------------------------------------------------

/// Rows of cosines and sines, in pairs, as in Llama, but with a base that depends on the seed: only the table gives the
/// angles.
floats rotary_of(int64_t capacity, int64_t size, std::uint64_t seed) {
  const double base = 10'000.0 * static_cast<double>(1 + seed % 50);
  floats result;
  for (int64_t p = 0; p < capacity; ++p)
    for (int64_t i = 0; i < size; i += 2) {
      const double angle = static_cast<double>(p) * std::pow(base, -static_cast<double>(i) / static_cast<double>(size));
      result.push_back(static_cast<float>(std::cos(angle)));
      result.push_back(static_cast<float>(std::sin(angle)));
    }
  return result;
}

/// A rotated pair of numbers; `terms` bounds the rounding error.
struct turned {
  std::array<double, 2> value, terms;
};
turned turn(double a, double b, double c, double s) {
  return {{a * c - b * s, b * c + a * s}, {std::abs(a * c) + std::abs(b * s), std::abs(b * c) + std::abs(a * s)}};
}

/// The most that rounding to the nearest bf16 changes a number: half the distance between two bf16 numbers.
double half_a_step(double x) { return x == 0 ? 0 : std::ldexp(1.0 + 0x1p-12, std::ilogb(x) - 8); }

bool is_poison(bfloat16 x) { return x.bits == 0xFFFF; }

test_case rotate_append(int64_t heads, int64_t kv_heads, int64_t size, int64_t capacity, int64_t position) {
  test_case c;
  c.entry = "rotate_append";
  c.id = fmt::format("rotate_append/{}:{}x{}-{}of{}", heads, kv_heads, size, position, capacity);
  c.parameters = {heads, kv_heads, size, capacity};
  c.outputs = {
      {dtype::f32, heads * size}, {dtype::bf16, kv_heads * capacity * size}, {dtype::bf16, kv_heads * capacity * size}};
  c.inputs = [=](std::uint64_t seed) {
    return lab::buffers(lab::random_floats(at((heads + 2 * kv_heads) * size), seed), rotary_of(capacity, size, seed),
                        std::vector<std::int32_t>{static_cast<std::int32_t>(position)});
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto qkv = before[0].as<float>(), angles = before[1].as<float>().subspan(at(position * size), at(size));
    const auto in = [&](int64_t head, int64_t i) { return static_cast<double>(qkv[at(head * size + i)]); };
    const auto turned_at = [&](int64_t head, int64_t i) {
      const auto pair = i / 2 * 2;
      const turned t = turn(in(head, pair), in(head, pair + 1), static_cast<double>(angles[at(pair)]),
                            static_cast<double>(angles[at(pair + 1)]));
      return std::pair{t.value[at(i % 2)], t.terms[at(i % 2)]};
    };
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t i = 0; i < size; ++i) {
        const auto [want, terms] = turned_at(h, i);
        const std::string text =
            off(fmt::format("q, head {}: ", h).c_str(), at(i),
                static_cast<double>(outputs[0].as<float>()[at(h * size + i)]), want, 8 * unit * terms);
        if (!text.empty()) return text;
      }
    for (int which = 1; which <= 2; ++which) {
      const char* name = which == 1 ? "K" : "V";
      const auto cache = outputs[at(which)].as<bfloat16>();
      for (int64_t h = 0; h < kv_heads; ++h)
        for (int64_t p = 0; p < capacity; ++p)
          for (int64_t i = 0; i < size; ++i) {
            const bfloat16 got = cache[at((h * capacity + p) * size + i)];
            if (p != position) {
              if (is_poison(got)) continue;
              return fmt::format("{}, head {}: position {} of the cache was written, but only position {} may be", name,
                                 h, p, position);
            }
            const double v = in(heads + kv_heads + h, i);
            const auto [want, terms] = which == 1 ? turned_at(heads + h, i) : std::pair{v, 0.0};
            const std::string text = off(fmt::format("{}, head {}, position {}: ", name, h, p).c_str(), at(i),
                                         wide(got), want, half_a_step(want) + 8 * unit * terms + 1e-38);
            if (!text.empty()) return text;
          }
    }
    return "";
  };
  c.work.bytes = static_cast<double>(4 * (2 * heads + 2 * kv_heads) * size + 4 * kv_heads * size);
  return c;
}

// ---- attention ----------------------------------------------------------------------------------------------------

struct attended {
  doubles out, magnitude;  ///< magnitude: the sum of |weight v|
  double largest = 0;      ///< the largest scaled sum of |q k|
};
/// Attention of one query head to keys 0 to tokens - 1; row j of k and v begins at j * size.
attended attention_of(std::span<const double> q, std::span<const bfloat16> k, std::span<const bfloat16> v,
                      std::size_t tokens) {
  const std::size_t size = q.size();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  doubles weights(tokens);
  attended result{doubles(size), doubles(size)};
  double most = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t j = 0; j < tokens; ++j) {
    const lab::dot score = lab::dot_of(k.subspan(j * size, size), q);
    weights[j] = score.sum * scale;
    most = std::max(most, weights[j]);
    result.largest = std::max(result.largest, score.terms * scale);
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (double& one : weights) one /= sum;
  for (std::size_t j = 0; j < tokens; ++j)
    for (std::size_t i = 0; i < size; ++i) {
      const double term = weights[j] * wide(v[j * size + i]);
      result.out[i] += term;
      result.magnitude[i] += std::abs(term);
    }
  return result;
}

/// 2^20 to 2^30 or its inverse, depending on the seed. If one factor of a product is multiplied by it and another
/// divided, the product is unchanged in float and in bf16, but the factors leave fp16's range.
float power_of_two(lab::random_sizes& draw) {
  return std::ldexp(1.0f, static_cast<int>(draw(20, 30) * (2 * draw(0, 1) - 1)));
}

/// With a large `spread`, one key gets nearly all of the weight. If `below`, all scores lie between -1000 and -400:
/// their exponentials are zero in float.
test_case attend(int64_t heads, int64_t kv_heads, int64_t size, int64_t capacity, int64_t position, float spread = 1.0f,
                 bool below = false) {
  constexpr int64_t most_parts = 64;
  test_case c;
  c.entry = "attend";
  c.id = fmt::format("attend/{}:{}x{}-{}of{}{}{}", heads, kv_heads, size, position, capacity,
                     spread > 1 ? "-spread" : "", below ? "-below" : "");
  c.parameters = {heads, kv_heads, size, capacity};
  c.outputs = {{dtype::f32, heads * size}, {dtype::u8, heads * most_parts * (size + 2) * 4}};
  c.inputs = [=](std::uint64_t seed) {
    floats q = lab::random_floats(at(heads * size), seed),
           k = lab::random_floats(at(kv_heads * capacity * size), seed + 1),
           v = lab::random_floats(at(kv_heads * capacity * size), seed + 2);
    constexpr float around = 1.75f;
    const float far = below ? std::sqrt(990.0f / std::sqrt(static_cast<float>(size))) - around : 0.0f;
    lab::random_sizes draw(seed + 3);
    const float of_keys = power_of_two(draw), of_values = power_of_two(draw);
    for (float& one : q) one = (around * spread * one + far) / of_keys;
    for (float& one : k) one = (around * one + (below ? -far : 0.125f)) * of_keys;
    for (float& one : v) one = (one + 0.25f) * of_values;
    numbers keys = rounded(k), values = rounded(v);
    for (std::size_t i = 0; i < keys.size(); ++i)
      if (static_cast<int64_t>(i) / size % capacity > position) keys[i].bits = values[i].bits = 0xFFFF;
    return lab::buffers(q, keys, values, std::vector<std::int32_t>{static_cast<std::int32_t>(position)});
  };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const doubles q = widened(before[0].as<float>());
    return first_wrong(
        at(heads),
        [&](std::size_t h) -> std::string {
          const std::size_t of = h / at(heads / kv_heads) * at(capacity * size);
          const attended want =
              attention_of(std::span(q).subspan(h * at(size), at(size)), before[1].as<bfloat16>().subspan(of),
                           before[2].as<bfloat16>().subspan(of), at(position + 1));
          const double of_score = 2 * (static_cast<double>(size) + 16) * unit * want.largest;
          const double of_sum = off_in_sum(position + 1);
          for (std::size_t i = 0; i < at(size); ++i) {
            const std::string text = off("column ", i, static_cast<double>(outputs[0].as<float>()[h * at(size) + i]),
                                         want.out[i], (2 * of_score + of_sum) * want.magnitude[i] + 1e-36);
            if (!text.empty()) return fmt::format("head {}: {}", h, text);
          }
          return "";
        },
        at((position + 1) * size));
  };
  const auto keys = static_cast<double>((position + 1) * size);
  c.work = {4 * static_cast<double>(heads) * keys, 4 * static_cast<double>(kv_heads) * keys};
  return c;
}

// ---- whole tokens -------------------------------------------------------------------------------------------------

/// The model in double. Its attention reads the keys and values that the submission wrote, so later results do not
/// depend on how it rounded a bf16. The submission's keys and values are compared with unrounded ones.
class reference {
 public:
  reference(const shape& s, std::span<const buffer> before, std::span<const buffer> outputs)
      : s_(s), weights_(before[0].as<bfloat16>()), rotary_(before[1].as<float>()) {
    for (const std::size_t which : {0, 1}) {
      cache_[which] = {doubles(at(s.cache())), doubles(at(s.cache()))};
      kept_[which] = outputs[1 + which].as<bfloat16>();
    }
  }

  /// Sums, and the sums of their terms' absolute values. Errors are proportional to the latter: if large terms cancel,
  /// the difference still has their error.
  struct sums {
    doubles value, terms;
  };

  sums token(int64_t token, int64_t position) {
    const int64_t heads = s_.heads * s_.size, kv = s_.kv_heads * s_.size;
    const auto embedding = weights_.first(at(s_.vocabulary * s_.width));
    std::size_t next = embedding.size();
    const auto take = [&](int64_t count) {
      const auto found = weights_.subspan(next, at(count));
      next += at(count);
      return found;
    };
    const auto last_norm = take(s_.width);
    sums x;
    for (const bfloat16 one : embedding.subspan(at(token * s_.width), at(s_.width))) {
      x.value.push_back(wide(one));
      x.terms.push_back(std::abs(wide(one)));
    }
    const auto add = [&](const sums& more) {
      for (std::size_t i = 0; i < x.value.size(); ++i) {
        x.value[i] += more.value[i];
        x.terms[i] += more.terms[i];
      }
    };
    const auto product_of_normalized = [&](std::span<const bfloat16> w, std::span<const bfloat16> norm) {
      const double factor = norm_factor(x.value);
      doubles terms(x.terms.size());
      for (std::size_t i = 0; i < terms.size(); ++i) terms[i] = x.terms[i] * std::abs(wide(norm[i])) * factor;
      return product_of(w, {normalized(x.value, norm), terms});
    };
    for (int64_t l = 0; l < s_.layers; ++l) {
      const auto norm1 = take(s_.width);
      auto [qkv, terms] = product_of_normalized(take((heads + 2 * kv) * s_.width), norm1);
      for (int64_t i = 0; i < heads + kv; i += 2) {
        const std::size_t angle = at(position * s_.size + i % s_.size), a = at(i), b = at(i + 1);
        const auto c = static_cast<double>(rotary_[angle]), s = static_cast<double>(rotary_[angle + 1]);
        const auto value = turn(qkv[a], qkv[b], c, s).value, of_terms = turn(terms[a], terms[b], c, s).terms;
        qkv[a] = value[0], qkv[b] = value[1];
        terms[a] = of_terms[0], terms[b] = of_terms[1];
      }
      for (int64_t i = 0; i < 2 * kv; ++i) {
        sums& cache = cache_[at(i / kv)];
        const std::size_t to = place(l, i % kv / s_.size, position) + at(i % s_.size);
        cache.value[to] = qkv[at(heads + i)];
        cache.terms[to] = terms[at(heads + i)];
      }
      doubles attention(at(heads));
      for (int64_t h = 0; h < s_.heads; ++h) {
        const std::size_t of = place(l, h / (s_.heads / s_.kv_heads), 0);
        const attended one = attention_of(std::span(qkv).subspan(at(h * s_.size), at(s_.size)), kept_[0].subspan(of),
                                          kept_[1].subspan(of), at(position + 1));
        std::copy(one.out.begin(), one.out.end(), attention.begin() + h * s_.size);
      }
      add(product_of(take(s_.width * heads), {attention, attention}));
      const auto norm2 = take(s_.width);
      const doubles both = product_of_normalized(take(2 * s_.hidden * s_.width), norm2).value;
      doubles gated(at(s_.hidden));
      for (std::size_t i = 0; i < gated.size(); ++i)
        gated[i] = both[i] / (1 + std::exp(-both[i])) * both[i + at(s_.hidden)];
      add(product_of(take(s_.width * s_.hidden), {gated, gated}));
    }
    return product_of_normalized(embedding, last_norm);
  }

  /// Describes an error in the cache after positions `first` to `last` were appended.
  std::string wrong_cache(std::span<const buffer> before, std::span<const buffer> outputs, int64_t first,
                          int64_t last) const {
    for (int which = 0; which < 2; ++which) {
      const auto old = before[at(2 + which)].as<bfloat16>(), got = outputs[at(1 + which)].as<bfloat16>();
      for (std::size_t i = 0; i < old.size(); ++i) {
        const auto row = static_cast<int64_t>(i) / s_.size;
        const int64_t p = row % s_.capacity;
        const std::string where = fmt::format("{} of layer {}, head {}, position {}", which == 0 ? "K" : "V",
                                              row / s_.capacity / s_.kv_heads, row / s_.capacity % s_.kv_heads, p);
        if (p < first || p > last) {
          if (got[i].bits != old[i].bits) return where + " was overwritten";
        } else {
          const double want = cache_[at(which)].value[i],
                       allowed = half_a_step(want) + 0x1p-15 * cache_[at(which)].terms[i];
          if (std::abs(wide(got[i]) - want) <= allowed) continue;
          const std::string number = fmt::format("{}, number {}", where, static_cast<int64_t>(i) % s_.size);
          return std::isnan(wide(got[i]))
                     ? fmt::format("{} is nan, should be {:.6g}", number, want)
                     : fmt::format("{} is {:.6g}, should be the bf16 nearest to {:.6g}", number, wide(got[i]), want);
        }
      }
    }
    return "";
  }

 private:
  std::size_t place(int64_t layer, int64_t kv_head, int64_t position) const {
    return at(((layer * s_.kv_heads + kv_head) * s_.capacity + position) * s_.size);
  }
  static sums product_of(std::span<const bfloat16> w, const sums& x) {
    const std::size_t columns = x.value.size();
    sums result{doubles(w.size() / columns), doubles(w.size() / columns)};
    lab::for_each_index(
        result.value.size(),
        [&](std::size_t r) {
          const auto row = w.subspan(r * columns, columns);
          result.value[r] = lab::dot_of(row, std::span(x.value)).sum;
          result.terms[r] = lab::dot_of(row, std::span(x.terms)).terms;
        },
        columns);
    return result;
  }

  shape s_;
  std::span<const bfloat16> weights_;
  std::span<const float> rotary_;
  std::array<sums, 2> cache_;  ///< before rounding
  std::array<std::span<const bfloat16>, 2> kept_;
};

/// A logit's allowed error in FP32, accumulated over all layers.
double allowed_logit(const reference::sums& right, std::size_t i) { return 0x1p-15 * right.terms[i]; }

/// The range of a model's logits.
enum class logit_kind { usual, equal, below_zero };

/// Weights that keep a token's state near 1, and a cache that holds `position` tokens, then NaN. Keys, values and gated
/// numbers are multiplied by powers of two. For equal logits, the embedding is 0, except that its last 63 rows, or 1000
/// of a small one, begin with 2, 0 or -2: every third of the last tokens then has the same largest logit. For logits
/// thousands below zero, the first number of each row is 8, and the last norm flips its sign.
std::vector<buffer> model_inputs(const shape& s, int64_t position, logit_kind like, std::uint64_t seed) {
  floats w = lab::random_floats(at(s.weights()), seed);
  std::size_t next = at(s.vocabulary * s.width);
  const std::size_t last_norm = next;
  if (like == logit_kind::equal) {
    std::fill_n(w.begin(), next, 0.0f);
    const int64_t last = s.vocabulary < 2000 ? 1000 : 63;
    for (int64_t t = s.vocabulary - last; t < s.vocabulary; ++t) w[at(t * s.width)] = static_cast<float>(t % 3 * 2 - 2);
  }
  for (int64_t t = 0; like == logit_kind::below_zero && t < s.vocabulary; ++t) w[at(t * s.width)] = 8;
  const auto norm = [&] {
    for (const std::size_t end = next + at(s.width); next < end; ++next) w[next] = 1 + 0.5f * w[next];
  };
  const auto matrix = [&](int64_t rows, int64_t columns, float size) {
    const float factor = size * std::sqrt(3 / static_cast<float>(columns));
    for (const std::size_t end = next + at(rows * columns); next < end; ++next) w[next] *= factor;
  };
  lab::random_sizes draw(seed + 3);
  const float of_keys = power_of_two(draw), of_values = power_of_two(draw), of_gated = power_of_two(draw);
  norm();
  for (int64_t l = 0; l < s.layers; ++l) {
    norm();
    matrix(s.heads * s.size, s.width, 1.25f / of_keys);
    matrix(s.kv_heads * s.size, s.width, 1.25f * of_keys);
    matrix(s.kv_heads * s.size, s.width, 1.25f * of_values);
    matrix(s.width, s.heads * s.size, 1.0f / of_values);
    norm();
    matrix(s.hidden, s.width, 1.0f);
    matrix(s.hidden, s.width, of_gated);
    matrix(s.width, s.hidden, 1.0f / of_gated);
  }
  if (like == logit_kind::below_zero) w[last_norm] = -256;
  std::vector<buffer> result{buffer::of(rounded(w)), buffer::of(rotary_of(s.capacity, s.size, seed))};
  for (const std::uint64_t which : {1, 2}) {
    floats cache = lab::random_floats(at(s.cache()), seed + which);
    for (float& one : cache) one *= 1.75f * (which == 1 ? of_keys : of_values);
    numbers kept = rounded(cache);
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (static_cast<int64_t>(i) / s.size % s.capacity >= position) kept[i].bits = 0xFFFF;
    result.push_back(buffer::of(kept));
  }
  const auto token = static_cast<std::int32_t>(seed % static_cast<std::uint64_t>(s.vocabulary));
  result.push_back(buffer::of(std::vector{token, static_cast<std::int32_t>(position)}));
  return result;
}

/// With a count, calls `generate`; without one, computes one token. In memory, the layers follow the last norm.
test_case tokens(const char* name, const shape& s, int64_t position, int64_t count = 0,
                 logit_kind like = logit_kind::usual) {
  constexpr int64_t most_parts = 64;
  const bool many = count > 0;
  const int64_t scratch = s.width + s.hidden + (s.heads + 2 * s.kv_heads) * s.size + 2 * s.heads * s.size +
                          s.heads * most_parts * (s.size + 2) + 64;
  test_case c;
  c.entry = many ? "generate" : "decode_token";
  c.id = fmt::format("{}/{}-{}", c.entry, name, position) + (many ? fmt::format("-{}", count) : "");
  if (like != logit_kind::usual) c.id += like == logit_kind::equal ? "-equal" : "-below";
  c.parameters = s.parameters();
  c.parameters.push_back(count);
  c.outputs = {{dtype::f32, s.vocabulary},
               {dtype::bf16, s.cache()},
               {dtype::bf16, s.cache()},
               {dtype::i32, 2},
               {dtype::u8, 4 * scratch}};
  if (many) c.outputs.push_back({dtype::i32, s.capacity});
  c.inputs = [=](std::uint64_t seed) { return model_inputs(s, position, like, seed); };
  c.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    reference right(s, before, outputs);
    int64_t token = before[4].as<std::int32_t>()[0];
    reference::sums logits;
    for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
      logits = right.token(token, position + i);
      if (!many) break;
      const std::int32_t chosen = outputs[5].as<std::int32_t>()[at(position + i)];
      if (chosen < 0 || chosen >= s.vocabulary)
        return fmt::format("chosen[{}] is {}, which is not a token", position + i, chosen);
      const auto best =
          static_cast<std::size_t>(std::max_element(logits.value.begin(), logits.value.end()) - logits.value.begin());
      const auto got = at(chosen);
      if (logits.value[got] + allowed_logit(logits, got) + allowed_logit(logits, best) < logits.value[best])
        return fmt::format("chosen[{}] is {}, whose logit is {:.6g}; that of {} is {:.6g}", position + i, chosen,
                           logits.value[got], best, logits.value[best]);
      if (got != best && logits.value[got] == logits.value[best])
        return fmt::format("chosen[{}] is {}, but {} has the same logit: of equal logits, choose the first",
                           position + i, chosen, best);
      token = chosen;
    }
    if (many)
      for (int64_t p = 0; p < s.capacity; ++p)
        if ((p < position || p >= position + count) && outputs[5].as<std::int32_t>()[at(p)] != -1)
          return fmt::format("chosen[{}] was written, but only {} to {} may be", p, position, position + count - 1);
    const std::string in_cache =
        right.wrong_cache(before, outputs, position, position + std::max<int64_t>(count, 1) - 1);
    if (!in_cache.empty()) return in_cache;
    for (std::size_t i = 0; i < at(s.vocabulary); ++i) {
      const std::string text =
          off("logits", i, static_cast<double>(outputs[0].as<float>()[i]), logits.value[i], allowed_logit(logits, i));
      if (!text.empty()) return text;
    }
    const auto after = outputs[3].as<std::int32_t>();
    const int64_t next = position + count;
    if (after[0] != token || after[1] != next)
      return fmt::format("afterwards token and position are {} and {}, should be {} and {}", after[0], after[1], token,
                         next);
    return "";
  };
  c.work.bytes = static_cast<double>(2 * s.weights() + 4 * s.layers * s.kv_heads * s.size * (position + 1)) *
                 static_cast<double>(std::max<int64_t>(count, 1));
  c.work.flops = c.work.bytes;
  return c;
}

// ---- figures for the predictions ----------------------------------------------------------------------------------

/// From given/reports.md: the faults of A to D; the actions for R and A to D; the blocks of A that an H200 can hold, 6
/// on each multiprocessor; the microseconds that B's 67.1 MB of weights and 8.4 MB of scales take at R's speed;
/// attention's fault with a batch of 1, and the microseconds that the 536.9 MB of a batch of 256 take at R's speed.
std::vector<double> reports() { return {1, 4, 2, 3, 2, 3, 6, 5, 1, 6 * 132, 75.5 / 4.28, 1, 536.9 / 4.28}; }

// ---- all ----------------------------------------------------------------------------------------------------------

constexpr shape small{2, 64, 4, 2, 64, 48, 72, 64}, one_layer{1, 16, 2, 1, 64, 24, 20, 24},
    counted{2, 128, 4, 2, 64, 256, 256, 512};

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const int64_t position : {0, 4095}) {
    add_formulas(all, "llama_1b", llama_1b, position);
    add_formulas(all, "llama_8b", llama_8b, 32 * position);  // a cache beyond an int
    add_formulas(all, "gpt2_like", gpt2_like, position / 5);
  }
  add_formulas(all, "tiny", tiny, 0);
  all.push_back(formula("cache_bytes", "llama_1b", llama_1b, {0}, 0.0));

  // One row; row counts that no block divides; 8 columns; many more columns than a block has threads, and more than fit
  // in the 48 KiB of an array in shared memory.
  constexpr std::pair<int64_t, int64_t> products[] = {{1, 8},    {2, 16},  {3, 24},   {7, 64},    {8, 128},   {9, 256},
                                                      {31, 264}, {33, 8},  {64, 512}, {65, 1032}, {5, 2048},  {6, 2056},
                                                      {3, 8200}, {17, 40}, {131, 72}, {1, 4096},  {2, 16'392}};
  for (const auto& [rows, columns] : products) {
    for (const product kind : {product::host, product::plain, product::normalized, product::gated})
      all.push_back(matvec(kind, rows, columns));
    all.push_back(matvec(rows % 2 == 0 ? product::added : product::in_place, rows, columns));
  }
  all.push_back(matvec(product::added, 19, 136));
  all.push_back(matvec(product::host, 1, 1'000'000));  // exceeds every fixed-size array
  for (const float x : {1e-3f, 100.0f}) {
    all.push_back(matvec(product::normalized, 21, 72, x));
    all.push_back(matvec(product::gated, 21, 72, x));
  }
  all.push_back(matvec(product::gated, 21, 72, 1.0f, 100.0f));
  // Cases whose counters are read.
  all.push_back(matvec(product::plain, 512, 1024));
  all.push_back(matvec(product::normalized, 512, 1024));

  for (const auto& [heads, kv_heads, size, capacity, position] : {std::array<int64_t, 5>{1, 1, 64, 1, 0},
                                                                  {2, 1, 128, 5, 4},
                                                                  {4, 4, 64, 17, 0},
                                                                  {8, 2, 64, 33, 32},
                                                                  {16, 2, 128, 9, 3},
                                                                  {12, 3, 64, 100, 50},
                                                                  {8, 2, 64, 1000, 700},
                                                                  {2, 1, 64, 5000, 4500}})
    all.push_back(rotate_append(heads, kv_heads, size, capacity, position));

  // Groups of 1, 2, 4 and 8; one token, a few, one more and one less than a tile; a cache that is far from full; more
  // tokens than 64 parts of 512 hold.
  for (const auto& [heads, kv_heads, size, capacity, position] : {std::array<int64_t, 5>{1, 1, 64, 1, 0},
                                                                  {2, 1, 128, 8, 1},
                                                                  {4, 1, 64, 40, 31},
                                                                  {8, 1, 128, 64, 63},
                                                                  {6, 3, 64, 200, 64},
                                                                  {4, 4, 128, 129, 127},
                                                                  {16, 2, 64, 1024, 5},
                                                                  {32, 8, 64, 60, 40},
                                                                  {16, 2, 128, 700, 300},
                                                                  {4, 2, 64, 4100, 4098},
                                                                  {8, 2, 128, 1024, 1023},
                                                                  {8, 8, 64, 513, 511},
                                                                  {1, 1, 64, 40'000, 33'000}})
    all.push_back(attend(heads, kv_heads, size, capacity, position));
  all.push_back(attend(4, 2, 64, 300, 255, 24.0f));
  all.push_back(attend(8, 1, 128, 1000, 998, 96.0f));
  all.push_back(attend(4, 2, 64, 200, 150, 1.0f, true));
  all.push_back(attend(1, 1, 128, 3, 1, 1.0f, true));

  all.push_back(tokens("tiny", tiny, 0));
  all.push_back(tokens("tiny", tiny, 3));
  all.push_back(tokens("no_groups", {3, 72, 2, 2, 64, 40, 33, 20}, 19));
  all.push_back(tokens("groups_of_8", {1, 48, 8, 1, 128, 24, 7, 150}, 140));
  all.push_back(tokens("small", small, 40));
  all.push_back(tokens("counted", counted, 255));
  all.push_back(tokens("wide", {1, 1032, 1, 1, 64, 8, 9, 4}, 1));
  all.push_back(
      tokens("wide_mlp", {1, 8, 1, 1, 64, 12'600, 9, 4}, 1));      // more rows than warps at a time; x exceeds 48 KiB
  all.push_back(tokens("deep", {17, 16, 2, 1, 64, 8, 20, 4}, 2));  // one layer more than Llama 3.2 1B
  all.push_back(tokens("many_heads", {2, 32, 40, 10, 64, 24, 20, 8}, 3));
  all.push_back(tokens("long_cache", {1, 16, 1, 1, 64, 8, 9, 9000}, 8900));
  all.push_back(tokens("tiny", tiny, 0, 4));
  all.push_back(tokens("tiny", tiny, 2, 1));
  all.push_back(tokens("small", small, 5, 2));
  all.push_back(tokens("one_layer", one_layer, 0, 8));
  all.push_back(tokens("one_layer", one_layer, 7, 17));  // fills the cache
  all.push_back(tokens("long_text", {1, 16, 2, 1, 64, 24, 20, 200}, 0, 100));
  all.push_back(tokens("many_tokens", {1, 8, 1, 1, 64, 8, 1100, 4}, 2, 1, logit_kind::equal));
  all.push_back(tokens("very_many_tokens", {1, 8, 1, 1, 64, 8, 4300, 4}, 2, 1, logit_kind::equal));
  all.push_back(tokens("small", small, 7, 3, logit_kind::below_zero));

  all.push_back(lab::figures_case("figures/equal", [] {
    const int64_t cache_of_token = 4 * llama_1b.layers * llama_1b.kv_heads * llama_1b.size;
    return std::vector{static_cast<double>(2 * llama_1b.weights()) / static_cast<double>(cache_of_token)};
  }));
  all.push_back(lab::figures_case("figures/reports", reports));

  all.push_back(timed(matvec(product::host, 16'384, 4096)));
  all.push_back(timed(matvec(product::plain, 14'336, 8192)));
  all.push_back(timed(tokens("two_layers", {2, 2048, 32, 8, 64, 8192, 32'000, 1024}, 1000)));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes draw(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const int64_t rows = draw(2, 200), columns = 8 * draw(1, 150);
    for (const product kind : {product::host, product::plain, product::added, product::normalized, product::gated})
      all.push_back(matvec(kind, rows, columns));
    const int64_t kv_heads = draw(1, 4), heads = kv_heads << draw(0, 3), size = 64 * draw(1, 2);
    const int64_t capacity = draw(2, 1500), position = draw(0, capacity - 1);
    all.push_back(rotate_append(heads, kv_heads, size, draw(2, 60), 1));
    all.push_back(attend(heads, kv_heads, size, capacity, position));
  }
  const int64_t kv_heads = draw(1, 2);
  const shape s{draw(1, 3),  8 * draw(1, 12), kv_heads << draw(0, 2), kv_heads, 64, 8 * draw(1, 12),
                draw(2, 90), draw(20, 60)};
  const int64_t position = draw(1, 15);
  all.push_back(formula("weight_bytes", "drawn", s, {}, static_cast<double>(2 * s.weights())));
  all.push_back(tokens("drawn", s, position));
  all.push_back(tokens("drawn", s, position, draw(2, 5)));
  add_formulas(all, "drawn", s, position);
  all.push_back(lab::like("matvec/512x1024", matvec(product::plain, 8 * draw(40, 63), 256 * draw(3, 4))));
  all.push_back(lab::like("norm_matvec/512x1024", matvec(product::normalized, 8 * draw(40, 63), 256 * draw(3, 4))));
  const int64_t cached = 16 * draw(57, 63);
  all.push_back(lab::like("attend/8:2x128-1023of1024", attend(8, 2, 128, cached, cached - 1)));
  all.push_back(lab::like("rotate_append/8:2x64-700of1000", rotate_append(8, 2, 64, draw(800, 1500), draw(300, 799))));
  // The same number of weights: 8 fewer hidden numbers in each of two layers, but 48 more tokens in the vocabulary.
  shape other = counted;
  const int64_t fewer = draw(1, 8);
  other.hidden -= 8 * fewer, other.vocabulary += 48 * fewer, other.capacity += draw(1, 99);
  all.push_back(lab::like("decode_token/counted-255", tokens("drawn_counted", other, 255)));
  all.push_back(
      lab::like("generate/one_layer-0-8",
                tokens("drawn_calls", {1, 8 * draw(1, 6), 2, 1, 64, 8 * draw(1, 6), draw(9, 60), 30}, 20, 8)));
  // Larger than any case above: rows, columns, heads, keys, layers, vocabulary.
  const auto columns = [&](int64_t least, int64_t most) { return 8 * draw(least / 8 + 1, most / 8); };
  all.push_back(matvec(product::host, draw(1, 2), columns(1'000'000, 1'200'000)));
  for (const product kind : {product::plain, product::normalized, product::gated}) {
    all.push_back(matvec(kind, draw(1, 3), columns(16'392, 24'000)));
    all.push_back(matvec(kind, draw(8601, 9000), columns(8, 24)));
  }
  const int64_t many = draw(33, 50), groups = draw(5, 8);
  all.push_back(rotate_append(2 * many, many, 64, draw(2, 8), 1));
  all.push_back(attend(8 * groups, groups, 64, 300, draw(2, 299)));
  all.push_back(attend(1, 1, 64, 50'000, draw(33'001, 49'999)));
  all.push_back(tokens("drawn_deep", {draw(18, 20), 16, 2, 1, 64, 8, 20, 4}, 2));
  all.push_back(tokens("drawn_vocabulary", {1, 8, 1, 1, 64, 8, draw(16'400, 17'000), 4}, 2, 1, logit_kind::equal));
  // Timed in official grading.
  all.push_back(lab::like("matvec_host/16384x4096",
                          timed(matvec(product::host, 16'384 + 64 * draw(1, 9), 4096 + 64 * draw(1, 9)))));
  return all;
}

const lab::case_registration registration{"10_decode", cases, drawn_cases};

}  // namespace
