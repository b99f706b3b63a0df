#include "assembly.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "processor.hpp"

namespace sim {
namespace {

using std::string;
using std::string_view;

constexpr std::size_t gap_bytes = 128;
constexpr std::size_t most_dynamic_shared_bytes = 232448;  // 227 KB, the largest that a block can have

bool is_label(string_view s) { return !s.empty() && s.back() == ':' && s.find_first_of(" \t\"") == string_view::npos; }

/// A division or C library function as nvcc 13.0 compiles it for an H200: the instructions of the usual path, including
/// loads of constants. Functions that nvcc does not inline are estimated: atan2, erfc, expm1, exp10, log1p and pow of
/// doubles, and fmod.
struct routine {
  struct cost {
    unsigned instructions, adds, multiplies, multiply_adds, special;
    unsigned range_checks = 0;  // an FFMA of a double's upper half
  };
  string_view name;
  cost single, wide;     // float or 32 bits, double or 64 bits
  bool product = false;  // ends with a multiplication: a following addition fuses with it into a multiply-add
};
constexpr routine routines[] = {
    {"div", {9, 0, 0, 5, 1}, {17, 0, 1, 7, 1, 1}},
    {"reciprocal", {8, 1, 0, 2, 1}, {11, 0, 0, 5, 1}},
    {"whole div", {20, 0, 0, 0, 1}, {25, 0, 0, 0, 1}},
    {"sqrt", {10, 0, 2, 2, 1}, {18, 0, 3, 5, 1}},
    {"acos", {26, 1, 4, 10, 1}, {78, 4, 3, 19, 1}},
    {"asin", {25, 0, 5, 9, 1}, {77, 3, 3, 20, 1}},
    {"atan", {19, 0, 2, 9, 1}, {81, 2, 2, 22, 1}},
    {"atan2", {43, 0, 2, 14, 1}, {100, 2, 2, 29, 2}},
    {"cbrt", {16, 2, 5, 2, 2}, {44, 1, 3, 6, 3}},
    {"cos", {29, 0, 2, 9, 0}, {32, 0, 2, 9, 0}},
    {"cosh", {16, 1, 4, 3, 2}, {61, 2, 0, 18, 1}},
    {"erf", {30, 1, 1, 7, 1}, {123, 3, 1, 37, 1}},
    {"erfc", {48, 6, 8, 20, 3}, {123, 3, 1, 37, 1}},
    {"exp", {9, 1, 1, 4, 1}, {61, 2, 1, 14, 0}, true},
    {"exp2", {4, 0, 2, 0, 1}, {62, 4, 2, 12, 0}},
    {"exp10", {10, 1, 1, 4, 1}, {61, 2, 1, 14, 0}, true},
    {"expm1", {29, 4, 4, 8, 1}, {61, 2, 1, 14, 0}},
    {"fmod", {30, 0, 0, 0, 0}, {30, 0, 0, 0, 0}},
    {"hypot", {24, 1, 6, 3, 1}, {43, 1, 7, 4, 1}},
    {"log", {28, 1, 2, 12, 0}, {84, 8, 5, 17, 1}},
    {"log10", {29, 1, 3, 12, 0}, {90, 8, 6, 18, 1}},
    {"log1p", {31, 2, 2, 12, 0}, {84, 8, 5, 17, 1}},
    {"log2", {30, 2, 3, 12, 0}, {90, 8, 6, 18, 1}},
    {"pow", {93, 13, 10, 19, 1}, {150, 10, 6, 31, 1}},
    {"sin", {28, 0, 2, 9, 0}, {31, 0, 2, 9, 0}},
    {"sincos", {57, 0, 4, 18, 0}, {63, 0, 4, 18, 0}},
    {"sinh", {25, 1, 6, 7, 2}, {61, 2, 2, 18, 1}},
    {"tan", {25, 0, 3, 9, 1}, {71, 1, 3, 22, 1}},
    {"tanh", {17, 1, 2, 6, 2}, {67, 3, 1, 16, 2}},
    {"sim_rsqrt", {4, 0, 0, 0, 1}, {14, 0, 2, 3, 1}},
    // __expf and similar
    {"sim_fast_exp", {5, 0, 1, 0, 1}, {}},
    {"sim_fast_exp10", {5, 0, 1, 0, 1}, {}},
    {"sim_fast_log", {4, 0, 1, 0, 1}, {}, true},
    {"sim_fast_log2", {4, 0, 0, 0, 1}, {}},
    {"sim_fast_log10", {4, 0, 1, 0, 1}, {}},
    {"sim_fast_sin", {2, 0, 1, 0, 1}, {}},
    {"sim_fast_cos", {2, 0, 1, 0, 1}, {}},
    {"sim_fast_tan", {7, 0, 1, 1, 3}, {}},
    {"sim_fast_pow", {8, 0, 1, 0, 2}, {}},
    {"sim_fast_divide", {4, 0, 1, 0, 1}, {}},
};
/// The same with -use_fast_math: only floats, and only functions whose cost differs.
constexpr routine fast_routines[] = {
    {"div", {2, 0, 1, 0, 1}, {}, true},
    {"reciprocal", {1, 0, 0, 0, 1}, {}},
    {"sqrt", {1, 0, 0, 0, 1}, {}},
    {"sim_rsqrt", {1, 0, 0, 0, 1}, {}},
    {"exp", {2, 0, 1, 0, 1}, {}},
    {"exp2", {1, 0, 0, 0, 1}, {}},
    {"exp10", {2, 0, 1, 0, 1}, {}},
    {"log", {2, 0, 1, 0, 1}, {}, true},
    {"log2", {1, 0, 0, 0, 1}, {}},
    {"log10", {2, 0, 1, 0, 1}, {}, true},
    {"sin", {2, 0, 1, 0, 1}, {}},
    {"cos", {2, 0, 1, 0, 1}, {}},
    {"sincos", {3, 0, 1, 0, 2}, {}},
    {"tan", {5, 0, 2, 0, 3}, {}},
    {"tanh", {1, 0, 0, 0, 1}, {}},
    {"pow", {3, 0, 1, 0, 2}, {}},
    {"sim_fast_exp", {2, 0, 1, 0, 1}, {}},
    {"sim_fast_exp10", {2, 0, 1, 0, 1}, {}},
    {"sim_fast_log", {2, 0, 1, 0, 1}, {}, true},
    {"sim_fast_log2", {1, 0, 0, 0, 1}, {}},
    {"sim_fast_log10", {2, 0, 1, 0, 1}, {}, true},
    {"sim_fast_tan", {5, 0, 2, 0, 3}, {}},
    {"sim_fast_pow", {3, 0, 1, 0, 2}, {}},
    {"sim_fast_divide", {2, 0, 1, 0, 1}, {}, true},
};
const routine* routine_in(std::span<const routine> all, string_view name) {
  const auto found = std::ranges::find(all, name, &routine::name);
  return found == all.end() ? nullptr : &*found;
}

/// The computations in a sequence of instructions.
struct computation {
  bool restores = true;     // only restores registers and returns
  unsigned arithmetic = 0;  // floating point
  unsigned own_arrays = 0;  // accesses to the thread's own arrays, which no hook reports
  std::array<unsigned, counts> count{};
  std::map<string, unsigned> writes;             // how many times it changes each register
  std::vector<std::pair<string, string>> steps;  // pointer += step
  std::set<string> addresses;                    // registers that hold access addresses
  void add(const computation& other) {
    restores &= other.restores;
    arithmetic += other.arithmetic;
    own_arrays += other.own_arrays;
    for (const auto& [place, times] : other.writes) writes[place] += times;
    steps.insert(steps.end(), other.steps.begin(), other.steps.end());
    addresses.insert(other.addresses.begin(), other.addresses.end());
    for (std::size_t k = 0; k < counts; ++k) count[k] += other.count[k];
  }
  void add(const routine::cost& r, bool wide) {
    count[instructions] += r.instructions;
    count[wide ? dadd : fadd] += r.adds;
    count[wide ? dmul : fmul] += r.multiplies;
    count[wide ? dfma : ffma] += r.multiply_adds;
    count[ffma] += r.range_checks;
    count[special] += r.special;
  }
};

/// One basic block: its lines, where it is traced, and its computations.
struct block : computation {
  std::size_t trace = 0;         // line of the call that traces it
  std::size_t first_access = 0;  // line of its first access; 0 if a jump or label comes first
  bool straight = true;          // neither jump nor label so far
  bool first_of_function = false;
  bool rolled = false;                 // in a loop that the program keeps rolled
  std::set<string> labels;             // at its start
  string branch;                       // target of the conditional jump that ends it
  bool calls = false, leaves = false;  // calls a function that is not a hook; ends in an unconditional jump
  string skip;                         // target of a jump that may skip the report of an out-of-range index
  bool skips_report = false;
  unsigned before_skip = 0;  // instructions
  unsigned pending = 0;      // hooks whose access is still to come
  unsigned accesses = 0;     // reported by hooks

