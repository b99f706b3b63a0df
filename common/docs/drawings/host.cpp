// Lab 12: system calls, pages, threads, streams and cache lines; what misses and moves is counted by the lab's own
// cache.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "../../../labs/12_host/given/cache.hpp"
#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab12 = "12_host";

/// Four layers on the modelled clock: copies of 384 x 384 floats, and four kernels each.
drawing streaming() {
  drawing d(lab12, "streaming", "Weights that pass through",
            "One after the other, the copy engine rests while kernels run, and kernels rest during copies. With two "
            "buffers the next layer's weights are copied while a layer works.");
  const double gap = 1e6 * device_figure("h200", "launch_seconds");
  const double copy = 1e6 * 384 * 384 * 4 / device_figure("h200", "host_copy_bytes_per_second");
  const double kernels = 4 * gap;
  constexpr int layers = 4;
  const double scale = inner / (layers * (copy + gap + kernels)), high = 20;
  const auto place = [&](double y, double from, double takes, std::string_view role, int layer) {
    d.label(margin + scale * from, y, scale * takes - 1, high, role, fmt::format("{}", layer));
  };
  const auto rows = [&](double y) {
    for (const double row : {y, y + high + 4}) d.line(margin, row + high + 1, margin + inner, row + high + 1);
  };
  d.text(margin, 48, "one after the other", "waste-text");
  rows(58);
  double end = 0;
  for (int layer = 0; layer < layers; ++layer) {
    place(58, end, copy, "time", layer);
    place(58 + high + 4, end + copy + gap, kernels, "used", layer);
    end += copy + gap + kernels;
  }
  d.text(margin, 132, "two buffers, two streams, a graph for each layer", "used-text");
  rows(142);
  const double in_graph = 4e6 * device_figure("h200", "kernel_floor_seconds");
  for (int layer = 0; layer < layers; ++layer) {
    place(142, layer * (copy + gap), copy, "time", layer);
    place(142 + high + 4, layer * (copy + gap) + copy, in_graph, "used", layer);
  }
  d.arrow(margin, 202, margin + inner, 202);
  d.text(margin + inner, 218, fmt::format("{:.0f} µs", end), "mute", at::end);
  d.legend(236, {{"time", "copies"}, {"used", "kernels"}});
  return d;
}

