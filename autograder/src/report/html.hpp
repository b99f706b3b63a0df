// The little HTML that the report is written in. Whatever a submission could have had a say in goes through escaped().
#pragma once

#include <string>

namespace grading {

/// Text that HTML shows as it is, inside elements and quoted attributes; control characters become blanks.
std::string escaped(const std::string& text);

/// Style sheet of the report: light and dark, wide and narrow.
const char* style_sheet();

}  // namespace grading
