// What the failing cases of an item have in common.
#pragma once

#include <string>
#include <vector>

#include "course/contract.hpp"
#include "lab/case.hpp"

namespace grading {

/// "rows = 5, columns = 33"; "" if the contract names no such sizes.
std::string sizes_text(const lab::test_case& c, const contract& names);

/// "Only ragged sizes fail: every `columns` that is not a multiple of 4."; "" if no pattern fits, or if fewer than two
/// cases fail or two pass.
std::string pattern_of(const std::vector<const lab::test_case*>& failed,
                       const std::vector<const lab::test_case*>& passed, const contract& names);

}  // namespace grading
