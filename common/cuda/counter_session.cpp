#include "counter_session.hpp"

#include "driver.hpp"
#include "lab/device.hpp"

namespace lab {
namespace {

std::string chip_name() {
  int device = 0;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  auto chip = LAB_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = static_cast<std::size_t>(device);
  LAB_CUPTI_CHECK(cuptiDeviceGetChipName(&chip));
  return chip.pChipName;
}

std::vector<std::uint8_t> counter_availability(CUcontext context) {
  auto query = LAB_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params);
  query.ctx = context;
  LAB_CUPTI_CHECK(cuptiProfilerGetCounterAvailability(&query));
  std::vector<std::uint8_t> image(query.counterAvailabilityImageSize);
  query.pCounterAvailabilityImage = image.data();
  LAB_CUPTI_CHECK(cuptiProfilerGetCounterAvailability(&query));
  return image;
}

void deinitialize() {
  auto end = LAB_CUPTI_PARAMETERS(CUpti_Profiler_DeInitialize_Params);
  (void)cuptiProfilerDeInitialize(&end);
}

}  // namespace

CUcontext current_context() {
  CUcontext context = nullptr;
  LAB_DRIVER(cuCtxGetCurrent)(&context);
  return context;
}

counter_access::counter_access(const std::vector<std::string>& metrics) : context_(current_context()) {
  auto initialize = LAB_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params);
  LAB_CUPTI_CHECK(cuptiProfilerInitialize(&initialize));
  try {
    const std::vector<std::uint8_t> availability = counter_availability(context_);
    plan_.emplace(chip_name(), metrics, availability);
  } catch (...) {
    deinitialize();
    throw;
  }
}

counter_access::~counter_access() {
  plan_.reset();
  deinitialize();
}

counter_session::counter_session(const counter_access& counters, std::size_t ranges) : plan_(counters.plan()) {
  auto enable = LAB_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params);
  enable.ctx = counters.context();
  LAB_CUPTI_CHECK(cuptiRangeProfilerEnable(&enable));
  object_ = enable.pRangeProfilerObject;
  try {
    std::vector<const char*> names;
    for (const std::string& name : plan_.metrics()) names.push_back(name.c_str());
    auto size = with_object<CUpti_RangeProfiler_GetCounterDataSize_Params>(
        CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE);
    size.pMetricNames = names.data();
    size.numMetrics = names.size();
    size.maxNumOfRanges = ranges;
    size.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
    LAB_CUPTI_CHECK(cuptiRangeProfilerGetCounterDataSize(&size));
    counter_data_.assign(size.counterDataSize, 0);

    auto clear = with_object<CUpti_RangeProfiler_CounterDataImage_Initialize_Params>(
        CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE);
    clear.pCounterData = counter_data_.data();
    clear.counterDataSize = counter_data_.size();
    LAB_CUPTI_CHECK(cuptiRangeProfilerCounterDataImageInitialize(&clear));

    auto config = with_object<CUpti_RangeProfiler_SetConfig_Params>(CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE);
    config.pConfig = plan_.config_image().data();
    config.configSize = plan_.config_image().size();
    config.pCounterDataImage = counter_data_.data();
    config.counterDataImageSize = counter_data_.size();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = ranges;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    config.passIndex = 0;
    config.targetNestingLevel = 1;
    LAB_CUPTI_CHECK(cuptiRangeProfilerSetConfig(&config));
  } catch (...) {
    auto disable = with_object<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
    (void)cuptiRangeProfilerDisable(&disable);
    throw;
  }
}

counter_session::~counter_session() {
  auto disable = with_object<CUpti_RangeProfiler_Disable_Params>(CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE);
  (void)cuptiRangeProfilerDisable(&disable);
}

void counter_session::start() {
  auto start = with_object<CUpti_RangeProfiler_Start_Params>(CUpti_RangeProfiler_Start_Params_STRUCT_SIZE);
  LAB_CUPTI_CHECK(cuptiRangeProfilerStart(&start));
}

bool counter_session::stop() {
  auto stop = with_object<CUpti_RangeProfiler_Stop_Params>(CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE);
  LAB_CUPTI_CHECK(cuptiRangeProfilerStop(&stop));
  return stop.isAllPassSubmitted != 0;
}

void counter_session::push(const std::string& name) {
  auto push = with_object<CUpti_RangeProfiler_PushRange_Params>(CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE);
  push.pRangeName = name.c_str();
  LAB_CUPTI_CHECK(cuptiRangeProfilerPushRange(&push));
}

void counter_session::pop() {
  auto pop = with_object<CUpti_RangeProfiler_PopRange_Params>(CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE);
  LAB_CUPTI_CHECK(cuptiRangeProfilerPopRange(&pop));
}

std::map<std::string, std::map<std::string, double>> counter_session::decode() {
  auto decoded = with_object<CUpti_RangeProfiler_DecodeData_Params>(CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE);
  LAB_CUPTI_CHECK(cuptiRangeProfilerDecodeData(&decoded));
  if (decoded.numOfRangeDropped != 0)
    throw std::runtime_error("CUPTI dropped " + std::to_string(decoded.numOfRangeDropped) + " ranges");
  auto info = LAB_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params);
  info.pCounterDataImage = counter_data_.data();
  info.counterDataImageSize = counter_data_.size();
  LAB_CUPTI_CHECK(cuptiRangeProfilerGetCounterDataInfo(&info));
  std::map<std::string, std::map<std::string, double>> values;
  for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
    auto range = LAB_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params);
    range.pCounterDataImage = counter_data_.data();
    range.counterDataImageSize = counter_data_.size();
    range.rangeIndex = i;
    range.rangeDelimiter = "/";
    LAB_CUPTI_CHECK(cuptiRangeProfilerCounterDataGetRangeInfo(&range));
    values[range.rangeName] = plan_.evaluate(counter_data_, i);
  }
  return values;
}

}  // namespace lab
