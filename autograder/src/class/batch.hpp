// Grades a whole class: every submission of a folder in its own process, with the results in the grade book. You may
// stop it at any time, in any way, and run the same command again.
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
  /// The command that grades one job and writes its result to the file `result`, atomically (by rename).
  std::function<std::vector<std::string>(const batch_job&, const std::filesystem::path& result)> worker;
  bool slurm = false;
  std::string slurm_options;  ///< more options for sbatch: --gpus=1 --constraint=h200
  int attempts = 3;           ///< if the machine fails, not the submission
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct batch_summary {
  int graded = 0, known = 0;
  std::vector<std::string> failed;  ///< ids with reasons
  double seconds = 0;
};

struct submissions_found {
  std::vector<batch_job> jobs;       ///< by id, each once
  std::vector<std::string> skipped;  ///< other entries, with reasons
};

/// The submissions at these paths. An archive, or a folder with one of the `handin` files in it or in its folder
/// handin/, is one submission; any other folder is a class, with one submission per folder or archive. Ids are their
/// names as text, without an archive's ending. Throws input_error if two have the same id, or if a path could be either
/// one submission or a class.
submissions_found submissions_at(const std::vector<std::filesystem::path>& paths,
                                 const std::vector<std::string>& handin);

/// Grades the jobs whose results the book lacks.
batch_summary run_batch(const std::vector<batch_job>& jobs, const batch_options& options);

/// Moves results that an earlier run's workers left into the book. Returns how many.
int collect(grade_book& book, const std::filesystem::path& spool, const std::string& round);

/// The folder where workers leave results for a round of this book. Throws input_error for an invalid round name.
std::filesystem::path spool_of(const std::filesystem::path& book, const std::string& round);

}  // namespace grading
