// Lab 02's problems: functions that deceive the code that times them, honest ones that a distrustful benchmark
// misjudges, and the true cost of each.
#include <lab/case.hpp>
#include <lab/ceilings.hpp>
#include <lab/compare.hpp>
#include <lab/figures.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <utility>

#include "conversation.hpp"
#include "google_figures.hpp"
#include "liars.hpp"
#include "real_machine.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using lab02::behaviour;
using std::int64_t;

using doubles = std::vector<double>;

template <class... parts>
std::string text(const parts&... all) {
  std::ostringstream out;
  out.precision(5);
  (out << ... << all);
  return out.str();
}

/// What the benchmark reported, and what the machine knows about it.
struct outcome {
  double median, low, high, overhead, samples, outliers, dropped;
  double truth, true_overhead, tick, second_lie;
  double spread;  ///< calls take up to this share more or less, or two calls in five take this much more
  double calls, elapsed, outliers_made, misuses, timings, throttled_calls;
  std::span<const double> throttled_ago;  ///< how many calls ago each throttled series ended
  outcome(std::span<const double> said, std::span<const double> known)
      : median(said[0]),
        low(said[1]),
        high(said[2]),
        overhead(said[3]),
        samples(said[4]),
        outliers(said[5]),
        dropped(said[6]),
        truth(known[0]),
        true_overhead(known[1]),
        tick(known[2]),
        second_lie(known[3]),
        spread(known[4]),
        calls(known[5]),
        elapsed(known[6]),
        outliers_made(known[7]),
        misuses(known[8]),
        timings(known[9]),
        throttled_calls(known[10]),
        throttled_ago(known.subspan(11)) {}
};

struct subject {
  std::string name;
  behaviour how;
  bool cold = false;
  double tolerance = 0.01;                               ///< relative error of the median
  std::function<std::string(const outcome&)> also = {};  ///< a further check: "" or what is wrong
  double budget = 10;
  double most_calls = 0;  ///< 0: not checked
  int least_samples = 11;
  double error = 0.01;
  int second_lie = -1;                 ///< its index in `lies`
  double behaviour::*drawn = nullptr;  ///< the seed scales this, too, by up to a tenth
  double calls_per_tick = 0;           ///< if not 0, a tick lasts this many calls, whatever the seed
  bool over_budget = false;            ///< even least_samples take longer than the budget
};

double truth_of(const behaviour& how, bool cold) { return how.seconds + (cold ? how.cold_extra : 0); }

double spread_of(const behaviour& how) { return how.noise + how.input_spread + how.slow_mode - 1; }

/// The same deception at another scale, so that its true time is unpredictable.
behaviour scaled(behaviour how, std::uint64_t seed, double behaviour::*drawn = nullptr) {
  lab::random_sizes size(seed);
  const double factor = size(600, 1400) / 1000.0;
  if (drawn) how.*drawn *= static_cast<double>(size(900, 1100)) / 1000.0;
  for (double* part : {&how.seconds, &how.cold_extra, &how.slow_extra, &how.fault_seconds}) *part *= factor;
  return how;
}

// ---- two lies at once -----------------------------------------------------------------------------------------------

struct lie {
  const char* name;
  void (*add)(behaviour&, bool& cold);
};

constexpr lie lies[] = {
    {"second_stream", [](behaviour& b, bool&) { b.second_stream = 0.75, b.launch_seconds += 5e-6; }},
    {"lazy_initialization", [](behaviour& b, bool&) { b.slow_calls = 10, b.slow_extra = 4 * b.seconds; }},
    {"page_faults", [](behaviour& b, bool&) { b.memoises = 0.05, b.fault_seconds = 2 * b.seconds; }},
    {"drifting_clock", [](behaviour& b, bool&) { b.wall_rate = 1.05, b.wall_jump = 1e-3; }},
    {"optimized_away", [](behaviour& b, bool&) { b.lazy = 1; }},
    {"throttled", [](behaviour& b, bool&) { b.throttle_after = 4.5 * b.seconds, b.throttle_share = 0.5; }},
    {"cold_caches", [](behaviour& b, bool& cold) { b.cold_extra = 3 * b.seconds, cold = true; }},
    {"launch_overhead",
     [](behaviour& b, bool&) { b.launch_seconds += 0.2 * b.seconds, b.wait_seconds = 0.1 * b.seconds; }},
    // Also computes nothing unless its result is kept: a sample must keep every result.
    {"below_resolution", [](behaviour& b, bool&) { b.tick = 24 * b.seconds, b.lazy = 1; }},
};

