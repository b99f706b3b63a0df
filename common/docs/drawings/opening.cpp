// The opening and the closing: two limits of an operation, near and far memory, threads, a lab's way, and what became
// of predictions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

const double elements = 268'435'456;  // 2^28 floats, read and written

double ms_of_bytes() { return 8 * elements / device_figure("a100", "copy_bytes_per_second") * 1e3; }
double ms_of(double operations) { return operations * elements / device_figure("a100", "fp32_flops_per_second") * 1e3; }

/// The two least times of y = 2 x.
drawing two_limits() {
  drawing d("two_limits", "Least times of y = 2 x for its bytes and for its arithmetic.");
  const double left = margin + 96, scale = (slide_inner - 200) / ms_of_bytes();
  const auto bar = [&](double y, const char* words, const char* role, double ms) {
    d.text(margin, y + 24, words);
    d.box(left, y, std::max(ms * scale, 2.0), 38, role, 1);
    d.text(left + std::max(ms * scale, 2.0) + 10, y + 24, fmt::format("{:.3f} ms", ms), "h");
  };
  bar(20, "bytes", "used", ms_of_bytes());
  bar(76, "arithmetic", "time", ms_of(1));
  d.text(margin, 150, "bytes: 2 · 4 · 268 million, over what a copy moves per second");
  d.text(margin, 174, "arithmetic: 268 million multiplications, over what a product computes per second");
  return d;
}

/// Least times for more and more operations per element.
drawing free_work() {
  drawing d("free_work", "Up to about 90 operations per element the bytes take longer.");
  const double left = margin + 120, scale = (slide_inner - 200) / ms_of(200);
  double y = 20;
  for (const double operations : {1.0, 20.0, 80.0, 200.0}) {
    const double ms = ms_of(operations);
    d.text(margin, y + 20, fmt::format("{:.0f} operation{}", operations, operations == 1 ? "" : "s"));
    d.box(left, y, std::max(ms * scale, 2.0), 30, "time", 1);
    d.text(left + std::max(std::max(ms, 0.0) * scale, 2.0) + 8 +
               (ms < ms_of_bytes() && ms > 0.8 * ms_of_bytes() ? ms_of_bytes() * scale - ms * scale : 0),
           y + 20, fmt::format("{:.2f} ms", ms));
    y += 42;
  }
  d.line(left + ms_of_bytes() * scale, 10, left + ms_of_bytes() * scale, y - 4, "used-line");
  d.text(left + ms_of_bytes() * scale, y + 14, fmt::format("bytes: {:.2f} ms", ms_of_bytes()), "h used-text",
         at::middle);
  return d;
}

/// The same four on an A100's roofline, both axes logarithmic.
drawing four_points() {
  const double rate = device_figure("a100", "copy_bytes_per_second") / 1e12,
               peak = device_figure("a100", "fp32_flops_per_second") / 1e12;
  drawing d("four_points", "One to 200 operations per element on the roofline of an A100.");
  const double left = margin + 66, right = slide_width - margin - 20, base = 160, top = 26;
  const auto x = [&](double intensity) { return left + (right - left) * std::log2(intensity / 0.0625) / 10; };
  const auto y = [&](double tera) { return base - (base - top) * std::log2(tera / 0.0625) / std::log2(30 / 0.0625); };
  d.line(left, top - 8, left, base, "pen");
  d.line(left, base, right, base, "pen");
  d.curve({{x(0.0625), y(0.0625 * rate)}, {x(peak / rate), y(peak)}, {x(64), y(peak)}}, "used-line");
  for (const double operations : {1.0, 20.0, 80.0, 200.0}) {
    const double intensity = operations / 8, tera = std::min(peak, intensity * rate);
    d.dot(x(intensity), y(tera), 4.5, "time");
    d.text(x(intensity) + 8, y(tera) + 18, fmt::format("{:.0f}", operations), "h time-text");
  }
  for (const double tick : {0.125, 1.0, 8.0, 64.0})
    d.text(x(tick), base + 17, fmt::format("{:g}", tick), "mute", at::middle);
  d.text(left - 6, y(peak) + 4, fmt::format("{:.1f} T", peak), "mute", at::end);
  d.line(x(peak / rate), y(peak), x(peak / rate), base, "hair");
  d.text(x(peak / rate), base + 36, fmt::format("ridge: {:.1f}", peak / rate), "h used-text", at::middle);
  d.text(margin, base + 36, "operations per byte", "mute");
  d.text(left + 10, top + 4, "operations per second", "mute");
  return d;
}

