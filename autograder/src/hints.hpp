// The next step for who is stuck, keyed to an item and what went wrong with it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "result.hpp"

namespace grading {

struct hint {
  std::string item;
  std::string verdict;            ///< "" for any but PASS and BUILD ERROR
  std::vector<std::string> text;  ///< levels, each more explicit
};

/// Reads hints.toml; no hints where there is no file. Throws input_error.
std::vector<hint> read_hints(const std::filesystem::path& file);

/// Gives each item that lost points its hint, the one for its verdict before the one for any.
void add_hints(std::vector<item_result>& items, const std::vector<hint>& hints);

}  // namespace grading
