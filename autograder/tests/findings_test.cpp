// Findings are compared field by field with the device's first report, and only a single answer counts.
#include "judge/findings.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

TEST(Findings, TakeThePlaceFromTheFirstReport) {
  const auto place = first_report(
      "score 0: 0\n"
      "warning: x.cu:1: 8 bytes never freed\n"
      "error: /a b/x.cu:13: score: block (6,0,0) thread (25,0,0): global load of 4 bytes that were never written, byte "
      "4 "
      "of allocation 3 of 16 bytes; write them first (40 times)\n"
      "error: x.cu:2: other: block (0,0,0) thread (0,0,0): race\n");
  EXPECT_EQ(place, (place_of_fault{"score", "6", "25", "13", "3"}));
  EXPECT_EQ(first_report("error: x.cu:7: k<float>: block (1,2,0) thread (0,0,0): assertion failed: n > 0"),
            (place_of_fault{"k<float>", "1,2,0", "0", "7", "none"}));
  EXPECT_EQ(first_report("error: x.cu:28: launch of k failed with cudaErrorInvalidConfiguration: too many threads"),
            (place_of_fault{"k", "none", "none", "28", "none"}));
  EXPECT_FALSE(first_report("CUDA: no error\n"));
}

TEST(Findings, CountChangedStatements) {
  const std::string original = "int f(int a) {\n  if (a > 1) return 2;  // why\n  g();\n  h();\n}\n";
  EXPECT_EQ(changed_statements(original, original), 0u);
  EXPECT_EQ(changed_statements(original, "int f(int a)\n{ if (a>1) /* no; */ return 2; g();\n\nh(); }"), 0u);
  EXPECT_EQ(changed_statements(original, "int f(int a) { if (a >= 1) return 2; g(); h(); }"), 1u);
  EXPECT_EQ(changed_statements(original, "int f(int a) { if (a > 1) return 2; h(); g(); }"), 1u)
      << "two statements swapped";
  EXPECT_EQ(changed_statements(original, "int f(int a) { if (a > 1) return 2; g(); i(); i(); h(); }"), 2u);
  EXPECT_EQ(changed_statements(original, "int f(int a) { g(); }"), 2u);
  EXPECT_EQ(changed_statements(original, ""), 4u);
  EXPECT_EQ(changed_statements(original, "int f(int a) { if (std::size_t{1} * a > 1) return 2; g(); h(); }"), 1u)
      << "braces around a value";
}

TEST(Findings, CountHiddenStatements) {
  const std::string original = "int f(int a) {\n  if (a > 1) return 2;\n  g();\n}\n";
  const auto changed = [&](const std::string& fixed) { return changed_statements(original, fixed); };
  EXPECT_EQ(changed("int f(int a) { s = \"//\"; i(); j(); k(); if (a > 1) return 2; g(); }"), 4u) << "no comment";
  EXPECT_EQ(changed("#define S i(); j(); k();\nint f(int a) { S if (a > 1) return 2; g(); }"), 4u);
  EXPECT_EQ(changed("#include <x>\nint f(int a) { if (a > 1) return 2; g(); }"), 1u);
  std::string commas;
  for (int i = 0; i < 30; ++i) commas += "a = i(), ";
  EXPECT_GT(changed("int f(int a) { if (a > 1) return 2; " + commas + "g(); }"), 3u)
      << "a long statement counts several times";
  EXPECT_EQ(changed("int f(int a) { if (a > 1) return 2; g(R\"(; ; ;)\"); }"), 1u);
}

struct Assessed : testing::Test {
  temporary_folder place{"findings"};
  rubric rules;
  grading_session session;
  grading::item what;

