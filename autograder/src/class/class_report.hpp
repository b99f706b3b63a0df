// Pages for instructors and each student, made from the grade book: self-contained HTML files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

/// The class page: distribution, items by difficulty, flags, and everyone with a link to their page. Results from a
/// version of the course other than the pinned one are for review; `pinned` is "" if none is.
std::string class_page(const std::vector<result>& results, const std::string& pinned = "");

/// For students: the ten best ratios of each throughput item, and when each record was set. Names are invented; flagged
/// results and INCONCLUSIVE items do not count.
std::string leaderboard_page(const std::vector<result>& history);

/// The file name of a student's page, next to the class page.
std::string page_of(const result& r);

/// Writes index.html and a page for each result; returns the path of the first.
std::filesystem::path write_class_report(const std::vector<result>& results, const std::filesystem::path& source,
                                         const std::filesystem::path& folder, const std::string& pinned = "");

}  // namespace grading
