// Lab 11: a matrix that is never stored, a softmax that begins early, and keys split over blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab11 = "11_attention";

/// A row of scores in tiles, and what is kept after each.
drawing online() {
  const std::vector<std::vector<double>> tiles{{1, 3, 2}, {0, 2, 1}, {5, 4, 2}};
  double most = -1e9, sum = 0;
  std::vector<std::pair<double, double>> kept;
  std::vector<double> scaled;
  for (const auto& tile : tiles) {
    const double next = std::max(most, *std::max_element(tile.begin(), tile.end()));
    scaled.push_back(sum == 0 ? 0 : std::exp(most - next));
    sum *= std::exp(most - next);
    for (const double one : tile) sum += std::exp(one - next);
    most = next;
    kept.emplace_back(most, sum);
  }
  drawing d(lab11, "online", "A softmax that begins before its row ends",
            fmt::format("Scores 1 3 2, 0 2 1 and 5 4 2 come tile by tile. After each tile the largest score m and the "
                        "sum l of weights are kept: m = {:.0f} and l = {:.2f}, then {:.0f} and {:.2f}, then {:.0f} and "
                        "{:.2f}. The third tile has a larger score, so what was summed up is multiplied by {:.2f}.",
                        kept[0].first, kept[0].second, kept[1].first, kept[1].second, kept[2].first, kept[2].second,
                        scaled[2]));
  const double cell = 28, gap = 24, left = margin, y = 48;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const double x = left + static_cast<double>(t) * (3 * cell + gap);
    for (std::size_t i = 0; i < 3; ++i)
      d.label(x + static_cast<double>(i) * cell, y, cell - 3, 26, tiles[t][i] >= kept[t].first ? "time" : "used",
              fmt::format("{:.0f}", tiles[t][i]));
    d.arrow(x + 1.5 * cell, y + 30, x + 1.5 * cell, y + 56);
    d.text(x, y + 74, fmt::format("m = {:.0f}", kept[t].first), "time-text");
    d.text(x, y + 92, fmt::format("l = {:.2f}", kept[t].second));
    if (t > 0)
      d.text(x, y + 112, scaled[t] == 1 ? "old sums stay" : fmt::format("old sums × {:.2f}", scaled[t]),
             scaled[t] == 1 ? "mute" : "waste-text");
  }
  d.text(left, y + 142, "Sums of values o are scaled like l. out = o / l", "mute");
  return d;
}

