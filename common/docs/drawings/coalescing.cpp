// Labs 00 and 03: sectors, banks, and a transpose through shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

drawing two_walks() {
  drawing d("00_first_kernel", "two_walks", "The same elements, another order",
            "One load of a warp. In a grid-stride loop 32 threads read 32 neighbours, 4 sectors. With chunks of 16 "
            "they touch 32 sectors and use an eighth of each.");
  double y = 44;
  for (const int step : {1, 16}) {
    const auto touched = touched_sectors(by_lane([&](int lane) { return step * lane * word_bytes; }), word_bytes);
    const std::string role = step == 1 ? "used" : "waste";
    d.text(margin, y, step == 1 ? "grid-stride loop: x[i]" : "chunks of 16: x[16 i]");
    d.text(width - margin, y, fmt::format("{} sectors", touched.size()), role + "-text", at::end);
    const double unit = inner / 64;
    for (int s = 0; s < 64; ++s)
      d.box(margin + s * unit, y + 8, unit - 1, 16,
            std::binary_search(touched.begin(), touched.end(), s) ? role : "idle", 0.5);
    y += 56;
  }
  d.text(margin, 148, "a box is a sector of 8 floats; the row is 2 KiB of x", "mute");
  return d;
}

/// Lines of memory, one per row; returns the y below them.
double memory(drawing& d, double y, const warp_offsets& offsets, int bytes, int lines) {
  const std::vector<int> touched = touched_sectors(offsets, bytes);
  const std::set<int> sectors(touched.begin(), touched.end());
  const double unit = inner / line_bytes;
  for (int line = 0; line < lines; ++line, y += 15)
    for (int s = 0; s < line_bytes / sector_bytes; ++s) {
      const int sector = line * line_bytes / sector_bytes + s;
      d.box(margin + s * sector_bytes * unit + 1, y, sector_bytes * unit - 2, 11,
            sectors.contains(sector) ? "waste" : "idle");
      // What the lanes want of it, in one piece for each run of neighbours.
      for (int b = 0; b < sector_bytes;) {
        const auto wanted = [&](int at) {
          return std::any_of(offsets.begin(), offsets.end(), [&](int o) { return o <= at && at < o + bytes; });
        };
        int e = b;
        while (e < sector_bytes && wanted(sector * sector_bytes + e)) ++e;
        if (e > b)
          d.box(margin + (s * sector_bytes + b) * unit + 1, y, (e - b) * unit - (e == sector_bytes ? 2 : 0), 11,
                "used");
        b = e + 1;
      }
    }
  return y;
}

drawing whole_sectors() {
  const auto half = by_lane([](int lane) { return 2 * lane; });
  const auto groups =
      by_lane([](int lane) { return lane / 8 * line_bytes + lane % 8 / 2 * word_bytes + lane % 2 * 16 * word_bytes; });
  const int few = counted_sectors(half, 2), many = counted_sectors(groups, word_bytes);
  drawing d("03_coalescing", "whole_sectors", "A request costs whole sectors",
            fmt::format("Two requests of 32 lanes. Lanes that load neighbouring 16-bit numbers touch {} sectors and "
                        "use each byte. Lanes "
                        "that load floats in groups of four touch {} sectors, and half of each is wasted.",
                        few, many));
  d.text(margin, 42, "32 lanes load 16-bit neighbours");
  double y = memory(d, 50, half, 2, 1);
  d.text(margin, y + 12, fmt::format("{} sectors = {} bytes moved, {} used", few, few * sector_bytes, 32 * 2),
         "used-text");
  y += 40;
  d.text(margin, y, "32 lanes load floats, four neighbours at a time");
  y = memory(d, y + 8, groups, word_bytes, 4);
  d.text(margin, y + 12,
         fmt::format("{} sectors = {} bytes moved, {} used", many, many * sector_bytes, 32 * word_bytes), "waste-text");
  d.legend(y + 36, {{"used", "used"}, {"waste", "moved, not used"}, {"idle", "not moved"}});
  return d;
}

