// Names of submissions: from the name of a file to an id that every format can hold, and from an id to the name of a
// file.
#pragma once

#include <string>
#include <string_view>

namespace grading {

/// The first byte that is not UTF-8; npos if all are.
std::size_t first_not_utf8(std::string_view text);

/// Any bytes as one line of text that a terminal, XML, JSON and CSV can show: what is not UTF-8 and characters that
/// control something are written \xE9. Different bytes give different texts.
std::string as_text(std::string_view bytes);

/// A file name for an id that differs from any other id's on every file system: its letters and digits for people, a
/// hash for the rest.
std::string file_name_of(const std::string& id);

}  // namespace grading
