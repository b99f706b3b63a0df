// Progress, the next step, hints one at a time, and restoring files.
#include "student/progress.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "course/hints.hpp"
#include "report/terminal.hpp"
#include "student/attempts.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

struct Progress : testing::Test {
  fs::path place = fs::temp_directory_path() / ("progress-test-" + std::to_string(getpid()));
  void SetUp() override { fs::create_directories(place); }
  void TearDown() override { fs::remove_all(place); }
};

item_result item(std::string id, verdict v, double points, double of = 4) {
  item_result i;
  i.id = std::move(id);
  i.verdict = v;
  i.points = points;
  i.max_points = of;
  if (v != verdict::pass) i.hint = {"one", "two", "three"};
  return i;
}

result graded(std::vector<item_result> items) {
  result r;
  r.lab = "03_coalescing";
  r.outcome = outcome::graded;
  r.date = "2026-11-21T12:00:00Z";
  r.items = std::move(items);
  return r;
}

TEST_F(Progress, IsWhatWasWritten) {
  progress all;
  note(all["03_coalescing"], graded({item("a", verdict::pass, 4), item("b", verdict::wrong, 1.5)}));
  all["03_coalescing"].hints["b"] = 2;
  write_progress(place / "progress.toml", all);
  const progress back = read_progress(place / "progress.toml");
  const lab_progress& p = back.at("03_coalescing");
  EXPECT_EQ(p.points, 5.5);
  EXPECT_EQ(p.out_of, 8);
  EXPECT_EQ(p.graded, 1);
  EXPECT_EQ(p.next, "b");
  EXPECT_EQ(p.passed, "");
  EXPECT_EQ(p.items.at("b"), "WRONG");
  EXPECT_EQ(p.hints.at("b"), 2);
  EXPECT_TRUE(read_progress(place / "none.toml").empty());
}

TEST_F(Progress, SaysWhatIsWrongWithItsFileAndWhatToDo) {
  std::ofstream(place / "progress.toml") << "labs = 3\n";
  try {
    read_progress(place / "progress.toml");
    FAIL();
  } catch (const input_error& error) {
    EXPECT_NE(std::string(error.what()).find("delete it to start over"), std::string::npos) << error.what();
  }
}

/// Whatever an editor or a merge has changed in the file, either reading it fails, or the progress can be shown,
/// give hints and be written.
TEST_F(Progress, RandomMutationsAreReadOrToldButNeverCrash) {
  const fs::path file = place / "progress.toml";
  progress all;
  note(all["03_coalescing"], graded({item("a", verdict::pass, 4), item("b", verdict::wrong, 1.5)}));
  all["03_coalescing"].hints["b"] = 2;
  write_progress(file, all);
  const std::string valid = text_of(file);
  const item_result lost = item("b", verdict::wrong, 0);
  std::mt19937 engine(1);
  const std::string alphabet = "[]{}=\"',.#/ \n-+0159einfax\\\xff" + std::string(1, '\0');
  const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(engine); };
  int told = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string text = valid;
    for (std::size_t edits = 1 + below(3); edits > 0 && !text.empty(); --edits) {
      const std::size_t at = below(text.size()), length = std::min(text.size() - at, 1 + below(20));
      switch (below(4)) {
        case 0: text[at] = alphabet[below(alphabet.size())]; break;
        case 1: text.erase(at, length); break;
        case 2: text.insert(at, text.substr(below(text.size()), 1 + below(30))); break;
        default: text.insert(at, below(2) ? "99999999999" : "-");
      }
    }
    std::ofstream(file, std::ios::binary) << text;
    try {
      progress got = read_progress(file);
      progress_table(got, {{"03_coalescing", "Coalescing"}}, 80, false);
      EXPECT_EQ(next_hint(got["03_coalescing"], lost).substr(0, 5), "hint ");
    } catch (const input_error& error) {
      ++told;
      EXPECT_EQ(std::string(error.what()).rfind("progress.toml:", 0), 0u) << error.what();
    }
  }
  EXPECT_GT(told, 200);
  EXPECT_LT(told, 950);
}