drawing bank_words() {
  drawing d("03_coalescing", "bank_words", "Each bank serves one word at a time",
            "Shared memory has 32 banks. Lanes that read neighbouring words, or all the same word, take one wavefront. "
            "If two words of "
            "each of 16 banks are wanted, the request takes two.");
  const double unit = inner / banks;
  const auto panel = [&](double y, const std::string& words, const warp_offsets& offsets) {
    const int wavefronts = counted_wavefronts(offsets, word_bytes);
    std::map<int, std::set<int>> wanted;  // by bank, the different words
    for (const int o : offsets) wanted[o / word_bytes % banks].insert(o / word_bytes);
    std::size_t most = 0;
    for (const auto& [bank, of] : wanted) most = std::max(most, of.size());
    if (static_cast<int>(most) != wavefronts)
      throw std::runtime_error("bank_words shows other wavefronts than are counted");
    d.text(margin, y, words);
    d.text(width - margin, y, fmt::format("{} wavefront{}", wavefronts, wavefronts == 1 ? "" : "s"),
           wavefronts == 1 ? "shared-text" : "waste-text", at::end);
    for (int row = 0; row < 2; ++row)
      for (int bank = 0; bank < banks; ++bank) {
        const int word = row * banks + bank;
        d.box(margin + bank * unit, y + 8 + row * 16, unit - 1.5, 13,
              !wanted[bank].contains(word) ? "idle"
              : row == 0                   ? "shared"
                                           : "waste",
              1);
      }
  };
  d.text(margin, 42, "bank 0", "mute");
  d.text(width - margin, 42, "bank 31", "mute", at::end);
  panel(64, "neighbours", by_lane([](int lane) { return lane * word_bytes; }));
  panel(126, "all lanes the same word", by_lane([](int) { return 5 * word_bytes; }));
  panel(188, "lanes 16 to 31 a row further",
        by_lane([](int lane) { return (lane % 16 + lane / 16 * banks) * word_bytes; }));
  d.text(margin, 246, "two rows of memory: words 0 to 31 and 32 to 63", "mute");
  return d;
}

drawing wide_shared() {
  drawing d("03_coalescing", "wide_shared", "Wide loads take the warp in parts",
            "How many wavefronts a conflict-free load from shared memory takes: one for 4 bytes per lane, two for 8, "
            "four for 16. If "
            "neighbouring lanes read the same 16 bytes, two.");
  const double gap = 10, unit = (inner - 3 * gap) / 32;
  double y = 44;
  const auto panel = [&](const std::string& words, int bytes, int share) {
    const int wavefronts = counted_wavefronts(by_lane([&](int lane) { return lane / share * bytes; }), bytes);
    const int together = 32 / wavefronts;
    d.text(margin, y, words);
    d.text(width - margin, y, fmt::format("{} wavefront{}", wavefronts, wavefronts == 1 ? "" : "s"), "shared-text",
           at::end);
    for (int lane = 0; lane < 32; ++lane)
      d.box(margin + lane * unit + lane / together * gap, y + 8, unit - (share == 2 && lane % 2 == 0 ? 0.2 : 2), 14,
            "shared", 1);
    y += 48;
  };
  panel("4 bytes per lane", 4, 1);
  panel("8 bytes per lane", 8, 1);
  panel("16 bytes per lane", 16, 1);
  panel("16 bytes, shared by pairs of lanes", 16, 2);
  d.text(margin, y, "a box is a lane; lanes without a gap go together", "mute");
  return d;
}

drawing through_tile() {
  drawing d("03_coalescing", "through_tile", "Turn the tile where turning is cheap",
            "A transpose through shared memory, in three steps: each warp loads a row of the input and stores it as a "
            "row of the tile; "
            "after the barrier each warp reads a column of the tile and stores it as a row of the output.");
  const int n = 8;
  const double cell = 12, side = n * cell;
  const double x[] = {margin, (width - side) / 2, width - margin - side}, y = 62;
  const auto grid = [&](double left, int row, int column, const char* role) {
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        d.box(left + c * cell, y + r * cell, cell - 1.5, cell - 1.5, r == row || c == column ? role : "idle", 1);
  };
  grid(x[0], 2, -1, "used");
  grid(x[1], 2, 5, "shared");
  grid(x[2], 5, -1, "used");
  d.arrow(x[0] + side + 3, y + 2.5 * cell, x[1] - 4, y + 2.5 * cell);
  d.arrow(x[1] + side + 3, y + 5.5 * cell, x[2] - 4, y + 5.5 * cell);
  d.text(x[0], y - 8, "input");
  d.text(x[1], y - 8, "shared tile", "shared-text");
  d.text(x[2], y - 8, "output");
  d.text(x[0], y + side + 18, "load a row");
  d.text(x[1] + side / 2, y + side + 18, "row in,", "shared-text", at::middle);
  d.text(x[1] + side / 2, y + side + 34, "column out", "shared-text", at::middle);
  d.text(width - margin, y + side + 18, "store a row", "", at::end);
  d.text(margin, y + side + 58, "Between the two halves all warps must have stored.", "mute");
  return d;
}

