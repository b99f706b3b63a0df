// Gradescope: github.com/gradescope/autograder_samples, docs/specs.md. Classroom 50: foundation50/classroom50,
// classroom50/result/v1. JUnit: read by ctest and CI servers. Canvas: its gradebook import. nbgrader: its export CSV.
#include "class/exporters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>

#include "support/files.hpp"
#include "support/names.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

using json = nlohmann::ordered_json;
using files = std::map<std::string, std::string>;

/// Text from a submission without control characters, which a terminal would obey.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, 4096))
    if (static_cast<unsigned char>(c) >= 32 || c == '\n' || c == '\t') out += c;
  // The JSON writer replaces invalid UTF-8.
  out = json::parse(json(out).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
  // Also removes U+0080 to U+009F, which terminals obey, too, and U+FFFE and U+FFFF, which XML forbids.
  static const std::regex unfit("\xC2[\x80-\x9F]|\xEF\xBF[\xBE\xBF]");
  return std::regex_replace(out, unfit, "");
}

double rounded(double points) { return std::round(100 * points) / 100; }
bool passed(const item_result& item) { return item.points >= item.max_points - 1e-6; }
std::string dumped(const json& document) { return document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"; }

std::string said(const item_result& item) {
  return plain(name_of(item.verdict) + (item.message.empty() ? "" : "\n" + item.message));
}

std::string summary(const result& r) {
  std::string text = score_text(r) + ".";
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
                       {"tags", {name_of(item.kind)}},
                       {"visibility", "visible"}});
    }
    out[results.size() == 1 ? "results.json" : file_name_of(r.submission) + ".results.json"] =
        dumped({{"score", rounded(r.score())},
                {"execution_time", std::lround(r.seconds)},
                {"output", summary(r)},
                {"output_format", "text"},
                {"test_output_format", "text"},
                {"test_name_format", "text"},
                {"visibility", "visible"},
                {"stdout_visibility", "hidden"},
                {"extra_data", {{"submission", r.submission}}},
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
    out[results.size() == 1 ? "result.json" : file_name_of(r.submission) + ".result.json"] =
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

/// XML 1.0 forbids most control characters, even escaped.
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
      } else if (!passed(item)) {  // a failed build is an error, never a skip, so that no tool counts it as passed
        inside = fmt::format("<{0} type=\"{1}\" message=\"{2} of {3} points\">{4}</{0}>", unbuilt ? "error" : "failure",
                             name_of(item.verdict), points_text(item.points), points_text(item.max_points),
                             xml(item.message));
        ++(unbuilt ? broken : failed);
      }
      cases += fmt::format("    <testcase classname=\"{}.{}\" name=\"{}\" time=\"0\">{}</testcase>\n", xml(r.lab),
                           name_of(item.kind), xml(item.id), inside);
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

std::string safe_csv_line(std::vector<std::string> fields) {
  for (std::string& field : fields) field = no_formula(field);
  return csv_line(fields);
}

files csv(const std::vector<result>& results) {
  std::string text = csv_line({"submission", "lab", "outcome", "score", "out_of", "sandboxed", "date", "item",
                               "verdict", "points", "max_points", "figure", "threshold", "message"});
  for (const result& r : results)
    for (const item_result& item : r.items)
      text +=
          safe_csv_line({r.submission, r.lab, name_of(r.outcome), points_text(r.score()), points_text(r.out_of()),
                         r.sandboxed ? "yes" : "no", r.date, item.id, name_of(item.verdict), points_text(item.points),
                         points_text(item.max_points), item.figure ? fmt::format("{}", *item.figure) : "",
                         item.threshold ? fmt::format("{}", *item.threshold) : "", plain(item.message)});
  return {{"grades.csv", text}};
}

files nbgrader(const std::vector<result>& results) {
  std::string text = csv_line({"assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email",
                               "raw_score", "late_submission_penalty", "score", "max_score"});
  for (const result& r : results)
    text += safe_csv_line({r.lab, "", r.date, r.submission, "", "", "", points_text(r.score()), "0",
                           points_text(r.score()), points_text(r.out_of())});
  return {{"nbgrader.csv", text}};
}

/// A gradebook as Canvas exports it: one row per student.
class gradebook {
 public:
  explicit gradebook(const std::string& text) : rows_(csv_rows(text)) {
    if (!rows_.empty()) header_ = rows_[0].fields;
    if (header_.size() < 2 || header_[0] != "Student" || !column_named("ID"))
      throw input_error("this is not a Canvas gradebook, whose first line begins with Student,ID");
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      const std::string name = cell(rows_[i], 0);
      if (name.find("Points Possible") != std::string::npos && cell(rows_[i], *column_named("ID")).empty())
        points_possible_ = &rows_[i];
      else if (name != "Student, Test" && !cell(rows_[i], *column_named("ID")).empty())
        students_.push_back(&rows_[i]);
    }
  }

  const std::vector<std::string>& header() const { return header_; }
  const std::vector<const csv_row*>& students() const { return students_; }
  const csv_row* points_possible() const { return points_possible_; }
  static std::string cell(const csv_row& row, std::size_t column) {
    return column < row.fields.size() ? row.fields[column] : "";
  }
  static std::string who(const csv_row& row) { return fmt::format("{} (line {})", plain(cell(row, 0)), row.line); }

  std::optional<std::size_t> column_named(const std::string& name) const {
    const auto found = std::find(header_.begin(), header_.end(), name);
    return found == header_.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - header_.begin()));
  }

  /// The assignment's column, found by its prefix.
  std::size_t assignment(const std::string& beginning) const {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (!beginning.empty() && header_[i].starts_with(beginning)) {
        if (found) throw input_error("several columns begin with '" + beginning + "'; give more of the name");
        found = i;
      }
    if (!found) throw input_error("no column in the gradebook begins with '" + beginning + "'");
    return *found;
  }

  /// The rows of the submissions whose ids are in that column.
  std::map<std::string, const csv_row*> matched_by(const std::string& column, const std::set<std::string>& ids) const {
    std::map<std::string, const csv_row*> match;
    for (const csv_row* row : students_) {
      const std::string id = cell(*row, *column_named(column));
      if (id.empty() || !ids.contains(id)) continue;
      if (const auto [known, fresh] = match.try_emplace(id, row); !fresh)
        throw input_error(fmt::format("the gradebook lists '{}' twice as {}: {} and {}; remove one of the rows", id,
                                      column, who(*known->second), who(*row)));
    }
    return match;
  }

  /// Uses one column for all students: the same number in different columns may mean two people.
  std::map<std::string, const csv_row*> matched(const std::string& asked, const std::set<std::string>& ids) const {
    std::vector<std::string> columns;
    for (const char* name : {"SIS Login ID", "SIS User ID", "ID", "Integration ID"})
      if (column_named(name)) columns.emplace_back(name);
    if (!asked.empty()) {
      if (std::find(columns.begin(), columns.end(), asked) == columns.end())
        throw input_error(fmt::format("--key '{}' is not a column that identifies students; use one of: {}", asked,
                                      fmt::join(columns, ", ")));
      return matched_by(asked, ids);
    }
    using matches = std::map<std::string, const csv_row*>;
    std::vector<std::pair<std::string, matches>> all;
    for (const std::string& column : columns) all.emplace_back(column, matched_by(column, ids));
    const auto& [best, most] = *std::max_element(
        all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    for (const auto& [column, match] : all) {
      for (const auto& [id, row] : match)
        if (const auto other = most.find(id); other != most.end() && other->second != row)
          throw input_error(
              fmt::format("submission '{}' is ambiguous: it is the {} of {} and the {} of {}. Say which column your "
                          "submissions are named after: --key \"{}\"",
                          id, best, who(*other->second), column, who(*row), best));
      if (match.size() == most.size() && match != most)
        throw input_error(
            fmt::format("columns {} and {} match equally many submissions, but different ones. Say which column your "
                        "submissions are named after: --key \"{}\"",
                        best, column, best));
    }
    return most;
  }

 private:
  std::vector<csv_row> rows_;
  std::vector<std::string> header_;
  std::vector<const csv_row*> students_;
  const csv_row* points_possible_ = nullptr;
};

