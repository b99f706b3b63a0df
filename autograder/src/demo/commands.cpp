// The demo: do a lab's submissions get the expected results?
#include "commands/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "course/expectation.hpp"
#include "demo/expected.hpp"
#include "judge/local.hpp"
#include "report/terminal.hpp"
#include "student/progress.hpp"
#include "support/kept.hpp"
#include "support/side_by_side.hpp"

namespace grading {
namespace {

/// Without `every`, keeps only the wrong submissions with `demo = true`.
std::vector<submission> chosen_for_demo(const std::vector<submission>& all, bool every) {
  std::vector<submission> chosen;
  for (const submission& who : all)
    if (every || who.patch.empty() || read_expectation(who.patch).demo) chosen.push_back(who);
  return chosen;
}

int demo(const settings& s, const std::vector<std::string>& numbers, bool every, bool again,
         const std::optional<int>& jobs) {
  builder make(s.build);
  // With a GPU, each process takes gigabytes of GPU and host memory, so run one at a time unless asked for more.
  const int at_a_time =
      this_machine().contains("gpu") ? 1 : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  const auto processes = static_cast<std::size_t>(jobs.value_or(at_a_time));
  const std::vector<result> stored = again ? std::vector<result>{} : s.store().load();
  std::vector<summary_row> rows;
  bool as_expected = true;
  std::size_t unchanged = 0, unshown = 0, left_out = 0;
  const progress begun = read_progress(s.progress_file());
  for (const lab_folder& lab : s.labs(numbers)) {
    // Once a student has begun, the hand-in files are no longer a skeleton and may get any result.
    const auto differences = [&](const result& got, const submission& who) {
      return who.id == "student" && begun.contains(lab.name) ? "" : surprises_of(got, lab, who);
    };
    const std::vector<submission> known_ones = submissions_of(s.source, s.build, lab);
    const std::vector<submission> all = chosen_for_demo(known_ones, every);
    unshown += known_ones.size() - all.size();
    build_staff(lab, make);
    if (known_ones.front().id == "solution") build_others(lab, make);
    std::vector<std::size_t> fresh;
    std::vector<std::string> fingerprints;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string& fingerprint = fingerprints.emplace_back(fingerprint_of(lab, all[i], make));
      auto known = known_result(stored, lab, all[i], fingerprint);
      if (!known && !again)
        if (const auto kept = kept_outcome(fingerprint)) {
          known = result_from_json(*kept);
          s.store().merge({*known});
        }
      // An unexpected result may be due to noise: grade it again.
      if (!known || !differences(*known, all[i]).empty()) fresh.push_back(i);
    }
    unchanged += all.size() - fresh.size();
    std::vector<result> solved;  // the solution's, which comes first: wrong submissions share most of its files
    const auto grade_fresh = [&](std::size_t k) {
      const submission& who = all[fresh[k]];
      local_options options = s.local();
      options.locked = locked_for(s.progress_file(), lab, who);
      if (!solved.empty() && who.id != "student") {
        options.like = result_of(solved, lab.name, "solution");
        options.like_whose = &all.front();
      }
      const result got = grade_locally(lab, who, make, options);
      s.store().merge({got});  // at once, so that an interrupted run keeps its results
      if (!got.graded_from.empty() && differences(got, who).empty()) keep_outcome(got.graded_from, to_json(got));
      return true;
    };
    const bool has_solution = all.front().id == "solution";
    const bool solve = has_solution && !fresh.empty() && fresh.front() == 0;
    // The student's own files share nothing with the solution: they need not wait for its results.
    const std::size_t first = !solve ? 0 : fresh.size() > 1 && all[fresh[1]].id == "student" ? 2 : 1;
    if (side_by_side(processes, first, grade_fresh) != 0) return cannot;
    if (has_solution) solved = s.store().load(lab.name);
    // All others reuse the solution's results, noise included: grading it twice costs less than grading all again.
    if (solve && !differences(*result_of(solved, lab.name, "solution"), all.front()).empty()) {
      grade_fresh(0);
      solved = s.store().load(lab.name);
    }
    const auto while_there_is_time = [&](std::size_t k) { return time_is_up() || grade_fresh(first + k); };
    if (side_by_side(processes, fresh.size() - first, while_there_is_time) != 0) return cannot;
    const auto was_left_out = [&](const result* got, std::size_t i) {
      return time_is_up() && (!got || (!got->graded_from.empty() && got->graded_from != fingerprints[i]));
    };
    // Grade unexpected results again: on a busy machine they prove nothing.
    const std::vector<result> once = s.store().load(lab.name);
    for (std::size_t k = solve ? 1 : 0; k < fresh.size(); ++k) {
      const result* got = result_of(once, lab.name, all[fresh[k]].id);
      if (!got || was_left_out(got, fresh[k])) continue;
      const std::string surprise = differences(*got, all[fresh[k]]);
      if (surprise.empty()) continue;
      fmt::print("again {} {}\n{}", lab.number, all[fresh[k]].id, surprise);
      std::fflush(stdout);
      grade_fresh(k);
    }
    std::vector<std::string> ids;
    ids.reserve(known_ones.size());
    for (const submission& who : known_ones) ids.push_back(who.id);
    s.store().keep_only(lab.name, ids);
    const std::vector<result> graded = s.store().load(lab.name);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const submission& who = all[i];
      const result* r = result_of(graded, lab.name, who.id);
      if (was_left_out(r, i)) {
        ++left_out;
        continue;
      }
      if (!r)
        throw std::runtime_error(
            fmt::format("the result of lab {}'s {} is missing, although it was graded", lab.number, who.id));
      rows.push_back({*r, differences(*r, who)});
      as_expected = as_expected && rows.back().surprises.empty();
    }
  }
  fmt::print("\n{}", summary_table(rows, style_of_stdout()));
  fmt::print("graded {}, reused {}: {}\n", rows.size() - unchanged, unchanged,
             unchanged > 0 ? "nothing that decides them has changed; --again grades all" : "nothing was known");
  if (unshown > 0) fmt::print("{} more submissions are not shown; --all grades every one\n", unshown);
  if (left_out > 0) fmt::print("LEFT OUT: {} submissions; there is no time for them\n", left_out);
  std::ptrdiff_t unclear = 0;
  for (const summary_row& row : rows)
    unclear += std::count_if(row.graded.items.begin(), row.graded.items.end(),
                             [](const item_result& i) { return i.verdict == verdict::inconclusive; });
  if (unclear > 0)
    fmt::print("{} items are INCONCLUSIVE because this machine was too noisy: grade again when it is quiet\n", unclear);
  s.show_report();
  return as_expected ? all_well : not_full_marks;
}

}  // namespace

void add_demo_command(command_line& line) {
  const settings& s = line.common;
  struct options {
    std::vector<std::string> labs;
    bool every = false, again = false;
    std::optional<int> jobs;
  };
  const auto o = std::make_shared<options>();
  CLI::App& demos = line.add(
      "demo", "grade the solution, your own files and a few wrong submissions, and check each against what is expected",
      [o, &s] { return demo(s, o->labs, o->every, o->again, o->jobs); });
  demos.footer("Writes build/report/results and build/report/index.html.");
  demos.add_option("labs,--lab", o->labs, "lab numbers [all]");
  demos.add_flag("--all", o->every, "grade every wrong submission");
  demos.add_flag("--again", o->again, "also grade what has not changed");
  add_jobs(demos, o->jobs,
           "submissions to grade at a time; timed items still run one at a time [one per core, up to 4; 1 with a "
           "GPU]");
}

}  // namespace grading
