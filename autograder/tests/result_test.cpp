// The canonical result: to JSON and back, merged into the store without losing other results.
#include "result/result.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "course/hints.hpp"
#include "course/submission.hpp"
#include "demo/expected.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

item_result item(const std::string& id, verdict v, double points, double max_points) {
  item_result i;
  i.id = id;
  i.title = "title of " + id;
  i.kind = item_kind::correctness;
  i.verdict = v;
  i.points = points;
  i.max_points = max_points;
  return i;
}

result graded(const std::string& submission) {
  result r;
  r.lab = "03_coalescing";
  r.lab_title = "Coalescing";
  r.submission = submission;
  r.outcome = outcome::graded;
  r.items = {item("right", verdict::pass, 40, 40), item("slow", verdict::too_slow, 7.5, 45),
             item("gpu", verdict::not_assessed, 0, 15)};
  return r;
}

struct Store : testing::Test {
  fs::path folder = fs::temp_directory_path() / ("store_" + std::to_string(getpid()));
  result_store store{folder / "results"};
  void SetUp() override { fs::create_directories(folder); }
  void TearDown() override { fs::remove_all(folder); }
};

TEST(Result, CountsOnlyWhatCouldBeAssessed) {
  const result r = graded("student");
  EXPECT_EQ(r.score(), 47.5);
  EXPECT_EQ(r.out_of(), 85);
}

TEST(Result, SurvivesJson) {
  result r = graded("student");
  r.machine = {{"cpu", "a CPU"}, {"gpu", "a GPU"}};
  r.notes = {"a note"};
  r.printed = "\xff<b>";
  item_result& i = r.items[1];
  i.figure = 0.25;
  i.threshold = 0.5;
  i.message = "too slow";
  i.hint = {"one", "two"};
  i.conditions = {{"sectors", "a / b", backend::sim, std::nullopt, 4.0, std::nullopt, false}};
  i.most_points = 20;
  i.predictions.resize(1);
  i.predictions[0].key = "k";
  i.predictions[0].predicted = 1.0;
  i.predictions[0].seen_on_gpu = 2.0;
  i.predictions[0].state = prediction_state::corrected;
  i.predictions[0].waits_for = "f";
  i.samples = {{1e-3, 2e-3}};
  i.ci95 = lab::interval{0.2, 0.3};
  i.noise = 0.01;
  i.work = {3, 4};
  lab::launch_record launch;
  launch.kernel = "k<32>";
  launch.lines = {{.file = "a.cu",
                   .line = 3,
                   .operation = "global load",
                   .requests = 1,
                   .sectors = 2,
                   .wavefronts = 3,
                   .ideal = 4}};
  r.counted = {{"f/1", backend::sim, {5, 6}, {launch}}};
  const std::string text = to_json(r);
  const result back = result_from_json(text);
  EXPECT_EQ(to_json(back), text);
  EXPECT_EQ(back.items[1].predictions[0].state, prediction_state::corrected);
  EXPECT_EQ(back.items[1].most_points, 20);
  EXPECT_EQ(back.items[1].margin(), -0.5);
  EXPECT_EQ(back.items[1].conditions[0].value, std::nullopt);
  EXPECT_EQ(back.counted[0].launches[0].lines[0].sectors, 2u);
  EXPECT_EQ(back.machine.at("gpu"), "a GPU");
  EXPECT_THROW(result_from_json("{}"), std::runtime_error);
  EXPECT_THROW(result_from_json(""), std::runtime_error);
}

TEST(Result, WritesTheWordsThatEarlierVersionsWrote) {
  result r = graded("student");
  r.outcome = outcome::build_failed;
  r.items[0].backends = {backend::sim, backend::cuda};
  const std::string text = to_json(r);
  for (const char* part : {R"("outcome": "build_failed")", R"("kind": "correctness")", R"("backend": "sim, cuda")",
                           R"("backend": "")", R"("verdict": "TOO SLOW")"})
    EXPECT_NE(text.find(part), std::string::npos) << part;
  const result back = result_from_json(text);
  EXPECT_EQ(back.outcome, outcome::build_failed);
  EXPECT_EQ(back.items[0].backends, r.items[0].backends);
  EXPECT_TRUE(back.items[1].backends.empty());
  std::string unknown = text;
  unknown.replace(unknown.find("build_failed"), 12, "unheard of");
  EXPECT_THROW(result_from_json(unknown), not_a_result);
}

