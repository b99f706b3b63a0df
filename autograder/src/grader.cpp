// The judge's command line. Links every lab's cases and no submission.
#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <functional>
#include <sstream>
#include <thread>

#include "class/batch.hpp"
#include "class/class_report.hpp"
#include "class/exporters.hpp"
#include "course/handout.hpp"
#include "course/names.hpp"
#include "judge/local.hpp"
#include "judge/official.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "sandbox/sandbox.hpp"
#include "staff/attacks.hpp"
#include "staff/expected.hpp"
#include "staff/honest.hpp"
#include "staff/lab_check.hpp"
#include "staff/mutants.hpp"
#include "staff/scoreboard.hpp"
#include "student/progress.hpp"
#include "student/watch.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/toml.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

constexpr int all_well = 0, not_full_marks = 1, cannot = 2, skipped = 77;

struct settings {
  fs::path source = LAB_SOURCE_DIR, build = LAB_BINARY_DIR;
  std::optional<std::uint64_t> seed;
  int timeout = 10;
  std::int64_t budget = official_options{}.budget.count();
  std::string lab, submission = "student", only;
  std::vector<std::string> labs;
  std::vector<fs::path> paths;
  fs::path result_file, book, report, first;
  fs::path gradebook, output = ".";
  std::string format, column, key, bridge;
  std::string round, executor = "local", slurm;
  std::optional<int> jobs, sample;
  std::vector<std::string> items;
  bool write = false, again = false, unsafe = false, no_sandbox = false, show = false;

  fs::path book_or_usual() const { return book.empty() ? fs::path("grades.sqlite") : book; }
  fs::path progress_file() const { return source / "progress.toml"; }
  fs::path report_folder() const { return report.empty() ? build / "report" : report; }
  result_store store() const { return {report_folder() / "results.json"}; }
  local_options options() const {
    local_options result;
    result.seed = seed.value_or(1);
    result.drawn = seed.has_value();
    result.sim_limit = std::chrono::seconds(timeout);
    if (isatty(STDERR_FILENO))
      result.progress = [](const std::string& what) { fmt::print(stderr, "\r\033[K{}", what); };
    return result;
  }
  std::vector<lab_folder> chosen_labs() const {
    if (labs.empty()) return labs_in(source);
    std::vector<lab_folder> result;
    for (const std::string& name : labs) result.push_back(find_lab(source, name));
    return result;
  }
};

/// Keeps the results and renders the report; a failure to write is reported, but loses no result.
void keep(const settings& s, const std::vector<result>& fresh) {
  s.store().merge(fresh);
  fmt::print("report: {}\n", write_report(s.store(), s.source, s.report_folder()).string());
}

/// Enters the student's own result into the progress file; a failure to write is reported, but loses no result.
void enter_progress(const settings& s, const result& r) {
  if (r.submission != "student") return;
  try {
    progress all = read_progress(s.progress_file());
    note(all[r.lab], r);
    write_progress(s.progress_file(), all);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}

/// A student's own predictions are locked before they are graded for the first time; those of the course's submissions
/// never are.
local_options options_for(const settings& s, const lab_folder& lab, const submission& who) {
  local_options options = s.options();
  if (who.id == "student")
    options.locked = lock_predictions(s.progress_file(), lab.name, read_rubric(lab), who.file("predictions.toml"));
  return options;
}

/// Null where that submission is not among them.
const result* result_of(const std::vector<result>& all, const std::string& lab, const std::string& submission) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const result& r) { return r.lab == lab && r.submission == submission; });
  return found == all.end() ? nullptr : &*found;
}

/// Prints how the submission differs from its base.
int show_difference(const lab_folder& lab, const submission& who, const std::vector<submission>& all) {
  if (who.expected.empty())
    throw input_error(fmt::format("--show is for right and wrong submissions, which have a base; {} has none", who.id));
  const expectation expected = read_expectation(who.expected);
  const submission& base = submission_named(all, expected.base, lab);
  fmt::print("{}: {}\n", who.id, expected.story);
  for (const std::string& name : read_rubric(lab).handin) {
    const int code = run_command(fmt::format("diff -up --color=auto --label {} --label {} {} {}",
                                             quoted(base.id + "/" + name), quoted(who.id + "/" + name),
                                             quoted(base.file(name).string()), quoted(who.file(name).string())));
    if (code > 1) throw std::runtime_error("diff failed");
  }
  return all_well;
}

