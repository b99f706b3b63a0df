// Finds a program's host variables, which a GPU's kernels cannot access, and the variables of which each device has its
// own copy.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "sim/tokens.hpp"

namespace sim {

/// Names, without namespaces, of the variables that live as long as the program.
struct variables {
  std::set<std::string, std::less<>> host;
  std::set<std::string, std::less<>> device;   ///< __device__, __managed__ and __constant__
  std::set<std::string, std::less<>> managed;  ///< the subset with one copy for all devices
};

/// Adds the variables that a source declares. A variable counts as the host's only if it certainly is: not if a macro
/// may have marked it for the device, or a class declares it.
void add_variables(const std::string& source, const std::vector<token>& tokens, variables& found);

/// The sections that tell the runtime the addresses of the variables that this assembly defines.
std::string variable_tables(const std::string& assembly, const variables& known);

}  // namespace sim
