// Lab 02: when a call returns, what a clock resolves, and what samples say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../../../labs/02_benchmarking/given/liars.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing returns_at_once() {
  drawing d("02_benchmarking", "README.md", "returns_at_once", "A launch returns before the work is done",
            "Two timelines. The host launches and goes on at once, while the device still works. A clock read after "
            "the launch times "
            "only the launch; one read after the wait times the work.");
  const double left = 62, y = 48, start = left + 10, launch = 34, work = 190;
  d.text(margin, y + 14, "host", "mute");
  d.text(margin, y + 54, "device", "mute");
  d.line(left, y + 20, width - margin, y + 20);
  d.line(left, y + 60, width - margin, y + 60);
  d.box(start, y, launch, 20, "idle", 2);
  d.label(start + launch + 4, y, work, 20, "free", "waits: synchronize", "mute");
  d.label(start + launch, y + 40, work + 4, 20, "time", "the work");
  d.arrow(start + launch - 5, y + 21, start + launch - 5, y + 50);
  d.text(start - 2, y - 6, "launch", "mute");
  const double read[] = {start, start + launch, start + launch + work + 4};
  for (const double x : read) d.line(x, y - 2, x, y + 74, "pen");
  const auto span = [&](double to, double at_y, const char* role, const char* words) {
    d.line(start, at_y, to, at_y, std::string(role) + "-line");
    d.line(start, at_y - 4, start, at_y + 4, std::string(role) + "-line");
    d.line(to, at_y - 4, to, at_y + 4, std::string(role) + "-line");
    d.text(to + 8, at_y + 4, words, std::string(role) + "-text");
  };
  span(read[1], y + 86, "waste", "read too early: the launch");
  span(read[2], y + 108, "used", "");
  d.text(start, y + 128, "read after the wait: the work", "used-text");
  return d;
}

