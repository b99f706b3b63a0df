// Lab 07: tiles, waves, occupancy and alignment.
#include <fmt/format.h>

#include <algorithm>
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
  drawing d("07_quantization", "edge_tiles", "One row more, a row of tiles more",
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
  drawing d("07_quantization", "waves", "The last wave costs as much as a full one",
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
  drawing d("07_quantization", "steps", "Time is a staircase",
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
      "07_quantization", "occupancy", "What runs out first decides",
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
  drawing d("07_quantization", "row_starts", "Odd rows begin anywhere",
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
  drawing d("07_quantization", "cliffs", "An H200's own cliffs",
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

// ---- steps of the deck ---------------------------------------------------------------------------------------------

/// C of n x n under tiles of 256 x 128, and how much of what they compute is needed.
drawing cover(int step) {
  const std::int64_t n = 1791 + step;
  const auto covered = square(n, large(256, 128), device_of("a100"));
  const auto computed = covered.tiles * 256 * 128;
  drawing d(fmt::format("cover_{}", step), fmt::format("C of {0} x {0} under {1} tiles.", n, covered.tiles));
  const double w = 12, h = 2 * w, x = margin + 4, y = 16;
  const auto rows = (n - 1) / 256 + 1, columns = (n - 1) / 128 + 1;
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t c = 0; c < columns; ++c)
      d.box(x + static_cast<double>(c) * w, y + static_cast<double>(r) * h, w - 1.5, h - 1.5,
            (r + 1) * 256 > n || (c + 1) * 128 > n ? "waste" : "reg", 1);
  const double right = x + 15 * w + 40;
  d.text(right, 40, fmt::format("n = {}", n), "h");
  d.text(right, 70, fmt::format("{} × {} = {} tiles of 256 × 128", rows, columns, covered.tiles),
         step == 1 ? "reg-text" : "waste-text");
  d.text(right, 100, fmt::format("computed: {} elements", grouped(computed)));
  d.text(right, 120, fmt::format("needed: {}", grouped(n * n)));
  d.text(right, 150,
         fmt::format("discarded: {:.0f} %", 100 - 100 * static_cast<double>(n * n) / static_cast<double>(computed)),
         step == 1 ? "h reg-text" : "h waste-text");
  if (step > 1) d.text(right, 180, "red tiles hold one row or column of C", "mute");
  return d;
}

/// What a tile wastes past the edge at n = 1793, and what it fetches.
drawing tile_price() {
  drawing d("tile_price", "By tile: the share of the computed elements that is discarded, and numbers fetched.");
  const struct { int m, n; } tiles[] = {{256, 128}, {128, 128}, {128, 64}, {64, 64}, {32, 32}};
  const double left = margin + 72, middle = margin + 300, scale = 7.5, fetch_scale = 2600;
  d.text(left, 24, "discarded at n = 1793", "waste-text");
  d.text(middle, 24, "numbers fetched per multiply-add", "used-text");
  double y = 40;
  for (const auto& t : tiles) {
    const auto covered = square(1793, large(t.m, t.n), device_of("a100"));
    const double lost = 100 - 100.0 * 1793 * 1793 / static_cast<double>(covered.tiles * t.m * t.n);
    const double fetched = 1.0 / t.m + 1.0 / t.n;
    d.text(margin, y + 16, fmt::format("{} × {}", t.m, t.n));
    d.box(left, y, lost * scale, 22, "waste");
    d.text(left + lost * scale + 8, y + 16, fmt::format("{:.0f} %", lost), "waste-text");
    d.box(middle, y, fetched * fetch_scale, 22, "used");
    d.text(middle + fetched * fetch_scale + 8, y + 16, fmt::format("{:.3f}", fetched), "used-text");
    y += 32;
  }
  return d;
}

/// Blocks of a launch on the 108 multiprocessors of an A100, one column each; time runs down. `shared_out`: all
/// multiprocessors take equally many steps along k.
drawing gantt(int step) {
  const lab07::device a100 = device_of("a100");
  const int places = a100.multiprocessors;
  const auto blocks = square(step == 1 ? 1792 : 1793, large(256, 128), a100).tiles;
  const bool shared_out = step == 3;
  drawing d(fmt::format("gantt_{}", step), fmt::format("{} tiles on {} multiprocessors, by time.", blocks, places));
  const double unit = (slide_inner - 58) / places, left = margin + 58, top = 34, high = 64;
  d.text(left, 20, fmt::format("{} multiprocessors, one column each", places), "mute");
  const double share = static_cast<double>(blocks) / places;
  for (int i = 0; i < places; ++i) {
    const double x = left + i * unit;
    if (shared_out) {
      d.box(x, top, unit - 1, high * share, "time", 0.5);
      continue;
    }
    for (std::int64_t wave = 0; wave * places < blocks; ++wave)
      d.box(x, top + static_cast<double>(wave) * high, unit - 1, high - 2,
            wave * places + i < blocks ? "time" : "waste", 0.5);
  }
  if (shared_out) {
    d.text(margin, top + 38, "all tiles", "mute");
    d.line(left, top + 2 * high, left + places * unit, top + 2 * high, "waste-line");
    d.text(left, top + 2 * high + 18, "two waves would end here", "waste-text");
  } else {
    d.text(margin, top + 38, "wave 1", "mute");
    if (blocks > places) d.text(margin, top + high + 38, "wave 2", "mute");
  }
  const double y = top + 2 * high + 44;
  const auto waves = (blocks + places - 1) / places;
  d.text(margin, y,
         shared_out ? fmt::format("{} tiles / {} = {:.2f} times one block", blocks, places, share)
                    : fmt::format("{} blocks: {} × the time of one", blocks, waves),
         shared_out || waves == 1 ? "h used-text" : "h waste-text");
  if (!shared_out)
    d.text(slide_width - margin, y, fmt::format("{} places idle", waves * places - blocks), "waste-text", at::end);
  return d;
}

/// Tiles of an n x n product on an A100 at the last n before each change, up to the first cliff.
drawing climb(int tile_m) {
  const lab07::device a100 = device_of("a100");
  const int places = a100.multiprocessors, first = 768;
  drawing d(tile_m == 128 ? "climb_square" : "climb_oblong",
            fmt::format("The number of {} x 128 tiles by n, and the {} multiprocessors of an A100.", tile_m, places));
  const double left = margin + 6, bottom = 172, scale = 1.08;
  std::vector<int> starts;  // sizes from which on the number of tiles is another
  for (int n = first + 1;; n += 128) {
    starts.push_back(n);
    if (square(n, large(tile_m, 128), a100).tiles > places) break;
  }
  const double cell = (slide_inner - 12) / static_cast<double>(starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const int rows = (starts[i] - 1) / tile_m + 1, columns = (starts[i] - 1) / 128 + 1, tiles = rows * columns;
    const double x = left + static_cast<double>(i) * cell;
    const std::string style = tiles > places ? "h waste-text" : "";
    d.box(x, bottom - tiles * scale, cell - 4, tiles * scale, tiles > places ? "waste" : "reg");
    d.text(x + (cell - 4) / 2, bottom - tiles * scale + (tiles > places ? -6 : 16), fmt::format("{}", tiles),
           tiles > places ? style : "on", at::middle);
    d.text(x + (cell - 4) / 2, bottom + 16, fmt::format("{} × {}", rows, columns), "mute", at::middle);
    d.text(x + (cell - 4) / 2, bottom + 32, fmt::format("{}", starts[i]), style, at::middle);
  }
  d.line(left, bottom - places * scale, left + slide_inner - 12, bottom - places * scale, "time-line");
  d.text(left, bottom - places * scale - 6, fmt::format("room for {}", places), "time-text");
  d.text(margin, bottom + 52, "tiles, by the smallest n that needs as many", "mute");
  return d;
}

/// One register more per thread, where registers are allocated per warp in units.
drawing warp_units() {
  lab07::device a100 = device_of("a100");
  drawing d("warp_units", "Registers of a warp in units of 256: 72 per thread fill 9 units, 73 need a tenth.");
  const double left = margin + 126, cell = (slide_inner - 126) / 10;
  double y = 28;
  for (const int registers : {72, 73}) {
    const int needed = 32 * registers, unit = a100.register_unit, units = (needed + unit - 1) / unit;
    const int fit = lab07::blocks_that_fit({64, 64, 128, registers, 0, 2}, a100);
    d.text(margin, y + 18, fmt::format("32 × {} = {}", registers, grouped(needed)));
    for (int i = 0; i < units; ++i) {
      const double used = std::min(1.0, static_cast<double>(needed - i * unit) / unit);
      if (used < 1) d.box(left + i * cell, y, cell - 4, 28, "waste");
      d.box(left + i * cell, y, (cell - 4) * used, 28, "reg");
    }
    d.text(left, y + 50,
           fmt::format("{} units; 4 warps: {}; 65,536 / {} = {:.2f}", units, grouped(4LL * units * unit),
                       grouped(4LL * units * unit), 65536.0 / (4.0 * units * unit)),
           "mute");
    d.text(slide_width - margin, y + 50, fmt::format("{} blocks", fit), registers == 72 ? "h reg-text" : "h waste-text",
           at::end);
    y += 86;
  }
  d.text(margin, y + 2, "one warp; a box is a unit of 256 registers", "mute");
  return d;
}

/// Three kernels on an A100 by the lab's model, as a share of the tensor cores' rate, and the best of them.
drawing library() {
  const lab07::device a100 = device_of("a100");
  const double rate = device_figure("a100", "bf16_tensor_flops_per_second"),
               l2 = device_figure("a100", "l2_bytes_per_second");
  drawing d("library", "Share of an A100's bf16 rate by n, for three tiles: each has its own cliffs.");
  const double left = margin + 36, right = slide_width - margin - 92, top = 24, bottom = 176;
  const int first = 1024, last = 2816;
  const auto x = [&](double n) { return left + (right - left) * (n - first) / (last - first); };
  const auto y = [&](double share) { return bottom - (bottom - top) * share; };
  const struct {
    int m, n;
    const char* role;
  } kernels[] = {{128, 128, "used"}, {192, 128, "time"}, {64, 64, "shared"}};
  const auto share = [&](int n, int tile_m, int tile_n) {
    const double places = a100.multiprocessors;
    const double wave = std::max(places * 2 * tile_m * tile_n / rate, places * (tile_m + tile_n) * 2 / l2);
    return 2.0 * n * n / rate / (static_cast<double>(square(n, large(tile_m, tile_n), a100).waves) * wave);
  };
  for (const auto& k : kernels) {
    std::vector<std::pair<double, double>> points;
    for (int n = first; n <= last; n += 64)
      for (const int one : {n, n + 1})
        if (one <= last) points.emplace_back(x(one), y(share(one, k.m, k.n)));
    d.curve(points, std::string(k.role) + "-line");
    d.text(right + 8, points.back().second + 4, fmt::format("{} × {}", k.m, k.n), std::string(k.role) + "-text");
  }
  d.line(left, bottom, right, bottom, "pen");
  d.line(left, top, left, bottom, "pen");
  for (const double v : {0.0, 0.5, 1.0}) d.text(left - 8, y(v) + 4, fmt::format("{:.1f}", v), "mute", at::end);
  for (const int n : {1024, 1281, 1537, 1793, 2305, 2816})
    d.text(std::clamp(x(n), left + 8, right - 8), bottom + 17, fmt::format("{}", n), "mute", at::middle);
  d.text(margin, bottom + 38, "share of the tensor cores' rate, by the lab's model; one block per multiprocessor",
         "mute");
  return d;
}

/// Which sides of a, b and c are row lengths, and what their padding must hold.
drawing paddings() {
  drawing d("paddings", "c = a b with k and n padded: zeros past k in a and b, anything past n in b and c.");
  const double m = 96, n = 118, k = 76, extra = 18, y = 66;
  const auto matrix = [&](double x, double rows, double columns, double down, double across, const char* name,
                          const char* below, bool zeros) {
    d.label(x, y, columns, rows, "reg", name);
    if (across > 0) d.box(x + columns + 1, y, across, rows + down, zeros ? "waste" : "idle");
    if (down > 0) d.box(x, y + rows + 1, columns, down, "waste");
    d.text(x + columns / 2, y - 10, below, "", at::middle);
  };
  matrix(margin + 30, m, n, 0, extra, "c", "n", false);
  matrix(margin + 222, m, k, 0, extra, "a", "k", true);
  matrix(margin + 362, k, n, extra, extra, "b", "n", false);
  d.text(margin + 22, y + m / 2, "m", "", at::end);
  d.text(margin + 214, y + m / 2, "m", "", at::end);
  d.text(margin + 354, y + k / 2, "k", "", at::end);
  d.text(margin + 184, y + m / 2, "=", "h", at::middle);
  d.text(margin + 330, y + m / 2, "×", "h", at::middle);
  d.text(margin, 28, "rows run across: their lengths are k and n", "mute");
  d.legend(y + m + 40, {{"waste", "must be zero: it is added up"}, {"idle", "anything: unpad drops it"}});
  return d;
}

/// A row of c with n columns in vector registers of 16 floats.
drawing lanes_of() {
  drawing d("lanes_of", "Rows of 31, 32 and 33 columns in registers of 16 floats.");
  const double left = margin + 70, cell = (slide_inner - 150) / 48;
  double y = 30;
  for (const int n : {31, 32, 33}) {
    const int registers = (n + 15) / 16;
    d.text(margin, y + 18, fmt::format("n = {}", n));
    for (int i = 0; i < registers * 16; ++i)
      d.box(left + i * cell + i / 16 * 2, y, cell - 1.2, 26, i < n ? "reg" : "waste", 1);
    d.text(slide_width - margin, y + 18, fmt::format("{} registers", registers), registers == 2 ? "" : "waste-text",
           at::end);
    y += 48;
  }
  d.legend(y + 4, {{"reg", "a column of c"}, {"waste", "computed, then discarded"}});
  return d;
}

}  // namespace

void quantization(drawing_list& to) {
  for (const auto make : {edge_tiles, waves, staircase, occupancy, row_starts, cliffs}) to.push_back(make());
  for (const int step : {1, 2}) to.push_back(cover(step));
  for (const int step : {1, 2, 3}) to.push_back(gantt(step));
  for (const int tile_m : {128, 256}) to.push_back(climb(tile_m));
  for (const auto make : {tile_price, warp_units, library, paddings, lanes_of}) to.push_back(make());
}

}  // namespace drawings
