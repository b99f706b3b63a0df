// One 16-bit type, its pair and all of CUDA's functions on them. cuda_fp16.h and cuda_bf16.h include this, each with
// its own names: SIM_HALF and SIM_HALF2, the types; SIM_RAW and SIM_RAW2, their bits; SIM_WORD, the type's part in
// function names; SIM_FORMAT; SIM_OTHER, the other header's type. Operands are passed by reference, pairs by their copy
// constructor: g++ records no line for the copy of a plain struct passed by value.

#define SIM_JOIN_(a, b, c, d, e) a##b##c##d##e
#define SIM_JOIN(a, b, c, d, e) SIM_JOIN_(a, b, c, d, e)
#define SIM_FROM(from, suffix) SIM_JOIN(__, from, 2, SIM_WORD, suffix)  // __float2half_rn
#define SIM_TO(to) SIM_JOIN(__, SIM_WORD, 2, to, )                      // __half2float
#define SIM_PAIR(before) SIM_JOIN(before, SIM_WORD, 2, , )              // __low2half2
#define SIM_ONE(before, after) SIM_JOIN(before, SIM_WORD, after, , )    // __half_as_ushort

struct SIM_RAW {
  unsigned short x;
};
struct __attribute__((aligned(4))) SIM_RAW2 {
  unsigned short x, y;
};

struct SIM_HALF {
 protected:
  unsigned short __x;

