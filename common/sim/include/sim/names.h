// The grader's calls to the simulated device: names and owners of allocations, and why a launch failed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

/// Names the allocation that contains `pointer`; messages then use the name instead of "allocation 46".
void name_allocation(const void* pointer, const std::string& name);

/// The grader begins a call: memory freed earlier belongs to other calls.
void begin_call();

/// The number of live allocations without a name.
std::size_t unnamed_allocations();

/// From now on, tensor cores take the absolute value of a negative factor if an odd number of its first seven mantissa
/// bits (counting only those in `mask`) are set, so their results change. 0: never.
void misread_factors(unsigned mask);

struct memory_range {
  std::uintptr_t begin;
  std::size_t bytes;
};
/// A graded program's own code and variables, the memory that it was given, and where its callers' stack begins.
struct own_parts {
  memory_range code, data, zeros, given;
  std::uintptr_t stack_end = 0;
};
/// From now on that code may write only there and to its own allocations: a host function that writes elsewhere ends
/// the program, a kernel is aborted.
void guard(const own_parts& what);
/// The guarded code may write this memory until the permission is revoked.
void give(const void* memory, std::size_t bytes);
void take_back(const void* memory);

/// One line that says why the last launch was refused or aborted, with the checkers' reports; "" if none has failed
/// since forget_failed_launch() was called.
std::string why_launch_failed();
void forget_failed_launch();

}  // namespace sim
