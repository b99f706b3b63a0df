// The commands for a class: official grading of one submission or all, exports and pages.
#include "commands/command_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <sstream>

#include "class/batch.hpp"
#include "class/class_report.hpp"
#include "class/exporters.hpp"
#include "judge/local.hpp"
#include "judge/official.hpp"
#include "report/terminal.hpp"
#include "sandbox/sandbox.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/names.hpp"
#include "support/status_line.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

constexpr int again_elsewhere = 75;  // EX_TEMPFAIL: the machine failed, not the submission

constexpr const char* usual_book = "grades.sqlite";

/// Options of official grading, for one submission or many.
struct official_flags {
  bool unsafe = false;
  std::int64_t budget = official_options{}.budget.count();

  void add_to(CLI::App& command) {
    command.add_flag("--unsafe", unsafe, "grade without a sandbox if there is none");
    command
        .add_option("--budget", budget,
                    "total time in seconds for all calls of one submission; the remaining items are TIMEOUT")
        ->check(CLI::Range(1, 86400))
        ->capture_default_str();
  }
};

struct one_options : official_flags {
  std::string lab, id = "student", pinned;
  std::vector<fs::path> path;
  fs::path result_file, first;
  std::vector<std::string> items;
  bool no_sandbox = false;
};

/// Grades one submission; --result is for a batch, which reads only that file.
int grade_one(const settings& s, const one_options& o) {
  if (first_not_utf8(o.id) != std::string::npos) throw input_error("--id is not UTF-8: no result can hold it");
  const lab_folder lab = find_lab(s.source, o.lab);
  official_options options = s.official();
  options.unsafe = o.unsafe || o.no_sandbox;
  options.no_sandbox = o.no_sandbox;
  options.budget = std::chrono::seconds(o.budget);
#ifdef LAB_HAS_CUDA
  options.device = this_gpu();
#endif
  options.items.insert(o.items.begin(), o.items.end());
  if (!o.first.empty()) {
    const toml::table all = toml_from(text_of(o.first), o.first.filename().string());
    if (const toml::table* own = all[o.id].as_table()) options.locked = locked_in(*own);
  }
  result r = grade_officially(lab, o.id, o.path.front(), options);
  if (!o.pinned.empty()) r.course_version = o.pinned;
  if (o.result_file.empty())
    fmt::print("{}", laid_out(r, style_of_stdout()));
  else
    replace_file(o.result_file, to_json(r));
  return r.outcome == outcome::infra_error ? again_elsewhere : all_well;
}

struct class_options : official_flags {
  std::string lab, round, executor = "local", slurm;
  std::vector<fs::path> paths;
  fs::path book = usual_book;
  int jobs = 1;
};

std::vector<batch_job> jobs_of(const class_options& o, const lab_folder& lab) {
  const rubric rules = read_rubric(lab);
  submissions_found found = submissions_at(o.paths, rules.handin);
  for (const std::string& what : found.skipped) fmt::print("skipped: {}\n", what);
  if (found.jobs.empty()) throw input_error("no submission in " + o.paths.front().string());
  for (batch_job& job : found.jobs)
    job.key = {lab.name, job.id, take_in(job.from, rules.handin).sha256, rules.version, o.round};
  return found.jobs;
}

