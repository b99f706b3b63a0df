// Lab 11: a matrix that is never stored, a softmax that begins early, and keys split over blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab11 = "11_attention";

drawing matrix() {
  drawing d(lab11, "README.md", "matrix", "The matrix in the middle",
            "Unfused, scores go to memory and come back between three launches. Fused, a block keeps its queries and "
            "goes over keys and values tile by tile; one tile of scores exists at a time, on the chip.");
  const auto rows = [&](double y, const std::string& words, std::string_view style) {
    d.text(margin, y, words, style);
  };
  rows(46, "unfused: three launches", "waste-text");
  const double y = 58;
  d.label(margin, y + 24, 46, 26, "used", "Q, K");
  d.arrow(margin + 50, y + 37, margin + 72, y + 37);
  d.label(margin + 76, y, 74, 74, "waste", "scores", "");
  d.arrow(margin + 154, y + 37, margin + 176, y + 37);
  d.label(margin + 180, y, 74, 74, "waste", "weights", "");
  d.arrow(margin + 258, y + 37, margin + 280, y + 37);
  d.label(margin + 284, y + 24, 46, 26, "used", "out");
  rows(y + 92, "tokens × tokens, in memory", "mute");
  const double low = 190;
  rows(low - 8, "fused: one launch", "used-text");
  d.label(margin, low + 12, 30, 48, "reg", "Q");
  for (int i = 0; i < 4; ++i) d.box(margin + 50 + i * 52, low, 48, 16, i == 1 ? "shared" : "idle");
  for (int i = 0; i < 4; ++i) d.box(margin + 50 + i * 52, low + 56, 48, 16, i == 1 ? "shared" : "idle");
  d.label(margin + 102, low + 22, 48, 28, "reg", "tile");
  d.text(margin + 264, low + 13, "K", "shared-text");
  d.text(margin + 264, low + 41, "scores", "reg-text");
  d.text(margin + 264, low + 69, "V", "shared-text");
  d.arrow(margin + 160, low + 36, margin + 206, low + 36);
  rows(low + 94, "The tile moves along K and V.", "mute");
  return d;
}

/// A row of scores in tiles, and what is kept after each.
drawing online() {
  const std::vector<std::vector<double>> tiles{{1, 3, 2}, {0, 2, 1}, {5, 4, 2}};
  double most = -1e9, sum = 0;
  std::vector<std::pair<double, double>> kept;
  std::vector<double> scaled;
  for (const auto& tile : tiles) {
    const double next = std::max(most, *std::max_element(tile.begin(), tile.end()));
    scaled.push_back(sum == 0 ? 0 : std::exp(most - next));
    sum *= std::exp(most - next);
    for (const double one : tile) sum += std::exp(one - next);
    most = next;
    kept.emplace_back(most, sum);
  }
  drawing d(lab11, "README.md", "online", "A softmax that begins before its row ends",
            fmt::format("Scores 1 3 2, 0 2 1 and 5 4 2 come tile by tile. After each tile the largest score m and the "
                        "sum l of weights are kept: m = {:.0f} and l = {:.2f}, then {:.0f} and {:.2f}, then {:.0f} and "
                        "{:.2f}. The third tile has a larger score, so what was summed up is multiplied by {:.2f}.",
                        kept[0].first, kept[0].second, kept[1].first, kept[1].second, kept[2].first, kept[2].second,
                        scaled[2]));
  const double cell = 28, gap = 24, left = margin, y = 48;
  for (std::size_t t = 0; t < tiles.size(); ++t) {
    const double x = left + static_cast<double>(t) * (3 * cell + gap);
    for (std::size_t i = 0; i < 3; ++i)
      d.label(x + static_cast<double>(i) * cell, y, cell - 3, 26, tiles[t][i] >= kept[t].first ? "time" : "used",
              fmt::format("{:.0f}", tiles[t][i]));
    d.arrow(x + 1.5 * cell, y + 30, x + 1.5 * cell, y + 56);
    d.text(x, y + 74, fmt::format("m = {:.0f}", kept[t].first), "time-text");
    d.text(x, y + 92, fmt::format("l = {:.2f}", kept[t].second));
    if (t > 0)
      d.text(x, y + 112, scaled[t] == 1 ? "old sums stay" : fmt::format("old sums × {:.2f}", scaled[t]),
             scaled[t] == 1 ? "mute" : "waste-text");
  }
  d.text(left, y + 142, "Sums of values o are scaled like l. out = o / l", "mute");
  return d;
}

drawing split() {
  drawing d(lab11, "README.md", "split", "One query, all multiprocessors",
            "One block per head: two of many multiprocessors work. With a head's keys split over blocks all of them "
            "work, and a second launch joins the parts.");
  const double cell = 20, y = 56;
  const auto blocks = [&](double top, int used) {
    for (int i = 0; i < 16; ++i) d.box(margin + i * (cell + 1), top, cell - 1, 22, i < used ? "used" : "idle");
  };
  d.text(margin, y - 10, "one block per head, 2 heads", "waste-text");
  blocks(y, 2);
  d.text(margin, y + 60, "8 blocks per head, each an eighth of the keys", "used-text");
  blocks(y + 70, 16);
  for (int h = 0; h < 2; ++h) {
    const double middle = margin + (h * 8 + 4) * (cell + 1);
    for (int i = 0; i < 8; ++i) d.line(margin + (h * 8 + i) * (cell + 1) + cell / 2, y + 96, middle, y + 122);
    d.label(middle - 34, y + 122, 68, 24, "time", "join");
  }
  d.text(margin, y + 168, "A part leaves its m, l and o.", "mute");
  return d;
}

drawing mask() {
  int needed = 0;
  for (int warp = 0; warp < 16; ++warp) needed += warp * 16 / 64 + 1;
  drawing d(lab11, "SEEN.md", "mask", "What the mask saves",
            fmt::format("256 queries in 16 warps, 256 keys in 4 tiles. A warp computes each tile that one of its "
                        "queries sees: {} of 64 tiles. Of the scores in them, those past the diagonal are masked.",
                        needed));
  const double top = 50, left = margin, w = 52, h = 12;
  for (int warp = 0; warp < 16; ++warp)
    for (int tile = 0; tile < 4; ++tile) {
      const bool computed = tile * 64 < warp * 16 + 16, whole = tile * 64 + 63 <= warp * 16;
      d.box(left + tile * w, top + warp * h, w - 2, h - 2, !computed ? "idle" : whole ? "used" : "time", 1);
    }
  d.line(left, top, left + 4 * w, top + 16 * h, "pen");
  d.text(left + 4 * w + 12, top + 20, fmt::format("{} of 64 tiles", needed), "used-text");
  d.text(left + 4 * w + 12, top + 44, "keys →", "mute");
  d.text(left + 4 * w + 12, top + 62, "queries ↓", "mute");
  d.legend(top + 16 * h + 20, {{"used", "all seen"}, {"time", "masked"}, {"idle", "left out"}});
  return d;
}

}  // namespace

void attention(drawing_list& to) {
  for (const auto make : {matrix, online, split, mask}) to.push_back(make());
}

}  // namespace drawings
