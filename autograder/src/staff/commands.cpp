// Commands for the course's staff, which test that everything still gets the expected results.
#include "commands/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <set>

#include "course/fingerprint.hpp"
#include "judge/local.hpp"
#include "judge/official.hpp"
#include "report/terminal.hpp"
#include "sandbox/sandbox.hpp"
#include "staff/attacks.hpp"
#include "staff/honest.hpp"
#include "staff/lab_check.hpp"
#include "staff/mutants.hpp"
#include "student/progress.hpp"
#include "support/hash.hpp"
#include "support/kept.hpp"
#include "support/side_by_side.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

int attacks(const settings& s, const std::string& only, std::size_t jobs) {
  if (!sandbox_obstacle().empty()) {
    fmt::print("SKIPPED: {}\n", sandbox_obstacle());
    return skipped;
  }
  official_options options = s.official();
  options.call_limit = std::chrono::seconds(5);
  options.budget = std::chrono::seconds(20);
  options.build_limit = std::chrono::seconds(20);
  options.memory = std::size_t{1} << 30;
  options.pairs = 3;  // enough to detect code a hundred times too slow
  std::vector<fs::path> chosen;
  for (const fs::path& patch : attacks_in(s.source / "autograder" / "attacks"))
    if (only.empty() || patch.stem().string().starts_with(only)) chosen.push_back(patch);
  builder make(s.build);
  make.quiet = true;
  for (const lab_folder& lab : labs_in(s.source)) build_staff(lab, make);
  const std::string judged_by = fingerprint_of_files(s.source / "autograder" / "src" / "staff" / "attacks.cpp");
  // Compiling takes most of the time.
  const std::size_t fallen = side_by_side(jobs, chosen.size(), [&](std::size_t i) {
    const fs::path& attack = chosen[i];
    const std::string name = attack.stem().string();
    const lab_folder lab = lab_attacked(attack, s.source);
    const std::string key = sha256("attack" + judged_by + fingerprint_of(lab, solution_of(s.source, lab), make) +
                                   fingerprint_of_files(attack));
    if (kept_outcome(key)) {
      fmt::print("held  {:40} reused\n", name);
      return true;
    }
    if (time_is_up()) {
      fmt::print("LEFT OUT: 1 attack, {}\n", name);
      return true;
    }
    const attack_outcome got = run_attack(attack, s.source, options);
    fmt::print("{:5} {:40} {:5.1f} s\n{}", got.surprises.empty() ? "held" : "NOT", name, got.seconds, got.surprises);
    if (got.surprises.empty()) keep_outcome(key, "held\n");
    return got.surprises.empty();
  });
  fmt::print("{} of {} attacks got the required verdict\n", chosen.size() - fallen, chosen.size());
  return fallen == 0 && !chosen.empty() ? all_well : not_full_marks;
}

int honest(const settings& s, const std::string& only, std::size_t jobs) {
  if (!sandbox_obstacle().empty()) {
    fmt::print("SKIPPED: {}\n", sandbox_obstacle());
    return skipped;
  }
  builder make(s.build);
  make.quiet = true;
  std::vector<honest_submission> chosen;
  for (honest_submission& who : honest_in(s.source, s.source / "autograder" / "honest"))
    if (std::any_of(who.files.begin(), who.files.end(),
                    [&](const fs::path& file) { return file.filename().string().starts_with(only); }))
      chosen.push_back(std::move(who));
  std::size_t files = 0;
  std::set<std::string> built;
  for (const honest_submission& who : chosen) {
    files += who.files.size();
    if (built.insert(who.lab.name).second) build_staff(who.lab, make);
  }
  const std::string judged_by = fingerprint_of_files(s.source / "autograder" / "src" / "staff" / "honest.cpp");
  const std::size_t refused = side_by_side(jobs, chosen.size(), [&](std::size_t i) {
    std::string names;
    for (const fs::path& file : chosen[i].files)
      names += " " + fs::relative(file, s.source / "autograder" / "honest").string();
    const lab_folder& lab = chosen[i].lab;
    std::string decides = "honest" + judged_by + fingerprint_of(lab, solution_of(s.source, lab), make);
    for (const fs::path& file : chosen[i].files) decides += fingerprint_of_files(file);
    const std::string key = sha256(decides);
    if (kept_outcome(key)) {
      fmt::print("fine {} reused\n", names);
      return true;
    }
    if (time_is_up()) {
      fmt::print("LEFT OUT: 1 submission,{}\n", names);
      return true;
    }
    std::string wrong = surprises_of(chosen[i], s.source, make, s.official());
    if (!wrong.empty()) {  // try again: a busy machine proves nothing
      fmt::print("again{}\n{}", names, wrong);
      wrong = surprises_of(chosen[i], s.source, make, s.official());
    }
    fmt::print("{:5}{}\n{}", wrong.empty() ? "fine" : "NOT", names, wrong);
    if (wrong.empty()) keep_outcome(key, "fine\n");
    return wrong.empty();
  });
  fmt::print("{} files in {} submissions; {} submissions did not pass both gradings\n", files, chosen.size(), refused);
  return refused == 0 && !chosen.empty() ? all_well : not_full_marks;
}

