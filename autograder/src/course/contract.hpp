// Names of the parameters of a lab's functions, read from the declarations in its headers.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace grading {

/// The pointers through which a function writes, those through which it reads, and its integers, each in order.
struct signature {
  std::vector<std::string> outputs, inputs, sizes;
};

using contract = std::map<std::string, signature>;  ///< by function name

/// The signatures of all functions that the folder's headers declare; of overloads, the one with the most outputs.
contract contract_in(const std::filesystem::path& folder);
contract contract_of(const std::string& header);

/// The message with parameter names instead of numbers ("input 1", "output 0"), if the function has that many.
std::string with_names(std::string message, const signature& names, std::size_t inputs, std::size_t outputs);

}  // namespace grading