drawing patterns() {
  drawing d("03_coalescing", "patterns", "Sectors of a load, counted",
            "Sectors that a warp touches when lane i reads one float: at i 4, at i + 1 5, at i + 8 4, at 2 i 8, at 3 i "
            "12, at 32 i 32. Blue "
            "is the share of each sector that is used.");
  const struct {
    const char* words;
    int offset, stride;
  } loads[] = {{"in[i]", 0, 1},   {"in[i + 1]", 1, 1}, {"in[i + 8]", 8, 1},
               {"in[2 i]", 0, 2}, {"in[3 i]", 0, 3},   {"in[32 i]", 0, 32}};
  const double left = 72, unit = (width - margin - 22 - left) / 32;
  double y = 40;
  for (const auto& load : loads) {
    const auto offsets = by_lane([&](int lane) { return (load.offset + load.stride * lane) * word_bytes; });
    const std::vector<int> touched = touched_sectors(offsets, word_bytes);
    d.text(margin, y + 14, load.words);
    for (std::size_t i = 0; i < touched.size(); ++i) {
      const auto used =
          std::count_if(offsets.begin(), offsets.end(), [&](int o) { return o / sector_bytes == touched[i]; });
      const double h = 20.0 * static_cast<double>(used) * word_bytes / sector_bytes;
      d.box(left + static_cast<double>(i) * unit, y, unit - 1.5, 20, "waste", 1);
      d.box(left + static_cast<double>(i) * unit, y + 20 - h, unit - 1.5, h, "used", 1);
    }
    d.text(width - margin, y + 14, fmt::format("{}", touched.size()), touched.size() > 4 ? "waste-text" : "used-text",
           at::end);
    y += 30;
  }
  d.legend(y + 8, {{"used", "used bytes of a sector"}, {"waste", "the rest of it"}});
  return d;
}

drawing step_zero() {
  const int columns = 1024;
  const int per_row = counted_sectors(by_lane([&](int lane) { return lane * columns * word_bytes; }), word_bytes);
  const int per_column = counted_sectors(by_lane([&](int lane) { return lane * word_bytes; }), word_bytes);
  drawing d("03_coalescing", "step_zero", "Freeze time at the first step",
            fmt::format("A row-major matrix of 1024 columns, and what a warp loads in its first step. With a thread "
                        "per row the lanes go down a "
                        "column and touch {} sectors. With a thread per column they go along a row and touch {}.",
                        per_row, per_column));
  const int n = 8;
  const double cell = 17, y = 66, x[] = {margin + 8, width - margin - n * cell};
  for (const bool along : {false, true}) {
    const double left = x[along ? 1 : 0];
    d.text(left, y - 24, along ? "thread per column" : "thread per row");
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        d.box(left + c * cell, y + r * cell, cell - 2, cell - 2, (along ? r : c) == 0 ? "used" : "idle", 1.5);
    for (int i = 0; i < n; ++i) {
      const double at = i * cell + cell / 2 - 1;
      if (along)
        d.arrow(left + at, y + cell + 2, left + at, y + 3 * cell);
      else
        d.arrow(left + cell + 2, y + at, left + 3 * cell, y + at);
    }
    d.text(left, y + n * cell + 16, fmt::format("{} sectors", along ? per_column : per_row),
           along ? "used-text" : "waste-text");
  }
  d.text(margin, y + n * cell + 42, "Blue: each lane's first step. Arrows: the next ones.", "mute");
  return d;
}

