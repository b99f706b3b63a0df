// CUPTI's host half: from names of metrics to a configuration, and from counter data to values.
#pragma once

#include "cupti_target.h"

enum CUpti_ProfilerType {
  CUPTI_PROFILER_TYPE_RANGE_PROFILER,
  CUPTI_PROFILER_TYPE_PM_SAMPLING,
  CUPTI_PROFILER_TYPE_PROFILER_INVALID
};
struct CUpti_Profiler_Host_Object;

struct CUpti_Profiler_Host_Initialize_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_ProfilerType profilerType;
  const char* pChipName;
  const std::uint8_t* pCounterAvailabilityImage;
  CUpti_Profiler_Host_Object* pHostObject;  ///< out
};
#define CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Initialize_Params, pHostObject)

struct CUpti_Profiler_Host_Deinitialize_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_Profiler_Host_Object* pHostObject;
};
#define CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_Deinitialize_Params, pHostObject)

struct CUpti_Profiler_Host_ConfigAddMetrics_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_Profiler_Host_Object* pHostObject;
  const char** ppMetricNames;
  std::size_t numMetrics;
};
#define CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics)

struct CUpti_Profiler_Host_GetConfigImageSize_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_Profiler_Host_Object* pHostObject;
  std::size_t configImageSize;  ///< out
};
#define CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize)

struct CUpti_Profiler_Host_GetConfigImage_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_Profiler_Host_Object* pHostObject;
  std::size_t configImageSize;
  std::uint8_t* pConfigImage;
};
#define CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage)

struct CUpti_Profiler_Host_GetNumOfPasses_Params {
  std::size_t structSize;
  void* pPriv;
  std::size_t configImageSize;
  std::uint8_t* pConfigImage;
  std::size_t numOfPasses;  ///< out
};
#define CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_GetNumOfPasses_Params, numOfPasses)

struct CUpti_Profiler_Host_EvaluateToGpuValues_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_Profiler_Host_Object* pHostObject;
  const std::uint8_t* pCounterDataImage;
  std::size_t counterDataImageSize;
  std::size_t rangeIndex;
  const char** ppMetricNames;
  std::size_t numMetrics;
  double* pMetricValues;  ///< room for numMetrics
};
#define CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues)

extern "C" {
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* pParams);
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params* pParams);
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* pParams);
CUptiResult cuptiProfilerHostGetConfigImageSize(CUpti_Profiler_Host_GetConfigImageSize_Params* pParams);
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* pParams);
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* pParams);
CUptiResult cuptiProfilerHostEvaluateToGpuValues(CUpti_Profiler_Host_EvaluateToGpuValues_Params* pParams);
}
