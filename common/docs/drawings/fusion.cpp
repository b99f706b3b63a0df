// Lab 04: passes over memory, launches, rows in registers, sums in a warp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing launches() {
  const double launch = device_figure("h200", "launch_seconds") * 1e6;
  drawing d("04_fusion", "launches", "A small array costs its launches",
            fmt::format("Each launch costs {:.1f} µs on an H200. Three launches on 1024 floats take {:.1f} µs, one "
                        "takes {:.1f}: moving the "
                        "8 KiB takes 0.002 µs per launch.",
                        launch, 3 * launch, launch));
  const double left = margin, scale = 38;
  const auto row = [&](double y, int count, const std::string& words) {
    d.text(left, y - 8, words);
    for (int i = 0; i < count; ++i) {
      d.label(left + i * launch * scale, y, launch * scale - 4, 22, "idle", "launch", "mute");
      d.box(left + (i + 1) * launch * scale - 4, y, 2.5, 22, "time", 0);
    }
    d.text(left + count * launch * scale + 8, y + 15, fmt::format("{:.1f} µs", count * launch));
  };
  row(52, 3, "three kernels on 1024 floats");
  row(108, 1, "one kernel");
  d.legend(156, {{"idle", "launch"}, {"time", "load, compute, store"}});
  return d;
}

drawing butterfly() {
  drawing d("04_fusion", "butterfly", "Five exchanges add up a warp",
            "The sum over a warp by shuffles: in five steps each lane adds the value of the lane whose number differs "
            "by 16, 8, 4, 2, "
            "1. Drawn: what reaches lane 0. The other lanes do the same, and each has the sum.");
  const double unit = (inner - 34) / 31, left = margin + 34, top = 56, step = 30;
  const auto x = [&](int lane) { return left + lane * unit; };
  int level = 0;
  for (const int distance : {16, 8, 4, 2, 1}) {
    const double y = top + level * step;
    d.text(margin, y + 20, fmt::format("xor {}", distance), "s mute");
    for (int lane = 0; lane < distance; ++lane)  // those whose sums reach lane 0
      for (const int from : {lane, lane ^ distance}) d.line(x(from), y, x(lane), y + step, "reg-line thin");
    ++level;
  }
  for (int row = 0; row <= 5; ++row)
    for (int lane = 0; lane < 32; ++lane)
      d.dot(x(lane), top + row * step, 3, row == 0 || lane < (32 >> row) ? "reg" : "idle");
  d.text(left, top - 8, "lane 0", "s mute");
  d.text(x(31), top - 8, "lane 31", "s mute", at::end);
  const double y = top + 5 * step;
  d.text(left, y + 20, "lane 0 has the sum, and so has each other lane", "reg-text");
  d.text(margin, y + 40, "Then shared memory: one float per warp.", "shared-text");
  return d;
}

drawing gelu_passes() {
  const int n = 250000;
  const auto launches = counted_gelu_unfused(n);
  double all = 0;
  for (const auto& l : launches) all += (l.loaded + l.stored) / (4.0 * n);
  drawing d("04_fusion", "gelu_passes", fmt::format("GELU, unfused: {:.0f} passes", all),
            fmt::format("The {} kernels of the unfused GELU, as counted: {:.0f} passes over the array. The fused "
                        "kernel loads once and stores "
                        "once.",
                        launches.size(), all));
  const char* what[] = {"x²", "× x", "× 0.0447", "+ x", "× 0.798", "tanh", "+ 1", "× x", "× 0.5"};
  const double cell = 46, left = 112;
  double y = 38;
  d.text(left, y, "loads", "mute");
  d.text(left + 2 * cell + 12, y, "stores", "mute");
  y += 8;
  const auto row = [&](const std::string& words, double loaded, double stored, const char* role) {
    d.text(margin, y + 12, words);
    for (int i = 0; i < static_cast<int>(loaded + 0.5); ++i) d.box(left + i * cell, y, cell - 3, 15, role, 2);
    for (int i = 0; i < static_cast<int>(stored + 0.5); ++i)
      d.box(left + 2 * cell + 12 + i * cell, y, cell - 3, 15, role, 2);
    y += 19;
  };
  for (std::size_t i = 0; i < launches.size(); ++i)
    row(fmt::format("{}.  {}", i + 1, what[std::min<std::size_t>(i, 8)]), launches[i].loaded / (4.0 * n),
        launches[i].stored / (4.0 * n), "waste");
  y += 8;
  row("fused, all of it", 1, 1, "used");
  return d;
}

