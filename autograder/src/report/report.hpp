// The report: one HTML file that needs nothing else, made from all results of a build directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

/// The style sheet's class for a verdict: "good", "slow", "bad" or "none".
const char* colour_of(verdict v);

/// Where the warp view of a student's own files lies, in the folder of the report.
std::filesystem::path warp_view_of(const std::string& lab);

/// The page; `source` is the source tree, whose lines it shows, and `folder` where it is to lie: beside the warp views
/// of local gradings, which are its tabs. No tabs if that is "".
std::string rendered(const std::vector<result>& results, const std::filesystem::path& source,
                     const std::filesystem::path& folder = {});

/// Writes index.html into a folder and returns its path; throws std::runtime_error if it cannot be written.
std::filesystem::path write_report(const result_store& store, const std::filesystem::path& source,
                                   const std::filesystem::path& folder);

}  // namespace grading
