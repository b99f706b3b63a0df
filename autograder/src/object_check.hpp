// What a compiled hand-in file may contain: functions and data, and calls of the contract, the C and C++ libraries and
// the CUDA runtime. It is checked after compiling, when no macro or comment can hide anything any more.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace grading {

struct object_symbols {
  std::set<std::string> defined;    ///< strong and global
  std::set<std::string> weak;       ///< global, and any object may bring the same: inline functions, templates
  std::set<std::string> undefined;  ///< to be found elsewhere
};

/// Reads an x86-64 ELF object's symbols and refuses, as a reason in `refused`, sections and symbols that compute
/// nothing: code that runs before main, code hidden as data, resolvers. Never trusts a number in the file. `by_nvcc`:
/// with what nvcc adds to each object of a .cu file.
object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc = false);

/// Functions that a submission may call besides its own.
class callable {
 public:
  /// `device_headers`: folder of the headers that declare what the device offers.
  explicit callable(const std::filesystem::path& device_headers, bool by_nvcc = false);
  bool operator()(const std::string& symbol) const;

 private:
  std::set<std::string> device_;  ///< plain names
  bool by_nvcc_;
};

/// "lab03::helper(int)" for a mangled name.
std::string demangled(const std::string& symbol);

/// Whether a library of this machine has a function of that name, which nobody else should define.
bool is_library_symbol(const std::string& symbol);

}  // namespace grading
