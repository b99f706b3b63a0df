// The scoreboard agrees with the results and rejects a bar that names nothing.
#include "staff/scoreboard.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "lab/case.hpp"
#include "support/files.hpp"

namespace {

using namespace grading;
namespace fs = std::filesystem;

const lab::case_registration registration{"91_board", [] {
                                            std::vector<lab::test_case> all(3);
                                            const char* ids[] = {"f/1", "f/2", "g/2"};
                                            for (std::size_t i = 0; i < all.size(); ++i) all[i].id = ids[i];
                                            return all;
                                          }};

std::string item(const std::string& id, const std::string& rest) {
  return "[[item]]\nid = \"" + id + "\"\ntitle = \"t\"\npoints = 25\n" + rest;
}

/// A course with one lab, its bars, and one machine's result for the lab.
class scoreboard_test : public testing::Test {
 protected:
  void SetUp() override {
    replace_file(source_ / "labs/91_board/handin/a.cu", "//\n");
    const std::string right = "kind = \"correctness\"\ncases = [\"f/1\"]\n";
    replace_file(
        source_ / "labs/91_board/judge/rubric.toml",
        "[lab]\nid = \"91_board\"\ntitle = \"t\"\nquestion = \"q\"\nlearn = \"l\"\nneeds = \"n\"\nhours = \"1\"\n" +
            item("a", right) + item("b", right) + item("c", right) +
            item("d",
                 "kind = \"counters\"\ncase = \"f/1\"\nrequire = [\n{ counter = \"warps\", max = 10 },\n"
                 "{ counter = \"warps\", note = \"more\", min = 10 },\n"
                 "{ counter = \"barriers per warp\", note = \"not read on this GPU\", max = 1 }]\n"));
    replace_file(source_ / "solutions/results/gpu/lab91.json", R"({
      "environment": {"date": "2026-11-21T01:55:03Z", "gpu": "NVIDIA X", "max_sm_clock": "1000 MHz"},
      "environment_after": {"sm_clock": "900 MHz"},
      "correctness": [{"case": "f/1", "wrong": ""}, {"case": "f/2", "wrong": "all of it"}],
      "counters": [{"case": "f/1", "wrong": "", "metrics": {"smsp__warps_launched.sum": 5}},
                   {"case": "g/2", "wrong": "", "metrics": {"smsp__warps_launched.sum": 20}}],
      "throughput": [{"case": "f/1", "wrong": "", "bytes": 4e9, "flops": 512e9, "call_seconds": {"median": 2e-3},
                      "ceiling_seconds": {"median": 1e-3}, "ratio_to_copy": {"median": 0.5, "p10": 0.4, "p90": 0.6}},
                     {"case": "g/2", "wrong": "", "bytes": 0, "flops": 1, "call_seconds": {"median": 6e-3},
                      "ceiling_seconds": {"median": 1e-3}, "ratio_to_copy": null,
                      "ratio_to_threads": {"median": 5, "p10": 4, "p90": 6}}]})");
    replace_file(source_ / "solutions/results/gpu/gpt2.json", R"({"times": {"fp32, B1 T2": {
      "ours, graph": {"median_ms": 2, "p10_ms": 1.5, "p90_ms": 3}, "PyTorch": {"median_ms": 5}}}})");
    replace_file(source_ / "solutions/results/gpu/tables91.json", R"({"model": {"2 x 3": {"mean": 0.03125}}})");
    replace_file(source_ / "solutions/results/gpu/ceilings.json", R"({"device": {"multiprocessors": 2000}})");
  }
  void TearDown() override { fs::remove_all(source_); }

  /// The scoreboard's row for one bar.
  std::string row(const std::string& bar) {
    replace_file(source_ / "solutions/bars.toml", "[[bar]]\nlab = \"91\"\nwhat = \"w\"\n" + bar);
    const std::string board = scoreboard(source_);
    const std::size_t begin = board.find("| 91 | w |");
    return begin == std::string::npos ? board : board.substr(begin, board.find('\n', begin) - begin);
  }

  const fs::path source_ = fs::temp_directory_path() / ("scoreboard_test_" + std::to_string(getpid()));
};

TEST_F(scoreboard_test, figures_bars_and_aims) {
  EXPECT_EQ(row("case = \"f/1\"\nof = \"copy\"\nleast = 0.5\nmoonshot = 0.6"),
            "| 91 | w | 0.5000 (0.4000 to 0.6000) | copy: 1.000 ms, 4000 GB/s | ≥ 0.5: met | ≥ 0.6: **not met** |");
  // A case without bytes has no rate.
  EXPECT_EQ(row("case = \"g/2\"\nof = \"threads\"\nleast = 5"),
            "| 91 | w | 5.000 (4.000 to 6.000) | threads: 1.000 ms | ≥ 5: met |  |");
  EXPECT_EQ(row("case = \"f/1\"\nof = [\"g/2\"]\nleast = 4"), "| 91 | w | 3.000 | 6.000 ms | ≥ 4: **not met** |  |");
  EXPECT_EQ(row("case = [\"f/1\", \"g/2\"]\nof = [\"g/2\"]\nmost = 1.3\nmetric = \"smsp__warps_launched.sum\""),
            "| 91 | w | 1.250 | 20.00 | ≤ 1.3: met |  |");
  // 512 GFLOP in 2 ms, relative to a peak of 2000 x 128 x 2 x 1 GHz.
  EXPECT_EQ(row("case = \"f/1\"\nof = \"fp32_peak\"\nleast = 0.4"),
            "| 91 | w | 0.5000 | 512 TFLOP/s: 2000 × 128 lanes × 2 × 1000 MHz | ≥ 0.4: met |  |");
}

