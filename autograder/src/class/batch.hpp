// A whole class: every submission of a folder, each graded by its own process, results into the grade book. Stop
// it at any moment, in any way, and run the same command again.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "class/store.hpp"

namespace grading {

struct batch_job {
  std::string id;
  std::filesystem::path from;
  grade_book::key key;
};

struct batch_options {
  std::filesystem::path book;
  int jobs = 1;
  std::string round;
  /// The command that grades one job and writes its result to the file with this name, at once (by rename).
  std::function<std::vector<std::string>(const batch_job&, const std::filesystem::path& result)> worker;
  bool slurm = false;
  std::string slurm_options;  ///< further words for sbatch: --gpus=1 --constraint=h200
  int attempts = 3;           ///< if the machine fails, not the submission
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct batch_summary {
  int graded = 0, known = 0;
  std::vector<std::string> failed;  ///< ids, with why
  double seconds = 0;
};

struct submissions_found {
  std::vector<batch_job> jobs;       ///< by id, each once
  std::vector<std::string> skipped;  ///< other entries, and why they are not submissions
};

/// The submissions at these paths: a folder with one of the `handin` files in it, or in its folder handin/, or an
/// archive, is one; any other folder is a class, whose folders and archives are one each. Ids are their names as text,
/// without an archive's ending. Throws input_error if two have the same id, or if a path could be either one submission
/// or a class.
submissions_found submissions_at(const std::vector<std::filesystem::path>& paths,
                                 const std::vector<std::string>& handin);

/// Grades what the book does not have yet.
batch_summary run_batch(const std::vector<batch_job>& jobs, const batch_options& options);

/// Moves results that workers of an earlier run left into the book. Returns how many.
int collect(grade_book& book, const std::filesystem::path& spool, const std::string& round);

/// Where workers leave results for a round of this book. Throws input_error for a name that a round cannot have.
std::filesystem::path spool_of(const std::filesystem::path& book, const std::string& round);

}  // namespace grading