/// Which sets the lines of a column go to.
drawing sets() {
  drawing d(
      lab12, "sets", "Where the lines of a column go",
      "Rows of 2048 bytes: all 512 lines of a column go to two of 64 sets. With 64 bytes more per row they go to all "
      "sets, eight lines to each.");
  const auto counts = [](int row_lines) {
    std::vector<int> all(64);
    for (int row = 0; row < 512; ++row) ++all[static_cast<std::size_t>(row * row_lines % 64)];
    return all;
  };
  const auto bars = [&](double y, int row_lines) {
    const std::vector<int> all = counts(row_lines);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double high = all[i] == 0 ? 2 : all[i] > 16 ? 56 : 2.0 * all[i];
      d.box(margin + static_cast<double>(i) * 5.2, y + 58 - high, 4.2, high,
            all[i] > 16  ? "waste"
            : all[i] > 0 ? "used"
                         : "idle",
            0.5);
    }
    d.line(margin, y + 58 - 32, margin + 64 * 5.2, y + 58 - 32, "pen");
  };
  d.text(margin, 48, "rows of 2048 bytes: 256 lines for each of two sets", "waste-text");
  bars(56, 32);
  d.text(margin, 148, "rows of 2112 bytes: eight lines for each set", "used-text");
  bars(156, 33);
  d.text(margin, 236, "Line: the 16 lines that a set holds. Sets 0 to 63 →", "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A token on a timeline: what the device does, that the host is busy, and with what.
drawing meanwhile(int step) {
  drawing d(fmt::format("meanwhile_{}", step),
            step == 1   ? "Kernels of a token, with gaps between them, and a host that is always busy."
            : step == 2 ? "The host is busy all the time."
                        : "What the host does in each gap.");
  struct span {
    const char* words;
    double host, kernel;
  };
  const double left = margin + 58, top = 32;
  d.text(margin, top + 20, "device");
  d.text(margin, top + 86, "host");
  double x = left;
  for (const span& s : {span{"read weights", 96, 34}, span{"allocate", 74, 44}, span{"start threads", 102, 26},
                        span{"ask again", 84, 40}, span{"launch", 62, 30}}) {
    const double before = x;
    x += s.host;
    d.box(x, top, s.kernel, 32, "used", 2);
    if (step == 2) d.box(before, top + 66, s.host - 2, 32, "idle", 2);
    if (step == 3) d.label(before, top + 66, s.host - 2, 32, "waste", s.words, "");
    x += 4;
  }
  if (step == 1) d.label(left, top + 66, x - 6 - left, 32, "idle", "one core, busy all the time: with what?", "");
  d.arrow(left, top + 122, slide_width - margin, top + 122);
  d.text(slide_width - margin, top + 140, "time", "mute", at::end);
  d.text(margin, top + 162,
         step == 1   ? "Five kernels, and most of the time the device is idle."
         : step == 2 ? "top says: one core at 100 %. It does not say with what."
                     : "Each of these is a call, a fault or a wait. All can be counted.",
         "h");
  return d;
}

/// Into the kernel and back, by a call and by a page fault.
drawing entered(bool fault) {
  drawing d(fault ? "entered_2" : "entered_1", fault ? "A page fault enters the kernel without a call."
                                                     : "A system call enters the kernel and comes back.");
  const double top = 30, low = 112, h = 34;
  d.text(margin, top + 22, "your program");
  d.text(margin, low + 22, "kernel");
  d.line(margin, 90, slide_width - margin, 90, "hair");
  d.label(104, top, 92, h, "idle", fault ? "p[0] = 1" : "read(...)", "");
  d.line(196, top + h, 212, low, "pen");
  d.label(204, low, 60, h, "waste", "enter", "");
  d.label(266, low, 60, h, "waste", "check", "");
  d.label(328, low, 86, h, "used", fault ? "zero a page" : "copy");
  d.label(416, low, 62, h, "waste", "return", "");
  d.line(478, low, 486, top + h, "pen");
  d.label(472, top, 74, h, "idle", "goes on", "");
  d.text(margin, low + 68,
         fault ? "perf stat counts it; strace does not see it: no call was made" : "strace counts it, by its name",
         "h used-text");
  d.text(margin, low + 92,
         fault ? "once for each page that is touched for the first time"
               : "the red part is the same for one byte and for a million",
         "mute");
  return d;
}

/// A thousand short lines to a file, by calls of write.
drawing buffered() {
  constexpr int lines = 1000, bytes = 16, buffer = 4096, full = (lines * bytes + buffer - 1) / buffer;
  drawing d("buffered", fmt::format("{} lines flushed one by one are {} writes; collected, {}.", lines, lines, full));
  const double each = slide_inner / 125, y = 34;
  d.text(margin, 24, fmt::format("flushed after each line: {} writes", lines), "h waste-text");
  for (int i = 0; i < 125; ++i) d.box(margin + i * each, y, each - 1.4, 30, "waste", 0);
  d.text(margin, y + 48, "a stroke stands for 8 calls", "mute");
  d.text(margin, y + 88, fmt::format("written when {} bytes are full: {} writes", buffer, full), "h used-text");
  for (int i = 0; i < full; ++i) {
    const double part = std::min(1.0, (lines * bytes - i * buffer) / static_cast<double>(buffer));
    d.label(margin + i * slide_inner / full, y + 98, part * (slide_inner / full - 6), 30, "used",
            fmt::format("{} lines", static_cast<int>(part * buffer / bytes)));
  }
  d.text(margin, y + 150, fmt::format("{} lines of {} bytes", lines, bytes), "mute");
  return d;
}

/// A mebibyte read in pieces: a call of 0.15 µs each, and the bytes at 10 GB/s.
drawing piece_times() {
  constexpr double call_us = 0.15, bytes_per_us = 10e3, all = 1 << 20;
  drawing d("piece_times", "Small pieces: the calls take longer than the bytes. Large ones: the bytes are all.");
  const double left = margin + 84, scale = (slide_inner - 170) / (all / 512 * call_us + all / bytes_per_us);
  double y = 20;
  for (const int piece : {512, 1536, 4096, 32768}) {
    const double calls = all / piece * call_us, copy = all / bytes_per_us;
    d.text(margin, y + 20, piece < 4096 ? fmt::format("{} bytes", piece) : fmt::format("{} KiB", piece / 1024));
    d.box(left, y, copy * scale, 28, "used", 1);
    d.box(left + copy * scale, y, calls * scale, 28, "waste", 1);
    d.text(left + (copy + calls) * scale + 8, y + 20, fmt::format("{:.0f} µs", copy + calls));
    y += 42;
  }
  d.legend(y + 12, {{"used", "copying 1 MiB at 10 GB/s"}, {"waste", "calls, 0.15 µs each"}});
  return d;
}

/// A large array: reserved, touched in two places, given back.
drawing promised(int step) {
  drawing d(fmt::format("promised_{}", step), step == 1   ? "malloc of 64 MiB: its pages are promised, none is there."
                                              : step == 2 ? "Two pages are touched: two page faults."
                                                          : "Freed and allocated again: the pages are gone.");
  const double cell = slide_inner / 16, y = 58;
  d.text(margin, 34,
         step == 1   ? "p = malloc(64 MiB);"
         : step == 2 ? "p[0] = 1;  p[20'000] = 1;"
                     : "free(p);  p = malloc(64 MiB);  p[0] = 1;",
         "h");
  int there = 0;
  for (int page = 0; page < 16; ++page) {
    const bool touched = step == 2 ? page == 0 || page == 20'000 / 4096 : step == 3 && page == 0;
    there += touched ? 1 : 0;
    d.box(margin + page * cell, y, cell - 4, 46, touched ? "used" : "free", 2);
    if (touched) d.text(margin + page * cell + cell / 2 - 2, y + 28, "0…0", "on", at::middle);
  }
  d.text(margin, y + 74, fmt::format("{} of 16,384 pages {} there", there, there == 1 ? "is" : "are"), "h used-text");
  d.text(margin, y + 100,
         step == 1   ? "page faults: 0"
         : step == 2 ? "page faults: 2, and the kernel has filled 2 pages with zeros"
                     : "page faults: 3, although the program still has only one array",
         step == 1 ? "" : "time-text");
  d.text(margin, y + 126, "the first 16 pages, of 4096 bytes each", "mute");
  return d;
}

/// Three threads on two cores: two have work, the third asks until they are done, or sleeps.
drawing waiting(bool asleep) {
  drawing d(asleep ? "waiting_2" : "waiting_1", asleep ? "The third thread sleeps: each of the others has its own core."
                                                       : "The third thread polls, and takes half of a core.");
  const double cell = 54, left = margin + 58, top = 34;
  d.text(margin, top + 22, "core 0");
  d.text(margin, top + 72, "core 1");
  for (int i = 0; i < 4; ++i) d.label(left + i * cell, top, cell - 3, 34, "used", "A");
  const int ends = asleep ? 4 : 8;
  for (int i = 0; i < ends; ++i) {
    const bool asks = !asleep && i % 2 == 0;
    d.label(left + i * cell, top + 50, cell - 3, 34, asks ? "waste" : "shared", asks ? "asks" : "B", asks ? "" : "on");
  }
  d.line(left + ends * cell, top - 8, left + ends * cell, top + 100, "pen");
  d.text(left + ends * cell - 4, top + 118, "done", "h", at::end);
  d.text(margin, top + 150, asleep ? "wait(): the kernel wakes it when B is done" : "while (!done) { }", "h");
  d.text(margin, top + 174,
         asleep ? "costs two calls, whatever the time it sleeps"
                : "a thread that only asks takes its turns like any other",
         "mute");
  return d;
}

/// Which accesses miss: `rows` times over `lines` lines, in order or block by block, in a cache of 8 lines.
drawing over_and_over(std::string name, int rows, int lines, int block) {
  lab12::cache_level cache(8 * lab12::line_bytes, 8);
  std::vector<std::vector<bool>> hit(static_cast<std::size_t>(rows),
                                     std::vector<bool>(static_cast<std::size_t>(lines)));
  int misses = 0;
  for (int first = 0; first < lines; first += block)
    for (int r = 0; r < rows; ++r)
      for (int l = first; l < std::min(first + block, lines); ++l) {
        const bool was_there = cache.access(static_cast<std::uint64_t>(l));
        hit[static_cast<std::size_t>(r)][static_cast<std::size_t>(l)] = was_there;
        misses += was_there ? 0 : 1;
      }
  drawing d(std::move(name), fmt::format("{} times over {} lines, {} at a time, in a cache of 8 lines: {} of {} miss.",
                                         rows, lines, block, misses, rows * lines));
  const double left = margin + 72, cell = std::min(44.0, (slide_inner - 72) / lines), high = 30, top = 34;
  d.text(left, 24, fmt::format("line 0 to {}", lines - 1), "mute");
  for (int r = 0; r < rows; ++r) {
    d.text(margin, top + r * (high + 5) + 20, fmt::format("{} {}", lines > 9 ? "query" : "round", r + 1));
    for (int l = 0; l < lines; ++l) {
      const bool was_there = hit[static_cast<std::size_t>(r)][static_cast<std::size_t>(l)];
      d.box(left + l * cell, top + r * (high + 5), cell - 3, high, was_there ? "shared" : "waste", 1);
    }
  }
  const double y = top + rows * (high + 5) + 20;
  d.legend(y, {{"shared", "hit"}, {"waste", "miss"}});
  d.text(margin, y + 28, fmt::format("{} of {} accesses miss", misses, rows * lines), "h waste-text");
  return d;
}

/// Eight lines, next to each other and four apart, read twice in a cache of four sets with two places each.
drawing set_places(int apart) {
  lab12::cache_level cache(8 * lab12::line_bytes, 2);
  int misses = 0;
  std::vector<int> of_set(4);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < 8; ++i) {
      misses += cache.access(static_cast<std::uint64_t>(i * apart)) ? 0 : 1;
      if (round == 0) ++of_set[static_cast<std::size_t>(i * apart % 4)];
    }
  drawing d(fmt::format("set_places_{}", apart),
            fmt::format("Lines 0, {}, {}, ...: {} of 16 accesses miss.", apart, 2 * apart, misses));
  const double cell = slide_inner / 8, top = 36, low = 108;
  d.text(margin, 24, "lines", "mute");
  for (int i = 0; i < 8; ++i)
    d.label(margin + i * cell, top, cell - 6, 28, i * apart % 4 == 0 ? "time" : "used", std::to_string(i * apart));
  d.text(margin, low - 10, "line modulo 4 is its set; a set has two places", "mute");
  const double wide = slide_inner / 4;
  for (int s = 0; s < 4; ++s) {
    const int wants = of_set[static_cast<std::size_t>(s)];
    d.text(margin + s * wide, low + 12, fmt::format("set {}: {} line{}", s, wants, wants == 1 ? "" : "s"),
           wants > 2 ? "waste-text" : "");
    for (int place = 0; place < 2; ++place)
      d.box(margin + s * wide + place * 58, low + 20, 52, 28, wants == 0 ? "free" : s == 0 ? "time" : "used", 2);
  }
  d.text(margin, low + 84, fmt::format("read twice: {} of 16 accesses miss", misses), "h waste-text");
  return d;
}

