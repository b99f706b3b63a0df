// CUDA's 8-bit numbers, as in cuda_fp8.h: E4M3, E5M2, and E8M0, the scale of microscaling formats.
#pragma once
#define __CUDA_FP8_H__  // programs test for it

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "sim/float8.h"

/// How conversions to E8M0 and to 4 bits round.
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;
/// What a number beyond the largest becomes: NaN, or infinity if the format has one; or the largest number.
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

// ---- conversions

inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
  const bool saturates = saturate == __NV_SATFINITE;
  return as == __NV_E5M2 ? sim::encode8<sim::e5m2>(x, saturates) : sim::encode8<sim::e4m3>(x, saturates);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {
  return std::isnan(x) ? 0x7f : __nv_cvt_double_to_fp8(x, saturate, as);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturate,
                                                  __nv_fp8_interpretation_t as) {
  return __nv_cvt_float_to_fp8(sim::decode<sim::binary16>(x.x), saturate, as);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                      __nv_fp8_interpretation_t as) {
  return __nv_cvt_float_to_fp8(sim::decode<sim::bfloat16>(x.x), saturate, as);
}

/// The first number of a pair is in the lower byte.
#define SIM_PAIR_TO_FP8(name, pair, one, element)                                                                     \
  inline __nv_fp8x2_storage_t name(pair x, __nv_saturation_t saturate, __nv_fp8_interpretation_t as) {                \
    return static_cast<__nv_fp8x2_storage_t>(one(element(x.x), saturate, as) | one(element(x.y), saturate, as) << 8); \
  }
#define SIM_HALF_RAW(bits) (__half_raw{bits})
#define SIM_BFLOAT16_RAW(bits) (__nv_bfloat16_raw{bits})
SIM_PAIR_TO_FP8(__nv_cvt_double2_to_fp8x2, double2, __nv_cvt_double_to_fp8, )
SIM_PAIR_TO_FP8(__nv_cvt_float2_to_fp8x2, float2, __nv_cvt_float_to_fp8, )
SIM_PAIR_TO_FP8(__nv_cvt_halfraw2_to_fp8x2, __half2_raw, __nv_cvt_halfraw_to_fp8, SIM_HALF_RAW)
SIM_PAIR_TO_FP8(__nv_cvt_bfloat16raw2_to_fp8x2, __nv_bfloat162_raw, __nv_cvt_bfloat16raw_to_fp8, SIM_BFLOAT16_RAW)
#undef SIM_PAIR_TO_FP8
#undef SIM_HALF_RAW
#undef SIM_BFLOAT16_RAW

inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t x, __nv_fp8_interpretation_t as) {
  return {as == __NV_E5M2 ? sim::half_of8<sim::e5m2>(x) : sim::half_of8<sim::e4m3>(x)};
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t x, __nv_fp8_interpretation_t as) {
  return {__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), as).x,
          __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x >> 8), as).x};
}

// ---- types: one number, two, four

#define SIM_FP8_FROM(one, type) \
  explicit one(type x) : one(static_cast<float>(x)) {}
#define SIM_FP8_TO(type) \
  explicit operator type() const { return sim::saturated<type>(static_cast<float>(*this)); }
