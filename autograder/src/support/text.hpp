// Lists, words and numbers for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace grading {

/// Appends an entry to a list, after the separator unless it is the first.
void add_to_list(std::string& list, std::string_view separator, std::string_view text);

/// A list of at most `most` entries and the number of the rest: "a; b; and 3 more".
std::string shortened_list(const std::vector<std::string>& all, std::size_t most, std::string_view separator,
                           std::string_view last_separator);

/// Replaces every `from` in the text with `to`.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// Text that HTML and XML show as it is, inside elements and quoted attributes; control characters become blanks.
std::string escaped(const std::string& text);

/// Whether the text contains the word as a whole word.
bool names(const std::string& text, const std::string& word);

/// Points without trailing zeros: 4, 1.25, 83.8.
std::string points_text(double points);

/// A figure for people. An integer has all of its digits: 4, 16, 1,069,547. Others have three significant ones, or as
/// many as requested, and at least those before the point: 0.832, 31.8, 1,234.
std::string figure_text(double figure, int digits = 3);

}  // namespace grading
