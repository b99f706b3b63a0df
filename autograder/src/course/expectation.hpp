// The result that a submission must get, as its author states it at the head of its patch.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "result/words.hpp"
#include "support/toml.hpp"

namespace grading {

struct expected_item {
  std::vector<verdict> verdicts;  ///< any of them: a race may give a right result by luck
  double least = 0, most = 0;     ///< points
};

struct expectation {
  std::string story;
  std::string base = "solution";               ///< id of the submission that it equals except for its mistake
  bool demo = false;                           ///< one of the few that `grader demo` grades without --all
  std::map<std::string, expected_item> items;  ///< "all" means every item; all other items get full points
};

/// Reads the table [items]; throws input_error.
std::map<std::string, expected_item> expected_items(const toml_reader& items);

/// Reads the text before the first file of a patch; throws input_error.
expectation read_expectation(const std::filesystem::path& patch);

}  // namespace grading