TEST_F(Progress, KeepsTheBestAndTheFirstPass) {
  lab_progress p;
  note(p, graded({item("a", verdict::pass, 4)}));
  EXPECT_EQ(p.passed, "2026-11-21T12:00:00Z");
  result worse = graded({item("a", verdict::wrong, 0)});
  worse.date = "2026-11-22T12:00:00Z";
  note(p, worse);
  EXPECT_EQ(p.points, 0);
  EXPECT_EQ(p.best, 4);
  EXPECT_EQ(p.graded, 2);
  EXPECT_EQ(p.passed, "2026-11-21T12:00:00Z");
}

TEST_F(Progress, KeepsThePointsWhereTheFilesDoNotBuild) {
  lab_progress p;
  note(p, graded({item("a", verdict::pass, 4), item("b", verdict::wrong, 0)}));
  result broken = graded({item("a", verdict::build_error, 0), item("b", verdict::build_error, 0)});
  broken.outcome = outcome::build_failed;
  note(p, broken);
  EXPECT_EQ(p.points, 4);
  EXPECT_EQ(p.items.at("a"), "PASS");
  EXPECT_EQ(p.next, "fix the build");
}

TEST(NextItem, IsTheBuildThenThePredictionsThenTheOrderOfTheRubric) {
  const item_result fine = item("fine", verdict::pass, 4), wrong = item("wrong", verdict::wrong, 0),
                    blank = item("blank", verdict::not_answered, 0), broken = item("broken", verdict::build_error, 0),
                    elsewhere = item("elsewhere", verdict::not_assessed, 0);
  EXPECT_EQ(next_item(graded({fine, elsewhere})), nullptr);
  EXPECT_EQ(next_item(graded({fine, elsewhere, wrong}))->id, "wrong");
  EXPECT_EQ(next_item(graded({wrong, blank}))->id, "blank");
  EXPECT_EQ(next_item(graded({wrong, blank, broken}))->id, "broken");
  item_result later = blank, compared = fine;
  later.predictions.resize(1);
  compared.predictions.resize(1);
  compared.predictions[0].state = prediction_state::first_try;
  EXPECT_EQ(next_item(graded({wrong, later}))->id, "blank");
  EXPECT_EQ(next_item(graded({compared, wrong, later}))->id, "wrong")
      << "the second sitting's predictions wait for their turn";
  // A pass below full marks, between two rungs, still leaves work.
  EXPECT_EQ(next_item(graded({item("half", verdict::too_slow, 2)}))->id, "half");
}

TEST_F(Progress, WhatNoiseHidIsNotPassed) {
  item_result unclear = item("b", verdict::inconclusive, 1);
  unclear.most_points = 3;
  const result r = graded({item("a", verdict::pass, 4), unclear});
  EXPECT_FALSE(passed(r));
  ASSERT_TRUE(next_item(r));
  EXPECT_EQ(next_item(r)->id, "b");
  EXPECT_EQ(score_text(r), "between 5 and 7 of 8 points");
  EXPECT_EQ(next_item(graded({unclear, item("c", verdict::wrong, 0)}))->id, "c")
      << "an item hidden by noise comes last";
  EXPECT_TRUE(passed(graded({item("a", verdict::pass, 4), item("b", verdict::not_assessed, 0)})));
}

TEST_F(Progress, APassedLabThatDoesNotBuildIsNotShownAsPassed) {
  progress all;
  note(all["03_coalescing"], graded({item("a", verdict::pass, 4)}));
  result broken = graded({item("a", verdict::build_error, 0)});
  broken.outcome = outcome::build_failed;
  note(all["03_coalescing"], broken);
  const std::string table = progress_table(all, {{"03_coalescing", "Coalescing"}}, 100, false);
  EXPECT_NE(table.find("next: fix the build"), std::string::npos) << table;
}

TEST(Hints, ComeOneAtATimeAndStartAnewOnceTheItemPassed) {
  lab_progress p;
  const item_result wrong = item("b", verdict::wrong, 0);
  EXPECT_EQ(next_hint(p, wrong), "hint 1 of 3 for b: one");
  EXPECT_EQ(next_hint(p, wrong), "hint 2 of 3 for b: two");
  EXPECT_EQ(next_hint(p, wrong), "hint 3 of 3 for b: three");
  EXPECT_EQ(next_hint(p, wrong), "hint 3 of 3 for b, the last: three");
  note(p, graded({item("b", verdict::pass, 4)}));
  EXPECT_EQ(next_hint(p, wrong), "hint 1 of 3 for b: one");
  EXPECT_EQ(next_hint(p, item("a", verdict::pass, 4)), "a has passed");
}

