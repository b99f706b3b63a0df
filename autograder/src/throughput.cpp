// Throughput: how close a call comes to a ceiling measured beside it. The host's ceiling is reading the same memory,
// the device's a copy of as many bytes; correctness of the same case decides whether it counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>

#include "assess.hpp"
#include "ceilings.hpp"
#include "paired.hpp"

namespace grading {
namespace {

void refuse(const trial& t, item_result& out) {
  out.verdict = t.verdict;
  out.message = t.message;
  out.points = 0;
}

/// More than this share of the time without a core, and a sample is disturbed.
constexpr double most_waited = 0.02;

sample sample_of(double seconds, double waited) { return {seconds, waited > most_waited * seconds}; }

/// read_all of the case's inputs, in the staff's own runner: whatever a call has to suffer, its ceiling has too.
class reading {
 public:
  explicit reading(executor* staff) : staff_(staff) {}

  void here(const prepared_case& ready) const {
    volatile std::uint64_t sink = 0;
    for (const auto& input : ready.request.inputs) sink = sink + read_all(input);
  }

  sample operator()(const prepared_case& ready) {
    if (!staff_) {
      const double start = raw_seconds();
      here(ready);
      return raw_seconds() - start;
    }
    lab::request ask;
    ask.entry = "read";
    ask.input_specs = ready.request.input_specs;
    ask.output_specs = {{lab::dtype::i64, 1}};
    for (const lab::buffer_spec& spec : ask.input_specs)
      ask.parameters.push_back(static_cast<std::int64_t>(spec.bytes()));
    const layout where = layout_of(ask);
    place(ask, where, staff_->memory(where.bytes));
    if (!loaded_)
      for (std::size_t i = 0; i < ask.inputs.size(); ++i)
        std::copy(ready.request.inputs[i].begin(), ready.request.inputs[i].end(), ask.inputs[i].begin());
    loaded_ = true;
    const answer got = staff_->run(ask, [&] { here(ready); });
    if (got.end != answer::ending::answered || !got.response.error.empty())
      throw std::runtime_error("the ceiling cannot be measured: " + got.what + got.response.error);
    return sample_of(got.seconds, got.waited);
  }

 private:
  executor* staff_;
  bool loaded_ = false;
};

/// Times the case against reading its inputs: new inputs, poisoned outputs and a full check for every call, so that
/// nothing can be left over, remembered or skipped. No value where a call fails; `failure` then says why.
std::optional<paired_result> against_reading(const item& what, subject& s, bench& on, trial& failure) {
  const lab::test_case& c = *what.cases.front();
  std::uint64_t variation = 0;
  std::optional<prepared_case> ready;
  reading read(on.staff.get());
  const auto call = [&]() -> std::optional<sample> {
    ready = s.prepare(c, variation++);
    // The caches hold what was just written; reading everything once writes it back.
    failure = s.call(*ready, [&] { read.here(*ready); });
    s.check(*ready, failure);
    return failure.ok() ? std::optional(sample_of(failure.seconds, failure.waited)) : std::nullopt;
  };
  const auto ceiling = [&] { return read(*ready); };
  if (!call()) return {};  // warms up, too
  ceiling();
  paired_options options;
  options.pairs = options.most_disturbed = on.pairs;
  options.hopeless_ratio = what.rungs.front().ratio / 2;
  options.certain_ratio = what.rungs.back().ratio;
  return measure([&] { return run_pairs(call, ceiling, options); }, what.rungs);
}

std::optional<paired_result> against_copying(const item& what, subject& s, int pairs, trial& failure) {
  const auto run = [&]() -> std::optional<paired_run> {
    failure = s.time(*what.cases.front(), pairs);
    if (!failure.ok()) return {};
    const auto &calls = failure.response.call_seconds, &copies_ = failure.response.copy_seconds;
    paired_run result;
    for (std::size_t i = 0; i < std::min(calls.size(), copies_.size()); ++i) {
      result.pairs.push_back({calls[i], copies_[i]});
      if (i > 0) result.self_ratios.push_back(copies_[i - 1] / copies_[i]);
    }
    if (!result.pairs.empty()) return result;
    failure.verdict = verdict::wrong;
    failure.message = what.cases.front()->id + ": the call could not be timed";
    return {};
  };
  return measure(run, what.rungs);
}

}  // namespace

void assess_throughput(const item& what, bench& on, item_result& out) {
  const lab::test_case& c = *what.cases.front();
  const bool host = what.ceiling == "read";
  out.backend = host ? "host" : "cuda";
  out.what = host ? "of read bandwidth" : "of copy bandwidth";
  out.threshold = what.rungs.back().ratio;
  out.work = c.work;
  subject* s = host ? (on.subjects.empty() ? nullptr : on.subjects.front().get()) : on.on("cuda");
  if (!s) {
    out.message = host ? on.without_sim : on.without_cuda;
    return;
  }
  trial failure;
  const auto measured = host ? against_reading(what, *s, on, failure) : against_copying(what, *s, on.pairs, failure);
  if (!measured) return refuse(failure, out);
  out.samples = measured->pairs;
  out.figure = measured->ratio;
  out.ci95 = measured->ci95;
  out.noise = measured->noise;
  if (measured->noisy) {
    out.verdict = verdict::inconclusive;
    out.message = fmt::format(
        "the machine is too noisy to say: the ceiling measured against itself spreads by {:.0f} %, "
        "at most {:.0f} % is allowed; run again when nothing else runs",
        100 * measured->noise, 100 * most_noise);
    return;
  }
  out.points = std::round(100 * what.points * credit(measured->ratio, what.rungs)) / 100;
  const rung* next = next_rung(measured->ratio, what.rungs);
  out.verdict = next ? verdict::too_slow : verdict::pass;
  if (!next) return;
  std::vector<double> ceiling_seconds;
  for (const timed_pair& p : measured->pairs) ceiling_seconds.push_back(p.ceiling_seconds);
  out.message = fmt::format(
      "{} {} (95 % interval {:.3f} to {:.3f}; the ceiling here is {:.1f} GB/s); the next rung, {}, "
      "earns {} of {} points",
      figure_text(measured->ratio), out.what, measured->ci95.low, measured->ci95.high,
      c.work.bytes / lab::median(ceiling_seconds) * 1e-9, figure_text(next->ratio),
      points_text(what.points * next->share), points_text(what.points));
}

}  // namespace grading
