// CUPTI's Range Profiler: counters for parts of a program, either each kernel or ranges that the program begins and
// ends.
#pragma once

#include "cupti_profiler_target.h"

struct CUpti_RangeProfiler_Object;

struct CUpti_RangeProfiler_SetConfig_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  std::size_t configSize;
  const std::uint8_t* pConfig;
  std::size_t counterDataImageSize;
  std::uint8_t* pCounterDataImage;
  CUpti_ProfilerRange range;
  CUpti_ProfilerReplayMode replayMode;
  std::size_t maxRangesPerPass;
  std::uint16_t numNestingLevels, minNestingLevel;  ///< 1: the outermost ranges
  std::size_t passIndex;
  std::uint16_t targetNestingLevel;
};
#define CUpti_RangeProfiler_SetConfig_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel)

struct CUpti_RangeProfiler_Enable_Params {
  std::size_t structSize;
  void* pPriv;
  CUcontext ctx;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;  ///< out
};
#define CUpti_RangeProfiler_Enable_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject)

struct CUpti_RangeProfiler_Disable_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
};
#define CUpti_RangeProfiler_Disable_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject)

struct CUpti_RangeProfiler_Start_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
};
#define CUpti_RangeProfiler_Start_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject)

struct CUpti_RangeProfiler_Stop_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  std::size_t passIndex, targetNestingLevel;  ///< out: of the next pass
  std::uint8_t isAllPassSubmitted;            ///< out: 0 if the program must run once more
};
#define CUpti_RangeProfiler_Stop_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted)

struct CUpti_RangeProfiler_PushRange_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  const char* pRangeName;
};
#define CUpti_RangeProfiler_PushRange_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_PushRange_Params, pRangeName)

struct CUpti_RangeProfiler_PopRange_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
};
#define CUpti_RangeProfiler_PopRange_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject)

struct CUpti_RangeProfiler_DecodeData_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  std::size_t numOfRangeDropped;  ///< out
};
#define CUpti_RangeProfiler_DecodeData_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped)

struct CUpti_RangeProfiler_GetCounterDataSize_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  const char** pMetricNames;
  std::size_t numMetrics, maxNumOfRanges;
  std::uint32_t maxNumRangeTreeNodes;
  std::size_t counterDataSize;  ///< out
};
#define CUpti_RangeProfiler_GetCounterDataSize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize)

struct CUpti_RangeProfiler_CounterDataImage_Initialize_Params {
  std::size_t structSize;
  void* pPriv;
  CUpti_RangeProfiler_Object* pRangeProfilerObject;
  std::size_t counterDataSize;
  std::uint8_t* pCounterData;
};
#define CUpti_RangeProfiler_CounterDataImage_Initialize_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData)

struct CUpti_RangeProfiler_GetCounterDataInfo_Params {
  std::size_t structSize;
  void* pPriv;
  const std::uint8_t* pCounterDataImage;
  std::size_t counterDataImageSize;
  std::size_t numTotalRanges;  ///< out
};
#define CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges)

struct CUpti_RangeProfiler_CounterData_GetRangeInfo_Params {
  std::size_t structSize;
  void* pPriv;
  const std::uint8_t* pCounterDataImage;
  std::size_t counterDataImageSize, rangeIndex;
  const char* rangeDelimiter;  ///< between the names of nested ranges
  const char* rangeName;       ///< out
};
#define CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params, rangeName)

extern "C" {
CUptiResult cuptiRangeProfilerSetConfig(CUpti_RangeProfiler_SetConfig_Params* pParams);
CUptiResult cuptiRangeProfilerEnable(CUpti_RangeProfiler_Enable_Params* pParams);
CUptiResult cuptiRangeProfilerDisable(CUpti_RangeProfiler_Disable_Params* pParams);
CUptiResult cuptiRangeProfilerStart(CUpti_RangeProfiler_Start_Params* pParams);
CUptiResult cuptiRangeProfilerStop(CUpti_RangeProfiler_Stop_Params* pParams);
CUptiResult cuptiRangeProfilerPushRange(CUpti_RangeProfiler_PushRange_Params* pParams);
CUptiResult cuptiRangeProfilerPopRange(CUpti_RangeProfiler_PopRange_Params* pParams);
CUptiResult cuptiRangeProfilerDecodeData(CUpti_RangeProfiler_DecodeData_Params* pParams);
CUptiResult cuptiRangeProfilerGetCounterDataSize(CUpti_RangeProfiler_GetCounterDataSize_Params* pParams);
CUptiResult cuptiRangeProfilerCounterDataImageInitialize(
    CUpti_RangeProfiler_CounterDataImage_Initialize_Params* pParams);
CUptiResult cuptiRangeProfilerGetCounterDataInfo(CUpti_RangeProfiler_GetCounterDataInfo_Params* pParams);
CUptiResult cuptiRangeProfilerCounterDataGetRangeInfo(CUpti_RangeProfiler_CounterData_GetRangeInfo_Params* pParams);
}