TEST(Hints, ThereAreForWhatCouldNotBeDecidedToo) {
  for (const verdict v : {verdict::inconclusive, verdict::not_assessed}) {
    std::vector<item_result> items{item("b", v, 0)};
    items[0].hint.clear();
    add_hints(items, {{"b", "TOO SLOW", {}, {"one", "two", "three"}}});
    lab_progress p;
    EXPECT_EQ(next_hint(p, items[0]), "hint 1 of 3 for b: one");
  }
}

TEST(Hints, OfAFixWaitForTheCause) {
  rubric rules;
  rules.items.resize(2);
  rules.items[0].id = "x_found";
  rules.items[0].kind = item_kind::findings;
  rules.items[0].program = "x";
  rules.items[1].id = "x_fixed";
  rules.items[1].follows = "x_found";
  std::vector<item_result> items{item("x_found", verdict::wrong, 0), item("x_fixed", verdict::wrong, 0)};
  const std::vector<hint> hints = {{"x_found", "", {}, {"where?", "", ""}},
                                   {"x_fixed", "", {}, {"one", "two", "three"}}};
  lab_progress p;
  add_hints(items, hints);
  hold_causes(items, rules, {});
  EXPECT_EQ(items[0].hint.front(), "where?");
  const std::string first =
      "First name a cause for x in findings.toml. The hints for its fix unlock once you have named one.";
  for (int i = 0; i < 2; ++i) EXPECT_EQ(next_hint(p, items[1]), first);
  add_hints(items, hints);
  hold_causes(items, rules, {"x"});
  EXPECT_EQ(next_hint(p, items[1]), "hint 1 of 3 for x_fixed: one") << "the first was none";
}

TEST(Hints, WhatAFailingCaseSaysWaitsForTheCauseToo) {
  rubric rules;
  rules.items.resize(4);
  rules.items[0].id = "x_found";
  rules.items[0].kind = item_kind::findings;
  rules.items[0].program = "x";
  const std::vector<std::string> ids = {"x_fixed", "x_kept", "x_other"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    rules.items[i + 1].id = ids[i];
    rules.items[i + 1].follows = "x_found";
  }
  std::vector<item_result> items{item("x_fixed", verdict::crash, 0), item("x_kept", verdict::wasteful, 0),
                                 item("x_other", verdict::wasteful, 0)};
  for (item_result& i : items) {
    i.message = "too many threads";
    i.advice = {"fewer threads"};
    i.figure = 2;
    i.threshold = 5;
  }
  items[1].kind = item_kind::counters;
  items[1].conditions.resize(1);
  hold_causes(items, rules, {"x"});
  for (const item_result& i : items) EXPECT_EQ(i.message, "too many threads");
  hold_causes(items, rules, {});
  const std::string later = "why is shown once you have named a cause for x in findings.toml";
  EXPECT_EQ(items[0].message, "3 of 5 cases fail; which and " + later);
  EXPECT_TRUE(items[0].advice.empty());
  EXPECT_EQ(items[1].message, "its case misses the bar; " + later);
  EXPECT_TRUE(items[1].conditions.empty());
  EXPECT_FALSE(items[1].threshold);
  EXPECT_EQ(items[2].message, "too many threads") << "right, but with too many changes";
}

TEST(Hints, AreNotPickedByTheStudentsWords) {
  std::vector<item_result> items{item("x_found", verdict::wrong, 0)};
  items[0].kind = item_kind::findings;
  items[0].message = "wrong for 'ann': cause. 'misaligned vectors' is not one of the causes in the handout";
  const std::vector<hint> hints = {{"", "", {"misaligned"}, {"16 bytes", "", ""}},
                                   {"x_found", "", {}, {"where?", "", ""}}};
  add_hints(items, hints);
  EXPECT_EQ(items[0].hint.front(), "where?");
}