struct mutant_options {
  std::string lab, file;
  std::optional<int> sample;
  bool no_sandbox = false, lazy = false;
  std::size_t jobs = 1;
};

/// Tries mutants of the solution, and lists those that no item detects.
int mutants(const settings& s, const mutant_options& o) {
  const lab_folder lab = find_lab(s.source, o.lab);
  const submission solution = solution_of(s.source, lab);
  builder make(s.build);
  build_staff(lab, make);
  const std::uint64_t seed = s.local().seed;
  std::vector<mutant> all = mutants_of_lab(lab, solution);
  const std::size_t known = all.size();
  if (!o.file.empty()) std::erase_if(all, [&](const mutant& m) { return m.file != o.file; });
  if (o.lazy) std::erase_if(all, [](const mutant& m) { return !m.lazy; });
  if (o.sample) {  // the first steps of a shuffle
    lab::random_sizes draw(seed);
    const std::size_t count = std::min(static_cast<std::size_t>(*o.sample), all.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(all[i], all[static_cast<std::size_t>(draw(static_cast<std::int64_t>(i), std::ssize(all) - 1))]);
    all.resize(count);
  }
  official_options options = s.official();
  options.unsafe = options.no_sandbox = o.no_sandbox;
  options.progress = [](const std::string&) {};
  const mutant none{read_rubric(lab).handin.front()};
  if (const mutant_outcome whole = try_mutant(lab, solution, none, {seed}, options); whole.survived.empty())
    throw std::runtime_error(fmt::format("the unchanged solution loses {}", whole.lost));
  const std::size_t survivors = side_by_side(o.jobs, all.size(), [&](std::size_t i) {
    const mutant_outcome got = try_mutant(lab, solution, all[i], {seed, seed + 1, seed + 2}, options);
    const std::string verdict = !got.compiles              ? "not built"
                                : got.survived.empty()     ? "lost " + got.lost
                                : got.survived.size() == 3 ? "SURVIVED"
                                                           : fmt::format("SURVIVED seed {}", got.survived.front());
    fmt::print("{}, line {}:  {}\n", verdict, all[i].line, name_of(all[i]));
    return !got.compiles || got.survived.empty();
  });
  fmt::print("{} of {} mutants tried, {} survived\n", all.size(), known, survivors);
  return survivors == 0 ? all_well : not_full_marks;
}

}  // namespace

void add_staff_commands(command_line& line) {
  const settings& s = line.common;
  {
    struct options {
      std::vector<std::string> labs;
      bool write = false;
    };
    const auto o = std::make_shared<options>();
    CLI::App& checks = line.add("check", "check rubrics, handouts, expected results and the scoreboard for mistakes",
                                [o, &s] { return check_course(s, o->labs, o->write) ? all_well : cannot; });
    checks.add_option("labs,--lab", o->labs, "lab numbers [all]");
    checks.add_flag("--write", o->write,
                    "update the handouts' grading tables, the answers to predictions and the scoreboard");
  }
  struct corpus {
    std::string only;
    std::size_t jobs = 1;
  };
  {
    const auto o = std::make_shared<corpus>();
    CLI::App& hostile = line.add("attacks", "run every attack on the grader, and check that it fails",
                                 [o, &s] { return attacks(s, o->only, o->jobs); });
    hostile.add_option("--only", o->only, "only attacks whose name begins with this, such as 60");
    add_jobs(hostile, o->jobs, "attacks to run at a time; timed items still run one at a time [1]");
  }
  {
    const auto o = std::make_shared<corpus>();
    CLI::App& ordinary =
        line.add("honest", "grade honest submissions in many styles, officially and locally, and check that all pass",
                 [o, &s] { return honest(s, o->only, o->jobs); });
    ordinary.add_option("--only", o->only, "only submissions with a file whose name begins with this");
    add_jobs(ordinary, o->jobs, "submissions to grade at a time [1]");
  }
  {
    const auto o = std::make_shared<mutant_options>();
    CLI::App& slips =
        line.add("mutants", "make many copies of a solution with one slip each, and list the slips that lose no points",
                 [o, &s] { return mutants(s, *o); });
    add_lab(slips, o->lab);
    slips.add_option("--file", o->file, "only mutants of this file");
    slips.add_option("--sample", o->sample, "try this many, chosen at random by --seed")->check(CLI::PositiveNumber);
    slips.add_flag("--lazy", o->lazy, "only what is right for most inputs, such as loops that end at 1000");
    slips.add_flag("--no-sandbox", o->no_sandbox, "run without a sandbox; the solution is trusted");
    add_jobs(slips, o->jobs, "mutants to try at a time [1]");
  }
}

}  // namespace grading
