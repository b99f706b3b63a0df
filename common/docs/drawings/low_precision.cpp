// Lab 09: bits of a number, distances between numbers, scales of groups, fragments of tensor cores, buffers in flight.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../../sim/include/sim/float8.h"
#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing formats() {
  const struct {
    const char* name;
    int exponent, fraction;
  } all[] = {{"fp32", 8, 23},
             {"tf32", 8, 10},
             {"bf16", sim::bfloat16::exponent_bits, sim::bfloat16::mantissa_bits},
             {"fp16", sim::binary16::exponent_bits, sim::binary16::mantissa_bits},
             {"e5m2", 5, sim::e5m2::mantissa_bits},
             {"e4m3", 4, sim::e4m3::mantissa_bits}};
  drawing d("09_low_precision", "formats", "Where the bits go",
            "Bits of six formats: sign, exponent, fraction. fp32 has 1, 8, 23; tf32 1, 8, 10; bf16 1, 8, 7; fp16 1, 5, "
            "10; e5m2 1, 5, 2; "
            "e4m3 1, 4, 3.");
  const double left = margin + 42, unit = (width - margin - left) / 32;
  double y = 40;
  for (const auto& f : all) {
    d.text(margin, y + 14, f.name);
    for (int bit = 0; bit < 1 + f.exponent + f.fraction; ++bit)
      d.box(left + bit * unit, y, unit - 1.5, 19, bit == 0 ? "idle" : bit <= f.exponent ? "time" : "used", 1);
    const double end = left + (1 + f.exponent + f.fraction) * unit + 8;
    const char* range = f.exponent == 8    ? "to 3e38"
                        : f.exponent == 4  ? "to 448"
                        : f.fraction == 10 ? "to 65,504"
                                           : "to 57,344";
    const int digits = static_cast<int>((f.fraction + 1) * std::log10(2.0));
    if (f.fraction < 23)
      d.text(end, y + 14, fmt::format("{}, {} digit{}", range, std::max(digits, 1), digits > 1 ? "s" : ""), "mute");
    y += 26;
  }
  d.text(margin, y + 14, "fp32: to 3e38, 7 digits. tf32 takes 32 bits in memory.", "s mute");
  d.legend(y + 38, {{"idle", "sign"}, {"time", "exponent: range"}, {"used", "fraction: digits"}});
  return d;
}

drawing number_line() {
  std::set<double> numbers;
  for (int bits = 0; bits < 0x20; ++bits) numbers.insert(sim::decode8<sim::e4m3>(static_cast<std::uint8_t>(bits)));
  const double smallest = *std::next(numbers.begin()), top_number = 4 * std::ldexp(1, sim::e4m3::lowest);
  drawing d("09_low_precision", "number_line", "The distance doubles with the exponent",
            "The numbers of e4m3 from 0 to 1/16, as marks. Up to 1/32 neighbours are 1/512 apart, subnormal ones "
            "included; from 1/32 on they "
            "are 1/256 apart.");
  const double left = margin + 6, right = width - margin - 6, y = 84;
  const auto x = [&](double v) { return left + (right - left) * v / top_number; };
  const double low = std::ldexp(1, sim::e4m3::lowest);
  d.box(x(0), y - 26, x(low) - x(0), 26, "idle", 0);
  d.line(left, y, right, y, "pen");
  for (const double v : numbers)
    if (v <= top_number) d.line(x(v), y - 14, x(v), y + 6, v < 2 * low ? "used-line" : "time-line");
  d.text(x(0), y + 22, "0", "", at::middle);
  d.text(x(low), y + 22, "1/64", "", at::middle);
  d.text(x(2 * low), y + 22, "1/32", "", at::middle);
  d.text(right + 6, y + 22, "1/16", "", at::end);
  d.text(x(0), y - 34, "subnormal", "mute");
  const auto step = [&](double from, double to, const char* style) {
    d.text((x(from) + x(to)) / 2, y + 44, fmt::format("1/{:.0f}", 1 / (*numbers.upper_bound(from) - from)), style,
           at::middle);
  };
  step(0, low, "used-text");
  step(low, 2 * low, "used-text");
  step(2 * low, top_number, "time-text");
  d.text(margin, y + 62, "distance between neighbours", "mute");
  if (smallest != *std::next(numbers.find(low)) - low) throw std::runtime_error("number_line: subnormal steps differ");
  return d;
}