#define SIM_FP8_TYPES(one, two, four, as)                                                                             \
  struct one {                                                                                                        \
    __nv_fp8_storage_t __x;                                                                                           \
    one() = default;                                                                                                  \
    explicit one(const __half& x) : __x(__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, as)) {}                            \
    explicit one(const __nv_bfloat16& x) : __x(__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, as)) {}                 \
    explicit one(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, as)) {}                                      \
    explicit one(double x) : __x(__nv_cvt_double_to_fp8(x, __NV_SATFINITE, as)) {}                                    \
    SIM_FP8_FROM(one, unsigned short)                                                                                 \
    SIM_FP8_FROM(one, unsigned)                                                                                       \
    SIM_FP8_FROM(one, unsigned long)                                                                                  \
    SIM_FP8_FROM(one, unsigned long long)                                                                             \
    SIM_FP8_FROM(one, short)                                                                                          \
    SIM_FP8_FROM(one, int)                                                                                            \
    SIM_FP8_FROM(one, long)                                                                                           \
    SIM_FP8_FROM(one, long long)                                                                                      \
    explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, as); }                                     \
    explicit operator float() const { return sim::decode<sim::binary16>(__nv_cvt_fp8_to_halfraw(__x, as).x); }        \
    explicit operator __nv_bfloat16() const { return __nv_bfloat16(static_cast<float>(*this)); }                      \
    explicit operator double() const { return static_cast<float>(*this); }                                            \
    explicit operator bool() const { return (__x & 0x7f) != 0; }                                                      \
    SIM_FP8_TO(char)                                                                                                  \
    SIM_FP8_TO(signed char)                                                                                           \
    SIM_FP8_TO(unsigned char)                                                                                         \
    SIM_FP8_TO(unsigned short)                                                                                        \
    SIM_FP8_TO(unsigned)                                                                                              \
    SIM_FP8_TO(unsigned long)                                                                                         \
    SIM_FP8_TO(unsigned long long)                                                                                    \
    SIM_FP8_TO(short)                                                                                                 \
    SIM_FP8_TO(int)                                                                                                   \
    SIM_FP8_TO(long)                                                                                                  \
    SIM_FP8_TO(long long)                                                                                             \
  };                                                                                                                  \
  struct two {                                                                                                        \
    __nv_fp8x2_storage_t __x;                                                                                         \
    two() = default;                                                                                                  \
    explicit two(const __half2& x) : __x(__nv_cvt_halfraw2_to_fp8x2(x, __NV_SATFINITE, as)) {}                        \
    explicit two(const __nv_bfloat162& x) : __x(__nv_cvt_bfloat16raw2_to_fp8x2(x, __NV_SATFINITE, as)) {}             \
    explicit two(const float2& x) : __x(__nv_cvt_float2_to_fp8x2(x, __NV_SATFINITE, as)) {}                           \
    explicit two(const double2& x) : __x(__nv_cvt_double2_to_fp8x2(x, __NV_SATFINITE, as)) {}                         \
    explicit operator __half2() const { return __nv_cvt_fp8x2_to_halfraw2(__x, as); }                                 \
    explicit operator float2() const {                                                                                \
      const __half2_raw both = __nv_cvt_fp8x2_to_halfraw2(__x, as);                                                   \
      return {sim::decode<sim::binary16>(both.x), sim::decode<sim::binary16>(both.y)};                                \
    }                                                                                                                 \
  };                                                                                                                  \
  struct four {                                                                                                       \
    __nv_fp8x4_storage_t __x;                                                                                         \
    four() = default;                                                                                                 \
    explicit four(const __half2& low, const __half2& high) : __x(two(low).__x | unsigned{two(high).__x} << 16) {}     \
    explicit four(const __nv_bfloat162& low, const __nv_bfloat162& high)                                              \
        : __x(two(low).__x | unsigned{two(high).__x} << 16) {}                                                        \
    explicit four(const float4& x) : __x(two(float2{x.x, x.y}).__x | unsigned{two(float2{x.z, x.w}).__x} << 16) {}    \
    explicit four(const double4& x) : __x(two(double2{x.x, x.y}).__x | unsigned{two(double2{x.z, x.w}).__x} << 16) {} \
    explicit operator float4() const {                                                                                \
      two low, high;                                                                                                  \
      low.__x = static_cast<__nv_fp8x2_storage_t>(__x), high.__x = static_cast<__nv_fp8x2_storage_t>(__x >> 16);      \
      const auto a = static_cast<float2>(low), b = static_cast<float2>(high);                                         \
      return {a.x, a.y, b.x, b.y};                                                                                    \
    }                                                                                                                 \
  };                                                                                                                  \
  template <>                                                                                                         \
  inline constexpr bool sim::moves_at_once<one> = true;                                                               \
  template <>                                                                                                         \
  inline constexpr bool sim::moves_at_once<two> = true;                                                               \
  template <>                                                                                                         \
  inline constexpr bool sim::moves_at_once<four> = true;

SIM_FP8_TYPES(__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3)
SIM_FP8_TYPES(__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2)
#undef SIM_FP8_TYPES
#undef SIM_FP8_FROM
#undef SIM_FP8_TO