drawing pitches() {
  drawing d("03_coalescing", "pitches", "Down a column: which banks?",
            "Lane i reads word i times pitch. The banks that are met, and the wavefronts: pitch 32 one bank, 32 "
            "wavefronts; 33 all "
            "banks, 1; 34, 36, 40 and 48 take 2, 4, 8 and 16.");
  const double left = 44, unit = (width - margin - 26 - left) / banks;
  double y = 56;
  d.text(margin, 44, "pitch", "mute");
  d.text(width - margin, 44, "wavefronts", "mute", at::end);
  for (const int pitch : {32, 33, 34, 36, 40, 48}) {
    const auto offsets = by_lane([&](int lane) { return lane * pitch * word_bytes; });
    std::array<int, banks> lanes{};
    for (const int o : offsets) ++lanes[static_cast<std::size_t>(o / word_bytes % banks)];
    const int wavefronts = counted_wavefronts(offsets, word_bytes);
    if (wavefronts != *std::max_element(lanes.begin(), lanes.end()))
      throw std::runtime_error("pitches shows other wavefronts than are counted");
    d.text(margin, y + 15, fmt::format("{}", pitch));
    for (int bank = 0; bank < banks; ++bank) {
      const int n = lanes[static_cast<std::size_t>(bank)];
      const double h = n == 0 ? 0 : 4 + 18 * std::log2(n) / 5;
      d.box(left + bank * unit, y, unit - 1.5, 22, "idle", 1);
      if (n > 0) d.box(left + bank * unit, y + 22 - h, unit - 1.5, h, n == 1 ? "shared" : "waste", 1);
    }
    d.text(width - margin, y + 15, fmt::format("{}", wavefronts), wavefronts == 1 ? "shared-text" : "waste-text",
           at::end);
    y += 30;
  }
  d.text(left, y + 12, "banks 0 to 31; the higher, the more lanes", "mute");
  return d;
}

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// The first `asking` lanes above, `extent` bytes of memory below: what they want, and then the sectors that come.
struct request {
  std::string name;
  warp_offsets offsets;
  int bytes, extent, asking;
};
enum class until { wanted, fetched };

drawing asks(const request& r, until stage) {
  warp_offsets offsets = r.offsets;
  for (int lane = r.asking; lane < 32; ++lane) offsets[static_cast<std::size_t>(lane)] = offsets[0];
  const std::vector<int> touched = touched_sectors(offsets, r.bytes);
  std::set<int> wanted;
  for (const int o : offsets)
    for (int b = o; b < o + r.bytes; ++b) wanted.insert(b);
  drawing d(
      fmt::format("{}_{}", r.name, stage == until::wanted ? "wanted" : "fetched"),
      fmt::format("{} lanes of a warp load {} bytes each; they touch {} sectors.", r.asking, r.bytes, touched.size()));
  const double lane_width = slide_inner / 32, byte = slide_inner / r.extent, top = 26, strip = 104, high = 34;
  d.text(margin, 14, r.asking == 32 ? "32 lanes, one load instruction" : "lanes", "mute");
  for (int lane = 0; lane < 32; ++lane) {
    const double x = margin + lane * lane_width;
    const bool asks = lane < r.asking || (r.asking == 1 && lane == 5);
    d.label(x, top, lane_width - 1.5, 18, asks && !(r.asking == 1 && lane == 0) ? "reg" : "idle",
            fmt::format("{}", lane), asks && !(r.asking == 1 && lane == 0) ? "on s" : "mute s");
  }
  for (int lane = 0; lane < r.asking; ++lane) {
    const int shown = r.asking == 1 ? 5 : lane;
    d.line(margin + (shown + 0.45) * lane_width, top + 19,
           margin + (offsets[static_cast<std::size_t>(lane)] + r.bytes / 2.0) * byte, strip - 2, "reg-line thin");
  }
  for (int s = 0; s < r.extent / sector_bytes; ++s) {
    const bool comes = stage == until::fetched && std::find(touched.begin(), touched.end(), s) != touched.end();
    d.box(margin + s * sector_bytes * byte + 1, strip, sector_bytes * byte - 2, high, comes ? "waste" : "idle");
  }
  for (int b = 0; b < r.extent;) {
    int e = b;
    while (e < r.extent && wanted.contains(e) && (e == b || e % sector_bytes != 0)) ++e;
    if (e > b) d.box(margin + b * byte + 1, strip, (e - b) * byte - (e % sector_bytes == 0 ? 2 : 1), high, "used");
    b = std::max(e, b + 1);
  }
  d.text(margin, strip + high + 18, fmt::format("{} bytes of memory in sectors of {} bytes", r.extent, sector_bytes),
         "mute");
  const auto n = touched.size();
  const double below = strip + high + 38;
  if (stage == until::wanted)
    d.text(margin, below, fmt::format("wanted: {} bytes", wanted.size()), "h used-text");
  else
    d.text(margin, below,
           fmt::format("{} sector{}: {} bytes moved, {} used", n, n == 1 ? "" : "s", n * sector_bytes, wanted.size()),
           n * sector_bytes == wanted.size() ? "h used-text" : "h waste-text");
  return d;
}

