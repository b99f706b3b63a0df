// Lab 08: the blocks of a forward pass, ranges, where bytes come from, rows that warps own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drawing.hpp"

namespace drawings {
namespace {

drawing forward_pass() {
  drawing d("08_gpt2", "README.md", "forward_pass", "Nine kinds of blocks",
            "GPT-2's forward pass: embedding, then L times LayerNorm 1, attention, residual 1, LayerNorm 2, MLP, "
            "residual 2; then a final "
            "LayerNorm and the logits. Each residual adds what came before the norm.");
  const double x = 96, w = 150, h = 22, step = 31;
  const struct {
    const char *name, *role;
  } blocks[] = {{"embedding", "used"},  {"LayerNorm 1", "used"},     {"attention", "time"},
                {"residual 1", "used"}, {"LayerNorm 2", "used"},     {"MLP", "time"},
                {"residual 2", "used"}, {"final LayerNorm", "used"}, {"logits", "time"}};
  double y = 40;
  d.box(x - 44, y + step + 2, w + 66, 6 * step + 2, "free", 6);
  d.text(x - 38, y + step + 20, "× L", "");
  for (int i = 0; i < 9; ++i) {
    const double by = y + i * step + (i >= 1 ? 8 : 0) + (i >= 7 ? 8 : 0);
    d.label(x, by, w, h, blocks[i].role, blocks[i].name);
    if (i < 8) d.arrow(x + w / 2, by + h + 1, x + w / 2, by + step + (i == 0 || i == 6 ? 8 : 0) - 1);
    if (i == 1 || i == 4) {  // the way around: from before the norm to the residual
      const double from = by - 5, to = by + 2 * step + h / 2;
      d.curve({{x + w / 2, from}, {x + w + 12, from}, {x + w + 12, to}, {x + w + 10, to}}, "reg-line");
      d.arrow(x + w + 12, to, x + w + 1, to, "reg-line");
    }
  }
  const double end = y + 8 * step + 16 + h;
  d.text(margin, end + 22, "attention: C → 3C, scores Q Kᵀ, softmax,", "mute");
  d.text(margin, end + 38, "weighted values, C → C.", "mute");
  d.text(margin, end + 54, "MLP: C → 4C, GELU, 4C → C.", "mute");
  d.legend(end + 78, {{"time", "matrix products"}, {"used", "by element or row"}});
  return d;
}

drawing ranges() {
  drawing d("08_gpt2", "README.md", "ranges", "Work belongs to the innermost range",
            "Timeline of a profile. On the host, a range for the layer contains ranges for norm, attention and "
            "residual, in which launches "
            "happen. Each kernel on the device counts for the range in which it was launched, even if it runs later.");
  const double left = 58, y = 44;
  const auto range = [&](double x, double w, double at_y, const char* role, const char* words) {
    d.label(left + x, at_y, w, 20, role, words, std::string(role) == "idle" ? "s" : "on s");
  };
  d.text(margin, y + 14, "ranges", "mute");
  range(0, 284, y, "idle", "layer");
  range(4, 58, y + 23, "shared", "norm 1");
  range(66, 136, y + 23, "time", "attention");
  range(206, 74, y + 23, "reg", "residual 1");
  d.text(margin, y + 68, "host", "mute");
  d.text(margin, y + 112, "device", "mute");
  const struct {
    double launch, start, length;
    const char* role;
  } kernels[] = {{18, 40, 44, "shared"},
                 {78, 88, 40, "time"},
                 {104, 130, 52, "time"},
                 {140, 184, 34, "time"},
                 {222, 234, 36, "reg"}};
  for (const auto& k : kernels) {
    d.box(left + k.launch, y + 56, 9, 18, "idle", 1.5);
    d.box(left + k.start, y + 98, k.length, 20, k.role, 2);
    d.line(left + k.launch + 4, y + 75, left + k.start + 3, y + 97, "pen");
  }
  d.line(left, y + 75, width - margin, y + 75);
  d.line(left, y + 119, width - margin, y + 119);
  d.text(margin, y + 146, "self: its own launches. total: with ranges inside.", "");
  d.text(margin, y + 164, "layer has self 0: all its launches are in ranges.", "mute");
  return d;
}

drawing where_bytes() {
  drawing d("08_gpt2", "README.md", "where_bytes", "Which bytes come from where",
            "Two pictures of DRAM, L2 and the multiprocessors. Cold: weights and activations both come from DRAM. "
            "L2-warm: only the weights "
            "come from DRAM; activations were just written and stay in L2.");
  const auto panel = [&](double x, const char* words, bool warm) {
    const double w = 156;
    d.text(x, 46, words, "");
    d.label(x, 56, w, 26, "idle", "DRAM", "");
    d.label(x, 126, w, 26, "shared", "L2");
    d.label(x, 196, w, 26, "time", "multiprocessors");
    d.arrow(x + 30, 84, x + 30, 124, "reg-line");
    d.arrow(x + 30, 154, x + 30, 194, "reg-line");
    if (!warm) {
      d.arrow(x + 96, 84, x + 96, 124, "used-line");
      d.arrow(x + 126, 125, x + 126, 83, "used-line");
    }
    d.arrow(x + 96, 154, x + 96, 194, "used-line");
    d.arrow(x + 126, 195, x + 126, 153, "used-line");
  };
  panel(margin, "cold", false);
  panel(width - margin - 156, "L2-warm", true);
  d.line(margin, 244, margin + 16, 244, "reg-line");
  d.text(margin + 22, 248, "weights", "reg-text");
  d.line(margin + 92, 244, margin + 108, 244, "used-line");
  d.text(margin + 114, 248, "activations, read and written", "used-text");
  return d;
}

drawing triangle() {
  const int n = 8;
  drawing d("08_gpt2", "README.md", "triangle", "Read the triangle, write the square",
            "Causal softmax of 8 × 8 scores: row t reads t + 1 scores, 36 of 64 in all. The scores past the diagonal "
            "were never computed and are "
            "not read; the output has zeros there.");
  const double cell = 17, y = 62, x[] = {margin + 4, width - margin - n * cell};
  for (int m = 0; m < 2; ++m)
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        d.box(x[m] + c * cell, y + r * cell, cell - 2, cell - 2,
              c <= r   ? (m == 0 ? "used" : "reg")
              : m == 0 ? "free"
                       : "idle",
              1.5);
  d.text(x[0], y - 10, "scores", "used-text");
  d.text(x[1], y - 10, "output", "reg-text");
  d.arrow(x[0] + n * cell + 6, y + n * cell / 2, x[1] - 8, y + n * cell / 2);
  double t = y + n * cell + 20;
  d.text(x[0], t, fmt::format("{} of {} read", n * (n + 1) / 2, n * n), "used-text");
  d.text(x[1], t, fmt::format("{} written", n * n), "reg-text");
  d.legend(t + 26, {{"free", "never computed"}, {"idle", "zeros, written"}});
  return d;
}

drawing warp_owns_row() {
  const int columns = 768, lanes = 32, wide = 4;
  drawing d("08_gpt2", "SEEN.md", "warp_owns_row", "A warp owns a row",
            fmt::format("LayerNorm of a row of {} floats by one warp: {} loads of 16 bytes per lane put {} floats into "
                        "each lane's registers, "
                        "where they stay until the store. Shuffles compute the sums, without a barrier.",
                        columns, columns / lanes / wide, columns / lanes));
  const double unit = (inner - 60) / lanes, left = margin + 60;
  d.text(left, 44, "32 lanes", "mute");
  for (int load = 0; load < columns / lanes / wide; ++load) {
    d.text(margin, 62 + load * 17, fmt::format("load {}", load + 1), "s mute");
    for (int lane = 0; lane < lanes; ++lane)
      d.box(left + lane * unit, 52 + load * 17, unit - 1.5, 14, lane == 5 ? "reg" : "idle", 1);
  }
  d.text(left, 172, fmt::format("a box: 16 bytes; lane 5 holds {} floats", columns / lanes), "reg-text");
  const char* steps[] = {"load", "mean", "distances²", "store"};
  const double cell = inner / 4;
  for (int i = 0; i < 4; ++i) {
    const double x = margin + i * cell;
    d.label(x + 2, 190, cell - 14, 24, i == 0 || i == 3 ? "used" : "reg", steps[i]);
    if (i < 3) d.arrow(x + cell - 11, 202, x + cell + 1, 202);
  }
  d.text(margin + cell + 2, 232, "shuffles, no barrier", "reg-text");
  return d;
}

drawing bounds() {
  // GPT-2 124M, B = 4, T = 64, by the rules above block_work in forward.hpp; an A100 in TF32.
  const double B = 4, T = 64, C = 768, NH = 12, V = 50304, rows = B * T, scores = B * NH * T * T;
  const double peak = 156e12, dram = 1555e9, l2 = 5e12;
  const auto linear = [&](double in, double out) { return rows * out * (2 * in + 1); };
  const struct {
    const char* name;
    double flops, weights, activations;
  } blocks[] = {
      {"attention", linear(C, 3 * C) + 2 * 2 * scores * C / NH + 6 * scores + linear(C, C), 4 * C * C + 4 * C,
       10 * rows * C + 4 * scores},
      {"MLP", linear(C, 4 * C) + 9 * rows * 4 * C + linear(4 * C, C), 8 * C * C + 5 * C, (5 + 8 + 5) * rows * C},
      {"logits", 2 * rows * C * V, V * C, rows * C + rows * V}};
  drawing d("08_gpt2", "SEEN.md", "bounds", "Cold, bytes decide; warm, FLOPs do",
            "Least times on an A100 in TF32 for attention, MLP and logits: the FLOPs, all bytes from DRAM, and L2-warm "
            "the weights from DRAM. "
            "All bytes from DRAM take longer than the FLOPs; the weights alone take less.");
  double y = 40;
  for (const auto& b : blocks) {
    const double flops = b.flops / peak * 1e6, cold = 4 * (b.weights + b.activations) / dram * 1e6,
                 warm = std::max(4 * b.weights / dram, 4 * (b.weights + b.activations) / l2) * 1e6;
    const double scale = (inner - 66) / std::max(flops, cold);
    d.text(margin, y + 4, b.name);
    const struct {
      const char *name, *role;
      double us;
    } bars[] = {{"cold", "used", cold}, {"FLOPs", "time", flops}, {"warm", "used", warm}};
    y += 12;
    for (const auto& bar : bars) {
      d.label(margin, y, bar.us * scale, 16, bar.role, bar.name, "on s");
      d.text(margin + bar.us * scale + 6, y + 12, fmt::format("{:.1f} µs", bar.us));
      y += 19;
    }
    y += 16;
  }
  return d;
}

}  // namespace

void gpt2(drawing_list& to) {
  for (const auto make : {forward_pass, ranges, where_bytes, triangle, warp_owns_row, bounds}) to.push_back(make());
}

}  // namespace drawings