TEST_F(Store, KeepsTheResultsOfOthers) {
  EXPECT_TRUE(store.load().empty());
  store.merge({graded("student"), graded("solution")});
  result again = graded("student");
  again.items[1].points = 45;
  store.merge({again});
  const auto all = store.load();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].submission, "solution");
  EXPECT_EQ(all[1].score(), 85);
  EXPECT_TRUE(store.load("04_fusion").empty());
  EXPECT_EQ(store.load("03_coalescing").size(), 2u);
  store.merge({});
  EXPECT_EQ(store.load().size(), 2u);
}

TEST_F(Store, ForgetsOnlyTheSubmissionsOfALabThatAreGone) {
  result other = graded("student");
  other.lab = "04_fusion";
  store.merge({graded("student"), graded("wrong-gone"), other});
  store.keep_only("03_coalescing", {"student", "solution"});
  const auto all = store.load();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].submission, "student");
  EXPECT_EQ(all[1].lab, "04_fusion");
}

TEST_F(Store, PartsTheFileOfEarlierVersionsOnce) {
  const fs::path old = folder / "results.json";
  result newer = graded("student");
  newer.items[1].points = 45;
  store.merge({newer});
  std::ofstream(old) << R"({"results":[{"lab":"x","submission":{"id":"y"},"schema":"other"}, 7, )" +
                            to_json(graded("student")) + ", " + to_json(graded("solution")) + "]}";
  const std::string before = text_of(old);
  const auto all = store.load();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1].score(), 85) << "later results stay";
  EXPECT_FALSE(fs::exists(old));
  EXPECT_EQ(text_of(folder / "results.json.parted"), before) << "unreadable text is not lost";
  EXPECT_EQ(store.load().size(), 2u);
}

TEST_F(Store, SurvivesFilesThatAreNoResults) {
  store.merge({graded("student")});
  std::ofstream(folder / "results.json") << "not JSON";
  std::ofstream(store.folder / "03_coalescing" / "other.json") << "not JSON";
  EXPECT_EQ(store.load().size(), 1u);
  for (const fs::directory_entry& left : fs::recursive_directory_iterator(folder))
    EXPECT_NE(left.path().extension(), ".tmp") << "a temporary file remains";
}