  /// Whether a pointer advances by a value that is constant in the loop. Compilers turn an index into a pointer only if
  /// it cannot overflow: if g++ does, nvcc unrolls. `i += blockDim.x` is unsigned, so it may overflow.
  bool has_step() const {
    return std::ranges::any_of(steps, [&](const auto& s) {
      return addresses.contains(s.first) && writes.at(s.first) == 1 && !writes.contains(s.second);
    });
  }
};

bool is_access(string_view callee) {
  return is_hook(callee) && (callee.find("read") != string_view::npos || callee.find("write") != string_view::npos);
}

class editor {
 public:
  editor(const string& text, const assembly_edits& edits, processor& on) : on_(on), edits_(edits) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.emplace_back(text, at, end - at);
      at = end + 1;
    }
  }

  string run() {
    find_constants();
    for (std::size_t i = 0; i < lines_.size(); ++i) line(i);
    if (edits_.checked_calls)
      for (string& l : lines_)
        if (l.find('*') != string::npos) l = on_.with_checked_call(l);
    string out;
    for (const string& l : lines_) (out += l) += '\n';
    return out += dynamic_storage();
  }

 private:
  /// `.LC1:`, then `.long 1073741824` (twice for a double), or clang's `.quad`.
  void find_constants() {
    for (std::size_t i = 0; i + 1 < lines_.size(); ++i) {
      if (is_label(lines_[i]) && lines_[i][0] != '.') own_.emplace(lines_[i].substr(0, lines_[i].size() - 1));
      if (!starts(lines_[i], ".L") || !is_label(lines_[i])) continue;
      std::uint64_t bits = 0;
      for (std::size_t k = 1; k < 3 && i + k < lines_.size(); ++k) {
        const string_view s = trim(on_.without_comment(lines_[i + k])), word = first_word(s);
        if (word != ".long" && (word != ".quad" || k > 1)) break;
        bits |= std::strtoull(string(trim(s.substr(word.size()))).c_str(), nullptr, 0) << (k > 1 ? 32 : 0);
        if (word == ".quad") break;
      }
      if (bits != 0) on_.constants.emplace(lines_[i].substr(0, lines_[i].size() - 1), bits);
    }
  }

