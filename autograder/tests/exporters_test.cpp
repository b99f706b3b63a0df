// Every format against a golden file: autograder/tests/goldens. LAB_WRITE_GOLDENS=1 writes them anew.
#include "exporters.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "toml_file.hpp"

namespace {

using namespace grading;

item_result item(const char* id, verdict v, double points, double most, const char* message) {
  item_result i;
  i.id = id;
  i.title = std::string("does ") + id;
  i.kind = "correctness";
  i.verdict = v;
  i.points = points;
  i.max_points = most;
  i.message = message;
  return i;
}

/// Three students: one with everything, one who tries to inject, one whose machine failed.
std::vector<result> class_of_three() {
  std::vector<result> all(3);
  for (result& r : all) {
    r.lab = "03_coalescing";
    r.lab_title = "Coalescing";
    r.lab_version = "fnv1a:1";
    r.date = "2026-11-21T06:00:00Z";
    r.outcome = "graded";
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
  all[2].outcome = "infra_error";
  all[2].items = {item("tiled", verdict::inconclusive, 0, 60, "noisy")};
  return all;
}

export_options canvas_options() {
  export_options options;
  options.canvas_gradebook =
      "\xEF\xBB\xBFStudent,ID,SIS User ID,SIS Login ID,Section,Lab 2 (11),Lab 3 (12345),Final\r\n"
      "    Points Possible,,,,,100,100,\r\n"
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
            "some items could not be assessed where this was graded: scores are of 85 points, not 100\n"
            "in the gradebook, without a result: Doe, Dan\n"
            "graded, and not in the gradebook: =HYPERLINK(\"x\")\n");
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

TEST(Exporters, CsvSurvivesARoundTrip) {
  const std::vector<std::string> fields = {"a", "b,c", "d\"e", "", " f "};
  std::string line = csv_line(fields);
  line.pop_back();
  EXPECT_EQ(csv_fields(line), fields);
  EXPECT_EQ(csv_line({"=1", "@x", "-2", "+3"}), "'=1,'@x,'-2,'+3\n");
}

TEST(Exporters, NoTextBreaksAFormat) {  // no escape in 8 bits, and nothing without which XML is not well-formed
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

}  // namespace
