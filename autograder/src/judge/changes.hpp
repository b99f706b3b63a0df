// Which functions of a submission a change can touch: the others need not be graded again.
#pragma once

#include <map>
#include <set>
#include <string>

namespace grading {

/// The functions of a submission, given as its files' texts by name, that differ from those of `then`, and those that
/// may call one that does. {""}, for all, if what is around the functions differs, or if they may share a variable.
/// Both have the same names of files; comments and white space do not count, and files of TOML have no functions.
std::set<std::string> changed_names(const std::map<std::string, std::string>& then,
                                    const std::map<std::string, std::string>& now);

/// The entries of the table in a lab's calls.cpp, given as text, whose calls reach none of these functions.
std::set<std::string> entries_beside(const std::set<std::string>& changed, const std::string& calls);

}  // namespace grading
