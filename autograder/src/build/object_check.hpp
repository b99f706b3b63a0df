// Checks what a hand-in file contains and calls, after compiling, when macros and comments can no longer hide anything.
// A submission's own names do not matter: outside its objects, only the contract's functions are visible.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace grading {

struct object_symbols {
  std::set<std::string> defined;    ///< strong and global
  std::set<std::string> weak;       ///< global, but other objects may define them, too: inline functions, templates
  std::set<std::string> local;      ///< local to this object
  std::set<std::string> undefined;  ///< defined elsewhere
};

/// Reads an ELF object's symbols. Refuses suspicious sections and symbols, with the reason in `refused`: custom
/// sections, code hidden as data, resolvers. Never trusts a number in the file. `by_nvcc`: allows what nvcc adds to
/// each .cu file's object.
object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc = false);

/// The functions that a submission may call besides its own and the lab's.
class callable {
 public:
  /// `headers`: the folder of headers that declare what the simulated device offers. `libraries`: libsim.a, which
  /// defines it, and further libraries for a lab's .cpp files, whose callbacks must not run where anything is counted.
  /// `also`: further C and C++ library functions that these files may call.
  callable(const std::filesystem::path& headers, const std::vector<std::filesystem::path>& libraries,
           bool by_nvcc = false, std::set<std::string> also = {});

  /// Whether it may be called. `by_device_code`: from a .cu file.
  bool operator()(const std::string& symbol, bool by_device_code) const;

  /// Whether a function that a .cu file may call accesses arrays only where the compiler's hooks see it, unlike calls
  /// of the CUDA runtime.
  bool in_sight(const std::string& symbol) const;

  /// Whether it is a host library function that kernels cannot call: nvcc would refuse it in a kernel, but a C++
  /// compiler sees no difference.
  static bool is_the_hosts(const std::string& symbol);

  /// Whether the simulated device defines the symbol: a .cu file that also defined it could change how it is counted.
  bool is_the_devices(const std::string& symbol) const { return device_.contains(symbol); }

 private:
  std::set<std::string> declared_, for_kernels_;  ///< plain names in the headers; names of launches and kernels
  std::set<std::string> device_;                  ///< what libsim defines
  bool by_nvcc_;
  std::set<std::string> also_;
};

/// "lab03::helper(int)" for a mangled name.
std::string demangled(const std::string& symbol);
/// The same, shortened for a message: a submission chooses the length of its names.
constexpr std::size_t most_of_a_name = 200;
std::string shown_name(const std::string& symbol);

/// The library function that simcc may have replaced with this one; else "".
std::string in_place_of(const std::string& symbol);

/// Whether a C library function copies between arrays without a hook from the .cu compiler, unlike memcpy, memmove and
/// memset.
bool copies_unseen(const std::string& symbol);

/// The C++ library's file-opening class to which a symbol belongs, such as "std::ifstream"; "" for others.
std::string file_class_of(const std::string& symbol);

/// The library to which a symbol belongs if submissions are measured against it, such as "Eigen"; "" for others.
std::string rival_of(const std::string& symbol);

}  // namespace grading
