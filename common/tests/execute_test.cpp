// What lab::execute reports for right and wrong calls. The expectations are the same for a GPU and the simulated
// device.
#include "lab/execute.hpp"

#include <gtest/gtest.h>

#include <cfenv>
#include <cmath>
#include <string>
#include <vector>

#include "lab/device.hpp"

namespace {

constexpr int n = 1 << 16;  // floats; fills 256 blocks of 256 threads exactly

class Execute : public testing::Test {
 protected:
  void SetUp() override {
    int device = 0;
    if (lab::backend_name() == "cuda" && cudaGetDevice(&device) != cudaSuccess) GTEST_SKIP() << "SKIPPED: no GPU here";
    for (int i = 0; i < n; ++i) in.push_back(0.25f * static_cast<float>(i) - 7.0f);
    out.assign(in.size(), NAN);
  }

  lab::response call(const std::string& entry, lab::action what = lab::action::run, int size = n) {
    lab::request ask;
    ask.entry = entry;
    ask.what = what;
    ask.parameters = {size};
    ask.input_specs = ask.output_specs = {{lab::dtype::f32, size}};
    ask.inputs = {std::as_writable_bytes(std::span(in).first(static_cast<std::size_t>(size)))};
    ask.outputs = {std::as_writable_bytes(std::span(out).first(static_cast<std::size_t>(size)))};
    ask.metrics = {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                   "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"};
    ask.pairs = 10;
    ask.copy_bytes = 4.0 * n;
    return lab::execute(ask);
  }

  std::vector<float> in, out;
};

/// Detected by red zones on a GPU, by the checkers on the simulated device.
void expect_blamed(const lab::response& answer) { EXPECT_TRUE(!answer.error.empty() || !answer.reports.empty()); }

TEST_F(Execute, RunsACall) {
  const lab::response answer = call("copy");
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.reports, std::vector<std::string>{});
  EXPECT_EQ(out, in);
}

TEST_F(Execute, PoisonsWhatIsNotWritten) {
  EXPECT_EQ(call("copy_one_less").error, "");
  EXPECT_EQ(out[n - 2], in[n - 2]);
  EXPECT_TRUE(std::isnan(out[n - 1]));
}

TEST_F(Execute, KeepsNothingOfAnEarlierCall) {
  EXPECT_EQ(call("copy").error, "");
  EXPECT_EQ(call("do_nothing").error, "");
  for (const float value : out) ASSERT_TRUE(std::isnan(value));
}

TEST_F(Execute, SeesAWriteBehindTheOutput) { expect_blamed(call("copy_one_more")); }

TEST_F(Execute, SeesAWriteBeforeTheOutput) { expect_blamed(call("write_before")); }

TEST_F(Execute, ReportsALaunchThatWasRefused) {
  const lab::response refused = call("launch_too_many_threads");
  expect_blamed(refused);
  if (lab::backend_name() != "cuda") {
    ASSERT_EQ(refused.reports.size(), 1u);
    EXPECT_NE(refused.reports[0].find("threads exceeds the limit of 1024"), std::string::npos) << refused.reports[0];
  }
  EXPECT_EQ(call("copy").error, "");
}

TEST_F(Execute, HoldsACallToItsStream) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device judges this";
  for (const char* entry : {"copy", "copy_in_joined_stream"})
    EXPECT_EQ(call(entry).reports, std::vector<std::string>{}) << entry;
  const auto said = [&](const char* entry) {
    const std::vector<std::string> reports = call(entry).reports;
    return reports.empty() ? std::string{} : reports.front();
  };
  EXPECT_EQ(said("copy_in_default_stream"),
            "'copy_kernel' is not in `stream`: it ran in the default stream, and `stream` does not wait for it");
  EXPECT_EQ(said("clear_in_default_stream"),
            "'fill' is not in `stream`: it ran in the default stream, and `stream` does not wait for it");
  EXPECT_EQ(said("copy_in_own_stream"),
            "'copy_kernel' is not in `stream`: it ran in another stream, and `stream` does not wait for it");
}