drawing groups() {
  drawing d("09_low_precision", "groups", "One scale for a group of neighbours",
            "A group and its scale. int8: 64 bytes and a float of 4, 8.5 bits per weight. int4: 32 bytes and a float, "
            "4.5. mxfp4: 16 bytes for "
            "32 weights and 1 byte, 4.25.");
  const double unit = inner / 68;
  double y = 44;
  const auto row = [&](const char* name, int weights, double bits, int scale_bytes, const char* scale) {
    const int bytes = static_cast<int>(weights * bits / 8);
    d.text(margin, y, fmt::format("{}: {} weights", name, weights));
    d.text(width - margin, y, fmt::format("{} bits per weight", (bytes + scale_bytes) * 8.0 / weights), "", at::end);
    for (int i = 0; i < bytes; ++i) d.box(margin + i * unit, y + 8, unit - 1, 18, "used", 0.5);
    for (int i = 0; i < scale_bytes; ++i) d.box(margin + (bytes + i) * unit, y + 8, unit - 1, 18, "time", 0.5);
    d.text(margin, y + 42, scale, "mute");
    y += 70;
  };
  row("int8", 64, 8, 4, "scale = largest / 127");
  row("int4", 64, 4, 4, "scale = largest / 7");
  row("mxfp4", 32, 4, 1, "scale = a power of two");
  d.legend(y, {{"used", "a byte of weights"}, {"time", "a byte of the scale"}});
  return d;
}

constexpr const char* register_role[] = {"used", "time", "shared", "reg"};

drawing fragment_layout() {
  const fragments f = found_fragments();
  const int lane = 9, g = lane / 4, t = lane % 4;
  drawing d("09_low_precision", "fragment_layout", "What one lane holds",
            fmt::format("The elements that lane {} holds of A, B and C, for mma of 16 × 8 × 16, as found on the "
                        "simulated device. With lane = 4 g "
                        "+ t: rows g and g + 8 of A and C, column g of B, and neighbours from 2 t on.",
                        lane));
  const double cell = 9.5;
  const double ax = margin + 22, bx = ax + 17 * cell + 36, top = 66, low = top + 16 * cell + 52;
  const auto grid = [&](double x, double y, int rows, int columns) {
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        d.box(x + c * cell + (c >= 8 ? 3 : 0), y + r * cell + (r >= 8 ? 3 : 0), cell - 1.3, cell - 1.3, "idle", 1);
  };
  const auto mark = [&](double x, double y, element e, const char* role) {
    d.box(x + e.column * cell + (e.column >= 8 ? 3 : 0), y + e.row * cell + (e.row >= 8 ? 3 : 0), cell - 1.3,
          cell - 1.3, role, 1);
  };
  const auto mine = static_cast<std::size_t>(lane);
  grid(bx, top, 16, 8);
  grid(ax, low, 16, 16);
  grid(bx, low, 16, 8);
  for (std::size_t i = 0; i < 8; ++i) mark(ax, low, f.a[mine][i], register_role[i / 2]);
  for (std::size_t i = 0; i < 4; ++i) mark(bx, top, f.b[mine][i], register_role[i / 2]);
  for (std::size_t i = 0; i < 4; ++i) mark(bx, low, f.c[mine][i], register_role[i]);
  d.text(bx, top - 8, "B, 16 × 8", "mute");
  d.text(ax, low - 8, "A, 16 × 16", "mute");
  d.text(bx, low - 8, "C, 16 × 8", "mute");
  d.text(ax - 6, low + g * cell + 9, "g", "", at::end);
  d.text(bx + g * cell + 1, top + 16 * cell + 17, "g", "");
  d.text(margin, 46, fmt::format("lane {} = 4 · {} + {}", lane, g, t), "");
  d.text(margin, 66, fmt::format("g = {}, t = {}", g, t), "");
  const char* names[] = {"a[0] b[0] d[0]", "a[1] b[1] d[1]", "a[2] d[2]", "a[3] d[3]"};
  for (int i = 0; i < 4; ++i) {
    d.box(margin, 82 + i * 20, 10, 10, register_role[i]);
    d.text(margin + 16, 91 + i * 20, names[i], "");
  }
  d.text(margin, 178, "two neighbours of A or B", "mute");
  d.text(margin, 193, "share a register", "mute");
  return d;
}

