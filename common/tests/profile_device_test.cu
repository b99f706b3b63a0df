// lab::profile over kernels whose traffic is known to the byte: on the simulated device everywhere, on a GPU where
// there is one. The residual add's integers are GPT-2's (B 4, T 64, C 768), the same on any device.
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <lab/device.hpp>
#include <lab/profiler.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

constexpr int residual_size = 196'608;

__global__ void residual_add(float* out, const float* a, const float* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = a[i] + b[i];
}

/// C (m, n) = A (m, k) B (k, n), row-major, one thread per element: m * n * k multiply-adds and no other floating-point
/// arithmetic.
__global__ void product(float* c, const float* a, const float* b, int m, int n, int k) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x), row = static_cast<int>(blockIdx.y);
  if (column >= n || row >= m) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum = fmaf(a[row * k + i], b[i * n + column], sum);
  c[row * n + column] = sum;
}

bool device_here() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class Profile : public testing::Test {
 protected:
  void SetUp() override {
    if (!device_here()) GTEST_SKIP() << "SKIPPED: no GPU here";
  }
  /// If this user may not read counters, skips the test instead of failing.
  static bool counted(const lab::profile& p) {
    for (const std::string& note : p.notes())
      if (note.find("counters were not read") != std::string::npos && note.find("processor") == std::string::npos) {
        std::puts(note.c_str());
        return false;
      }
    return true;
  }
  static lab::profile::row row(const lab::profile& p, const std::string& path) {
    for (const lab::profile::row& r : p.rows())
      if (r.path == path) return r;
    ADD_FAILURE() << "no range " << path;
    return {};
  }
  static double metric(const lab::profile::row& r, const std::string& name) {
    const auto found = r.metrics.find(name);
    return found == r.metrics.end() ? -1 : found->second;
  }
};

