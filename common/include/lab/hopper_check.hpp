// Shared by the GoogleTest checks of the optional Hopper parts.
#pragma once

#include <cuda_bf16.h>
#include <gtest/gtest.h>

#include <exception>
#include <random>

#include "lab/device.hpp"
#include "lab/profiler.hpp"

namespace lab {

struct needs_hopper : testing::Test {
  void SetUp() override {
    if (cudaDeviceSynchronize() != cudaSuccess) GTEST_SKIP() << "the kernel of an earlier test was aborted";
    int major = 0;
    LAB_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    if (major != 9) GTEST_SKIP() << "only GPUs of compute capability 9.0 have these instructions";
  }
};

/// Numbers from -1 to 1, the same in each run and exact in bf16.
inline std::vector<float> random_bf16(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);  // NOLINT(cert-msc51-cpp)
  std::vector<float> x(count);
  for (float& one : x) one = static_cast<float>(static_cast<int>(random() >> 24) - 127) / 128.0f;
  return x;
}

inline device_buffer<__nv_bfloat16> bf16_on_device(const std::vector<float>& from) {
  std::vector<__nv_bfloat16> narrow;
  for (const float one : from) narrow.push_back(__float2bfloat16(one));
  device_buffer<__nv_bfloat16> to(narrow.size());
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), narrow.data(), to.bytes(), cudaMemcpyHostToDevice));
  return to;
}

inline std::vector<float> from_device(const device_buffer<__nv_bfloat16>& from) {
  EXPECT_TRUE(from.intact()) << "written past an end";
  std::vector<__nv_bfloat16> narrow(from.size());
  LAB_CUDA_CHECK(cudaMemcpy(narrow.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost));
  std::vector<float> wide;
  for (const __nv_bfloat16 one : narrow) wide.push_back(__bfloat162float(one));
  return wide;
}

/// Makes a call, counts what it does and waits for it; fails on each report of the simulated device.
template <class F>
profiler::result checked(const F& call, const stream& in, std::vector<std::string> metrics = {"launches"}) {
  std::exception_ptr thrown;  // checked after the reports, which say why
  const auto guarded = [&] {
    try {
      call();
    } catch (...) {
      thrown = std::current_exception();
    }
  };
  const profiler::result counted = profiler(std::move(metrics)).collect(guarded, in.get());
  for (const std::string& report : counted.reports) ADD_FAILURE() << report;
  if (thrown) std::rethrow_exception(thrown);
  LAB_CUDA_CHECK(cudaGetLastError());
  in.synchronize();
  return counted;
}

/// Counters for work by TMA and wgmma, and for the same work by other instructions.
inline const std::string tma_bytes = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum",
                         wgmma = "sm__inst_executed_pipe_tensor_op_gmma.sum",
                         all_tensor = "sm__inst_executed_pipe_tensor.sum",
                         operations = "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
inline const std::vector<std::string> other_ways = {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                                    "smsp__inst_executed_op_ldgsts.sum",
                                                    "smsp__inst_executed_op_ldsm.sum"};

/// One launch in which TMA copies and wgmma multiplies; returns its counts.
template <class F>
profiler::result checked_traffic(const F& call, const stream& in) {
  std::vector<std::string> metrics = {"launches", tma_bytes, wgmma, all_tensor, operations};
  metrics.insert(metrics.end(), other_ways.begin(), other_ways.end());
  profiler::result counted = checked(call, in, metrics);
  EXPECT_EQ(counted.metrics["launches"], 1);
  EXPECT_EQ(counted.metrics["allocations"], 0) << "counted on the simulated device alone";
  EXPECT_GT(counted.metrics[wgmma], 0);
  EXPECT_EQ(counted.metrics[all_tensor], counted.metrics[wgmma]) << "products by other instructions";
  for (const std::string& way : other_ways) EXPECT_EQ(counted.metrics[way], 0) << way;
  return counted;
}

}  // namespace lab
