// The positions of labs and submissions in the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace grading {

struct lab_folder {
  std::string number;          ///< "03"
  std::string name;            ///< "03_coalescing"
  std::filesystem::path path;  ///< README.md, SEEN.md and the contract; the rest is in subfolders

  std::filesystem::path handin() const { return path / "handin"; }    ///< only what a student hands in
  std::filesystem::path crashed() const { return path / "crashed"; }  ///< crashed programs to investigate, if any
  std::filesystem::path judge() const { return path / "judge"; }      ///< rubric, answers and hints
};

/// All labs of a source tree, ordered by number.
std::vector<lab_folder> labs_in(const std::filesystem::path& source);

/// The lab meant by "03", "3" or "03_coalescing"; throws input_error, which lists all labs.
lab_folder find_lab(const std::filesystem::path& source, const std::string& wanted);

struct submission {
  std::string id;                 ///< "student", "solution", "right-<how>" or "wrong-<why>"
  std::filesystem::path path;     ///< of its hand-in files; the last two kinds' are generated with the lab's staff part
  std::filesystem::path patch{};  ///< for the last two kinds: the required result, and the difference from its base

  std::filesystem::path file(const std::string& name) const { return path / name; }
};

submission student_of(const lab_folder& lab);
submission solution_of(const std::filesystem::path& source, const lab_folder& lab);

/// Solution (if there is one), student, and the others that solutions/ holds.
std::vector<submission> submissions_of(const std::filesystem::path& source, const std::filesystem::path& build,
                                       const lab_folder& lab);

/// The submission with that id; throws input_error, which lists all ids.
const submission& submission_named(const std::vector<submission>& all, const std::string& id, const lab_folder& lab);

}  // namespace grading
