// ./course debug NN ITEM: one item of a lab's rubric, in one process with the submission, on the simulated device. Not
// official; only calls the submission, and omits everything else that the item needs.
#include <fmt/format.h>

#include "in_process/in_process_executor.hpp"
#include "judge/assess.hpp"
#include "support/files.hpp"
#include "support/text.hpp"

int main(int argc, char** argv) try {
  using namespace grading;
  const std::filesystem::path folder = lab_dir;
  const rubric rules =
      parse_rubric(text_of(folder / "judge" / "rubric.toml"), "rubric.toml", lab::cases_of(lab_name), folder);
  const item* what = argc == 2 ? rules.find(argv[1]) : nullptr;
  if (!what) throw input_error("give an item's id from rubric.toml");
  grading_session session;
  session.rules = &rules;
  session.predictions = folder / "handin" / "predictions.toml";
  session.pairs = 11;
  session.subjects.push_back(
      std::make_unique<subject>(this_backend(), std::make_unique<in_process_executor>(), /*seed=*/1));
  session.without_cuda = "timed on a GPU; this program runs on the simulated device";
  const item_result got = assess(*what, session);
  fmt::print("unofficial: same process\n{}, {} of {} points: {}\n{}\n", name_of(got.verdict), points_text(got.points),
             points_text(got.max_points), what->title, got.message);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
