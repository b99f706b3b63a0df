// CUDA's 4-bit numbers, as in cuda_fp4.h: E2M1, the values 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
#pragma once
#define __CUDA_FP4_H__  // programs test for it

#include "cuda_fp8.h"

using __nv_fp4_storage_t = __nv_fp8_storage_t;
using __nv_fp4x2_storage_t = __nv_fp8_storage_t;
using __nv_fp4x4_storage_t = __nv_fp8x2_storage_t;
enum __nv_fp4_interpretation_t { __NV_E2M1 };

// ---- conversions

/// Rounds to nearest (ties to even) or toward zero. Numbers beyond 6, and NaN, become 6.
inline __nv_fp4_storage_t __nv_cvt_double_to_fp4(double x, __nv_fp4_interpretation_t, cudaRoundMode rounding) {
  if (std::isnan(x)) return 7;
  const double size = std::fabs(x), unit = size < 2 ? 0.5 : size < 4 ? 1 : 2;
  const auto sign = static_cast<__nv_fp4_storage_t>(std::signbit(x) ? 8 : 0);
  if (size >= 6) return sign | 7;
  auto whole = static_cast<int>(size / unit);
  const double rest = size / unit - whole;
  whole += rounding == cudaRoundNearest && (rest > 0.5 || (rest == 0.5 && whole % 2 == 1));
  const int binade = size < 2 ? 0 : size < 4 ? 2 : 4;  // in these ranges `whole` begins at 0, 2 and 2
  return static_cast<__nv_fp4_storage_t>(sign | (binade + whole));
}
inline __nv_fp4_storage_t __nv_cvt_float_to_fp4(float x, __nv_fp4_interpretation_t as, cudaRoundMode rounding) {
  return __nv_cvt_double_to_fp4(x, as, rounding);
}
inline __nv_fp4_storage_t __nv_cvt_halfraw_to_fp4(__half_raw x, __nv_fp4_interpretation_t as, cudaRoundMode rounding) {
  return __nv_cvt_float_to_fp4(sim::decode<sim::binary16>(x.x), as, rounding);
}
inline __nv_fp4_storage_t __nv_cvt_bfloat16raw_to_fp4(__nv_bfloat16_raw x, __nv_fp4_interpretation_t as,
                                                      cudaRoundMode rounding) {
  return __nv_cvt_float_to_fp4(sim::decode<sim::bfloat16>(x.x), as, rounding);
}

/// The first number of a pair is in the lower bits.
#define SIM_PAIR_TO_FP4(name, pair, one, element)                                                                     \
  inline __nv_fp4x2_storage_t name(pair x, __nv_fp4_interpretation_t as, cudaRoundMode rounding) {                    \
    return static_cast<__nv_fp4x2_storage_t>(one(element(x.x), as, rounding) | one(element(x.y), as, rounding) << 4); \
  }
#define SIM_HALF_RAW(bits) (__half_raw{bits})
#define SIM_BFLOAT16_RAW(bits) (__nv_bfloat16_raw{bits})
SIM_PAIR_TO_FP4(__nv_cvt_double2_to_fp4x2, double2, __nv_cvt_double_to_fp4, )
SIM_PAIR_TO_FP4(__nv_cvt_float2_to_fp4x2, float2, __nv_cvt_float_to_fp4, )
SIM_PAIR_TO_FP4(__nv_cvt_halfraw2_to_fp4x2, __half2_raw, __nv_cvt_halfraw_to_fp4, SIM_HALF_RAW)
SIM_PAIR_TO_FP4(__nv_cvt_bfloat16raw2_to_fp4x2, __nv_bfloat162_raw, __nv_cvt_bfloat16raw_to_fp4, SIM_BFLOAT16_RAW)
#undef SIM_PAIR_TO_FP4
#undef SIM_HALF_RAW
#undef SIM_BFLOAT16_RAW

inline __half_raw __nv_cvt_fp4_to_halfraw(__nv_fp4_storage_t x, __nv_fp4_interpretation_t) {
  constexpr double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return {static_cast<unsigned short>((x & 8) << 12 | sim::encode<sim::binary16>(values[x & 7]))};
}
inline __half2_raw __nv_cvt_fp4x2_to_halfraw2(__nv_fp4x2_storage_t x, __nv_fp4_interpretation_t as) {
  return {__nv_cvt_fp4_to_halfraw(x & 15, as).x, __nv_cvt_fp4_to_halfraw(x >> 4 & 15, as).x};
}

// ---- types: one number, two, four

#define SIM_FP4_FROM(type) \
  explicit __nv_fp4_e2m1(type x) : __nv_fp4_e2m1(static_cast<double>(x)) {}
#define SIM_FP4_TO(type) \
  explicit operator type() const { return sim::saturated<type>(static_cast<float>(*this)); }
