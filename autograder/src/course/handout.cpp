#include "course/handout.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <sstream>

#include "support/files.hpp"
#include "support/text.hpp"

namespace grading {

std::string with_generated(const std::string& text, const std::string& name, const std::string& part) {
  const std::string begin = fmt::format("<!-- {}: begin -->\n", name), end = fmt::format("<!-- {}: end -->", name);
  const std::size_t first = text.find(begin), last = text.find(end);
  if (first == std::string::npos || last == std::string::npos || last < first)
    throw input_error(fmt::format("README.md: add the lines {} and {}, with the {} between them",
                                  begin.substr(0, begin.size() - 1), end, name));
  return text.substr(0, first + begin.size()) + part + text.substr(last);
}

std::string with_grading_table(const std::string& handout, const rubric& rules) {
  std::string table = "| item | points | requirement |\n|---|---|---|\n";
  for (const item& i : rules.items) table += fmt::format("| `{}` | {} | {} |\n", i.id, i.points, i.title);
  return with_generated(handout, "grading table", table);
}

std::string with_tests(const std::string& handout, const rubric& rules) {
  double on_gpu = 0;
  for (const item& i : rules.items)
    if (i.timed_on_gpu()) on_gpu += i.points;
  return with_generated(
      handout, "tests",
      fmt::format("`ctest --preset labs -L lab{}` builds the lab and grades each item in the same way, as a test{}.\n"
                  "A test fails below full credit, and its output says how many points the item earns.\n",
                  rules.id.substr(0, 2), on_gpu == 0 ? "" : fmt::format("; {} points need a GPU", on_gpu)));
}

namespace {

/// "[06 Tiling](FOLDER06_tiling/README.md)"
std::string linked(const rubric& lab, const std::string& folder) {
  return fmt::format("[{} {}]({}{}/README.md)", lab.id.substr(0, 2), lab.title.substr(0, lab.title.find(':')), folder,
                     lab.id);
}

std::string listed(const std::vector<std::string>& handin) {
  std::string list = "You hand in the folder `handin/`:\n";
  for (std::size_t i = 0; i < handin.size(); ++i)
    list += fmt::format("{}`{}`", i == 0 ? "" : i + 1 == handin.size() ? " and " : ", ", handin[i]);
  return list + ".\n";
}

}  // namespace

std::string with_questions(const std::string& readme, const std::vector<rubric>& labs) {
  std::string table = "| lab | question |\n|---|---|\n";
  for (const rubric& lab : labs) table += fmt::format("| {} | {} |\n", linked(lab, "labs/"), lab.question);
  return with_generated(readme, "labs", table);
}

std::string with_way(const std::string& walkthrough, const std::vector<rubric>& labs) {
  std::string table = "| lab | you learn to | needs | hours |\n|---|---|---|---|\n";
  for (const rubric& lab : labs)
    table += fmt::format("| {} | {} | {} | {} |\n", linked(lab, ""), lab.learn, lab.needs, lab.hours);
  return with_generated(walkthrough, "labs", table);
}

std::string with_plan(const std::string& guide, const std::vector<rubric>& labs) {
  const std::string begin = "<!-- plan: begin -->\n";
  const std::size_t from = guide.find(begin) + begin.size();
  std::string table;
  std::array<double, 6> least{}, most{};  // hours of each column
  std::istringstream lines(guide.substr(from, guide.find("<!-- plan: end -->", from) - from));
  for (std::string line; std::getline(lines, line); table += line + "\n") {
    std::vector<std::string> cells;  // includes the text before the first bar
    std::istringstream row(line);
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    if (cells.size() != 7) throw input_error("the plan of a term: not a row of 6 cells: " + line);
    for (const rubric& lab : labs)
      if (cells[1].starts_with(fmt::format(" {} ", lab.id.substr(0, 2)))) cells[2] = fmt::format(" {} ", lab.hours);
    double low = 0, high = 0;
    const int numbers = std::sscanf(cells[2].c_str(), "%lf to %lf", &low, &high);
    for (std::size_t i = 3; i < 6; ++i)
      if (cells[1].starts_with(" hours in all")) {
        cells[i] = fmt::format(" {} to {} ", least[i], most[i]);
      } else if (numbers > 0 && cells[i].find_first_not_of(' ') != std::string::npos) {
        least[i] += low;
        most[i] += numbers == 2 ? high : low;
      }
    line = fmt::format("{}|", fmt::join(cells, "|"));
  }
  for (const rubric& lab : labs)
    if (const std::string begin_of_row = fmt::format("\n| {} ", lab.id.substr(0, 2));
        table.find(begin_of_row) == std::string::npos)
      throw input_error(
          fmt::format("the plan of a term in common/docs/INSTRUCTOR.md has no row for lab {}: add \"{}{}\"",
                      lab.id.substr(0, 2), begin_of_row.substr(1), lab.title.substr(0, lab.title.find(':'))));
  return with_generated(guide, "plan", table);
}

std::string with_worklogs(const std::string& solutions, const std::vector<rubric>& labs) {
  std::string list;
  for (const rubric& lab : labs)
    add_to_list(list, " ·\n", fmt::format("[{}]({}/WORKLOG.md)", lab.id.substr(0, 2), lab.id));
  return with_generated(solutions, "worklogs", list + "\n");
}

std::string with_handin_list(const std::string& handout, const std::vector<std::string>& handin) {
  return with_generated(handout, "hand-in files", listed(handin));
}

void expect_handin_as_listed(const std::filesystem::path& lab_dir, const std::vector<std::string>& handin) {
  const std::string handout = text_of(lab_dir / "README.md"), lab = lab_dir.filename().string();
  if (with_handin_list(handout, handin) == handout) return;
  const std::string begin = "<!-- hand-in files: begin -->";
  const std::size_t from = handout.find(begin) + begin.size();
  const std::string list = handout.substr(from, handout.find("<!--", from) - from);
  std::vector<std::string> names;
  for (std::size_t at = 0; (at = list.find('`', at)) != std::string::npos;) {
    const std::size_t end = list.find('`', at + 1);
    if (const std::string name = list.substr(at + 1, end - at - 1); name != "handin/") names.push_back(name);
    at = end == std::string::npos ? end : end + 1;
  }
  for (const std::string& name : names)
    if (std::find(handin.begin(), handin.end(), name) == handin.end())
      throw input_error(
          fmt::format("labs/{0}/handin/{1} is missing: put it back, or run ./course reset {2}, which "
                      "restores all files there and keeps yours in backups/",
                      lab, name, lab.substr(0, 2)));
  for (const std::string& name : handin)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw input_error(fmt::format(
          "labs/{}/handin/{} is not among the files that you hand in, and grading would not see it: move it elsewhere",
          lab, name));
}

}  // namespace grading
