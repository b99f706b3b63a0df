// Given: sets up CUPTI's Range Profiler and reads its results, on a GPU and on the simulated device. The part in
// between, running the pass in ranges, is yours (tracer.cpp).
#pragma once

#include <cuda_runtime.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_result.h>
#include <cupti_target.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "forward.hpp"

namespace lab08 {

/// Throws if a CUPTI call has failed.
inline void check_cupti(CUptiResult status) {
  if (status == CUPTI_SUCCESS) return;
  const char* text = nullptr;
  (void)cuptiGetResultString(status, &text);
  throw std::runtime_error(text ? text : "CUPTI failed");
}

/// The parameters of cuptiRangeProfiler<CALL>, for these counters: RANGE_PARAMETERS(counters, Start).
#define RANGE_PARAMETERS(counters, call) \
  (counters).parameters<CUpti_RangeProfiler_##call##_Params>(CUpti_RangeProfiler_##call##_Params_STRUCT_SIZE)

/// Counters that CUPTI reads in a program's ranges. The program must run as many times as cuptiRangeProfilerStop asks.
class range_counters {
 public:
  /// `ranges`: how many ranges each run has.
  range_counters(const std::vector<std::string>& metrics, std::size_t ranges) {
    for (const std::string& m : metrics) metrics_.push_back(m.c_str());
    open();
    try {
      set_up(ranges);
    } catch (...) {
      close();
      throw;
    }
  }
  ~range_counters() { close(); }
  range_counters(const range_counters&) = delete;  // owns CUPTI objects
  range_counters& operator=(const range_counters&) = delete;

  template <class Parameters>
  Parameters parameters(std::size_t bytes) const {
    Parameters p = sized<Parameters>(bytes);
    p.pRangeProfilerObject = object_;
    return p;
  }

  /// What cuptiRangeProfilerDecodeData has decoded.
  std::vector<counted_block> decoded() {
    auto info =
        sized<CUpti_RangeProfiler_GetCounterDataInfo_Params>(CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE);
    info.pCounterDataImage = data_.data();
    info.counterDataImageSize = data_.size();
    check_cupti(cuptiRangeProfilerGetCounterDataInfo(&info));
    std::vector<counted_block> blocks;
    for (std::size_t i = 0; i < info.numTotalRanges; ++i) {
      auto range = sized<CUpti_RangeProfiler_CounterData_GetRangeInfo_Params>(
          CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE);
      range.pCounterDataImage = data_.data();
      range.counterDataImageSize = data_.size();
      range.rangeIndex = i;
      range.rangeDelimiter = "/";
      check_cupti(cuptiRangeProfilerCounterDataGetRangeInfo(&range));
      blocks.push_back({range.rangeName, std::vector<double>(metrics_.size())});
      auto values = sized<CUpti_Profiler_Host_EvaluateToGpuValues_Params>(
          CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE);
      values.pHostObject = host_;
      values.pCounterDataImage = data_.data();
      values.counterDataImageSize = data_.size();
      values.rangeIndex = i;
      values.ppMetricNames = metrics_.data();
      values.numMetrics = metrics_.size();
      values.pMetricValues = blocks.back().values.data();
      check_cupti(cuptiProfilerHostEvaluateToGpuValues(&values));
    }
    return blocks;
  }

 private:
  /// CUPTI's parameter structs begin with their size; what is not set must be zero.
  template <class Parameters>
  static Parameters sized(std::size_t bytes) {
    Parameters p{};
    p.structSize = bytes;
    return p;
  }

  /// The runtime's context. The driver library is not linked: the program must start without it.
  static CUcontext context() {
    CUcontext current = nullptr;
    void* get = nullptr;
    if (cudaFree(nullptr) != cudaSuccess ||
        cudaGetDriverEntryPointByVersion("cuCtxGetCurrent", &get, 12000, cudaEnableDefault) != cudaSuccess || !get ||
        reinterpret_cast<CUresult (*)(CUcontext*)>(get)(&current) != CUDA_SUCCESS)
      throw std::runtime_error("there is no CUDA context");
    return current;
  }

  void open() {
    const CUcontext current = context();
    auto initialize = sized<CUpti_Profiler_Initialize_Params>(CUpti_Profiler_Initialize_Params_STRUCT_SIZE);
    check_cupti(cuptiProfilerInitialize(&initialize));
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess) throw std::runtime_error("there is no device");
    auto chip = sized<CUpti_Device_GetChipName_Params>(CUpti_Device_GetChipName_Params_STRUCT_SIZE);
    chip.deviceIndex = static_cast<std::size_t>(device);
    check_cupti(cuptiDeviceGetChipName(&chip));
    auto enable = sized<CUpti_RangeProfiler_Enable_Params>(CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE);
    enable.ctx = current;
    check_cupti(cuptiRangeProfilerEnable(&enable));
    object_ = enable.pRangeProfilerObject;
    auto host = sized<CUpti_Profiler_Host_Initialize_Params>(CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    if (cuptiProfilerHostInitialize(&host) == CUPTI_SUCCESS) host_ = host.pHostObject;
  }

  void close() {
    auto disable = RANGE_PARAMETERS(*this, Disable);
    (void)cuptiRangeProfilerDisable(&disable);
    auto end = sized<CUpti_Profiler_Host_Deinitialize_Params>(CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE);
    end.pHostObject = host_;
    if (host_) (void)cuptiProfilerHostDeinitialize(&end);
  }

  /// Makes a configuration from the metrics' names, and room for the values.
  void set_up(std::size_t ranges) {
    if (!host_) throw std::runtime_error("this CUPTI does not know the chip");
    auto add =
        sized<CUpti_Profiler_Host_ConfigAddMetrics_Params>(CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE);
    add.pHostObject = host_;
    add.ppMetricNames = metrics_.data();
    add.numMetrics = metrics_.size();
    if (cuptiProfilerHostConfigAddMetrics(&add) != CUPTI_SUCCESS)
      throw std::runtime_error("this device does not count one of the metrics");
    auto size =
        sized<CUpti_Profiler_Host_GetConfigImageSize_Params>(CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE);
    size.pHostObject = host_;
    check_cupti(cuptiProfilerHostGetConfigImageSize(&size));
    config_.resize(size.configImageSize);
    auto image =
        sized<CUpti_Profiler_Host_GetConfigImage_Params>(CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    check_cupti(cuptiProfilerHostGetConfigImage(&image));

    auto room = RANGE_PARAMETERS(*this, GetCounterDataSize);
    room.pMetricNames = metrics_.data();
    room.numMetrics = metrics_.size();
    room.maxNumOfRanges = ranges;
    room.maxNumRangeTreeNodes = static_cast<std::uint32_t>(ranges);
    check_cupti(cuptiRangeProfilerGetCounterDataSize(&room));
    data_.resize(room.counterDataSize);
    auto clear = RANGE_PARAMETERS(*this, CounterDataImage_Initialize);
    clear.pCounterData = data_.data();
    clear.counterDataSize = data_.size();
    check_cupti(cuptiRangeProfilerCounterDataImageInitialize(&clear));

    auto config = RANGE_PARAMETERS(*this, SetConfig);
    config.pConfig = config_.data();
    config.configSize = config_.size();
    config.pCounterDataImage = data_.data();
    config.counterDataImageSize = data_.size();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = ranges;
    config.numNestingLevels = config.minNestingLevel = config.targetNestingLevel = 1;
    check_cupti(cuptiRangeProfilerSetConfig(&config));
  }

  std::vector<const char*> metrics_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<std::uint8_t> config_, data_;  // CUPTI writes to data_ until this object is destroyed
};

}  // namespace lab08
