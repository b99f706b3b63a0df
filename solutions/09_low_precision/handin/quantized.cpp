// Quantized matrix-vector products on one core, at the speed at which the quantized weights arrive. What makes the
// arithmetic fit into that time: x becomes integers of 16 bits once, so that one instruction multiplies a whole vector
// of pairs and adds neighbours (pmaddwd), and a sum becomes float only once for each group. What makes the weights
// arrive: four rows far apart, each prefetched. WORKLOG.md says what each step brought.
#ifdef __aarch64__
#include <arm_neon.h>
#else
#include <immintrin.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "low_precision.hpp"

namespace lab09 {
namespace {

// The same on vectors of 64 bytes, where the processor has them, and on those of 32; on Arm on those of 16.
#ifdef __AVX512BW__
using integers = __m512i;
using floats = __m512;
integers load(const std::int32_t* from) { return _mm512_loadu_si512(from); }
integers load(const std::int16_t* from) { return _mm512_loadu_si512(from); }
integers zero() { return _mm512_setzero_si512(); }
/// Bytes as integers of 16 bits.
integers widened(const std::int8_t* from) { return _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)from)); }
integers widened(const std::uint8_t* from) { return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)from)); }
integers low_half(integers bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi16(15)); }
integers high_half(integers bytes) { return _mm512_srli_epi16(bytes, 4); }
/// sum + a b, where neighbours are added up.
integers multiply_add(integers sum, integers a, integers b) {
#ifdef __AVX512VNNI__
  return _mm512_dpwssd_epi32(sum, a, b);
#else
  return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
#endif
}
floats multiply_add(floats sum, integers a, const float* b) {
  return _mm512_fmadd_ps(__builtin_convertvector((__v16si)a, __v16sf), _mm512_set1_ps(*b), sum);
}
#elif defined(__aarch64__)
using integers = int32x4_t;
using floats = float32x4_t;
integers load(const std::int32_t* from) { return vld1q_s32(from); }
integers load(const std::int16_t* from) { return vreinterpretq_s32_s16(vld1q_s16(from)); }
integers zero() { return vdupq_n_s32(0); }
integers widened(const std::int8_t* from) { return vreinterpretq_s32_s16(vmovl_s8(vld1_s8(from))); }
integers widened(const std::uint8_t* from) { return vreinterpretq_s32_u16(vmovl_u8(vld1_u8(from))); }
integers low_half(integers bytes) { return vandq_s32(bytes, vdupq_n_s32(0x000f000f)); }
integers high_half(integers bytes) { return vreinterpretq_s32_u16(vshrq_n_u16(vreinterpretq_u16_s32(bytes), 4)); }
integers multiply_add(integers sum, integers a, integers b) {
  const int16x8_t left = vreinterpretq_s16_s32(a), right = vreinterpretq_s16_s32(b);
  return vmlal_high_s16(vmlal_s16(sum, vget_low_s16(left), vget_low_s16(right)), left, right);
}
floats multiply_add(floats sum, integers a, const float* b) { return vfmaq_n_f32(sum, vcvtq_f32_s32(a), *b); }
#else
using integers = __m256i;
using floats = __m256;
integers load(const std::int32_t* from) { return _mm256_loadu_si256((const __m256i*)from); }
integers load(const std::int16_t* from) { return _mm256_loadu_si256((const __m256i*)from); }
integers zero() { return _mm256_setzero_si256(); }
integers widened(const std::int8_t* from) { return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)from)); }
integers widened(const std::uint8_t* from) { return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)from)); }
integers low_half(integers bytes) { return _mm256_and_si256(bytes, _mm256_set1_epi16(15)); }
integers high_half(integers bytes) { return _mm256_srli_epi16(bytes, 4); }
integers multiply_add(integers sum, integers a, integers b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
floats multiply_add(floats sum, integers a, const float* b) {
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(a), _mm256_set1_ps(*b), sum);
}
#endif

