// Lab 07's problems: random shapes, kernels and devices for the formulas, sizes for the products, expected results, and
// how much work they take. The devices are those of common/sim/devices, and some that do not exist.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <lab/case.hpp>
#include <lab/compare.hpp>
#include <limits>
#include <map>
#include <random>
#include <sim/device_file.hpp>
#include <utility>

#include "machine.hpp"
#include "schedule.hpp"

namespace {

using lab::bfloat16;
using lab::buffer;
using lab::dtype;
using lab::test_case;
using lab07::device;
using lab07::kernel;
using lab07::shape;
using std::int64_t;

std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

// ---- devices and kernels ------------------------------------------------------------------------------------------

constexpr const char* described[] = {"a100", "h100", "h200", "rtx3060", "rtx4090"};

device read_device(const std::string& name, int element_bytes) {
  const sim::device_file file(LAB_DEVICES, name);
  device on{};
  on.multiprocessors = file.whole("multiprocessors");
  on.threads_of_sm = file.whole("max_threads_per_sm");
  on.blocks_of_sm = file.whole("max_blocks_per_sm");
  on.registers_of_sm = file.whole("registers_per_sm");
  on.shared_bytes_of_sm = file.whole("shared_per_sm_bytes");
  on.register_unit = file.whole("register_allocation_unit");
  on.reserved_bytes = file.whole("shared_reserved_per_block_bytes");
  on.flops_per_second = file.number(element_bytes == 2 ? "bf16_tensor_flops_per_second" : "fp32_flops_per_second");
  on.l2_bytes_per_second = file.number("l2_bytes_per_second");
  on.launch_seconds = file.number("launch_seconds");
  return on;
}

/// A device from its description, for elements of 2 bytes on tensor cores, or of 4 without.
const device& described_device(const std::string& name, int element_bytes) {
  static const auto all = [] {
    std::map<std::pair<std::string, int>, device> read;
    for (const char* one : described)
      for (const int bytes : {2, 4}) read[{one, bytes}] = read_device(one, bytes);
    return read;
  }();
  return all.at({name, element_bytes});
}

bool is_described(const std::string& name) {
  return std::find(std::begin(described), std::end(described), name) != std::end(described);
}

/// Integers from `least` to `most`. Drawing them is fast, because most draws are discarded. They need not be secret: a
/// submission sees the whole case anyway.
class quick_sizes {
 public:
  explicit quick_sizes(std::uint64_t seed) : bits_(seed) {}
  int64_t operator()(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(bits_() % static_cast<std::uint64_t>(most - least + 1));
  }

 private:
  std::mt19937_64 bits_;
};

device random_device(quick_sizes& draw) {
  device on{};
  on.multiprocessors = static_cast<int>(draw(1, 200));
  on.threads_of_sm = static_cast<int>(512 * draw(1, 6));
  on.blocks_of_sm = static_cast<int>(draw(4, 40));
  on.registers_of_sm = static_cast<int>(32768 * draw(1, 4));
  on.shared_bytes_of_sm = static_cast<int>(1024 * draw(48, 300));
  on.register_unit = static_cast<int>(64 << draw(0, 3));
  on.reserved_bytes = static_cast<int>(128 * draw(0, draw(0, 1) == 0 ? 16 : 128));
  on.flops_per_second = 1e12 * static_cast<double>(draw(1, 2000));
  on.l2_bytes_per_second = 1e11 * static_cast<double>(draw(5, 200));
  on.launch_seconds = 1e-7 * static_cast<double>(draw(5, 50));
  return on;
}

kernel random_kernel(quick_sizes& draw, int element_bytes) {
  constexpr int tiles[] = {32, 64, 96, 128, 160, 192, 256}, threads[] = {128, 256, 384, 512, 1024};
  kernel by{};
  by.tile_m = tiles[draw(0, 6)];
  by.tile_n = tiles[draw(0, 6)];
  by.threads = threads[draw(0, 4)];
  by.registers = static_cast<int>(draw(16, 255));
  by.shared_bytes = static_cast<int>(128 * draw(0, draw(0, 1) == 0 ? 100 : 1900));
  by.element_bytes = element_bytes;
  return by;
}

kernel fitting_kernel(quick_sizes& draw, int element_bytes, const device& on) {
  for (;;)
    if (const kernel by = random_kernel(draw, element_bytes); lab07::blocks_that_fit(by, on) > 0) return by;
}

// ---- the formulas -------------------------------------------------------------------------------------------------

/// One question: a line of numbers for the runner, see calls.cpp.
struct question {
  shape s;
  device on;
  std::vector<kernel> by;
};

constexpr int64_t device_numbers = 10, kernel_numbers = 6, shape_numbers = 3;

void append(std::vector<double>& out, const question& q) {
  const device& d = q.on;
  for (const int64_t side : {q.s.m, q.s.n, q.s.k}) out.push_back(static_cast<double>(side));
  for (const int number : {d.multiprocessors, d.threads_of_sm, d.blocks_of_sm, d.registers_of_sm, d.shared_bytes_of_sm,
                           d.register_unit, d.reserved_bytes})
    out.push_back(number);
  for (const double number : {d.flops_per_second, d.l2_bytes_per_second, d.launch_seconds}) out.push_back(number);
  for (const kernel& by : q.by)
    for (const int number : {by.tile_m, by.tile_n, by.threads, by.registers, by.shared_bytes, by.element_bytes})
      out.push_back(number);
}

/// The inverse of append().
question question_at(const double* in, int64_t kernels) {
  const auto whole = [&] { return static_cast<int>(*in++); };
  question q{};
  for (int64_t* side : {&q.s.m, &q.s.n, &q.s.k}) *side = static_cast<int64_t>(*in++);
  device& d = q.on;
  for (int* number : {&d.multiprocessors, &d.threads_of_sm, &d.blocks_of_sm, &d.registers_of_sm, &d.shared_bytes_of_sm,
                      &d.register_unit, &d.reserved_bytes})
    *number = whole();
  for (double* number : {&d.flops_per_second, &d.l2_bytes_per_second, &d.launch_seconds}) *number = *in++;
  q.by.resize(at(kernels));
  for (kernel& by : q.by)
    for (int* number : {&by.tile_m, &by.tile_n, &by.threads, &by.registers, &by.shared_bytes, &by.element_bytes})
      *number = whole();
  return q;
}

/// The number of blocks allowed by each of a multiprocessor's four resources. Only for drawing questions and for
/// messages: schedule.hpp counts the right answer.
struct limits {
  int64_t registers_of_block = 0;
  std::array<int64_t, 4> blocks{};  ///< by threads, slots, registers, shared memory