drawing mask() {
  int needed = 0;
  for (int warp = 0; warp < 16; ++warp) needed += warp * 16 / 64 + 1;
  drawing d(lab11, "mask", "What the mask saves",
            fmt::format("256 queries in 16 warps, 256 keys in 4 tiles. A warp computes each tile that one of its "
                        "queries sees: {} of 64 tiles. Of the scores in them, those past the diagonal are masked.",
                        needed));
  const double top = 50, left = margin, w = 52, h = 12;
  for (int warp = 0; warp < 16; ++warp)
    for (int tile = 0; tile < 4; ++tile) {
      const bool computed = tile * 64 < warp * 16 + 16, whole = tile * 64 + 63 <= warp * 16;
      d.box(left + tile * w, top + warp * h, w - 2, h - 2, !computed ? "idle" : whole ? "used" : "time", 1);
    }
  d.line(left, top, left + 4 * w, top + 16 * h, "pen");
  d.text(left + 4 * w + 12, top + 20, fmt::format("{} of 64 tiles", needed), "used-text");
  d.text(left + 4 * w + 12, top + 44, "keys →", "mute");
  d.text(left + 4 * w + 12, top + 62, "queries ↓", "mute");
  d.legend(top + 16 * h + 20, {{"used", "all seen"}, {"time", "masked"}, {"idle", "left out"}});
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// The weights of a row of scores relative to three choices of m: they differ by a factor, their shares do not.
drawing any_shift() {
  const std::vector<double> scores{2, 4, 3, 5};
  drawing d("any_shift", "Weights relative to m = 5, 4 and 2, and their shares, which are the same.");
  const double left = margin + 96, cell = 74, out = left + 5 * cell + 4;
  d.text(margin, 24, "score", "mute");
  for (std::size_t i = 0; i < scores.size(); ++i)
    d.text(left + (static_cast<double>(i) + 0.5) * cell, 24, fmt::format("{:.0f}", scores[i]), "h", at::middle);
  d.text(left + 4.5 * cell, 24, "sum", "mute", at::middle);
  d.text(out, 24, "share of 5", "mute");
  double y = 40;
  for (const double m : {5.0, 4.0, 2.0}) {
    double sum = 0;
    for (const double s : scores) sum += std::exp(s - m);
    d.text(margin, y + 20, fmt::format("m = {:.0f}", m), "h time-text");
    for (std::size_t i = 0; i < scores.size(); ++i)
      d.label(left + static_cast<double>(i) * cell, y, cell - 4, 30, "used",
              fmt::format("{:.2f}", std::exp(scores[i] - m)));
    d.label(left + 4 * cell, y, cell - 4, 30, "time", fmt::format("{:.2f}", sum));
    d.text(out, y + 20, fmt::format("{:.3f}", std::exp(scores.back() - m) / sum), "h used-text");
    y += 44;
  }
  d.text(margin, y + 14, "A row is the one above, times e or e²: the factor is in the sum, too, and cancels.", "mute");
  return d;
}

/// A row of scores and values, tile by tile up to `steps`, and the three numbers that are kept; 4: the result.
drawing kept_numbers(int steps) {
  const std::vector<std::vector<double>> tiles{{2, 4, 3}, {1, 3, 2}, {6, 4, 5}};
  drawing d(fmt::format("row_{}", steps), "Scores and values in tiles of three: m, l and o after each tile.");
  const double cell = 44, gap = 36, left = margin + 62;
  double most = -1e9, l = 0, o = 0, value = 0, all_l = 0, all_o = 0;
  const char* names[] = {"score", "value", "m", "l", "o"};
  const double rows[] = {36, 66, 98, 126, 168};
  for (int i = 0; i < 5; ++i) d.text(margin, rows[i], names[i], i < 2 ? "mute" : "h");
  for (int t = 0; t < 3; ++t) {
    const auto& tile = tiles[static_cast<std::size_t>(t)];
    const double x = left + t * (3 * cell + gap), middle = x + 1.5 * cell - 2;
    const double next = std::max(most, *std::max_element(tile.begin(), tile.end())), kept = std::exp(most - next);
    const double old_l = l, old_o = o;
    l *= kept, o *= kept;
    for (std::size_t i = 0; i < 3; ++i) {
      value += 10;
      l += std::exp(tile[i] - next), o += std::exp(tile[i] - next) * value;
      all_l += std::exp(tile[i]), all_o += std::exp(tile[i]) * value;
      const bool seen = t < steps, now = t + 1 == steps;
      d.label(x + static_cast<double>(i) * cell, rows[0] - 17, cell - 4, 25,
              !seen ? "idle"
              : now ? "time"
                    : "used",
              fmt::format("{:.0f}", tile[i]), seen ? "on" : "mute");
      d.text(x + (static_cast<double>(i) + 0.5) * cell - 2, rows[1], fmt::format("{:.0f}", value), "mute", at::middle);
    }
    most = next;
    if (t >= steps) continue;
    d.text(middle, rows[2], fmt::format("{:.0f}", most), "h time-text", at::middle);
    const auto sum = [&](double y, double old, double brought, double now) {
      if (t > 0) d.text(middle, y, fmt::format("{:.2f} × {:.3g} + {:.2f}", old, kept, brought), "s", at::middle);
      d.text(middle, y + (t > 0 ? 17 : 0), fmt::format("{:.2f}", now), "h", at::middle);
    };
    sum(rows[3], old_l, l - old_l * kept, l);
    sum(rows[4], old_o, o - old_o * kept, o);
  }
  if (steps == 4) {
    if (std::abs(o / l - all_o / all_l) > 1e-12) throw std::runtime_error("tile by tile is not all at once");
    d.text(margin, 208,
           fmt::format("out = o / l = {:.2f}, as if computed all at once;  lse = m + ln l = {:.2f}", o / l,
                       most + std::log(l)),
           "h used-text");
  } else
    d.text(margin, 216, "weights are relative to m, the largest score so far", "mute");
  return d;
}

/// Two results over different keys: each counts by its sum of exponentials.
drawing shares() {
  const double a = 3, b = 1, of_a = std::exp(a), of_b = std::exp(b), all = of_a + of_b;
  drawing d("shares", fmt::format("Sides with lse {:.0f} and {:.0f} have {:.2f} and {:.2f} of the sum.", a, b,
                                  of_a / all, of_b / all));
  const double w = slide_inner, y = 46;
  d.text(margin, y - 12, fmt::format("e³ = {:.2f}", of_a), "used-text");
  d.text(slide_width - margin, y - 12, fmt::format("e¹ = {:.2f}", of_b), "time-text", at::end);
  d.label(margin, y, w * of_a / all - 2, 44, "used", fmt::format("a counts {:.2f}", of_a / all));
  d.label(margin + w * of_a / all, y, w * of_b / all, 44, "time", fmt::format("{:.2f}", of_b / all));
  d.text(margin, y + 78, fmt::format("out = {:.2f} a + {:.2f} b", of_a / all, of_b / all), "h");
  d.text(margin, y + 104,
         fmt::format("lse = ln (e³ + e¹) = 3 + ln (1 + e⁻²) = {:.2f}", a + std::log1p(std::exp(b - a))), "h");
  d.text(margin, y + 130, "Take the larger lse off first: e⁹⁰⁰ overflows, e⁰ does not.", "mute");
  return d;
}

/// The square of scores in tiles. A block has one row of tiles and goes over it; 1 and 2: a step of the first block,
/// 3: all blocks at a time.
drawing square(int step) {
  const int n = 6;
  drawing d(fmt::format("square_{}", step), "The square of scores in tiles, of which a block has one at a time.");
  const double cell = 24, left = margin + 88, top = 62;
  const int now = step == 1 ? 0 : 3;
  for (int i = 0; i < n; ++i) {
    const bool here = step == 3 || i == 2;
    d.box(margin + 48, top + i * cell, 30, cell - 3, here ? "reg" : "idle");
    d.box(left + i * cell, 24, cell - 3, 14, i == now ? "shared" : "idle");
    d.box(left + i * cell, 41, cell - 3, 14, i == now ? "shared" : "idle");
    for (int j = 0; j < n; ++j) {
      const bool row = step == 3 || i == 2;
      d.box(left + j * cell, top + i * cell, cell - 3, cell - 3,
            row && j == now  ? "time"
            : row && j < now ? "used"
                             : "free");
    }
    if (here) d.text(left + n * cell + 6, top + i * cell + 15, "m, l, o", "reg-text");
  }
  d.text(margin, top + 2.5 * cell + 4, "Q", "h reg-text");
  d.text(left - 12, 36, "K", "shared-text", at::end);
  d.text(left - 12, 53, "V", "shared-text", at::end);
  const double x = left + n * cell + 66;
  d.box(x, 62, 14, 14, "time");
  d.text(x + 22, 74, "the tile that exists now");
  d.box(x, 88, 14, 14, "used");
  d.text(x + 22, 100, "used up, and gone");
  d.box(x, 114, 14, 14, "free");
  d.text(x + 22, 126, "not computed yet");
  d.text(x, 160, step == 3 ? fmt::format("{} blocks load all of K and V", n) : "one block of queries", "h");
  return d;
}

/// What one head's blocks load, by how many queries a block has.
drawing loaded() {
  const double tokens = 4096, row = 128 * 2;
  drawing d("loaded", "Megabytes that the blocks of a head load, by queries per block.");
  const double left = margin + 96, most = tokens / 16 * 2 * tokens * row + tokens * row;
  double y = 22;
  for (const int queries : {16, 32, 64, 128, 256}) {
    const double bytes = tokens / queries * 2 * tokens * row + tokens * row;
    d.text(margin, y + 18, fmt::format("{} queries", queries));
    d.box(left, y, (slide_inner - 176) * bytes / most, 26, "used");
    d.text(left + (slide_inner - 176) * bytes / most + 8, y + 18, fmt::format("{:.0f} MB", bytes / 1e6), "used-text");
    y += 36;
  }
  d.text(margin, y + 14, "one head, 4096 tokens of 128 columns in bf16: Q once, K and V once per block", "mute");
  return d;
}

/// A causal mask over n x n tiles: those that some query sees.
drawing triangle(int n) {
  int computed = 0;
  drawing d(fmt::format("triangle_{}", n), "A causal mask in tiles: those below the diagonal and those it crosses.");
  const double side = 168, cell = side / n, left = margin, top = 28;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      computed += j <= i ? 1 : 0;
      d.box(left + j * cell, top + i * cell, cell - 2, cell - 2, j < i ? "used" : j == i ? "time" : "idle", 1);
    }
  d.line(left, top, left + side, top + side, "pen");
  const double x = left + side + 36;
  d.text(left, top - 8, "keys →", "mute");
  d.text(x, top + 26, fmt::format("{} of {} tiles: {:.0f} %", computed, n * n, 100.0 * computed / (n * n)),
         "h used-text");
  d.text(x, top + 52, fmt::format("n (n + 1) / 2 tiles, with n = {}", n));
  d.box(x, top + 78, 14, 14, "used");
  d.text(x + 22, top + 90, "every query of the block sees every key");
  d.box(x, top + 104, 14, 14, "time");
  d.text(x + 22, top + 116, "computed whole, then masked");
  d.box(x, top + 130, 14, 14, "idle");
  d.text(x + 22, top + 142, "left out: not loaded, not computed");
  return d;
}

