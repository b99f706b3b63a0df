// The assembly of one kind of processor: x86_64.cpp and arm64.cpp. assembly.cpp uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

/// One instruction's contribution to its block's counts; the order is block_info's.
enum count : std::size_t {
  instructions,
  fadd,
  fmul,
  ffma,
  dadd,
  dmul,
  dfma,
  special,
  counted,
  stepped,
  predicated,
  counts,
  unused = counts
};

struct instruction {
  enum { plain, call, jump } is = plain;
  std::string_view target;   ///< of a call or jump
  bool conditional = false;  ///< a jump
  unsigned executed = 1;     ///< on a GPU: 0 for moves between registers, or between them and the stack
  count operation = unused;  ///< fadd to dfma
  std::string_view routine;  ///< a division or square root, which a GPU computes in several instructions
  bool doubles = false;      ///< a multiply-add whose factor is 2
  enum { none, addition, other } of_result = none;  ///< its use of the last call's result
  bool wide = false;                                ///< the result has 64 bits
  bool floating_point = false;
  unsigned accesses = 0;             ///< except to the stack, constants and coordinates
  bool goes_on_by_constant = false;  ///< i += 4
  /// The register that the instruction changes, under one name for 16 to 64 bits; on x86-64 also a stack slot.
  std::string writes;
  std::string goes_on_by;  ///< pointer += step: the location of the step; empty for other instructions
  std::string argument;    ///< moved to the register where a hook expects the address
  bool restores = false;   ///< allowed in a block that only restores registers and returns
};

inline bool is_multiply_add(count c) { return c == ffma || c == dfma; }
inline bool is_addition(count c) { return c == fadd || c == dadd; }

class processor {
 public:
  virtual ~processor() = default;
  /// The line without its comment.
  virtual std::string_view without_comment(std::string_view line) const = 0;
  virtual void begin_function() {}
  /// `text` is trimmed.
  virtual instruction read(std::string_view text) = 0;
  /// The thread-local variables that a line names.
  virtual std::vector<std::string_view> thread_locals(std::string_view line) const = 0;
  virtual std::string call_of(const std::string& function) const = 0;
  /// The line, with calls and jumps through pointers redirected through sim_call or sim_jump (sim/machine.h).
  virtual std::string with_checked_call(std::string line) const { return line; }
  /// For kernels.
  virtual std::vector<std::string> compiler_options(bool clang) const = 0;
  virtual std::vector<std::string> debugger_options() const = 0;

  /// By label, the bits of floating-point constants in the text's data.
  std::map<std::string, std::uint64_t, std::less<>> constants;

 protected:
  /// Follows the last call's result through an instruction that `uses` it, perhaps only `copies` it, and writes
  /// `written`; "" for places that are not tracked.
  void follow_result(bool uses, bool copies, const std::string& written, instruction& i) {
    if (uses && !copies) i.of_result = is_addition(i.operation) ? instruction::addition : instruction::other;
    copies ? static_cast<void>(result_.insert(written)) : static_cast<void>(result_.erase(written));
  }
  std::set<std::string, std::less<>> result_;  ///< registers and stack slots that hold the last call's result
};

std::unique_ptr<processor> x86_64();
std::unique_ptr<processor> arm64();
/// The processor on which this program runs.
std::unique_ptr<processor> this_processor();

// ---- words of assembly

inline bool starts(std::string_view s, std::string_view with) { return s.substr(0, with.size()) == with; }
inline bool is_hook(std::string_view callee) { return starts(callee, "__tsan_") || starts(callee, "__sanitizer_cov_"); }
std::string_view trim(std::string_view s);
std::string_view first_word(std::string_view s);
/// The operands of `.LC1(%rip), %xmm1` or `s0, [x1, 4]`, one by one.
std::vector<std::string_view> split(std::string_view operands);
/// The name that begins there or, with `backwards`, ends there.
std::string_view name_at(std::string_view s, std::size_t at, bool backwards);

}  // namespace sim
