// A CUDA file and the project headers that it includes, prepared for the C++ compiler.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "assembler.hpp"
#include "sim/tokens.hpp"
#include "variables.hpp"

namespace sim {

struct lowered_file {
  bool refused = false;  ///< it uses an unsupported feature; the compiler prints the error and should then stop
  std::vector<std::pair<std::string, std::string>>
      originals;    ///< for each written file: its path, and the file that it replaces
  variables known;  ///< that the file and its headers declare

  /// Puts the originals into the compiler's list of dependencies.
  void name_originals(const std::filesystem::path& dependencies) const;
};

/// Throw std::runtime_error.
std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& text);

/// All edits of a file: inline PTX, launches, refusals. They do not overlap. `known`: see assembler_edits; `kernels`:
/// see launch_edits.
std::vector<edit> all_edits(const std::string& source, const std::vector<token>& tokens, macro_table* known = nullptr,
                            std::set<std::string>* kernels = nullptr);

/// Lowers `source` into the file `lowered`. Also lowers each header that needs such edits, or that includes such a
/// header, into a file next to it, which is then included instead. Searches for headers as the compiler does: in the
/// including file's folder, then in the folders of -iquote and -I in `flags`. #line keeps all names and lines.
lowered_file lower_with_headers(const std::filesystem::path& source, const std::filesystem::path& lowered,
                                const std::vector<std::string>& flags);

}  // namespace sim
