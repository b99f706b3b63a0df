#include "judge/official.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "build/box_builder.hpp"
#include "judge/assess.hpp"
#include "judge/conductor.hpp"
#include "judge/findings.hpp"
#include "sandbox/process_executor.hpp"
#include "sandbox/sandbox.hpp"
#include "support/files.hpp"
#include "support/lock.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

/// Predictions handed in with code that does not build still count as the first set.
void keep_predictions(const item& what, const grading_session& session, item_result& out) {
  try {
    out.predictions = not_compared(what, read_predictions(session.predictions, *session.rules));
  } catch (const input_error&) {  // not TOML: nothing was predicted
  }
}

/// "" if there are no findings, or no name in them.
std::string whose_findings(const grading_session& session) try {
  const auto findings = session.handed_in.find("findings.toml");
  return findings == session.handed_in.end() ? std::string{} : student_of_findings(findings->second);
} catch (const input_error&) {
  return {};
}

/// Flags oddities that a person should check.
std::vector<std::string> flags_of(const result& r, const rubric& rules) {
  std::vector<std::string> flags;
  constexpr double above_ceiling = 1.15;                // reading a file varies by 6 % against itself
  const auto is_a_limit = [&](const item_result& of) {  // excludes ceilings that a right call can beat
    return std::any_of(rules.items.begin(), rules.items.end(), [&](const item& i) {
      return i.id == of.id && i.ceiling->is_limit && i.rungs.back().ratio <= 1;
    });
  };
  for (const item_result& item : r.items)
    if (item.kind == item_kind::throughput && item.figure && *item.figure > above_ceiling && is_a_limit(item))
      flags.push_back(
          fmt::format("{}: {:.2f} {}, faster than this machine should allow", item.id, *item.figure, item.what));
  return flags;
}

}  // namespace

result grade_officially(const lab_folder& lab, const std::string& id, const fs::path& from,
                        const official_options& options) {
  const bool boxed = sandbox_obstacle().empty() && !options.no_sandbox;
  if (!boxed && !options.unsafe)
    throw input_error("official grading needs a sandbox: " + sandbox_obstacle() +
                      "; or pass --unsafe for code that you trust (the result records it)");
  const wall behind = boxed ? wall::box : geteuid() == 0 ? wall::user : wall::none;
  const std::uint64_t seed = options.seed ? options.seed : lab::secret_seed();
  conductor c(lab, id, from, options.build, all_cases_of(lab.name, seed), options);
  const rubric& rules = c.rules();
  grading_session& session = c.session;
  c.out.seed = seed;
  c.out.official = true;
  c.out.sandboxed = boxed;

  c.progress("reading the submission");
  const taken in = take_in(from, rules.handin);
  c.out.digest = in.sha256;
  const temporary_folder place("judge");
  const fs::path common = options.build / "official";
  fs::create_directories(common);
  time_budget budget{options.budget};
  const process_executor* on_gpu = nullptr;
  session.pairs = options.pairs;
  session.predictions = place.path() / "predictions.toml";
  session.originals = lab.crashed();
  session.crashed_programs = options.build / "bin" / "crashed";
  if (!options.device)
    session.without_cuda = "this machine has no GPU, or this build has no CUDA: GPU throughput is not graded";
  if (!in.refused.empty()) {
    c.failure = "refused: " + in.refused.front();
    c.out.outcome = outcome::refused;
  } else {
    c.progress("building");
    const machine_lock mine(options.build, machine_lock::shared);
    std::map<std::string, hand_in> sources;
    for (const std::string& name : rules.handin) {
      const auto handed = in.files.find(name);
      const std::string text = handed != in.files.end() ? handed->second : text_of(lab.handin() / name);
      session.handed_in[name] = text;
      if (name.ends_with(".toml"))
        replace_file(place.path() / name, text);
      else
        sources[name] = {text, {}};
    }
    for (const std::string& name : in.missing)
      c.out.notes.push_back(name + " was not handed in; the skeleton was graded instead");
    const auto built = [&](backend where, limits allowed) -> std::unique_ptr<subject> {
      box_builder make(options.build / "recipes" / fmt::format("{}.{}.json", lab.name, name_of(where)),
                       common / "objects", behind, options.check_objects, {options.build_limit, options.memory});
      const fs::path runner = place.path() / ("runner." + name_of(where));
      const build_outcome made = make.build(sources, runner);
      if (!made.ok) {
        c.failure = made.message;
        return {};
      }
      if (allowed.device) {
        limits staff{options.call_limit, std::size_t{6} << 30, true};
        staff.device = allowed.device;
        session.staff_on_gpu = std::make_unique<process_executor>(options.build / "bin" / "staff_runner.cuda", staff,
                                                                  behind, make.runtime());
      }
      session.asserting.insert(made.asserting.begin(), made.asserting.end());
      auto runs = std::make_unique<process_executor>(runner, allowed, behind, make.runtime());
      if (allowed.device) on_gpu = runs.get();
      auto result = std::make_unique<subject>(where, std::move(runs), seed);
      result->left_out = made.message;
      return result;
    };
    limits allowed{options.call_limit, options.memory};
    allowed.budget = &budget;
    if (auto sim = built(backend::sim, allowed)) {
      sim->use_names(rules.names);
      session.subjects.push_back(std::move(sim));
    }
    allowed.device = options.device;
    const std::vector<const item*> asked = c.chosen();
    const bool gpu_items = std::any_of(asked.begin(), asked.end(), [](const item* i) { return i->timed_on_gpu(); });
    if (c.failure.empty() && options.device && gpu_items) session.on_gpu = built(backend::cuda, allowed);
    c.out.outcome = c.failure.empty() ? outcome::graded : outcome::build_failed;
  }
  session.staff = std::make_unique<process_executor>(options.build / "bin" / "staff_runner",
                                                     limits{options.call_limit, std::size_t{6} << 30, true}, behind);
  for (const item* i : c.chosen()) {
    // Items that this machine cannot run are not assessed, whatever was handed in.
    const bool beyond_this_machine = i->timed_on_gpu() && !options.device;
    item_result& got = beyond_this_machine ? c.out.items.emplace_back(assess(*i, session)) : c.assess_next(*i);
    if (!c.failure.empty() && in.refused.empty()) keep_predictions(*i, session, got);
    // Noise is the machine's fault, so grade again; an impossible ratio needs a person.
    if (got.verdict == verdict::inconclusive && *got.figure <= i->most) c.out.outcome = outcome::infra_error;
    if (options.until_lost && got.points < i->points) break;
  }
  result out = c.finish();
  if (on_gpu)
    out.notes.push_back(
        fmt::format("on the GPU its runner had up to {} threads, including CUDA's own", on_gpu->most_threads()));
  if (!boxed)
    out.notes.emplace_back(behind == wall::user ? "graded without a sandbox, as another user"
                                                : "graded without a sandbox");
  out.flags = flags_of(out, rules);
  if (const std::string whose = whose_findings(session); !whose.empty() && whose != id)
    out.flags.push_back(fmt::format("findings.toml is about the programs of '{}', not of '{}'", whose, id));
  for (const std::string& name : in.missing) out.flags.push_back(name + " was not handed in");
  return out;
}

}  // namespace grading
