// <cuComplex.h>: complex numbers as CUDA's pairs.
#pragma once
#define CU_COMPLEX_H_  // programs test for it

#include <math.h>

#include "cuda_runtime.h"

using cuFloatComplex = float2;
using cuDoubleComplex = double2;
using cuComplex = cuFloatComplex;

// `f` is "f" in the names of the single-precision functions.
#define SIM_COMPLEX(type, real, vector, f)                                                                             \
  __host__ __device__ inline real cuCreal##f(type z) { return z.x; }                                                   \
  __host__ __device__ inline real cuCimag##f(type z) { return z.y; }                                                   \
  __host__ __device__ inline type make_##vector##Complex(real re, real im) { return {re, im}; }                        \
  __host__ __device__ inline type cuConj##f(type z) { return {z.x, -z.y}; }                                            \
  __host__ __device__ inline type cuCadd##f(type a, type b) { return {a.x + b.x, a.y + b.y}; }                         \
  __host__ __device__ inline type cuCsub##f(type a, type b) { return {a.x - b.x, a.y - b.y}; }                         \
  __host__ __device__ inline type cuCmul##f(type a, type b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; } \
  /* Scaled by the divisor's size, so that its square neither overflows nor vanishes. */                               \
  __host__ __device__ inline type cuCdiv##f(type a, type b) {                                                          \
    const real scale = 1 / (fabs##f(b.x) + fabs##f(b.y));                                                              \
    const real ax = a.x * scale, ay = a.y * scale, bx = b.x * scale, by = b.y * scale;                                 \
    const real inverse = 1 / (bx * bx + by * by);                                                                      \
    return {(ax * bx + ay * by) * inverse, (ay * bx - ax * by) * inverse};                                             \
  }                                                                                                                    \
  __host__ __device__ inline real cuCabs##f(type z) { return hypot##f(z.x, z.y); }                                     \
  __host__ __device__ inline type cuCfma##f(type a, type b, type c) {                                                  \
    return {a.x * b.x + c.x - a.y * b.y, a.x * b.y + c.y + a.y * b.x};                                                 \
  }
SIM_COMPLEX(cuFloatComplex, float, cuFloat, f)
SIM_COMPLEX(cuDoubleComplex, double, cuDouble, )
#undef SIM_COMPLEX

__host__ __device__ inline cuComplex make_cuComplex(float re, float im) { return {re, im}; }
__host__ __device__ inline cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex z) { return {z.x, z.y}; }
__host__ __device__ inline cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex z) {
  return {static_cast<float>(z.x), static_cast<float>(z.y)};
}
