// The functions for inline PTX: tools/ptx.cpp turns each instruction into a call to the function with its name.
// Registers are plain numbers of their size; an instruction's type says how to read them.
#pragma once

#include <cstring>

#include "sim/async.h"
#include "sim/bulk.h"
#include "sim/float8.h"
#include "sim/simd.h"
#include "sim/tensor.h"

#define SIM_PTX __attribute__((always_inline)) inline

namespace sim {
namespace ptx {

// ---- registers, types, immediates

using pred = bool;
using b8 = unsigned char;
using u8 = unsigned char;
using s8 = signed char;
using b16 = unsigned short;
using u16 = unsigned short;
using s16 = short;
using b32 = unsigned;
using u32 = unsigned;
using s32 = int;
using b64 = unsigned long long;
using u64 = unsigned long long;
using s64 = long long;
using f32 = float;
using f64 = double;
/// One number of another format, or several in a word, the first in the lowest bits.
template <class Format, int Count>
struct packed {
  using word = std::conditional_t<Count == 1, unsigned short, unsigned>;
  word bits;
};
using f16 = packed<binary16, 1>;
using f16x2 = packed<binary16, 2>;
using bf16 = packed<bfloat16, 1>;
using bf16x2 = packed<bfloat16, 2>;
struct tf32 {
  unsigned bits;
};
/// Two 8-bit numbers.
template <class Format>
struct pair8 {
  unsigned short bits;
};
using e4m3x2 = pair8<sim::e4m3>;
using e5m2x2 = pair8<sim::e5m2>;

struct whole {
  long long value;
};
struct fraction {
  double value;
};

template <class T>
inline constexpr bool is_immediate = std::is_same_v<T, whole> || std::is_same_v<T, fraction>;
/// The size in bytes of an inline assembly operand's register.
constexpr std::size_t constraint_bytes(char c) {
  return c == 'h' ? 2 : c == 'r' || c == 'f' ? 4 : c == 'l' || c == 'd' ? 8 : 0;
}
template <char C>
using register_of = std::conditional_t<
    C == 'f', float,
    std::conditional_t<
        C == 'd', double,
        std::conditional_t<C == 'h', unsigned short, std::conditional_t<C == 'l', unsigned long long, unsigned>>>>;

/// Converts an operand's value to its register, and back.
template <char C, class T>
constexpr void check_operand() {
  static_assert(sizeof(T) == constraint_bytes(C) && std::is_scalar_v<T>,
                "an asm operand is a number of the size that its constraint names: \"h\" 2 bytes, \"r\" and \"f\" 4, "
                "\"l\" and \"d\" 8");
}
template <char C, class T>
SIM_PTX auto input(T x) {
  if constexpr (C == 'n') {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>, "an asm operand \"n\" is a whole number");
    return whole{static_cast<long long>(x)};
  } else {
    check_operand<C, T>();
    return __builtin_bit_cast(register_of<C>, x);
  }
}
template <char C, class T>
SIM_PTX void output(T& x, register_of<C> r) {
  check_operand<C, T>();
  x = __builtin_bit_cast(std::remove_cv_t<T>, r);
}
/// The value of a register that was never written.
template <char C>
SIM_PTX register_of<C> unwritten() {
  const unsigned long long ones = ~0ull;
  register_of<C> r;
  __builtin_memcpy(&r, &ones, sizeof r);
  return r;
}

/// A register's bits, read as the instruction's type: of a wider register, the lowest bits.
template <class T, class R>
SIM_PTX T as(const R& r) {
  if constexpr (std::is_same_v<R, whole> || std::is_same_v<R, fraction>) {
    if constexpr (std::is_arithmetic_v<T>)
      return static_cast<T>(r.value);
    else
      return T{static_cast<decltype(T::bits)>(r.value)};
  } else if constexpr (std::is_same_v<R, bool> || std::is_same_v<T, bool>) {
    static_assert(std::is_same_v<R, T>, "an operand mixes up a predicate and a number");
    return r;
  } else {
    static_assert(sizeof(R) >= sizeof(T), "the register is narrower than the instruction's type");
    T value;
    __builtin_memcpy(&value, &r, sizeof value);
    return value;
  }
}
struct sink {};  ///< _
/// Puts the result into a register; sign-extends it in a wider one.
template <class R, class T>
SIM_PTX void put(R& r, const T& value) {
  static_assert(std::is_same_v<R, sink> || sizeof(R) >= sizeof(T),
                "the register is narrower than the instruction's type");
  if constexpr (std::is_same_v<R, sink>) {
    static_cast<void>(r);
  } else if constexpr (sizeof(R) == sizeof(T) || !std::is_integral_v<T>) {
    if constexpr (sizeof(R) != sizeof(T)) __builtin_memset(&r, 0, sizeof r);
    __builtin_memcpy(&r, &value, sizeof value);
  } else {
    const auto wide = static_cast<std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>(value);
    __builtin_memcpy(&r, &wide, sizeof r);
  }
}
SIM_PTX float float_of(unsigned bits) { return sim::bit_cast<float>(bits); }
SIM_PTX double float_of(unsigned long long bits) { return sim::bit_cast<double>(bits); }

// ---- special registers

SIM_PTX unsigned thread_number() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
SIM_PTX unsigned laneid() { return thread_number() % 32; }
SIM_PTX unsigned warpid() { return thread_number() / 32; }
SIM_PTX unsigned nwarpid() { return (blockDim.x * blockDim.y * blockDim.z + 31) / 32; }
SIM_PTX unsigned lanemask_eq() { return 1u << laneid(); }
SIM_PTX unsigned lanemask_lt() { return (1u << laneid()) - 1; }
SIM_PTX unsigned lanemask_le() { return (2u << laneid()) - 1; }
SIM_PTX unsigned lanemask_gt() { return ~lanemask_le(); }
SIM_PTX unsigned lanemask_ge() { return ~lanemask_lt(); }
/// The placement of blocks on multiprocessors is not modelled: smid() assigns them in turn.
SIM_PTX unsigned nsmid() { return multiprocessors(); }
SIM_PTX unsigned smid() { return (blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z)) % multiprocessors(); }
SIM_PTX unsigned long long clock64() { return static_cast<unsigned long long>(::clock64()); }
SIM_PTX unsigned clock() { return static_cast<unsigned>(::clock64()); }
SIM_PTX unsigned clock_hi() { return static_cast<unsigned>(::clock64() >> 32); }
SIM_PTX unsigned long long globaltimer() { return clock64(); }
SIM_PTX unsigned globaltimer_lo() { return clock(); }
SIM_PTX unsigned globaltimer_hi() { return clock_hi(); }

// ---- moves