int grade_lab(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  const std::vector<submission> all = submissions_of(s.source, s.build, lab);
  const submission& who = submission_named(all, s.submission, lab);
  builder make(s.build);
  build_staff(lab, make);
  if (s.show) return show_difference(lab, who, all);
  local_options options = options_for(s, lab, who);
  options.second_seed = true;
  const std::vector<result> stored = s.store().load();
  const result r = grade_locally(lab, who, make, options);
  const terminal_style style = style_of_stdout();
  fmt::print("{}", laid_out(r, style, result_of(stored, lab.name, who.id)));
  if (who.id == "student") fmt::print("{}", wrapped(after_the_lock(r, lab.path), 0, style.width));
  keep(s, {r});
  enter_progress(s, r);
  return r.score() >= r.out_of() - 1e-6 ? all_well : not_full_marks;
}

std::string surprises_of(const result& r, const lab_folder& lab, const submission& who) {
  if (who.id == "solution") return surprises_of_solution(r) + stale_answers(r, read_rubric(lab));
  if (who.id == "student") return surprises_of_skeleton(r);
  return surprises(r, read_expectation(who.expected));
}

/// The stored result, if nothing that decides it has changed since and noise did not decide it.
std::optional<result> known_result(const std::vector<result>& stored, const lab_folder& lab, const submission& who,
                                   builder& make) {
  const result* found = result_of(stored, lab.name, who.id);
  if (!found || found->graded_from.empty() || found->graded_from != fingerprint_of(lab, who, make)) return {};
  const bool noisy = std::any_of(found->items.begin(), found->items.end(),
                                 [](const item_result& i) { return i.verdict == verdict::inconclusive; });
  return noisy ? std::nullopt : std::optional(*found);
}

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
    std::_Exit(0);
  }
  for (const pid_t child : children) wait_for_end(child);
  const std::size_t fine = all.fine;
  munmap(shared, sizeof(tally));
  return count - fine;
}

int demo(const settings& s) {
  builder make(s.build);
  // With a GPU each process takes gigabytes of its memory and of the host's, so more than one must be requested.
  const int at_a_time =
      this_machine().contains("gpu") ? 1 : static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u));
  const auto processes = static_cast<std::size_t>(s.jobs.value_or(at_a_time));
  const std::vector<result> stored = s.again ? std::vector<result>{} : s.store().load();
  std::vector<summary_row> rows;
  bool as_expected = true;
  std::size_t unchanged = 0;
  for (const lab_folder& lab : s.chosen_labs()) {
    const std::vector<submission> all = submissions_of(s.source, s.build, lab);
    build_staff(lab, make);
    std::vector<std::size_t> fresh;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto known = known_result(stored, lab, all[i], make);
      // What did not come to what is expected may have been the machine's noise.
      if (!known || !surprises_of(*known, lab, all[i]).empty()) fresh.push_back(i);
    }
    unchanged += all.size() - fresh.size();
    std::vector<result> solved;  // by the solution, first of all: the wrong ones share most of its files
    const auto grade_fresh = [&](std::size_t k) {
      const submission& who = all[fresh[k]];
      local_options options = options_for(s, lab, who);
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
    if (has_solution) solved = s.store().load();
    if (side_by_side(processes, fresh.size() - first, [&](std::size_t k) { return grade_fresh(first + k); }) != 0)
      return cannot;
    std::vector<std::string> ids;
    ids.reserve(all.size());
    for (const submission& who : all) ids.push_back(who.id);
    s.store().keep_only(lab.name, ids);
    const std::vector<result> graded = s.store().load();
    for (const submission& who : all) {
      const result* r = result_of(graded, lab.name, who.id);
      if (!r)
        throw std::runtime_error(
            fmt::format("the result of lab {}'s {} is missing, although it was graded", lab.number, who.id));
      rows.push_back({*r, surprises_of(*r, lab, who)});
      as_expected = as_expected && rows.back().surprises.empty();
    }
  }
  fmt::print("\n{}", summary_table(rows, style_of_stdout()));
  if (unchanged > 0)
    fmt::print("{} of {} have not changed since they were graded; --again grades all of them\n", unchanged,
               rows.size());
  std::ptrdiff_t unclear = 0;
  for (const summary_row& row : rows)
    unclear += std::count_if(row.graded.items.begin(), row.graded.items.end(),
                             [](const item_result& i) { return i.verdict == verdict::inconclusive; });
  if (unclear > 0)
    fmt::print("{} items are INCONCLUSIVE because this machine was too noisy: grade again when it is quiet\n", unclear);
  keep(s, {});
  return as_expected ? all_well : not_full_marks;
}

