#include "demo/expected.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "support/text.hpp"

namespace grading {
namespace {

constexpr double slack = 0.005;  // a third of 20 points is written as 6.67
constexpr double most_for_a_skeleton = 25;

std::string got_text(const item_result& item) {
  return fmt::format("{}: {}, {} points", item.id, name_of(item.verdict), points_text(item.points));
}

/// Whether this machine or its noise decided the verdict.
bool cannot_tell(const item_result& item) {
  return !is_assessed(item.verdict) || item.verdict == verdict::inconclusive;
}

std::string compared_with_full(const item_result& item) {
  if (cannot_tell(item) || item.points >= item.max_points - slack) return {};
  return fmt::format("{}, expected all {}\n", got_text(item), points_text(item.max_points));
}

}  // namespace

std::string surprise(const item_result& item, const expected_item& want) {
  if (cannot_tell(item)) return {};
  const bool points_fit = item.points >= want.least - slack && item.points <= want.most + slack;
  const bool verdict_fits = std::count(want.verdicts.begin(), want.verdicts.end(), item.verdict) > 0;
  if (verdict_fits && points_fit) return {};
  std::string verdicts;
  for (const verdict v : want.verdicts) add_to_list(verdicts, " or ", name_of(v));
  const std::string range = want.least == want.most
                                ? points_text(want.least)
                                : fmt::format("{} to {}", points_text(want.least), points_text(want.most));
  return fmt::format("{}, expected {}, {} points\n", got_text(item), verdicts, range);
}

std::string surprises(const result& got, const expectation& want) {
  std::string text;
  const auto all = want.items.find("all");
  for (const item_result& item : got.items) {
    const auto named = want.items.find(item.id);
    if (named != want.items.end())
      text += surprise(item, named->second);
    else
      text += all != want.items.end() ? surprise(item, all->second) : compared_with_full(item);
  }
  for (const auto& [id, ignored] : want.items) {
    const bool known = id == "all" || std::any_of(got.items.begin(), got.items.end(),
                                                  [&id = id](const item_result& item) { return item.id == id; });
    if (!known) text += fmt::format("its patch names an item '{}', which the rubric does not have\n", id);
  }
  return text;
}

std::string surprises_of_solution(const result& got) {
  std::string text;
  for (const item_result& item : got.items) {
    text += compared_with_full(item);
    for (const std::string& advice : item.advice)
      text += fmt::format("{}: gets the advice \"{}\"; fix it, or list its kind under by_design in rubric.toml\n",
                          item.id, advice);
  }
  return text;
}

std::string stale_answers(const result& of_solution, const rubric& rules) {
  std::string text;
  for (std::size_t k = 0; k < of_solution.items.size(); ++k)
    for (std::size_t j = 0; j < of_solution.items[k].predictions.size(); ++j) {
      const prediction_result& r = of_solution.items[k].predictions[j];
      if (r.right && !(r.seen && rules.items[k].predict[j].allows(*r.right, *r.seen)))
        text += fmt::format("{}: answers.toml has {}, but the solution's counters give {}; run grader check --write\n",
                            r.key, figure_text(*r.right), r.seen ? figure_text(*r.seen) : "nothing");
    }
  return text;
}

std::string surprises_of_skeleton(const result& got, bool may_crash) {
  std::string text;
  for (const item_result& item : got.items) {
    const bool fell = (item.verdict == verdict::crash && !may_crash) || item.verdict == verdict::timeout ||
                      item.verdict == verdict::build_error;
    if (fell) text += fmt::format("{}: a skeleton must build, run and return\n", got_text(item));
  }
  if (got.score() > most_for_a_skeleton + slack)
    text +=
        fmt::format("a skeleton must score at most {} points, not {}\n", most_for_a_skeleton, points_text(got.score()));
  return text;
}

std::string surprises_of(const result& got, const lab_folder& lab, const submission& who) {
  if (who.id == "solution") return surprises_of_solution(got) + stale_answers(got, read_rubric(lab));
  if (who.id == "student") return surprises_of_skeleton(got, std::filesystem::exists(lab.crashed()));
  return surprises(got, read_expectation(who.patch));
}

}  // namespace grading
