// Lab 01: rooflines, FLOPs, and bytes per parameter.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../../include/lab/roofline.hpp"
#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

lab::roofline h200() {
  return {device_figure("h200", "fp32_flops_per_second"), device_figure("h200", "copy_bytes_per_second")};
}

drawing roof() {
  const lab::roofline r = h200();
  drawing d("01_accounting", "README.md", "two_limits", "Two limits make a roof",
            fmt::format(
                "Roofline of an H200, both axes logarithmic. Left of the ridge point at {:.0f} FLOP per byte the limit "
                "rises with the intensity, at {:.2f} TB/s; right of it the limit is flat, at {:.0f} TFLOP/s.",
                r.ridge_point(), r.peak_bytes_per_second / 1e12, r.peak_flops_per_second / 1e12));
  const double left = 44, right = width - margin, top = 66, bottom = 224;
  const auto x = [&](double intensity) {
    return left + (right - left) * (std::log2(intensity) + 2) / 10;
  };  // 1/4 to 256
  const auto y = [&](double rate) { return bottom - (bottom - top) * std::log10(rate / 0.5e12) / 2.3; };
  const double ridge = x(r.ridge_point()), peak = y(r.peak_flops_per_second);
  d.box(left, top - 12, ridge - left, bottom - top + 12, "idle", 0);
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top - 12, left, bottom, "pen");
  d.line(ridge, peak, ridge, bottom, "hair");
  d.curve({{left, y(r.attainable({0.25, 1}))}, {ridge, peak}}, "used-line");
  d.curve({{ridge, peak}, {right, peak}}, "time-line");
  d.dot(ridge, peak, 3.5, "pen-head");
  d.text(left + 8, top + 4, "memory-bound", "used-text");
  d.text(left + 8, top + 19, "bytes decide", "mute");
  d.text(right, bottom - 44, "compute-bound", "time-text", at::end);
  d.text(right, bottom - 29, "FLOPs decide", "mute", at::end);
  d.text(right, peak - 8, fmt::format("{:.0f} TFLOP/s", r.peak_flops_per_second / 1e12), "time-text", at::end);
  d.text(x(0.9), y(r.attainable({0.9, 1})) + 24, fmt::format("{:.2f} TB/s", r.peak_bytes_per_second / 1e12),
         "used-text");
  for (const double tick : {0.25, 1.0, 4.0, 64.0, 256.0})
    d.text(x(tick), bottom + 16, tick < 1 ? "1/4" : fmt::format("{:.0f}", tick), "mute",
           tick == 256 ? at::end : at::middle);
  d.text(ridge, bottom + 16, fmt::format("{:.0f}", r.ridge_point()), "", at::middle);
  d.text(ridge, bottom + 32, "ridge", "", at::middle);
  d.text(right, bottom + 32, "FLOP per byte", "mute", at::end);
  for (const double tick : {1e12, 10e12})
    d.text(left - 6, y(tick) + 4, fmt::format("{:.0f}", tick / 1e12), "mute", at::end);
  d.text(margin, top - 16, "TFLOP/s", "mute");
  return d;
}

