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
  drawing d("01_accounting", "two_limits", "Two limits make a roof",
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
      "01_accounting", "longer_bar", "The longer bar is the time",
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

drawing twelve() {
  const lab::roofline r = h200();
  drawing d("01_accounting", "twelve", "Eight left of the ridge, four right",
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

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A linear layer: its product forward, and from the second step on the two products of the backward pass.
drawing layer(int steps) {
  drawing d(fmt::format("layer_{}", steps), "The three products of a linear layer, with their shapes.");
  const double data = 54, in = 30, out = 42;
  struct matrix {
    const char *name, *role;
    double rows, columns;
  };
  const struct {
    matrix a, b, c;
    const char *words, *what;
  } products[] = {
      {{"x", "used", data, in}, {"W", "used", in, out}, {"y", "time", data, out}, "forward", "the result"},
      {{"xᵀ", "used", in, data}, {"dy", "reg", data, out}, {"dW", "time", in, out}, "backward", "for the weights"},
      {{"dy", "reg", data, out}, {"Wᵀ", "used", out, in}, {"dx", "time", data, in}, "backward", "for the layer before"},
  };
  for (int s = 0; s < steps; ++s) {
    const auto& p = products[s];
    const double middle = 46 + 62 * s;
    const auto put = [&](double x, const matrix& m) {
      d.label(x, middle - m.rows / 2, m.columns, m.rows, m.role, m.name);
    };
    d.text(margin, middle - 3, p.words, "h");
    d.text(margin, middle + 14, p.what, "mute");
    put(margin + 130, p.a);
    d.text(margin + 195, middle + 5, "×", "h", at::middle);
    put(margin + 207, p.b);
    d.text(margin + 263, middle + 5, "=", "h", at::middle);
    put(margin + 277, p.c);
    d.text(margin + 344, middle + 5, "2 · data · in · out FLOPs", "time-text");
  }
  d.text(margin, 222, fmt::format("{} · data · parameters", 2 * steps), "h time-text");
  d.text(slide_width - margin, 222, "parameters = in · out", "mute", at::end);
  return d;
}

/// The roofline of an A100: memory's limit, then both, then operations below them.
drawing a100(int step) {
  const lab::roofline r{device_figure("a100", "fp32_flops_per_second"), device_figure("a100", "copy_bytes_per_second")};
  drawing d(fmt::format("a100_{}", step),
            fmt::format("The roofline of an A100, with its ridge at {:.0f}.", r.ridge_point()));
  const double left = margin + 44, right = slide_width - margin - 90, top = 30, bottom = 186;
  const auto x = [&](double i) { return left + (right - left) * (std::log10(i) + 1) / 5; };  // 0.1 to 10,000
  const auto y = [&](double rate) { return bottom - (bottom - top) * std::log10(rate / 1e11) / 2.5; };
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  for (const double v : {0.1, 1.0, 10.0, 100.0, 1000.0, 10000.0})
    d.text(x(v), bottom + 17, v < 1 ? "0.1" : fmt::format("{:.0f}", v), "mute", at::middle);
  for (const double v : {1e11, 1e12, 1e13}) d.text(left - 6, y(v) + 4, fmt::format("{:g}", v / 1e12), "mute", at::end);
  d.text(margin, top - 12, "TFLOP/s", "mute");
  d.text(right, bottom + 36, "FLOP per byte", "mute", at::end);
  const double ridge = r.ridge_point(), peak = r.peak_flops_per_second;
  d.curve({{x(0.1), y(r.attainable({0.1, 1}))}, {x(ridge), y(peak)}}, "used-line");
  d.text(x(0.13), y(r.attainable({0.13, 1})) - 52, fmt::format("{:.2f} TB/s", r.peak_bytes_per_second / 1e12),
         "used-text");
  if (step == 1) return d;
  d.curve({{x(ridge), y(peak)}, {right, y(peak)}}, "time-line");
  d.line(x(ridge), y(peak), x(ridge), bottom);
  d.text(right, y(peak) - 9, fmt::format("{:.1f} TFLOP/s", peak / 1e12), "time-text", at::end);
  d.text(x(ridge) + 6, bottom - 8, fmt::format("ridge: {:.0f}", ridge), "h");
  if (step == 2) return d;
  const struct {
    const char* name;
    lab::work work;
  } operations[] = {{"axpy", {2, 12}}, {"stencil", {9, 8}}, {"polynomial", {60, 8}}, {"bodies", {20.0 * 10000, 28}}};
  for (const auto& o : operations) {
    const double i = o.work.arithmetic_intensity(), rate = r.attainable(o.work);
    d.dot(x(i), y(rate), 5, i < ridge ? "used" : "time");
    d.text(x(i) + (i < 1000 ? 10 : 0), y(rate) + 18,
           i < 100 ? fmt::format("{}: {:.2g}", o.name, i) : fmt::format("{}: {:.0f}", o.name, i),
           i < ridge ? "used-text" : "time-text", i < 1000 ? at::start : at::middle);
  }
  return d;
}

/// What GPT-2 small holds in training, by batch, with 1024 tokens each; activations as the lab counts them.
drawing batches() {
  const double parameters = 124439808, layers = 12, heads = 12, channels = 768, vocabulary = 50257, tokens = 1024;
  const double state = 16 * parameters,
               each = 4 * tokens * (layers * (16 * channels + heads * tokens) + 2 * channels + vocabulary);
  drawing d("batches", "Training memory of GPT-2 small by batch: state and activations.");
  const double left = margin + 84, most = state + 16 * each, across = slide_inner - 160;
  double top = 26;
  for (const int batch : {1, 4, 16}) {
    const double a = across * state / most, b = across * batch * each / most;
    d.text(margin, top + 25, fmt::format("batch {}", batch), "h");
    d.box(left, top, a, 40, "reg");
    d.box(left + a + 1, top, b, 40, "time");
    d.text(left + a + b + 10, top + 25, fmt::format("{:.1f} GB", (state + batch * each) / 1e9), "h");
    top += 54;
  }
  d.text(margin, top + 14, fmt::format("16 bytes per parameter: {:.1f} GB", state / 1e9), "reg-text");
  d.text(margin + 230, top + 14, fmt::format("activations: {:.1f} GB for each text", each / 1e9), "time-text");
  return d;
}

/// From the smallest to the largest number of three formats.
drawing ranges() {
  drawing d("ranges", "The ranges of FP32, FP16 and bf16, logarithmic, and where 1e-8 lies.");
  const double left = margin + 56, right = slide_width - margin - 70;
  const auto x = [&](double exponent) { return left + (right - left) * (exponent + 46) / 86; };
  const struct {
    const char* name;
    int exponent, mantissa;
  } formats[] = {{"FP32", 8, 23}, {"FP16", 5, 10}, {"bf16", 8, 7}};
  double y = 44;
  for (const auto& f : formats) {
    const int bias = (1 << (f.exponent - 1)) - 1;
    const double normal = (1 - bias) * std::log10(2), least = (1 - bias - f.mantissa) * std::log10(2),
                 largest = (bias + 1) * std::log10(2);
    d.text(margin, y + 20, f.name, "h");
    d.box(x(least), y, x(normal) - x(least) - 1, 30, "waste");
    d.box(x(normal), y, x(largest) - x(normal), 30, "used");
    d.text(right + 4, y + 20, fmt::format("{:.1f} digits", (f.mantissa + 1) * std::log10(2)));
    y += 44;
  }
  d.line(x(-8), 28, x(-8), y - 6, "time-line");
  d.text(x(-8), 22, "1e-8", "h time-text", at::middle);
  for (const double e : {-40.0, -20.0, 0.0, 20.0}) d.text(x(e), y + 12, fmt::format("1e{:.0f}", e), "mute", at::middle);
  d.legend(y + 34, {{"used", "normal"}, {"waste", "subnormal: fewer and fewer digits"}});
  return d;
}

/// Bytes per element of three triads, lines that are read only to be overwritten included.
drawing triad_bytes() {
  const struct {
    const char* name;
    double asked, lines;
  } rows[] = {{"two passes", 20, 4}, {"one pass", 12, 4}, {"streaming stores", 12, 0}};
  drawing d("triad_bytes", "Bytes per element of three triads, and the speed that they predict.");
  const double left = margin + 116, scale = 13;
  double y = 34;
  for (const auto& r : rows) {
    d.text(margin, y + 21, r.name);
    d.label(left, y, r.asked * scale - 2, 32, "used", fmt::format("{:.0f}", r.asked));
    if (r.lines > 0)
      d.label(left + r.asked * scale, y, r.lines * scale, 32, "waste", fmt::format("{:.0f}", r.lines), "");
    d.text(slide_width - margin, y + 21, fmt::format("{:.2f}", 16 / (r.asked + r.lines)), "h time-text", at::end);
    y += 46;
  }
  d.text(left, 22, "bytes per element", "mute");
  d.text(slide_width - margin, 22, "predicted speed", "time-text", at::end);
  d.legend(y + 14, {{"used", "read and written by the code"}, {"waste", "lines read only to be overwritten"}});
  return d;
}

/// Of a layer of GPT-2 small, the share of attention's own products, by tokens.
drawing attention_share() {
  const double c = 768;
  drawing d("attention_share", "FLOPs of a layer in products with weights and in attention, by tokens.");
  const double left = margin + 96, across = slide_inner - 96;
  double y = 22;
  for (const int tokens : {256, 1024, 4096, 16384}) {
    const double weights = 24 * c * c, attention = 4 * tokens * c, all = weights + attention;
    d.text(margin, y + 22, fmt::format("{} tokens", tokens));
    d.label(left, y, across * weights / all - 2, 34, "used", fmt::format("{:.0f} %", 100 * weights / all));
    if (attention / all > 0.1)
      d.label(left + across * weights / all, y, across * attention / all, 34, "time",
              fmt::format("{:.0f} %", 100 * attention / all));
    else
      d.box(left + across * weights / all, y, across * attention / all, 34, "time");
    y += 44;
  }
  d.legend(y + 16,
           {{"used", "products with weights, 24 C² per token"}, {"time", "attention, 4 T C per token, no mask"}});
  return d;
}

/// The eight calls with a pencil: a launch, and the bytes.
drawing eight_calls() {
  const double n = 1 << 20, rate = device_figure("h200", "copy_bytes_per_second"),
               launch = device_figure("h200", "launch_seconds") * 1e9;
  const struct {
    const char* name;
    double bytes;
  } calls[] = {{"relu_1024", 8 * 1024}, {"relu_1048576", 8 * n}, {"gelu_1048576", 8 * n}, {"residual_add", 12 * n},
               {"layer_norm", 8 * n},   {"softmax", 8 * n},      {"adamw", 28 * n},       {"decode_linear", 4 * n}};
  drawing d("eight_calls", "The eight calls: a launch, and bytes divided by the bandwidth.");
  const double left = margin + 112, scale = (slide_inner - 180) / (launch + 28 * n / rate * 1e9);
  double y = 14;
  for (const auto& c : calls) {
    const double move = c.bytes / rate * 1e9;
    d.text(margin, y + 14, c.name);
    d.box(left, y, launch * scale - 1, 18, "time", 1);
    d.box(left + launch * scale, y, std::max(move * scale, 0.5), 18, "used", 1);
    d.text(left + (launch + move) * scale + 8, y + 14, fmt::format("{:.0f} ns", launch + move), "");
    y += 23;
  }
  d.legend(y + 16, {{"time", fmt::format("launch: {:.0f} ns", launch)},
                    {"used", fmt::format("bytes / {:.2f} TB/s", rate / 1e12)}});
  return d;
}

}  // namespace

void accounting(drawing_list& to) {
  for (const auto make : {roof, longer_bar, twelve}) to.push_back(make());
  for (const int step : {1, 2, 3}) to.push_back(layer(step));
  for (const int step : {1, 2, 3}) to.push_back(a100(step));
  for (const auto make : {batches, ranges, triad_bytes, attention_share, eight_calls}) to.push_back(make());
}

}  // namespace drawings