template <class T, class D, class A>
SIM_PTX void mov(D& d, const A& a) {
  put(d, as<T>(a));
}
/// Splits a word into pieces, and joins pieces into a word; the first is the lowest.
template <class T, class A, class... D>
SIM_PTX void unpack(const A& a, D&... d) {
  T bits = as<T>(a);
  const auto next = [&](auto& piece) {
    using word = std::conditional_t<sizeof(T) / sizeof...(D) == 4, unsigned,
                                    std::conditional_t<sizeof(T) / sizeof...(D) == 2, unsigned short, unsigned char>>;
    put(piece, static_cast<word>(bits));
    bits = static_cast<T>(static_cast<unsigned long long>(bits) >> 8 * sizeof(word));
  };
  (next(d), ...);
}
template <class T, class D, class... A>
SIM_PTX void pack(D& d, const A&... a) {
  unsigned long long bits = 0;
  unsigned at = 0;
  const auto next = [&](const auto& piece) {
    using word = std::conditional_t<sizeof(T) / sizeof...(A) == 4, unsigned,
                                    std::conditional_t<sizeof(T) / sizeof...(A) == 2, unsigned short, unsigned char>>;
    bits |= static_cast<unsigned long long>(as<word>(piece)) << at;
    at += 8 * sizeof(word);
  };
  (next(a), ...);
  put(d, static_cast<T>(bits));
}
template <class T, class D, class A, class B>
SIM_PTX void selp(D& d, const A& a, const B& b, bool p) {
  put(d, p ? as<T>(a) : as<T>(b));
}

// ---- arithmetic

/// Applies f to numbers, or to the numbers in words. 16-bit results are computed wide and rounded once.
template <class Format>
SIM_PTX double wide(unsigned bits) {
  return decode<Format>(static_cast<std::uint16_t>(bits));
}
template <class F, class Format, int Count, class... More>
SIM_PTX packed<Format, Count> each(F f, packed<Format, Count> a, More... more) {
  unsigned bits = encode<Format>(f(wide<Format>(a.bits), wide<Format>(more.bits)...));
  if constexpr (Count == 2)
    bits |= unsigned{encode<Format>(f(wide<Format>(a.bits >> 16), wide<Format>(more.bits >> 16)...))} << 16;
  return {static_cast<typename packed<Format, Count>::word>(bits)};
}
template <class F, class T, class... More>
SIM_PTX std::enable_if_t<std::is_arithmetic_v<T>, T> each(F f, T a, More... more) {
  return static_cast<T>(f(a, more...));
}

template <class T>
using unsigned_of = std::conditional_t<
    sizeof(T) == 8, unsigned long long,
    std::conditional_t<sizeof(T) == 4, unsigned, std::conditional_t<sizeof(T) == 2, unsigned short, unsigned char>>>;
/// Computes in unsigned arithmetic, where nothing overflows.
template <class T>
SIM_PTX auto wrapping(T a) {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
    return static_cast<unsigned long long>(a);
  else
    return a;
}

#define SIM_PTX_UNARY(name, expression)                        \
  template <class T, class D, class A>                         \
  SIM_PTX void name(D& d, const A& a) {                        \
    put(d, each([](auto x) { return expression; }, as<T>(a))); \
  }
#define SIM_PTX_BINARY(name, expression)                                         \
  template <class T, class D, class A, class B>                                  \
  SIM_PTX void name(D& d, const A& a, const B& b) {                              \
    put(d, each([](auto x, auto y) { return expression; }, as<T>(a), as<T>(b))); \
  }
template <class T>
SIM_PTX T sum(T x, T y) {
  if constexpr (std::is_floating_point_v<T>)
    return x + y;
  else
    return static_cast<T>(wrapping(x) + wrapping(y));
}
/// Sums of 16-bit numbers, computed as double, are rounded to odd first.
template <class T, class F>
inline constexpr bool via_double = !std::is_arithmetic_v<T>;
template <class T, class D, class A, class B>
SIM_PTX void add(D& d, const A& a, const B& b) {
  if constexpr (std::is_arithmetic_v<T>)
    put(d, sum(as<T>(a), as<T>(b)));
  else
    put(d, each([](double x, double y) { return sum_to_odd(x, y); }, as<T>(a), as<T>(b)));
}
template <class T, class D, class A, class B>
SIM_PTX void sub(D& d, const A& a, const B& b) {
  if constexpr (std::is_floating_point_v<T>)
    put(d, as<T>(a) - as<T>(b));
  else if constexpr (std::is_arithmetic_v<T>)
    put(d, static_cast<T>(wrapping(as<T>(a)) - wrapping(as<T>(b))));
  else
    put(d, each([](double x, double y) { return sum_to_odd(x, -y); }, as<T>(a), as<T>(b)));
}
SIM_PTX_BINARY(mul, x* y)
template <class T, class D, class A, class B, class C>
SIM_PTX void fma(D& d, const A& a, const B& b, const C& c) {
  if constexpr (std::is_same_v<T, float>)
    put(d, __builtin_fmaf(as<T>(a), as<T>(b), as<T>(c)));
  else if constexpr (std::is_same_v<T, double>)
    put(d, __builtin_fma(as<T>(a), as<T>(b), as<T>(c)));
  else
    put(d, each([](double x, double y, double z) { return sum_to_odd(x * y, z); }, as<T>(a), as<T>(b), as<T>(c)));
}
template <class T>
using twice = std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, int, unsigned>,
                                 std::conditional_t<std::is_signed_v<T>, long long, unsigned long long>>;
template <class T>
SIM_PTX T high_product(T a, T b) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(static_cast<std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>(a) * b >>
                          64);
  else
    return static_cast<T>(static_cast<twice<T>>(a) * static_cast<twice<T>>(b) >> 8 * sizeof(T));
}
template <class T, class D, class A, class B>
SIM_PTX void mul_lo(D& d, const A& a, const B& b) {
  put(d, static_cast<T>(wrapping(as<T>(a)) * wrapping(as<T>(b))));
}
template <class T, class D, class A, class B>
SIM_PTX void mul_hi(D& d, const A& a, const B& b) {
  put(d, high_product(as<T>(a), as<T>(b)));
}
template <class T, class D, class A, class B>
SIM_PTX void mul_wide(D& d, const A& a, const B& b) {
  put(d, static_cast<twice<T>>(static_cast<twice<T>>(as<T>(a)) * static_cast<twice<T>>(as<T>(b))));
}
template <class T, class D, class A, class B, class C>
SIM_PTX void mad_lo(D& d, const A& a, const B& b, const C& c) {
  put(d, static_cast<T>(wrapping(as<T>(a)) * wrapping(as<T>(b)) + wrapping(as<T>(c))));
}
template <class T, class D, class A, class B, class C>
SIM_PTX void mad_hi(D& d, const A& a, const B& b, const C& c) {
  put(d, sum(high_product(as<T>(a), as<T>(b)), as<T>(c)));
}
template <class T, class D, class A, class B, class C>
SIM_PTX void mad_wide(D& d, const A& a, const B& b, const C& c) {
  using wide_type = twice<T>;
  put(d, sum(static_cast<wide_type>(static_cast<wide_type>(as<T>(a)) * static_cast<wide_type>(as<T>(b))),
             as<wide_type>(c)));
}
template <class T, class D, class A, class B>
SIM_PTX void div(D& d, const A& a, const B& b) {
  const T x = as<T>(a), y = as<T>(b);
  if constexpr (std::is_integral_v<T>)
    put(d, y == 0                                           ? static_cast<T>(-1)
           : std::is_signed_v<T> && y == static_cast<T>(-1) ? static_cast<T>(0ull - wrapping(x))
                                                            : static_cast<T>(x / y));
  else
    put(d, x / y);
}
template <class T, class D, class A, class B>
SIM_PTX void rem(D& d, const A& a, const B& b) {
  const T x = as<T>(a), y = as<T>(b);
  put(d, y == 0 ? x : std::is_signed_v<T> && y == static_cast<T>(-1) ? T{0} : static_cast<T>(x % y));
}
SIM_PTX_BINARY(min, (x != x ? y : y != y ? x : y < x ? y : x))
SIM_PTX_BINARY(max, (x != x ? y : y != y ? x : x < y ? y : x))
SIM_PTX_BINARY(min_nan, (x != x ? x : y != y ? y : y < x ? y : x))
SIM_PTX_BINARY(max_nan, (x != x ? x : y != y ? y : x < y ? y : x))
SIM_PTX_UNARY(abs, (x < 0 || (x == 0 && 1 / static_cast<double>(x) < 0) ? -x : x))
SIM_PTX_UNARY(neg, -x)
template <class T, class D>
SIM_PTX void saturate(D& d) {
  put(d, each([](auto x) { return x > 0 ? x < 1 ? x : decltype(x)(1) : decltype(x)(0); }, as<T>(d)));
}

