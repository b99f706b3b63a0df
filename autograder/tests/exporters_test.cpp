// Every format against a golden file: autograder/tests/goldens. LAB_WRITE_GOLDENS=1 rewrites them.
#include "class/exporters.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>

#include "class/batch.hpp"
#include "class/class_report.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace {

using namespace grading;

item_result item(const char* id, verdict v, double points, double most, const char* message) {
  item_result i;
  i.id = id;
  i.title = std::string("does ") + id;
  i.kind = item_kind::correctness;
  i.verdict = v;
  i.points = points;
  i.max_points = most;
  i.message = message;
  return i;
}

/// Three students: one with every field, one who tries injection, one whose machine failed.
std::vector<result> class_of_three() {
  std::vector<result> all(3);
  for (result& r : all) {
    r.lab = "03_coalescing";
    r.lab_title = "Coalescing";
    r.lab_version = "fnv1a:1";
    r.date = "2026-11-21T06:00:00Z";
    r.outcome = outcome::graded;
    r.official = r.sandboxed = true;
    r.seconds = 7.4;
  }
  all[0].submission = "ann";
  all[0].items = {item("tiled", verdict::pass, 60, 60, ""), item("fast", verdict::too_slow, 12.345, 25, "0.6 of copy"),
                  item("gpu", verdict::not_assessed, 0, 15, "no GPU on this machine")};
  all[1].submission = "=HYPERLINK(\"x\")";
  all[1].items = {item("tiled", verdict::build_error, 0, 60,
                       "a.cu:1: error: <script>alert(1)</script> ]]>&\033[2J \"quoted\", \x01 \xFF"),
                  item("fast", verdict::crash, 0, 25, "+1+1\nsecond line")};
  all[1].sandboxed = false;
  all[2].submission = "cat";
  all[2].outcome = outcome::infra_error;
  all[2].items = {item("tiled", verdict::inconclusive, 0, 60, "noisy")};
  return all;
}

export_options canvas_options() {
  export_options options;
  options.canvas_gradebook =
      "\xEF\xBB\xBFStudent,ID,SIS User ID,SIS Login ID,Section,Lab 2 (11),Lab 3 (12345),Final\r\n"
      "    Points Possible,,,,,100,85.00,(read only)\r\n"
      "\"Archer, Ann\",1,u1,ann,A,90,,1\r\n"
      "\"Doe, Dan\",4,u4,dan,A,90,,1\r\n"
      "\"Student, Test\",9,,,A,,,\r\n";
  options.canvas_column = "Lab 3";
  return options;
}

struct Export : testing::TestWithParam<const char*> {};

TEST_P(Export, IsTheGoldenFile) {
  for (const auto& [name, text] : exported(GetParam(), class_of_three(), canvas_options())) {
    const std::filesystem::path golden = std::filesystem::path(GOLDENS) / (std::string(GetParam()) + "-" + name);
    if (std::getenv("LAB_WRITE_GOLDENS")) replace_file(golden, text);
    EXPECT_EQ(text, text_of(golden)) << golden;
  }
}
INSTANTIATE_TEST_SUITE_P(All, Export,
                         testing::Values("gradescope", "classroom50", "junit", "canvas", "csv", "nbgrader"));

TEST(Exporters, OneLabAtATimeWhereAFormatHasAPlaceForOne) {
  std::vector<result> two = class_of_three();
  two[1].lab = "04_fusion";
  for (const char* format : {"gradescope", "classroom50", "canvas"})
    EXPECT_THROW(exported(format, two, canvas_options()), input_error) << format;
  for (const char* format : {"junit", "csv", "nbgrader"}) EXPECT_NO_THROW(exported(format, two)) << format;
}

TEST(Exporters, SaysWhoIsMissingAndWhatCouldNotBeAssessed) {
  export_options options = canvas_options();
  std::string said;
  options.remark = [&said](const std::string& what) { said += what + "\n"; };
  exported("canvas", class_of_three(), options);
  EXPECT_EQ(said,
            "no grade yet because the machine failed: cat; grade them again\n"
            "lab 03: the machines that graded this could not assess every item; results: 2 out of 85, without gpu\n"
            "in the gradebook but without a result: Doe, Dan\n"
            "graded but not in the gradebook: =HYPERLINK(\"x\")\n");
}

TEST(Exporters, AFailingMachineIsNoGrade) {
  for (const std::string& format : export_formats())
    for (const auto& [name, text] : exported(format, class_of_three(), canvas_options()))
      EXPECT_EQ(text.find("cat"), std::string::npos) << name;
}

