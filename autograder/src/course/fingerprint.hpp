// One hash of all files that affect a grading besides the submission, equal in every checkout and build.
#pragma once

#include <filesystem>
#include <string>

#include "course/submission.hpp"

namespace grading {

/// Covers the judge, both devices, what submissions are built with, and this lab's judge/ and given code, but not
/// prose, tests, hand-in files or other labs.
std::string staff_fingerprint(const lab_folder& lab);

/// Covers the name and content of a file, or of each file in a folder.
std::string fingerprint_of_files(const std::filesystem::path& place);

}  // namespace grading
