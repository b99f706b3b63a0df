// CUDA's functions on the bytes or 16-bit halves of a 32-bit word, and its dot products.
#pragma once

#include <limits>
#include <type_traits>

#include "sim/math.h"
#include "sim/types.h"

namespace sim {

/// op(lane of a, lane of b), lane by lane; each result is truncated to the lane's width.
template <class Lane, class Operation>
unsigned lanewise(unsigned a, unsigned b, Operation op) {
  unsigned result = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(Lane))
    result |= static_cast<unsigned>(static_cast<std::make_unsigned_t<Lane>>(
                  op(int{static_cast<Lane>(a >> at)}, int{static_cast<Lane>(b >> at)})))
              << at;
  return result;
}
template <class Lane>
int clamped(int x) {
  return ::min(::max(x, int{std::numeric_limits<Lane>::min()}), int{std::numeric_limits<Lane>::max()});
}
inline int magnitude(int x) { return x < 0 ? -x : x; }

template <class Lane>
unsigned sum_of_differences(unsigned a, unsigned b) {
  unsigned sum = 0;
  for (unsigned at = 0; at < 32; at += 8 * sizeof(Lane))
    sum += static_cast<unsigned>(magnitude(static_cast<Lane>(a >> at) - static_cast<Lane>(b >> at)));
  return sum;
}
/// c plus the sum of the products of `count` lanes: a's starting at the lowest, b's starting at bit `from`.
template <class Left, class Right, class Sum>
Sum dot(unsigned a, unsigned b, Sum c, int count, unsigned from = 0) {
  for (int i = 0; i < count; ++i)
    c = static_cast<Sum>(static_cast<unsigned>(c) +
                         static_cast<unsigned>(static_cast<Left>(a >> (8 * sizeof(Left) * i)) *
                                               static_cast<Right>(b >> (from + 8 * sizeof(Right) * i))));
  return c;
}

}  // namespace sim

// In `expression`, x is a lane, y the other operand's lane, `lane` their type.
#define SIM_LANES(name, type, parameters, b, expression)                                             \
  inline unsigned name parameters {                                                                  \
    using lane [[maybe_unused]] = type;                                                              \
    return sim::lanewise<type>(a, b, [](int x, [[maybe_unused]] int y) { return int(expression); }); \
  }
