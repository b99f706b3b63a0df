#include "staff/lab_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include "course/handout.hpp"
#include "course/hints.hpp"
#include "demo/expected.hpp"
#include "judge/findings.hpp"
#include "judge/local.hpp"
#include "staff/mutants.hpp"
#include "staff/scoreboard.hpp"
#include "support/files.hpp"
#include "support/toml.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// Collects the key of every value in a table, such as "a.b.c".
void collect_keys(const toml::table& of, const std::string& before, std::set<std::string>& keys) {
  for (const auto& [key, node] : of) {
    const std::string name = before + std::string(key.str());
    if (const toml::table* inner = node.as_table())
      collect_keys(*inner, name + ".", keys);
    else
      keys.insert(name);
  }
}

void check_hints(const std::vector<hint>& hints, const rubric& rules) {
  for (const item& i : rules.items)
    if (std::none_of(hints.begin(), hints.end(), [&](const hint& h) { return h.item == i.id && h.says.empty(); }))
      throw input_error(fmt::format("hints.toml: no hint for {}; write three levels, and never the solution", i.id));
  for (const hint& h : hints)
    if (h.text.size() != 3 || !(h.item.empty() || rules.has(h.item)))
      throw input_error(
          fmt::format("hints.toml: the hint for '{}' has {} levels; it must have three and name an item of rubric.toml",
                      h.item, h.text.size()));
}

void check_predictions(const std::filesystem::path& file, const rubric& rules) {
  std::set<std::string> asked, there;
  for (const item& i : rules.items) {
    if (i.kind == item_kind::findings && i.cause < 0)
      throw input_error(fmt::format(
          "answers.toml: no cause for '{}'; run grader check --write, which needs the lab's solution", i.program));
    for (const prediction& p : i.predict) {
      asked.insert(p.key);
      if (!p.measured && !p.right)
        throw input_error(fmt::format(
            "answers.toml: no answer for '{}'; run grader check --write, which needs the lab's solution", p.key));
    }
  }
  if (asked.empty() && !std::filesystem::exists(file)) return;
  collect_keys(toml_from(text_of(file), "predictions.toml"), "", there);
  for (const std::string& key : asked)
    if (!there.contains(key))
      throw input_error(fmt::format("predictions.toml: '{}' of rubric.toml is missing; write it as nan", key));
  for (const std::string& key : there)
    if (!asked.contains(key)) throw input_error(fmt::format("predictions.toml: rubric.toml never asks for '{}'", key));
}

/// The numbers in a text, including "2,621,440", "12e6" and "nine".
std::vector<double> numbers_in(const std::string& line) {
  static const std::vector<std::string> words = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                                 "seven", "eight", "nine", "ten",   "eleven", "twelve"};
  static const std::regex number(R"([0-9]+(,[0-9]{3})*(\.[0-9]+)?(e[0-9]+)?|[a-z]+)");
  std::vector<double> result;
  for (std::sregex_iterator found(line.begin(), line.end(), number), end; found != end; ++found) {
    std::string text = found->str();
    const auto word = std::find(words.begin(), words.end(), text);
    if (word != words.end()) result.push_back(static_cast<double>(word - words.begin()));
    std::erase(text, ',');
    if (std::isdigit(static_cast<unsigned char>(text[0]))) result.push_back(std::stod(text));
  }
  return result;
}

/// The words and numbers in a key's last part, without words that many keys share.
std::pair<std::vector<std::string>, std::vector<double>> parts_of(const std::string& key) {
  std::pair<std::vector<std::string>, std::vector<double>> parts;
  std::istringstream leaf(key.substr(key.rfind('.') + 1));
  for (std::string part; std::getline(leaf, part, '_');)
    if (std::isdigit(static_cast<unsigned char>(part[0])))
      parts.second.push_back(std::stod(part));
    else if (part != "load" && part != "store" && part != "times")
      parts.first.push_back(part);
  return parts;
}

