// CUDA's vector types and dim3, with CUDA's alignments, which determine how many bytes one access moves.
#pragma once

namespace sim {
/// The vector types that one access can move: __ldg and similar functions take them.
template <class T>
inline constexpr bool is_vector = false;
}  // namespace sim

// `p[i] = float4{a, b, c, d}` is one store. The compiler's own assignment would make it four; a template operator keeps
// the type trivially copyable.
#define SIM_STORED_WHOLE(name)                                          \
  name& operator=(const name&) = default;                               \
  template <int = 0>                                                    \
  __attribute__((always_inline)) inline name& operator=(name&& other) { \
    return *this = static_cast<const name&>(other);                     \
  }

#define SIM_VECTOR1(name, type) \
  struct name##1 {              \
    type x;                     \
  };                            \
  inline name##1 make_##name##1(type x) { return {x}; }
#define SIM_VECTOR2(name, type, alignment)              \
  struct __attribute__((aligned(alignment))) name##2 {  \
    type x, y;                                          \
    SIM_STORED_WHOLE(name##2)                           \
  };                                                    \
  template <>                                           \
  inline constexpr bool sim::is_vector<name##2> = true; \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }
#define SIM_VECTOR3(name, type) \
  struct name##3 {              \
    type x, y, z;               \
  };                            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }
// `name` in full: CUDA 13 has 4-wide types of 8-byte elements in two alignments.
#define SIM_VECTOR4(name, type, alignment)           \
  struct __attribute__((aligned(alignment))) name {  \
    type x, y, z, w;                                 \
    SIM_STORED_WHOLE(name)                           \
  };                                                 \
  template <>                                        \
  inline constexpr bool sim::is_vector<name> = true; \
  inline name make_##name(type x, type y, type z, type w) { return {x, y, z, w}; }
#define SIM_VECTORS(name, type, alignment2, alignment4) \
  SIM_VECTOR1(name, type)                               \
  SIM_VECTOR2(name, type, alignment2)                   \
  SIM_VECTOR3(name, type)                               \
  SIM_VECTOR4(name##4, type, alignment4)
#define SIM_WIDE_VECTORS(name, type) \
  SIM_VECTORS(name, type, 16, 16)    \
  SIM_VECTOR4(name##4_16a, type, 16) \
  SIM_VECTOR4(name##4_32a, type, 32)

SIM_VECTORS(char, signed char, 2, 4)
SIM_VECTORS(uchar, unsigned char, 2, 4)
SIM_VECTORS(short, short, 4, 8)
SIM_VECTORS(ushort, unsigned short, 4, 8)
SIM_VECTORS(int, int, 8, 16)
SIM_VECTORS(uint, unsigned int, 8, 16)
SIM_WIDE_VECTORS(long, long)
SIM_WIDE_VECTORS(ulong, unsigned long)
SIM_WIDE_VECTORS(longlong, long long)
SIM_WIDE_VECTORS(ulonglong, unsigned long long)
SIM_VECTORS(float, float, 8, 16)
SIM_WIDE_VECTORS(double, double)

#undef SIM_STORED_WHOLE
#undef SIM_VECTOR1
#undef SIM_VECTOR2
#undef SIM_VECTOR3
#undef SIM_VECTOR4
#undef SIM_VECTORS
#undef SIM_WIDE_VECTORS

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