/// Hints for the reports of the crashed programs, and for reports after a wrong fix.
TEST(Hints, OfLab13AreAboutTheItem) {
  const std::vector<hint> hints = read_hints(fs::path(LAB_SOURCE_DIR) / "labs" / "13_when_it_crashes");
  for (const auto& [id, message] :
       {std::pair{"kv_scores_fixed", "global load of 4 bytes out of bounds, 0 bytes past the end of input `keys`"},
        {"group_scales_fixed", "global load of 4 bytes that were never written. Only ragged sizes fail: every `n`"},
        {"long_rows_fixed", "global load of 4 bytes after cudaFree. Only large sizes fail: every `rows` above 9."},
        {"slot_rows_fixed",
         "load of 1 bytes at 0x1f, which is not device memory; is it a host pointer, null, or below all arrays?"}}) {
    std::vector<item_result> items{item(id, verdict::wrong, 0)};
    items[0].message = message;
    add_hints(items, hints);
    const auto from = std::find_if(hints.begin(), hints.end(), [&](const hint& h) { return h.text == items[0].hint; });
    ASSERT_NE(from, hints.end());
    EXPECT_EQ(from->item, id) << items[0].hint.front();
  }
}

struct Locked : Progress {
  lab::test_case about;
  rubric rules;
  fs::path file = place / "predictions.toml", kept = place / "progress.toml";
  void SetUp() override {
    Progress::SetUp();
    grading::item what;
    what.kind = item_kind::predictions;
    what.predict.resize(2);
    what.predict[0].key = "a.one";
    what.predict[1].key = "a.two";
    rules.items = {what};
  }
  locked_predictions lock() { return lock_predictions(kept, "03_coalescing", rules, file); }
};

TEST_F(Locked, TheFirstCompleteSetIsKeptWithItsTime) {
  EXPECT_TRUE(lock().date.empty()) << "no file";
  replace_file(file, "[a]\none = 1\ntwo = nan\n");
  EXPECT_TRUE(lock().date.empty());
  EXPECT_FALSE(fs::exists(kept));
  replace_file(file, "[a]\none = 1\ntwo = 2.5\n");
  const locked_predictions first = lock();
  EXPECT_EQ(first.date.size(), 20u) << first.date;
  EXPECT_EQ(first.values, (prediction_set{{"a.one", 1}, {"a.two", 2.5}}));
  replace_file(file, "[a]\none = 8\ntwo = 9\n");
  EXPECT_EQ(lock().values, first.values);
  EXPECT_EQ(lock().date, first.date);
  progress all = read_progress(kept);
  note(all["03_coalescing"], graded({item("b", verdict::wrong, 0)}));
  write_progress(kept, all);
  EXPECT_EQ(lock().values, first.values) << "a grading keeps the first set";
  rules.items[0].predict.resize(3);
  rules.items[0].predict[2].key = "a.three";
  EXPECT_FALSE(lock().values.contains("a.three")) << "the rubric asks for a key that was not locked";
  replace_file(file, "[a]\none = 8\ntwo = 9\nthree = 3\n");
  EXPECT_EQ(lock().values, (prediction_set{{"a.one", 1}, {"a.two", 2.5}, {"a.three", 3}})) << "locked answers stay";
  EXPECT_EQ(lock().date, first.date);
}

TEST_F(Locked, EachSittingIsLockedOnItsOwn) {
  rules.items.push_back(rules.items[0]);
  rules.items[1].sitting = 2;
  rules.items[1].predict.resize(1);
  rules.items[1].predict[0].key = "b.one";
  replace_file(file, "[a]\none = nan\ntwo = 2\n[b]\none = 3\n");
  EXPECT_EQ(lock().values, (prediction_set{{"b.one", 3}})) << "a.one is missing";
  replace_file(file, "[a]\none = 1\ntwo = 2\n[b]\none = 9\n");
  EXPECT_EQ(lock().values, (prediction_set{{"a.one", 1}, {"a.two", 2}, {"b.one", 3}}));
}

TEST_F(Locked, TheFirstCauseOfEachProgramIsKept) {
  rules.causes = {"race", "off by one"};
  rules.items.resize(2);
  rules.items[0] = {}, rules.items[1] = {};
  rules.items[0].program = "x", rules.items[1].program = "y";
  const fs::path findings = place / "findings.toml";
  replace_file(findings, "[x]\ncause = \"\"\n[y]\ncause = \"rase\"\n");
  EXPECT_TRUE(lock().values.empty());
  replace_file(findings, "[x]\ncause = \"off by one\"\n");
  EXPECT_EQ(lock().values, (prediction_set{{"x.cause", 1}}));
  replace_file(findings, "[x]\ncause = \"race\"\n[y]\ncause = \"race\"\n");
  EXPECT_EQ(lock().values, (prediction_set{{"x.cause", 1}, {"y.cause", 0}}));
  EXPECT_EQ(read_progress(kept)["03_coalescing"].locked.values.size(), 2u);
}

