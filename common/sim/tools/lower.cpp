#include "lower.hpp"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <vector>

namespace sim {
namespace {

struct token {
  std::size_t begin, end;  // [begin, end) in the source
  char kind;               // 'i' identifier or number, 'p' punctuation, 's' string or character
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// All tokens, without comments. Punctuation comes one character a token, but for <<<, >>>, :: and ->.
class scanner {
 public:
  explicit scanner(const std::string& text) : text_(text) {}

  std::vector<token> run() {
    while (at_ < text_.size()) step();
    return std::move(tokens_);
  }

 private:
  bool starts(std::string_view what) const { return text_.compare(at_, what.size(), what) == 0; }
  void push(std::size_t begin, char kind) { tokens_.push_back({begin, at_, kind}); }

  void step() {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (std::isspace(static_cast<unsigned char>(c)) || c == '\\') {
      ++at_;
    } else if (starts("//")) {
      while (at_ < text_.size() && (text_[at_] != '\n' || text_[at_ - 1] == '\\')) ++at_;
    } else if (starts("/*")) {
      const std::size_t end = text_.find("*/", at_ + 2);
      at_ = end == std::string::npos ? text_.size() : end + 2;
    } else if (raw_string()) {
      push(begin, 's');
    } else if (c == '"' || c == '\'') {
      quoted(c);
      push(begin, 's');
    } else if (is_word(c)) {
      // A number may hold ' as a separator: 1'000.
      const bool number = std::isdigit(static_cast<unsigned char>(c));
      while (at_ < text_.size() && (is_word(text_[at_]) || (number && text_[at_] == '\'' && at_ + 1 < text_.size() &&
                                                            is_word(text_[at_ + 1]))))
        ++at_;
      push(begin, 'i');
    } else {
      at_ += starts("<<<") || starts(">>>") ? 3 : starts("::") || starts("->") ? 2 : 1;
      push(begin, 'p');
    }
  }

  void quoted(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    at_ = std::min(at_ + 1, text_.size());
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
    const std::size_t open = text_.find('(', r);
    if (open == std::string::npos || open - r > 16) return false;
    const std::string close = ")" + text_.substr(r, open - r) + "\"";
    const std::size_t end = text_.find(close, open);
    at_ = end == std::string::npos ? text_.size() : end + close.size();
    return true;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<token> tokens_;
};

class lowering {
 public:
  explicit lowering(const std::string& source) : source_(source), tokens_(scanner(source).run()) { find_kernels(); }

  std::string run() {
    std::vector<std::pair<std::size_t, std::string>> inserts;  // where, what; sorted below
    std::vector<std::pair<token, std::string>> replaces;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) != "<<<") continue;
      const std::size_t begin = kernel_begin(i), end = configuration_end(i);
      inserts.emplace_back(tokens_[begin].begin, "SIM_KERNEL(");
      replaces.emplace_back(tokens_[i], ")(::sim::configure(");
      replaces.emplace_back(tokens_[end], "))");
    }
    for (std::size_t i = 0; i + 3 < tokens_.size(); ++i) {
      // alignas may not stand behind thread_local, which __shared__ is.
      if (text(i) != "__shared__" || text(i + 1) != "alignas" || text(i + 2) != "(") continue;
      std::size_t close = i + 2;
      for (int depth = 0; close < tokens_.size(); ++close) {
        depth += (text(close) == "(") - (text(close) == ")");
        if (depth == 0) break;
      }
      if (close == tokens_.size()) break;
      replaces.emplace_back(tokens_[i + 1], "__attribute__((aligned");
      inserts.emplace_back(tokens_[close].end, "))");
    }
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::size_t end = erased_kernel_end(i);
      if (end == i) continue;
      inserts.emplace_back(tokens_[i].begin, "::sim::kernel_address(");
      inserts.emplace_back(tokens_[end - 1].end, ")");
    }
    std::string result;
    std::size_t from = 0;
    const auto copy_to = [&](std::size_t to) {
      result.append(source_, from, to - from);
      from = to;
    };
    std::size_t insert = 0, replace = 0;
    std::sort(inserts.begin(), inserts.end());
    std::sort(replaces.begin(), replaces.end(),
              [](const auto& a, const auto& b) { return a.first.begin < b.first.begin; });
    while (insert < inserts.size() || replace < replaces.size()) {
      if (replace == replaces.size() ||
          (insert < inserts.size() && inserts[insert].first <= replaces[replace].first.begin)) {
        copy_to(inserts[insert].first);
        result += inserts[insert++].second;
      } else {
        copy_to(replaces[replace].first.begin);
        result += replaces[replace].second;
        from = replaces[replace++].first.end;
      }
    }
    copy_to(source_.size());
    return result;
  }

