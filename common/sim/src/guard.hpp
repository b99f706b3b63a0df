// The memory that a graded program's own code may write: its stack, its variables, its allocations, and memory given to
// it. The device runs in the same process; its own memory is excluded.
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
/// Ends the program at once, with this reason.
[[noreturn]] void end_program(const source_line& at, const char* why);
/// Whether a variable of the program contains this address.
bool is_own_variable(std::uintptr_t address);

/// malloc or a similar function gave this memory to the code at `pc`. Returns the pointer.
void* note_given(void* memory, std::size_t bytes, const void* pc);
/// The kernel threads of the calling OS thread have their stacks in this range.
void note_stacks(const void* begin, std::size_t bytes);

}  // namespace sim
