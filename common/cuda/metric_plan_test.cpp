// Tests what CUPTI's host half can tell without a GPU: a GH100's counters, and how many runs it takes to read them.
#include "metric_plan.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace {

using strings = std::vector<std::string>;

/// The metrics that the labs' rubrics and reports name.
strings lab_metrics() {
  return {"dram__bytes_read.sum",
          "dram__bytes_write.sum",
          "gpu__time_duration.sum",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
          "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
          "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
          "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
          "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum / smsp__inst_executed_op_shared_ld.sum",
          "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum / smsp__inst_executed_op_shared_st.sum",
          "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
          "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"};
}

TEST(MetricPlan, AnswersEveryMetricOfTheLabsOnGh100) {
  const lab::metric_plan plan("GH100", lab_metrics());
  EXPECT_EQ(plan.notes(), strings{});
  EXPECT_EQ(plan.metrics().size(), 16u);
  EXPECT_GE(plan.passes(), 1u);
  EXPECT_LE(plan.passes(), 6u);
  EXPECT_FALSE(plan.config_image().empty());
}

TEST(MetricPlan, ReadsTimeAndDramTrafficInOnePass) {
  EXPECT_EQ(
      lab::metric_plan("GH100", {"gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum"}).passes(),
      1u);
}

TEST(MetricPlan, ReadsWhatAProfileWantsInThreePasses) {
  const lab::metric_plan plan("GH100", lab::profile_metrics());
  EXPECT_EQ(plan.notes(), strings{});
  EXPECT_EQ(plan.passes(), 3u);
  for (const std::string& name : plan.metrics()) EXPECT_TRUE(name.ends_with(".sum")) << name << " does not add up";
}

TEST(MetricPlan, SplitsQuotientsAndAsksForEachNameOnce) {
  const lab::metric_plan plan("GH100", {"dram__bytes_read.sum / dram__bytes_write.sum", "dram__bytes_write.sum"});
  EXPECT_EQ(plan.metrics(), (strings{"dram__bytes_read.sum", "dram__bytes_write.sum"}));
}

TEST(MetricPlan, LeavesOutWhatTheChipLacksAndSaysSo) {
  const lab::metric_plan plan("GH100", {"dram__bytes_read.sum", "dram__bytes_eaten.sum"});
  EXPECT_EQ(plan.metrics(), strings{"dram__bytes_read.sum"});
  ASSERT_EQ(plan.notes().size(), 1u);
  EXPECT_NE(plan.notes()[0].find("dram__bytes_eaten.sum"), std::string::npos);
  EXPECT_EQ(plan.passes(), 1u);
}

TEST(MetricPlan, SurvivesAListOfNothingKnown) {
  const lab::metric_plan plan("GH100", {"dram__bytes_eaten.sum"});
  EXPECT_EQ(plan.metrics(), strings{});
  EXPECT_EQ(plan.passes(), 0u);
}

TEST(MetricPlan, RefusesAnUnknownChip) {
  try {
    const lab::metric_plan plan("GX999", {"dram__bytes_read.sum"});
    FAIL() << "the chip is known";
  } catch (const lab::cupti_error& error) {
    EXPECT_NE(std::string(error.what()).find("does not know the chip"), std::string::npos) << error.what();
  }
}

TEST(Cupti, SaysWhatToDo) {
  for (const auto& [status, says] :
       {std::pair{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "NVreg_RestrictProfilingToAdminUsers=0"},
        {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, "does not let guests read counters"},
        {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "another profiler is attached"},
        {CUPTI_ERROR_NOT_INITIALIZED, "no NVIDIA driver"},
        {CUPTI_ERROR_INVALID_PARAMETER, "CUPTI_ERROR_INVALID_PARAMETER"}}) {
    const std::string text = lab::cupti_error("cuptiX", status).what();
    EXPECT_NE(text.find(says), std::string::npos) << text;
    EXPECT_NE(text.find("cuptiX"), std::string::npos) << text;
  }
}

}  // namespace
