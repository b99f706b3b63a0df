// The figures that drawings' formulas name: the simulated device's counts, and what the labs' own code computes.
#include <fmt/format.h>

#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <stdexcept>

#include "../../../labs/02_benchmarking/given/liars.hpp"
#include "../../../labs/07_quantization/given/schedule.hpp"
#include "../../../labs/12_host/given/cache.hpp"
#include "../../sim/include/sim/float8.h"
#include "counted.hpp"
#include "formula.hpp"
#include "sim/device_file.hpp"

namespace drawings {
namespace {

using args = std::vector<std::string>;

int whole(const args& a, std::size_t i, const names& k) {
  return static_cast<int>(std::lround(number_in(value_of(a.at(i), k))));
}

// ---- accesses of a warp: a formula of lane --------------------------------------------------------------------------

warp_offsets offsets_of(const std::string& formula, names known) {
  warp_offsets offsets{};
  for (std::size_t lane = 0; lane < 32; ++lane) {
    known["lane"] = {static_cast<double>(lane)};
    offsets[lane] = static_cast<int>(number_in(value_of(formula, known)));
  }
  return offsets;
}

/// sectors(4, 4 * lane): 4 bytes per lane, at this place.
template <int counted(const warp_offsets&, int)>
value counts(const args& a, const names& k) {
  return {static_cast<double>(counted(offsets_of(a.at(1), k), whole(a, 0, k)))};
}

value touched(const args& a, const names& k) {
  const std::vector<int> all = touched_sectors(offsets_of(a.at(1), k), whole(a, 0, k));
  return {all.begin(), all.end()};
}

/// fragment(a, 9): the rows, then the columns, of the elements of a that lane 9 holds.
value fragment(const args& a, const names& k) {
  static const fragments f = found_fragments();
  const auto lane = static_cast<std::size_t>(whole(a, 1, k));
  value v;
  const auto put = [&v](const auto& of) {
    for (const element& e : of) v.push_back(e.row);
    for (const element& e : of) v.push_back(e.column);
  };
  if (a[0] == "a") put(f.a.at(lane));
  if (a[0] == "b") put(f.b.at(lane));
  if (a[0] == "c") put(f.c.at(lane));
  return v;
}

/// Passes over an array of n floats: for each launch, passes of loads, then passes of stores.
value passes(const std::vector<launch_bytes>& launches, double n) {
  value v;
  for (const auto& l : launches) v.push_back(l.loaded / (4 * n));
  for (const auto& l : launches) v.push_back(l.stored / (4 * n));
  return v;
}

// ---- lab 02: the simulated machine ----------------------------------------------------------------------------------

/// Seconds of each of `calls` calls.
value timed(lab02::behaviour how, std::uint64_t seed, int calls, bool one_input) {
  lab02::simulated_machine m(how, seed);
  m.prepare(one_input ? 1 : calls);
  value all;
  for (int i = 0; i < calls; ++i) {
    const double start = m.steady_seconds();
    m.keep(m.run(one_input ? 0 : i));
    all.push_back(m.steady_seconds() - start);
  }
  return all;
}

/// What the handout's typical benchmark reports for ten functions, divided by the truth.
value nine_wrong(const args&, const names&) {
  value all;
  for (const lab02::behaviour& how :
       std::initializer_list<lab02::behaviour>{{.lazy = 1},
                                               {.memoises = 1e-3},
                                               {.memoises = 1e-3, .fault_seconds = 2e-3},
                                               {.seconds = 4e-3, .launch_seconds = 5e-6, .second_stream = 0.75},
                                               {.seconds = 2e-3, .launch_seconds = 5e-6},
                                               {.cold_extra = 3e-3},
                                               {.slow_calls = 1, .slow_extra = 50e-3},
                                               {.wall_rate = 1.05, .wall_jump = 1e-3},
                                               {.seconds = 8e-6, .launch_seconds = 2e-5},
                                               {.slow_calls = 7, .slow_extra = 4e-3}}) {
    lab02::simulated_machine m(how, 1);
    double sum = 0;
    m.prepare(1);
    m.run(0);
    for (int trial = 0; trial < 3; ++trial) {
      const double start = m.wall_seconds();
      m.run(0);
      sum += m.wall_seconds() - start;
    }
    all.push_back(sum / 3 / (how.seconds + how.cold_extra));
  }
  return all;
}

/// timed_call(waits, only_its_stream, work_before, second_stream): seconds between two readings of the clock.
value timed_call(const args& a, const names& k) {
  lab02::simulated_machine m(
      {.seconds = 60e-6, .launch_seconds = 6e-6, .second_stream = number_in(value_of(a.at(3), k))}, 1);
  m.prepare(2);
  if (whole(a, 2, k) != 0) m.keep(m.run(0));
  const double start = m.steady_seconds();
  m.keep(m.run(1));
  if (whole(a, 0, k) != 0) whole(a, 1, k) != 0 ? m.wait_for_stream() : m.wait_for_device();
  return {m.steady_seconds() - start};
}

/// The cost of the same call after flush (f), touch (t) and wait (w), in four orders.
value orders(const args&, const names&) {
  value all;
  for (const char* plan : {"fw", "ftw", "tf", "tfw"}) {
    lab02::simulated_machine m({.seconds = 1e-3, .cold_extra = 3e-3, .launch_seconds = 5e-6, .fault_seconds = 2e-3}, 1);
    double took = 0;
    for (int warm = 0; warm < 2; ++warm) {  // the second sample counts: the first has warmed the caches
      m.prepare(1);
      for (const char* s = plan; *s != 0; ++s)
        *s == 't' ? m.touch() : *s == 'f' ? m.flush_caches() : m.wait_for_device();
      const double start = m.steady_seconds();
      m.keep(m.run(0));
      m.wait_for_device();
      took = m.steady_seconds() - start - 5e-6;
    }
    all.push_back(took);
  }
  return all;
}

/// two_clocks(): the elapsed milliseconds, then the milliseconds by which the wall clock is ahead.
value two_clocks(const args&, const names&) {
  lab02::simulated_machine m({.wall_rate = 1.05, .wall_jump = 1e-3}, 1);
  m.rest(0.002);
  const double wall = m.wall_seconds(), steady = m.steady_seconds();
  value passed, ahead;
  for (double t = 0; t < 20; t = (m.elapsed() - steady) * 1e3) {
    passed.push_back(t);
    ahead.push_back((m.wall_seconds() - wall) * 1e3 - (m.steady_seconds() - steady) * 1e3);
    m.rest(0.0001);
  }
  passed.insert(passed.end(), ahead.begin(), ahead.end());
  return passed;
}

/// hot(rests): for each call that fits in 40 places, whether it ran at the full clock rate; a rest takes three
/// places.
value hot(const args& a, const names& k) {
  lab02::simulated_machine m({.throttle_after = 12e-3, .throttle_share = 0.5}, 1);
  m.prepare(40);
  value all;
  for (double at = 0; at < 39.5; ++at) {
    m.keep(m.run(static_cast<int>(all.size())));
    const bool slow = m.clock_share() < 0.98;
    all.push_back(slow ? 0 : 1);
    if (slow && whole(a, 0, k) != 0) m.rest(0.2), at += 3;
  }
  return all;
}

// ---- lab 05: plans of recomputation ---------------------------------------------------------------------------------

/// held(keep): five numbers for each span of an activation: layer, from, to, whether recomputed, forwards so far.
value held(const args& a, const names& k) {
  const value keep = value_of(a.at(0), k);
  const int layers = static_cast<int>(keep.size());
  int steps = 0, forwards = 0;
  std::vector<int> since(keep.size(), -1), again(keep.size(), 0);
  value spans;
  const auto kept = [&](int i) { return keep[static_cast<std::size_t>(i)] != 0; };
  const auto there = [&](int i) { return since[static_cast<std::size_t>(i)] >= 0; };
  const auto drop = [&](int i) {
    const auto at = static_cast<std::size_t>(i);
    spans.insert(spans.end(), {1.0 * i, 1.0 * since[at], 1.0 * steps, 1.0 * again[at], 1.0 * forwards});
    since[at] = -1;
  };
  const auto forward = [&](int i, int second) {
    since[static_cast<std::size_t>(i)] = steps++;
    again[static_cast<std::size_t>(i)] = second;
    ++forwards;
  };
  const auto compute = [&](int last) {
    int first = last;
    while (first > 0 && !kept(first - 1)) --first;
    for (int j = first; j <= last; ++j) forward(j, 1);
  };
  for (int i = 0; i < layers; ++i) {
    forward(i, 0);
    if (i > 0 && !kept(i - 1)) drop(i - 1);
  }
  if (!kept(layers - 1)) drop(layers - 1);
  for (int i = layers - 1; i >= 0; --i) {
    if (!there(i)) compute(i);
    if (i > 0 && !there(i - 1)) compute(i - 1);
    ++steps;
    drop(i);
  }
  return spans;
}

/// digits(subtracts): correct digits of s (1 - s) in float for each x from 0 to 20, the fewest of 64 inputs around x.
value digits(const args& a, const names& k) {
  value all;
  for (double near = 0; near <= 20; near += 0.25) {
    double fewest = 8;
    for (int i = -32; i < 32; ++i) {
      const float v = static_cast<float>(std::abs(near + i / 128.0)), e = std::exp(-v), s = 1.0f / (1.0f + e);
      const double exact_e = std::exp(-static_cast<double>(v)), exact = exact_e / ((1 + exact_e) * (1 + exact_e));
      const float got = whole(a, 0, k) != 0 ? s * (1.0f - s) : e * s * s;
      fewest = std::min(fewest, -std::log10(std::max(std::abs(got - exact) / exact, 1e-8)));
    }
    all.push_back(std::max(fewest, 0.0));
  }
  return all;
}

/// plans(floats, flops): four numbers for each plan of a chain of layers: floats kept, longest run, recomputed FLOPs,
/// and whether no other plan beats it.
value plans(const args& a, const names& k) {
  const value floats = value_of(a.at(0), k), flops = value_of(a.at(1), k);
  struct plan {
    double kept = 0, longest = 0, again = 0;
  };
  std::vector<plan> all(std::size_t{1} << floats.size());
  for (std::size_t keep = 0; keep < all.size(); ++keep) {
    double run = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const bool keeps = (keep >> i & 1) != 0;
      run = keeps ? 0 : run + floats[i];
      all[keep].longest = std::max(all[keep].longest, run);
      (keeps ? all[keep].kept : all[keep].again) += keeps ? floats[i] : flops[i];
    }
  }
  value out;
  for (const plan& p : all) {
    const bool beaten = std::any_of(all.begin(), all.end(), [&](const plan& o) {
      const double mine = p.kept + p.longest, other = o.kept + o.longest;
      return other <= mine && o.again <= p.again && (other < mine || o.again < p.again);
    });
    out.insert(out.end(), {p.kept, p.longest, p.again, beaten ? 0.0 : 1.0});
  }
  return out;
}

// ---- lab 07: tiles and waves ----------------------------------------------------------------------------------------

lab07::device device_of(const std::string& name) {
  const auto of = [&](const char* key) { return device_figure(name + "." + key).at(0); };
  const auto whole_of = [&](const char* key) { return static_cast<int>(of(key)); };
  return {whole_of("multiprocessors"),
          whole_of("max_threads_per_sm"),
          whole_of("max_blocks_per_sm"),
          whole_of("registers_per_sm"),
          whole_of("shared_per_sm_bytes"),
          whole_of("register_allocation_unit"),
          whole_of("shared_reserved_per_block_bytes"),
          of("fp32_flops_per_second"),
          of("l2_bytes_per_second"),
          of("launch_seconds")};
}

/// tiles(a100, n, 256, 128) and waves(...): for an n x n product with one block per multiprocessor.
template <std::int64_t lab07::dealt::*what>
value dealt(const args& a, const names& k) {
  const lab07::kernel by{whole(a, 2, k), whole(a, 3, k), 256, 255, 0, 2};
  value all;
  for (const double n : value_of(a.at(1), k)) {
    const auto side = static_cast<std::int64_t>(n);
    all.push_back(static_cast<double>(lab07::deal({side, side, side}, by, device_of(a.at(0))).*what));
  }
  return all;
}

/// blocks(h200, threads, registers, shared bytes): how many fit, by threads, slots, registers and shared memory alone,
/// and by all of them.
value blocks(const args& a, const names& k) {
  const lab07::kernel by{64, 64, whole(a, 1, k), whole(a, 2, k), whole(a, 3, k), 4};
  constexpr int plenty = std::numeric_limits<int>::max() / 64;
  const auto all = {&lab07::device::threads_of_sm, &lab07::device::blocks_of_sm, &lab07::device::registers_of_sm,
                    &lab07::device::shared_bytes_of_sm};
  value v;
  for (const auto mine : all) {
    lab07::device d = device_of(a.at(0));
    for (const auto other : all)
      if (other != mine) d.*other = plenty;
    v.push_back(lab07::blocks_that_fit(by, d));
  }
  v.push_back(lab07::blocks_that_fit(by, device_of(a.at(0))));
  return v;
}

// ---- lab 09: formats ------------------------------------------------------------------------------------------------

template <double of(double)>
value in_format(const args& a, const names& k) {
  value v = value_of(a.at(0), k);
  std::transform(v.begin(), v.end(), v.begin(), of);
  return v;
}
double e4m3(double x) { return sim::decode8<sim::e4m3>(sim::encode8<sim::e4m3>(x, true)); }
double e5m2(double x) { return sim::decode8<sim::e5m2>(sim::encode8<sim::e5m2>(x, true)); }
double fp16(double x) { return sim::decode<sim::binary16>(sim::encode<sim::binary16>(x)); }
double bf16(double x) { return sim::decode<sim::bfloat16>(sim::encode<sim::bfloat16>(x)); }

/// running(bf16, 0.01, 1000): partial sums, each rounded, from 0 on.
value running(const args& a, const names& k) {
  double (*of)(double) = a.at(0) == "e4m3" ? e4m3 : a[0] == "e5m2" ? e5m2 : a[0] == "fp16" ? fp16 : bf16;
  value v{0};
  for (int i = whole(a, 2, k); i > 0; --i) v.push_back(of(v.back() + of(number_in(value_of(a.at(1), k)))));
  return v;
}

/// e4m3's numbers from 0 on.
value e4m3_numbers(const args& a, const names& k) {
  value v;
  for (int bits = 0; bits < whole(a, 0, k); ++bits)
    v.push_back(sim::decode8<sim::e4m3>(static_cast<std::uint8_t>(bits)));
  return v;
}

// ---- lab 11 ---------------------------------------------------------------------------------------------------------

/// scaled_tiles(by): for each tile, the fraction of 8-row groups whose maximum has grown by more than `by` since they
/// were last scaled, for normally distributed scores; one list after another for several limits.
value scaled_tiles(const args& a, const names& k) {
  const int tiles = 64, keys = 64, rows = 8, trials = 400;
  std::mt19937 bits(11);
  const auto uniform = [&] { return (static_cast<double>(bits()) + 0.5) / 4294967296.0; };
  const auto normal = [&] { return std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform()); };
  const value by = value_of(a.at(0), k);
  value share(tiles * by.size());
  for (int trial = 0; trial < trials; ++trial) {
    value highest(rows, -1e9);
    std::vector<value> kept(by.size(), highest);
    for (std::size_t t = 0; t < tiles; ++t) {
      for (double& most : highest)
        for (int key = 0; key < keys; ++key) most = std::max(most, normal());
      for (std::size_t i = 0; i < by.size(); ++i) {
        bool far = false;
        for (std::size_t r = 0; r < rows; ++r) far |= highest[r] - kept[i][r] > by[i];
        if (!far) continue;
        kept[i] = highest;
        share[i * tiles + t] += 1.0 / trials;
      }
    }
  }
  return share;
}

