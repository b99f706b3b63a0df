#include "lower.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace sim {
namespace {

class lowering : token_view {
 public:
  lowering(const std::string& source, const std::vector<token>& tokens)
      : token_view(source, tokens), places_(places_of(source, tokens)) {}

  std::vector<edit> run() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!is_launch(i)) continue;
      if (tokens_[i].directive != 0 && !in_definition(i)) continue;  // #error, #pragma message
      launch_ = i;
      if (const std::optional<std::string> wrong = lower())
        edits_.push_back({tokens_[i].begin, tokens_[i].end - tokens_[i].begin, " " + refusal(*wrong)});
    }
    return std::move(edits_);
  }

 private:
  bool is_launch(std::size_t i) const {
    return text(i).starts_with("<<") && std::ranges::count(text(i), '<') == 3;  // <<< or << <
  }
  bool same_text(std::size_t i) const { return tokens_[i].directive == tokens_[launch_].directive; }
  bool touches(std::size_t i) const { return i > 0 && tokens_[i - 1].end == tokens_[i].begin; }

  /// An error message if the launch is invalid.
  std::optional<std::string> lower() {
    floor_ = tokens_[launch_].directive == 0 ? 0 : definition_body(launch_);
    const std::optional<std::size_t> first = kernel_begin();
    if (!first) {
      if (tokens_[launch_].directive != 0)
        return "this macro has a <<< without its kernel, which is not simulated; write kernel<<<grid, block>>> into it";
      return launch_ > 0 && !same_text(launch_ - 1) ? branches : "there is no kernel before this <<<";
    }
    const std::optional<std::size_t> last = configuration_end();
    if (!last) return "this <<< has no >>>";
    if (*last == launch_ + 3) return "<<<>>> needs a grid and a block";
    if (places_[*first].branch != places_[launch_].branch || places_[*last].branch != places_[launch_].branch)
      return branches;

    const std::size_t kernel = tokens_[*first].begin, open = tokens_[launch_].begin, opened = tokens_[launch_].end,
                      close = tokens_[*last - 2].begin, closed = tokens_[*last].end;
    // Macros and their arguments cannot contain directives, so use no #line there.
    aligned_ = tokens_[launch_].directive == 0 && places_[launch_].parentheses == 0;
    const bool value = is_value(*first);
    const std::vector<std::size_t> nulls = null_arguments(*last + 1);
    const bool zero = std::any_of(nulls.begin(), nulls.end(), [this](std::size_t i) { return text(i) == "0"; });
    if (aligned_) {
      const std::string name = "\"" + kernel_name(*first) + "\", ";
      const std::string tried = zero ? " -> decltype(void(" + kernel_text(*first) + "(sim_arguments...)))" : "";
      edits_.push_back(
          {kernel, 0,
           (value ? " ::sim::kernel_value(" + name
                  : " ::sim::named_kernel(" + name + "[=](auto... sim_arguments) SIM_OF_LAUNCH" + tried + " {") +
               realign(kernel)});
      edits_.push_back({open, opened - open,
                        (value ? "" : "(sim_arguments...); }, SIM_SIGNATURE(" + kernel_text(*first) + ")") +
                            ")(::sim::configure(" + realign(opened)});
    } else {
      edits_.push_back({kernel, 0, value ? "SIM_KERNEL_VALUE(" : zero ? "SIM_TRIED_KERNEL(" : "SIM_KERNEL("});
      edits_.push_back({open, opened - open, ")(::sim::configure("});
    }
    edits_.push_back({close, closed - close, "))" + realign(closed)});
    for (const std::size_t i : nulls)
      edits_.push_back({tokens_[i].begin, text(i).size(),
                        (text(i) == "0" ? "::sim::zero()" : "::sim::null()") + realign(tokens_[i].end)});
    return std::nullopt;
  }

  /// The arguments NULL and 0: once forwarded, they are numbers, which do not convert to a kernel's pointer parameter.
  std::vector<std::size_t> null_arguments(std::size_t open) const {
    std::vector<std::size_t> found;
    if (open >= tokens_.size() || text(open) != "(") return found;
    std::size_t depth = 0, angles = 0;  // after `name <`, which may also be a comparison
    for (std::size_t i = open; i + 1 < tokens_.size() && same_text(i); ++i) {
      const std::string_view t = text(i), before = text(i - 1), after = text(i + 1);
      depth += t == "(" || t == "[" || t == "{";
      if ((t == ")" || t == "]" || t == "}") && --depth == 0) break;
      if (depth != 1) continue;
      angles += t == "<" && tokens_[i - 1].kind == 'i';
      angles -= t == ">" && angles > 0;
      if (angles == 0 && (t == "NULL" || t == "0") && (before == "(" || before == ",") &&
          (after == ")" || after == ","))
        found.push_back(i);
    }
    return found;
  }

  static constexpr const char* branches =
      "this launch begins in one branch of an #if and ends in another; write the whole launch into each";

  /// The text that keeps the next character's line and column in the source.
  std::string realign(std::size_t at) const {
    if (!aligned_) return "";
    const auto line = std::count(source_.begin(), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const std::size_t line_begin =
        line == 0 ? (source_.starts_with("\xEF\xBB\xBF") ? 3 : 0) : source_.rfind('\n', at - 1) + 1;
    return "\n#line " + std::to_string(line + 1) + "\n" + std::string(at - line_begin, ' ');
  }

  /// The text as # in a macro writes it: each run of blanks becomes one, comments disappear.
  std::string kernel_name(std::size_t first) const {
    std::string name;
    for (std::size_t i = first; i < launch_; ++i) {
      if (i > first && !touches(i)) name += ' ';
      for (const char c : text(i)) {
        if (tokens_[i].kind == 's' && (c == '"' || c == '\\')) name += '\\';
        name += c == '\n' ? ' ' : c;
      }
    }
    return name;
  }
  /// The same text, for compiling.
  std::string kernel_text(std::size_t first) const {
    std::string words;
    for (std::size_t i = first; i < launch_; ++i)
      if (!is_launch(i))  // a nested launch is refused at its own place
        (words += i > first && !touches(i) ? " " : "") += text(i);
    return words;
  }

  // ---- the kernel

  /// Whether it is an expression, evaluated once on the host, instead of a name, possibly of a template or macro.
  bool is_value(std::size_t first) const {
    const bool parenthesis = text(first) == "(";
    int angles = 0, within = 0;  // open template arguments; brackets in them
    for (std::size_t i = first + parenthesis; i + parenthesis < launch_; ++i) {
      const std::string_view t = text(i);
      if (angles > 0 && (t == "(" || t == "[" || t == "{")) ++within;
      if (angles > 0 && (t == ")" || t == "]" || t == "}")) --within;
      if (within > 0) continue;
      if (t == "<") ++angles;
      if (t == ">") --angles;
      if (angles > 0 || t == ">" || t == "::") continue;
      if (t == "(" && i > first && tokens_[i - 1].kind == 'i' && is_macro_name(text(i - 1))) return false;
      if (tokens_[i].kind != 'i') return true;
    }
    return false;
  }
  static bool is_macro_name(std::string_view word) {
    return std::none_of(word.begin(), word.end(), [](char c) { return 'a' <= c && c <= 'z'; });
  }

  bool in_definition(std::size_t i) const {
    const std::size_t hash = directive_begin(i);
    return hash + 1 < i && text(hash + 1) == "define";
  }
  std::size_t directive_begin(std::size_t i) const {
    while (i > 0 && tokens_[i - 1].directive == tokens_[i].directive) --i;
    return i;
  }
  /// The first token after `#define NAME` or `#define NAME(parameters)`.
  std::size_t definition_body(std::size_t i) const {
    std::size_t body = directive_begin(i) + 3;
    if (body < i && text(body) == "(" && touches(body)) {
      while (body < i && text(body) != ")") ++body;
      ++body;
    }
    return body;
  }

  /// Goes from a closing bracket back to the opening one.
  std::optional<std::size_t> open_of(std::size_t close) const {
    const bool angle = text(close) == ">";
    int depth = 0;
    for (std::size_t i = close + 1; i-- > floor_;) {
      const std::string_view t = text(i);
      if (!same_text(i)) continue;
      if (angle && (t == ")" || t == "]" || t == "}")) {
        const std::optional<std::size_t> open = open_of(i);
        if (!open) break;
        i = *open;
        continue;
      }
      if (angle && (t == ";" || t == "{" || t == "}")) break;
      if (angle ? t == ">" : t == ")" || t == "]" || t == "}") ++depth;
      if ((angle ? t == "<" : t == "(" || t == "[" || t == "{") && --depth <= 0) return i;
    }
    return std::nullopt;
  }

  /// The first token of the expression that names the kernel: `name`, `ns::name<int, 4>`, `object.member`, `table[i]`.
  std::optional<std::size_t> kernel_begin() const {
    if (launch_ <= floor_ || !same_text(launch_ - 1)) return std::nullopt;
    std::size_t i = launch_ - 1;
    bool in_template = false;
    for (;;) {
      while (text(i) == ">" || text(i) == ")" || text(i) == "]") {
        const bool parenthesis = text(i) == ")";
        in_template |= text(i) == ">";
        const std::optional<std::size_t> open = open_of(i);
        if (!open) return std::nullopt;
        i = *open;
        const bool callee =
            i > floor_ && same_text(i - 1) && (tokens_[i - 1].kind == 'i' || text(i - 1) == "]" || text(i - 1) == ">");
        if (parenthesis && (!callee || is_keyword(text(i - 1)))) return i;  // (expression)<<<
        if (i <= floor_) return std::nullopt;
        --i;
      }
      if (tokens_[i].kind != 'i' || is_keyword(text(i)) || !same_text(i)) return std::nullopt;
      if (i > floor_ && text(i - 1) == "template") --i;
      if (i <= floor_ || !same_text(i - 1)) return i;
      const std::string_view before = text(i - 1);
      const bool has_left = i >= floor_ + 2 && same_text(i - 2);
      if (before == "::") {
        if (!has_left || (tokens_[i - 2].kind != 'i' && text(i - 2) != ">") || is_keyword(text(i - 2))) return i - 1;
        i -= 2;
      } else if (before == "." || before == "->" || (before == "<" && in_template)) {  // <: it was k<a < b>
        if (!has_left) return std::nullopt;
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

  // ---- the configuration

  /// The last of the three > that end the configuration. Others close template arguments or are shifts.
  std::optional<std::size_t> configuration_end() const {
    std::optional<std::size_t> doubtful;
    int depth = 0;
    std::size_t templates = 0;  // opened by `name <`, which may also be a comparison
    for (std::size_t i = launch_ + 1; i < tokens_.size() && same_text_or_conditional(i); ++i) {
      const std::string_view t = text(i);
      if (!same_text(i)) continue;
      if (t == "(" || t == "[" || t == "{") ++depth;
      if (t == ")" || t == "]" || t == "}") --depth;
      if (depth < 0 || (t == ";" && depth == 0) || is_launch(i)) break;
      if (depth > 0) continue;
      if (t == "<" && tokens_[i - 1].kind == 'i') ++templates;
      if (t != ">") continue;
      std::size_t run = 1;
      while (i + 1 < tokens_.size() && text(i + 1) == ">" && touches(i + 1)) ++i, ++run;
      if (run == 2 && templates == 0 && i + 2 < tokens_.size() && text(i + 1) == ">" && text(i + 2) == "(")
        return i + 1;
      if (run >= 3 && templates < run) return i;
      if (run >= 3 && !doubtful) doubtful = i;
      if (templates >= run) templates -= run;
    }
    return doubtful;
  }
  bool same_text_or_conditional(std::size_t i) const { return same_text(i) || tokens_[launch_].directive == 0; }

  std::vector<place> places_;
  std::vector<edit> edits_;
  std::size_t launch_ = 0, floor_ = 0;  // the token <<<; the first token that may belong to its kernel
  bool aligned_ = false;
};

/// Wraps casts of kernels to void* in files that launch by address: such a cast loses the parameter types.
class erased_kernels : token_view {
 public:
  erased_kernels(const token_view& of, std::set<std::string>& kernels) : token_view(of), kernels_(kernels) {
    find_kernels();
  }

  void add_to(std::vector<edit>& edits) const {
    bool by_address = false;
    for (std::size_t i = 0; i < tokens_.size(); ++i)
      by_address |=
          text(i).starts_with("cudaLaunch") || text(i).starts_with("cudaGraph") || text(i) == "cudaGetFuncBySymbol";
    if (!by_address) return;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const std::size_t end = erased_kernel_end(i);
      if (end == i) continue;
      edits.push_back({tokens_[i].begin, 0, "::sim::kernel_address("});
      edits.push_back({tokens_[end - 1].end, 0, ")"});
    }
  }

 private:
  /// The names of the file's own kernels: the token before the first ( after __global__.
  void find_kernels() {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (text(i) != "__global__") continue;
      for (++i; i + 1 < tokens_.size() && text(i) != ";" && text(i) != "{"; ++i) {
        if (text(i + 1) != "(" || tokens_[i].kind != 'i') continue;
        if (text(i) != "__launch_bounds__" && text(i) != "__attribute__" && text(i) != "__block_size__" &&
            text(i) != "__cluster_dims__" && text(i) != "__maxnreg__") {
          kernels_.insert(std::string(text(i)));
          break;
        }
        i = std::min(close_of(i + 1), size() - 1);
      }
    }
  }

  /// If token i is the kernel in `(void*)kernel<4>` or `reinterpret_cast<void*>(kernel)`: the token after the kernel.
  /// Otherwise i.
  std::size_t erased_kernel_end(std::size_t i) const {
    const auto at = [&](std::size_t back) { return back <= i ? text(i - back) : std::string_view(); };
    // void*, const void* or void const*; `last`: what precedes it.
    const std::size_t type = at(2) == "*" ? 3 : 4;
    const std::size_t last = at(type) == "const" || at(type + 1) == "const" ? type + 2 : type + 1;
    const bool is_void = at(type) == "void" || (at(type) == "const" && at(type + 1) == "void");
    const bool c_cast = at(1) == ")" && at(2) == "*" && is_void && at(last) == "(";
    const bool cpp_cast = at(1) == "(" && at(2) == ">" && at(3) == "*" && is_void;
    const std::size_t name = i + (text(i) == "&");
    if ((!c_cast && !cpp_cast) || name >= tokens_.size() || tokens_[name].kind != 'i' || text(name) == "_Pragma")
      return i;
    std::size_t end = name + 1;
    while (end + 1 < tokens_.size() && text(end) == "::" && tokens_[end + 1].kind == 'i') end += 2;
    // A kernel declared by a macro is recognised by the function that receives it.
    const bool given = c_cast && text(i) != "&" && at(last + 1) == "(" &&
                       (at(last + 2) == "cudaLaunchKernel" || at(last + 2) == "cudaLaunchCooperativeKernel");
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

  std::set<std::string>& kernels_;
};

/// `__shared__ alignas(16) float x[4]`: alignas must not follow thread_local, which __shared__ expands to.
void align_shared(const token_view& tokens, std::vector<edit>& edits) {
  for (std::size_t i = 0; i + 3 < tokens.size(); ++i) {
    if (tokens.text(i) != "__shared__" || tokens.text(i + 1) != "alignas" || tokens.text(i + 2) != "(") continue;
    const std::size_t close = tokens.close_of(i + 2);
    if (close == tokens.size()) break;
    edits.push_back({tokens[i + 1].begin, tokens[i + 1].end - tokens[i + 1].begin, "__attribute__((aligned"});
    edits.push_back({tokens[close].end, 0, "))"});
  }
}

/// `__device__ __noinline__ float f()`: CUDA's keyword. It cannot be a macro, because the standard library's headers
/// write it in attributes.
void keep_out_of_line(const token_view& tokens, std::vector<edit>& edits) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.text(i) != "__noinline__") continue;
    if (i > 0 && (tokens.text(i - 1) == "(" || tokens.text(i - 1) == "," || tokens.text(i - 1) == "::"))
      continue;  // in an attribute
    edits.push_back({tokens[i].begin, tokens[i].end - tokens[i].begin, "__attribute__((noinline))"});
  }
}

