#include "staff/handout.hpp"

#include <fmt/format.h>

#include "support/files.hpp"

namespace grading {

std::string with_generated(const std::string& text, const std::string& name, const std::string& part) {
  const std::string begin = fmt::format("<!-- {}: begin -->\n", name), end = fmt::format("<!-- {}: end -->", name);
  const std::size_t first = text.find(begin), last = text.find(end);
  if (first == std::string::npos || last == std::string::npos || last < first)
    throw input_error(fmt::format("README.md: add the lines {} and {} where the {} belongs",
                                  begin.substr(0, begin.size() - 1), end, name));
  return text.substr(0, first + begin.size()) + part + text.substr(last);
}

std::string with_grading_table(const std::string& handout, const rubric& rules) {
  std::string table = "| item | points | requirement |\n|---|---|---|\n";
  for (const item& i : rules.items) table += fmt::format("| `{}` | {} | {} |\n", i.id, i.points, i.title);
  return with_generated(handout, "grading table", table);
}

}  // namespace grading
