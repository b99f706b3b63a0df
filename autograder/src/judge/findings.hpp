// A student's findings about a crashed program, compared with the simulated device's report.
#pragma once

#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "course/rubric.hpp"
#include "judge/assess.hpp"

namespace grading {

constexpr std::array finding_fields = {"kernel", "block", "thread", "line", "allocation"};
/// The values in the order of finding_fields; "none" if there is nothing to name.
using place_of_fault = std::array<std::string, finding_fields.size()>;

/// The place named by the first report in the simulated device's summary; none if it has no report.
std::optional<place_of_fault> first_report(const std::string& account);

/// How many statements of `original` are not in `fixed`, or vice versa, whichever is more. Comments, spaces and line
/// breaks do not count; a statement of 48 tokens or more counts several times.
std::size_t changed_statements(const std::string& original, const std::string& fixed);

/// The student's name in a findings.toml; "" if blank. Throws input_error for invalid TOML or an invalid name.
std::string student_of_findings(const std::string& findings);

/// These findings, with empty fields filled in from each program's first report; the line stays empty, because the
/// student must find it. `programs` is the folder with the crashed programs. Throws input_error without a name.
std::string with_places(const std::string& findings, const rubric& rules, const std::filesystem::path& programs);

/// The causes that a findings.toml names, by program, as positions in the rubric's list.
std::map<std::string, double> causes_in(const std::string& findings, const rubric& rules);

/// The programs for which the student has named a cause, either locked or in these findings.
std::set<std::string> programs_with_cause(const rubric& rules, const grading_session& session);

/// "kv_scores.cause": the key under which a student's first cause is locked.
std::string cause_key(const std::string& program);

}  // namespace grading
