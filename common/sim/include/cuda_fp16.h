// CUDA's half precision: 1 sign bit, 5 exponent bits, 10 mantissa bits.
#pragma once
#define __CUDA_FP16_H__  // programs test for it

#include "sim/float16.h"

struct __nv_bfloat16;
#define SIM_HALF __half
#define SIM_HALF2 __half2
#define SIM_RAW __half_raw
#define SIM_RAW2 __half2_raw
#define SIM_WORD half
#define SIM_FORMAT sim::binary16
#define SIM_OTHER __nv_bfloat16
#include "sim/float16_type.h"

using half = __half;
using half2 = __half2;
using __nv_half = __half;
using __nv_half2 = __half2;
using __nv_half_raw = __half_raw;
using __nv_half2_raw = __half2_raw;
using nv_half = __half;
using nv_half2 = __half2;

#define CUDART_INF_FP16 __ushort_as_half(0x7c00)
#define CUDART_NAN_FP16 __ushort_as_half(0x7fff)
#define CUDART_MIN_DENORM_FP16 __ushort_as_half(0x0001)
#define CUDART_MAX_NORMAL_FP16 __ushort_as_half(0x7bff)
#define CUDART_NEG_ZERO_FP16 __ushort_as_half(0x8000)
#define CUDART_ZERO_FP16 __ushort_as_half(0x0000)
#define CUDART_ONE_FP16 __ushort_as_half(0x3c00)