#define SIM_UNARY(name, expression)                             \
  SIM_LANES(name##2, signed short, (unsigned a), 0, expression) \
  SIM_LANES(name##4, signed char, (unsigned a), 0, expression)
#define SIM_SIGNED(name, expression)                                        \
  SIM_LANES(name##2, signed short, (unsigned a, unsigned b), b, expression) \
  SIM_LANES(name##4, signed char, (unsigned a, unsigned b), b, expression)
#define SIM_UNSIGNED(name, expression)                                        \
  SIM_LANES(name##2, unsigned short, (unsigned a, unsigned b), b, expression) \
  SIM_LANES(name##4, unsigned char, (unsigned a, unsigned b), b, expression)
#define SIM_COMPARE(name, op)                    \
  SIM_SIGNED(__vcmp##name##s, x op y ? -1 : 0)   \
  SIM_UNSIGNED(__vcmp##name##u, x op y ? -1 : 0) \
  SIM_SIGNED(__vset##name##s, x op y)            \
  SIM_UNSIGNED(__vset##name##u, x op y)
SIM_UNARY(__vabs, sim::magnitude(x))
SIM_UNARY(__vabsss, sim::clamped<lane>(sim::magnitude(x)))
SIM_UNARY(__vneg, -x)
SIM_UNARY(__vnegss, sim::clamped<lane>(-x))
SIM_UNSIGNED(__vadd, x + y)
SIM_SIGNED(__vaddss, sim::clamped<lane>(x + y))
SIM_UNSIGNED(__vaddus, sim::clamped<lane>(x + y))
SIM_UNSIGNED(__vsub, x - y)
SIM_SIGNED(__vsubss, sim::clamped<lane>(x - y))
SIM_UNSIGNED(__vsubus, sim::clamped<lane>(x - y))
SIM_SIGNED(__vabsdiffs, sim::magnitude(x - y))
SIM_UNSIGNED(__vabsdiffu, sim::magnitude(x - y))
SIM_SIGNED(__vavgs, (x + y + (x + y >= 0)) >> 1)
SIM_UNSIGNED(__vavgu, (x + y + 1) >> 1)
SIM_UNSIGNED(__vhaddu, (x + y) >> 1)
SIM_SIGNED(__vmaxs, ::max(x, y))
SIM_UNSIGNED(__vmaxu, ::max(x, y))
SIM_SIGNED(__vmins, ::min(x, y))
SIM_UNSIGNED(__vminu, ::min(x, y))
SIM_UNSIGNED(__vcmpeq, x == y ? -1 : 0)
SIM_UNSIGNED(__vcmpne, x != y ? -1 : 0)
SIM_UNSIGNED(__vseteq, x == y)
SIM_UNSIGNED(__vsetne, x != y)
SIM_COMPARE(ge, >=)
SIM_COMPARE(gt, >)
SIM_COMPARE(le, <=)
SIM_COMPARE(lt, <)
#undef SIM_COMPARE
#undef SIM_UNSIGNED
#undef SIM_SIGNED
#undef SIM_UNARY
#undef SIM_LANES
inline unsigned __vsads2(unsigned a, unsigned b) { return sim::sum_of_differences<signed short>(a, b); }
inline unsigned __vsads4(unsigned a, unsigned b) { return sim::sum_of_differences<signed char>(a, b); }
inline unsigned __vsadu2(unsigned a, unsigned b) { return sim::sum_of_differences<unsigned short>(a, b); }
inline unsigned __vsadu4(unsigned a, unsigned b) { return sim::sum_of_differences<unsigned char>(a, b); }

inline int __dp4a(int a, int b, int c) {
  return sim::dot<signed char, signed char>(static_cast<unsigned>(a), static_cast<unsigned>(b), c, 4);
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  return sim::dot<unsigned char, unsigned char>(a, b, c, 4);
}
inline int __dp4a(char4 a, char4 b, int c) { return __dp4a(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c); }
inline unsigned __dp4a(uchar4 a, uchar4 b, unsigned c) {
  return __dp4a(__builtin_bit_cast(unsigned, a), __builtin_bit_cast(unsigned, b), c);
}
#define SIM_DP2A(name, from)                                                                                    \
  inline int name(int a, int b, int c) {                                                                        \
    return sim::dot<signed short, signed char>(static_cast<unsigned>(a), static_cast<unsigned>(b), c, 2, from); \
  }                                                                                                             \
  inline unsigned name(unsigned a, unsigned b, unsigned c) {                                                    \
    return sim::dot<unsigned short, unsigned char>(a, b, c, 2, from);                                           \
  }                                                                                                             \
  inline int name(short2 a, char4 b, int c) {                                                                   \
    return name(__builtin_bit_cast(int, a), __builtin_bit_cast(int, b), c);                                     \
  }                                                                                                             \
  inline unsigned name(ushort2 a, uchar4 b, unsigned c) {                                                       \
    return name(__builtin_bit_cast(unsigned, a), __builtin_bit_cast(unsigned, b), c);                           \
  }
SIM_DP2A(__dp2a_lo, 0)
SIM_DP2A(__dp2a_hi, 16)
#undef SIM_DP2A

// For three numbers, or for a sum and a number; _relu: at least zero.
#define SIM_CHOICE(choose, type, suffix)                                                               \
  inline type __vi##choose##3_##suffix(type a, type b, type c) { return ::choose(::choose(a, b), c); } \
  inline type __viadd##choose##_##suffix(type a, type b, type c) {                                     \
    return ::choose(static_cast<type>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);        \
  }
#define SIM_CHOICE_RELU(choose)                                                                               \
  inline int __vi##choose##_s32_relu(int a, int b) { return ::max(::choose(a, b), 0); }                       \
  inline int __vi##choose##3_s32_relu(int a, int b, int c) { return ::max(__vi##choose##3_s32(a, b, c), 0); } \
  inline int __viadd##choose##_s32_relu(int a, int b, int c) { return ::max(__viadd##choose##_s32(a, b, c), 0); }
SIM_CHOICE(max, int, s32)
SIM_CHOICE(max, unsigned, u32)
SIM_CHOICE(min, int, s32)
SIM_CHOICE(min, unsigned, u32)
SIM_CHOICE_RELU(max)
SIM_CHOICE_RELU(min)
#undef SIM_CHOICE_RELU
#undef SIM_CHOICE
#define SIM_CHOICE2(choose, signs, suffix)                                         \
  inline unsigned __vi##choose##3_##suffix(unsigned a, unsigned b, unsigned c) {   \
    return __v##choose##signs##2(__v##choose##signs##2(a, b), c);                  \
  }                                                                                \
  inline unsigned __viadd##choose##_##suffix(unsigned a, unsigned b, unsigned c) { \
    return __v##choose##signs##2(__vadd2(a, b), c);                                \
  }
SIM_CHOICE2(max, s, s16x2)
SIM_CHOICE2(max, u, u16x2)
SIM_CHOICE2(min, s, s16x2)
SIM_CHOICE2(min, u, u16x2)
#undef SIM_CHOICE2
#define SIM_CHOICE2_RELU(choose)                                                                                   \
  inline unsigned __vi##choose##_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__v##choose##s2(a, b), 0); } \
  inline unsigned __vi##choose##3_s16x2_relu(unsigned a, unsigned b, unsigned c) {                                 \
    return __vmaxs2(__vi##choose##3_s16x2(a, b, c), 0);                                                            \
  }                                                                                                                \
  inline unsigned __viadd##choose##_s16x2_relu(unsigned a, unsigned b, unsigned c) {                               \
    return __vmaxs2(__viadd##choose##_s16x2(a, b, c), 0);                                                          \
  }
SIM_CHOICE2_RELU(max)
SIM_CHOICE2_RELU(min)
#undef SIM_CHOICE2_RELU
/// Also says whether the first operand was chosen, as it is if they are equal.
inline int __vibmax_s32(int a, int b, bool* first) { return (*first = a >= b) ? a : b; }
inline unsigned __vibmax_u32(unsigned a, unsigned b, bool* first) { return (*first = a >= b) ? a : b; }
inline int __vibmin_s32(int a, int b, bool* first) { return (*first = a <= b) ? a : b; }
inline unsigned __vibmin_u32(unsigned a, unsigned b, bool* first) { return (*first = a <= b) ? a : b; }
#define SIM_WHICH2(name, choose, compare, type)                                     \
  inline unsigned name(unsigned a, unsigned b, bool* first_high, bool* first_low) { \
    *first_high = static_cast<type>(a >> 16) compare static_cast<type>(b >> 16);    \
    *first_low = static_cast<type>(a) compare static_cast<type>(b);                 \
    return choose(a, b);                                                            \
  }
SIM_WHICH2(__vibmax_s16x2, __vmaxs2, >=, short)
SIM_WHICH2(__vibmax_u16x2, __vmaxu2, >=, unsigned short)
SIM_WHICH2(__vibmin_s16x2, __vmins2, <=, short)
SIM_WHICH2(__vibmin_u16x2, __vminu2, <=, unsigned short)
#undef SIM_WHICH2
