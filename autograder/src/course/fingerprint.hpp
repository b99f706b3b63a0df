// What decides a grading besides the submission: one hash of the files' contents, the same in each checkout and build.
#pragma once

#include <filesystem>
#include <string>

#include "course/submission.hpp"

namespace grading {

/// Of the judge, both devices, what submissions are built with, and this lab's judge's side and given code. Texts for
/// people, tests, hand-in files and other labs do not count.
std::string staff_fingerprint(const lab_folder& lab);

/// Of each file in a folder, or of a file: names and contents.
std::string fingerprint_of_files(const std::filesystem::path& place);

}  // namespace grading
