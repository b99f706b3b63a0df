// Lab 10: the launches of a token, the cache and who writes where, heads that share keys, and where a token's bytes
// are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab10 = "10_decode";

/// Llama 3.2 1B, in bf16.
drawing bytes() {
  constexpr double layers = 16, width = 2048, heads = 32, kv_heads = 8, size = 64, hidden = 8192, vocabulary = 128'256;
  constexpr double weights = 2 * (vocabulary * width + layers * ((heads + 2 * kv_heads) * size * width +
                                                                 width * heads * size + 3 * hidden * width));
  constexpr double a_token = 4 * layers * kv_heads * size, per_unit = 7.2e9 / inner;
  drawing d(lab10, "bytes", "What a token reads",
            fmt::format("Bytes that a token of Llama 3.2 1B reads: always {:.2f} GB of weights, and {:.2f} GB of cache "
                        "at position 4,096, {:.2f} GB at 131,072.",
                        weights * 1e-9, 4096 * a_token * 1e-9, 131'072 * a_token * 1e-9));
  double y = 46;
  for (const double position : {0.0, 4096.0, 32'768.0, 131'072.0}) {
    const double of_cache = position * a_token;
    d.text(
        margin, y,
        fmt::format("position {}: {:.2f} GB", grouped(static_cast<long long>(position)), (weights + of_cache) * 1e-9));
    d.box(margin, y + 8, weights / per_unit, 20, "used");
    if (of_cache > 0) d.box(margin + weights / per_unit, y + 8, of_cache / per_unit, 20, "shared");
    y += 54;
  }
  d.legend(y - 6, {{"used", "weights"}, {"shared", "cache"}});
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A matrix times `n` columns: how often a weight is used.
drawing columns(int n) {
  const int rows = 8, inside = 14, row = 2, column = 5;
  drawing d(fmt::format("columns_{}", n), fmt::format("A matrix times {} column{}: each weight is used {} time{}.", n,
                                                      n == 1 ? "" : "s", n, n == 1 ? "" : "s"));
  const double cell = 13.5, top = 36, x_left = margin + inside * cell + 44, y_left = x_left + 8 * cell + 44;
  d.text(margin, 26, "W", "h");
  d.text(x_left, 26, n == 1 ? "x" : "X", "h");
  d.text(y_left, 26, n == 1 ? "y" : "Y", "h");
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < inside; ++c)
      d.box(margin + c * cell, top + r * cell, cell - 2, cell - 2, r == row && c == column ? "time" : "used", 1);
    for (int c = 0; c < n; ++c)
      d.box(y_left + c * cell, top + r * cell, cell - 2, cell - 2, r == row ? "time" : "idle", 1);
  }
  for (int r = 0; r < inside; ++r)
    for (int c = 0; c < n; ++c)
      d.box(x_left + c * cell, top + r * cell, cell - 2, cell - 2, r == column ? "time" : "idle", 1);
  d.text(x_left - 24, top + 4 * cell + 4, "×", "h", at::middle);
  d.text(y_left - 24, top + 4 * cell + 4, "=", "h", at::middle);
  const double low = top + rows * cell;
  d.text(margin, low + 44, "a weight is loaded once", "time-text");
  d.text(y_left, low + 44, n == 1 ? "and used once" : fmt::format("and used {} times:", n), "h time-text");
  d.text(y_left, low + 66, n == 1 ? "there is one column" : "once per column of X", "time-text");
  return d;
}

/// Least times for the bytes and for the arithmetic of a 4096 x 4096 matrix in FP32, with one column and with many.
drawing flops_and_bytes() {
  const double n = 4096, rate = device_figure("h200", "copy_bytes_per_second"),
               peak = device_figure("h200", "fp32_flops_per_second");
  drawing d("flops_and_bytes", "Times for bytes and arithmetic of a matrix times one column, and times a matrix.");
  double y = 24;
  for (const double columns : {1.0, n}) {
    const double bytes = 4 * (n * n + 2 * n * columns) / rate * 1e6, arithmetic = 2 * n * n * columns / peak * 1e6;
    const double scale = (slide_inner - 190) / std::max(bytes, arithmetic), left = margin + 86;
    d.text(margin, y, columns == 1 ? "4096 × 4096, times one column" : "4096 × 4096, times 4096 columns", "h");
    const auto bar = [&](double at_y, const char* words, const char* role, double us) {
      d.text(margin, at_y + 17, words);
      d.box(left, at_y, std::max(us * scale, 2.0), 24, role, 1);
      d.text(left + std::max(us * scale, 2.0) + 8, at_y + 17,
             us < 100 ? fmt::format("{:.1f} µs", us) : fmt::format("{:.0f} µs", us));
    };
    bar(y + 12, "bytes", "used", bytes);
    bar(y + 42, "arithmetic", "time", arithmetic);
    y += 104;
  }
  d.text(margin, y - 8, "FP32 on an H200, at the rates of a copy and of cuBLAS", "mute");
  return d;
}

/// Seven steps of a text: which tokens' keys and values a step computes, and which it reads.
drawing again(bool cached) {
  const int steps = 7;
  drawing d(cached ? "again_2" : "again_1",
            cached ? "With a cache each step computes one token." : "Without a cache step n computes n tokens.");
  const double cell = 25, left = margin + 62, top = 34;
  int computed = 0;
  d.text(left, 22, "token", "mute");
  for (int s = 0; s < steps; ++s) {
    d.text(margin, top + s * cell + 16, fmt::format("step {}", s + 1), "mute");
    for (int t = 0; t < steps; ++t) {
      const bool now = t == s || (!cached && t < s);
      computed += now ? 1 : 0;
      d.box(left + t * cell, top + s * cell, cell - 3, cell - 3, t > s ? "free" : now ? "time" : "used");
    }
  }
  const double x = left + steps * cell + 30;
  d.box(x, top + 8, 14, 14, "time");
  d.text(x + 22, top + 20, "computed in this step");
  d.box(x, top + 36, 14, 14, "used");
  d.text(x + 22, top + 48, "read from the cache");
  d.text(x, top + 92, fmt::format("{} computed for {} tokens", computed, steps), "h time-text");
  d.text(x, top + 116, cached ? "n for n tokens" : "n (n + 1) / 2 for n tokens", "h");
  return d;
}

/// GPT-2 124M in FP32: weights, and the cache of several texts of 1024 tokens.
drawing cache_grows() {
  constexpr double layers = 12, width_of_x = 768, hidden = 3072, vocabulary = 50'257;
  constexpr double weights =
      4 * (layers * (4 * width_of_x * width_of_x + 2 * width_of_x * hidden) + vocabulary * width_of_x);
  constexpr double a_text = 1024 * 4 * 2 * layers * width_of_x, most = weights + 32 * a_text;
  drawing d("cache_grows", "GPT-2 124M in FP32: the cache of 32 texts is five times the weights.");
  const double left = margin + 76, scale = (slide_inner - 76) / most;
  double y = 22;
  for (const int texts : {1, 8, 32}) {
    d.text(margin, y + 21, fmt::format("{} text{}", texts, texts == 1 ? "" : "s"));
    d.box(left, y, weights * scale, 32, "used");
    d.box(left + weights * scale, y, texts * a_text * scale, 32, "shared");
    d.text(left, y + 48, fmt::format("cache: {:.0f} MB", texts * a_text / 1e6), "shared-text");
    y += 62;
  }
  d.text(margin, y + 8, fmt::format("weights: {:.0f} MB in all three", weights / 1e6), "h used-text");
  return d;
}

/// A query and a key, each turned by its position: the angle between them depends on the distance only.
drawing angles() {
  const double turn = 14, of_q = 40, of_k = 10, radius = 74, cy = 104;
  drawing d("angles", "A query and a key, turned by their positions: at the same distance they have the same angle.");
  const auto panel = [&](double cx, int q, int k) {
    const auto at_angle = [&](double degrees, double r) {
      const double a = degrees * std::numbers::pi / 180;
      return std::pair{cx + r * std::cos(a), cy - r * std::sin(a)};
    };
    std::vector<std::pair<double, double>> circle;
    for (int i = 0; i <= 72; ++i) circle.push_back(at_angle(5 * i, radius));
    d.curve(circle, "hair");
    const auto hand = [&](double degrees, const char* role, const std::string& words) {
      const auto [x, y] = at_angle(degrees, radius);
      d.arrow(cx, cy, x, y, std::string(role) + "-line");
      const auto [tx, ty] = at_angle(degrees, radius + 13);
      d.text(tx, ty + 4, words, std::string("h ") + role + "-text", at::middle);
    };
    const double a = of_q + q * turn, b = of_k + k * turn;
    hand(a, "reg", "q");
    hand(b, "shared", "k");
    std::vector<std::pair<double, double>> arc;
    for (int i = 0; i <= 20; ++i) arc.push_back(at_angle(b + (a - b) * i / 20, 30));
    d.curve(arc, "time-line");
    d.text(cx, cy + radius + 26, fmt::format("q at {}, k at {}", q, k), "", at::middle);
    d.text(cx, cy + radius + 46, fmt::format("{:.0f}° apart", a - b), "h time-text", at::middle);
  };
  panel(100, 3, 1);
  panel(slide_width / 2, 6, 4);
  panel(slide_width - 100, 6, 1);
  return d;
}

/// Eight query heads that share a K/V head: a block each, or one block for all.
drawing group_of_eight(bool together) {
  const int heads = 8;
  drawing d(together ? "group_2" : "group_1", together ? "One block for eight query heads loads each key once."
                                                       : "A block per query head: each key is loaded eight times.");
  const double w = 48, gap = 19, y = 24, key_y = 150, key_x = slide_width / 2 - 90;
  if (together) d.box(margin - 2, y - 10, slide_inner + 4, 46, "free", 6);
  for (int h = 0; h < heads; ++h) {
    const double x = margin + 6 + h * (w + gap);
    if (!together) d.box(x - 6, y - 10, w + 12, 46, "free", 6);
    d.label(x, y, w, 26, "reg", fmt::format("q{}", h));
    if (!together) d.arrow(slide_width / 2 + (h - 3.5) * 20, key_y - 3, x + w / 2, y + 40, "shared-line");
  }
  if (together) d.arrow(slide_width / 2, key_y - 3, slide_width / 2, y + 40, "shared-line");
  d.label(key_x, key_y, 180, 30, "shared", "one K/V head");
  d.text(margin, key_y + 62,
         together ? "one block: a key is loaded once, for 8 scores"
                  : fmt::format("{} blocks: each key is loaded {} times", heads, heads),
         together ? "h used-text" : "h waste-text");
  return d;
}

/// A norm before a product, as two launches, and within the product.
drawing norm_passes(bool fused) {
  drawing d(fused ? "norm_2" : "norm_1", fused ? "The sum of squares next to the products, in one pass over x."
                                               : "A norm as a launch of its own, then the product.");
  const double h = 32;
  const auto step = [&](double x, double y, double w, const char* role, const char* words) {
    d.label(x, y, w, h, role, words);
  };
  if (!fused) {
    d.text(margin, 26, "launch 1", "mute");
    step(margin, 36, 80, "used", "load x");
    d.arrow(margin + 84, 52, margin + 106, 52);
    step(margin + 110, 36, 120, "time", "sum of x²");
    d.arrow(margin + 234, 52, margin + 256, 52);
    step(margin + 260, 36, 90, "time", "root");
    d.arrow(margin + 354, 52, margin + 376, 52);
    d.label(margin + 380, 36, 156, h, "waste", "store x g / root", "");
    d.text(margin, 112, "launch 2", "mute");
    d.label(margin, 122, 156, h, "waste", "load x g / root", "");
    d.arrow(margin + 160, 138, margin + 182, 138);
    step(margin + 186, 122, 180, "time", "products with w");
    d.arrow(margin + 370, 138, margin + 392, 138);
    step(margin + 396, 122, 60, "used", "y");
    d.text(margin, 196, "The root must be known before the first product.", "h");
    return d;
  }
  d.text(margin, 26, "one launch", "mute");
  step(margin, 82, 80, "used", "load x");
  d.arrow(margin + 84, 90, margin + 126, 60);
  d.arrow(margin + 84, 106, margin + 126, 136);
  step(margin + 130, 42, 170, "time", "sum of x²");
  step(margin + 130, 122, 170, "time", "sum of w g x");
  d.arrow(margin + 304, 60, margin + 346, 90);
  d.arrow(margin + 304, 136, margin + 346, 106);
  step(margin + 350, 82, 90, "time", "divide");
  d.arrow(margin + 444, 98, margin + 466, 98);
  step(margin + 470, 82, 66, "used", "y");
  d.text(margin, 196, "The root is one factor for the whole row: needed at the end.", "h");
  return d;
}

/// Two kernels after each other on six multiprocessors: a schematic. Early: the second loads its first weights before
/// the first one is over.
drawing schedule(bool early) {
  drawing d(early ? "tails_2" : "tails_1", early ? "The second kernel loads weights while the first ends."
                                                 : "Between two kernels the device is idle.");
  const std::array<double, 6> ends{150, 172, 158, 196, 164, 182};
  const double left = margin + 60, row = 25, top = 30, last = 196, until = slide_width - margin - left;
  d.text(margin, 20, "multiprocessor", "mute");
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double y = top + static_cast<double>(i) * row;
    d.text(margin + 40, y + 15, fmt::format("{}", i), "mute", at::end);
    d.box(left, y, early ? 382 : 458, row - 5, "waste", 0);
    d.box(left, y, ends[i], row - 5, "used", 0);
    const double second = early ? ends[i] + 6 : last + 64, ready = early ? last + 14 : second;
    if (early) d.box(left + second, y, ready - second, row - 5, "reg", 0);
    const double length = early ? 150 - (ready - second) * 0.8 : 150;
    d.box(left + ready, y, std::min(length + (ends[i] - 150) * 0.6, until - ready), row - 5, "time", 0);
  }
  d.text(left, top + 6 * row + 14, early ? "first kernel" : "first kernel", "used-text");
  if (early)
    d.text(left + 130, top + 6 * row + 14, "second: loads weights, waits", "reg-text");
  else
    d.text(left + 190, top + 6 * row + 14, "idle", "waste-text");
  d.text(left + (early ? 350 : 270), top + 6 * row + 14, early ? "computes" : "second kernel", "time-text");
  d.text(margin, top + 6 * row + 40, "a schematic, not a measurement", "mute");
  return d;
}

