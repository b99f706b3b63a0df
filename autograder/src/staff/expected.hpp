// What a submission has to come to: a known-wrong one loses exactly the points it should.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "result/result.hpp"
#include "support/toml.hpp"

namespace grading {

struct expected_item {
  std::vector<verdict> verdicts;  ///< any of them: what races may be right by luck
  double least = 0, most = 0;     ///< points
};

struct expectation {
  std::string story;
  std::string base = "solution";               ///< id of the submission that it is but for its mistake
  std::map<std::string, expected_item> items;  ///< "all" means every item; items not named, or none, get full points
};

/// The table [items] of an expected.toml; throws input_error.
std::map<std::string, expected_item> expected_items(const toml_reader& items);

/// "" if the item has the expected result, or could not be assessed here.
std::string surprise(const item_result& item, const expected_item& want);

/// Reads expected.toml; throws input_error.
expectation read_expectation(const std::filesystem::path& file);

/// "" where the result is as expected; otherwise each difference, one on a line.
std::string surprises(const result& got, const expectation& want);

/// The same for the reference solution (full points) and for the student's skeleton (no crash, at most 25 points).
std::string surprises_of_solution(const result& got);
std::string surprises_of_skeleton(const result& got);

/// "" where the right values of all predictions are what the solution's counters say, each within what the prediction
/// allows; `rules` are those that it was graded by.
std::string stale_answers(const result& of_solution, const rubric& rules);

}  // namespace grading