  void line(std::size_t i) {
    const string_view s = trim(on_.without_comment(lines_[i]));
    if (s.empty() || s[0] == '#') return;
    for (const string_view name : on_.thread_locals(s)) used_.emplace(name);
    if (s[0] == '.' && !is_label(s)) return directive(i, s);
    if (is_label(s)) {
      const string name(s.substr(0, s.size() - 1));  // a copy, because the line may change
      if (in_shared_) {
        defined_.emplace(name);
        lines_[i].insert(0, "\t.balign 16\n");  // as GPUs align arrays, so that vectors may begin at their start
      }
      settle();
      if (!blocks_.empty()) end_product();
      if (functions_.contains(name)) begin_function();
      const bool skips_report = !blocks_.empty() && blocks_.back().skips_report && blocks_.back().skip == name;
      if (!blocks_.empty()) end_skip(blocks_.back(), name);
      if (!skips_report) labels_before_.emplace(name);
      return;
    }
    if (in_function_) instruct(i, string(s));  // a copy, because the line may change
  }

  /// Our replacement's name for a library function; "" if there is none. Replacements report memory that library
  /// functions access through pointers, give kernels their own heap, note that a stream's host function wakes other
  /// threads, and record writes of a graded program's host code. From 15 on, clang has its own names for copies; from
  /// 2.38 on, glibc does for strtol.
  static string ours_for(string_view name) {
    static const std::set<string, std::less<>> names = [] {
      std::istringstream list(
          "memcpy memmove memset mempcpy bcopy wmemcpy wmemmove wmempcpy wmemset sincos sincosf modf modff frexp "
          "frexpf "
          "remquo remquof malloc free _Znwm _Znam _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm calloc realloc aligned_alloc memalign "
          "posix_memalign _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t "
          "_ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t "
          "__cxa_allocate_exception __cxa_free_exception sem_post write printf fprintf snprintf sprintf vprintf "
          "vfprintf "
          "vsnprintf vsprintf strtol strtoul strtoll strtoull strtof strtod time clock_gettime gettimeofday "
          "pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock pthread_rwlock_rdlock pthread_rwlock_wrlock "
          "pthread_rwlock_unlock pthread_spin_lock pthread_spin_unlock pthread_cond_signal pthread_cond_broadcast "
          "pthread_once __cxa_guard_release _ZNSt3pmr19new_delete_resourceEv _ZNSt3pmr20get_default_resourceEv "
          "_ZNSt18condition_variable10notify_oneEv "
          "_ZNSt18condition_variable10notify_allEv");
      return std::set<string, std::less<>>(std::istream_iterator<string>(list), {});
    }();
    for (const string_view prefix : {"__tsan_", "__isoc23_"})
      if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    return names.contains(name) ? "sim_" + string(name) : "";
  }
  void redirect(std::size_t i, string_view callee) {
    if (const string ours = ours_for(callee); !ours.empty())
      lines_[i].replace(lines_[i].find(callee), callee.size(), ours);
  }
  /// Replaces such a function's address with our function's. The program may have a variable with that name.
  void redirect_pointers(std::size_t i) {
    string& l = lines_[i];
    const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    for (const string_view end : {"@GOTPCREL(%rip)", "(%rip)"}) {
      const std::size_t at = l.find(end);
      if (at == string::npos) continue;
      std::size_t begin = at;
      while (begin > 0 && in_name(l[begin - 1])) --begin;
      const string name = l.substr(begin, at - begin);
      if (const string ours = ours_for(name); !ours.empty() && !own_.contains(name))
        l.replace(begin, name.size(), ours);
      return;
    }
  }

