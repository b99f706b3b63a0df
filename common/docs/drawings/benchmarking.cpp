// Lab 02: when a call returns, what a clock resolves, and what samples say.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "../../../labs/02_benchmarking/given/liars.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

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
  drawing d("02_benchmarking", "one_in_fifty", "One interruption in fifty samples",
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
      "02_benchmarking", "nine_wrong", "Reported time over true time",
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

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A call between two readings of the clock, as the simulated machine has it: what host and device do meanwhile.
struct call_plan {
  bool waits = false;            ///< for the device, before the clock is read again
  bool only_its_stream = false;  ///< waits for the stream of the call, not for the device
  bool work_before = false;      ///< an earlier call is still at work
  double second_stream = 0;      ///< share of the work
};
drawing timed_call(const std::string& name, const call_plan& plan, const std::string& says) {
  const double work = 60e-6, launch = 6e-6, whole = 150e-6;
  lab02::simulated_machine m({.seconds = work, .launch_seconds = launch, .second_stream = plan.second_stream}, 1);
  m.prepare(2);
  const double origin = m.elapsed() - 5e-6, left = margin + 66, scale = (slide_inner - 66) / whole;
  const bool two = plan.second_stream > 0;
  drawing d(name, says);
  const auto x = [&](double t) { return left + (t - origin) * scale; };
  const char* rows[] = {"host", two ? "stream 1" : "device", "stream 2"};
  const double top = 44, row = two ? 42 : 58, high = two ? 28 : 40;
  for (int r = 0; r < (two ? 3 : 2); ++r) {
    d.text(margin, top + r * row + high / 2 + 4, rows[r], "mute");
    d.line(left, top + r * row + high, slide_width - margin, top + r * row + high);
  }
  const auto ends = [&](bool device) {  // when a wait would return now
    lab02::simulated_machine copy = m;
    device ? copy.wait_for_device() : copy.wait_for_stream();
    return copy.elapsed();
  };
  const auto run = [&](int i, const char* role) {
    const double from = m.elapsed(), busy = ends(false);
    m.keep(m.run(i));
    d.box(x(from), top, x(m.elapsed()) - x(from), high, "idle", 1);
    const double start = std::max(busy, m.elapsed()), first = ends(false), last = ends(true);
    d.label(x(start), top + row, x(first) - x(start) - 1, high, role,
            i == 0 ? "earlier work"
            : two  ? "work"
                   : "the work",
            i == 0 ? "mute" : "on");
    if (two) d.label(x(first), top + 2 * row, x(last) - x(first) - 1, high, role, "the rest of the work");
  };
  if (plan.work_before) run(0, "idle");
  double marks[2];
  marks[0] = m.steady_seconds();
  run(1, "time");
  if (plan.waits) {
    const double from = m.elapsed();
    plan.only_its_stream ? m.wait_for_stream() : m.wait_for_device();
    d.label(x(from), top, x(m.elapsed()) - x(from) - 1, high, "free", "waits", "mute");
  }
  marks[1] = m.steady_seconds();
  const double bottom = top + (two ? 3 : 2) * row;
  for (const double t : marks) d.line(x(t), top - 14, x(t), bottom + 4, "pen");
  d.text(x(marks[0]), top - 20, "clock", "s mute", at::middle);
  if (x(marks[1]) - x(marks[0]) > 40) d.text(x(marks[1]), top - 20, "clock", "s mute", at::middle);
  const double reads = (marks[1] - marks[0]) * 1e6;
  d.text(left, bottom + 30, fmt::format("reads {:.0f} µs", reads),
         std::abs(reads - 66) < 1 ? "h used-text" : "h waste-text");
  d.text(left + 150, bottom + 30, fmt::format("launch {:.0f} µs, work {:.0f} µs", launch * 1e6, work * 1e6), "mute");
  return d;
}

/// The lecture's products of matrices on an A100.
drawing rises() {
  const struct {
    int n;
    double ms;
  } products[] = {{1024, 0.22}, {2048, 1.28}, {4096, 9.32}, {8192, 59.71}, {16384, 462.52}};
  drawing d("rises", "Throughput of square matrix products on an A100 rises with n.");
  const double left = margin + 20, cell = (slide_inner - 40) / 5, bottom = 168, high = 6.6;
  for (int i = 0; i < 5; ++i) {
    const auto& p = products[i];
    const double rate = 2.0 * p.n * p.n * p.n / (p.ms * 1e-3) * 1e-12, x = left + i * cell;
    d.box(x + 18, bottom - rate * high, cell - 36, rate * high, "time", 2);
    d.text(x + cell / 2, bottom - rate * high - 8, fmt::format("{:.1f}", rate), "h", at::middle);
    d.text(x + cell / 2, bottom + 18, fmt::format("{}", p.n), "", at::middle);
    d.text(x + cell / 2, bottom + 34, fmt::format("{:.2f} ms", p.ms), "s mute", at::middle);
  }
  d.line(left, bottom, slide_width - margin - 20, bottom, "pen");
  d.text(margin, 20, "TFLOP/s", "mute");
  return d;
}

/// A launch, then rounds of loads, for which all threads wait at the same time.
drawing rounds() {
  drawing d("rounds", "Two launches; in each, four threads wait for six rounds of loads at the same time.");
  const double left = margin + 74, launch = 62, round = 24;
  for (int l = 0; l < 2; ++l) {
    const double x = left + l * (launch + 6 * round + 10);
    d.label(x, 22, launch - 4, 30, "idle", "launch", "mute");
    for (int t = 0; t < 4; ++t)
      for (int r = 0; r < 6; ++r) d.box(x + launch + r * round, 66 + t * 25, round - 3, 18, "time", 2);
  }
  d.text(margin, 42, "host", "mute");
  for (int t = 0; t < 4; ++t) d.text(margin, 80 + t * 25, fmt::format("thread {}", t), "mute");
  d.arrow(left, 178, slide_width - margin, 178);
  d.text(left, 196, "time", "mute");
  d.text(slide_width - margin, 196, "a box: one load, and the wait for it", "time-text", at::end);
  return d;
}

/// Times of the first calls of a function, and which of them a rule for the warm-up discards.
drawing warm_up_rules() {
  const int calls = 16, slow = 7;
  lab02::simulated_machine m({.slow_calls = slow, .slow_extra = 4e-3}, 1);
  m.prepare(calls);
  std::vector<double> ms;
  for (int i = 0; i < calls; ++i) {
    const double start = m.steady_seconds();
    m.keep(m.run(i));
    ms.push_back((m.steady_seconds() - start) * 1e3);
  }
  drawing d("warm_up_rules", "Sixteen calls, seven of them slow; three rules, and what each of them discards.");
  const double left = margin + 150, cell = (slide_inner - 150) / calls, bottom = 104;
  d.text(margin, 60, "milliseconds", "mute");
  for (int i = 0; i < calls; ++i) {
    const double x = left + i * cell, h = ms[static_cast<std::size_t>(i)] * 13;
    d.box(x, bottom - h, cell - 4, h, i < slow ? "waste" : "time", 1);
    d.text(x + cell / 2 - 2, bottom - h - 5, fmt::format("{:.0f}", ms[static_cast<std::size_t>(i)]), "s", at::middle);
  }
  int calm = 0, third = 1;  // the first rule that looks: three calls in a row that are no faster
  for (; calm < 3; ++third)
    calm = ms[static_cast<std::size_t>(third)] > 0.9 * ms[static_cast<std::size_t>(third - 1)] ? calm + 1 : 0;
  double y = 124;
  for (const auto& [words, discards] : std::vector<std::pair<const char*, int>>{
           {"one call", 1}, {"until three calm calls", third}, {"and at least ten", 10}}) {
    const bool right_one = discards >= slow;
    d.text(margin, y + 13, words, right_one ? "used-text" : "");
    d.box(left, y, discards * cell - 4, 18, "idle", 2);
    d.text(left + discards * cell + 6, y + 13, right_one ? "sees 1 ms" : "still sees 5 ms",
           right_one ? "used-text" : "waste-text");
    y += 27;
  }
  d.text(margin, y + 12, "grey: discarded", "mute");
  return d;
}

/// What the same call costs after prepare, touch, flush and wait in another order.
drawing orders() {
  const lab02::behaviour how{.seconds = 1e-3, .cold_extra = 3e-3, .launch_seconds = 5e-6, .fault_seconds = 2e-3};
  const struct {
    const char* words;
    const char* steps;
  } plans[] = {
      {"flush, wait", "fw"}, {"flush, touch, wait", "ftw"}, {"touch, flush", "tf"}, {"touch, flush, wait", "tfw"}};
  drawing d("orders", "A cold call costs 4 ms. Only touch, flush, wait measures that.");
  const double left = margin + 150, scale = 46;
  double y = 26;
  for (const auto& p : plans) {
    lab02::simulated_machine m(how, 1);
    for (int warm = 0; warm < 2; ++warm) {  // the second sample counts: the first has warmed the caches
      m.prepare(1);
      for (const char* s = p.steps; *s != 0; ++s)
        *s == 't' ? m.touch() : *s == 'f' ? m.flush_caches() : m.wait_for_device();
      const double start = m.steady_seconds();
      m.keep(m.run(0));
      m.wait_for_device();
      const double ms = (m.steady_seconds() - start) * 1e3 - 5e-3;
      if (warm == 0) continue;
      const bool right_one = std::abs(ms - 4) < 0.01;
      d.text(margin, y + 18, p.words, right_one ? "used-text" : "");
      d.box(left, y, ms * scale, 26, right_one ? "used" : "waste", 2);
      d.text(left + ms * scale + 8, y + 18, fmt::format("{:.1f} ms", ms), right_one ? "h used-text" : "h waste-text");
    }
    y += 40;
  }
  d.line(left + 4 * scale, 18, left + 4 * scale, y - 8, "pen");
  d.text(margin, y + 14, "work 1 ms, cold caches 3 ms more, first touch of new memory 2 ms, flushing 0.1 ms", "mute");
  return d;
}

/// A wall clock that runs fast and is set back, beside the steady one.
drawing two_clocks() {
  lab02::simulated_machine m({.wall_rate = 1.05, .wall_jump = 1e-3}, 1);
  drawing d("two_clocks", "The wall clock gains on the steady one and is set back every 10 ms.");
  const double left = margin + 30, right = slide_width - margin - 130, top = 20, bottom = 176, whole = 20, high = 1.2;
  m.rest(0.002);
  const double wall = m.wall_seconds(), steady = m.steady_seconds();
  const auto x = [&](double ms) { return left + (right - left) * ms / whole; };
  const auto y = [&](double ms) { return (top + bottom) / 2 - (bottom - top) / 2 * ms / high; };
  std::vector<std::pair<double, double>> points;
  for (double t = 0; t < whole; t = (m.elapsed() - steady) * 1e3) {
    const double gain = (m.wall_seconds() - wall) * 1e3 - (m.steady_seconds() - steady) * 1e3;
    points.emplace_back(x(t), y(gain));
    m.rest(0.0001);
  }
  d.line(left, top, left, bottom, "pen");
  d.line(left, y(0), right, y(0), "used-line");
  d.curve(points, "waste-line");
  for (const double v : {-1.0, 0.0, 1.0}) d.text(left - 8, y(v) + 4, fmt::format("{:.0f}", v), "mute", at::end);
  for (const double v : {0.0, 5.0, 10.0, 15.0, 20.0})
    d.text(x(v), bottom + 17, fmt::format("{:.0f}", v), "mute", at::middle);
  d.text(right + 10, y(0) + 4, "steady clock", "used-text");
  d.text(right + 10, std::clamp(points.back().second, top, bottom) + 20, "wall clock", "waste-text");
  d.text(margin, bottom + 38, "milliseconds by which a clock is ahead, by milliseconds that have passed", "mute");
  return d;
}

/// The samples of a function with two real costs.
drawing two_modes() {
  lab02::simulated_machine m({.noise = 0.06, .slow_mode = 1.6}, 3);
  const int samples = 200;
  m.prepare(samples);
  std::vector<double> ms;
  for (int i = 0; i < samples; ++i) {
    const double start = m.steady_seconds();
    m.keep(m.run(i));
    ms.push_back((m.steady_seconds() - start) * 1e3);
  }
  std::sort(ms.begin(), ms.end());
  drawing d("two_modes", "Two hundred samples with two modes, at 1 and at 1.6 ms.");
  const double left = margin + 10, right = slide_width - margin - 10, bottom = 150;
  const auto x = [&](double v) { return left + (right - left) * (v - 0.85) / (1.8 - 0.85); };
  std::vector<int> level(200, 0);
  for (const double v : ms) {
    const auto column = static_cast<std::size_t>(x(v) / 5.4);
    d.dot(static_cast<double>(column) * 5.4 + 2.7, bottom - 5 - level[column]++ * 5.4, 2.5, "time");
  }
  d.line(left, bottom, right, bottom, "pen");
  for (const double v : {1.0, 1.2, 1.4, 1.6}) d.text(x(v), bottom + 17, fmt::format("{:.1f}", v), "mute", at::middle);
  d.text(right, bottom + 17, "ms", "mute", at::end);
  const double median = (ms[99] + ms[100]) / 2;
  d.arrow(x(median), bottom + 52, x(median), bottom + 24, "used-line");
  d.text(x(median) + 10, bottom + 50, fmt::format("median {:.2f} ms", median), "h used-text");
  int slow = 0;
  for (const double v : ms) slow += v > 1.3 ? 1 : 0;
  d.text(x(1.6), bottom + 50, fmt::format("{} of {} calls", slow, samples), "time-text", at::middle);
  return d;
}

/// Samples of a processor that gets hot, with and without a rest.
drawing hot() {
  drawing d("hot", "Samples double when the clock rate halves; a rest brings it back.");
  const double left = margin + 92, cell = (slide_inner - 92) / 40;
  double bottom = 84;
  for (const bool rests : {false, true}) {
    lab02::simulated_machine m({.throttle_after = 12e-3, .throttle_share = 0.5}, 1);
    m.prepare(40);
    d.text(margin, bottom - 30, rests ? "rests" : "goes on");
    int counted = 0, calls = 0;
    for (double at = 0; at < 39.5; ++calls) {
      const double start = m.steady_seconds();
      m.keep(m.run(calls));
      const double ms = (m.steady_seconds() - start) * 1e3;
      const bool slow = m.clock_share() < 0.98;
      counted += slow ? 0 : 1;
      d.box(left + at * cell, bottom - ms * 26, cell - 2, ms * 26, slow ? "waste" : "used", 1);
      at += 1;
      if (!slow || !rests) continue;
      m.rest(0.2);
      d.text(left + at * cell + 3, bottom - 8, "rest", "s mute");
      at += 3;
    }
    d.text(slide_width - margin, bottom + 18, fmt::format("{} of {} samples count", counted, calls),
           rests ? "used-text" : "waste-text", at::end);
    bottom += 100;
  }
  d.legend(bottom - 84, {{"used", "full clock rate"}, {"waste", "half of it"}});
  return d;
}

}  // namespace

void benchmarking(drawing_list& to) {
  for (const auto make : {one_in_fifty, nine_wrong}) to.push_back(make());
  to.push_back(timed_call("call_alone", {}, "The clock is read after the launch, while the device works."));
  to.push_back(timed_call("call_waits", {.waits = true}, "The clock is read after the work has ended."));
  to.push_back(timed_call("call_queued", {.waits = true, .work_before = true}, "The call queues after earlier work."));
  for (const bool one : {true, false})
    to.push_back(timed_call(one ? "streams_one" : "streams_all",
                            {.waits = true, .only_its_stream = one, .second_stream = 0.75},
                            one ? "A wait for one stream leaves the other at work." : "A wait for the device."));
  for (const auto make : {rises, rounds, warm_up_rules, orders, two_clocks, two_modes, hot}) to.push_back(make());
}

}  // namespace drawings
