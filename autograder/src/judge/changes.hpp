// Finds the functions of a submission that a change can affect; the others need not be graded again.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace grading {

/// The functions that differ from those of `then`, and those that may call one of these or share a variable with one.
/// Submissions are given as the texts of their files, by name. A file's functions all differ if it is in `left_out` or
/// if its text around them differs. {""}, for all functions, if that text may matter elsewhere or cannot be parsed.
/// Functions in unnamed namespaces, which only their own file can call, are left out. Both submissions have the same
/// files. Comments, white space and TOML files are ignored.
std::set<std::string> changed_names(const std::map<std::string, std::string>& then,
                                    const std::map<std::string, std::string>& now,
                                    const std::set<std::string>& left_out = {});

/// The entries of the table in a lab's calls.cpp, given as text, whose calls reach none of these functions, neither
/// directly nor through functions of `helpers`, the texts of the staff's other files.
std::set<std::string> entries_beside(const std::set<std::string>& changed, const std::string& calls,
                                     const std::vector<std::string>& helpers);

}  // namespace grading
