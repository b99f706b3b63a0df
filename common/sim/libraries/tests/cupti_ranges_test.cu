// CUPTI's Range Profiler, used as NVIDIA's samples use it. nvcc compiles this file, too; on a GPU it needs the
// permission to read counters; all tests but the last pass on an H200 with CUDA 13.0.
#include <cuda.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

// As in NVIDIA's headers.
static_assert(CUpti_Device_GetChipName_Params_STRUCT_SIZE == 32 && CUPTI_UserReplay == 3 && CUPTI_UserRange == 2);
static_assert(CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE == 72);
static_assert(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE == 90);
static_assert(offsetof(CUpti_RangeProfiler_SetConfig_Params, passIndex) == 80);
static_assert(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE == 41);
static_assert(CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE == 64);
static_assert(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE == 56);

namespace {

using values = std::map<std::string, std::map<std::string, double>>;  // by range and metric

#define CUPTI(call) ASSERT_EQ(call, CUPTI_SUCCESS) << #call
#define CUDA(call) ASSERT_EQ(call, cudaSuccess)

template <class T>
T sized(std::size_t bytes) {
  T parameters{};
  parameters.structSize = bytes;
  return parameters;
}
#define PARAMETERS(type) sized<type>(type##_STRUCT_SIZE)
/// Calls cupti##call with only the object; `p` holds its answer.
#define ON_OBJECT(name, call)                                  \
  auto name = PARAMETERS(CUpti_RangeProfiler_##call##_Params); \
  name.pRangeProfilerObject = object_

__global__ void scale(float* x, float by, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= by;
}
__global__ void scale_every_eighth(float* x, float by, int n) {
  const int i = 8 * static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] *= by;
}

constexpr const char *multiplications = "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                     *sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                     *requests = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
                     *sectors_a_request = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio";
constexpr int n = 8192;

class CuptiRanges : public testing::Test {
 protected:
  void SetUp() override {
    CUDA(cudaMalloc(&x_, n * sizeof(float)));
    CUDA(cudaMemset(x_, 0, n * sizeof(float)));
    auto initialize = PARAMETERS(CUpti_Profiler_Initialize_Params);
    CUPTI(cuptiProfilerInitialize(&initialize));
    auto chip = PARAMETERS(CUpti_Device_GetChipName_Params);
    CUPTI(cuptiDeviceGetChipName(&chip));
    auto host = PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    CUPTI(cuptiProfilerHostInitialize(&host));
    host_ = host.pHostObject;
    auto enable = PARAMETERS(CUpti_RangeProfiler_Enable_Params);
    ASSERT_EQ(cuCtxGetCurrent(&enable.ctx), CUDA_SUCCESS);  // without a context, the library crashes
    CUPTI(cuptiRangeProfilerEnable(&enable));
    object_ = enable.pRangeProfilerObject;
  }
  void TearDown() override {
    ON_OBJECT(disable, Disable);
    EXPECT_EQ(cuptiRangeProfilerDisable(&disable), CUPTI_SUCCESS);
    auto end = PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params);
    end.pHostObject = host_;
    EXPECT_EQ(cuptiProfilerHostDeinitialize(&end), CUPTI_SUCCESS);
    CUDA(cudaFree(x_));
  }