/// Whether a line gives an answer away: with a number of three significant digits, or with a shorter one if the line
/// has all of the key's words. Ignores 0 and 1, which are everywhere, and numbers in the key itself.
bool gives_away(const std::string& line, const std::string& key, double answer) {
  if (std::abs(answer) < 1e-9 || std::abs(answer - 1) < 1e-3) return false;
  const auto [words, own] = parts_of(key);
  const auto same = [](double a, double b) { return std::abs(a - b) <= 0.001 * std::abs(b); };
  if (std::any_of(own.begin(), own.end(), [&](double n) { return same(n, answer); })) return false;
  const std::vector<double> numbers = numbers_in(line);
  if (std::none_of(numbers.begin(), numbers.end(), [&](double n) { return same(n, answer); })) return false;
  std::string digits = fmt::format("{:.2e}", answer);  // d.dde+dd
  const bool telling = digits[3] != '0';
  return telling || (!words.empty() && std::all_of(words.begin(), words.end(), [&](const std::string& word) {
           return line.find(word) != std::string::npos;
         }));
}

/// Checks what a student reads before locking predictions: handout, hints, comments on predictions, contract, skeletons
/// and given kernels.
void check_for_answers(const std::filesystem::path& lab, const rubric& rules) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(lab)) {
    const std::string name = entry.path().filename().string(), kind = entry.path().extension().string();
    const bool judges = entry.path().parent_path().filename() == "judge";
    if (name == "README.md" || name == "hints.toml" || name == "predictions.toml" ||
        (!judges && (kind == ".cu" || kind == ".cpp" || kind == ".hpp")))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string found;
  for (const auto& file : files) {
    std::istringstream lines(text_of(file));
    const bool source = file.extension() != ".md" && file.extension() != ".toml";
    int at = 0;
    for (std::string line; std::getline(lines, line);) {
      ++at;
      if (source) line = line.find("//") == std::string::npos ? "" : line.substr(line.find("//"));
      for (const item& i : rules.items)
        for (const prediction& p : i.predict)
          if (p.right && gives_away(line, p.key, *p.right))
            found += fmt::format("{}:{}: gives away the prediction '{}'; move it to SEEN.md, or rephrase it\n",
                                 file.filename().string(), at, p.key);
    }
  }
  if (!found.empty()) throw input_error(found.substr(0, found.size() - 1));
}

/// Checks that a lab has each crashed program twice: as it crashed, and to be fixed.
void check_crashed(const lab_folder& lab, const rubric& rules, const std::vector<submission>& submissions) {
  for (const item& i : rules.items)
    if (!i.program.empty() && !fs::exists(lab.crashed() / (i.program + ".cu")))
      throw input_error(fmt::format("rubric.toml: {} is about the program '{}', but there is no crashed/{}.cu", i.id,
                                    i.program, i.program));
  // A student's copy has no solution, but may have fixes.
  if (!fs::exists(lab.crashed()) || submissions.empty() || submissions.front().id != "solution") return;
  for (const auto& entry : fs::directory_iterator(lab.crashed()))
    if (const fs::path name = entry.path().filename();
        !fs::exists(lab.handin() / name) || text_of(lab.handin() / name) != text_of(entry.path()))
      throw input_error(
          fmt::format("handin/{0} is not crashed/{0}; copy it: cp crashed/{0} handin/{0}", name.string()));
}

/// Updates a file, or reports that it is out of date.
void keep_current(const settings& s, bool write, const fs::path& file, const std::string& should_be, const char* what) {
  if (text_of(file) == should_be) return;
  if (!write)
    throw input_error(fmt::format("{}: {}; run grader check --write", fs::relative(file, s.source).string(), what));
  replace_file(file, should_be);
}

/// The solution's values for the predictions that the rubric asks for.
std::map<std::string, double> answers_of_solution(const settings& s, const lab_folder& lab, const rubric& rules,
                                                  const submission& solution) {
  local_options options = s.local();
  for (const item& i : rules.items)
    if (i.kind == item_kind::predictions) options.items.insert(i.id);
  std::map<std::string, double> answers;
  if (!rules.causes.empty())
    for (const auto& [program, cause] : causes_in(text_of(solution.file("findings.toml")), rules))
      answers[program + ".cause"] = cause;
  if (options.items.empty()) return answers;
  builder make(s.build);
  build_staff(lab, make);
  const result r = grade_locally(lab, solution, make, options);
  for (const item& i : rules.items)
    for (const prediction& p : i.predict) {
      if (p.measured) continue;
      for (const item_result& got : r.items)
        for (const prediction_result& one : got.predictions)
          // Modelled times differ in their last bits.
          if (one.key == p.key && one.seen) answers[p.key] = std::stod(fmt::format("{:.9g}", *one.seen));
      if (!answers.contains(p.key)) throw input_error(p.key + ": the solution gives no value");
    }
  return answers;
}

}  // namespace