 private:
  std::string_view text(std::size_t i) const {
    return std::string_view(source_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  int line(std::size_t i) const {
    return 1 + static_cast<int>(
                   std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(tokens_[i].begin), '\n'));
  }

  /// From the token that closes a pair of brackets back to the one that opens it.
  std::size_t open_of(std::size_t close, std::size_t launch) const {
    const bool angle = text(close)[0] == '>';
    int depth = 0;
    for (std::size_t i = close + 1; i-- > 0;) {
      const std::string_view t = text(i);
      if (tokens_[i].kind == 's' || t == "->") continue;
      const bool closes = angle ? t[0] == '>' : t == ")" || t == "]" || t == "}";
      const bool opens = angle ? t[0] == '<' : t == "(" || t == "[" || t == "{";
      if (angle && (t == ")" || t == "]")) {
        i = open_of(i, launch);
        continue;
      }
      if (angle && (t == ";" || t == "{" || t == "}")) break;
      if (closes) depth += static_cast<int>(t.size());
      if (opens && (depth -= static_cast<int>(t.size())) <= 0) return i;
    }
    throw lowering_error(line(launch), "cannot find what this <<< launches: unbalanced brackets before it");
  }

  /// The first token of the expression that names the kernel: `name`, `ns::name<int, 4>`, `object.member`, `table[i]`.
  std::size_t kernel_begin(std::size_t launch) const {
    const auto missing = [&] { return lowering_error(line(launch), "there is no kernel before this <<<"); };
    if (launch == 0) throw missing();
    std::size_t i = launch - 1;
    for (;;) {
      while (text(i)[0] == '>' || text(i) == ")" || text(i) == "]") {
        const bool parenthesis = text(i) == ")";
        i = open_of(i, launch);
        const bool callee = i > 0 && (tokens_[i - 1].kind == 'i' || text(i - 1) == "]" || text(i - 1)[0] == '>');
        if (parenthesis && (!callee || is_keyword(text(i - 1)))) return i;  // (expression)<<<
        if (i == 0) throw missing();
        --i;
      }
      if (tokens_[i].kind != 'i' || is_keyword(text(i))) throw missing();
      if (i > 0 && text(i - 1) == "template") --i;
      if (i == 0) return i;
      const std::string_view before = text(i - 1);
      if (before == "::") {
        if (i < 2 || (tokens_[i - 2].kind != 'i' && text(i - 2)[0] != '>') || is_keyword(text(i - 2))) return i - 1;
        i -= 2;
      } else if (before == "." || before == "->") {
        if (i < 2) throw missing();
        i -= 2;
      } else {
        return i;
      }
    }
  }

  static bool is_keyword(std::string_view word) {
    for (std::string_view k : {"return", "else", "do", "case", "throw", "if", "while", "for", "switch", "co_return"})
      if (word == k) return true;
    return false;
  }

  std::size_t configuration_end(std::size_t launch) const {
    int depth = 0;
    for (std::size_t i = launch + 1; i < tokens_.size(); ++i) {
      const std::string_view t = text(i);
      if (tokens_[i].kind == 's') continue;
      if (t == "(" || t == "[" || t == "{") ++depth;
      if (t == ")" || t == "]" || t == "}") --depth;
      if (depth < 0 || (t == ";" && depth == 0) || t == "<<<") break;
      if (t == ">>>" && depth == 0) {
        if (i == launch + 1) throw lowering_error(line(launch), "<<<>>> needs a grid and a block");
        return i;
      }
    }
    throw lowering_error(line(launch), "this <<< has no >>>");
  }

  /// The names of the file's own kernels: what stands before the first ( behind __global__.
  void find_kernels() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) != "__global__") continue;
      for (++i; i + 1 < tokens_.size() && text(i) != ";" && text(i) != "{"; ++i) {
        if (text(i + 1) != "(" || tokens_[i].kind != 'i') continue;
        if (text(i) != "__launch_bounds__" && text(i) != "__attribute__" && text(i) != "__block_size__") {
          kernels_.insert(std::string(text(i)));
          break;
        }
        int depth = 0;
        do {
          ++i;
          depth += (text(i) == "(") - (text(i) == ")");
        } while (depth > 0 && i + 1 < tokens_.size());
      }
    }
  }

  /// Where `(void*)kernel<4>` or `reinterpret_cast<void*>(kernel)` begins its kernel at token i: the token behind it.
  /// Otherwise i. The cast would lose the types of the arguments.
  std::size_t erased_kernel_end(std::size_t i) const {
    const auto at = [&](std::size_t back) { return back <= i ? text(i - back) : std::string_view(); };
    const bool c_cast =
        at(1) == ")" && at(2) == "*" && at(3) == "void" && (at(4) == "(" || (at(4) == "const" && at(5) == "("));
    const bool cpp_cast = at(1) == "(" && at(2) == ">" && at(3) == "*" && at(4) == "void";
    const std::size_t name = i + (text(i) == "&");
    if ((!c_cast && !cpp_cast) || name >= tokens_.size() || tokens_[name].kind != 'i') return i;
    std::size_t end = name + 1;
    while (end + 1 < tokens_.size() && text(end) == "::" && tokens_[end + 1].kind == 'i') end += 2;
    // A kernel from a header is known by whom it is given to.
    const std::size_t open = at(4) == "const" ? 5 : 4;
    const bool given = c_cast && text(i) != "&" && at(open + 1) == "(" &&
                       (at(open + 2) == "cudaLaunchKernel" || at(open + 2) == "cudaLaunchCooperativeKernel");
    if (!given && !kernels_.contains(std::string(text(end - 1)))) return i;
    if (end < tokens_.size() && text(end) == "<") {
      int depth = 0;
      for (; end < tokens_.size() && text(end) != ";"; ++end) {
        if (text(end) == "<") ++depth;
        if (text(end) == ">" && --depth == 0) break;
      }
      ++end;
    }
    return std::min(end, tokens_.size());
  }

  const std::string& source_;
  std::vector<token> tokens_;
  std::set<std::string> kernels_;
};

}  // namespace

std::string lower_launches(const std::string& source) { return lowering(source).run(); }

}  // namespace sim
