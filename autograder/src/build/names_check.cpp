// Works on the tokens of the text as handed in, before the preprocessor, so that macros cannot hide anything.
#include "build/names_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "sim/tokens.hpp"

namespace grading {
namespace {

using std::string_view_literals::operator""sv;

/// The text with spliced lines joined, and each character's line.
struct unspliced {
  explicit unspliced(const std::string& source) {
    int line = 1;
    for (std::size_t at = 0; at < source.size(); ++at) {
      const std::size_t end = source[at] == '\\' ? source.find_first_not_of(" \t\r\v\f", at + 1) : source.npos;
      if (end != source.npos && source[end] == '\n') {
        at = end;
        ++line;
        continue;
      }
      text += source[at];
      lines.push_back(line);
      line += source[at] == '\n' ? 1 : 0;
    }
  }
  std::string text;
  std::vector<int> lines;
};

/// Whether the name sets or gets a global handler, which could pass a pointer from a .cpp file to a .cu file.
bool is_global_handler(std::string_view name) {
  for (const std::string_view own : {"new_handler"sv, "default_resource"sv, "terminate"sv, "unexpected"sv})
    if (name.ends_with(own) && (name.starts_with("set_") || name.starts_with("get_")) && name.size() == own.size() + 4)
      return true;
  return false;
}

/// Whether the name is reserved for the C++ implementation or the simulated device.
bool is_reserved(std::string_view name) {
  return name.starts_with("__") || name.starts_with("sim_") ||
         (name.size() > 1 && name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z');
}

/// Whether a program may write this reserved name.
bool is_offered(std::string_view name) {
  constexpr std::size_t longest = 100;  // std::regex uses stack for each character
  static const std::regex offered(
      // Keywords and macros with underscores: __global__, __restrict__, __FILE__, __x86_64__. Another check handles
      // inline assembly.
      R"(__[A-Za-z0-9_]+__|__(restrict|cplusplus|cpp_\w+|func|int128|has_\w+|inline|alignof|signed|volatile|const|asm|)"
      R"(extension)|_(Float16|Pragma|Exit)|)"
      // Vector types and constants of the processor's intrinsics.
      R"(__m(64|128|256|512)[dih]{0,2}|__mmask\d+|_MM_\w+|__v\d+[qhsd]?[ifsu]|__v\d+(si|sf|di|df|hi|qi)|)"
      R"(__builtin_(expect|expect_with_probability|unreachable|trap|assume_aligned|constant_p|prefetch|convertvector|shuffle|)"
      R"(shufflevector|cpu_(supports|init|is)|bit_cast|is_constant_evaluated|types_compatible_p|choose_expr|offsetof|)"
      R"((clz|ctz|popcount|parity|ffs|clrsb)(l|ll)?|bswap\d+|(add|sub|mul)_overflow(_p)?|mem(cpy|set|move|cmp)|strlen|)"
      R"((inf|huge_val|nans?)[fl]?|is(nan|inf|finite|normal|less|greater|unordered)\w*|signbit[fl]?|fpclassify|)"
      R"((fma|sqrt|fabs|fmin|fmax|floor|ceil|rint|trunc|round|copysign|exp2?|log2?|pow|sin|cos|tan|ldexp|abs|labs|llabs)[fl]?)|)"
      // CUDA: synchronization and warps
      R"(__(syncthreads|syncwarp|threadfence|barrier_sync|activemask|nanosleep|trap|brkpt|prof_trigger)\w*|)"
      R"(__(shfl|ballot|any|all|match|reduce)_?\w*_sync|__(shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all)|)"
      // loads, stores, addresses, atomics, asynchronous copies
      R"(__(ld(g|ca|cg|cs|cv|lu)|st(wb|cg|cs|wt))|__cvta_\w+|__is(Global|Shared|Local|Constant|GridConstant)|__nv_\w+|)"
      R"(__NV_\w+|__ATOMIC_(RELAXED|CONSUME|ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)|__pipeline_\w+|)"
      // arithmetic, bits, conversions
      R"(__(cos|sin|sincos|tan|tanh|exp|exp10|log|log2|log10|pow|fdivide|saturate)f|)"
      R"(__[fd](add|sub|mul|div|rcp|sqrt|rsqrt|ma|maf|maf_ieee)_(r[nzud]|ieee_r[nzud])|__fmaf?(_ieee)?_r[nzud]|)"
      R"(__(clz|ffs|popc|brev)(ll)?|__(byte_perm|fns|rhadd|urhadd|hadd|uhadd|sad|usad)|__u?mul(24|hi|64hi)|)"
      R"(__funnelshift_[lr]c?|__dp[24]a(_lo|_hi)?|__(halves|lows?|highs?|lowhigh)2\w*|__h\w+|__v[a-z]+\d?(_\w+)?|)"
      R"(__(u?int|u?ll|ull|float2?|floats|double2?|half2?|bfloat16|bfloat162|bfloat1622|u?short|ushort|longlong|hiloint|)"
      R"(u?char|float22|double22|e[458]m[0-9]+)(2|_as_)\w+|__floats2\w+|__float_to_tf32)");
  return name.size() <= longest && std::regex_match(name.begin(), name.end(), offered);
}

/// Whether the name is built into the compiler, so that no symbol reveals its use.
bool is_built_in(std::string_view name) {
  return name.starts_with("__builtin_") || name.starts_with("__sync_") || name.starts_with("__atomic_");
}

class reading {
 public:
  reading(const std::string& source, const std::set<std::string>& undefined)
      : joined_(source), tokens_(sim::tokens_of(joined_.text)), undefined_(undefined) {}

  std::string foreign_name() const {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != 'i') continue;
      const std::string_view name = word(i);
      const bool own = name.starts_with("SIM_") || is_global_handler(name) || names_the_namespace(i);
      if (own || (is_reserved(name) && (is_built_in(name) || is_called(name)) && !is_offered(name)))
        return found(i, name);
    }
    return pasted_name();
  }