constexpr std::size_t page_faults = 2, cold_caches = 6, below_resolution = std::size(lies) - 1;

/// The lie paired with `first`: any other, drawn at random. Two pairs are always included: pages to touch before caches
/// are flushed, and several inputs in one sample. Work below the clock's resolution is neither cold nor launched
/// singly, so these lies are not paired with it.
std::size_t partner_of(std::size_t first, std::uint64_t seed) {
  if (first == below_resolution) return page_faults;
  if (first == page_faults) return cold_caches;
  const auto other = static_cast<std::size_t>(lab::random_sizes(seed)(0, below_resolution - 2));
  return other + (other >= first ? 1 : 0);
}

// ---- a benchmark and its machine ------------------------------------------------------------------------------------

class simulation : public lab::oracle {
 public:
  simulation(const subject& s, std::uint64_t seed)
      : machine_(s.how, seed),
        began_(machine_.elapsed()),
        known_{truth_of(s.how, s.cold), s.how.launch_seconds + s.how.wait_seconds, s.how.tick, 1.0 * s.second_lie,
               spread_of(s.how)} {}
  void answer(std::span<std::byte> question) override { lab02::answer(machine_, question); }
  buffer account() const override {
    doubles all = known_;
    for (const double v : {1.0 * machine_.calls, machine_.elapsed() - began_, 1.0 * machine_.outliers,
                           1.0 * machine_.misuses, 1.0 * machine_.timings, 1.0 * machine_.throttled_calls})
      all.push_back(v);
    for (const int last : machine_.throttled_series) all.push_back(machine_.calls - last);
    return buffer::of(all);
  }

 private:
  lab02::simulated_machine machine_;
  double began_;
  doubles known_;
};

/// !(a <= b) is true for NaN too.
std::string complaint(const subject& s, const outcome& o) {
  if (o.calls > lab02::simulated_machine::most_calls) return text("called it ", o.calls, " times");
  if (o.misuses > 0) return text("ran on ", o.misuses, " inputs that were not prepared");
  if (!(std::abs(o.median - o.truth) <= s.tolerance * o.truth)) {
    const double ratio = o.median / o.truth;
    const char* unit = "";
    for (const auto& [factor, name] : {std::pair{1e3, "milli"}, {1e6, "micro"}, {1e9, "nano"}})
      if (std::abs(ratio / factor - 1) <= s.tolerance) unit = name;
    return text("reports ", o.median, " s per call, which is ", ratio, " times the true time",
                *unit ? text("; are these ", unit, "seconds? The contract asks for seconds") : "");
  }
  if (!(o.samples >= s.least_samples))
    return text("a median of ", o.samples, " samples; the options ask for at least ", s.least_samples);
  if (!(o.samples + o.dropped <= o.timings))
    return text("reports ", o.samples, " samples and ", o.dropped, " dropped ones, but timed ", o.timings);
  const double rounding = 1e-5 * o.truth;  // more than a tick if a sample is one call
  if (!(o.low <= o.median + rounding && o.median <= o.high + rounding))
    return text("low ", o.low, ", median ", o.median, ", high ", o.high, " s are not in order");
  if (!(std::abs(o.overhead - o.true_overhead) <= 0.05 * o.true_overhead + o.tick + 1e-7))
    return text("overhead_seconds is ", o.overhead, " s; launching an empty function and waiting for it takes ",
                o.true_overhead, " s");
  const auto to_drop =
      std::count_if(o.throttled_ago.begin(), o.throttled_ago.end(), [&](double ago) { return ago < o.samples; });
  if (!(o.dropped >= static_cast<double>(to_drop) && o.dropped <= o.throttled_calls))
    return text("reports that it dropped ", o.dropped, " samples; the machine was throttled in ", o.throttled_calls,
                " calls, at least ", to_drop, " of them in samples");
  if (!s.over_budget && !(o.elapsed <= 1.25 * s.budget))
    return text("took ", o.elapsed, " s; the budget was ", s.budget, " s");
  if (s.most_calls > 0 && !(o.calls <= s.most_calls))
    return text("called it ", o.calls, " times; ", s.most_calls, " calls are more than enough");
  return s.also ? s.also(o) : std::string();
}

