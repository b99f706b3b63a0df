// Predictions: what a student wrote down, when, and what it earns.
#pragma once

#include <toml++/toml.h>
#include <filesystem>
#include <map>
#include <string>

#include "course/rubric.hpp"
#include "result/result.hpp"
#include "support/toml.hpp"

namespace grading {

/// By key, "sectors.copy_offset_0_load"; what is nan or missing is not there.
using prediction_set = std::map<std::string, double>;

/// What a predictions.toml says of the keys that the rubric asks for; empty if there is no file. Throws input_error.
prediction_set read_predictions(const std::filesystem::path& file, const rubric& rules);

/// All of the first set, and of the second what the first lacks.
prediction_set both(prediction_set first, const prediction_set& second);

/// Whether each key that the rubric asks for in this sitting has a number.
bool is_complete(const prediction_set& made, const rubric& rules, int sitting);

/// The predictions of those sittings that are complete.
prediction_set complete_sittings(const prediction_set& made, const rubric& rules);

/// The first complete set of each sitting of a lab. It cannot be changed any more, and earns full points if it is
/// right; a later correction earns half.
struct locked_predictions {
  std::string date;  ///< RFC 3339; "" if nothing is locked
  prediction_set values;
};

/// An item's predictions, right or wrong.
std::vector<prediction_result> not_compared(const item& what, const prediction_set& made);

/// The first complete sets of each student in a history, the oldest result first. Complete is what was compared, or
/// answered all that was asked when it was graded; later answers come from the first set that has them.
std::map<std::string, locked_predictions> first_complete(const std::vector<result>& history);

/// As `locked` and `predicted` in a table, and back.
void add_to(toml::table& table, const locked_predictions& locked);
locked_predictions locked_in(const toml::table& table);

}  // namespace grading
