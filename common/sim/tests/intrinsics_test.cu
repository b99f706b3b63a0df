// The simulated device's device functions: their results, and how their accesses are counted.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <math_constants.h>

#include <cassert>
#include <functional>
#include <numeric>
#include <random>
#include <vector>

#include <sim/observe.hpp>

namespace {

using counts = sim::observation;
using uint64 = unsigned long long;

counts observe(const std::function<void()>& launch) { return sim::observe(launch); }
double metric(const counts& c, const std::string& name) {
  const auto found = c.metrics.find(name);
  return found == c.metrics.end() ? -1 : found->second;
}

/// Device memory that the host can use, too.
template <class T>
struct managed {
  explicit managed(std::size_t n, int byte = 0) {
    EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemset(data, byte, n * sizeof(T)), cudaSuccess);
  }
  ~managed() { cudaFree(data); }
  T& operator[](std::size_t i) const { return data[i]; }
  T* data = nullptr;
};

struct Intrinsics : testing::Test {
  void TearDown() override { cudaDeviceReset(); }
};
using Halves = Intrinsics;
using Arithmetic = Intrinsics;
using Integers = Intrinsics;
using Atomics = Intrinsics;
using Warps = Intrinsics;
using Kernels = Intrinsics;
using Accesses = Intrinsics;

// ---- 16-bit numbers, against numbers of 113 bits rounded by search

#if __LDBL_MANT_DIG__ == 113
using wide = long double;
#else
using wide = __float128;
#endif

struct fp16 {
  using type = __half;
  static constexpr int infinity = 0x7c00, mantissa = 10, lowest = -14;
  static type make(unsigned short bits) { return __ushort_as_half(bits); }
  static unsigned short bits(type x) { return __half_as_ushort(x); }
};
struct bf16 {
  using type = __nv_bfloat16;
  static constexpr int infinity = 0x7f80, mantissa = 7, lowest = -126;
  static type make(unsigned short bits) { return __ushort_as_bfloat16(bits); }
  static unsigned short bits(type x) { return __bfloat16_as_ushort(x); }
};

/// The rounding error of x + y.
wide lost(wide x, wide y) {
  const wide sum = x + y, part = sum - x;
  return (x - (sum - part)) + (y - part);
}

/// By definition; the number after the largest stands for infinity.
template <class F>
double value_of(int magnitude) {
  const int exponent = magnitude >> F::mantissa, fraction = magnitude & ((1 << F::mantissa) - 1);
  return exponent == 0 ? std::ldexp(fraction, F::lowest - F::mantissa)
                       : std::ldexp(fraction + (1 << F::mantissa), F::lowest - F::mantissa + exponent - 1);
}

enum class mode { rn, rz, ru, rd };
template <class F>
unsigned short rounded(wide x, mode how = mode::rn, wide tail = 0) {
  const bool negative = x < 0;
  if (negative) x = -x, tail = -tail;
  int below = 0, above = F::infinity;
  while (above - below > 1) {
    const int middle = (below + above) / 2;
    (value_of<F>(middle) <= x ? below : above) = middle;
  }
  int result = below;
  const wide down = x - value_of<F>(below), up = value_of<F>(above) - x;
  if (down > 0) {
    if (how == mode::rn && (down > up || (down == up && (tail > 0 || (tail == 0 && below % 2 == 1))))) result = above;
    if (how == (negative ? mode::rd : mode::ru)) result = above;
  }
  if (up < 0) result = above;
  return static_cast<unsigned short>(result | (negative ? 0x8000 : 0));
}

template <class F>
void check_every_number() {
  for (int i = 0; i < 0x10000; ++i) {
    const auto bits = static_cast<unsigned short>(i);
    const auto x = F::make(bits);
    const float f = x;
    const int magnitude = i & 0x7fff;
    if (magnitude > F::infinity) {
      ASSERT_TRUE(std::isnan(f) && __hisnan(x) && !(x == x) && x != x);
      ASSERT_EQ(F::bits(typename F::type(f)), 0x7fff);
      continue;
    }
    ASSERT_EQ(F::bits(typename F::type(f)), bits);
    if (magnitude == F::infinity) {
      ASSERT_EQ(f, i >> 15 ? -CUDART_INF_F : CUDART_INF_F);
      ASSERT_EQ(__hisinf(x), i >> 15 ? -1 : 1);
      continue;
    }
    ASSERT_EQ(std::fabs(f), value_of<F>(magnitude));
    ASSERT_EQ(std::signbit(f), i >> 15 != 0);
    ASSERT_EQ(F::bits(-x), bits ^ 0x8000);
    ASSERT_EQ(F::bits(__habs(x)), magnitude);
    ASSERT_EQ(static_cast<bool>(x), magnitude != 0);
    ASSERT_EQ(static_cast<int>(x), f >= 0x1p31f ? INT_MAX : f <= -0x1p31f ? INT_MIN : static_cast<int>(f));
    if (magnitude > 0) {
      ASSERT_EQ(F::bits(hrcp(x)), rounded<F>(wide(1) / wide(f)));
      ASSERT_EQ(F::bits(hsqrt(__habs(x))), rounded<F>(std::sqrt(static_cast<double>(std::fabs(f)))));
    }
  }
}
TEST_F(Halves, EveryNumberOfHalf) { check_every_number<fp16>(); }
TEST_F(Halves, EveryNumberOfBfloat16) { check_every_number<bf16>(); }

