// Names of the parameters of a lab's functions, read from the declarations in its headers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace grading {

/// Pointers that a function writes through, those that it reads through, and its whole numbers, each in order.
struct signature {
  std::vector<std::string> outputs, inputs, sizes;
};

using contract = std::map<std::string, signature>;  ///< by the function's name

/// The contract of all functions that the headers in the folder declare. Of overloads it keeps the one with the most
/// outputs.
contract contract_in(const std::filesystem::path& folder);
contract contract_of(const std::string& header);

/// "input 1" and "output 0" in a message get the parameters' names in place of the numbers, where there are as many of
/// them.
std::string with_names(std::string message, const signature& names, std::size_t inputs, std::size_t outputs);

}  // namespace grading
