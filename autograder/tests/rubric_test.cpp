// Every mistake in a rubric is reported with its line and what to do, no text crashes the parser, and a lab's other
// files are checked against the rubric.
#include "course/rubric.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <random>

#include "course/handout.hpp"
#include "sim/counters.hpp"
#include "staff/lab_check.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

const std::vector<lab::test_case>& cases() {
  static const std::vector<lab::test_case> all = [] {
    std::vector<lab::test_case> made(5);
    const char* ids[] = {"f/1", "f/2", "f/huge", "g/1", "h/1"};
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].id = ids[i];
      made[i].entry = made[i].id.substr(0, 1);
    }
    made[2].timed = true;
    made[3].where = lab::part::host;
    return made;
  }();
  return all;
}

const fs::path& folder() {
  static const temporary_folder place("rubric_test");  // deleted when the program ends
  static const fs::path path = [] {
    fs::path made = place.path() / "00_test";
    fs::create_directories(made / "handin");
    fs::create_directories(made / "judge");
    std::ofstream(made / "handin" / "a.cu") << "//\n";
    std::ofstream(made / "test.hpp") << "void f(float* out, int rows, int n);\n";
    std::ofstream(made / "judge" / "answers.toml") << answers_text({{"x.y", 2.5}});
    return made;
  }();
  return path;
}

const std::string valid = R"([lab]
id = "00_test"
title = "A test"
question = "what?"
learn = "test"
needs = "C++"
hours = "1"

[[item]]
id = "f_correct"
title = "f is right"
kind = "correctness"
points = 25
cases = ["f/*", "g/1"]

[[item]]
id = "f_counters"
title = "f moves little"
kind = "counters"
points = 25
case = "f/2"
require = [
  { counter = "sectors per load request", note = "4 at best", min = 4, max = 4 },
  { counter = "warps", max = 0 },
]

[[item]]
id = "predicted"
title = "predicted"
kind = "predictions"
points = 25
predict = [ { key = "x.y", case = "f/1", counter = "sectors per load request", tolerance = 0.5 } ]

[[item]]
id = "g_fast"
title = "g is fast"
kind = "throughput"
points = 25
case = "g/1"
ceiling = "read"
rungs = [[0.1, 0.0], [0.5, 0.5], [0.8, 1.0]]
)";

