// Grading one submission: build, start, ask every item of the rubric, write down.
#pragma once

#include <chrono>
#include <functional>
#include <set>
#include <string>

#include "build/build.hpp"
#include "course/submission.hpp"
#include "judge/assess.hpp"
#include "result/result.hpp"

namespace grading {

struct grade_options {
  std::uint64_t seed = 1;
  bool drawn = false;                   ///< also cases whose sizes the seed draws
  bool second_seed = false;             ///< correctness once more, with a seed of its own, where all of it passed
  std::chrono::seconds sim_limit{10};   ///< wall-clock time for one request, host part and simulated device
  std::chrono::seconds cuda_limit{60};  ///< the same on a GPU
  std::function<void(const std::string&)> progress = [](const std::string&) {};
  locked_predictions locked;  ///< the student's first complete set
  /// An earlier result and its submission. Its items are reused if they would have the same result: those of functions
  /// that no file names in which the two submissions differ. Null: every item is graded.
  const result* like = nullptr;
  const submission* like_whose = nullptr;
  std::set<std::string> items;  ///< only these; all where empty
};

/// Builds what a lab's submissions are linked with. Throws where that fails.
void build_staff(const lab_folder& lab, builder& make);

/// A lab's cases, with those whose sizes the seed draws.
std::vector<lab::test_case> all_cases_of(const std::string& lab, std::uint64_t seed);

/// The rubric in a lab's folder; throws input_error.
rubric read_rubric(const lab_folder& lab);
rubric read_rubric(const lab_folder& lab, const std::vector<lab::test_case>& cases);  ///< the cases must outlive it

/// Fingerprint of all that decides a result: hand-in files, the staff's part, rubric, hints, machine and this grader.
/// "" where the staff's part is not built.
std::string fingerprint_of(const lab_folder& lab, const submission& who, const builder& make);

/// Builds the submission, but not the staff's part, and grades it. Throws input_error or std::runtime_error for faults
/// that are not the submission's.
result grade(const lab_folder& lab, const submission& who, builder& make, const grade_options& options);

}  // namespace grading