struct __nv_fp4_e2m1 {
  __nv_fp4_storage_t __x;
  __nv_fp4_e2m1() = default;
  explicit __nv_fp4_e2m1(const __half& x) : __x(__nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4_e2m1(const __nv_bfloat16& x) : __x(__nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4_e2m1(float x) : __x(__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4_e2m1(double x) : __x(__nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest)) {}
  SIM_FP4_FROM(unsigned short)
  SIM_FP4_FROM(unsigned)
  SIM_FP4_FROM(unsigned long)
  SIM_FP4_FROM(unsigned long long)
  SIM_FP4_FROM(short)
  SIM_FP4_FROM(int)
  SIM_FP4_FROM(long)
  SIM_FP4_FROM(long long)
  explicit operator __half() const { return __nv_cvt_fp4_to_halfraw(__x, __NV_E2M1); }
  explicit operator float() const { return sim::decode<sim::binary16>(__nv_cvt_fp4_to_halfraw(__x, __NV_E2M1).x); }
  explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }
  explicit operator double() const { return static_cast<float>(*this); }
  explicit operator bool() const { return (__x & 7) != 0; }
  SIM_FP4_TO(char)
  SIM_FP4_TO(signed char)
  SIM_FP4_TO(unsigned char)
  SIM_FP4_TO(unsigned short)
  SIM_FP4_TO(unsigned)
  SIM_FP4_TO(unsigned long)
  SIM_FP4_TO(unsigned long long)
  SIM_FP4_TO(short)
  SIM_FP4_TO(int)
  SIM_FP4_TO(long)
  SIM_FP4_TO(long long)
};
#undef SIM_FP4_FROM
#undef SIM_FP4_TO
struct __nv_fp4x2_e2m1 {
  __nv_fp4x2_storage_t __x;
  __nv_fp4x2_e2m1() = default;
  explicit __nv_fp4x2_e2m1(const __half2& x) : __x(__nv_cvt_halfraw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4x2_e2m1(const __nv_bfloat162& x)
      : __x(__nv_cvt_bfloat16raw2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4x2_e2m1(const float2& x) : __x(__nv_cvt_float2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit __nv_fp4x2_e2m1(const double2& x) : __x(__nv_cvt_double2_to_fp4x2(x, __NV_E2M1, cudaRoundNearest)) {}
  explicit operator __half2() const { return __nv_cvt_fp4x2_to_halfraw2(__x, __NV_E2M1); }
  explicit operator float2() const {
    const __half2_raw both = __nv_cvt_fp4x2_to_halfraw2(__x, __NV_E2M1);
    return {sim::decode<sim::binary16>(both.x), sim::decode<sim::binary16>(both.y)};
  }
};
struct __nv_fp4x4_e2m1 {
  __nv_fp4x4_storage_t __x;
  __nv_fp4x4_e2m1() = default;
  explicit __nv_fp4x4_e2m1(const __half2& low, const __half2& high)
      : __nv_fp4x4_e2m1(__nv_fp4x2_e2m1(low), __nv_fp4x2_e2m1(high)) {}
  explicit __nv_fp4x4_e2m1(const __nv_bfloat162& low, const __nv_bfloat162& high)
      : __nv_fp4x4_e2m1(__nv_fp4x2_e2m1(low), __nv_fp4x2_e2m1(high)) {}
  explicit __nv_fp4x4_e2m1(const float4& x)
      : __nv_fp4x4_e2m1(__nv_fp4x2_e2m1(float2{x.x, x.y}), __nv_fp4x2_e2m1(float2{x.z, x.w})) {}
  explicit __nv_fp4x4_e2m1(const double4& x)
      : __nv_fp4x4_e2m1(__nv_fp4x2_e2m1(double2{x.x, x.y}), __nv_fp4x2_e2m1(double2{x.z, x.w})) {}
  explicit operator float4() const {
    __nv_fp4x2_e2m1 low, high;
    low.__x = static_cast<__nv_fp4x2_storage_t>(__x), high.__x = static_cast<__nv_fp4x2_storage_t>(__x >> 8);
    const auto a = static_cast<float2>(low), b = static_cast<float2>(high);
    return {a.x, a.y, b.x, b.y};
  }

 private:
  __nv_fp4x4_e2m1(const __nv_fp4x2_e2m1& low, const __nv_fp4x2_e2m1& high)
      : __x(static_cast<__nv_fp4x4_storage_t>(low.__x | high.__x << 8)) {}
};
template <>
inline constexpr bool sim::moves_at_once<__nv_fp4_e2m1> = true;
template <>
inline constexpr bool sim::moves_at_once<__nv_fp4x2_e2m1> = true;
template <>
inline constexpr bool sim::moves_at_once<__nv_fp4x4_e2m1> = true;
