// What a compiled hand-in file may contain and call. It is checked after compiling, when no macro or comment can hide
// anything any more. What a submission calls its own things does not matter: of its objects only the contract's
// functions can be seen from outside.
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
  std::set<std::string> local;      ///< of this object alone
  std::set<std::string> undefined;  ///< to be found elsewhere
};

/// Reads an ELF object's symbols and refuses, as a reason in `refused`, sections and symbols that compute
/// nothing: its own sections, code hidden as data, resolvers. Never trusts a number in the file. `by_nvcc`: with
/// what nvcc adds to each object of a .cu file.
object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc = false);

/// Functions that a submission may call in addition to its own and the lab's.
class callable {
 public:
  /// `headers`: folder of the headers that declare what the simulated device offers; `libraries`: libsim.a and
  /// others, which define it.
  /// `also`: functions of the C and C++ libraries that this lab's .cpp files may call in addition.
  callable(const std::filesystem::path& headers, const std::vector<std::filesystem::path>& libraries,
           bool by_nvcc = false, std::set<std::string> also = {});

  /// `by_device_code`: from a .cu file.
  bool operator()(const std::string& symbol, bool by_device_code) const;

  /// Whether a function that a .cu file may call reads and writes no array out of sight of the compiler's hooks. Calls
  /// of the CUDA runtime are out of sight, too.
  bool in_sight(const std::string& symbol) const;

  /// Whether it is a function of the host's libraries that kernels do not have: nvcc refuses a call of it in a kernel,
  /// while a compiler of C++ sees no difference.
  static bool is_the_hosts(const std::string& symbol);

  /// Whether the simulated device defines the symbol: a .cu file that defined it would be counted by its own rules.
  bool is_the_devices(const std::string& symbol) const { return device_.contains(symbol); }

 private:
  std::set<std::string> declared_, for_kernels_;  ///< plain names in the headers; those of launches and kernels
  std::set<std::string> device_;                  ///< what they define
  bool by_nvcc_;
  std::set<std::string> also_;
};

/// "lab03::helper(int)" for a mangled name.
std::string demangled(const std::string& symbol);
/// The same for a message: a submission chooses how long its names are.
constexpr std::size_t most_of_a_name = 200;
std::string shown_name(const std::string& symbol);

/// The library's function in whose place simcc calls this one, if it may be that; else "".
std::string in_place_of(const std::string& symbol);

/// Whether a function of the C library copies from one array to another where the compiler of .cu files puts no hook,
/// as it does for memcpy, memmove and memset.
bool copies_unseen(const std::string& symbol);

/// The class of the C++ library that opens files and that a symbol is of, such as "std::ifstream"; "" for others.
std::string file_class_of(const std::string& symbol);

/// The library that a symbol belongs to and that submissions are measured against, such as "Eigen"; "" for others.
std::string rival_of(const std::string& symbol);

}  // namespace grading
