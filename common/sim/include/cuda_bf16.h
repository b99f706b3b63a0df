// CUDA's bfloat16: the upper half of a float.
#pragma once
#define __CUDA_BF16_H__  // programs test for it

#include "cuda_fp16.h"

#define SIM_HALF __nv_bfloat16
#define SIM_HALF2 __nv_bfloat162
#define SIM_RAW __nv_bfloat16_raw
#define SIM_RAW2 __nv_bfloat162_raw
#define SIM_WORD bfloat16
#define SIM_FORMAT sim::bfloat16
#define SIM_OTHER __half
#include "sim/float16_type.h"

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

__forceinline__ __half::__half(__nv_bfloat16 x) : __half(static_cast<float>(x)) {}
__forceinline__ __nv_bfloat16::__nv_bfloat16(__half x) : __nv_bfloat16(static_cast<float>(x)) {}

#define CUDART_INF_BF16 __ushort_as_bfloat16(0x7f80)
#define CUDART_NAN_BF16 __ushort_as_bfloat16(0x7fff)
#define CUDART_MIN_DENORM_BF16 __ushort_as_bfloat16(0x0001)
#define CUDART_MAX_NORMAL_BF16 __ushort_as_bfloat16(0x7f7f)
#define CUDART_NEG_ZERO_BF16 __ushort_as_bfloat16(0x8000)
#define CUDART_ZERO_BF16 __ushort_as_bfloat16(0x0000)
#define CUDART_ONE_BF16 __ushort_as_bfloat16(0x3f80)
