// Splits C++ into functions by its tokens. What it does not understand counts as text around the functions.
#include "judge/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <regex>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/tokens.hpp"

namespace grading {
namespace {

/// The words in a text of tokens that may name functions. Excludes qualifiers of other names, such as namespaces, and
/// names of arrays and of variables that the text declares, unless it also calls a function of that name.
std::set<std::string> named_in(const std::string& tokens) {
  static const std::set<std::string_view> not_types = {"return",    "co_return", "throw",  "else",
                                                       "case",      "new",       "delete", "const",
                                                       "constexpr", "static",    "struct", "typename"};
  static const std::set<std::string_view> behind_variables = {"=", ";", ",", ")", "[", ":"};
  std::istringstream in(tokens);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  const auto word = [&](std::size_t i) { return i < words.size() ? std::string_view(words[i]) : ""; };
  const auto is_type = [&](std::string_view w) {
    return !w.empty() && (w == ">" || std::isalpha(static_cast<unsigned char>(w[0])) != 0) && !not_types.contains(w);
  };
  std::set<std::string> all, variables, called;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view next = word(i + 1);
    const bool array = next == ")" && word(i + 2) == "[";  // float (&sum)[4]
    if (array || (i > 0 && is_type(words[i - 1]) && behind_variables.contains(next))) variables.insert(words[i]);
    if (next == "(" || next == "<<<") called.insert(words[i]);
    if (next != "::" && next != "[") all.insert(words[i]);
  }
  std::erase_if(all, [&](const std::string& name) { return variables.contains(name) && !called.contains(name); });
  return all;
}

struct function {
  std::string text;        ///< of all overloads
  bool local = false;      ///< in an unnamed namespace: functions in other files cannot call it
  bool has_state = false;  ///< a variable that outlives a call
};

/// A file's functions, `name(...) {...}`, with or without const or noexcept, as whole texts, and the text around them.
class parts {
 public:
  explicit parts(const std::string& text) : text_(text), tokens_(sim::tokens_of(text)) {
    std::vector<scope> open;
    for (std::size_t i = 0; i < tokens_.size();) {
      const std::size_t body = body_of(i);
      if (word(body) != "{") {
        if (word(i) == "{") {
          const bool unnamed = i > 0 && word(i - 1) == "namespace";
          const scope kind = unnamed ? scope::unnamed_space : namespace_opens(i) ? scope::named_space : scope::other;
          has_unknown = has_unknown || (kind == scope::other && !is_local(open) && follows_parenthesis(i));
          open.push_back(kind);
        }
        if (word(i) == "}" && !open.empty()) open.pop_back();
        add(around, i++);
        continue;
      }
      has_unknown = has_unknown || word(behind(body, "{", "}") - 1) != "}";
      function& whole = functions[std::string(word(i))];
      whole.local = is_local(open) && std::count(open.begin(), open.end(), scope::other) == 0;
      for (const std::size_t end = behind(body, "{", "}"); i < end; ++i) {
        whole.has_state = whole.has_state || word(i) == "thread_local" ||
                          (word(i) == "static" && word(i + 1) != "const" && word(i + 1) != "constexpr");
        add(whole.text, i);
      }
      around += ";";
    }
    has_variables = finds_variables();
    for (auto& [name, f] : functions) f.has_state = f.has_state || has_variables;
  }

  std::map<std::string, function> functions;
  std::string around;
  bool has_variables = false;  ///< variables that functions may share, here or in other files
  bool has_unknown = false;    ///< maybe a function that is not recognized, and that other files can call

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

  enum class scope { named_space, unnamed_space, other };  ///< what an open brace began

  static bool is_local(const std::vector<scope>& open) {
    return std::count(open.begin(), open.end(), scope::unnamed_space) > 0;
  }