/// A student without a result keeps an empty cell, which leaves the grade unchanged.
files canvas(const std::vector<result>& results, const export_options& options) {
  if (options.canvas_gradebook.empty())
    throw input_error(
        "canvas needs the gradebook that Canvas exported, for its ids: --gradebook FILE --column \"Lab 3\"");
  const gradebook book(options.canvas_gradebook);
  const std::size_t grade = book.assignment(options.canvas_column);
  std::map<std::string, const result*> by_id;
  std::set<std::string> left;  // graded but not in the gradebook yet
  for (const result& r : results) {
    by_id[r.submission] = &r;
    left.insert(r.submission);
  }
  const std::string of = results.empty() ? "" : points_text(results.front().out_of());
  if (book.points_possible()) {
    const std::string there = gradebook::cell(*book.points_possible(), grade);
    char* end = nullptr;
    const double points = std::strtod(there.c_str(), &end);
    if (!of.empty() && end != there.c_str() && points_text(points) != of)
      throw input_error(
          fmt::format("column '{}' is out of {} points in Canvas, but these results are out of {}. Set the "
                      "assignment's points in Canvas to {} and export the gradebook again",
                      book.header()[grade], points_text(points), of, of));
  }
  std::map<const csv_row*, const result*> theirs;
  for (const auto& [id, row] : book.matched(options.canvas_key, left)) {
    theirs[row] = by_id[id];
    left.erase(id);
  }
  std::string text, without;
  const auto row = [&](const csv_row& from, const std::string& value) {
    std::vector<std::string> out;
    for (const char* name : {"Student", "ID", "SIS User ID", "SIS Login ID", "Section"})
      if (const auto column = book.column_named(name)) {
        const std::string cell = gradebook::cell(from, *column);
        // Canvas finds people by their ids, so keep those unchanged.
        out.push_back(std::string_view(name).ends_with("ID") ? cell : no_formula(cell));
      }
    out.push_back(value);
    text += csv_line(out);
  };
  row({1, book.header()}, book.header()[grade]);
  if (book.points_possible()) row(*book.points_possible(), of);
  for (const csv_row* student : book.students()) {
    const auto found = theirs.find(student);
    row(*student, found == theirs.end() ? "" : points_text(found->second->score()));
    if (found == theirs.end()) add_to_list(without, "; ", plain(gradebook::cell(*student, 0)));
  }
  if (!without.empty()) options.remark("in the gradebook but without a result: " + without);
  if (!left.empty()) options.remark(fmt::format("graded but not in the gradebook: {}", fmt::join(left, "; ")));
  return {{"canvas.csv", text}};
}