/// What a warp loads of x and of the weights, 8 numbers per lane, counted.
drawing x_requests() {
  warp_offsets apart{}, close{};
  for (int lane = 0; lane < 32; ++lane) {
    apart[static_cast<std::size_t>(lane)] = 32 * lane;
    close[static_cast<std::size_t>(lane)] = 16 * lane;
  }
  const int of_x = counted_sectors(apart, 16), of_w = counted_sectors(close, 16);
  drawing d("x_requests", fmt::format("A load of x touches {} sectors, one of weights {}.", of_x, of_w));
  const double cell = 56, left = margin + 72;
  const auto row = [&](double y, const char* name, double per_lane, const char* role, bool second) {
    d.text(margin, y + 17, name);
    for (int i = 0; i < 8; ++i) {
      const double x = left + i * cell;
      d.box(x, y, cell - 6, 24, "free", 0);
      if (per_lane == 16)
        for (int half = 0; half < 2; ++half) d.box(x + half * 25, y, 24, 24, role, 0);
      else
        d.box(x + (second ? 25 : 0), y, 24, 24, role, 0);
    }
  };
  d.text(left, 22, "sectors of 32 bytes; a filled half is one lane's 16 bytes", "mute");
  row(34, "weights", 16, "used", false);
  d.text(left, 74, fmt::format("one load of a warp: {} sectors, all of each", of_w), "used-text");
  row(96, "x, load 1", 32, "waste", false);
  row(128, "x, load 2", 32, "waste", true);
  d.text(left, 170, fmt::format("each load: {} sectors, half of each", of_x), "waste-text");
  d.text(margin, 202, fmt::format("8 columns of x: {} + {} sectors counted; they lie in {}", of_x, of_x, of_x), "h");
  return d;
}

