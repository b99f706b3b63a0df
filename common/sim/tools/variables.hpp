// Which of a program's variables are the host's, which no kernel of a GPU can reach, and of which each device has its
// own.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "tokens.hpp"

namespace sim {

/// Names, without their namespaces, of the variables that live as long as the program.
struct variables {
  std::set<std::string, std::less<>> host;
  std::set<std::string, std::less<>> device;   ///< __device__, __managed__ and __constant__
  std::set<std::string, std::less<>> managed;  ///< of these: one for all devices
};

/// Adds those that a source declares. Only what surely is the host's counts as such: what a macro may have marked for
/// the device, or a class declares, is left out.
void add_variables(const std::string& source, const std::vector<token>& tokens, variables& found);

/// The sections that tell the runtime where the variables are which this assembly defines.
std::string variable_tables(const std::string& assembly, const variables& known);

}  // namespace sim