/// A corner of a row-major matrix, walked by a thread per row and by a thread per column.
drawing walks(bool frozen) {
  drawing d(frozen ? "walk_frozen" : "walk_thread",
            frozen ? "The first step of all lanes: down a column, or along a row."
                   : "The path of one thread over time: along a row, or down a column.");
  const int n = 8;
  const double cell = 19, y = 40, x[] = {70, 330};
  for (const bool along : {false, true}) {
    const double left = x[along ? 1 : 0];
    d.text(left, y - 12, along ? "a thread per column" : "a thread per row", "h");
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        d.box(left + c * cell, y + r * cell, cell - 2, cell - 2,
              frozen ? ((along ? r : c) == 0 ? "used" : "idle") : ((along ? c : r) == 0 ? "time" : "idle"), 1.5);
    for (int i = 0; i < n; ++i)
      d.text(left + (along == frozen ? i * cell : 0) + cell / 2 - 1, y + (along == frozen ? 0 : i * cell) + 12,
             fmt::format("{}", i), "on s", at::middle);
    d.text(left, y + n * cell + 16,
           frozen ? (along ? "lane i: byte 4 i" : "lane i: byte 4096 i") : "thread 0, its first 8 steps",
           frozen ? "used-text" : "time-text");
  }
  d.text(margin, y + n * cell + 36, "The corner of a row-major matrix with 1024 columns.", "mute");
  return d;
}

/// Words of shared memory in their banks; lanes 0 to asking - 1 want word stride * lane each.
drawing banked(const std::string& name, int stride, int asking, int rows) {
  const auto offsets = by_lane([&](int lane) { return (lane < asking ? lane : 0) * stride * word_bytes; });
  std::map<int, int> lane_of;
  std::array<int, banks> wanted{};
  for (int lane = asking - 1; lane >= 0; --lane) lane_of[stride * lane] = lane;
  for (const auto& [word, lane] : lane_of) ++wanted[static_cast<std::size_t>(word % banks)];
  const int wavefronts = counted_wavefronts(offsets, word_bytes);
  if (asking > 0 && *std::max_element(wanted.begin(), wanted.end()) != wavefronts)
    throw std::runtime_error(name + " shows other wavefronts than are counted");
  drawing d(name, fmt::format("Shared memory: word i is in bank i % 32. {} lanes want every {}th word: {} wavefronts.",
                              asking, stride, wavefronts));
  const double cell = slide_inner / banks, high = asking == 0 ? 20 : 12, y = 34;
  d.text(margin, 12, "bank", "mute");
  for (int bank = 0; bank < banks; ++bank)
    d.text(margin + (bank + 0.45) * cell, 27, fmt::format("{}", bank), "s mute", at::middle);
  for (int row = 0; row < rows; ++row)
    for (int bank = 0; bank < banks; ++bank) {
      const int word = row * banks + bank;
      const auto found = lane_of.find(word);
      const bool on = found != lane_of.end();
      const double left = margin + bank * cell, top = y + row * (high + 2);
      d.box(left, top, cell - 1.5, high,
            !on                                                  ? "idle"
            : wanted[static_cast<std::size_t>(word % banks)] > 1 ? "waste"
                                                                 : "shared",
            1);
      if (on)
        d.text(left + cell * 0.45, top + high / 2 + 3.6, fmt::format("{}", found->second),
               wanted[static_cast<std::size_t>(word % banks)] > 1 ? "s" : "s on", at::middle);
      else if (asking == 0 && word < 100)
        d.text(left + cell * 0.45, top + high / 2 + 3.6, fmt::format("{}", word), "s mute", at::middle);
    }
  const double below = y + rows * (high + 2) + 16;
  if (asking == 0) {
    d.text(margin, below, "the number in a box: the word's index", "mute");
    return d;
  }
  d.text(margin, below, "the number in a box: the lane that wants this word", "mute");
  d.text(slide_width - margin, below, fmt::format("{} wavefront{}", wavefronts, wavefronts == 1 ? "" : "s"),
         wavefronts == 1 ? "h shared-text" : "h waste-text", at::end);
  return d;
}

