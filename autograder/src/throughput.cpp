// Throughput: how close a call comes to a ceiling measured beside it. The host's ceiling is reading the same memory, a
// triad, chains of multiply-adds or Eigen's product, the device's a copy of as many bytes or cuBLAS's product;
// correctness of the same case decides whether it counts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "assess.hpp"
#include "lab/ceilings.hpp"
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

void read_inputs(const lab::request& of) {
  volatile std::uint64_t sink = 0;
  for (const auto& input : of.inputs) sink = sink + lab::read_all(input);
}

/// A host ceiling on the case's own inputs, in the staff's own runner: whatever a call has to suffer, its ceiling has
/// too. "read" reads the inputs; the others take the same arguments as the case and give the same outputs.
class host_ceiling {
 public:
  host_ceiling(std::string name, executor* staff) : name_(std::move(name)), staff_(staff) {}

  sample operator()(const prepared_case& ready) {
    lab::request ask;
    ask.entry = name_;
    ask.input_specs = ready.request.input_specs;
    if (name_ == "read") {
      ask.output_specs = {{lab::dtype::i64, 1}};
      for (const lab::buffer_spec& spec : ask.input_specs)
        ask.parameters.push_back(static_cast<std::int64_t>(spec.bytes()));
    } else {
      ask.output_specs = ready.request.output_specs;
      ask.parameters = ready.request.parameters;
    }
    const layout where = layout_of(ask);
    if (!staff_) {
      own_memory_.resize(where.bytes + alignment);
      const auto start = reinterpret_cast<std::uintptr_t>(own_memory_.data());
      place(ask, where, std::span(own_memory_).subspan((alignment - start % alignment) % alignment, where.bytes));
    } else {
      place(ask, where, staff_->memory(where.bytes));
    }
    if (!loaded_)
      for (std::size_t i = 0; i < ask.inputs.size(); ++i)
        std::copy(ready.request.inputs[i].begin(), ready.request.inputs[i].end(), ask.inputs[i].begin());
    loaded_ = true;
    if (!staff_) return here(ask);
    const answer got = staff_->run(ask, [&] { read_inputs(ready.request); });
    if (got.end != answer::ending::answered || !got.response.error.empty())
      throw std::runtime_error("the ceiling cannot be measured: " + got.what + got.response.error);
    return sample_of(got.seconds, got.waited);
  }

 private:
  static constexpr std::size_t alignment = 256;

  /// Without a staff runner: in this process, as the submission is too.
  sample here(const lab::request& ask) const {
    const auto floats = [](std::span<std::byte> bytes) { return reinterpret_cast<float*>(bytes.data()); };
    const double start = lab::raw_seconds();
    if (name_ == "triad") {
      lab::triad(floats(ask.outputs.at(0)), floats(ask.inputs.at(0)), floats(ask.inputs.at(1)),
                 *floats(ask.inputs.at(2)), ask.inputs[0].size() / sizeof(float));
    } else if (name_ == "fma") {
      lab::fma_chains(floats(ask.outputs.at(0)), floats(ask.inputs.at(0)), *floats(ask.inputs.at(1)),
                      ask.inputs[0].size() / sizeof(float), ask.parameters.at(1));
    } else if (name_ == "eigen") {
      lab::eigen_product(floats(ask.outputs.at(0)), floats(ask.inputs.at(0)), floats(ask.inputs.at(1)),
                         ask.parameters.at(0), ask.parameters.at(1), ask.parameters.at(2));
    } else {
      read_inputs(ask);
    }
    return lab::raw_seconds() - start;
  }

  std::string name_;
  executor* staff_;
  std::vector<std::byte> own_memory_;
  bool loaded_ = false;
};

/// Times the case against its ceiling: new inputs, poisoned outputs and a full check for every call, so that
/// nothing can be left over, remembered or skipped. No value where a call fails; `failure` then says why.
std::optional<paired_result> against_host_ceiling(const item& what, subject& s, bench& on, trial& failure) {
  const lab::test_case& c = *what.cases.front();
  std::uint64_t variation = 0;
  std::optional<prepared_case> ready;
  host_ceiling measured(what.ceiling, on.staff.get());
  const auto call = [&]() -> std::optional<sample> {
    ready = s.prepare(c, variation++);
    // The caches hold what was just written; reading everything once writes it back.
    failure = s.call(*ready, [&] { read_inputs(ready->request); });
    s.check(*ready, failure);
    return failure.ok() ? std::optional(sample_of(failure.seconds, failure.waited)) : std::nullopt;
  };
  const auto ceiling = [&] { return measured(*ready); };
  if (!call()) return {};  // warms up, too
  ceiling();
  paired_options options;
  options.pairs = options.most_disturbed = on.pairs;
  options.hopeless_ratio = what.rungs.front().ratio / 2;
  options.certain_ratio = what.rungs.back().ratio;
  return measure([&] { return run_pairs(call, ceiling, options); }, what.rungs);
}

std::optional<paired_result> against_device_ceiling(const item& what, subject& s, int pairs, trial& failure) {
  const auto run = [&]() -> std::optional<paired_run> {
    failure = s.time(*what.cases.front(), pairs, what.ceiling);
    if (!failure.ok()) return {};
    const auto &calls = failure.response.call_seconds, &ceilings = failure.response.ceiling_seconds;
    paired_run result;
    for (std::size_t i = 0; i < std::min(calls.size(), ceilings.size()); ++i) {
      result.pairs.push_back({calls[i], ceilings[i]});
      if (i > 0) result.self_ratios.push_back(ceilings[i - 1] / ceilings[i]);
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
  const bool host = c.where == lab::part::host;
  out.backend = host ? "host" : "cuda";
  static const std::map<std::string, std::string> computing{{"fma", "of the multiply-add peak"},
                                                            {"eigen", "of Eigen's speed"},
                                                            {"cublas", "of cuBLAS's speed"},
                                                            {"cublas_aligned", "of cuBLAS's speed at aligned sizes"}};
  const bool computes = computing.contains(what.ceiling);
  out.what = computes ? computing.at(what.ceiling) : fmt::format("of {} bandwidth", what.ceiling);
  out.threshold = what.rungs.back().ratio;
  out.work = c.work;
  subject* s = host ? (on.subjects.empty() ? nullptr : on.subjects.front().get()) : on.on("cuda");
  if (!s) {
    out.message = host ? on.without_sim : on.without_cuda;
    return;
  }
  trial failure;
  const auto measured =
      host ? against_host_ceiling(what, *s, on, failure) : against_device_ceiling(what, *s, on.pairs, failure);
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
      "{} {} (95 % interval {:.3f} to {:.3f}; the ceiling here is {:.1f} {}); the next rung, {}, "
      "earns {} of {} points",
      figure_text(measured->ratio), out.what, measured->ci95.low, measured->ci95.high,
      (computes ? c.work.flops : c.work.bytes) / lab::median(ceiling_seconds) * 1e-9, computes ? "GFLOP/s" : "GB/s",
      figure_text(next->ratio), points_text(what.points * next->share), points_text(what.points));
}

}  // namespace grading