int watch_lab(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  builder make(s.build);
  make.quiet = true;
  fmt::print("watching the hand-in files in {}; save one to grade again\n",
             fs::relative(lab.handin(), s.source).string());
  std::fflush(stdout);
  watch_settings w{s.source, s.progress_file(), s.store(), s.options(), {}};
  w.first = known_result(s.store().load(), lab, student_of(lab), make);
  return watch(lab, make, std::move(w)) ? all_well : not_full_marks;
}

/// The last grading of the student's own files.
result last_of_student(const settings& s, const lab_folder& lab) {
  const std::vector<result> all = s.store().load();
  if (const result* r = result_of(all, lab.name, "student")) return *r;
  throw input_error(
      fmt::format("lab {} has not been graded yet, so there is nothing to give a hint for; run ./course lab {}",
                  lab.number, lab.number));
}

int give_hint(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  const result r = last_of_student(s, lab);
  const item_result* chosen = next_item(r);
  std::string ids;
  for (const item_result& i : r.items) {
    ids += " " + i.id;
    if (i.id == s.only) chosen = &i;
  }
  if (!s.only.empty() && (!chosen || chosen->id != s.only))
    throw input_error(fmt::format("lab {} has no item {}; there are:{}", lab.number, s.only, ids));
  if (!chosen) {
    fmt::print("lab {}: no item lost points in the last grading\n", lab.number);
    return all_well;
  }
  const terminal_style style = style_of_stdout();
  progress all = read_progress(s.progress_file());
  fmt::print("{}{}", one_item(*chosen, style), wrapped(next_hint(all[lab.name], *chosen), 0, style.width));
  write_progress(s.progress_file(), all);
  return all_well;
}

std::vector<lab_title> titles(const settings& s) {
  std::vector<lab_title> result;
  for (const lab_folder& lab : labs_in(s.source)) result.push_back({lab.name, read_rubric(lab).title});
  return result;
}

int list(const settings& s) {
  const terminal_style style = style_of_stdout();
  fmt::print("{}", progress_table(read_progress(s.progress_file()), titles(s), style.width, style.colours));
  return all_well;
}

int next(const settings& s) {
  const progress all = read_progress(s.progress_file());
  const lab_title* first_untouched = nullptr;
  const lab_title* latest = nullptr;  // of those that were begun and are not passed
  const std::vector<lab_title> labs = titles(s);
  for (const lab_title& lab : labs) {
    const auto found = all.find(lab.name);
    if (found == all.end())
      first_untouched = first_untouched ? first_untouched : &lab;
    else if (!found->second.next.empty() && (!latest || found->second.last > all.at(latest->name).last))
      latest = &lab;
  }
  if (const lab_title* lab = latest ? latest : first_untouched) {
    const std::string number = lab->name.substr(0, 2);
    fmt::print("lab {}, {}\n", number, lab->title);
    if (latest)
      fmt::print("  next: {}; ./course watch {}, and ./course hint {} if you are stuck\n", all.at(lab->name).next,
                 number, number);
    else
      fmt::print("  read labs/{}/README.md, fill in handin/predictions.toml, then run ./course watch {}\n", lab->name,
                 number);
  } else {
    fmt::print("you have passed all labs\n");
  }
  return all_well;
}

int reset(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  // ./course keeps the commit that the student began with in refs/course/start.
  const std::string git = "git -C " + quoted(s.source.string());
  std::istringstream files(
      output_of(fmt::format("{} ls-tree --name-only refs/course/start labs/{}/handin/ 2>/dev/null", git, lab.name)));
  std::map<std::string, std::string> skeleton;
  for (std::string file; std::getline(files, file);)
    skeleton[fs::path(file).filename().string()] =
        output_of(fmt::format("{} show {} 2>/dev/null", git, quoted("refs/course/start:" + file)));
  if (skeleton.empty() && !output_of(git + " rev-parse -q --verify refs/course/start 2>/dev/null").empty())
    throw input_error(
        fmt::format("the course as you began with it has no labs/{}/handin; to reset to a newer version, name its "
                    "commit first: git update-ref refs/course/start COMMIT",
                    lab.name));
  std::string time = now_rfc3339().substr(0, 19);
  std::replace(time.begin(), time.end(), ':', '-');
  const fs::path backup = s.source / "backups" / (lab.name + "-" + time);
  for (const std::string& line : reset_files(lab.handin(), skeleton, backup)) fmt::print("{}\n", line);
  if (fs::exists(backup)) fmt::print("your files are kept in {}\n", fs::relative(backup, s.source).string());
  return all_well;
}

/// Brings a file up to date, or complains that it is not.
void keep_current(const settings& s, const fs::path& file, const std::string& should_be, const char* what) {
  if (text_of(file) == should_be) return;
  if (!s.write)
    throw input_error(fmt::format("{}: {}; run grader check --write", fs::relative(file, s.source).string(), what));
  replace_file(file, should_be);
}

