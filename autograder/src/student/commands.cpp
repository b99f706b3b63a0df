// The commands for students: grade your own files, now or on every save; hints, progress, a fresh start.
#include "commands/command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <sstream>

#include "course/expectation.hpp"
#include "course/rubric.hpp"
#include "judge/findings.hpp"
#include "judge/local.hpp"
#include "report/report.hpp"
#include "report/terminal.hpp"
#include "student/attempts.hpp"
#include "student/progress.hpp"
#include "student/watch.hpp"
#include "support/command.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// Records the student's own result in progress and attempts; reports a failure to write, which loses no result.
void enter_progress(const settings& s, const result& r) {
  if (r.submission != "student") return;
  try {
    enter_grading(s.progress_file(), s.attempts_file(), r);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
  }
}

/// Prints the difference between the submission and its base.
int show_difference(const lab_folder& lab, const submission& who, const std::vector<submission>& all) {
  if (who.patch.empty())
    throw input_error(fmt::format("--show is for right and wrong submissions, which have a base; {} has none", who.id));
  const expectation expected = read_expectation(who.patch);
  const submission& base = submission_named(all, expected.base, lab);
  fmt::print("{}: {}\n", who.id, expected.story);
  for (const std::string& name : handin_in(lab.path)) {
    const int code = run_command(fmt::format(
        "diff -up --color=auto --label {} --label {} {} {}", shell_word(base.id + "/" + name),
        shell_word(who.id + "/" + name), shell_word(base.file(name).string()), shell_word(who.file(name).string())));
    if (code > 1) throw std::runtime_error("diff failed");
  }
  return all_well;
}

/// Options for a lab or one of its items, so that ./course lab, watch and ctest give the same points.
local_options complete_grading(const settings& s, const lab_folder& lab, const submission& who) {
  local_options options = s.local();
  options.locked = locked_for(s.progress_file(), lab, who);
  options.second_seed = true;
  return options;
}

int grade_lab(const settings& s, const std::string& number, const std::string& id, bool show) {
  const lab_folder lab = find_lab(s.source, number);
  const std::vector<submission> all = submissions_of(s.source, s.build, lab);
  const submission& who = submission_named(all, id, lab);
  builder make(s.build);
  build_staff(lab, make);
  if (!who.patch.empty()) build_others(lab, make);
  if (show) return show_difference(lab, who, all);
  local_options options = complete_grading(s, lab, who);
  const std::vector<result> stored = s.store().load();
  const terminal_style style = style_of_stdout();
  fmt::print("{}", lab_heading(lab.name, title_of(lab), who.id, style));
  options.on_item = [&](const item_result& item) {
    options.progress("");
    fmt::print("{}", item_row(item, style, result_of(stored, lab.name, who.id)));
    std::fflush(stdout);
  };
  result first;
  options.on_result = [&](const result& shown) {
    fmt::print("{}", after_items(shown, style));
    std::fflush(stdout);
    first = shown;
  };
  const result r = grade_locally(lab, who, make, options);
  if (std::string changed = changed_items(first, r, style); r.score() < first.score())
    fmt::print("\nwith a second seed:\n{}{}", changed, after_items(r, style));
  if (who.id == "student") fmt::print("{}", wrapped(after_the_lock(r, lab.path), 0, style.width));
  std::fflush(stdout);  // print the verdicts before slower work
  s.store().merge({r});
  enter_progress(s, r);
  draw_for_report(r, lab, who, make, options, s.report_folder());
  s.show_report();
  return r.score() >= r.out_of() - 1e-6 ? all_well : not_full_marks;
}

/// The line of the rubric that asks for the item, where an editor shows its verdict.
std::string place_of(const lab_folder& lab, const std::string& id) {
  const fs::path rubric = lab.judge() / "rubric.toml";
  const std::string text = text_of(rubric);
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(text.find(fmt::format("\nid = \"{}\"\n", id)) + 1);
  return fmt::format("{}:{}", rubric.string(), 1 + std::count(text.begin(), end, '\n'));
}

/// Grades one item of your own files, as ctest does: in the same way as all items, but without keeping the result.
int grade_item(const settings& s, const std::string& number, const std::string& id) {
  const lab_folder lab = find_lab(s.source, number);
  const submission who = student_of(lab);
  builder make(s.build);
  make.quiet = true;
  build_staff(lab, make);
  local_options options = complete_grading(s, lab, who);
  options.items = {id};
  const result r = grade_locally(lab, who, make, options);
  options.progress("");
  const item_result& got = r.items.front();
  if (!is_assessed(got.verdict)) fmt::print("SKIPPED: ");
  const bool full = !is_assessed(got.verdict) || got.points >= got.max_points - 1e-6;
  if (!full) fmt::print("{}: ", place_of(lab, id));
  fmt::print("{}", one_item(got, style_of_stdout()));
  if (!full && !got.hint.empty()) fmt::print("{}", wrapped("hint: " + got.hint.front(), 4, style_of_stdout().width));
  return full ? all_well : not_full_marks;
}