TEST(Exporters, OneResultHasThePlatformsFileName) {
  EXPECT_TRUE(exported("gradescope", {class_of_three()[0]}).contains("results.json"));
  EXPECT_TRUE(exported("classroom50", {class_of_three()[0]}).contains("result.json"));
}

TEST(Exporters, GradescopeGetsOnlyFieldsThatItKnows) {  // docs/specs.md
  const std::set<std::string> top = {
      "score",      "execution_time",    "output",     "output_format", "test_output_format", "test_name_format",
      "visibility", "stdout_visibility", "extra_data", "tests",         "leaderboard"};
  const std::set<std::string> of_test = {"score",  "max_score",     "status", "name",       "name_format", "number",
                                         "output", "output_format", "tags",   "visibility", "extra_data"};
  for (const auto& [name, text] : exported("gradescope", class_of_three())) {
    const auto document = nlohmann::json::parse(text);
    double sum = 0;
    for (const auto& [key, value] : document.items()) EXPECT_TRUE(top.contains(key)) << key;
    for (const auto& test : document["tests"]) {
      for (const auto& [key, value] : test.items()) EXPECT_TRUE(of_test.contains(key)) << key;
      EXPECT_TRUE(test["status"] == "passed" || test["status"] == "failed");
      EXPECT_EQ(test["output_format"], "text");
      sum += test["score"].get<double>();
    }
    EXPECT_NEAR(document["score"].get<double>(), sum, 0.02);
    EXPECT_EQ(text.find('\033'), std::string::npos);
  }
}