template <class T, class D, class A>
SIM_PTX void not_(D& d, const A& a) {
  if constexpr (std::is_same_v<T, bool>)
    put(d, !as<T>(a));
  else
    put(d, static_cast<T>(~as<T>(a)));
}
template <class T, class D, class A, class B>
SIM_PTX void and_(D& d, const A& a, const B& b) {
  put(d, static_cast<T>(as<T>(a) & as<T>(b)));
}
template <class T, class D, class A, class B>
SIM_PTX void or_(D& d, const A& a, const B& b) {
  put(d, static_cast<T>(as<T>(a) | as<T>(b)));
}
template <class T, class D, class A, class B>
SIM_PTX void xor_(D& d, const A& a, const B& b) {
  put(d, static_cast<T>(as<T>(a) ^ as<T>(b)));
}
/// Shifts by the type's size or more leave 0, or copies of the sign.
template <class T, class D, class A, class B>
SIM_PTX void shl(D& d, const A& a, const B& b) {
  const unsigned by = as<unsigned>(b);
  put(d, by >= 8 * sizeof(T) ? T{0} : static_cast<T>(wrapping(as<T>(a)) << by));
}
template <class T, class D, class A, class B>
SIM_PTX void shr(D& d, const A& a, const B& b) {
  const unsigned by = as<unsigned>(b), most = 8 * sizeof(T) - 1;
  const T x = as<T>(a);
  put(d, by <= most ? static_cast<T>(x >> by) : std::is_signed_v<T> ? static_cast<T>(x >> most) : T{0});
}
template <class D, class A, class B, class C>
SIM_PTX void shf_l_wrap(D& d, const A& a, const B& b, const C& c) {
  put(d, __funnelshift_l(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)));
}
template <class D, class A, class B, class C>
SIM_PTX void shf_r_wrap(D& d, const A& a, const B& b, const C& c) {
  put(d, __funnelshift_r(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)));
}
template <class D, class A, class B, class C>
SIM_PTX void shf_l_clamp(D& d, const A& a, const B& b, const C& c) {
  put(d, __funnelshift_lc(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)));
}
template <class D, class A, class B, class C>
SIM_PTX void shf_r_clamp(D& d, const A& a, const B& b, const C& c) {
  put(d, __funnelshift_rc(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)));
}
template <class D, class A, class B, class C>
SIM_PTX void prmt(D& d, const A& a, const B& b, const C& c) {
  const unsigned long long bytes = as<unsigned>(a) | static_cast<unsigned long long>(as<unsigned>(b)) << 32;
  const unsigned selector = as<unsigned>(c);
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned s = selector >> 4 * i;
    unsigned byte = static_cast<unsigned>(bytes >> 8 * (s & 7)) & 0xff;
    if (s & 8) byte = byte & 0x80 ? 0xff : 0;  // its sign
    result |= byte << 8 * i;
  }
  put(d, result);
}
/// Bit i of the table is the result if the bits of a, b and c form i.
template <class D, class A, class B, class C, class Table>
SIM_PTX void lop3(D& d, const A& a, const B& b, const C& c, const Table& table) {
  const unsigned x = as<unsigned>(a), y = as<unsigned>(b), z = as<unsigned>(c), t = as<unsigned>(table);
  unsigned result = 0;
  for (unsigned i = 0; i < 8; ++i)
    if (t >> i & 1) result |= (i & 4 ? x : ~x) & (i & 2 ? y : ~y) & (i & 1 ? z : ~z);
  put(d, result);
}
template <class T, class D, class A, class B, class C>
SIM_PTX void bfe(D& d, const A& a, const B& b, const C& c) {
  constexpr unsigned bits = 8 * sizeof(T);
  const unsigned at = as<unsigned>(b) & 0xff, length = as<unsigned>(c) & 0xff;
  const auto x = as<unsigned_of<T>>(a);
  const auto bit = [&](unsigned i) { return static_cast<unsigned_of<T>>(x >> (i < bits ? i : bits - 1) & 1); };
  const unsigned_of<T> sign = std::is_signed_v<T> && length > 0 ? bit(::min(at + length - 1, bits - 1)) : 0;
  unsigned_of<T> result = at < bits ? x >> at : 0;
  const unsigned valid = at < bits ? ::min(length, bits - at) : 0;
  if (valid < bits) {
    result &= (static_cast<unsigned_of<T>>(1) << valid) - 1;
    if (sign) result |= ~((static_cast<unsigned_of<T>>(1) << valid) - 1);
  }
  put(d, static_cast<T>(result));
}
template <class T, class D, class A, class B, class C, class L>
SIM_PTX void bfi(D& d, const A& a, const B& b, const C& c, const L& l) {
  constexpr unsigned bits = 8 * sizeof(T);
  const unsigned at = as<unsigned>(c) & 0xff, length = as<unsigned>(l) & 0xff;
  const T x = as<T>(a), y = as<T>(b);
  if (at >= bits || length == 0) return put(d, y);
  const T mask = static_cast<T>((length >= bits ? ~T{0} : (T{1} << length) - 1) << at);
  put(d, static_cast<T>((y & ~mask) | (x << at & mask)));
}
template <class T, class D, class A>
SIM_PTX void popc(D& d, const A& a) {
  put(d, static_cast<unsigned>(__builtin_popcountll(as<T>(a))));
}
template <class T, class D, class A>
SIM_PTX void clz(D& d, const A& a) {
  constexpr unsigned bits = 8 * sizeof(T);
  const T x = as<T>(a);
  put(d, x == 0 ? bits : static_cast<unsigned>(__builtin_clzll(static_cast<unsigned_of<T>>(x))) - (64 - bits));
}
template <class T, class D, class A>
SIM_PTX void brev(D& d, const A& a) {
  T x = as<T>(a), result = 0;
  for (unsigned i = 0; i < 8 * sizeof(T); ++i, x >>= 1) result = static_cast<T>(result << 1 | (x & 1));
  put(d, result);
}
template <class T, class D, class A>
SIM_PTX void bfind(D& d, const A& a) {
  const T x = as<T>(a);
  const auto bits = static_cast<unsigned_of<T>>(x < 0 ? ~x : x);
  put(d, bits == 0 ? ~0u : 63u - static_cast<unsigned>(__builtin_clzll(bits)));
}
template <class D, class A, class B, class C>
SIM_PTX void dp4a_s32_s32(D& d, const A& a, const B& b, const C& c) {
  put(d, __dp4a(as<int>(a), as<int>(b), as<int>(c)));
}
template <class D, class A, class B, class C>
SIM_PTX void dp4a_u32_u32(D& d, const A& a, const B& b, const C& c) {
  put(d, __dp4a(as<unsigned>(a), as<unsigned>(b), as<unsigned>(c)));
}