  int64_t fit() const { return *std::min_element(blocks.begin(), blocks.end()); }
  int64_t fit_without(std::size_t which) const {
    int64_t least = std::numeric_limits<int64_t>::max();
    for (std::size_t i = 0; i < blocks.size(); ++i)
      if (i != which) least = std::min(least, blocks[i]);
    return least;
  }
  bool decides(std::size_t which) const { return fit_without(which) > fit(); }
};

enum : std::size_t { threads, places, registers, shared, none };

limits limits_of(const kernel& by, const device& on) {
  limits l;
  const int64_t units = (32 * by.registers + on.register_unit - 1) / on.register_unit;
  l.registers_of_block = by.threads / 32 * units * on.register_unit;
  l.blocks = {on.threads_of_sm / by.threads, on.blocks_of_sm, on.registers_of_sm / l.registers_of_block,
              on.shared_bytes_of_sm / std::max(by.shared_bytes + on.reserved_bytes, 1)};
  return l;
}

__extension__ typedef __int128 wide;

/// The right answers for one kernel.
struct truth {
  wide tiles = 0, waves = 0;
  int64_t occupancy = 0, blocks_of_wave = 0;
  double computing = 0, fetching = 0;  ///< seconds of a wave
  double seconds = 0, utilization = 0;
};

wide quotient_up(wide a, wide b) { return (a + b - 1) / b; }

wide tiles_of(const shape& s, const kernel& by) { return quotient_up(s.m, by.tile_m) * quotient_up(s.n, by.tile_n); }

/// Computed by division, from the number of blocks on a multiprocessor.
truth reckoned(const shape& s, const kernel& by, const device& on, int64_t occupancy) {
  truth t;
  t.occupancy = occupancy;
  t.blocks_of_wave = occupancy * on.multiprocessors;
  t.tiles = tiles_of(s, by);
  t.seconds = std::numeric_limits<double>::infinity();
  if (occupancy == 0) return t;
  t.waves = quotient_up(t.tiles, t.blocks_of_wave);
  const auto blocks = static_cast<double>(t.blocks_of_wave), k = static_cast<double>(s.k);
  t.computing = blocks * 2 * by.tile_m * by.tile_n * k / on.flops_per_second;
  t.fetching = blocks * (by.tile_m + by.tile_n) * k * by.element_bytes / on.l2_bytes_per_second;
  t.seconds = on.launch_seconds + static_cast<double>(t.waves) * std::max(t.computing, t.fetching);
  t.utilization =
      static_cast<double>(wide{s.m} * s.n) / (static_cast<double>(t.waves * t.blocks_of_wave) * by.tile_m * by.tile_n);
  return t;
}

/// Puts blocks on a multiprocessor and assigns tiles one by one, unless that would take too long.
truth right(const shape& s, const kernel& by, const device& on) {
  const truth t = reckoned(s, by, on, lab07::blocks_that_fit(by, on));
  if (t.occupancy == 0 || t.tiles > 10'000'000) return t;
  if (const lab07::dealt counted = lab07::deal(s, by, on); counted.tiles != t.tiles || counted.waves != t.waves)
    throw std::logic_error("lab 07's judge and schedule.hpp count different tiles or waves");
  return t;
}

/// A faster version for drawing questions, most of which are discarded.
truth drawn_right(const question& q) { return reckoned(q.s, q.by[0], q.on, limits_of(q.by[0], q.on).fit()); }

/// The smallest n greater than q.s.n at which a square product takes more waves, with `places` tiles per wave.
int64_t next_more(const question& q, int64_t places) {
  const auto at_n = [&](int64_t n) { return quotient_up(tiles_of({n, n, 1}, q.by[0]), places); };
  int64_t n = q.s.n + 1;
  for (const wide now = at_n(q.s.n); at_n(n) <= now;) ++n;
  return n;
}

int64_t next_tile(const question& q) { return next_more(q, 1); }

int64_t cliff(const question& q) {
  return next_more(q, int64_t{q.on.multiprocessors} * lab07::blocks_that_fit(q.by[0], q.on));
}

/// Seconds of each kernel, as if the limit `ignored` did not exist.
std::vector<double> seconds_of_all(const question& q, std::size_t ignored = none) {
  std::vector<double> all;
  for (const kernel& by : q.by)
    all.push_back(reckoned(q.s, by, q.on, limits_of(by, q.on).fit_without(ignored)).seconds);
  return all;
}

/// The first of the fastest kernels. Kernels that differ only in properties that `seconds` does not use are equal.
std::ptrdiff_t best_of(const std::vector<double>& seconds) {
  const auto best = std::min_element(seconds.begin(), seconds.end());
  return std::isinf(*best) ? -1 : best - seconds.begin();
}

// ---- questions ----------------------------------------------------------------------------------------------------

/// A function that lacks a branch must fail for every seed, so each case has questions with each of these properties,
/// redrawn until they hold.
using property = std::function<bool(const question&)>;

std::vector<property> properties(const std::string& entry, bool described_one) {
  const auto of = [](const question& q) { return limits_of(q.by[0], q.on); };
  std::vector<property> all;
  const auto add = [&](property holds) { all.push_back(std::move(holds)); };
  if (entry == "tiles") {
    // The last row and column of tiles are full, one element wide, or one short of full.
    for (const int more : {0, 1, -1}) {
      add([=](const question& q) { return (q.s.m - more) % q.by[0].tile_m == 0 && q.s.m > q.by[0].tile_m; });
      add([=](const question& q) { return (q.s.n - more) % q.by[0].tile_n == 0 && q.s.n > q.by[0].tile_n; });
    }
    add([](const question& q) { return q.s.m < q.by[0].tile_m && q.s.n < q.by[0].tile_n; });
  }
  for (const std::size_t which : {threads, registers, shared, places}) {
    if (which == places && described_one) continue;  // 128 threads per block leave slots on all real devices
    if (entry == "best_kernel")
      add([=](const question& q) { return best_of(seconds_of_all(q, which)) != best_of(seconds_of_all(q)); });
    else if (entry == "occupancy")
      add([=](const question& q) { return of(q).decides(which) && of(q).fit() > 0; });
    else if (entry == "next_cliff")
      add([=](const question& q) { return next_more(q, q.on.multiprocessors * of(q).fit_without(which)) != cliff(q); });
    else if (entry != "tiles")
      add([=](const question& q) {
        return reckoned(q.s, q.by[0], q.on, of(q).fit_without(which)).waves != drawn_right(q).waves;
      });
  }
  if (entry == "occupancy") {
    add([=](const question& q) {  // a warp's registers are rounded up
      return of(q).decides(registers) && q.on.registers_of_sm / (q.by[0].threads * q.by[0].registers) > of(q).fit();
    });
    add([=](const question& q) {  // rounded up per warp, not per block
      const int unit = q.on.register_unit, all_threads = q.by[0].threads * q.by[0].registers;
      return of(q).decides(registers) && q.on.registers_of_sm / ((all_threads + unit - 1) / unit * unit) > of(q).fit();
    });
    add([=](const question& q) {  // the system's reserve for each block counts
      return of(q).decides(shared) && q.by[0].shared_bytes > 0 &&
             q.on.shared_bytes_of_sm / q.by[0].shared_bytes > of(q).fit();
    });
    // The last block just fits.
    add([=](const question& q) {
      return of(q).decides(registers) && of(q).fit() > 1 && q.on.registers_of_sm % of(q).registers_of_block == 0;
    });
    add([=](const question& q) {
      return of(q).decides(shared) && of(q).fit() > 1 &&
             q.on.shared_bytes_of_sm % (q.by[0].shared_bytes + q.on.reserved_bytes) == 0;
    });
    // No block fits.
    for (const std::size_t which : {registers, shared, threads})
      if (which != threads || !described_one)
        add([=](const question& q) { return of(q).decides(which) && of(q).fit() == 0; });
    if (!described_one) add([](const question& q) { return q.by[0].shared_bytes + q.on.reserved_bytes == 0; });
    if (!described_one)  // the system's reserve also counts for blocks without shared memory of their own
      add([=](const question& q) { return of(q).decides(shared) && q.by[0].shared_bytes == 0; });
  }
  if (entry == "waves" || entry == "utilization" || entry == "seconds") {
    const auto last = [](const question& q) {
      const truth t = drawn_right(q);
      return static_cast<int64_t>(t.tiles % t.blocks_of_wave);
    };
    add([=](const question& q) { return drawn_right(q).waves > 1 && last(q) == 0; });
    add([=](const question& q) { return drawn_right(q).waves > 1 && last(q) == 1; });
    add([=](const question& q) { return drawn_right(q).waves == 1 && drawn_right(q).occupancy > 1; });
    add([=](const question& q) { return drawn_right(q).waves > 2 && drawn_right(q).occupancy > 1; });
  }
  if (entry == "seconds") {
    add([](const question& q) { return drawn_right(q).computing > 1.1 * drawn_right(q).fetching; });
    add([](const question& q) { return drawn_right(q).fetching > 1.1 * drawn_right(q).computing; });
  }
  if (entry == "next_cliff") {
    const auto edge = [](int64_t n, int tile) { return (n - 1) % tile == 0; };
    add([=](const question& q) { return edge(cliff(q), q.by[0].tile_m) && !edge(cliff(q), q.by[0].tile_n); });
    add([=](const question& q) { return edge(cliff(q), q.by[0].tile_n) && !edge(cliff(q), q.by[0].tile_m); });
    add([=](const question& q) { return next_tile(q) < cliff(q); });   // more tiles but no more waves
    add([=](const question& q) { return next_tile(q) == cliff(q); });  // the next tile already
    add([=](const question& q) { return cliff(q) == q.s.n + 1; });
    add([=](const question& q) { return edge(q.s.n, q.by[0].tile_m) && q.s.n > 1; });
  }
  if (entry == "best_kernel") {
    const auto best = [](const question& q) { return best_of(seconds_of_all(q)); };
    add([=](const question& q) { return best(q) == -1; });
    add([=](const question& q) { return best(q) > 0 && std::isinf(seconds_of_all(q)[0]); });
    add([=](const question& q) { return best(q) == std::ssize(q.by) - 1; });
    add([=](const question& q) { return best(q) == 0; });
    add([=](const question& q) {  // others are as fast: the first one counts
      const std::vector<double> seconds = seconds_of_all(q);
      return best(q) == 0 && std::count(seconds.begin(), seconds.end(), seconds[0]) > 2;
    });
    add([=](const question& q) {
      const std::vector<double> seconds = seconds_of_all(q);
      return best(q) > 0 && std::count(seconds.begin(), seconds.end(), seconds[at(best(q))]) > 1;
    });
  }
  return all;
}

int64_t kernels_of(const std::string& entry, const std::string& about) {
  if (entry != "best_kernel") return 1;
  return about == "random" ? 13 : about == "a100" ? 5 : 8;
}

question drawn_question(quick_sizes& draw, const std::string& entry, const std::string& about) {
  const int element_bytes = draw(0, 1) == 0 ? 2 : 4;
  const bool huge = about == "huge";
  question q;
  const bool known = is_described(about);
  const bool any = entry == "occupancy" || entry == "best_kernel";
  do
    q.on = known  ? described_device(about, element_bytes)
           : huge ? described_device(described[draw(0, 4)], element_bytes)
                  : random_device(draw);
  while (!any && lab07::blocks_that_fit({32, 32, 128, 16, 0, 2}, q.on) == 0);
  const int64_t kernels = kernels_of(entry, about);
  while (std::ssize(q.by) < kernels)
    q.by.push_back(any ? random_kernel(draw, element_bytes) : fitting_kernel(draw, element_bytes, q.on));
  if (entry == "best_kernel") {  // some kernels repeated, some too large for any device
    if (const int64_t copies = draw(0, 3); copies > 0)
      for (int64_t i = 0; i < copies; ++i) q.by[at(draw(0, kernels - 1))] = q.by[at(draw(0, kernels - 1))];
    if (draw(0, 9) == 0)
      for (kernel& by : q.by) by.shared_bytes = q.on.shared_bytes_of_sm / 128 * 128 + 128;
  }
  if (entry == "occupancy" && draw(0, 3) == 0) {  // shared memory divided without remainder
    const int64_t part = q.on.shared_bytes_of_sm / draw(1, 8) - q.on.reserved_bytes;
    q.by[0].shared_bytes = static_cast<int>(std::max<int64_t>(0, part / 128 * 128));
  }
  const kernel& by = q.by[0];
  const auto side = [&](int tile) {  // any size, or near a multiple of the tile
    if (entry == "next_cliff") return huge ? draw(int64_t{1} << 31, int64_t{1} << 35) : draw(1, 1500);
    if (huge) return draw(1, int64_t{1} << draw(30, 40));
    return draw(0, 1) == 0 ? draw(1, 5000) : std::max<int64_t>(1, tile * draw(1, 24) + draw(-1, 1));
  };
  do q.s = {side(by.tile_m), side(by.tile_n), huge ? draw(1, int64_t{1} << 40) : draw(1, 8192)};
  while (huge && tiles_of(q.s, q.by[0]) > wide{1} << 62);
  return q;
}

/// Every second question has one of the properties, each in turn.
std::vector<question> questions(const std::string& entry, const std::string& about, int count, std::uint64_t seed) {
  quick_sizes draw(seed);
  std::vector<property> wanted = properties(entry, is_described(about));
  if (about == "huge")  // beyond 64 bits
    wanted = {[](const question& q) { return wide{q.s.m} * q.s.n >= wide{1} << 64; }};
  if (about == "huge" && entry == "next_cliff") wanted.clear();
  std::vector<question> all;
  for (int i = 0; i < count; ++i) {
    const property* holds = i % 2 == 0 && !wanted.empty() ? &wanted[at(i / 2) % wanted.size()] : nullptr;
    question q = drawn_question(draw, entry, about);
    for (int tries = 0; holds && !(*holds)(q) && tries < 1'000'000; ++tries) q = drawn_question(draw, entry, about);
    all.push_back(std::move(q));
  }
  return all;
}

// ---- answers ------------------------------------------------------------------------------------------------------

/// Text for a message: the question's numbers, by name, and the steps from them to the answer.
std::string explained(const std::string& entry, const question& q) {
  const kernel& by = q.by[0];
  const device& on = q.on;
  const truth t = right(q.s, by, on);
  const std::string sides = fmt::format("m = {}, n = {}, k = {}", q.s.m, q.s.n, q.s.k),
                    tile = fmt::format("tile_m = {}, tile_n = {}", by.tile_m, by.tile_n);
  if (entry == "tiles") return fmt::format("m = {}, n = {}, {}", q.s.m, q.s.n, tile);
  if (entry == "best_kernel") return sides;
  const limits l = limits_of(by, on);
  const std::string block = fmt::format(
      "blocks on a multiprocessor: {} by threads ({} of {}), {} by slots, {} by registers ({} of {}: {} per "
      "thread, in units of {} per warp), {} by shared memory ({} + {} of {} bytes)",
      l.blocks[threads], by.threads, on.threads_of_sm, on.blocks_of_sm, l.blocks[registers], l.registers_of_block,
      on.registers_of_sm, by.registers, on.register_unit,
      by.shared_bytes + on.reserved_bytes > 0 ? std::to_string(l.blocks[shared]) : "any number", by.shared_bytes,
      on.reserved_bytes, on.shared_bytes_of_sm);
  if (entry == "occupancy") return block;
  const std::string wave = fmt::format("{} multiprocessors; {}", on.multiprocessors, block);
  if (entry == "next_cliff") return fmt::format("n = {}, {}, {}", q.s.n, tile, wave);
  std::string text = fmt::format("{}, {}: {} tiles, {} waves of {} blocks", sides, tile, static_cast<double>(t.tiles),
                                 static_cast<double>(t.waves), t.blocks_of_wave);
  if (entry == "seconds")
    text += fmt::format(
        "; a wave computes for {:.4g} s and fetches for {:.4g} s, {} bytes per element; a launch takes "
        "{:.4g} s",
        t.computing, t.fetching, by.element_bytes, on.launch_seconds);
  return text + "; " + wave;
}

/// "" if `got` is right, otherwise what is wrong with it.
std::string judged(const std::string& entry, const question& q, double got) {
  if (entry == "best_kernel") {
    const std::vector<double> all = seconds_of_all(q);
    const std::ptrdiff_t want = best_of(all);
    if (want < 0) return got == -1 ? "" : fmt::format("returned {}, but no kernel fits: return -1", got);
    const auto about = [&](std::ptrdiff_t i) {
      const kernel& by = q.by[at(i)];
      return fmt::format("{} (tile {} x {}, {})", i, by.tile_m, by.tile_n,
                         std::isinf(all[at(i)]) ? "does not fit" : fmt::format("{:.4g} s", all[at(i)]));
    };
    if (!(got >= 0 && got < static_cast<double>(all.size()) && got == std::floor(got)))
      return fmt::format("returned {}, should be {}", got, about(want));
    const auto chosen = static_cast<std::ptrdiff_t>(got);
    // Two kernels may have the same time by chance, up to rounding; those with the same tile and wave always do.
    const auto same = [&](std::ptrdiff_t i) {
      const kernel &a = q.by[at(i)], &b = q.by[at(chosen)];
      return a.tile_m == b.tile_m && a.tile_n == b.tile_n &&
             lab07::blocks_that_fit(a, q.on) == lab07::blocks_that_fit(b, q.on);
    };
    std::ptrdiff_t first = 0;
    while (!same(first)) ++first;
    if (all[at(chosen)] > all[at(want)] * (1 + 1e-9))
      return fmt::format("returned {}, should be {}", about(chosen), about(want));
    return first == chosen ? ""
                           : fmt::format("returned {}, should be {}, the first of the equally fast kernels",
                                         about(chosen), about(first));
  }
  const truth t = right(q.s, q.by[0], q.on);
  double want = 0, tolerance = 0;
  if (entry == "tiles") want = static_cast<double>(t.tiles);
  if (entry == "occupancy") want = static_cast<double>(t.occupancy);
  if (entry == "waves") want = static_cast<double>(t.waves);
  if (entry == "next_cliff") want = static_cast<double>(cliff(q));
  if (entry == "seconds") want = t.seconds, tolerance = 1e-9;
  if (entry == "utilization") want = t.utilization, tolerance = 1e-9;
  if (std::abs(got - want) <= tolerance * want) return "";  // NaN is not an answer
  return fmt::format("returned {:.10g}, should be {:.10g}", got, want);
}

/// The submission's answers for the functions that `entry` uses: tiles, occupancy, waves and seconds; NaN if not
/// requested.
constexpr int64_t earlier_numbers = 4, most_shapes = 3;
constexpr double most_asked = 0x1p36;  // as in calls.cpp

/// The name of the first function whose answer is wrong, or "".
std::string wrong_before(const std::string& entry, const question& q, double got, std::span<const double> earlier) {
  constexpr const char* functions[] = {"tiles", "occupancy", "waves", "seconds"};
  std::size_t first = std::size(functions);
  std::vector<shape> shapes{q.s};
  if (entry == "next_cliff") {
    const auto n = got >= 2 && got <= most_asked ? static_cast<int64_t>(got) : 2;
    shapes = {{q.s.n, q.s.n, 1}, {n - 1, n - 1, 1}, {n, n, 1}};
  }
  for (std::size_t s = 0; s < shapes.size(); ++s)
    for (std::size_t k = 0; k < q.by.size(); ++k) {
      const auto said = earlier.subspan((s * q.by.size() + k) * earlier_numbers, earlier_numbers);
      if (std::isnan(said[0]) && std::isnan(said[1])) continue;
      const truth t = right(shapes[s], q.by[k], q.on);
      const double wanted[] = {static_cast<double>(t.tiles), static_cast<double>(t.occupancy),
                               static_cast<double>(t.waves), t.seconds};
      for (std::size_t f = 0; f < first; ++f)
        if (!std::isnan(said[f]) && !(std::abs(said[f] - wanted[f]) <= 1e-9 * wanted[f])) first = f;
    }
  return first < std::size(functions) ? functions[first] : "";
}

test_case formula(const std::string& entry, const std::string& about) {
  const int count = entry == "next_cliff" ? 40 : 64;
  test_case result;
  result.id = entry + "/" + about;
  result.entry = entry;
  result.where = lab::part::host;
  const int64_t kernels = kernels_of(entry, about), shapes = entry == "next_cliff" ? most_shapes : 1;
  const int64_t width = shape_numbers + device_numbers + kernel_numbers * kernels;
  const int64_t earlier = shapes * kernels * earlier_numbers;
  result.parameters = {count, width, kernels};
  result.outputs = {{dtype::f64, count}};
  const bool builds_on_others = entry != "tiles" && entry != "occupancy";
  if (builds_on_others) result.outputs.push_back({dtype::f64, count * earlier});
  result.inputs = [=](std::uint64_t seed) {
    std::vector<double> numbers;
    for (const question& q : questions(entry, about, count, seed)) append(numbers, q);
    return lab::buffers(numbers);
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) -> std::string {
    const auto numbers = before[0].as<double>(), got = outputs[0].as<double>();
    int wrong = 0;
    std::string text, origin;
    double smallest = 0;
    for (int64_t i = 0; i < count; ++i) {
      const question q = question_at(&numbers[at(i * width)], kernels);
      const std::string why = judged(entry, q, got[at(i)]);
      if (why.empty()) continue;
      const std::string from =
          builds_on_others
              ? wrong_before(entry, q, got[at(i)], outputs[1].as<double>().subspan(at(i * earlier), at(earlier)))
              : "";
      // Shows the smallest wrong question whose error starts here, or else the smallest wrong one.
      const double size = static_cast<double>(q.s.m) * static_cast<double>(q.s.n);
      if (wrong++ == 0 || (from.empty() && !origin.empty()) || (from.empty() == origin.empty() && size < smallest)) {
        smallest = size;
        origin = from;
        text = fmt::format("{} ({})", why, explained(entry, q));
      }
    }
    if (wrong == 0) return "";
    if (!origin.empty())
      return fmt::format("{1} of {2} answers are wrong, and {0} is wrong for the same questions; fix that first",
                         origin, wrong, count);
    return fmt::format("{} of {} answers are wrong; the smallest {}", wrong, count, text);
  };
  return result;
}

/// The predicted figures: `entry` for square products of the given `sizes` on a described device, with one block per
/// multiprocessor.
test_case figures(const std::string& entry, const std::string& about, int tile_m, int tile_n,
                  const std::vector<int64_t>& sizes) {
  test_case result;
  result.id = fmt::format("{}/{}-{}x{}", entry, about, tile_m, tile_n);
  result.entry = entry;
  result.where = lab::part::host;
  const auto count = std::ssize(sizes);
  result.parameters = {count, shape_numbers + device_numbers + kernel_numbers, 1};
  result.outputs = {{dtype::f64, count}};
  result.inputs = [=](std::uint64_t) {
    const device on = described_device(about, 2);
    std::vector<double> numbers;
    for (const int64_t n : sizes)
      append(numbers, {{n, n, n}, on, {{tile_m, tile_n, 256, 128, on.shared_bytes_of_sm - on.reserved_bytes, 2}}});
    return lab::buffers(numbers);
  };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string{}; };  // given code
  return result;
}

