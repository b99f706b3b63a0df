// Lab 09's problems: numbers to encode and decode, results of arithmetic that rounds, weights in groups, and products.
// Unlike a solution, the judge computes nothing from bits: it tabulates each format's numbers and looks up the nearest
// one.
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

namespace {

using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using std::int64_t;
using std::uint32_t;
using floats = std::vector<float>;

constexpr std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// ---- formats ------------------------------------------------------------------------------------------------------

/// In the order of lab09::format.
enum format : int { fp32, fp16, bf16, tf32, e4m3, e5m2 };

struct description {
  const char* name;
  int exponent_bits, fraction_bits, bits_below;
  bool infinities, saturates;
  uint32_t sign() const { return uint32_t{1} << (exponent_bits + fraction_bits); }
};
constexpr description descriptions[] = {{"fp32", 8, 23, 0, true, false}, {"fp16", 5, 10, 0, true, false},
                                        {"bf16", 8, 7, 0, true, false},  {"tf32", 8, 10, 13, true, false},
                                        {"e4m3", 4, 3, 0, false, true},  {"e5m2", 5, 2, 0, true, true}};

/// The finite numbers of a format, from 0 upwards; a number's index is its code.
const std::vector<double>& numbers_of(format f) {
  static const auto make = [](const description& d) {
    const int bias = (1 << (d.exponent_bits - 1)) - 1;
    std::vector<double> all;
    for (uint32_t code = 0; code < d.sign(); ++code) {
      const auto field = static_cast<int>(code >> d.fraction_bits);
      const double fraction = std::ldexp(code & ((1u << d.fraction_bits) - 1), -d.fraction_bits);
      if (d.infinities ? field == (1 << d.exponent_bits) - 1 : code == d.sign() - 1) break;
      all.push_back(field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias));
    }
    return all;
  };
  static const std::array<std::vector<double>, 6> tables{std::vector<double>(),    make(descriptions[fp16]),
                                                         make(descriptions[bf16]), make(descriptions[tf32]),
                                                         make(descriptions[e4m3]), make(descriptions[e5m2])};
  return tables[at(f)];
}

/// The largest number plus half of the last step: values from there on are too large.
double overflow_of(format f) {
  const std::vector<double>& all = numbers_of(f);
  return all.back() + (all.back() - all[all.size() - 2]) / 2;
}

uint32_t right_code(float value, format f) {
  const description& d = descriptions[f];
  if (std::isnan(value)) return (d.sign() - 1) << d.bits_below;
  if (f == fp32) return std::bit_cast<uint32_t>(value);
  const std::vector<double>& all = numbers_of(f);
  const double magnitude = std::abs(static_cast<double>(value));
  std::size_t code = 0;
  if (magnitude >= overflow_of(f) || magnitude > all.back()) {
    code = all.size() - (d.saturates || magnitude < overflow_of(f) ? 1 : 0);
  } else {
    const auto above = at(std::lower_bound(all.begin(), all.end(), magnitude) - all.begin());
    code = above;
    if (above > 0) {
      const double up = all[above] - magnitude, down = magnitude - all[above - 1];
      if (down < up || (down == up && above % 2 == 1)) code = above - 1;
    }
  }
  return (static_cast<uint32_t>(code) | (std::signbit(value) ? d.sign() : 0)) << d.bits_below;
}

float right_number(uint32_t code, format f) {
  if (f == fp32) return std::bit_cast<float>(code);
  const description& d = descriptions[f];
  code >>= d.bits_below;
  const std::vector<double>& all = numbers_of(f);
  const uint32_t magnitude = code & (d.sign() - 1);
  double number = std::numeric_limits<double>::quiet_NaN();
  if (magnitude < all.size()) number = all[magnitude];
  if (d.infinities && magnitude == all.size()) number = std::numeric_limits<double>::infinity();
  return static_cast<float>(code & d.sign() ? -number : number);
}

float rounded(float value, format f) { return f == fp32 ? value : right_number(right_code(value, f), f); }

