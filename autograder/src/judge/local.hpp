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
  bool drawn = false;        ///< also run cases whose sizes the seed draws
  bool second_seed = false;  ///< if all correctness items pass, check them with a second seed
  /// Receives build errors before anything runs.
  std::function<void(const std::string&)> on_build_error = [](const std::string&) {};
  /// Receives each item as soon as it is assessed, or reused from `like`; and the whole result, before the second seed.
  std::function<void(const item_result&)> on_item = [](const item_result&) {};
  std::function<void(const result&)> on_result = [](const result&) {};
  std::chrono::seconds sim_limit{20};   ///< wall-clock time for one request, host part and simulated device
  std::chrono::seconds cuda_limit{60};  ///< the same on a GPU
  /// An earlier result and its submission. Items whose functions are not among the `changed_names` are reused. Null:
  /// every item is graded.
  const result* like = nullptr;
  const submission* like_whose = nullptr;
};

/// Builds the lab's cases and everything else that its submissions link with. Throws if that fails.
void build_staff(const lab_folder& lab, builder& make);

/// Materializes the right and wrong submissions of a lab. Throws if that fails.
void build_others(const lab_folder& lab, builder& make);

/// Fingerprint of everything that determines a result: hand-in files, the staff's part, compilers and their options,
/// machine. "" if the staff's part is not built.
std::string fingerprint_of(const lab_folder& lab, const submission& who, const builder& make);

/// The stored result, if its inputs are unchanged and noise did not decide it.
std::optional<result> known_result(const std::vector<result>& stored, const lab_folder& lab, const submission& who,
                                   const std::string& fingerprint);

/// Builds the submission, but not the staff's part, and grades it. Throws input_error or std::runtime_error for faults
/// other than the submission's.
result grade_locally(const lab_folder& lab, const submission& who, builder& make, const local_options& options);

/// The result of drawing the warp view.
struct drawn_warps {
  bool page = false;                  ///< whether the page was written
  std::vector<std::string> messages;  ///< errors, for the student
};

/// Writes the warp view of a submission into `file`: a runner repeats the cases of the items about counters, or of
/// `only`, on the simulated device and records them. Removes the file if no kernel ran. No verdict depends on it. If
/// `graded` is given, it draws what that grading built, and skips calls that crashed or hung; if null, it builds the
/// submission as grading does. Throws as grading does.
drawn_warps draw_warps(const lab_folder& lab, const submission& who, builder& make, const local_options& options,
                       const std::filesystem::path& file, const result* graded, const std::string& only = {});

}  // namespace grading
