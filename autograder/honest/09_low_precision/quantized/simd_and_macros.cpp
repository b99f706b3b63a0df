#include <experimental/simd>
#include "low_precision.hpp"

namespace stdx = std::experimental;
using V = stdx::native_simd<float>;

#define GROUPS (columns / 64)
#define EACH(i, n) for (std::size_t i = 0; i < (n); i++)
#define MATVEC(name, T, bytes, unpack)                                                                                 \
  void lab09::name(float* y, const T* q, const float* scale, const float* x, std::size_t rows, std::size_t columns) { \
    alignas(64) float w[64];                                                                                           \
    EACH(r, rows) {                                                                                                    \
      V total = 0;                                                                                                     \
      EACH(g, GROUPS) {                                                                                                \
        const T* from = q + (r * GROUPS + g) * (bytes);                                                                \
        unpack;                                                                                                        \
        V sum = 0;                                                                                                     \
        for (std::size_t i = 0; i < 64; i += V::size())                                                                \
          sum += V(w + i, stdx::element_aligned) * V(x + g * 64 + i, stdx::element_aligned);                           \
        total += sum * scale[r * GROUPS + g];                                                                          \
      }                                                                                                                \
      y[r] = stdx::reduce(total);                                                                                      \
    }                                                                                                                  \
  }

MATVEC(matvec_int8, std::int8_t, 64, EACH(i, 64) w[i] = from[i])
MATVEC(matvec_int4, std::uint8_t, 32, EACH(i, 32) { w[i] = float((from[i] & 15) - 8); w[i + 32] = float((from[i] >> 4) - 8); })