/// Keys past the end, filled with zeros, have score 0.
drawing padded() {
  const std::vector<double> scores{-3, -2, -4, -3, -2, 0, 0, 0};
  const int real = 5;
  double all = 0, right = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    all += std::exp(scores[i]);
    if (static_cast<int>(i) < real) right += std::exp(scores[i]);
  }
  drawing d("padded", fmt::format("Three keys of zeros have {:.0f} % of the weight.", 100 * (1 - right / all)));
  const double cell = 56, left = margin + 70, base = 142;
  d.text(margin, 30, "score", "mute");
  d.text(margin, base - 4, "weight", "mute");
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double x = left + static_cast<double>(i) * cell, high = 92 * std::exp(scores[i]);
    const bool pad = static_cast<int>(i) >= real;
    d.text(x + cell / 2 - 4, 30, fmt::format("{}{:.0f}", pad ? "" : "−", -scores[i] + 0.0), pad ? "h waste-text" : "h",
           at::middle);
    d.box(x, base - high, cell - 8, high, pad ? "waste" : "used", 0);
    d.text(x + cell / 2 - 4, base + 16, fmt::format("{:.2f}", std::exp(scores[i])), "", at::middle);
  }
  d.line(left - 4, base, left + 8 * cell - 4, base, "pen");
  d.text(left, base + 36, "five keys", "used-text");
  d.text(left + real * cell, base + 36, "three of zeros", "waste-text");
  d.text(margin, base + 64,
         fmt::format("The padding has {:.0f} % of the weight: out is {:.2f} of what it should be.",
                     100 * (1 - right / all), right / all),
         "h waste-text");
  return d;
}

