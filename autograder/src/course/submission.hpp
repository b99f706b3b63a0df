// Where labs and submissions lie in the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace grading {

struct lab_folder {
  std::string number;          ///< "03"
  std::string name;            ///< "03_coalescing"
  std::filesystem::path path;  ///< README.md, SEEN.md and the contract; the rest is in folders

  std::filesystem::path handin() const { return path / "handin"; }    ///< what a student hands in, and nothing else
  std::filesystem::path crashed() const { return path / "crashed"; }  ///< programs to find out about, if it has any
  std::filesystem::path judge() const { return path / "judge"; }      ///< rubric, answers and hints
};

/// All labs of a source tree, by number.
std::vector<lab_folder> labs_in(const std::filesystem::path& source);

/// The lab that "03", "3" or "03_coalescing" means; throws input_error, which lists the labs there are.
lab_folder find_lab(const std::filesystem::path& source, const std::string& wanted);

struct submission {
  std::string id;              ///< "student", "solution", "right-<how>" or "wrong-<why>"
  std::filesystem::path path;  ///< of its hand-in files; the last two kinds' are made whole with the lab's staff part
  std::filesystem::path patch{};  ///< the last two kinds': what it must get, and how it differs from its base

  std::filesystem::path file(const std::string& name) const { return path / name; }
};

submission student_of(const lab_folder& lab);
submission solution_of(const std::filesystem::path& source, const lab_folder& lab);

/// Solution (if there is one), student, and the others that solutions/ holds.
std::vector<submission> submissions_of(const std::filesystem::path& source, const std::filesystem::path& build,
                                       const lab_folder& lab);

/// The one with that id; throws input_error, which lists the ids there are.
const submission& submission_named(const std::vector<submission>& all, const std::string& id, const lab_folder& lab);

}  // namespace grading
