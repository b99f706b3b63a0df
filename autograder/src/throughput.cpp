// Throughput: how close a call comes to a ceiling measured beside it. The host's ceiling is reading the same memory,
// the device's a copy of as many bytes; correctness of the same case decides whether it counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

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

std::vector<std::vector<std::byte>> copies(const std::vector<std::span<std::byte>>& outputs) {
  std::vector<std::vector<std::byte>> result;
  result.reserve(outputs.size());
  for (const auto& output : outputs) result.emplace_back(output.begin(), output.end());
  return result;
}

bool same(const std::vector<std::span<std::byte>>& outputs, const std::vector<std::vector<std::byte>>& as) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    if (!std::equal(outputs[i].begin(), outputs[i].end(), as[i].begin(), as[i].end())) return false;
  return true;
}

/// Times the case against read_all of its own inputs. No value where a call fails; `failure` then says why.
std::optional<paired_result> against_reading(const item& what, subject& s, int pairs, trial& failure) {
  // Two inputs take turns, and every output is looked at: nothing can be left over or remembered from an earlier call.
  prepared_case ready[] = {s.prepare(*what.cases.front(), 0), s.prepare(*what.cases.front(), 1)};
  std::vector<std::vector<std::byte>> verified[2];
  for (const std::size_t first : {0, 1}) {
    s.load(ready[first]);
    failure = s.call(ready[first]);  // warms up, too
    s.check(ready[first], failure);
    if (!failure.ok()) return {};
    verified[first] = copies(ready[first].request.outputs);
  }
  volatile std::uint64_t sink = 0;
  const auto ceiling = [&] {
    const double start = raw_seconds();
    for (const auto& input : ready[0].request.inputs) sink = sink + read_all(input);
    return raw_seconds() - start;
  };
  std::mt19937 coin;  // in no order that a submission could count on
  std::size_t i = 0;
  const auto call = [&]() -> std::optional<double> {
    i = coin() >> 31;
    s.load(ready[i]);
    ceiling();  // the caches hold what was just written; reading everything once writes it back
    const double start = raw_seconds();
    failure = s.call(ready[i]);
    const double seconds = raw_seconds() - start;
    if (failure.ok() && !same(ready[i].request.outputs, verified[i])) s.check(ready[i], failure);
    return failure.ok() ? std::optional(seconds) : std::nullopt;
  };
  ceiling();
  paired_options options;
  options.pairs = pairs;
  options.hopeless_ratio = what.rungs.front().ratio / 2;
  const auto result = measure([&] { return run_pairs(call, ceiling, options); }, what.rungs);
  if (failure.ok()) s.check(ready[i], failure);
  return failure.ok() ? result : std::nullopt;
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
