// The advice on kernels that are right but wasteful, from the real counters of tests/terrible.cu.
#include "judge/advice.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "judge/assess.hpp"
#include "sandbox/process_executor.hpp"

namespace {

using namespace grading;

lab::test_case doubled_by(const std::string& entry, std::int64_t n) {
  lab::test_case c;
  c.id = entry + "/" + std::to_string(n);
  c.entry = entry;
  c.parameters = {n};
  c.outputs = {{lab::dtype::f32, n}};
  c.work.bytes = 8.0 * static_cast<double>(n);
  c.inputs = [n](std::uint64_t seed) {
    return std::vector{lab::buffer::of(lab::random_floats(static_cast<std::size_t>(n), seed))};
  };
  c.check = [](std::span<const lab::buffer> before, std::span<const lab::buffer> outputs) {
    const auto in = before[0].as<float>(), out = outputs[0].as<float>();
    for (std::size_t i = 0; i < in.size(); ++i)
      if (out[i] != 2 * in[i]) return std::string("not twice the input");
    return std::string();
  };
  return c;
}

struct Advice : testing::Test {
  grading_session session;
  rubric rules;

  void SetUp() override {
    rules.handin = {"terrible.cu"};
    session.rules = &rules;
    session.device = read_modelled_device(LAB_SOURCE_DIR);
    session.subjects.push_back(
        std::make_unique<subject>(backend::sim, std::make_unique<process_executor>(TERRIBLE_RUNNER, limits{}), 1));
  }
  std::vector<std::string> given(const std::string& entry, std::int64_t n = 1 << 18) {
    const lab::test_case c = doubled_by(entry, n);
    item i;
    i.id = entry;
    i.points = 4;
    i.cases = {&c};
    rules.items = {i};
    const item_result r = assess(i, session);
    EXPECT_EQ(r.verdict, verdict::pass) << r.message;
    EXPECT_EQ(r.points, 4) << "advice costs nothing";
    return r.advice;
  }
};

#define EXPECT_SAYS(text, words) EXPECT_NE((text).find(words), std::string::npos) << (text)

TEST_F(Advice, NamesAGridThatLeavesTheDeviceIdle) {
  const auto advice = given("four_blocks");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_SAYS(advice[0], "4 blocks for 132 multiprocessors");
  EXPECT_SAYS(advice[0], "times the roof");
  EXPECT_SAYS(advice[0], "launch__grid_size");
}

TEST_F(Advice, NamesTheLineWhoseRequestsTouchTooManySectors) {
  const auto advice = given("lanes_are_rows");
  ASSERT_EQ(advice.size(), 2u) << "the load and the store";
  for (const std::string& one : advice) {
    EXPECT_SAYS(one, "terrible.cu:15: 32 sectors per global");
    EXPECT_SAYS(one, "where 4 suffice");
    EXPECT_SAYS(one, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_");
  }
}

TEST_F(Advice, NamesTheLineWithBankConflicts) {
  const auto advice = given("columns");
  ASSERT_EQ(advice.size(), 2u);
  EXPECT_SAYS(advice[0], "bank conflicts at terrible.cu:");
  EXPECT_SAYS(advice[0], "32 wavefronts per shared");
  EXPECT_SAYS(advice[0], "where 1 suffices");
  EXPECT_TRUE(given("padded_columns").empty());
}

TEST_F(Advice, NamesWhatLeavesRoomForOneBlock) {
  const auto advice = given("much_shared_memory");
  ASSERT_EQ(advice.size(), 1u);
  EXPECT_SAYS(advice[0], "one block of 256 threads fits on a multiprocessor, because of its shared memory");
  EXPECT_SAYS(advice[0], "launch__occupancy_limit_shared_mem");
}

TEST_F(Advice, IsSilentWhereNothingIsWastedOrTheCaseIsTooSmall) {
  EXPECT_TRUE(given("good").empty());
  for (const char* entry : {"four_blocks", "lanes_are_rows", "columns", "much_shared_memory"})
    EXPECT_TRUE(given(entry, 37).empty()) << entry;
}

TEST_F(Advice, IsAboutTheHandInFilesAlone) {
  rules.handin = {"other.cu"};
  EXPECT_TRUE(given("four_blocks").empty());
}

TEST_F(Advice, WastefulNamesTheWorstLine) {
  const lab::test_case c = doubled_by("lanes_are_rows", 1 << 18);
  item i;
  i.kind = item_kind::counters;
  i.points = 4;
  i.cases = {&c};
  i.require = {{"sectors per store request",
                {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
                {},
                4.0}};
  rules.items = {i};
  const item_result r = assess(i, session);
  EXPECT_EQ(r.verdict, verdict::wasteful);
  EXPECT_SAYS(r.message, "32 sectors per store request, at most 4 (terrible.cu:15: 32 sectors per global store");
  for (const std::string& one : r.advice) EXPECT_EQ(one.find("global store"), std::string::npos) << one;
}

TEST(AdviceOn, TakesNoTimeForManyLines) {  // a submission that takes over its runner can send half a million
  lab::launch_record l;
  for (int number = 0; number < 400'000; ++number) {
    lab::line_counters& c = l.lines.emplace_back();
    c.file = "x.cu";
    c.line = number;
    c.operation = "global load";
  }
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(advice_on({l}, {}, {"x.cu"}, {}).empty());
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));  // a quadratic algorithm takes minutes
}

TEST(WorstLine, IsTheOneFurthestBeyondTheBound) {
  const auto line = [](int number, const char* operation, std::uint64_t requests, std::uint64_t cost,
                       std::uint64_t ideal) {
    lab::line_counters c;
    c.file = "x.cu";
    c.line = number;
    c.operation = operation;
    c.requests = requests;
    (c.operation.starts_with("shared") ? c.wavefronts : c.sectors) = cost;
    c.ideal = ideal;
    return c;
  };
  lab::launch_record l;
  // Most of the sectors are those of good requests of 16 bytes per lane; line 2 wastes most.
  l.lines = {line(1, "global load", 1000, 16000, 16000), line(2, "global load", 200, 1600, 800),
             line(3, "global load", 300, 1200, 1200), line(4, "global store", 10, 320, 40)};
  const metric per_request{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                           "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
      in_all{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"};
  EXPECT_EQ(worst_line({l}, {"", per_request, 16.0, 16.0}).substr(0, 7), "x.cu:3:") << "12 too few, 300 times";
  EXPECT_EQ(worst_line({l}, {"", per_request, {}, 4.0}).substr(0, 7), "x.cu:1:");
  EXPECT_EQ(worst_line({l}, {"", in_all, {}, 1.0}).substr(0, 7), "x.cu:2:");
  l.lines.push_back(line(5, "shared load", 100, 3200, 100));
  l.lines.push_back(line(6, "shared load", 9000, 9000, 9000));
  EXPECT_EQ(worst_line({l}, {"",
                             {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                              "smsp__inst_executed_op_shared_ld.sum"},
                             {},
                             1.0}),
            "x.cu:5: 32 wavefronts per shared load where 1 suffices");
  l.lines = {line(8, "global store", 9, 9, 9)};
  EXPECT_EQ(worst_line({l}, {"", {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}, {}, 1.0}),
            "x.cu:8: 1 sector per global store");
}

}  // namespace