  void directive(std::size_t i, string_view s) {
    const string_view word = first_word(s);
    if (word == ".section" || word == ".text" || word == ".data" || word == ".bss" || word == ".popsection") {
      in_shared_ = s.find(".tbss") != string_view::npos || s.find(".tdata") != string_view::npos;
    } else if (word == ".loc") {
      if (edits_.call_at_lines && in_function_) places_.push_back(i);
    } else if (word == ".file") {  // clang: the assembler warns if not all files have a checksum
      note_file(s);
      if (const std::size_t sum = lines_[i].find(" md5 0x"); sum != string::npos) lines_[i].resize(sum);
    } else if (word == ".quad") {
      const string_view value = trim(s.substr(word.size()));
      if (const string ours = ours_for(value); !ours.empty() && !own_.contains(value)) lines_[i] = "\t.quad\t" + ours;
    } else if (word == ".zero" && in_shared_) {
      lines_[i] += "\n\t.zero\t" + std::to_string(gap_bytes);
    } else if (word == ".type" && s.find("function") != string_view::npos) {
      const string_view rest = trim(s.substr(word.size()));
      functions_.emplace(rest.substr(0, rest.find(',')));
    } else if (word == ".set" && s.find("sim_rolled") != string_view::npos) {  // from lower.cpp
      if (!blocks_.empty()) blocks_.back().rolled = true;
    } else if (word == ".size" && in_function_) {
      end_function(i);
    }
  }

