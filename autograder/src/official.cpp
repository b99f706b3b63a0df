// The judge of one submission, from what was handed in to a result.
#include "official.hpp"

#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "assess.hpp"
#include "box_builder.hpp"
#include "hints.hpp"
#include "process_executor.hpp"
#include "sandbox.hpp"
#include "toml_file.hpp"
#include "turn.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

std::uint64_t secret_seed() {
  std::uint64_t seed = 0;
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) throw std::runtime_error("the system gives no random numbers");
  return seed >> 1;  // any JSON reader can hold it
}

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

/// Oddities that a person should look at.
std::vector<std::string> flags_of(const result& r) {
  std::vector<std::string> flags;
  constexpr double above_ceiling = 1.05;
  for (const item_result& item : r.items)
    if (item.kind == "throughput" && item.figure && *item.figure > above_ceiling)
      flags.push_back(
          fmt::format("{}: {:.2f} {}, faster than the machine should be", item.id, *item.figure, item.what));
  return flags;
}

}  // namespace

result grade_official(const lab_folder& lab, const std::string& id, const fs::path& from,
                      const official_options& options) {
  const bool boxed = sandbox_obstacle().empty() && !options.no_sandbox;
  if (!boxed && !options.unsafe)
    throw input_error("official grading needs a sandbox: " + sandbox_obstacle() +
                      "; or, for code that you trust, --unsafe, which the result will say");
  const wall behind = boxed ? wall::box : geteuid() == 0 ? wall::user : wall::none;
  const auto start = std::chrono::steady_clock::now();
  result out;
  out.seed = options.seed ? options.seed : secret_seed();
  std::vector<lab::test_case> cases = lab::cases_of(lab.name);
  for (lab::test_case& drawn : lab::drawn_cases_of(lab.name, out.seed)) {
    const bool known = std::any_of(cases.begin(), cases.end(), [&](const auto& c) { return c.id == drawn.id; });
    if (!known) cases.push_back(std::move(drawn));
  }
  const rubric rules = parse_rubric(text_of(lab.path / "rubric.toml"), "rubric.toml", cases, lab.path);
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
  options.progress("taking in");
  const taken in = take_in(from, rules.handin);
  out.taken = in.sha256;
  const staged place;
  const fs::path common = options.build / "official";
  fs::create_directories(common);
  bench on;
  on.rules = &rules;
  on.pairs = options.pairs;
  on.predictions = place.path / "predictions.toml";
  on.without_cuda = "no GPU on this machine, or no CUDA in this build: GPU throughput is not graded";
  std::string failure;
  if (!in.refused.empty()) {
    failure = "refused: " + in.refused.front();
    out.outcome = "refused";
  } else {
    options.progress("building");
    const turn mine(options.build, turn::to::work);
    std::map<std::string, std::string> sources;
    for (const std::string& name : rules.handin) {
      const auto handed = in.files.find(name);
      const std::string text = handed != in.files.end() ? handed->second : text_of(lab.path / name);
      if (name.ends_with(".toml"))
        replace_file(place.path / name, text);
      else
        sources[name] = text;
    }
    for (const std::string& name : in.missing)
      out.notes.push_back(name + " was not handed in; the skeleton was graded in its place");
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
      return std::make_unique<subject>(
          backend, std::make_unique<process_executor>(runner, allowed, behind, make.runtime()), out.seed);
    };
    limits allowed{options.call_limit, options.memory};
    if (auto sim = built("sim", allowed)) on.subjects.push_back(std::move(sim));
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
    // What nobody's submission could get here counts for nobody.
    const bool beyond_this_machine = i.timed_on_gpu() && !options.device;
    out.items.push_back(failure.empty() || beyond_this_machine ? assess(i, on) : not_built(i, failure));
    if (out.items.back().verdict == verdict::inconclusive) out.outcome = "infra_error";
  }
  if (!options.device) out.notes.push_back(on.without_cuda);
  if (!boxed)
    out.notes.emplace_back(behind == wall::user ? "graded without a sandbox, as another user"
                                                : "graded without a sandbox");
  add_hints(out.items, read_hints(lab.path / "hints.toml"));
  for (const auto& s : on.subjects) out.printed += s->output();
  if (on.on_gpu) out.printed += on.on_gpu->output();
  out.flags = flags_of(out);
  for (const std::string& name : in.missing) out.flags.push_back(name + " was not handed in");
  out.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return out;
}

}  // namespace grading
