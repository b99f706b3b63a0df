// The program's own shared arrays, variables, constants and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sim {

/// A variable of the host or a device, from simcc's tables.
struct program_variable {
  std::int32_t distance, bytes;  ///< from this entry to the variable
  std::uintptr_t begin() const {
    return reinterpret_cast<std::uintptr_t>(this) + static_cast<std::uintptr_t>(static_cast<std::intptr_t>(distance));
  }
};
/// One array in shared memory: its offset from the thread pointer.
struct shared_array {
  std::string name;
  std::intptr_t offset = 0;
  std::size_t bytes = 0;
  bool dynamic = false;
  bool guard = false;  ///< not an array: g++'s flag that a variable has been constructed
};
/// All arrays declared __shared__ in this program, by offset; those declared extern are `dynamic`.
const std::vector<shared_array>& shared_arrays();
/// The first of the function's __launch_bounds__; 0 if it has none. Names are those of local variables: without a
/// return type.
unsigned launch_bounds_in(const std::string& function);
/// Whether the program has classes with virtual functions, and whether the address is in such a class's table.
bool has_virtual_functions();
bool is_table(std::uintptr_t address);
/// A kernel that follows a pointer to a host object's table finds this bit in it: a GPU cannot read that table.
constexpr std::uintptr_t hosts_table = std::uintptr_t{1} << 62;
/// The program's thread-local storage, which contains the arrays: offset from the thread pointer, and size.
std::intptr_t thread_storage_offset();
std::size_t thread_storage_bytes();
/// The program's own writable variables, the host's included, from the first 128-byte line that contains any.
struct program_range {
  std::uintptr_t begin = 0, bytes = 0;
};
program_range program_data();
/// The name of the variable at this address; "" if there is none.
std::string variable_at(std::uintptr_t address);
/// Whether the address is in the program's writable variables (`__device__`), registered host memory, or constants.
bool is_program_variable(std::uintptr_t address);
bool is_program_constant(std::uintptr_t address);
/// Whether one variable or constant of the program contains both addresses.
bool in_one_variable(std::uintptr_t address, std::uintptr_t other);
/// Whether this is the address of a host variable, which a GPU's kernels can access only if it is registered.
bool is_host_variable(std::uintptr_t address);
/// The name of the host variable at this address that a GPU's kernels cannot access; empty if there is none or it is
/// registered.
std::string host_variable_at(std::uintptr_t address);

/// The calling thread's stack.
program_range stack_of_thread();

/// The function's name as the source writes it: ns::kernel<int, 4>; empty if none starts at the address.
std::string function_name(std::uintptr_t address);
/// The start of the function that contains this program counter; 0 if there is none or it is in namespace std.
std::uintptr_t function_at(std::uintptr_t pc);

}  // namespace sim
