// The report: one self-contained HTML file, made from all results of a build directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

/// The style sheet's class for a verdict: "good", "slow", "bad" or "none".
const char* colour_of(verdict v);

/// The path of the warp view of a student's own files, in the report's folder.
std::filesystem::path warp_view_of(const std::string& lab);

/// The page, with lines from the source tree `source`. It belongs in `folder`, next to the warp views of local
/// gradings, which are its tabs; "" means no tabs.
std::string rendered(const std::vector<result>& results, const std::filesystem::path& source,
                     const std::filesystem::path& folder = {});

/// Writes index.html into a folder and returns its path; throws std::runtime_error if it cannot be written.
std::filesystem::path write_report(const result_store& store, const std::filesystem::path& source,
                                   const std::filesystem::path& folder);

}  // namespace grading
