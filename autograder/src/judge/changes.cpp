// Splits C++ into functions by its tokens. What it does not understand counts as text around the functions.
#include "judge/changes.hpp"

#include <algorithm>
#include <regex>
#include <string_view>
#include <vector>

#include "sim/tokens.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

/// A file's functions, `name(...) {...}`, with or without const or noexcept, as whole texts, and the text around them.
class parts {
 public:
  explicit parts(const std::string& text) : text_(text), tokens_(sim::tokens_of(text)) {
    for (std::size_t i = 0; i < tokens_.size();) {
      const std::size_t body = body_of(i);
      if (word(body) != "{") {
        add(around, i++);
        continue;
      }
      std::string& whole = functions[std::string(word(i))];
      for (const std::size_t end = behind(body, "{", "}"); i < end; ++i) add(whole, i);
      around += ";";
    }
    has_variables = finds_variables();
  }

  std::map<std::string, std::string> functions;  ///< overloads are joined into one
  std::string around;
  bool has_variables = false;  ///< variables that functions may share

 private:
  std::string_view word(std::size_t i) const {
    return i < tokens_.size() ? std::string_view(text_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
                              : std::string_view();
  }
  void add(std::string& to, std::size_t i) const {
    to += i > 0 && tokens_[i].directive != tokens_[i - 1].directive ? '\n' : ' ';
    to += word(i);
  }

  /// The position after the matching parenthesis or brace.
  std::size_t behind(std::size_t at, std::string_view open, std::string_view close) const {
    for (int depth = 0; at < tokens_.size(); ++at)
      if ((depth += (word(at) == open) - (word(at) == close)) == 0) return at + 1;
    return at;
  }

  /// Where the body of the function with this name begins; the end if there is none. Rejects macros, and a
  /// constructor's last initializer.
  std::size_t body_of(std::size_t i) const {
    static const std::set<std::string_view> statements = {"if", "for", "while", "switch", "catch", "constexpr"};
    const std::string_view before = i > 0 ? word(i - 1) : "";
    if (tokens_[i].kind != 'i' || tokens_[i].directive != 0 || word(i + 1) != "(" || statements.contains(word(i)) ||
        before == ":" || before == "," || is_macro(word(i)))
      return tokens_.size();
    std::size_t body = behind(i + 1, "(", ")");
    while (word(body) == "const" || word(body) == "noexcept") ++body;
    return body;
  }

  bool is_macro(std::string_view name) const {
    for (std::size_t i = 0; i + 1 < tokens_.size(); ++i)
      if (tokens_[i].directive != 0 && word(i) == "define" && word(i + 1) == name) return true;
    return false;
  }

  /// Whether a statement outside functions and types may declare a variable that is not constant.
  bool finds_variables() const {
    static const std::set<std::string_view> harmless = {"const",         "constexpr", "using",    "typedef", "template",
                                                        "struct",        "class",     "union",    "enum",    "concept",
                                                        "static_assert", "namespace", "constinit"};
    bool other = false, fine = false, calls = false, state = false;  // what the current statement contains
    const auto ends = [&] {
      const bool variable = other && !fine && (!calls || state);
      other = fine = calls = state = false;
      return variable;
    };
    for (std::size_t i = 0; i < tokens_.size();) {
      if (tokens_[i].directive != 0) {
        ++i;
        continue;
      }
      if (const std::size_t body = body_of(i); word(body) == "{") {
        i = behind(body, "{", "}");
        other = fine = calls = state = false;
        continue;
      }
      const std::string_view w = word(i);
      if (w == ";" || w == "}") {
        if (ends()) return true;
      } else if (w == "{" && namespace_opens(i)) {
        other = fine = calls = state = false;
      } else if (w == "{") {
        i = behind(i, "{", "}");
        continue;
      } else {
        other = true;
        fine = fine || harmless.contains(w);
        calls = calls || w == "(";
        state = state || w == "static" || w == "thread_local" || w == "=";
      }
      ++i;
    }
    return ends();
  }

  bool namespace_opens(std::size_t brace) const {
    for (std::size_t i = brace; i-- > 0;) {
      const std::string_view w = word(i);
      if (w == "namespace" || w == "extern") return true;
      if (w == ";" || w == "{" || w == "}" || w == ")" || w == "=") return false;
    }
    return false;
  }

  const std::string& text_;
  std::vector<sim::token> tokens_;
};

bool names_any(const std::string& text, const std::set<std::string>& functions) {
  return std::any_of(functions.begin(), functions.end(), [&](const std::string& f) { return names(text, f); });
}

/// Adds every function whose text names a changed function.
void add_callers(std::set<std::string>& changed, const std::map<std::string, std::string>& functions) {
  for (bool more = true; more;) {
    more = false;
    for (const auto& [function, body] : functions)
      if (!changed.contains(function) && names_any(body, changed)) changed.insert(function), more = true;
  }
}

}  // namespace

std::set<std::string> changed_names(const std::map<std::string, std::string>& then,
                                    const std::map<std::string, std::string>& now) {
  std::set<std::string> changed;
  std::map<std::string, std::string> functions;  // the old and new text of functions by name
  bool share = false;
  for (const auto& [name, text] : now) {
    if (name.ends_with(".toml")) continue;
    const parts before(then.at(name)), after(text);
    if (before.around != after.around) return {""};
    share = share || after.has_variables;
    for (const auto& [function, body] : before.functions) functions[function] += body;
    for (const auto& [function, body] : after.functions) {
      const auto old = before.functions.find(function);
      if (old == before.functions.end() || old->second != body) changed.insert(function);
      functions[function] += body;
    }
    for (const auto& [function, body] : before.functions)
      if (!after.functions.contains(function)) changed.insert(function);
  }
  if (share && !changed.empty()) return {""};
  add_callers(changed, functions);
  return changed;
}

std::set<std::string> entries_beside(const std::set<std::string>& changed, const std::string& calls) {
  if (changed.contains("")) return {};
  static const std::regex begin(R"re(\{\s*"(\w+)"\s*,)re");
  const parts all(calls);
  std::set<std::string> reached = changed;
  add_callers(reached, all.functions);
  std::set<std::string> beside;
  std::size_t outside_ends = all.around.size();
  std::string entry;
  std::size_t from = 0;
  const auto ends = [&](std::size_t to) {
    if (!entry.empty() && !names_any(all.around.substr(from, to - from), reached)) beside.insert(entry);
  };
  for (std::sregex_iterator at(all.around.begin(), all.around.end(), begin), end; at != end; ++at) {
    const auto here = static_cast<std::size_t>(at->position());
    outside_ends = std::min(outside_ends, here);
    ends(here);
    entry = (*at)[1], from = here;
  }
  ends(all.around.size());
  // Text that the table's entries may share, such as a list of functions.
  return names_any(all.around.substr(0, outside_ends), reached) ? std::set<std::string>{} : beside;
}

}  // namespace grading