/// The item with this id in a result or rubric. If there is none, throws input_error with all ids.
template <class Items>
const auto* item_named(const std::string& id, const Items& items, const lab_folder& lab) {
  std::string ids;
  for (const auto& i : items) {
    if (i.id == id) return &i;
    add_to_list(ids, " ", i.id);
  }
  throw input_error(fmt::format("lab {} has no item {}; there are: {}", lab.number, id, ids));
}

/// Draws the warp view of your own files, or of one item, as in the report's tab.
int see(const settings& s, const std::string& number, const std::string& item) {
  const lab_folder lab = find_lab(s.source, number);
  const submission who = student_of(lab);
  builder make(s.build);
  make.quiet = true;
  build_staff(lab, make);
  if (!item.empty()) item_named(item, read_rubric(lab).items, lab);
  fs::path page = s.report_folder() / warp_view_of(lab.name);
  if (!item.empty()) page.replace_extension(item + ".html");
  const drawn_warps drawn = draw_warps(lab, who, make, s.local(), page, nullptr, item);
  for (const std::string& message : drawn.messages) fmt::print("{}\n", message);
  const std::vector<result> stored = s.store().load();
  if (item.empty() && result_of(stored, lab.name, who.id)) write_report(s.store(), s.source, s.report_folder());
  if (!drawn.page)
    throw input_error(
        fmt::format("none of your kernels has finished, so there is nothing to draw; labs/{}/README.md "
                    "says which are counted",
                    lab.name));
  fmt::print("the warp view: {}\n", page.string());
  return all_well;
}

int fill_in_findings(const settings& s, const std::string& number) {
  const lab_folder lab = find_lab(s.source, number);
  const fs::path file = lab.handin() / "findings.toml";
  if (!fs::exists(file)) throw input_error(fmt::format("lab {} has no findings to fill in; lab 13 does", number));
  builder make(s.build);
  make.quiet = true;
  build_staff(lab, make);
  const std::string before = text_of(file);
  const std::string after = with_places(before, read_rubric(lab), make.dir() / "bin" / "crashed");
  if (text_of(file) != before) throw input_error("findings.toml changed meanwhile; run this again");
  replace_file(file, after);
  fmt::print(
      "filled in kernel, block, thread and allocation where they were empty: {}\nThe line and the cause are left to "
      "you.\n",
      fs::relative(file, s.source).string());
  return all_well;
}

int watch_lab(const settings& s, const std::string& number) {
  const lab_folder lab = find_lab(s.source, number);
  builder make(s.build);
  make.quiet = true;
  build_staff(lab, make);
  fmt::print("watching the hand-in files in {}; save one to grade again\n",
             fs::relative(lab.handin(), s.source).string());
  std::fflush(stdout);
  const submission student = student_of(lab);
  watch_settings w{s.source, s.progress_file(), s.attempts_file(), s.store(), complete_grading(s, lab, student), {}};
  w.first = known_result(s.store().load(), lab, student, fingerprint_of(lab, student, make));
  return watch(lab, make, std::move(w)) ? all_well : not_full_marks;
}

/// The latest grading of the student's own files.
result last_of_student(const settings& s, const lab_folder& lab) {
  const std::vector<result> all = s.store().load();
  if (const result* r = result_of(all, lab.name, "student")) return *r;
  throw input_error(
      fmt::format("lab {} has not been graded yet, so there is nothing to give a hint for; run ./course lab {}",
                  lab.number, lab.number));
}

int give_hint(const settings& s, const std::string& number, const std::string& wanted) {
  const lab_folder lab = find_lab(s.source, number);
  const result r = last_of_student(s, lab);
  const item_result* chosen = wanted.empty() ? next_item(r) : item_named(wanted, r.items, lab);
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
  for (const lab_folder& lab : labs_in(s.source)) result.push_back({lab.name, title_of(lab)});
  return result;
}

int list(const settings& s) {
  const terminal_style style = style_of_stdout();
  fmt::print("{}", progress_table(read_progress(s.progress_file()), titles(s), style.width, style.colours));
  return all_well;
}

int history(const settings& s) {
  const fs::path page = s.report_folder() / "attempts.html";
  replace_file(page, attempts_page(read_attempts(s.attempts_file()), s.store().load()));
  fmt::print("your attempts: {}\n", page.string());
  return all_well;
}

int next(const settings& s) {
  const progress all = read_progress(s.progress_file());
  const lab_title* first_untouched = nullptr;
  const lab_title* latest = nullptr;  // the latest lab that is begun but not passed
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
      fmt::print("  read labs/{}/README.md, {}then run ./course watch {}\n", lab->name,
                 fs::exists(s.source / "labs" / lab->name / "handin/predictions.toml")
                     ? "fill in handin/predictions.toml, "
                     : "",
                 number);
  } else {
    fmt::print("you have passed all labs\n");
  }
  return all_well;
}

