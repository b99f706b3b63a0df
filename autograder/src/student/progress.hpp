// A student's progress over all labs, in one text file next to the README: progress.toml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/submission.hpp"
#include "judge/predictions.hpp"
#include "result/result.hpp"

namespace grading {

struct lab_progress {
  double points = 0, out_of = 0, best = 0;
  int graded = 0;                            ///< number of gradings
  std::string last, passed;                  ///< RFC 3339; passed is "" until the lab is passed
  std::string next;                          ///< the item to work on
  std::map<std::string, std::string> items;  ///< verdicts of the last grading
  std::map<std::string, int> hints;          ///< levels shown, by item
  locked_predictions locked;                 ///< the first complete set that was graded
};

using progress = std::map<std::string, lab_progress>;  ///< by the lab's name, "03_coalescing"

/// Empty if there is no file; throws input_error if it is invalid.
progress read_progress(const std::filesystem::path& file);
void write_progress(const std::filesystem::path& file, const progress& all);

/// Records a grading. Resets the hint count of each item that passed.
void note(lab_progress& p, const result& r);

/// The lab's locked predictions, and the first cause named for each program of findings.toml. If none are locked and
/// the file's are complete, locks and saves these before anything is compared.
locked_predictions lock_predictions(const std::filesystem::path& progress_file, const std::string& lab,
                                    const rubric& rules, const std::filesystem::path& predictions);

/// The same for any of the lab's submissions. Locks only a student's own predictions, never the course's.
locked_predictions locked_for(const std::filesystem::path& progress_file, const lab_folder& lab, const submission& who);

/// Whether the item can be assessed here and still needs work. Corrected predictions are done, though they lost points.
bool is_open(const item_result& i);

/// Whether every item is done and noise left none undecided.
bool passed(const result& r);

/// The item to work on: a failed build first, then blank predictions, then the first open item in the rubric's order;
/// items hidden by noise come last. Null if there is none.
const item_result* next_item(const result& r);

/// Once the lab's predictions have been compared, says that its SEEN.md is open; "" before.
std::string after_the_lock(const result& r, const std::filesystem::path& lab);

/// The next hint for an item, "hint 2 of 3: ...", or why there is none; counts it.
std::string next_hint(lab_progress& p, const item_result& item);

/// A line for each lab: title, points as a bar, next item.
struct lab_title {
  std::string name, title;
};
std::string progress_table(const progress& all, const std::vector<lab_title>& labs, int width, bool colours);

/// Restores the hand-in files from `skeleton`, by name, and keeps the current ones in `backup`. Returns what was done,
/// one line per file. If the originals are unknown, throws input_error and changes nothing.
std::vector<std::string> reset_files(const std::filesystem::path& handin,
                                     const std::map<std::string, std::string>& skeleton,
                                     const std::filesystem::path& backup);

}  // namespace grading