/// Every number of the format and every midpoint between neighbours, each with the floats on both sides. tf32 has 2^18
/// numbers, so only those around each power of two and a random choice. Also infinities, NaNs, subnormal floats and
/// random bits.
floats to_encode(format f, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  floats all{0.0f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::max(),
             std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min()};
  const auto add = [&](double value) {
    const auto nearest = static_cast<float>(value);
    for (const float one :
         {nearest, std::nextafter(nearest, 0.0f), std::nextafter(nearest, std::numeric_limits<float>::infinity())})
      all.push_back(one);
  };
  if (f != fp32) {
    const std::vector<double>& numbers = numbers_of(f);
    for (std::size_t i = 1; i < numbers.size(); ++i) {
      const std::size_t fraction = i % (std::size_t{1} << descriptions[f].fraction_bits);
      if (f == tf32 && fraction > 2 && fraction < 1022 && random() % 64 != 0) continue;
      add(numbers[i]);
      add((numbers[i - 1] + numbers[i]) / 2);
    }
    add(overflow_of(f));
  }
  for (const uint32_t nan : {0x7F800001u, 0x7FC00000u, 0x7F812345u, 0x7FFFFFFFu})
    all.push_back(std::bit_cast<float>(nan));
  for (int i = 0; i < 20'000; ++i) all.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) all.push_back(-all[i]);
  return all;
}

std::string as_hex(uint32_t code) { return fmt::format("0x{:X}", code); }

/// Describes the first few errors; `wrong(i)` is "" if element i is right.
template <class Wrong>
std::string all_wrong(std::size_t count, const Wrong& wrong) {
  std::string text;
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (const std::string one = wrong(i); !one.empty() && ++found <= 3) text += (found > 1 ? "; " : "") + one;
  if (found == 0) return {};
  return fmt::format("{} of {} are wrong: {}{}", found, count, text, found > 3 ? "; ..." : "");
}

test_case host_case(std::string id, std::vector<int64_t> parameters, std::vector<lab::buffer_spec> outputs) {
  test_case result;
  result.entry = id.substr(0, id.find('/'));
  result.id = std::move(id);
  result.where = lab::part::host;
  result.parameters = std::move(parameters);
  result.outputs = std::move(outputs);
  return result;
}

test_case encode(format f) {
  const auto count = static_cast<int64_t>(to_encode(f, 1).size());  // depends on the seed: tf32's numbers are random
  test_case result = host_case(fmt::format("encode/{}", descriptions[f].name), {f, count}, {{dtype::i32, count}});
  result.inputs = [=](std::uint64_t seed) {
    floats all = to_encode(f, seed);
    all.resize(at(count), 1.0f);
    return lab::buffers(all);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto values = before[0].as<float>();
    const auto codes = outputs[0].as<std::int32_t>();
    return all_wrong(values.size(), [&](std::size_t i) -> std::string {
      const auto code = static_cast<uint32_t>(codes[i]), want = right_code(values[i], f);
      if (code == want) return "";
      const std::string value = std::isnan(values[i]) ? "NaN " + as_hex(std::bit_cast<uint32_t>(values[i]))
                                                      : fmt::format("{:.9g} = {:a}", values[i], values[i]);
      return fmt::format("encode({}) is {}, should be {}", value, as_hex(code), as_hex(want));
    });
  };
  return result;
}

test_case decode(format f) {
  const description& d = descriptions[f];
  const auto count = f == fp32 ? int64_t{40'000} : int64_t{2} * d.sign();
  test_case result = host_case(fmt::format("decode/{}", d.name), {f, count}, {{dtype::f32, count}});
  result.inputs = [=](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::int32_t> codes(at(count));
    for (std::size_t i = 0; i < codes.size(); ++i)
      codes[i] = static_cast<std::int32_t>(f == fp32 ? random() : i << descriptions[f].bits_below);
    std::shuffle(codes.begin(), codes.end(), random);
    return lab::buffers(codes);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto codes = before[0].as<std::int32_t>();
    const auto values = outputs[0].as<float>();
    return all_wrong(codes.size(), [&](std::size_t i) -> std::string {
      const auto code = static_cast<uint32_t>(codes[i]);
      const float want = right_number(code, f);
      const bool same = std::isnan(want) ? std::isnan(values[i])
                                         : std::bit_cast<uint32_t>(values[i]) == std::bit_cast<uint32_t>(want);
      return same ? "" : fmt::format("decode({}) is {}, should be {}", as_hex(code), values[i], want);
    });
  };
  return result;
}

// ---- arithmetic that rounds ---------------------------------------------------------------------------------------

/// Whether a float result is right. If the compiler `may_fuse` multiplications with additions, results may differ a
/// little; otherwise each operation is rounded, and only one result is possible.
bool agrees(float got, float want, bool may_fuse) {
  if (!may_fuse) return got == want;
  return std::abs(static_cast<double>(got) - want) <= 4e-6 * (1 + std::abs(static_cast<double>(want)));
}

float right_sum(std::span<const float> x, format terms, format sums) {
  float total = 0.0f;
  for (const float one : x) total = rounded(total + rounded(one, terms), sums);
  return total;
}

float largest(std::span<const float> x, format f) {
  float most = -std::numeric_limits<float>::infinity();
  for (const float one : x) most = std::max(most, rounded(one, f));
  return most;
}

/// Rounds differences from the largest number to `differences` if given, otherwise to f; fp32 gives the result of
/// forgetting to round them.
float right_softmax_sum(std::span<const float> x, format f, std::optional<format> differences = {}) {
  const float most = largest(x, f);
  floats powers;
  for (const float one : x)
    powers.push_back(rounded(std::exp(rounded(rounded(one, f) - most, differences.value_or(f))), f));
  return right_sum(powers, f, f);
}

float right_variance(std::span<const float> x, format f) {
  const float n = rounded(static_cast<float>(x.size()), f), mean = rounded(right_sum(x, f, f) / n, f);
  floats squares;
  for (const float one : x) {
    const float off = rounded(rounded(one, f) - mean, f);
    squares.push_back(rounded(off * off, f));
  }
  return rounded(right_sum(squares, f, f) / n, f);
}

float right_cross_entropy(std::span<const float> x, std::size_t target, format f,
                          std::optional<format> differences = {}) {
  const float logarithm = rounded(std::log(right_softmax_sum(x, f)), f);
  return rounded(logarithm - rounded(rounded(x[target], f) - largest(x, f), differences.value_or(f)), f);
}

float right_descend(float w, float rate, float gradient, std::size_t steps, format f) {
  const float step = rounded(rounded(rate, f) * rounded(gradient, f), f);
  w = rounded(w, f);
  for (std::size_t i = 0; i < steps; ++i) w = rounded(w - step, f);
  return w;
}

/// A case for a function that takes several numbers and returns one.
template <class Inputs, class Right>
test_case reduction(std::string id, std::vector<int64_t> parameters, Inputs inputs, bool may_fuse, Right right) {
  test_case result = host_case(std::move(id), std::move(parameters), {{dtype::f64, 1}});  // f64 for predictions
  result.inputs = [=](std::uint64_t seed) { return lab::buffers(inputs(seed)); };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto x = before[0].as<float>();
    const auto got = static_cast<float>(outputs[0].as<double>()[0]), want = right(x);
    if (agrees(got, want, may_fuse)) return "";
    const std::string given = x.size() > 3 ? "" : fmt::format(", given {:.9g}", fmt::join(x, ", "));
    return fmt::format("the result is {:.9g}, should be {:.9g}{}", got, want, given);
  };
  return result;
}

/// n numbers, uniform in [offset - width, offset + width).
auto numbers(int64_t n, float offset, float width) {
  return [=](std::uint64_t seed) {
    floats x = lab::random_floats(at(n), seed);
    for (float& one : x) one = offset + width * one;
    return x;
  };
}

/// Numbers around 0: their differences must be rounded (those of numbers near each other are exact). Draws again until
/// rounding the differences changes the result of `right`.
template <class Right>
auto about_zero(int64_t n, format f, Right right) {
  return [=](std::uint64_t seed) {
    floats x = numbers(n, 0.0f, 1.0f)(seed);
    for (int tries = 1; f != fp32 && right(x, f) == right(x, fp32) && tries < 2000; ++tries)
      x = numbers(n, 0.0f, 1.0f)(lab::derived_seed(seed, "about zero", tries));
    return x;
  };
}

test_case sum(const std::string& name, floats (*make)(int64_t, std::uint64_t), int64_t n, format terms, format sums) {
  return reduction(
      fmt::format("sum/{}-{}-{}", name, descriptions[terms].name, descriptions[sums].name), {n, terms, sums},
      [=](std::uint64_t seed) { return make(n, seed); }, false,
      [=](std::span<const float> x) { return right_sum(x, terms, sums); });
}

floats hundredths(int64_t n, std::uint64_t) { return floats(at(n), 0.01f); }
floats positive(int64_t n, std::uint64_t seed) { return numbers(n, 1.5f, 1.0f)(seed); }
floats large(int64_t n, std::uint64_t seed) { return numbers(n, 2000.0f, 1000.0f)(seed); }
floats signed_numbers(int64_t n, std::uint64_t seed) { return numbers(n, 0.0f, 4.0f)(seed); }

/// The sizes of gradients spread over many powers of two; some are 0 or -0.
floats gradients(int64_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  floats x = lab::random_floats(at(n), seed);
  for (float& one : x)
    one = random() % 16 == 0 ? std::copysign(0.0f, one) : std::ldexp(one, -static_cast<int>(random() % 44));
  return x;
}

/// 1, 1/2, 1/4, ...
floats powers(int64_t n, std::uint64_t) {
  floats x;
  for (int64_t i = 0; i < n; ++i) x.push_back(std::ldexp(1.0f, -static_cast<int>(i)));
  return x;
}

test_case lost(const std::string& name, floats (*make)(int64_t, std::uint64_t), int64_t n, float scale) {
  test_case result = host_case(fmt::format("lost/{}-{}", name, scale), {n}, {{dtype::f64, 1}});
  result.inputs = [=](std::uint64_t seed) { return lab::buffers(make(n, seed), floats{scale}); };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const float factor = before[1].as<float>()[0];
    double want = 0;
    for (const float one : before[0].as<float>()) want += one != 0 && rounded(one * factor, fp16) == 0;
    const double got = outputs[0].as<double>()[0];
    return got == want ? "" : fmt::format("the result is {}, should be {}", got, want);
  };
  return result;
}