/// `#define UNROLL #pragma unroll`: nvcc accepts it, other compilers see a stray #. The macro becomes empty.
void empty_pragma_macros(const token_view& tokens, std::vector<edit>& edits) {
  for (std::size_t i = 0; i + 4 < tokens.size(); ++i) {
    if (tokens[i].directive == 0 || tokens.text(i) != "#" || tokens.text(i + 1) != "define" ||
        tokens.text(i + 3) != "#" || tokens.text(i + 4) != "pragma" || tokens[i + 3].directive != tokens[i].directive)
      continue;
    std::size_t last = i + 4;
    while (last + 1 < tokens.size() && tokens[last + 1].directive == tokens[i].directive) ++last;
    edits.push_back({tokens[i + 3].begin, tokens[last].end - tokens[i + 3].begin, ""});
    i = last;
  }
}

/// `#pragma unroll 1` before `for (...; ...; ++k)`: marks the loop for assembly.cpp where it advances.
void mark_rolled_loops(const token_view& tokens, std::vector<edit>& edits) {
  for (std::size_t i = 0; i + 4 < tokens.size(); ++i) {
    if (tokens.text(i) != "#" || tokens.text(i + 1) != "pragma" || tokens.text(i + 2) != "unroll" ||
        tokens[i].directive == 0)
      continue;
    const std::size_t factor = i + 3 + (tokens.text(i + 3) == "(");
    std::size_t at = factor;
    while (at < tokens.size() && tokens[at].directive == tokens[i].directive) ++at;
    if (tokens.text(factor) != "1" || tokens.text(at) != "for" || tokens.text(at + 1) != "(" ||
        tokens[at].directive != 0)
      continue;
    int depth = 0, semicolons = 0;
    bool lowered_before = false;
    for (++at; at < tokens.size(); ++at) {
      if ((depth += (tokens.text(at) == "(") - (tokens.text(at) == ")")) == 0) break;
      semicolons += depth == 1 && tokens.text(at) == ";";
      lowered_before |= tokens.text(at) == "rolled_loop";
    }
    if (at >= tokens.size() || semicolons != 2 || lowered_before) continue;
    edits.push_back(
        {tokens[at].begin, 0, std::string(tokens.text(at - 1) == ";" ? "" : ", ") + "::sim::rolled_loop()"});
  }
}

