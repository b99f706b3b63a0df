// The program's own shared arrays, variables, constants and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// A variable of the host's or of a device's, as simcc's tables have it.
struct program_variable {
  std::int32_t distance, bytes;  ///< from this entry to the variable
  std::uintptr_t begin() const {
    return reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uintptr_t>(static_cast<std::intptr_t>(distance));
  }
};
/// One array in shared memory: its place relative to the thread pointer.
struct shared_array {
  std::string name;
  std::intptr_t offset = 0;
  std::size_t bytes = 0;
  bool dynamic = false;
  bool guard = false;  ///< not an array: g++'s flag that says whether a variable has been constructed
};
/// All arrays declared __shared__ in this program, by offset; those declared extern are `dynamic`.
const std::vector<shared_array>& shared_arrays();
/// Offset from the thread pointer and size of the program's thread-local storage, which holds them.
std::intptr_t thread_storage_offset();
std::size_t thread_storage_bytes();
/// The program's own writable variables, the host's among them: from the first line that has some.
struct program_range {
  std::uintptr_t begin = 0, bytes = 0;
};
program_range program_data();
/// The name of the variable that lies here; "" if there is none.
std::string variable_at(std::uintptr_t address);
/// Writable variables of the program itself (`__device__`) or host memory that it registered; and its constants.
bool is_program_variable(std::uintptr_t address);
bool is_program_constant(std::uintptr_t address);
/// Whether both addresses lie in one and the same variable or constant of the program.
bool in_one_variable(std::uintptr_t address, std::uintptr_t other);
/// Whether a variable of the host's lies here, which no kernel of a GPU can reach, unless it is registered.
bool is_host_variable(std::uintptr_t address);
/// The name of the host's variable that lies here, which no kernel of a GPU can reach; empty if it is no such variable,
/// or is registered.
std::string host_variable_at(std::uintptr_t address);

/// The calling thread's stack.
program_range stack_of_thread();

/// As the program writes it: ns::kernel<int, 4>; empty if no function starts at the address.
std::string function_name(std::uintptr_t address);
/// The start of the function that contains this program counter; 0 if there is none or it is in namespace std.
std::uintptr_t function_at(std::uintptr_t pc);

}  // namespace sim