  /// Whether a statement has a parenthesis before this brace; a type has none.
  bool follows_parenthesis(std::size_t brace) const {
    for (std::size_t i = brace; i-- > 0;) {
      const std::string_view w = word(i);
      if (w == ")") return true;
      if (w == ";" || w == "{" || w == "}" || tokens_[i].directive != 0) return false;
    }
    return false;
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

/// What a change can reach, through calls and through variables that functions share.
class call_graph {
 public:
  /// Adds an old or a new version of a file.
  void add(const std::string& file, const parts& of) {
    for (const auto& [name, f] : of.functions) {
      node& known = nodes_[key_of(file, name, f)];
      known.has_state = known.has_state || f.has_state;
      for (const std::string& word : named_in(f.text))
        if (word != name) known.names.insert({word, local_key(file, word)});
    }
  }
  static std::string key_of(const std::string& file, const std::string& name, const function& f) {
    return f.local ? local_key(file, name) : name;
  }

  /// Adds every function that calls a changed one, or shares a variable with one; if `shared`, variables have changed.
  void spread(std::set<std::string>& changed, bool shared) const {
    const auto has_state = [&](const std::string& key) {
      const auto found = nodes_.find(key);
      return found != nodes_.end() && found->second.has_state;
    };
    for (std::size_t before = changed.size() + 1; before != changed.size();) {
      before = changed.size();
      for (const auto& [key, n] : nodes_) {
        if (names_any(n, [&](const std::string& name) { return changed.contains(name); })) changed.insert(key);
        shared = shared || (changed.contains(key) && (n.has_state || names_any(n, has_state)));
      }
      for (const auto& [key, n] : nodes_)
        if (shared && n.has_state) changed.insert(key);
    }
  }

 private:
  struct node {
    std::set<std::string> names;  ///< keys, whether or not there is such a function
    bool has_state = false;
  };
  static std::string local_key(const std::string& file, const std::string& name) {
    return fmt::format("{}@{}", name, file);
  }
  template <class Test>
  static bool names_any(const node& n, const Test& test) {
    return std::any_of(n.names.begin(), n.names.end(), test);
  }
  std::map<std::string, node> nodes_;
};

bool share_a_word(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& word) { return b.contains(word); });
}

}  // namespace

std::set<std::string> changed_names(const std::map<std::string, std::string>& then,
                                    const std::map<std::string, std::string>& now,
                                    const std::set<std::string>& left_out) {
  std::set<std::string> changed;
  call_graph calls;
  bool shared = false;
  for (const auto& [name, text] : now) {
    if (name.ends_with(".toml")) continue;
    const parts before(then.at(name)), after(text);
    const bool others = before.around != after.around, whole = others || left_out.contains(name);
    const auto concerns_others = [&](const parts& p) { return p.has_unknown || named_in(p.around).contains("extern"); };
    const bool is_header = !name.ends_with(".cu") && !name.ends_with(".cpp");
    if (others && (is_header || concerns_others(before) || concerns_others(after))) return {""};
    shared = shared || (others && (before.has_variables || after.has_variables));
    calls.add(name, before);
    calls.add(name, after);
    for (const auto& [one, other] : {std::pair(&before, &after), {&after, &before}})
      for (const auto& [function, f] : one->functions) {
        const auto found = other->functions.find(function);
        if (whole || found == other->functions.end() || found->second.text != f.text)
          changed.insert(call_graph::key_of(name, function, f));
      }
  }
  calls.spread(changed, shared);
  std::erase_if(changed, [](const std::string& key) { return key.find('@') != key.npos; });
  return changed;
}

std::set<std::string> entries_beside(const std::set<std::string>& changed, const std::string& calls,
                                     const std::vector<std::string>& helpers) {
  if (changed.contains("")) return {};
  // {"name", ..., or MACRO(name, ...
  static const std::regex begin(R"re(\{\s*"(\w+)"\s*,|[{,]\s*[A-Z]+\s*\(\s*(\w+)\s*,)re");
  const parts all(calls);
  std::map<std::string, std::set<std::string>> functions;  // what the staff's functions name
  const auto add = [&](const parts& of) {
    for (const auto& [name, f] : of.functions) functions[name].merge(named_in(f.text));
  };
  add(all);
  for (const std::string& text : helpers) add(parts(text));
  std::set<std::string> reached = changed;
  for (std::size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const auto& [name, words] : functions)
      if (share_a_word(reached, words)) reached.insert(name);
  }
  std::set<std::string> beside;
  std::size_t outside_ends = all.around.size();
  std::string entry;
  std::size_t from = 0;
  const auto ends = [&](std::size_t to) {
    if (!entry.empty() && !reached.contains(entry) &&
        !share_a_word(reached, named_in(all.around.substr(from, to - from))))
      beside.insert(entry);
  };
  for (std::sregex_iterator at(all.around.begin(), all.around.end(), begin), end; at != end; ++at) {
    const auto here = static_cast<std::size_t>(at->position());
    outside_ends = std::min(outside_ends, here);
    ends(here);
    entry = (*at)[1].str() + (*at)[2].str(), from = here;
  }
  ends(all.around.size());
  // Text that the table's entries may share, such as a list of functions.
  return share_a_word(reached, named_in(all.around.substr(0, outside_ends))) ? std::set<std::string>{} : beside;
}

}  // namespace grading
