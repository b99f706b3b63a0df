// The names that a hand-in file writes. What is compiled is checked by its symbols (object_check.hpp); but headers are
// full of names that are for their own use, and a call of one looks there like the header's own.
#pragma once

#include <set>
#include <string>

namespace grading {

/// A name in the source that is for the compiler's, the C++ library's or the simulated device's own use, as "line 12:
/// __tsan_read4"; "" if there is none. `undefined`: the symbols that its object needs. Reserved names (_Upper, __any)
/// are foreign if such a symbol has one, or the compiler has it built in, but for what CUDA, the language, intrinsics
/// and predefined macros offer; all of sim::, sim_ and SIM_ are; so is what ## may put together.
std::string foreign_name(const std::string& source, const std::set<std::string>& undefined);

}  // namespace grading
