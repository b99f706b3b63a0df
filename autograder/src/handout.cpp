#include "handout.hpp"

#include <fmt/format.h>

#include "toml_file.hpp"

namespace grading {

std::string with_grading_table(const std::string& handout, const rubric& rules) {
  const std::string begin = "<!-- grading table: begin -->\n", end = "<!-- grading table: end -->";
  const std::size_t first = handout.find(begin), last = handout.find(end);
  if (first == std::string::npos || last == std::string::npos || last < first)
    throw input_error(fmt::format("README.md: put the lines {} and {} where the grading table belongs",
                                  begin.substr(0, begin.size() - 1), end));
  std::string table = "| item | points | what is asked |\n|---|---|---|\n";
  for (const item& i : rules.items) table += fmt::format("| `{}` | {} | {} |\n", i.id, i.points, i.title);
  return handout.substr(0, first + begin.size()) + table + handout.substr(last);
}

}  // namespace grading
