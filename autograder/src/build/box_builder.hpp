// The builder: compiles the submission in a box that holds nothing else, checks the object, and seals it so that
// nothing but the contract's functions can be reached from outside.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "build/build.hpp"
#include "sandbox/sandbox.hpp"

namespace grading {

struct build_limits {
  std::chrono::seconds wall{120};             ///< one file
  std::size_t memory = std::size_t{4} << 30;  ///< in use
};

/// A file of a submission.
struct hand_in {
  std::string text;
  std::filesystem::path folder;  ///< that messages name as the file's; none if it came from outside
};

class box_builder {
 public:
  /// `recipe`: what add_lab wrote for this lab. `cache`: compiled objects by content. Throws input_error if the
  /// recipe, or what it names, is missing.
  box_builder(const std::filesystem::path& recipe, std::filesystem::path cache, wall behind, bool check,
              build_limits allowed);

  /// Compiles the sources, by file name, and links `program`. A failure's message is for the student.
  build_outcome build(const std::map<std::string, hand_in>& sources, const std::filesystem::path& program) const;

  /// Fingerprint of everything that decides the result of compiling a submission.
  std::string fingerprint() const;

  /// Files that a runner reads while it runs.
  std::vector<std::filesystem::path> runtime() const;

 private:
  using words = std::vector<std::string>;
  build_outcome compile(const std::string& name, const hand_in& source, std::filesystem::path& object) const;
  bool by_nvcc() const;  ///< whether that compiles the .cu files
  /// Why the file may not be handed in, or "": inline assembly, headers that are not there in grading. `own`: folders
  /// of this compilation.
  std::string refusal(const std::string& name, const hand_in& source, const std::string& preprocessed,
                      const std::string& assembly, const std::set<std::filesystem::path>& own) const;
  build_outcome expect_clean(const std::map<std::string, std::filesystem::path>& objects) const;

  std::map<std::string, words> recipe_;
  std::filesystem::path cache_;
  wall behind_;
  bool check_;
  build_limits allowed_;
  std::string tools_;            ///< fingerprint of compilers, flags and headers
  words contract_;               ///< mangled names of the functions that the staff's code calls
  std::set<std::string> given_;  ///< and of those that the lab gives to be called
};

}  // namespace grading
