// Tests of lab::profile that need a GPU: tensor cores, DRAM, concurrent streams, records that CUPTI drops.
#include <cublas_v2.h>
#include <gtest/gtest.h>
#include <lab/device.hpp>
#include <lab/profiler.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "timeline.hpp"

namespace {

__device__ unsigned long long nanoseconds_now() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// Takes equally long at any clock rate: counters are read at different rates.
__global__ void spin(unsigned long long nanoseconds) {
  const unsigned long long start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

class ProfileGpu : public testing::Test {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "SKIPPED: no GPU here";
  }
  static lab::profile::row row(const lab::profile& p, const std::string& path) {
    for (const lab::profile::row& r : p.rows())
      if (r.path == path) return r;
    ADD_FAILURE() << "no range " << path;
    return {};
  }
  static bool noted(const lab::profile& p, const std::string& text) {
    const auto notes = p.notes();
    return std::any_of(notes.begin(), notes.end(),
                       [&](const std::string& note) { return note.find(text) != std::string::npos; });
  }
};

#define NEED_COUNTERS(p) \
  if (noted(p, "counters were not read: ")) GTEST_SKIP() << "SKIPPED: the counters may not be read"

TEST_F(ProfileGpu, TensorOperationsOfAProductAre2MNK) {
  constexpr int m = 4096, n = 2048, k = 1024;
  const lab::device_buffer<std::uint16_t> a(std::size_t{m} * k), b(std::size_t{k} * n), c(std::size_t{m} * n);
  LAB_CUDA_CHECK(cudaMemset(a.data(), 0, a.bytes()));
  LAB_CUDA_CHECK(cudaMemset(b.data(), 0, b.bytes()));
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  const float one = 1.0f, zero = 0.0f;
  lab::profile p;
  p.run("product", [&] {
    ASSERT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, &one, a.data(), CUDA_R_16BF, m, b.data(),
                           CUDA_R_16BF, k, &zero, c.data(), CUDA_R_16BF, m, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
              CUBLAS_STATUS_SUCCESS);
  });
  cublasDestroy(handle);
  EXPECT_GE(row(p, "product").launches, 1) << testing::PrintToString(p.notes());
  NEED_COUNTERS(p);
  EXPECT_EQ(row(p, "product").metrics.at("sm__ops_path_tensor_src_bf16_dst_fp32.sum"), 2.0 * m * n * k);
}

TEST_F(ProfileGpu, ACopyOf4GiBReadsAndWritesThemInDram) {
  constexpr std::size_t bytes = std::size_t{4} << 30;
  std::size_t free = 0, all = 0;
  LAB_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  if (free < 2 * bytes + (std::size_t{3} << 30)) GTEST_SKIP() << "SKIPPED: too little GPU memory";
  const lab::device_buffer<std::byte> from(bytes, 0), to(bytes, 0);
  lab::profile p;
  p.run("copy", [&] { LAB_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice)); });
  EXPECT_EQ(row(p, "copy").launches, 0);
  NEED_COUNTERS(p);
  const auto metrics = row(p, "copy").metrics;
  EXPECT_NEAR(metrics.at("dram__bytes_read.sum"), static_cast<double>(bytes), 0.01 * bytes);
  EXPECT_NEAR(metrics.at("dram__bytes_write.sum"), static_cast<double>(bytes), 0.01 * bytes);
}

TEST_F(ProfileGpu, TimeIsThatOfEvents) {
  constexpr unsigned long long duration = 10'000'000;
  const lab::stream where;
  lab::event start, stop;
  double seconds = 0;
  lab::profile p;
  p.run("spin", [&] {
    start.record(where);
    spin<<<1, 32, 0, where.get()>>>(duration);
    stop.record(where);
    seconds = stop.seconds_since(start);
  });
  EXPECT_NEAR(row(p, "spin").device_seconds, seconds, 0.1 * seconds);
  EXPECT_GE(row(p, "spin").host_seconds, 0.9 * seconds) << "the host waited";
}

TEST_F(ProfileGpu, StreamsSideBySideAreCountedOnce) {
  constexpr unsigned long long duration = 10'000'000;
  const lab::stream one, two;
  lab::profile p;
  p.run("both", [&] {
    for (const auto* s : {&one, &two}) {
      const lab::range here(s == &one ? "one" : "two");
      spin<<<1, 32, 0, s->get()>>>(duration);
    }
    one.synchronize();
    two.synchronize();
  });
  const double left = row(p, "both/one").device_seconds, right = row(p, "both/two").device_seconds;
  EXPECT_EQ(row(p, "both").launches, 2);
  EXPECT_LT(row(p, "both").device_seconds, 0.75 * (left + right)) << "they ran at the same time";
}

TEST_F(ProfileGpu, AMetricThatNoChipHasIsNotedAndTheRestIsRead) {
  const lab::device_buffer<float> memory(1 << 20);
  lab::profile p({"dram__bytes_eaten.sum", "sm__inst_executed.sum"});
  p.run("spin", [&] { spin<<<1, 32>>>(1000); });
  NEED_COUNTERS(p);
  EXPECT_TRUE(noted(p, "dram__bytes_eaten.sum"));
  EXPECT_GT(row(p, "spin").metrics.at("sm__inst_executed.sum"), 0);
  EXPECT_TRUE(row(p, "spin").metrics.contains("dram__bytes_read.sum"));
}

TEST_F(ProfileGpu, WorkThatIsAnotherEachTimeHasNoCountersButTimes) {
  int runs = 0;
  lab::profile p;
  p.run("work", [&] {
    for (int i = 0; i <= runs; ++i) {
      const lab::range here("part");
      spin<<<1, 32>>>(1000);
    }
    ++runs;
  });
  EXPECT_GT(row(p, "work/part").device_seconds, 0);
  EXPECT_TRUE(noted(p, "counters were not read: "));
}

TEST_F(ProfileGpu, DroppedRecordsAreCounted) {
  lab::timeline::start({.bytes = 1 << 20, .most = 0});  // no space at all
  for (int i = 0; i < 100; ++i) spin<<<1, 32>>>(100);
  LAB_CUDA_CHECK(cudaGetLastError());
  const lab::device_account account = lab::timeline::stop();
  EXPECT_TRUE(std::any_of(account.notes.begin(), account.notes.end(),
                          [](const std::string& note) { return note.find("CUPTI dropped") != std::string::npos; }));
  lab::timeline::start();  // the next profile must have all records
  for (int i = 0; i < 100; ++i) spin<<<1, 32>>>(100);
  LAB_CUDA_CHECK(cudaGetLastError());
  const auto activities = lab::timeline::stop().activities;
  EXPECT_EQ(std::count_if(activities.begin(), activities.end(),
                          [](const lab::activity& a) { return a.what == lab::activity::kind::kernel; }),
            100);
}

}  // namespace