  void SetUp() override {
    rules.id = "13_test";
    rules.causes = {"off by one", "race"};
    what.id = "x_found";
    what.kind = item_kind::findings;
    what.points = 4;
    what.program = "x";
    what.cause = 1;
    session.rules = &rules;
    session.crashed_programs = place.path();
    // Block and thread depend on the name, which must arrive unchanged.
    replace_file(
        place.path() / "lab13.x",
        "#!/bin/sh\n"
        "test \"$SIM_REPORT\" = 1 || exit 1\n"
        "echo \"error: x.cu:9: k: block (${#1},0,0) thread (7,0,0): race, byte 0 of allocation 2 of 8\" >&2\n");
    fs::permissions(place.path() / "lab13.x", fs::perms::owner_all);
  }
  item_result assessed(const std::string& findings) {
    session.handed_in["findings.toml"] = findings;
    return assess(what, session);
  }
  static std::string answers(const std::string& student, const std::string& block, const std::string& cause) {
    return fmt::format(
        "student = \"{}\"\n[x]\nkernel = \"k\"\nblock = {}\nthread = 7\nline = 9\nallocation = 2\ncause = {}\n",
        student, block, cause);
  }
};

TEST_F(Assessed, PlaceAndCause) {
  item_result r = assessed(answers("ann", "3", "\"race\""));
  EXPECT_EQ(r.verdict, verdict::pass);
  EXPECT_EQ(r.points, 4);
  EXPECT_EQ(r.figure, 6);
  r = assessed(answers("ann", "3", "\"off by one\""));
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 2);
  EXPECT_EQ(r.message, "wrong for 'ann': cause");
  r = assessed(answers("ann", "4", "\"race\""));
  EXPECT_EQ(r.points, 0) << "a cause earns points only with its place";
  EXPECT_EQ(r.message.rfind("wrong for 'ann': block. ", 0), 0u) << r.message;
}

TEST_F(Assessed, ThePlaceCountsBeforeTheCauseIsKnown) {
  item_result r = assessed(answers("ann", "3", "\"\""));
  EXPECT_EQ(r.verdict, verdict::pending);
  EXPECT_EQ(r.points, 2);
  EXPECT_EQ(r.message, "the place is right; now name the cause");
  r = assessed(answers("ann", "4", "\"\""));
  EXPECT_EQ(r.verdict, verdict::wrong);
  EXPECT_EQ(r.points, 0);
}

TEST_F(Assessed, ACauseThatIsCorrectedEarnsHalf) {
  item_result r = assessed(answers("ann", "3", "\"off by one\""));
  ASSERT_EQ(r.predictions.size(), 1u);
  EXPECT_EQ(r.predictions[0].key, "x.cause");
  EXPECT_EQ(r.predictions[0].predicted, 0);
  session.locked.values["x.cause"] = 0;
  r = assessed(answers("ann", "3", "\"race\""));
  EXPECT_EQ(r.verdict, verdict::pass);
  EXPECT_EQ(r.points, 3);
  EXPECT_EQ(r.what, "fields, cause corrected");
  session.locked.values["x.cause"] = 1;
  EXPECT_EQ(assessed(answers("ann", "3", "\"race\"")).points, 4);
  EXPECT_TRUE(assessed(answers("ann", "3", "\"bad\"")).predictions.empty());
}

TEST_F(Assessed, ACauseInUpperOrLowerCase) {
  for (const char* cause : {"\"Race\"", "\"RACE\""}) EXPECT_EQ(assessed(answers("ann", "3", cause)).points, 4) << cause;
}

TEST_F(Assessed, ACauseIsKnownOnceItIsNamed) {
  rules.items = {what};
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{});
  session.handed_in["findings.toml"] = answers("", "\"\"", "\"\"");
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{});
  session.handed_in["findings.toml"] = answers("", "\"\"", "\"bad\"");
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{});
  session.handed_in["findings.toml"] = answers("", "\"\"", "\"Off by one\"");
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{"x"}) << "right or wrong";
  session.handed_in["findings.toml"] = "no TOML";
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{});
  session.locked.values["x.cause"] = 1;
  EXPECT_EQ(programs_with_cause(rules, session), std::set<std::string>{"x"});
}

