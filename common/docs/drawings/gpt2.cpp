// Lab 08: the blocks of a forward pass, ranges, where bytes come from, rows that warps own.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing triangle() {
  const int n = 8;
  drawing d("08_gpt2", "triangle", "Read the triangle, write the square",
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
  drawing d("08_gpt2", "warp_owns_row", "A warp owns a row",
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
  drawing d("08_gpt2", "bounds", "Cold, bytes decide; warm, FLOPs do",
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

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A range of 100 with three ranges inside: what is its own.
drawing self_total() {
  const struct {
    const char *name, *role;
    int from, length;
  } inside[] = {{"norm 10", "shared", 5, 10}, {"attention 60", "time", 20, 60}, {"res. 5", "reg", 88, 5}};
  drawing d("self_total", "A range of 100 microseconds with ranges of 10, 60 and 5 inside: its self is 25.");
  const double left = margin + 60, unit = (slide_inner - 60) / 100;
  d.text(margin, 46, "layer");
  d.label(left, 28, 100 * unit, 28, "idle", "total: 100", "");
  d.text(margin, 90, "inside");
  double own = 100;
  for (const auto& r : inside) {
    own -= r.length;
    d.box(left + r.from * unit, 72, r.length * unit, 28, r.role);
    d.text(left + (r.from + r.length / 2.0) * unit, 118, r.name, "", at::middle);
  }
  d.text(margin, 152, "self");
  double from = 0;
  for (const auto& r : inside) {
    d.box(left + from * unit, 134, (r.from - from) * unit, 28, "used");
    from = r.from + r.length;
  }
  d.box(left + from * unit, 134, (100 - from) * unit, 28, "used");
  d.text(margin, 198, fmt::format("self = total − the totals inside = 100 − 10 − 60 − 5 = {:.0f}", own), "h used-text");
  return d;
}

/// What a pass keeps, on a logarithmic scale, against the L2 cache of an A100.
drawing fits() {
  const double l2 = device_figure("a100", "l2_bytes") / 1048576.0;
  const double C = 768, NH = 12, B = 4;
  const auto mib = [](double numbers) { return numbers * 4 / 1048576.0; };
  const double layer = 12 * C * C + 13 * C;
  const struct {
    const char* name;
    double size;
  } rows[] = {{"an activation, T = 64", mib(B * 64 * C)},
              {"scores, T = 64", mib(B * NH * 64 * 64)},
              {"weights of a layer", mib(layer)},
              {"weights of 12 layers", mib(12 * layer)},
              {"scores, T = 1024", mib(B * NH * 1024 * 1024)}};
  drawing d("fits", "Activations of 64 tokens fit in L2; the weights of twelve layers do not.");
  const double left = margin + 150, across = slide_inner - 230;
  const auto x = [&](double size) { return left + across * std::log2(size / 0.25) / std::log2(400 / 0.25); };
  double y = 22;
  for (const auto& r : rows) {
    d.text(margin, y + 18, r.name);
    d.box(left, y, x(r.size) - left, 26, r.size < l2 ? "used" : "waste", 1);
    d.text(std::max(x(r.size), r.size > 10 && r.size < l2 ? x(l2) : 0.0) + 8, y + 18,
           r.size < 10 ? fmt::format("{:.2f} MiB", r.size) : fmt::format("{:.0f} MiB", r.size));
    y += 35;
  }
  d.line(x(l2), 12, x(l2), y - 4, "pen");
  d.text(x(l2), y + 12, fmt::format("L2 of an A100: {:.0f} MiB", l2), "h", at::middle);
  d.text(margin, y + 12, "logarithmic", "mute");
  return d;
}

/// One product of 768 x 768 on an A100 in TF32, for few rows and for many: which of three times is the longest.
drawing bounds_by_rows() {
  const double C = 768, peak = 156e12, dram = 1555e9;
  drawing d("bounds_by_rows", "A product of few rows is bound by bytes, one of many rows by its arithmetic.");
  double y = 22;
  for (const double rows : {64.0, 4096.0}) {
    const double flops = rows * C * (2 * C + 1) / peak * 1e6, weights = 4 * (C * C + C) / dram * 1e6,
                 all = weights + 4 * 2 * rows * C / dram * 1e6;
    const double left = margin + 160, scale = (slide_inner - 250) / std::max(flops, all);
    d.text(margin, y, fmt::format("{:.0f} rows", rows), "h");
    const struct {
      const char *name, *role;
      double us;
    } bars[] = {{"FLOPs", "time", flops}, {"all bytes, DRAM", "used", all}, {"weights, DRAM", "reg", weights}};
    for (const auto& bar : bars) {
      y += 24;
      d.text(margin, y, bar.name);
      d.box(left, y - 14, bar.us * scale, 19, bar.role, 1);
      d.text(left + bar.us * scale + 8, y, fmt::format("{:.2f} µs", bar.us));
    }
    y += 34;
  }
  d.text(margin, y - 4, "one product, 768 to 768 channels with bias; an A100, TF32", "mute");
  return d;
}

/// FLOPs per token and layer of attention and MLP, by the number of tokens.
drawing crossing() {
  const double C = 768, most = 3072, high = 8 * C * C + 4 * most * C;
  drawing d("crossing", "Attention's FLOPs grow with T and pass those of the MLP at T = 2 C.");
  const double left = margin + 40, right = slide_width - 120, base = 176, top = 20;
  const auto x = [&](double t) { return left + (right - left) * t / most; };
  const auto y = [&](double flops) { return base - (base - top) * flops / high; };
  d.line(left, top, left, base, "pen");
  d.line(left, base, right, base, "pen");
  d.curve({{x(0), y(16 * C * C)}, {x(most), y(16 * C * C)}}, "used-line");
  d.curve({{x(0), y(8 * C * C)}, {x(most), y(high)}}, "time-line");
  d.text(right + 8, y(16 * C * C) + 4, "MLP: 16 C²", "used-text");
  d.text(right + 8, y(high) + 8, "attention:", "time-text");
  d.text(right + 8, y(high) + 24, "8 C² + 4 T C", "time-text");
  d.dot(x(2 * C), y(16 * C * C), 4, "reg");
  d.line(x(2 * C), y(16 * C * C), x(2 * C), base, "hair");
  for (const double t : {512.0, 1024.0, 1536.0, 2048.0, 3072.0})
    d.text(x(t), base + 17, fmt::format("{:.0f}", t), t == 2 * C ? "h reg-text" : "mute", at::middle);
  d.text(margin, base + 40, "FLOPs per token and layer, GPT-2 124M, by T, the number of tokens", "mute");
  return d;
}

/// What a thread per row loads and stores of its row in two loops.
drawing passes() {
  drawing d("passes", "Two loops over a row: two passes loaded, one stored.");
  const double left = margin + 130, cell = 24;
  const auto row = [&](double y, const char* words, const char* role, const char* what) {
    d.text(margin, y + 16, words);
    for (int i = 0; i < 12; ++i) d.box(left + i * cell, y, cell - 3, 22, role, 1);
    d.text(left + 12 * cell + 14, y + 16, what, std::string(role) + "-text");
  };
  row(24, "first loop", "used", "loads a row");
  row(68, "second loop", "used", "loads it again");
  row(98, "", "time", "stores it");
  d.text(margin, 156, "bytes loaded = 2 · rows · columns · 4", "h used-text");
  d.text(margin, 182, "bytes stored = 1 · rows · columns · 4", "h time-text");
  d.text(margin, 206, "The counter counts what the instructions ask for, wherever it comes from.", "mute");
  return d;
}

/// Small kernels launched one by one, the same as a graph, and few large ones: a schematic.
drawing cures() {
  drawing d("cures", "Small kernels, launched one by one; as a graph; as few large kernels.");
  const double left = margin + 110, each = 38;
  const auto line = [&](double y, const char* words, const char* says) {
    d.text(margin, y + 18, words, "h");
    d.line(left, y + 30, slide_width - margin, y + 30, "hair");
    d.text(left, y + 48, says, "mute");
  };
  line(20, "one by one", "gaps, and small kernels");
  for (int i = 0; i < 11; ++i) d.box(left + i * each, 20, 16, 26, "waste", 1);
  line(88, "as a graph", "no gaps; kernels as small as before");
  for (int i = 0; i < 11; ++i) d.box(left + i * 18, 88, 16, 26, "time", 1);
  line(156, "few, large", "each fills the device");
  for (int i = 0; i < 2; ++i) d.box(left + i * 14, 156, 12, 26, "used", 1);
  return d;
}

/// A chip with 108 multiprocessors and a kernel of 15 blocks.
drawing chip() {
  const int count = static_cast<int>(device_figure("a100", "multiprocessors")), blocks = 15, across = 18;
  drawing d("chip", fmt::format("{} blocks on {} multiprocessors.", blocks, count));
  const double cell = 29;
  for (int i = 0; i < count; ++i)
    d.box(margin + i % across * cell, 20 + i / across * cell, cell - 4, cell - 4, i < blocks ? "used" : "waste", 2);
  d.text(margin, 220, fmt::format("{} blocks: at most {:.0f} % of an A100 can work", blocks, 100.0 * blocks / count),
         "h");
  return d;
}

/// A range without a name ends at its semicolon.
drawing unnamed() {
  drawing d("unnamed", "Without a name the range ends before the first operation; with one, after the last.");
  const double left = margin;
  const char* operations[] = {"qkv", "scores", "softmax", "values", "projection"};
  const auto row = [&](double y, const char* code, bool named) {
    d.text(left, y, code, named ? "h used-text" : "h waste-text");
    d.label(left, y + 12, 50, 26, "shared", "enter");
    if (!named) d.label(left + 54, y + 12, 50, 26, "shared", "leave");
    double x = left + (named ? 58 : 112);
    for (const char* o : operations) {
      d.label(x, y + 12, 78, 26, named ? "time" : "idle", o, named ? "on" : "");
      x += 82;
    }
    if (named) d.label(x, y + 12, 50, 26, "shared", "leave");
    d.text(left, y + 58,
           named ? "all five belong to attention" : "the range is empty: all five belong to what is around it", "mute");
  };
  row(26, "range(on, \"attention\");", false);
  row(122, "const range block(on, \"attention\");", true);
  return d;
}

/// Two kernels' shares of the peak, over their times; the figures are invented.
drawing percent() {
  const double time[] = {4, 1}, share[] = {80, 46.8};
  double sum = 0, seconds = 0;
  for (int i = 0; i < 2; ++i) sum += time[i] * share[i], seconds += time[i];
  const double mean = sum / seconds;
  drawing d("percent", fmt::format("80 % for 4 seconds and 46.8 % for 1 are {:.1f} % over all.", mean));
  const double left = margin + 46, unit = 74, base = 164, high = 130;
  double x = left;
  for (int i = 0; i < 2; ++i) {
    d.box(x, base - high * share[i] / 100, time[i] * unit - 3, high * share[i] / 100, i == 0 ? "used" : "time", 0);
    d.text(x + time[i] * unit / 2, base + 18, fmt::format("{}: {:.0f} s", i == 0 ? "a" : "b", time[i]), "", at::middle);
    d.text(x + time[i] * unit / 2, base - 12, fmt::format("{:.3g} %", share[i]), "on", at::middle);
    x += time[i] * unit;
  }
  d.line(left, base, x + 20, base, "pen");
  d.line(left - 8, base - high * mean / 100, x + 20, base - high * mean / 100, "reg-line");
  d.text(x + 26, base - high * mean / 100 + 5, fmt::format("{:.1f} %", mean), "h reg-text");
  d.text(left - 10, base - high + 6, "100 %", "mute", at::end);
  d.text(margin, base + 46, fmt::format("(4 · 80 + 1 · 46.8) / 5 = {:.1f}: areas are added, heights are not", mean),
         "h");
  return d;
}

/// One load of a warp, a thread per row and a lane per column, counted.
drawing thread_per_row() {
  warp_offsets rows{}, columns{};
  for (int lane = 0; lane < 32; ++lane) {
    rows[static_cast<std::size_t>(lane)] = lane * 768 * 4;
    columns[static_cast<std::size_t>(lane)] = lane * 4;
  }
  const int far = counted_sectors(rows, 4), near = counted_sectors(columns, 4);
  drawing d("thread_per_row", fmt::format("A thread per row: {} sectors per load. A lane per column: {}.", far, near));
  const double cell = 12, top = 44;
  const auto grid = [&](double x, bool by_row) {
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 18; ++c) {
        const bool asked = by_row ? c == 0 : r == 0 && c < 16, beside = by_row && c > 0 && c < 8;
        d.box(x + c * cell, top + r * 15, cell - 2, 12, asked ? "used" : beside ? "waste" : "idle", 1);
      }
  };
  const double right = slide_width / 2 + 24;
  d.text(margin, 28, "a thread per row", "h waste-text");
  grid(margin, true);
  d.text(margin, top + 142, fmt::format("one load: {} sectors", far), "h waste-text");
  d.text(right, 28, "a warp per row", "h used-text");
  grid(right, false);
  d.text(right, top + 142, fmt::format("one load: {} sectors", near), "h used-text");
  d.text(margin, top + 168, "rows of 768 floats, 32 lanes, counted; blue is asked for, red comes with it", "mute");
  return d;
}

}  // namespace

void gpt2(drawing_list& to) {
  for (const auto make : {triangle, warp_owns_row, bounds}) to.push_back(make());
  for (const auto make :
       {self_total, fits, bounds_by_rows, crossing, passes, chip, unnamed, percent, thread_per_row, cures})
    to.push_back(make());
}

}  // namespace drawings