/// "" if a tenth of the calls is faster than low and a tenth slower than high, both as shares of the truth.
std::string tenths_missed(const outcome& o, double low, double high, double within) {
  const bool right = std::abs(o.low / o.truth - low) <= within && std::abs(o.high / o.truth - high) <= within;
  return right ? std::string()
               : text("low is ", o.low / o.truth, " and high ", o.high / o.truth, " times the true median; a tenth of ",
                      "the calls are below ", low, " and a tenth above ", high);
}

/// The same for evenly spread calls. Also checks that there are enough for the median's standard error, 1.25 sigma /
/// sqrt(n), to be near `error`; a third of that number suffices. `above`: the share of the spread at which the slow
/// tenth begins.
std::string spread_missed(const outcome& o, double error, double above = 0.8) {
  const double enough = std::pow(1.25 / 1.35 * o.spread / error, 2);
  if (!(o.samples >= enough / 3))
    return text("stopped after ", o.samples, " samples; with this much noise, the standard error is then far above ",
                error, " of the median");
  // With many samples, five standard errors of a decile, 0.6 / sqrt(n) each: the fastest sample is no decile.
  return tenths_missed(o, 1 - 0.8 * o.spread, 1 + above * o.spread,
                       std::min(o.spread / 6 + 2 * error, o.spread * (0.03 + 3 / std::sqrt(o.samples))));
}