  /// `cmp; jbe 1f; call __ubsan_handle_…_out_of_bounds; 1:` is not one of the program's branches.
  static void end_skip(block& b, string_view label) {
    if (b.skips_report && b.skip == label)
      b.count[instructions] = b.before_skip - std::min(b.before_skip, 1u);  // its comparison does not count, either
    else
      b.straight = false;
    b.skip.clear();
    b.skips_report = false;
  }

  /// Instructions since the last label, jump or call belong to the most recently traced block.
  void settle() {
    if (!blocks_.empty()) blocks_.back().add(since_);
    since_ = {};
  }

  void begin_function() {
    on_.begin_function();
    in_function_ = true;
    blocks_.clear();
    places_.clear();
    labels_before_.clear();
  }

  void instruct(std::size_t i, const string& text) {
    const instruction read = on_.read(text);
    if (read.is == instruction::call) return call(i, read.target);
    redirect_pointers(i);
    if (blocks_.empty()) return;
    block& b = blocks_.back();
    if (read.is == instruction::jump) {
      redirect(i, read.target);
      settle();
      if (!b.skip.empty() || !read.conditional) b.straight = false;
      b.leaves |= !read.conditional;
      b.skip = read.target;
      b.before_skip = b.count[instructions];
    }
    since_.restores &= read.restores;
    since_.count[counted] += read.goes_on_by_constant;
    if (!read.writes.empty()) ++since_.writes[read.writes];
    if (!read.argument.empty()) since_.addresses.insert(read.argument);
    if (!read.writes.empty() && !read.goes_on_by.empty()) since_.steps.emplace_back(read.writes, read.goes_on_by);
    since_.arithmetic += read.floating_point;
    for (unsigned k = 0; k < read.accesses; ++k) b.pending > 0 ? --b.pending : ++since_.own_arrays;
    if (const routine* r = routine_of(read.routine, read.wide))
      since_.add(read.wide ? r->wide : r->single, read.wide);
    else
      since_.count[instructions] += read.executed;
    if (read.doubles) {  // nvcc adds a number to itself
      since_.count[read.wide ? dadd : fadd] += 2;
      since_.count[instructions] += read.executed;
    } else if (read.operation != unused) {
      ++since_.count[read.operation];
    }
    product_.additions += read.of_result == instruction::addition;
    product_.other |= read.of_result == instruction::other;
    if (read.is == instruction::jump) settle();
  }

  const routine* routine_of(string_view name, bool wide) const {
    const routine* const fast = edits_.fast_math && !wide ? routine_in(fast_routines, name) : nullptr;
    return fast ? fast : routine_in(routines, name);
  }

  /// nvcc fuses a multiplication and an addition if only additions use the product that a function returns.
  void end_product() {
    if (product_.is && product_.additions > 0 && !product_.other) {
      std::array<unsigned, counts>& count = blocks_.back().count;
      count[fmul] -= 1;
      count[instructions] -= 1;
      count[fadd] -= product_.additions;
      count[ffma] += product_.additions;
    }
    product_ = {};
  }

  void call(std::size_t i, string_view callee) {
    redirect(i, callee);
    if (starts(callee, "__sanitizer_cov_trace_pc")) {
      if (!blocks_.empty()) end_product();
      // The compiler may move the block's instructions before this call.
      block b;
      b.trace = i;
      b.first_of_function = blocks_.empty();
      b.labels = std::exchange(labels_before_, {});
      if (!blocks_.empty() && !blocks_.back().skips_report) blocks_.back().branch = blocks_.back().skip;
      blocks_.push_back(b);
      return;
    }
    if (blocks_.empty()) return;
    settle();
    block& b = blocks_.back();
    b.restores = false;
    if (starts(callee, "__ubsan_handle_out_of_bounds") || starts(callee, "__ubsan_handle_shift_out_of_bounds")) {
      b.skips_report = !b.skip.empty();
      return;
    }
    if (!b.skip.empty()) b.straight = false;
    if (is_access(callee) && b.first_access == 0 && b.straight) b.first_access = i;
    b.pending += is_access(callee);
    b.accesses += is_access(callee);
    callee = callee.substr(0, callee.find('@'));
    const bool wide = !callee.ends_with('f') || callee == "erf";
    if (!is_hook(callee)) end_product();
    if (is_hook(callee)) {  // the move of its argument does not count, either
      b.count[instructions] -= b.count[instructions] > 0;
    } else if (const routine* r = routine_of(wide ? callee : callee.substr(0, callee.size() - 1), wide)) {
      b.add(wide ? r->wide : r->single, wide);
      product_.is = r->product && !wide;
    } else {
      ++b.count[instructions];
      b.calls = true;
    }
  }