/// Rows of n gradients each, with a given largest one: the last, the first, or any.
test_case loss_scale(const std::string& name, const floats& most, int64_t n) {
  const auto rows = static_cast<int64_t>(most.size());
  test_case result = host_case("loss_scale/" + name, {rows, n}, {{dtype::f64, rows}});
  result.inputs = [=](std::uint64_t seed) {
    floats x = lab::random_floats(at(rows * n), seed);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t i = 0; i < n; ++i) x[at(r * n + i)] *= most[at(r)] / 2;
      const int64_t places[] = {n - 1, 0, static_cast<int64_t>(seed % static_cast<std::uint64_t>(n))};
      x[at(r * n + places[r % 3])] = r % 2 == 0 ? most[at(r)] : -most[at(r)];
    }
    return lab::buffers(x);
  };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) {
    const auto got = outputs[0].as<double>();
    return all_wrong(most.size(), [&](std::size_t r) -> std::string {
      double want = 0x1p-126;
      while (2 * want * static_cast<double>(most[r]) < overflow_of(fp16)) want *= 2;
      return got[r] == want
                 ? ""
                 : fmt::format("for the largest gradient {:.9g} the scale is {}, should be {}", most[r], got[r], want);
    });
  };
  return result;
}

// ---- groups -------------------------------------------------------------------------------------------------------

