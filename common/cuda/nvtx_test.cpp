// A program's NVTX ranges and lab::range are equivalent. Needs no GPU.
#include <gtest/gtest.h>
#include <nvtx3/nvtx3.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "lab/profiler.hpp"

namespace {

bool has(const lab::profile& p, const std::string& path) {
  const auto rows = p.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const lab::profile::row& r) { return r.path == path; });
}

void named_by_nvtx() { NVTX3_FUNC_RANGE(); }

TEST(Nvtx, RangesOfTheProgramAreHeard) {
  lab::profile p;
  p.run("forward", [] {
    nvtxRangePushA("pushed");
    {
      const nvtx3::scoped_range here{"scoped"};
      const lab::range ours("ours");
    }
    nvtxRangePop();
    named_by_nvtx();
  });
  EXPECT_TRUE(has(p, "forward/pushed"));
  EXPECT_TRUE(has(p, "forward/pushed/scoped"));
  EXPECT_TRUE(has(p, "forward/pushed/scoped/ours"));
  EXPECT_TRUE(has(p, "forward/named_by_nvtx"));
}

TEST(Nvtx, WithoutAGpuTheTimesOfTheHostAreThereAndANoteSaysSo) {
  lab::profile p;
  p.run("forward", [] {});
  EXPECT_TRUE(has(p, "forward"));
  const auto notes = p.notes();
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU here";
  EXPECT_TRUE(std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.starts_with("GPU times and launches were not recorded: ");
  }));
}

}  // namespace