// Approximations return the exact function's value, rounded.
#define SIM_PTX_FUNCTION(name, wide_function)                                                  \
  template <class T, class D, class A>                                                         \
  SIM_PTX void name(D& d, const A& a) {                                                        \
    put(d, each([](auto x) { return wide_function(static_cast<decltype(x)>(x)); }, as<T>(a))); \
  }
SIM_PTX_FUNCTION(ex2, ::std::exp2)
SIM_PTX_FUNCTION(lg2, ::std::log2)
SIM_PTX_FUNCTION(sqrt, ::std::sqrt)
SIM_PTX_FUNCTION(sin, ::std::sin)
SIM_PTX_FUNCTION(cos, ::std::cos)
SIM_PTX_FUNCTION(tanh, ::std::tanh)
SIM_PTX_UNARY(rcp, 1 / x)
SIM_PTX_UNARY(rsqrt, 1 / ::std::sqrt(x))
#undef SIM_PTX_FUNCTION

// ---- comparisons: with NaN, false, or true if the name ends in u

#define SIM_PTX_COMPARISON(name, expression)                        \
  template <class T, class A, class B>                              \
  SIM_PTX bool name(const A& a, const B& b) {                       \
    const auto compare = [](auto x, auto y) { return expression; }; \
    if constexpr (std::is_arithmetic_v<T>)                          \
      return compare(as<T>(a), as<T>(b));                           \
    else                                                            \
      return compare(value_of(as<T>(a)), value_of(as<T>(b)));       \
  }
template <class Format>
SIM_PTX double value_of(packed<Format, 1> x) {
  return wide<Format>(x.bits);
}
SIM_PTX_COMPARISON(eq, x == y)
SIM_PTX_COMPARISON(ne, x<y || x> y)
SIM_PTX_COMPARISON(lt, x < y)
SIM_PTX_COMPARISON(le, x <= y)
SIM_PTX_COMPARISON(gt, x > y)
SIM_PTX_COMPARISON(ge, x >= y)
SIM_PTX_COMPARISON(equ, !(x < y || x > y))
SIM_PTX_COMPARISON(neu, !(x == y))
SIM_PTX_COMPARISON(ltu, !(x >= y))
SIM_PTX_COMPARISON(leu, !(x > y))
SIM_PTX_COMPARISON(gtu, !(x <= y))
SIM_PTX_COMPARISON(geu, !(x < y))
SIM_PTX_COMPARISON(num, x == x && y == y)
SIM_PTX_COMPARISON(nan, x != x || y != y)
#undef SIM_PTX_COMPARISON

// ---- conversions

enum class round_to { nothing, nearest, zero, down, up, away };
template <round_to R, class T>
SIM_PTX T rounded(T x) {
  return R == round_to::nearest ? ::std::nearbyint(x)
         : R == round_to::zero  ? ::std::trunc(x)
         : R == round_to::down  ? ::std::floor(x)
         : R == round_to::up    ? ::std::ceil(x)
                                : x;
}
template <round_to R>
inline constexpr rounding rounding_of = R == round_to::zero   ? rounding::zero
                                        : R == round_to::down ? rounding::down
                                        : R == round_to::up   ? rounding::up
                                                              : rounding::nearest;
/// The conversion's source, wide enough for all its bits.
template <class T>
SIM_PTX auto source_of(T x) {
  return x;
}
template <class Format>
SIM_PTX double source_of(packed<Format, 1> x) {
  return wide<Format>(x.bits);
}
template <class To, round_to R, bool Sat, class From>
SIM_PTX auto converted(From x) {
  if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    if constexpr (Sat) {
      using limits = std::numeric_limits<To>;
      if constexpr (std::is_signed_v<From>) {
        if (x < 0 && (!std::is_signed_v<To> || static_cast<long long>(x) < static_cast<long long>(limits::min())))
          return limits::min();
        if (x > 0 && static_cast<unsigned long long>(x) > static_cast<unsigned long long>(limits::max()))
          return limits::max();
      } else if (static_cast<unsigned long long>(x) > static_cast<unsigned long long>(limits::max())) {
        return limits::max();
      }
    }
    return static_cast<To>(x);
  } else if constexpr (std::is_integral_v<To>) {
    return sim::saturated<To>(rounded<R>(x));
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double> &&
                       (R == round_to::zero || R == round_to::down || R == round_to::up)) {
    return R == round_to::zero   ? __double2float_rz(x)
           : R == round_to::down ? __double2float_rd(x)
                                 : __double2float_ru(x);
  } else if constexpr (std::is_floating_point_v<To>) {
    auto y = static_cast<To>(x);
    if constexpr (std::is_same_v<To, From> && R != round_to::nothing) y = rounded<R>(y);  // .rni and its kind
    if constexpr (Sat) y = y > 0 ? y < 1 ? y : To{1} : To{0};
    return y;
  } else if constexpr (std::is_same_v<To, tf32>) {
    const auto bits = sim::bit_cast<unsigned>(static_cast<float>(x));
    if ((bits & 0x7f800000u) == 0x7f800000u) return tf32{bits};
    const unsigned half = R == round_to::zero ? 0 : R == round_to::away ? 0x1000 : 0xfff + (bits >> 13 & 1);
    return tf32{(bits + half) & ~0x1fffu};
  } else {
    double y = x;
    if constexpr (Sat) y = y > 0 ? y < 1 ? y : 1.0 : 0.0;
    return y;  // the caller, which knows the format, rounds
  }
}
template <class Format, int Count, round_to R>
SIM_PTX unsigned encoded(double x, bool relu) {
  return encode<Format>(relu && x < 0 ? 0 : x, rounding_of<R>);
}
/// d = a. A pair may also come from two numbers, a the upper one.
template <class To, class From, round_to R, bool Sat, bool Relu, class D, class A>
SIM_PTX void cvt(D& d, const A& a) {
  const auto x = as<From>(a);
  if constexpr (std::is_same_v<To, f16> || std::is_same_v<To, bf16>) {
    using format = std::conditional_t<std::is_same_v<To, f16>, binary16, bfloat16>;
    if constexpr (std::is_integral_v<From> && sizeof(From) == 8)
      put(d, To{encode<format>(to_odd(x), rounding_of<R>)});
    else
      put(d, To{static_cast<unsigned short>(encoded<format, 1, R>(converted<To, R, Sat>(source_of(x)), Relu))});
  } else if constexpr (std::is_same_v<To, f16x2>) {  // from pairs of 8 bits
    using from = std::conditional_t<std::is_same_v<From, e4m3x2>, sim::e4m3, sim::e5m2>;
    put(d, f16x2{half_of8<from>(static_cast<std::uint8_t>(x.bits)) |
                 unsigned{half_of8<from>(static_cast<std::uint8_t>(x.bits >> 8))} << 16});
  } else if constexpr (std::is_same_v<To, e4m3x2> || std::is_same_v<To, e5m2x2>) {  // from f16x2
    using format = std::conditional_t<std::is_same_v<To, e4m3x2>, sim::e4m3, sim::e5m2>;
    put(d, To{static_cast<unsigned short>(encode8<format>(wide<binary16>(x.bits), true) |
                                          encode8<format>(wide<binary16>(x.bits >> 16), true) << 8)});
  } else {
    auto y = converted<To, R, Sat>(source_of(x));
    if constexpr (Relu && std::is_floating_point_v<decltype(y)>) y = y < 0 ? 0 : y;
    put(d, y);
  }
}
template <class To, class From, round_to R, bool Sat, bool Relu, class D, class A, class B>
SIM_PTX void cvt(D& d, const A& a, const B& b) {
  const double high = as<From>(a), low = as<From>(b);
  if constexpr (std::is_same_v<To, e4m3x2> || std::is_same_v<To, e5m2x2>) {
    using format = std::conditional_t<std::is_same_v<To, e4m3x2>, sim::e4m3, sim::e5m2>;
    const auto code = [](double x) { return encode8<format>(Relu && x < 0 ? 0 : x, true); };
    put(d, To{static_cast<unsigned short>(code(low) | code(high) << 8)});
  } else {
    using format = std::conditional_t<std::is_same_v<To, f16x2>, binary16, bfloat16>;
    put(d, To{encoded<format, 1, R>(low, Relu) | encoded<format, 1, R>(high, Relu) << 16});
  }
}