drawing row_addresses() {
  const fragments f = found_fragments();
  drawing d("09_low_precision", "row_addresses", "Eight lanes name rows, all lanes get parts",
            "ldmatrix of one 8 × 8 matrix: lanes 0 to 7 pass the addresses of its rows, 16 bytes each. Then each of "
            "the 32 lanes gets two "
            "neighbours: lane 4 g + t the columns 2 t and 2 t + 1 of row g.");
  const double cell = 17, y = 66, x = margin + 52, rx = width - margin - 8 * cell;
  d.text(margin, y - 22, "passed in", "");
  d.text(rx, y - 22, "got back", "");
  d.text(margin, y - 6, "lane", "mute");
  d.text(rx, y - 6, "lanes", "mute");
  for (int r = 0; r < 8; ++r) {
    d.text(margin + 8, y + r * cell + 12, fmt::format("{}", r), "");
    d.arrow(margin + 22, y + r * cell + 8, x - 4, y + r * cell + 8);
    d.box(x, y + r * cell, 5.2 * cell, cell - 2, "shared", 1.5);
  }
  d.text(x + 2.6 * cell, y + 8 * cell + 14, "rows of 16 bytes", "shared-text", at::middle);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    const element first = f.a[lane][0], second = f.a[lane][1];
    if (second.row != first.row || second.column != first.column + 1)
      throw std::runtime_error("row_addresses: not neighbours");
    d.label(rx + first.column * cell, y + first.row * cell, 2 * cell - 2, cell - 2, "reg", fmt::format("{}", lane),
            "on s");
  }
  d.text(rx, y + 8 * cell + 14, "two elements each", "reg-text");
  d.text(margin, y + 8 * cell + 40, "Lanes 8 to 31 name the rows of three more matrices.", "mute");
  return d;
}

template <class Format>
std::vector<double> partial_sums(double term, int count) {
  const double rounded = sim::decode<Format>(sim::encode<Format>(term));
  std::vector<double> sums{0};
  for (int i = 0; i < count; ++i) sums.push_back(sim::decode<Format>(sim::encode<Format>(sums.back() + rounded)));
  return sums;
}