std::vector<subject> subjects() {
  std::vector<subject> all;
  const auto none_lost = [](const outcome& o) {
    return o.outliers == 0 && o.dropped == 0
               ? std::string()
               : text("reports ", o.outliers, " outliers and drops ", o.dropped, " samples; all were honest");
  };
  // Liars.
  all.push_back({"asynchronous", {.seconds = 2e-3, .launch_seconds = 5e-6}});
  all.push_back({"slow_first_call", {.slow_calls = 1, .slow_extra = 50e-3}});
  all.push_back({"lazy_initialization", {.slow_calls = 7, .slow_extra = 4e-3}});
  all.back().also = [](const outcome& o) { return tenths_missed(o, 1, 1, 0.1); };
  all.push_back({"cache_warm_repeat", {.cold_extra = 3e-3}, true});
  all.push_back({"memoizing", {.memoises = 1e-3}});
  all.push_back({"page_faults", {.memoises = 1e-3, .fault_seconds = 2e-3}});
  all.push_back({"drifting_clock", {.wall_rate = 1.05, .wall_jump = 1e-3}});
  for (const double noise : {0.1, 0.25}) {
    all.push_back({noise > 0.1 ? "outlier_in_fifty" : "outlier_in_fifty_little_noise",
                   {.noise = noise, .outlier_every = 50, .outlier_factor = 30},
                   false,
                   0.06});
    all.back().least_samples = noise > 0.1 ? 51 : 121, all.back().budget = 2, all.back().drawn = &behaviour::noise;
    all.back().also = [](const outcome& o) {
      if (const std::string wrong = spread_missed(o, 0.01, 0.825); !wrong.empty()) return wrong;
      const double least = std::max(1.0, std::floor(o.samples / 50) - 1);
      return o.outliers >= least && o.outliers <= o.outliers_made
                 ? std::string()
                 : text("reports ", o.outliers, " outliers; there were ", o.outliers_made, ", one in fifty of ",
                        o.samples, " samples");
    };
  }
  all.push_back({"below_resolution", {.seconds = 5e-8, .tick = 1e-6}, false, 0.02});
  // Neither 2^k nor 10^k calls last nearly a whole number of ticks, so a sample of fewer than twenty ticks is wrong.
  // A thousand calls last ten.
  all.push_back({"below_resolution_coarse_tick", {.seconds = 5e-8}, false, 0.02});
  all.back().calls_per_tick = 96;
  // A cold call lasts fifty ticks: it is tempting to time several in one sample, but only the first of them is cold.
  all.push_back({"cold_coarse_tick", {.seconds = 2e-5, .cold_extra = 6e-5}, true, 0.03});
  all.back().calls_per_tick = 0.08;
  all.push_back({"optimized_away", {.lazy = 1}});
  all.push_back({"second_stream", {.seconds = 4e-3, .launch_seconds = 5e-6, .second_stream = 0.75}});
  for (const double spread : {0.2, 0.5}) {
    all.push_back({spread > 0.2 ? "input_dependent" : "input_dependent_little", {.input_spread = spread}, false, 0.12});
    all.back().least_samples = spread > 0.2 ? 51 : 121, all.back().error = 0.02;
    all.back().drawn = &behaviour::input_spread;
    all.back().also = [](const outcome& o) { return spread_missed(o, 0.02); };
  }
  all.push_back({"throttled", {.seconds = 1e-2, .throttle_after = 0.025, .throttle_share = 0.5, .best_share = 0.93}});
  all.back().least_samples = 61, all.back().budget = 40;  // enough to drop more samples than there are warm-ups
  // No sample that is kept was throttled for part of its time.
  all.back().also = [](const outcome& o) { return tenths_missed(o, 1, 1, 0.1); };
  all.push_back({"launch_overhead", {.seconds = 8e-6, .launch_seconds = 2e-5, .wait_seconds = 4e-6}, false, 0.02});
  // Honest ones.
  all.push_back({"steady", {}, false, 0.001, none_lost});
  all.back().least_samples = 31, all.back().most_calls = 100;
  for (const double slow : {1.4, 1.9}) {
    all.push_back({slow > 1.5 ? "two_costs" : "two_costs_near", {.slow_mode = slow, .wall_rate = 0.5}});
    all.back().budget = 2, all.back().drawn = &behaviour::slow_mode;
    all.back().also = [=](const outcome& o) {
      const std::string wrong = tenths_missed(o, 1, 1 + o.spread, 0.05);
      return wrong.empty() ? none_lost(o) : wrong;
    };
  }
  // The budget allows at most a hundred calls: no other budget passes, nor does the number of samples that `noisy`
  // needs. New memory takes most of the budget, so the samples' time alone does not show when it is used up.
  all.push_back({"two_costs_small_budget", {.fault_seconds = 2e-3, .slow_mode = 1.9}});
  all.back().budget = 0.3, all.back().also = [](const outcome& o) { return tenths_missed(o, 1, 1 + o.spread, 0.05); };
  // The first ten calls alone take a third of the budget or more.
  all.push_back({"two_costs_slow_warm_up", {.slow_calls = 10, .slow_extra = 0.1, .slow_mode = 1.9}});
  all.back().budget = 2, all.back().also = [](const outcome& o) { return tenths_missed(o, 1, 1 + o.spread, 0.05); };
  all.push_back({"warm_wanted", {.cold_extra = 3e-3}});
  all.push_back({"slow_work", {.seconds = 0.3}, false, 0.01, none_lost});
  all.push_back({"slow_work_small_budget", {.seconds = 0.3}, false, 0.01, none_lost, 1, 60});
  all.back().least_samples = 21, all.back().over_budget = true;
  for (const double noise : {0.1, 0.3}) {
    all.push_back({noise > 0.1 ? "noisy" : "noisy_little", {.noise = noise}, false, 0.06});
    all.back().least_samples = noise > 0.1 ? 51 : 121, all.back().most_calls = 5000,
    all.back().drawn = &behaviour::noise;
    all.back().also = [=](const outcome& o) {
      const std::string wrong = spread_missed(o, 0.01);
      return wrong.empty() ? none_lost(o) : wrong;
    };
  }
  // Eighty samples reach the requested error. A fixed error that is small enough for `noisy` takes more than 1300.
  all.push_back({"noisy_large_error", {.noise = 0.9}, false, 0.6, none_lost});
  all.back().least_samples = 51, all.back().error = 0.1, all.back().most_calls = 1300;
  all.back().drawn = &behaviour::noise;
  // Three to five thousand samples reach the requested error; the check asks for a third of them, so that no fixed
  // number that is enough for the other cases passes.
  all.push_back({"noisy_small_error", {.noise = 0.3}, false, 0.03});
  all.back().error = 0.0045, all.back().budget = 20, all.back().most_calls = 20'000;
  all.back().drawn = &behaviour::noise;
  all.back().also = [](const outcome& o) { return spread_missed(o, 0.0045); };
  // Each call lasts hundreds of ticks: averaging four or more calls hides the spread.
  all.push_back({"noisy_fine_tick", {.seconds = 2e-5, .noise = 0.25}, false, 0.06});
  all.back().least_samples = 301, all.back().drawn = &behaviour::noise;
  all.back().also = [](const outcome& o) {
    return tenths_missed(o, 1 - 0.8 * o.spread, 1 + 0.8 * o.spread, 0.34 * o.spread);
  };
  // Below the throttled clock of `throttled`: only readings on this machine tell the two apart.
  all.push_back({"lower_clock", {.best_share = 0.45}, false, 0.01, none_lost});
  all.back().drawn = &behaviour::best_share;
  return all;
}

