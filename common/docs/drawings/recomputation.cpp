// Lab 05: what the backward pass needs, how long it is held, and what a plan costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing needs() {
  drawing d("05_recomputation", "README.md", "needs", "What the backward pass needs again",
            "The chain x, s1, s2, s3 runs forward; the gradient runs back through three factors. Each factor s (1 - s) "
            "needs the value that "
            "the forward pass computed at the same place.");
  const double cell = inner / 4, w = 52;
  const char* values[] = {"x", "s1", "s2", "s3"};
  const auto x = [&](int i) { return margin + i * cell + (cell - w) / 2; };
  const double top = 54, low = 160;
  d.text(margin, top - 10, "forward: s = sigmoid of the one before", "used-text");
  for (int i = 0; i < 4; ++i) {
    d.label(x(i), top, w, 26, "used", values[i]);
    if (i < 3) d.arrow(x(i) + w + 2, top + 13, x(i + 1) - 2, top + 13, "used-line");
  }
  for (int i = 1; i < 4; ++i) {
    d.label(x(i) - 8, low, w + 16, 26, "time", "s(1 − s)");
    d.arrow(x(i) - 10, low + 13, x(i - 1) + (i == 1 ? w : w + 8) + 2, low + 13, "time-line");
    d.arrow(x(i) + w / 2, top + 28, x(i) + w / 2, low - 2);
  }
  d.label(x(0), low, w, 26, "idle", "d x", "");
  d.text(margin, top + 60, "needed again:");
  d.text(margin, top + 76, "keep, or");
  d.text(margin, top + 92, "compute twice?");
  d.text(margin, low + 46, "backward: the gradient times one factor after another", "time-text");
  return d;
}

/// How long each activation is held, in steps of one layer, under a plan of recomputation.hpp.
struct span {
  int layer, from, to;
  bool again;
};
struct lifetimes {
  std::vector<span> spans;
  int steps = 0, peak = 0, forwards = 0;
};
lifetimes run(const std::vector<int>& keep) {
  const int layers = static_cast<int>(keep.size());
  lifetimes l;
  std::vector<int> since(keep.size(), -1);  // the step that computed it, -1: not held
  std::vector<bool> again(keep.size(), false);
  const auto drop = [&](int i) {
    l.spans.push_back({i, since[static_cast<std::size_t>(i)], l.steps, again[static_cast<std::size_t>(i)]});
    since[static_cast<std::size_t>(i)] = -1;
  };
  const auto forward = [&](int i, bool second) {
    since[static_cast<std::size_t>(i)] = l.steps++;
    again[static_cast<std::size_t>(i)] = second;
    ++l.forwards;
  };
  const auto kept = [&](int i) { return keep[static_cast<std::size_t>(i)] != 0; };
  for (int i = 0; i < layers; ++i) {
    forward(i, false);
    if (i > 0 && !kept(i - 1)) drop(i - 1);
  }
  if (!kept(layers - 1)) drop(layers - 1);
  for (int i = layers - 1; i >= 0; --i) {
    if (since[static_cast<std::size_t>(i)] < 0) {
      int first = i;
      while (first > 0 && !kept(first - 1)) --first;
      for (int j = first; j <= i; ++j) forward(j, true);
    }
    if (i > 0 && since[static_cast<std::size_t>(i - 1)] < 0) {
      int first = i - 1;
      while (first > 0 && !kept(first - 1)) --first;
      for (int j = first; j <= i - 1; ++j) forward(j, true);
    }
    ++l.steps;
    drop(i);
  }
  for (int t = 0; t < l.steps; ++t)
    l.peak = std::max(l.peak, static_cast<int>(std::count_if(l.spans.begin(), l.spans.end(),
                                                             [&](const span& s) { return s.from <= t && t < s.to; })));
  return l;
}

drawing held() {
  const int layers = 12;
  std::vector<int> all(layers, 1), some(layers, 0);
  for (int i = 3; i < layers; i += 4) some[static_cast<std::size_t>(i)] = 1;
  const lifetimes kept = run(all), plan = run(some);
  drawing d(
      "05_recomputation", "README.md", "held", "How long each activation is held",
      fmt::format(
          "Twelve layers, time to the right. Keeping everything holds {} activations at once. Keeping every fourth and "
          "recomputing the others in runs holds at most {}, and computes {} layers a second time.",
          kept.peak, plan.peak, plan.forwards - layers));
  const double row = 7.5, left = margin, step = inner / plan.steps;
  const auto panel = [&](double y, const lifetimes& l, const std::string& words, const char* style) {
    d.text(left, y - 8, words, style);
    for (int i = 0; i < layers; ++i)
      d.line(left, y + (layers - 1 - i) * row + 2.5, left + l.steps * step, y + (layers - 1 - i) * row + 2.5);
    for (const span& s : l.spans)
      d.box(left + s.from * step, y + (layers - 1 - s.layer) * row, (s.to - s.from) * step - 1, row - 2,
            s.again ? "time" : "used", 1);
  };
  panel(52, kept, fmt::format("keep all: {} held at once", kept.peak), "used-text");
  panel(178, plan, fmt::format("keep every fourth: {} at once, {} computed again", plan.peak, plan.forwards - layers),
        "time-text");
  d.arrow(left, 282, width - margin, 282);
  d.text(left, 300, "time: forward, then backward", "mute");
  d.legend(322, {{"used", "held"}, {"time", "recomputed, then held"}});
  d.text(width - margin, 40, "last layer on top", "mute", at::end);
  return d;
}

