// What the grader tells the simulated device, and asks it: names of allocations, whose they are, why a launch failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

/// Replaces "allocation 46", which holds the byte at `pointer`.
void name_allocation(const void* pointer, const std::string& name);

/// A call of the grader's begins: what was freed before is memory of others.
void begin_call();

/// How many live allocations have no name.
std::size_t unnamed_allocations();

/// From now on tensor cores take a factor for its absolute value if it is negative and, of the first seven bits of its
/// mantissa that `mask` has, an odd number are set. What is made by tensor cores then changes with them. 0: never.
void misread_factors(unsigned mask);

struct memory_range {
  std::uintptr_t begin;
  std::size_t bytes;
};
/// A graded program's own code and variables; memory that it was given; and where the stack of those who call it
/// begins.
struct own_parts {
  memory_range code, data, zeros, given;
  std::uintptr_t stack_end = 0;
};
/// From now on that code may write nothing else, but for what it allocates: a host function that does ends the program,
/// a kernel is aborted.
void guard(const own_parts& what);
/// The guarded code may write this memory, until it is taken back.
void give(const void* memory, std::size_t bytes);
void take_back(const void* memory);

/// Why the last launch failed: it was refused, or aborted, with the checkers' reports; one line. "" if none has failed
/// since the other function was called.
std::string why_launch_failed();
void forget_failed_launch();

}  // namespace sim
