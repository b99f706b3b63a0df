// Shared by coursedocs' files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace docs {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file);  ///< throws std::runtime_error
std::vector<std::string> lines_of(const std::string& text);

struct link {
  std::size_t begin = 0, end = 0;  ///< of "[text](target)" in its line, with a "!" before it
  bool image = false;
  std::string text, target;
};

/// The links of one line, except between backticks.
std::vector<link> links_in(const std::string& line);

/// The deck with the code and figures that it quotes and descriptions of its drawings; `steps`: the folder of drawings
/// that build up in steps. Throws std::runtime_error if one is missing.
std::string deck(const fs::path& source, const fs::path& file, const fs::path& steps);

/// Writes measured results as tables for gnuplot. Throws std::runtime_error.
int write_data(const fs::path& results, const fs::path& out);

}  // namespace docs
