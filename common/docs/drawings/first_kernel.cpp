// Lab 00: which thread has which element.
#include <fmt/format.h>

#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

constexpr const char* lab00 = "00_first_kernel";

drawing own_element() {
  constexpr int blocks = 3, threads = 8, block = 2, thread = 3;
  drawing d(lab00, "own_element", "A grid is blocks of threads",
            fmt::format("{} blocks of {} threads above an array of {} elements. Thread {} of block {} comes after two "
                        "whole blocks.",
                        blocks, threads, blocks * threads, thread, block));
  const double unit = inner / (blocks * threads);
  for (int b = 0; b < blocks; ++b) {
    d.text(margin + b * threads * unit, 46, fmt::format("block {}", b), "mute");
    for (int t = 0; t < threads; ++t) {
      const bool own = b == block && t == thread;
      const double x = margin + (b * threads + t) * unit;
      d.box(x + 1, 54, unit - 2, 18, own ? "reg" : "idle", 8);
      d.box(x + 1, 104, unit - 2, 18, own ? "used" : "idle", 1);
    }
    d.line(margin + b * threads * unit + 1, 78, margin + (b + 1) * threads * unit - 2, 78, "pen");
  }
  const double x = margin + (block * threads + thread + 0.5) * unit;
  d.arrow(x, 80, x, 102, "used-line");
  d.text(margin, 96, fmt::format("thread {} of block {}", thread, block), "");
  d.text(margin, 142, "the array: element 0, 1, 2, … Which is this one?");
  return d;
}

drawing last_block() {
  constexpr int n = 700, threads = 256, blocks = (n + threads - 1) / threads, past = blocks * threads - n;
  drawing d(lab00, "last_block", "Blocks come whole",
            fmt::format("{} elements need {} blocks of {} threads; {} threads of the last block have no element.", n,
                        blocks, threads, past));
  const double unit = inner / (blocks * threads);
  for (int b = 0; b < blocks; ++b) {
    const int own = b + 1 < blocks ? threads : threads - past;
    d.label(margin + b * threads * unit + 1, 40, own * unit - 2, 24, "reg", fmt::format("block {}", b));
    if (own < threads) d.box(margin + (b * threads + own) * unit, 40, past * unit - 1, 24, "waste", 1);
  }
  d.label(margin + 1, 80, n * unit - 2, 24, "used", fmt::format("{} elements", n));
  d.text(width - margin, 122, fmt::format("{} threads past the end", past), "waste-text", at::end);
  return d;
}

drawing shared_tile() {
  constexpr int threads = 8;
  drawing d(lab00, "shared_tile", "Fetch once, read twice",
            "Each thread of a block loads one element from global memory into a tile in shared memory; after the "
            "barrier each thread reads its own and its right neighbour's.");
  const double unit = inner / threads;
  const double rows[] = {40, 90, 172};
  for (int t = 0; t < threads; ++t) {
    const double x = margin + t * unit, middle = x + unit / 2;
    d.box(x + 3, rows[0], unit - 6, 18, "used", 1);
    d.arrow(middle, rows[0] + 20, middle, rows[1] - 2, "used-line");
    d.box(x + 3, rows[1], unit - 6, 18, "shared", 1);
    d.arrow(middle, rows[1] + 42, middle, rows[2] - 2, "shared-line");
    if (t + 1 < threads) d.arrow(middle + unit - 6, rows[1] + 42, middle + 6, rows[2] - 2, "shared-line");
    d.box(x + 3, rows[2], unit - 6, 18, "reg", 8);
  }
  d.line(margin, rows[1] + 34, width - margin, rows[1] + 34, "pen");
  d.legend(212, {{"used", "global memory"}, {"shared", "shared"}, {"reg", "thread"}});
  d.text(margin, 240, "No thread passes the line before all have stored.", "mute");
  return d;
}

drawing halves() {
  constexpr int threads = 8;
  drawing d(lab00, "halves", "Eight numbers, three steps",
            "A sum of eight numbers in three steps: four threads add, then two, then one, with a barrier before each "
            "step.");
  const double unit = inner / threads;
  double y = 40;
  for (int left = threads; left > 0; left /= 2, y += 56) {
    for (int t = 0; t < threads; ++t) d.box(margin + t * unit + 3, y, unit - 6, 18, t < left ? "shared" : "idle", 1);
    for (int t = 0; left > 1 && t < left / 2; ++t) {
      const double x = margin + (t + 0.5) * unit;
      d.arrow(x, y + 20, x, y + 54, "shared-line");
      d.arrow(x + left / 2 * unit, y + 20, x + 6, y + 54, "shared-line");
    }
  }
  return d;
}

drawing two_walks() {
  const auto panel = [](drawing& d, double y, const std::string& words, int step) {
    warp_offsets offsets{};
    for (int lane = 0; lane < 32; ++lane) offsets[static_cast<std::size_t>(lane)] = 4 * step * lane;
    const int sectors = counted_sectors(offsets, 4);
    d.text(margin, y, words);
    d.text(width - margin, y, fmt::format("{} sectors", sectors), step == 1 ? "used-text" : "waste-text", at::end);
    const double unit = inner / 64;
    for (int s = 0; s < 64; ++s) {
      const bool touched = step == 1 ? s < sectors : s % (step / 8) == 0;
      d.box(margin + s * unit, y + 8, unit - 1, 16, !touched ? "idle" : step == 1 ? "used" : "waste", 0.5);
    }
  };
  drawing d(lab00, "two_walks", "The same elements, another order",
            "One load of a warp. In a grid-stride loop 32 threads read 32 neighbours, 4 sectors. With chunks of 16 "
            "they touch 32 sectors and use an eighth of each.");
  panel(d, 44, "grid-stride loop: x[i]", 1);
  panel(d, 100, "chunks of 16: x[16 i]", 16);
  d.text(margin, 148, "a box is a sector of 8 floats; the row is 2 KiB of x", "mute");
  return d;
}

}  // namespace

void first_kernel(drawing_list& to) {
  to.push_back(own_element());
  to.push_back(last_block());
  to.push_back(shared_tile());
  to.push_back(halves());
  to.push_back(two_walks());
}

}  // namespace drawings
