// A result's words, each with one name in the terminal, report, JSON, rubrics and expectations.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

namespace grading {

template <class Word>
struct word_table;  ///< the kind of word, and its names in the order of the enum

enum class verdict {
  pass,
  too_slow,
  wrong,
  wasteful,  ///< a counter misses its bar: more traffic than allowed
  build_error,
  crash,
  timeout,
  inconclusive,  ///< the machine was too noisy to tell the points; the result has their minimum and maximum
  not_assessed,  ///< this machine cannot tell
  not_answered,  ///< not all predictions are made
  pending,       ///< no prediction is wrong; some wait for a function that does not pass yet
};
template <>
struct word_table<verdict> {
  static constexpr const char* what = "verdict";
  static constexpr const char* names[] = {"PASS",         "TOO SLOW",     "WRONG",   "WASTEFUL",
                                          "BUILD ERROR",  "CRASH",        "TIMEOUT", "INCONCLUSIVE",
                                          "NOT ASSESSED", "NOT ANSWERED", "PENDING"};
};

inline bool is_assessed(verdict v) { return v != verdict::not_assessed; }  ///< its points count in "out of"

/// The outcome of grading a whole submission.
enum class outcome {
  graded,
  build_failed,
  refused,     ///< nothing was accepted
  infra_error  ///< the machine failed, not the submission: grade it again
};
template <>
struct word_table<outcome> {
  static constexpr const char* what = "outcome";
  static constexpr const char* names[] = {"graded", "build_failed", "refused", "infra_error"};
};

/// The kind of a rubric's item.
enum class item_kind { correctness, counters, predictions, throughput, findings };
template <>
struct word_table<item_kind> {
  static constexpr const char* what = "kind";
  static constexpr const char* names[] = {"correctness", "counters", "predictions", "throughput", "findings"};
};

/// Where a submission's code runs: on the CPU alone, on the simulated device, or on a GPU.
enum class backend { host, sim, cuda };
template <>
struct word_table<backend> {
  static constexpr const char* what = "backend";
  static constexpr const char* names[] = {"host", "sim", "cuda"};
};

/// Kinds of advice, which a rubric's by_design can excuse.
enum class waste { small_grid, sectors_loaded, sectors_stored, bank_conflicts, one_block };
template <>
struct word_table<waste> {
  static constexpr const char* what = "kind of waste";
  static constexpr const char* names[] = {"small grid", "sectors loaded", "sectors stored", "bank conflicts",
                                          "one block per multiprocessor"};
};

/// The state of a prediction.
enum class prediction_state {
  not_compared,  ///< not all of the lab's predictions are made yet
  pending,       ///< waits for a student's function that does not pass yet
  wrong,
  corrected,  ///< wrong in the first complete set, now right
  first_try
};
template <>
struct word_table<prediction_state> {
  static constexpr const char* what = "state";
  static constexpr const char* names[] = {"not compared", "pending", "wrong", "corrected", "first try"};
};

template <class Word>
concept word = requires {
  word_table<Word>::names;
};

/// "TOO SLOW"
std::string name_of(word auto w) { return word_table<decltype(w)>::names[static_cast<std::size_t>(w)]; }

/// Throws std::invalid_argument, which lists the names.
template <word Word>
Word named(const std::string& name) {
  const auto& names = word_table<Word>::names;
  const auto found = std::find(std::begin(names), std::end(names), name);
  if (found != std::end(names)) return static_cast<Word>(found - std::begin(names));
  std::string all;
  for (const char* one : names) all += (all.empty() ? "" : ", ") + std::string(one);
  throw std::invalid_argument(std::string("unknown ") + word_table<Word>::what + " '" + name + "'; use one of: " + all);
}

}  // namespace grading