drawing stalled_sum() {
  const int count = 1000;
  const std::vector<double> bf16 = partial_sums<sim::bfloat16>(0.01, count),
                            fp16 = partial_sums<sim::binary16>(0.01, count);
  const auto stop = std::find(bf16.begin(), bf16.end(), bf16.back()) - bf16.begin();
  drawing d("09_low_precision", "stalled_sum", "A sum that stops growing",
            fmt::format("Partial sums of 0.01 added a thousand times. In fp16 the sum reaches {:.3f}; in bf16 it "
                        "reaches {:.0f} after {} additions "
                        "and stays there.",
                        fp16.back(), bf16.back(), stop));
  const double left = 36, right = width - margin, top = 44, bottom = 194;
  const auto x = [&](double n) { return left + (right - left) * n / count; };
  const auto y = [&](double s) { return bottom - (bottom - top) * s / 10.5; };
  const auto curve = [&](const std::vector<double>& sums, const char* role) {
    std::vector<std::pair<double, double>> points;
    for (int n = 0; n <= count; n += 10) points.emplace_back(x(n), y(sums[static_cast<std::size_t>(n)]));
    d.curve(points, role);
  };
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  d.line(x(0), y(0), x(count), y(10));
  curve(fp16, "used-line");
  curve(bf16, "waste-line");
  for (const int s : {0, 4, 10}) d.text(left - 6, y(s) + 4, fmt::format("{}", s), "mute", at::end);
  d.text(right, y(4) - 8, fmt::format("bf16: {:.0f}, from {} on", bf16.back(), stop), "waste-text", at::end);
  d.text(x(720), y(8.4), fmt::format("fp16: {:.3f}", fp16.back()), "used-text", at::end);
  d.text(right, bottom + 16, "1000 additions", "mute", at::end);
  d.text(margin, bottom + 38, "At 4 the numbers of bf16 are 1/32 apart, and 0.01 is", "");
  d.text(margin, bottom + 54, "less than half of that.", "");
  return d;
}

