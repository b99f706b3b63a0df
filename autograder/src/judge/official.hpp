// Official grading of one submission: intake, builder and runner are sandboxed, and the judge owns everything else.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "build/intake.hpp"
#include "course/submission.hpp"
#include "judge/conductor.hpp"
#include "result/result.hpp"
#include "sandbox/gpu.hpp"

namespace grading {

struct official_options : common_options {
  std::filesystem::path build;          ///< build directory: recipes, staff objects, cached objects
  bool unsafe = false;                  ///< grades even without a sandbox; the result says so
  bool no_sandbox = false;              ///< pretends that there is no sandbox, to test grading on platforms without one
  bool check_objects = true;            ///< off only in tests of the other defences
  std::chrono::seconds call_limit{20};  ///< wall-clock time of one call
  std::chrono::seconds budget{600};     ///< total for all calls of a submission
  std::chrono::seconds build_limit{120};      ///< for compiling one file
  std::size_t memory = std::size_t{4} << 30;  ///< bytes in use, for a runner or a compiler
  int pairs = 21;
  gpu* device = nullptr;    ///< if null, GPU throughput is not graded
  bool until_lost = false;  ///< stop at the first item that loses points
  std::uint64_t seed = 0;   ///< 0: drawn from the operating system
};

/// Throws input_error if official grading cannot run here, std::runtime_error for faults of the grader. A submission's
/// own faults never throw: they are results.
result grade_officially(const lab_folder& lab, const std::string& id, const std::filesystem::path& from,
                        const official_options& options);

}  // namespace grading