constexpr int64_t int_group = 64, mx_group = 32;

/// What distinguishes int8, int4 and mxfp4.
struct group_kind {
  const char* name;
  int64_t size, bytes;
  float most;  ///< the largest number, before scaling
  bool is_mx() const { return most == 6; }
};
constexpr group_kind group_kinds[] = {
    {"int8", int_group, int_group, 127}, {"int4", int_group, int_group / 2, 7}, {"mxfp4", mx_group, mx_group / 2, 6}};

constexpr float e2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

/// Groups of random numbers of all magnitudes. In some, the largest makes the scale 1, and the others are halfway
/// between two numbers. In some, this happens at another scale, where x / scale and x * (1 / scale) differ, or, for
/// mxfp4, the largest is just below a power of two. Some are zero, too small for a scale, or near the largest float.
floats to_quantize(const group_kind& kind, int64_t groups, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  floats x = lab::random_floats(at(groups * kind.size), seed);
  for (int64_t g = 0; g < groups; ++g) {
    float* const group = &x[at(g * kind.size)];
    const auto choice = static_cast<int>((random() + static_cast<std::uint64_t>(g)) % 8);
    const int exponent = choice == 5 ? 126 : static_cast<int>(random() % 60) - 30;
    const float most = kind.is_mx() ? 6.0f + static_cast<float>(random() % 8) * 0.25f : kind.most;
    const int tiny = -120 - static_cast<int>(random() % 28);
    const float any_scale = std::ldexp(1 + static_cast<float>(random() % 1000) / 1000, exponent);
    for (int64_t i = 0; i < kind.size; ++i) {
      float& one = group[i];
      if (choice == 0) one = std::copysign(0.0f, one);
      if (choice == 1) one = std::ldexp(one, tiny);
      if (choice == 2 || choice == 3) {  // halves and quarters, up to the largest
        one = std::clamp(std::nearbyint(one * most * 4) / (kind.is_mx() ? 4 : 2), -most, most);
        if (i == kind.size / 3) one = -most;
        one = std::ldexp(one, choice == 2 ? 0 : exponent);
      }
      if (choice > 3) one = std::ldexp(one, exponent);
      if (choice == 4 && !kind.is_mx()) {
        one = (std::floor(std::ldexp(one, -exponent) * most) + 0.5f) * any_scale;
        if (i == kind.size / 3) one = most * any_scale;
      }
      if (choice == 4 && kind.is_mx() && i == kind.size / 3) one = std::nextafter(std::ldexp(1.0f, exponent), 0.0f);
    }
  }
  return x;
}

double nearest_even(double x) {
  const double below = std::floor(x), off = x - below;
  if (off != 0.5) return off < 0.5 ? below : below + 1;
  return std::fmod(below, 2) == 0 ? below : below + 1;
}

/// The codes and the scale (a float's bits, or a byte) of one group.
std::pair<std::vector<int>, uint32_t> right_group(const group_kind& kind, std::span<const float> x) {
  float most = 0;
  for (const float one : x) most = std::max(most, std::abs(one));
  std::vector<int> codes;
  if (!kind.is_mx()) {
    const float scale = most / kind.most;
    for (const float one : x) {
      const double q = scale == 0 ? 0.0 : nearest_even(static_cast<double>(one / scale));
      codes.push_back(static_cast<int>(std::clamp<double>(q, -kind.most, kind.most)));
    }
    return {codes, std::bit_cast<uint32_t>(scale)};
  }
  int exponent = -127;
  while (exponent < 126 && most != 0 && std::ldexp(8.0, exponent) <= static_cast<double>(most)) ++exponent;
  for (const float one : x) {
    const double scaled = std::abs(std::ldexp(static_cast<double>(one), -exponent));
    int code = 7;
    for (int i = 7; i-- > 0;) {
      const double middle = (static_cast<double>(e2m1[i]) + static_cast<double>(e2m1[i + 1])) / 2;
      if (scaled < middle || (scaled == middle && i % 2 == 0)) code = i;
    }
    codes.push_back(code | (std::signbit(one) ? 8 : 0));
  }
  return {codes, static_cast<uint32_t>(exponent + 127)};
}

/// Code i of a group, from its bytes.
int code_in(const group_kind& kind, std::span<const std::uint8_t> bytes, int64_t i) {
  if (kind.most == 127) return static_cast<std::int8_t>(bytes[at(i)]);
  const int64_t half = kind.size / 2;
  const int code = i < half ? bytes[at(i)] & 15 : bytes[at(i - half)] >> 4;
  return kind.is_mx() ? code : code - 8;
}