// ---- padding ------------------------------------------------------------------------------------------------------

std::vector<bfloat16> as_bf16(const std::vector<float>& values) {
  std::vector<bfloat16> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), lab::to_bfloat16);
  return result;
}

std::vector<bfloat16> random_bf16(int64_t count, std::uint64_t seed) {
  return as_bf16(lab::random_floats(at(count), seed));
}

/// For copies, which must keep numbers that FP16 cannot hold, and the sign of -0.
std::vector<bfloat16> bf16_of_any_size(int64_t count, std::uint64_t seed) {
  return as_bf16(lab::floats_of_any_size(at(count), seed));
}

std::vector<float> floats_of(std::span<const bfloat16> values) { return {values.begin(), values.end()}; }

test_case pad(int64_t rows, int64_t columns, int64_t padded_rows, int64_t padded_columns) {
  test_case result;
  result.id = fmt::format("pad/{}x{}-{}x{}", rows, columns, padded_rows, padded_columns);
  result.entry = "pad";
  result.parameters = {rows, columns, padded_rows, padded_columns};
  result.outputs = {{dtype::bf16, padded_rows * padded_columns}};
  result.inputs = [=](std::uint64_t seed) { return lab::buffers(bf16_of_any_size(rows * columns, seed)); };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<bfloat16>();
    std::vector<float> want(at(padded_rows * padded_columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) want[at(r * padded_columns + c)] = in[at(r * columns + c)];
    return lab::copy_mismatch(floats_of(outputs[0].as<bfloat16>()), want, at(padded_columns));
  };
  result.work.bytes = 2.0 * static_cast<double>(rows * columns + padded_rows * padded_columns);
  return result;
}

