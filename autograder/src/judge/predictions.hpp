// Predictions: what a student predicted, when, and the points it earns.
#pragma once

#include <toml++/toml.h>
#include <filesystem>
#include <map>
#include <string>

#include "course/rubric.hpp"
#include "result/result.hpp"
#include "support/toml.hpp"

namespace grading {

/// Values by key, such as "sectors.copy_offset_0_load"; omits keys that are nan or missing.
using prediction_set = std::map<std::string, double>;

/// The answers of a predictions.toml to the rubric's keys; empty if there is no file. Throws input_error.
prediction_set read_predictions(const std::filesystem::path& file, const rubric& rules);

/// The first set, plus the answers of the second that the first lacks.
prediction_set both(prediction_set first, const prediction_set& second);

/// Whether every key that the rubric has in this sitting has a number.
bool is_complete(const prediction_set& made, const rubric& rules, int sitting);

/// The predictions in the sittings that are complete.
prediction_set complete_sittings(const prediction_set& made, const rubric& rules);

/// The first complete set of each sitting of a lab. It can no longer change, and right answers in it earn full points;
/// later corrections earn half.
struct locked_predictions {
  std::string date;  ///< RFC 3339; "" if nothing is locked
  prediction_set values;
};

/// One item's predictions, none of them compared.
std::vector<prediction_result> not_compared(const item& what, const prediction_set& made);

/// The first complete sets of each student in a history, oldest result first. A set is complete if it was compared, or
/// if it answered all that was asked when it was graded. Keys added later take the first answer that was given.
std::map<std::string, locked_predictions> first_complete(const std::vector<result>& history);

/// Converts to and from the `locked` and `predicted` tables.
void add_to(toml::table& table, const locked_predictions& locked);
locked_predictions locked_in(const toml::table& table);

}  // namespace grading
