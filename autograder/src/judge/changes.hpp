// Finds the functions of a submission that a change can affect; the others need not be graded again.
#pragma once

#include <map>
#include <set>
#include <string>

namespace grading {

/// The functions that differ from those of `then`, and those that may call one that does; submissions are given as the
/// texts of their files, by name. {""}, for all functions, if the text around functions differs or if they may share a
/// variable. Both submissions have the same files. Comments, white space and TOML files are ignored.
std::set<std::string> changed_names(const std::map<std::string, std::string>& then,
                                    const std::map<std::string, std::string>& now);

/// The entries of the table in a lab's calls.cpp, given as text, whose calls reach none of these functions.
std::set<std::string> entries_beside(const std::set<std::string>& changed, const std::string& calls);

}  // namespace grading
