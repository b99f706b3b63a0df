// CUDA's vector types and dim3, with CUDA's alignments: they decide how many bytes one access moves.
#pragma once

#define SIM_VECTOR1(name, type) \
  struct name##1 {              \
    type x;                     \
  };                            \
  inline name##1 make_##name##1(type x) { return {x}; }
#define SIM_VECTOR2(name, type, alignment)             \
  struct __attribute__((aligned(alignment))) name##2 { \
    type x, y;                                         \
  };                                                   \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }
#define SIM_VECTOR3(name, type) \
  struct name##3 {              \
    type x, y, z;               \
  };                            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }
#define SIM_VECTOR4(name, type, alignment)             \
  struct __attribute__((aligned(alignment))) name##4 { \
    type x, y, z, w;                                   \
  };                                                   \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
#define SIM_VECTORS(name, type, alignment2, alignment4) \
  SIM_VECTOR1(name, type)                               \
  SIM_VECTOR2(name, type, alignment2)                   \
  SIM_VECTOR3(name, type)                               \
  SIM_VECTOR4(name, type, alignment4)

SIM_VECTORS(char, signed char, 2, 4)
SIM_VECTORS(uchar, unsigned char, 2, 4)
SIM_VECTORS(short, short, 4, 8)
SIM_VECTORS(ushort, unsigned short, 4, 8)
SIM_VECTORS(int, int, 8, 16)
SIM_VECTORS(uint, unsigned int, 8, 16)
SIM_VECTORS(long, long, 16, 16)
SIM_VECTORS(ulong, unsigned long, 16, 16)
SIM_VECTORS(longlong, long long, 16, 16)
SIM_VECTORS(ulonglong, unsigned long long, 16, 16)
SIM_VECTORS(float, float, 8, 16)
SIM_VECTORS(double, double, 16, 16)

struct dim3 {
  unsigned int x, y, z;
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};