/// What a multiprocessor has in flight with 512 threads, and what the rate of an H200's memory needs.
drawing in_flight() {
  const double rate = device_figure("h200", "copy_bytes_per_second"), count = device_figure("h200", "multiprocessors");
  const double needed = rate * 1e-6 / count, threads = 512;
  drawing d("in_flight",
            fmt::format("{:.0f} KB in flight per multiprocessor are needed, at a microsecond.", needed / 1e3));
  const double left = margin + 170, most = threads * 16 * 8, scale = (slide_inner - 240) / most;
  double y = 22;
  const auto bar = [&](const std::string& words, double bytes) {
    d.text(margin, y + 19, words);
    d.box(left, y, bytes * scale, 28, bytes < needed ? "waste" : "used", 1);
    d.text(std::max(left + bytes * scale, bytes < needed ? 0.0 : left + needed * scale) + 10, y + 19,
           fmt::format("{:.0f} KB", bytes / 1e3));
    y += 42;
  };
  bar("one load of 2 bytes", threads * 2);
  bar("one load of 16 bytes", threads * 16);
  bar("eight of 16 bytes", threads * 16 * 8);
  d.line(left + needed * scale, 14, left + needed * scale, y - 6, "pen");
  d.text(left + needed * scale, y + 10, fmt::format("needed: {:.0f} KB", needed / 1e3), "h", at::middle);
  d.text(margin, y + 38,
         fmt::format("{:.0f} threads per multiprocessor; {:.2f} TB/s for 1 µs, over {:.0f} multiprocessors", threads,
                     rate / 1e12, count),
         "mute");
  return d;
}