  CUptiResult add(const std::vector<const char*>& metrics) {
    metrics_ = metrics;
    auto p = PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    p.pHostObject = host_;
    p.ppMetricNames = metrics_.data();
    p.numMetrics = metrics_.size();
    return cuptiProfilerHostConfigAddMetrics(&p);
  }
  CUptiResult configure(CUpti_ProfilerRange range, CUpti_ProfilerReplayMode replay, std::size_t most_ranges = 8,
                        std::uint16_t first_level = 1, std::uint16_t levels = 1) {
    auto size = PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    EXPECT_EQ(cuptiProfilerHostGetConfigImageSize(&size), CUPTI_SUCCESS);
    config_.resize(size.configImageSize);
    auto image = PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    EXPECT_EQ(cuptiProfilerHostGetConfigImage(&image), CUPTI_SUCCESS);
    ON_OBJECT(data, GetCounterDataSize);
    data.pMetricNames = metrics_.data();
    data.numMetrics = metrics_.size();
    data.maxNumOfRanges = most_ranges;
    data.maxNumRangeTreeNodes = 2 * static_cast<std::uint32_t>(most_ranges);
    EXPECT_EQ(cuptiRangeProfilerGetCounterDataSize(&data), CUPTI_SUCCESS);
    data_.assign(data.counterDataSize, 0);
    auto clear = PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    clear.pRangeProfilerObject = object_;
    clear.counterDataSize = data_.size();
    clear.pCounterData = data_.data();
    EXPECT_EQ(cuptiRangeProfilerCounterDataImageInitialize(&clear), CUPTI_SUCCESS);
    ON_OBJECT(p, SetConfig);
    p.configSize = config_.size();
    p.pConfig = config_.data();
    p.counterDataImageSize = data_.size();
    p.pCounterDataImage = data_.data();
    p.range = range;
    p.replayMode = replay;
    p.maxRangesPerPass = most_ranges;
    p.numNestingLevels = levels;
    p.minNestingLevel = p.targetNestingLevel = first_level;
    return cuptiRangeProfilerSetConfig(&p);
  }
  void start() {
    ON_OBJECT(p, Start);
    CUPTI(cuptiRangeProfilerStart(&p));
  }
  bool stop() {
    ON_OBJECT(p, Stop);
    EXPECT_EQ(cuptiRangeProfilerStop(&p), CUPTI_SUCCESS);
    return p.isAllPassSubmitted;
  }
  void push(const char* name) {
    ON_OBJECT(p, PushRange);
    p.pRangeName = name;
    CUPTI(cuptiRangeProfilerPushRange(&p));
  }
  void pop() {
    CUDA(cudaDeviceSynchronize());
    ON_OBJECT(p, PopRange);
    CUPTI(cuptiRangeProfilerPopRange(&p));
  }
  template <class Launch>
  void in_range(const char* name, Launch launch) {
    push(name);
    launch();
    pop();
  }
  values decode() {
    ON_OBJECT(decoded, DecodeData);
    EXPECT_EQ(cuptiRangeProfilerDecodeData(&decoded), CUPTI_SUCCESS);
    dropped_ = decoded.numOfRangeDropped;
    auto info = PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    EXPECT_EQ(cuptiRangeProfilerGetCounterDataInfo(&info), CUPTI_SUCCESS);
    values all;
    for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
      auto range = PARAMETERS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
      range.pCounterDataImage = data_.data();
      range.counterDataImageSize = data_.size();
      range.rangeIndex = i;
      range.rangeDelimiter = "/";
      EXPECT_EQ(cuptiRangeProfilerCounterDataGetRangeInfo(&range), CUPTI_SUCCESS);
      std::vector<double> row(metrics_.size());
      auto p = PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
      p.pHostObject = host_;
      p.pCounterDataImage = data_.data();
      p.counterDataImageSize = data_.size();
      p.rangeIndex = i;
      p.ppMetricNames = metrics_.data();
      p.numMetrics = metrics_.size();
      p.pMetricValues = row.data();
      EXPECT_EQ(cuptiProfilerHostEvaluateToGpuValues(&p), CUPTI_SUCCESS);
      for (std::size_t m = 0; m < row.size(); ++m) all[range.rangeName][metrics_[m]] = row[m];
    }
    return all;
  }
  void launch() { scale<<<n / 256, 256>>>(x_, 2.0f, n); }
  void launch_strided() { scale_every_eighth<<<n / 8 / 256, 256>>>(x_, 2.0f, n); }

  float* x_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<const char*> metrics_;
  std::vector<std::uint8_t> config_, data_;
  std::size_t dropped_ = 0;
};

TEST_F(CuptiRanges, CountsEachKernelInOnePass) {
  CUPTI(add({multiplications, sectors, requests, sectors_a_request}));
  CUPTI(configure(CUPTI_AutoRange, CUPTI_KernelReplay));
  start();
  launch();
  launch_strided();
  EXPECT_TRUE(stop());
  values got = decode();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got["0"][multiplications], n);
  EXPECT_EQ(got["0"][sectors], n / 8);
  EXPECT_EQ(got["0"][requests], n / 32);
  EXPECT_EQ(got["0"][sectors_a_request], 4);
  EXPECT_EQ(got["1"][multiplications], n / 8);
  EXPECT_EQ(got["1"][sectors_a_request], 32);
}

