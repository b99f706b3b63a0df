// The steps that every grading takes, local or official: it begins a result, assesses the items, and finishes it.
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

/// What every grading is told.
struct common_options {
  locked_predictions locked;    ///< the first complete set that any such grading saw
  std::set<std::string> items;  ///< only these; all where empty
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

class conductor {
 public:
  /// Begins: the clock runs, the rubric is read for these cases, and `out` says what is graded on which machine.
  /// `build` is the build directory. Throws input_error, also if the rubric lacks an item that is asked for.
  conductor(const lab_folder& lab, const std::string& id, const std::filesystem::path& from,
            std::filesystem::path build, std::vector<lab::test_case> cases, const common_options& options);
  conductor(const conductor&) = delete;  // the session refers to the rubric, and the rubric to the cases
  conductor& operator=(const conductor&) = delete;

  const std::vector<lab::test_case>& cases() const { return cases_; }
  const rubric& rules() const { return rules_; }

  result out;
  grading_session session;  ///< its subjects are the caller's to add
  std::string failure;      ///< why nothing can run; "" as long as all builds

  void progress(const std::string& what) const;

  /// The items that are asked for, in the rubric's order.
  std::vector<const item*> chosen() const;

  /// Assesses the item, or says why nothing can run, when it is this grading's turn on the machine. Adds it to `out`.
  item_result& assess_next(const item& what);

  /// Nothing is being done any more.
  void progress_ends() const { options_.progress(""); }

  /// Hints for the items that lose points.
  void add_advice(result& r) const;

  /// Notes, hints, what the submission printed, and how long it all took.
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