/// The solution's values for the predictions that the rubric asks for.
std::map<std::string, double> answers_of_solution(const settings& s, const lab_folder& lab, const rubric& rules,
                                                  const submission& solution) {
  local_options options = s.options();
  for (const item& i : rules.items)
    if (i.kind == item_kind::predictions) options.items.insert(i.id);
  if (options.items.empty()) return {};
  builder make(s.build);
  build_staff(lab, make);
  const result r = grade_locally(lab, solution, make, options);
  std::map<std::string, double> answers;
  for (const item& i : rules.items)
    for (const prediction& p : i.predict) {
      if (p.measured) continue;
      for (const item_result& got : r.items)
        for (const prediction_result& one : got.predictions)
          // The model's times differ in their last bits.
          if (one.key == p.key && one.seen) answers[p.key] = std::stod(fmt::format("{:.9g}", *one.seen));
      if (!answers.contains(p.key)) throw input_error(p.key + ": the solution gives no value");
    }
  return answers;
}

int check(const settings& s) {
  bool fine = true;
  std::vector<rubric> read;
  for (const lab_folder& lab : s.chosen_labs()) {
    try {
      rubric rules = read_rubric(lab);
      fmt::print("lab {}: {} items, 100 points\n", lab.number, rules.items.size());
      const std::vector<submission> all = submissions_of(s.source, s.build, lab);
      if (s.write && all.front().id == "solution") {
        const std::map<std::string, double> answers = answers_of_solution(s, lab, rules, all.front());
        if (!answers.empty()) replace_file(lab.judge() / "answers.toml", answers_text(answers));
        rules = read_rubric(lab);
      }
      const fs::path handout = lab.path / "README.md";
      keep_current(s, handout, with_grading_table(text_of(handout), rules),
                   "the grading table does not match the rubric");
      keep_current(s, handout, with_handin_list(text_of(handout), rules.handin),
                   "the list of hand-in files is not that of handin/");
      check_lab(lab, rules, all);
      if (all.front().id == "solution") mutants_of_lab(lab, all.front());  // throws where its list is out of date
      read.push_back(std::move(rules));
    } catch (const std::exception& error) {
      fmt::print(stderr, "lab {}: {}\n", lab.number, error.what());
      fine = false;
    }
  }
  if (const fs::path readme = s.source / "README.md", way = s.source / "labs" / "README.md";
      fine && s.labs.empty() && fs::exists(readme) && fs::exists(way)) {
    try {
      keep_current(s, readme, with_questions(text_of(readme), read), "the table of labs is not that of their rubrics");
      keep_current(s, way, with_way(text_of(way), read), "the table of labs is not that of their rubrics");
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      fine = false;
    }
  }
  const fs::path board = s.source / "solutions" / "README.md";
  if (s.labs.empty() && fs::exists(board)) {
    try {
      keep_current(s, board, with_generated(text_of(board), "scoreboard", scoreboard(s.source)),
                   "the scoreboard does not match the results");
    } catch (const std::exception& error) {
      fmt::print(stderr, "scoreboard: {}\n", error.what());
      fine = false;
    }
  }
  return fine ? all_well : cannot;
}

official_options official_of(const settings& s) {
  official_options result;
  result.build = s.build;
  result.unsafe = s.unsafe || s.no_sandbox;
  result.no_sandbox = s.no_sandbox;
  result.call_limit = std::chrono::seconds(s.timeout);
  result.budget = std::chrono::seconds(s.budget);
  result.progress = s.options().progress;
  return result;
}

constexpr int again_elsewhere = 75;  // EX_TEMPFAIL: the machine failed, not the submission

/// One submission; with --result for a batch, which reads that file and nothing else.
int grade_one(const settings& s) {
  if (first_not_utf8(s.submission) != std::string::npos) throw input_error("--id is not UTF-8: no result can hold it");
  const lab_folder lab = find_lab(s.source, s.lab);
  official_options options = official_of(s);
#ifdef LAB_HAS_CUDA
  options.device = this_gpu();
#endif
  options.items.insert(s.items.begin(), s.items.end());
  if (!s.first.empty()) {
    const toml::table all = toml_from(text_of(s.first), s.first.filename().string());
    if (const toml::table* own = all[s.submission].as_table()) options.locked = locked_in(*own);
  }
  const result r = grade_officially(lab, s.submission, s.paths.front(), options);
  if (s.result_file.empty())
    fmt::print("{}", laid_out(r, style_of_stdout()));
  else
    replace_file(s.result_file, to_json(r));
  return r.outcome == outcome::infra_error ? again_elsewhere : all_well;
}