  /// `.file 3 "/folder" "name"`, or `.file 3 "/folder/name"`: finds our own headers, whose lines are not the program's.
  void note_file(string_view s) {
    std::istringstream words{string(s.substr(5))};
    string number, path;
    words >> number >> path;
    const bool ours = !edits_.headers.empty() && starts(path, "\"" + edits_.headers);
    if (ours || starts(path, "\"/usr/")) not_programs_.insert(number);
  }

  /// Calls the debugger's function before each line of a traced function except its opening line, where the arguments
  /// have not been stored yet. If the thread may stop, it executes the nop, which has the line's address; the call
  /// itself belongs to the previous line or is not a statement of this one.
  void call_at_lines() {
    string last;
    bool opened = false, called = false;
    for (const std::size_t i : places_) {
      std::istringstream words{lines_[i]};
      string loc, file, line, column;
      words >> loc >> file >> line >> column;
      if (line == "0" || lines_[i].find("is_stmt 0") != string::npos) continue;
      const string place = file + " " + line;
      if (std::exchange(last, place) == place && opened && !blocks_.empty() && called) continue;
      if (!std::exchange(opened, true) || not_programs_.contains(file)) continue;
      // clang: a comment follows
      const string own = lines_[i].substr(0, lines_[i].find('#'));
      const string aside = std::exchange(called, true) ? "\t.loc " + place + " 0 is_stmt 0\n" : "";
      const bool says = own.find("is_stmt") != string::npos;
      lines_[i] =
          aside + "\t" + on_.call_of("sim_line") + "\n" + own + (says || aside.empty() ? "" : " is_stmt 1") + "\n\tnop";
    }
  }

  /// Untraced functions are ours: the debugger neither stops in them nor steps into them.
  void hide_lines() {
    for (const std::size_t i : places_) {
      std::istringstream words{lines_[i]};
      string loc, file;
      words >> loc >> file;
      lines_[i] = "\t.loc " + file + " 0 0";
    }
  }

  /// For the body of `if (x) a = b;`, also with && in the condition: how many blocks earlier the decision begins; 0 for
  /// other blocks.
  unsigned decider(std::size_t k) const {
    const block& b = blocks_[k];
    if (k == 0 || k + 1 == blocks_.size() || b.calls || b.leaves || !b.branch.empty() || !b.labels.empty()) return 0;
    const string& past = blocks_[k - 1].branch;
    if (past.empty() || !blocks_[k + 1].labels.contains(past)) return 0;
    std::size_t from = k - 1;
    while (from > 0 && blocks_[from].accesses == 0 && blocks_[from].labels.empty() && blocks_[from - 1].branch == past)
      --from;
    return static_cast<unsigned>(k - from);
  }

  /// Labels each block for the runtime, and writes the table after the function.
  void end_function(std::size_t i) {
    settle();
    if (!blocks_.empty()) end_product();
    blocks_.empty() ? hide_lines() : call_at_lines();
    string table;
    for (std::size_t k = 0; k < blocks_.size(); ++k) blocks_[k].count[predicated] = decider(k);
    for (block& b : blocks_) {
      b.count[stepped] = b.has_step() && !b.rolled;
      if (b.rolled) b.count[counted] = 0;
      // nvcc keeps a thread's small arrays in registers and unrolls the loops over them: no indices, no branches.
      if (b.own_arrays > 0)
        b.count[instructions] =
            std::min(b.count[instructions], b.accesses + (b.arithmetic > 0 ? b.arithmetic : b.own_arrays));
      std::size_t seen = b.trace;
      if (!b.first_of_function && (b.first_access != 0 || b.restores)) {
        lines_[b.trace].clear();
        if (b.first_access == 0) continue;
        seen = b.first_access;
      }
      const string label = ".Lsim_block_" + std::to_string(++labels_);
      lines_[seen] += "\n" + label + ":";
      table += "\t.long\t" + label + " - .\n\t.short\t";
      for (std::size_t k = 0; k < counts; ++k) table += (k > 0 ? ", " : "") + std::to_string(b.count[k]);
      table += "\n\t.balign 4\n";
    }
    if (!table.empty()) lines_[i] += "\n\t.pushsection sim_blocks,\"a?\",@progbits\n" + table + "\t.popsection";
    blocks_.clear();
    in_function_ = false;
  }

