// A CUDA file with the project headers that it includes, made ready for the C++ compiler.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "assembler.hpp"
#include "tokens.hpp"
#include "variables.hpp"

namespace sim {

struct lowered_file {
  bool refused = false;  ///< something in it is not simulated; the compiler prints the error and should then stop
  std::vector<std::pair<std::string, std::string>>
      originals;    ///< for each written file: its path, and the file that it replaces
  variables known;  ///< that the file and its headers declare

  /// The compiler's list of dependencies with the originals in it.
  void name_originals(const std::filesystem::path& dependencies) const;
};

/// Throw std::runtime_error.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

/// All that changes in a file: inline PTX, launches, and what is refused. None overlaps another. `known`: see
/// assembler_edits; `kernels`: see launch_edits.
std::vector<edit> all_edits(const std::string& source, const std::vector<token>& tokens, macro_table* known = nullptr,
                            std::set<std::string>* kernels = nullptr);

/// Lowers `source` into the file `lowered`, and each header that holds such edits into a file beside it, which is then
/// included instead; so is one that includes such a header. Headers are searched for as the compiler does: in the
/// folder of the file that includes them, then in the folders of -iquote and -I in `flags`. #line keeps all names and
/// lines.
lowered_file lower_with_headers(const std::filesystem::path& source, const std::filesystem::path& lowered,
                                const std::vector<std::string>& flags);

}  // namespace sim
