// Where labs and submissions are in the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace grading {

struct lab_folder {
  std::string number;          ///< "03"
  std::string name;            ///< "03_coalescing"
  std::filesystem::path path;  ///< has README.md, SEEN.md and the contract; the rest is in subfolders

  std::filesystem::path handin() const { return path / "handin"; }    ///< only what a student hands in
  std::filesystem::path crashed() const { return path / "crashed"; }  ///< crashed programs to investigate, if any
  std::filesystem::path judge() const { return path / "judge"; }      ///< rubric, answers and hints
};

/// All labs of a source tree, ordered by number.
std::vector<lab_folder> labs_in(const std::filesystem::path& source);

/// The lab that "03", "3" or "03_coalescing" names; otherwise throws input_error, which lists all labs.
lab_folder find_lab(const std::filesystem::path& source, const std::string& wanted);

struct submission {
  std::string id;                 ///< "student", "solution", "right-<how>" or "wrong-<why>"
  std::filesystem::path path;     ///< of its hand-in files; the last two kinds' are generated with the lab's staff part
  std::filesystem::path patch{};  ///< for the last two kinds: the required result, and the difference from its base

  std::filesystem::path file(const std::string& name) const { return path / name; }
};

submission student_of(const lab_folder& lab);
submission solution_of(const std::filesystem::path& source, const lab_folder& lab);

/// The solution (if there is one), the student's submission, and the others in solutions/.
std::vector<submission> submissions_of(const std::filesystem::path& source, const std::filesystem::path& build,
                                       const lab_folder& lab);

/// The submission with that id; otherwise throws input_error, which lists all ids.
const submission& submission_named(const std::vector<submission>& all, const std::string& id, const lab_folder& lab);

}  // namespace grading