TEST_F(Execute, SeesThatACallWaits) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device judges this";
  const std::pair<const char*, const char*> calls[] = {{"copy_and_wait_for_device", "cudaDeviceSynchronize"},
                                                       {"copy_and_wait_for_stream", "cudaStreamSynchronize"},
                                                       {"copy_by_the_host", "cudaMemcpy"}};
  for (const auto& [entry, name] : calls) {
    const std::vector<std::string> reports = call(entry).reports;
    ASSERT_FALSE(reports.empty()) << entry;
    EXPECT_EQ(reports.front(),
              std::string(name) + "() waits for the device; the contract says: return without waiting");
  }
}

TEST_F(Execute, SeesThatACallPollsUntilItsWorkIsDone) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device judges this";
  const std::pair<const char*, const char*> calls[] = {{"copy_and_poll_stream", "cudaStreamQuery"},
                                                       {"copy_and_poll_events", "cudaEventQuery"}};
  for (const auto& [entry, name] : calls) {
    const std::vector<std::string> reports = call(entry).reports;
    ASSERT_FALSE(reports.empty()) << entry;
    EXPECT_EQ(reports.front(), std::string(name) +
                                   "(), called until the work is done, waits for the device; the "
                                   "contract says: return without waiting");
  }
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call("copy_and_ask_once").reports, std::vector<std::string>{});
}

TEST_F(Execute, TheReportOfAFaultOutlivesTheExceptionThatFollows) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device has reports";
  const lab::response answer = call("write_to_null_and_check");
  ASSERT_EQ(answer.reports.size(), 1u);
  EXPECT_NE(answer.reports[0].find("which is not device memory"), std::string::npos) << answer.reports[0];
  EXPECT_NE(answer.error.find("cudaErrorIllegalAddress"), std::string::npos) << answer.error;
  EXPECT_EQ(call("copy").error, "");
}

TEST_F(Execute, TheReportOfAFaultIsPrintedIfTheCallExits) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device has reports";
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked child would lack the device's threads
  EXPECT_EXIT(call("write_to_null_and_exit"), testing::ExitedWithCode(1), "which is not device memory");
}

TEST_F(Execute, ReportsWhatIsThrown) {
  EXPECT_EQ(call("throw_text").error, "thrown on purpose");
  EXPECT_NE(call("throw_number").error, "");
}

TEST_F(Execute, ABrokenContractSaysMoreThanTheLaunchThatFailed) {
  const lab::response answer = call("launch_nothing");
  EXPECT_EQ(answer.error, "the contract wants this error");
  EXPECT_EQ(answer.reports, std::vector<std::string>{});
}

TEST_F(Execute, ReportsAnUnknownName) { EXPECT_NE(call("copi").error.find("copi"), std::string::npos); }

TEST_F(Execute, CountsSectors) {
  const lab::response answer = call("copy", lab::action::profile);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(out, in);
  if (answer.metrics.empty() && !answer.notes.empty()) GTEST_SKIP() << "SKIPPED: " << answer.notes[0];
  for (const std::string op : {"ld", "st"}) {
    EXPECT_EQ(answer.metrics.at("l1tex__t_requests_pipe_lsu_mem_global_op_" + op + ".sum"), n / 32);
    EXPECT_EQ(answer.metrics.at("l1tex__t_sectors_pipe_lsu_mem_global_op_" + op + ".sum"), n / 8);
  }
}

TEST_F(Execute, CountsAllocationsOfEarlierCallsToo) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device counts allocations";
  const auto allocations = [&](const char* entry) {
    return call(entry, lab::action::profile).metrics.at("allocations");
  };
  EXPECT_EQ(allocations("copy"), 0);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(allocations("copy_and_keep_memory"), 1);
  EXPECT_EQ(allocations("copy_and_give_memory_back"), 1) << "the memory was allocated before the call";
  EXPECT_EQ(allocations("copy"), 0);
}

TEST_F(Execute, SeesMemoryThatEachCallLeaves) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device counts allocations";
  const auto reports = [&](const char* entry) { return call(entry, lab::action::run, 1024).reports; };
  EXPECT_EQ(reports("copy_and_keep_memory"), std::vector<std::string>{});
  EXPECT_EQ(
      reports("copy_and_leak"),
      std::vector<std::string>{"each such call leaks 1 allocation: free or destroy it, or reuse it in the next call"});
  EXPECT_EQ(reports("copy_and_leave_a_stream"),
            std::vector<std::string>{
                "each such call leaks 1 stream, 1 event: free or destroy it, or reuse it in the next call"});
  EXPECT_EQ(reports("copy"), std::vector<std::string>{});
}