// ---- E8M0: 2^(x - 127), or NaN if x is 255

/// Ignores the sign. `rounding` is cudaRoundZero or cudaRoundPosInf.
inline __nv_fp8_storage_t __nv_cvt_double_to_e8m0(double x, __nv_saturation_t saturate, cudaRoundMode rounding) {
  if (std::isnan(x)) return 255;
  int exponent = 0;  // of |x| = m 2^exponent, 0.5 <= m < 1
  const double m = std::frexp(std::fabs(x), &exponent);
  const bool up = rounding == cudaRoundPosInf && m > 0.5;
  const int encoded = x == 0 ? 0 : exponent - 1 + up + 127;
  if (std::isinf(x) || encoded > 254)
    return saturate == __NV_SATFINITE || (rounding == cudaRoundZero && !std::isinf(x)) ? 254 : 255;
  return static_cast<__nv_fp8_storage_t>(encoded < 0 ? 0 : encoded);
}
inline __nv_fp8_storage_t __nv_cvt_float_to_e8m0(float x, __nv_saturation_t saturate, cudaRoundMode rounding) {
  return __nv_cvt_double_to_e8m0(x, saturate, rounding);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw x, __nv_saturation_t saturate,
                                                       cudaRoundMode rounding) {
  return __nv_cvt_float_to_e8m0(sim::decode<sim::bfloat16>(x.x), saturate, rounding);
}
#define SIM_PAIR_TO_E8M0(name, pair, one, element)                                               \
  inline __nv_fp8x2_storage_t name(pair x, __nv_saturation_t saturate, cudaRoundMode rounding) { \
    return static_cast<__nv_fp8x2_storage_t>(one(element(x.x), saturate, rounding) |             \
                                             one(element(x.y), saturate, rounding) << 8);        \
  }
#define SIM_BFLOAT16_RAW(bits) (__nv_bfloat16_raw{bits})
SIM_PAIR_TO_E8M0(__nv_cvt_double2_to_e8m0x2, double2, __nv_cvt_double_to_e8m0, )
SIM_PAIR_TO_E8M0(__nv_cvt_float2_to_e8m0x2, float2, __nv_cvt_float_to_e8m0, )
SIM_PAIR_TO_E8M0(__nv_cvt_bfloat162raw_to_e8m0x2, __nv_bfloat162_raw, __nv_cvt_bfloat16raw_to_e8m0, SIM_BFLOAT16_RAW)
#undef SIM_PAIR_TO_E8M0
#undef SIM_BFLOAT16_RAW
inline __nv_bfloat16_raw __nv_cvt_e8m0_to_bf16raw(__nv_fp8_storage_t x) {
  return {static_cast<unsigned short>(x == 255 ? 0x7fff : x == 0 ? 0x0040 : x << 7)};
}
inline __nv_bfloat162_raw __nv_cvt_e8m0x2_to_bf162raw(__nv_fp8x2_storage_t x) {
  return {__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x)).x,
          __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(x >> 8)).x};
}
struct __nv_fp8_e8m0 {
  __nv_fp8_storage_t __x;
  __nv_fp8_e8m0() = default;
  explicit __nv_fp8_e8m0(const __half& x)
      : __x(__nv_cvt_float_to_e8m0(static_cast<float>(x), __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __nv_fp8_e8m0(const __nv_bfloat16& x)
      : __x(__nv_cvt_bfloat16raw_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __nv_fp8_e8m0(float x) : __x(__nv_cvt_float_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit __nv_fp8_e8m0(double x) : __x(__nv_cvt_double_to_e8m0(x, __NV_SATFINITE, cudaRoundPosInf)) {}
  explicit operator __nv_bfloat16() const { return __nv_cvt_e8m0_to_bf16raw(__x); }
  explicit operator float() const { return sim::decode<sim::bfloat16>(__nv_cvt_e8m0_to_bf16raw(__x).x); }
  explicit operator double() const { return static_cast<float>(*this); }
};
template <>
inline constexpr bool sim::moves_at_once<__nv_fp8_e8m0> = true;
