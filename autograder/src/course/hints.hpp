// The next step for a student who is stuck, chosen by what went wrong or, if that says too little, by the item.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "result/result.hpp"

namespace grading {

struct hint {
  std::string item;               ///< "" for any
  std::string verdict;            ///< "" for any but PASS and BUILD ERROR
  std::vector<std::string> says;  ///< one of these must occur in the item's message, ignoring case; empty: any message
  std::vector<std::string> text;  ///< levels, each more explicit
};

/// A lab's hints: its own hints.toml, then the one that all labs share, in the folder above. No file means no hints.
/// Throws input_error.
std::vector<hint> read_hints(const std::filesystem::path& lab);

/// Gives a hint to each item that did not pass: the first that names words of its message, preferably one for the item;
/// otherwise the one for the item and verdict, then the one for the item. The last does not apply to a wrong result's
/// counters, which were not compared. A wrong finding's message quotes the student's answer, so its words select no
/// hint.
void add_hints(std::vector<item_result>& items, const std::vector<hint>& hints);

/// Hints for a fix reveal the cause of the bug, and a failing case's message may, too. An item that follows a finding
/// shows both once the student has named a cause for that finding's program; until then it only says how many cases
/// fail, and its hint asks for that cause.
void hold_causes(std::vector<item_result>& items, const rubric& rules,
                 const std::set<std::string>& programs_with_cause);

}  // namespace grading
