// Translates inline PTX to C++: one call to a function in sim/ptx.h per instruction.
#pragma once

#include <string>
#include <vector>

namespace sim {

/// An operand of an asm statement: %0 is the first.
struct asm_operand {
  char constraint;  ///< h, r, l, f, d, n
  bool written;     ///< "=r" and "+r"
};

/// `code`, or the reason why there is none.
struct translated_ptx {
  std::string code;     ///< statements on one line; operand i is the variable sim_i
  std::string refused;  ///< a sentence that names the instruction; empty if it is translated
};
/// `text`: the assembler's input, except that operands are still %0, %1 and so on.
translated_ptx translate_ptx(const std::string& text, const std::vector<asm_operand>& operands);

}  // namespace sim
