// The canonical result: what was graded, where, and the result of every rubric item. Every other format derives from
// it.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/execute.hpp"
#include "lab/roofline.hpp"
#include "lab/statistics.hpp"
#include "result/words.hpp"

namespace grading {

struct condition_result {
  std::string what, metric;
  grading::backend backend = grading::backend::sim;
  std::optional<double> value, min, max;  ///< no value: no such access was made
  bool ok = false;
};

struct prediction_result {
  std::string key;
  std::optional<double> predicted;          ///< now
  std::optional<double> first;              ///< in the first complete set
  std::optional<double> right;              ///< only once compared; hidden before
  std::optional<double> seen, seen_on_gpu;  ///< in the submission's own code; shown but not graded
  prediction_state state = prediction_state::not_compared;
  std::string waits_for;  ///< the function, if pending

  /// "banks.pitch_33: predicted 2, right is 1", for a compared prediction.
  std::string text() const;
};

/// One pair of calls timed one right after the other.
struct timed_pair {
  double call_seconds = 0;
  double ceiling_seconds = 0;
};

struct item_result {
  std::string id, title;
  item_kind kind = item_kind::correctness;
  grading::verdict verdict = verdict::not_assessed;
  double points = 0, max_points = 0;  ///< if INCONCLUSIVE, `points` is the minimum
  std::optional<double> most_points;  ///< the maximum, if INCONCLUSIVE
  std::optional<double> figure, threshold;
  std::string what;     ///< what the figure counts: "cases", "sectors per load request", "of the read ceiling"
  std::string message;  ///< "" if there is nothing to say
  std::vector<backend> backends;    ///< that decided
  std::vector<std::string> advice;  ///< waste that costs no points
  std::vector<std::string> hint;    ///< levels, each more explicit
  std::vector<condition_result> conditions;
  std::vector<prediction_result> predictions;
  std::vector<timed_pair> samples;
  std::optional<lab::interval> ci95;  ///< of the median ratio
  std::optional<double> noise;        ///< spread of the ceiling against itself, without unit
  lab::work work;                     ///< throughput: of one call
  lab::work ceiling_work;  ///< of one call of the ceiling: FLOPs if it computes, otherwise bytes; the other is 0

  /// The ceiling's rate per second, from the median of its samples; nothing without samples.
  lab::work ceiling_rate() const;
  /// The same as text, "28.1 GB/s"; "" without samples.
  std::string ceiling_text() const;

  /// "4.1", and "4.1 to 10.5" if INCONCLUSIVE.
  std::string earned_text() const;

  /// The distance of the figure from its threshold, as a fraction of the threshold.
  std::optional<double> margin() const;
};

/// The counters of one case.
struct counted_case {
  std::string case_id;
  grading::backend backend = grading::backend::sim;
  lab::work work;
  std::vector<lab::launch_record> launches;
};

/// This machine, from one call to lab::environment(): "cpu", "compiler", "system", "gpu" and so on, and "cores".
const std::map<std::string, std::string>& this_machine();

/// The version of the course that this program was built from, from the file VERSION: "1.0.0".
const std::string& course_version();

struct result {
  std::string lab, lab_title, lab_version;
  std::string course_version;  ///< that graded it; "" if the course had no versions yet
  std::string submission, path;
  std::map<std::string, std::string> machine;
  std::string date;  ///< RFC 3339
  grading::outcome outcome = grading::outcome::graded;
  std::string graded_from;         ///< fingerprint of all that determines the result; "" if nothing was built
  double seconds = 0;              ///< that it took to build and grade
  bool official = false;           ///< by a judge that never loads the submission
  bool sandboxed = false;          ///< if not, only trusted code was graded
  std::string digest;              ///< SHA-256 of the files that were graded, if official
  std::uint64_t seed = 0;          ///< determines all inputs and drawn sizes; secret until graded, so official only
  std::vector<std::string> flags;  ///< oddities for a person to look at; they cost no points
  std::vector<item_result> items;
  std::vector<counted_case> counted;
  std::vector<std::string> notes;  ///< about the machine: what could not be assessed and why
  std::string printed;             ///< what the submission printed

  double score() const;       ///< the minimum
  double most_score() const;  ///< the maximum; the same if no item is INCONCLUSIVE
  double out_of() const;      ///< points of all items that this machine could assess
  bool all_built() const;     ///< no item is BUILD ERROR
};

/// "83.8 of 85 points", or "between 41.5 and 47.9 of 85 points".
std::string score_text(const result& r);

std::string to_json(const result& r);  ///< one result, schema roofline-labs/result/v1

/// The message for a file written by a newer version, and what to do.
std::string newer_text(const std::string& file, int format, int known);

/// The number after `prefix` in the text; 0 if there is none.
int format_in(const std::string& text, const std::string& prefix);

struct not_a_result : std::runtime_error {
  using std::runtime_error::runtime_error;
};
result result_from_json(const std::string& text);  ///< throws not_a_result

/// The result for that lab and submission; null if there is none.
const result* result_of(const std::vector<result>& all, const std::string& lab, const std::string& submission);

std::string now_rfc3339();

/// A build directory's results, the latest of each submission, one file each, so that grading one costs the same
/// however many there are.
struct result_store {
  std::filesystem::path folder;

  /// Sorted by lab and submission; empty if there are none; omits unreadable results. `lab` restricts them to one lab,
  /// if given.
  std::vector<result> load(const std::string& lab = "") const;
  /// Replaces results of the same lab and submission, keeps all others, and writes by rename, so neither a killed run
  /// nor concurrent runs lose anything. Throws std::runtime_error if a file cannot be written, input_error if a newer
  /// version of the course wrote it.
  void merge(const std::vector<result>& fresh) const;
  /// Forgets a lab's submissions that are not among these.
  void keep_only(const std::string& lab, const std::vector<std::string>& submissions) const;

 private:
  /// Splits FOLDER.json, which held all results up to version 1.0, and keeps it as FOLDER.json.parted.
  void part_old_file() const;
};

}  // namespace grading
