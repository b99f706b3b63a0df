#include "judge/local.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "build/box_builder.hpp"
#include "course/fingerprint.hpp"
#include "course/handout.hpp"
#include "judge/changes.hpp"
#include "judge/conductor.hpp"
#include "sandbox/crash_place.hpp"
#include "sandbox/process_executor.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/hash.hpp"
#include "support/lock.hpp"
#include "support/text.hpp"

namespace grading {
namespace fs = std::filesystem;
namespace {

std::filesystem::path program_of(const lab_folder& lab, const submission& who, backend where, const builder& make) {
  return make.program(fmt::format("lab{}.{}.{}.runner", lab.number, who.id, name_of(where)));
}

std::filesystem::path recipe_of(const lab_folder& lab, backend where, const builder& make) {
  return make.dir() / "recipes" / fmt::format("{}.{}.json", lab.name, name_of(where));
}

/// "" if there is a GPU and a build for it.
std::string cuda_obstacle(const lab_folder& lab, const builder& make) {
  if (!this_machine().contains("gpu")) return "no GPU on this machine";
  if (!std::filesystem::exists(recipe_of(lab, backend::cuda, make)))
    return "this build was made without CUDA; install nvcc and configure again";
  return {};
}

/// Builds as official grading does, but without its sandbox. It rejects the same code with the same messages.
box_builder builder_of(const lab_folder& lab, backend where, const builder& make) {
  return {recipe_of(lab, where, make), make.dir() / "official" / "objects", wall::none, true, {}};
}

std::vector<backend> backends_of(const lab_folder& lab, const builder& make) {
  return cuda_obstacle(lab, make).empty() ? std::vector{backend::sim, backend::cuda} : std::vector{backend::sim};
}

/// The counters, one entry for each case that an item asked about.
std::vector<counted_case> counted_cases(const grading_session& session, const std::vector<lab::test_case>& cases) {
  std::vector<counted_case> result;
  subject* sim = session.subject_on(backend::sim);
  if (!sim) return result;
  for (const lab::test_case& c : cases)
    if (const trial* t = sim->counted(c); t && t->ok())
      result.push_back({c.id, backend::sim, c.work, t->response.launches});
  return result;
}

/// The items of `like`, by id, that would have the same result for `who`, whose program lacks the files `left_out`.
std::map<std::string, item_result> taken_over(const lab_folder& lab, const rubric& rules, const submission& who,
                                              const std::set<std::string>& left_out, const result& like,
                                              const submission& like_whose) {
  std::map<std::string, std::string> now, then;
  for (const std::string& name : rules.handin)
    now[name] = text_of(who.file(name)), then[name] = text_of(like_whose.file(name));
  std::vector<std::string> helpers;  // the staff's other sources, through which its calls reach the submission
  for (const fs::path& folder : {lab.path, lab.path / "given", lab.judge()})
    for (std::error_code none; const auto& file : fs::directory_iterator(folder, none)) {
      const std::string name = file.path().filename();
      if ((name.ends_with(".hpp") || name.ends_with(".cu") || name.ends_with(".cpp")) && name != "calls.cpp" &&
          name != "cases.cpp")
        helpers.push_back(text_of(file));
    }
  const std::set<std::string> beside =
      entries_beside(changed_names(then, now, left_out), text_of(lab.judge() / "calls.cpp"), helpers);
  const bool other_predictions = now["predictions.toml"] != then["predictions.toml"],
             other_findings = now["findings.toml"] != then["findings.toml"];
  std::map<std::string, item_result> result;
  for (std::size_t k = 0; k < rules.items.size() && k < like.items.size(); ++k) {
    const item& i = rules.items[k];
    std::vector<const lab::test_case*> about = i.cases;
    for (const prediction& p : i.predict) about.push_back(p.about);
    const bool untouched = std::all_of(about.begin(), about.end(),
                                       [&](const lab::test_case* c) { return c && beside.contains(c->entry); });
    if (untouched && !(other_predictions && i.kind == item_kind::predictions) &&
        !(other_findings && (i.kind == item_kind::findings || !i.follows.empty())) && like.items[k].id == i.id &&
        like.items[k].verdict != verdict::inconclusive && like.items[k].verdict != verdict::build_error)
      result.emplace(i.id, like.items[k]);
  }
  return result;
}

}  // namespace

std::string fingerprint_of(const lab_folder& lab, const submission& who, const builder& make) try {
  std::string parts = staff_fingerprint(lab);
  for (const char* key : {"cpu", "cores", "compiler", "gpu", "driver"})  // but not its clock rates and temperature
    if (const auto found = this_machine().find(key); found != this_machine().end()) parts += found->second + "\n";
  for (const std::string& file : handin_in(lab.path))
    parts += fs::exists(who.file(file)) ? sha256(text_of(who.file(file))) : "none";
  const std::string root = lab.path.parent_path().parent_path().string(), build = make.dir().string();
  for (const backend where : backends_of(lab, make))
    parts += replaced(replaced(commands_of(recipe_of(lab, where, make)), build, "build"), root, "source");
  return sha256(parts);
} catch (const input_error&) {
  return {};  // the staff's part is not built
}

namespace {

void build_target(const lab_folder& lab, const std::string& kind, const std::filesystem::path& more, builder& make) {
  const std::filesystem::path root = lab.path.parent_path().parent_path();
  const std::string target = fmt::format("lab{}.{}", lab.number, kind);
  const build_outcome built =
      make.build_if_older(target, {root / "common", root / "autograder" / "src", root / "CMakeLists.txt",
                                   make.dir() / "build.ninja", lab.path, more});
  if (!built.ok)
    throw std::runtime_error(make.has_target(target) ? built.message
                                                     : fmt::format("no build target {}; configure again: cmake {}",
                                                                   target, make.dir().string()));
}

}  // namespace

void build_staff(const lab_folder& lab, builder& make) { build_target(lab, "staff", {}, make); }

void build_others(const lab_folder& lab, builder& make) {
  build_target(lab, "others", lab.path.parent_path().parent_path() / "solutions" / lab.name, make);
}

namespace {

std::string handed_in(const submission& who, const rubric& rules) {
  std::string texts;
  for (const std::string& name : rules.handin)
    if (std::filesystem::exists(who.file(name))) texts += text_of(who.file(name)) + '\0';
  return texts;
}

/// Reports name a student's files by the path where they are edited. Files shared with the solution are compiled once.
std::map<std::string, hand_in> sources_of(const lab_folder& lab, const submission& who, const rubric& rules) {
  std::map<std::string, hand_in> sources;
  for (const std::string& name : rules.handin)
    if (!name.ends_with(".toml"))
      sources[name] = {text_of(who.file(name)), who.path == lab.handin() ? lab.handin() : std::filesystem::path{}};
  return sources;
}

/// The submission in its own runner, which reports where it crashes.
std::unique_ptr<subject> started(const lab_folder& lab, const submission& who, const builder& make,
                                 const local_options& options, const rubric& rules, backend where, std::uint64_t seed) {
  limits allowed{where == backend::sim ? options.sim_limit : options.cuda_limit};
  allowed.driver = where == backend::cuda;
  const auto program = program_of(lab, who, where, make);
  auto made = std::make_unique<subject>(where, std::make_unique<process_executor>(program, allowed), seed);
  made->use_names(rules.names);
  made->on_crash = [handin = rules.handin, program, reporter = make.program("crash_reporter"),
                    allowed](const std::function<void(executor&)>& call_again) {
    process_executor again(program, allowed);
    return place_of_crash(again, program, reporter, handin, call_again);
  };
  return made;
}

constexpr const char* checked_again = "correctness was also checked with a second seed";

/// Whether an earlier grading checked the items that pass with a second seed.
bool was_checked_again(const result& r) {
  return std::any_of(r.notes.begin(), r.notes.end(),
                     [](const std::string& note) { return note.starts_with(checked_again); });
}

/// Checks correctness with a second seed, except for items known to be right with one: an answer that is right for
/// one seed only is wrong.
void check_again(conductor& c, result& r, const std::map<std::string, item_result>& known_right, const lab_folder& lab,
                 const submission& who, const builder& make, const local_options& options) {
  c.progress("with a second seed");
  const machine_lock mine(make.dir(), machine_lock::shared);
  const std::uint64_t seed = std::random_device{}() % 999'999 + 2;
  const std::vector<lab::test_case> cases = all_cases_of(lab.name, seed);
  const rubric rules = read_rubric(lab, cases);
  grading_session again;
  again.rules = &rules;
  for (const auto& s : c.session.subjects)
    again.subjects.push_back(started(lab, who, make, options, rules, s->backend(), seed));
  for (item_result& known : r.items) {
    if (known.kind != item_kind::correctness || known_right.contains(known.id)) continue;
    item_result got = assess(*rules.find(known.id), again);
    if (got.verdict == verdict::pass) continue;
    got.message = fmt::format(
        "correct for the usual sizes and inputs, but not for others: {} (reproduce: ./course lab {} --seed {})",
        got.message, lab.number, seed);
    known = std::move(got);
  }
  for (item_result& timed : r.items)
    if (timed.kind == item_kind::throughput && timed.verdict != verdict::not_assessed)
      is_not_timed(rules.find(timed.id)->cases.front()->entry, again, timed);
  c.progress_ends();
  c.add_advice(r);
  r.notes.push_back(fmt::format("{}, {}", checked_again, seed));
}

/// The cases whose kernels are drawn, each once, in the rubric's order.
std::vector<const lab::test_case*> cases_to_draw(const rubric& rules, const std::string& only) {
  std::vector<const lab::test_case*> found;
  for (const item& i : rules.items) {
    if (only.empty() ? i.kind != item_kind::counters : i.id != only) continue;
    for (const lab::test_case* c : i.cases)
      if (c->where == lab::part::device && std::find(found.begin(), found.end(), c) == found.end()) found.push_back(c);
  }
  return found;
}

}  // namespace

std::optional<result> known_result(const std::vector<result>& stored, const lab_folder& lab, const submission& who,
                                   const std::string& fingerprint) {
  const result* found = result_of(stored, lab.name, who.id);
  if (!found || found->graded_from.empty() || found->graded_from != fingerprint) return {};
  const bool noisy = std::any_of(found->items.begin(), found->items.end(),
                                 [](const item_result& i) { return i.verdict == verdict::inconclusive; });
  return noisy ? std::nullopt : std::optional(*found);
}

result grade_locally(const lab_folder& lab, const submission& who, builder& make, const local_options& options) {
  conductor c(lab, who.id, who.path, make.dir(),
              options.drawn ? all_cases_of(lab.name, options.seed) : lab::cases_of(lab.name), options);
  const rubric& rules = c.rules();
  if (who.path == lab.handin()) expect_handin_as_listed(lab.path, rules.handin);
  c.session.predictions = who.file("predictions.toml");
  c.session.originals = lab.crashed();
  c.session.crashed_programs = make.dir() / "bin" / "crashed";
  for (const std::string& name : rules.handin)
    if (std::filesystem::exists(who.file(name))) c.session.handed_in[name] = text_of(who.file(name));
  c.session.without_cuda = cuda_obstacle(lab, make);
  c.session.staff = std::make_unique<process_executor>(make.program("staff_runner"),
                                                       limits{options.sim_limit, std::size_t{6} << 30, true});
  const std::string before = handed_in(who, rules);
  c.out.graded_from = fingerprint_of(lab, who, make);
  const std::map<std::string, hand_in> sources = sources_of(lab, who, rules);
  std::set<std::string> left_out;
  {
    c.progress("building");
    const machine_lock mine(make.dir(), machine_lock::shared);
    for (const backend where : backends_of(lab, make)) {
      const build_outcome built = builder_of(lab, where, make).build(sources, program_of(lab, who, where, make));
      if (!built.ok) add_to_list(c.failure, "\n", built.message);
      c.session.asserting.insert(built.asserting.begin(), built.asserting.end());
      c.session.subjects.push_back(started(lab, who, make, options, rules, where, options.seed));
      c.session.subjects.back()->left_out = built.message;
      if (!built.message.empty()) options.on_build_error(built.message);
      left_out.insert(built.left_out.begin(), built.left_out.end());
    }
  }
  if (handed_in(who, rules) != before) return grade_locally(lab, who, make, options);  // saved during the build

  std::map<std::string, item_result> known;
  if (options.like && c.failure.empty())
    known = taken_over(lab, rules, who, left_out, *options.like, *options.like_whose);
  bool fresh = false, all_right = c.failure.empty();
  for (const item* i : c.chosen()) {
    const auto found = known.find(i->id);
    const item_result& got = found != known.end() ? c.out.items.emplace_back(found->second) : c.assess_next(*i);
    options.on_item(got);
    if (i->kind != item_kind::correctness) continue;
    fresh = fresh || found == known.end();
    all_right = all_right && got.verdict == verdict::pass;
  }
  // Paths are relative to the course's root.
  const std::string here = lab.path.parent_path().parent_path().string() + "/";
  for (item_result& i : c.out.items) i.message = replaced(i.message, here, "");
  if (!known.empty())
    c.out.notes.push_back(fmt::format("{} of {} items reuse the result of {}: their files are the same", known.size(),
                                      rules.items.size(), options.like_whose->id));
  if (!c.failure.empty()) c.out.outcome = outcome::build_failed;
  if (!c.failure.empty() || handed_in(who, rules) != before) c.out.graded_from.clear();
  c.out.counted = counted_cases(c.session, c.cases());
  result r = c.finish();
  options.on_result(r);
  const bool before_too = options.like && was_checked_again(*options.like);
  if (options.second_seed && all_right && (fresh || !before_too))
    check_again(c, r, before_too ? known : std::map<std::string, item_result>{}, lab, who, make, options);
  else if (before_too && !fresh)
    r.notes.emplace_back(checked_again);
  return r;
}

drawn_warps draw_warps(const lab_folder& lab, const submission& who, builder& make, const local_options& options,
                       const std::filesystem::path& file, const result* graded, const std::string& only) {
  const auto progress = [&](const std::string& what) {
    options.progress(what.empty() ? what : fmt::format("{} {}: drawing {}", lab.number, who.id, what));
  };
  const std::vector<lab::test_case> cases = lab::cases_of(lab.name);
  const rubric rules = read_rubric(lab, cases);
  std::vector<const lab::test_case*> wanted = cases_to_draw(rules, only);
  std::set<std::string> fallen;  // entries
  for (const item_result& i : graded ? graded->items : std::vector<item_result>())
    for (const item& known : rules.items)
      if (known.id == i.id && (i.verdict == verdict::crash || i.verdict == verdict::timeout))
        for (const lab::test_case* c : known.cases) fallen.insert(c->entry);

  drawn_warps drawn;
  std::filesystem::create_directories(file.parent_path());
  const std::filesystem::path fresh = file.string() + ".new";
  std::filesystem::remove(fresh);
  const machine_lock mine(make.dir(), machine_lock::shared);
  progress("its warps");
  const std::filesystem::path program = program_of(lab, who, backend::sim, make);
  const build_outcome built = graded ? build_outcome{true, {}}
                                     : builder_of(lab, backend::sim, make).build(sources_of(lab, who, rules), program);
  if (!built.ok) wanted.clear();
  const auto say = [&](const std::string& message) {
    if (!message.empty() && std::find(drawn.messages.begin(), drawn.messages.end(), message) == drawn.messages.end())
      drawn.messages.push_back(message);
  };
  say(built.message);
  // A crash loses the recording, so record again without that function. A case that needs more memory than those before
  // it also needs a new process, with that much memory. After an error the device may reject everything else, so
  // failing cases come last.
  std::set<const lab::test_case*> faulty;
  std::size_t memory = 0;
  for (bool again = !wanted.empty(); again;) {
    again = false;
    std::erase_if(wanted, [&](const lab::test_case* c) { return fallen.contains(c->entry); });
    std::stable_partition(wanted.begin(), wanted.end(), [&](const auto* c) { return !faulty.contains(c); });
    limits allowed{options.sim_limit};
    allowed.outlives_errors = true;
    const exported_variable recording("SIM_SEE", fresh);
    const exported_variable name("SIM_SEE_NAME",
                                 fmt::format("Lab {}, {}", lab.number, only.empty() ? "your kernels" : only));
    auto own = std::make_unique<process_executor>(program, allowed);
    process_executor& runner = *own;
    runner.reserve(memory);
    subject sim(backend::sim, std::move(own), options.seed);
    sim.use_names(rules.names);
    sim.left_out = built.message;
    std::size_t done = 0;
    for (const lab::test_case* c : wanted) {
      progress(c->id);
      const trial& t = sim.count(*c, {});
      const bool fell = t.verdict == verdict::crash || t.verdict == verdict::timeout, last = ++done == wanted.size();
      say(t.message);
      if (fell) fallen.insert(c->entry);
      const bool grown = done > 1 && runner.room() > memory;
      memory = std::max(memory, runner.room());
      again = fell || grown || (!t.response.error.empty() && faulty.insert(c).second && !last);
      if (again) break;
    }
    if (!again) runner.finish(options.sim_limit);
  }
  progress("");
  drawn.page = std::filesystem::exists(fresh);
  if (drawn.page)
    std::filesystem::rename(fresh, file);
  else
    std::filesystem::remove(file);
  return drawn;
}

}  // namespace grading