/// A head's keys in eight parts, at three positions: the grid stays, the share of a part grows.
drawing fixed_parts() {
  const int parts = 8, capacity = 256;
  drawing d("fixed_parts", "Eight parts of a head's keys at three positions; early on, some parts are empty.");
  const double left = margin, scale = slide_inner / capacity;
  double y = 40;
  for (const int position : {5, 63, 199}) {
    const int tokens = position + 1, share = (tokens - 1) / parts + 1, used = (tokens - 1) / share + 1;
    d.text(margin, y - 8,
           fmt::format("position {}: {} key{} per part{}", position, share, share == 1 ? "" : "s",
                       used < parts ? fmt::format(", {} parts are empty", parts - used) : ""));
    d.box(left, y, slide_inner, 26, "idle", 0);
    for (int p = 0; p < used; ++p) {
      const int begin = p * share, end = std::min(begin + share, tokens);
      d.box(left + begin * scale, y, (end - begin) * scale - 0.7, 26, p % 2 == 0 ? "used" : "time", 0);
    }
    y += 62;
  }
  d.text(margin, y - 10, "the grid: 8 parts for each K/V head, always", "h");
  return d;
}

/// The host and the device, launch by launch and with a graph: a schematic.
drawing host(bool graph) {
  drawing d(graph ? "host_2" : "host_1", graph ? "One call, and all kernels follow." : "A call for each kernel.");
  const double left = margin + 66, top = 34;
  const int kernels = 9;
  d.text(margin, top + 20, "host");
  d.text(margin, top + 96, "device");
  const double each = 50, busy = 22;
  double end = left;
  for (int i = 0; i < kernels; ++i) {
    const double call = left + i * each, start = graph ? left + 40 + i * (busy + 5) : call + 34;
    if (!graph) {
      d.box(call, top, 38, 30, "reg", 2);
      d.line(call + 38, top + 30, start, top + 76, "pen");
    }
    d.box(start, top + 76, busy, 30, "used", 2);
    end = start + busy;
  }
  if (graph) {
    d.label(left, top, 64, 30, "reg", "once");
    d.line(left + 40, top + 30, left + 40, top + 76, "pen");
  }
  d.line(left, top + 112, slide_width - margin, top + 112, "hair");
  d.arrow(left, top + 132, end, top + 132, "time-line");
  d.text(left, top + 152, graph ? "the device's time" : "the host's time", "time-text");
  d.text(margin, top + 184,
         graph ? "One call per token: the kernels follow one another." : "A call takes longer than its kernel.", "h");
  return d;
}

