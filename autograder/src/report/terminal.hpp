// Results for a terminal: lines fit its width, colours only if wanted.
#pragma once

#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct terminal_style {
  int width = 100;  ///< columns
  bool colours = false;
};

/// The style for standard output: its width, and colours only on a terminal without NO_COLOR.
terminal_style style_of_stdout();

/// Items, then what went wrong with each, then the sum. Given the previous grading, also how many cases passed then.
std::string laid_out(const result& r, const terminal_style& style, const result* before = nullptr);

/// The three parts of `laid_out`, for a grading that shows each item as soon as it is assessed.
std::string lab_heading(const std::string& lab, const std::string& title, const std::string& submission,
                        const terminal_style& style);
std::string item_row(const item_result& item, const terminal_style& style, const result* before = nullptr);
std::string after_items(const result& r, const terminal_style& style);

/// The item's row if its verdict, points or number of cases have changed, otherwise "".
std::string changed_item(const result& before, const item_result& now, const terminal_style& style);

/// The rows of items whose verdict, points or number of cases have changed, with the old values.
std::string changed_items(const result& before, const result& after, const terminal_style& style);

/// One item with its message and the wrong predictions, for the student who works on it.
std::string one_item(const item_result& item, const terminal_style& style);

/// Exactly `width` columns: cut with an ellipsis, or filled with blanks.
std::string fitted(const std::string& text, int width);

/// Words in lines of at most `width` columns, each line indented; a word that is too long gets its own line.
std::string wrapped(const std::string& text, int indent, int width);

/// "83.8 of 85 points (15 not assessed here: no GPU on this machine)"
std::string total_line(const result& r);

struct summary_row {
  result graded;
  std::string surprises;  ///< "" if the result is as expected
};

/// One row for each submission, then every surprise.
std::string summary_table(const std::vector<summary_row>& rows, const terminal_style& style);

/// An item's figure next to its threshold: "11 of 11 cases", "32 (bar 4)".
std::string figure_column(const item_result& item);

/// Items that lost points, by verdict, named if there are few: "TOO SLOW column_sums_throughput, WRONG 12".
std::string verdict_summary(const result& r);

}  // namespace grading
