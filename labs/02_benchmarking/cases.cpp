// Lab 02's problems: functions that deceive whoever times them, honest ones that a distrustful benchmark wrongs, and
// what each truly costs.
#include <lab/case.hpp>
#include <lab/compare.hpp>

#include <cmath>
#include <sstream>
#include <utility>

#include "liars.hpp"

namespace {

using lab::buffer;
using lab::dtype;
using lab::test_case;
using lab02::behaviour;
using std::int64_t;

using doubles = std::vector<double>;

doubles numbers(const behaviour& b) {
  return {b.seconds,       b.cold_extra,    b.slow_calls,     b.slow_extra,     b.launch_seconds,
          b.second_stream, b.lazy,          b.memoises,       b.fault_seconds,  b.input_spread,
          b.noise,         b.outlier_every, b.outlier_factor, b.slow_mode,      b.tick,
          b.wall_rate,     b.wall_jump,     b.throttle_after, b.throttle_share, b.best_share};
}

/// What the benchmark said and what it did, as calls.cpp puts it.
struct outcome {
  double median, low, high, overhead, samples, outliers, dropped, calls, elapsed, outliers_made, misuses;
  explicit outcome(std::span<const double> v)
      : median(v[0]),
        low(v[1]),
        high(v[2]),
        overhead(v[3]),
        samples(v[4]),
        outliers(v[5]),
        dropped(v[6]),
        calls(v[7]),
        elapsed(v[8]),
        outliers_made(v[9]),
        misuses(v[10]) {}
};

struct subject {
  std::string name;
  behaviour how;
  bool cold = false;
  double tolerance = 0.01;                               ///< relative, of the median
  std::function<std::string(const outcome&)> also = {};  ///< "" or what else is wrong
  double budget = 10;
  double most_calls = 0;  ///< 0: no matter
};

double truth_of(const subject& s) { return s.how.seconds + (s.cold ? s.how.cold_extra : 0); }

template <class... parts>
std::string text(const parts&... all) {
  std::ostringstream out;
  out.precision(5);
  (out << ... << all);
  return out.str();
}

/// !(a <= b) is true for NaN too.
std::string complaint(const subject& s, const outcome& o, int least) {
  const double truth = truth_of(s);
  if (o.misuses > 0) return text("ran on ", o.misuses, " inputs that were not prepared");
  if (!(std::abs(o.median - truth) <= s.tolerance * truth))
    return text("says ", o.median, " s a call, which is ", o.median / truth, " times the truth");
  if (!(o.samples >= least)) return text("a median of ", o.samples, " samples; ", least, " were asked for");
  const double rounding = 1e-6 * truth;
  if (!(o.low <= o.median + rounding && o.median <= o.high + rounding))
    return text("low ", o.low, ", median ", o.median, ", high ", o.high, " s are not in order");
  if (!(o.elapsed <= 1.25 * s.budget)) return text("took ", o.elapsed, " s; the budget was ", s.budget, " s");
  if (s.most_calls > 0 && !(o.calls <= s.most_calls))
    return text("called it ", o.calls, " times; ", s.most_calls, " are more than enough to be sure");
  return s.also ? s.also(o) : std::string();
}

std::vector<subject> subjects() {
  const auto overhead_is = [](double seconds) {
    return [seconds](const outcome& o) {
      return std::abs(o.overhead - seconds) <= 0.05 * seconds
                 ? std::string()
                 : text("says that launching takes ", o.overhead, " s, which is ", o.overhead / seconds,
                        " times the truth");
    };
  };
  const auto none_lost = [](const outcome& o) {
    return o.outliers == 0 && o.dropped == 0
               ? std::string()
               : text("calls ", o.outliers, " samples outliers and drops ", o.dropped, "; all were honest");
  };
  std::vector<subject> all;
  // Liars.
  all.push_back({"asynchronous", {.seconds = 2e-3, .launch_seconds = 5e-6}});
  all.push_back({"slow_first_call", {.slow_calls = 1, .slow_extra = 50e-3}});
  all.push_back({"lazy_initialization", {.slow_calls = 7, .slow_extra = 4e-3}});
  all.back().also = [](const outcome& o) {
    return o.high <= 1.1e-3 ? std::string() : text("high is ", o.high, " s: the first calls are among the samples");
  };
  all.push_back({"cache_warm_repeat", {.cold_extra = 3e-3}, true});
  all.push_back({"memoizing", {.memoises = 1}});
  all.push_back({"page_faults", {.memoises = 1, .fault_seconds = 2e-3}});
  all.push_back({"drifting_clock", {.wall_rate = 1.05, .wall_jump = 1e-3}});
  all.push_back({"outlier_in_fifty", {.noise = 0.2, .outlier_every = 50, .outlier_factor = 30}, false, 0.05});
  all.back().also = [](const outcome& o) {
    if (!(o.high <= 1.25e-3)) return text("high is ", o.high, " s: nine tenths of the calls are faster than 0.00125 s");
    if (o.outliers_made == 0)
      return text("met no outlier, of which there is one in fifty calls: too few samples for the error asked for");
    return o.outliers >= 1 && o.outliers <= o.outliers_made
               ? std::string()
               : text("reports ", o.outliers, " outliers; there were ", o.outliers_made);
  };
  all.push_back({"below_resolution", {.seconds = 5e-8, .tick = 1e-6}, false, 0.02});
  all.push_back({"optimized_away", {.lazy = 1}});
  all.push_back({"second_stream", {.seconds = 4e-3, .launch_seconds = 5e-6, .second_stream = 0.75}});
  all.push_back({"input_dependent", {.input_spread = 0.5}, false, 0.08});
  all.back().also = [](const outcome& o) {
    return o.high >= 1.3e-3 && o.low <= 0.7e-3
               ? std::string()
               : text("low ", o.low, " s, high ", o.high,
                      " s: it was tried on too few inputs, or on inputs too much alike");
  };
  all.push_back({"throttled", {.seconds = 1e-2, .throttle_after = 0.05, .throttle_share = 0.5}});
  all.push_back({"launch_overhead", {.seconds = 8e-6, .launch_seconds = 2e-5}, false, 0.02, overhead_is(2e-5)});
  // Honest ones.
  all.push_back({"steady", {}, false, 0.001, none_lost});
  all.back().most_calls = 100;
  all.push_back({"two_costs", {.slow_mode = 2}, false, 0.01, [=](const outcome& o) {
                   if (!(o.high >= 1.9e-3)) return text("high is ", o.high, " s; two calls of five take 0.002 s");
                   return none_lost(o);
                 }});
  all.push_back({"warm_wanted", {.cold_extra = 3e-3}});
  all.push_back({"slow_work", {.seconds = 0.5}, false, 0.01, none_lost, 10, 20});
  all.push_back({"noisy", {.noise = 0.3}, false, 0.05, none_lost});
  all.push_back({"lower_clock", {.best_share = 0.93}, false, 0.01, none_lost});
  return all;
}

test_case benchmark_case(const subject& s, int64_t world_seed) {
  constexpr int least = 11;
  test_case result;
  result.id = "benchmark/" + s.name;
  result.entry = "benchmark";
  result.where = lab::part::host;
  result.parameters = {s.cold, least, world_seed};
  result.outputs = {{dtype::f64, 11}};
  result.inputs = [s](std::uint64_t) {
    return std::vector{buffer::of(numbers(s.how)), buffer::of(doubles{0.01, s.budget})};
  };
  result.check = [s](std::span<const buffer>, std::span<const buffer> outputs) {
    return complaint(s, outcome(outputs[0].as<double>()), least);
  };
  return result;
}

test_case naive_case(const subject& s) {
  test_case result;
  result.id = "naive_benchmark/" + s.name;
  result.entry = "naive_benchmark";
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 2}};
  result.inputs = [s](std::uint64_t) {
    return std::vector{buffer::of(numbers(s.how)), buffer::of(doubles{truth_of(s)})};
  };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

