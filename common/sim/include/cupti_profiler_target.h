// CUPTI: what the Range Profiler needs on the device. Omits this header's older calls, deprecated since CUDA 13.0.
#pragma once

#include "cupti_target.h"

enum CUpti_ProfilerRange { CUPTI_Range_INVALID, CUPTI_AutoRange, CUPTI_UserRange, CUPTI_Range_COUNT };
enum CUpti_ProfilerReplayMode {
  CUPTI_Replay_INVALID,
  CUPTI_ApplicationReplay,
  CUPTI_KernelReplay,
  CUPTI_UserReplay,
  CUPTI_Replay_COUNT
};

struct CUpti_Profiler_Initialize_Params {
  std::size_t structSize;
  void* pPriv;
};
#define CUpti_Profiler_Initialize_Params_STRUCT_SIZE CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Initialize_Params, pPriv)

struct CUpti_Profiler_DeInitialize_Params {
  std::size_t structSize;
  void* pPriv;
};
#define CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_DeInitialize_Params, pPriv)

/// Programs call it twice: without an image, to get its size, then with one.
struct CUpti_Profiler_GetCounterAvailability_Params {
  std::size_t structSize;
  void* pPriv;
  CUcontext ctx;
  std::size_t counterAvailabilityImageSize;  ///< in and out
  std::uint8_t* pCounterAvailabilityImage;
};
#define CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage)

extern "C" {
CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params* pParams);
CUptiResult cuptiProfilerDeInitialize(CUpti_Profiler_DeInitialize_Params* pParams);
CUptiResult cuptiProfilerGetCounterAvailability(CUpti_Profiler_GetCounterAvailability_Params* pParams);
}
