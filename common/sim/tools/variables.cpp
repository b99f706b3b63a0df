#include "variables.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

namespace sim {
namespace {

using std::string;
using std::string_view;

class reader : token_view {
 public:
  reader(const string& source, const std::vector<token>& tokens, variables& found)
      : token_view(source, tokens), found_(found) {
    find_macros();
  }

  void run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].directive != 0) {
        if (i > 0 && text(i - 1) == "#" && (i < 2 || tokens_[i - 2].directive != tokens_[i].directive))
          directive(text(i));
        continue;
      }
      const string_view t = text(i);
      if (t == "{") {
        scopes_.push_back({kind_of_braces(i), i + 1});
      } else if (t == "}") {
        if (scopes_.size() == 1) continue;
        const scope left = scopes_.back();
        scopes_.pop_back();
        // Text after the braces of a class or value belongs to the same statement.
        if (left.what != kind::part) scopes_.back().statement = i + 1;
      } else if (t == ";") {
        statement(scopes_.back().statement, i);
        scopes_.back().statement = i + 1;
      }
    }
  }

 private:
  enum class kind { space, host_code, device_code, part };
  struct scope {
    kind what;
    std::size_t statement;  // its first token
  };

  static bool marks_device(string_view word) {
    return word == "__device__" || word == "__global__" || word == "__managed__" || word == "__constant__" ||
           word == "__shared__";
  }
  bool may_mark_device(string_view word) const {
    return marks_device(word) || macros_.contains(word) ||
           (std::isalpha(static_cast<unsigned char>(word[0])) &&
            std::none_of(word.begin(), word.end(), [](char c) { return 'a' <= c && c <= 'z'; }));
  }

  /// Macros that expand to a mark.
  void find_macros() {
    for (std::size_t i = 0; i + 2 < tokens_.size(); ++i) {
      if (tokens_[i].directive == 0 || text(i) != "#" || text(i + 1) != "define") continue;
      for (std::size_t k = i + 3; k < tokens_.size() && tokens_[k].directive == tokens_[i].directive; ++k)
        if (may_mark_device(text(k))) macros_.emplace(text(i + 2));
    }
  }

  /// Each branch of an #if begins with the braces that were open before it.
  void directive(string_view name) {
    if (name == "if" || name == "ifdef" || name == "ifndef")
      conditionals_.push_back(scopes_);
    else if (conditionals_.empty())
      return;
    else if (name == "else" || name == "elif")
      scopes_ = conditionals_.back();
    else if (name == "endif")
      conditionals_.pop_back();
  }

  bool has(std::size_t begin, std::size_t end, std::initializer_list<string_view> words) const {
    for (std::size_t i = begin; i < end; ++i)
      if (tokens_[i].directive == 0 && std::find(words.begin(), words.end(), text(i)) != words.end()) return true;
    return false;
  }
  bool may_be_device(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (tokens_[i].directive == 0 && may_mark_device(text(i))) return true;
    return false;
  }

  /// Whether there is an = outside default arguments and lambda captures.
  bool has_value(std::size_t begin, std::size_t end) const {
    int depth = 0;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].directive != 0) continue;
      const string_view t = text(i);
      depth += (t == "(" || t == "[") - (t == ")" || t == "]");
      if (depth == 0 && t == "=") return true;
    }
    return false;
  }

  kind kind_of_braces(std::size_t at) const {
    const auto [what, begin] = scopes_.back();
    if (what == kind::part || what == kind::device_code) return what;
    const bool value = has_value(begin, at);
    if (what == kind::host_code) {
      for (std::size_t i = begin; i < at; ++i)
        if (marks_device(text(i)) || macros_.contains(text(i))) return kind::device_code;  // a lambda
      return value || has(begin, at, {"static"}) ? kind::part : kind::host_code;
    }
    if (begin == at) return kind::part;
    if (has(begin, at, {"namespace"}) || (has(begin, at, {"extern"}) && tokens_[at - 1].kind == 's'))
      return kind::space;
    if (value || !has(begin, at, {"("})) return kind::part;
    if (has(begin, at, {"class", "struct", "union", "enum"}) && text(at - 1) != ")") return kind::part;
    return may_be_device(begin, at) ? kind::device_code : kind::host_code;
  }

  /// Records the variables of a statement, from its first token to the semicolon, if it declares any.
  void statement(std::size_t begin, std::size_t end) {
    std::size_t words_of_type = 1;
    if (has(begin, end, {"class", "struct", "union", "enum"}) && !has_value(begin, end) && end > 0) {
      std::size_t close = end;
      while (close > begin && text(close - 1) != "}") --close;
      if (close > begin) begin = close, words_of_type = 0;  // text after the braces
      if (end - begin == 2) return;                         // struct s;
    }
    const bool marked = has(begin, end, {"__device__", "__managed__", "__constant__"});
    const kind where = scopes_.back().what;
    if (!marked && (where == kind::device_code || where == kind::part)) return;
    if (!marked && where == kind::host_code && !has(begin, end, {"static"})) return;
    if (has(begin, end, {"using", "typedef", "template", "friend", "operator", "constexpr", "thread_local", "return"}))
      return;
    std::vector<std::size_t> outside;  // of all brackets and values
    int depth = 0;
    bool in_value = false;
    for (std::size_t i = begin; i < end; ++i) {
      if (tokens_[i].directive != 0) continue;
      const string_view t = text(i);
      const bool opens = t == "[" || t == "{" || t == "<" || t == "(";
      if (depth == 0 && in_value) {
        in_value = t != ",";
        if (!in_value) outside.push_back(i);
      } else if (t == "(" && depth == 0) {  // a function; or an alignment, an attribute
        const string_view before = i > begin ? text(i - 1) : "";
        if (before != "alignas" && before != "__attribute__" && before != "__align__") return;
        outside.pop_back();
      } else if (depth == 0 && t != "<") {
        outside.push_back(i);
      }
      in_value = in_value || (depth == 0 && t == "=");
      depth += opens - (t == "]" || t == "}" || t == ">" || t == ")");
    }
    std::set<string> found_names;
    for (std::size_t k = 0; k < outside.size(); ++k) {
      const std::size_t i = outside[k];
      if (tokens_[i].kind != 'i') continue;
      const string_view next = k + 1 < outside.size() ? text(outside[k + 1]) : ";";
      const bool is_name =
          k >= words_of_type && (next == "[" || next == "{" || next == "=" || next == "," || next == ";");
      if (is_name) found_names.emplace(text(i));
      if (!is_name && !marked && may_mark_device(text(i))) return;
    }
    (marked ? found_.device : found_.host).insert(found_names.begin(), found_names.end());
    if (has(begin, end, {"__managed__"})) found_.managed.insert(found_names.begin(), found_names.end());
  }

  variables& found_;
  std::set<string, std::less<>> macros_;
  std::vector<scope> scopes_{{kind::space, 0}};
  std::vector<std::vector<scope>> conditionals_;
};