/// `drawn` returns `s` with the seed's machine.
test_case conversation(const std::string& entry, const subject& s, std::function<subject(std::uint64_t seed)> drawn) {
  test_case result;
  result.id = entry + "/" + s.name;
  result.entry = entry;
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 7}, {dtype::u8, sizeof(lab02::mailbox)}};
  result.inputs = [drawn](std::uint64_t seed) {
    const subject now = drawn(seed);
    return lab::buffers(doubles{now.cold ? 1.0 : 0.0, 1.0 * now.least_samples, now.error, now.budget});
  };
  result.oracle = [drawn](std::uint64_t seed) { return std::make_unique<simulation>(drawn(seed), seed); };
  result.check = [s](std::span<const buffer>, std::span<const buffer> outputs) {
    const outcome o(outputs[0].as<double>(), outputs[2].as<double>());
    const std::string wrong = complaint(s, o);
    return wrong.empty() || o.second_lie < 0
               ? wrong
               : text("together with ", lies[static_cast<std::size_t>(o.second_lie)].name, ": ", wrong);
  };
  return result;
}

test_case benchmark_case(const subject& s) {
  return conversation("benchmark", s, [s](std::uint64_t seed) {
    subject now = s;
    now.how = scaled(s.how, seed, s.drawn);
    if (s.calls_per_tick > 0) now.how.tick = s.calls_per_tick * now.how.seconds;
    // The function of the predictions is slow for seven calls; the contract allows ten.
    if (now.how.slow_calls > 1) now.how.slow_calls = 10;
    return now;
  });
}

/// The lie `first`, and a second one.
test_case combined_case(std::size_t first) {
  subject s;
  s.name = lies[first].name;
  if (first == below_resolution) s.how.seconds = 5e-8, s.tolerance = 0.02;
  return conversation("combined", s, [=](std::uint64_t seed) {
    subject now = s;
    const std::size_t second = partner_of(first, seed);
    now.how = scaled(s.how, seed);
    now.second_lie = static_cast<int>(second);
    lies[first].add(now.how, now.cold);
    lies[second].add(now.how, now.cold);
    return now;
  });
}

/// The launch is shorter than the work, and a call lasts about ten ticks: a sample needs many calls. Launches after the
/// first overlap with work, so a sample contains the overhead once, unless the benchmark waits for each call.
test_case launches_in_a_sample_case() {
  subject s;
  s.name = "several_launches_in_a_sample", s.tolerance = 0.03;
  s.how = {.seconds = 2e-5, .launch_seconds = 8e-6, .wait_seconds = 4e-6, .tick = 2e-6};
  return conversation("combined", s, [s](std::uint64_t seed) {
    subject now = s;
    now.how = scaled(s.how, seed);
    now.second_lie = static_cast<int>(below_resolution);
    return now;
  });
}

/// The typical benchmark that the predictions are about.
double naive_benchmark(lab02::machine& m) {
  m.prepare(1);
  m.run(0);  // warm-up
  double sum = 0;
  for (int trial = 0; trial < 3; ++trial) {
    const double start = m.wall_seconds();
    m.run(0);
    sum += m.wall_seconds() - start;
  }
  return sum / 3;
}

test_case naive_case(const subject& s) {
  lab02::simulated_machine m(s.how, 1);
  return lab::figures_case("naive_benchmark/" + s.name,
                           [figures = doubles{naive_benchmark(m), truth_of(s.how, s.cold)}] { return figures; });
}

/// What Google Benchmark reports for a loop around m.run(0): longer and longer series until one takes half a second,
/// then its mean. The rule is BenchmarkRunner's in version 1.7.1.
double google_benchmark(lab02::machine& m) {
  constexpr double least_seconds = 0.5;
  for (double calls = 1;;) {
    m.prepare(1);
    const double start = m.steady_seconds();
    for (double i = 0; i < calls; ++i) m.run(0);
    const double seconds = m.steady_seconds() - start;
    if (seconds >= least_seconds) return seconds / calls;
    const bool says_something = seconds > 0.1 * least_seconds;
    calls = std::round(calls * (says_something ? std::max(1.4 * least_seconds / seconds, 2.0) : 10.0));
  }
}

test_case google_case(const subject& s) {
  return lab::figures_case("google_benchmark/" + s.name, [s] {
    lab02::simulated_machine m(s.how, 1);
    return doubles{google_benchmark(m), truth_of(s.how, s.cold)};
  });
}