drawing swizzle() {
  const auto rows = [](bool moved) {
    warp_offsets offsets{};
    for (int lane = 0; lane < 32; ++lane) {
      const int row = lane % 16, chunk = lane / 16;
      offsets[static_cast<std::size_t>(lane)] = row * 64 + (moved ? chunk ^ (row / 2 % 4) : chunk) * 16;
    }
    return offsets;
  };
  const warp_offsets plain = rows(false), moved = rows(true);
  const int plain_wavefronts = counted_matrix_wavefronts(plain), moved_wavefronts = counted_matrix_wavefronts(moved);
  drawing d("09_low_precision", "swizzle", "Move the chunks, and all banks work",
            fmt::format("Eight rows of A's tile, 64 bytes each, two rows across the 32 banks. In row-major order the "
                        "first chunks of all rows "
                        "lie in the same eight banks: {} wavefronts for four matrices. With chunk xor row / 2 they lie "
                        "in all banks: {}.",
                        plain_wavefronts, moved_wavefronts));
  const double chunk = inner / 8;
  const auto panel = [&](double y, const std::string& words, const char* style, const warp_offsets& offsets) {
    d.text(margin, y - 8, words, style);
    for (int slot = 0; slot < 32; ++slot) {
      const double x = margin + slot % 8 * chunk, by = y + slot / 8 * 20;
      const auto wanted = std::find(offsets.begin(), offsets.begin() + 8, slot * 16);
      if (wanted == offsets.begin() + 8)
        d.box(x, by, chunk - 2, 17, "idle", 1.5);
      else
        d.label(x, by, chunk - 2, 17, std::string(style) == "waste-text" ? "waste" : "shared",
                fmt::format("row {}", wanted - offsets.begin()), std::string(style) == "waste-text" ? "s" : "on s");
    }
  };
  panel(54, fmt::format("row-major: {} wavefronts for 4 matrices", plain_wavefronts), "waste-text", plain);
  panel(176, fmt::format("chunk xor row / 2: {} wavefronts", moved_wavefronts), "shared-text", moved);
  d.text(margin, 276, "Across: 32 banks. A box: a chunk of 16 bytes, 4 banks.", "mute");
  d.text(margin, 292, "Coloured: chunk 0 of rows 0 to 7, loaded together.", "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

double in_e4m3(double x) { return sim::decode8<sim::e4m3>(sim::encode8<sim::e4m3>(x, true)); }
double in_e5m2(double x) { return sim::decode8<sim::e5m2>(sim::encode8<sim::e5m2>(x, true)); }
double in_fp16(double x) { return sim::decode<sim::binary16>(sim::encode<sim::binary16>(x)); }

std::string raised(int power) {
  const char* digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string words;
  for (const char c : std::to_string(power)) words += digits[c - '0'];
  return words;
}

/// 1 added again and again in e4m3: the sum stops.
drawing counting() {
  const int count = 24;
  drawing d("counting", "Partial sums of 1 in e4m3, which stop at 16.");
  const double left = margin + 26, bottom = 172, cell = (slide_inner - 30) / count, scale = 6;
  double sum = 0;
  for (int i = 1; i <= count; ++i) {
    const double before = sum;
    sum = in_e4m3(sum + 1);
    const double x = left + (i - 1) * cell;
    d.box(x, bottom - i * scale, cell - 3, i * scale, "idle", 0);
    d.box(x, bottom - sum * scale, cell - 3, sum * scale, sum == before ? "waste" : "used", 0);
    if (i % 4 == 0) d.text(x + cell / 2 - 1, bottom + 16, fmt::format("{}", i), "mute", at::middle);
  }
  d.text(left - 8, bottom - sum * scale + 4, fmt::format("{:.0f}", sum), "waste-text", at::end);
  d.text(left, 30, fmt::format("1 added again and again: {:.0f}, forever", sum), "h waste-text");
  d.legend(bottom + 38, {{"used", "the sum grows"}, {"waste", "it does not"}, {"idle", "true sum"}});
  return d;
}

/// The numbers of e4m3 around 16, and where 17 is rounded to.
drawing halfway() {
  drawing d("halfway", "The numbers of e4m3 from 12 to 22: 17 is halfway between 16 and 18.");
  const double left = margin + 20, right = slide_width - margin - 20, y = 104;
  const auto x = [&](double v) { return left + (right - left) * (v - 12) / 10; };
  d.line(left, y, right, y, "pen");
  for (int tenth = 120; tenth <= 220; ++tenth) {
    const double v = tenth / 10.0;
    if (in_e4m3(v) != v) continue;
    const auto bits = sim::encode8<sim::e4m3>(v, true);
    d.line(x(v), y - 16, x(v), y + 8, v < 16 ? "used-line" : "time-line");
    d.text(x(v), y + 26, fmt::format("{:.0f}", v), v == 16 ? "h" : "", at::middle);
    std::string fraction;
    for (int bit = sim::e4m3::mantissa_bits - 1; bit >= 0; --bit) fraction += (bits >> bit & 1) != 0 ? '1' : '0';
    d.text(x(v), y + 44, fraction, bits % 2 == 0 ? "h shared-text" : "mute", at::middle);
  }
  d.dot(x(17), y, 4, "waste");
  d.text(x(17), y - 50, "16 + 1", "waste-text", at::middle);
  d.arrow(x(17), y - 42, x(in_e4m3(17)) + 3, y - 20, "waste-line");
  d.text(left, 24, "distance 1", "used-text");
  d.text(right, 24, "distance 2", "time-text", at::end);
  d.text(margin, y + 70, "fraction bits; exactly halfway: to the number whose last bit is 0", "mute");
  return d;
}

/// Half the distance to the next number, as the sum grows, and where it reaches the term.
drawing stops() {
  drawing d("stops",
            "Half the distance to the next number doubles with the sum, in e5m2 and e4m3; where it reaches the "
            "term, the sum stops: 8 and 16 for terms of 1, 2 and 4 for terms of 1/4.");
  const double left = margin + 46, right = slide_width - margin - 70, base = 172;
  const int last = 6;  // sums up to 2 to the 6
  const auto x = [&](double sum) { return left + (right - left) * std::log2(sum) / last; };
  const auto y = [&](double half) { return base - 23 * std::log2(16 * half); };
  const auto stop_of = [](auto in_format, double term) {
    double sum = 0;
    while (in_format(sum + term) != sum) sum = in_format(sum + term);
    return sum;
  };
  d.line(left, y(4) - 8, left, base, "pen");
  d.line(left, base, right, base, "pen");
  for (int e = 0; e <= last; ++e) d.text(x(std::ldexp(1, e)), base + 17, fmt::format("{}", 1 << e), "mute", at::middle);
  d.text(right + 14, base + 17, "sum", "mute");
  for (const auto& [half, words] : {std::pair{0.0625, "1/16"}, {0.25, "1/4"}, {1.0, "1"}, {4.0, "4"}})
    d.text(left - 8, y(half) + 4, words, "mute", at::end);
  d.text(left + 8, y(4) - 4, "half the distance; at a dot the sum stops", "mute");
  for (const double term : {1.0, 0.25}) {
    d.line(left, y(term), right, y(term), "waste-line");
    d.text(right + 6, y(term) + 4, term == 1 ? "term: 1" : "term: 1/4", "waste-text");
  }
  const auto stair = [&](const char* name, auto in_format, int fraction, const char* line, const char* role,
                         const char* style) {
    std::vector<std::pair<double, double>> points;
    for (int e = 0; e < last; ++e) {
      const double half = std::ldexp(1, e - fraction - 1);
      if (in_format(std::ldexp(1, e) + 2 * half) != std::ldexp(1, e) + 2 * half)
        throw std::runtime_error("stops: the distance is another");
      points.emplace_back(x(std::ldexp(1, e)), y(half));
      points.emplace_back(x(std::ldexp(1, e + 1)), y(half));
    }
    d.curve(points, line);
    d.text(points.back().first + 6, points.back().second + 4, name, style);
    for (const double term : {1.0, 0.25}) {
      const double stop = stop_of(in_format, term);
      d.dot(x(stop), y(term), 4.5, role);
      d.text(x(stop) + 5, y(term) - 6, fmt::format("at {:.0f}", stop), style);
    }
  };
  stair("e5m2", in_e5m2, sim::e5m2::mantissa_bits, "time-line", "time", "h time-text");
  stair("e4m3", in_e4m3, sim::e4m3::mantissa_bits, "used-line", "used", "h used-text");
  return d;
}

/// A step that is smaller than half of the distance to the next number of fp16.
drawing stuck() {
  const double w = 100, step = 0.02, unit = std::ldexp(1, 6 - sim::binary16::mantissa_bits);
  if (in_fp16(w - unit) != w - unit || in_fp16(w - in_fp16(step)) != w) throw std::runtime_error("stuck: it moves");
  drawing d("stuck", "The numbers of fp16 around 100 are 1/16 apart; 100 - 0.02 is rounded to 100.");
  const double y = 96, middle = slide_width / 2 + 60, scale = 150 / unit;
  d.line(margin, y, slide_width - margin, y, "pen");
  for (int i = -2; i <= 1; ++i) {
    const double x = middle + i * unit * scale;
    d.line(x, y - 18, x, y + 8, "used-line");
    d.text(x, y + 26, fmt::format("{:.4f}", w + i * unit), i == 0 ? "h" : "", at::middle);
  }
  const double half = middle - unit / 2 * scale, to = middle - step * scale;
  d.line(half, y - 30, half, y + 4);
  d.text(half - 6, y - 34, "halfway", "mute", at::end);
  d.arrow(middle, y - 30, to, y - 30, "waste-line");
  d.text(middle + 6, y - 26, "one step: 0.02", "waste-text");
  d.dot(to, y, 4, "waste");
  d.text(margin, y + 66, "fp16: numbers from 64 to 128 are 1/16 apart", "mute");
  d.text(slide_width - margin, y + 66, "100 − 0.02 = 100", "h waste-text", at::end);
  return d;
}

/// Which powers of two the 8-bit formats have.
drawing powers() {
  drawing d("powers", "1, 1/2, 1/4, ... in e4m3 and e5m2: normal, subnormal, and 0.");
  const int count = 20;
  const double left = margin + 54, cell = (slide_inner - 54) / count;
  double y = 40;
  d.text(margin, y - 10, "2 to the", "mute");
  for (int i = 0; i < count; i += 2)
    d.text(left + (i + 0.5) * cell, y - 10, i == 0 ? "0" : fmt::format("−{}", i), "mute", at::middle);
  const auto row = [&](const char* name, int lowest, auto of) {
    d.text(margin, y + 20, name);
    int kept = 0;
    for (int i = 0; i < count; ++i) {
      const double v = of(std::ldexp(1, -i));
      kept += v != 0;
      d.box(left + i * cell, y, cell - 3, 30, v == 0 ? "waste" : -i < lowest ? "time" : "used", 2);
    }
    d.text(left, y + 48, fmt::format("the smallest is 2 to the −{}: the first {} survive", kept - 1, kept), "mute");
    y += 68;
  };
  row("e4m3", sim::e4m3::lowest, in_e4m3);
  row("e5m2", sim::e5m2::lowest, in_e5m2);
  d.legend(y + 14, {{"used", "normal"}, {"time", "subnormal"}, {"waste", "rounded to 0"}});
  return d;
}

/// Gradients, and the same gradients multiplied, beside the range of e4m3.
drawing scaled_loss() {
  drawing d("scaled_loss", "Gradients up to 0.02 lie low in the range of e4m3; times 2 to the 14 they fill it.");
  const double left = margin + 130, right = slide_width - margin - 30, last = in_e4m3(1e9), first = in_e4m3(0.002);
  const auto x = [&](double v) { return left + (right - left) * (std::log2(v) + 16) / 26; };
  const auto bar = [&](double y, const char* words, double from, double to, const char* role) {
    d.text(margin, y + 17, words);
    d.box(x(from), y, x(to) - x(from), 24, role, 3);
  };
  bar(34, "e4m3", first, last, "used");
  d.text(x(first), 26, fmt::format("1/{:.0f}", 1 / first), "mute", at::middle);
  d.text(x(last), 26, fmt::format("{:.0f}", last), "mute", at::middle);
  bar(76, "gradients", 0.02 / 2048, 0.02, "time");
  int power = 0;
  while (0.02 * std::ldexp(1, power + 1) <= last) ++power;
  bar(118, fmt::format("times 2{}", raised(power)).c_str(), 0.02 / 2048 * std::ldexp(1, power),
      0.02 * std::ldexp(1, power), "time");
  d.line(x(first), 34, x(first), 142);
  d.line(x(last), 34, x(last), 142);
  d.text(margin, 178,
         fmt::format("0.02 · 2{} = {:.0f} fits, 0.02 · 2{} = {:.0f} does not", raised(power),
                     0.02 * std::ldexp(1, power), raised(power + 1), 0.02 * std::ldexp(1, power + 1)),
         "h time-text");
  return d;
}

/// The 8 x 8 matrices that a warp of 32 x 16 loads for 16 steps along k.
drawing warp_matrices() {
  drawing d("warp_matrices", "A warp's 32 x 16 elements of C need 8 matrices of A and 4 of B for 16 steps.");
  const double cell = 34, y = 44, ax = margin + 44, bx = ax + 200;
  const char* roles[] = {"used", "time", "shared"};
  d.text(ax, y - 12, "A: 32 × 16", "");
  for (int r = 0; r < 4; ++r)
    for (int c = 0; c < 2; ++c)
      d.label(ax + c * 1.6 * cell, y + r * cell, 1.6 * cell - 3, cell - 3, roles[r / 2], "8 × 8");
  d.text(bx, y - 12, "B: 16 × 16", "");
  for (int r = 0; r < 2; ++r)
    for (int c = 0; c < 2; ++c) d.label(bx + c * 1.6 * cell, y + r * cell, 1.6 * cell - 3, cell - 3, roles[2], "8 × 8");
  const double tx = bx + 150;
  d.text(tx, y + 20, "8 + 4 matrices");
  d.text(tx, y + 42, "four per instruction");
  d.text(tx, y + 74, "3 matrix loads", "h shared-text");
  d.text(margin, y + 4 * cell + 20, "one warp, 16 steps along k; a colour is one ldmatrix", "mute");
  return d;
}

/// What the blocks of a tiled product fetch, in sectors of 16-bit elements.
drawing strips() {
  const int n = 128, tile = 32, side = n / tile, each = 2 * tile * n, all = side * side * each, per_sector = 32 / 2;
  drawing d("strips",
            fmt::format("One of {} blocks needs {} rows of A and {} columns of B; all together fetch {} sectors.",
                        side * side, tile, tile, grouped(all / per_sector)));
  const double cell = 22, a = margin, c = a + side * cell + 14, top = 22, below = top + side * cell + 14;
  const auto matrix = [&](double x, double y, auto role) {
    for (int r = 0; r < side; ++r)
      for (int q = 0; q < side; ++q) d.box(x + q * cell, y + r * cell, cell - 2, cell - 2, role(r, q), 1);
  };
  matrix(a, below, [](int r, int) { return r == 1 ? "used" : "idle"; });
  matrix(c, top, [](int, int q) { return q == 2 ? "shared" : "idle"; });
  matrix(c, below, [](int r, int q) { return r == 1 && q == 2 ? "time" : "idle"; });
  d.text(a, below - 6, fmt::format("A: {0} × {0}", n));
  d.text(c, top - 6, "B");
  d.text(c + side * cell + 4, below + side * cell - 6, "C");
  const double x = c + side * cell + 34;
  d.text(x, top + 14, fmt::format("{} · {} blocks of {} × {} elements", side, side, tile, tile));
  d.text(x, top + 44, fmt::format("each fetches {} rows and {} columns:", tile, tile));
  d.text(x, top + 64, fmt::format("({} + {}) · {} = {} elements", tile, tile, n, grouped(each)), "h");
  d.text(x, top + 94, fmt::format("all blocks: {} elements", grouped(all)));
  d.text(x, top + 124, fmt::format("a sector: 32 bytes / 2 = {} elements", per_sector));
  d.text(x, top + 150, fmt::format("{} / {} = {} sectors", grouped(all), per_sector, grouped(all / per_sector)),
         "h time-text");
  return d;
}

/// Eight rows of 128 bytes, as ldmatrix reads one matrix of them: all in the same four banks.
drawing rows_in_banks() {
  warp_offsets offsets{};
  for (int lane = 0; lane < 32; ++lane) offsets[static_cast<std::size_t>(lane)] = lane % 8 * 128 + lane / 8 * 16;
  const int wavefronts = counted_matrix_wavefronts(offsets);
  drawing d("rows_in_banks",
            fmt::format("Eight rows of 128 bytes, row-major: one matrix takes {} wavefronts.", wavefronts / 4));
  const double left = margin + 60, cell = (slide_inner - 60) / 8, row = 17;
  double y = 36;
  for (int c = 0; c < 8; ++c)
    d.text(left + (c + 0.5) * cell, y - 8, fmt::format("{} to {}", 4 * c, 4 * c + 3), "mute", at::middle);
  d.text(margin, y - 8, "banks", "mute");
  for (int r = 0; r < 8; ++r, y += row) {
    d.text(margin, y + 13, fmt::format("row {}", r), "mute");
    for (int c = 0; c < 8; ++c) d.box(left + c * cell, y, cell - 3, row - 3, c == 0 ? "waste" : "idle", 2);
  }
  d.text(margin, y + 24, fmt::format("one 8 × 8 matrix: {} wavefronts", wavefronts / 4), "h waste-text");
  d.text(slide_width - margin, y + 24, "a box is 16 bytes; red: what ldmatrix reads", "mute", at::end);
  return d;
}

}  // namespace

void low_precision(drawing_list& to) {
  for (const auto make : {formats, number_line, groups, row_addresses, fragment_layout, stalled_sum, swizzle})
    to.push_back(make());
  for (const auto make : {counting, halfway, stops, stuck, powers, scaled_loss, warp_matrices, strips, rows_in_banks})
    to.push_back(make());
}

}  // namespace drawings
