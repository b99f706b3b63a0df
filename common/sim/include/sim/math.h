// CUDA's arithmetic functions and intrinsics, for kernels and for host code. CUDA's fast approximations (__expf,
// __fdividef, ...) are the exact functions here.
#pragma once

#include <math.h>
#include <stdlib.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <type_traits>

#include "sim/call.h"
#include "sim/cxx20.h"

// ---- minimum and maximum

// One operand is signed, one unsigned: both are treated as unsigned, as in CUDA.
#define SIM_MIN_MAX(a, b)                                 \
  constexpr auto min(a x, b y) {                          \
    using common = decltype(x + y);                       \
    return common(x) < common(y) ? common(x) : common(y); \
  }                                                       \
  constexpr auto max(a x, b y) {                          \
    using common = decltype(x + y);                       \
    return common(x) > common(y) ? common(x) : common(y); \
  }
SIM_MIN_MAX(int, int)
SIM_MIN_MAX(unsigned, unsigned)
SIM_MIN_MAX(int, unsigned)
SIM_MIN_MAX(unsigned, int)
SIM_MIN_MAX(long, long)
SIM_MIN_MAX(unsigned long, unsigned long)
SIM_MIN_MAX(long, unsigned long)
SIM_MIN_MAX(unsigned long, long)
SIM_MIN_MAX(long long, long long)
SIM_MIN_MAX(unsigned long long, unsigned long long)
SIM_MIN_MAX(long long, unsigned long long)
SIM_MIN_MAX(unsigned long long, long long)
#undef SIM_MIN_MAX
// If one is NaN, returns the other.
inline float min(float x, float y) { return fminf(x, y); }
inline float max(float x, float y) { return fmaxf(x, y); }
inline double min(double x, double y) { return ::fmin(x, y); }
inline double max(double x, double y) { return ::fmax(x, y); }
inline double min(float x, double y) { return ::fmin(x, y); }
inline double max(float x, double y) { return ::fmax(x, y); }
inline double min(double x, float y) { return ::fmin(x, y); }
inline double max(double x, float y) { return ::fmax(x, y); }
inline unsigned umin(unsigned x, unsigned y) { return min(x, y); }
inline unsigned umax(unsigned x, unsigned y) { return max(x, y); }
inline long long llmin(long long x, long long y) { return min(x, y); }
inline long long llmax(long long x, long long y) { return max(x, y); }
inline unsigned long long ullmin(unsigned long long x, unsigned long long y) { return min(x, y); }
inline unsigned long long ullmax(unsigned long long x, unsigned long long y) { return max(x, y); }

// ---- bits of one type as another

