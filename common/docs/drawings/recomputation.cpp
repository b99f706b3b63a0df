// Lab 05: what the backward pass needs, how long it is held, and what a plan costs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

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
      "05_recomputation", "held", "How long each activation is held",
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
  drawing d("05_recomputation", "valley", "Keep few, and the runs are long",
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

drawing exponentials() {
  // The handout's figures of both machines; the H200's clock is the simulated device's.
  const double h200 = device_figure("h200", "multiprocessors") * 16 * device_figure("h200", "sm_clock_hertz") / 2 /
                      device_figure("h200", "dram_bytes_per_second");
  const double needed = 3.0 / 12, slow = 1 / 10e-9 / 10e9, fast = 1 / 5e-9 / 10e9;
  drawing d("05_recomputation", "exponentials", "The same kernel, two ridges",
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

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A training step, layer by layer, up to the step `until`: which activations are held, and how many.
drawing held_until(const std::string& name, const std::vector<int>& keep, int until, const std::string& says) {
  const lifetimes l = run(keep);
  const int layers = static_cast<int>(keep.size());
  const double row = 150.0 / layers, left = margin + 62, cell = (slide_inner - 62) / l.steps, top = 18;
  drawing d(name, says);
  const auto y = [&](int layer) { return top + (layers - 1 - layer) * row; };
  for (int i = 0; i < layers; ++i) {
    d.text(margin, y(i) + row / 2 + 4, fmt::format("layer {}", i + 1), "mute");
    d.line(left, y(i) + row / 2, left + l.steps * cell, y(i) + row / 2);
  }
  for (const span& s : l.spans)
    if (s.from < until)
      d.box(left + s.from * cell, y(s.layer) + 1.5, (std::min(s.to, until) - s.from) * cell - 1.5, row - 3,
            s.again ? "time" : "used");
  d.text(margin, top + 168, "held");
  int most = 0;
  for (int t = 0; t < until; ++t) {
    const int held = static_cast<int>(
        std::count_if(l.spans.begin(), l.spans.end(), [&](const span& s) { return s.from <= t && t < s.to; }));
    most = std::max(most, held);
    d.text(left + (t + 0.5) * cell, top + 168, fmt::format("{}", held), held == l.peak ? "h waste-text" : "",
           at::middle);
  }
  d.line(left + layers * cell, top - 6, left + layers * cell, top + 174, "pen");
  d.text(left, top + 192, "forward", "used-text");
  d.text(left + layers * cell + 8, top + 192, l.forwards > layers ? "backward; orange: again" : "backward",
         l.forwards > layers ? "time-text" : "used-text");
  if (until == l.steps)
    d.text(slide_width - margin, top + 192, fmt::format("at most {}", most), "h waste-text", at::end);
  return d;
}

/// A gate's two kernels and their passes: the forward pass, then both, then both without the stored sigmoid.
drawing gate(int step) {
  const int n = 1024;
  const bool stored = step < 3;
  const auto launches = counted_gate(n, stored);
  drawing d(fmt::format("gate_{}", step), stored
                                              ? "The gate's kernels, which store s and load it again."
                                              : "The gate's kernels without s: the backward pass computes it from x.");
  struct array {
    std::string name;
    bool out;
  };
  const std::vector<array> forward = {{"x", false}, {"g", false}, {"s", true}, {"y", true}};
  const std::vector<array> backward = {
      {stored ? "s" : "x", false}, {"g", false}, {"d_y", false}, {"d_x", true}, {"d_g", true}};
  d.label(margin, 18, slide_inner, 26, "used", "memory");
  const double pitch = 49;
  double left = margin;
  const auto kernel = [&](const std::string& words, const std::vector<array>& arrays, bool here,
                          const launch_bytes& counted) {
    const double w = pitch * static_cast<double>(arrays.size()) + 24;
    d.label(left, 134, w, 30, here ? "reg" : "idle", words, here ? "on" : "mute");
    int passes = 0;
    for (std::size_t i = 0; here && i < arrays.size(); ++i) {
      const double x = left + 26 + pitch * static_cast<double>(i);
      if (arrays[i].name == "s" && !stored) continue;
      ++passes;
      const std::string role = arrays[i].name == "s" ? "waste" : "used";
      d.arrow(x, arrays[i].out ? 132 : 46, x, arrays[i].out ? 46 : 132, role + "-line");
      d.text(x + 5, 94, arrays[i].name, role + "-text");
    }
    if (here && std::abs(passes - (counted.loaded + counted.stored) / (4.0 * n)) > 1e-9)
      throw std::runtime_error("gate draws other passes than are counted");
    left += w + 34;
    return passes;
  };
  const int first = kernel(stored ? "forward: stores s" : "forward", forward, true, launches[0]);
  const int second =
      kernel(stored ? "backward: loads s" : "backward: s from x, again", backward, step > 1, launches[1]);
  d.text(margin, 194,
         step == 1 ? fmt::format("{} passes so far", first)
                   : fmt::format("{} + {} = {} passes", first, second, first + second),
         stored ? "h waste-text" : "h used-text");
  d.text(slide_width - margin, 194, "an arrow is one pass of a whole array", "mute", at::end);
  return d;
}

/// Exponentials per second, where one is a sigmoid: two results of the special-function units, 16 per clock.
double exponentials_per_second(const char* device) {
  return device_figure(device, "multiprocessors") * 16 * device_figure(device, "sm_clock_hertz") / 2;
}

/// What a pass costs on an A100, in exponentials.
drawing price() {
  const double pass = 4 / device_figure("a100", "dram_bytes_per_second") * 1e12;
  const double one = 1e12 / exponentials_per_second("a100");
  drawing d("price", fmt::format("Per element, an A100 needs {:.2f} ps for a pass and {:.2f} ps for an exponential.",
                                 pass, one));
  const double left = margin + 92, scale = 104;
  const auto row = [&](double y, const char* words, const char* style, int count, double each, const char* role,
                       const std::string& name, const std::string& sum) {
    d.text(margin, y + 26, words, style);
    for (int i = 0; i < count; ++i) d.label(left + i * each * scale, y, each * scale - 2, 42, role, name);
    d.text(left + count * each * scale + 10, y + 26, sum);
  };
  row(28, "memory", "used-text", 1, pass, "used", "one pass", fmt::format("{:.2f} ps per element", pass));
  row(92, "arithmetic", "time-text", 3, one, "time", "exp", fmt::format("{:.2f} ps each", one));
  d.line(left + pass * scale - 1, 18, left + pass * scale - 1, 146, "pen");
  d.text(margin, 178, fmt::format("one pass = {:.1f} exponentials", pass / one), "h time-text");
  d.text(slide_width - margin, 178, "the whole A100", "mute", at::end);
  return d;
}

/// The gate's backward pass beside the ridge of an A100, in exponentials per byte; 20 bytes are five passes.
drawing gate_ridge() {
  const double ridge = exponentials_per_second("a100") / device_figure("a100", "dram_bytes_per_second"),
               needs = 1.0 / 20;
  drawing d("gate_ridge",
            fmt::format("The gate needs {:.2f} exponentials per byte, and an A100 has time for {:.2f}.", needs, ridge));
  const double y = 104, left = margin, right = slide_width - margin;
  const auto x = [&](double v) { return left + (right - left) * std::log10(v / 0.01) / std::log10(10 / 0.01); };
  d.box(left, y - 46, x(ridge) - left, 92, "used", 0);
  d.box(x(ridge), y - 46, right - x(ridge), 92, "time", 0);
  d.text(left + 12, y - 22, "memory decides", "on h");
  d.text(right - 12, y - 22, "exponentials decide", "on h", at::end);
  for (const double v : {0.01, 0.1, 1.0, 10.0}) {
    d.line(x(v), y + 46, x(v), y + 52, "pen");
    d.text(std::clamp(x(v), left + 12, right - 8), y + 68, fmt::format("{:g}", v), "mute", at::middle);
  }
  d.line(x(ridge), y - 60, x(ridge), y + 46, "pen");
  d.text(x(ridge), y - 68, fmt::format("the A100's ridge: {:.2f}", ridge), "h", at::middle);
  d.dot(x(needs), y + 14, 6, "waste");
  d.text(x(needs) + 14, y + 19, fmt::format("the gate's: 1 / 20 = {:.2f}", needs), "on");
  d.text(right, y + 92, "exponentials per byte moved, logarithmic", "mute", at::end);
  return d;
}

/// How many digits a float's s (1 - s) keeps, by x: subtracted, and from e = exp(-|x|).
drawing digits() {
  drawing d("digits_lost",
            "Correct digits of the sigmoid's derivative by x: 1 - s loses them, e / (1 + e)^2 keeps all.");
  const double left = margin + 26, right = slide_width - margin - 150, top = 22, bottom = 176, last = 20;
  const auto x = [&](double v) { return left + (right - left) * v / last; };
  const auto y = [&](double v) { return bottom - (bottom - top) * v / 8; };
  const auto worst = [&](double near, bool subtracts) {  // of 64 inputs around it
    double fewest = 8;
    for (int i = -32; i < 32; ++i) {
      const float v = static_cast<float>(std::abs(near + i / 128.0)), e = std::exp(-v), s = 1.0f / (1.0f + e);
      const double exact_e = std::exp(-static_cast<double>(v)), exact = exact_e / ((1 + exact_e) * (1 + exact_e));
      const float got = subtracts ? s * (1.0f - s) : e * s * s;
      fewest = std::min(fewest, -std::log10(std::max(std::abs(got - exact) / exact, 1e-8)));
    }
    return std::max(fewest, 0.0);
  };
  std::vector<std::pair<double, double>> subtracted, kept;
  for (double v = 0; v <= last; v += 0.25) {
    subtracted.emplace_back(x(v), y(worst(v, true)));
    kept.emplace_back(x(v), y(worst(v, false)));
  }
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  for (const int v : {0, 2, 4, 6, 8}) d.text(left - 8, y(v) + 4, fmt::format("{}", v), "mute", at::end);
  for (const int v : {0, 4, 8, 12, 16, 20}) d.text(x(v), bottom + 17, fmt::format("{}", v), "mute", at::middle);
  d.text(right + 12, bottom + 17, "x", "mute");
  d.curve(subtracted, "waste-line");
  d.curve(kept, "used-line");
  d.text(right + 10, kept.back().second + 4, "e / (1 + e)²", "used-text");
  d.text(right + 10, bottom - 4, "s (1 − s)", "waste-text");
  d.text(margin, bottom + 38, "correct digits in float, the worst of 64 inputs around each x", "mute");
  return d;
}

/// The roofline's time for both versions of a chain of sigmoids on an H200, by its length.
drawing longer() {
  const double bytes = device_figure("h200", "dram_bytes_per_second") * 1e-12,
               exps = exponentials_per_second("h200") * 1e-12;
  const auto kernel = [&](double passes, double exponentials) {
    return std::max(4 * passes / bytes, exponentials / exps);
  };
  const auto stored = [&](int n) { return kernel(1 + n, n) + kernel(std::max(n + 1, 3), 1); };
  const auto again = [&](int n) { return kernel(2, n) + kernel(3, n); };
  const int most = 12;
  drawing d("longer", "Time per element by the length of the chain, by the roofline: recomputing stays below storing.");
  const double left = margin + 30, right = slide_width - margin - 132, top = 20, bottom = 176, high = stored(most);
  const auto x = [&](double n) { return left + (right - left) * (n - 1) / (most - 1); };
  const auto y = [&](double t) { return bottom - (bottom - top) * t / high; };
  std::vector<std::pair<double, double>> above, below;
  for (int n = 1; n <= most; ++n) {
    above.emplace_back(x(n), y(stored(n)));
    below.emplace_back(x(n), y(again(n)));
    d.text(x(n), bottom + 17, fmt::format("{}", n), n == 3 ? "h" : "mute", at::middle);
  }
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  for (const double t : {0.0, 10.0, 20.0}) d.text(left - 8, y(t) + 4, fmt::format("{:.0f}", t), "mute", at::end);
  d.curve(above, "waste-line");
  d.curve(below, "used-line");
  for (const auto& [px, py] : above) d.dot(px, py, 2.5, "waste");
  for (const auto& [px, py] : below) d.dot(px, py, 2.5, "used");
  d.text(right + 10, y(stored(most)) + 4, "stored", "waste-text");
  d.text(right + 10, y(again(most)) + 4, "recomputed", "used-text");
  d.line(x(3), top + 20, x(3), bottom, "pen");
  d.text(x(3) + 6, top + 26, fmt::format("3 sigmoids: {:.3f}", again(3) / stored(3)));
  d.text(margin, bottom + 38, "sigmoids in the chain; picoseconds per element, by the roofline of an H200", "mute");
  return d;
}

/// Nine equal layers: by how many are kept, the longest run between them and the peak.
drawing nine() {
  const int layers = 9, budget = 6;
  drawing d("nine", "Nine equal layers with some of them kept: the longest dropped run and the peak.");
  const double cell = 30, left = margin + 74, right = left + layers * cell + 22;
  double y = 34;
  d.text(right, y - 12, "kept + longest run = peak", "mute");
  for (int keep = 1; keep <= budget; ++keep) {
    const int runs = keep + 1, dropped = layers - keep;
    int longest = 0, at = 0;
    d.text(margin, y + 16, fmt::format("{} kept", keep));
    for (int r = 0; r < runs; ++r) {
      const int length = dropped / runs + (r < dropped % runs ? 1 : 0);
      longest = std::max(longest, length);
      for (int i = 0; i < length; ++i) d.box(left + at++ * cell, y, cell - 4, 22, "idle", 3);
      if (r < keep) d.box(left + at++ * cell, y, cell - 4, 22, "used", 3);
    }
    const int peak = keep + longest;
    d.text(right, y + 16, fmt::format("{} + {} = {}", keep, longest, peak),
           peak <= budget ? "h used-text" : "h waste-text");
    y += 29;
  }
  d.legend(y + 12, {{"used", "kept"}, {"idle", "dropped"}});
  return d;
}

/// A block of GPT-2 (width 768, 1024 tokens) as a chain of eight layers; elementwise ones cost 10 operations each.
struct block_layer {
  const char* name;
  double floats, flops;  ///< of the activation, per token; whole numbers, so sums are exact
};
constexpr double block_tokens = 4 * 1024, block_budget = 180;  // MB
double megabytes(double floats) { return 4e-6 * block_tokens * floats; }
double gigaflops(double flops) { return 1e-9 * block_tokens * flops; }
std::vector<block_layer> block_layers() {
  const double c = 768, t = 1024;
  return {{"norm", c, 10 * c}, {"qkv", 3 * c, 6 * c * c}, {"attention", c, 4 * t * c}, {"project", c, 2 * c * c},
          {"norm", c, 10 * c}, {"up", 4 * c, 8 * c * c},  {"GELU", 4 * c, 40 * c},     {"down", c, 8 * c * c}};
}
struct block_plan {
  double kept, longest, again;  ///< floats and FLOPs per token
  unsigned keep;
  double peak() const { return kept + longest; }
};
std::vector<block_plan> block_plans() {
  const auto layers = block_layers();
  std::vector<block_plan> plans;
  for (unsigned keep = 0; keep < 1u << layers.size(); ++keep) {
    block_plan p{0, 0, 0, keep};
    double run = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const bool keeps = (keep >> i & 1) != 0;
      run = keeps ? 0 : run + layers[i].floats;
      p.longest = std::max(p.longest, run);
      (keeps ? p.kept : p.again) += keeps ? layers[i].floats : layers[i].flops;
    }
    plans.push_back(p);
  }
  return plans;
}

drawing block(bool planned) {
  const auto layers = block_layers();
  const double high = 84, cell = slide_inner / static_cast<double>(layers.size());
  block_plan best{1e300, 0, 1e300, 0};
  for (const block_plan& p : block_plans())
    if (megabytes(p.peak()) <= block_budget && p.again < best.again) best = p;
  drawing d(planned ? "block_kept" : "block_costs", "A block of GPT-2 as a chain: megabytes and GFLOPs of each layer.");
  block_layer all{"", 0, 0}, most{"", 0, 0};
  for (const auto& l : layers) {
    all.floats += l.floats, all.flops += l.flops;
    most.floats = std::max(most.floats, l.floats), most.flops = std::max(most.flops, l.flops);
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& l = layers[i];
    const bool kept = (best.keep >> i & 1) != 0;
    const double x = margin + static_cast<double>(i) * cell, giga = gigaflops(l.flops);
    const double bytes = high * l.floats / most.floats, work = std::max(high * l.flops / most.flops, 1.0);
    d.box(x + 8, 40 + high - bytes, 20, bytes, !planned || kept ? "used" : "idle", 1);
    d.box(x + 32, 40 + high - work, 20, work, !planned || !kept ? "time" : "idle", 1);
    d.text(x + 30, 142, l.name, "", at::middle);
    d.text(x + 30, 158, fmt::format("{:.0f} MB", megabytes(l.floats)), "s mute", at::middle);
    d.text(x + 30, 173, giga < 1 ? fmt::format("{:.1g} GFLOP", giga) : fmt::format("{:.0f} GFLOP", giga), "s mute",
           at::middle);
    if (planned) d.text(x + 30, 190, kept ? "keep" : "drop", kept ? "used-text" : "time-text", at::middle);
  }
  d.legend(26, {{"used", planned ? "kept" : "memory of its activation"},
                {"time", planned ? "computed again" : "work that computes it"}});
  if (!planned) {
    d.text(margin, 200, fmt::format("{:.0f} MB in all, {:.0f} GFLOP", megabytes(all.floats), gigaflops(all.flops)),
           "h");
    return d;
  }
  // In a chain of blocks each kept activation is held, and one run at a time.
  const int blocks = 12;
  d.text(margin, 214,
         fmt::format("{} blocks: peak {:.2f} GB instead of {:.2f}, for {:.1f} % more FLOPs", blocks,
                     1e-3 * megabytes(blocks * best.kept + best.longest), 1e-3 * megabytes(blocks * all.floats),
                     100 * best.again / all.flops),
         "h used-text");
  return d;
}

/// All plans for the block, by what they cost in memory and in work, and those that no other plan beats.
drawing plans() {
  drawing d("plans", "All plans for a block: memory at the peak and FLOPs computed again.");
  const double left = margin + 34, right = slide_width - margin - 132, top = 20, bottom = 176, least = 100;
  const auto all = block_plans();
  double widest = 0, most = 0;
  for (const block_plan& p : all)
    widest = std::max(widest, megabytes(p.peak())), most = std::max(most, gigaflops(p.again));
  const auto x = [&](double v) { return left + (right - left) * (v - least) / (widest - least); };
  const auto y = [&](double v) { return bottom - (bottom - top) * v / most; };
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  int unbeaten = 0;
  for (const bool front : {false, true})
    for (const block_plan& p : all) {
      const bool beaten = std::any_of(all.begin(), all.end(), [&](const block_plan& o) {
        return o.peak() <= p.peak() && o.again <= p.again && (o.peak() < p.peak() || o.again < p.again);
      });
      if (beaten == front) continue;
      unbeaten += front ? 1 : 0;
      d.dot(x(megabytes(p.peak())), y(gigaflops(p.again)), front ? 4 : 2.4, front ? "used" : "idle");
    }
  d.line(x(block_budget), top, x(block_budget), bottom, "waste-line");
  d.text(x(block_budget), top - 6, "budget", "waste-text", at::middle);
  for (const double v : {100.0, 150.0, 200.0}) d.text(x(v), bottom + 17, fmt::format("{:.0f}", v), "mute", at::middle);
  for (const double v : {0.0, 20.0, 40.0, 60.0}) d.text(left - 8, y(v) + 4, fmt::format("{:.0f}", v), "mute", at::end);
  d.text(right + 14, top + 40, fmt::format("{} of {} plans:", unbeaten, all.size()), "h used-text");
  d.text(right + 14, top + 58, "no other beats them", "used-text");
  d.text(margin, bottom + 38, "upwards: GFLOP computed again; to the right: MB held at the peak", "mute");
  return d;
}

}  // namespace

void recomputation(drawing_list& to) {
  for (const auto make : {held, valley, exponentials}) to.push_back(make());
  const std::vector<int> all(6, 1), third{0, 0, 1, 0, 0, 1, 0, 0, 1}, last_three{0, 0, 0, 1, 1, 1};
  to.push_back(held_until("all_forward", all, 6, "Six layers forward: every activation is kept."));
  to.push_back(held_until("all_back", all, 12, "Six layers forward and backward: the first made is the last used."));
  to.push_back(held_until("third_forward", third, 9, "Nine layers forward: every third activation is kept."));
  to.push_back(held_until("third_back", third, run(third).steps, "Nine layers forward and backward, in runs of two."));
  to.push_back(held_until("account", last_three, run(last_three).steps, "Six layers, the first three dropped."));
  for (const int step : {1, 2, 3}) to.push_back(gate(step));
  for (const auto make : {price, gate_ridge, digits, longer, nine, plans}) to.push_back(make());
  for (const bool planned : {false, true}) to.push_back(block(planned));
}

}  // namespace drawings