 private:
  std::string_view word(std::size_t i) const {
    return i < tokens_.size()
               ? std::string_view(joined_.text).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin)
               : std::string_view();
  }
  std::string found(std::size_t i, std::string_view name) const {
    return fmt::format("line {}: {}", joined_.lines[tokens_[i].begin], name.substr(0, 60));
  }

  /// Whether the object needs a symbol with that name: from C, from a C++ namespace, or mangled by hand.
  bool is_called(std::string_view name) const {
    const std::string in_cpp = fmt::format("{}{}", name.size(), name);
    return std::any_of(undefined_.begin(), undefined_.end(), [&](const std::string& symbol) {
      return symbol == name || (symbol.starts_with("_Z") && symbol.find(in_cpp) != symbol.npos);
    });
  }

  /// sim::x, using namespace sim, namespace s = sim, and sim in a macro, which may expand to any of them.
  bool names_the_namespace(std::size_t i) const {
    if (word(i) != "sim") return false;
    const bool aliased = i > 2 && word(i - 1) == "=" && word(i - 3) == "namespace";
    return word(i + 1) == "::" || (i > 0 && word(i - 1) == "namespace") || aliased || tokens_[i].directive != 0;
  }

  bool pastes(std::size_t i) const {
    return (word(i) == "#" && word(i + 1) == "#") || (word(i) == "%" && word(i + 1) == ":" && word(i + 2) == "%");
  }

  /// A foreign name that ## can build from the words of a pasting macro and the arguments of this file's macros.
  std::string pasted_name() const {
    std::set<int> pasting;  // directives
    bool scopes = false;    // whether the pasted name may be a namespace
    std::set<std::string_view> macros, pieces;
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].directive != 0 && pastes(i)) pasting.insert(tokens_[i].directive);
      if (tokens_[i].directive != 0 && word(i) == "define") macros.insert(word(i + 1));
    }
    for (std::size_t i = 0; i < tokens_.size() && !pasting.empty(); ++i) {
      if (pasting.contains(tokens_[i].directive)) {
        if (tokens_[i].kind == 'i') pieces.insert(word(i));
        scopes = scopes || word(i) == "::" || word(i) == "namespace";
      }
      if (!macros.contains(word(i)) || word(i + 1) != "(") continue;
      int depth = 0;
      for (std::size_t k = i + 1; k < tokens_.size(); ++k) {
        depth += (word(k) == "(") - (word(k) == ")");
        if (depth == 0) {
          scopes = scopes || word(k + 1) == "::";
          break;
        }
        if (tokens_[k].kind == 'i') pieces.insert(word(k));
      }
    }
    if (pieces.empty()) return {};
    const auto together = [](std::string_view name) {
      return fmt::format("{}, put together by ##", name.substr(0, 60));
    };
    for (const std::string_view own : {"SIM_"sv, "__builtin_"sv, "__sync_"sv, "__atomic_"sv})
      if (can_make(own, pieces, true)) return together(std::string(own) + "...");
    if (scopes && can_make("sim", pieces, false)) return together("sim");
    for (const std::string& symbol : undefined_)
      if (is_reserved(symbol) && !is_offered(symbol) && can_make(symbol, pieces, false)) return together(symbol);
    return {};
  }

  /// Whether a sequence of pieces can form that name or, with `or_longer`, one that begins with it.
  static bool can_make(std::string_view wanted, const std::set<std::string_view>& pieces, bool or_longer) {
    std::vector<bool> reached(wanted.size() + 1);
    reached[0] = true;
    for (std::size_t from = 0; from < wanted.size(); ++from) {
      const std::string_view rest = wanted.substr(from);
      for (const std::string_view piece : pieces) {
        if (!reached[from]) break;
        if (rest.starts_with(piece)) reached[from + piece.size()] = true;
        if (or_longer && from > 0 && piece.starts_with(rest)) return true;
      }
    }
    return reached[wanted.size()] && !pieces.contains(wanted);
  }

  unspliced joined_;
  std::vector<sim::token> tokens_;
  const std::set<std::string>& undefined_;
};

}  // namespace

std::string foreign_name(const std::string& source, const std::set<std::string>& undefined) {
  return reading(source, undefined).foreign_name();
}

}  // namespace grading