/// How large and how far each memory is, on an H200.
drawing near() {
  const double clock = device_figure("h200", "sm_clock_hertz");
  const struct {
    const char *name, *size;
    double cycles;
  } rows[] = {{"shared memory", "228 KiB each", device_figure("h200", "shared_latency_cycles")},
              {"L1", "256 KiB with it", device_figure("h200", "l1_latency_cycles")},
              {"L2", "60 MiB for all", device_figure("h200", "l2_latency_cycles")},
              {"device memory", "140 GiB", device_figure("h200", "dram_latency_seconds") * clock}};
  drawing d("near", "Cycles until a load's value is there, from shared memory to device memory.");
  const double left = margin + 226, scale = (slide_inner - 310) / rows[3].cycles;
  double y = 22;
  for (const auto& r : rows) {
    d.text(margin, y + 21, r.name);
    d.text(margin + 112, y + 21, r.size, "mute");
    d.box(left, y, r.cycles * scale, 32, r.cycles < 100 ? "shared" : r.cycles < 500 ? "used" : "time", 1);
    d.text(left + r.cycles * scale + 8, y + 21, fmt::format("{:.0f} cycles", r.cycles));
    y += 46;
  }
  return d;
}

/// Loads of 4 bytes that must be in flight, and threads that an H200 holds.
drawing waiting() {
  const double needed =
      device_figure("h200", "copy_bytes_per_second") * device_figure("h200", "dram_latency_seconds") / 4;
  const double count = device_figure("h200", "multiprocessors"),
               lanes = count * device_figure("h200", "fp32_lanes_per_sm"),
               most = count * device_figure("h200", "max_threads_per_sm");
  drawing d("waiting", fmt::format("{:.0f} loads of 4 bytes must be in flight.", needed));
  const double left = margin + 150, scale = (slide_inner - 230) / needed;
  double y = 22;
  const auto bar = [&](const char* words, double number, const char* role) {
    d.text(margin, y + 24, words);
    d.box(left, y, number * scale, 38, role, 1);
    d.text(left + number * scale + 8, y + 24, grouped(static_cast<long long>(number)));
    y += 54;
  };
  bar("FP32 lanes", lanes, "shared");
  bar("threads that fit", most, "used");
  bar("loads that must wait", needed, "time");
  d.text(margin, y + 14, "4.25 TB/s times 0.373 µs: 1.6 MB are under way, a float in each load", "mute");
  return d;
}

/// A grid and one of its blocks; and one of its warps.
drawing levels(bool warp) {
  drawing d(warp ? "levels_2" : "levels_1", "A grid of blocks, a block of warps, a warp of 32 threads.");
  const double left = margin + 70;
  d.text(margin, 44, "grid", "h");
  for (int i = 0; i < 12; ++i)
    d.label(left + i * 38, 24, 34, 32, i == 4 ? "used" : "idle", fmt::format("{}", i), i == 4 ? "on" : "mute");
  d.line(left + 4 * 38, 58, left, 94);
  d.line(left + 4 * 38 + 34, 58, left + 8 * 57 - 4, 94);
  d.text(margin, 116, "block", "h");
  for (int i = 0; i < 8; ++i)
    d.label(left + i * 57, 96, 53, 32, i == 2 && warp ? "time" : "used", fmt::format("warp {}", i), "on s");
  if (!warp) {
    d.text(left, 158, "12 blocks of 256 threads: 8 warps in each", "mute");
    return d;
  }
  d.line(left + 2 * 57, 130, left, 166);
  d.line(left + 2 * 57 + 53, 130, left + 32 * 14.2, 166);
  d.text(margin, 186, "warp", "h");
  for (int i = 0; i < 32; ++i) d.box(left + i * 14.2, 168, 12, 30, "time", 1);
  d.text(left, 220, "32 threads: one instruction, one request to memory", "mute");
  return d;
}

