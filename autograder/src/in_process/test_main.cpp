// GoogleTest front of a lab: one test for each item of its rubric, in one process with the submission. Quick, easy to
// debug, and not official: grades come from `grader`, which never loads the submission. `grader` also keeps the
// predictions: it locks them before it says what is right.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "course/handout.hpp"
#include "in_process/in_process_executor.hpp"
#include "judge/assess.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

namespace {

using namespace grading;

/// The file and line that an editor shows for a failure: those of the item.
struct rubric_text {
  std::string file, text;
  int line_of(const item& i) const {
    const std::size_t at = text.find(fmt::format("\nid = \"{}\"", i.id));
    return at == std::string::npos ? 1 : 2 + static_cast<int>(std::count(text.begin(), text.begin() + at, '\n'));
  }
};

/// Lives until the program ends: each test asks for its own item.
struct front {
  rubric_text text;
  rubric rules;
  grading_session session;
};

class item_test : public testing::Test {
 public:
  item_test(const item& what, front& of) : what_(what), rubric_(of.text), session_(of.session) {}

  void TestBody() override {
    const item_result result = assess(what_, session_);
    const std::string verdict =
        fmt::format("{}, {} of {} points: {}{}{}", name_of(result.verdict), points_text(result.points),
                    points_text(result.max_points), what_.title, result.message.empty() ? "" : "\n", result.message);
    if (!is_assessed(result.verdict)) GTEST_SKIP() << verdict;
    if (result.points < result.max_points - 1e-6)
      ADD_FAILURE_AT(rubric_.file.c_str(), rubric_.line_of(what_)) << verdict;
  }

 private:
  const item& what_;
  const rubric_text& rubric_;
  grading_session& session_;
};

const char* suite_of(item_kind kind) {
  switch (kind) {
    case item_kind::correctness: return "Correctness";
    case item_kind::counters: return "Counters";
    default: return "Throughput";
  }
}

void register_items(front& f) {
  const std::filesystem::path folder = lab_dir;
  f.text.file = folder / "judge" / "rubric.toml";
  f.text.text = text_of(f.text.file);
  f.rules = parse_rubric(f.text.text, "rubric.toml", lab::cases_of(lab_name), folder);
  expect_handin_as_listed(folder, f.rules.handin);
  f.session.rules = &f.rules;
  f.session.predictions = folder / "handin" / "predictions.toml";
  f.session.pairs = 11;  // results within seconds of an edit; the grader takes more pairs
  f.session.subjects.push_back(
      std::make_unique<subject>(this_backend(), std::make_unique<in_process_executor>(), /*seed=*/1));
  f.session.without_sim = "graded on the simulated device; this program runs on the GPU";
  f.session.without_cuda = "timed on a GPU; this program runs on the simulated device";
  for (const item& i : f.rules.items) {
    if (i.kind == item_kind::predictions || i.kind == item_kind::findings) continue;
    const bool host = !i.cases.empty() && i.cases.front()->where == lab::part::host;
    if (host && this_backend() == backend::cuda) continue;  // the same code as in the simulated device's program
    testing::RegisterTest(suite_of(i.kind), i.id.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [&i, &f]() -> testing::Test* { return new item_test(i, f); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (this_backend() == backend::cuda && !this_machine().contains("gpu")) {
    fmt::print("SKIPPED: no GPU on this machine\n");
    return 0;
  }
  front f;
  try {
    register_items(f);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
  if (!testing::GTEST_FLAG(list_tests)) fmt::print("unofficial: same process\n");
  return RUN_ALL_TESTS();
}
