// The grader's own regression tests: submissions that try to gain undeserved points, and the verdict that each must
// get.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/official.hpp"

namespace grading {

struct attack_outcome {
  std::string name;
  std::string surprises;  ///< "" if every result is as required
  double seconds = 0;
};

/// Each patch in `attacks` modifies its lab's solution; the commands in `then` run in the submission's folder
/// afterwards. The patch's head states the required result; it may ask to grade the attack again without the object
/// check, to test the other defences.
std::vector<std::filesystem::path> attacks_in(const std::filesystem::path& attacks);
lab_folder lab_attacked(const std::filesystem::path& attack, const std::filesystem::path& source);
attack_outcome run_attack(const std::filesystem::path& attack, const std::filesystem::path& source,
                          official_options options);

}  // namespace grading
