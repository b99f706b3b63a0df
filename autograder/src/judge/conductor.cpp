#include "judge/conductor.hpp"

#include <fmt/format.h>

#include <utility>

#include "build/box_builder.hpp"
#include "course/hints.hpp"
#include "judge/findings.hpp"
#include "sandbox/sandbox.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"
#include "support/text.hpp"

namespace grading {

conductor::conductor(const lab_folder& lab, const std::string& id, const std::filesystem::path& from,
                     std::filesystem::path build, std::vector<lab::test_case> cases, const common_options& options)
    : lab_(lab),
      submission_(id),
      build_(std::move(build)),
      cases_(std::move(cases)),
      options_(options),
      rules_(read_rubric(lab, cases_)) {
  for (const std::string& asked : options_.items)
    if (!rules_.has(asked))
      throw input_error("lab " + lab.number + " has no item '" + asked + "'; its ids are in rubric.toml");
  out.lab = lab.name;
  out.lab_title = rules_.title;
  out.lab_version = rules_.version;
  out.course_version = course_version();
  out.submission = id;
  out.path = from.string();
  out.machine = this_machine();
  out.date = now_rfc3339();
  session.rules = &rules_;
  session.device = read_modelled_device(lab.path.parent_path().parent_path());
  session.locked = options_.locked;
}

void conductor::progress(const std::string& what) const {
  options_.progress(fmt::format("{} {}: {}", lab_.number, submission_, what));
}

std::vector<const item*> conductor::chosen() const {
  std::vector<const item*> result;
  for (const item& i : rules_.items)
    if (options_.items.empty() || options_.items.contains(i.id)) result.push_back(&i);
  return result;
}

item_result& conductor::assess_next(const item& what) {
  progress(fmt::format("{} ({} of {})", what.id, out.items.size() + 1, chosen().size()));
  // A GPU's counters see everything that runs on the GPU.
  const bool alone = failure.empty() && (what.kind == item_kind::throughput ||
                                         (session.subject_on(backend::cuda) && what.kind != item_kind::correctness));
  const machine_lock mine(build_, alone ? machine_lock::alone : machine_lock::shared);
  return out.items.emplace_back(failure.empty() ? assess(what, session) : not_built(what, failure));
}

void conductor::add_advice(result& r) const {
  for (item_result& i : r.items) i.message = replaced(i.message, handed_in_at, "");
  add_hints(r.items, read_hints(lab_.path));
  hold_causes(r.items, rules_, programs_with_cause(rules_, session));
}

result conductor::finish() {
  progress_ends();
  if (!session.without_cuda.empty()) out.notes.push_back(session.without_cuda);
  if (!can_limit_system_calls())
    out.notes.emplace_back(
        "this system cannot limit system calls, so it is probably an emulator; submissions may start threads");
  add_advice(out);
  for (const auto& s : session.subjects) out.printed += s->output();
  if (session.on_gpu) out.printed += session.on_gpu->output();
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  return std::exchange(out, {});
}

}  // namespace grading