test_case quantize(const group_kind& kind, int64_t groups) {
  const lab::buffer_spec scales =
      kind.is_mx() ? lab::buffer_spec{dtype::u8, groups} : lab::buffer_spec{dtype::f32, groups};
  test_case result =
      host_case(fmt::format("quantize_{}/{}", kind.name, groups), {groups}, {{dtype::u8, groups * kind.bytes}, scales});
  result.inputs = [=](std::uint64_t seed) { return lab::buffers(to_quantize(kind, groups, seed)); };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto x = before[0].as<float>();
    const auto bytes = outputs[0].as<std::uint8_t>();
    return all_wrong(at(groups), [&](std::size_t g) -> std::string {
      const auto numbers = x.subspan(g * at(kind.size), at(kind.size));
      const auto [codes, scale] = right_group(kind, numbers);
      const uint32_t got =
          kind.is_mx() ? outputs[1].as<std::uint8_t>()[g] : std::bit_cast<uint32_t>(outputs[1].as<float>()[g]);
      if (got != scale) return fmt::format("the scale of group {} is {}, should be {}", g, as_hex(got), as_hex(scale));
      for (int64_t i = 0; i < kind.size; ++i)
        if (const int code = code_in(kind, bytes.subspan(g * at(kind.bytes), at(kind.bytes)), i); code != codes[at(i)])
          return fmt::format("group {}, number {} ({:.9g}) is {}, should be {}", g, i, numbers[at(i)], code,
                             codes[at(i)]);
      return "";
    });
  };
  return result;
}

float right_dequantized(const group_kind& kind, int code, const buffer& scales, std::size_t group) {
  if (!kind.is_mx()) return static_cast<float>(code) * scales.as<float>()[group];
  const double number = std::ldexp(static_cast<double>(e2m1[code & 7]), scales.as<std::uint8_t>()[group] - 127);
  return static_cast<float>(code & 8 ? -number : number);
}

test_case dequantize(const group_kind& kind, int64_t groups) {
  test_case result =
      host_case(fmt::format("dequantize_{}/{}", kind.name, groups), {groups}, {{dtype::f32, groups * kind.size}});
  result.inputs = [=](std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::uint8_t> bytes(at(groups * kind.bytes)), exponents(at(groups));
    for (std::uint8_t& one : bytes) one = static_cast<std::uint8_t>(random());
    for (std::uint8_t& one : exponents) one = static_cast<std::uint8_t>(random() % 253);
    if (groups > 1) exponents[at(groups / 2)] = 0;  // 2^-127, a subnormal number
    return lab::buffers(bytes, kind.is_mx() ? buffer::of(exponents) : buffer::of(lab::random_floats(at(groups), seed)));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    floats want;
    for (int64_t i = 0; i < groups * kind.size; ++i) {
      const auto g = at(i / kind.size);
      const auto bytes = before[0].as<std::uint8_t>().subspan(g * at(kind.bytes), at(kind.bytes));
      want.push_back(right_dequantized(kind, code_in(kind, bytes, i % kind.size), before[1], g));
    }
    const auto got = outputs[0].as<float>();
    const std::string wrong = lab::mismatch(got, want, {}, at(kind.size));
    if (!wrong.empty() || !kind.is_mx()) return wrong;
    return all_wrong(want.size(), [&](std::size_t i) {
      return std::signbit(got[i]) == std::signbit(want[i]) ? "" : fmt::format("number {} lacks the sign of its 0", i);
    });
  };
  return result;
}

// ---- matrix-vector products ---------------------------------------------------------------------------------------

/// Quantized weights as the quantizers produce them: no int8 is -128, and no int4 is -8 (code 0).
std::vector<std::uint8_t> random_codes(const group_kind& kind, int64_t count, std::uint64_t seed) {
  std::vector<std::uint8_t> bytes = lab::random_bytes(at(count), seed);
  lab::in_parallel(bytes.size(), [&](std::size_t first, std::size_t last) {
    const bool of_int8 = kind.most == 127;
    for (std::uint8_t& byte : std::span(bytes).subspan(first, last - first))
      byte = static_cast<std::uint8_t>(of_int8 ? byte + (byte == 128)
                                               : byte | (byte % 16 == 0 ? 8 : 0) | (byte < 16 ? 128 : 0));
  });
  return bytes;
}

/// Decodes a group of int8 or int4.
std::array<double, at(int_group)> codes_of(const group_kind& kind, std::span<const std::uint8_t> bytes) {
  constexpr std::size_t half = at(int_group) / 2;
  std::array<double, 2 * half> codes{};
  if (kind.most == 127) {
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(bytes[i]);
    return codes;
  }
  for (std::size_t i = 0; i < half; ++i) {
    codes[i] = (bytes[i] & 15) - 8;
    codes[i + half] = (bytes[i] >> 4) - 8;
  }
  return codes;
}