inline int __float_as_int(float x) { return sim::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return sim::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return sim::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return sim::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return sim::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return sim::bit_cast<double>(x); }
inline int __double2hiint(double x) { return static_cast<int>(sim::bit_cast<long long>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(sim::bit_cast<long long>(x)); }
inline double __hiloint2double(int high, int low) {
  return sim::bit_cast<double>(static_cast<unsigned long long>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}

// ---- arithmetic and conversions by rounding mode

namespace sim {

/// Hides the value from the compiler and keeps it from moving the arithmetic.
template <class T>
SIM_UNOBSERVED T opaque(T value) {
  volatile T kept = value;
  return kept;
}
/// op(operands...) with the processor's rounding mode set.
template <class Operation, class... T>
SIM_UNOBSERVED auto rounded(int mode, Operation op, T... operands) {
  std::fesetround(mode);
  const auto result = opaque(op(opaque(operands)...));
  std::fesetround(FE_TONEAREST);
  return result;
}

/// Converts to an integer as PTX's cvt does: rounds toward zero and saturates; NaN gives 0, or only the highest bit if
/// one of the types has 64 bits.
template <class To, class From>
To saturated(From x) {
  if (x != x) return sizeof(From) == 8 || sizeof(To) == 8 ? static_cast<To>(To{1} << (8 * sizeof(To) - 1)) : To{0};
  const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);  // one past the largest
  if (x >= limit) return std::numeric_limits<To>::max();
  if (std::is_signed_v<To> ? x < -limit : x <= -1) return std::numeric_limits<To>::min();
  return static_cast<To>(x);
}

}  // namespace sim

#define SIM_LIST(...) __VA_ARGS__
#define SIM_IN_MODES(name, result, parameters, arguments, expression)                                       \
  inline result name##_rn parameters { return expression; }                                                 \
  inline result name##_rz parameters { return sim::rounded(FE_TOWARDZERO, name##_rn, SIM_LIST arguments); } \
  inline result name##_ru parameters { return sim::rounded(FE_UPWARD, name##_rn, SIM_LIST arguments); }     \
  inline result name##_rd parameters { return sim::rounded(FE_DOWNWARD, name##_rn, SIM_LIST arguments); }
// Their products and sums are never contracted to an fma.
SIM_IN_MODES(__fadd, float, (float x, float y), (x, y), sim::opaque(x) + sim::opaque(y))
SIM_IN_MODES(__fsub, float, (float x, float y), (x, y), sim::opaque(x) - sim::opaque(y))
SIM_IN_MODES(__fmul, float, (float x, float y), (x, y), sim::opaque(x* y))
SIM_IN_MODES(__fdiv, float, (float x, float y), (x, y), x / y)
SIM_IN_MODES(__frcp, float, (float x), (x), 1.0f / x)
SIM_IN_MODES(__fsqrt, float, (float x), (x), sqrtf(x))
SIM_IN_MODES(__fmaf, float, (float x, float y, float z), (x, y, z), fmaf(x, y, z))
SIM_IN_MODES(__fmaf_ieee, float, (float x, float y, float z), (x, y, z), fmaf(x, y, z))
SIM_IN_MODES(__dadd, double, (double x, double y), (x, y), sim::opaque(x) + sim::opaque(y))
SIM_IN_MODES(__dsub, double, (double x, double y), (x, y), sim::opaque(x) - sim::opaque(y))
SIM_IN_MODES(__dmul, double, (double x, double y), (x, y), sim::opaque(x* y))
SIM_IN_MODES(__ddiv, double, (double x, double y), (x, y), x / y)
SIM_IN_MODES(__drcp, double, (double x), (x), 1.0 / x)
SIM_IN_MODES(__dsqrt, double, (double x), (x), ::sqrt(x))
SIM_IN_MODES(__fma, double, (double x, double y, double z), (x, y, z), ::fma(x, y, z))
SIM_IN_MODES(__double2float, float, (double x), (x), static_cast<float>(x))
SIM_IN_MODES(__int2float, float, (int x), (x), static_cast<float>(x))
SIM_IN_MODES(__uint2float, float, (unsigned x), (x), static_cast<float>(x))
SIM_IN_MODES(__ll2float, float, (long long x), (x), static_cast<float>(x))
SIM_IN_MODES(__ull2float, float, (unsigned long long x), (x), static_cast<float>(x))
SIM_IN_MODES(__ll2double, double, (long long x), (x), static_cast<double>(x))
SIM_IN_MODES(__ull2double, double, (unsigned long long x), (x), static_cast<double>(x))
#undef SIM_IN_MODES
#undef SIM_LIST
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }

#define SIM_TO_INTEGER(name, from, to)                                          \
  inline to name##_rn(from x) { return sim::saturated<to>(std::nearbyint(x)); } \
  inline to name##_rz(from x) { return sim::saturated<to>(x); }                 \
  inline to name##_ru(from x) { return sim::saturated<to>(std::ceil(x)); }      \
  inline to name##_rd(from x) { return sim::saturated<to>(std::floor(x)); }