/// turns(groups, product, softmax, until): the cycles in which tensor cores work, tile after tile.
value turns(const args& a, const names& k) {
  const int groups = whole(a, 0, k);
  const double product = number_in(value_of(a.at(1), k)), softmax = number_in(value_of(a.at(2), k)),
               until = number_in(value_of(a.at(3), k));
  double tensor = 0, special = 0, busy = 0;
  value ready(static_cast<std::size_t>(groups));  // when a group's weights are ready
  for (int tile = 0; tile < 8; ++tile)
    for (double& mine : ready) {
      tensor = std::max(tensor, mine);
      for (int i = tile > 0 ? 0 : 1; i < 2; ++i) {  // weights of the last tile times V, then the scores of this one
        busy += std::max(0.0, std::min(until, tensor + product) - std::min(until, tensor));
        tensor += product;
      }
      special = mine = std::max(special, tensor) + softmax;
    }
  return {busy};
}

// ---- lab 12 ---------------------------------------------------------------------------------------------------------

/// missed(ways, lines): which of these accesses miss in a cache of 8 lines.
value missed(const args& a, const names& k) {
  lab12::cache_level cache(8 * lab12::line_bytes, static_cast<std::size_t>(whole(a, 0, k)));
  value v = value_of(a.at(1), k);
  for (double& line : v) line = cache.access(static_cast<std::uint64_t>(line)) ? 0 : 1;
  return v;
}