TEST_F(Locked, TheFirstCompleteSetInAHistoryIsEachStudents) {
  const auto graded_with = [](const char* who, const char* date, const prediction_set& made) {
    result r = graded({item("p", verdict::not_answered, 0)});
    r.submission = who;
    r.date = date;
    for (const auto& [key, value] : made) {
      r.items[0].predictions.emplace_back().key = key;
      if (!std::isnan(value)) r.items[0].predictions.back().predicted = value;
    }
    return r;
  };
  const auto first = first_complete(
      {graded_with("ann", "1", {{"a.one", 1}, {"a.two", NAN}}),  // one is missing
       graded_with("bob", "1", {{"a.one", 3}, {"a.two", 4}}), graded_with("ann", "2", {{"a.one", 5}, {"a.two", 6}}),
       graded_with("ann", "3", {{"a.one", 7}, {"a.two", 8}}), graded_with("cat", "3", {}),
       graded_with("bob", "4", {{"a.one", 7}, {"a.two", 8}, {"a.three", 9}})});  // a later version asks for more
  ASSERT_EQ(first.size(), 2u);
  EXPECT_EQ(first.at("ann").date, "2");
  EXPECT_EQ(first.at("ann").values.at("a.two"), 6);
  EXPECT_EQ(first.at("bob").date, "1");
  EXPECT_EQ(first.at("bob").values, (prediction_set{{"a.one", 3}, {"a.two", 4}, {"a.three", 9}}));
}

TEST_F(Locked, AFileThatIsNotTomlLocksNothing) {
  replace_file(file, "[a\n");
  EXPECT_TRUE(lock().date.empty());
}

TEST_F(Progress, CorrectedPredictionsAreDoneThoughPointsAreLost) {
  item_result corrected = item("p", verdict::pass, 3);
  EXPECT_TRUE(passed(graded({item("a", verdict::pass, 4), corrected})));
  EXPECT_EQ(next_item(graded({corrected})), nullptr);
  EXPECT_FALSE(passed(graded({item("p", verdict::pending, 3)})));
}

TEST_F(Progress, WhatIsSeenIsShownOnlyAfterTheLock) {
  result r = graded({item("p", verdict::not_answered, 0)});
  r.items[0].predictions.resize(1);
  replace_file(place / "03_coalescing" / "SEEN.md", "seen");
  EXPECT_EQ(after_the_lock(r, place / "03_coalescing"), "");
  r.items[0].predictions[0].state = prediction_state::wrong;
  EXPECT_EQ(after_the_lock(r, place / "03_coalescing"),
            "your predictions are locked; labs/03_coalescing/SEEN.md says what you should see, and why\n");
  EXPECT_EQ(after_the_lock(r, place / "nowhere"), "");
}

TEST(ChangedItems, AreThoseWithAnotherVerdictOrOtherPoints) {
  const result before = graded(
      {item("same", verdict::wrong, 0), item("better", verdict::wrong, 0), item("partly", verdict::too_slow, 2)});
  const result after =
      graded({item("same", verdict::wrong, 0), item("better", verdict::pass, 4), item("partly", verdict::too_slow, 3)});
  const std::string text = changed_items(before, after, {80, false});
  EXPECT_EQ(text.find("same"), std::string::npos);
  EXPECT_NE(text.find("PASS         better"), std::string::npos) << text;
  EXPECT_NE(text.find("+4 points"), std::string::npos) << text;
  EXPECT_NE(text.find("was WRONG"), std::string::npos) << text;
  EXPECT_NE(text.find("+1 points"), std::string::npos) << text;
  EXPECT_EQ(changed_items(after, after, {80, false}), "  nothing changed\n");
}

TEST(ProgressTable, FitsItsWidthAndSaysWhatIsNext) {
  progress all;
  note(all["03_coalescing"], graded({item("a", verdict::pass, 4), item("b", verdict::wrong, 0)}));
  for (const int width : {80, 120}) {
    const std::string text = progress_table(
        all, {{"03_coalescing", "Coalescing: what a warp asks for"}, {"04_fusion", "Fusion"}}, width, false);
    EXPECT_NE(text.find("########........"), std::string::npos) << text;
    EXPECT_NE(text.find("next: b"), std::string::npos) << text;
    EXPECT_NE(text.find("not begun"), std::string::npos) << text;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), static_cast<std::size_t>(width) + 2);
  }
}