/// The lines of report.md that mislead, and the one to change, in the order of the questions in predictions.toml.
test_case report_case() {
  return lab::figures_case("report/lies", [] { return doubles{14, 9, 19, 24, 28, 33, 44, 41}; });
}

/// Compares a benchmark of this machine with Google Benchmark, and with the grader's own plain samples right
/// afterwards: within a factor of three, since others may use the machine, too. The function takes about
/// `times` half-microseconds, so no constant passes.
test_case real_case(const std::string& name, int64_t times) {
  test_case result;
  result.id = "real/" + name;
  result.entry = "real";
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 4}};
  result.inputs = [times](std::uint64_t seed) {
    return lab::buffers(std::vector<int64_t>{times * lab::random_sizes(seed)(200, 800)});
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    const std::span<const double> all = outputs[0].as<double>();
    doubles said(all.begin(), all.end() - 1), plain;
    lab02::chain m(before[0].as<int64_t>()[0]);
    for (int i = 0; i < 51; ++i) {
      const double start = m.steady_seconds();
      for (int call = 0; call < 1000; ++call) m.keep(m.run(0));
      plain.push_back((m.steady_seconds() - start) / 1000);
    }
    for (double& s : said)
      if (!(s >= 0)) s = -1;  // NaN cannot be sorted
    std::sort(said.begin(), said.end());
    std::nth_element(plain.begin(), plain.begin() + 25, plain.end());
    for (const auto& [other, whose] : {std::pair{all[3], "Google Benchmark says"}, {plain[25], "plain samples show"}})
      if (const double ratio = said[1] / other; !(ratio >= 1.0 / 3 && ratio <= 3))
        return text("reports ", said[1], " s per call, which is ", ratio, " times what ", whose);
    return std::string();
  };
  return result;
}

/// Inputs of uneven cost, and an error that takes `needed` samples: how much longer does a benchmark take than these
/// calls alone? The ceiling does the same multiply-adds.
test_case sampling_case(int64_t needed) {
  constexpr int64_t values = 192, rounds = 8000, inputs = 1 << 14;
  constexpr double spread = 0.5, per_sigma = 1.25 / 1.35;  // as in spread_missed
  test_case result;
  result.id = text("sampling/", needed);
  result.entry = "sampling";
  result.where = lab::part::host;
  result.parameters = {values, needed * rounds, needed, inputs};
  result.outputs = {{dtype::f32, values}, {dtype::f64, 5}};
  result.work = {2.0 * values * static_cast<double>(needed * rounds), 0};
  result.timed = true;
  result.inputs = [=](std::uint64_t seed) {
    std::vector<float> start = lab::random_floats(values, seed), constants = lab::random_floats(values, seed + 1);
    for (float& c : constants) c = -1.7f + 0.2f * c;  // x * x + c is chaotic there, and stays in [-2, 2]
    lab::random_sizes size(seed + 2);
    std::vector<int64_t> lengths(inputs);
    for (int64_t& l : lengths)
      l = size(static_cast<int64_t>((1 - spread) * rounds), static_cast<int64_t>((1 + spread) * rounds));
    const double error = per_sigma * spread / std::sqrt(static_cast<double>(needed));
    return lab::buffers(start, constants, lengths, doubles{error});
  };
  result.check = [=](std::span<const buffer> before, std::span<const buffer> outputs) {
    const auto said = outputs[1].as<double>();
    const double median = said[0], calls = said[1], all_rounds = said[2], misuses = said[3], timings = said[4];
    if (misuses > 0) return text("ran on ", misuses, " inputs that were not prepared");
    if (!(3 * calls >= static_cast<double>(needed)))
      return text("stopped after ", calls, " calls; for the error that the options ask for, about ", needed,
                  " samples are needed");
    if (!(100 * timings >= static_cast<double>(needed)))  // a coarse clock may need several calls in a sample
      return text("made ", calls, " calls, but read the clock after only ", timings, " of them");
    if (!(all_rounds <= 1e9)) return text("called it ", calls, " times");
    std::vector<float> x;
    double seconds = std::numeric_limits<double>::infinity();  // the minimum of three: others may use the machine, too
    for (int i = 0; i < 3; ++i) {
      x.assign(before[0].as<float>().begin(), before[0].as<float>().end());
      const double start = lab::raw_seconds();
      lab::fma_chains(x.data(), x.data(), before[1].as<float>().data(), x.size(), static_cast<int64_t>(all_rounds));
      seconds = std::min(seconds, lab::raw_seconds() - start);
    }
    const double ratio = median / (seconds / all_rounds * rounds);
    if (!std::equal(x.begin(), x.end(), outputs[0].as<float>().begin())) return text("its calls did other work");
    return ratio >= 1.0 / 3 && ratio <= 3
               ? std::string()
               : text("reports ", median, " s per call, which is ", ratio, " times what such a call takes");
  };
  return result;
}