/// moved(stores): how many times a line moves if four cores each use it 100 times, the first with stores if `stores`.
value moved(const args& a, const names& k) {
  std::vector<std::vector<lab12::shared_access>> cores(4);
  for (std::size_t c = 0; c < 4; ++c) cores[c].assign(100, {0, c == 0 && whole(a, 0, k) != 0});
  return {static_cast<double>(lab12::lines_moved(cores))};
}

}  // namespace

const std::map<std::string, figure>& figures() {
  const auto sorted = [](value v) {
    std::sort(v.begin(), v.end());
    return v;
  };
  static const std::map<std::string, figure> all = {
      {"sectors", counts<counted_sectors>},
      {"wavefronts", counts<counted_wavefronts>},
      {"matrix_wavefronts",
       [](const args& a, const names& k) {
         return value{static_cast<double>(counted_matrix_wavefronts(offsets_of(a.at(0), k)))};
       }},
      {"touched", touched},
      {"fragment", fragment},
      {"gelu_passes", [](const args&, const names&) { return passes(counted_gelu_unfused(250000), 250000); }},
      {"chain_passes",
       [](const args& a, const names& k) { return passes(counted_chain(1024, whole(a, 0, k) != 0), 1024); }},
      {"gate_passes",
       [](const args& a, const names& k) { return passes(counted_gate(1024, whole(a, 0, k) != 0), 1024); }},
      {"one_in_fifty",
       [sorted](const args&, const names&) {
         return sorted(timed({.noise = 0.1, .outlier_every = 50, .outlier_factor = 30}, 6, 50, true));
       }},
      {"nine_wrong", nine_wrong},
      {"timed_call", timed_call},
      {"warm_up", [](const args&, const names&) { return timed({.slow_calls = 7, .slow_extra = 4e-3}, 1, 16, false); }},
      {"orders", orders},
      {"two_clocks", two_clocks},
      {"two_modes",
       [sorted](const args&, const names&) { return sorted(timed({.noise = 0.06, .slow_mode = 1.6}, 3, 200, false)); }},
      {"hot", hot},
      {"held", held},
      {"digits", digits},
      {"plans", plans},
      {"tiles", dealt<&lab07::dealt::tiles>},
      {"waves", dealt<&lab07::dealt::waves>},
      {"blocks", blocks},
      {"e4m3", in_format<e4m3>},
      {"e5m2", in_format<e5m2>},
      {"fp16", in_format<fp16>},
      {"bf16", in_format<bf16>},
      {"running", running},
      {"e4m3_numbers", e4m3_numbers},
      {"scaled_tiles", scaled_tiles},
      {"turns", turns},
      {"missed", missed},
      {"moved", moved},
      {"races", [](const args&, const names&) {  // reported about two warps without a barrier
         return value{reported_race().find("race in shared memory") == std::string::npos ? 0.0 : 1.0};
       }}};
  return all;
}

