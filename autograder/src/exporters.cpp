// Gradescope: github.com/gradescope/autograder_samples, docs/specs.md. Classroom 50: foundation50/classroom50,
// classroom50/result/v1. JUnit: what ctest and CI servers read. Canvas: its gradebook import. nbgrader: its export CSV.
#include "exporters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "html.hpp"
#include "toml_file.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;
using files = std::map<std::string, std::string>;

/// Text that came from a submission: no control characters, so that no terminal obeys it.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 4096))
    if (static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t') out += c;
  // What is not UTF-8 becomes a replacement character, by way of JSON's writer.
  out = json::parse(json(out).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  // Nor U+0080 to U+009F, which terminals obey too, nor U+FFFE and U+FFFF, with which no XML is well-formed.
  static const std::regex unfit("\xC2[\x80-\x9F]|\xEF\xBF[\xBE\xBF]");
  return std::regex_replace(out, unfit, "");
}

/// A name that is a file name everywhere.
std::string file_name(const std::string& id) {
  std::string out;
  for (const char c : id)
    out += std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' ? c : '_';
  return out.starts_with(".") ? "_" + out : out;
}

double rounded(double points) { return std::round(100 * points) / 100; }
bool passed(const item_result& item) { return item.points >= item.max_points - 1e-6; }
std::string dumped(const json& document) { return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string said(const item_result& item) {
  return plain(name_of(item.verdict) + (item.message.empty() ? "" : "\n" + item.message));
}

std::string summary(const result& r) {
  std::string text = fmt::format("{} of {} points.", points_text(r.score()), points_text(r.out_of()));
  if (!r.official) text += " Unofficial.";
  if (r.official && !r.sandboxed) text += " Graded without a sandbox.";
  for (const std::string& note : r.notes) text += " " + note + ".";
  return plain(text);
}

files gradescope(const std::vector<result>& results) {
  files out;
  for (const result& r : results) {
    json tests = json::array();
    for (const item_result& item : r.items) {
      if (!is_assessed(item.verdict)) continue;
      tests.push_back({{"score", rounded(item.points)},
                       {"max_score", item.max_points},
                       {"status", passed(item) ? "passed" : "failed"},
                       {"name", item.title},
                       {"name_format", "text"},
                       {"output", said(item)},
                       {"output_format", "text"},
                       {"tags", {item.kind}},
                       {"visibility", "visible"}});
    }
    out[results.size() == 1 ? "results.json" : file_name(r.submission) + ".results.json"] =
        dumped({{"score", rounded(r.score())},
                {"execution_time", std::lround(r.seconds)},
                {"output", summary(r)},
                {"output_format", "text"},
                {"test_output_format", "text"},
                {"test_name_format", "text"},
                {"visibility", "visible"},
                {"stdout_visibility", "hidden"},
                {"tests", tests}});
  }
  return out;
}

files classroom50(const std::vector<result>& results) {
  files out;
  for (const result& r : results) {
    json tests = json::array();
    for (const item_result& item : r.items)
      if (is_assessed(item.verdict))
        tests.push_back({{"test-name", item.title},
                         {"passed", passed(item)},
                         {"score", std::lround(item.points)},
                         {"max-score", std::lround(item.max_points)},
                         {"message", said(item)}});
    out[results.size() == 1 ? "result.json" : file_name(r.submission) + ".result.json"] =
        dumped({{"schema", "classroom50/result/v1"},
                {"assignment", r.lab},
                {"assignment_type", "individual"},
                {"owner", r.submission},
                {"datetime", r.date},
                {"graded_at", r.date},
                {"score", std::lround(r.score())},
                {"max-score", std::lround(r.out_of())},
                {"tests", tests}});
  }
  return out;
}

/// XML 1.0 has no place for most control characters, not even escaped.
std::string xml(const std::string& text) { return escaped(plain(text)); }

files junit(const std::vector<result>& results) {
  std::string body;
  int tests = 0, failures = 0, errors = 0;
  for (const result& r : results) {
    std::string cases;
    int own = 0, failed = 0, broken = 0, skipped = 0;
    for (const item_result& item : r.items) {
      std::string inside;
      const bool unbuilt = item.verdict == verdict::build_error;
      if (!is_assessed(item.verdict)) {
        inside = fmt::format("<skipped message=\"{}\"/>", xml(item.message));
        ++skipped;
      } else if (!passed(item)) {  // a build that failed is an error, never a skip: nobody may count it as passed
        inside = fmt::format("<{0} type=\"{1}\" message=\"{2} of {3} points\">{4}</{0}>", unbuilt ? "error" : "failure",
                             name_of(item.verdict), points_text(item.points), points_text(item.max_points),
                             xml(item.message));
        ++(unbuilt ? broken : failed);
      }
      cases += fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"0\">{}</testcase>\n", xml(r.lab),
                           item.kind, xml(item.id), inside);
      ++own;
    }
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\" "
        "timestamp=\"{}\">\n{}  </testsuite>\n",
        xml(r.submission), own, failed, broken, skipped, r.seconds, xml(r.date.substr(0, 19)), cases);
    tests += own;
    failures += failed;
    errors += broken;
  }
  return {
      {"junit.xml", fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites tests=\"{}\" failures=\"{}\" "
                                "errors=\"{}\">\n{}</testsuites>\n",
                                tests, failures, errors, body)}};
}