int reset(const settings& s, const std::string& number) {
  const lab_folder lab = find_lab(s.source, number);
  // ./course keeps the student's first commit in refs/course/start; without git, the original files in an archive.
  const std::string git = "git -C " + shell_word(s.source.string());
  const fs::path packed = s.source / "backups" / "start.tar.gz";
  std::istringstream files(
      output_of(fmt::format("{} ls-tree --name-only refs/course/start labs/{}/handin/ 2>/dev/null", git, lab.name)));
  std::map<std::string, std::string> skeleton;
  for (std::string file; std::getline(files, file);)
    skeleton[fs::path(file).filename().string()] =
        output_of(fmt::format("{} show {} 2>/dev/null", git, shell_word("refs/course/start:" + file)));
  if (skeleton.empty() && fs::exists(packed)) {
    std::istringstream names(output_of("tar -tzf " + shell_word(packed.string())));
    for (std::string file; std::getline(names, file);)
      if (file.starts_with(fmt::format("labs/{}/handin/", lab.name)) && !file.ends_with("/"))
        skeleton[fs::path(file).filename().string()] =
            output_of(fmt::format("tar -xOzf {} {}", shell_word(packed.string()), grading::shell_word(file)));
  }
  if (skeleton.empty() && !output_of(git + " rev-parse -q --verify refs/course/start 2>/dev/null").empty())
    throw input_error(fmt::format(
        "the version of the course that you began with has no labs/{}/handin; to reset to a newer version, name its "
        "commit first: git update-ref refs/course/start COMMIT",
        lab.name));
  std::string time = now_rfc3339().substr(0, 19);
  std::replace(time.begin(), time.end(), ':', '-');
  const fs::path backup = s.source / "backups" / (lab.name + "-" + time);
  for (const std::string& line : reset_files(lab.handin(), skeleton, backup)) fmt::print("{}\n", line);
  if (fs::exists(backup)) fmt::print("your files are kept in {}\n", fs::relative(backup, s.source).string());
  return all_well;
}

struct lab_and_item {
  std::string lab, item;
};

}  // namespace

void add_student_commands(command_line& line) {
  const settings& s = line.common;
  {
    struct options {
      std::string lab, item, submission = "student";
      bool show = false;
    };
    const auto o = std::make_shared<options>();
    CLI::App& lab = line.add(
        "lab", "build and grade one submission of a lab, by default your own files in labs/NN_*/handin", [o, &s] {
          return o->item.empty() ? grade_lab(s, o->lab, o->submission, o->show) : grade_item(s, o->lab, o->item);
        });
    lab.footer("Shows verdicts, figures and hints. The exit code is 0 for full marks.");
    add_lab(lab, o->lab);
    CLI::Option* item = lab.add_option("item", o->item, "only this item of your own files; its result is not kept");
    lab.add_option("--submission", o->submission, "student, solution, right-<how> or wrong-<why>")
        ->capture_default_str()
        ->excludes(item);
    lab.add_flag("--show", o->show,
                 "print how a submission differs from its base (for a wrong one: its mistake); do not grade");
  }
  {
    const auto o = std::make_shared<lab_and_item>();
    CLI::App& shown = line.add("see", "draw what the warps of your kernels ask of memory",
                               [o, &s] { return see(s, o->lab, o->item); });
    add_lab(shown, o->lab);
    shown.add_option("item", o->item, "an item of the lab; default: all about counters");
  }
  {
    const auto number = std::make_shared<std::string>();
    CLI::App& command =
        line.add("findings", "fill in kernel, block, thread and allocation of the crashed programs' first reports",
                 [number, &s] { return fill_in_findings(s, *number); });
    command.footer(
        "Runs lab 13's programs with the name in findings.toml, and fills in only what is empty. You find the "
        "line and the cause.");
    add_lab(command, *number);
  }
  {
    const auto number = std::make_shared<std::string>();
    CLI::App& command = line.add("watch", "grade your own files of a lab each time you save one",
                                 [number, &s] { return watch_lab(s, *number); });
    command.footer(
        "Shows what changed and what to do next. Keys on a terminal: h hint, n next item, a all items, w the "
        "solution's\nworklog (once you have passed), g grade again, q quit. Also works in a pipe, without "
        "keys.");
    add_lab(command, *number);
  }
  {
    const auto o = std::make_shared<lab_and_item>();
    CLI::App& hint = line.add("hint", "give the next of three hints for an item that lost points",
                              [o, &s] { return give_hint(s, o->lab, o->item); });
    add_lab(hint, o->lab);
    hint.add_option("item", o->item, "an item of the lab; default: the first that lost points in the last grading");
  }
  line.add("list", "list all labs, your points, and what is next in each, from progress.toml",
           [&s] { return list(s); });
  line.add("history", "write a page of all your gradings, build/report/attempts.html", [&s] { return history(s); })
      .footer(
          "For each lab it shows your points over time, the progress of each item, its first and last figure, and "
          "your\n"
          "predictions, first and current. It is made from attempts.jsonl, a line for each grading; neither leaves "
          "this "
          "machine.");
  line.add("next", "say which lab and item to work on next", [&s] { return next(s); });
  {
    const auto number = std::make_shared<std::string>();
    add_lab(line.add("reset", "restore a lab's original hand-in files; yours are kept in backups/",
                     [number, &s] { return reset(s, *number); }),
            *number);
  }
}

}  // namespace grading