value device_figure(const std::string& name) {
  static std::map<std::string, double> known;
  const std::size_t dot = name.find('.');
  if (!known.contains(name))
    known[name] = sim::device_file(SIM_DEVICES_DIR, name.substr(0, dot).c_str()).number(name.substr(dot + 1).c_str());
  return {known[name]};
}

/// swap.all, .line, .kernel, .block, .thread, .what, .place: parts of the first report on two texts that swapped
/// places; read.0 to read.4: the reports on five reads; lab.03.title, .hours: from the rubric.
std::string words_of(const std::string& name) {
  const std::vector<std::string> part = [&] {
    std::vector<std::string> all{""};
    for (const char c : name) c == '.' ? all.emplace_back() : all.back() += c, void();
    return all;
  }();
  const auto unknown = [&] { return std::runtime_error("unknown name \"" + name + "\""); };
  if (part.size() < 2) throw unknown();
  if (part[0] == "swap") {
    static const std::string report = [] {  // without the allocation's number, which depends on earlier calls
      const std::string all = reported_lengths(), before = "of allocation ";
      const std::size_t at = all.find(before) + before.size();
      return all.substr(0, at - before.size()) + "of an allocation" + all.substr(all.find(" of ", at));
    }();
    const std::map<std::string, std::pair<std::string, std::string>> between = {
        {"line", {"", ": "}},          {"kernel", {": ", ":"}}, {"block", {"block ", " thread"}},
        {"thread", {"thread ", ": "}}, {"what", {"): ", ","}},  {"place", {", ", ";"}}};
    if (part[1] == "all") return report;
    if (!between.contains(part[1])) throw unknown();
    const auto& [from, to] = between.at(part[1]);
    const std::size_t begin = report.find(from) + from.size();
    return report.substr(begin, report.find(to, begin) - begin);
  }
  if (part[0] == "read") {
    static const std::vector<std::string> said = reported_reads();
    const std::string& report = said.at(static_cast<std::size_t>(std::stoi(part[1])));
    for (const char* known : {"never written", "past the end of allocation", "after cudaFree"})
      if (report.find(known) != report.npos) return known;
    return report.empty() ? "no report" : report;
  }
  if (part[0] == "lab" && part.size() == 3)
    for (const auto& folder : std::filesystem::directory_iterator(LABS_DIR)) {
      if (!folder.path().filename().string().starts_with(part[1] + "_")) continue;
      const toml::table rubric = toml::parse_file((folder.path() / "judge" / "rubric.toml").string());
      std::string words = rubric["lab"][part[2]].value<std::string>().value();
      if (part[2] == "title") words = words.substr(0, words.find_first_of(":,"));
      if (const auto at = words.find(" to "); part[2] == "hours" && at != words.npos) words.replace(at, 4, "–");
      return words;
    }
  throw unknown();
}

}  // namespace drawings
