// What the own code of a graded program may write: its stack, its variables, what it has allocated, and what it was
// given. The device counts in the same process, and its memory is not among them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "lines.hpp"
#include "sim/names.h"

namespace sim {

/// Null unless a program is graded.
extern const own_parts* guarded;

/// Whether code at this program counter is the graded program's own.
inline bool is_guarded(std::uintptr_t pc) { return guarded && pc - guarded->code.begin < guarded->code.bytes; }
/// Ends the program if its own host code stores where it may not.
void check_host_store(std::uintptr_t address, std::size_t bytes, std::uintptr_t pc);
/// Ends the program where it stands, with this reason.
[[noreturn]] void end_program(const source_line& at, const char* why);
/// Whether an own variable lies there.
bool is_own_variable(std::uintptr_t address);

/// The code at `pc` has been given this memory by malloc or its kind. Returns the pointer.
void* note_given(void* memory, std::size_t bytes, const void* pc);
/// The threads of kernels have their stacks there.
void note_stacks(const void* begin, std::size_t bytes);

}  // namespace sim