/// What a lane holds of two neighbouring tiles of scores, and must hold of a left factor.
drawing handover(bool both) {
  const int lane = 5;
  const fragments f = found_fragments();
  for (std::size_t l = 0; l < 32; ++l)  // the scores of keys 0 to 7, then of 8 to 15: register by register, as in A
    for (std::size_t i = 0; i < 8; ++i) {
      const element have = f.c[l][i % 4], want = f.a[l][i];
      const int tile = i < 4 ? 0 : 1;
      if (have.row != want.row || have.column + 8 * tile != want.column)
        throw std::runtime_error("two tiles of scores do not lie as a left factor must");
    }
  drawing d(both ? "handover_both" : "handover_scores",
            "What lane 5 holds of two tiles of scores, and needs of a left factor.");
  const double cell = 11.5, top = 34;
  const auto grid = [&](double x, int columns) {
    for (int r = 0; r < 16; ++r)
      for (int c = 0; c < columns; ++c) d.box(x + c * cell, top + r * cell, cell - 1.5, cell - 1.5, "idle", 1);
  };
  const auto mark = [&](double x, const element& e, const char* role) {
    d.box(x + e.column * cell, top + e.row * cell, cell - 1.5, cell - 1.5, role, 1);
  };
  const double second = margin + 8 * cell + 10, third = slide_width - margin - 16 * cell;
  grid(margin, 8);
  grid(second, 8);
  for (const element& e : f.c[lane]) mark(margin, e, "time"), mark(second, e, "reg");
  d.text(margin, 22, "keys 0–7", "time-text");
  d.text(second, 22, "keys 8–15", "reg-text");
  d.text(margin, top + 16 * cell + 18, fmt::format("lane {} holds 4 numbers of each tile", lane), "mute");
  if (!both) {
    d.text(third, 22, "weights, left factor of V", "mute");
    grid(third, 16);
    d.text(third, top + 16 * cell + 18, "which 8 does it need here?", "mute");
    return d;
  }
  grid(third, 16);
  for (std::size_t i = 0; i < 8; ++i) mark(third, f.a[lane][i], i < 4 ? "time" : "reg");
  d.text(third, 22, "weights, left factor of V", "used-text");
  d.text(third, top + 16 * cell + 18, fmt::format("lane {} needs these 8", lane), "used-text");
  d.arrow(second + 8 * cell + 14, top + 8 * cell, third - 14, top + 8 * cell);
  d.text((second + 8 * cell + third) / 2, top + 8 * cell - 10, "no move", "h used-text", at::middle);
  return d;
}

