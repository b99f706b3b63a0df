// Progress, what is next, hints one at a time, and putting files back.
#include "progress.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "terminal.hpp"
#include "toml_file.hpp"

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
  r.outcome = "graded";
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
    EXPECT_NE(std::string(error.what()).find("delete it to start anew"), std::string::npos) << error.what();
  }
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
  broken.outcome = "build_failed";
  note(p, broken);
  EXPECT_EQ(p.points, 4);
  EXPECT_EQ(p.items.at("a"), "PASS");
  EXPECT_EQ(p.next, "what does not build");
}

TEST(NextItem, IsTheBuildThenThePredictionsThenTheOrderOfTheRubric) {
  const item_result fine = item("fine", verdict::pass, 4), wrong = item("wrong", verdict::wrong, 0),
                    blank = item("blank", verdict::not_answered, 0), broken = item("broken", verdict::build_error, 0),
                    elsewhere = item("elsewhere", verdict::not_assessed, 0);
  EXPECT_EQ(next_item(graded({fine, elsewhere})), nullptr);
  EXPECT_EQ(next_item(graded({fine, elsewhere, wrong}))->id, "wrong");
  EXPECT_EQ(next_item(graded({wrong, blank}))->id, "blank");
  EXPECT_EQ(next_item(graded({wrong, blank, broken}))->id, "broken");
  // A pass below full marks, between two rungs, is work left too.
  EXPECT_EQ(next_item(graded({item("half", verdict::too_slow, 2)}))->id, "half");
}

TEST_F(Progress, WhatNoiseHidIsNotPassed) {
  const result r = graded({item("a", verdict::pass, 4), item("b", verdict::inconclusive, 0)});
  EXPECT_FALSE(passed(r));
  ASSERT_TRUE(next_item(r));
  EXPECT_EQ(next_item(r)->id, "b");
  EXPECT_TRUE(passed(graded({item("a", verdict::pass, 4), item("b", verdict::not_assessed, 0)})));
}

TEST_F(Progress, APassedLabThatDoesNotBuildIsNotShownAsPassed) {
  progress all;
  note(all["03_coalescing"], graded({item("a", verdict::pass, 4)}));
  result broken = graded({item("a", verdict::build_error, 0)});
  broken.outcome = "build_failed";
  note(all["03_coalescing"], broken);
  const std::string table = progress_table(all, {{"03_coalescing", "Coalescing"}}, 100, false);
  EXPECT_NE(table.find("next: what does not build"), std::string::npos) << table;
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
  EXPECT_EQ(next_hint(p, item("a", verdict::pass, 4)), "a lost no points");
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
  const fs::path lab = place / "labs" / "03_coalescing", backup = place / "backups" / "now";
  replace_file(lab / "a.cu", "mine");
  replace_file(lab / "b.cu", "skeleton b");
  EXPECT_EQ(reset_files(lab, {"a.cu", "b.cu"}, {{"a.cu", "skeleton a"}, {"b.cu", "skeleton b"}}, backup),
            (std::vector<std::string>{"a.cu: reset", "b.cu: unchanged since the start"}));
  EXPECT_EQ(text_of(lab / "a.cu"), "skeleton a");
  EXPECT_EQ(text_of(backup / "a.cu"), "mine");
  EXPECT_FALSE(fs::exists(backup / "b.cu"));
  // What it was is not known for one of them: nothing is changed.
  replace_file(lab / "a.cu", "mine again");
  EXPECT_THROW(reset_files(lab, {"a.cu", "b.cu"}, {{"a.cu", "skeleton a"}, {"b.cu", ""}}, backup), input_error);
  EXPECT_EQ(text_of(lab / "a.cu"), "mine again");
}

}  // namespace