/// If `apart`, x is constant within a group, and a row has weights in one group only, all of them the largest:
/// roundings of x then add up, whereas random ones would cancel.
test_case matvec(const group_kind& kind, int64_t rows, int64_t columns, float size_of_x = 1.0f, bool apart = false,
                 float size_of_w = 0x1p-6f) {
  const int64_t groups = columns / kind.size;
  test_case result = host_case(fmt::format("matvec_{}/{}x{}{}", kind.name, rows, columns,
                                           apart            ? "-apart"
                                           : size_of_x == 0 ? "-zero"
                                                            : ""),
                               {rows, columns}, {{dtype::f32, rows}});
  result.inputs = [=](std::uint64_t seed) {
    floats scales = lab::random_floats(at(rows * groups), seed + 1), x = lab::random_floats(at(columns), seed + 2);
    for (float& one : scales) one = (1.25f + one) * size_of_w;
    for (float& one : x) one *= size_of_x;
    std::vector<std::uint8_t> codes = random_codes(kind, rows * groups * kind.bytes, seed);
    if (apart) {
      x[0] = size_of_x;
      for (std::size_t c = 0; c < x.size(); ++c) x[c] = x[c - c % at(kind.size)];
      const int none = kind.most == 127 ? 0 : 0x88, all = kind.most == 127 ? 127 : 0xFF;
      for (int64_t i = 0; i < std::ssize(codes); ++i) {
        const int64_t group = i / kind.bytes;
        codes[at(i)] = static_cast<std::uint8_t>(group % groups == group / groups % groups ? all : none);
      }
    }
    return lab::buffers(std::move(codes), std::move(scales), std::move(x));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto x = before[2].as<float>(), y = outputs[0].as<float>(), scales = before[1].as<float>();
    const auto bytes = before[0].as<std::uint8_t>();
    double most = 0;
    for (const float one : x) most = std::max(most, std::abs(static_cast<double>(one)));
    std::vector<double> want(at(rows)), bound(at(rows));
    const auto row = [&](std::size_t r) {
      for (int64_t g = 0; g < groups; ++g) {
        const std::size_t group = r * at(groups) + at(g);
        const auto codes = codes_of(kind, bytes.subspan(group * at(kind.bytes), at(kind.bytes)));
        const auto here = x.subspan(at(g * int_group), codes.size());
        constexpr std::size_t parts = 8;  // a single sum would be a chain of dependent additions
        std::array<double, parts> products{}, weights{};
        for (std::size_t i = 0; i < codes.size(); i += parts)
          for (std::size_t p = 0; p < parts; ++p) {
            products[p] += codes[i + p] * static_cast<double>(here[i + p]);
            weights[p] += std::abs(codes[i + p]);
          }
        want[r] += std::reduce(products.begin(), products.end()) * static_cast<double>(scales[group]);
        bound[r] += std::reduce(weights.begin(), weights.end()) * static_cast<double>(scales[group]);
      }
    };
    lab::for_each_index(at(rows), row, at(columns));
    return all_wrong(at(rows), [&](std::size_t r) -> std::string {
      const double allowed = 0x1p-14 * bound[r] * most;
      if (std::abs(y[r] - want[r]) <= allowed) return "";
      return fmt::format("y[{}] is {:.7g}, should be {:.7g}, and may be off by {:.2g}", r, y[r], want[r], allowed);
    });
  };
  result.work.bytes = static_cast<double>(rows * groups * (kind.bytes + 4) + 4 * columns + 4 * rows);
  result.work.flops = 2.0 * static_cast<double>(rows * columns);
  return result;
}

// ---- products on tensor cores -------------------------------------------------------------------------------------

struct shape {
  int64_t m, n, k;
};

std::vector<bfloat16> random_bf16(int64_t count, std::uint64_t seed, int exponent) {
  floats values = lab::random_floats(at(count), seed);
  for (float& one : values) one = std::ldexp(one, exponent);
  std::vector<bfloat16> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), lab::to_bfloat16);
  return result;
}

/// Products of two bf16 numbers are exact in FP32. Sums of k products have lab 06's error, here doubled: tensor cores
/// truncate where a multiply-add rounds. Rounding the result to 8 bits then adds at most 2^-8.
///
/// Elements of A and B are below 2^of_a and 2^of_b in magnitude: bf16 has the range of a float.
test_case gemm(const char* entry, const shape& s, int of_a = 0, int of_b = 0) {
  test_case result;
  result.id = fmt::format("{}/{}x{}x{}{}", entry, s.m, s.n, s.k,
                          of_a + of_b > 0   ? "-large"
                          : of_a + of_b < 0 ? "-small"
                          : of_a != 0       ? "-wide"
                                            : "");
  result.entry = entry;
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::bf16, s.m * s.n}};
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(random_bf16(s.m * s.k, seed, of_a), random_bf16(s.k * s.n, seed + 1, of_b));
  };
  const double unit = std::ldexp(0x1p-24, of_a + of_b);
  result.check = [s, unit](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto widened = [](const buffer& b) {
      const auto numbers = b.as<bfloat16>();
      return floats(numbers.begin(), numbers.end());
    };
    return lab::product_mismatch(widened(before[0]), widened(before[1]), widened(outputs[0]), s.m, s.n, s.k,
                                 {8 * static_cast<double>(s.k) * unit, 0x1.02p-8});
  };
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  result.work = {2 * m * n * k, 2 * (m * k + k * n + m * n)};
  return result;
}

// ---- all ----------------------------------------------------------------------------------------------------------

constexpr const char* gemms[] = {"gemm_wmma", "gemm_mma", "gemm_pipelined"};

test_case far_variance(const char* name, float middle, int64_t n) {
  return reduction(fmt::format("variance/{}-{}-fp32", name, n), {n, fp32}, numbers(n, middle, 1.0f), true,
                   [](std::span<const float> x) { return right_variance(x, fp32); });
}

