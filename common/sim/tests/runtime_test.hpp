// What the tests of the runtime API share.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sim {
const std::vector<std::string>& host_faults();
const std::vector<std::string>& host_warnings();
}  // namespace sim

struct RuntimeTest : testing::Test {
  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    cudaDeviceReset();
  }
};

__global__ inline void increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
