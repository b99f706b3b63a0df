// Lab 06: tiles on three levels, reuse, and copies while computing.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing three_levels() {
  drawing d("06_tiling", "three_levels", "The same idea, three times",
            "The tiles of the warp-tiled rung. A block computes 128 × 256 elements from shared memory, one of its "
            "eight warps 32 × 128 of "
            "them, and one thread 8 × 16, from registers.");
  const double x = margin, w = 160;
  const auto level = [&](double y, double h, int rows, int columns, const char* role, const std::string& who,
                         const std::string& what, const std::string& from) {
    const double cw = w / columns, ch = h / rows;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < columns; ++c)
        d.box(x + c * cw, y + r * ch, cw - 1.5, ch - 1.5, rows == 8 || (r == 0 && c == 0) ? role : "idle", 1);
    const double tx = x + w + 18;
    d.text(tx, y + 14, who);
    d.text(tx, y + 31, what, "mute");
    d.text(tx, y + 48, from, "mute");
  };
  level(42, 80, 4, 2, "used", "block: 128 × 256", "8 warps", "global → shared");
  d.line(x, 62 - 1, x, 146, "used-line");
  d.line(x + 80, 62 - 1, x + w, 146, "used-line");
  level(146, 40, 4, 8, "shared", "warp: 32 × 128", "32 lanes, 4 × 8", "shared → registers");
  d.line(x, 156 - 1, x, 214, "shared-line");
  d.line(x + 20, 156 - 1, x + w, 214, "shared-line");
  level(214, 80, 8, 16, "reg", "thread: 8 × 16", "128 sums", "in registers");
  d.text(margin, 318, "Per step a thread loads 8 + 16 numbers for 128", "");
  d.text(margin, 334, "multiply-adds.", "");
  return d;
}

/// Sectors of one load of A and one of B by a warp, at n = 256: lanes down a column of C, or along a row.
struct two_loads {
  int a, b;
};
two_loads loads_of(bool along_row) {
  const int n = 256, bytes = 4;
  return {counted_sectors(by_lane([&](int lane) { return along_row ? 0 : lane * n * bytes; }), bytes),
          counted_sectors(by_lane([&](int lane) { return along_row ? lane * bytes : 0; }), bytes)};
}

drawing two_words() {
  const two_loads naive = loads_of(false), coalesced = loads_of(true);
  drawing d("06_tiling", "two_words", "Swapping two words",
            fmt::format("Which elements a warp loads. Naive: lanes go down C, so A costs {} sectors and B {}. "
                        "Coalesced: lanes go along C, so A "
                        "costs {} and B {}.",
                        naive.a, naive.b, coalesced.a, coalesced.b));
  const int n = 8;
  const double cell = 11;
  const auto panel = [&](double y, const std::string& words, bool along, two_loads cost) {
    d.text(margin, y, words);
    const double x[] = {margin + 14, 140, 258};
    const char* names[] = {"A", "B", "C"};
    for (int m = 0; m < 3; ++m) {
      for (int r = 0; r < n; ++r)
        for (int c = 0; c < n; ++c) {
          const bool on = m == 0   ? c == 3 && (along ? r == 2 : true)
                          : m == 1 ? r == 3 && (along ? true : c == 2)
                          : along  ? r == 2
                                   : c == 2;
          d.box(x[m] + c * cell, y + 12 + r * cell, cell - 1.5, cell - 1.5, !on ? "idle" : m == 2 ? "reg" : "used", 1);
        }
      d.text(x[m], y + 12 + n * cell + 14,
             m == 2 ? "C, 32 lanes"
                    : fmt::format("{}: {} sector{}", names[m], m == 0 ? cost.a : cost.b,
                                  (m == 0 ? cost.a : cost.b) == 1 ? "" : "s"),
             m == 2                           ? "reg-text"
             : (m == 0 ? cost.a : cost.b) > 4 ? "waste-text"
                                              : "used-text");
    }
  };
  panel(44, fmt::format("naive: lanes down a column, {} sectors", naive.a + naive.b), false, naive);
  panel(182, fmt::format("coalesced: lanes along a row, {} sectors", coalesced.a + coalesced.b), true, coalesced);
  return d;
}