test_case unpad(int64_t rows, int64_t columns, int64_t padded_columns) {
  test_case result;
  result.id = fmt::format("unpad/{}x{}-{}", rows, columns, padded_columns);
  result.entry = "unpad";
  result.parameters = {rows, columns, padded_columns};
  result.outputs = {{dtype::bf16, rows * columns}};
  result.inputs = [=](std::uint64_t seed) { return lab::buffers(bf16_of_any_size(rows * padded_columns, seed)); };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto in = before[0].as<bfloat16>();
    std::vector<float> want(at(rows * columns));
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) want[at(r * columns + c)] = in[at(r * padded_columns + c)];
    return lab::copy_mismatch(floats_of(outputs[0].as<bfloat16>()), want, at(columns));
  };
  result.work.bytes = 4.0 * static_cast<double>(rows * columns);
  return result;
}

// ---- products -----------------------------------------------------------------------------------------------------

/// Sums of k products in FP32, as in lab 06; the result is then rounded to `digits` bits.
lab::tolerance allowed(int64_t k, int digits) {
  return {4 * static_cast<double>(k) * 0x1p-24, std::ldexp(1.0, -digits)};
}

lab::work work_of(const shape& s, double element_bytes) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
  return {2 * m * n * k, element_bytes * (m * k + k * n + m * n)};
}