/// A line that one core writes and three read.
drawing readers() {
  constexpr int times = 100;
  std::vector<std::vector<lab12::shared_access>> cores(4);
  for (std::size_t c = 0; c < 4; ++c) cores[c].assign(times, {0, c == 0});
  const auto moved = lab12::lines_moved(cores);
  for (auto& core : cores) core.assign(times, {0, false});
  const auto read_only = lab12::lines_moved(cores);
  drawing d("readers", fmt::format("One core stores {} times, three load {} times: the line moves {} times. Four that "
                                   "only load: {}.",
                                   times, times, moved, read_only));
  const double cell = 128;
  const auto row = [&](double y, bool stores, std::uint64_t count) {
    for (int c = 0; c < 4; ++c) {
      const bool writes = stores && c == 0;
      d.label(margin + c * cell + 4, y, 112, 28, writes ? "waste" : "reg",
              writes ? "core 0 stores" : fmt::format("core {} loads", c), writes ? "" : "on");
      d.line(margin + c * cell + 60, y + 28, margin + c * cell + 60, y + 44, writes ? "waste-line" : "reg-line");
    }
    d.box(margin + 4, y + 44, 3 * cell + 112, 20, stores ? "waste" : "shared", 2);
    d.text(margin + 4, y + 84, fmt::format("{} times each: the line moves {} times", times, count),
           stores ? "h waste-text" : "h shared-text");
  };
  row(14, true, moved);
  row(122, false, read_only);
  return d;
}