TEST_F(Progress, ResetPutsFilesBackAndKeepsWhatWasThere) {
  const fs::path lab = place / "labs" / "03_coalescing" / "handin", backup = place / "backups" / "now";
  replace_file(lab / "a.cu", "mine");
  replace_file(lab / "b.cu", "skeleton b");
  EXPECT_EQ(reset_files(lab, {{"a.cu", "skeleton a"}, {"b.cu", "skeleton b"}}, backup),
            (std::vector<std::string>{"a.cu: reset", "b.cu: unchanged since the start"}));
  EXPECT_EQ(text_of(lab / "a.cu"), "skeleton a");
  EXPECT_EQ(text_of(backup / "a.cu"), "mine");
  EXPECT_FALSE(fs::exists(backup / "b.cu"));
  // The originals are unknown, so nothing changes.
  replace_file(lab / "a.cu", "mine again");
  EXPECT_THROW(reset_files(lab, {}, backup), input_error);
  EXPECT_EQ(text_of(lab / "a.cu"), "mine again");
}

TEST_F(Progress, EveryGradingIsALine) {
  const fs::path file = place / "attempts.jsonl";
  EXPECT_TRUE(read_attempts(file).all.empty());
  result r = graded({item("tiled_correct", verdict::wrong, 0), item("sectors", verdict::wasteful, 1)});
  r.items[1].figure = 32;
  r.items[1].what = "sectors per load request";
  keep_attempt(file, attempt_of(r));
  std::ofstream(file, std::ios::app) << "{\"lab\": \"03_coal\n";  // cut off
  r.items[0].verdict = r.items[1].verdict = verdict::pass;
  r.items[0].points = r.items[1].points = 4;
  r.items[1].figure = 4;
  keep_attempt(file, attempt_of(r));
  const attempts made = read_attempts(file);
  EXPECT_EQ(made.unreadable, 1);
  ASSERT_EQ(made.all.size(), 2u);
  EXPECT_EQ(made.all[0].points, 1);
  EXPECT_EQ(made.all[1].points, 8);
  EXPECT_EQ(made.all[1].items[1].what, "sectors per load request");
  EXPECT_EQ(made.all[0].items[0].verdict, verdict::wrong);
}

TEST_F(Progress, ThePageOfAttemptsTellsHowEachItemWent) {
  attempts made;
  result r = graded({item("tiled_correct", verdict::wrong, 0), item("sectors", verdict::wasteful, 1)});
  r.lab_title = "Coalescing <&>";
  r.items[1].figure = 32;
  r.items[1].what = "sectors per load request";
  made.all.push_back(attempt_of(r));
  r.outcome = outcome::build_failed;
  made.all.push_back(attempt_of(r));
  r.outcome = outcome::graded;
  r.items[0].verdict = r.items[1].verdict = verdict::pass;
  r.items[1].figure = 4;
  prediction_result p;
  p.key = "banks.pitch_33";
  p.first = 2;
  p.predicted = 1;
  p.state = prediction_state::corrected;
  r.items[0].predictions = {p};
  r.submission = "student";
  made.all.push_back(attempt_of(r));
  const std::string page = attempts_page(made, {r});
  for (const char* want : {"Coalescing &lt;&amp;&gt;", "3 gradings", "32 to 4 sectors per load request",
                           "1 WRONG, then 1 not built, then 1 PASS", "nothing was built", "banks.pitch_33", "corrected",
                           R"(<i class="bad")", R"(<i class="good")", R"(<i class="none")"})
    EXPECT_NE(page.find(want), std::string::npos) << want;
  EXPECT_EQ(page.find("font-size=\""), std::string::npos) << "the style sheet sets it, larger on a phone";
  EXPECT_EQ(page.find("{{"), std::string::npos);
  EXPECT_NE(attempts_page({}, {}).find("No lab has been graded yet"), std::string::npos);
}

TEST_F(Progress, APageOfManyAttemptsStaysSmall) {
  attempts made;
  for (int i = 0; i < 500; ++i) made.all.push_back(attempt_of(graded({item("sectors", verdict::pass, 4)})));
  const std::string page = attempts_page(made, {});
  EXPECT_NE(page.find("the squares show the last 60"), std::string::npos);
  EXPECT_LT(page.size(), 200'000u);
}

}  // namespace