drawing ladder() {
  const double n = 256, sector = sector_bytes / 4.0, warp_steps = n * n * n / 32;
  const two_loads naive = loads_of(false), coalesced = loads_of(true);
  const auto tiled = [&](double m, double k) { return (n * n / (m * k)) * (m + k) * n / sector; };
  const struct {
    const char* name;
    double sectors;
  } rungs[] = {{"naive", warp_steps * (naive.a + naive.b)},
               {"coalesced", warp_steps * (coalesced.a + coalesced.b)},
               {"tiled", tiled(32, 32)},
               {"1-D", tiled(64, 64)},
               {"2-D", tiled(128, 128)},
               {"warp tiles", tiled(128, 256)}};
  drawing d("06_tiling", "rungs", "Each rung asks memory for less",
            "Sectors that all global loads touch at m = n = k = 256, logarithmic: naive 17,301,504; coalesced "
            "2,621,440; tiled 131,072; 1-D "
            "65,536; 2-D 32,768; warp tiles 24,576.");
  const double left = 86, room = width - margin - left - 74;
  double y = 42;
  for (const auto& r : rungs) {
    const double w = room * (std::log10(r.sectors) - 3.8) / (std::log10(rungs[0].sectors) - 3.8);
    d.text(margin, y + 14, r.name);
    d.box(left, y, w, 20, "used", 2);
    d.text(left + w + 6, y + 14, grouped(static_cast<long long>(r.sectors)));
    y += 28;
  }
  d.text(margin, y + 8, "sectors, on a logarithmic scale", "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// A warp whose lanes compute 8 x 4 elements of C: what it loads at one step along k.
drawing patch(int step) {
  const int n = 256, bytes = 4;
  const int a = counted_sectors(by_lane([&](int lane) { return lane / 4 * n * bytes; }), bytes);
  const int b = counted_sectors(by_lane([&](int lane) { return lane % 4 * bytes; }), bytes);
  drawing d(fmt::format("patch_{}", step + 1),
            fmt::format("A warp computes 8 × 4 elements of C: it loads {} sectors of "
                        "A and {} of B.",
                        a, b));
  const double cell = 10.6, y = 40, x[] = {margin, margin + 183, margin + 366};
  const char* names[] = {"A", "B", "C"};
  for (int m = 0; m < 3; ++m) {
    d.text(x[m], y - 12, names[m], "h");
    for (int r = 0; r < 12; ++r)
      for (int c = 0; c < 16; ++c) {
        const bool in_c = r < 8 && c < 4;
        const bool on = m == 0 ? r < 8 && c == 5 : m == 1 ? r == 5 && c < 4 : in_c;
        const bool comes = m == 0 ? r < 8 && c < 8 : m == 1 ? r == 5 && c < 8 : false;
        d.box(x[m] + c * cell, y + r * cell, cell - 1.5, cell - 1.5,
              m == 2               ? (on ? "reg" : "idle")
              : step >= 1 && on    ? "used"
              : step >= 2 && comes ? "waste"
                                   : "idle",
              1);
      }
  }
  const double below = y + 12 * cell + 16;
  d.text(x[2], below, "32 lanes, 8 × 4", "reg-text");
  if (step == 1)
    d.text(x[0], below, "8 elements of A", "used-text"), d.text(x[1], below, "4 elements of B", "used-text");
  if (step >= 2) {
    d.text(x[0], below, fmt::format("A: {} sectors", a), "h waste-text");
    d.text(x[1], below, fmt::format("B: {} sector{}", b, b == 1 ? "" : "s"), "h used-text");
  }
  d.text(margin, below + 20,
         step == 0   ? "Which elements of A and B does this warp load at step i = 5 along k?"
         : step == 1 ? "Lanes of one row want the same element of A. How many sectors?"
                     : fmt::format("Two loads, {} sectors: {:.1f} per load", a + b, (a + b) / 2.0),
         "mute");
  return d;
}

/// From one element of C to a block that walks along k.
drawing walk_along_k(int step) {
  drawing d(fmt::format("block_{}", step + 1), "What a tile of C needs of A and B, and how a block fetches it.");
  const double ax = margin, bx = 200, cy = 122, deep = 34, side = step == 0 ? 9 : 52;
  d.box(ax, cy, 170, 104, "idle", 2);
  d.box(bx, 18, 170, 96, "idle", 2);
  d.box(bx, cy, 170, 104, "idle", 2);
  const double tx = bx + 58, ty = cy + 26;
  d.box(ax, ty, 170, side, step < 2 ? "used" : "free", 0);
  d.box(tx, 18, side, 96, step < 2 ? "used" : "free", 0);
  for (int piece = 0; step >= 2 && piece <= step - 2; ++piece) {
    const double at = piece * deep * 0.56;
    const bool now = piece == step - 2;
    d.box(ax + piece * deep, ty, deep - 2, side, now ? "shared" : "used", 1);
    d.box(tx, 18 + at, side, deep * 0.56 - 2, now ? "shared" : "used", 1);
  }
  d.box(tx, ty, side, side, "reg", 1);
  d.text(ax, cy - 8, "A, m × k", "mute");
  d.text(bx - 6, 30, "B, k × n", "mute", at::end);
  d.text(bx + 164, cy + 98, "C", "mute", at::end);
  const double x = 388;
  const std::vector<std::string> words[] = {
      {"1 element of C", "needs k of A", "and k of B,", "each for 1 product"},
      {"t × t elements", "need t rows of A", "and t columns of B,", "each number", "for t products"},
      {"step 1 along k", "fetch t × 8 of A,", "8 × t of B, once", "into shared memory;", "all threads use them"},
      {"step 2 along k", "overwrite the tiles", "with the next 8;", "the sums stay", "in registers"},
      {"step 3, and so on", "after k / 8 steps:", "2 t k numbers", "fetched for", "t × t × k products"}};
  double y = 38;
  for (const std::string& line : words[step]) {
    d.text(x, y, line, y < 40 ? "h reg-text" : "");
    y += 21;
  }
  return d;
}

/// How long memory and arithmetic need for n = 4096, by the width of the tile.
drawing tile_widths(int shown) {
  const double n = 4096, copy = device_figure("h200", "copy_bytes_per_second");
  const double flops = 2 * n * n * n /
                       (device_figure("h200", "multiprocessors") * device_figure("h200", "fp32_lanes_per_sm") * 2 *
                        device_figure("h200", "sm_clock_hertz"));
  drawing d(fmt::format("widths_{}", shown),
            "Time for memory traffic by the width of the tile, and for the arithmetic.");
  const double left = 92, room = slide_width - margin - left - 150;
  const bool alone = shown == 1;
  double y = 20;
  const auto row = [&](const std::string& name, double seconds, const std::string& words, const char* role) {
    const double w = std::max(1.5, room * std::log10(seconds * 1e3 / 0.5) / std::log10(200 / 0.5));
    d.text(margin, y + 17, name);
    d.box(left, y, w, 24, role, 2);
    d.text(left + w + 8, y + 17, words);
    y += 36;
  };
  for (const int t : std::vector<int>{1, 8, 32, 128}) {
    if (shown-- <= 0) break;
    const double bytes = 4 * 2 * n * n * n / t;
    row(alone ? "the loop" : fmt::format("t = {}", t), bytes / copy,
        fmt::format("{:.1f} GB, {:.1f} ms", bytes / 1e9, 1e3 * bytes / copy), bytes / copy > flops ? "waste" : "used");
  }
  row("arithmetic", flops, fmt::format("{:.1f} ms", 1e3 * flops), "time");
  d.text(margin, y + 14, "n = 4096 on an H200, at the speed of a copy, without caches; bars are logarithmic", "mute");
  return d;
}

/// Instructions for 64 multiply-adds of a thread.
drawing issue_slots(int shown) {
  drawing d(fmt::format("slots_{}", shown), "Shared loads and multiply-adds for 64 products, by rung.");
  const struct {
    const char* name;
    int rows, columns, wide;
  } rungs[] = {{"tiled", 1, 1, 1}, {"1-D", 8, 1, 1}, {"2-D", 8, 8, 1}, {"vectorized", 8, 8, 4}};
  const double left = 88, slot = 2.0;
  double y = 20;
  for (int i = 0; i < shown; ++i) {
    const auto& r = rungs[i];
    const int products = 64, loads = products / (r.rows * r.columns) * (r.rows + r.columns) / r.wide;
    d.text(margin, y + 18, r.name);
    d.box(left, y, loads * slot, 26, "shared", 1);
    d.box(left + loads * slot + 1, y, products * slot, 26, "time", 1);
    d.text(left + (loads + products) * slot + 8, y + 18, fmt::format("{} + {}", loads, products));
    y += 40;
  }
  d.legend(y + 12, {{"shared", "shared loads"}, {"time", "multiply-adds"}});
  return d;
}

/// A block's timeline with one, two or four buffers. A copy takes twice as long as the arithmetic on its tile.
drawing buffers(int count) {
  const int tiles = 8;
  const double copy = 72, use = 36, end = slide_width - margin, left = 84;
  std::vector<double> start(tiles), begin(tiles), done(tiles);
  for (int i = 0; i < tiles; ++i) {
    const auto at = static_cast<std::size_t>(i);
    start[at] = i < count ? 0 : done[at - static_cast<std::size_t>(count)];
    begin[at] = std::max(start[at] + copy, i == 0 ? 0.0 : done[at - 1]);
    done[at] = begin[at] + use;
  }
  drawing d(fmt::format("buffers_{}", count), fmt::format("Timeline of a block with {} buffers.", count));
  const double row = 30;
  for (int b = 0; b < count; ++b) d.text(margin, 34 + b * row, fmt::format("buffer {}", b), "mute");
  const double last = 34 + count * row + 10;
  d.text(margin, last, "computes", "time-text");
  for (int i = 0; i < tiles; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (left + done[at] > end) break;
    const double y = 18 + (i % count) * row;
    d.label(left + start[at], y, copy - 2, 24, "shared", fmt::format("copy {}", i), "on s");
    d.label(left + begin[at], y, use - 2, 24, "reg", fmt::format("use {}", i), "on s");
    d.box(left + begin[at], last - 14, use - 1, 20, "time", 1);
  }
  // In the long run: `count` tiles in max(copy + use, count * use).
  const double share = count * use / std::max(copy + use, count * use);
  d.text(end, last + 34, fmt::format("it computes {:.0f} % of the time", 100 * share), "h time-text", at::end);
  return d;
}

}  // namespace

void tiling(drawing_list& to) {
  for (const auto make : {three_levels, two_words, ladder}) to.push_back(make());
  for (int step = 0; step < 3; ++step) to.push_back(patch(step));
  for (int step = 0; step < 5; ++step) to.push_back(walk_along_k(step));
  for (const int shown : {1, 4}) to.push_back(tile_widths(shown));
  for (const int shown : {1, 3, 4}) to.push_back(issue_slots(shown));
  for (const int count : {1, 2, 4}) to.push_back(buffers(count));
}

}  // namespace drawings