/// y = W x on one core and on a GPU, by formula, with the figures of given/h100.md.
drawing core_or_gpu() {
  const auto core = [](double bytes) { return bytes / (bytes <= 1 << 20 ? 32e3 : bytes <= 16 << 20 ? 22e3 : 8.5e3); };
  const auto resident = [](double bytes) { return 15 + bytes / 2.8e6; };
  const auto copied = [&](double bytes) { return resident(bytes) + bytes / (bytes <= 1 << 20 ? 37.8e3 : 53.8e3); };
  drawing d("core_or_gpu",
            "Times of a matrix times a vector on one core, on a GPU, and on a GPU with the matrix copied.");
  const double left = margin + 66, bottom = 186, across = slide_inner - 200, first = 6, last = 14;
  const auto px = [&](double power) { return left + (power - first) / (last - first) * across; };
  const auto py = [&](double us) { return bottom - std::log10(us) / 5.3 * 168; };
  for (int power = 6; power <= 14; power += 2) {
    d.line(px(power), py(1), px(power), 14);
    d.text(px(power), bottom + 16, std::to_string(1 << power), "mute", at::middle);
  }
  for (const auto& [us, words] : {std::pair{1.0, "1 µs"}, {100.0, "100 µs"}, {10'000.0, "10 ms"}}) {
    d.line(left, py(us), left + across, py(us));
    d.text(left - 6, py(us) + 4, words, "mute", at::end);
  }
  const auto draw = [&](const auto& time, const char* role, const char* words, double shift) {
    std::vector<std::pair<double, double>> points;
    for (double power = first; power <= last + 0.01; power += 0.125) {
      const double us = time(4 * std::exp2(2 * power));
      if (us >= 1) points.emplace_back(px(power), py(us));
    }
    d.curve(points, std::string(role) + "-line");
    d.text(left + across + 8, points.back().second + 4 + shift, words, std::string(role) + "-text");
  };
  draw(core, "time", "one core", 0);
  draw(copied, "waste", "GPU, W copied", 6);
  draw(resident, "used", "GPU, W there", 0);
  d.text(px(10), bottom + 34, "n, for a matrix of n × n floats", "", at::middle);
  return d;
}

/// Parts that are copied and worked on, in one stream and in four.
drawing parts_in_streams() {
  constexpr int parts = 8;
  constexpr double each = 630;
  drawing d("parts_in_streams", "Eight copies and eight kernels: in one stream they take turns, in four they overlap.");
  const double left = margin + 66, scale = (slide_inner - 70) / (2 * parts * each);
  const auto rows = [&](double y, int streams) {
    std::vector<double> free_at(static_cast<std::size_t>(streams), 0.0);
    double copies_end = 0, kernels_end = 0;
    d.text(margin, y + 19, "copies");
    d.text(margin, y + 51, "kernels");
    for (int p = 0; p < parts; ++p) {
      double& stream = free_at[static_cast<std::size_t>(p % streams)];
      const double copy = std::max(copies_end, stream), kernel = std::max(copy + each, kernels_end);
      copies_end = copy + each;
      kernels_end = stream = kernel + each;
      d.label(left + copy * scale, y, each * scale - 2, 28, "time", std::to_string(p));
      d.label(left + kernel * scale, y + 32, each * scale - 2, 28, "used", std::to_string(p));
    }
    const double end = left + kernels_end * scale;
    d.line(end, y - 6, end, y + 66, "pen");
    d.text(end - 4, y + 80, fmt::format("{} µs", grouped(std::lround(kernels_end))), "h", at::end);
    d.text(margin, y + 80, streams == 1 ? "one stream" : "four streams", streams == 1 ? "h waste-text" : "h used-text");
  };
  rows(14, 1);
  rows(118, 4);
  d.text(margin, 226, "630 µs for each copy and each kernel; what the calls cost is left out", "mute");
  return d;
}

}  // namespace

void host(drawing_list& to) {
  for (const auto make : {sets, buffered, piece_times, readers, core_or_gpu, parts_in_streams, streaming})
    to.push_back(make());
  for (const int step : {1, 2, 3})
    for (const auto make : {meanwhile, promised}) to.push_back(make(step));
  for (const bool second : {false, true})
    for (const auto make : {entered, waiting}) to.push_back(make(second));
  for (const int apart : {1, 4}) to.push_back(set_places(apart));
  to.push_back(over_and_over("rounds_8", 3, 8, 8));
  to.push_back(over_and_over("rounds_9", 3, 9, 9));
  to.push_back(over_and_over("queries_1", 4, 16, 16));
  to.push_back(over_and_over("queries_2", 4, 16, 8));
}

}  // namespace drawings