// ---- Google Benchmark -----------------------------------------------------------------------------------------------

/// "" if Google Benchmark measured this loop, and counted what it moved and computed.
std::string google_missed(const lab02::google_run& wanted, const lab02::google_figures& got) {
  const std::string name = wanted.name();
  if (!(got.seconds > 0))
    return text("no benchmark of the name ", name, " ran: does register_benchmarks() register it?");
  const double ratio = got.seconds / got.plain_seconds;
  // The vectors' positions in memory can make a short loop three times as fast; sorting takes the same time everywhere.
  const double least = wanted.bytes > 0 ? 0.2 : 0.6, most = wanted.bytes > 0 ? 5 : 1.6;
  const auto says = [&] {
    return text(name, " takes ", got.seconds, " s an iteration, which is ", ratio, " times what the loop takes");
  };
  if (!(ratio >= least))
    return says() + (wanted.bytes > 0 ? "; is its result used?" : "; what does it sort each time?");
  if (!(ratio <= most)) return says() + "; what else is timed?";
  const auto counts = [](double rate, double seconds, double per_iteration) {
    return std::abs(rate * seconds - per_iteration) <= 0.02 * per_iteration;
  };
  const auto rate_missed = [&](const char* counter, double rate, double each) {
    if (each == 0 || counts(rate, got.real_seconds, each) || counts(rate, got.cpu_seconds, each)) return std::string();
    return text(name, ": ", counter, " is ", rate, "; ", each, " an iteration make ", each / got.seconds);
  };
  const std::string bytes = rate_missed("bytes_per_second", got.bytes_per_second, wanted.bytes);
  return bytes.empty() ? rate_missed("flops", got.flops_per_second, wanted.flops) : bytes;
}

/// All benchmarks of these loops. They run in the submission's process; the judge's reference is measured there, too.
test_case google_loops_case(const std::string& name, bool sorts) {
  const auto count = std::count_if(std::begin(lab02::google_runs), std::end(lab02::google_runs),
                                   [=](const lab02::google_run& r) { return (r.bytes == 0) == sorts; });
  test_case result;
  result.id = "google/" + name;
  result.entry = "google";
  result.where = lab::part::host;
  result.parameters = {sorts};
  result.outputs = {{dtype::f64, count * static_cast<int64_t>(sizeof(lab02::google_figures) / sizeof(double))}};
  result.inputs = [](std::uint64_t) { return std::vector<buffer>(); };
  result.check = [=](std::span<const buffer>, std::span<const buffer> outputs) {
    const std::byte* next = outputs[0].bytes().data();
    for (const lab02::google_run& wanted : lab02::google_runs) {
      if ((wanted.bytes == 0) != sorts) continue;
      lab02::google_figures got;
      std::memcpy(&got, next, sizeof got);
      next += sizeof got;
      if (const std::string wrong = google_missed(wanted, got); !wrong.empty()) return wrong;
    }
    return std::string();
  };
  return result;
}

/// The two-sided p-value, by the normal approximation.
double mann_whitney(std::span<const double> one, std::span<const double> other) {
  double u = 0, ties = 0;
  doubles all(one.begin(), one.end());
  all.insert(all.end(), other.begin(), other.end());
  for (const double a : one)
    for (const double b : other) u += a > b ? 1 : a == b ? 0.5 : 0;
  for (const double a : all) {
    const auto equal = static_cast<double>(std::count(all.begin(), all.end(), a));
    ties += equal * equal - 1;
  }
  const auto n = static_cast<double>(one.size()), m = static_cast<double>(other.size()), both = n + m;
  const double variance = n * m / 12 * (both + 1 - ties / (both * (both - 1)));
  return variance > 0 ? std::erfc(std::abs(u - n * m / 2) / std::sqrt(2 * variance)) : 1;
}

