// Results for people at a terminal: no line longer than it is wide, colours only if they are wanted.
#pragma once

#include <string>
#include <vector>

#include "result/result.hpp"

namespace grading {

struct terminal_style {
  int width = 100;  ///< columns
  bool colours = false;
};

/// The style for standard output: its width, and colours only on a terminal where NO_COLOR is not set.
terminal_style style_of_stdout();

/// Items, then what went wrong with each, then the sum. With the grading before: how many cases an item kept then.
std::string laid_out(const result& r, const terminal_style& style, const result* before = nullptr);

/// The three parts of `laid_out`, for a grading that shows each item as soon as it is assessed.
std::string lab_heading(const std::string& lab, const std::string& title, const std::string& submission,
                        const terminal_style& style);
std::string item_row(const item_result& item, const terminal_style& style, const result* before = nullptr);
std::string after_items(const result& r, const terminal_style& style);

/// The row of an item whose verdict, points or number of cases are other than before; "" if they are not.
std::string changed_item(const result& before, const item_result& now, const terminal_style& style);

/// Rows of the items whose verdict, points or number of cases are other than before, with what they were.
std::string changed_items(const result& before, const result& after, const terminal_style& style);

/// One item with its message and the wrong predictions, for the student who works on it.
std::string one_item(const item_result& item, const terminal_style& style);

/// Exactly `width` columns: cut with an ellipsis, or filled with blanks.
std::string fitted(const std::string& text, int width);

/// Words in lines of at most `width` columns, each line indented; a word that is too long stands alone.
std::string wrapped(const std::string& text, int indent, int width);

/// "83.8 of 85 points (15 not assessed here: no GPU on this machine)"
std::string total_line(const result& r);

struct summary_row {
  result graded;
  std::string surprises;  ///< "" if the result is as expected
};

/// One row for each submission, then every surprise.
std::string summary_table(const std::vector<summary_row>& rows, const terminal_style& style);

/// The figure of an item next to its threshold: "11 of 11 cases", "32 (bar 4)".
std::string figure_column(const item_result& item);

/// Items that lost points, by verdict, named if they are few: "TOO SLOW column_sums_throughput, WRONG 12".
std::string verdict_summary(const result& r);

}  // namespace grading
