#include "assembler.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <string_view>

#include "ptx.hpp"

namespace sim {
namespace {

using std::string;
using std::string_view;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
bool is_one_of(string_view word, std::initializer_list<string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// In PTX, an instruction's type follows a dot, as in mov.u32, and .reg declares registers. x86 assembly has neither.
bool looks_like_ptx(string_view text) {
  bool at_start = true;  // of an instruction
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (at_start && text.substr(i, 5) == ".reg ") return true;
    if (at_start && std::islower(static_cast<unsigned char>(text[i]))) {
      while (i < text.size() && is_word(text[i])) ++i;
      if (i + 1 < text.size() && text[i] == '.' && std::islower(static_cast<unsigned char>(text[i + 1]))) return true;
      at_start = false;
    }
    if (i >= text.size()) break;
    if (is_one_of(text.substr(i, 1), {";", "{", "\n"}))
      at_start = true;
    else if (!std::isspace(static_cast<unsigned char>(text[i])))
      at_start = false;
  }
  return false;
}

/// The value of a string literal.
string contents(string_view literal) {
  const std::size_t open = literal.find_first_of("\"'");
  if (open == string_view::npos) return "";
  if (open > 0 && literal[open - 1] == 'R') {
    const std::size_t begin = literal.find('(', open), end = literal.rfind(')');
    return begin == string_view::npos || end <= begin ? "" : string(literal.substr(begin + 1, end - begin - 1));
  }
  literal = literal.substr(open + 1, literal.size() - std::min(literal.size(), open + 2));
  string result;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      result += literal[i];
    } else if (const char c = literal[++i]; c == '\n' || c == '\r') {
      i += c == '\r' && i + 1 < literal.size() && literal[i + 1] == '\n';  // a line continuation
    } else {
      result += is_one_of(literal.substr(i, 1), {"n", "t", "r"}) ? '\n' : c;
    }
  }
  return result;
}
/// %% means one %.
string without_doubled_percents(const string& text) {
  string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    result += text[i];
    if (text.compare(i, 2, "%%") == 0) ++i;
  }
  return result;
}

/// The macros that a file and those before it define, and their expansions.
class macros : token_view {
 public:
  macros(const string& source, const std::vector<token>& tokens, macro_table& all)
      : token_view(source, tokens), all_(all) {
    for (std::size_t i = 0; i + 2 < tokens.size(); ++i)
      if (tokens[i].directive != 0 && (i == 0 || tokens[i - 1].directive != tokens[i].directive) &&
          text(i + 1) == "define")
        define(i + 2);
  }
  string name_of(int directive) const {
    const auto found = names_.find(directive);
    return found == names_.end() ? "" : found->second;
  }
  bool knows(string_view name) const { return all_.find(name) != all_.end(); }
  /// Whether a use's arguments complete an asm statement in this macro, or in one that it uses.
  bool assembles(string_view name, int depth = 0) const {
    const auto found = all_.find(name);
    if (found == all_.end() || depth > 20) return false;
    const macro& m = found->second;
    return m.assembles || (m.takes_arguments && std::any_of(m.body.begin(), m.body.end(), [&](const string& word) {
                             return word != name && assembles(word, depth + 1);
                           }));
  }
  void note_assembling(const string& name) {
    if (const auto found = all_.find(name); found != all_.end()) found->second.assembles = true;
  }
  /// The tokens from `first` up to `last`, with macros expanded and blanks between them.
  string expanded(std::size_t first, std::size_t last) const {
    std::vector<string> words;
    for (; first < last; ++first) words.emplace_back(text(first));
    string result;
    for (const string& w : expand(words, 0)) (result += w) += ' ';
    return result;
  }

