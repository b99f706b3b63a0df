// The builder: compiles the submission in a box, checks the object, and seals it so that only the contract's functions
// can be reached from outside.
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
  std::chrono::seconds wall{120};             ///< wall-clock time for one file
  std::size_t memory = std::size_t{4} << 30;  ///< bytes in use
};

/// A file of a submission.
struct hand_in {
  std::string text;
  std::filesystem::path folder;  ///< named in messages; empty if the file came from outside
};

/// The folder of hand-in files in reports; verdicts omit it.
constexpr const char* handed_in_at = "/in/";

/// A recipe and the compiler's version: all that determines the result of compiling, except files' contents. Throws
/// input_error if there is no such file.
std::string commands_of(const std::filesystem::path& recipe);

class box_builder {
 public:
  /// `recipe`: written by add_lab for this lab. `cache`: compiled objects by content. Throws input_error if the recipe
  /// or anything it names is missing.
  box_builder(const std::filesystem::path& recipe, std::filesystem::path cache, wall behind, bool check,
              build_limits allowed);

  /// Compiles the sources, given by file name, and links `program` from those that compile and may be handed in.
  /// Replaces each missing contract function with one that throws `file_not_built` (channel.hpp). The message tells the
  /// student what was left out and why; the result is not ok if nothing remains.
  build_outcome build(const std::map<std::string, hand_in>& sources, const std::filesystem::path& program) const;

  /// Files that a runner reads at run time.
  std::vector<std::filesystem::path> runtime() const;

 private:
  using words = std::vector<std::string>;
  build_outcome compile(const std::string& name, const hand_in& source, std::filesystem::path& object) const;
  bool by_nvcc() const;  ///< whether nvcc compiles the .cu files
  /// Why the file may not be handed in, or "": inline assembly, or headers unavailable in grading. `own`: this
  /// compilation's folders.
  std::string refusal(const std::string& name, const hand_in& source, const std::string& preprocessed,
                      const std::string& assembly, const std::set<std::filesystem::path>& own) const;
  struct clean {
    words missing;                    ///< functions of the contract
    std::string complaints;           ///< what is missing, and why files were removed
    std::set<std::string> asserting;  ///< see build_outcome
    std::set<std::string> of_host;    ///< functions of the host's libraries that .cu files call
  };
  /// Removes from `objects` those that may not be handed in, and their callers.
  clean take_out_unclean(const std::map<std::string, hand_in>& sources,
                         std::map<std::string, std::filesystem::path>& objects, std::string complaints) const;

  std::map<std::string, words> recipe_;
  std::filesystem::path cache_;
  wall behind_;
  bool check_;
  build_limits allowed_;
  std::string tools_;              ///< fingerprint of compilers, flags and headers
  words contract_;                 ///< mangled names of functions that the staff's code calls
  bool apart_ = false;             ///< files may not call each other's functions
  std::set<std::string> counted_;  ///< host functions of the contract whose memory accesses are counted
  std::set<std::string> given_;    ///< those of counted_ that the lab provides
};

}  // namespace grading
