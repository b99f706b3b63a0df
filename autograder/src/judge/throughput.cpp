// Throughput: how close a call comes to a ceiling measured alongside it. On the host the ceiling is reading the same
// memory, a triad, chains of multiply-adds or Eigen's product; on the device it is a copy of as many bytes or cuBLAS's
// product. A function is timed only if it is right in every case of every correctness item.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>

#include "judge/assess.hpp"
#include "judge/paired.hpp"
#include "sandbox/channel.hpp"
#include "sandbox/sandbox.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

void refuse(const trial& t, item_result& out) {
  out.verdict = t.verdict;
  out.message = t.message;
  out.points = 0;
}

/// A sample is disturbed if it lacks a core for more than this share of its time.
constexpr double most_waited = 0.02;

sample sample_of(double seconds, double waited) { return {seconds, waited > most_waited * seconds}; }

void read_inputs(const prepared_case& of) {
  volatile std::uint64_t sink = 0;
  for (const lab::buffer& input : of.before) sink = sink + lab::read_all(input.bytes());
}

/// The ceiling that the staff's runner measures for `name`, alongside a call of the case. The host's ceilings and
/// cuBLAS's product take the case's arguments; "read" takes its inputs, "copy" as many bytes as the case must move,
/// read once and written once; "cublas_aligned" rounds m, n and k up to multiples of 8, so that each row begins at a
/// multiple of 16 bytes.
lab::request asked(const std::string& name, const prepared_case& ready) {
  lab::request ask;
  ask.entry = name;
  ask.input_specs = ready.request.input_specs;
  ask.output_specs = ready.request.output_specs;
  ask.parameters = ready.request.parameters;
  ask.threads = ready.request.threads;
  if (name == "nothing") {
    ask.input_specs.clear();
    ask.output_specs = {{lab::dtype::i64, 1}};
  } else if (name == "read") {
    ask.output_specs = {{lab::dtype::i64, 1}};
    ask.parameters.clear();
    for (const lab::buffer_spec& spec : ask.input_specs)
      ask.parameters.push_back(static_cast<std::int64_t>(spec.bytes()));
  } else if (name == "copy") {
    ask.parameters = {static_cast<std::int64_t>(ready.what->work.bytes / 2)};
    ask.input_specs = ask.output_specs = {{lab::dtype::u8, ask.parameters[0]}};
  } else if (name == "cublas_aligned") {
    for (std::int64_t& side : ask.parameters) side = (side + 7) / 8 * 8;
    const std::int64_t m = ask.parameters.at(0), n = ask.parameters.at(1), k = ask.parameters.at(2);
    ask.input_specs = {{lab::dtype::bf16, m * k}, {lab::dtype::bf16, k * n}};
    ask.output_specs = {{lab::dtype::bf16, m * n}};
  }
  return ask;
}

/// Fills `to` with the bytes of `from`, repeated.
void fill(std::span<std::byte> to, std::span<const std::byte> from) {
  for (std::size_t at = 0; !from.empty() && at < to.size(); at += from.size())
    std::copy_n(from.begin(), std::min(from.size(), to.size() - at), to.begin() + static_cast<std::ptrdiff_t>(at));
}

/// A ceiling on the case's own inputs, in the staff's own runner: it suffers from everything that slows a call.
class ceiling_call {
 public:
  ceiling_call(std::string name, executor* staff) : name_(std::move(name)), staff_(staff) {}

  sample operator()(const prepared_case& ready) {
    lab::request ask = asked(name_, ready);
    const layout where = layout_of(ask);
    const auto give = [&](std::span<std::byte> memory) {
      place(ask, where, memory);
      for (std::size_t i = 0; i < ask.inputs.size(); ++i)
        fill(ask.inputs[i], ready.before[std::min(i, ready.before.size() - 1)].bytes());
    };
    if (!staff_) {
      const std::span memory = memory_.first(where.bytes);
      filled_ ? place(ask, where, memory) : give(memory);  // filling it again would warm the caches
      filled_ = true;
      return here(ask);
    }
    const answer got = staff_->run(ask, {give, {}}, [&] { read_inputs(ready); });
    if (got.end != answer::ending::answered || !got.response.error.empty())
      throw std::runtime_error("cannot measure the ceiling: " + got.what + got.response.error);
    return sample_of(got.seconds, got.waited);
  }