TEST_F(CuptiRanges, RunsTheProgramOnceForEachPass) {
  CUPTI(add({sectors, multiplications, requests, sectors_a_request}));
  auto count = PARAMETERS(CUpti_Profiler_Host_GetNumOfPasses_Params);
  CUPTI(configure(CUPTI_UserRange, CUPTI_UserReplay));
  count.configImageSize = config_.size();
  count.pConfigImage = config_.data();
  CUPTI(cuptiProfilerHostGetNumOfPasses(&count));
  EXPECT_GE(count.numOfPasses, 2u);  // by counters, and by patching
  std::size_t passes = 0;
  for (bool done = false; !done && passes < 9; ++passes) {
    start();
    launch();  // in no range
    in_range("both", [&] {
      launch();
      launch_strided();
    });
    in_range("strided", [&] { launch_strided(); });
    done = stop();
  }
  EXPECT_EQ(passes, count.numOfPasses);
  values got = decode();
  EXPECT_EQ(dropped_, 0u);
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got["both"][multiplications], n + n / 8);
  EXPECT_EQ(got["strided"][multiplications], n / 8);
  EXPECT_EQ(got["both"][sectors], 2 * n / 8);
  EXPECT_EQ(got["both"][requests], n / 32 + n / 256);
  EXPECT_NEAR(got["both"][sectors_a_request], (n / 8 + n / 8) / (n / 32 + n / 256.0), 1e-9);  // the ratio of the sums
  EXPECT_EQ(got["strided"][sectors_a_request], 32);
}

TEST_F(CuptiRanges, CountsInnerRangesOnly) {
  CUPTI(add({multiplications}));
  CUPTI(configure(CUPTI_UserRange, CUPTI_UserReplay, 8, 2));
  for (bool done = false; !done;) {
    start();
    push("layer");
    launch();
    in_range("norm", [&] { launch_strided(); });
    in_range("MLP", [&] { launch(); });
    pop();
    done = stop();
  }
  values got = decode();
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got["layer/norm"][multiplications], n / 8);
  EXPECT_EQ(got["layer/MLP"][multiplications], n);
}

TEST_F(CuptiRanges, WithoutAPassItsMetricsAreNoNumbers) {
  CUPTI(add({sectors, multiplications}));
  CUPTI(configure(CUPTI_UserRange, CUPTI_UserReplay));
  start();
  in_range("once", [&] { launch(); });
  EXPECT_FALSE(stop());
  values got = decode();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_NE(std::isnan(got["once"][sectors]), std::isnan(got["once"][multiplications]));
}

TEST_F(CuptiRanges, LeavesOutRangesWithoutRoom) {
  CUPTI(add({sectors}));
  CUPTI(configure(CUPTI_UserRange, CUPTI_UserReplay, 2));
  for (bool done = false; !done;) {
    start();
    for (const char* name : {"a", "b", "c"}) in_range(name, [&] { launch(); });
    done = stop();
  }
  EXPECT_EQ(decode().size(), 2u);
  EXPECT_EQ(dropped_, 0u);  // as the library says
}

class CuptiMetrics : public CuptiRanges, public testing::WithParamInterface<std::vector<const char*>> {};
TEST_P(CuptiMetrics, AreRefused) { EXPECT_EQ(add(GetParam()), CUPTI_ERROR_INVALID_PARAMETER); }
INSTANTIATE_TEST_SUITE_P(Unknown, CuptiMetrics,
                         testing::Values(std::vector{"dram__bytes_read"},              // neither a sum nor a ratio
                                         std::vector{"launch__registers_per_thread"},  // Nsight Compute's own
                                         std::vector{sectors, "dram__bytes_eaten.sum"}));

TEST_F(CuptiRanges, AnswersErrorsAsTheLibraryDoes) {
  EXPECT_EQ(add({"dram__bytes_eaten.sum"}), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(add({sectors}), CUPTI_ERROR_UNKNOWN);  // from this object, after its first error
  auto host = PARAMETERS(CUpti_Profiler_Host_Initialize_Params);
  host.pChipName = "XX100";
  EXPECT_EQ(cuptiProfilerHostInitialize(&host), CUPTI_ERROR_INVALID_CHIP_NAME);
  ON_OBJECT(early, PopRange);
  EXPECT_NE(cuptiRangeProfilerPopRange(&early), CUPTI_SUCCESS);
}

TEST_F(CuptiRanges, RefusesWhatCrashesTheLibrary) {
  auto empty = PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
  EXPECT_EQ(cuptiProfilerHostConfigAddMetrics(&empty), CUPTI_ERROR_INVALID_PARAMETER);
  auto enable = PARAMETERS(CUpti_RangeProfiler_Enable_Params);
  EXPECT_EQ(cuptiRangeProfilerEnable(&enable), CUPTI_ERROR_INVALID_PARAMETER);  // no context
}

}  // namespace
