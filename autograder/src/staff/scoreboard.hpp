// The reference solutions' scoreboard: every bar of solutions/bars.toml, with the figures from the results in
// solutions/results/.
#pragma once

#include <filesystem>
#include <string>

namespace grading {

/// Markdown: for each folder of results, the machine, what was right on it, and every bar with its figure, its rival's
/// in the same run, and whether it is met. Throws input_error if bars.toml or a result is invalid.
std::string scoreboard(const std::filesystem::path& source);

}  // namespace grading
