// Grading one submission: build, start, ask every item of the rubric, write down.
#pragma once

#include <chrono>
#include <functional>

#include "assess.hpp"
#include "build.hpp"
#include "result.hpp"
#include "submission.hpp"

namespace grading {

struct grade_options {
  std::uint64_t seed = 1;
  std::chrono::seconds sim_limit{10};   ///< wall-clock time for one request, host part and simulated device
  std::chrono::seconds cuda_limit{60};  ///< the same on a GPU
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  /// A result and whose it is, from which items are taken over that come to the same: those of functions that no file
  /// names in which the two submissions differ. Null: every item is graded.
  const result* like = nullptr;
  const submission* like_whose = nullptr;
};

/// Build targets of the runners of these submissions, for every backend that this machine can run.
std::vector<std::string> runners_of(const lab_folder& lab, const std::vector<submission>& all, builder& make);

/// The rubric in a lab's folder; throws input_error.
rubric read_rubric(const lab_folder& lab);

/// Fingerprint of all that decides a result: hand-in files, programs, rubric, hints, machine and this grader. "" where
/// a program is not built.
std::string fingerprint_of(const lab_folder& lab, const submission& who, builder& make);

/// Builds and grades. Throws input_error or std::runtime_error for faults that are not the submission's.
result grade(const lab_folder& lab, const submission& who, builder& make, const grade_options& options);

}  // namespace grading
