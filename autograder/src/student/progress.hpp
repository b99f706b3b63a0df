// How far a student has come, over all labs, in one text file next to the README: progress.toml.
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
  int graded = 0;                            ///< how often
  std::string last, passed;                  ///< RFC 3339; passed is "" until it is
  std::string next;                          ///< the item to work on
  std::map<std::string, std::string> items;  ///< verdicts at the last grading
  std::map<std::string, int> hints;          ///< levels shown, by item
  locked_predictions locked;                 ///< the first complete set that was graded
};

using progress = std::map<std::string, lab_progress>;  ///< by the lab's name, "03_coalescing"

/// Empty if there is no file; throws input_error if it cannot be understood.
progress read_progress(const std::filesystem::path& file);
void write_progress(const std::filesystem::path& file, const progress& all);

/// Enters a grading. Resets the hint count of an item that has passed.
void note(lab_progress& p, const result& r);

/// The lab's locked predictions, and the first cause named for each program of findings.toml beside them. Where none
/// are and those in the file are complete, these are locked now, and written down before anything is compared.
locked_predictions lock_predictions(const std::filesystem::path& progress_file, const std::string& lab,
                                    const rubric& rules, const std::filesystem::path& predictions);

/// The same for one of the lab's submissions. Only a student's own predictions are ever locked, not the course's.
locked_predictions locked_for(const std::filesystem::path& progress_file, const lab_folder& lab, const submission& who);

/// Whether there is work left in an item that this machine can assess. Predictions that were corrected are done,
/// though points are lost.
bool is_open(const item_result& i);

/// Whether no item is open, and noise left none undecided.
bool passed(const result& r);

/// The item to work on: what does not build, then the predictions while they are blank, then the first in the rubric's
/// order that is open, one that noise hid last. Null if there is none.
const item_result* next_item(const result& r);

/// Says that the lab's SEEN.md is open, once its predictions are compared; "" before that.
std::string after_the_lock(const result& r, const std::filesystem::path& lab);

/// The next hint for an item, "hint 2 of 3: ...", or why there is none; counts it.
std::string next_hint(lab_progress& p, const item_result& item);

/// A line for each lab: title, points as a bar, what is next.
struct lab_title {
  std::string name, title;
};
std::string progress_table(const progress& all, const std::vector<lab_title>& labs, int width, bool colours);

/// Puts the hand-in files back to what `skeleton` says, by name, and keeps the present ones in `backup`. Returns what
/// was done, one line a file; throws input_error if nothing is known, and then nothing was changed.
std::vector<std::string> reset_files(const std::filesystem::path& handin,
                                     const std::map<std::string, std::string>& skeleton,
                                     const std::filesystem::path& backup);

}  // namespace grading