std::string error_of(const std::string& format, const std::vector<result>& results, const export_options& options) {
  try {
    exported(format, results, options);
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

TEST(Exporters, PointsAreOutOfTheSameInEveryFormatOrNotExported) {
  std::vector<result> mixed = class_of_three();  // bob's machine had a GPU
  mixed[2].outcome = outcome::graded;
  mixed[2].submission = "bob";
  mixed[2].items = {item("tiled", verdict::pass, 60, 60, ""), item("fast", verdict::pass, 25, 25, ""),
                    item("gpu", verdict::pass, 15, 15, "")};
  for (const char* format : {"canvas", "gradescope", "nbgrader"})
    EXPECT_EQ(
        error_of(format, mixed, canvas_options()),
        fmt::format("lab 03: results have different totals, but {} needs one total for all: 1 out of 100 (bob); "
                    "2 out of 85 (ann, =HYPERLINK(\"x\")), without gpu. Some machines could not assess every item. "
                    "Grade the class again on machines of one kind, into a new grade book",
                    format));
  for (const char* format : {"csv", "junit", "classroom50"}) EXPECT_EQ(error_of(format, mixed, {}), "") << format;
  mixed.pop_back();
  EXPECT_NE(exported("nbgrader", mixed).at("nbgrader.csv").find(",72.34,0,72.34,85\n"), std::string::npos);
  EXPECT_NE(exported("csv", mixed).at("grades.csv").find(",72.34,85,"), std::string::npos);
  EXPECT_NE(exported("canvas", mixed, canvas_options()).at("canvas.csv").find("    Points Possible,,,,,85\n"),
            std::string::npos);
  EXPECT_NE(exported("classroom50", {mixed[0]}).at("result.json").find("\"max-score\": 85,"), std::string::npos);
  export_options other = canvas_options();
  other.canvas_gradebook.replace(other.canvas_gradebook.find("85.00"), 5, "100");
  EXPECT_EQ(error_of("canvas", mixed, other),
            "column 'Lab 3 (12345)' is out of 100 points in Canvas, but these results are out of 85. Set the "
            "assignment's points in Canvas to 85 and export the gradebook again");
}

/// Ann has the Canvas ID that is Bob's SIS ID; Cid's login is Dan's SIS ID.
export_options tangled(const std::string& key = "") {
  export_options options;
  options.canvas_gradebook =
      "Student,ID,SIS User ID,SIS Login ID,Section,Lab 3 (1)\n"
      "Ann,1001,77,ann,A,\n"
      "Bob,1002,1001,bob,A,\n"
      "Cid,1003,78,dan,A,\n"
      "\"Dan,\nthe second\",1004,dan,79,A,\n";
  options.canvas_column = "Lab 3";
  options.canvas_key = key;
  return options;
}

std::vector<result> submissions_of(const std::vector<std::string>& ids) {
  std::vector<result> results(ids.size(), class_of_three()[0]);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    results[i].submission = ids[i];
    results[i].items = {item("x", verdict::pass, static_cast<double>(i + 1), 100, "")};
  }
  return results;
}

/// Each student's points: "Ann 1 Bob 2".
std::string given(const std::vector<std::string>& ids, const export_options& options) {
  std::string text;
  const std::vector<csv_row> rows = csv_rows(exported("canvas", submissions_of(ids), options).at("canvas.csv"));
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (!rows[i].fields.back().empty())
      text += (text.empty() ? "" : " ") + rows[i].fields[0].substr(0, 3) + " " + rows[i].fields.back();
  return text;
}

TEST(Canvas, GradesStayWithTheirStudents) {
  EXPECT_EQ(given({"ann", "bob"}, tangled()), "Ann 1 Bob 2");
  EXPECT_EQ(given({"1002", "1003"}, tangled()), "Bob 1 Cid 2");
  EXPECT_EQ(error_of("canvas", submissions_of({"1001"}), tangled()),
            "submission '1001' is ambiguous: it is the SIS User ID of Bob (line 3) and the ID of Ann (line 2). Say "
            "which column your submissions are named after: --key \"SIS User ID\"");
  EXPECT_EQ(
      error_of("canvas", submissions_of({"ann", "bob", "dan"}), tangled()),
      "submission 'dan' is ambiguous: it is the SIS Login ID of Cid (line 4) and the SIS User ID of Dan,\nthe second "
      "(line 5). Say which column your submissions are named after: --key \"SIS Login ID\"");
  EXPECT_EQ(given({"1001"}, tangled("ID")), "Ann 1");
  EXPECT_EQ(given({"1001"}, tangled("SIS User ID")), "Bob 1");
  EXPECT_EQ(given({"ann", "bob", "dan"}, tangled("SIS Login ID")), "Ann 1 Bob 2 Cid 3");
  // All submissions use one column: a number that matches no login is reported, not searched for in other columns.
  export_options options = tangled();
  std::string said;
  options.remark = [&said](const std::string& what) { said += what + "\n"; };
  EXPECT_EQ(given({"ann", "bob", "1004"}, options), "Ann 1 Bob 2");
  EXPECT_NE(said.find("graded but not in the gradebook: 1004\n"), std::string::npos) << said;
  EXPECT_EQ(error_of("canvas", submissions_of({"ann", "1004"}), tangled()),
            "columns SIS Login ID and ID match equally many submissions, but different ones. Say which column your "
            "submissions are named after: --key "
            "\"SIS Login ID\"");
  EXPECT_EQ(error_of("canvas", submissions_of({"ann"}), tangled("Section")),
            "--key 'Section' is not a column that identifies students; use one of: SIS Login ID, SIS User ID, ID");
  options.canvas_gradebook += "Eve,1005,80,ann,A,\n";
  EXPECT_EQ(error_of("canvas", submissions_of({"ann"}), options),
            "the gradebook lists 'ann' twice as SIS Login ID: Ann (line 2) and Eve (line 7); remove one of the rows");
}

TEST(Canvas, IdsStayAsTheyAre) {
  export_options options = tangled();
  options.canvas_gradebook = "Student,ID,SIS Login ID,Section,Lab 3\n=1+1,7,+ann,A,\n";
  EXPECT_EQ(exported("canvas", submissions_of({"+ann"}), options).at("canvas.csv"),
            "Student,ID,SIS Login ID,Section,Lab 3\n'=1+1,7,+ann,A,1\n");
}

TEST(Exporters, CsvSurvivesARoundTrip) {
  std::mt19937 engine(1);
  const std::string alphabet = "ab,\"\"\n\r' =\xC3\xA9\xFF";
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::vector<std::string>> rows(1 + engine() % 4);
    std::string text;
    for (auto& fields : rows) {
      fields.resize(1 + engine() % 5);
      for (std::string& field : fields)
        for (std::size_t n = engine() % 7; n > 0; --n) field += alphabet[engine() % alphabet.size()];
      text += csv_line(fields);
    }
    if (text.starts_with("\xEF\xBB\xBF")) continue;
    const std::vector<csv_row> back = csv_rows(text);
    ASSERT_EQ(back.size(), rows.size()) << text;
    for (std::size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(back[i].fields, rows[i]) << text;
  }
  EXPECT_EQ(csv_rows("\xEF\xBB\xBF"
                     "a\r\n\"b\nc\"\r\nd")
                .at(2)
                .line,
            4u);
}

TEST(Exporters, NoFieldIsAFormulaAndDifferentOnesStayDifferent) {
  for (const char* formula : {"=1", "@x", "-2", "+3", "\t=1"})
    EXPECT_EQ(no_formula(formula), std::string("'") + formula);
  for (const char* text : {"a=1", "", "'", "'t Hooft"}) EXPECT_EQ(no_formula(text), text);
  EXPECT_NE(no_formula("'=1"), no_formula("=1"));
}

/// Whatever was changed in a gradebook, either there is an error or points appear only where they belong.
TEST(Canvas, RandomGradebooksAreReadOrRefusedButNeverCrash) {
  std::mt19937 engine(1);
  const std::string alphabet = ",\"\n\r'=0129 Iabdn\xFF" + std::string(1, '\0');
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  const std::vector<std::string> ids = {"ann", "bob", "1003"};
  const std::vector<result> graded = submissions_of(ids);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    export_options options = tangled();
    std::string& text = options.canvas_gradebook;
    for (std::size_t edits = 1 + below(5); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(20));
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(below(text.size()), 1 + below(40))); break;
        default: text.insert(at, 1, alphabet[below(alphabet.size())]);
      }
    }
    try {
      const std::vector<csv_row> rows = csv_rows(exported("canvas", graded, options).at("canvas.csv"));
      for (std::size_t i = 1; i < rows.size(); ++i) {
        const std::string points = rows[i].fields.back();
        if (points.empty() || rows[i].fields[0].find("Points Possible") != std::string::npos) continue;
        const std::string& id = ids.at(static_cast<std::size_t>(std::stoi(points)) - 1);
        EXPECT_NE(std::find(rows[i].fields.begin(), rows[i].fields.end(), id), rows[i].fields.end()) << text;
      }
    } catch (const input_error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_LT(refused, 2700);
}

