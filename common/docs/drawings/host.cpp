// Lab 12: system calls, cache lines and threads.
#include <fmt/format.h>

#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab12 = "12_host";

drawing crossings() {
  drawing d(lab12, "README.md", "crossings", "Into the kernel and back",
            "A tensor read in pieces crosses into the kernel once per piece; read at once it crosses once.");
  const auto row = [&](double y, int calls, std::string_view role) {
    const double work = 216, each = work / calls;
    double x = margin;
    for (int i = 0; i < calls; ++i) {
      d.box(x, y, 8, 18, "idle");
      d.line(x + 8, y + 18, x + 8, y + 26, "pen");
      d.box(x + 8, y + 26, 6, 18, "waste");
      d.box(x + 14, y + 26, each - 4, 18, role);
      d.line(x + each + 10, y + 26, x + each + 10, y + 18, "pen");
      x += each + 10;
    }
    d.box(x, y, 8, 18, "idle");
  };
  d.text(margin, 48, "in pieces: a call for each", "waste-text");
  row(58, 8, "used");
  d.text(margin, 132, "at once", "used-text");
  row(142, 1, "used");
  d.legend(206, {{"idle", "your program"}, {"waste", "enter and check"}, {"used", "copy"}});
  return d;
}

drawing blocks() {
  drawing d(
      lab12, "README.md", "blocks", "Who else needs this line?",
      "Keys and values of 512 tokens are twice as large as the last level. Query by query, each line has left the "
      "cache before the next query needs it. In blocks of 64 queries a line is fetched once per block.");
  const auto keys = [&](double y, int in_cache) {
    for (int i = 0; i < 16; ++i)
      d.box(margin + 70 + i * 16, y, 14, 18, i >= in_cache && i < in_cache + 8 ? "shared" : "idle");
  };
  d.text(margin, 48, "query by query", "waste-text");
  for (int q = 0; q < 3; ++q) {
    const double y = 58 + q * 26;
    d.label(margin, y, 40, 18, "reg", fmt::format("q{}", q));
    d.arrow(margin + 44, y + 9, margin + 66, y + 9);
    keys(y, 8);
  }
  d.text(margin, 152, "Each query fetches all of K and V again.", "mute");
  d.text(margin, 184, "64 queries at a time", "used-text");
  d.label(margin, 194, 40, 44, "reg", "64 q");
  d.arrow(margin + 44, 216, margin + 66, 216);
  keys(207, 0);
  d.text(margin, 258, "What is there serves 64 queries.", "mute");
  d.legend(282, {{"shared", "in the last level"}, {"idle", "in memory"}});
  return d;
}

drawing pool() {
  drawing d(
      lab12, "README.md", "pool", "Three operations, two threads",
      "A thread for each part: start, work, end, and again for the next operation. A pool: threads start once, and "
      "sleep between operations.");
  d.text(margin, 48, "a thread for each part", "waste-text");
  for (int t = 0; t < 2; ++t)
    for (int op = 0; op < 3; ++op) {
      const double x = margin + op * 108, y = 58 + t * 24;
      d.box(x, y, 38, 18, "waste");
      d.box(x + 40, y, 26, 18, "used");
      d.box(x + 68, y, 22, 18, "waste");
    }
  d.text(margin, 140, "a pool", "used-text");
  for (int t = 0; t < 2; ++t) {
    const double y = 150 + t * 24;
    d.box(margin, y, 38, 18, "waste");
    for (int op = 0; op < 3; ++op) {
      d.box(margin + 40 + op * 36, y, 26, 18, "used");
      if (op < 2) d.box(margin + 68 + op * 36, y, 6, 18, "idle");
    }
    d.box(margin + 140, y, 22, 18, "waste");
  }
  d.arrow(margin, 210, margin + 320, 210);
  d.text(margin + 292, 204, "time", "mute");
  d.legend(232, {{"waste", "start, end"}, {"used", "work"}, {"idle", "asleep"}});
  return d;
}

drawing sharing() {
  drawing d(
      lab12, "README.md", "sharing", "A line has one writer at a time",
      "Totals side by side: four cores store to one line, which has to travel to each of them in turn. A line for "
      "each total: every core keeps its own.");
  const double cell = 76;
  const auto cores = [&](double y) {
    for (int c = 0; c < 4; ++c) d.label(margin + c * cell, y, 60, 22, "reg", fmt::format("core {}", c));
  };
  d.text(margin, 48, "side by side", "waste-text");
  cores(58);
  for (int c = 0; c < 3; ++c) d.arrow(margin + c * cell + 30, 92, margin + (c + 1) * cell + 26, 92, "waste-line");
  for (int i = 0; i < 8; ++i) d.box(margin + i * 36, 104, 34, 18, i < 4 ? "waste" : "idle", 1);
  d.text(margin, 140, "one line", "mute");
  d.text(margin, 172, "a line for each", "used-text");
  cores(182);
  for (int c = 0; c < 4; ++c)
    for (int i = 0; i < 8; ++i) d.box(margin + c * cell + i * 8, 216, 7, 18, i == 0 ? "used" : "idle", 1);
  for (int c = 0; c < 4; ++c) d.line(margin + c * cell + 30, 204, margin + c * cell + 30, 216, "used-line");
  return d;
}

/// Which sets the lines of a column go to.
drawing sets() {
  drawing d(
      lab12, "SEEN.md", "sets", "Where the lines of a column go",
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

}  // namespace

void host(drawing_list& to) {
  to.push_back(crossings());
  to.push_back(blocks());
  to.push_back(pool());
  to.push_back(sharing());
  to.push_back(sets());
}

}  // namespace drawings