std::vector<batch_job> jobs_of(const settings& s, const lab_folder& lab) {
  const rubric rules = read_rubric(lab);
  submissions_found found = submissions_at(s.paths, rules.handin);
  for (const std::string& what : found.skipped) fmt::print("skipped: {}\n", what);
  if (found.jobs.empty()) throw input_error("no submission in " + s.paths.front().string());
  for (batch_job& job : found.jobs)
    job.key = {lab.name, job.id, take_in(job.from, rules.handin).sha256, rules.version, s.round};
  return found.jobs;
}

/// For the workers: of each student the first complete set of predictions that any official grading saw.
void write_first_predictions(const settings& s, const lab_folder& lab, const fs::path& file) {
  const auto first = first_complete(grade_book(s.book_or_usual()).history(lab.name), read_rubric(lab));
  toml::table document;
  for (const auto& [id, locked] : first) {
    toml::table student;
    add_to(student, locked);
    document.insert(id, student);
  }
  std::ostringstream text;
  text << document << "\n";
  replace_file(file, text.str());
}

int grade_class(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  if (!sandbox_obstacle().empty() && !s.unsafe)
    throw input_error("official grading needs a sandbox: " + sandbox_obstacle() +
                      "; or pass --unsafe for code that you trust");
  builder make(s.build);
  build_staff(lab, make);
  batch_options options;
  options.book = s.book_or_usual();
  options.jobs = s.jobs.value_or(1);
  options.round = s.round;
  options.slurm = s.executor == "slurm";
  options.slurm_options = s.slurm;
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const fs::path first = fs::absolute(spool_of(options.book, options.round)) / "first_predictions.toml";
  write_first_predictions(s, lab, first);
  options.worker = [&](const batch_job& job, const fs::path& result) {
    std::vector<std::string> words{self,        "one",
                                   lab.number,  job.from.string(),
                                   "--id",      job.id,
                                   "--result",  fs::absolute(result).string(),
                                   "--first",   first.string(),
                                   "--source",  s.source.string(),
                                   "--build",   s.build.string(),
                                   "--budget",  std::to_string(s.budget),
                                   "--timeout", std::to_string(s.timeout)};
    if (s.unsafe) words.emplace_back("--unsafe");
    return words;
  };
  const bool terminal = isatty(STDERR_FILENO);
  options.progress = [terminal, last = std::string()](const std::string& what) mutable {
    if (std::exchange(last, what) == what) return;
    fmt::print(stderr, "{}{}{}", terminal ? "\r\033[K" : "", what, terminal ? "" : "\n");
  };
  const batch_summary done = run_batch(jobs_of(s, lab), options);
  if (terminal) fmt::print(stderr, "\r\033[K");
  fmt::print("{} graded in {:.0f} s, {} already graded, {} failed; the grades are in {}\n", done.graded, done.seconds,
             done.known, done.failed.size(), options.book.string());
  for (const std::string& why : done.failed) fmt::print("failed: {}\n", why);
  return done.failed.empty() ? all_well : not_full_marks;
}

int export_grades(const settings& s) {
  export_options options;
  if (!s.gradebook.empty()) options.canvas_gradebook = text_of(s.gradebook);
  options.canvas_column = s.column;
  options.canvas_key = s.key;
  std::vector<result> results;
  if (s.result_file.empty()) {
    const fs::path book = s.book_or_usual();
    if (!fs::exists(book)) throw input_error("no grade book " + book.string() + "; name one with --store FILE");
    results = grade_book(book).that_count();
  } else {
    results.push_back(result_from_json(text_of(s.result_file)));
  }
  if (!s.lab.empty()) {
    const lab_folder lab = find_lab(s.source, s.lab);
    std::erase_if(results, [&](const result& r) { return r.lab != lab.name; });
    if (results.empty()) throw input_error("no result for lab " + lab.number);
  }
  options.remark = [](const std::string& what) { fmt::print(stderr, "note: {}\n", what); };
  for (const auto& [name, text] : exported(s.format, results, options)) {
    replace_file(s.output / name, text);
    fmt::print("{}\n", (s.output / name).string());
  }
  return all_well;
}