template <class F>
void check_operations() {
  using T = typename F::type;
  std::mt19937 random(7);
  const auto number = [&] {
    return F::make(static_cast<unsigned short>(random() % F::infinity | (random() & 0x8000)));
  };
  for (int i = 0; i < 100'000; ++i) {
    T a = number(), b = number(), c = number();
    if (i % 2)
      b = F::make(static_cast<unsigned short>(F::bits(a) ^
                                              (random() & (0x8000 | ((1 << F::mantissa) - 1)))));  // of similar size
    if (i % 4 == 3 && !__hisinf(a * b) && !__hisnan(a * b)) c = F::make(F::bits(a * b) ^ 0x8001);  // cancels
    const wide x = static_cast<float>(a), y = static_cast<float>(b), z = static_cast<float>(c);
    ASSERT_EQ(F::bits(a + b) & (x + y == 0 ? 0x7fff : 0xffff), rounded<F>(x + y, mode::rn, lost(x, y)));
    ASSERT_EQ(F::bits(a - b) & (x - y == 0 ? 0x7fff : 0xffff), rounded<F>(x - y, mode::rn, lost(x, -y)));
    ASSERT_EQ(F::bits(a * b) & (x * y == 0 ? 0x7fff : 0xffff) & 0x7fff, rounded<F>(x * y) & 0x7fff);
    if (y != 0) ASSERT_EQ(F::bits(a / b) & 0x7fff, rounded<F>(x / y) & 0x7fff);
    ASSERT_EQ(F::bits(__hfma(a, b, c)) & (x * y + z == 0 ? 0x7fff : 0xffff),
              rounded<F>(x * y + z, mode::rn, lost(x * y, z)))
        << i;
    ASSERT_EQ(a < b, x < y);
    ASSERT_EQ(__hge(a, b), x >= y);
    ASSERT_EQ(static_cast<float>(__hmax(a, b)), static_cast<float>(x > y ? x : y));
    ASSERT_EQ(static_cast<float>(__hmin(a, b)), static_cast<float>(x < y ? x : y));
  }
}
TEST_F(Halves, EachOperationOfHalfIsRoundedOnce) { check_operations<fp16>(); }
TEST_F(Halves, EachOperationOfBfloat16IsRoundedOnce) { check_operations<bf16>(); }

TEST_F(Halves, FusedMultiplyAddKeepsTinyAddends) {
  const nv_bfloat16 a = 1.0625f, tiny = 0x1p-130f;  // a * a lies halfway between two numbers
  EXPECT_EQ(static_cast<float>(__hfma(a, a, tiny)), 1.1328125f);
  EXPECT_EQ(static_cast<float>(__hfma(a, a, -tiny)), 1.125f);
  EXPECT_EQ(static_cast<float>(__hfma(a, a, nv_bfloat16(0))), 1.125f);  // to even
  const half b = 1.03125f, least = CUDART_MIN_DENORM_FP16;              // 1 + 2^-4 + 2^-10: in the middle, times 2
  EXPECT_EQ(__hfma(b, b, least), __double2half(1.03125 * 1.03125 + 0x1p-24));
}