// ---- memory

enum class space { generic, global, shared, cluster };
template <space S, class A>
SIM_PTX std::uintptr_t address(const A& base, long long offset = 0) {
  std::uintptr_t at = 0;
  if constexpr (is_immediate<A>) {
    at = static_cast<std::uintptr_t>(base.value);
  } else if constexpr (S == space::shared || S == space::cluster) {
    at = as<unsigned>(base);
  } else {
    static_assert(sizeof(A) == 8, "an address in global memory takes a register of 64 bits: \"l\"");
    at = as<unsigned long long>(base);
  }
  at += static_cast<std::uintptr_t>(offset);
  if constexpr (S == space::shared) return reinterpret_cast<std::uintptr_t>(shared_address(at));
  if constexpr (S == space::cluster) return reinterpret_cast<std::uintptr_t>(sim::cluster_address(at));
  return at;
}

template <class T, class D, class A>
SIM_PTX void cvta_to_shared(D& d, const A& a) {
  put(d, static_cast<T>(shared_offset(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(as<T>(a))))));
}
template <class T, class D, class A>
SIM_PTX void cvta_shared(D& d, const A& a) {
  put(d, static_cast<T>(reinterpret_cast<std::uintptr_t>(shared_address(as<T>(a)))));
}
template <class T, class D, class A>
SIM_PTX void cvta_to_cluster(D& d, const A& a) {
  put(d, static_cast<T>(sim::cluster_offset(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(as<T>(a))))));
}
template <class T, class D, class A>
SIM_PTX void cvta_cluster(D& d, const A& a) {
  put(d, static_cast<T>(reinterpret_cast<std::uintptr_t>(sim::cluster_address(as<T>(a)))));
}
template <class A>
SIM_PTX void isspacep_cluster(bool& d, const A& a) {
  d = sim::is_in_cluster(reinterpret_cast<const void*>(as<unsigned long long>(a)));
}
template <class A>
SIM_PTX void isspacep_shared(bool& d, const A& a) {
  d = is_shared(reinterpret_cast<const void*>(as<unsigned long long>(a)));
}
template <class A>
SIM_PTX void isspacep_global(bool& d, const A& a) {
  d = is_global(reinterpret_cast<const void*>(as<unsigned long long>(a)));
}
template <class A>
SIM_PTX void isspacep_local(bool& d, const A& a) {
  d = __isLocal(reinterpret_cast<const void*>(as<unsigned long long>(a)));
}

/// Up to 16 bytes.
struct words {
  unsigned long long low, high;
};
/// Copies by words: a copy with a size known only at run time would be observed as an access.
SIM_PTX void copy_words(void* to, const void* from, unsigned bytes) {
  switch (bytes) {
    case 1: __builtin_memcpy(to, from, 1); break;
    case 2: __builtin_memcpy(to, from, 2); break;
    case 4: __builtin_memcpy(to, from, 4); break;
    case 8: __builtin_memcpy(to, from, 8); break;
    default: __builtin_memcpy(to, from, 16);
  }
}
/// How a load or store is ordered with other threads' accesses.
enum class order { plain, relaxed, acquire, release };
template <order How>
SIM_CALLED_HERE words load(std::uintptr_t address, unsigned bytes) {
  const auto* from = reinterpret_cast<const void*>(address);
  if constexpr (How == order::plain)
    observe_load(from, bytes, SIM_CALLER);
  else
    observe_atomic_load(from, bytes, SIM_CALLER);
  words w{0, 0};
  copy_words(&w, from, bytes);
  if constexpr (How == order::acquire) sim::acquire(from);
  return w;
}
template <order How>
SIM_CALLED_HERE void store(std::uintptr_t address, unsigned bytes, unsigned long long low, unsigned long long high) {
  auto* to = reinterpret_cast<void*>(address);
  if constexpr (How == order::plain)
    observe_store(to, bytes, SIM_CALLER);
  else
    observe_atomic_store(to, bytes, SIM_CALLER);
  if constexpr (How == order::release) sim::release(to);
  const words w{low, high};
  copy_words(to, &w, bytes);
}
template <class T, order How, class... D>
SIM_PTX void ld(std::uintptr_t address, D&... d) {
  static_assert(sizeof(T) * sizeof...(D) <= 16, "one load moves at most 16 bytes");
  const words w = load<How>(address, sizeof(T) * sizeof...(D));
  unsigned at = 0;
  const auto next = [&](auto& piece) {
    const auto bits = static_cast<unsigned_of<T>>((at < 8 ? w.low : w.high) >> 8 * (at % 8));
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    put(piece, value);
    at += sizeof(T);
  };
  (next(d), ...);
}
template <class T, order How, class... A>
SIM_PTX void st(std::uintptr_t address, const A&... a) {
  static_assert(sizeof(T) * sizeof...(A) <= 16, "one store moves at most 16 bytes");
  unsigned long long w[2] = {0, 0};
  unsigned at = 0;
  const auto next = [&](const auto& piece) {
    const T value = as<T>(piece);
    unsigned_of<T> bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    w[at / 8] |= static_cast<unsigned long long>(bits) << 8 * (at % 8);
    at += sizeof(T);
  };
  (next(a), ...);
  store<How>(address, sizeof(T) * sizeof...(A), w[0], w[1]);
}