TEST_F(Assessed, DependOnTheStudent) {
  EXPECT_EQ(assessed(answers("anna", "3", "\"race\"")).points, 0);
  EXPECT_EQ(assessed(answers("anna", "4", "\"race\"")).points, 4);
  EXPECT_EQ(assessed(answers("$(id) '; `x`", "12", "\"race\"")).points, 4);
  EXPECT_EQ(student_of_findings(answers("anna", "4", "\"race\"")), "anna");
}

TEST_F(Assessed, FillInAllButLineAndCause) {
  rules.items = {what};
  const auto filled = [&](const std::string& findings) { return with_places(findings, rules, place.path()); };
  const std::string fields =
      "kernel = \"\"\nblock = \"\"  # empty\nthread = 8\nline = \"\"\nallocation = \"\"\ncause = \"\"\n";
  const std::string head = "# a comment\nstudent = \"anna\"\n\n";
  EXPECT_EQ(
      filled(head + "[x]\n" + fields + "[other]\n" + fields),
      head +
          "[x]\nkernel = \"k\"\nblock = 4  # empty\nthread = 8\nline = \"\"\nallocation = 2\ncause = \"\"\n[other]\n" +
          fields)
      << "filled-in answers stay, and so do programs that no item asks about";
  EXPECT_THROW(filled("[x]\n" + fields), input_error) << "no name";
  replace_file(place.path() / "lab13.x", "#!/bin/sh\necho 'error: x.cu:9: launch of k failed with cudaErrorX' >&2\n");
  fs::permissions(place.path() / "lab13.x", fs::perms::owner_all);
  EXPECT_EQ(filled(head + "[x]\nblock = \"\"\n"), head + "[x]\nblock = \"none\"\n");
}

TEST_F(Assessed, OneAnswerEach) {
  for (const char* block : {"[3, 4]", "{ a = 3 }", "3.0", "true"}) {
    const item_result r = assessed(answers("ann", block, "\"race\""));
    EXPECT_EQ(r.points, 0) << block;
    EXPECT_EQ(r.message.rfind("findings.toml:4: x.block must be a single answer", 0), 0u) << r.message;
  }
  EXPECT_EQ(assessed(answers("ann", "\"3 4\"", "\"race\"")).points, 0);
  EXPECT_EQ(assessed(answers("ann", "\"(3,0,0)\"", "\"race\"")).points, 4) << "as the report prints it";
  EXPECT_EQ(assessed(answers("ann", "\"(3,1,0)\"", "\"race\"")).points, 0);
  EXPECT_EQ(assessed(answers(" ann ", "\" 3 \"", "\" race\"")).points, 4);
  EXPECT_EQ(assessed(answers("ann", "3", "\"race, off by one\"")).points, 2) << "only the place is right";
  EXPECT_EQ(assessed(answers("ann", "3", "[\"race\", \"off by one\"]")).points, 0);
  EXPECT_EQ(assessed(answers("ann", "3", "\"bad\"")).message,
            "wrong for 'ann': cause. 'bad' is not one of the causes in the handout");
  EXPECT_EQ(assessed(answers("ann", "3\nblock = 4", "\"race\"")).verdict, verdict::wrong)
      << "a repeated key is invalid TOML";
  EXPECT_EQ(assessed(answers(std::string(65, 'a'), "65", "\"race\"")).points, 0);
}

TEST_F(Assessed, NothingIsRunUntilAllIsAnswered) {
  fs::remove(place.path() / "lab13.x");
  const item_result r = assessed(answers("", "\"\"", "\"race\""));
  EXPECT_EQ(r.verdict, verdict::not_answered);
  EXPECT_EQ(r.message, "write your name at the top of findings.toml: the programs draw their sizes from it");
  EXPECT_EQ(assessed(answers("ann", "\"\"", "\"race\"")).message,
            "findings.toml has no answer for [x]: block. Run the program with the name 'ann'");
  EXPECT_EQ(assessed("").verdict, verdict::not_answered);
  EXPECT_THROW(assessed(answers("ann", "3", "\"race\"")), std::runtime_error) << "a program that does not crash";
}

}  // namespace