drawing online_softmax() {
  drawing d("04_fusion", "online_softmax", "Maximum and sum in one pass",
            "Online softmax over the row 1, 3, 2, 5. When the maximum grows, the sum so far is multiplied by e to the "
            "power of old minus new "
            "maximum; otherwise only a term is added. At the end the sum is that of two passes.");
  const double values[] = {1, 3, 2, 5};
  const double cell = (inner - 62) / 4, left = margin + 62, bar = 13;
  double maximum = -INFINITY, sum = 0, all = 0;
  for (const double v : values) all += std::exp(v - 5);
  d.text(margin, 112, "x");
  d.text(margin, 136, "maximum", "time-text");
  d.text(margin, 160, "rescale", "waste-text");
  d.text(margin, 184, "sum", "reg-text");
  for (int i = 0; i < 4; ++i) {
    const double v = values[i], x = left + i * cell, before = maximum;
    maximum = std::max(maximum, v);
    const double factor = i == 0 ? 1 : std::exp(before - maximum);
    sum = sum * factor + std::exp(v - maximum);
    d.box(x + 6, 98 - v * bar, cell - 18, v * bar, maximum > before ? "time" : "idle", 2);
    d.text(x + cell / 2 - 3, 112, fmt::format("{:.0f}", v), "", at::middle);
    d.text(x + cell / 2 - 3, 136, fmt::format("{:.0f}", maximum), "time-text", at::middle);
    d.text(x + cell / 2 - 3, 160,
           i == 0       ? ""
           : factor < 1 ? fmt::format("× {:.2f}", factor)
                        : "× 1",
           factor < 1 ? "waste-text" : "mute", at::middle);
    d.text(x + cell / 2 - 3, 184, fmt::format("{:.2f}", sum), "reg-text", at::middle);
  }
  if (std::abs(sum - all) > 1e-9) throw std::runtime_error("online_softmax: the sums differ");
  d.text(margin, 212, "sum ← sum · e^(old − new) + e^(x − new)");
  d.text(margin, 230, fmt::format("in two passes the same: {:.2f}", all), "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// relu(2 x + b): the passes of the first `kernels` of three kernels; or of one.
drawing chain(int kernels, bool fused) {
  const int n = 1024;
  const auto launches = counted_chain(n, fused);
  const char* names[] = {"2 · x", "… + b", "relu(…)"};
  drawing d(
      fused ? "chain_fused" : fmt::format("chain_{}", kernels),
      fused ? "One kernel: it loads x and b and stores the result." : "Each kernel loads its operands and stores.");
  d.label(margin, 18, slide_inner, 26, "used", "memory");
  const double cell = slide_inner / 3;
  double all = 0;
  std::string sum;
  for (int i = 0; i < 3; ++i) {
    const double x = margin + i * cell + 12, w = cell - 24;
    const bool here = fused || i < kernels;
    d.label(x, 128, w, 30, here ? "reg" : "idle", names[i], here ? "on" : "mute");
    if (fused && i < 2) d.arrow(x + w + 2, 143, x + w + 22, 143, "reg-line");
    if (!fused && !here) continue;
    const auto& l = launches[fused ? 0 : static_cast<std::size_t>(i)];
    const int loads = fused ? (i < 2 ? 1 : 0) : static_cast<int>(l.loaded / (4.0 * n) + 0.5);
    for (int k = 0; k < loads; ++k) {
      const double at = x + 22 + 34 * k;
      d.arrow(at, 46, at, 126, "used-line");
      d.text(at + 5, 92, fused ? (i == 0 ? "x" : "b") : i == 0 ? "x" : k == 1 ? "b" : "t", "used-text s");
    }
    if (!fused || i == 2) {
      d.arrow(x + w - 26, 126, x + w - 26, 46, "waste-line");
      d.text(x + w - 21, 92, i == 2 ? "y" : "t", "waste-text s");
    }
    if (!fused) {
      const double passes = (l.loaded + l.stored) / (4.0 * n);
      all += passes;
      sum += fmt::format("{}{:.0f}", sum.empty() ? "" : " + ", passes);
    }
  }
  if (fused) all = (launches[0].loaded + launches[0].stored) / (4.0 * n);
  d.text(margin, 186,
         fused ? fmt::format("one launch, {:.0f} passes", all)
               : fmt::format("{} launch{}: {}{} passes", kernels, kernels == 1 ? "" : "es", sum,
                             kernels == 1 ? "" : fmt::format(" = {:.0f}", all)),
         fused ? "h used-text" : "h waste-text");
  d.text(slide_width - margin, 186,
         fused ? "between the operations: registers" : "an arrow is one pass of a whole array", "mute", at::end);
  return d;
}

/// The first exchanges of a warp's sum; all lanes.
drawing exchanges(int shown) {
  drawing d(fmt::format("exchange_{}", shown),
            fmt::format("After {} exchanges each lane has a sum over {} lanes.", shown, 1 << shown));
  const double unit = (slide_inner - 60) / 31, left = margin + 56, top = 28, step = 33;
  const auto x = [&](int lane) { return left + lane * unit; };
  int level = 0;
  for (const int distance : {16, 8, 4, 2, 1}) {
    if (level == shown) break;
    const double y = top + level * step;
    d.text(margin, y + 21, fmt::format("xor {}", distance), "mute");
    for (int lane = 0; lane < 32; ++lane)
      for (const int from : {lane, lane ^ distance}) d.line(x(from), y, x(lane), y + step, "reg-line thin");
    ++level;
  }
  for (int row = 0; row <= 5; ++row)
    for (int lane = 0; lane < 32; ++lane) d.dot(x(lane), top + row * step, 4, row <= shown ? "reg" : "idle");
  d.text(left, top - 12, "lane 0", "s mute");
  d.text(x(31), top - 12, "lane 31", "s mute", at::end);
  d.text(
      margin, top + 5 * step + 24,
      fmt::format("after {} exchange{}: each lane has the sum of {} lanes", shown, shown == 1 ? "" : "s", 1 << shown),
      "h reg-text");
  return d;
}

/// Online softmax after the first `done` of four elements.
drawing online_step(int done) {
  const double values[] = {1, 3, 2, 5};
  drawing d(fmt::format("online_{}", done), fmt::format("Online softmax after {} of 4 elements.", done));
  const double cell = (slide_inner - 90) / 4, left = margin + 90, bar = 14;
  const char* rows[] = {"x", "maximum", "rescale", "sum"};
  const char* styles[] = {"", "time-text", "waste-text", "reg-text"};
  for (int r = 0; r < 4; ++r) d.text(margin, 112 + r * 26, rows[r], styles[r]);
  double maximum = -INFINITY, sum = 0;
  for (int i = 0; i < 4; ++i) {
    const double v = values[i], x = left + i * cell, before = maximum;
    const bool here = i < done;
    if (here) maximum = std::max(maximum, v);
    const double factor = i == 0 ? 1 : std::exp(before - maximum);
    if (here) sum = sum * factor + std::exp(v - maximum);
    d.box(x + 8, 96 - v * bar, cell - 24, v * bar, !here ? "idle" : maximum > before ? "time" : "used", 2);
    d.text(x + cell / 2 - 4, 112, fmt::format("{:.0f}", v), "", at::middle);
    if (!here) continue;
    d.text(x + cell / 2 - 4, 138, fmt::format("{:.0f}", maximum), "time-text", at::middle);
    if (i > 0)
      d.text(x + cell / 2 - 4, 164, factor < 1 ? fmt::format("× {:.3f}", factor) : "× 1",
             factor < 1 ? "waste-text" : "mute", at::middle);
    d.text(x + cell / 2 - 4, 190, fmt::format("{:.3f}", sum), "reg-text", at::middle);
  }
  double two_passes = 0;
  for (int i = 0; i < done; ++i) two_passes += std::exp(values[i] - maximum);
  if (std::abs(two_passes - sum) > 1e-9) throw std::runtime_error("online_step: the sums differ");
  d.text(margin, 216, fmt::format("two passes over these {} give {:.3f}", done, two_passes), "mute");
  return d;
}

}  // namespace

void fusion(drawing_list& to) {
  for (const auto make : {launches, butterfly, gelu_passes, online_softmax}) to.push_back(make());
  for (int kernels = 1; kernels <= 3; ++kernels) to.push_back(chain(kernels, false));
  to.push_back(chain(3, true));
  for (const int shown : {1, 2, 5}) to.push_back(exchanges(shown));
  for (const int done : {2, 3, 4}) to.push_back(online_step(done));
}

}  // namespace drawings