drawing valley() {
  const int layers = 100;
  const auto peak = [&](int keep) { return keep + (layers - keep + keep) / (keep + 1); };
  // (layers - keep) / (keep + 1), rounded up, is (layers - keep + keep) / (keep + 1).
  int best = 0;
  for (int k = 0; k <= layers; ++k)
    if (peak(k) < peak(best)) best = k;
  drawing d("05_recomputation", "README.md", "valley", "Keep few, and the runs are long",
            fmt::format("100 equal layers: activations held at the peak, by how many are kept. None kept: {}. All "
                        "kept: {}. The fewest, {}, "
                        "with {} kept.",
                        peak(0), peak(layers), peak(best), best));
  const double left = 44, right = width - margin, top = 62, bottom = 208;
  const auto x = [&](double k) { return left + (right - left) * k / layers; };
  const auto y = [&](double p) { return bottom - (bottom - top) * p / layers; };
  std::vector<std::pair<double, double>> points, kept;
  for (int k = 0; k <= layers; ++k) {
    points.emplace_back(x(k), y(peak(k)));
    kept.emplace_back(x(k), y(k));
  }
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  d.curve(kept, "hair");
  d.curve(points, "time-line");
  d.dot(x(best), y(peak(best)), 4, "time");
  d.text(x(26), y(4), fmt::format("{} kept: {} held", best, peak(best)), "time-text");
  d.text(x(54), y(72), "held at the peak", "time-text", at::end);
  d.text(x(68), y(52), "of which kept", "mute");
  d.text(left - 6, y(100) + 6, "100", "mute", at::end);
  d.text(left - 6, bottom, "0", "mute", at::end);
  d.text(left, bottom + 17, "0", "mute", at::middle);
  d.text(right, bottom + 17, "100 kept", "mute", at::end);
  d.text(margin, top - 10, "activations held, 100 equal layers", "mute");
  return d;
}

drawing eight_or_five() {
  drawing d("05_recomputation", "SEEN.md", "eight_or_five", "Eight passes or five",
            "Stored: forward reads x and writes s1, s2 and out; backward reads s1, s2 and d_out and writes d_x: 8 "
            "passes. Recomputed: forward "
            "reads x and writes out; backward reads x and d_out and writes d_x: 5 passes.");
  const double cell = 41;
  const auto row = [&](double y, const std::string& words, const std::vector<std::pair<const char*, bool>>& arrays) {
    d.text(margin, y + 16, words);
    double x = margin + 70;
    for (const auto& [name, reads] : arrays) {
      d.label(x, y, cell + 2, 24, reads ? "used" : "time", name);
      x += cell + 6;
    }
  };
  d.text(margin, 44, "stored: 8 passes", "waste-text");
  row(54, "forward", {{"x", true}, {"s1", false}, {"s2", false}, {"out", false}});
  row(84, "backward", {{"s1", true}, {"s2", true}, {"d_out", true}, {"d_x", false}});
  d.text(margin, 138, "recomputed: 5 passes", "used-text");
  row(148, "forward", {{"x", true}, {"out", false}});
  row(178, "backward", {{"x", true}, {"d_out", true}, {"d_x", false}});
  d.legend(228, {{"used", "an array read"}, {"time", "an array written"}});
  return d;
}

drawing exponentials() {
  // The handout's figures of both machines; the H200's clock is the simulated device's.
  const double h200 = device_figure("h200", "multiprocessors") * 16 * device_figure("h200", "sm_clock_hertz") / 2 /
                      device_figure("h200", "dram_bytes_per_second");
  const double needed = 3.0 / 12, slow = 1 / 10e-9 / 10e9, fast = 1 / 5e-9 / 10e9;
  drawing d("05_recomputation", "SEEN.md", "exponentials", "The same kernel, two ridges",
            fmt::format("Exponentials per byte, logarithmic. The recomputed backward pass needs {:.2f}; an H200 has "
                        "time for {:.2f}, so memory "
                        "decides there. One core has time for {:.2f} to {:.2f}, so exponentials decide.",
                        needed, h200, slow, fast));
  const double left = margin, right = width - margin, y = 104;
  const auto x = [&](double v) { return left + (right - left) * std::log10(v / 0.005) / std::log10(1 / 0.005); };
  d.box(x(slow), y - 12, x(fast) - x(slow), 24, "waste", 2);
  d.line(left, y, right, y, "pen");
  d.line(x(needed), y - 26, x(needed), y + 40, "time-line");
  d.line(x(h200), y - 40, x(h200), y + 12, "used-line");
  d.text(x(slow), y - 20, fmt::format("one core: {:.2f} to {:.2f}", slow, fast), "waste-text");
  d.text(right, y - 48, fmt::format("H200: {:.2f}", h200), "used-text", at::end);
  d.text(x(needed) - 7, y + 38, fmt::format("needed: {:.2f}", needed), "time-text", at::end);
  d.text(left, y + 66, "The core has less time than needed: it computes.", "waste-text");
  d.text(left, y + 84, "The H200 has more: it waits for memory.", "used-text");
  d.text(left, 42, "exponentials per byte that there is time for", "mute");
  return d;
}

}  // namespace

void recomputation(drawing_list& to) {
  for (const auto make : {needs, held, valley, eight_or_five, exponentials}) to.push_back(make());
}

}  // namespace drawings