/// Throws if totals differ: some formats have a single field for the total, so they cannot hold a mixed class.
void expect_one_total(const std::string& format, const std::vector<result>& results, const export_options& options) {
  struct total {
    std::vector<std::string> ids;
    std::set<std::string> not_assessed;
  };
  std::map<std::string, std::map<std::string, total>> labs;
  for (const result& r : results) {
    total& t = labs[r.lab][points_text(r.out_of())];
    t.ids.push_back(r.submission);
    for (const item_result& item : r.items)
      if (!is_assessed(item.verdict)) t.not_assessed.insert(item.id);
  }
  for (const auto& [lab, totals] : labs) {
    std::string text;
    for (const auto& [points, t] : totals) {
      constexpr std::size_t most = 5;
      const std::vector<std::string> some(t.ids.begin(), t.ids.begin() + std::ptrdiff_t(std::min(most, t.ids.size())));
      add_to_list(text, "; ", fmt::format("{} out of {}", t.ids.size(), points));
      if (totals.size() > 1) text += fmt::format(" ({}{})", fmt::join(some, ", "), t.ids.size() > most ? ", ..." : "");
      if (!t.not_assessed.empty()) text += fmt::format(", without {}", fmt::join(t.not_assessed, ", "));
    }
    if (totals.size() > 1 && (format == "canvas" || format == "gradescope" || format == "nbgrader"))
      throw input_error(
          fmt::format("lab {}: results have different totals, but {} needs one total for all: {}. Some machines could "
                      "not assess every item. Grade the class again on machines of one kind, into a new grade book",
                      lab.substr(0, 2), format, text));
    if (totals.size() > 1 || !totals.begin()->second.not_assessed.empty())
      options.remark(fmt::format("lab {}: the machines that graded this could not assess every item; results: {}",
                                 lab.substr(0, 2), text));
  }
}

}  // namespace

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> all = {"gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"};
  return all;
}

