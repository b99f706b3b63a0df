// The source line of a program counter.
#pragma once

#include <cstdint>
#include <string>

namespace sim {

struct source_line {
  std::string file;
  int line = 0;
};
/// The source line of a program counter; {"?", 0} without debug information.
source_line line_of(std::uintptr_t pc);
/// Of the calls that are under way: the return address, from this one outwards, that lies in the program's own code and
/// not in a header of the device's.
std::uintptr_t calling_pc(std::uintptr_t pc);

}  // namespace sim