TEST_F(Execute, SeesMemoryThatTwoCallsShare) {
  if (lab::backend_name() == "cuda") GTEST_SKIP() << "SKIPPED: the simulated device sees races";
  const auto reports = [&](const char* entry, int size = 1024) {
    const lab::response answer = call(entry, lab::action::profile, size);
    EXPECT_EQ(answer.error, "") << entry;
    EXPECT_EQ(std::vector(out.begin(), out.begin() + size), std::vector(in.begin(), in.begin() + size)) << entry;
    return answer.reports;
  };
  EXPECT_EQ(reports("copy_at_any_time"), std::vector<std::string>{});
  EXPECT_EQ(reports("copy_by_static_memory"), std::vector<std::string>{}) << "its contract may forbid two calls";
  const std::vector<std::string> shared = reports("copy_by_static_memory_at_any_time");
  ASSERT_EQ(shared.size(), 1u);
  EXPECT_EQ(shared[0].find("two calls at the same time, on separate buffers: "), 0u) << shared[0];
  EXPECT_NE(shared[0].find("race between streams"), std::string::npos) << shared[0];
  EXPECT_EQ(call("copy_by_static_memory_at_any_time", lab::action::profile, 1024).metrics.at("launches"), 2);
  EXPECT_EQ(reports("copy_by_static_memory_at_any_time", n), std::vector<std::string>{}) << "large: called once";
  EXPECT_EQ(reports("copy"), std::vector<std::string>{});
}

TEST_F(Execute, SeesWhatEachCallOnTheHostLeaves) {
  const auto error = [&](const char* entry, bool again) {
    lab::request ask;
    ask.entry = entry;
    ask.again = again;
    return lab::execute(ask).error;
  };
  EXPECT_EQ(error("keep_for_later", true), "");
  EXPECT_EQ(error("renew_a_little_larger", true), "") << "a single reallocation is no leak";
  EXPECT_EQ(error("free_aligned_memory", true), "");
  EXPECT_EQ(error("round_down", true),
            "leaves the processor in a different floating-point mode (rounding, or treating subnormals as 0): "
            "restore the mode");
  EXPECT_EQ(std::fegetround(), FE_TONEAREST) << "the mode is restored";
  EXPECT_EQ(error("leave_memory", false), "");
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
  EXPECT_NE(error("leave_memory", true).find("bytes allocated: free what it allocates"), std::string::npos);
#endif
}

TEST_F(Execute, TimesPairs) {
  const lab::response answer = call("copy", lab::action::time);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(out, in);
  EXPECT_EQ(answer.call_seconds.size(), 10u);
  EXPECT_EQ(answer.ceiling_seconds.size(), 10u);
  for (const double seconds : answer.call_seconds) EXPECT_GT(seconds, 0.0);
}

TEST_F(Execute, TimesAMatrixProductBesideACall) {
  std::vector<float> a(6, 1.0f), b(8, 1.0f), c(12);  // (3, 2), (2, 4), (3, 4)
  lab::request ask;
  ask.entry = "multiply";
  ask.what = lab::action::time;
  ask.ceiling = "cublas";
  ask.parameters = {3, 4, 2};
  ask.input_specs = {{lab::dtype::f32, 6}, {lab::dtype::f32, 8}};
  ask.output_specs = {{lab::dtype::f32, 12}};
  ask.inputs = {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b))};
  ask.outputs = {std::as_writable_bytes(std::span(c))};
  ask.pairs = 3;
  if (lab::backend_name() != "cuda") {
    EXPECT_NE(lab::execute(ask).error.find("is timed on a GPU only"), std::string::npos);
    return;
  }
  const lab::response answer = lab::execute(ask);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.ceiling_seconds.size(), 3u);
  EXPECT_EQ(c, std::vector<float>(12, 2.0f));
  ask.parameters = {3, 4, 3};
  EXPECT_NE(lab::execute(ask).error.find("inputs A (m, k) and B (k, n) of f32"), std::string::npos);
  ask.ceiling = "sky";
  EXPECT_EQ(lab::execute(ask).error, "no ceiling 'sky' on a device");
}