std::string sizes(const shape& s) { return fmt::format("{}x{}x{}", s.m, s.n, s.k); }

test_case padded_gemm(const shape& s) {
  test_case result;
  result.id = "padded_gemm/" + sizes(s);
  result.entry = "padded_gemm";
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::bf16, s.m * s.n}, {dtype::u8, 2 * lab07::workspace_elements(s.m, s.n, s.k)}};
  result.inputs = [s](std::uint64_t seed) {
    return lab::buffers(random_bf16(s.m * s.k, seed), random_bf16(s.k * s.n, seed + 1));
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    const std::vector<float> a = floats_of(before[0].as<bfloat16>()), b = floats_of(before[1].as<bfloat16>()),
                             c = floats_of(outputs[0].as<bfloat16>());
    return lab::product_mismatch(a, b, c, s.m, s.n, s.k, allowed(s.k, 8));
  };
  result.work = work_of(s, 2);
  return result;
}

test_case narrow_gemm(const shape& s) {
  test_case result;
  result.id = "narrow_gemm/" + sizes(s);
  result.entry = "narrow_gemm";
  result.where = lab::part::host;
  result.parameters = {s.m, s.n, s.k};
  result.outputs = {{dtype::f32, s.m * s.n}};
  result.inputs = [s](std::uint64_t seed) {
    return lab::buffers(lab::random_floats(at(s.m * s.k), seed), lab::random_floats(at(s.k * s.n), seed + 1));
  };
  result.check = [s](std::span<const buffer> before, std::span<const buffer> outputs) {
    return lab::product_mismatch(before[0].as<float>(), before[1].as<float>(), outputs[0].as<float>(), s.m, s.n, s.k,
                                 allowed(s.k, 60));
  };
  result.work = work_of(s, 4);
  return result;
}

