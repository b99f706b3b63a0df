// Inline assembly: PTX becomes C++, what cannot be translated a refusal; assembly of the host stays.
#pragma once

#include <string>
#include <vector>

#include "tokens.hpp"

namespace sim {

/// Replaces `asm("..." : outputs : inputs : clobbers)` by the statements of ptx.hpp. The operands' expressions stay
/// where they are, and everything keeps its line and, outside of macros and their arguments, its column.
std::vector<edit> assembler_edits(const std::string& source, const std::vector<token>& tokens);

/// Whether such edits need sim/ptx.h.
bool uses_ptx(const std::vector<edit>& edits);

}  // namespace sim