/// The autograder that Gradescope unpacks: its two scripts at the root, the course without solutions beside them.
int gradescope_zip(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  const temporary_folder place("gradescope");
  const fs::path& staging = place.path();
  for (const char* part : {"autograder", "common", "labs", "course", "CMakeLists.txt", "CMakePresets.json", "LICENSE"})
    fs::copy(s.source / part, staging / part, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const char* part : {"attacks", "honest"}) fs::remove_all(staging / "autograder" / part);
  for (const char* script : {"setup.sh", "run_autograder"})
    fs::copy_file(s.source / "autograder" / "gradescope" / script, staging / script);
  replace_file(staging / "lab", lab.number + "\n");
  std::string names = "lab";
  if (!s.bridge.empty()) {
    replace_file(staging / "bridge", s.bridge + "\n");
    names += " bridge";
  }
  const fs::path zip = fs::absolute(s.output / ("gradescope-lab" + lab.number + ".zip"));
  fs::create_directories(zip.parent_path());
  const int code = run_command(fmt::format(
      "cd {} && cmake -E tar cf {} --format=zip setup.sh run_autograder autograder common labs course CMakeLists.txt "
      "CMakePresets.json LICENSE {}",
      grading::quoted(staging.string()), grading::quoted(zip.string()), names));
  if (code != 0) throw std::runtime_error("cmake -E tar failed; is there disk space for " + zip.string() + "?");
  fmt::print("{}\n", zip.string());
  return all_well;
}

int attacks(const settings& s) {
  if (!sandbox_obstacle().empty()) {
    fmt::print("SKIPPED: {}\n", sandbox_obstacle());
    return skipped;
  }
  official_options options = official_of(s);
  options.call_limit = std::chrono::seconds(5);
  options.budget = std::chrono::seconds(20);
  options.build_limit = std::chrono::seconds(20);
  options.memory = std::size_t{1} << 30;
  options.pairs = 3;  // enough to detect code that is a hundred times too slow
  std::vector<std::string> chosen;
  for (const std::string& name : attacks_in(s.source / "autograder" / "attacks"))
    if (s.only.empty() || name.starts_with(s.only)) chosen.push_back(name);
  // Most of the time goes into compiling.
  const std::size_t fallen =
      side_by_side(static_cast<std::size_t>(s.jobs.value_or(1)), chosen.size(), [&](std::size_t i) {
        const attack_outcome got = run_attack(s.source / "autograder" / "attacks" / chosen[i], s.source, options);
        fmt::print("{:5} {:40} {:5.1f} s\n{}", got.surprises.empty() ? "held" : "NOT", chosen[i], got.seconds,
                   got.surprises);
        return got.surprises.empty();
      });
  fmt::print("{} of {} attacks got the required verdict\n", chosen.size() - fallen, chosen.size());
  return fallen == 0 && !chosen.empty() ? all_well : not_full_marks;
}

int honest(const settings& s) {
  if (!sandbox_obstacle().empty()) {
    fmt::print("SKIPPED: {}\n", sandbox_obstacle());
    return skipped;
  }
  builder make(s.build);
  make.quiet = true;
  std::vector<honest_submission> chosen;
  for (honest_submission& who : honest_in(s.source, s.source / "autograder" / "honest"))
    if (std::any_of(who.files.begin(), who.files.end(),
                    [&](const fs::path& file) { return file.filename().string().starts_with(s.only); }))
      chosen.push_back(std::move(who));
  std::size_t files = 0;
  std::set<std::string> built;
  for (const honest_submission& who : chosen) {
    files += who.files.size();
    if (built.insert(who.lab.name).second) build_staff(who.lab, make);
  }
  const std::size_t refused =
      side_by_side(static_cast<std::size_t>(s.jobs.value_or(1)), chosen.size(), [&](std::size_t i) {
        std::string names;
        for (const fs::path& file : chosen[i].files)
          names += " " + fs::relative(file, s.source / "autograder" / "honest").string();
        const std::string wrong = surprises_of(chosen[i], s.source, make, official_of(s));
        fmt::print("{:5}{}\n{}", wrong.empty() ? "fine" : "NOT", names, wrong);
        return wrong.empty();
      });
  fmt::print("{} files in {} submissions; {} submissions did not pass both gradings\n", files, chosen.size(), refused);
  return refused == 0 && !chosen.empty() ? all_well : not_full_marks;
}

