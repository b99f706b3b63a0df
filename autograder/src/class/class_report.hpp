// Pages for instructors and for each student, made from the grade book: HTML files that need nothing else.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

/// The class page: distribution, items by difficulty, flags, and everyone with a link to their page. Results of another
/// version of the course than the pinned one are for review; "" if none is pinned.
std::string class_page(const std::vector<result>& results, const std::string& pinned = "");

/// For students: the ten best ratios of each throughput item, and each record when it was set. Names are invented;
/// results with a flag do not count, nor do INCONCLUSIVE items.
std::string leaderboard_page(const std::vector<result>& history);

/// File name of a student's page, next to the class page.
std::string page_of(const result& r);

/// Writes index.html and a page for each result; returns the path of the first.
std::filesystem::path write_class_report(const std::vector<result>& results, const std::filesystem::path& source,
                                         const std::filesystem::path& folder, const std::string& pinned = "");

}  // namespace grading
