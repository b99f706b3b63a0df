// What the program itself brings: shared arrays, variables, constants, functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// One array in shared memory: its place relative to the thread pointer.
struct shared_array {
  std::string name;
  std::intptr_t offset = 0;
  std::size_t bytes = 0;
  bool dynamic = false;
  bool guard = false;  ///< no array: g++'s note whether what has a constructor has been constructed
};
/// All arrays declared __shared__ in this program, by offset; those declared extern are `dynamic`.
const std::vector<shared_array>& shared_arrays();
/// Offset from the thread pointer and size of the program's thread-local storage, which holds them.
std::intptr_t thread_storage_offset();
std::size_t thread_storage_bytes();
/// Writable variables of the program itself (`__device__`) or host memory that it registered; and its constants.
bool is_program_variable(std::uintptr_t address);
bool is_program_constant(std::uintptr_t address);

/// As it stands in the program: ns::kernel<int, 4>; empty where the address is no function.
std::string function_name(std::uintptr_t address);
/// Where the function begins that this program counter lies in; 0 where it lies in none, or in one of namespace std.
std::uintptr_t function_at(std::uintptr_t pc);

}  // namespace sim
