// Compares a result with the expected one: a known-wrong submission must lose exactly the points it should.
#pragma once

#include <string>

#include "course/expectation.hpp"
#include "course/rubric.hpp"
#include "course/submission.hpp"
#include "result/result.hpp"

namespace grading {

/// "" if the item has the expected result, or could not be assessed here.
std::string surprise(const item_result& item, const expected_item& want);

/// "" if the result is as expected; otherwise each difference on its own line.
std::string surprises(const result& got, const expectation& want);

/// The same for the reference solution, which must get full points, and for the student's skeleton, which may get at
/// most 25 and must not crash, unless crashed programs are the task.
std::string surprises_of_solution(const result& got);
std::string surprises_of_skeleton(const result& got, bool may_crash = false);

/// The same for any of a lab's submissions; the solution's answers to predictions are compared, too.
std::string surprises_of(const result& got, const lab_folder& lab, const submission& who);

/// "" if the solution's counters, graded by `rules`, confirm the answers to all predictions within their tolerances.
std::string stale_answers(const result& of_solution, const rubric& rules);

}  // namespace grading
