// Pages are Mustache templates (report.html, class.html) over JSON, built into the program.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace grading {

/// Fills a template, such as "report.html", with values. escaped() escapes every {{value}}, but not {{{svg}}}, a
/// drawing by gnuplot. null, false, "" and [] hide a section; figure_text() writes fractions. Throws std::logic_error
/// if there is no such template or it is malformed.
std::string page(const std::string& name, const nlohmann::ordered_json& values);

}  // namespace grading