drawing longer_bar() {
  const lab::roofline r = h200();
  const double elements = 1 << 26, bytes = 8;
  drawing d(
      "01_accounting", "README.md", "longer_bar", "The longer bar is the time",
      fmt::format(
          "The same array three times: moving it takes {:.0f} µs. With 16 and 96 FLOPs per element the arithmetic "
          "takes less or as long; with 192 it takes twice as long, and decides the time.",
          elements * bytes / r.peak_bytes_per_second * 1e6));
  const double left = margin, scale = inner / 270;
  double top = 36;
  for (const double flops : {16.0, 96.0, 192.0}) {
    const double move = elements * bytes / r.peak_bytes_per_second * 1e6,
                 compute = elements * flops / r.peak_flops_per_second * 1e6;
    d.text(left, top + 10, fmt::format("{:.0f} FLOPs per element: {:.0f} FLOP per byte", flops, flops / bytes));
    d.label(left, top + 17, move * scale, 18, "used", fmt::format("bytes {:.0f} µs", move));
    if (compute * scale > 90)
      d.label(left, top + 37, compute * scale, 18, "time", fmt::format("FLOPs {:.0f} µs", compute));
    else {
      d.box(left, top + 37, compute * scale, 18, "time", 2.5);
      d.text(left + compute * scale + 6, top + 50, fmt::format("FLOPs {:.0f} µs", compute));
    }
    const double end = left + std::max(move, compute) * scale;
    d.line(end, top + 14, end, top + 58, "pen");
    top += 74;
  }
  d.text(left, top + 4, "2²⁶ floats, read and written, on an H200's roofs", "mute");
  return d;
}

drawing products() {
  const int m = 3, k = 4, n = 5;
  drawing d(
      "01_accounting", "README.md", "products", "A product, counted",
      fmt::format(
          "A matrix product of (3, 4) and (4, 5). Each of the 15 results takes 4 multiplications and 4 additions: {} "
          "FLOPs on {} numbers.",
          2 * m * n * k, m * k + k * n + m * n));
  const double cell = 20, left = 40, top = 50;
  const double bx = left + k * cell + 26, ay = top + k * cell + 26;
  const auto grid = [&](double x, double y, int rows, int columns, int row, int column, const char* role) {
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        d.box(x + j * cell, y + i * cell, cell - 2, cell - 2, i == row || j == column ? role : "idle");
  };
  grid(left, ay, m, k, 1, -1, "used");
  grid(bx, top, k, n, -1, 3, "used");
  grid(bx, ay, m, n, -1, -1, "used");
  d.box(bx + 3 * cell, ay + cell, cell - 2, cell - 2, "time");
  d.text(left, ay - 8, "A, m × k", "mute");
  d.text(bx, top - 8, "B, k × n", "mute");
  d.text(bx, ay - 8, "C, m × n", "mute");
  const double tx = bx + n * cell + 14;
  d.text(tx, top + 12, "one result:");
  d.text(tx, top + 29, "k times ×", "time-text");
  d.text(tx, top + 46, "k times +", "time-text");
  d.text(tx, ay + 12, "m n results:");
  d.text(tx, ay + 29, "2 m n k FLOPs", "time-text");
  d.text(left, ay + m * cell + 22, "at least m k + k n + m n numbers moved", "used-text");
  return d;
}

drawing training_state() {
  const double parameters = 124439808;  // GPT-2 small, as in the handout
  drawing d(
      "01_accounting", "README.md", "training_state", "Sixteen bytes for each parameter",
      fmt::format(
          "Training in FP32 keeps 4 bytes of weight, 4 of gradient and 8 of AdamW's two moments for each parameter: "
          "{:.2f} GB for GPT-2 small, before any activation.",
          parameters * 16 / 1e9));
  const double cell = inner / 16, y = 40;
  const struct {
    const char *name, *role;
    int bytes;
  } parts[] = {{"weight", "used", 4}, {"gradient", "time", 4}, {"AdamW's moments", "reg", 8}};
  double x = margin;
  for (const auto& part : parts) {
    for (int i = 0; i < part.bytes; ++i) d.box(x + i * cell, y, cell - 2, 26, part.role);
    d.text(x, y + 43, part.name, "");
    d.text(x, y + 59, fmt::format("{:.2f} GB", parameters * part.bytes / 1e9), "mute");
    x += part.bytes * cell;
  }
  d.text(margin, y + 84, fmt::format("GPT-2 small, {} parameters, FP32", grouped(static_cast<long long>(parameters))),
         "mute");
  d.text(margin, y + 100, "Activations come on top, and grow with the batch.", "mute");
  return d;
}

