// The steps of every grading, local or official: begin a result, assess the items, finish the result.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "course/submission.hpp"
#include "judge/assess.hpp"
#include "judge/predictions.hpp"
#include "result/result.hpp"

namespace grading {

/// The options of every grading.
struct common_options {
  locked_predictions locked;    ///< the first complete set that any grading saw
  std::set<std::string> items;  ///< grade only these; all if empty
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

class conductor {
 public:
  /// Begins: starts the clock, reads the rubric for these cases, and records in `out` what is graded on which machine.
  /// `build` is the build directory. Throws input_error, also if the rubric lacks a requested item.
  conductor(const lab_folder& lab, const std::string& id, const std::filesystem::path& from,
            std::filesystem::path build, std::vector<lab::test_case> cases, const common_options& options);
  conductor(const conductor&) = delete;  // the session refers to the rubric, and the rubric to the cases
  conductor& operator=(const conductor&) = delete;

  const std::vector<lab::test_case>& cases() const { return cases_; }
  const rubric& rules() const { return rules_; }

  result out;
  grading_session session;  ///< the caller adds its subjects
  std::string failure;      ///< why nothing can run; "" while all builds succeed

  void progress(const std::string& what) const;

  /// The requested items, in the rubric's order.
  std::vector<const item*> chosen() const;

  /// Waits for this grading's turn on the machine, then assesses the item, or says why nothing can run. Adds it to
  /// `out`.
  item_result& assess_next(const item& what);

  /// Reports that nothing is in progress any more.
  void progress_ends() const { options_.progress(""); }

  /// Adds hints to the items that lose points.
  void add_advice(result& r) const;

  /// Adds notes, hints, the submission's output, and the total time.
  result finish();

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  lab_folder lab_;
  std::string submission_;
  std::filesystem::path build_;
  std::vector<lab::test_case> cases_;
  common_options options_;
  rubric rules_;
};

}  // namespace grading