/// `__constant__ const int x[4]`: already read-only, and compilers do not put constants and variables into the same
/// section.
void leave_constants(const token_view& tokens, std::vector<edit>& edits) {
  const auto is_one_of = [&](std::size_t i, std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), tokens.text(i)) != words.end();
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens.text(i) != "__constant__") continue;
    const auto declares = [&](std::size_t k) { return tokens[k].directive == tokens[i].directive; };
    std::size_t first = i;
    while (first > 0 && declares(first - 1) && !is_one_of(first - 1, {";", "{", "}"})) --first;
    bool constant = false;
    for (std::size_t k = first; k < tokens.size() && declares(k) && !is_one_of(k, {";", "=", "[", "{"}); ++k) {
      if (is_one_of(k, {"const", "constexpr"})) constant = true;
      if (tokens.text(k) == "*") constant = false;  // only the target is const
    }
    if (constant) edits.push_back({tokens[i].begin, tokens[i].end - tokens[i].begin, std::string(12, ' ')});
  }
}

/// `__global__ void __cluster_dims__(2, 1, 1) k() {`: a call at the kernel's start sets the dimensions. Its launch
/// bounds become a constant in the kernel, which may depend on its template's arguments; no code runs for it.
void declare_limits(const token_view& tokens, std::vector<edit>& edits) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const bool bounds = tokens.text(i) == "__launch_bounds__";
    if ((!bounds && tokens.text(i) != "__cluster_dims__") || tokens.text(i + 1) != "(" || tokens[i].directive != 0)
      continue;
    const std::string_view function = bounds ? "launch_bounds" : "cluster_dims";
    const std::size_t open = i + 1, close = tokens.close_of(open);
    std::size_t body = close;
    while (body < tokens.size() && tokens.text(body) != "{" && tokens.text(body) != ";")
      body = tokens.text(body) == "(" ? tokens.close_of(body) : body + 1;
    if (tokens.text(body) != "{") continue;  // a declaration
    bool lowered_before = false;
    int statements = 0;  // both kinds of limits may stand there
    for (std::size_t k = body; k < tokens.size() && statements < 2; ++k) {
      lowered_before |= tokens.text(k) == function;
      statements += tokens.text(k) == ";";
    }
    if (lowered_before) continue;
    std::string call = "::sim::" + std::string(function);
    for (std::size_t k = open; k <= close; ++k) (call += tokens.text(k)) += ' ';
    edits.push_back(
        {tokens[body].end, 0,
         (bounds ? " static constexpr unsigned sim_launch_bounds __attribute__((used)) = " : " ") + call + ";"});
  }
}

}  // namespace

std::vector<edit> launch_edits(const std::string& source, const std::vector<token>& tokens,
                               std::set<std::string>* kernels) {
  std::set<std::string> own;
  std::vector<edit> edits = lowering(source, tokens).run();
  const token_view all(source, tokens);
  erased_kernels(all, kernels ? *kernels : own).add_to(edits);
  for (const auto pass :
       {align_shared, keep_out_of_line, empty_pragma_macros, mark_rolled_loops, leave_constants, declare_limits})
    pass(all, edits);
  // At the same position, insertions come before replacements: in `(void*)k<<<...`, one closes a bracket at the `<<<`.
  std::stable_sort(edits.begin(), edits.end(), [](const edit& a, const edit& b) {
    return std::pair(a.at, a.length > 0) < std::pair(b.at, b.length > 0);
  });
  return edits;
}

std::string lower_launches(const std::string& source) { return apply(source, launch_edits(source, tokens_of(source))); }

}  // namespace sim