#define SIM_PTX_ATOMIC(name, function)                                  \
  template <class T, class D, class A>                                  \
  SIM_PTX void atom_##name(D&& d, std::uintptr_t address, const A& a) { \
    put(d, function(reinterpret_cast<T*>(address), as<T>(a)));          \
  }
SIM_PTX_ATOMIC(add, ::atomicAdd)
SIM_PTX_ATOMIC(min, ::atomicMin)
SIM_PTX_ATOMIC(max, ::atomicMax)
SIM_PTX_ATOMIC(and, ::atomicAnd)
SIM_PTX_ATOMIC(or, ::atomicOr)
SIM_PTX_ATOMIC(xor, ::atomicXor)
SIM_PTX_ATOMIC(exch, ::atomicExch)
SIM_PTX_ATOMIC(inc, ::atomicInc)
SIM_PTX_ATOMIC(dec, ::atomicDec)
#undef SIM_PTX_ATOMIC
template <class T, class D, class A, class B>
SIM_PTX void atom_cas(D&& d, std::uintptr_t address, const A& compare, const B& value) {
  put(d, ::atomicCAS(reinterpret_cast<T*>(address), as<T>(compare), as<T>(value)));
}
/// For 16-bit numbers: updates the whole word at once.
template <class T>
SIM_CALLED_HERE unsigned atom_add_packed(std::uintptr_t address, unsigned more) {
  using word = typename T::word;
  return sim::read_modify_write(
      reinterpret_cast<word*>(address),
      [=](word old) SIM_QUIET {
        word result;
        add<T>(result, old, static_cast<word>(more));
        return result;
      },
      SIM_CALLER);
}
template <class T, class D, class A>
SIM_PTX void atom_add_noftz(D&& d, std::uintptr_t address, const A& a) {
  put(d, static_cast<typename T::word>(atom_add_packed<T>(address, as<typename T::word>(a))));
}

// ---- asynchronous copies

/// The first `bytes_read` of `bytes` bytes come from memory; the others are zero.
SIM_CALLED_HERE void cp_async(std::uintptr_t to, std::uintptr_t from, unsigned bytes, unsigned bytes_read) {
  sim::copy_async(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, bytes - bytes_read, nullptr,
                  SIM_CALLER);
}
template <class A, class B>
SIM_PTX void cp_async(std::uintptr_t to, std::uintptr_t from, const A& bytes, const B& bytes_read) {
  const unsigned all = as<unsigned>(bytes), some = as<unsigned>(bytes_read);
  cp_async(to, from, all, some < all ? some : all);
}
SIM_PTX void cp_async_commit_group() { sim::commit_copies(); }
template <class N>
SIM_PTX void cp_async_wait_group(const N& groups) {
  sim::wait_for_copies(as<unsigned>(groups));
}
/// Includes uncommitted ones.
SIM_PTX void cp_async_wait_all() {
  sim::commit_copies();
  sim::wait_for_copies(0);
}

// ---- matrices

template <unsigned Count, bool Transposed>
SIM_CALLED_HERE matrix_parts load_matrix(std::uintptr_t row) {
  return sim::load_matrices(row, Count, Transposed, SIM_CALLER);
}
template <bool Transposed, class... D>
SIM_PTX void ldmatrix(std::uintptr_t row, D&... d) {
  const matrix_parts m = load_matrix<sizeof...(D), Transposed>(row);
  unsigned i = 0;
  (put(d, m.part[i++]), ...);
}
template <unsigned Count, bool Transposed>
SIM_CALLED_HERE void store_matrix(std::uintptr_t row, matrix_parts from) {
  sim::store_matrices(row, Count, Transposed, from, SIM_CALLER);
}
template <bool Transposed, class... A>
SIM_PTX void stmatrix(std::uintptr_t row, const A&... a) {
  store_matrix<sizeof...(A), Transposed>(row, matrix_parts{{as<unsigned>(a)...}});
}

/// The sums, in and out; the host returns them in two registers.
struct sums {
  unsigned c[4];
};
template <element A, element B, element Sum, unsigned M, unsigned N, unsigned K, bool Saturates>
SIM_CALLED_HERE sums multiplied(unsigned a0, unsigned a1, unsigned a2, unsigned a3, unsigned b0, unsigned b1, sums c) {
  product mine{{A, B, Sum, M, N, K, Saturates}, {a0, a1, a2, a3}, {b0, b1}, {c.c[0], c.c[1], c.c[2], c.c[3]}};
  sim::multiply(mine, SIM_CALLER);
  return {{mine.c[0], mine.c[1], mine.c[2], mine.c[3]}};
}
/// Registers in order, as words.
template <unsigned Count>
struct fragment {
  unsigned word[Count] = {};
};
template <unsigned Count, class... R>
SIM_PTX fragment<Count> fragment_of(const R&... r) {
  fragment<Count> f;
  unsigned at = 0;
  const auto next = [&](const auto& one) {
    using type = std::decay_t<decltype(one)>;
    if constexpr (sizeof(type) == 8 && !is_immediate<type>) {
      const auto bits = as<unsigned long long>(one);
      f.word[at++] = static_cast<unsigned>(bits);
      f.word[at++] = static_cast<unsigned>(bits >> 32);
    } else {
      f.word[at++] = as<unsigned>(one);
    }
  };
  (next(r), ...);
  return f;
}
template <class... D>
SIM_PTX void put_fragment(const sums& s, D&... d) {
  unsigned at = 0;
  const auto next = [&](auto& one) {
    if constexpr (sizeof one == 8) {
      put(one, s.c[at] | static_cast<unsigned long long>(s.c[at + 1]) << 32);
      at += 2;
    } else {
      put(one, s.c[at++]);
    }
  };
  (next(d), ...);
}
template <element A, element B, element Sum, unsigned M, unsigned N, unsigned K, bool Saturates>
SIM_PTX sums mma(const fragment<4>& a, const fragment<2>& b, const fragment<4>& c) {
  return multiplied<A, B, Sum, M, N, K, Saturates>(a.word[0], a.word[1], a.word[2], a.word[3], b.word[0], b.word[1],
                                                   sums{{c.word[0], c.word[1], c.word[2], c.word[3]}});
}

// ---- barriers and fences

SIM_PTX void fence() { sim::fence(); }
template <bool Waits>
SIM_PTX void dependency() {
  sim::note_dependency(Waits);
}
SIM_CALLED_HERE void named_barrier(unsigned id, unsigned threads, bool waits) {
  sim::named_barrier(id, threads, waits, SIM_CALLER);
}
template <class Id>
SIM_PTX void bar_sync(const Id& id) {
  named_barrier(as<unsigned>(id), 0, true);
}
template <class Id, class Threads>
SIM_PTX void bar_sync(const Id& id, const Threads& threads) {
  named_barrier(as<unsigned>(id), as<unsigned>(threads), true);
}
template <class Id, class Threads>
SIM_PTX void bar_arrive(const Id& id, const Threads& threads) {
  named_barrier(as<unsigned>(id), as<unsigned>(threads), false);
}