files exported(const std::string& format, const std::vector<result>& all, const export_options& options) {
  std::vector<result> results;
  std::set<std::string> failed, labs;
  for (const result& r : all) {
    if (r.outcome == outcome::infra_error) {
      failed.insert(r.submission);
      continue;
    }
    results.push_back(r);
    labs.insert(r.lab.substr(0, 2));
  }
  const bool names_the_lab = format == "junit" || format == "csv" || format == "nbgrader";
  if (labs.size() > 1 && !names_the_lab)
    throw input_error(fmt::format("these results cover labs {}; choose one with --lab", fmt::join(labs, ", ")));
  if (!failed.empty())
    options.remark(
        fmt::format("no grade yet because the machine failed: {}; grade them again", fmt::join(failed, ", ")));
  expect_one_total(format, results, options);
  std::string between;
  for (const result& r : results)
    if (r.most_score() > r.score()) add_to_list(between, "; ", plain(r.submission) + ": " + score_text(r));
  if (!between.empty())
    options.remark("inconclusive items are exported with the fewest points they can earn; review them: " + between);
  if (format == "gradescope") return gradescope(results);
  if (format == "classroom50") return classroom50(results);
  if (format == "junit") return junit(results);
  if (format == "canvas") return canvas(results, options);
  if (format == "csv") return csv(results);
  if (format == "nbgrader") return nbgrader(results);
  throw input_error(fmt::format("no format '{}'; use one of: {}", format, fmt::join(export_formats(), ", ")));
}

std::vector<csv_row> csv_rows(const std::string& text) {
  std::vector<csv_row> rows;
  bool inside = false, fresh = true;
  std::size_t line = 1;
  for (std::size_t i = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; i < text.size(); ++i) {
    const char c = text[i];
    if (fresh) rows.push_back({line, {""}});
    fresh = false;
    std::vector<std::string>& fields = rows.back().fields;
    line += c == '\n';
    if (inside && c == '"' && text.substr(i + 1, 1) == "\"")
      fields.back() += text[i++];
    else if (c == '"' && (inside || fields.back().empty()))
      inside = !inside;
    else if (inside)
      fields.back() += c;
    else if (c == ',')
      fields.emplace_back();
    else if (c == '\n')
      fresh = true;
    else if (c != '\r' || text.substr(i + 1, 1) != "\n")
      fields.back() += c;
  }
  return rows;
}

std::string csv_line(std::vector<std::string> fields) {
  for (std::string& field : fields)
    if (field.find_first_of(",\"\n\r") != std::string::npos) field = '"' + replaced(field, "\"", "\"\"") + '"';
  return fmt::format("{}\n", fmt::join(fields, ","));
}

std::string no_formula(const std::string& field) {
  const std::size_t first = field.find_first_not_of('\'');
  const bool formula =
      first != std::string::npos && std::string_view("=+-@\t\r").find(field[first]) != std::string::npos;
  return formula ? "'" + field : field;
}

}  // namespace grading
