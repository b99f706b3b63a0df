// A CUDA file with the project headers that it includes, made ready for the C++ compiler.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace sim {

struct lowered_file {
  bool refused = false;  ///< something in it is not simulated; the compiler says so, and should then stop
  std::vector<std::pair<std::string, std::string>>
      originals;  ///< of each file written: where it is, what it stands for

  /// The compiler's list of dependencies with the originals in it.
  void name_originals(const std::filesystem::path& dependencies) const;
};

/// Lowers `source` into the file `lowered`, and each header that holds a launch into a file beside it, which is then
/// included instead; so is one that includes such a header. Headers are sought as the compiler does: beside the file
/// that includes them, then in the folders that `flags` names by -iquote and -I. #line keeps all names and lines.
lowered_file lower_with_headers(const std::filesystem::path& source, const std::filesystem::path& lowered,
                                const std::vector<std::string>& flags);

}  // namespace sim