/// Products of n x k by k x n for each of `all_n`, one launch each.
test_case fixed_tile_gemm(const std::string& name, int64_t k, const std::vector<int64_t>& all_n) {
  const int64_t most = *std::max_element(all_n.begin(), all_n.end());
  int64_t results = 0;
  for (const int64_t n : all_n) results += n * n;
  test_case result;
  result.id = "fixed_tile_gemm/" + name;
  result.entry = "fixed_tile_gemm";
  result.parameters = {k};
  result.parameters.insert(result.parameters.end(), all_n.begin(), all_n.end());
  result.outputs = {{dtype::f32, results}};
  result.inputs = [=](std::uint64_t seed) {
    return lab::buffers(lab::random_floats(at(most * k), seed), lab::random_floats(at(k * most), seed + 1));
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    auto c = outputs[0].as<float>();
    std::string wrong;
    for (const int64_t n : all_n) {
      if (!wrong.empty()) break;
      wrong = lab::product_mismatch(before[0].as<float>().first(at(n * k)), before[1].as<float>().first(at(k * n)),
                                    c.first(at(n * n)), n, n, k, allowed(k, 60));
      c = c.subspan(at(n * n));
    }
    return wrong;
  };
  for (const int64_t n : all_n) {
    const lab::work one = work_of({n, n, k}, 4);
    result.work = {result.work.flops + one.flops, result.work.bytes + one.bytes};
  }
  return result;
}