template <class F, class To>
void check_rounding(To rn, To rz, To ru, To rd) {
  std::mt19937 random(11);
  for (int i = 0; i < 200'000; ++i) {
    float x = __uint_as_float(random());
    if (i % 2) x = std::ldexp(static_cast<float>(random()) * 0x1p-32f - 0.5f, static_cast<int>(random() % 45) - 27);
    if (!(std::fabs(x) < 3e38f)) continue;
    ASSERT_EQ(F::bits(rn(x)) & (x == 0 ? 0x7fff : 0xffff), rounded<F>(x)) << x;
    if (std::fabs(x) >= value_of<F>(F::infinity)) continue;
    ASSERT_EQ(F::bits(rz(x)), rounded<F>(x, mode::rz)) << x;
    ASSERT_EQ(F::bits(ru(x)), rounded<F>(x, mode::ru)) << x;
    ASSERT_EQ(F::bits(rd(x)), rounded<F>(x, mode::rd)) << x;
  }
}
TEST_F(Halves, ConversionsRoundAsTheySay) {
  check_rounding<fp16, half (*)(float)>(
      [](float x) { return __float2half_rn(x); }, [](float x) { return __float2half_rz(x); },
      [](float x) { return __float2half_ru(x); }, [](float x) { return __float2half_rd(x); });
  check_rounding<bf16, nv_bfloat16 (*)(float)>(
      [](float x) { return __float2bfloat16_rn(x); }, [](float x) { return __float2bfloat16_rz(x); },
      [](float x) { return __float2bfloat16_ru(x); }, [](float x) { return __float2bfloat16_rd(x); });
  EXPECT_EQ(__half_as_ushort(__float2half(65519.0f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half(65520.0f)), 0x7c00);
  EXPECT_EQ(__half_as_ushort(__float2half_rz(1e9f)), 0x7bff);
  EXPECT_EQ(__half_as_ushort(__float2half_ru(-1e9f)), 0xfbff);
  EXPECT_EQ(__half_as_ushort(__float2half_rd(-1e9f)), 0xfc00);
  EXPECT_EQ(__half_as_ushort(__float2half(0x1p-25f)), 0);  // half the smallest number: rounds to even
  EXPECT_EQ(__half_as_ushort(__float2half(0x1.8p-25f)), 1);
  EXPECT_EQ(__half_as_ushort(__float2half(CUDART_NAN_F)), 0x7fff);
  EXPECT_EQ(__half_as_ushort(__double2half(1 + 0x1p-11 + 0x1p-40)), 0x3c01);  // by way of float it would be 0x3c00
  EXPECT_EQ(static_cast<float>(__ll2bfloat16_rn((1ll << 62) + (1ll << 54) + 1)), 0x1.02p62f);
  EXPECT_EQ(static_cast<float>(__ull2bfloat16_rz(~0ull)), 0x1.fep63f);
  EXPECT_EQ(__half2int_rn(half(2.5f)), 2);
  EXPECT_EQ(__half2int_ru(half(2.5f)), 3);
  EXPECT_EQ(__half2short_rz(half(-40000.0f)), SHRT_MIN);
  EXPECT_EQ(__half2uint_rz(half(-1.0f)), 0u);
  EXPECT_EQ(__half2int_rz(CUDART_NAN_FP16), 0);
  EXPECT_EQ(__half2uchar_rz(half(300)), 255);
}

TEST_F(Halves, SpecialCases) {
  const half one = 1, zero = 0, nan = CUDART_NAN_FP16, inf = CUDART_INF_FP16;
  EXPECT_TRUE(__hisnan(inf - inf));
  EXPECT_TRUE(__hisnan(zero / zero));
  EXPECT_TRUE(__heq(__hmax(nan, one), one) && __heq(__hmin(one, nan), one));
  EXPECT_TRUE(__hisnan(__hmax_nan(nan, one)) && __hisnan(__hmax(nan, nan)));
  EXPECT_EQ(__half_as_ushort(__hmax(-zero, zero)), 0);
  EXPECT_EQ(__half_as_ushort(__hmin(zero, -zero)), 0x8000);
  EXPECT_FALSE(__hne(nan, one));
  EXPECT_TRUE(__hneu(nan, one) && nan != one && __hgtu(nan, one) && !__hgt(nan, one));
  EXPECT_EQ(static_cast<float>(__hadd_sat(one, one)), 1);
  EXPECT_EQ(__half_as_ushort(__hmul_sat(nan, one)), 0);
  EXPECT_EQ(static_cast<float>(__hfma_relu(one, -one, zero)), 0);
  EXPECT_TRUE(__hisnan(__hfma_relu(nan, one, one)));
  EXPECT_EQ(__half_as_ushort(one * inf), 0x7c00);
  half counter = 3;
  EXPECT_EQ(static_cast<float>(counter++), 3);
  EXPECT_EQ(static_cast<float>(--counter), 3);
  EXPECT_NEAR(static_cast<float>(hexp(one)), 2.71828f, 1e-3);
  EXPECT_EQ(static_cast<float>(hexp2(half(3))), 8);
  EXPECT_EQ(static_cast<float>(hlog2(half(8))), 3);
  EXPECT_EQ(static_cast<float>(hrsqrt(half(16))), 0.25f);
  EXPECT_EQ(static_cast<float>(hrint(half(2.5f))), 2);
}

TEST_F(Halves, PairsWorkHalfByHalf) {
  const half2 a(1, 2), b(3, half(-2));
  EXPECT_TRUE(a + b == half2(4, 0) && a * b == half2(3, -4) && -a == half2(-1, -2));
  EXPECT_TRUE(__hfma2(a, b, a) == half2(4, -2));
  EXPECT_TRUE(__hlt2(a, b) == half2(1, 0));
  EXPECT_EQ(__hlt2_mask(a, b), 0x0000ffffu);
  EXPECT_FALSE(__hblt2(a, b));
  EXPECT_TRUE(__hcmadd(half2(1, 2), half2(3, 4), half2(10, 20)) == half2(5, 30));
  EXPECT_TRUE(h2sqrt(half2(4, 9)) == half2(2, 3));
  EXPECT_TRUE(__lowhigh2highlow(a) == half2(2, 1) && __highs2half2(a, b) == half2(2, -2));
  const float2 f = __half22float2(__floats2half2_rn(0.5f, -8.0f));
  EXPECT_TRUE(f.x == 0.5f && f.y == -8.0f);
  EXPECT_TRUE(__float22bfloat162_rn(f) == nv_bfloat162(0.5f, -8.0f));
}

// ---- what an access to a 16-bit type counts as

__global__ void halves_in_memory(half2* out, const half2* in, half* scalars, const float* floats) {
  const int i = threadIdx.x;
  const half2 v = in[i];
  out[i] = half2(v.x + v.y, v.x);
  out[32 + i] += in[32 + i];
  scalars[i] = static_cast<float>(scalars[i]) + floats[i];
  scalars[32 + i] = __hmul(scalars[64 + i], half(2));
}
constexpr int first_line_of_halves = __LINE__ - 6;

TEST_F(Accesses, OneForEachHalfAndPairAtItsLine) {
  const managed<half2> in(64), out(64);
  const managed<half> scalars(96);
  const managed<float> floats(32);
  in[0] = half2(1, 2);
  in[32] = half2(10, 20);
  scalars[64] = 21;
  const counts c = observe([&] { halves_in_memory<<<1, 32>>>(out.data, in.data, scalars.data, floats.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_TRUE(out[0] == half2(3, 1));
  EXPECT_TRUE(out[32] == half2(10, 20));
  EXPECT_EQ(static_cast<float>(scalars[32]), 42);
  // Line by line, and sectors: a warp's halves take 2, pairs and floats 4.
  std::map<std::pair<int, std::string>, std::pair<double, double>> seen;
  for (const auto& l : c.launches.at(0).lines) {
    EXPECT_NE(l.file.find("intrinsics_test.cu"), std::string::npos) << l.file;
    auto& [requests, sectors] = seen[{l.line - first_line_of_halves, l.operation}];
    requests += static_cast<double>(l.requests);
    sectors += static_cast<double>(l.sectors);
  }
  using pair = std::pair<double, double>;
  EXPECT_EQ((seen[{0, "global load"}]), pair(1, 4));
  EXPECT_EQ((seen[{1, "global store"}]), pair(1, 4));
  EXPECT_EQ((seen[{2, "global load"}]), pair(2, 8));
  EXPECT_EQ((seen[{2, "global store"}]), pair(1, 4));
  EXPECT_EQ((seen[{3, "global load"}]), pair(2, 6));
  EXPECT_EQ((seen[{3, "global store"}]), pair(1, 2));
  EXPECT_EQ((seen[{4, "global load"}]), pair(1, 2));
  EXPECT_EQ((seen[{4, "global store"}]), pair(1, 2));
}

template <class T>
__global__ void through_shared(T* out, const T* in) {
  __shared__ T tile[2][32];
  tile[1][threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = tile[1][31 - threadIdx.x];
}

// g++ guards variables that have constructors, as if to construct them; CUDA constructs nothing in shared memory.
TEST_F(Accesses, SharedArraysOfClassesAreNotConstructed) {
  const managed<half> in(32), out(32);
  in[31] = 7;
  const counts c = observe([&] { through_shared<<<2, 32>>>(out.data, in.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(static_cast<float>(out[0]), 7);
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_ld.sum"), 2);
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_st.sum"), 2);
}

template <class T, int...>
struct row {
  T values[32];
};
template <class T>
__global__ void hinted(T* out, const row<T, 1, 2>* in) {
  __stcg(out + threadIdx.x, __ldg(&reinterpret_cast<const row<T, 1, 2>*>(in)->values[threadIdx.x]));
}

template <class T>
double hinted_sectors() {
  const managed<T> in(32), out(32);
  const counts c = observe([&] { hinted<<<1, 32>>>(out.data, reinterpret_cast<const row<T, 1, 2>*>(in.data)); });
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 1);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), 1);
  for (const auto& l : c.launches.at(0).lines)
    EXPECT_NE(l.file.find("intrinsics_test.cu"), std::string::npos) << l.file;
  return metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum");
}
TEST_F(Accesses, CacheHintsKeepTheWidth) {
  EXPECT_EQ(hinted_sectors<char>(), 1);
  EXPECT_EQ(hinted_sectors<half>(), 2);
  EXPECT_EQ(hinted_sectors<nv_bfloat162>(), 4);
  EXPECT_EQ(hinted_sectors<uchar4>(), 4);
  EXPECT_EQ(hinted_sectors<double>(), 8);
  EXPECT_EQ(hinted_sectors<short4>(), 8);
  EXPECT_EQ(hinted_sectors<int2>(), 8);
#ifndef __clang__  // clang takes the two apart
  EXPECT_EQ(hinted_sectors<ulonglong2>(), 16);
#endif
  EXPECT_EQ(hinted_sectors<float4>(), 16);
}

// ---- arithmetic

template <class T, class Exact, class... Operands>
void bracket(Exact exact, T rn, T rz, T ru, T rd) {
  ASSERT_LE(rd, exact);
  ASSERT_GE(ru, exact);
  ASSERT_TRUE(rn == ru || rn == rd);
  ASSERT_EQ(rz, exact > 0 ? rd : ru);
  if (rd != exact) ASSERT_EQ(std::nextafter(rd, std::numeric_limits<T>::infinity()), ru);
}
#define BRACKET(exact, name, ...) \
  bracket(exact, name##_rn(__VA_ARGS__), name##_rz(__VA_ARGS__), name##_ru(__VA_ARGS__), name##_rd(__VA_ARGS__))

TEST_F(Arithmetic, RoundingModes) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(-100, 100);
  for (int i = 0; i < 2000; ++i) {
    const double a = any(random), b = any(random), c = any(random);
    const float x = static_cast<float>(a), y = static_cast<float>(b), z = static_cast<float>(c);
    const long long n = static_cast<long long>(random());
    BRACKET(wide(x) + y, __fadd, x, y);
    BRACKET(wide(x) - y, __fsub, x, y);
    BRACKET(wide(x) * y, __fmul, x, y);
    BRACKET(wide(x) / y, __fdiv, x, y);
    BRACKET(wide(1) / y, __frcp, y);
    BRACKET(wide(x) * y + z, __fmaf, x, y, z);
    BRACKET(wide(a) + b, __dadd, a, b);
    BRACKET(wide(a) * b, __dmul, a, b);
    BRACKET(wide(a) / b, __ddiv, a, b);
    BRACKET(wide(a) * b + c, __fma, a, b, c);
    BRACKET(wide(a), __double2float, a);
    BRACKET(wide(n), __ll2float, n);
    BRACKET(wide(n), __ll2double, n);
    BRACKET(wide(static_cast<uint64>(n)), __ull2double, static_cast<uint64>(n));
    BRACKET(wide(static_cast<uint64>(n)), __ull2float, static_cast<uint64>(n));
    BRACKET(wide(static_cast<int>(n)), __int2float, static_cast<int>(n));
    const double root = std::fabs(a);
    ASSERT_LE(wide(__dsqrt_rd(root)) * __dsqrt_rd(root), root);
    ASSERT_GE(wide(__dsqrt_ru(root)) * __dsqrt_ru(root), root);
    ASSERT_GE(wide(__fsqrt_ru(std::fabs(x))) * __fsqrt_ru(std::fabs(x)), std::fabs(x));
  }
  EXPECT_EQ(1.0f + 0x1p-30f, 1.0f);  // the mode is restored
}

__global__ void sums_of_products(float* out, float a, float b, float c) {
  out[0] = __fmul_rn(a, a) + c;
  out[1] = __fadd_rn(a * a, c);
  out[2] = __fsub_rn(a * a, -c);
  out[3] = b * b + c;
}

TEST_F(Arithmetic, RoundingIntrinsicsAreNotContractedToFma) {
  const float a = 1 + 0x1p-12f, c = -(1 + 0x1p-11f);  // a * a = 1 + 0x1p-11 + 0x1p-24, the last lost in rounding
  const managed<float> out(4);
  sums_of_products<<<1, 1>>>(out.data, a, a, c);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(out[i], 0) << i;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  EXPECT_EQ(out[3], fmaf(a, a, c));
#endif
}

TEST_F(Arithmetic, ConversionsToIntegersSaturate) {
  EXPECT_EQ(__float2int_rn(2.5f), 2);
  EXPECT_EQ(__float2int_rn(3.5f), 4);
  EXPECT_EQ(__float2int_rz(-2.7f), -2);
  EXPECT_EQ(__float2int_ru(-2.7f), -2);
  EXPECT_EQ(__float2int_rd(-2.2f), -3);
  EXPECT_EQ(__float2int_rz(3e9f), INT_MAX);
  EXPECT_EQ(__float2int_rz(-CUDART_INF_F), INT_MIN);
  EXPECT_EQ(__float2int_rz(CUDART_NAN_F), 0);
  EXPECT_EQ(__float2uint_rz(-5.0f), 0u);
  EXPECT_EQ(__float2uint_rn(4.2e9f), 4200000000u);
  EXPECT_EQ(__float2uint_rn(1e20f), UINT_MAX);
  EXPECT_EQ(__float2ll_rn(1e30f), LLONG_MAX);
  EXPECT_EQ(__float2ll_rz(CUDART_NAN_F), LLONG_MIN);
  EXPECT_EQ(__float2ull_rz(-1.0f), 0u);
  EXPECT_EQ(__double2int_rn(2147483647.4), INT_MAX);
  EXPECT_EQ(__double2ull_rz(1.8e19), 18000000000000000000u);
  EXPECT_EQ(__double2ll_rd(-0.5), -1);
}

TEST_F(Arithmetic, FunctionsAtKnownPlaces) {
  // Digits from the functions' defining tables.
  EXPECT_DOUBLE_EQ(erfinv(0.5), 0.47693627620446987);
  EXPECT_DOUBLE_EQ(erfcinv(0.1), 1.1630871536766743);
  EXPECT_DOUBLE_EQ(normcdfinv(0.975), 1.9599639845400543);
  EXPECT_DOUBLE_EQ(normcdf(1.0), 0.84134474606854293);
  EXPECT_DOUBLE_EQ(erfcx(1.0), 0.42758357615580700);
  EXPECT_DOUBLE_EQ(erfcx(100.0), 0.0056416137829894329);
  EXPECT_DOUBLE_EQ(cyl_bessel_i0(1.0), 1.2660658777520084);
  EXPECT_DOUBLE_EQ(cyl_bessel_i1(-1.0), -0.56515910399248503);
  EXPECT_FLOAT_EQ(rcbrtf(27), 1.0f / 3);
  EXPECT_EQ(rsqrtf(16), 0.25f);
  EXPECT_EQ(norm3df(2, 3, 6), 7);
  EXPECT_EQ(rnorm4d(2, 2, 4, 5), 1.0 / 7);
  EXPECT_EQ(rhypotf(3, 4), 0.2f);
  const double values[] = {1, 2, 2, 4};
  EXPECT_EQ(norm(4, values), 5);
  EXPECT_EQ(exp10f(3), 1000);
  EXPECT_TRUE(std::isinf(erfinv(1.0)) && std::isnan(erfinv(1.5)) && std::isinf(normcdfinvf(0)));
  for (double x = -5; x < 5; x += 0.37) {
    EXPECT_NEAR(erfcinv(erfc(x)), x, 1e-4 * (x < -3) + 1e-12);  // near 2, erfc has lost digits of x
    if (std::fabs(x) < 2) EXPECT_NEAR(erfinv(erf(x)), x, 1e-12);
    EXPECT_NEAR(sinpi(x), std::sin(x * M_PI), 1e-14);
    EXPECT_NEAR(cospi(x), std::cos(x * M_PI), 1e-14);
  }
  for (int i = -8; i <= 8; ++i) {
    EXPECT_EQ(sinpi(i / 2.0), i % 2 == 0 ? 0 : (i & 3) == 1 ? 1 : -1) << i;
    EXPECT_EQ(cospif(static_cast<float>(i) / 2), i % 2 != 0 ? 0 : (i & 3) == 0 ? 1 : -1) << i;
  }
  EXPECT_FALSE(std::signbit(cospi(1.5)));
  EXPECT_EQ(sinpi(1e300), 0);
  float s = 0, c = 0;
  __sincosf(0.5f, &s, &c);
  EXPECT_FLOAT_EQ(s * s + c * c, 1);
  EXPECT_EQ(__saturatef(CUDART_NAN_F), 0);
  EXPECT_EQ(__saturatef(1.5f), 1);
  EXPECT_EQ(max(CUDART_NAN_F, 1.0f), 1);
  EXPECT_EQ(max(-1, 2u), 0xffffffffu);  // both unsigned, as in CUDA
  EXPECT_EQ(CUDART_PI_F, static_cast<float>(M_PI));
  EXPECT_TRUE(isnan(CUDART_NAN_F) && isinf(CUDART_INF) && signbit(-0.0f));
}

TEST_F(Arithmetic, BitsAsOtherTypes) {
  EXPECT_EQ(__float_as_uint(1.0f), 0x3f800000u);
  EXPECT_EQ(__int_as_float(0x40000000), 2.0f);
  EXPECT_EQ(__double_as_longlong(1.0), 0x3ff0000000000000);
  EXPECT_EQ(__hiloint2double(0x3ff80000, 0), 1.5);
  EXPECT_EQ(__hiloint2double(__double2hiint(-0.1), __double2loint(-0.1)), -0.1);
}

// ---- integers

TEST_F(Integers, AgainstLoopsOverBits) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    const uint64 wide_a = random() >> (random() % 64), wide_b = random();
    const auto a = static_cast<unsigned>(wide_a), b = static_cast<unsigned>(wide_b),
               s = static_cast<unsigned>(random() % 40);
    uint64 reversed = 0;
    int highest = -1, lowest = 64, ones = 0;
    for (int bit = 0; bit < 64; ++bit)
      if (wide_a >> bit & 1) {
        reversed |= 1ull << (63 - bit);
        highest = bit;
        lowest = std::min(lowest, bit);
        ++ones;
      }
    ASSERT_EQ(__brevll(wide_a), reversed);
    ASSERT_EQ(__brev(a), static_cast<unsigned>(__brevll(a) >> 32));
    ASSERT_EQ(__clzll(static_cast<long long>(wide_a)), 63 - highest);
    ASSERT_EQ(__ffsll(static_cast<long long>(wide_a)), lowest == 64 ? 0 : lowest + 1);
    ASSERT_EQ(__popcll(wide_a), ones);
    const auto sa = static_cast<int>(a), sb = static_cast<int>(b);
    ASSERT_EQ(__umulhi(a, b), static_cast<unsigned>(static_cast<uint64>(a) * b >> 32));
    ASSERT_EQ(__mulhi(sa, sb), static_cast<int>(static_cast<long long>(sa) * sb >> 32));
    ASSERT_EQ(__umul64hi(wide_a, wide_b), static_cast<uint64>(static_cast<unsigned __int128>(wide_a) * wide_b >> 64));
    ASSERT_EQ(__hadd(sa, sb), static_cast<int>(std::floor((double(sa) + sb) / 2)));
    ASSERT_EQ(__rhadd(sa, sb), static_cast<int>(std::floor((double(sa) + sb + 1) / 2)));
    ASSERT_EQ(__sad(sa, sb, 7), static_cast<unsigned>(std::fabs(double(sa) - sb)) + 7);
    const uint64 both = static_cast<uint64>(b) << 32 | a;
    ASSERT_EQ(__funnelshift_l(a, b, s), static_cast<unsigned>(both << (s % 32) >> 32));
    ASSERT_EQ(__funnelshift_r(a, b, s), static_cast<unsigned>(both >> (s % 32)));
    ASSERT_EQ(__funnelshift_lc(a, b, s), s >= 32 ? a : static_cast<unsigned>(both << s >> 32));
    ASSERT_EQ(__funnelshift_rc(a, b, s), s >= 32 ? b : static_cast<unsigned>(both >> s));
    int dot = 100;
    unsigned sums = 0, saturated = 0, greater = 0, difference = 0;
    for (int byte = 0; byte < 4; ++byte) {
      const auto x = static_cast<signed char>(a >> (8 * byte)), y = static_cast<signed char>(b >> (8 * byte));
      const int both_bytes = x + y, in_range = both_bytes > 127 ? 127 : both_bytes < -128 ? -128 : both_bytes;
      dot += x * y;
      sums |= (static_cast<unsigned>(both_bytes) & 0xff) << (8 * byte);
      saturated |= (static_cast<unsigned>(in_range) & 0xff) << (8 * byte);
      greater |= (x > y ? 0xffu : 0) << (8 * byte);
      difference += static_cast<unsigned>(x > y ? x - y : y - x);
    }
    ASSERT_EQ(__dp4a(sa, sb, 100), dot);
    ASSERT_EQ(__vadd4(a, b), sums);
    ASSERT_EQ(__vaddss4(a, b), saturated);
    ASSERT_EQ(__vcmpgts4(a, b), greater);
    ASSERT_EQ(__vsads4(a, b), difference);
  }
  EXPECT_EQ(__clz(0), 32);
  EXPECT_EQ(__ffs(0), 0);
  EXPECT_EQ(__byte_perm(0x33221100, 0x77665544, 0x7531), 0x77553311u);
  EXPECT_EQ(__byte_perm(0x00008000, 0, 0x0009), 0x000000ffu);
  EXPECT_EQ(__mul24(-3, 5), -15);
  EXPECT_EQ(__umul24(0x1000002, 3), 6u);
  EXPECT_EQ(__fns(0b101100, 0, 2), 3u);
  EXPECT_EQ(__fns(0b101100, 5, -2), 3u);
  EXPECT_EQ(__fns(0b101100, 0, 4), 0xffffffffu);
  EXPECT_EQ(__dp2a_lo(0x00020003, 0x0405, 1), 3 * 5 + 2 * 4 + 1);
  EXPECT_EQ(__dp2a_hi(0x00020003u, 0x04050000u, 1u), 3u * 5 + 2 * 4 + 1);
  EXPECT_EQ(__vabsdiffu4(0x05000102, 0x00050201), 0x05050101u);
  EXPECT_EQ(__vimax3_s32(-1, -2, -3), -1);
  EXPECT_EQ(__viaddmax_s32_relu(-5, 2, -1), 0);
}

// ---- atomics

struct __align__(16) quad {
  long long a, b;
};

__global__ void every_atomic(int* out, unsigned* u, uint64* wide_out, double* d, half* h, half2* h2, nv_bfloat16* bf,
                             float2* pair, quad* q, unsigned short* s) {
  const int t = static_cast<int>(threadIdx.x);
  atomicAdd(out, 1);
  atomicMin(out + 1, -t);
  atomicMax_block(out + 2 + blockIdx.x, t);
  atomicOr(u, 1u << t);
  atomicXor(u + 1, 1u << t);
  atomicInc(u + 2, 6);
  atomicDec(u + 3, 6);
  atomicAdd(wide_out, 1ull << 40);
  atomicMax_system(wide_out + 1, 10ull * static_cast<unsigned>(t));
  atomicAdd(d, 0.5);
  atomicAdd(h, half(1));
  atomicAdd(h2, half2(1, -1));
  atomicAdd(bf, nv_bfloat16(0.5f));
  atomicAdd(pair, make_float2(1, 2));
  for (quad seen = *const_cast<volatile long long*>(&q->a) == 0 ? quad{0, 0} : quad{-1, -1};;) {
    const quad old = atomicCAS(q, seen, quad{seen.a + 1, seen.b + 2});
    if (old.a == seen.a && old.b == seen.b) break;
    seen = old;
  }
  unsigned short expected = 0;
  for (unsigned short old; (old = atomicCAS(s, expected, static_cast<unsigned short>(expected + 1))) != expected;)
    expected = old;
}

TEST_F(Atomics, MatchASerialSequence) {
  const managed<int> out(6);
  const managed<unsigned> u(4);
  const managed<uint64> wide_out(2);
  const managed<double> d(1);
  const managed<half> h(1);
  const managed<half2> h2(1);
  const managed<nv_bfloat16> bf(1);
  const managed<float2> pair(1);
  const managed<quad> q(1);
  const managed<unsigned short> s(1);
  const counts c = observe([&] {
    every_atomic<<<4, 32>>>(out.data, u.data, wide_out.data, d.data, h.data, h2.data, bf.data, pair.data, q.data,
                            s.data);
  });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out[0], 128);
  EXPECT_EQ(out[1], -31);
  for (int block = 0; block < 4; ++block) EXPECT_EQ(out[2 + block], 31);
  EXPECT_EQ(u[0], 0xffffffffu);
  EXPECT_EQ(u[1], 0u);
  EXPECT_EQ(u[2], 128u % 7);
  EXPECT_EQ(u[3], (7 - 128 % 7) % 7u);
  EXPECT_EQ(wide_out[0], 128ull << 40);
  EXPECT_EQ(wide_out[1], 310u);
  EXPECT_EQ(d[0], 64);
  EXPECT_EQ(static_cast<float>(h[0]), 128);
  EXPECT_TRUE(h2[0] == half2(128, -128));
  EXPECT_EQ(static_cast<float>(bf[0]), 64);
  EXPECT_TRUE(pair[0].x == 128 && pair[0].y == 256);
  EXPECT_TRUE(q[0].a == 128 && q[0].b == 256);
  EXPECT_EQ(s[0], 128);
  for (const auto& l : c.launches.at(0).lines)
    EXPECT_NE(l.file.find("intrinsics_test.cu"), std::string::npos) << l.file;
}

// ---- warps

__global__ void every_warp_function(unsigned* out, double* doubles, half2* halves) {
  const unsigned lane = threadIdx.x, all = 0xffffffffu;
  int same = -1;
  out[lane] = __match_any_sync(all, lane % 3);
  out[lane] += __match_any_sync(all, lane < 16) - (lane < 16 ? 0xffffu : 0xffff0000u);
  out[lane] += __match_any_sync(all, static_cast<signed char>(lane / 8)) - (0xffu << lane / 8 * 8);
  out[32 + lane] = __match_all_sync(all, 7.5, &same) + static_cast<unsigned>(same);
  out[64 + lane] = __match_all_sync(all, lane / 31, &same) + static_cast<unsigned>(same);
  out[96 + lane] = __reduce_add_sync(all, lane);
  out[128 + lane] = static_cast<unsigned>(__reduce_min_sync(all, -static_cast<int>(lane)));
  out[160 + lane] = __reduce_max_sync(all, lane) + __reduce_xor_sync(all, 1u << lane);
  if (lane < 4) out[192 + lane] = __reduce_or_sync(0xf, 1u << lane) + __reduce_and_sync(0xf, lane | 8);
  doubles[lane] = __shfl_down_sync(all, lane + 0.25, 1);
  halves[lane] = __shfl_xor_sync(all, half2(static_cast<float>(lane), 1), 1);
}

TEST_F(Warps, MatchReduceAndWideShuffles) {
  const managed<unsigned> out(224);
  const managed<double> doubles(32);
  const managed<half2> halves(32);
  const counts c = observe([&] { every_warp_function<<<1, 32>>>(out.data, doubles.data, halves.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(out[lane], 0x49249249u << (lane % 3));
    EXPECT_EQ(out[32 + lane], 0u);  // the full mask plus 1
    EXPECT_EQ(out[64 + lane], 0u);
    EXPECT_EQ(out[96 + lane], 496u);
    EXPECT_EQ(static_cast<int>(out[128 + lane]), -31);
    EXPECT_EQ(out[160 + lane], 30u);  // 31 + 0xffffffff
    EXPECT_EQ(doubles[lane], (lane < 31 ? lane + 1 : lane) + 0.25);
    EXPECT_TRUE(halves[lane] == half2(static_cast<float>(lane ^ 1), 1));
  }
  EXPECT_EQ(out[192], 15u + 8);
}

// ---- a kernel's end, its clock, its memory

__global__ void asserts(int limit) { assert(static_cast<int>(threadIdx.x) < limit); }

TEST_F(Kernels, AssertEndsTheLaunch) {
  testing::internal::CaptureStderr();
  const counts c = observe([] { asserts<<<2, 64>>>(40); });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("thread: [40,0,0] Assertion `static_cast<int>(threadIdx.x) < limit` failed."), std::string::npos)
      << said;
  ASSERT_FALSE(c.reports.empty());
  EXPECT_NE(c.reports[0].find("thread (40,0,0): assertion failed: static_cast<int>(threadIdx.x) < limit"),
            std::string::npos)
      << c.reports[0];
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorAssert);
  EXPECT_STREQ(cudaGetErrorName(cudaErrorAssert), "cudaErrorAssert");
  cudaDeviceReset();
  EXPECT_TRUE(observe([] { asserts<<<2, 64>>>(64); }).reports.empty());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(assert(cudaDeviceSynchronize() != cudaSuccess), "Assertion `cudaDeviceSynchronize");
}

__global__ void traps() {
  if (threadIdx.x == 3) __trap();
}
TEST_F(Kernels, TrapEndsTheLaunch) {
  const counts c = observe([] { traps<<<1, 32>>>(); });
  ASSERT_EQ(c.reports.size(), 1u);
  EXPECT_NE(c.reports[0].find("thread (3,0,0): __trap()"), std::string::npos) << c.reports[0];
  EXPECT_NE(c.reports[0].find("intrinsics_test.cu"), std::string::npos) << c.reports[0];
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

__device__ int device_variable;
__global__ void looks_around(int* out, volatile int* flag) {
  __shared__ int array[64];
  array[threadIdx.x] = static_cast<int>(threadIdx.x);
  int local = array[threadIdx.x];
  const clock_t before = clock();
  if (threadIdx.x == 0)
    while (*flag == 0) __nanosleep(100);
  if (threadIdx.x == 33) *flag = 1;
  out[0] = __isShared(array) && !__isShared(out) && !__isShared(&local);
  out[1] = __isGlobal(out) && __isGlobal(&device_variable) && !__isGlobal(array);
  out[2] = __isLocal(&local) && !__isLocal(array);
  out[3] = clock() > before && clock64() > before;
  out[4] = static_cast<int>(__cvta_generic_to_shared(array + 1) - __cvta_generic_to_shared(array));
}
TEST_F(Kernels, AddressSpacesClockAndWaiting) {
  const managed<int> out(5), flag(1);
  looks_around<<<1, 64>>>(out.data, flag.data);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], 1) << i;
  EXPECT_EQ(out[4], 4);
}

}  // namespace