/// 300 people with the worst possible names, from their folders through the grade book into each format.
TEST(Exporters, ListEveryStudent) {
  namespace fs = std::filesystem;
  const fs::path place = fs::temp_directory_path() / ("exports_" + std::to_string(getpid()));
  fs::remove_all(place);
  std::vector<std::string> names = {"a b",
                                    "a_b",
                                    "A b",
                                    "A_B",
                                    "a\\b",
                                    "a...",
                                    "\xE9",
                                    "\xE8",
                                    "\\xE9",
                                    "-rf",
                                    "'=1",
                                    "=1",
                                    "a,b",
                                    "a\"b",
                                    "a\nb",
                                    "ab",
                                    "a\tb",
                                    " a",
                                    "a ",
                                    "a;b",
                                    "<b>a",
                                    "&amp;",
                                    "CON",
                                    "con.txt",
                                    "%s{}",
                                    "\x1B",
                                    "$(a)",
                                    "\xC2\x9B",
                                    "a\xEF\xBF\xBE",
                                    "\xEF\xBB\xBF"
                                    "a",
                                    "~",
                                    "#",
                                    "e\xCC\x81",
                                    "\xC3\xA9",
                                    "\xE2\x80\xAE"
                                    "a",
                                    "x.zip.y",
                                    "Student, Test",
                                    "null"};
  for (int i = 0; i < 60; ++i) {
    names.push_back("\xE5\xBC\xA0" + std::string(1, '\xE4') + static_cast<char>(0xB8 + i / 64) +
                    static_cast<char>(0x80 + i));
    names.push_back(std::string(240, 'x') + std::to_string(i));
    names.push_back("s" + std::to_string(i) + (i % 2 ? "\xFF" : "\xFE"));
  }
  for (int i = 0; names.size() < 300; ++i) names.push_back((i % 2 ? "Case" : "cASE") + std::to_string(i / 2));
  for (const std::string& name : names) replace_file(place / "class" / name / "a.cpp", "x");

  const std::vector<batch_job> jobs = submissions_at({place / "class"}, {"a.cpp"}).jobs;
  ASSERT_EQ(jobs.size(), 300u);
  std::string gradebook = "Student,ID,SIS User ID,SIS Login ID,Section,Lab 3\n";
  {
    grade_book book(place / "g.sqlite");
    const fs::path spool = spool_of(place / "g.sqlite", "");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      result r = submissions_of({jobs[i].id})[0];
      r.path = jobs[i].from.string();
      r.items[0].points = static_cast<double>(i + 1) / 4;
      replace_file(spool / fmt::format("{}.json", i), to_json(r));
      gradebook += csv_line({"Person " + std::to_string(i), std::to_string(i), "", jobs[i].id, "A", ""});
    }
    EXPECT_EQ(collect(book, spool, ""), 300);
  }
  const std::vector<result> results = grade_book(place / "g.sqlite").that_count();
  std::map<std::string, std::string> points;  // expected
  for (std::size_t i = 0; i < jobs.size(); ++i) points[jobs[i].id] = points_text(static_cast<double>(i + 1) / 4);
  ASSERT_EQ(points.size(), 300u);
  EXPECT_EQ(results.size(), 300u);

  const auto of_csv = [&](const std::string& text, std::size_t id, std::size_t score, bool verbatim = false) {
    std::map<std::string, std::string> got;
    for (const csv_row& row : csv_rows(text))
      if (row.line > 1) {
        const std::string& cell = row.fields.at(id);
        const bool guarded = !verbatim && cell.starts_with("'") && no_formula(cell.substr(1)) == cell;
        EXPECT_TRUE(got.emplace(cell.substr(guarded ? 1 : 0), row.fields.at(score)).second) << cell;
      }
    return got;
  };
  EXPECT_EQ(of_csv(exported("csv", results).at("grades.csv"), 0, 3), points);
  EXPECT_EQ(of_csv(exported("nbgrader", results).at("nbgrader.csv"), 3, 9), points);
  export_options options;
  options.canvas_gradebook = gradebook;
  options.canvas_column = "Lab 3";
  EXPECT_EQ(of_csv(exported("canvas", results, options).at("canvas.csv"), 3, 5, true), points);
  for (const char* format : {"gradescope", "classroom50"}) {
    std::map<std::string, std::string> got;
    std::set<std::string> files;
    for (const auto& [name, text] : exported(format, results)) {
      std::string lower = name;
      std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
      EXPECT_TRUE(files.insert(lower).second) << name;
      const auto document = nlohmann::json::parse(text);
      const bool scope = std::string(format) == "gradescope";
      got[(scope ? document["extra_data"]["submission"] : document["owner"]).get<std::string>()] =
          scope ? points_text(document["score"].get<double>()) : "";
    }
    EXPECT_EQ(got.size(), 300u) << format;
    if (std::string(format) == "gradescope") {
      EXPECT_EQ(got, points);
    }
  }
  std::set<std::string> suites, pages;
  const std::string junit = exported("junit", results).at("junit.xml");
  for (std::size_t at = 0; (at = junit.find("<testsuite name=\"", at)) != std::string::npos;) {
    at += 17;
    suites.insert(junit.substr(at, junit.find('"', at) - at));
  }
  EXPECT_EQ(suites.size(), 300u);
  write_class_report(results, place, place / "report");
  for (const fs::directory_entry& page : fs::directory_iterator(place / "report")) pages.insert(page.path().filename());
  EXPECT_EQ(pages.size(), 301u);
  const std::string index = text_of(place / "report" / "index.html");
  for (const result& r : results) EXPECT_NE(index.find(page_of(r)), std::string::npos);
  fs::remove_all(place);
}

