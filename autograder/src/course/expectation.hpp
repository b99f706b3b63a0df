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

/// The text before a patch's first file. Throws input_error with the name of the patch and its folder.
toml::table head_of(const std::filesystem::path& patch);

/// Reads the table [items]; throws input_error.
std::map<std::string, expected_item> expected_items(const toml_reader& items);

/// The expectation of a wrong or right submission. Throws input_error.
expectation read_expectation(const std::filesystem::path& patch);

}  // namespace grading