struct Expected : Store {
  std::string surprise(const std::string& text) {
    std::ofstream(folder / "slow.patch") << text << "\n--- a.cu\n+++ a.cu\n@@ -1 +1 @@\n-a\n+b\n";
    return surprises(graded("wrong-x"), read_expectation(folder / "slow.patch"));
  }
  std::string refused(const std::string& text) {
    try {
      surprise(text);
    } catch (const input_error& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(Expected, MatchesVerdictAndPoints) {
  const std::string story = "story = \"slow\"\n[items]\n";
  EXPECT_EQ(surprise(story + "slow = { verdict = \"TOO SLOW\", points = 7.5 }\n"), "");
  EXPECT_EQ(surprise(story + "slow = { verdict = \"TOO SLOW\", points = [0, 10] }\n"), "");
  EXPECT_EQ(surprise(story + "slow = { verdict = \"WRONG\", points = 7.5 }\n"),
            "slow: TOO SLOW, 7.5 points, expected WRONG, 7.5 points\n");
  EXPECT_EQ(surprise(story + "slow = { verdict = \"TOO SLOW\", points = [8, 10] }\n"),
            "slow: TOO SLOW, 7.5 points, expected TOO SLOW, 8 to 10 points\n");
  EXPECT_EQ(surprise(story + "slow = { verdict = [\"WRONG\", \"TOO SLOW\"], points = [0, 10] }\n"), "");
  EXPECT_EQ(surprise(story + "slow = { verdict = [\"WRONG\", \"PASS\"], points = [0, 10] }\n"),
            "slow: TOO SLOW, 7.5 points, expected WRONG or PASS, 0 to 10 points\n");
  EXPECT_NE(refused(story + "slow = { verdict = [], points = 0 }\n").find("at least one verdict"), std::string::npos);
}

TEST_F(Expected, ItemsNotNamedMustBeFull) {
  EXPECT_EQ(surprise("story = \"x\"\n[items]\nright = { verdict = \"PASS\", points = 40 }\n"),
            "slow: TOO SLOW, 7.5 points, expected all 45\n");
}

TEST_F(Expected, AllMeansEveryItem) {
  EXPECT_EQ(surprise("story = \"x\"\n[items]\nall = { verdict = \"BUILD ERROR\", points = 0 }\n"),
            "right: PASS, 40 points, expected BUILD ERROR, 0 points\n"
            "slow: TOO SLOW, 7.5 points, expected BUILD ERROR, 0 points\n");
}

TEST_F(Expected, MistakesInItHaveALine) {
  EXPECT_NE(refused("story = \"x\"\n[items]\nslow = { verdict = \"LAZY\", points = 0 }\n")
                .find("slow.patch:3: unknown verdict"),
            std::string::npos);
  EXPECT_NE(refused("[items]\n").find("'story' is missing"), std::string::npos);
  EXPECT_NE(refused("story = \"x\"\n[items]\nslow = { verdict = \"WRONG\", points = [1] }\n").find("slow.patch:3:"),
            std::string::npos);
  EXPECT_NE(surprise("story = \"x\"\n[items]\nsloww = { verdict = \"WRONG\", points = 0 }\n").find("'sloww'"),
            std::string::npos);
}

TEST(Skeleton, MustRunAndScoreLittle) {
  result r = graded("student");
  EXPECT_NE(surprises_of_skeleton(r), "");
  r.items[0] = item("right", verdict::wrong, 0, 40);
  EXPECT_EQ(surprises_of_skeleton(r), "");
  r.items[0].verdict = verdict::crash;
  EXPECT_NE(surprises_of_skeleton(r), "");
  EXPECT_EQ(surprises_of_skeleton(r, true), "");
  EXPECT_NE(surprises_of_solution(r), "");
}

TEST(Answers, MustBeWhatTheSolutionsCountersSay) {
  rubric rules;
  rules.items.resize(1);
  rules.items[0].predict.resize(1);
  rules.items[0].predict[0].factor = 2;
  result r = graded("solution");
  r.items.resize(1);
  r.items[0].predictions.resize(1);
  prediction_result& p = r.items[0].predictions[0];
  p.key = "k";
  p.right = 4;
  p.seen = 7;
  EXPECT_EQ(stale_answers(r, rules), "");
  p.seen = 9;
  EXPECT_EQ(stale_answers(r, rules),
            "k: answers.toml has 4, but the solution's counters give 9; run grader check --write\n");
}

TEST_F(Store, HintsPreferTheVerdict) {
  EXPECT_TRUE(read_hints(folder).empty());
  fs::create_directories(folder / "judge");
  std::ofstream(folder / "judge" / "hints.toml")
      << "[[hint]]\nitem = \"slow\"\ntext = [\"any\"]\n"
         "[[hint]]\nitem = \"slow\"\nverdict = \"TOO SLOW\"\ntext = [\"a\", \"b\"]\n"
         "[[hint]]\nitem = \"right\"\ntext = [\"never\"]\n";
  std::vector<item_result> items = graded("student").items;
  add_hints(items, read_hints(folder));
  EXPECT_EQ(items[1].hint, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(items[0].hint.empty());
}

TEST(Prediction, HasAsManyDigitsAsTellItFromTheRightOne) {
  prediction_result p;
  p.key = "sum.mixed";
  p.first = p.predicted = 10;
  p.right = 10.002136;
  EXPECT_EQ(p.text(), "sum.mixed: predicted 10, right is 10.002");
  p.first = 134217727;
  p.predicted = p.right = 134217728;
  EXPECT_EQ(p.text(), "sum.mixed: predicted 134,217,727, now 134,217,728, right is 134,217,728");
}

TEST(Hints, GoByWhatWasFoundBeforeTheItem) {
  const std::vector<hint> hints = {{"it", "", {}, {"the item's ladder"}},
                                   {"it", "WRONG", {}, {"its ladder for WRONG"}},
                                   {"it", "", {"is NaN"}, {"the item's own for a NaN"}},
                                   {"", "", {"is nan"}, {"NaN"}},
                                   {"", "", {"race in shared memory", "race between blocks"}, {"a race"}}};
  const auto given = [&](const std::string& id, const std::string& message) {
    std::vector<item_result> items = {item(id, verdict::wrong, 0, 4)};
    items[0].message = message;
    add_hints(items, hints);
    return items[0].hint.empty() ? "" : items[0].hint.front();
  };
  EXPECT_EQ(given("it", "tiled/33x65: x.cu:9: race in shared memory: load of 4 bytes"), "a race");
  EXPECT_EQ(given("it", "[3] is nan, should be 1"), "the item's own for a NaN");
  EXPECT_EQ(given("other", "[3] is nan, should be 1"), "NaN");
  EXPECT_EQ(given("it", "[3] is 2, should be 1"), "its ladder for WRONG");
  EXPECT_EQ(given("other", "[3] is 2, should be 1"), "");
}

TEST(Hints, AboutCountersAreNotForWrongResults) {
  std::vector<item_result> items = {item("it", verdict::wrong, 0, 4), item("it", verdict::wasteful, 2, 4)};
  for (item_result& i : items) i.kind = item_kind::counters;
  add_hints(items, {{"it", "", {}, {"how often is x loaded?"}}});
  EXPECT_TRUE(items[0].hint.empty());
  EXPECT_FALSE(items[1].hint.empty());
}

TEST(Hints, NoneWhereOnlyTheMachineIsNoisy) {
  std::vector<item_result> items = {item("it", verdict::inconclusive, 0, 10), item("it", verdict::inconclusive, 0, 10)};
  for (item_result& i : items) i.threshold = 0.9;
  items[0].figure = 1.01;
  items[1].figure = 0.6;
  add_hints(items, {{"it", "", {}, {"one float is under way"}}});
  EXPECT_TRUE(items[0].hint.empty());
  EXPECT_EQ(items[1].hint, (std::vector<std::string>{"one float is under way"}));
}

TEST(Hints, NoneForAnyVerdictFitsABuildError) {
  std::vector<item_result> items = {item("it", verdict::build_error, 0, 4)};
  add_hints(items, {{"it", "", {}, {"are your figures too small?"}}});
  EXPECT_TRUE(items[0].hint.empty());
  add_hints(items, {{"it", "BUILD ERROR", {}, {"which header?"}}});
  EXPECT_EQ(items[0].hint, (std::vector<std::string>{"which header?"}));
}

TEST_F(Store, LabsAreFoundByNumber) {
  fs::create_directories(folder / "labs" / "03_coalescing" / "judge");
  std::ofstream(folder / "labs" / "03_coalescing" / "judge" / "rubric.toml") << "\n";
  for (const char* name : {"3", "03", "03_coalescing"}) EXPECT_EQ(find_lab(folder, name).name, "03_coalescing");
  try {
    find_lab(folder, "99");
    FAIL();
  } catch (const input_error& error) {
    EXPECT_STREQ(error.what(), "no lab 99; labs here: 03");
  }
}

TEST_F(Store, WrongSubmissionsAreNamedByTheSolutionAndMadeInTheBuildFolder) {
  const fs::path solution = folder / "solutions" / "03_coalescing", wrong = solution / "wrong";
  fs::create_directories(wrong);
  std::ofstream(wrong / "slow.patch") << "story";
  fs::create_directories(solution / "handin");
  const lab_folder lab{"03", "03_coalescing", folder / "labs" / "03_coalescing"};
  const auto all = submissions_of(folder, folder / "build", lab);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].id, "solution");
  EXPECT_EQ(all[2].id, "wrong-slow");
  EXPECT_EQ(all[2].patch, wrong / "slow.patch");
  EXPECT_EQ(all[2].file("a.cu"), folder / "build" / "submissions" / "03_coalescing" / "wrong-slow" / "a.cu");
  EXPECT_EQ(submission_named(all, "wrong-slow", lab).path, all[2].path);
  EXPECT_THROW(submission_named(all, "slow", lab), input_error);
}

TEST_F(Store, ForgetsWhatIsGone) {
  result other = graded("wrong-old");
  other.lab = "04_fusion";
  store.merge({graded("student"), graded("wrong-old"), graded("wrong-new"), other});
  store.keep_only(graded("student").lab, {"student", "wrong-new"});
  EXPECT_EQ(store.load().size(), 3u) << "other labs' results stay";
}

TEST_F(Store, LosesNothingWhenSeveralWriteAtOnce) {
  constexpr int processes = 4, each = 5;
  for (int p = 0; p < processes; ++p)
    if (fork() == 0) {
      for (int i = 0; i < each; ++i) store.merge({graded("wrong-" + std::to_string(p) + "." + std::to_string(i))});
      _exit(0);
    }
  for (int p = 0; p < processes; ++p) wait(nullptr);
  EXPECT_EQ(store.load().size(), std::size_t{processes} * each);
}

}  // namespace