/// Finds `tile` in `_ZN12_GLOBAL__N_14tileE` and in `_ZZ4mainE4tile`.
string plain_name(const string& symbol) {
  int status = 0;
  // A global variable's symbol is its name: `x` would be read as the mangled name of a type.
  char* readable = symbol.starts_with("_Z") ? abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status) : nullptr;
  string name = readable ? readable : symbol;
  std::free(readable);
  if (const std::size_t colons = name.rfind("::"); colons != string::npos) name.erase(0, colons + 2);
  return name.substr(0, name.find('['));
}

}  // namespace

void add_variables(const string& source, const std::vector<token>& tokens, variables& found) {
  reader(source, tokens, found).run();
}

string variable_tables(const string& assembly, const variables& known) {
  std::map<string, string> bytes;  // of each object
  std::istringstream lines(assembly);
  std::set<string> objects;
  for (string line; std::getline(lines, line);) {
    std::istringstream in(line);
    string word, name, value;
    in >> word;
    if (word != ".type" && word != ".size" && word != ".comm") continue;
    std::getline(in >> std::ws, name, ',');
    std::getline(in >> std::ws, value, ',');
    if (word == ".type" && value.find("object") != string::npos) objects.insert(name);
    if (word == ".comm") objects.insert(name);
    if (word != ".type" && value.find_first_not_of("0123456789") == string::npos) bytes[name] = value;
  }
  string of_host, of_device;
  for (const string& symbol : objects) {
    const string name = plain_name(symbol);
    const bool host = known.host.contains(name), device = known.device.contains(name);
    if (bytes.contains(symbol) && host != device && !known.managed.contains(name))
      (host ? of_host : of_device) += "\t.long\t" + symbol + " - ., " + bytes[symbol] + "\n";
  }
  const auto section = [](const string& name, const string& table) {
    return table.empty() ? "" : "\t.section " + name + ",\"a\",@progbits\n\t.balign 4\n" + table;
  };
  return section("sim_host_variables", of_host) + section("sim_device_variables", of_device);
}

}  // namespace sim
