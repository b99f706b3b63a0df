// Names of submissions: turns a file name into an id that every format can hold, and an id into a file name.
#pragma once

#include <string>
#include <string_view>

namespace grading {

/// The first byte that is not UTF-8; npos if all are.
std::size_t first_not_utf8(std::string_view text);

/// Any bytes as one line of text that a terminal, XML, JSON and CSV can show: control characters and bytes that are not
/// UTF-8 become \xE9. Different bytes give different texts.
std::string as_text(std::string_view bytes);

/// A file name for an id, unique on every file system: its letters and digits for people, plus a hash.
std::string file_name_of(const std::string& id);

}  // namespace grading
