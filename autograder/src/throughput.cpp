// Throughput: how close a call comes to a ceiling measured beside it. The host's ceiling is reading the same memory,
// the device's a copy of as many bytes; correctness of the same case decides whether it counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

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

/// Times the case against read_all of its own inputs: new inputs, poisoned outputs and a full check for every call, so
/// that nothing can be left over, remembered or skipped. No value where a call fails; `failure` then says why.
std::optional<paired_result> against_reading(const item& what, subject& s, int pairs, trial& failure) {
  const lab::test_case& c = *what.cases.front();
  std::uint64_t variation = 0;
  std::optional<prepared_case> ready;
  volatile std::uint64_t sink = 0;
  const auto ceiling = [&] {
    const double start = raw_seconds();
    for (const auto& input : ready->request.inputs) sink = sink + read_all(input);
    return raw_seconds() - start;
  };
  const auto call = [&]() -> std::optional<double> {
    ready = s.prepare(c, variation++);
    // The caches hold what was just written; reading everything once writes it back.
    failure = s.call(*ready, ceiling);
    s.check(*ready, failure);
    return failure.ok() ? std::optional(failure.seconds) : std::nullopt;
  };
  if (!call()) return {};  // warms up, too
  ceiling();
  paired_options options;
  options.pairs = pairs;
  options.hopeless_ratio = what.rungs.front().ratio / 2;
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
  const auto measured =
      host ? against_reading(what, *s, on.pairs, failure) : against_copying(what, *s, on.pairs, failure);
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
