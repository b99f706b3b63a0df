// Every device function that the simulated device offers, with CUDA's parameters and result types. nvcc compiles this
// file too: it confirms what CUDA declares.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <math_constants.h>

#include <cuda/std/functional>

#include <cassert>
#include <cstdio>
#include <type_traits>

// What nvcc predefines.
static_assert(__CUDACC_VER_MAJOR__ * 1000 + __CUDACC_VER_MINOR__ * 10 == CUDART_VERSION);
static_assert(__CUDACC_VER_BUILD__ >= 0 && __CUDACC_DEVICE_ATOMIC_BUILTINS__);
constexpr int architectures[] = {__CUDA_ARCH_LIST__};
static_assert(architectures[0] == 900);

namespace {

using longlong = long long;
using uint64 = unsigned long long;

#define IS(type, ...)                                                         \
  do {                                                                        \
    static_assert(std::is_same_v<decltype(__VA_ARGS__), type>, #__VA_ARGS__); \
    static_cast<void>(__VA_ARGS__);                                           \
  } while (false)

// ---- arithmetic: other tests check the results

__device__ float f = 0.5f, *fp = &f;
__device__ double d = 0.25, *dp = &d;
__device__ int i = 7;
__device__ unsigned u = 9;
__device__ long l = 5;
__device__ longlong ll = -3;
__device__ uint64 ull = 11;

#define EACH_MODE(M, ...) M(__VA_ARGS__, rn) M(__VA_ARGS__, rz) M(__VA_ARGS__, ru) M(__VA_ARGS__, rd)
#define UNARY(name, type, value, mode) IS(type, name##_##mode(value));
#define BINARY(name, type, value, mode) IS(type, name##_##mode(value, value));
#define TERNARY(name, type, value, mode) IS(type, name##_##mode(value, value, value));

__device__ void rounding() {
  EACH_MODE(BINARY, __fadd, float, f)
  EACH_MODE(BINARY, __fsub, float, f)
  EACH_MODE(BINARY, __fmul, float, f)
  EACH_MODE(BINARY, __fdiv, float, f)
  EACH_MODE(UNARY, __frcp, float, f)
  EACH_MODE(UNARY, __fsqrt, float, f)
  EACH_MODE(TERNARY, __fmaf, float, f)
  EACH_MODE(TERNARY, __fmaf_ieee, float, f)
  EACH_MODE(BINARY, __dadd, double, d)
  EACH_MODE(BINARY, __dsub, double, d)
  EACH_MODE(BINARY, __dmul, double, d)
  EACH_MODE(BINARY, __ddiv, double, d)
  EACH_MODE(UNARY, __drcp, double, d)
  EACH_MODE(UNARY, __dsqrt, double, d)
  EACH_MODE(TERNARY, __fma, double, d)
  EACH_MODE(UNARY, __double2float, float, d)
  EACH_MODE(UNARY, __int2float, float, i)
  EACH_MODE(UNARY, __uint2float, float, u)
  EACH_MODE(UNARY, __ll2float, float, ll)
  EACH_MODE(UNARY, __ull2float, float, ull)
  EACH_MODE(UNARY, __ll2double, double, ll)
  EACH_MODE(UNARY, __ull2double, double, ull)
  EACH_MODE(UNARY, __float2int, int, f)
  EACH_MODE(UNARY, __float2uint, unsigned, f)
  EACH_MODE(UNARY, __float2ll, longlong, f)
  EACH_MODE(UNARY, __float2ull, uint64, f)
  EACH_MODE(UNARY, __double2int, int, d)
  EACH_MODE(UNARY, __double2uint, unsigned, d)
  EACH_MODE(UNARY, __double2ll, longlong, d)
  EACH_MODE(UNARY, __double2ull, uint64, d)
  IS(double, __int2double_rn(i));
  IS(double, __uint2double_rn(u));
  IS(float, __frsqrt_rn(f));
  IS(int, __float_as_int(f));
  IS(unsigned, __float_as_uint(f));
  IS(float, __int_as_float(i));
  IS(float, __uint_as_float(u));
  IS(longlong, __double_as_longlong(d));
  IS(double, __longlong_as_double(ll));
  IS(int, __double2hiint(d));
  IS(int, __double2loint(d));
  IS(double, __hiloint2double(i, i));
}

// Lists of macros, which the formatter takes for expressions.
// clang-format off
#define FLOAT1(name)   \
  IS(double, name(d)); \
  IS(float, name##f(f));
#define FLOAT2(name)      \
  IS(double, name(d, d)); \
  IS(float, name##f(f, f));

__device__ void functions() {
  FLOAT1(acos)
  FLOAT1(acosh)
  FLOAT1(asin)
  FLOAT1(asinh)
  FLOAT1(atan)
  FLOAT1(atanh)
  FLOAT1(cbrt)
  FLOAT1(ceil)
  FLOAT1(cos)
  FLOAT1(cosh)
  FLOAT1(cospi)
  FLOAT1(cyl_bessel_i0) FLOAT1(cyl_bessel_i1) FLOAT1(erf) FLOAT1(erfc) FLOAT1(erfcinv) FLOAT1(erfcx) FLOAT1(erfinv)
      FLOAT1(exp) FLOAT1(exp10) FLOAT1(exp2) FLOAT1(expm1) FLOAT1(fabs) FLOAT1(floor) FLOAT1(j0) FLOAT1(j1)
          FLOAT1(lgamma) FLOAT1(log) FLOAT1(log10) FLOAT1(log1p) FLOAT1(log2) FLOAT1(logb) FLOAT1(nearbyint)
              FLOAT1(normcdf) FLOAT1(normcdfinv) FLOAT1(rcbrt) FLOAT1(rint) FLOAT1(round) FLOAT1(rsqrt) FLOAT1(sin)
                  FLOAT1(sinh) FLOAT1(sinpi) FLOAT1(sqrt) FLOAT1(tan) FLOAT1(tanh) FLOAT1(tgamma) FLOAT1(trunc)
                      FLOAT1(y0) FLOAT1(y1) FLOAT2(atan2) FLOAT2(copysign) FLOAT2(fdim) FLOAT2(fmax) FLOAT2(fmin)
                          FLOAT2(fmod) FLOAT2(hypot) FLOAT2(nextafter) FLOAT2(pow) FLOAT2(remainder) FLOAT2(rhypot)
                              IS(double, norm3d(d, d, d));
  IS(float, norm3df(f, f, f));
  IS(double, rnorm3d(d, d, d));
  IS(float, rnorm3df(f, f, f));
  IS(double, norm4d(d, d, d, d));
  IS(float, norm4df(f, f, f, f));
  IS(double, rnorm4d(d, d, d, d));
  IS(float, rnorm4df(f, f, f, f));
  IS(double, norm(i, dp));
  IS(float, normf(i, fp));
  IS(double, rnorm(i, dp));
  IS(float, rnormf(i, fp));
  IS(double, fma(d, d, d));
  IS(float, fmaf(f, f, f));
  IS(float, fdividef(f, f));
  IS(double, ldexp(d, i));
  IS(float, ldexpf(f, i));
  IS(double, scalbn(d, i));
  IS(float, scalbnf(f, i));
  IS(double, scalbln(d, l));
  IS(float, scalblnf(f, l));
  IS(double, frexp(d, &i));
  IS(float, frexpf(f, &i));
  IS(double, modf(d, dp));
  IS(float, modff(f, fp));
  IS(double, remquo(d, d, &i));
  IS(float, remquof(f, f, &i));
  IS(double, jn(i, d));
  IS(float, jnf(i, f));
  IS(double, yn(i, d));
  IS(float, ynf(i, f));
  IS(int, ilogb(d));
  IS(int, ilogbf(f));
  IS(long, lrint(d));
  IS(long, lrintf(f));
  IS(long, lround(d));
  IS(long, lroundf(f));
  IS(longlong, llrint(d));
  IS(longlong, llrintf(f));
  IS(longlong, llround(d));
  IS(longlong, llroundf(f));
  IS(double, nan(""));
  IS(float, nanf(""));
  IS(float, abs(f));
  IS(double, abs(d));
  IS(int, abs(i));
  IS(long, labs(l));
  IS(longlong, llabs(ll));
  IS(bool, isnan(f));
  IS(bool, isinf(d));
  IS(bool, isfinite(f));
  IS(bool, signbit(d));
  IS(float, sqrt(f));
  IS(float, exp(f));
  IS(float, pow(f, f));
  IS(float, fma(f, f, f));
  IS(float, floor(f));
  IS(void, sincos(d, dp, dp));
  IS(void, sincosf(f, fp, fp));
  IS(void, sincospi(d, dp, dp));
  IS(void, sincospif(f, fp, fp));
  IS(void, __sincosf(f, fp, fp));
  IS(float, __expf(f));
  IS(float, __exp10f(f));
  IS(float, __logf(f));
  IS(float, __log2f(f));
  IS(float, __log10f(f));
  IS(float, __sinf(f));
  IS(float, __cosf(f));
  IS(float, __tanf(f));
  IS(float, __tanhf(f));
  IS(float, __powf(f, f));
  IS(float, __fdividef(f, f));
  IS(float, __saturatef(f));
  IS(int, min(i, i));
  IS(unsigned, max(u, u));
  IS(unsigned, min(i, u));
  IS(unsigned, max(u, i));
  IS(long, min(l, l));
  IS(longlong, max(ll, ll));
  IS(uint64, min(ull, ull));
  IS(uint64, max(ll, ull));
  IS(float, min(f, f));
  IS(double, max(d, d));
  IS(double, min(f, d));
  IS(double, max(d, f));
  IS(unsigned, umin(u, u));
  IS(unsigned, umax(u, u));
  IS(longlong, llmin(ll, ll));
  IS(longlong, llmax(ll, ll));
  IS(uint64, ullmin(ull, ull));
  IS(uint64, ullmax(ull, ull));
}

#define SIMD(name, count, ...)        \
  IS(unsigned, name##2(__VA_ARGS__)); \
  IS(unsigned, name##4(__VA_ARGS__));
#define SIMD_US(name) SIMD(name##u, 2, u, u) SIMD(name##s, 2, u, u)
#define COMPARE(op) SIMD_US(__vcmp##op) SIMD_US(__vset##op)

__device__ void integers() {
  IS(int, __popc(u));
  IS(int, __popcll(ull));
  IS(int, __clz(i));
  IS(int, __clzll(ll));
  IS(int, __ffs(i));
  IS(int, __ffsll(ll));
  IS(unsigned, __brev(u));
  IS(uint64, __brevll(ull));
  IS(unsigned, __byte_perm(u, u, u));
  IS(int, __mul24(i, i));
  IS(unsigned, __umul24(u, u));
  IS(int, __mulhi(i, i));
  IS(unsigned, __umulhi(u, u));
  IS(longlong, __mul64hi(ll, ll));
  IS(uint64, __umul64hi(ull, ull));
  IS(int, __hadd(i, i));
  IS(int, __rhadd(i, i));
  IS(unsigned, __uhadd(u, u));
  IS(unsigned, __urhadd(u, u));
  IS(unsigned, __sad(i, i, u));
  IS(unsigned, __usad(u, u, u));
  IS(unsigned, __funnelshift_l(u, u, u));
  IS(unsigned, __funnelshift_r(u, u, u));
  IS(unsigned, __funnelshift_lc(u, u, u));
  IS(unsigned, __funnelshift_rc(u, u, u));
  IS(unsigned, __fns(u, u, i));
  IS(unsigned, __nv_bswap32(u));
  IS(uint64, __nv_bswap64(ull));
  IS(int, __dp4a(i, i, i));
  IS(unsigned, __dp4a(u, u, u));
  IS(int, __dp4a(char4(), char4(), i));
  IS(unsigned, __dp4a(uchar4(), uchar4(), u));
  IS(int, __dp2a_lo(i, i, i));
  IS(unsigned, __dp2a_hi(u, u, u));
  IS(int, __dp2a_lo(short2(), char4(), i));
  IS(unsigned, __dp2a_hi(ushort2(), uchar4(), u));
  SIMD(__vabs, 1, u)
  SIMD(__vabsss, 1, u)
  SIMD(__vneg, 1, u)
  SIMD(__vnegss, 1, u)
  SIMD(__vadd, 2, u, u)
  SIMD(__vaddss, 2, u, u)
  SIMD(__vaddus, 2, u, u)
  SIMD(__vsub, 2, u, u)
  SIMD(__vsubss, 2, u, u)
  SIMD(__vsubus, 2, u, u)
  SIMD(__vhaddu, 2, u, u)
  SIMD(__vcmpeq, 2, u, u) SIMD(__vcmpne, 2, u, u) SIMD(__vseteq, 2, u, u) SIMD(__vsetne, 2, u, u) SIMD_US(__vabsdiff)
      SIMD_US(__vavg) SIMD_US(__vmax) SIMD_US(__vmin) SIMD_US(__vsad) COMPARE(ge) COMPARE(gt) COMPARE(le) COMPARE(lt)
          IS(int, __vimax3_s32(i, i, i));
  IS(unsigned, __vimin3_u32(u, u, u));
  IS(int, __viaddmax_s32(i, i, i));
  IS(int, __viaddmin_s32_relu(i, i, i));
  IS(int, __vimax_s32_relu(i, i));
  IS(int, __vimin3_s32_relu(i, i, i));
  IS(unsigned, __vimax3_s16x2(u, u, u));
  IS(int&&, cuda::std::identity()(1));
  bool high, low;
  IS(unsigned, __vibmax_s16x2(u, u, &high, &low));
  IS(unsigned, __vibmax_u16x2(u, u, &high, &low));
  IS(unsigned, __vibmin_s16x2(u, u, &high, &low));
  IS(unsigned, __vibmin_u16x2(u, u, &high, &low));
  IS(unsigned, __viaddmin_u16x2(u, u, u));
  IS(unsigned, __vimin_s16x2_relu(u, u));
  IS(unsigned, __viaddmax_s16x2_relu(u, u, u));
}

// ---- 16-bit numbers

template <class T, class T2>
__device__ void numbers(T a, T2 b) {
#define ARITHMETIC(name) \
  IS(T, name(a, a));     \
  IS(T2, name##2(b, b));
  ARITHMETIC(__hadd)
  ARITHMETIC(__hsub) ARITHMETIC(__hmul) ARITHMETIC(__hmax) ARITHMETIC(__hmin) IS(T, __hdiv(a, a));
  IS(T2, __h2div(b, b));
  IS(T, __hfma(a, a, a));
  IS(T2, __hfma2(b, b, b));
  IS(T, __hadd_rn(a, a));
  IS(T2, __hadd2_rn(b, b));
  IS(T, __hsub_rn(a, a));
  IS(T2, __hmul2_rn(b, b));
  IS(T, __hadd_sat(a, a));
  IS(T2, __hsub2_sat(b, b));
  IS(T, __hmul_sat(a, a));
  IS(T2, __hfma2_sat(b, b, b));
  IS(T, __hfma_relu(a, a, a));
  IS(T2, __hfma2_relu(b, b, b));
  IS(T, __hmax_nan(a, a));
  IS(T2, __hmin2_nan(b, b));
  IS(T, __hneg(a));
  IS(T2, __hneg2(b));
  IS(T, __habs(a));
  IS(T2, __habs2(b));
  IS(T2, __hcmadd(b, b, b));
#define MATH(name)   \
  IS(T, h##name(a)); \
  IS(T2, h2##name(b));
  MATH(ceil)
  MATH(floor)
  MATH(trunc)
  MATH(rint)
  MATH(rcp)
  MATH(sqrt)
  MATH(rsqrt)
  MATH(exp)
  MATH(exp2)
  MATH(exp10)
  MATH(log)
  MATH(log2)
  MATH(log10)
  MATH(sin)
  MATH(cos) MATH(tanh) MATH(tanh_approx)
#define COMPARISON(name)         \
  IS(bool, __h##name(a, a));     \
  IS(T2, __h##name##2(b, b));    \
  IS(bool, __hb##name##2(b, b)); \
  IS(unsigned, __h##name##2_mask(b, b));
      COMPARISON(eq) COMPARISON(ne) COMPARISON(lt) COMPARISON(le) COMPARISON(gt) COMPARISON(ge) COMPARISON(equ)
          COMPARISON(neu) COMPARISON(ltu) COMPARISON(leu) COMPARISON(gtu) COMPARISON(geu) IS(bool, __hisnan(a));
  IS(T2, __hisnan2(b));
  IS(int, __hisinf(a));
  IS(T, a + a);
  IS(T, a - a);
  IS(T, a * a);
  IS(T, a / a);
  IS(T, -a);
  IS(T, +a);
  IS(T&, ++a);
  IS(T, a--);
  IS(T&, a += a);
  IS(T&, a -= a);
  IS(T&, a *= a);
  IS(T&, a /= a);
  IS(bool, a == a);
  IS(bool, a < a);
  IS(bool, a >= a);
  IS(T2, b + b);
  IS(T2, b - b);
  IS(T2, b * b);
  IS(T2, b / b);
  IS(T2, -b);
  IS(T2&, b += b);
  IS(bool, b == b);
  IS(float, __low2float(b));
  IS(float, __high2float(b));
  IS(T2, __lowhigh2highlow(b));
  IS(T, __shfl_sync(u, a, i));
  IS(T2, __shfl_sync(u, b, i));
  IS(T, __shfl_up_sync(u, a, u));
  IS(T2, __shfl_down_sync(u, b, u));
  IS(T2, __shfl_xor_sync(u, b, i, 16));
  IS(T, __ldg(&a));
  IS(T2, __ldg(&b));
  IS(T, __ldcg(&a));
  IS(T2, __ldcs(&b));
  IS(void, __stcs(&a, a));
  IS(void, __stcg(&b, b));
  IS(T, atomicAdd(&a, a));
  IS(T2, atomicAdd(&b, b));
  const T from_float = 1.5f, from_int = 3, from_double = 2.5;
  const float to_float = from_float;
  const T2 pair{from_int, from_double};
  a = to_float * 2.0f;
  a = pair.x + pair.y;
  const bool some = a;
  if (some && a > T(0)) b.x = static_cast<T>(static_cast<int>(a) + static_cast<float>(a));
}

__device__ void halves() {
  numbers<__half, __half2>(half(1), half2(1, 2));
  numbers<__nv_bfloat16, __nv_bfloat162>(nv_bfloat16(1), nv_bfloat162(1, 2));
  const half a = 1;
  const half2 b(a, a);
  const nv_bfloat16 c = 1;
  const nv_bfloat162 e(c, c);
#define TWO_WAYS(word, T)                       \
  EACH_MODE(UNARY, __int2##word, T, i)          \
  EACH_MODE(UNARY, __uint2##word, T, u)         \
  EACH_MODE(UNARY, __ll2##word, T, ll)          \
  EACH_MODE(UNARY, __ull2##word, T, ull)        \
  EACH_MODE(UNARY, __short2##word, T, short(1)) \
  EACH_MODE(UNARY, __float2##word, T, f) EACH_MODE(UNARY, __ushort2##word, T, (unsigned short)(1))
  TWO_WAYS(half, half)
  TWO_WAYS(bfloat16, nv_bfloat16)
#define BACK(word, value)                                                                                \
  EACH_MODE(UNARY, __##word##2int, int, value)                                                           \
  EACH_MODE(UNARY, __##word##2uint, unsigned, value)                                                     \
  EACH_MODE(UNARY, __##word##2ll, longlong, value)                                                       \
  EACH_MODE(UNARY, __##word##2ull, uint64, value)                                                        \
  EACH_MODE(UNARY, __##word##2short, short, value)                                                       \
  EACH_MODE(UNARY, __##word##2ushort, unsigned short, value) IS(signed char, __##word##2char_rz(value)); \
  IS(unsigned char, __##word##2uchar_rz(value));                                                         \
  IS(short, __##word##_as_short(value));                                                                 \
  IS(unsigned short, __##word##_as_ushort(value));
  BACK(half, a)
  BACK(bfloat16, c)
  IS(half, __float2half(f));
  IS(half, __double2half(d));
  IS(float, __half2float(a));
  IS(float2, __half22float2(b));
  IS(half2, __float2half2_rn(f));
  IS(half2, __floats2half2_rn(f, f));
  IS(half2, __float22half2_rn(float2()));
  IS(half, __low2half(b));
  IS(half, __high2half(b));
  IS(half2, __low2half2(b));
  IS(half2, __high2half2(b));
  IS(half2, __lows2half2(b, b));
  IS(half2, __highs2half2(b, b));
  IS(half2, __halves2half2(a, a));
  IS(half2, __half2half2(a));
  IS(half2, make_half2(a, a));
  IS(half, __ushort_as_half((unsigned short)(1)));
  IS(half, __short_as_half(short(1)));
  IS(nv_bfloat16, __float2bfloat16(f));
  IS(nv_bfloat16, __double2bfloat16(d));
  IS(float, __bfloat162float(c));
  IS(float2, __bfloat1622float2(e));
  IS(nv_bfloat162, __float2bfloat162_rn(f));
  IS(nv_bfloat162, __floats2bfloat162_rn(f, f));
  IS(nv_bfloat162, __float22bfloat162_rn(float2()));
  IS(nv_bfloat16, __low2bfloat16(e));
  IS(nv_bfloat16, __high2bfloat16(e));
  IS(nv_bfloat162, __low2bfloat162(e));
  IS(nv_bfloat162, __halves2bfloat162(c, c));
  IS(nv_bfloat162, __bfloat162bfloat162(c));
  IS(nv_bfloat162, make_bfloat162(c, c));
  IS(nv_bfloat16, __ushort_as_bfloat16((unsigned short)(1)));
  const half converted(c);
  const nv_bfloat16 back(converted);
  const __half_raw raw = a;
  const half from_raw = raw;
  f = CUDART_INF_FP16 == from_raw || CUDART_ONE_BF16 == back ? CUDART_PI_F : CUDART_NAN_F;
}

// ---- atomics, warps, the rest

#define SCOPES(M, ...) M(, __VA_ARGS__) M(_block, __VA_ARGS__) M(_system, __VA_ARGS__)
#define ATOMIC(scope, name, type, value) IS(type, name##scope(&value, value));
#define CAS(scope, type, value) IS(type, atomicCAS##scope(&value, value, value));

__device__ unsigned short s;
__device__ float2 two;
__device__ float4 four;
__device__ ulonglong2 wide;

__device__ void atomics() {
  SCOPES(ATOMIC, atomicAdd, int, i)
  SCOPES(ATOMIC, atomicAdd, unsigned, u)
  SCOPES(ATOMIC, atomicAdd, uint64, ull)
  SCOPES(ATOMIC, atomicAdd, float, f)
  SCOPES(ATOMIC, atomicAdd, double, d)
  SCOPES(ATOMIC, atomicSub, int, i)
  SCOPES(ATOMIC, atomicSub, unsigned, u)
  SCOPES(ATOMIC, atomicExch, int, i)
  SCOPES(ATOMIC, atomicExch, uint64, ull)
  SCOPES(ATOMIC, atomicExch, float, f)
  SCOPES(ATOMIC, atomicMin, int, i)
  SCOPES(ATOMIC, atomicMin, unsigned, u)
  SCOPES(ATOMIC, atomicMin, uint64, ull)
  SCOPES(ATOMIC, atomicMin, longlong, ll)
  SCOPES(ATOMIC, atomicMax, int, i) SCOPES(ATOMIC, atomicMax, longlong, ll) SCOPES(ATOMIC, atomicInc, unsigned, u)
      SCOPES(ATOMIC, atomicDec, unsigned, u) SCOPES(ATOMIC, atomicAnd, int, i) SCOPES(ATOMIC, atomicAnd, uint64, ull)
          SCOPES(ATOMIC, atomicOr, unsigned, u) SCOPES(ATOMIC, atomicXor, int, i) SCOPES(ATOMIC, atomicXor, uint64, ull)
              SCOPES(CAS, int, i) SCOPES(CAS, unsigned, u) SCOPES(CAS, uint64, ull)
  CAS(, unsigned short, s)
  SCOPES(ATOMIC, atomicAdd, float2, two)
  SCOPES(ATOMIC, atomicAdd, float4, four)
  SCOPES(ATOMIC, atomicExch, ulonglong2, wide)
  SCOPES(CAS, ulonglong2, wide)
}

#define FETCH(name)                                                                     \
  IS(int, __nv_atomic_fetch_##name(&i, i, __NV_ATOMIC_RELAXED));                        \
  IS(unsigned, __nv_atomic_fetch_##name(&u, u, __NV_ATOMIC_SEQ_CST));                   \
  IS(uint64, __nv_atomic_fetch_##name(&ull, ull, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK)); \
  IS(void, __nv_atomic_##name(&i, i, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE));

__device__ void atomics_with_an_order() {
  IS(unsigned, __nv_atomic_load_n(&u, __NV_ATOMIC_ACQUIRE));
  IS(longlong, __nv_atomic_load_n(&ll, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM));
  IS(float, __nv_atomic_fetch_add(&f, f, __NV_ATOMIC_RELAXED));
  IS(void, __nv_atomic_load(&f, &f, __NV_ATOMIC_CONSUME, __NV_THREAD_SCOPE_CLUSTER));
  IS(void, __nv_atomic_store_n(&ull, ull, __NV_ATOMIC_RELEASE));
  IS(void, __nv_atomic_store(&i, &i, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_THREAD));
  IS(int, __nv_atomic_exchange_n(&i, i, __NV_ATOMIC_RELAXED));
  IS(void, __nv_atomic_exchange(&u, &u, &u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK));
  IS(bool, __nv_atomic_compare_exchange_n(&i, &i, i, true, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED));
  IS(bool, __nv_atomic_compare_exchange(&u, &u, &u, false, __NV_ATOMIC_SEQ_CST, __NV_ATOMIC_RELAXED,
                                        __NV_THREAD_SCOPE_DEVICE));
  FETCH(add)
  FETCH(sub)
  FETCH(and)
  FETCH(or)
  FETCH(xor)
  FETCH(min)
  FETCH(max)
  IS(void, __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK));
}

#define SHUFFLES(type, value)               \
  IS(type, __shfl_sync(u, value, i));       \
  IS(type, __shfl_up_sync(u, value, u, 8)); \
  IS(type, __shfl_down_sync(u, value, u));  \
  IS(type, __shfl_xor_sync(u, value, i));
#define CACHED(type, value)        \
  IS(type, __ldg(&value));         \
  IS(type, __ldcg(&value));        \
  IS(type, __ldca(&value));        \
  IS(type, __ldcs(&value));        \
  IS(type, __ldlu(&value));        \
  IS(type, __ldcv(&value));        \
  IS(void, __stwb(&value, value)); \
  IS(void, __stcg(&value, value)); \
  IS(void, __stcs(&value, value)); \
  IS(void, __stwt(&value, value));

template <class T>
__device__ void vectors(T value){CACHED(T, value)}

__device__ void warps() {
  SHUFFLES(int, i)
  SHUFFLES(unsigned, u)
  SHUFFLES(long, l)
  SHUFFLES(longlong, ll) SHUFFLES(uint64, ull) SHUFFLES(float, f) SHUFFLES(double, d) IS(unsigned, __activemask());
  IS(unsigned, __ballot_sync(u, i));
  IS(int, __any_sync(u, i));
  IS(int, __all_sync(u, i));
  IS(unsigned, __match_any_sync(u, i));
  IS(unsigned, __match_any_sync(u, d));
  IS(unsigned, __match_any_sync(u, i < 3));
  IS(unsigned, __match_all_sync(u, ull, &i));
  IS(unsigned, __reduce_add_sync(u, u));
  IS(int, __reduce_add_sync(u, i));
  IS(int, __reduce_min_sync(u, i));
  IS(unsigned, __reduce_max_sync(u, u));
  IS(unsigned, __reduce_and_sync(u, u));
  IS(unsigned, __reduce_or_sync(u, u));
  IS(unsigned, __reduce_xor_sync(u, u));
  IS(void, __syncwarp());
  IS(void, __syncwarp(u));
  IS(void, __syncthreads());
  IS(int, __syncthreads_count(i));
  IS(int, __syncthreads_and(i));
  IS(int, __syncthreads_or(i));
  IS(void, __threadfence());
  IS(void, __threadfence_block());
  IS(void, __threadfence_system());
  IS(void, __nanosleep(u));
  IS(void, cudaGridDependencySynchronize());
  IS(void, cudaTriggerProgrammaticLaunchCompletion());
  IS(void, __trap());
  IS(clock_t, clock());
  IS(longlong, clock64());
  IS(unsigned, __isShared(&i));
  IS(unsigned, __isGlobal(&i));
  IS(unsigned, __isLocal(&i));
  IS(size_t, __cvta_generic_to_shared(&i));
  vectors(char(1)), vectors(short(1)), vectors(1), vectors(1ll), vectors(1u), vectors(1.0f), vectors(1.0);
  vectors(static_cast<unsigned char>(1)), vectors(1l), vectors(1ul);
  vectors(make_char2(1, 2)), vectors(make_char4(1, 2, 3, 4)), vectors(make_uchar4(1, 2, 3, 4));
  vectors(make_short2(1, 2)), vectors(make_short4(1, 2, 3, 4)), vectors(make_int2(1, 2)),
      vectors(make_int4(1, 2, 3, 4));
  vectors(make_uint2(1, 2)), vectors(make_uint4(1, 2, 3, 4)), vectors(make_longlong2(1, 2));
  vectors(make_ulonglong2(1, 2)), vectors(make_float2(1, 2)), vectors(make_float4(1, 2, 3, 4));
  vectors(make_double2(1, 2));
}

// clang-format on

#define LAYOUT(type, bytes, alignment) static_assert(sizeof(type) == bytes && alignof(type) == alignment)
LAYOUT(char1, 1, 1);
LAYOUT(uchar2, 2, 2);
LAYOUT(char3, 3, 1);
LAYOUT(uchar4, 4, 4);
LAYOUT(short2, 4, 4);
LAYOUT(ushort3, 6, 2);
LAYOUT(short4, 8, 8);
LAYOUT(int2, 8, 8);
LAYOUT(uint3, 12, 4);
LAYOUT(uint4, 16, 16);
LAYOUT(long2, 16, 16);
LAYOUT(ulonglong3, 24, 8);
LAYOUT(float3, 12, 4);
LAYOUT(float4, 16, 16);
LAYOUT(double2, 16, 16);
LAYOUT(double3, 24, 8);
LAYOUT(double4_16a, 32, 16);
LAYOUT(double4_32a, 32, 32);
LAYOUT(longlong4_16a, 32, 16);
LAYOUT(ulong4_32a, 32, 32);
LAYOUT(dim3, 12, 4);
LAYOUT(half, 2, 2);
LAYOUT(half2, 4, 4);
LAYOUT(nv_bfloat16, 2, 2);
LAYOUT(nv_bfloat162, 4, 4);

__global__ void __maxnreg__(64) few_registers() { __builtin_assume(i > 0); }

__global__ void everything() {
  rounding();
  functions();
  integers();
  halves();
  atomics();
  atomics_with_an_order();
  warps();
  assert(i > 0);
  if (i < 0) printf("%f\n", __half2float(half(1)));
}

}  // namespace

void all_of_cuda_names() {
  everything<<<1, 1>>>();
  few_registers<<<1, 1>>>();
}