/// Writes, for the workers, each student's first complete set of predictions in any official grading.
void write_first_predictions(const fs::path& book, const lab_folder& lab, const fs::path& file) {
  const auto first = first_complete(grade_book(book).history(lab.name));
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

int grade_class(const settings& s, const class_options& o) {
  const lab_folder lab = find_lab(s.source, o.lab);
  if (!sandbox_obstacle().empty() && !o.unsafe)
    throw input_error("official grading needs a sandbox: " + sandbox_obstacle() +
                      "; or pass --unsafe for code that you trust");
  const std::string pinned = pinned_version(o.book);
  if (const std::string unlike = unlike_the_pin(pinned, s.source); !unlike.empty())
    throw input_error(
        fmt::format("class.toml pins version {} of the course, and {}: run ./course update --to {}, or change the pin",
                    pinned, unlike, pinned));
  builder make(s.build);
  build_staff(lab, make);
  batch_options options;
  options.book = o.book;
  options.jobs = o.jobs;
  options.round = o.round;
  options.slurm = o.executor == "slurm";
  options.slurm_options = o.slurm;
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const fs::path first = fs::absolute(spool_of(options.book, options.round)) / "first_predictions.toml";
  write_first_predictions(o.book, lab, first);
  options.worker = [&](const batch_job& job, const fs::path& result) {
    std::vector<std::string> words{self,        "one",
                                   lab.number,  job.from.string(),
                                   "--id",      job.id,
                                   "--result",  fs::absolute(result).string(),
                                   "--first",   first.string(),
                                   "--source",  s.source.string(),
                                   "--build",   s.build.string(),
                                   "--budget",  std::to_string(o.budget),
                                   "--timeout", std::to_string(s.timeout)};
    if (o.unsafe) words.emplace_back("--unsafe");
    if (!pinned.empty()) words.insert(words.end(), {"--version-pinned", pinned});
    return words;
  };
  status_line line;
  options.progress = [&line, terminal = isatty(STDERR_FILENO) == 1,
                      last = std::string()](const std::string& what) mutable {
    if (std::exchange(last, what) == what) return;
    if (terminal)
      line.show(what);
    else
      fmt::print(stderr, "{}\n", what);
  };
  const batch_summary done = run_batch(jobs_of(o, lab), options);
  line.show("");
  fmt::print("{} graded in {:.0f} s, {} already graded, {} failed; the grades are in {}\n", done.graded, done.seconds,
             done.known, done.failed.size(), options.book.string());
  for (const std::string& why : done.failed) fmt::print("failed: {}\n", why);
  std::vector<result> counting = grade_book(o.book).that_count();
  std::erase_if(counting, [&](const result& r) { return r.lab != lab.name; });
  for (const std::string& who : graded_by_others(counting, pinned))
    fmt::print("{}; --round deadline grades everyone again\n", who);
  return done.failed.empty() ? all_well : not_full_marks;
}

struct export_choice {
  std::string format, lab, column, key;
  fs::path book = usual_book, result_file, gradebook, output = ".";
};

int export_grades(const settings& s, const export_choice& o) {
  export_options options;
  if (!o.gradebook.empty()) options.canvas_gradebook = text_of(o.gradebook);
  options.canvas_column = o.column;
  options.canvas_key = o.key;
  std::vector<result> results;
  std::string pinned;
  if (o.result_file.empty()) {
    if (!fs::exists(o.book)) throw input_error("no grade book " + o.book.string() + "; name one with --store FILE");
    results = grade_book(o.book).that_count();
    pinned = pinned_version(o.book);
  } else {
    results.push_back(result_from_json(text_of(o.result_file)));
  }
  if (!o.lab.empty()) {
    const lab_folder lab = find_lab(s.source, o.lab);
    std::erase_if(results, [&](const result& r) { return r.lab != lab.name; });
    if (results.empty()) throw input_error("no result for lab " + lab.number);
  }
  options.remark = [](const std::string& what) { fmt::print(stderr, "note: {}\n", what); };
  for (const std::string& who : graded_by_others(results, pinned)) options.remark(who);
  for (const auto& [name, text] : exported(o.format, results, options)) {
    replace_file(o.output / name, text);
    fmt::print("{}\n", (o.output / name).string());
  }
  return all_well;
}

/// Makes the autograder that Gradescope unpacks: its two scripts at the root, next to the course without solutions.
int gradescope_zip(const settings& s, const std::string& number, const std::string& bridge, const fs::path& output) {
  const lab_folder lab = find_lab(s.source, number);
  const temporary_folder place("gradescope");
  const fs::path& staging = place.path();
  for (const char* part :
       {"autograder", "common", "labs", "course", "CMakeLists.txt", "CMakePresets.json", "VERSION", "LICENSE"})
    fs::copy(s.source / part, staging / part, fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  for (const char* part : {"attacks", "honest"}) fs::remove_all(staging / "autograder" / part);
  for (const char* script : {"setup.sh", "run_autograder"})
    fs::copy_file(s.source / "autograder" / "gradescope" / script, staging / script);
  replace_file(staging / "lab", lab.number + "\n");
  std::string names = "lab";
  if (!bridge.empty()) {
    replace_file(staging / "bridge", bridge + "\n");
    names += " bridge";
  }
  const fs::path zip = fs::absolute(output / ("gradescope-lab" + lab.number + ".zip"));
  fs::create_directories(zip.parent_path());
  const int code = run_command(fmt::format(
      "cd {} && cmake -E tar cf {} --format=zip setup.sh run_autograder autograder common labs course CMakeLists.txt "
      "CMakePresets.json VERSION LICENSE {}",
      shell_word(staging.string()), shell_word(zip.string()), names));
  if (code != 0) throw std::runtime_error("cmake -E tar failed; is there disk space for " + zip.string() + "?");
  fmt::print("{}\n", zip.string());
  return all_well;
}

int report(const settings& s, const fs::path& book, const fs::path& output) {
  if (book.empty()) {
    s.show_report();
  } else {
    if (!fs::exists(book)) throw input_error("no grade book " + book.string());
    const fs::path folder = output.empty() ? s.report_folder() / "class" : output;
    const grade_book grades(book);
    fmt::print("report: {}\n",
               write_class_report(grades.that_count(), s.source, folder, pinned_version(book)).string());
    replace_file(folder / "leaderboard.html", leaderboard_page(grades.history()));
    fmt::print("for students, without names: {}\n", (folder / "leaderboard.html").string());
  }
  return all_well;
}

}  // namespace

void add_class_commands(command_line& line) {
  const settings& s = line.common;
  {
    const auto o = std::make_shared<one_options>();
    CLI::App& one = line.add("one", "grade one submission officially, from a folder or an archive",
                             [o, &s] { return grade_one(s, *o); });
    add_lab(one, o->lab);
    one.add_option("path", o->path, "folder, .zip, .tar or .tar.gz")->required()->expected(1);
    one.add_option("--id", o->id, "who handed it in")->capture_default_str();
    CLI::Option* to_file =
        one.add_option("--result", o->result_file, "file for the result as JSON, instead of the table");
    one.add_option("--first", o->first, "file that `grade` writes: each student's first predictions")
        ->check(CLI::ExistingFile);
    one.add_option("--version-pinned", o->pinned, "the version of the course that `grade` found to be the pinned one");
    one.add_option("--item", o->items, "grade only this item, for inspection; may be repeated")->excludes(to_file);
    one.add_flag("--no-sandbox", o->no_sandbox,
                 "run as on a platform without a sandbox, such as Gradescope's containers");
    o->add_to(one);
  }
  {
    const auto o = std::make_shared<class_options>();
    CLI::App& grade = line.add("grade", "grade a class officially: every submission (folder or archive) in a folder",
                               [o, &s] { return grade_class(s, *o); });
    grade.footer(
        "Each is graded in a sandbox, into one grade book. What the book already has is not graded again: stop at any\n"
        "time, and run the same command to resume. Guide: autograder/README.md");
    grade.add_option("paths", o->paths, "folders of submissions, or submissions")->required()->check(CLI::ExistingPath);
    grade.add_option("--lab", o->lab, "lab number, such as 03")->required();
    grade.add_option("--store", o->book, "grade book")->capture_default_str();
    add_jobs(grade, o->jobs, "submissions to grade at a time; timed items still run one at a time [1]");
    grade.add_option("--round", o->round,
                     "name of a round: a round grades everything again, and the grades of round 'deadline' count");
    grade.add_option("--executor", o->executor, "local; or slurm, which submits a job array")
        ->check(CLI::IsMember({"local", "slurm"}));
    grade.add_option("--slurm", o->slurm, "more options for sbatch, such as \"--gpus=1 --constraint=h200\"");
    o->add_to(grade);
  }
  {
    const auto o = std::make_shared<export_choice>();
    CLI::App& exports = line.add("export", "write the grades that count, in the format of another system",
                                 [o, &s] { return export_grades(s, *o); });
    exports.add_option("--format", o->format, "format to write")->required()->check(CLI::IsMember(export_formats()));
    exports.add_option("--store", o->book, "grade book")->capture_default_str();
    exports.add_option("--lab", o->lab, "only this lab's results, 03; needed if the book has several");
    exports.add_option("--result", o->result_file, "a single result, instead of a grade book")
        ->check(CLI::ExistingFile);
    exports.add_option("--output", o->output, "folder to write to")->capture_default_str();
    exports.add_option("--gradebook", o->gradebook, "canvas: the gradebook exported from Canvas")
        ->check(CLI::ExistingFile);
    exports.add_option("--column", o->column,
                       "canvas: how the name of the assignment's column begins, such as \"Lab 3\"");
    exports.add_option(
        "--key", o->key,
        "canvas: column that the submissions are named after, such as \"SIS User ID\" [the one that matches most]");
  }
  {
    struct options {
      std::string lab, bridge;
      fs::path output = ".";
    };
    const auto o = std::make_shared<options>();
    CLI::App& zip = line.add("gradescope-zip", "build the autograder to upload to Gradescope",
                             [o, &s] { return gradescope_zip(s, o->lab, o->bridge, o->output); });
    add_lab(zip, o->lab);
    zip.add_option("--output", o->output, "folder to write to")->capture_default_str();
    zip.add_option("--bridge", o->bridge,
                   "GPU labs: command that grades elsewhere; called with the lab, the submission and the result file");
  }
  {
    struct options {
      fs::path book, output;
    };
    const auto o = std::make_shared<options>();
    CLI::App& pages = line.add("report", "render the report again, from stored results or from a grade book",
                               [o, &s] { return report(s, o->book, o->output); });
    pages.add_option("--store", o->book,
                     "grade book: writes a page for the class and one for each submission [the report of this build]");
    pages.add_option("--output", o->output, "folder for the grade book's pages [build/report/class]");
  }
}

}  // namespace grading
