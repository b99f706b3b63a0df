// What the tests of the simulated device share: memory, launches under observation, reports.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include <sim/observe.hpp>

using counts = sim::observation;

inline counts observe(const std::function<void()>& launch) { return sim::observe(launch); }

inline double metric(const counts& c, const std::string& name) {
  const auto found = c.metrics.find(name);
  return found == c.metrics.end() ? -1 : found->second;
}
template <class T>
struct on_device {
  explicit on_device(std::size_t n) : size(n) { EXPECT_EQ(cudaMalloc(&data, n * sizeof(T)), cudaSuccess); }
  explicit on_device(const std::vector<T>& values) : on_device(values.size()) {
    EXPECT_EQ(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~on_device() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    EXPECT_EQ(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }
  T* data = nullptr;
  std::size_t size;
};

inline std::vector<float> ramp(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

inline std::string only_report(const counts& c) {
  EXPECT_EQ(c.reports.size(), 1u) << testing::PrintToString(c.reports);
  return c.reports.empty() ? "" : c.reports[0];
}

struct DeviceTest : testing::Test {
  void TearDown() override { cudaDeviceReset(); }
};