drawing chains() {
  drawing d("01_accounting", "README.md", "chains", "Waiting for your own result",
            "A unit that starts one operation per cycle and takes three cycles for each. One chain of dependent "
            "operations keeps it "
            "busy in one cycle of three; three independent chains keep it always busy.");
  const double cell = 26, left = 58;
  const auto panel = [&](double y, int how_many, const std::string& words) {
    d.text(margin, y - 8, words);
    for (int cycle = 0; cycle < 11; ++cycle) {
      const int chain = cycle % 3;
      const double x = left + cycle * cell;
      if (chain < how_many)
        d.label(x, y, cell - 3, 20, "time", std::string(1, "abc"[chain]));
      else
        d.box(x, y, cell - 3, 20, "free");
    }
    d.text(margin, y + 14, "starts", "mute");
  };
  panel(54, 1, "one chain: each step needs the last");
  panel(112, 3, "three chains: always something to start");
  d.arrow(left, 146, width - margin, 146);
  d.text(left, 162, "cycles", "mute");
  d.text(width - margin, 162, "an operation takes 3 of them", "mute", at::end);
  return d;
}

drawing twelve() {
  const lab::roofline r = h200();
  drawing d("01_accounting", "SEEN.md", "twelve", "Eight left of the ridge, four right",
            "The twelve operations by arithmetic intensity. Eight have at most 1.1 FLOP per byte; the four with reuse "
            "have 64 to 683, "
            "and the ridge is at 12.");
  struct {
    const char* name;
    lab::work work;
  } operations[] = {
      {"transpose", {0, 8}},
      {"relu", {1, 8}},
      {"decode_linear", {2.0 * 768 * 3072, 4.0 * (768.0 * 3072 + 768 + 3072)}},
      {"decode_attention", {4.0 * 1024 * 64, 4.0 * (2 * 1024 * 64 + 2 * 64)}},
      {"adamw", {14, 28}},
      {"softmax", {5, 8}},
      {"layer_norm", {8, 8}},
      {"gelu", {9, 8}},
      {"attention_scores", {2.0 * 4096 * 4096 * 128, 4.0 * (2.0 * 4096 * 128 + 4096.0 * 4096)}},
      {"thousand_steps", {2000, 8}},
      {"prefill_linear", {2.0 * 1024 * 768 * 3072, 4.0 * (1024.0 * 768 + 768.0 * 3072 + 1024.0 * 3072)}},
      {"matmul_4096", {2.0 * 4096 * 4096 * 4096, 4.0 * 3 * 4096.0 * 4096}},
  };
  std::sort(std::begin(operations), std::end(operations),
            [](const auto& a, const auto& b) { return a.work.arithmetic_intensity() < b.work.arithmetic_intensity(); });
  const double left = 128, right = width - margin - 24, top = 44;
  const auto x = [&](double i) { return left + (right - left) * (std::log2(std::max(i, 1.0 / 16)) + 4) / 14; };
  const double ridge = x(r.ridge_point()), bottom = top + 12 * 17;
  d.line(ridge, top - 6, ridge, bottom, "pen");
  double y = top;
  for (const auto& o : operations) {
    const double i = o.work.arithmetic_intensity();
    const char* role = i < r.ridge_point() ? "used" : "time";
    d.text(margin, y + 8, o.name, "");
    d.line(left, y + 4, x(i), y + 4, "hair");
    d.dot(x(i), y + 4, 4, role);
    d.text(x(i) + 9, y + 8, i < 10 ? fmt::format("{:.3g}", i) : fmt::format("{:.0f}", i), "mute");
    y += 17;
  }
  d.text(ridge, bottom + 14, fmt::format("ridge: {:.0f} FLOP per byte", r.ridge_point()), "", at::middle);
  return d;
}

}  // namespace

void accounting(drawing_list& to) {
  for (const auto make : {products, roof, longer_bar, training_state, chains, twelve}) to.push_back(make());
}

}  // namespace drawings