  string dynamic_storage() const {
    std::ostringstream text;
    for (const string& name : used_) {
      const bool ours = name == "threadIdx" || name == "blockIdx" || name == "blockDim" || name == "gridDim";
      const bool of_library = starts(name, "_ZSt");  // std::call_once's
      if (ours || of_library || defined_.contains(name) || starts(name, "sim_")) continue;
      // A symbol without a size only names the data after it.
      text << "\t.weak " << name << "\n\t.type " << name << ", @object\n\t.size " << name << ", 0\n" << name << ":\n";
    }
    if (text.str().empty()) return "";
    std::ostringstream section;
    section << "\t.section .tbss,\"awT\",@nobits\n\t.balign 1024\n"
            << text.str() << "\t.type sim_dynamic_shared, @object\n\t.size sim_dynamic_shared, "
            << most_dynamic_shared_bytes << "\nsim_dynamic_shared:\n\t.zero " << most_dynamic_shared_bytes + 16 << "\n";
    return section.str();
  }

  processor& on_;
  const assembly_edits edits_;
  std::vector<string> lines_;
  std::set<string, std::less<>> functions_, used_, defined_, not_programs_;
  std::set<string, std::less<>> own_;  // functions and variables of this file
  std::vector<std::size_t> places_;    // positions of the function's `.loc`s
  std::vector<block> blocks_;
  std::set<string> labels_before_;  // since the last block began
  computation since_;               // see settle()
  struct {
    bool is = false, other = false;
    unsigned additions = 0;
  } product_;  // the last call's result and its use
  bool in_shared_ = false, in_function_ = false;
  unsigned labels_ = 0;
};

}  // namespace

std::string edit_assembly(const std::string& text, const assembly_edits& edits, processor& on) {
  return editor(text, edits, on).run();
}

std::string register_table(const std::string& assembly, const std::string& ptxas) {
  static constexpr string_view entry = "Compiling entry function '", used = "Used ";
  string table, kernel;
  std::istringstream lines(ptxas);
  for (string line; std::getline(lines, line);) {
    if (const std::size_t at = line.find(entry); at != string::npos) {
      kernel = line.substr(at + entry.size());
      kernel.resize(std::min(kernel.find('\''), kernel.size()));
      // An unnamed namespace has the file's name in it: 29_GLOBAL__N__0123abcd_4_k_cu_f is our 12_GLOBAL__N_1.
      if (const std::size_t unnamed = kernel.find("_GLOBAL__N__"); unnamed != string::npos) {
        std::size_t digits = unnamed;
        while (digits > 0 && std::isdigit(static_cast<unsigned char>(kernel[digits - 1]))) --digits;
        const string length = kernel.substr(digits, unnamed - digits);
        if (!length.empty() && length.size() < 4)
          kernel.replace(digits, length.size() + std::stoul(length), "12_GLOBAL__N_1");
      }
    } else if (const std::size_t number = line.find(used); number != string::npos && !kernel.empty()) {
      const int registers = std::atoi(line.c_str() + number + used.size());
      // nvcc gives static kernels different names.
      const string alone = starts(kernel, "_Z") ? "_ZL" + kernel.substr(2) : kernel;
      for (const string& name : {kernel, alone}) {
        if (registers == 0 || assembly.find("\n" + name + ":\n") == string::npos) continue;
        table += "\t.long\t" + name + " - ., " + std::to_string(registers) + "\n";
        break;
      }
      kernel.clear();
    }
  }
  return table.empty() ? "" : "\t.section sim_registers,\"a\",@progbits\n\t.balign 4\n" + table;
}

}  // namespace sim
