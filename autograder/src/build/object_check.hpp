// What a compiled hand-in file may contain and call. Checked after compiling, when macros and comments can no longer
// hide anything. A submission's own names do not matter: only the contract's functions are visible from outside its
// objects.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace grading {

struct object_symbols {
  std::set<std::string> defined;    ///< strong and global
  std::set<std::string> weak;       ///< global, and other objects may define the same: inline functions, templates
  std::set<std::string> local;      ///< local to this object
  std::set<std::string> undefined;  ///< defined elsewhere
};

/// Reads an ELF object's symbols. Refuses sections and symbols that compute nothing, with the reason in `refused`: its
/// own sections, code hidden as data, resolvers. Never trusts a number in the file. `by_nvcc`: allows what nvcc adds to
/// each object of a .cu file.
object_symbols read_object(std::string_view object, std::vector<std::string>& refused, bool by_nvcc = false);

/// Functions that a submission may call in addition to its own and the lab's.
class callable {
 public:
  /// `headers`: folder of the headers that declare what the simulated device offers. `libraries`: libsim.a, which
  /// defines it, and those that a lab's .cpp files may call in addition: their callbacks must not run where anything is
  /// counted. `also`: functions of the C and C++ libraries that these files may call in addition.
  callable(const std::filesystem::path& headers, const std::vector<std::filesystem::path>& libraries,
           bool by_nvcc = false, std::set<std::string> also = {});

  /// `by_device_code`: from a .cu file.
  bool operator()(const std::string& symbol, bool by_device_code) const;

  /// Whether a function that a .cu file may call reads and writes no array unseen by the compiler's hooks, as calls of
  /// the CUDA runtime do.
  bool in_sight(const std::string& symbol) const;

  /// Whether it is a function of the host's libraries that kernels lack: nvcc refuses to call it in a kernel, but a C++
  /// compiler sees no difference.
  static bool is_the_hosts(const std::string& symbol);

  /// Whether the simulated device defines the symbol: a .cu file that defined it, too, could change how it is counted.
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

/// The library function that simcc replaces by this one, if it may be one; else "".
std::string in_place_of(const std::string& symbol);

/// Whether a function of the C library copies between arrays without a hook of the .cu compiler, unlike memcpy, memmove
/// and memset.
bool copies_unseen(const std::string& symbol);

/// The file-opening class of the C++ library to which a symbol belongs, such as "std::ifstream"; "" for others.
std::string file_class_of(const std::string& symbol);

/// The library to which a symbol belongs if submissions are measured against it, such as "Eigen"; "" for others.
std::string rival_of(const std::string& symbol);

}  // namespace grading
