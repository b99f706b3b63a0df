// CUPTI: which chip a device has. Names and layouts are those of CUDA 13.0, here and in the next three headers.
#pragma once

#include "cupti.h"

/// A parameter struct begins with this size; members that the caller does not set must be zero.
#define CUPTI_PROFILER_STRUCT_SIZE(type, last) (offsetof(type, last) + sizeof(((type*)0)->last))

struct CUpti_Device_GetChipName_Params {
  std::size_t structSize;
  void* pPriv;
  std::size_t deviceIndex;
  const char* pChipName;  ///< out
};
#define CUpti_Device_GetChipName_Params_STRUCT_SIZE \
  CUPTI_PROFILER_STRUCT_SIZE(CUpti_Device_GetChipName_Params, pChipName)

extern "C" CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* pParams);