TEST_F(scoreboard_test, passes_of_gpt2) {
  EXPECT_EQ(row("pass = \"fp32, B1 T2\"\nof = \"PyTorch\"\nleast = 2"),
            "| 91 | w | 2.500 (1.667 to 3.333) | PyTorch: 5.000 ms | ≥ 2: met |  |");
  EXPECT_EQ(row("pass = \"fp32, B1 T2\"\nmost = 2\nmoonshot = 1"),
            "| 91 | w | 2.000 ms (1.500 to 3.000) |  | ≤ 2: met | ≤ 1: **not met** |");
  EXPECT_EQ(row("pass = \"fp32, B1 T2\"\nmoonshot = 1"),
            "| 91 | w | 2.000 ms (1.500 to 3.000) |  |  | ≤ 1: **not met** |");
}

TEST_F(scoreboard_test, figures_of_an_experiment) {
  EXPECT_EQ(row("figure = \"/model/2 x 3/mean\"\nmost = 0.05\nmoonshot = 0.03"),
            "| 91 | w | 0.03125 |  | ≤ 0.05: met | ≤ 0.03: **not met** |");
}

TEST_F(scoreboard_test, what_was_not_measured_or_was_wrong_has_no_figure) {
  const std::string nothing = "| 91 | w | not measured |  | ≥ 1 |  |";
  EXPECT_EQ(row("case = \"f/2\"\nof = \"copy\"\nleast = 1"), nothing);
  EXPECT_EQ(row("case = \"g/2\"\nof = \"copy\"\nleast = 1"), nothing);
  EXPECT_EQ(row("pass = \"bf16, B1 T2\"\nof = \"PyTorch\"\nleast = 1"), nothing);
  EXPECT_EQ(row("pass = \"fp32, B1 T2\"\nof = \"JAX\"\nleast = 1"), nothing);
  EXPECT_EQ(row("case = \"f/2\"\nmetric = \"smsp__warps_launched.sum\"\nleast = 1"), nothing);
  EXPECT_EQ(row("figure = \"/model/3 x 3\"\nleast = 1"), nothing);
}

TEST_F(scoreboard_test, says_which_machine_and_what_was_right) {
  row("case = \"f/1\"\nof = \"copy\"\nleast = 1");
  EXPECT_NE(scoreboard(source_).find("| 91 | 2026-11-21T01:55 | NVIDIA X, driver , 900 MHz (highest 1000 MHz), memory  "
                                     "|  |  | 3 of 4 | 1 of 2 |"),
            std::string::npos)
      << scoreboard(source_);
}

TEST_F(scoreboard_test, refuses_what_makes_no_sense) {
  for (const char* bar :
       {"case = \"f/3\"\nof = \"copy\"\nleast = 1", "case = \"f/1\"\nof = [\"f/3\"]\nleast = 1",
        "case = \"f/1\"\nof = \"copy\"", "case = \"f/1\"\nof = \"copy\"\nleast = 1\nmost = 1",
        "case = \"f/1\"\nleast = 1", "case = [\"f/1\", \"f/2\"]\nof = \"copy\"\nleast = 1", "least = 1\nof = \"copy\"",
        "pass = \"fp32, B1 T2\"\ncase = \"f/1\"\nof = \"copy\"\nleast = 1",
        "pass = \"fp32, B1 T2\"\nmetric = \"m\"\nleast = 1", "pass = \"fp32, B1 T2\"\nof = [\"g/2\"]\nleast = 1",
        "pass = \"fp32, B1 T2\"\nof = \"PyTorch\"\nmoonshot = 1", "pass = \"fp32, B1 T2\"",
        "pass = \"fp32, B1 T2\"\nleast = 1\nmost = 1\nmoonshot = 1", "figure = \"model\"\nmost = 1",
        "figure = \"/model/2 x 3/mean\"\nof = \"copy\"\nmost = 1"})
    EXPECT_THROW(row(bar), input_error) << bar;
  replace_file(source_ / "solutions/results/gpu/lab91.json", "{\"lab\": 3}");
  EXPECT_THROW(row("case = \"f/1\"\nof = \"copy\"\nleast = 1"), input_error);
}

}  // namespace
