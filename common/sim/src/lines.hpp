// The source line of a program counter.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct source_line {
  std::string file;
  int line = 0;
  bool operator==(const source_line&) const = default;
};
/// The source line of a program counter; {"?", 0} without debug information.
source_line line_of(std::uintptr_t pc);
/// Where the program called this library: the innermost return address outside the library and its headers. Null
/// without debug information.
const void* call_of_program();

}  // namespace sim
