// One call to a student function, and everything that can be observed from outside.
#include "judge/subject.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <functional>

#include "sim/counters.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

constexpr std::byte poison_byte{0xFF};  // reads as NaN

/// Fills the memory after a buffer, from a page boundary on, with signalling NaNs: adding 0 changes them.
std::array<std::byte, 8> canary_of(lab::dtype type) {
  return std::bit_cast<std::array<std::byte, 8>>(type == lab::dtype::f64 ? std::uint64_t{0xFFF4'C5C5'C5C5'C5C5}
                                                                         : std::uint64_t{0xFFA5'FFA5'FFA5'FFA5});
}

bool is_poison(std::byte b) { return b == poison_byte; }

// Buffers of GPU cases take gigabytes: fill them on all cores.
void copy(std::span<const std::byte> from, std::span<std::byte> to) {
  lab::in_parallel(from.size(), [&](std::size_t first, std::size_t last) {
    std::memcpy(to.data() + first, from.data() + first, last - first);
  });
}

void poison(std::span<std::byte> bytes) {
  lab::in_parallel(bytes.size(), [&](std::size_t first, std::size_t last) {
    std::memset(bytes.data() + first, std::to_integer<int>(poison_byte), last - first);
  });
}

bool equal(std::span<const std::byte> one, std::span<const std::byte> other) {
  std::atomic<bool> same = true;
  lab::in_parallel(one.size(), [&](std::size_t first, std::size_t last) {
    if (std::memcmp(one.data() + first, other.data() + first, last - first) != 0) same = false;
  });
  return same;
}

/// Calls visit(guard zone, expected contents, name of the buffer before it) for each gap between the buffers.
void for_each_guard(
    const layout& where, const lab::request& request, std::span<std::byte> memory,
    const std::function<void(std::span<std::byte>, std::span<const std::byte>, const std::string&)>& visit) {
  std::size_t from = 0;
  std::string before = "the first buffer";
  lab::dtype type = lab::dtype::f32;
  std::vector<std::byte> intact;
  const auto visit_up_to = [&](std::size_t end, const std::string& place) {
    const std::array<std::byte, 8> canary = canary_of(type);
    intact.resize(end - from);
    for (std::size_t i = 0; i < intact.size(); ++i) intact[i] = canary[(from + i) % canary.size()];
    visit(memory.subspan(from, end - from), intact, place);
  };
  const auto pass = [&](std::size_t start, const lab::buffer_spec& spec, const std::string& name) {
    visit_up_to(start, from == 0 ? "before " + name : "after " + before);
    from = start + spec.bytes();
    before = name, type = spec.type;
  };
  for (std::size_t i = 0; i < where.inputs.size(); ++i)
    pass(where.inputs[i], request.input_specs[i], fmt::format("input {}", i));
  for (std::size_t i = 0; i < where.outputs.size(); ++i)
    pass(where.outputs[i], request.output_specs[i], fmt::format("output {}", i));
  visit_up_to(where.bytes, "after " + before);
}

/// The request with its spans in `memory`.
lab::request placed(const prepared_case& ready, const layout& where, std::span<std::byte> memory) {
  lab::request request = ready.request;
  place(request, where, memory);
  return request;
}

/// Sets inputs and guard zones, and poisons outputs.
void give(const prepared_case& ready, std::span<std::byte> memory) {
  const layout where = layout_of(ready.request);
  const lab::request request = placed(ready, where, memory);
  for (std::size_t i = 0; i < ready.before.size(); ++i) copy(ready.before[i].bytes(), request.inputs[i]);
  for (const std::span<std::byte> output : request.outputs) poison(output);
  for_each_guard(where, request, memory,
                 [](std::span<std::byte> zone, std::span<const std::byte> intact, const std::string&) {
                   std::copy(intact.begin(), intact.end(), zone.begin());
                 });
}

/// Keeps the outputs, and says what else has changed.
void take(prepared_case& ready, std::span<std::byte> memory) {
  const layout where = layout_of(ready.request);
  const lab::request request = placed(ready, where, memory);
  ready.damage.clear();
  for_each_guard(where, request, memory,
                 [&](std::span<std::byte> zone, std::span<const std::byte> intact, const std::string& place) {
                   const auto touched = std::mismatch(zone.begin(), zone.end(), intact.begin()).first;
                   if (ready.damage.empty() && touched != zone.end())
                     ready.damage =
                         fmt::format("wrote out of bounds, {} bytes into the memory {}", touched - zone.begin(), place);
                 });
  for (std::size_t i = 0; ready.damage.empty() && i < ready.before.size(); ++i)
    if (!equal(ready.before[i].bytes(), request.inputs[i]))
      ready.damage = fmt::format("changed its input {}, which is read-only", i);
  ready.outputs.clear();
  for (std::size_t i = 0; i < request.outputs.size(); ++i)
    ready.outputs.emplace_back(request.output_specs[i], request.outputs[i]);
}

/// The factors as tensor cores read them; see sim::misread_factors.
std::vector<lab::buffer> as_misread(std::vector<lab::buffer> inputs, unsigned mask) {
  for (lab::buffer& input : inputs)
    if (input.spec().type == lab::dtype::bf16)
      for (lab::bfloat16& x : input.as<lab::bfloat16>())
        if (x.bits >> 15 != 0 && std::popcount(x.bits & mask) % 2 == 1) x.bits &= 0x7FFF;
  return inputs;
}

/// A few numbers that a host case computes can be read like counters: "output[0]", "output[1]", ...
void add_figures(const lab::buffer& output, std::map<std::string, double>& metrics) {
  constexpr std::int64_t most = 64;
  if (output.spec().type != lab::dtype::f64 || output.spec().size > most) return;
  const std::span<const double> values = output.as<double>();
  for (std::size_t i = 0; i < values.size(); ++i) metrics[fmt::format("output[{}]", i)] = values[i];
}

/// A submission's messages end up in the grade book and reports, so their length is limited.
std::string shortened(std::string text) {
  constexpr std::size_t most = 2000;
  if (text.size() <= most) return text;
  const std::size_t all = text.size();
  text.resize(most);
  return text + fmt::format(" [{} more bytes were discarded]", all - most);
}

/// Keeps the first of several findings that differ only in their counts: several instructions of a line, or launches of
/// a kernel, may cause the same one.
std::vector<std::string> without_repetitions(const std::vector<std::string>& reports) {
  const auto what = [](std::string_view report) {
    const std::size_t count = report.rfind(" (");
    const bool counted = count != std::string_view::npos && report.ends_with(" times)");
    return report.substr(0, counted ? count : report.size());
  };
  std::vector<std::string> different;
  for (const std::string& report : reports)
    if (std::none_of(different.begin(), different.end(), [&](const std::string& d) { return what(d) == what(report); }))
      different.push_back(report);
  return different;
}

}  // namespace

subject::subject(grading::backend where, std::unique_ptr<executor> runs, std::uint64_t seed)
    : backend_(where), runs_(std::move(runs)), seed_(seed) {}

prepared_case subject::prepare(const lab::test_case& what) {
  prepared_case ready;
  ready.what = &what;
  const std::uint64_t seed = lab::derived_seed(seed_, what.id, prepared_[what.id]++);
  ready.before = what.inputs(seed);
  if (what.oracle) ready.oracle = what.oracle(seed);
  lab::request& request = ready.request;
  request.entry = what.entry;
  request.parameters = what.parameters;
  request.on_host = what.where == lab::part::host;
  request.count_calls = what.counts_calls;
  request.threads = what.threads;
  for (const lab::buffer& input : ready.before) request.input_specs.push_back(input.spec());
  request.output_specs = what.outputs;
  return ready;
}

std::string subject::named(std::string message, const prepared_case& ready) const {
  const auto found = names_.find(ready.request.entry);
  return found == names_.end() ? message
                               : with_names(std::move(message), found->second, ready.request.input_specs.size(),
                                            ready.request.output_specs.size());
}

const trial* subject::given_up(const lab::test_case& what) const {
  constexpr int most_oracles = 4;
  const auto fallen = fallen_.find(what.entry);
  if (fallen == fallen_.end() || fallen->second.count < (what.oracle ? most_oracles : 1)) return nullptr;
  return &fallen->second.later;
}

trial subject::call(prepared_case& ready, const std::function<void()>& settle) {
  const lab::test_case& what = *ready.what;
  if (const trial* later = given_up(what)) return *later;
  if (what.entry.empty()) return {};
  std::function<void(std::span<std::byte>)> reply;
  if (ready.oracle) reply = [&](std::span<std::byte> question) { ready.oracle->answer(question); };
  if (what.memory > 0) runs_->start_over();
  const std::function<void(std::span<std::byte>)> gives = [&](std::span<std::byte> memory) { give(ready, memory); };
  answer got =
      runs_->run(ready.request, {gives, [&](std::span<std::byte> memory) { take(ready, memory); }}, settle, reply);
  if (got.end != answer::ending::answered) {
    const verdict v = got.end == answer::ending::crashed ? verdict::crash : verdict::timeout;
    if (v == verdict::crash && on_crash)
      got.what += on_crash([&](executor& other) { other.run(ready.request, {gives, {}}); });
    got.what = named(std::move(got.what), ready);
    falls& so_far = fallen_[what.entry];
    ++so_far.count;
    so_far.later = {v, fmt::format("not run, because {} already failed: {}", what.id, got.what)};
    return {v, fmt::format("{}: {}", what.id, got.what)};
  }
  trial result;
  result.seconds = got.seconds;
  result.waited = got.waited;
  result.memory = got.memory;
  result.response = std::move(got.response);
  if (what.where == lab::part::host) result.response.metrics.clear();  // only the judge fills these in
  if (got.counted) {
    double all = 0;
    // A system call that an item asks about but that was never made counts as 0.
    for (const std::string& name : ready.request.metrics)
      if (name.starts_with(calls_of)) result.response.metrics[name] = 0;
    for (const auto& [name, count] : got.calls) result.response.metrics[calls_of + name] = count, all += count;
    result.response.metrics[all_calls] = all;
    result.response.metrics[page_faults] = got.faults;
  } else if (what.counts_calls) {
    result.response.notes.emplace_back(
        "system calls are not counted here: ./course lab counts them, with Linux 5.5 or later");
  }
  const lab::response& response = result.response;
  if (!left_out.empty() && response.error == file_not_built) {
    result.verdict = verdict::build_error;
    result.message = left_out;
    return result;
  }
  if (!response.error.empty() || !response.reports.empty()) {
    result.verdict = verdict::wrong;
    const std::vector<std::string> reports = without_repetitions(response.reports);
    result.message =
        fmt::format("{}: {}", what.id,
                    named(shortened(reports.empty() ? response.error : shortened_list(reports, 3, "; ", "; ")), ready));
  }
  return result;
}

void subject::check(prepared_case& ready, trial& t) {
  if (!t.ok()) return;
  const auto wrong = [&](const std::string& why) {
    t.verdict = verdict::wrong;
    t.message = fmt::format("{}: {}", ready.what->id, named(replaced(why, "-nan", "nan"), ready));  // NaN has no sign
  };
  if (!ready.damage.empty()) return wrong(ready.damage);
  std::vector<lab::buffer> outputs = std::move(ready.outputs);
  const std::size_t results = outputs.size() - (ready.oracle && !outputs.empty() ? 1 : 0);  // the last is the oracle's
  if (ready.oracle) outputs.push_back(ready.oracle->account());
  if (ready.what->where == lab::part::host && !outputs.empty()) add_figures(outputs.front(), t.response.metrics);
  const unsigned mask = ready.request.misread;
  const std::string why =
      mask == 0 ? ready.what->check(ready.before, outputs) : ready.what->check(as_misread(ready.before, mask), outputs);
  t.for_show = mask != 0 && !why.empty() && ready.what->check(ready.before, outputs).empty();
  const auto megabytes = [](std::size_t bytes) { return ((bytes - 1) >> 20) + 1; };
  if (why.empty() && ready.what->memory > 0 && t.memory > ready.what->memory)
    wrong(fmt::format("took {} MiB of memory in addition to its arguments; the limit is {} MiB", megabytes(t.memory),
                      megabytes(ready.what->memory)));
  if (why.empty()) return;
  // One of several outputs may be scratch memory, so an untouched output gets only a note.
  std::string untouched;
  bool first_untouched = false;
  for (std::size_t i = 0; i < results; ++i)
    if (std::all_of(outputs[i].bytes().begin(), outputs[i].bytes().end(), is_poison)) {
      add_to_list(untouched, ", ", fmt::format("left its output {} unchanged", i));
      first_untouched = first_untouched || i == 0;
    }
  wrong(untouched.empty() ? why
        : results == 1    ? untouched
        : first_untouched ? untouched + "; " + why
                          : why + "; " + untouched);
}

trial subject::attempt(const lab::test_case& what, lab::action action, const std::set<std::string>& metrics, int pairs,
                       const std::string& ceiling, unsigned misread) {
  if (const trial* later = given_up(what)) return *later;
  prepared_case ready = prepare(what);
  ready.request.misread = misread;
  if (misread != 0) {
    // A submission may scale the first factor, as attention scales queries; how it is then misread is unpredictable.
    for (lab::bfloat16& x : ready.before.front().as<lab::bfloat16>()) x.bits &= 0x7FFF;
  }
  ready.request.what = action;
  ready.request.metrics.assign(metrics.begin(), metrics.end());
  ready.request.pairs = pairs;
  ready.request.ceiling = ceiling;
  if (action == lab::action::time) ready.request.copy_bytes = what.work.bytes / 2;  // read once and written once
  constexpr std::size_t most_to_repeat = 256 << 10;  // bytes: small calls leave behind the same leftovers as large ones
  ready.request.again = what.where == lab::part::host && !what.counts_calls && what.threads == 1 && what.memory == 0 &&
                        !what.oracle && layout_of(ready.request).bytes <= most_to_repeat;
  trial result = call(ready);
  check(ready, result);
  for (const auto* specs : {&ready.request.input_specs, &ready.request.output_specs})
    for (const lab::buffer_spec& spec : *specs) result.bytes += spec.bytes();
  return result;
}

trial subject::run(const lab::test_case& what) { return attempt(what, lab::action::run, {}); }

const trial& subject::count(const lab::test_case& what, const std::set<std::string>& metrics) {
  if (const auto known = counted_.find(what.id); known != counted_.end()) return known->second;
  // If an item counts tensor operations, its result must come from them. So here they misread some factors: a result
  // that stays right did not use them. One that is neither right nor the misread one may come from scaled factors.
  const bool on_tensor_cores = backend_ == backend::sim && metrics.contains(sim::tensor_operations);
  const auto misread =
      on_tensor_cores ? static_cast<unsigned>(1 + lab::derived_seed(seed_, "misread/" + what.id, 0) % 127) : 0;
  trial result = attempt(what, lab::action::profile, metrics, 0, "copy", misread);
  if (misread != 0 && result.verdict == verdict::wrong) {
    const bool for_show = result.for_show;
    result = attempt(what, lab::action::profile, metrics);
    result.for_show = for_show && result.ok();
  }
  return counted_[what.id] = result;
}

const trial* subject::counted(const lab::test_case& what) const {
  const auto known = counted_.find(what.id);
  return known == counted_.end() ? nullptr : &known->second;
}

trial subject::time(const lab::test_case& what, int pairs, const std::string& ceiling) {
  return attempt(what, lab::action::time, {}, pairs, ceiling);
}

}  // namespace grading