 private:
  /// A ceiling without a staff runner: measured in this process, like the submission.
  sample here(const lab::request& ask) const {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    for (const auto& input : ask.inputs) inputs.push_back(input.data());
    for (const auto& output : ask.outputs) outputs.push_back(output.data());
    const double start = lab::raw_seconds();
    lab::run_host_ceiling(name_, inputs, outputs, ask.parameters);
    return lab::raw_seconds() - start;
  }

  std::string name_;
  executor* staff_;
  private_memory memory_;
  bool filled_ = false;
};

/// Times the case against its ceiling. Every call gets new inputs, poisoned outputs and a full check, so that nothing
/// can be left over, remembered or skipped. On a GPU, the cost of the handshake is subtracted from both. No value if a
/// call fails; `failure` then says why.
std::optional<paired_result> by_the_judge(const item& what, subject& s, executor* staff, int pairs, trial& failure,
                                          lab::work& ceiling_work) {
  const lab::test_case& c = *what.cases.front();
  std::optional<prepared_case> ready;
  if (staff) staff->stand_beside(&s.runs());
  const std::shared_ptr<executor> until_the_end(staff, [](executor* e) {
    if (e) e->stand_beside(nullptr);
  });
  ceiling_call measured(what.ceiling->name, staff);
  double handshake = 0;
  const auto less_handshake = [&](sample taken) {
    taken.seconds = std::max(taken.seconds - handshake, 1e-7);
    return taken;
  };
  const auto call = [&]() -> std::optional<sample> {
    ready = s.prepare(c);
    // The caches hold dirty lines; reading everything once writes them back.
    failure = s.call(*ready, [&] { read_inputs(*ready); });
    s.check(*ready, failure);
    return failure.ok() ? std::optional(less_handshake(sample_of(failure.seconds, failure.waited))) : std::nullopt;
  };
  const auto ceiling = [&] { return less_handshake(measured(*ready)); };
  if (!call()) return {};  // also warms up
  ceiling();
  if (what.ceiling->moves == lab::ceiling::work::input_bytes) {
    ceiling_work.bytes = 0;
    for (const lab::buffer_spec& spec : ready->request.input_specs)
      ceiling_work.bytes += static_cast<double>(spec.bytes());
  }
  if (what.timed_on_gpu()) {
    ceiling_call nothing("nothing", staff);
    std::vector<double> seconds;
    seconds.reserve(static_cast<std::size_t>(pairs));
    for (int i = 0; i < pairs; ++i) seconds.push_back(nothing(*ready).seconds);
    handshake = lab::median(seconds);
  }
  paired_options options;
  options.pairs = options.most_disturbed = pairs;
  options.hopeless_ratio = 0.8 * what.rungs.front().ratio;
  options.certain_ratio = what.rungs.back().ratio;
  options.narrow = 0.02;
  if (what.timed_on_gpu()) options.least_pairs = 7;  // quieter than a host, and each call brings gigabytes to check
  return measure([&] { return run_pairs(call, ceiling, options); }, what.rungs);
}

/// The runner's own times by the device's events: quick, and only as honest as the submission.
std::optional<paired_result> by_its_events(const item& what, subject& s, int pairs, trial& failure) {
  const auto run = [&]() -> std::optional<paired_run> {
    failure = s.time(*what.cases.front(), pairs, what.ceiling->name);
    if (!failure.ok()) return {};
    const auto &calls = failure.response.call_seconds, &ceilings = failure.response.ceiling_seconds;
    paired_run result;
    for (std::size_t i = 0; i < std::min(calls.size(), ceilings.size()); ++i) {
      result.pairs.push_back({calls[i], ceilings[i]});
      if (i > 0) result.self_ratios.push_back(ceilings[i - 1] / ceilings[i]);
    }
    if (!result.pairs.empty()) return result;
    failure.verdict = verdict::wrong;
    failure.message = what.cases.front()->id + ": could not time the call";
    return {};
  };
  return measure(run, what.rungs);
}

}  // namespace