files csv(const std::vector<result>& results) {
  std::string text = csv_line({"submission", "lab", "outcome", "score", "out_of", "sandboxed", "date", "item",
                               "verdict", "points", "max_points", "figure", "threshold", "message"});
  for (const result& r : results)
    for (const item_result& item : r.items)
      text += csv_line({r.submission, r.lab, r.outcome, points_text(r.score()), points_text(r.out_of()),
                        r.sandboxed ? "yes" : "no", r.date, item.id, name_of(item.verdict), points_text(item.points),
                        points_text(item.max_points), item.figure ? figure_text(*item.figure) : "",
                        item.threshold ? figure_text(*item.threshold) : "", plain(item.message)});
  return {{"grades.csv", text}};
}

files nbgrader(const std::vector<result>& results, const export_options& options) {
  std::string text = csv_line({"assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
                               "raw_score", "late_submission_penalty", "score", "max_score"});
  for (const result& r : results)
    text += csv_line({r.lab, "", r.date, r.submission, "", "", "", points_text(r.score()), "0", points_text(r.score()),
                      std::to_string(options.total)});
  return {{"nbgrader.csv", text}};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text.starts_with("\xEF\xBB\xBF") ? text.substr(3) : text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

/// Students are found by SIS Login ID, ID or SIS User ID; who has no result keeps an empty cell, which changes nothing.
files canvas(const std::vector<result>& results, const export_options& options) {
  if (options.canvas_gradebook.empty())
    throw input_error(
        "canvas needs the gradebook that Canvas exported, for its ids: --gradebook FILE --column \"Lab 3\"");
  const std::vector<std::string> lines = lines_of(options.canvas_gradebook);
  const std::vector<std::string> header = lines.empty() ? std::vector<std::string>{} : csv_fields(lines[0]);
  const auto column_of = [&](const std::string& name) {
    return static_cast<std::size_t>(std::find(header.begin(), header.end(), name) - header.begin());
  };
  if (header.size() < 2 || header[0] != "Student" || column_of("ID") == header.size())
    throw input_error("this is no gradebook from Canvas: its first line begins with Student,ID");
  std::size_t grade = header.size();
  for (std::size_t i = 0; i < header.size(); ++i)
    if (!options.canvas_column.empty() && header[i].starts_with(options.canvas_column)) {
      if (grade != header.size())
        throw input_error("several columns begin with '" + options.canvas_column + "'; write more of it");
      grade = i;
    }
  if (grade == header.size())
    throw input_error("no column of the gradebook begins with '" + options.canvas_column + "'");
  std::vector<std::size_t> kept;
  for (const char* name : {"Student", "ID", "SIS User ID", "SIS Login ID", "Section"})
    if (column_of(name) < header.size()) kept.push_back(column_of(name));
  std::string text, without;
  std::set<std::string> left;  // graded, and not in the gradebook yet
  for (const result& r : results) left.insert(r.submission);
  const auto row = [&](const std::vector<std::string>& fields, const std::string& value) {
    std::vector<std::string> out;
    out.reserve(kept.size() + 1);
    for (const std::size_t i : kept) out.push_back(i < fields.size() ? fields[i] : "");
    out.push_back(value);
    text += csv_line(out);
  };
  row(header, header[grade]);
  for (std::size_t n = 1; n < lines.size(); ++n) {
    const std::vector<std::string> fields = csv_fields(lines[n]);
    if (fields.empty() || fields[0] == "Student, Test") continue;
    if (fields[0].find("Points Possible") != std::string::npos) {
      row(fields, std::to_string(options.total));
      continue;
    }
    const auto theirs = std::find_if(results.begin(), results.end(), [&](const result& r) {
      return std::any_of(kept.begin() + 1, kept.end(), [&](std::size_t i) {
        return i < fields.size() && header[i] != "Section" && !fields[i].empty() && fields[i] == r.submission;
      });
    });
    if (theirs == results.end()) {
      without += (without.empty() ? "" : "; ") + plain(fields[0]);
      continue;
    }
    row(fields, points_text(theirs->score()));
    left.erase(theirs->submission);
  }
  if (!without.empty()) options.remark("in the gradebook, without a result: " + without);
  if (!left.empty())
    options.remark(
        fmt::format("graded, and not in the gradebook: {}", plain(fmt::format("{}", fmt::join(left, "; ")))));
  return {{"canvas.csv", text}};
}

}  // namespace

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> all = {"gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"};
  return all;
}