/// Series of n and m times. The second is longer by up to `shift` times its spread; one sample in ten is interrupted;
/// both are rounded to `tick`, if not 0.
test_case p_value_case(const std::string& name, int64_t n, int64_t m, double shift, double tick) {
  test_case result;
  result.id = "p_value/" + name;
  result.entry = "p_value";
  result.where = lab::part::host;
  result.parameters = {n, m};
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [=](std::uint64_t seed) {
    lab::random_sizes size(seed);
    const auto series = [&](int64_t count, double more) {
      doubles times;
      for (int64_t i = 0; i < count; ++i) {
        double t = 1 + 1e-4 * static_cast<double>(size(0, 1000)) + more;
        if (tick > 0) t = std::floor(t / tick) * tick;
        times.push_back(size(0, 9) == 0 ? 30 * t : t);
      }
      return times;
    };
    const doubles one = series(n, 0);
    return lab::buffers(one, series(m, shift * 1e-4 * static_cast<double>(size(0, 1000))));
  };
  result.check = [](std::span<const buffer> before, std::span<const buffer> outputs) {
    const double want = mann_whitney(before[0].as<double>(), before[1].as<double>()), got = outputs[0].as<double>()[0];
    return std::abs(got - want) <= 0.012 ? std::string() : text("p is ", got, "; it should be ", want);
  };
  return result;
}

test_case mlp(int64_t layers, int64_t batch, int64_t width, int64_t steps) {
  test_case result;
  result.id = text("mlp/", layers, "x", batch, "x", width, "x", steps);
  result.entry = "mlp";
  result.parameters = {layers, batch, width, steps};
  result.outputs = {{dtype::f32, batch * width}, {dtype::f32, batch * width}};
  result.inputs = [=](std::uint64_t seed) {
    std::vector<float> w = lab::random_floats(static_cast<std::size_t>(width * width), seed + 1);
    for (float& v : w) v *= 4.0f / std::sqrt(static_cast<float>(width));  // activations neither vanish nor explode
    return lab::buffers(lab::random_floats(static_cast<std::size_t>(batch * width), seed), w);
  };
  result.check = [=](std::span<const buffer> in, std::span<const buffer> outputs) {
    const auto x = in[0].as<float>(), w = in[1].as<float>();
    std::vector<float> now(x.begin(), x.end()), next(now.size());
    const auto n = static_cast<std::size_t>(width);
    for (int64_t layer = 0; layer < layers; ++layer, std::swap(now, next))
      for (std::size_t i = 0; i < now.size(); ++i) {
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k)
          sum += static_cast<double>(now[i / n * n + k]) * static_cast<double>(w[k * n + i % n]);
        next[i] = static_cast<float>(0.5 * sum * (1 + std::tanh(0.79788456 * (sum + 0.044715 * sum * sum * sum))));
      }
    return lab::mismatch(outputs[0].as<float>(), now, {1e-2, 1e-2});
  };
  const double n = static_cast<double>(batch * width), all = static_cast<double>(layers * steps);
  result.work = {2 * n * static_cast<double>(width) * all, 4 * (2 * n + static_cast<double>(width * width)) * all};
  return result;
}

std::vector<test_case> cases() {
  std::vector<test_case> all;
  for (const subject& s : subjects()) {
    all.push_back(benchmark_case(s));
    all.push_back(naive_case(s));
    if (s.how.lazy == 0 && s.how.seconds >= 1e-3) all.push_back(google_case(s));
  }
  for (std::size_t first = 0; first < std::size(lies); ++first) all.push_back(combined_case(first));
  all.push_back(launches_in_a_sample_case());
  all.push_back(report_case());
  all.push_back(real_case("chain", 1));
  all.push_back(real_case("long_chain", 30));
  all.push_back(sampling_case(1500));
  all.push_back(google_loops_case("loops", false));
  all.push_back(google_loops_case("sort", true));
  all.push_back(p_value_case("equal", 40, 40, 0, 0));
  all.push_back(p_value_case("shifted", 60, 25, 0.4, 0));
  all.push_back(p_value_case("ticks", 50, 50, 0.3, 0.05));
  all.push_back(p_value_case("one_tick", 20, 20, 0, 10));
  all.push_back(p_value_case("many", 1500, 1200, 0, 0));
  all.push_back(mlp(4, 32, 64, 2));
  all.push_back(mlp(4, 32, 64, 10));
  all.push_back(mlp(20, 32, 64, 2));
  all.push_back(mlp(4, 160, 64, 2));
  all.push_back(mlp(4, 32, 320, 2));
  return all;
}

const lab::case_registration registration{"02_benchmarking", cases};

}  // namespace