/// Two bf16 numbers in 32 bits, widened by a shift and by a mask.
drawing widen() {
  drawing d("widen", "A shift widens the lower of two bf16 numbers, a mask the upper one.");
  const double cell = 13, left = margin + 108;
  const auto bits = [&](double y, const std::string& words, const char* high, const char* low) {
    d.text(margin, y + 17, words);
    for (int i = 0; i < 32; ++i) d.box(left + i * cell, y, cell - 2, 24, i < 16 ? high : low, 1);
  };
  d.text(left, 22, "bits 31 to 16: number 1", "time-text");
  d.text(left + 16 * cell, 22, "bits 15 to 0: number 0", "used-text");
  bits(32, "in memory", "time", "used");
  bits(92, "word << 16", "used", "free");
  d.text(left, 134, "number 0, as a float", "used-text");
  bits(150, "mask", "time", "free");
  d.text(left, 192, "word & 0xFFFF0000: number 1, as a float", "time-text");
  return d;
}

/// Least times of a step that writes one token for each of several texts, Llama 3.2 1B on an H200, 1024 tokens each.
drawing batch() {
  constexpr double layers = 16, width_of_x = 2048, heads = 32, kv_heads = 8, size = 64, hidden = 8192,
                   vocabulary = 128'256;
  constexpr double numbers =
      vocabulary * width_of_x + layers * ((2 * heads + 2 * kv_heads) * size * width_of_x + 3 * hidden * width_of_x);
  const double rate = device_figure("h200", "copy_bytes_per_second"),
               peak = device_figure("h200", "bf16_tensor_flops_per_second");
  drawing d("batch", "More texts at once: the weights are shared, the caches are not.");
  const double left = margin + 76;
  const auto weights = 2 * numbers / rate * 1e3, a_text = 1024 * 4 * layers * kv_heads * size / rate * 1e3;
  const double scale = (slide_inner - 240) / (weights + 256 * a_text);
  double y = 18;
  for (const int texts : {1, 32, 256}) {
    const double bytes = weights + texts * a_text, arithmetic = texts * 2 * numbers / peak * 1e3;
    d.text(margin, y + 18, fmt::format("{} text{}", texts, texts == 1 ? "" : "s"));
    d.box(left, y, weights * scale, 24, "used", 1);
    d.box(left + weights * scale, y, texts * a_text * scale, 24, "shared", 1);
    d.box(left, y + 27, std::max(1.0, arithmetic * scale), 14, "time", 1);
    d.text(left + bytes * scale + 8, y + 18,
           fmt::format("{:.1f} ms: {} tokens/s", std::max(bytes, arithmetic),
                       grouped(std::lround(10 * texts / std::max(bytes, arithmetic)) * 100)));
    y += 60;
  }
  d.legend(y + 6, {{"used", "weights"}, {"shared", "caches, 1024 tokens each"}, {"time", "arithmetic, dense peak"}});
  return d;
}

}  // namespace

void decode(drawing_list& to) {
  for (const auto make : {bytes}) to.push_back(make());
  for (const auto make : {flops_and_bytes, cache_grows, angles, x_requests, in_flight, fixed_parts, widen, batch})
    to.push_back(make());
  for (const int n : {8, 1}) to.push_back(columns(n));
  for (const bool second : {false, true})
    for (const auto make : {again, group_of_eight, norm_passes, schedule, host}) to.push_back(make(second));
}

}  // namespace drawings