void add_arithmetic(std::vector<test_case>& all, int64_t n, format f) {
  const char* name = descriptions[f].name;
  for (const float middle : {90.0f, -90.0f, -5000.0f}) {
    const char* const where = middle < -1000 ? "far-below-" : middle < 0 ? "below-" : "";
    all.push_back(reduction(fmt::format("softmax_sum/{}{}-{}", where, n, name), {n, f}, numbers(n, middle, 8.0f),
                            f == fp32, [=](std::span<const float> x) { return right_softmax_sum(x, f); }));
  }
  all.push_back(reduction(fmt::format("variance/{}-{}", n, name), {n, f}, numbers(n, 3.0f, 2.0f), f == fp32,
                          [=](std::span<const float> x) { return right_variance(x, f); }));
  for (const int64_t target : std::set{int64_t{0}, n / 2, n - 1})
    all.push_back(reduction(fmt::format("cross_entropy/{}-{}-{}", n, target, name), {n, target, f},
                            numbers(n, target == 0 ? -5000.0f : -90.0f, 8.0f), f == fp32,
                            [=](std::span<const float> x) { return right_cross_entropy(x, at(target), f); }));
}

void add_about_zero(std::vector<test_case>& all, int64_t n, format f) {
  const char* name = descriptions[f].name;
  const auto softmax = [=](std::span<const float> x, format differences) {
    return right_softmax_sum(x, f, differences);
  };
  const auto entropy = [=](std::span<const float> x, format differences) {
    return right_cross_entropy(x, at(n / 2), f, differences);
  };
  all.push_back(reduction(fmt::format("softmax_sum/zero-{}-{}", n, name), {n, f}, about_zero(n, f, softmax), f == fp32,
                          [=](std::span<const float> x) { return softmax(x, f); }));
  all.push_back(reduction(fmt::format("cross_entropy/zero-{}-{}-{}", n, n / 2, name), {n, n / 2, f},
                          about_zero(n, f, entropy), f == fp32,
                          [=](std::span<const float> x) { return entropy(x, f); }));
}

