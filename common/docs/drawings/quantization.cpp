// Lab 07: tiles, waves, occupancy and alignment.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../../labs/07_quantization/given/schedule.hpp"
#include "counted.hpp"
#include "drawing.hpp"

namespace drawings {
namespace {

/// One block per multiprocessor.
constexpr lab07::kernel large(int tile_m, int tile_n) { return {tile_m, tile_n, 256, 255, 0, 2}; }

lab07::device device_of(const char* name) {
  const auto whole = [&](const char* key) { return static_cast<int>(device_figure(name, key)); };
  return {whole("multiprocessors"),
          whole("max_threads_per_sm"),
          whole("max_blocks_per_sm"),
          whole("registers_per_sm"),
          whole("shared_per_sm_bytes"),
          whole("register_allocation_unit"),
          whole("shared_reserved_per_block_bytes"),
          device_figure(name, "fp32_flops_per_second"),
          device_figure(name, "l2_bytes_per_second"),
          device_figure(name, "launch_seconds")};
}

lab07::dealt square(std::int64_t n, const lab07::kernel& by, const lab07::device& on) {
  return lab07::deal({n, n, n}, by, on);
}

drawing edge_tiles() {
  const lab07::device a100 = device_of("a100");
  const auto fits = square(1792, large(256, 128), a100), more = square(1793, large(256, 128), a100);
  drawing d("07_quantization", "README.md", "edge_tiles", "One row more, a row of tiles more",
            fmt::format("C of 1792 × 1792 is covered by {} tiles of 256 × 128. C of 1793 × 1793 needs {}: an eighth "
                        "row and a fifteenth "
                        "column of tiles, nearly all of which is discarded.",
                        fits.tiles, more.tiles));
  const double x = margin + 40, y = 48, w = 14.5, h = 2 * w;
  for (int r = 0; r < 8; ++r)
    for (int c = 0; c < 15; ++c) d.box(x + c * w, y + r * h, w - 1.5, h - 1.5, r == 7 || c == 14 ? "waste" : "reg", 1);
  // The last row and column of C, in the first pixels of the tiles that they need.
  d.box(x + 14 * w, y, 1.5, 7 * h, "reg", 0);
  d.box(x, y + 7 * h, 14 * w + 1.5, 1.5, "reg", 0);
  d.text(x, y - 8, "15 columns of tiles", "mute");
  d.text(margin, y + 12, "8", "mute");
  d.text(margin, y + 28, "rows", "mute");
  const double t = y + 8 * h + 22;
  d.text(margin, t, fmt::format("1792: {} tiles", fits.tiles), "reg-text");
  d.text(margin + 112, t, fmt::format("1793: {} tiles", more.tiles), "waste-text");
  d.legend(t + 24, {{"reg", "needed"}, {"waste", "computed, then discarded"}});
  return d;
}

drawing waves() {
  const lab07::device a100 = device_of("a100");
  const auto more = square(1793, large(256, 128), a100);
  drawing d("07_quantization", "README.md", "waves", "The last wave costs as much as a full one",
            fmt::format("{} blocks on the {} multiprocessors of an A100: the first wave fills all of them, the second "
                        "has {} blocks and leaves "
                        "{} idle.",
                        more.tiles, a100.multiprocessors, more.tiles - a100.multiprocessors,
                        2 * a100.multiprocessors - static_cast<int>(more.tiles)));
  const int columns = 27, rows = a100.multiprocessors / columns;
  const double unit = inner / columns;
  double y = 52;
  std::int64_t left = more.tiles;
  for (int wave = 0; wave < more.waves; ++wave) {
    const auto here = std::min<std::int64_t>(left, a100.multiprocessors);
    d.text(margin, y - 8, fmt::format("wave {}: {} blocks", wave + 1, here));
    if (here < a100.multiprocessors)
      d.text(width - margin, y - 8, fmt::format("{} idle", a100.multiprocessors - here), "waste-text", at::end);
    for (int i = 0; i < columns * rows; ++i)
      d.box(margin + i % columns * unit, y + i / columns * unit, unit - 1.8, unit - 1.8, i < here ? "time" : "waste",
            1);
    left -= here;
    y += rows * unit + 34;
  }
  d.text(margin, y - 12, "Each wave takes the time of one block.", "mute");
  return d;
}

drawing staircase() {
  const lab07::device a100 = device_of("a100");
  const lab07::kernel by = large(256, 128);
  drawing d("07_quantization", "README.md", "steps", "Time is a staircase",
            "Waves of an n × n product on an A100, tiles of 256 × 128, for n up to 2816: flat steps, with a cliff at "
            "1793 where one wave "
            "becomes two. The work itself grows smoothly.");
  const double left = 36, right = width - margin, top = 64, bottom = 210;
  const int last = 2816;  // the waves at 3073 are a prediction
  const double most = static_cast<double>(square(last, by, a100).waves);
  const auto x = [&](double n) { return left + (right - left) * n / last; };
  const auto y = [&](double w) { return bottom - (bottom - top) * w / (most + 0.3); };
  std::vector<std::pair<double, double>> steps, smooth;
  std::int64_t before = 1;
  steps.emplace_back(x(0), y(1));
  int cliff = 0;
  for (int n = 1; n <= last; n += 128) {  // tiles change only after multiples of their sides
    const std::int64_t now = square(n, by, a100).waves;
    if (now != before) {
      steps.emplace_back(x(n), y(static_cast<double>(before)));
      steps.emplace_back(x(n), y(static_cast<double>(now)));
      if (cliff == 0) cliff = n;
    }
    before = now;
  }
  steps.emplace_back(x(last), y(static_cast<double>(before)));
  for (int n = 0; n <= last; n += 64) smooth.emplace_back(x(n), y(1.0 * n * n / (256 * 128 * 108)));
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top - 6, left, bottom, "pen");
  d.curve(smooth, "idle-line");
  d.curve(steps, "time-line");
  for (const int w : {1, 2, 3}) d.text(left - 6, y(w) + 4, fmt::format("{}", w), "mute", at::end);
  d.text(margin, top - 14, "waves", "mute");
  d.text(x(cliff), bottom + 16, fmt::format("{}", cliff), "time-text", at::middle);
  d.line(x(cliff), y(1), x(cliff), bottom);
  d.text(right, bottom + 16, "n = 2816", "mute", at::end);
  d.text(x(cliff) - 12, y(2) - 2, "one row more,", "time-text", at::end);
  d.text(x(cliff) - 12, y(2) + 13, "twice the time", "time-text", at::end);
  d.text(x(2050), y(0.62), "the work itself", "mute");
  return d;
}

drawing occupancy() {
  const lab07::device h200 = device_of("h200");
  const lab07::kernel by{64, 64, 256, 64, 36 * 1024, 4};
  constexpr int plenty = std::numeric_limits<int>::max() / 64;
  const auto alone = [&](int lab07::device::*resource) {
    lab07::device d = h200;
    for (auto other : {&lab07::device::threads_of_sm, &lab07::device::blocks_of_sm, &lab07::device::registers_of_sm,
                       &lab07::device::shared_bytes_of_sm})
      if (other != resource) d.*other = plenty;
    return lab07::blocks_that_fit(by, d);
  };
  const struct {
    const char* name;
    int fits;
  } resources[] = {{"threads", alone(&lab07::device::threads_of_sm)},
                   {"slots", alone(&lab07::device::blocks_of_sm)},
                   {"registers", alone(&lab07::device::registers_of_sm)},
                   {"shared", alone(&lab07::device::shared_bytes_of_sm)}};
  const int fit = lab07::blocks_that_fit(by, h200);
  drawing d(
      "07_quantization", "README.md", "occupancy", "What runs out first decides",
      fmt::format("One multiprocessor of an H200 and a kernel with 256 threads, 64 registers per thread and 36 KiB of "
                  "shared memory per "
                  "block. Threads allow {} blocks, slots {}, registers {}, shared memory {}: so {} run at a time.",
                  resources[0].fits, resources[1].fits, resources[2].fits, resources[3].fits, fit));
  const double left = margin + 66, room = width - margin - 26 - left;
  double y = 44;
  for (const auto& r : resources) {
    const double cell = room / r.fits;
    d.text(margin, y + 16, r.name);
    for (int i = 0; i < r.fits; ++i)
      d.box(left + i * cell, y, cell - (cell > 6 ? 2 : 1), 22, i < fit ? "time" : "idle", 1.5);
    d.text(width - margin, y + 16, fmt::format("{}", r.fits), r.fits == fit ? "time-text" : "mute", at::end);
    y += 32;
  }
  d.text(margin, y + 10, fmt::format("{} blocks run at a time: registers are used up", fit), "time-text");
  d.text(margin, y + 28, "256 threads × 64 registers, 36 KiB, on an H200", "mute");
  return d;
}

drawing row_starts() {
  drawing d("07_quantization", "README.md", "row_starts", "Odd rows begin anywhere",
            "Where the rows of a bf16 matrix begin, in units of 16 bytes. With 1792 columns each row begins at a "
            "boundary. With 1793 columns "
            "each begins 2 bytes further, and only one row in eight is at a boundary.");
  const double unit = 60, bytes = unit / 16;
  const auto panel = [&](double x, int columns) {
    d.text(x, 44, fmt::format("{} columns", columns));
    for (int row = 0; row < 9; ++row) {
      const int offset = row * columns * 2 % 16;
      const double y = 54 + row * 15;
      for (int u = 0; u < 2; ++u) d.box(x + u * unit, y, unit - 1, 11, "free", 0);
      d.box(x + offset * bytes, y + 1, 2 * unit - 2 - offset * bytes, 9, offset == 0 ? "used" : "waste", 1);
    }
  };
  panel(margin + 28, 1792);
  panel(margin + 190, 1793);
  for (const int row : {0, 8}) d.text(margin, 54 + row * 15 + 10, fmt::format("{}", row), "mute");
  d.text(margin, 212, "each frame: 16 bytes, as tensor cores are fed", "mute");
  d.legend(234, {{"used", "begins at a boundary"}, {"waste", "does not"}});
  return d;
}

drawing cliffs() {
  const lab07::device h200 = device_of("h200");
  drawing d("07_quantization", "SEEN.md", "cliffs", "An H200's own cliffs",
            "Waves of an n × n product on an H200, by tile: with 128 × 128 the first cliff is at 1409, with 256 × 128 "
            "at 2049.");
  const double left = 36, right = width - margin, top = 66, bottom = 208;
  const int last = 3000;
  const auto x = [&](double n) { return left + (right - left) * n / last; };
  const auto y = [&](double w) { return bottom - (bottom - top) * w / 5; };
  for (const int tile_m : {128, 256}) {
    const lab07::kernel by = large(tile_m, 128);
    std::vector<std::pair<double, double>> steps{{x(0), y(1)}};
    std::int64_t before = 1;
    int cliff = 0;
    for (int n = 1; n <= last; n += 128) {
      const std::int64_t now = square(n, by, h200).waves;
      if (now == before) continue;
      steps.emplace_back(x(n), y(static_cast<double>(before)));
      steps.emplace_back(x(n), y(static_cast<double>(now)));
      if (cliff == 0) cliff = n;
      before = now;
    }
    steps.emplace_back(x(last), y(static_cast<double>(before)));
    const std::string role = tile_m == 128 ? "time" : "used";
    d.curve(steps, role + "-line");
    d.line(x(cliff), y(1), x(cliff), bottom);
    d.text(x(cliff), bottom + 16, fmt::format("{}", cliff), role + "-text", at::middle);
    d.text(tile_m == 128 ? x(1840) : right, tile_m == 128 ? y(4.2) : y(1.3), fmt::format("{} × 128", tile_m),
           role + "-text", at::end);
  }
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top - 8, left, bottom, "pen");
  for (const int w : {1, 2, 3, 4}) d.text(left - 6, y(w) + 4, fmt::format("{}", w), "mute", at::end);
  d.text(margin, top - 14, "waves", "mute");
  d.text(right, bottom + 16, "n", "mute", at::end);
  return d;
}

}  // namespace

void quantization(drawing_list& to) {
  for (const auto make : {edge_tiles, waves, staircase, occupancy, row_starts, cliffs}) to.push_back(make());
}

}  // namespace drawings
