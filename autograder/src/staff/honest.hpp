// Ordinary submissions in many people's styles, which official and local grading must both accept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "build/build.hpp"
#include "judge/official.hpp"

namespace grading {

/// One submission made of files that each replace a hand-in file; the others are the solution's.
struct honest_submission {
  lab_folder lab;
  std::vector<std::filesystem::path> files;
};

/// From FOLDER/03_coalescing/column_sums/STYLE.cpp, which replaces column_sums.cpp: the first styles of all of a lab's
/// files together, then the second, and so on.
std::vector<honest_submission> honest_in(const std::filesystem::path& source, const std::filesystem::path& folder);

/// "" if the items that the files are about pass in both gradings; otherwise what did not.
std::string surprises_of(const honest_submission& who, const std::filesystem::path& source, builder& make,
                         const official_options& options);

}  // namespace grading