TEST_F(Execute, TimesAnAlignedProductBesideACall) {
  std::vector<lab::bfloat16> a(6), b(8), c(12);  // (3, 2), (2, 4), (3, 4); the ceiling's are (8, 8)
  lab::request ask;
  ask.entry = "write_half";
  ask.what = lab::action::time;
  ask.ceiling = "cublas_aligned";
  ask.parameters = {3, 4, 2};
  ask.input_specs = {{lab::dtype::bf16, 6}, {lab::dtype::bf16, 8}};
  ask.output_specs = {{lab::dtype::bf16, 12}};
  ask.inputs = {std::as_writable_bytes(std::span(a)), std::as_writable_bytes(std::span(b))};
  ask.outputs = {std::as_writable_bytes(std::span(c))};
  ask.pairs = 3;
  if (lab::backend_name() != "cuda") {
    EXPECT_NE(lab::execute(ask).error.find("is timed on a GPU only"), std::string::npos);
    return;
  }
  const lab::response answer = lab::execute(ask);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(answer.ceiling_seconds.size(), 3u);
  for (const lab::bfloat16 x : c) EXPECT_EQ(x, 0.5f);
  ask.entry = "do_nothing";
  EXPECT_NE(lab::execute(ask).error.find("unwritten"), std::string::npos);
  ask.input_specs[0] = {lab::dtype::u8, 12};
  EXPECT_NE(lab::execute(ask).error.find("of bf16"), std::string::npos);
}

TEST_F(Execute, SeesATimedCallThatWroteNothing) {
  // On a GPU the warm-up alone makes more calls than this function survives.
  EXPECT_NE(call("copy_at_first", lab::action::time).error.find("unwritten"), std::string::npos);
}

class DeviceBuffer : public Execute {};

TEST_F(DeviceBuffer, IsAlignedPoisonedAndMovable) {
  lab::device_buffer<float> first(1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 256, 0u);
  float value = 0.0f;
  LAB_CUDA_CHECK(cudaMemcpy(&value, first.data() + 999, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(std::isnan(value));
  float* const place = first.data();
  const lab::device_buffer<float> second(std::move(first));
  EXPECT_EQ(second.data(), place);
  EXPECT_TRUE(second.intact());
}

TEST_F(DeviceBuffer, SeesWritesOnEitherSideAndFromAnotherRedZone) {
  const lab::device_buffer<float> before(1000), after(1000), source(1000), copied(1000);
  const float value = 1.0f;
  LAB_CUDA_CHECK(cudaMemcpy(before.data() - 1, &value, sizeof value, cudaMemcpyHostToDevice));
  LAB_CUDA_CHECK(cudaMemcpy(after.data() + 1000, &value, sizeof value, cudaMemcpyHostToDevice));
  LAB_CUDA_CHECK(cudaMemcpy(copied.data() + 1000, source.data() + 1000, sizeof value, cudaMemcpyDeviceToDevice));
  EXPECT_FALSE(before.intact());
  EXPECT_FALSE(after.intact());
  EXPECT_FALSE(copied.intact());
  EXPECT_TRUE(source.intact());
}

TEST_F(DeviceBuffer, NamesTheCallThatFailed) {
  try {
    LAB_CUDA_CHECK(cudaMemcpy(nullptr, nullptr, 4, static_cast<cudaMemcpyKind>(77)));
    FAIL() << "no error";
  } catch (const lab::device_error& e) {
    EXPECT_NE(std::string(e.what()).find("execute_test.cpp"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("cudaMemcpy"), std::string::npos);
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

class Fault : public Execute {};

// Keep this test last: with some drivers, this process cannot use the device after an illegal address.
TEST_F(Fault, UsesTheDeviceAgain) {
  expect_blamed(call("write_to_null"));
  // Not every driver lets a process continue after an illegal address; if not, a new runner starts.
  if (lab::backend_name() == "cuda" && !call("copy").error.empty()) GTEST_SKIP() << "SKIPPED: this driver does not";
  EXPECT_EQ(call("copy").error, "");
  EXPECT_EQ(out, in);
}

}  // namespace
