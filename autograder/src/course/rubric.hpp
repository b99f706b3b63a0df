// A lab's rubric: points and thresholds from rubric.toml, which is refused if anything in it is invalid.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/contract.hpp"
#include "course/credit.hpp"
#include "course/submission.hpp"
#include "lab/case.hpp"
#include "lab/ceilings.hpp"
#include "result/words.hpp"

namespace grading {

/// Metrics of a host case whose system calls the judge counts (test_case::counts_calls). A rubric's labels are "system
/// calls", "page faults" and, for one name, "calls of read".
inline constexpr const char all_calls[] = "system_calls", page_faults[] = "page_faults";
inline const std::string calls_of = "system_calls.";

/// A counter of sim/counters.hpp, or the quotient of two; rubrics give its label. A host case has no counters; its
/// "output[3]" is element 3 of its first output, if that is f64 and short.
struct metric {
  std::string numerator;
  std::string denominator{};  ///< "" for none
  std::string nsight{};       ///< Nsight Compute's name for the quotient, if it has one
  std::string text() const { return denominator.empty() ? numerator : numerator + " / " + denominator; }
  std::string nsight_name() const { return nsight.empty() ? text() : nsight; }
  /// No value if the metric was not counted, or is 0 / 0 because there was no such access.
  std::optional<double> of(const std::map<std::string, double>& counted) const;
};

/// Nsight Compute's counters have two underscores in their names; the simulated device's own, such as api_calls, do
/// not.
inline bool is_of_gpu(const std::string& counter) { return counter.find("__") != std::string::npos; }

/// Applies to the item's case, unless it names another, such as one with sizes that no tile divides. It may be
/// repeated for drawn sizes, with bars scaled as the rubric says. Such a repetition and the item's own condition on the
/// same counter count as one.
struct condition {
  std::string label;  ///< of the counter
  grading::metric metric;
  std::optional<double> min, max;
  std::string note{};                         ///< tells students what to compare it with; or ""
  bool needed = false;                        ///< the item earns nothing without it
  bool work = false;                          ///< the task's minimum work: also needed, but meeting it earns nothing
  const lab::test_case* elsewhere = nullptr;  ///< the case, if not the item's
  std::string text() const;
  bool holds(double value) const;  ///< equality up to 1e-9 of the bound
};

struct prediction {
  std::string key;  ///< path in predictions.toml, "sectors.copy_offset_0_load"
  const lab::test_case* about = nullptr;
  grading::metric metric;
  double tolerance = 0.01;      ///< absolute
  double factor = 0;            ///< if not 0, replaces the tolerance: at most this many times too large or too small
  bool measured = false;        ///< depends on the machine: whatever value the case gives is right
  std::optional<double> right;  ///< otherwise: the right solution's value, from answers.toml
  bool own = false;             ///< about the student's own function, which must pass first
  bool allows(double predicted, double truth) const;
};

struct item {
  std::string id, title;
  item_kind kind = item_kind::correctness;
  double points = 0;
  std::vector<const lab::test_case*> cases;  ///< correctness: all of them; counters, throughput: the only one
  std::vector<condition> require;            ///< counters
  std::set<waste> by_design;                 ///< counters: gets no advice, because this waste is the task's subject
  std::vector<prediction> predict;           ///< predictions
  int sitting = 1;                           ///< a sitting's predictions are compared once all of them are made
  const lab::ceiling* ceiling = nullptr;     ///< throughput
  std::vector<rung> rungs;                   ///< throughput
  std::string program;                       ///< findings: a program in labs/NN_topic/crashed/
  std::string follows;       ///< correctness, counters: the findings item whose cause must be named before hints; or ""
  double cause = -1;         ///< findings: index of the right cause in the rubric's list, from answers.toml
  std::string changed_file;  ///< correctness: the file that may change only a little for full points; "" for none
  std::size_t changes = 0;   ///< correctness: at most this many statements may change
  double most = 1.3;         ///< throughput: a higher ratio is a measurement error
  bool timed_on_gpu() const { return kind == item_kind::throughput && cases.front()->where == lab::part::device; }
};

struct rubric {
  std::string id, title;
  std::string question, learn, needs, hours;  ///< for the tables of labs
  std::vector<std::string> handin;
  std::vector<item> items;
  std::vector<std::string> causes;  ///< that a finding may name
  std::string version;              ///< changes when the text changes
  contract names;                   ///< of the parameters, for messages

  const item* find(const std::string& item_id) const;  ///< null if there is none
  bool has(const std::string& item_id) const { return find(item_id) != nullptr; }

  /// The names of all counters that some item needs from a case.
  std::set<std::string> metrics_of(const lab::test_case& about) const;
};

/// The answers to a rubric's predictions as the text of answers.toml, with numbers as bit patterns of doubles, so that
/// students do not read them by accident.
std::string answers_text(const std::map<std::string, double>& answers);

/// The names of the hand-in files in a lab's folder handin/. Throws input_error if there are none, or if one is outside
/// that folder, as in older versions of the course.
std::vector<std::string> handin_in(const std::filesystem::path& lab_dir);

/// Reads a rubric, and the hand-in files and answers in `lab_dir`. Messages call it `name`. The cases must outlive the
/// rubric. Throws input_error with file, line and what to do.
rubric parse_rubric(const std::string& text, const std::string& name, const std::vector<lab::test_case>& cases,
                    const std::filesystem::path& lab_dir);

/// A lab's title; throws input_error.
std::string title_of(const lab_folder& lab);

/// A lab's cases, including those with sizes drawn from the seed.
std::vector<lab::test_case> all_cases_of(const std::string& lab, std::uint64_t seed);

/// The rubric in a lab's folder; throws input_error.
rubric read_rubric(const lab_folder& lab);
rubric read_rubric(const lab_folder& lab, const std::vector<lab::test_case>& cases);  ///< the cases must outlive it

}  // namespace grading