 private:
  void define(std::size_t i) {
    macro m;
    const int directive = tokens_[i].directive;
    const string name(text(i++));
    names_[directive] = name;
    const auto here = [&] { return i < tokens_.size() && tokens_[i].directive == directive; };
    m.takes_arguments = here() && text(i) == "(" && tokens_[i - 1].end == tokens_[i].begin;
    if (m.takes_arguments) {
      for (++i; here() && text(i) != ")"; ++i)
        if (text(i) != ",") m.parameters.emplace_back(text(i));
      ++i;
    }
    for (; here(); ++i) m.body.emplace_back(text(i));
    all_[name] = m;
  }
  static bool is_literal(const string& word) { return word.size() > 1 && word[0] == '"'; }
  /// #x: its words, with blanks only where they would merge.
  static string quoted(const std::vector<string>& words) {
    string text = "\"";
    for (const string& w : words) {
      if (is_word(text.back()) && is_word(w[0])) text += ' ';
      for (const char c : w) {
        if (c == '"' || c == '\\') text += '\\';
        text += c;
      }
    }
    return text + '"';
  }
  static void append(std::vector<string>& words, const string& word) {
    if (!words.empty() && is_literal(words.back()) && is_literal(word))
      words.back() = words.back().substr(0, words.back().size() - 1) + word.substr(1);
    else
      words.push_back(word);
  }
  std::vector<string> expand(const std::vector<string>& words, int depth) const {
    std::vector<string> result;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto found = all_.find(words[i]);
      if (found == all_.end() || depth > 20 ||
          (found->second.takes_arguments && (i + 1 == words.size() || words[i + 1] != "("))) {
        result.push_back(words[i]);
        continue;
      }
      const macro& m = found->second;
      std::vector<std::vector<string>> arguments(1);
      if (m.takes_arguments) {
        int open = 0;
        for (++i; i < words.size(); ++i) {
          open += (words[i] == "(") - (words[i] == ")");
          if (open == 0) break;
          if (open == 1 && words[i] == ",")
            arguments.emplace_back();
          else if (open > 1 || words[i] != "(")
            arguments.back().push_back(words[i]);
        }
      }
      const auto argument = [&](std::size_t word) -> const std::vector<string>* {
        if (word >= m.body.size()) return nullptr;
        const auto p = std::find(m.parameters.begin(), m.parameters.end(), m.body[word]);
        const auto at = static_cast<std::size_t>(p - m.parameters.begin());
        return p == m.parameters.end() || at >= arguments.size() ? nullptr : &arguments[at];
      };
      const auto is = [&](std::size_t word, string_view what) { return word < m.body.size() && m.body[word] == what; };
      std::vector<string> body;
      for (std::size_t k = 0; k < m.body.size(); ++k) {
        const bool pasted = !body.empty() && is(k, "#") && is(k + 1, "#");
        k += pasted ? 2 : 0;
        const std::vector<string>* of = argument(k);
        if (!pasted && is(k, "#") && argument(k + 1)) {
          append(body, quoted(*argument(++k)));
        } else if (pasted && k < m.body.size()) {
          const std::vector<string> right = of ? *of : std::vector{m.body[k]};
          if (!right.empty()) body.back() += right[0];
          if (!right.empty()) body.insert(body.end(), right.begin() + 1, right.end());
        } else if (of) {
          const bool whole = (is(k + 1, "#") && is(k + 2, "#"));  // pasted verbatim
          for (const string& w : whole ? *of : expand(*of, depth + 1)) append(body, w);
        } else if (k < m.body.size()) {
          append(body, m.body[k]);
        }
      }
      for (const string& w : expand(body, depth + 1)) append(result, w);
    }
    return result;
  }

  macro_table& all_;
  std::map<int, string> names_;  // by directive
};

class search : token_view {
 public:
  /// `alone`: an asm statement in a function, which the caller inserts.
  search(const string& source, const std::vector<token>& tokens, macro_table& known, bool alone = false)
      : token_view(source, tokens),
        places_(places_of(source, tokens)),
        known_(known),
        macros_(source, tokens, known),
        alone_(alone) {}