bool is_not_timed(const std::string& entry, const grading_session& session, item_result& out) {
  const auto found = session.wrong.find(entry);
  if (found == session.wrong.end()) return false;
  out.verdict = found->second.first;
  out.points = 0;
  out.most_points.reset();
  out.message =
      fmt::format("not timed: {} must first be right in every case; it fails in {}", entry, found->second.second);
  return true;
}

void assess_throughput(const item& what, grading_session& session, item_result& out) {
  const lab::test_case& c = *what.cases.front();
  const bool host = !what.timed_on_gpu();
  out.backends = {host ? backend::host : backend::cuda};
  out.what = what.ceiling->figure;
  out.threshold = what.rungs.back().ratio;
  out.work = c.work;
  out.ceiling_work =
      what.ceiling->moves == lab::ceiling::work::flops ? lab::work{c.work.flops, 0} : lab::work{0, c.work.bytes};
  subject* s = host             ? (session.subjects.empty() ? nullptr : session.subjects.front().get())
               : session.on_gpu ? session.on_gpu.get()
                                : session.subject_on(backend::cuda);
  if (!s) {
    out.message = session.without_cuda;
    return;
  }
  if (host && !can_limit_system_calls()) {
    out.message = "this system cannot limit system calls, so it is probably an emulator, and its times are meaningless";
    return;
  }
  for (const item& i : session.rules->items)
    if (i.kind == item_kind::correctness &&
        std::any_of(i.cases.begin(), i.cases.end(), [&](const auto* one) { return one->entry == c.entry; }))
      assess(i, session);
  if (is_not_timed(c.entry, session, out)) return;
  trial failure;
  const auto measured =
      host             ? by_the_judge(what, *s, session.staff.get(), session.pairs, failure, out.ceiling_work)
      : session.on_gpu ? by_the_judge(what, *s, session.staff_on_gpu.get(), session.pairs, failure, out.ceiling_work)
                       : by_its_events(what, *s, session.pairs, failure);
  if (!measured) return refuse(failure, out);
  out.samples = measured->pairs;
  out.figure = measured->ratio;
  out.ci95 = measured->ci95;
  out.noise = measured->noise;
  const auto points_of = [&](double share) { return std::round(100 * what.points * share) / 100; };
  out.points = points_of(measured->share.low);
  if (measured->ratio > what.most) {
    out.verdict = verdict::inconclusive;
    out.points = 0;
    out.most_points = what.points;
    out.message = fmt::format(
        "{} {}: this machine cannot be that fast (the ceiling is {}), so the measurement is invalid. Does every call "
        "do all of the work?",
        figure_text(measured->ratio), out.what, out.ceiling_text());
    return;
  }
  if (!measured->decided()) {
    out.verdict = verdict::inconclusive;
    out.most_points = points_of(measured->share.high);
    out.message = fmt::format(
        "between {} and {} of {} points: {} {}, 95 % interval {:.3f} to {:.3f}; the ceiling measured against itself "
        "varies by {:.0f} %{}. Run again on an otherwise idle machine",
        points_text(out.points), points_text(*out.most_points), points_text(what.points), figure_text(measured->ratio),
        out.what, measured->ci95.low, measured->ci95.high, 100 * measured->noise,
        measured->noise > hopeless_noise ? ", too much for the interval to mean anything" : "");
    return;
  }
  const std::string ceiling = out.ceiling_text();
  const std::optional<rung> next =
      next_step(measured->noise > most_noise ? measured->ci95.low : measured->ratio, what.rungs);
  out.verdict = next ? verdict::too_slow : verdict::pass;
  if (!next) return;
  out.message = fmt::format("{} {} (95 % interval {:.3f} to {:.3f}{}); the next step, {}, earns {} of {} points",
                            figure_text(measured->ratio), out.what, measured->ci95.low, measured->ci95.high,
                            ceiling.empty() ? ceiling : "; the ceiling here is " + ceiling, figure_text(next->ratio),
                            points_text(what.points * next->share), points_text(what.points));
}

}  // namespace grading
