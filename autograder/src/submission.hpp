// Where labs and submissions lie in the source tree.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace grading {

struct lab_folder {
  std::string number;  ///< "03"
  std::string name;    ///< "03_coalescing"
  std::filesystem::path path;
};

/// All labs of a source tree, by number.
std::vector<lab_folder> labs_in(const std::filesystem::path& source);

/// The lab that "03", "3" or "03_coalescing" means; throws input_error, which lists the labs there are.
lab_folder find_lab(const std::filesystem::path& source, const std::string& wanted);

struct submission {
  std::string id;  ///< "student", "solution" or "wrong-<why>"
  std::filesystem::path path;
  std::filesystem::path fallback;  ///< where the files are that are missing in `path`; may be empty

  /// The submission's own file of that name, or the one in its place.
  std::filesystem::path file(const std::string& name) const;
};

/// The submission in a folder: solutions/NN/wrong/<why> stands on solutions/NN.
submission submission_at(const std::filesystem::path& folder, const std::string& id);

submission student_of(const lab_folder& lab);

/// Solution (where there is one), student, and every wrong submission.
std::vector<submission> submissions_of(const std::filesystem::path& source, const lab_folder& lab);

}  // namespace grading