// ---- all ----------------------------------------------------------------------------------------------------------

constexpr const char* formulas[] = {"tiles",   "occupancy",  "waves",      "utilization",
                                    "seconds", "next_cliff", "best_kernel"};

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const char* entry : formulas) {
    for (const char* name : described) all.push_back(formula(entry, name));
    all.push_back(formula(entry, "random"));
  }
  for (const char* entry : {"tiles", "waves", "utilization", "seconds", "next_cliff"})
    all.push_back(formula(entry, "huge"));
  all.push_back(figures("dealt_tiles", "a100", 256, 128, {3072, 3073}));
  all.push_back(figures("dealt_waves", "a100", 256, 128, {3073}));
  all.push_back(figures("dealt_waves", "h200", 256, 128, {3073}));
  all.push_back(figures("dealt_cliff", "h200", 256, 128, {1793}));
  all.push_back(figures("dealt_cliff", "h200", 128, 128, {1}));
  all.push_back(figures("dealt_cliff", "rtx3060", 128, 128, {1}));
  all.push_back(figures("dealt_utilization", "h200", 256, 128, {2305}));

  // One element, one row, sides not divisible by a vector, more rows than a grid has in y.
  const int64_t pads[][4] = {{1, 1, 1, 1},       {1, 1, 8, 8},         {3, 5, 4, 7},          {5, 8, 8, 8},
                             {7, 7, 7, 8},       {33, 65, 40, 72},     {64, 64, 64, 64},      {1, 2049, 8, 2056},
                             {257, 31, 264, 63}, {509, 511, 512, 512}, {66'000, 3, 66'000, 8}};
  for (const auto& [rows, columns, padded_rows, padded_columns] : pads) {
    all.push_back(pad(rows, columns, padded_rows, padded_columns));
    all.push_back(unpad(rows, columns, padded_columns));
  }
  const shape shapes[] = {{1, 1, 1},     {1, 37, 5},   {37, 1, 3},         {5, 7, 1},         {8, 8, 8},
                          {64, 64, 64},  {65, 63, 17}, {128, 136, 40},     {129, 127, 31},    {8, 8, 7},
                          {16, 9, 8},    {9, 16, 8},   {33, 512, 100},     {255, 257, 259},   {257, 8, 1000},
                          {2, 4096, 63}, {320, 64, 7}, {1021, 1023, 1017}, {1024, 1024, 1024}};
  for (const shape& s : shapes) all.push_back(padded_gemm(s));
  all.push_back(timed(padded_gemm({8191, 8191, 8191})));

  for (const int64_t n : {1, 2, 3, 7, 8, 9, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64})
    all.push_back(narrow_gemm({n % 2 == 0 ? 12 : 37, n, 2 * n + 1}));
  for (const shape& s : {shape{1, 17, 1}, {1, 64, 300}, {5, 17, 1000}, {1031, 17, 3}, {3, 64, 40'000}, {30'000, 5, 7}})
    all.push_back(narrow_gemm(s));
  for (const int64_t n : {8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64}) all.push_back(narrow_gemm({384, n, 500}));
  all.push_back(timed(narrow_gemm({4096, 31, 500})));

  all.push_back(fixed_tile_gemm("177", 40, {177}));
  // The busiest of the H200's 132 multiprocessors has one block; from n = 177, two; from 257, three; from 305, four.
  // Yet waves() counts one wave for each n: eight such blocks fit on a multiprocessor.
  all.push_back(fixed_tile_gemm("sweep", 16, {161, 176, 177, 256, 257, 304, 305}));
  return all;
}

