// Inline assembly: PTX becomes C++ or, if it cannot be translated, a refusal; host assembly stays.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/tokens.hpp"

namespace sim {

struct macro {
  bool takes_arguments = false;
  bool assembles = false;  ///< its arguments complete an asm statement in it
  std::vector<std::string> parameters, body;
};
using macro_table = std::map<std::string, macro, std::less<>>;

/// Replaces `asm("..." : outputs : inputs : clobbers)` with ptx.hpp's statements. The operands' expressions stay in
/// place, and everything keeps its line and, outside macros and their arguments, its column. `known`: the macros of
/// earlier files; adds this file's.
std::vector<edit> assembler_edits(const std::string& source, const std::vector<token>& tokens,
                                  macro_table* known = nullptr);

/// Whether such edits need sim/ptx.h.
bool uses_ptx(const std::vector<edit>& edits);

}  // namespace sim
