// The judge of one submission, from what was handed in to a result.
#include "official.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "assess.hpp"
#include "box_builder.hpp"
#include "grade.hpp"
#include "hints.hpp"
#include "process_executor.hpp"
#include "sandbox.hpp"
#include "toml_file.hpp"
#include "turn.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

/// The taken files in a folder of their own, gone with the judge.
struct staged {
  staged() {
    std::string name = (fs::temp_directory_path() / "judge-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("cannot make a folder in " + fs::temp_directory_path().string());
    path = name;
    fs::permissions(path, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
  }
  ~staged() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  staged(const staged&) = delete;
  staged& operator=(const staged&) = delete;
  fs::path path;
};

/// Predictions handed in with code that does not build still count as the first set.
void keep_predictions(const item& what, const bench& on, item_result& out) {
  try {
    out.predictions = not_compared(what, read_predictions(on.predictions, *on.rules));
  } catch (const input_error&) {  // not TOML: nothing was predicted
  }
}

/// Oddities that a person should look at.
std::vector<std::string> flags_of(const result& r) {
  std::vector<std::string> flags;
  constexpr double above_ceiling = 1.05;
  for (const item_result& item : r.items)
    if (item.kind == "throughput" && item.figure && *item.figure > above_ceiling)
      flags.push_back(
          fmt::format("{}: {:.2f} {}, faster than this machine should allow", item.id, *item.figure, item.what));
  return flags;
}

}  // namespace

result grade_official(const lab_folder& lab, const std::string& id, const fs::path& from,
                      const official_options& options) {
  const bool boxed = sandbox_obstacle().empty() && !options.no_sandbox;
  if (!boxed && !options.unsafe)
    throw input_error("official grading needs a sandbox: " + sandbox_obstacle() +
                      "; or pass --unsafe for code that you trust (the result records it)");
  const wall behind = boxed ? wall::box : geteuid() == 0 ? wall::user : wall::none;
  const auto start = std::chrono::steady_clock::now();
  result out;
  out.seed = options.seed ? options.seed : lab::secret_seed();
  const std::vector<lab::test_case> cases = all_cases_of(lab.name, out.seed);
  const rubric rules = read_rubric(lab, cases);
  for (const std::string& asked : options.items)
    if (!rules.has(asked))
      throw input_error("lab " + lab.number + " has no item '" + asked + "'; its ids are in rubric.toml");
  out.lab = lab.name;
  out.lab_title = rules.title;
  out.lab_version = rules.version;
  out.submission = id;
  out.path = from.string();
  out.machine = this_machine();
  out.date = now_rfc3339();
  out.official = true;
  out.sandboxed = boxed;

  const bool gpu_items = options.device && std::any_of(rules.items.begin(), rules.items.end(), [&](const item& i) {
                           return i.timed_on_gpu() && (options.items.empty() || options.items.contains(i.id));
                         });
  options.progress("reading the submission");
  const taken in = take_in(from, rules.handin);
  out.taken = in.sha256;
  const staged place;
  const fs::path common = options.build / "official";
  fs::create_directories(common);
  time_budget budget{options.budget};
  const process_executor* on_gpu = nullptr;
  bench on;
  on.rules = &rules;
  on.device = read_modelled_device(lab.path.parent_path().parent_path());
  on.pairs = options.pairs;
  on.predictions = place.path / "predictions.toml";
  on.locked = options.locked;
  on.without_cuda = "this machine has no GPU, or this build no CUDA: GPU throughput is not graded";
  std::string failure;
  if (!in.refused.empty()) {
    failure = "refused: " + in.refused.front();
    out.outcome = "refused";
  } else {
    options.progress("building");
    const turn mine(options.build, turn::to::work);
    std::map<std::string, hand_in> sources;
    for (const std::string& name : rules.handin) {
      const auto handed = in.files.find(name);
      const std::string text = handed != in.files.end() ? handed->second : text_of(lab.handin() / name);
      if (name.ends_with(".toml"))
        replace_file(place.path / name, text);
      else
        sources[name] = {text, {}};
    }
    for (const std::string& name : in.missing)
      out.notes.push_back(name + " was not handed in; the skeleton was graded instead");
    const auto built = [&](const std::string& backend, limits allowed) -> std::unique_ptr<subject> {
      box_builder make(options.build / "recipes" / fmt::format("{}.{}.json", lab.name, backend), common / "objects",
                       behind, options.check_objects, {options.build_limit, options.memory});
      const fs::path runner = place.path / ("runner." + backend);
      if (const build_outcome outcome = make.build(sources, runner); !outcome.ok) {
        failure = outcome.message;
        return {};
      }
      if (allowed.device) {
        limits staff{options.call_limit, std::size_t{6} << 30, true};
        staff.device = allowed.device;
        on.staff_on_gpu = std::make_unique<process_executor>(options.build / "bin" / "staff_runner.cuda", staff, behind,
                                                             make.runtime());
      }
      auto runs = std::make_unique<process_executor>(runner, allowed, behind, make.runtime());
      if (allowed.device) on_gpu = runs.get();
      return std::make_unique<subject>(backend, std::move(runs), out.seed);
    };
    limits allowed{options.call_limit, options.memory};
    allowed.budget = &budget;
    if (auto sim = built("sim", allowed)) {
      sim->use_names(rules.names);
      on.subjects.push_back(std::move(sim));
    }
    allowed.device = options.device;
    if (failure.empty() && gpu_items) on.on_gpu = built("cuda", allowed);
    out.outcome = failure.empty() ? "graded" : "build_failed";
  }
  on.staff = std::make_unique<process_executor>(options.build / "bin" / "staff_runner",
                                                limits{options.call_limit, std::size_t{6} << 30, true}, behind);
  for (const item& i : rules.items) {
    if (!options.items.empty() && !options.items.contains(i.id)) continue;
    options.progress(i.id);
    const bool timed = i.kind == item_kind::throughput && failure.empty();
    const turn mine(options.build, timed ? turn::to::measure : turn::to::work);
    // Items that this machine cannot run are not assessed.
    const bool beyond_this_machine = i.timed_on_gpu() && !options.device;
    out.items.push_back(failure.empty() || beyond_this_machine ? assess(i, on) : not_built(i, failure));
    if (!failure.empty() && in.refused.empty()) keep_predictions(i, on, out.items.back());
    // Noise is the machine's fault, and another try may tell; a ratio that cannot be needs a person.
    const item_result& got = out.items.back();
    if (got.verdict == verdict::inconclusive && *got.figure <= i.most) out.outcome = "infra_error";
    if (options.until_lost && got.points < i.points) break;
  }
  if (!options.device) out.notes.push_back(on.without_cuda);
  if (on_gpu)
    out.notes.push_back(
        fmt::format("on the GPU its runner had up to {} threads, including CUDA's own", on_gpu->most_threads()));
  if (!boxed)
    out.notes.emplace_back(behind == wall::user ? "graded without a sandbox, as another user"
                                                : "graded without a sandbox");
  add_hints(out.items, read_hints(lab.path));
  for (const auto& s : on.subjects) out.printed += s->output();
  if (on.on_gpu) out.printed += on.on_gpu->output();
  out.flags = flags_of(out);
  for (const std::string& name : in.missing) out.flags.push_back(name + " was not handed in");
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace grading