/// Random sizes: no submission can prepare for them.
std::vector<test_case> drawn_cases(std::uint64_t seed) {
  lab::random_sizes size(seed);
  std::vector<test_case> all;
  for (const char* entry : formulas) all.push_back(formula(entry, fmt::format("drawn{}", size(0, 999'999))));
  const int64_t rows = size(2, 300), columns = size(2, 300);
  all.push_back(pad(rows, columns, rows + size(0, 9), columns + size(0, 9)));
  all.push_back(unpad(rows, columns, columns + size(0, 9)));
  for (int i = 0; i < 2; ++i) all.push_back(padded_gemm({size(2, 300), size(2, 300), size(2, 300)}));
  // Cases whose counters are read.
  const int64_t high = size(513, 700), broad = 2 * size(260, 340) + 1;
  all.push_back(like("pad/509x511-512x512", pad(high, broad, high + size(0, 9), broad + size(1, 9))));
  all.push_back(like("unpad/509x511-512", unpad(high, broad, broad + size(1, 9))));
  all.push_back(
      like("padded_gemm/1021x1023x1017", padded_gemm({size(300, 400), 8 * size(40, 50) + 3, 8 * size(40, 50) + 5})));
  all.push_back(like("padded_gemm/1024x1024x1024", padded_gemm({size(300, 400), 8 * size(40, 50), 8 * size(40, 50)})));
  all.push_back(narrow_gemm({size(2, 100), size(2, 64), size(2, 300)}));
  // Timed in official grading.
  all.push_back(like("narrow_gemm/4096x31x500", timed(narrow_gemm({4096 + size(1, 400), 31, 500 + 4 * size(1, 24)}))));
  return all;
}

const lab::case_registration registration{"07_quantization", cases, drawn_cases};

}  // namespace