/// Tries mutants of the solution, and lists those that no item noticed.
int mutants(const settings& s) {
  const lab_folder lab = find_lab(s.source, s.lab);
  const submission solution = solution_of(s.source, lab);
  const std::uint64_t seed = s.options().seed;
  std::vector<mutant> all = mutants_of_lab(lab, solution);
  const std::size_t known = all.size();
  if (!s.only.empty()) std::erase_if(all, [&](const mutant& m) { return m.file != s.only; });
  if (s.sample) {  // a shuffle's beginning
    lab::random_sizes draw(seed);
    const std::size_t count = std::min(static_cast<std::size_t>(*s.sample), all.size());
    for (std::size_t i = 0; i < count; ++i)
      std::swap(all[i], all[static_cast<std::size_t>(draw(static_cast<std::int64_t>(i), std::ssize(all) - 1))]);
    all.resize(count);
  }
  official_options options = official_of(s);
  options.progress = [](const std::string&) {};
  const mutant none{read_rubric(lab).handin.front(), 0, 0, {}, 0, {}, {}};
  if (const mutant_outcome whole = try_mutant(lab, solution, none, {seed}, options); whole.survived.empty())
    throw std::runtime_error(
        fmt::format("the unchanged solution loses {}: is {}.staff built?", whole.lost, "lab" + lab.number));
  const std::size_t survivors =
      side_by_side(static_cast<std::size_t>(s.jobs.value_or(1)), all.size(), [&](std::size_t i) {
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

int report(const settings& s) {
  if (s.book.empty()) {
    keep(s, {});
  } else {
    if (!fs::exists(s.book)) throw input_error("no grade book " + s.book.string());
    const fs::path folder = s.output == "." ? s.report_folder() / "class" : s.output;
    fmt::print("report: {}\n", write_class_report(grade_book(s.book).that_count(), s.source, folder).string());
  }
  return all_well;
}

/// Reads the command line and does what it says; returns the exit code.
int run(int argc, char** argv) {
  settings s;
  CLI::App app("Grades labs: what the code computes, what it moves, how fast it runs.");
  app.require_subcommand(1);
  app.fallthrough();
  app.add_option("--source", s.source, "source tree")->check(CLI::ExistingDirectory)->capture_default_str();
  app.add_option("--build", s.build, "build directory")->check(CLI::ExistingDirectory)->capture_default_str();
  app.add_option("--report", s.report,
                 "folder for results.json and the report's pages [report/ in the build directory]");
  app.add_option("--seed", s.seed,
                 "seed for all inputs; also adds random sizes to the usual ones [seed 1, usual sizes only]");
  app.add_option("--timeout", s.timeout, "time limit in seconds for one call, on the host or on the simulated device")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();

  int (*chosen)(const settings&) = nullptr;
  const auto add = [&](const char* name, const char* help, int (*run)(const settings&)) {
    CLI::App* command = app.add_subcommand(name, help);
    command->callback([&chosen, run] { chosen = run; });
    return command;
  };
  const auto add_jobs = [&](CLI::App* command, const char* help) {
    command->add_option("--jobs", s.jobs, help)->check(CLI::Range(1, 1000));
  };
  CLI::App* lab = add("lab", "build and grade one submission of a lab, by default your own files", grade_lab);
  lab->add_option("lab", s.lab, "lab number, such as 03")->required();
  lab->add_option("--submission", s.submission, "student, solution, right-<how> or wrong-<why>")->capture_default_str();
  lab->add_flag("--show", s.show,
                "print how a submission differs from its base (for a wrong one: its mistake); do not grade");
  CLI::App* watches = add("watch", "grade your own files of a lab each time you save one", watch_lab);
  watches->add_option("lab", s.lab, "lab number, such as 03")->required();
  CLI::App* hints = add("hint", "give the next hint for an item that lost points", give_hint);
  hints->add_option("lab", s.lab, "lab number, such as 03")->required();
  hints->add_option("item", s.only, "an item of the lab; default: the first that lost points");
  add("list", "list all labs and your progress", list);
  add("next", "say what to work on next", next);
  CLI::App* resets = add("reset", "restore a lab's original hand-in files; yours are kept in backups/", reset);
  resets->add_option("lab", s.lab, "lab number, such as 03")->required();
  CLI::App* demos = add(
      "demo", "grade the solution, the skeleton and every wrong submission, and check each against its expected result",
      demo);
  demos->add_option("labs,--lab", s.labs, "lab numbers [all]");
  demos->add_flag("--again", s.again, "also grade what has not changed");
  add_jobs(demos,
           "submissions to grade at a time; timed items still run one at a time [one per core, up to 4; 1 with a GPU]");
  CLI::App* checks = add("check", "check rubrics, handouts, expected results and the scoreboard for mistakes", check);
  checks->add_option("labs,--lab", s.labs, "lab numbers [all]");
  checks->add_flag("--write", s.write,
                   "update the handouts' grading tables, the answers to predictions and the scoreboard");
  CLI::App* one = add("one", "grade one submission officially, from a folder or an archive", grade_one);
  one->add_option("lab", s.lab, "lab number, such as 03")->required();
  one->add_option("path", s.paths, "folder, .zip, .tar or .tar.gz")->required()->expected(1);
  one->add_option("--id", s.submission, "who handed it in")->capture_default_str();
  CLI::Option* to_file =
      one->add_option("--result", s.result_file, "file for the result as JSON, instead of the table");
  one->add_option("--first", s.first, "file that `grade` writes: each student's first predictions")
      ->check(CLI::ExistingFile);
  one->add_option("--item", s.items, "grade only this item, for inspection; may be repeated")->excludes(to_file);
  one->add_flag("--no-sandbox", s.no_sandbox,
                "run as on a platform without a sandbox, such as Gradescope's containers");
  CLI::App* grades =
      add("grade", "grade a class officially: every submission (folder or archive) in a folder", grade_class);
  grades->add_option("paths", s.paths, "folders of submissions, or submissions")->required()->check(CLI::ExistingPath);
  grades->add_option("--lab", s.lab, "lab number, such as 03")->required();
  grades->add_option("--store", s.book, "grade book [grades.sqlite]");
  add_jobs(grades, "submissions to grade at a time; timed items still run one at a time [1]");
  grades->add_option("--round", s.round,
                     "name of a round, which grades everything again; the round 'deadline' decides the grade");
  grades->add_option("--executor", s.executor, "local or slurm")->check(CLI::IsMember({"local", "slurm"}));
  grades->add_option("--slurm", s.slurm, "more options for sbatch, such as \"--gpus=1 --constraint=h200\"");
  CLI::App* exports = add("export", "write the grades that count in the format of another system", export_grades);
  exports->add_option("--format", s.format, "format to write")->required()->check(CLI::IsMember(export_formats()));
  exports->add_option("--store", s.book, "grade book [grades.sqlite]");
  exports->add_option("--lab", s.lab, "only this lab's results, 03");
  exports->add_option("--result", s.result_file, "a single result, instead of a grade book")->check(CLI::ExistingFile);
  exports->add_option("--output", s.output, "folder to write to")->capture_default_str();
  exports->add_option("--gradebook", s.gradebook, "canvas: the gradebook exported from Canvas")
      ->check(CLI::ExistingFile);
  exports->add_option("--column", s.column, "canvas: how the name of the assignment's column begins");
  exports->add_option("--key", s.key,
                      "canvas: column that the submissions are named after [the one that matches most]");
  CLI::App* scope = add("gradescope-zip", "build the autograder to upload to Gradescope", gradescope_zip);
  scope->add_option("lab", s.lab, "lab number, such as 03")->required();
  scope->add_option("--output", s.output, "folder to write to")->capture_default_str();
  scope->add_option("--bridge", s.bridge,
                    "GPU labs: command that grades elsewhere; called with the lab, the submission and the result file");
  for (CLI::App* command : {one, grades}) {
    command->add_flag("--unsafe", s.unsafe, "grade without a sandbox if there is none");
    command
        ->add_option("--budget", s.budget,
                     "total time in seconds for all calls of one submission; the remaining items are TIMEOUT")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
  }
  CLI::App* hostile = add("attacks", "run every attack on the grader, and check that it fails", attacks);
  hostile->add_option("--only", s.only, "only attacks whose name begins with this, such as 60");
  add_jobs(hostile, "attacks to run at a time; timed items still run one at a time [1]");
  CLI::App* ordinary =
      add("honest", "grade honest submissions in many styles, officially and locally, and check that all pass", honest);
  ordinary->add_option("--only", s.only, "only submissions with a file whose name begins with this");
  add_jobs(ordinary, "submissions to grade at a time [1]");
  CLI::App* slips = add(
      "mutants", "make many copies of a solution with one slip each, and list the slips that lose no points", mutants);
  slips->add_option("lab", s.lab, "lab number, such as 03")->required();
  slips->add_option("--file", s.only, "only mutants of this file");
  slips->add_option("--sample", s.sample, "try this many, chosen at random by --seed")->check(CLI::PositiveNumber);
  slips->add_flag("--no-sandbox", s.no_sandbox, "run without a sandbox; the solution is trusted");
  add_jobs(slips, "mutants to try at a time [1]");
  CLI::App* reports = add("report", "render the report again, from stored results or from a grade book", report);
  reports->add_option("--store", s.book, "grade book: writes a page for the class and one for each submission");
  reports->add_option("--output", s.output, "folder for the grade book's pages [build/report/class]");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? all_well : cannot;
  }
  return chosen(s);
}

}  // namespace

int main(int argc, char** argv) {
  // Every timed call makes new inputs: keep their memory instead of returning and clearing it each time.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return cannot;
  }
}