SIM_TO_INTEGER(__float2int, float, int)
SIM_TO_INTEGER(__float2uint, float, unsigned)
SIM_TO_INTEGER(__float2ll, float, long long)
SIM_TO_INTEGER(__float2ull, float, unsigned long long)
SIM_TO_INTEGER(__double2int, double, int)
SIM_TO_INTEGER(__double2uint, double, unsigned)
SIM_TO_INTEGER(__double2ll, double, long long)
SIM_TO_INTEGER(__double2ull, double, unsigned long long)
#undef SIM_TO_INTEGER

// ---- functions of one or more numbers

namespace sim {

constexpr double pi = 3.14159265358979323846;

// The angle to the nearest multiple of pi / 2 is exact: no digits are lost near a zero. A GPU computes both without
// branches, so lanes must not diverge here: compilers may lay out branches so that lanes do not reconverge.
SIM_UNOBSERVED inline double sin_of_pi(double x) {
  if (std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
  const double quarter = std::nearbyint(2 * std::fmod(x, 2.0)), rest = (std::fmod(x, 2.0) - quarter / 2) * pi;
  const int which = static_cast<int>(quarter) & 3;
  if (std::fmod(x, 1.0) == 0) return std::copysign(0.0, x);
  return which == 0 ? std::sin(rest) : which == 1 ? std::cos(rest) : which == 2 ? -std::sin(rest) : -std::cos(rest);
}
SIM_UNOBSERVED inline double cos_of_pi(double x) {
  if (std::isinf(x)) return std::numeric_limits<double>::quiet_NaN();
  const double quarter = std::nearbyint(2 * std::fmod(x, 2.0)), rest = (std::fmod(x, 2.0) - quarter / 2) * pi;
  const int which = static_cast<int>(quarter) & 3;
  if (rest == 0 && which % 2 == 1) return 0.0;
  return which == 0 ? std::cos(rest) : which == 1 ? -std::sin(rest) : which == 2 ? -std::cos(rest) : std::sin(rest);
}
inline double scaled_erfc(double x) {
  if (x < 50)
    return static_cast<double>(std::exp(static_cast<long double>(x) * x) * std::erfc(static_cast<long double>(x)));
  const double s = 1 / (2 * x * x);  // the asymptotic series
  return (1 - s * (1 - 3 * s * (1 - 5 * s))) / (x * std::sqrt(pi));
}
/// The x > 0 whose erfc is y, 0 < y <= 1: Newton's method on the logarithm.
inline double inverse_erfc_tail(double y) {
  using wide = long double;
  wide x = y > 0.5 ? (1 - wide{y}) * 0.886 : std::sqrt(-std::log(wide{y}));
  for (int i = 0; i < 40; ++i) {
    const wide f = std::erfc(x);
    const wide step = f * std::log(f / y) * std::exp(x * x) * std::sqrt(wide{pi}) / 2;
    x += step;
    if (std::fabs(step) <= 1e-17L * std::fabs(x)) break;
  }
  return static_cast<double>(x);
}
inline double inverse_erfc(double y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<double>::quiet_NaN();
  if (y == 0 || y == 2) return std::copysign(std::numeric_limits<double>::infinity(), 1 - y);
  return y <= 1 ? inverse_erfc_tail(y) : -inverse_erfc_tail(2 - y);
}
inline double inverse_erf(double y) {
  if (!(std::fabs(y) <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (std::fabs(y) > 0.5) return inverse_erfc(1 - y);
  double x = y * std::sqrt(pi) / 2;  // Newton's method
  for (int i = 0; i < 6; ++i) x -= (std::erf(x) - y) * std::exp(x * x) * std::sqrt(pi) / 2;
  return x;
}
template <class T>
double norm_of(int dimension, const T* values) {
  double sum = 0;
  for (int i = 0; i < dimension; ++i) sum = ::hypot(sum, static_cast<double>(values[i]));
  return sum;
}

}  // namespace sim

// A double function and its float twin, computed in double and rounded once.
#define SIM_FUNCTION1(name, expression)               \
  inline double name(double x) { return expression; } \
  inline float name##f(float of) {                    \
    const double x = of;                              \
    return static_cast<float>(expression);            \
  }
#define SIM_FUNCTION(name, parameters, float_parameters, arguments, expression) \
  inline double name parameters { return expression; }                          \
  inline float name##f float_parameters { return static_cast<float>(name arguments); }
SIM_FUNCTION1(rcbrt, 1 / ::cbrt(x))
SIM_FUNCTION1(sinpi, sim::sin_of_pi(x))
SIM_FUNCTION1(cospi, sim::cos_of_pi(x))
SIM_FUNCTION1(erfinv, sim::inverse_erf(x))
SIM_FUNCTION1(erfcinv, sim::inverse_erfc(x))
SIM_FUNCTION1(erfcx, sim::scaled_erfc(x))
SIM_FUNCTION1(normcdf, ::erfc(-x* M_SQRT1_2) / 2)
SIM_FUNCTION1(normcdfinv, -M_SQRT2* sim::inverse_erfc(2 * x))
SIM_FUNCTION1(cyl_bessel_i0, std::cyl_bessel_i(0.0, std::fabs(x)))
SIM_FUNCTION1(cyl_bessel_i1, std::copysign(std::cyl_bessel_i(1.0, std::fabs(x)), x))
SIM_FUNCTION(rhypot, (double x, double y), (float x, float y), (x, y), 1 / ::hypot(x, y))
SIM_FUNCTION(norm3d, (double x, double y, double z), (float x, float y, float z), (x, y, z), std::hypot(x, y, z))
SIM_FUNCTION(rnorm3d, (double x, double y, double z), (float x, float y, float z), (x, y, z), 1 / std::hypot(x, y, z))
SIM_FUNCTION(norm4d, (double x, double y, double z, double w), (float x, float y, float z, float w), (x, y, z, w),
             ::hypot(std::hypot(x, y, z), w))
SIM_FUNCTION(rnorm4d, (double x, double y, double z, double w), (float x, float y, float z, float w), (x, y, z, w),
             1 / norm4d(x, y, z, w))
#undef SIM_FUNCTION1
#undef SIM_FUNCTION
inline double norm(int dimension, const double* values) { return sim::norm_of(dimension, values); }
inline float normf(int dimension, const float* values) { return static_cast<float>(sim::norm_of(dimension, values)); }
inline double rnorm(int dimension, const double* values) { return 1 / sim::norm_of(dimension, values); }
inline float rnormf(int dimension, const float* values) {
  return static_cast<float>(1 / sim::norm_of(dimension, values));
}
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
inline float fdividef(float x, float y) { return x / y; }
inline double fdivide(double x, double y) { return x / y; }
inline float fdivide(float x, float y) { return x / y; }

// Not inlined, because a GPU takes few instructions for them. `const`: they touch no memory, so the compiler need not
// reload values after such a call, as with nvcc.
extern "C" {
[[gnu::const]] float sim_rsqrtf(float x);
[[gnu::const]] double sim_rsqrt(double x);
[[gnu::const]] float sim_fast_expf(float x);
[[gnu::const]] float sim_fast_exp10f(float x);
[[gnu::const]] float sim_fast_logf(float x);
[[gnu::const]] float sim_fast_log2f(float x);
[[gnu::const]] float sim_fast_log10f(float x);
[[gnu::const]] float sim_fast_sinf(float x);
[[gnu::const]] float sim_fast_cosf(float x);
[[gnu::const]] float sim_fast_tanf(float x);
[[gnu::const]] float sim_fast_powf(float x, float y);
[[gnu::const]] float sim_fast_dividef(float x, float y);
}
inline float rsqrtf(float x) { return sim_rsqrtf(x); }
inline double rsqrt(double x) { return sim_rsqrt(x); }
inline float __expf(float x) { return sim_fast_expf(x); }
inline float __exp10f(float x) { return sim_fast_exp10f(x); }
inline float __logf(float x) { return sim_fast_logf(x); }
inline float __log2f(float x) { return sim_fast_log2f(x); }
inline float __log10f(float x) { return sim_fast_log10f(x); }
inline float __sinf(float x) { return sim_fast_sinf(x); }
inline float __cosf(float x) { return sim_fast_cosf(x); }
inline float __tanf(float x) { return sim_fast_tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}
inline float __powf(float x, float y) { return sim_fast_powf(x, y); }
inline float __fdividef(float x, float y) { return sim_fast_dividef(x, y); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __saturatef(float x) { return !(x > 0.0f) ? 0.0f : x > 1.0f ? 1.0f : x; }

// ---- integers

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned long long __brevll(unsigned long long x) {
  x = (x >> 1 & 0x5555555555555555u) | (x & 0x5555555555555555u) << 1;
  x = (x >> 2 & 0x3333333333333333u) | (x & 0x3333333333333333u) << 2;
  x = (x >> 4 & 0x0f0f0f0f0f0f0f0fu) | (x & 0x0f0f0f0f0f0f0f0fu) << 4;
  return __builtin_bswap64(x);
}
inline unsigned __brev(unsigned x) { return static_cast<unsigned>(__brevll(x) >> 32); }
inline unsigned short __nv_bswap16(unsigned short x) { return __builtin_bswap16(x); }
inline unsigned __nv_bswap32(unsigned x) { return __builtin_bswap32(x); }
inline unsigned long long __nv_bswap64(unsigned long long x) { return __builtin_bswap64(x); }
/// The position of the offset-th set bit from `base` on, upwards or (offset < 0) downwards; 0xffffffff if there is
/// none.
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  if (offset == 0) return (mask >> (base & 31)) & 1 ? base : 0xffffffffu;
  int left = offset < 0 ? -offset : offset;
  for (int bit = static_cast<int>(base); bit >= 0 && bit < 32; bit += offset < 0 ? -1 : 1)
    if ((mask >> bit & 1) && --left == 0) return static_cast<unsigned>(bit);
  return 0xffffffffu;
}
inline int __mul24(int x, int y) {  // the low 32 bits of a product of 24 bits each
  return static_cast<int>(static_cast<unsigned>(static_cast<int>(static_cast<unsigned>(x) << 8) >> 8) *
                          static_cast<unsigned>(static_cast<int>(static_cast<unsigned>(y) << 8) >> 8));
}
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffffu) * (y & 0xffffffu); }
inline int mul24(int x, int y) { return __mul24(x, y); }
inline unsigned umul24(unsigned x, unsigned y) { return __umul24(x, y); }
inline int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<__int128>(x) * y) >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
inline int mulhi(int x, int y) { return __mulhi(x, y); }
inline unsigned mulhi(unsigned x, unsigned y) { return __umulhi(x, y); }
inline long long mul64hi(long long x, long long y) { return __mul64hi(x, y); }
inline unsigned long long mul64hi(unsigned long long x, unsigned long long y) { return __umul64hi(x, y); }
inline int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
inline int __rhadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y + 1) >> 1); }
inline unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) + y + 1) >> 1);
}
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x < y ? y - x : x - y) + z; }
inline unsigned __sad(int x, int y, unsigned z) {
  return (x < y ? static_cast<unsigned>(y) - static_cast<unsigned>(x)
                : static_cast<unsigned>(x) - static_cast<unsigned>(y)) +
         z;
}
/// A nibble of `selector` selects each result byte from y:x; the nibble's bit 3 replicates that byte's sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long bytes = static_cast<unsigned long long>(y) << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned s = selector >> (4 * i) & 0xf;
    unsigned byte = static_cast<unsigned>(bytes >> (8 * (s & 7))) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;
    result |= byte << (8 * i);
  }
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31) >> 32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31));
}
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? low : __funnelshift_l(low, high, shift);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return shift >= 32 ? high : __funnelshift_r(low, high, shift);
}
