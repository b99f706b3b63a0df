// Reads declarations with a regular expression: contracts are simple enough, and messages give the number
// of a parameter that cannot be read.
#include "course/contract.hpp"

#include <fmt/format.h>

#include <regex>
#include <sstream>

#include "support/files.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex(R"(//[^\n]*)"), "");
}

void add_parameter(const std::string& text, signature& to) {
  static const std::regex last_word(R"((\w+)\s*$)"), whole(R"(\b(int|long|unsigned|u?int\d+_t|size_t)\b)");
  std::smatch name;
  if (!std::regex_search(text, name, last_word)) return;
  if (text.find('*') != std::string::npos)
    (text.find("const ") != std::string::npos ? to.inputs : to.outputs).push_back(name[1]);
  else if (std::regex_search(text, whole))
    to.sizes.push_back(name[1]);
}

}  // namespace

contract contract_of(const std::string& header) {
  // Unlike a declaration, a call has no type before its name.
  static const std::regex declaration(R"((\w+)[\s*&>]+(\w+)\s*\(([^()]*)\)\s*;)");
  const std::string text = without_comments(header);
  contract result;
  for (std::sregex_iterator found(text.begin(), text.end(), declaration), end; found != end; ++found) {
    if ((*found)[1] == "return") continue;
    signature s;
    std::istringstream parameters((*found)[3]);
    for (std::string one; std::getline(parameters, one, ',');) add_parameter(one, s);
    result[(*found)[2]] = std::move(s);
  }
  return result;
}

contract contract_in(const fs::path& folder) {
  contract result;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".hpp")
      for (auto& [name, s] : contract_of(text_of(entry.path())))
        if (signature& known = result[name]; known.outputs.size() <= s.outputs.size()) known = s;
  return result;
}

std::string with_names(std::string message, const signature& names, std::size_t inputs, std::size_t outputs) {
  const auto rename = [&](const char* kind, const std::vector<std::string>& to, std::size_t count) {
    if (to.size() != count) return;
    for (std::size_t i = 0; i < count; ++i)
      message = std::regex_replace(message, std::regex(fmt::format(R"(\b{} {}\b)", kind, i)),
                                   fmt::format("{} `{}`", kind, to[i]));
  };
  rename("input", names.inputs, inputs);
  rename("output", names.outputs, outputs);
  return message;
}

}  // namespace grading