/// A score near 50, rounded to bf16, whose numbers are 1/4 apart there.
drawing score_rounded() {
  const double step = 0.25, off = step / 2;
  drawing d("score_rounded",
            fmt::format("Near 50 bf16 has a number every {:.2f}: a score is off by up to {:.3f}.", step, off));
  const double left = margin + 20, right = slide_width - margin - 20, y = 64;
  const auto x = [&](double v) { return left + (right - left) * (v - 49.5) / 1.0; };
  d.line(left, y, right, y, "pen");
  for (double v = 49.5; v <= 50.5; v += step) {
    d.line(x(v), y - 10, x(v), y + 10, "pen");
    d.text(x(v), y + 28, fmt::format("{:.2f}", v), "mute", at::middle);
  }
  d.box(x(50 + off) - 1, y - 22, 2, 44, "waste");
  d.text(x(50 + off), y - 30, fmt::format("{:.3f}", 50 + off), "h waste-text", at::middle);
  d.arrow(x(50 + off) - 3, y - 16, x(50) + 4, y - 16, "waste-line");
  d.text(left - 20, y - 40, "floats that bf16 has near 50", "mute");
  const double low = 126;
  const double of_score = std::exp(off) - 1, of_weight = std::ldexp(1.0, -8);
  d.text(margin, low + 18, "score rounded");
  d.box(margin + 124, low, 270, 26, "waste");
  d.text(margin + 404, low + 18, fmt::format("weight off by {:.0f} %", 100 * of_score), "waste-text");
  d.text(margin, low + 54, "weight rounded");
  d.box(margin + 124, low + 36, 270 * of_weight / of_score, 26, "used");
  d.text(margin + 124 + 270 * of_weight / of_score + 10, low + 54, fmt::format("off by {:.1f} %", 100 * of_weight),
         "used-text");
  return d;
}

/// How often the sums of 8 rows must be scaled, tile by tile, for normally distributed scores.
drawing scaled_tiles() {
  const int tiles = 64, keys = 64, rows = 8, trials = 400;
  std::mt19937 bits(11);
  const auto uniform = [&] { return (static_cast<double>(bits()) + 0.5) / 4294967296.0; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); };
  std::vector<double> always(tiles), seldom(tiles);
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> highest(rows, -1e9), kept(rows, -1e9);
    for (std::size_t t = 0; t < tiles; ++t) {
      bool grown = false, far = false;
      for (std::size_t r = 0; r < rows; ++r) {
        double most = -1e9;
        for (int k = 0; k < keys; ++k) most = std::max(most, normal());
        grown |= most > highest[r];
        highest[r] = std::max(highest[r], most);
        far |= (highest[r] - kept[r]) / std::log(2.0) > 8;
      }
      if (far) kept = highest;
      always[t] += grown ? 1.0 / trials : 0;
      seldom[t] += far ? 1.0 / trials : 0;
    }
  }
  const auto sum = [](const std::vector<double>& of) { return std::accumulate(of.begin(), of.end(), 0.0); };
  drawing d("scaled_tiles",
            fmt::format("Of 64 tiles, {:.0f} scale the sums for each larger maximum, {:.0f} if it may grow by 2⁸.",
                        sum(always), sum(seldom)));
  const double left = margin + 36, cell = (slide_inner - 36) / tiles, base = 150, high = 112;
  for (std::size_t t = 0; t < tiles; ++t) {
    d.box(left + static_cast<double>(t) * cell, base - high * always[t], cell - 2, std::max(high * always[t], 0.5),
          "waste", 0);
    if (seldom[t] > 0)
      d.box(left + static_cast<double>(t) * cell, base - high * seldom[t], cell - 2, high * seldom[t], "used", 0);
  }
  d.line(left, base, left + slide_inner - 36, base, "pen");
  d.text(left - 6, base - high + 8, "1", "mute", at::end);
  d.text(left - 6, base, "0", "mute", at::end);
  d.text(left, base + 16, "tile 1", "mute");
  d.text(slide_width - margin, base + 16, "tile 64", "mute", at::end);
  d.text(margin, base + 44, fmt::format("each larger maximum: {:.0f} of 64 tiles scale", sum(always)), "h waste-text");
  d.text(margin, base + 68, fmt::format("only beyond 2⁸: {:.0f} of 64", sum(seldom)), "h used-text");
  d.text(margin, 24, "share of groups of 8 rows that scale their sums, normally distributed scores", "mute");
  return d;
}