  std::vector<edit> run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      if (tokens_[i].kind == 'i' && is_one_of(text(i), {"asm", "__asm", "__asm__"}))
        i = statement(i);
      else if (!alone_ && tokens_[i].directive == 0 && macros_.assembles(text(i)))
        i = invocation(i);
    return std::move(edits_);
  }

 private:
  struct operand {
    asm_operand as;
    bool read;                // "r" and "+r"
    std::size_t open, close;  // the parentheses around its expression
  };

  bool is_string(std::size_t i) const { return i < tokens_.size() && tokens_[i].kind == 's'; }
  std::size_t line_of(std::size_t at) const {
    return 1 + static_cast<std::size_t>(
                   std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  }

  /// Expands a macro whose asm statements are completed by its arguments. Returns the last token processed.
  std::size_t invocation(std::size_t begin) {
    if (text(begin + 1) != "(") return begin;
    const std::size_t close = close_of(begin + 1);
    if (close >= tokens_.size()) return begin;
    in_macro_ = false;
    aligned_ = !alone_ && places_[begin].parentheses == 0;
    const bool inside = places_[begin].in_device_code;
    const string before = inside ? "__device__ void f() { " : "",
                 source = before + macros_.expanded(begin, close + 1) + (inside ? "; }" : "");
    const std::vector<token> tokens = tokens_of(source);
    const std::vector<edit> made = search(source, tokens, known_, true).run();
    if (made.empty() || source.find("__VA_ARGS__") != string::npos) return close;  // host assembly; not expanded here
    string lowered = apply(source, made);
    if (inside) lowered.resize(lowered.rfind(';'));
    replace(tokens_[begin].begin, tokens_[close].end, lowered.substr(before.size()), aligned_);
    return close;
  }

  /// Handles `asm volatile("..." : ...)` from its first token on. Returns the last token processed.
  std::size_t statement(std::size_t begin) {
    std::size_t i = begin + 1;
    while (is_one_of(text(i), {"volatile", "__volatile__", "__volatile", "goto", "inline", "__inline__"})) ++i;
    if (text(i) != "(") return begin;
    const std::size_t open = i, close = close_of(open);
    if (close >= tokens_.size()) return begin;

    string code;
    bool literal = true, whole = true;  // made of string literals; not split by an #if
    for (i = open + 1; i < close && text(i) != ":" && text(i) != "::"; ++i) {
      literal &= is_string(i);
      if (is_string(i)) code += contents(text(i));
    }
    for (std::size_t k = begin; k <= close; ++k) whole &= tokens_[k].directive == tokens_[begin].directive;
    const bool empty = literal && code.find_first_not_of(" \t\n") == string::npos;
    std::vector<operand> operands;
    const bool may_be = !literal && tokens_[begin].directive != 0 && read_operands(i, close, operands).empty();
    if (!literal && tokens_[begin].directive != 0) macros_.note_assembling(macros_.name_of(tokens_[begin].directive));
    if (empty || !(places_[begin].in_device_code || looks_like_ptx(code) || may_be)) return close;
    in_macro_ = tokens_[begin].directive != 0;
    aligned_ = !in_macro_ && !alone_ && places_[begin].parentheses == 0;
    if (!in_macro_ && !alone_ && whole && has_macros(open, close)) {
      expand(begin, close);
      return close;
    }
    if (!whole) {
      refuse(begin, close, "an #if inside inline PTX is not simulated; write the whole asm statement into each branch");
    } else if (!literal) {
      refuse(begin, close, "inline PTX assembled by a macro is not simulated; write the instruction in the string");
    } else {
      translate(begin, i, close, i < close ? without_doubled_percents(code) : code);
    }
    return close;
  }

  /// Ignores the operands' expressions, where the compiler expands macros.
  bool has_macros(std::size_t open, std::size_t close) const {
    int depth = 0;
    for (std::size_t i = open; i < close; ++i) {
      depth += (text(i) == "(") - (text(i) == ")");
      if (depth == 1 && tokens_[i].kind == 'i' && macros_.knows(text(i))) return true;
    }
    return false;
  }
  void expand(std::size_t begin, std::size_t close) {
    const string before = "__device__ void f() { ", source = before + macros_.expanded(begin, close + 1) + "; }";
    const std::vector<token> tokens = tokens_of(source);
    string lowered = apply(source, search(source, tokens, known_, true).run());
    lowered.resize(lowered.rfind(';'));
    replace(tokens_[begin].begin, tokens_[close].end, lowered.substr(before.size()), aligned_);
  }

  void translate(std::size_t begin, std::size_t colon, std::size_t close, const string& code) {
    std::vector<operand> operands;
    if (const string wrong = read_operands(colon, close, operands); !wrong.empty()) return refuse(begin, close, wrong);
    std::vector<asm_operand> as;
    as.reserve(operands.size());
    for (const operand& o : operands) as.push_back(o.as);
    const translated_ptx ptx = translate_ptx(code, as);
    if (!ptx.refused.empty()) return refuse(begin, close, ptx.refused);

    // Each piece of the text between two operands' expressions becomes C++.
    string code_before = "__extension__({ ", after;
    std::size_t from = tokens_[begin].begin;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const operand& o = operands[k];
      const string name = "sim_" + std::to_string(k), constraint(1, o.as.constraint);
      if (o.as.written) {
        code_before += "auto&& sim_to_" + std::to_string(k) + " = (";
        after += "::sim::ptx::output<'" + constraint + "'>(sim_to_" + std::to_string(k) + ", " + name + "); ";
      } else {
        code_before += "[[maybe_unused]] const auto " + name + " = ::sim::ptx::input<'" + constraint + "'>(";
      }
      replace(from, tokens_[o.open].end, code_before, true);
      from = tokens_[o.close].begin;
      code_before = "); ";
      if (o.as.written)
        code_before += "auto " + name + " = ::sim::ptx::" +
                       (o.read ? "input<'" + constraint + "'>(sim_to_" + std::to_string(k) + "); "
                               : "unwritten<'" + constraint + "'>(); ");
    }
    // The statements belong to the line of the asm.
    const string line =
        aligned_ && !operands.empty() ? "\n#line " + std::to_string(line_of(tokens_[begin].begin)) + "\n" : "";
    replace(from, tokens_[close].end, code_before + line + ptx.code + after + "})", aligned_);
  }

  /// Parses from the first colon on. Returns an error, or "".
  string read_operands(std::size_t i, std::size_t close, std::vector<operand>& operands) const {
    int section = -1;  // 0 outputs, 1 inputs, 2 clobbers
    while (i < close) {
      if (text(i) == ":" || text(i) == "::") {
        section += text(i) == "::" ? 2 : 1;
        ++i;
      } else if (text(i) == ",") {
        ++i;
      } else if (section >= 2) {
        if (!is_string(i)) return "inline PTX has a clobber that is not a string";
        ++i;
      } else if (text(i) == "[" && section >= 0) {
        return "inline PTX with named operands is not simulated; use %0, %1 and so on";
      } else {
        if (section < 0 || !is_string(i) || text(i + 1) != "(")
          return "cannot parse an operand of inline PTX; write a constraint and an expression in parentheses";
        const std::size_t end = close_of(i + 1);
        if (end >= close)
          return "cannot parse an operand of inline PTX; write a constraint and an expression in parentheses";
        string constraint = contents(text(i));
        const bool output = constraint.starts_with("="), both = constraint.starts_with("+");
        std::erase_if(constraint, [](char c) { return c == '=' || c == '+' || c == '&'; });
        if (constraint == "C")
          return "inline PTX with text from an array (constraint C) is not simulated; write that text in the string";
        if (!is_one_of(constraint, {"h", "r", "l", "f", "d", "n"}))
          return "inline PTX has an operand whose constraint is none of h, r, l, f, d, n";
        if ((section == 0) != (output || both)) return "inline PTX has an output without = or +, or an input with one";
        if (end == i + 2) return "an operand of inline PTX has no expression";
        operands.push_back({{constraint[0], output || both}, !output, i + 1, end});
        i = end + 1;
      }
    }
    return "";
  }

  /// Replaces source text; the text after it keeps its line and column.
  void replace(std::size_t from, std::size_t to, string with, bool realigned) {
    if (aligned_ && realigned) {
      const std::size_t line = line_of(to);
      const std::size_t line_begin =
          line == 1 ? (source_.starts_with("\xEF\xBB\xBF") ? 3 : 0) : source_.rfind('\n', to - 1) + 1;
      with += "\n#line " + std::to_string(line) + "\n" + string(to - line_begin, ' ');
    } else {
      with += newlines(from, to);
    }
    edits_.push_back({from, to - from, with});
  }
  /// As many line breaks as the source has there, with backslashes in a macro.
  string newlines(std::size_t from, std::size_t to) const {
    string all;
    for (auto n = std::count(source_.begin() + static_cast<std::ptrdiff_t>(from),
                             source_.begin() + static_cast<std::ptrdiff_t>(to), '\n');
         n > 0; --n)
      all += in_macro_ ? "\\\n" : "\n";
    return all;
  }
  void refuse(std::size_t begin, std::size_t close, string message) {
    for (char& c : message)  // the message may quote the program
      if (c == '"' || c == '\\' || std::iscntrl(static_cast<unsigned char>(c))) c = '?';
    const std::size_t at = tokens_[begin].begin, to = tokens_[close].end;
    edits_.push_back({at, to - at, refusal(message) + newlines(at, to)});
  }

  std::vector<place> places_;
  macro_table& known_;
  macros macros_;
  bool alone_;
  std::vector<edit> edits_;
  bool in_macro_ = false, aligned_ = false;  // the statement that is being replaced
};

}  // namespace

std::vector<edit> assembler_edits(const std::string& source, const std::vector<token>& tokens, macro_table* known) {
  macro_table own;
  return search(source, tokens, known ? *known : own).run();
}

bool uses_ptx(const std::vector<edit>& edits) {
  return std::any_of(edits.begin(), edits.end(),
                     [](const edit& e) { return e.text.find("::sim::ptx::") != std::string::npos; });
}

}  // namespace sim