std::string error_of(const std::string& text) {
  try {
    parse_rubric(text, "rubric.toml", cases(), folder());
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = valid;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Rubric, ReadsAValidOne) {
  const rubric r = parse_rubric(valid, "rubric.toml", cases(), folder());
  ASSERT_EQ(r.items.size(), 4u);
  EXPECT_EQ(r.items[0].cases.size(), 3u) << "f/* excludes the timed case";
  const std::string sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                    requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum";
  EXPECT_EQ(r.items[1].require[0].label, "sectors per load request");
  EXPECT_EQ(r.items[1].require[0].text(), "sectors per load request; 4 at best");
  EXPECT_EQ(r.items[1].require[0].metric.text(), sectors + " / " + requests);
  EXPECT_EQ(r.items[1].require[0].metric.nsight_name(),
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
  EXPECT_EQ(r.items[1].require[1].metric.nsight_name(), "smsp__warps_launched.sum");
  EXPECT_FALSE(r.items[1].require[1].min);
  EXPECT_EQ(r.items[2].predict[0].tolerance, 0.5);
  EXPECT_EQ(r.items[3].rungs.size(), 3u);
  EXPECT_EQ(r.metrics_of(cases()[1]), (std::set<std::string>{sectors, requests, "smsp__warps_launched.sum"}));
  EXPECT_EQ(r.metrics_of(cases()[0]), (std::set<std::string>{sectors, requests}));
  EXPECT_NE(r.version, parse_rubric(valid + "\n", "rubric.toml", cases(), folder()).version);
}

TEST(Rubric, BarsGrowToCasesWhoseSizesAreDrawn) {
  std::vector<lab::test_case> known = cases();
  known[1].parameters = {2, 100};
  known.push_back(lab::like("f/2", known[1]));
  known.back().id = "f/drawn";
  known.back().parameters = {6, 50};
  const std::string warps = "counter = \"warps\"";
  const std::string text = with(warps + ", max = 0 }", warps + ", grows = \"n rows rows\", note = \"n\", max = 8 }");
  const rubric r = parse_rubric(text, "rubric.toml", known, folder());
  const std::vector<condition>& all = r.items[1].require;
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[1].text(), "sectors per load request in f/drawn; 4 at best");
  EXPECT_EQ(all[1].max, 4) << "its bar does not grow";
  EXPECT_EQ(all[2].max, 8);
  EXPECT_EQ(all[3].text(), "warps in f/drawn");
  EXPECT_EQ(all[3].max, 36);
  EXPECT_EQ(r.metrics_of(known.back()), r.metrics_of(known[1]));
}

TEST(Rubric, ADrawnCaseIsTimedInPlaceOfTheOneLikeIt) {
  std::vector<lab::test_case> known = cases();
  known.push_back(lab::like("g/1", known[3]));  // only for counters
  known.back().id = "g/counted";
  known.push_back(lab::like("g/1", lab::timed(known[3])));
  known.back().id = "g/drawn";
  const rubric r = parse_rubric(valid, "rubric.toml", known, folder());
  ASSERT_EQ(r.items[3].cases.size(), 1u);
  EXPECT_EQ(r.items[3].cases[0]->id, "g/drawn");
}

TEST(Rubric, APredictionMayBeAskedOfAHostCaseAndWithinAFactor) {
  const std::string asked = "case = \"g/1\", metric = \"output[2]\", factor = 2";
  const rubric r = parse_rubric(with("case = \"f/1\", counter = \"sectors per load request\", tolerance = 0.5", asked),
                                "rubric.toml", cases(), folder());
  const prediction& p = r.items[2].predict[0];
  EXPECT_EQ(p.metric.text(), "output[2]");
  EXPECT_TRUE(p.allows(1.0, 2.0) && p.allows(2.0, 1.0));
  EXPECT_FALSE(p.allows(1.0, 2.1) || p.allows(2.1, 1.0) || p.allows(-1.0, 1.0));
}

struct mistake {
  std::string from, to, error;
  friend void PrintTo(const mistake& m, std::ostream* out) { *out << m.to; }
};

class Mistakes : public testing::TestWithParam<mistake> {};

TEST_P(Mistakes, HaveAnAddressAndAnAdvice) {
  const mistake& m = GetParam();
  EXPECT_EQ(error_of(with(m.from, m.to)), m.error);
}

INSTANTIATE_TEST_SUITE_P(
    Rubric, Mistakes,
    testing::Values(
        mistake{"cases = [\"f/*\", \"g/1\"]", "cases = [\"f/*\", \"g/1\"]\nfile = \"a.cu\"",
                "rubric.toml:9: give both 'file' and 'changes', or neither"},
        mistake{"kind = \"correctness\"\npoints = 25\ncases = [\"f/*\", \"g/1\"]",
                "kind = \"findings\"\npoints = 25\nprogram = \"a\"",
                "rubric.toml:9: findings name a cause; list them as 'causes' of [lab]"},
        mistake{"title = \"f is right\"", "title = \"f is right\"\ncolour = 3",
                "rubric.toml:12: unknown key 'colour'; remove it or use one of: id, title, kind, points, cases, file, "
                "changes, follows"},
        mistake{"title = \"f is right\"", "title = \"f is right\"\nfollows = \"predicted\"",
                "rubric.toml:12: 'predicted' is not a findings item above this one; write the id of one"},
        mistake{"\"correctness\"", "\"beauty\"",
                "rubric.toml:12: unknown kind 'beauty'; use one of: correctness, counters, predictions, throughput, "
                "findings"},
        mistake{"case = \"f/2\"", "case = \"f/3\"",
                "rubric.toml:21: no case 'f/3' in cases.cpp; add it there or correct the name"},
        mistake{"\"f/*\"", "\"q/*\"",
                "rubric.toml:14: 'q/*' matches no case in cases.cpp; write 'entry/*' or the id of a case"},
        mistake{"points = 25", "points = 24", "rubric.toml:1: the items' points add up to 99; they must add up to 100"},
        mistake{"points = 25", "points = 26",
                "rubric.toml:13: 26 points; an item must have more than 0 and at most 25 points: split it"},
        mistake{"points = 25", "points = 0",
                "rubric.toml:13: 0 points; an item must have more than 0 and at most 25 points: split it"},
        mistake{"points = 25", "points = nan", "rubric.toml:13: 'points' must be a finite number"},
        mistake{"[0.5, 0.5]", "[0.9, 0.5]", "rubric.toml:41: rungs must increase in both ratio and share; sort them"},
        mistake{"[0.5, 0.5]", "[0.5]", "rubric.toml:41: write each rung as [ratio, share]"},
        mistake{"[0.8, 1.0]", "[0.8, 0.9]", "rubric.toml:41: the last rung must have share 1.0"},
        mistake{"[0.1, 0.0]", "[0.1, 0.3]",
                "rubric.toml:41: the first rung is too steep; its share must be at most 0.2"},
        mistake{"id = \"f_counters\"", "id = \"f_correct\"",
                "rubric.toml:17: two items are called 'f_correct'; rename one of them"},
        mistake{"ceiling = \"read\"", "ceiling = \"copy\"",
                "rubric.toml:40: a host case has no ceiling 'copy'; use one of: read, triad, fma, eigen, tanh, file, "
                "threads, prefixes"},
        mistake{"ceiling = \"read\"", "ceiling = \"sky\"",
                "rubric.toml:40: a host case has no ceiling 'sky'; use one of: read, triad, fma, eigen, tanh, file, "
                "threads, prefixes"},
        mistake{", max = 0 }", ", grows = \"k\", max = 0 }", "rubric.toml:24: f has no parameter 'k'"},
        mistake{", max = 0 }", " }", "rubric.toml:24: a condition needs 'min', 'max' or both"},
        mistake{"min = 4, max = 4", "min = 5, max = 4", "rubric.toml:23: 'min' is larger than 'max'; swap them"},
        mistake{"min = 4, max = 4", "min = 4, max = 4, work = true",
                "rubric.toml:23: a condition with 'work' is a minimum: give 'min' alone"},
        mistake{"title = \"A test\"", "", "rubric.toml:1: 'title' is missing; add it to this table"},
        mistake{"tolerance = 0.5", "factor = 1", "rubric.toml:32: 'factor' must be more than 1"},
        mistake{"tolerance = 0.5", "tolerance = 0.5, factor = 2",
                "rubric.toml:32: give 'tolerance' or 'factor', not both"},
        mistake{"case = \"f/1\", counter", "case = \"g/1\", counter",
                "rubric.toml:32: 'metric' is missing; add it to this table"},
        mistake{"tolerance = 0.5", "metric = \"output[0]\"",
                "rubric.toml:32: a device case is compared by its 'counter'; remove 'metric'"},
        mistake{"case = \"f/1\", counter", "case = \"g/1\", metric = \"output[0]\", counter",
                "rubric.toml:32: a host case is compared by its 'metric'; remove 'counter'"},
        mistake{"case = \"f/1\", counter = \"sectors per load request\"",
                "case = \"g/1\", metric = \"output[0] / output[x]\"",
                "rubric.toml:32: a host case has no 'output[x]'; use its outputs, \"output[0]\" or \"output[0] / "
                "output[1]\""},
        mistake{"case = \"f/1\", counter = \"sectors per load request\"", "case = \"g/1\", metric = \"launches\"",
                "rubric.toml:32: a host case has no 'launches'; use its outputs, \"output[0]\" or \"output[0] / "
                "output[1]\""},
        mistake{"case = \"f/1\", counter = \"sectors per load request\"", "case = \"g/1\", metric = \"output[0] / \"",
                "rubric.toml:32: a host case has no ''; use its outputs, \"output[0]\" or \"output[0] / output[1]\""},
        mistake{"counter = \"warps\"", "counter = \"wraps\"",
                "rubric.toml:24: there is no counter 'wraps'; the closest is 'warps', and all are in "
                "common/sim/interface/sim/counters.hpp, where you can add one"},
        mistake{
            "case = \"f/2\"", "case = \"f/2\"\nby_design = [\"the grid is too small\"]",
            "rubric.toml:22: unknown kind of waste 'the grid is too small'; use one of: small grid, sectors loaded, "
            "sectors stored, bank conflicts, one block per multiprocessor"},
        mistake{"case = \"f/2\"", "case = \"f/2\"\nsitting = 2",
                "rubric.toml:22: no item has predictions in sitting 2; name a sitting that has some"},
        mistake{"id = \"00_test\"", "id = \"01_other\"",
                "rubric.toml:2: id is '01_other', but this is the folder of lab 00_test; write id = \"00_test\""},
        mistake{"case = \"f/2\"", "case = \"g/1\"",
                "rubric.toml:23: the system calls of g/1 are not counted; set counts_calls"}),
    [](const auto& which) { return "n" + std::to_string(which.index); });

TEST(Rubric, EveryLabelIsOfCountersThatTheSimulatedDeviceHas) {
  std::set<std::string_view> known{""}, labels;
  for (const sim::counter& one : sim::counters)
    if (one.uses & sim::counter::counted) {
      EXPECT_TRUE(known.insert(one.name).second) << one.name;
    }
  for (const sim::counter& one : sim::counters) {
    if (one.label.empty()) continue;
    EXPECT_TRUE(labels.insert(one.label).second) << one.label;
    EXPECT_TRUE(known.contains(one.name)) << one.name;
    const std::size_t slash = one.formula.find(" / "), factor = one.formula.find(" * ");
    if (one.formula.empty()) continue;
    EXPECT_TRUE(known.contains(one.formula.substr(0, slash).substr(factor == std::string_view::npos ? 0 : factor + 3)));
    EXPECT_TRUE(known.contains(one.formula.substr(slash + 3))) << one.formula;
  }
}

TEST(Rubric, SyntaxErrorsHaveALine) {
  EXPECT_EQ(error_of(with("kind = \"correctness\"", "kind = correctness")).substr(0, 15), "rubric.toml:12:");
  EXPECT_NE(error_of(""), "");
  EXPECT_NE(error_of("[lab]\nid = 3\n"), "");
}

TEST(Rubric, RandomMutationsAreReadOrRefusedButNeverCrash) {
  std::mt19937 engine(1);
  const std::string alphabet = "[]{}=\"',.#/ \n-+0159einfax\\\xff" + std::string(1, '\0');
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = valid;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const std::size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(20));
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(below(text.size() - 1), 1 + below(30))); break;
        default: text.insert(at, 1, alphabet[below(alphabet.size())]);
      }
      if (text.empty()) text.assign(1, ' ');
    }
    try {
      parse_rubric(text, "rubric.toml", cases(), folder());
    } catch (const input_error& error) {
      ++refused;
      EXPECT_EQ(std::string(error.what()).rfind("rubric.toml:", 0), 0u) << error.what();
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Handin, IsWhatTheFolderHolds) {
  const fs::path lab = folder().parent_path() / "00_layout";
  const auto complaint = [&] {
    try {
      const std::vector<std::string> names = handin_in(lab);
      expect_handin_as_listed(lab, names);
      return fmt::format("{}", fmt::join(names, " "));
    } catch (const input_error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(complaint(), "labs/00_layout/handin: there are no hand-in files here");
  const std::string marks = "<!-- hand-in files: begin -->\n<!-- hand-in files: end -->\n";
  replace_file(lab / "README.md", with_handin_list(marks, {"a.cu", "b.cpp", "predictions.toml"}));
  EXPECT_NE(text_of(lab / "README.md").find("`handin/`:\n`a.cu`, `b.cpp` and `predictions.toml`.\n"),
            std::string::npos);
  for (const char* name : {"predictions.toml", "b.cpp", "a.cu", "a.cu~", ".b.cpp", "notes.txt"})
    replace_file(lab / "handin" / name, "x");
  EXPECT_EQ(complaint(), "a.cu b.cpp predictions.toml");
  fs::rename(lab / "handin/b.cpp", lab / "b.cpp");
  EXPECT_EQ(complaint(),
            "labs/00_layout/handin/b.cpp is missing: put it back, or run ./course reset 00, which restores all files "
            "there and keeps yours in backups/");
  fs::copy(lab / "b.cpp", lab / "handin/b.cpp");
  EXPECT_EQ(complaint(),
            "labs/00_layout/b.cpp: hand-in files now belong in labs/00_layout/handin; move b.cpp there, or delete it");
  fs::rename(lab / "b.cpp", lab / "handin/b2.cpp");
  EXPECT_EQ(complaint(),
            "labs/00_layout/handin/b2.cpp is not among the files that you hand in, and grading would not see it: move "
            "it elsewhere");
  fs::remove_all(lab);
}

TEST(Labs, AreListedFromTheirRubrics) {
  rubric lab = parse_rubric(valid, "rubric.toml", cases(), folder());
  lab.title = "A test: of tables";
  const std::string marks = "<!-- labs: begin -->\n<!-- labs: end -->\n";
  EXPECT_EQ(with_worklogs("<!-- worklogs: begin -->\nold\n<!-- worklogs: end -->\n", {lab, lab}),
            "<!-- worklogs: begin -->\n[00](00_test/WORKLOG.md) ·\n[00](00_test/WORKLOG.md)\n<!-- worklogs: end -->\n");
  EXPECT_NE(with_questions(marks, {lab}).find("\n| [00 A test](labs/00_test/README.md) | what? |\n"),
            std::string::npos);
  EXPECT_NE(with_way(marks, {lab}).find("\n| [00 A test](00_test/README.md) | test | C++ | 1 |\n"), std::string::npos);
  lab.hours = "2 to 4";
  EXPECT_EQ(with_plan("<!-- plan: begin -->\n| | | | | | |\n| 00 A test | 9 | 1 | | 2 | |\n| project | 15 | 3 | | | |\n"
                      "| hours in all | | | | | |\n<!-- plan: end -->",
                      {lab}),
            "<!-- plan: begin -->\n| | | | | | |\n| 00 A test | 2 to 4 | 1 | | 2 | |\n| project | 15 | 3 | | | |\n"
            "| hours in all | | 17 to 19 | 0 to 0 | 2 to 4 | |\n<!-- plan: end -->");
  EXPECT_THROW(with_plan("<!-- plan: begin -->\n| | | | | | |\n<!-- plan: end -->", {lab}), input_error);
  const std::string tests = "<!-- tests: begin -->\n<!-- tests: end -->\n";
  EXPECT_NE(with_tests(tests, lab).find("as a test.\n"), std::string::npos);
  lab.items.back().cases = lab.items.front().cases;  // on the device
  EXPECT_NE(with_tests(tests, lab).find("as a test; 25 points need a GPU.\n"), std::string::npos);
}

/// A lab with that rubric, its hints and predictions, and a wrong submission; a mistake in any of them is reported.
class lab_check_test : public testing::Test {
 protected:
  void SetUp() override {
    std::string hints;
    for (const char* id : {"f_correct", "f_counters", "predicted", "g_fast"})
      hints += std::string("[[hint]]\nitem = \"") + id + "\"\ntext = [\"a\", \"b\", \"c\"]\n";
    replace_file(root_ / "judge/hints.toml", hints);
    replace_file(root_ / "handin/predictions.toml", "[x]\ny = nan\n");
    replace_file(root_ / "wrong/one.patch",
                 "story = \"s\"\ndemo = true\n[items]\nall = { verdict = \"PASS\", points = 25 }\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  std::string complaint() const {
    try {
      check_lab({"00", "00_test", root_}, parse_rubric(valid, "rubric.toml", cases(), folder()),
                {{"wrong-one", {}, root_ / "wrong/one.patch"}});
    } catch (const input_error& error) {
      return error.what();
    }
    return "";
  }

  const fs::path root_ = fs::temp_directory_path() / ("lab_check_test_" + std::to_string(getpid()));
};

TEST_F(lab_check_test, nothing_to_complain_of) { EXPECT_EQ(complaint(), ""); }

TEST_F(lab_check_test, a_lab_without_a_submission_to_show) {
  replace_file(root_ / "wrong/one.patch", "story = \"s\"\n[items]\nall = { verdict = \"PASS\", points = 25 }\n");
  EXPECT_EQ(complaint(),
            "0 patches have demo = true; mark one to four that are quick to grade: every test run grades them");
}

TEST_F(lab_check_test, an_item_without_a_hint_and_a_hint_without_an_item) {
  const std::string hints = text_of(root_ / "judge/hints.toml");
  replace_file(root_ / "judge/hints.toml", hints.substr(0, hints.rfind("[[hint]]")));
  EXPECT_EQ(complaint(), "hints.toml: no hint for g_fast; write three levels, and never the solution");
  replace_file(root_ / "judge/hints.toml", hints + "[[hint]]\nitem = \"h\"\ntext = [\"a\", \"b\", \"c\"]\n");
  EXPECT_EQ(complaint(),
            "hints.toml: the hint for 'h' has 3 levels; it must have three and name an item of rubric.toml");
}

TEST_F(lab_check_test, predictions_that_cannot_be_made_or_are_never_asked_for) {
  replace_file(root_ / "handin/predictions.toml", "[x]\nz = nan\n");
  EXPECT_EQ(complaint(), "predictions.toml: 'x.y' of rubric.toml is missing; write it as nan");
  replace_file(root_ / "handin/predictions.toml", "[x]\ny = nan\nz = nan\n");
  EXPECT_EQ(complaint(), "predictions.toml: rubric.toml never asks for 'x.z'");
  fs::remove(root_ / "handin/predictions.toml");
  EXPECT_NE(complaint(), "");
}

TEST_F(lab_check_test, an_answer_that_is_missing_and_one_that_cannot_be_read_by_accident) {
  const fs::path answers = folder() / "judge/answers.toml";
  const std::string kept = text_of(answers);
  EXPECT_EQ(kept.find("2.5"), std::string::npos) << kept;
  EXPECT_EQ(parse_rubric(valid, "rubric.toml", cases(), folder()).items[2].predict[0].right, 2.5);
  fs::remove(answers);
  EXPECT_EQ(complaint(), "answers.toml: no answer for 'x.y'; run grader check --write, which needs the lab's solution");
  replace_file(answers, "\"x.y\" = 2.5\n");
  EXPECT_EQ(complaint(), "answers.toml:1: this is not the bit pattern of a double; run grader check --write");
  replace_file(answers, kept);
}

TEST_F(lab_check_test, a_text_that_gives_an_answer_away) {
  const auto says = [&](const char* file, const std::string& line, const std::string& key, double answer) {
    rubric rules;
    rules.items.resize(1);
    rules.items[0].id = "g_fast";
    rules.items[0].predict.resize(1);
    rules.items[0].predict[0].key = key;
    rules.items[0].predict[0].right = answer;
    fs::remove_all(root_);
    replace_file(root_ / "judge/hints.toml", "[[hint]]\nitem = \"g_fast\"\ntext = [\"a\", \"b\", \"c\"]\n");
    const std::size_t dot = key.find('.');
    replace_file(root_ / "handin/predictions.toml",
                 "[" + key.substr(0, dot) + "]\n" + key.substr(dot + 1) + " = nan\n# nothing here\n");
    replace_file(root_ / file, "first line\n" + line + "\n");
    try {
      check_lab({"00", "00_test", root_}, rules, {});
    } catch (const input_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(says("README.md", "It asks for 2,621,440 sectors.", "sectors.coalesced", 2621440),
            "README.md:2: gives away the prediction 'sectors.coalesced'; move it to SEEN.md, or rephrase it");
  EXPECT_NE(says("README.md", "GELU, gelu_unfused, is nine kernels", "launches.gelu_unfused", 9), "");
  EXPECT_EQ(says("README.md", "nine lives", "launches.gelu_unfused", 9), "");
  EXPECT_NE(says("handin/a.cu", "f(2049);  // falls at 2049", "cliff.h200", 2049), "");
  EXPECT_EQ(says("given/a.cu", "f(2049);  // falls there", "cliff.h200", 2049), "") << "code may contain the number";
  EXPECT_EQ(says("judge/cases.cpp", "// falls at 2049", "cliff.h200", 2049), "")
      << "students do not see the judge's files";
  EXPECT_EQ(says("SEEN.md", "It falls at 2049", "cliff.h200", 2049), "");
  EXPECT_EQ(says("README.md", "pitch 32", "banks.pitch_32", 32), "") << "the key's own number";
  EXPECT_NE(says("README.md", "a pitch of 48 takes 16", "banks.pitch_48", 16), "");
}

TEST_F(lab_check_test, a_wrong_submission_that_expects_what_there_is_not) {
  replace_file(root_ / "wrong/one.patch", "story = \"s\"\n[items]\nf = { verdict = \"WRONG\", points = 0 }\n");
  EXPECT_EQ(complaint(), "wrong-one: the rubric has no item 'f'");
  replace_file(root_ / "wrong/one.patch", "story = \"s\"\n");
  EXPECT_EQ(complaint(), "wrong-one: wrong submissions name [items] that lose points, right ones do not");
}

TEST(Metric, DividesAndKnowsWhenNothingWasCounted) {
  const std::map<std::string, double> counted{{"a", 8}, {"b", 2}, {"zero", 0}, {"nan", std::nan("")}};
  EXPECT_EQ((metric{"a", "b"}.of(counted)), 4.0);
  EXPECT_EQ((metric{"a", ""}.of(counted)), 8.0);
  EXPECT_FALSE((metric{"zero", "zero"}.of(counted)));
  EXPECT_FALSE((metric{"a", "zero"}.of(counted)));
  EXPECT_FALSE((metric{"nan", ""}.of(counted)));
  EXPECT_FALSE((metric{"absent", ""}.of(counted)));
}

TEST(Condition, BoundsHoldUpToRounding) {
  const condition exactly{"", {}, 4.0, 4.0};
  EXPECT_TRUE(exactly.holds(4.0));
  EXPECT_TRUE(exactly.holds(4.0 * (1 + 1e-12)));
  EXPECT_FALSE(exactly.holds(4.0001));
  EXPECT_FALSE(exactly.holds(3.9999));
  EXPECT_FALSE(exactly.holds(std::nan("")));
  const condition none{"", {}, {}, 0.0};
  EXPECT_TRUE(none.holds(0.0));
  EXPECT_FALSE(none.holds(1e-12));
}

}  // namespace