files exported(const std::string& format, const std::vector<result>& all, const export_options& options) {
  std::vector<result> results;
  for (const result& r : all)
    if (r.outcome != "infra_error") results.push_back(r);
  std::set<std::string> labs;
  double least = options.total;
  for (const result& r : results) {
    labs.insert(r.lab.substr(0, 2));
    least = std::min(least, r.out_of());
  }
  const bool names_the_lab = format == "junit" || format == "csv" || format == "nbgrader";
  if (labs.size() > 1 && !names_the_lab)
    throw input_error(fmt::format("these are results of labs {}; say which with --lab", fmt::join(labs, ", ")));
  if (least < options.total)
    options.remark(
        fmt::format("some items could not be assessed where this was graded: scores are of {} points, not {}",
                    points_text(least), options.total));
  if (format == "gradescope") return gradescope(results);
  if (format == "classroom50") return classroom50(results);
  if (format == "junit") return junit(results);
  if (format == "canvas") return canvas(results, options);
  if (format == "csv") return csv(results);
  if (format == "nbgrader") return nbgrader(results, options);
  throw input_error(fmt::format("no format '{}'; there are: {}", format, fmt::join(export_formats(), ", ")));
}

std::vector<std::string> csv_fields(const std::string& line) {
  std::vector<std::string> fields(1);
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (inside && line[i] == '"' && i + 1 < line.size() && line[i + 1] == '"')
      fields.back() += line[i++];
    else if (line[i] == '"')
      inside = !inside;
    else if (line[i] == ',' && !inside)
      fields.emplace_back();
    else
      fields.back() += line[i];
  }
  return fields;
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    std::string field = fields[i];
    if (!field.empty() && std::string("=+-@\t\r").find(field[0]) != std::string::npos) field.insert(0, "'");
    if (field.find_first_of(",\"\n\r") != std::string::npos) {
      std::string doubled;
      for (const char c : field) doubled += c == '"' ? "\"\"" : std::string(1, c);
      field = '"' + doubled + '"';
    }
    line += (i ? "," : "") + field;
  }
  return line + "\n";
}

}  // namespace grading