void check_lab(const lab_folder& lab, const rubric& rules, const std::vector<submission>& submissions) {
  check_hints(read_hints(lab.path), rules);
  check_predictions(student_of(lab).file("predictions.toml"), rules);
  check_for_answers(lab.path, rules);
  check_crashed(lab, rules, submissions);
  std::size_t shown = 0;
  for (const submission& who : submissions)
    if (!who.patch.empty()) {
      const expectation expected = read_expectation(who.patch);
      shown += expected.demo ? 1 : 0;
      if (expected.items.empty() != who.id.starts_with("right-"))
        throw input_error(who.id + ": wrong submissions name [items] that lose points, right ones do not");
      for (const auto& [id, ignored] : expected.items)
        if (id != "all" && !rules.has(id))
          throw input_error(fmt::format("{}: the rubric has no item '{}'", who.id, id));
    }
  // A student's copy has no patches.
  if (!submissions.empty() && !submissions.back().patch.empty() && (shown == 0 || shown > 4))
    throw input_error(fmt::format(
        "{} patches have demo = true; mark one to four that are quick to grade: every test run grades them", shown));
}

bool check_course(const settings& s, const std::vector<std::string>& numbers, bool write) {
  bool fine = true;
  std::vector<rubric> read;
  for (const lab_folder& lab : s.labs(numbers)) {
    try {
      rubric rules = read_rubric(lab);
      fmt::print("lab {}: {} items, 100 points\n", lab.number, rules.items.size());
      const std::vector<submission> all = submissions_of(s.source, s.build, lab);
      if (write && all.front().id == "solution") {
        const std::map<std::string, double> answers = answers_of_solution(s, lab, rules, all.front());
        if (!answers.empty()) replace_file(lab.judge() / "answers.toml", answers_text(answers));
        rules = read_rubric(lab);
      }
      const fs::path handout = lab.path / "README.md";
      keep_current(s, write, handout, with_grading_table(text_of(handout), rules),
                   "the grading table does not match the rubric");
      keep_current(s, write, handout, with_tests(text_of(handout), rules),
                   "the points that need a GPU do not match the rubric");
      keep_current(s, write, handout, with_handin_list(text_of(handout), rules.handin),
                   "the list of hand-in files does not match handin/");
      check_lab(lab, rules, all);
      if (all.front().id == "solution") mutants_of_lab(lab, all.front());  // throws if its list is out of date
      read.push_back(std::move(rules));
    } catch (const std::exception& error) {
      fmt::print(stderr, "lab {}: {}\n", lab.number, error.what());
      fine = false;
    }
  }
  if (const fs::path readme = s.source / "README.md", way = s.source / "labs" / "README.md";
      fine && numbers.empty() && fs::exists(readme) && fs::exists(way)) {
    try {
      keep_current(s, write, readme, with_questions(text_of(readme), read),
                   "the table of labs does not match their rubrics");
      if (const fs::path guide = s.source / "common" / "docs" / "INSTRUCTOR.md"; fs::exists(guide))
        keep_current(s, write, guide, with_plan(text_of(guide), read), "the hours of a plan do not match the rubrics");
      keep_current(s, write, way, with_way(text_of(way), read), "the table of labs does not match their rubrics");
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      fine = false;
    }
  }
  const fs::path board = s.source / "solutions" / "README.md";
  if (numbers.empty() && fs::exists(board)) {
    try {
      if (fine)
        keep_current(s, write, board, with_worklogs(text_of(board), read),
                     "the list of worklogs does not match the labs");
      keep_current(s, write, board, with_generated(text_of(board), "scoreboard", scoreboard(s.source)),
                   "the scoreboard does not match the results");
    } catch (const std::exception& error) {
      fmt::print(stderr, "solutions: {}\n", error.what());
      fine = false;
    }
  }
  return fine;
}

}  // namespace grading
