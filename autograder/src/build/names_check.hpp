// Checks the names in a hand-in file's source. object_check.hpp checks the symbols of compiled code; but headers use
// many internal names, and a symbol does not show whether the submission or a header calls such a function.
#pragma once

#include <set>
#include <string>

namespace grading {

/// A name in the source that only the compiler, the C++ library or the simulated device may use, such as "line 12:
/// __tsan_read4"; "" if there is none. `undefined`: the symbols that its object needs. A reserved name (_Upper, __any)
/// is foreign if such a symbol contains it or the compiler has it built in, unless CUDA, the language, intrinsics or
/// predefined macros offer it. Names in sim::, names that begin with sim_ or SIM_, and what ## may build are foreign.
std::string foreign_name(const std::string& source, const std::set<std::string>& undefined);

}  // namespace grading
