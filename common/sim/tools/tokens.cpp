#include "sim/tokens.hpp"

#include <algorithm>
#include <cctype>
#include <utility>

namespace sim {
namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80); }

class scanner {
 public:
  explicit scanner(const std::string& text) : text_(text) {}

  std::vector<token> run() {
    if (starts("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  char here() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool starts(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
  void push(std::size_t begin, char kind) {
    tokens_.push_back({begin, at_, kind, in_directive_ ? directives_ : 0});
    line_is_empty_ = false;
  }

  /// The length of a line-joining backslash and the blanks after it; 0 if there is none.
  std::size_t splice() const {
    if (here() != '\\') return 0;
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '\n' && is_space(text_[end])) ++end;
    return end < text_.size() && text_[end] == '\n' ? end + 1 - at_ : 0;
  }

  void step() {
    const std::size_t begin = at_;
    const char c = here();
    if (const std::size_t n = splice(); n > 0) {
      at_ += n;
    } else if (c == '\n') {
      ++at_;
      line_is_empty_ = true;
      in_directive_ = false;
    } else if (is_space(c) || c == '\\') {
      ++at_;
    } else if (starts("//")) {
      while (at_ < text_.size() && here() != '\n') at_ += std::max(splice(), std::size_t{1});
    } else if (starts("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string::npos ? text_.size() : end + 2;
    } else if (raw_string()) {
      push(begin, 's');
    } else if (c == '"' || c == '\'') {
      quoted(c);
      push(begin, 's');
    } else if (is_word(c)) {
      // Numbers may contain ' as a separator: 1'000.
      const bool number = std::isdigit(static_cast<unsigned char>(c)) != 0;
      while (at_ < text_.size() &&
             (is_word(here()) || (number && here() == '\'' && at_ + 1 < text_.size() && is_word(text_[at_ + 1]))))
        ++at_;
      push(begin, 'i');
    } else {
      if (c == '#' && line_is_empty_ && !in_directive_) {
        in_directive_ = true;
        ++directives_;
      }
      at_ += punctuation();
      push(begin, 'p');
    }
  }

  std::size_t punctuation() const {
    if (here() != '<') return starts("::") || starts("->") ? 2 : 1;
    const std::size_t run = std::min(text_.find_first_not_of('<', at_), text_.size()) - at_;
    if (run == 1) return starts("<=") ? 2 : 1;
    if (const bool after_operator = !tokens_.empty() && text_.compare(tokens_.back().begin, 8, "operator") == 0;
        after_operator && run == 3)
      return 2;
    else if (run == 2 && !after_operator)  // Visual Studio writes << <, and nvcc accepts it
      if (const std::size_t third = text_.find_first_not_of(" \t", at_ + 2);
          third != std::string::npos && text_[third] == '<' && text_.find_first_of("<=", third + 1) != third + 1)
        return third + 1 - at_;
    return run;  // more than three are not a launch: <<<<<<< is a merge conflict
  }

  void quoted(char quote) {
    for (++at_; at_ < text_.size() && here() != quote && here() != '\n';)
      at_ += here() != '\\' ? 1 : std::max(splice(), std::size_t{2});
    at_ = std::min(at_ + (here() == quote), text_.size());
  }

  /// R"delimiter( ... )delimiter", also with u8, u, U or L before it.
  bool raw_string() {
    std::size_t r = at_;
    for (std::string_view prefix : {"u8R\"", "uR\"", "UR\"", "LR\"", "R\""})
      if (starts(prefix)) {
        r = at_ + prefix.size();
        break;
      }
    if (r == at_) return false;
    constexpr std::size_t longest_delimiter = 16;
    const std::string begins = text_.substr(r, longest_delimiter + 1);  // avoids searching the whole file each time
    const std::size_t open = begins.find('(');
    if (open == std::string::npos) return false;
    const std::string close = ")" + begins.substr(0, open) + "\"";
    const std::size_t end = text_.find(close, r + open);
    at_ = end == std::string::npos ? text_.size() : end + close.size();
    return true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  bool line_is_empty_ = true, in_directive_ = false;
  int directives_ = 0;
  std::vector<token> tokens_;
};

class surroundings : token_view {
 public:
  using token_view::token_view;

  std::vector<place> run() {
    std::vector<place> places;
    places.reserve(tokens_.size());
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].directive == 0)
        text_token(i);
      else if (i > 0 && text(i - 1) == "#" && (i < 2 || tokens_[i - 2].directive != tokens_[i].directive))
        directive(text(i));
      places.push_back({levels_.back().parentheses, levels_.back().in_device_code, branch_});
    }
    return places;
  }

 private:
  struct level {
    int parentheses = 0;
    bool in_device_code = false;
    std::size_t statement = 0;  // its first token
  };

  void text_token(std::size_t i) {
    const std::string_view t = text(i);
    if (t == "(" || t == "[" || t == "{") {
      const level& outer = levels_.back();
      levels_.push_back({outer.parentheses + (t == "("),
                         outer.in_device_code || (t == "{" && is_device_code(outer.statement, i)), i + 1});
    } else if (t == ")" || t == "]" || t == "}") {
      if (levels_.size() > 1) levels_.pop_back();
      if (t == "}") levels_.back().statement = i + 1;
    } else if (t == ";") {
      levels_.back().statement = i + 1;
    }
  }

  bool is_device_code(std::size_t begin, std::size_t end) const {
    for (std::size_t i = begin; i < end; ++i)
      if (tokens_[i].directive == 0 && (text(i) == "__global__" || text(i) == "__device__")) return true;
    return false;
  }

  /// Each branch of an #if begins with the brackets that were open before it.
  void directive(std::string_view name) {
    if (name == "if" || name == "ifdef" || name == "ifndef") {
      conditionals_.push_back({levels_, branch_});
      branch_ = ++branches_;
    } else if (conditionals_.empty()) {
      return;
    } else if (name == "else" || name == "elif") {
      levels_ = conditionals_.back().levels;
      branch_ = ++branches_;
    } else if (name == "endif") {
      branch_ = conditionals_.back().branch;
      conditionals_.pop_back();
    }
  }

  struct conditional {
    std::vector<level> levels;
    int branch;
  };
  std::vector<level> levels_{1};
  std::vector<conditional> conditionals_;
  int branch_ = 0, branches_ = 0;
};

}  // namespace

std::vector<place> places_of(const std::string& source, const std::vector<token>& tokens) {
  return surroundings(source, tokens).run();
}

std::vector<token> tokens_of(const std::string& source) { return scanner(source).run(); }

void add_beside(std::vector<edit>& edits, const std::vector<edit>& more) {
  const std::size_t known = edits.size();
  for (const edit& m : more) {
    // An insertion between two replacements changes neither.
    const bool apart = std::all_of(edits.begin(), edits.begin() + static_cast<std::ptrdiff_t>(known),
                                   [&](const edit& e) { return m.at + m.length <= e.at || e.at + e.length <= m.at; });
    if (apart) edits.push_back(m);
  }
}

std::string apply(const std::string& source, std::vector<edit> edits) {
  // At the same position, insertions come before a replacement.
  std::stable_sort(edits.begin(), edits.end(), [](const edit& a, const edit& b) {
    return std::pair(a.at, a.length > 0) < std::pair(b.at, b.length > 0);
  });
  std::string result;
  std::size_t from = 0;
  for (const edit& e : edits) {
    result.append(source, from, e.at - from);
    result += e.text;
    from = e.at + e.length;
  }
  return result.append(source, from);
}

std::string refusal(const std::string& message) { return "_Pragma(\"GCC error \\\"" + message + "\\\"\")"; }

}  // namespace sim