TEST(Exporters, NoTextBreaksAFormat) {  // no 8-bit escape, and nothing that makes XML malformed
  std::vector<result> all = class_of_three();
  all[1].items[0].message =
      "a\xC2\x9B"
      "2J b\xEF\xBF\xBF c\xEF\xBF\xBE d\xC3\xA9";
  const std::string text = exported("junit", all, {}).at("junit.xml");
  EXPECT_NE(text.find("a2J b c d\xC3\xA9"), std::string::npos) << text;
}

TEST(Exporters, SayWhatIsMissing) {
  EXPECT_THROW(exported("excel", {}), input_error);
  EXPECT_THROW(exported("canvas", {}), input_error);
  export_options options = canvas_options();
  options.canvas_column = "Lab";
  EXPECT_THROW(exported("canvas", {}, options), input_error) << "two columns";
  options.canvas_gradebook = "Name,Grade\n";
  EXPECT_THROW(exported("canvas", {}, options), input_error);
}

TEST(Exports, SaysWhichGradesAreTheLeastThatTheyCanBe) {
  std::vector<result> all = class_of_three();
  item_result& fast = all[0].items[1];
  fast.verdict = verdict::inconclusive;
  fast.points = 4;
  fast.most_points = 10.5;
  export_options options;
  std::string said;
  options.remark = [&](const std::string& what) { said += what + "\n"; };
  const std::string grades = exported("csv", all, options).begin()->second;
  EXPECT_NE(grades.find("INCONCLUSIVE,4,25"), std::string::npos) << grades;
  EXPECT_NE(said.find("ann: between 64 and 70.5 of 85 points"), std::string::npos) << said;
}

}  // namespace