drawing warm_up() {
  drawing d("02_benchmarking", "README.md", "warm_up", "The first calls are not like the rest",
            "Times of twelve calls: the first is five times as long, the next two still longer than the others. A "
            "figure from the "
            "later calls describes the function; one from all calls mixes in its start.");
  const double bottom = 150, cell = inner / 12;
  const double times[] = {5, 2.6, 1.5, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  for (int i = 0; i < 12; ++i) {
    const double x = margin + i * cell, h = times[i] * 20;
    d.box(x, bottom - h, cell - 5, h, i < 3 ? "waste" : "time");
  }
  d.line(margin, bottom, width - margin, bottom, "pen");
  d.line(margin + 3 * cell - 2.5, 40, margin + 3 * cell - 2.5, bottom + 6, "pen");
  d.text(margin, bottom + 18, "discard", "waste-text");
  d.text(margin + 3 * cell, bottom + 18, "measure", "time-text");
  d.text(margin + 3 * cell + 6, 52, "load code, compile, allocate:", "mute");
  d.text(margin + 3 * cell + 6, 68, "once, and then never again", "mute");
  d.text(width - margin, bottom + 18, "calls", "mute", at::end);
  return d;
}

drawing ticks() {
  drawing d("02_benchmarking", "README.md", "ticks", "A clock sees only its ticks",
            "Work that takes 0.4 ticks reads as 0 or 1 tick, depending on when it starts. Ten calls in one sample read "
            "as 4 ticks, which "
            "is 0.4 for each.");
  const double left = margin + 4, tick = 62, work = 0.4;
  const auto ruler = [&](double y, int count) {
    d.line(left, y, left + count * tick, y, "pen");
    for (int i = 0; i <= count; ++i) d.line(left + i * tick, y - 6, left + i * tick, y + 6, "pen");
  };
  double y = 74;
  ruler(y, 5);
  for (const double start : {0.2, 1.75, 3.3}) {
    const double reads = std::floor(start + work) - std::floor(start);
    d.box(left + start * tick, y - 26, work * tick, 14, "time");
    d.text(left + (start + work / 2) * tick, y - 32, fmt::format("reads {:.0f}", reads),
           reads > 0 ? "waste-text" : "waste-text", at::middle);
  }
  d.text(left, y + 22, "0.4 ticks of work: 0 or 1", "mute");
  y = 150;
  ruler(y, 5);
  const double start = 0.3;
  for (int i = 0; i < 10; ++i) d.box(left + (start + i * work) * tick, y - 26, work * tick - 2, 14, "time");
  d.text(left, y + 22,
         fmt::format("ten calls: {:.0f} ticks, {:.1f} each", std::floor(start + 10 * work) - std::floor(start),
                     (std::floor(start + 10 * work) - std::floor(start)) / 10),
         "used-text");
  return d;
}

drawing one_in_fifty() {
  lab02::simulated_machine machine({.noise = 0.1, .outlier_every = 50, .outlier_factor = 30}, 6);
  std::vector<double> samples;
  machine.prepare(1);
  for (int i = 0; i < 50; ++i) {
    const double start = machine.steady_seconds();
    machine.keep(machine.run(0));
    samples.push_back((machine.steady_seconds() - start) * 1e3);
  }
  double mean = 0;
  for (const double s : samples) mean += s / 50;
  std::vector<double> sorted = samples;
  std::sort(sorted.begin(), sorted.end());
  const double median = (sorted[24] + sorted[25]) / 2;
  drawing d("02_benchmarking", "README.md", "one_in_fifty", "One interruption in fifty samples",
            fmt::format("Fifty samples of work that takes 1 ms; one was interrupted and took {:.0f} ms. The median is "
                        "{:.2f} ms, the mean "
                        "{:.2f} ms.",
                        sorted[49], median, mean));
  const double left = margin + 6, right = width - margin - 10, y = 124;
  const auto x = [&](double ms) { return left + (right - left) * std::log2(ms / 0.8) / std::log2(36 / 0.8); };
  std::vector<int> level(200, 0);  // dots that would lie on each other are stacked
  for (const double s : sorted) {
    const auto column = static_cast<std::size_t>(x(s) / 4.6);
    d.dot(static_cast<double>(column) * 4.6 + 2.3, y - 5 - level[column]++ * 4.6, s > 10 ? 3.4 : 2.1,
          s > 10 ? "waste" : "time");
  }
  d.line(left - 6, y, right + 10, y, "pen");
  for (const double ms : {1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
    d.line(x(ms), y, x(ms), y + 5, "pen");
    d.text(x(ms), y + 18, fmt::format("{:.0f}", ms), "mute", at::middle);
  }
  d.text(right + 10, y + 34, "ms", "mute", at::end);
  d.arrow(x(median), y + 48, x(median), y + 24, "used-line");
  d.text(margin, y + 62, fmt::format("median {:.2f}", median), "used-text");
  d.arrow(x(mean), y + 48, x(mean), y + 4, "waste-line");
  d.text(x(mean) + 26, y + 62, fmt::format("mean {:.2f}", mean), "waste-text");
  return d;
}

drawing half_the_error() {
  drawing d("02_benchmarking", "README.md", "half_the_error", "Half the error, four times the samples",
            "Standard error of a figure from samples that scatter by 20 per cent: 4 per cent after 25 samples, 2 after "
            "100, 1 after 400.");
  const double spread = 20, centre = 196, scale = 27;
  double y = 50;
  for (const int n : {25, 100, 400}) {
    const double error = spread / std::sqrt(n);
    d.text(margin, y + 4, fmt::format("{} samples", n));
    d.line(centre - error * scale, y, centre + error * scale, y, "used-line");
    for (const double x : {centre - error * scale, centre + error * scale}) d.line(x, y - 6, x, y + 6, "used-line");
    d.dot(centre, y, 3.5, "used");
    d.text(width - margin, y + 4, fmt::format("± {:.0f} %", error), "used-text", at::end);
    y += 32;
  }
  d.text(margin, y + 2, fmt::format("single samples scatter by {:.0f} %", spread), "mute");
  return d;
}

/// The handout's typical benchmark.
double naive_benchmark(lab02::machine& m) {
  double sum = 0;
  m.prepare(1);
  m.run(0);
  for (int trial = 0; trial < 3; ++trial) {
    const double start = m.wall_seconds();
    m.run(0);
    sum += m.wall_seconds() - start;
  }
  return sum / 3;
}

drawing nine_wrong() {
  const struct {
    const char* name;
    lab02::behaviour how;
    bool cold;
  } functions[] = {
      {"optimized_away", {.lazy = 1}, false},
      {"memoizing", {.memoises = 1e-3}, false},
      {"page_faults", {.memoises = 1e-3, .fault_seconds = 2e-3}, false},
      {"second_stream", {.seconds = 4e-3, .launch_seconds = 5e-6, .second_stream = 0.75}, false},
      {"asynchronous", {.seconds = 2e-3, .launch_seconds = 5e-6}, false},
      {"cache_warm_repeat", {.cold_extra = 3e-3}, true},
      {"slow_first_call", {.slow_calls = 1, .slow_extra = 50e-3}, false},
      {"drifting_clock", {.wall_rate = 1.05, .wall_jump = 1e-3}, false},
      {"launch_overhead", {.seconds = 8e-6, .launch_seconds = 2e-5}, false},
      {"lazy_initialization", {.slow_calls = 7, .slow_extra = 4e-3}, false},
  };
  drawing d(
      "02_benchmarking", "SEEN.md", "nine_wrong", "Reported time over true time",
      "What the typical benchmark reports, as a multiple of the true time, on a logarithmic scale: from 0.00002 for "
      "optimized_away to 5 for lazy_initialization. Only slow_first_call is right.");
  const double left = 140, right = width - margin - 40, top = 40;
  const auto x = [&](double r) { return left + (right - left) * (std::log10(r) + 5) / 6; };
  double y = top;
  for (const auto& f : functions) {
    lab02::simulated_machine machine(f.how, 1);
    const double truth = f.how.seconds + (f.cold ? f.how.cold_extra : 0), ratio = naive_benchmark(machine) / truth;
    const bool right_one = std::abs(ratio - 1) < 0.01;
    d.text(margin, y + 8, f.name);
    d.line(x(std::min(ratio, 1.0)), y + 4, x(std::max(ratio, 1.0)), y + 4, "waste-line");
    d.dot(x(ratio), y + 4, 4, right_one ? "used" : "waste");
    d.text(width - margin, y + 8, ratio < 1e-3 ? fmt::format("{:.5f}", ratio) : fmt::format("{:.3g}", ratio), "mute",
           at::end);
    y += 18;
  }
  d.line(x(1), top - 6, x(1), y, "pen");
  d.text(x(1), y + 14, "right", "used-text", at::middle);
  d.text(left, y + 14, "too short", "waste-text");
  return d;
}

drawing side_by_side() {
  drawing d("02_benchmarking", "SEEN.md", "side_by_side", "More steps queue, more rows fill the chip",
            "Time runs to the right, multiprocessors upwards. The base case uses a quarter of the chip. Five times the "
            "steps take five "
            "times as long; five times the rows fill the idle multiprocessors first.");
  const double left = 78, unit = 26, whole = 48;
  const auto panel = [&](double y, const std::string& words, int steps, double share) {
    d.text(margin, y + 28, words);
    for (int s = 0; s < steps; ++s) {
      double rest = share;
      for (int wave = 0; rest > 0; ++wave) {
        const double h = std::min(rest, 1.0) * whole;
        d.box(left + (s * std::ceil(share) + wave) * unit, y + whole - h, unit - 2, h, "time");
        rest -= 1;
      }
    }
    const double end = left + steps * std::ceil(share) * unit;
    d.box(left, y, end - left - 2, whole, "free");
  };
  panel(38, "base", 2, 0.25);
  panel(98, "steps × 5", 10, 0.25);
  panel(158, "rows × 5", 2, 1.25);
  d.arrow(left, 218, width - margin, 218);
  d.text(left, 234, "time", "mute");
  d.text(width - margin, 234, "height: the whole chip", "mute", at::end);
  return d;
}

}  // namespace

void benchmarking(drawing_list& to) {
  for (const auto make : {returns_at_once, warm_up, ticks, one_in_fifty, half_the_error, nine_wrong, side_by_side})
    to.push_back(make());
}

}  // namespace drawings