test_case descend(const std::string& name, const floats& start, int64_t steps, format f) {
  return reduction(
      fmt::format("descend/{}-{}-{}", name, steps, descriptions[f].name), {steps, f},
      [=](std::uint64_t) { return start; }, f == fp32,
      [=](std::span<const float> x) { return right_descend(x[0], x[1], x[2], at(steps), f); });
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const format f : {e4m3, e5m2, fp16, bf16, tf32, fp32}) {
    all.push_back(encode(f));
    all.push_back(decode(f));
  }

  constexpr std::pair<format, format> pairs[] = {{fp32, fp32}, {fp16, fp16}, {bf16, bf16}, {fp16, fp32},
                                                 {bf16, fp32}, {tf32, fp32}, {e4m3, fp16}, {fp32, bf16}};
  for (const auto& [terms, sums] : pairs) {
    all.push_back(sum("hundredths", hundredths, 1000, terms, sums));
    for (const int64_t n : {1, 7, 3000}) {
      all.push_back(sum(fmt::format("positive{}", n), positive, n, terms, sums));
      all.push_back(sum(fmt::format("signed{}", n), signed_numbers, n, terms, sums));
    }
  }
  for (const format f : {fp16, e4m3, e5m2}) all.push_back(sum("large100", large, 100, f, f));  // the sum overflows
  for (const format f : {fp32, fp16, bf16, tf32, e4m3, e5m2})
    for (const int64_t n : {1, 2, 50, 1000, 5000}) add_arithmetic(all, n, f);
  for (const format f : {fp32, fp16, bf16, tf32, e4m3, e5m2})
    for (const int64_t n : {2, 7, 50}) add_about_zero(all, n, f);
  // In one pass, the mean of the squares minus the square of the mean cancels completely; and a sum in double, relative
  // to the mean of the more distant numbers, is off by their distance.
  all.push_back(far_variance("far", 5000.0f, 300));
  all.push_back(far_variance("farther", 3e6f, 300));
  for (const format f : {fp32, fp16, bf16, tf32, e4m3, e5m2}) {
    all.push_back(descend("small", {1.0f, 1e-3f, 1.0f}, 1000, f));
    all.push_back(descend("large", {-3.7f, 0.03f, -0.7f}, 100, f));
    all.push_back(descend("long", {0.5f, 1e-3f, -1.0f}, 3000, f));
    all.push_back(descend("none", {0.3f, 0.1f, 0.1f}, 0, f));
  }
  all.push_back(lost("powers", powers, 40, 1.0f));
  for (const float scale : {1.0f, 1024.0f, 65536.0f, 0.125f, 3.0f})
    all.push_back(lost("gradients", gradients, 3000, scale));
  all.push_back(lost("powers", powers, 40, 0x1p-120f));
  all.push_back(loss_scale("one", {3e-4f}, 1000));
  all.push_back(loss_scale("edges",
                           {1.0f, 65504.0f, 65519.996f, 65520.0f, 65536.0f, 0.99f, 1.9995f, 1.9990234f, 1.99951171875f,
                            0x1.ffdp-30f, 0x1.ffep-30f, 0x1p-100f, 0x1p100f},
                           1));
  all.push_back(loss_scale("rows", {3.0f, 1e-8f, 1e5f, 0x1.ffep3f, 0x1.ffdffep3f}, 100));

  for (const group_kind& kind : group_kinds) {
    for (const int64_t groups : {1, 3, 200}) {
      all.push_back(quantize(kind, groups));
      all.push_back(dequantize(kind, groups));
    }
    if (kind.is_mx()) continue;
    // Row counts that no unrolling divides; from one group of columns to many.
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{1, 64},
                                        {2, 128},
                                        {3, 192},
                                        {5, 64},
                                        {7, 448},
                                        {64, 768},
                                        {131, 320},
                                        {33, 4096},
                                        {9, 20'480}})
      all.push_back(matvec(kind, rows, columns));
    all.push_back(matvec(kind, 6, 128, 0.0f));
    all.push_back(matvec(kind, 6, 256, 1e6f));
    all.push_back(matvec(kind, 6, 192, 0x1p-98f));
    all.push_back(matvec(kind, 6, 320, 0x1p100f));
    all.push_back(matvec(kind, 40, 1280, 1.0f, true));
    all.push_back(matvec(kind, 7, 384, 1.0f, false, 0x1p-60f));
  }
  all.push_back(timed(matvec(group_kinds[0], 16'384, 4096)));
  all.push_back(timed(matvec(group_kinds[1], 16'384, 8192)));

  // 1, primes, one step of 8 below and above the tiles' widths, non-square, fewer and more steps along k than there are
  // buffers; one row more than whole tiles, with whole tiles of columns and whole steps.
  constexpr shape shapes[] = {{1, 8, 8},        {5, 8, 16},      {63, 56, 24},    {64, 64, 32},  {65, 72, 40},
                              {128, 128, 32},   {127, 120, 64},  {129, 136, 104}, {17, 264, 8},  {200, 8, 200},
                              {1, 520, 136},    {257, 128, 128}, {128, 256, 160}, {37, 192, 96}, {256, 256, 256},
                              {130, 264, 1032}, {129, 256, 64}};
  for (const char* entry : gemms)
    for (const shape& s : shapes) all.push_back(gemm(entry, s));
  for (const char* entry : gemms) {
    all.push_back(gemm(entry, {72, 136, 88}, 60, -60));
    all.push_back(gemm(entry, {70, 136, 72}, 30, 20));
    all.push_back(gemm(entry, {71, 136, 72}, -20, -30));
  }
  all.push_back(timed(gemm("gemm_pipelined", {4096, 4096, 4096})));
  all.push_back(timed(gemm("gemm_pipelined", {8192, 8192, 8192})));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (int i = 0; i < 2; ++i) {
    const shape s{size(2, 200), 8 * size(1, 25), 8 * size(1, 20)};
    for (const char* entry : gemms) all.push_back(gemm(entry, s));
    const int64_t rows = size(2, 100), columns = int_group * size(1, 20);
    all.push_back(matvec(group_kinds[0], rows, columns));
    all.push_back(matvec(group_kinds[1], rows, columns));
    for (const format f : {fp16, bf16}) {
      const int64_t n = size(10, 900);
      all.push_back(sum(fmt::format("positive{}", n), positive, n, f, f));
      add_arithmetic(all, n, f);
    }
  }
  // Larger than any case above.
  const int64_t many = size(5001, 8000);
  add_arithmetic(all, many, fp16);
  all.push_back(sum(fmt::format("signed{}", many), signed_numbers, many, bf16, fp32));
  all.push_back(lost("gradients", gradients, many, 1024.0f));
  all.push_back(loss_scale("drawn", {3e-4f, 40.0f, 7.0f}, many));
  all.push_back(far_variance("farther", 3e6f, many));
  all.push_back(descend("drawn", {0.5f, 1e-3f, -1.0f}, size(3001, 6000), fp32));
  for (const group_kind& kind : group_kinds) {
    all.push_back(quantize(kind, size(1001, 1400)));
    all.push_back(dequantize(kind, size(1001, 1400)));
    if (kind.is_mx()) continue;
    all.push_back(matvec(kind, size(4001, 4400), int_group));
    all.push_back(matvec(kind, size(1, 3), int_group * size(1001, 1400)));
  }
  const shape whole{128 * size(1, 2), 256, 128 * size(3, 4)};
  for (const char* entry : gemms) {
    all.push_back(like(fmt::format("{}/256x256x256", entry), gemm(entry, whole)));
    all.push_back(gemm(entry, {size(4100, 4400), 8, 8}));
    all.push_back(gemm(entry, {size(1, 20), 8 * size(520, 600), 16}));
    all.push_back(gemm(entry, {size(1, 20), 8, 8 * size(600, 700)}));
  }
  // More tiles of 256 columns than a GPU has multiprocessors: if the grid fits on the GPU, a block computes several.
  all.push_back(gemm("gemm_pipelined", {size(1, 20), 256 * size(133, 136), 8}));
  // Timed in official grading.
  const auto larger = [&](int64_t columns) { return columns + 2 * int_group * size(1, 4); };
  all.push_back(like("matvec_int8/16384x4096", timed(matvec(group_kinds[0], 16'384 + 64 * size(1, 9), larger(4096)))));
  all.push_back(like("matvec_int4/16384x8192", timed(matvec(group_kinds[1], 16'384 + 64 * size(1, 9), larger(8192)))));
  return all;
}

const lab::case_registration registration{"09_low_precision", cases, drawn_cases};

}  // namespace