constexpr std::size_t lanes = sizeof(integers) / 2;  // integers of 16 bits in a vector
constexpr std::size_t sums = sizeof(integers) / 4;   // and of 32 bits
float total(floats v) {
  float parts[sums];
  std::memcpy(parts, &v, sizeof v);
  for (std::size_t half = sums / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  return parts[0];
}

constexpr std::size_t together = 4;  // rows
constexpr std::size_t ahead = 2048;  // bytes to prefetch

/// x in integers of 16 bits, off by at most half of `scale` each.
struct rounded_vector {
  std::vector<std::int16_t> values;
  std::vector<std::int32_t> corrections;  ///< -8 times the sum of each group, spread over a vector
  float scale;
};

rounded_vector rounded(const float* x, std::size_t columns) {
  float most = 0.0f;
  for (std::size_t c = 0; c < columns; ++c) most = std::max(most, std::abs(x[c]));
  rounded_vector result{std::vector<std::int16_t>(columns), std::vector<std::int32_t>(columns / int_group * sums),
                        most / 32767};
  const float inverse = most > 0.0f ? 32767 / most : 0.0f;
  for (std::size_t c = 0; c < columns; ++c) {
    result.values[c] = static_cast<std::int16_t>(std::nearbyint(x[c] * inverse));
    result.corrections[c / int_group * sums + c % sums] -= 8 * result.values[c];
  }
  return result;
}

/// y = W x, where a group of W is `group_bytes` long, and products(its first byte, its number) adds up its 64 products
/// in the numbers of a vector.
template <std::size_t group_bytes, class Weight, class Products>
void multiply(float* y, const Weight* q, const float* scale, const rounded_vector& x, std::size_t rows,
              const Products& products) {
  const std::size_t groups = x.values.size() / int_group;
  const auto some = [&]<std::size_t count>(std::size_t row, std::size_t apart,
                                           std::integral_constant<std::size_t, count>) {
    floats sum[count] = {};
    constexpr std::size_t line = 64 / group_bytes;  // groups in a cache line
    const auto add = [&](std::size_t g, std::size_t i) {
      const std::size_t group = (row + i * apart) * groups + g;
      sum[i] = multiply_add(sum[i], products(q + group * group_bytes, g), scale + group);
    };
    std::size_t g = 0;
    for (; g + line <= groups; g += line)
      for (std::size_t i = 0; i < count; ++i) {
        __builtin_prefetch(q + ((row + i * apart) * groups + g) * group_bytes + ahead);
        for (std::size_t j = 0; j < line; ++j) add(g + j, i);
      }
    for (; g < groups; ++g)
      for (std::size_t i = 0; i < count; ++i) add(g, i);
    for (std::size_t i = 0; i < count; ++i) y[row + i * apart] = total(sum[i]) * x.scale;
  };
  const std::size_t part = rows / together;
  for (std::size_t r = 0; r < part; ++r) some(r, part, std::integral_constant<std::size_t, together>());
  for (std::size_t r = part * together; r < rows; ++r) some(r, 0, std::integral_constant<std::size_t, 1>());
}

}  // namespace

//! [int8]
void matvec_int8(float* y, const std::int8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  const rounded_vector in = rounded(x, columns);
  multiply<int_group>(y, q, scale, in, rows, [&](const std::int8_t* w, std::size_t g) {
    integers sum = zero();
    for (std::size_t i = 0; i < int_group; i += lanes)
      sum = multiply_add(sum, widened(w + i), load(&in.values[g * int_group + i]));
    return sum;
  });
}
//! [int8]

// A byte has numbers i and i + 32: the lower halves of 32 bytes are the first 32 numbers, in order. Each is 8 too
// large, so the sum starts at minus what that will add.
void matvec_int4(float* y, const std::uint8_t* q, const float* scale, const float* x, std::size_t rows,
                 std::size_t columns) {
  const rounded_vector in = rounded(x, columns);
  multiply<int_group / 2>(y, q, scale, in, rows, [&](const std::uint8_t* w, std::size_t g) {
    integers sum = load(&in.corrections[g * sums]);
    for (std::size_t i = 0; i < int_group / 2; i += lanes) {
      const integers both = widened(w + i);
      const std::int16_t* const values = &in.values[g * int_group + i];
      sum = multiply_add(sum, low_half(both), load(values));
      sum = multiply_add(sum, high_half(both), load(values + int_group / 2));
    }
    return sum;
  });
}

}  // namespace lab09
