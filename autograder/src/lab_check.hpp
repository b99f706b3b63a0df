// A lab as its author left it: rubric, hints, predictions and wrong submissions must know the same items.
#pragma once

#include <vector>

#include "rubric.hpp"
#include "submission.hpp"

namespace grading {

/// Throws input_error, which names the file and what to do, where an item has no hint or a hint no item, where a
/// prediction that the rubric asks for is missing in the lab's predictions.toml or one there is asked nowhere, where a
/// text that students read gives the answer to one away, or where a wrong submission expects something of an item that
/// there is not.
void check_lab(const lab_folder& lab, const rubric& rules, const std::vector<submission>& submissions);

}  // namespace grading