/// A warp in which lanes 0 to 15 and 16 to 31 take different ways.
drawing branch() {
  drawing d("branch", "Both sides of a branch run one after the other, each with half of the lanes.");
  const double left = margin + 100, cell = 13.6;
  const auto row = [&](double y, const char* words, int from, int to, const char* role) {
    d.text(margin, y + 22, words);
    for (int i = 0; i < 32; ++i) d.box(left + i * cell, y, cell - 2, 34, i >= from && i < to ? role : "waste", 1);
  };
  d.text(left, 20, "lane 0", "mute");
  d.text(left + 32 * cell, 20, "lane 31", "mute", at::end);
  row(30, "100 cycles", 0, 16, "used");
  row(76, "100 cycles", 16, 32, "time");
  d.text(margin, 142, "200 cycles: each side runs with half of the lanes switched off", "h waste-text");
  d.box(margin, 162, 12, 12, "used");
  d.text(margin + 20, 172, "f(x)");
  d.box(margin + 70, 162, 12, 12, "time");
  d.text(margin + 90, 172, "g(x)");
  d.box(margin + 140, 162, 12, 12, "waste");
  d.text(margin + 160, 172, "switched off");
  return d;
}

/// The way of a function through the judge.
drawing verdicts() {
  drawing d("verdicts", "Right, lean, fast: each question has its verdict.");
  const struct {
    const char *question, *no, *role;
  } rows[] = {{"is it right?", "WRONG, CRASH, TIMEOUT", "used"},
              {"is it lean?", "WASTEFUL", "shared"},
              {"is it fast?", "TOO SLOW", "time"}};
  double y = 20;
  for (const auto& r : rows) {
    d.label(margin, y, 150, 36, r.role, r.question);
    d.arrow(margin + 154, y + 18, margin + 226, y + 18);
    d.text(margin + 180, y + 10, "no", "mute");
    d.label(margin + 230, y, 190, 36, "waste", r.no, "");
    d.arrow(margin + 75, y + 38, margin + 75, y + 55);
    y += 57;
  }
  d.label(margin, y, 150, 30, "reg", "PASS");
  d.text(margin + 230, y + 20, "cannot say: INCONCLUSIVE, NOT ASSESSED", "mute");
  return d;
}

/// What students do in a lab, in a circle.
drawing lab_loop() {
  drawing d("lab_loop", "Predict, write, count, time, explain; then predict again.");
  const char* steps[] = {"predict", "write", "count", "time", "explain"};
  const char* roles[] = {"reg", "used", "shared", "time", "reg"};
  const char* says[] = {"a number", "the kernel", "sectors, bytes", "a ratio", "what was wrong"};
  for (int i = 0; i < 5; ++i) {
    const double x = margin + i * 110;
    d.label(x, 40, 90, 44, roles[i], steps[i]);
    d.text(x + 45, 106, says[i], "mute", at::middle);
    if (i < 4) d.arrow(x + 92, 62, x + 108, 62);
  }
  d.curve({{margin + 4 * 110 + 45, 118}, {margin + 4 * 110 + 45, 150}, {margin + 45, 150}, {margin + 45, 126}}, "pen");
  d.arrow(margin + 45, 128, margin + 45, 114);
  d.text(slide_width / 2, 172, "a wrong prediction teaches more than a right one", "h", at::middle);
  return d;
}

}  // namespace

void opening(drawing_list& to) {
  for (const auto make : {two_limits, free_work, four_points, near, waiting, branch, verdicts, lab_loop})
    to.push_back(make());
  for (const bool warp : {false, true}) to.push_back(levels(warp));
}

}  // namespace drawings