// ---- mbarriers

SIM_CALLED_HERE void mbarrier_init_here(std::uintptr_t at, unsigned count) {
  sim::init_mbarrier(reinterpret_cast<mbarrier*>(at), count, SIM_CALLER);
}
SIM_CALLED_HERE void mbarrier_inval(std::uintptr_t at) {
  sim::end_mbarrier(reinterpret_cast<mbarrier*>(at), SIM_CALLER);
}
SIM_CALLED_HERE unsigned long long mbarrier_arrive_here(std::uintptr_t at, unsigned count, unsigned dropped,
                                                        int bytes) {
  return sim::arrive_at(reinterpret_cast<mbarrier*>(at), count, dropped, bytes, SIM_CALLER);
}
SIM_CALLED_HERE bool mbarrier_wait_here(std::uintptr_t at, unsigned parity) {
  return sim::wait_for_phase(reinterpret_cast<mbarrier*>(at), parity, SIM_CALLER);
}
template <class Count>
SIM_PTX void mbarrier_init(std::uintptr_t address, const Count& count) {
  mbarrier_init_here(address, as<unsigned>(count));
}
template <class D, class Count, class Dropped, class Bytes>
SIM_PTX void mbarrier_arrive(D&& d, std::uintptr_t address, const Count& count, const Dropped& dropped,
                             const Bytes& bytes) {
  put(d, mbarrier_arrive_here(address, as<unsigned>(count), as<unsigned>(dropped), as<int>(bytes)));
}
template <class Bytes>
SIM_PTX void mbarrier_complete(std::uintptr_t address, const Bytes& bytes) {
  mbarrier_arrive_here(address, 0, 0, -as<int>(bytes));
}
/// Whether the phase with this parity, or the phase of the state that an arrival returned, has ended.
template <class D, class Parity>
SIM_PTX void mbarrier_wait_parity(D& d, std::uintptr_t address, const Parity& parity) {
  put(d, mbarrier_wait_here(address, as<unsigned>(parity) & 1));
}
template <class D, class State>
SIM_PTX void mbarrier_wait(D& d, std::uintptr_t address, const State& state) {
  put(d, mbarrier_wait_here(address, mbarrier{as<unsigned long long>(state)}.phase()));
}
template <class D, class State>
SIM_PTX void mbarrier_pending_count(D& d, const State& state) {
  put(d, mbarrier{as<unsigned long long>(state)}.to_come());
}
/// Completes this thread's asynchronous copies, then arrives: here, copies end at once.
SIM_PTX void cp_async_mbarrier_arrive(std::uintptr_t address, bool counts) {
  cp_async_wait_all();
  if (counts) mbarrier_arrive_here(address, 1, 0, 0);
}

// ---- bulk copies. `ranks` of a multicast: a bit for each block of the cluster

template <class... C>
SIM_PTX box_begin box_at(const C&... c) {
  return {{as<int>(c)...}, sizeof...(C)};
}
SIM_CALLED_HERE void bulk_in(std::uintptr_t to, std::uintptr_t from, unsigned bytes, std::uintptr_t arrived,
                             unsigned ranks) {
  sim::copy_bulk_in(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes,
                    reinterpret_cast<mbarrier*>(arrived), ranks, SIM_CALLER);
}
template <class Bytes, class Ranks>
SIM_PTX void bulk_copy_in(std::uintptr_t to, std::uintptr_t from, const Bytes& bytes, std::uintptr_t arrived,
                          const Ranks& ranks) {
  bulk_in(to, from, as<unsigned>(bytes), arrived, as<unsigned short>(ranks));
}
template <bulk_reduction How, number Type>
SIM_CALLED_HERE void bulk_out(std::uintptr_t to, std::uintptr_t from, unsigned bytes) {
  sim::copy_bulk_out(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes, How, Type, SIM_CALLER);
}
template <bulk_reduction How, number Type, class Bytes>
SIM_PTX void bulk_copy_out(std::uintptr_t to, std::uintptr_t from, const Bytes& bytes) {
  bulk_out<How, Type>(to, from, as<unsigned>(bytes));
}
SIM_CALLED_HERE void tensor_in(std::uintptr_t to, std::uintptr_t map, box_begin begin, std::uintptr_t arrived,
                               unsigned ranks) {
  sim::copy_box_in(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(map), begin,
                   reinterpret_cast<mbarrier*>(arrived), ranks, SIM_CALLER);
}
template <class Ranks>
SIM_PTX void tensor_copy_in(std::uintptr_t to, std::uintptr_t map, const box_begin& begin, std::uintptr_t arrived,
                            const Ranks& ranks) {
  tensor_in(to, map, begin, arrived, as<unsigned short>(ranks));
}
template <bulk_reduction How>
SIM_CALLED_HERE void tensor_copy_out(std::uintptr_t map, box_begin begin, std::uintptr_t from) {
  sim::copy_box_out(reinterpret_cast<const void*>(map), begin, reinterpret_cast<const void*>(from), How, SIM_CALLER);
}
SIM_CALLED_HERE void bulk_commit() { sim::commit_bulk(); }
SIM_CALLED_HERE void bulk_wait_here(unsigned groups) { sim::wait_for_bulk(groups); }
template <class N>
SIM_PTX void bulk_wait(const N& groups) {
  bulk_wait_here(as<unsigned>(groups));
}

// ---- products of a warpgroup

template <unsigned Count>
struct words_of {
  unsigned word[Count];
};
/// A or B: in shared memory, or in four registers.
struct factor {
  unsigned long long descriptor = 0;
  unsigned word[4] = {};
  bool in_registers = false;
};
template <class R>
SIM_PTX factor factor_of(const R& descriptor) {
  return {as<unsigned long long>(descriptor), {}, false};
}
template <class R0, class R1, class R2, class R3>
SIM_PTX factor factor_of(const R0& r0, const R1& r1, const R2& r2, const R3& r3) {
  return {0, {as<unsigned>(r0), as<unsigned>(r1), as<unsigned>(r2), as<unsigned>(r3)}, true};
}
struct product_options {
  bool add, negate_a, negate_b, a_columns, b_rows;
};
template <class P>
SIM_PTX bool is_true(const P& p) {
  if constexpr (std::is_same_v<P, bool>)
    return p;
  else
    return as<int>(p) != 0;
}
template <class A, class B, class C, class D>
SIM_PTX product_options options(bool add, const A& scale_a, const B& scale_b, const C& columns, const D& rows) {
  return {add, as<int>(scale_a) == -1, as<int>(scale_b) == -1, as<int>(columns) != 0, as<int>(rows) != 0};
}
template <element A, element B, element Sum, unsigned N, bool Saturates, unsigned Count>
SIM_CALLED_HERE words_of<Count> warpgroup_multiply(factor a, unsigned long long b, product_options o,
                                                   words_of<Count> sums) {
  warpgroup_product p{A,
                      B,
                      Sum,
                      N,
                      Saturates,
                      o.add,
                      o.negate_a,
                      o.negate_b,
                      o.a_columns,
                      o.b_rows,
                      a.in_registers,
                      {a.word[0], a.word[1], a.word[2], a.word[3]},
                      a.descriptor,
                      b,
                      sums.word};
  sim::multiply_warpgroup(p, SIM_CALLER);
  return sums;
}
template <element A, element B, element Sum, unsigned N, bool Saturates, class Descriptor, class... D>
SIM_PTX void wgmma(const factor& a, const Descriptor& b, const product_options& o, D&... d) {
  const auto sums = warpgroup_multiply<A, B, Sum, N, Saturates, sizeof...(D)>(
      a, as<unsigned long long>(b), o, words_of<sizeof...(D)>{{as<unsigned>(d)...}});
  unsigned i = 0;
  (put(d, sums.word[i++]), ...);
}
SIM_CALLED_HERE void wgmma_commit() { sim::commit_products(); }
SIM_CALLED_HERE void wgmma_wait_here(unsigned groups) { sim::wait_for_products(groups, SIM_CALLER); }
template <class N>
SIM_PTX void wgmma_wait(const N& groups) {
  wgmma_wait_here(as<unsigned>(groups));
}

