// The simulated device against hardware: every counter of class A must be the same, launch by launch.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "lab/profiler.hpp"

cudaError_t run_golden_kernels();

namespace {

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) result.push_back(field);
  return result;
}

TEST(Goldens, EveryCounterIsWhatAnH200Counted) {
  std::ifstream file(GOLDENS);
  ASSERT_TRUE(file) << GOLDENS;
  std::string line;
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  while (std::getline(file, line)) {
    if (header.empty())
      header = fields(line);
    else
      rows.push_back(fields(line));
  }
  cudaError_t error = cudaErrorUnknown;
  const lab::profiler::result seen = lab::profiler({}).collect([&] { error = run_golden_kernels(); });
  ASSERT_EQ(error, cudaSuccess);
  for (const std::string& report : seen.reports) ADD_FAILURE() << report;
  ASSERT_EQ(seen.launches.size(), rows.size());
  int compared = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t k = 2; k < header.size(); ++k) {
      const auto found = seen.launches[i].metrics.find(header[k]);
      ASSERT_NE(found, seen.launches[i].metrics.end()) << header[k];
      EXPECT_EQ(found->second, std::stod(rows[i][k]))
          << "launch " << rows[i][0] << ", " << rows[i][1] << ", " << header[k];
      ++compared;
    }
  std::printf("%d counters of %zu launches compared\n", compared, rows.size());
}

}  // namespace
