// One hash of all files besides the submission that affect a grading, equal in every checkout and build.
#pragma once

#include <filesystem>
#include <string>

#include "course/submission.hpp"

namespace grading {

/// Covers the judge, both devices, what submissions are built with, and this lab's judge's side and given code, but not
/// prose, tests, hand-in files or other labs.
std::string staff_fingerprint(const lab_folder& lab);

/// Covers the name and content of a file, or of each file in a folder.
std::string fingerprint_of_files(const std::filesystem::path& place);

}  // namespace grading