/// The lines of report.md that mislead, in the order of the questions in predictions.toml.
test_case report_case() {
  const doubles lines = {14, 9, 19, 24, 28, 33};
  test_case result;
  result.id = "report/lies";
  result.entry = "report";
  result.where = lab::part::host;
  result.parameters = {static_cast<int64_t>(lines.size())};
  result.outputs = {{dtype::f64, static_cast<int64_t>(lines.size())}};
  result.inputs = [lines](std::uint64_t) { return std::vector{buffer::of(lines)}; };
  result.check = [](std::span<const buffer>, std::span<const buffer>) { return std::string(); };
  return result;
}

/// A benchmark of this machine: within a factor of three of plain samples around it. Others may use the machine too.
test_case real_case() {
  test_case result;
  result.id = "real/sum";
  result.entry = "real";
  result.where = lab::part::host;
  result.outputs = {{dtype::f64, 1}};
  result.inputs = [](std::uint64_t) { return std::vector{buffer::of(doubles{0})}; };
  result.check = [](std::span<const buffer>, std::span<const buffer> outputs) {
    const double ratio = outputs[0].as<double>()[0];
    return ratio >= 1.0 / 3 && ratio <= 3 ? std::string()
                                          : text("says ", ratio, " times what plain samples around it say");
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
    return std::vector{buffer::of(lab::random_floats(static_cast<std::size_t>(batch * width), seed)), buffer::of(w)};
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
    all.push_back(benchmark_case(s, 1));
    all.push_back(naive_case(s));
  }
  all.push_back(report_case());
  all.push_back(real_case());
  all.push_back(mlp(4, 32, 64, 2));
  all.push_back(mlp(4, 32, 64, 10));
  all.push_back(mlp(20, 32, 64, 2));
  all.push_back(mlp(4, 160, 64, 2));
  all.push_back(mlp(4, 32, 320, 2));
  return all;
}

const lab::case_registration registration{"02_benchmarking", cases};

}  // namespace
