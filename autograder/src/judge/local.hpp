// Local grading of one submission: quick, without a sandbox, and easy to cheat.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "build/build.hpp"
#include "course/submission.hpp"
#include "judge/conductor.hpp"
#include "result/result.hpp"

namespace grading {

struct local_options : common_options {
  std::uint64_t seed = 1;
  bool drawn = false;        ///< also cases whose sizes the seed draws
  bool second_seed = false;  ///< correctness once more, with another seed, if all of it passed
  /// Gets what did not build, before anything runs.
  std::function<void(const std::string&)> on_build_error = [](const std::string&) {};
  /// Gets each item as soon as it is assessed, or reused from `like`; and the whole result, before the second seed.
  std::function<void(const item_result&)> on_item = [](const item_result&) {};
  std::function<void(const result&)> on_result = [](const result&) {};
  std::chrono::seconds sim_limit{20};   ///< wall-clock time for one request, host part and simulated device
  std::chrono::seconds cuda_limit{60};  ///< the same on a GPU
  /// An earlier result and its submission. Its items are reused if they would have the same result: those of functions
  /// that are not among the `changed_names`. Null: every item is graded.
  const result* like = nullptr;
  const submission* like_whose = nullptr;
};

/// Builds what a lab's submissions are linked with, and its cases. Throws if that fails.
void build_staff(const lab_folder& lab, builder& make);

/// Makes the right and wrong submissions of a lab whole. Throws if that fails.
void build_others(const lab_folder& lab, builder& make);

/// Fingerprint of all that decides a result: hand-in files, the staff's part, compilers and their options, machine. ""
/// if the staff's part is not built.
std::string fingerprint_of(const lab_folder& lab, const submission& who, const builder& make);

/// The stored result, if nothing that decides it has changed since and noise did not decide it.
std::optional<result> known_result(const std::vector<result>& stored, const lab_folder& lab, const submission& who,
                                   const std::string& fingerprint);

/// Builds the submission, but not the staff's part, and grades it. Throws input_error or std::runtime_error for faults
/// that are not the submission's.
result grade_locally(const lab_folder& lab, const submission& who, builder& make, const local_options& options);

/// The result of drawing the warps.
struct drawn_warps {
  bool page = false;                  ///< there is one
  std::vector<std::string> messages;  ///< what went wrong on the way to it, for the student
};

/// Writes the warp view of a submission into `file`: a runner calls, on the simulated device, the cases of the items
/// about counters, or of `only`, once more and records them. Removes the file where no kernel ran. No verdict
/// depends on it. After a grading, `graded`, it draws what was built then, and does not call what crashed or hung;
/// otherwise null, and it builds the submission as grading does. Throws as that does.
drawn_warps draw_warps(const lab_folder& lab, const submission& who, builder& make, const local_options& options,
                       const std::filesystem::path& file, const result* graded, const std::string& only = {});

}  // namespace grading