/// The tile's way in three steps: a warp loads a row, all warps have, a warp reads a column.
drawing turned(int step) {
  const char* says[] = {"A warp loads a row of the input and stores it as a row of the tile.",
                        "All warps have stored their rows: the barrier.",
                        "A warp reads a column of the tile and stores it as a row of the output."};
  drawing d(fmt::format("turn_{}", step + 1), says[step]);
  const int n = 8;
  const double cell = 19, side = n * cell, y = 40;
  const double x[] = {margin, (slide_width - side) / 2, slide_width - margin - side};
  const auto grid = [&](double left, auto on, const char* role) {
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c)
        d.box(left + c * cell, y + r * cell, cell - 2, cell - 2, on(r, c) ? role : "idle", 1.5);
  };
  grid(
      x[0], [&](int r, int) { return step == 0 ? r == 2 : true; }, "used");
  grid(
      x[1], [&](int r, int c) { return step == 0   ? r == 2
                                       : step == 2 ? c == 5
                                                   : true; }, "shared");
  grid(
      x[2], [&](int r, int) { return step < 2    ? false
                                     : step == 2 ? r == 5
                                                 : true; }, "used");
  d.text(x[0], y - 12, "input", "h");
  d.text(x[1], y - 12, "shared tile", "h shared-text");
  d.text(x[2], y - 12, "output", "h");
  if (step < 2) d.arrow(x[0] + side + 4, y + 2.5 * cell, x[1] - 5, y + 2.5 * cell);
  if (step == 2) d.arrow(x[1] + side + 4, y + 5.5 * cell, x[2] - 5, y + 5.5 * cell);
  d.text(margin, y + side + 20, says[step], step == 1 ? "h time-text" : "");
  return d;
}

/// The naive transpose: a warp goes along a row of one matrix, so down a column of the other.
drawing two_sides() {
  const int n = 1024;
  const int loads = counted_sectors(by_lane([](int lane) { return lane * word_bytes; }), word_bytes);
  const int stores =
      static_cast<int>(touched_sectors(by_lane([&](int lane) { return lane * n * word_bytes; }), word_bytes).size());
  drawing d("two_sides", fmt::format("A warp loads {} sectors and stores {}.", loads, stores));
  const double cell = 17, x[] = {70, 340}, y = 38;
  for (const bool out : {false, true}) {
    const double left = x[out ? 1 : 0];
    d.text(left, y - 12, out ? "out[c * rows + r]" : "in[r * columns + c]", "h");
    for (int r = 0; r < 8; ++r)
      for (int c = 0; c < 8; ++c)
        d.box(left + c * cell, y + r * cell, cell - 2, cell - 2,
              out ? (c == 2 ? "waste" : "idle") : (r == 2 ? "used" : "idle"), 1.5);
    d.text(left, y + 8 * cell + 18, fmt::format("{} sectors per {}", out ? stores : loads, out ? "store" : "load"),
           out ? "h waste-text" : "h used-text");
  }
  d.arrow(x[0] + 8 * cell + 14, y + 4 * cell, x[1] - 18, y + 4 * cell);
  return d;
}

}  // namespace

void coalescing(drawing_list& to) {
  for (const auto make :
       {two_walks, whole_sectors, bank_words, wide_shared, through_tile, patterns, step_zero, pitches})
    to.push_back(make());
  const request requests[] = {
      {"one_lane", by_lane([](int) { return 20; }), 4, 128, 1},
      {"eight_lanes", by_lane([](int lane) { return 4 * lane; }), 4, 128, 8},
      {"doubles", by_lane([](int lane) { return 8 * lane; }), 8, 256, 32},
      {"reversed", by_lane([](int lane) { return 8 * (31 - lane); }), 8, 256, 32},
      {"shifted", by_lane([](int lane) { return 8 * (lane + 2); }), 8, 320, 32},
      {"particles", by_lane([](int lane) { return 20 * lane; }), 4, 640, 32},
  };
  for (const request& r : requests) {
    const bool asked = r.name == "one_lane" || r.name == "doubles" || r.name == "particles";
    if (asked) to.push_back(asks(r, until::wanted));
    to.push_back(asks(r, until::fetched));
  }
  for (const bool frozen : {false, true}) to.push_back(walks(frozen));
  to.push_back(banked("bank_columns", 1, 0, 4));
  to.push_back(banked("banks_first", 12, 8, 12));
  to.push_back(banked("banks_all", 12, 32, 12));
  for (int step = 0; step < 3; ++step) to.push_back(turned(step));
  to.push_back(two_sides());
}

}  // namespace drawings