// ---- clusters

template <dim3 (*Of)()>
SIM_QUIET unsigned component(char axis) {
  const dim3 all = Of();
  return axis == 'x' ? all.x : axis == 'y' ? all.y : all.z;
}
SIM_PTX unsigned cluster_ctarank() { return sim::cluster_rank(); }
SIM_PTX unsigned cluster_nctarank() { return sim::cluster_blocks(); }
inline dim3 cluster_index() {
  const dim3 shape = sim::cluster_shape();
  return {blockIdx.x / shape.x, blockIdx.y / shape.y, blockIdx.z / shape.z};
}
inline dim3 cluster_count() {
  const dim3 shape = sim::cluster_shape();
  return {gridDim.x / shape.x, gridDim.y / shape.y, gridDim.z / shape.z};
}
SIM_PTX bool is_explicit_cluster() { return sim::cluster_blocks() > 1; }
SIM_CALLED_HERE void cluster_arrive() { sim::arrive_at_cluster(SIM_CALLER); }
SIM_CALLED_HERE void cluster_wait() { sim::wait_for_cluster(SIM_CALLER); }
SIM_CALLED_HERE std::uintptr_t in_block_here(std::uintptr_t shared, unsigned rank) {
  return reinterpret_cast<std::uintptr_t>(sim::in_block(reinterpret_cast<const void*>(shared), rank, SIM_CALLER));
}
/// The same place in another block, for an address in PTX's shared-memory window or for a pointer.
template <class T, bool Window, class D, class A, class Rank>
SIM_PTX void mapa(D& d, const A& a, const Rank& rank) {
  if constexpr (Window)
    put(d, static_cast<T>(sim::cluster_offset(reinterpret_cast<const void*>(
               in_block_here(reinterpret_cast<std::uintptr_t>(sim::cluster_address(as<T>(a))), as<unsigned>(rank))))));
  else
    put(d, static_cast<T>(in_block_here(as<T>(a), as<unsigned>(rank))));
}
template <class T, bool Window, class D, class A>
SIM_PTX void getctarank(D& d, const A& a) {
  put(d, sim::rank_of(Window ? sim::cluster_address(as<T>(a)) : reinterpret_cast<const void*>(as<T>(a))));
}

// ---- functions of a warp

/// c: bits 8 to 12 divide the warp into parts, bits 0 to 4 name the last lane that may be read.
enum class shuffle_mode { up, down, bfly, idx };
SIM_CALLED_HERE unsigned shuffle_from(unsigned mask, unsigned value, unsigned lane) {
  return sim::shuffle<sim::from_index>(mask, value, static_cast<int>(lane), 32, SIM_CALLER);
}
template <shuffle_mode Mode, class D, class P, class A, class B, class C, class M>
SIM_PTX void shfl(D& d, P&& in_range, const A& a, const B& b, const C& c, const M& mask) {
  const unsigned lane = laneid(), by = as<unsigned>(b) & 31, part = as<unsigned>(c) >> 8 & 31,
                 last = as<unsigned>(c) & 31;
  const unsigned most = (lane & part) | (last & ~part), least = lane & part;
  const unsigned from = Mode == shuffle_mode::up     ? lane - by
                        : Mode == shuffle_mode::down ? lane + by
                        : Mode == shuffle_mode::bfly ? lane ^ by
                                                     : least | (by & ~part);
  const bool inside = Mode == shuffle_mode::up ? static_cast<int>(from) >= static_cast<int>(most) : from <= most;
  put(d, shuffle_from(as<unsigned>(mask), as<unsigned>(a), inside ? from : lane));
  put(in_range, inside);
}
template <class D, class M>
SIM_PTX void vote_ballot(D& d, bool p, const M& mask) {
  put(d, ::__ballot_sync(as<unsigned>(mask), p));
}
template <class D, class M>
SIM_PTX void vote_all(D& d, bool p, const M& mask) {
  put(d, ::__all_sync(as<unsigned>(mask), p) != 0);
}
template <class D, class M>
SIM_PTX void vote_any(D& d, bool p, const M& mask) {
  put(d, ::__any_sync(as<unsigned>(mask), p) != 0);
}
template <class D, class M>
SIM_PTX void vote_uni(D& d, bool p, const M& mask) {
  const unsigned all = as<unsigned>(mask), votes = ::__ballot_sync(all, p);
  put(d, votes == 0 || votes == all);
}
template <class D>
SIM_PTX void activemask(D& d) {
  put(d, ::__activemask());
}
template <class T, class D, class A, class M>
SIM_PTX void match_any(D& d, const A& a, const M& mask) {
  put(d, ::__match_any_sync(as<unsigned>(mask), as<T>(a)));
}
#define SIM_PTX_REDUX(name)                                         \
  template <class T, class D, class A, class M>                     \
  SIM_PTX void redux_##name(D& d, const A& a, const M& mask) {      \
    put(d, ::__reduce_##name##_sync(as<unsigned>(mask), as<T>(a))); \
  }
SIM_PTX_REDUX(add)
SIM_PTX_REDUX(min)
SIM_PTX_REDUX(max)
SIM_PTX_REDUX(and)
SIM_PTX_REDUX(or)
SIM_PTX_REDUX(xor)
#undef SIM_PTX_REDUX
/// The lowest lane in the mask leads.
template <class D, class P, class M>
SIM_PTX void elect(D&& leader, P& leads, const M& mask) {
  const unsigned lanes = as<unsigned>(mask), lowest = static_cast<unsigned>(__builtin_ctz(lanes | 1u << 31));
  ::__syncwarp(lanes);
  put(leader, lowest);
  put(leads, laneid() == lowest);
}

}  // namespace ptx
}  // namespace sim

#undef SIM_PTX_UNARY
#undef SIM_PTX_BINARY
#undef SIM_PTX
