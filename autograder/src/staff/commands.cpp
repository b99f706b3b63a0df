// The commands of the course's staff: does everything in it still come to what it should?
#include "staff/commands.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <thread>

#include "judge/local.hpp"
#include "judge/official.hpp"
#include "lab/exchange.hpp"
#include "report/terminal.hpp"
#include "sandbox/sandbox.hpp"
#include "staff/attacks.hpp"
#include "staff/expected.hpp"
#include "staff/honest.hpp"
#include "staff/lab_check.hpp"
#include "staff/mutants.hpp"
#include "student/progress.hpp"
#include "support/command.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// Calls f(0) to f(count - 1) in this many processes, each of which takes the next free number; each call stores its
/// own result. Returns how many returned false or threw; errors are printed.
std::size_t side_by_side(std::size_t processes, std::size_t count, const std::function<bool(std::size_t)>& f) {
  struct tally {
    std::atomic<std::size_t> next = 0, fine = 0;
  };
  void* shared = mmap(nullptr, sizeof(tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("cannot allocate a page of shared memory");
  auto& all = *new (shared) tally;
  std::fflush(nullptr);  // or each child would print the buffered text again
  std::vector<pid_t> children;
  for (std::size_t p = 0; p < std::min(processes, count); ++p) {
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("cannot start a process");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    for (std::size_t i; (i = all.next++) < count;) {
      try {
        all.fine += f(i);
      } catch (const std::exception& error) {
        fmt::print(stderr, "grader: {}\n", error.what());
      }
      std::fflush(nullptr);
    }
    lab::remove_exchange_folder();
    std::_Exit(0);
  }
  for (const pid_t child : children) wait_for_end(child);
  const std::size_t fine = all.fine;
  munmap(shared, sizeof(tally));
  return count - fine;
}

/// Without `every`, only those wrong submissions that say `demo = true`, if any do.
std::vector<submission> chosen_for_demo(const std::vector<submission>& all, bool every) {
  std::vector<submission> few;
  bool marked = false;
  for (const submission& who : all) {
    const bool has_expectation = !who.expected.empty();
    if (has_expectation && !every && !read_expectation(who.expected).demo) continue;
    marked = marked || has_expectation;
    few.push_back(who);
  }
  return marked ? few : all;
}

int demo(const settings& s, const std::vector<std::string>& numbers, bool every, bool again,
         const std::optional<int>& jobs) {
  builder make(s.build);
  // With a GPU each process takes gigabytes of its memory and of the host's, so more than one must be requested.
  const int at_a_time =
      this_machine().contains("gpu") ? 1 : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  const auto processes = static_cast<std::size_t>(jobs.value_or(at_a_time));
  const std::vector<result> stored = again ? std::vector<result>{} : s.store().load();
  std::vector<summary_row> rows;
  bool as_expected = true;
  std::size_t unchanged = 0, left_out = 0;
  const progress begun = read_progress(s.progress_file());
  for (const lab_folder& lab : s.labs(numbers)) {
    // Once a student has begun, the hand-in files are a skeleton no longer, and may come to anything.
    const auto differences = [&](const result& got, const submission& who) {
      return who.id == "student" && begun.contains(lab.name) ? "" : surprises_of(got, lab, who);
    };
    const std::vector<submission> known_ones = submissions_of(s.source, s.build, lab);
    const std::vector<submission> all = chosen_for_demo(known_ones, every);
    left_out += known_ones.size() - all.size();
    build_staff(lab, make);
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto known = known_result(stored, lab, all[i], make);
      // An unexpected result may have been the machine's noise: grade it again.
      if (!known || !differences(*known, all[i]).empty()) fresh.push_back(i);
    }
    unchanged += all.size() - fresh.size();
    std::vector<result> solved;  // by the solution, first of all: the wrong ones share most of its files
    const auto grade_fresh = [&](std::size_t k) {
      const submission& who = all[fresh[k]];
      local_options options = s.local();
      options.locked = locked_for(s.progress_file(), lab, who);
      if (!solved.empty() && who.id != "student") {
        options.like = result_of(solved, lab.name, "solution");
        options.like_whose = &all.front();
      }
      s.store().merge({grade_locally(lab, who, make, options)});  // at once: an interrupted run keeps what it has
      return true;
    };
    const bool has_solution = all.front().id == "solution";
    const std::size_t first = has_solution && !fresh.empty() && fresh.front() == 0 ? 1 : 0;
    if (first == 1) grade_fresh(0);
    if (has_solution) solved = s.store().load(lab.name);
    // All others share what it got, so its noise would be theirs: a second look costs less than grading all again.
    if (first == 1 && !differences(*result_of(solved, lab.name, "solution"), all.front()).empty()) {
      grade_fresh(0);
      solved = s.store().load(lab.name);
    }
    if (side_by_side(processes, fresh.size() - first, [&](std::size_t k) { return grade_fresh(first + k); }) != 0)
      return cannot;
    std::vector<std::string> ids;
    ids.reserve(known_ones.size());
    for (const submission& who : known_ones) ids.push_back(who.id);
    s.store().keep_only(lab.name, ids);
    const std::vector<result> graded = s.store().load(lab.name);
    for (const submission& who : all) {
      const result* r = result_of(graded, lab.name, who.id);
      if (!r)
        throw std::runtime_error(
            fmt::format("the result of lab {}'s {} is missing, although it was graded", lab.number, who.id));
      rows.push_back({*r, differences(*r, who)});
      as_expected = as_expected && rows.back().surprises.empty();
    }
  }
  fmt::print("\n{}", summary_table(rows, style_of_stdout()));
  if (unchanged > 0)
    fmt::print("{} of {} have not changed since they were graded; --again grades all of them\n", unchanged,
               rows.size());
  if (left_out > 0) fmt::print("{} more submissions are not shown; --all grades every one\n", left_out);
  std::ptrdiff_t unclear = 0;
  for (const summary_row& row : rows)
    unclear += std::count_if(row.graded.items.begin(), row.graded.items.end(),
                             [](const item_result& i) { return i.verdict == verdict::inconclusive; });
  if (unclear > 0)
    fmt::print("{} items are INCONCLUSIVE because this machine was too noisy: grade again when it is quiet\n", unclear);
  s.show_report();
  return as_expected ? all_well : not_full_marks;
}

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
  options.pairs = 3;  // enough to detect code that is a hundred times too slow
  std::vector<std::string> chosen;
  for (const std::string& name : attacks_in(s.source / "autograder" / "attacks"))
    if (only.empty() || name.starts_with(only)) chosen.push_back(name);
  // Most of the time goes into compiling.
  const std::size_t fallen = side_by_side(jobs, chosen.size(), [&](std::size_t i) {
    const attack_outcome got = run_attack(s.source / "autograder" / "attacks" / chosen[i], s.source, options);
    fmt::print("{:5} {:40} {:5.1f} s\n{}", got.surprises.empty() ? "held" : "NOT", chosen[i], got.seconds,
               got.surprises);
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
  const std::size_t refused = side_by_side(jobs, chosen.size(), [&](std::size_t i) {
    std::string names;
    for (const fs::path& file : chosen[i].files)
      names += " " + fs::relative(file, s.source / "autograder" / "honest").string();
    std::string wrong = surprises_of(chosen[i], s.source, make, s.official());
    if (!wrong.empty()) {  // once more: a busy machine decides nothing
      fmt::print("again{}\n{}", names, wrong);
      wrong = surprises_of(chosen[i], s.source, make, s.official());
    }
    fmt::print("{:5}{}\n{}", wrong.empty() ? "fine" : "NOT", names, wrong);
    return wrong.empty();
  });
  fmt::print("{} files in {} submissions; {} submissions did not pass both gradings\n", files, chosen.size(), refused);
  return refused == 0 && !chosen.empty() ? all_well : not_full_marks;
}

struct mutant_options {
  std::string lab, file;
  std::optional<int> sample;
  bool no_sandbox = false;
  std::size_t jobs = 1;
};

/// Tries mutants of the solution, and lists those that no item noticed.
int mutants(const settings& s, const mutant_options& o) {
  const lab_folder lab = find_lab(s.source, o.lab);
  const submission solution = solution_of(s.source, lab);
  const std::uint64_t seed = s.local().seed;
  std::vector<mutant> all = mutants_of_lab(lab, solution);
  const std::size_t known = all.size();
  if (!o.file.empty()) std::erase_if(all, [&](const mutant& m) { return m.file != o.file; });
  if (o.sample) {  // a shuffle's beginning
    lab::random_sizes draw(seed);
    const std::size_t count = std::min(static_cast<std::size_t>(*o.sample), all.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(all[i], all[static_cast<std::size_t>(draw(static_cast<std::int64_t>(i), std::ssize(all) - 1))]);
    all.resize(count);
  }
  official_options options = s.official();
  options.unsafe = options.no_sandbox = o.no_sandbox;
  options.progress = [](const std::string&) {};
  const mutant none{read_rubric(lab).handin.front(), 0, 0, {}, 0, {}, {}};
  if (const mutant_outcome whole = try_mutant(lab, solution, none, {seed}, options); whole.survived.empty())
    throw std::runtime_error(
        fmt::format("the unchanged solution loses {}: is {}.staff built?", whole.lost, "lab" + lab.number));
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
      bool every = false, again = false;
      std::optional<int> jobs;
    };
    const auto o = std::make_shared<options>();
    CLI::App& demos = line.add(
        "demo", "grade the solution, the skeleton and a few wrong submissions, and check each against what is expected",
        [o, &s] { return demo(s, o->labs, o->every, o->again, o->jobs); });
    demos.add_option("labs,--lab", o->labs, "lab numbers [all]");
    demos.add_flag("--all", o->every, "grade every wrong submission");
    demos.add_flag("--again", o->again, "also grade what has not changed");
    add_jobs(demos, o->jobs,
             "submissions to grade at a time; timed items still run one at a time [one per core, up to 4; 1 with a "
             "GPU]");
  }
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
    slips.add_flag("--no-sandbox", o->no_sandbox, "run without a sandbox; the solution is trusted");
    add_jobs(slips, o->jobs, "mutants to try at a time [1]");
  }
}

}  // namespace grading