 public:
  SIM_HALF() = default;
  __forceinline__ constexpr SIM_HALF(SIM_RAW raw) : __x(raw.x) {}
  __forceinline__ SIM_HALF(float x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(double x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(short x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(unsigned short x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(int x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(unsigned x) : __x(sim::encode<SIM_FORMAT>(x)) {}
  __forceinline__ SIM_HALF(long x) : SIM_HALF(static_cast<long long>(x)) {}
  __forceinline__ SIM_HALF(unsigned long x) : SIM_HALF(static_cast<unsigned long long>(x)) {}
  __forceinline__ SIM_HALF(long long x) : __x(sim::encode<SIM_FORMAT>(sim::to_odd(x))) {}
  __forceinline__ SIM_HALF(unsigned long long x) : __x(sim::encode<SIM_FORMAT>(sim::to_odd(x))) {}
  explicit SIM_HALF(SIM_OTHER x);

  __forceinline__ constexpr operator SIM_RAW() const { return {__x}; }
  __forceinline__ operator float() const { return sim::decode<SIM_FORMAT>(__x); }
  __forceinline__ constexpr operator bool() const { return (__x & 0x7fff) != 0; }
#define SIM_CONVERSION(type) \
  __forceinline__ operator type() const { return sim::saturated<type>(sim::decode<SIM_FORMAT>(__x)); }
  SIM_CONVERSION(char)
  SIM_CONVERSION(signed char)
  SIM_CONVERSION(unsigned char)
  SIM_CONVERSION(short)
  SIM_CONVERSION(unsigned short)
  SIM_CONVERSION(int)
  SIM_CONVERSION(unsigned)
  SIM_CONVERSION(long)
  SIM_CONVERSION(unsigned long)
  SIM_CONVERSION(long long)
  SIM_CONVERSION(unsigned long long)
#undef SIM_CONVERSION
};
/// Copied as a single word: one access moves both.
struct __attribute__((aligned(4))) SIM_HALF2 {
  SIM_HALF x, y;
  SIM_HALF2() = default;
  __forceinline__ constexpr SIM_HALF2(const SIM_HALF& a, const SIM_HALF& b) : x(a), y(b) {}
  __forceinline__ constexpr SIM_HALF2(SIM_RAW2 raw) : x(SIM_RAW{raw.x}), y(SIM_RAW{raw.y}) {}
  __forceinline__ SIM_HALF2(const SIM_HALF2& other) { __builtin_memcpy(static_cast<void*>(this), &other, 4); }
  __forceinline__ SIM_HALF2& operator=(const SIM_HALF2& other) {
    __builtin_memcpy(static_cast<void*>(this), &other, 4);
    return *this;
  }
  __forceinline__ constexpr operator SIM_RAW2() const { return {SIM_RAW(x).x, SIM_RAW(y).x}; }
};
template <>
inline constexpr bool sim::moves_at_once<SIM_HALF> = true;
template <>
inline constexpr bool sim::moves_at_once<SIM_HALF2> = true;
template <>
inline constexpr bool sim::is_shuffled<SIM_HALF> = true;
template <>
inline constexpr bool sim::is_shuffled<SIM_HALF2> = true;

// ---- conversions

#define SIM_DEFINE __forceinline__
SIM_DEFINE float SIM_TO(float)(const SIM_HALF& a) { return a; }
SIM_DEFINE SIM_HALF SIM_FROM(float, )(float x) { return x; }
SIM_DEFINE SIM_HALF SIM_FROM(double, )(double x) { return x; }
#define SIM_ENCODED(name, type, wide)                                                                \
  SIM_DEFINE SIM_HALF SIM_FROM(name, _rn)(type x) { return SIM_RAW{sim::encode<SIM_FORMAT>(wide)}; } \
  SIM_DEFINE SIM_HALF SIM_FROM(name, _rz)(type x) {                                                  \
    return SIM_RAW{sim::encode<SIM_FORMAT>(wide, sim::rounding::zero)};                              \
  }                                                                                                  \
  SIM_DEFINE SIM_HALF SIM_FROM(name, _ru)(type x) {                                                  \
    return SIM_RAW{sim::encode<SIM_FORMAT>(wide, sim::rounding::up)};                                \
  }                                                                                                  \
  SIM_DEFINE SIM_HALF SIM_FROM(name, _rd)(type x) {                                                  \
    return SIM_RAW{sim::encode<SIM_FORMAT>(wide, sim::rounding::down)};                              \
  }
SIM_ENCODED(float, float, x)
SIM_ENCODED(short, short, x)
SIM_ENCODED(ushort, unsigned short, x)
SIM_ENCODED(int, int, x)
SIM_ENCODED(uint, unsigned, x)
SIM_ENCODED(ll, long long, sim::to_odd(x))
SIM_ENCODED(ull, unsigned long long, sim::to_odd(x))
#undef SIM_ENCODED
#define SIM_DECODED(name, type)                                                                                       \
  SIM_DEFINE type SIM_TO(name##_rn)(const SIM_HALF& a) {                                                              \
    return sim::saturated<type>(nearbyintf(static_cast<float>(a)));                                                   \
  }                                                                                                                   \
  SIM_DEFINE type SIM_TO(name##_rz)(const SIM_HALF& a) { return sim::saturated<type>(static_cast<float>(a)); }        \
  SIM_DEFINE type SIM_TO(name##_ru)(const SIM_HALF& a) { return sim::saturated<type>(ceilf(static_cast<float>(a))); } \
  SIM_DEFINE type SIM_TO(name##_rd)(const SIM_HALF& a) { return sim::saturated<type>(floorf(static_cast<float>(a))); }
SIM_DECODED(short, short)
SIM_DECODED(ushort, unsigned short)
SIM_DECODED(int, int)
SIM_DECODED(uint, unsigned)
SIM_DECODED(ll, long long)
SIM_DECODED(ull, unsigned long long)
#undef SIM_DECODED
SIM_DEFINE signed char SIM_TO(char_rz)(const SIM_HALF& a) { return static_cast<signed char>(a); }
SIM_DEFINE unsigned char SIM_TO(uchar_rz)(const SIM_HALF& a) { return static_cast<unsigned char>(a); }
SIM_DEFINE unsigned short SIM_ONE(__, _as_ushort)(const SIM_HALF& a) { return SIM_RAW(a).x; }
SIM_DEFINE short SIM_ONE(__, _as_short)(const SIM_HALF& a) { return static_cast<short>(SIM_RAW(a).x); }
SIM_DEFINE SIM_HALF SIM_ONE(__ushort_as_, )(unsigned short x) { return SIM_RAW{x}; }
SIM_DEFINE SIM_HALF SIM_ONE(__short_as_, )(short x) { return SIM_RAW{static_cast<unsigned short>(x)}; }

SIM_DEFINE SIM_HALF2 SIM_PAIR(make_)(const SIM_HALF& x, const SIM_HALF& y) { return {x, y}; }
SIM_DEFINE SIM_HALF2 SIM_PAIR(__halves2)(const SIM_HALF& x, const SIM_HALF& y) { return {x, y}; }
SIM_DEFINE SIM_HALF2 SIM_JOIN(__, SIM_WORD, 2, SIM_WORD, 2)(const SIM_HALF& a) { return {a, a}; }
SIM_DEFINE SIM_HALF2 SIM_JOIN(__float2, SIM_WORD, 2_rn, , )(float x) { return {x, x}; }
SIM_DEFINE SIM_HALF2 SIM_JOIN(__floats2, SIM_WORD, 2_rn, , )(float x, float y) { return {x, y}; }
SIM_DEFINE SIM_HALF2 SIM_JOIN(__float22, SIM_WORD, 2_rn, , )(float2 v) { return {v.x, v.y}; }
SIM_DEFINE float2 SIM_JOIN(__, SIM_WORD, 22float2, , )(SIM_HALF2 a) { return {a.x, a.y}; }
SIM_DEFINE float __low2float(SIM_HALF2 a) { return a.x; }
SIM_DEFINE float __high2float(SIM_HALF2 a) { return a.y; }
SIM_DEFINE SIM_HALF SIM_ONE(__low2, )(SIM_HALF2 a) { return a.x; }
SIM_DEFINE SIM_HALF SIM_ONE(__high2, )(SIM_HALF2 a) { return a.y; }
SIM_DEFINE SIM_HALF2 SIM_PAIR(__low2)(SIM_HALF2 a) { return {a.x, a.x}; }
SIM_DEFINE SIM_HALF2 SIM_PAIR(__high2)(SIM_HALF2 a) { return {a.y, a.y}; }
SIM_DEFINE SIM_HALF2 SIM_PAIR(__lows2)(SIM_HALF2 a, SIM_HALF2 b) { return {a.x, b.x}; }
SIM_DEFINE SIM_HALF2 SIM_PAIR(__highs2)(SIM_HALF2 a, SIM_HALF2 b) { return {a.y, b.y}; }
SIM_DEFINE SIM_HALF2 __lowhigh2highlow(SIM_HALF2 a) { return {a.y, a.x}; }

// ---- arithmetic. On pairs, each function applies the one without the 2 to both halves.

#define SIM_UNARY(name, expression)                                  \
  SIM_DEFINE SIM_HALF name(const SIM_HALF& a) { return expression; } \
  SIM_DEFINE SIM_HALF2 name##2(SIM_HALF2 a) { return {name(a.x), name(a.y)}; }
#define SIM_BINARY(name, name2, expression)                                             \
  SIM_DEFINE SIM_HALF name(const SIM_HALF& a, const SIM_HALF& b) { return expression; } \
  SIM_DEFINE SIM_HALF2 name2(SIM_HALF2 a, SIM_HALF2 b) { return {name(a.x, b.x), name(a.y, b.y)}; }
#define SIM_TERNARY(name, name2, expression)                                                               \
  SIM_DEFINE SIM_HALF name(const SIM_HALF& a, const SIM_HALF& b, const SIM_HALF& c) { return expression; } \
  SIM_DEFINE SIM_HALF2 name2(SIM_HALF2 a, SIM_HALF2 b, SIM_HALF2 c) {                                      \
    return {name(a.x, b.x, c.x), name(a.y, b.y, c.y)};                                                     \
  }
namespace sim {
SIM_DEFINE double wide(const SIM_HALF& a) { return static_cast<float>(a); }
SIM_DEFINE bool no_number(const SIM_HALF& a) { return (SIM_RAW(a).x & 0x7fff) > infinity16<SIM_FORMAT>; }
SIM_DEFINE SIM_HALF saturated_to_one(const SIM_HALF& a) { return SIM_HALF(__saturatef(a)); }
SIM_DEFINE SIM_HALF at_least_zero(const SIM_HALF& a) { return no_number(a) || wide(a) > 0 ? a : SIM_HALF(0); }
/// The order of numbers, with -0 below +0.
SIM_DEFINE bool below(const SIM_HALF& a, const SIM_HALF& b) {
  return wide(a) < wide(b) || (wide(a) == wide(b) && SIM_RAW(a).x >> 15);
}
}  // namespace sim
SIM_UNARY(__hneg, (SIM_RAW{static_cast<unsigned short>(SIM_RAW(a).x ^ 0x8000)}))
SIM_UNARY(__habs, (SIM_RAW{static_cast<unsigned short>(SIM_RAW(a).x & 0x7fff)}))
SIM_BINARY(__hadd, __hadd2, sim::sum_to_odd(sim::wide(a), sim::wide(b)))
SIM_BINARY(__hsub, __hsub2, sim::sum_to_odd(sim::wide(a), -sim::wide(b)))
SIM_BINARY(__hmul, __hmul2, sim::wide(a) * sim::wide(b))
SIM_BINARY(__hdiv, __h2div, sim::wide(a) / sim::wide(b))
SIM_TERNARY(__hfma, __hfma2, sim::sum_to_odd(sim::wide(a) * sim::wide(b), sim::wide(c)))
SIM_BINARY(__hadd_rn, __hadd2_rn, __hadd(a, b))
SIM_BINARY(__hsub_rn, __hsub2_rn, __hsub(a, b))
SIM_BINARY(__hmul_rn, __hmul2_rn, __hmul(a, b))
SIM_BINARY(__hadd_sat, __hadd2_sat, sim::saturated_to_one(__hadd(a, b)))
SIM_BINARY(__hsub_sat, __hsub2_sat, sim::saturated_to_one(__hsub(a, b)))
SIM_BINARY(__hmul_sat, __hmul2_sat, sim::saturated_to_one(__hmul(a, b)))
SIM_TERNARY(__hfma_sat, __hfma2_sat, sim::saturated_to_one(__hfma(a, b, c)))
SIM_TERNARY(__hfma_relu, __hfma2_relu, sim::at_least_zero(__hfma(a, b, c)))
SIM_BINARY(__hmax_nan, __hmax2_nan,
           sim::no_number(a) || sim::no_number(b) ? SIM_HALF(SIM_RAW{sim::nan16})
           : sim::below(a, b)                     ? b
                                                  : a)
SIM_BINARY(__hmin_nan, __hmin2_nan,
           sim::no_number(a) || sim::no_number(b) ? SIM_HALF(SIM_RAW{sim::nan16})
           : sim::below(a, b)                     ? a
                                                  : b)
SIM_BINARY(__hmax, __hmax2, sim::no_number(a) ? __hmax_nan(b, b) : sim::no_number(b) ? a : __hmax_nan(a, b))
SIM_BINARY(__hmin, __hmin2, sim::no_number(a) ? __hmin_nan(b, b) : sim::no_number(b) ? a : __hmin_nan(a, b))
/// a * b + c of complex numbers, by two fused multiply-adds for each part.
SIM_DEFINE SIM_HALF2 __hcmadd(SIM_HALF2 a, SIM_HALF2 b, SIM_HALF2 c) {
  return {__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};
}
#undef SIM_TERNARY
#undef SIM_BINARY
#undef SIM_UNARY

#define SIM_FUNCTION(name, expression)             \
  SIM_DEFINE SIM_HALF h##name(const SIM_HALF& a) { \
    const double x = sim::wide(a);                 \
    return expression;                             \
  }                                                \
  SIM_DEFINE SIM_HALF2 h2##name(SIM_HALF2 a) { return {h##name(a.x), h##name(a.y)}; }
SIM_FUNCTION(ceil, ::ceil(x))
SIM_FUNCTION(floor, ::floor(x))
SIM_FUNCTION(trunc, ::trunc(x))
SIM_FUNCTION(rint, ::nearbyint(x))
SIM_FUNCTION(rcp, 1 / x)
SIM_FUNCTION(sqrt, ::sqrt(x))
SIM_FUNCTION(rsqrt, ::rsqrt(x))
SIM_FUNCTION(exp, ::exp(x))
SIM_FUNCTION(exp2, ::exp2(x))
SIM_FUNCTION(exp10, ::exp10(x))
SIM_FUNCTION(log, ::log(x))
SIM_FUNCTION(log2, ::log2(x))
SIM_FUNCTION(log10, ::log10(x))
SIM_FUNCTION(sin, ::sin(x))
SIM_FUNCTION(cos, ::cos(x))
SIM_FUNCTION(tanh, ::tanh(x))
SIM_FUNCTION(tanh_approx, ::tanh(x))
#undef SIM_FUNCTION

// ---- comparison: false if either is NaN; with u for unordered, true

#define SIM_COMPARISON(name, expression)                                                                         \
  SIM_DEFINE bool __h##name(const SIM_HALF& a, const SIM_HALF& b) { return expression; }                         \
  SIM_DEFINE SIM_HALF2 __h##name##2(SIM_HALF2 a, SIM_HALF2 b) {                                                  \
    return {SIM_HALF(int{__h##name(a.x, b.x)}), SIM_HALF(int{__h##name(a.y, b.y)})};                             \
  }                                                                                                              \
  SIM_DEFINE bool __hb##name##2(SIM_HALF2 a, SIM_HALF2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); } \
  SIM_DEFINE unsigned __h##name##2_mask(SIM_HALF2 a, SIM_HALF2 b) {                                              \
    return (__h##name(a.x, b.x) ? 0xffffu : 0) | (__h##name(a.y, b.y) ? 0xffff0000u : 0);                        \
  }
SIM_COMPARISON(eq, sim::wide(a) == sim::wide(b))
SIM_COMPARISON(lt, sim::wide(a) < sim::wide(b))
SIM_COMPARISON(le, sim::wide(a) <= sim::wide(b))
SIM_COMPARISON(gt, sim::wide(a) > sim::wide(b))
SIM_COMPARISON(ge, sim::wide(a) >= sim::wide(b))
SIM_COMPARISON(ne, sim::wide(a) < sim::wide(b) || sim::wide(a) > sim::wide(b))
SIM_COMPARISON(equ, !__hne(a, b))
SIM_COMPARISON(neu, !__heq(a, b))
SIM_COMPARISON(ltu, !__hge(a, b))
SIM_COMPARISON(leu, !__hgt(a, b))
SIM_COMPARISON(gtu, !__hle(a, b))
SIM_COMPARISON(geu, !__hlt(a, b))
#undef SIM_COMPARISON
SIM_DEFINE bool __hisnan(const SIM_HALF& a) { return sim::no_number(a); }
SIM_DEFINE SIM_HALF2 __hisnan2(SIM_HALF2 a) { return {SIM_HALF(int{__hisnan(a.x)}), SIM_HALF(int{__hisnan(a.y)})}; }
/// 1 and -1 for the infinities, else 0.
SIM_DEFINE int __hisinf(const SIM_HALF& a) {
  return (SIM_RAW(a).x & 0x7fff) != sim::infinity16<SIM_FORMAT> ? 0 : SIM_RAW(a).x >> 15 ? -1 : 1;
}

// ---- operators

#define SIM_OPERATOR(op, name, name2)                                                            \
  SIM_DEFINE SIM_HALF operator op(const SIM_HALF& a, const SIM_HALF& b) { return name(a, b); }   \
  SIM_DEFINE SIM_HALF2 operator op(SIM_HALF2 a, SIM_HALF2 b) { return name2(a, b); }             \
  SIM_DEFINE SIM_HALF& operator op##=(SIM_HALF& a, const SIM_HALF& b) { return a = name(a, b); } \
  SIM_DEFINE SIM_HALF2& operator op##=(SIM_HALF2& a, SIM_HALF2 b) { return a = name2(a, b); }
#define SIM_ORDER(op, name, name2)                                                         \
  SIM_DEFINE bool operator op(const SIM_HALF& a, const SIM_HALF& b) { return name(a, b); } \
  SIM_DEFINE bool operator op(SIM_HALF2 a, SIM_HALF2 b) { return name2(a, b); }
SIM_OPERATOR(+, __hadd, __hadd2)
SIM_OPERATOR(-, __hsub, __hsub2)
SIM_OPERATOR(*, __hmul, __hmul2)
SIM_OPERATOR(/, __hdiv, __h2div)
SIM_ORDER(==, __heq, __hbeq2)
SIM_ORDER(!=, __hneu, __hbneu2)
SIM_ORDER(<, __hlt, __hblt2)
SIM_ORDER(<=, __hle, __hble2)
SIM_ORDER(>, __hgt, __hbgt2)
SIM_ORDER(>=, __hge, __hbge2)
#undef SIM_ORDER
#undef SIM_OPERATOR
SIM_DEFINE SIM_HALF operator+(const SIM_HALF& a) { return a; }
SIM_DEFINE SIM_HALF operator-(const SIM_HALF& a) { return __hneg(a); }
SIM_DEFINE SIM_HALF2 operator+(SIM_HALF2 a) { return a; }
SIM_DEFINE SIM_HALF2 operator-(SIM_HALF2 a) { return __hneg2(a); }
#define SIM_STEP(op, type, add, one)                                \
  SIM_DEFINE type& operator op(type& a) { return a = add(a, one); } \
  SIM_DEFINE type operator op(type& a, int) {                       \
    const type old = a;                                             \
    a = add(old, one);                                              \
    return old;                                                     \
  }
SIM_STEP(++, SIM_HALF, __hadd, SIM_HALF(1))
SIM_STEP(--, SIM_HALF, __hsub, SIM_HALF(1))
SIM_STEP(++, SIM_HALF2, __hadd2, SIM_HALF2(1, 1))
SIM_STEP(--, SIM_HALF2, __hsub2, SIM_HALF2(1, 1))
#undef SIM_STEP

SIM_CALLED_HERE SIM_HALF atomicAdd(SIM_HALF* address, SIM_HALF value) {
  return sim::read_modify_write(
      address, [=](SIM_HALF old) SIM_QUIET { return __hadd(old, value); }, SIM_CALLER);
}
SIM_CALLED_HERE SIM_HALF2 atomicAdd(SIM_HALF2* address, SIM_HALF2 value) {
  return sim::read_modify_write(
      reinterpret_cast<SIM_RAW2*>(address), [=](SIM_RAW2 old) SIM_QUIET { return SIM_RAW2(__hadd2(old, value)); },
      SIM_CALLER);
}

#undef SIM_DEFINE
#undef SIM_ONE
#undef SIM_PAIR
#undef SIM_TO
#undef SIM_FROM
#undef SIM_JOIN
#undef SIM_JOIN_
#undef SIM_HALF
#undef SIM_HALF2
#undef SIM_RAW
#undef SIM_RAW2
#undef SIM_WORD
#undef SIM_FORMAT
#undef SIM_OTHER