/// Products and exponentials of tiles of 64 queries and 128 keys, on an H200 at the data sheet's rates.
drawing turns(int groups) {
  const double scores = 64 * 128, size = 128;
  const double per_cycle = device_figure("h200", "bf16_tensor_flops_per_second") /
                           device_figure("h200", "multiprocessors") / device_figure("h200", "sm_clock_hertz");
  const double product = scores * 2 * size / per_cycle, softmax = scores / 16;
  drawing d(fmt::format("turns_{}", groups), "Products on tensor cores and exponentials, tile after tile.");
  const double left = margin + 92, until = 6600, scale = (slide_inner - 92) / until;
  const auto x = [&](double cycle) { return left + cycle * scale; };
  d.text(margin, 46, "tensor cores");
  d.text(margin, 92, "exponentials");
  double tensor = 0, special = 0, busy = 0;
  std::vector<double> ready(static_cast<std::size_t>(groups), 0.0);  // when a group's weights are there
  const auto part = [&](double from, double cycles, double y, int group, const std::string& words) {
    const double to = std::min(from + cycles, until);
    if (to - from < 0.4 * cycles) return;
    d.label(x(from), y, (to - from) * scale - 2, 30, group == 0 ? "used" : "time", to < from + cycles ? "" : words);
  };
  for (int tile = 0; tile < 8; ++tile)
    for (int g = 0; g < groups; ++g) {
      // Weights of the last tile times V, then the scores of this one.
      auto& mine = ready[static_cast<std::size_t>(g)];
      tensor = std::max(tensor, mine);
      if (tile > 0) {
        part(tensor, product, 26, g, "w V");
        busy += std::max(0.0, std::min(until, tensor + product) - std::min(until, tensor));
        tensor += product;
      }
      part(tensor, product, 26, g, "q k");
      busy += std::max(0.0, std::min(until, tensor + product) - std::min(until, tensor));
      tensor += product;
      special = std::max(special, tensor);
      part(special, softmax, 72, g, "exp");
      special += softmax;
      mine = special;
    }
  d.line(left, 122, slide_width - margin, 122, "pen");
  d.text(left, 140, "cycles of a multiprocessor →", "mute");
  d.text(margin, 170,
         fmt::format("a product of 64 × 128 × 128: {:.0f} cycles;  its {:.0f} exponentials: {:.0f}", product, scores,
                     softmax),
         "");
  d.text(margin, 196, fmt::format("tensor cores busy: {:.0f} %", 100 * busy / until),
         groups == 1 ? "h waste-text" : "h used-text");
  if (groups == 2) d.legend(214, {{"used", "first group"}, {"time", "second group"}});
  return d;
}

}  // namespace

void attention(drawing_list& to) {
  for (const auto make : {online, mask}) to.push_back(make());
  for (const auto make : {any_shift, shares, loaded, padded, score_rounded, scaled_tiles}) to.push_back(make());
  for (const int step : {1, 2, 3, 4}) to.push_back(kept_numbers(step));
  for (const int step : {1, 2, 3}) to.push_back(square(step));
  to.push_back(triangle(6));
  for (const bool both : {false, true}) to.push_back(handover(both));
  for (const int groups : {1, 2}) to.push_back(turns(groups));
}

}  // namespace drawings
