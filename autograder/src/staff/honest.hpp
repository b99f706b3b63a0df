// Ordinary submissions in many people's styles, which both official and local grading must accept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/build.hpp"
#include "judge/official.hpp"

namespace grading {

/// One submission: files that each replace a hand-in file of the solution.
struct honest_submission {
  lab_folder lab;
  std::vector<std::filesystem::path> files;
};

/// From FOLDER/03_coalescing/column_sums/STYLE.cpp, which replaces column_sums.cpp: the first styles of all of a lab's
/// files together, then the second, and so on.
std::vector<honest_submission> honest_in(const std::filesystem::path& source, const std::filesystem::path& folder);

/// "" if the items about these files pass in both gradings; otherwise the items that did not.
std::string surprises_of(const honest_submission& who, const std::filesystem::path& source, builder& make,
                         const official_options& options);

}  // namespace grading