void add_residual(const lab::device_buffer<float>& out, const lab::device_buffer<float>& a,
                  const lab::device_buffer<float>& b, cudaStream_t stream = nullptr) {
  const int n = static_cast<int>(out.size());
  const lab::range here("residual", {.flops = 1.0 * n, .bytes = 12.0 * n});
  residual_add<<<(n + 255) / 256, 256, 0, stream>>>(out.data(), a.data(), b.data(), n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

lab::device_buffer<float> ones(std::size_t n) {
  const std::vector<float> host(n, 1.0f);
  lab::device_buffer<float> made(n, 0);
  LAB_CUDA_CHECK(cudaMemcpy(made.data(), host.data(), made.bytes(), cudaMemcpyHostToDevice));
  return made;
}

TEST_F(Profile, ResidualAddMovesTheseBytesInTheseSectors) {
  const auto a = ones(residual_size), b = ones(residual_size), out = ones(residual_size);
  lab::profile p;
  p.run("forward", [&] { add_residual(out, a, b); });
  const auto r = row(p, "forward/residual");
  EXPECT_EQ(r.calls, 1);
  EXPECT_EQ(r.launches, 1);
  EXPECT_GT(r.device_seconds, 0);
  EXPECT_EQ(r.declared.bytes, 12.0 * residual_size);
  if (!counted(p)) GTEST_SKIP() << "SKIPPED: the counters may not be read";
  EXPECT_EQ(metric(r, "smsp__sass_data_bytes_mem_global_op_ld.sum"), 1'572'864);
  EXPECT_EQ(metric(r, "smsp__sass_data_bytes_mem_global_op_st.sum"), 786'432);
  EXPECT_EQ(metric(r, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 49'152);
  EXPECT_EQ(metric(r, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 24'576);
  EXPECT_EQ(metric(r, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"), residual_size);
}

TEST_F(Profile, AProductHasMNKMultiplyAdds) {
  constexpr int m = 48, n = 128, k = 96;
  const auto a = ones(m * k), b = ones(k * n), c = ones(m * n);
  lab::profile p;
  p.run("product", [&] { product<<<dim3((n + 127) / 128, m), 128>>>(c.data(), a.data(), b.data(), m, n, k); });
  if (!counted(p)) GTEST_SKIP() << "SKIPPED: the counters may not be read";
  EXPECT_EQ(metric(row(p, "product"), "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 1.0 * m * n * k);
}

TEST_F(Profile, InnerRangesAddUpToTheOuterOne) {
  const auto a = ones(residual_size), b = ones(residual_size), out = ones(residual_size);
  lab::profile p;
  p.run("forward", [&] {
    for (int layer = 0; layer < 3; ++layer) {
      const lab::range here("layer");
      add_residual(out, a, b);
      residual_add<<<1, 256>>>(out.data(), a.data(), b.data(), 256);  // the layer's own
      add_residual(out, a, b);
    }
  });
  const auto whole = row(p, "forward"), layer = row(p, "forward/layer"), residual = row(p, "forward/layer/residual");
  EXPECT_EQ(whole.calls, 1);
  EXPECT_EQ(layer.calls, 3);
  EXPECT_EQ(residual.calls, 6);
  EXPECT_EQ(whole.launches, 9);
  EXPECT_EQ(whole.launches_self, 0);
  EXPECT_EQ(layer.launches, 9);
  EXPECT_EQ(layer.launches_self, 3);
  EXPECT_EQ(residual.launches, 6);
  EXPECT_EQ(whole.declared.bytes, 6 * 12.0 * residual_size);  // the inner ranges' declarations
  EXPECT_NEAR(layer.device_seconds, residual.device_seconds + layer.device_self_seconds, 1e-8);
  EXPECT_LE(residual.host_seconds, layer.host_seconds);
  EXPECT_NEAR(layer.host_self_seconds, layer.host_seconds - residual.host_seconds, 1e-9);
  if (!counted(p)) GTEST_SKIP() << "SKIPPED: the counters may not be read";
  const std::string sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum";
  EXPECT_EQ(metric(residual, sectors), 6 * 24'576);
  EXPECT_EQ(metric(layer, sectors), 6 * 24'576 + 3 * 32);
  EXPECT_EQ(metric(whole, sectors), metric(layer, sectors));
}

TEST_F(Profile, WorkInTwoStreamsIsInTheRangesThatAskedForIt) {
  constexpr std::size_t n = 1 << 20;
  const auto a = ones(n), b = ones(n), first = ones(n), second = ones(n);
  const lab::stream one, two;
  lab::profile p;
  p.run("both", [&] {
    {
      const lab::range here("first");
      add_residual(first, a, b, one.get());
    }
    {
      const lab::range here("second");
      add_residual(second, a, b, two.get());
      LAB_CUDA_CHECK(cudaMemsetAsync(second.data(), 0, second.bytes(), two.get()));
    }
    one.synchronize();
    two.synchronize();
  });
  EXPECT_EQ(row(p, "both").launches, 2);
  EXPECT_EQ(row(p, "both/first").launches, 1);
  EXPECT_EQ(row(p, "both/second").launches, 1);
  const auto whole = row(p, "both"), left = row(p, "both/first"), right = row(p, "both/second");
  EXPECT_GT(right.device_self_seconds, 0);  // the fill
  // Together they take at most the sum of both times, and at least the longer one.
  EXPECT_LE(whole.device_seconds, left.device_seconds + right.device_seconds + 1e-9);
  EXPECT_GE(whole.device_seconds, std::max(left.device_seconds, right.device_seconds) - 1e-9);
}

/// The trace's events whose names begin with this.
int events_named(const std::string& trace, const std::string& name) {
  int count = 0;
  for (std::size_t at = 0; (at = trace.find("\"name\":\"" + name, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST_F(Profile, TheTraceShowsWhatUsesTheSameMemoryInNoOrder) {
  cudaDeviceProp here;
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&here, 0));
  if (!std::string(here.name).ends_with("(simulated)")) GTEST_SKIP() << "SKIPPED: a GPU reports no races";
  constexpr std::size_t n = 1 << 12;
  const auto a = ones(n), b = ones(n), out = ones(n);
  const lab::stream copies, kernels;
  float* pinned = nullptr;
  LAB_CUDA_CHECK(cudaMallocHost(&pinned, a.bytes()));
  const auto trace = [&](const std::function<void()>& work, const std::string& note) {
    lab::profile p;
    p.run("work", work);
    std::string notes;
    for (const std::string& one : p.notes()) notes += one + "\n";
    EXPECT_NE(notes.find(note), std::string::npos) << notes;
    const std::string folder = testing::TempDir() + "/races";
    p.write(folder);
    std::ostringstream text;
    text << std::ifstream(folder + "/trace.json").rdbuf();
    std::filesystem::remove_all(folder);
    return text.str();
  };
  const auto wait = [&] { LAB_CUDA_CHECK(cudaDeviceSynchronize()); };
  const auto copy = [&] {
    LAB_CUDA_CHECK(cudaMemcpyAsync(a.data(), pinned, a.bytes(), cudaMemcpyHostToDevice, copies.get()));
  };
  const std::string kernel_late =
      trace([&] { copy(), add_residual(out, a, b, kernels.get()), wait(); }, "the checkers found 1 fault; the first: ");
  EXPECT_EQ(events_named(kernel_late, "RACE: copy to the device"), 1);
  EXPECT_EQ(events_named(kernel_late, "RACE: residual_add"), 1);
  EXPECT_EQ(events_named(kernel_late, "race"), 2) << "an arrow";
  const std::string copy_late = trace([&] { add_residual(out, a, b, kernels.get()), copy(), wait(); },
                                      "the first: race between streams: a copy or fill into device memory");
  EXPECT_EQ(events_named(copy_late, "RACE: "), 2);
  EXPECT_NE(copy_late.find("put a cudaStreamWaitEvent between them"), std::string::npos);
  const std::string host_late = trace([&] { copy(), ++pinned[0], wait(); }, "the host changed 16384 bytes");
  EXPECT_EQ(events_named(host_late, "RACE: copy to the device"), 1);
  EXPECT_EQ(events_named(host_late, "race"), 0);
  EXPECT_EQ(
      events_named(trace([&] { copy(), wait(), ++pinned[0], add_residual(out, a, b, kernels.get()), wait(); }, ""),
                   "RACE"),
      0);
  LAB_CUDA_CHECK(cudaFreeHost(pinned));
}

TEST_F(Profile, CopiesAreNoLaunches) {
  const auto a = ones(1 << 16), b = ones(1 << 16);
  lab::profile p;
  p.run("copy", [&] { LAB_CUDA_CHECK(cudaMemcpy(a.data(), b.data(), a.bytes(), cudaMemcpyDeviceToDevice)); });
  EXPECT_EQ(row(p, "copy").launches, 0);
  EXPECT_GT(row(p, "copy").device_seconds, 0);
}

TEST_F(Profile, WhatTheWorkThrowsPassesThroughAndTheNextRunIsWhole) {
  const auto a = ones(1024), b = ones(1024), out = ones(1024);
  lab::profile p;
  EXPECT_THROW(p.run("broken",
                     [&] {
                       add_residual(out, a, b);
                       throw std::runtime_error("broken");
                     }),
               std::runtime_error);
  p.run("whole", [&] { add_residual(out, a, b); });
  ASSERT_EQ(p.rows().size(), 2u);
  EXPECT_EQ(row(p, "whole/residual").launches, 1);
}

TEST_F(Profile, TableNamesEachRangeAndFits) {
  const auto a = ones(residual_size), b = ones(residual_size), out = ones(residual_size);
  lab::profile p;
  p.run("a_forward_pass_with_a_long_name", [&] {
    const lab::range here("and_a_long_inner_name_too");
    add_residual(out, a, b);
  });
  std::ostringstream text;
  p.table(text);
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);)
    if (line.find("http") == std::string::npos) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_NE(text.str().find("/residual"), std::string::npos);
  EXPECT_NE(text.str().find("residual_add"), std::string::npos) << "the kernel";
  std::puts(text.str().c_str());
}

}  // namespace
