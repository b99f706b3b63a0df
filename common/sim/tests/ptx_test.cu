// Inline PTX: each family of instructions against plain C++, fragments of all shapes and types against plain loops, and
// what the matrix instructions count as.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <sim/observe.hpp>
#include <vector>

namespace {

/// Managed memory for n elements, until the end of the scope.
template <class T>
class managed {
 public:
  explicit managed(std::size_t n) { EXPECT_EQ(cudaMallocManaged(&data_, n * sizeof(T)), cudaSuccess); }
  ~managed() { EXPECT_EQ(cudaFree(data_), cudaSuccess); }
  managed(const managed&) = delete;
  managed& operator=(const managed&) = delete;
  operator T*() const { return data_; }

 private:
  T* data_ = nullptr;
};

/// Runs f and expects neither an error nor a report.
template <class F>
auto counted(F f) {
  auto counts = sim::observe(f);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const auto& report : counts.reports) ADD_FAILURE() << report;
  return counts;
}

__device__ uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// ---- registers, predicates, control

__global__ void registers(unsigned* out, unsigned long long* wide) {
  const unsigned t = threadIdx.x + blockDim.x * threadIdx.y;
  unsigned v[12];
  asm("mov.u32 %0, %%laneid;" : "=r"(v[0]));
  asm("mov.u32 %0, %%warpid;" : "=r"(v[1]));
  asm("mov.u32 %0, %%tid.y;" : "=r"(v[2]));
  asm("mov.u32 %0, %%ntid.x;" : "=r"(v[3]));
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(v[4]));
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(v[5]));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(v[6]));
  asm("mov.u32 %0, %%lanemask_ge;" : "=r"(v[7]));
  // Two registers of its own, a predicate and its opposite.
  asm volatile(
      "{\n\t"
      ".reg .pred p, q;\n\t"
      ".reg .b32 t<2>;\n\t"
      "setp.lt.u32 p|q, %1, 7;  // less than a week\n\t"
      "@p add.u32 t0, %1, 100;\n\t"
      "@!p mov.b32 t0, %2;\n\t"
      "selp.u32 t1, 1, 2, q;\n\t"
      "mad.lo.u32 %0, t0, 10, t1;\n\t"
      "}"
      : "=r"(v[8])
      : "r"(t), "n"(5));
  // A loop.
  asm volatile(
      "{\n\t.reg .pred more;\n\t.reg .u32 i;\n\t"
      "mov.u32 i, 0;\n\t"
      "AGAIN:\n\t"
      "add.u32 i, i, 3;\n\t"
      "setp.lt.u32 more, i, %1;\n\t"
      "@more bra AGAIN;\n\t"
      "mov.u32 %0, i;\n\t}"
      : "=r"(v[9])
      : "r"(t));
  // Read, then written; and an input that keeps its value although an output is written first.
  v[10] = t;
  asm("add.u32 %0, %0, 1; add.u32 %0, %0, %0;" : "+r"(v[10]));
  asm("mov.u32 %0, 0; add.u32 %0, %0, %1;" : "=r"(v[11]) : "r"(v[10]));
  for (int i = 0; i < 12; ++i) out[t * 12 + i] = v[i];
  uint32_t low, high;
  asm("mov.b64 %0, {%1, %2};" : "=l"(wide[t]) : "r"(t), "r"(7u));
  asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(wide[t] + 1));
  asm("mov.b32 %0, {%1, %2};"
      : "=r"(low)
      : "h"(static_cast<unsigned short>(low)), "h"(static_cast<unsigned short>(high)));
  wide[t] += static_cast<unsigned long long>(low) << 40;
}

TEST(Ptx, RegistersAndControl) {
  const unsigned n = 96;
  managed<unsigned> out(n * 12);
  managed<unsigned long long> wide(n);
  counted([&] { registers<<<1, dim3(32, 3)>>>(out, wide); });
  for (unsigned t = 0; t < n; ++t) {
    const unsigned lane = t % 32;
    const unsigned odd = t < 7 ? (t + 100) * 10 + 2 : 50 + 1;
    const unsigned expected[] = {lane,
                                 t / 32,
                                 t / 32,
                                 32,
                                 0,
                                 1,
                                 (1u << lane) - 1,
                                 ~((1u << lane) - 1),
                                 odd,
                                 t <= 3 ? 3 : (t + 2) / 3 * 3,
                                 2 * (t + 1),
                                 2 * (t + 1)};
    for (int i = 0; i < 12; ++i) EXPECT_EQ(out[t * 12 + i], expected[i]) << t << " " << i;
    EXPECT_EQ(wide[t], (7ull << 32) + t + ((7ull << 16 | (t + 1)) << 40)) << t;
  }
}

// ---- arithmetic and bits

__global__ void integers(int* out, const int* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const int a = x[t], b = x[(t + 1) % n], c = x[(t + 2) % n];
  int r[24];
  asm("add.s32 %0, %1, %2;" : "=r"(r[0]) : "r"(a), "r"(b));
  asm("sub.s32 %0, %1, %2;" : "=r"(r[1]) : "r"(a), "r"(b));
  asm("mul.lo.s32 %0, %1, %2;" : "=r"(r[2]) : "r"(a), "r"(b));
  asm("mul.hi.s32 %0, %1, %2;" : "=r"(r[3]) : "r"(a), "r"(b));
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(r[4]) : "r"(a), "r"(b));
  asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(r[5]) : "r"(a), "r"(b), "r"(c));
  asm("min.s32 %0, %1, %2;" : "=r"(r[6]) : "r"(a), "r"(b));
  asm("max.u32 %0, %1, %2;" : "=r"(r[7]) : "r"(a), "r"(b));
  asm("and.b32 %0, %1, 0xff;" : "=r"(r[8]) : "r"(a));
  asm("xor.b32 %0, %1, %2;" : "=r"(r[9]) : "r"(a), "r"(b));
  asm("shl.b32 %0, %1, %2;" : "=r"(r[10]) : "r"(a), "r"(c & 63));
  asm("shr.s32 %0, %1, %2;" : "=r"(r[11]) : "r"(a), "r"(c & 63));
  asm("shr.u32 %0, %1, %2;" : "=r"(r[12]) : "r"(a), "r"(c & 63));
  asm("popc.b32 %0, %1;" : "=r"(r[13]) : "r"(a));
  asm("clz.b32 %0, %1;" : "=r"(r[14]) : "r"(a));
  asm("brev.b32 %0, %1;" : "=r"(r[15]) : "r"(a));
  asm("lop3.b32 %0, %1, %2, %3, %4;" : "=r"(r[16]) : "r"(a), "r"(b), "r"(c), "n"((0xf0 & 0xcc) | 0xaa));
  asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r[17]) : "r"(a), "r"(b), "r"(0x9250));
  asm("shf.l.wrap.b32 %0, %1, %2, %3;" : "=r"(r[18]) : "r"(a), "r"(b), "r"(c & 31));
  asm("bfe.u32 %0, %1, %2, %3;" : "=r"(r[19]) : "r"(a), "r"(c & 31), "r"(9));
  asm("bfe.s32 %0, %1, %2, %3;" : "=r"(r[20]) : "r"(a), "r"(c & 31), "r"(9));
  asm("bfi.b32 %0, %1, %2, %3, %4;" : "=r"(r[21]) : "r"(a), "r"(b), "r"(c & 31), "r"(9));
  asm("{ .reg .s64 w; mul.wide.s32 w, %1, %2; shr.s64 w, w, 8; cvt.u32.u64 %0, w; }" : "=r"(r[22]) : "r"(a), "r"(b));
  asm("not.b32 %0, %1;" : "=r"(r[23]) : "r"(a));
  for (int i = 0; i < 24; ++i) out[t * 24 + i] = r[i];
}

int bits_from(unsigned a, unsigned at, unsigned length, bool is_signed) {  // as in the PTX manual's pseudocode
  const unsigned msb = 31;
  const unsigned sign_at = std::min(at + length - 1, msb);
  const unsigned sign = is_signed && length > 0 ? a >> sign_at & 1 : 0;
  unsigned d = 0;
  for (unsigned i = 0; i <= msb; ++i) d |= (i < length && at + i <= msb ? a >> (at + i) & 1 : sign) << i;
  return static_cast<int>(d);
}

TEST(Ptx, Integers) {
  const int n = 64;
  managed<int> x(n), out(n * 24);
  std::mt19937 random(1);
  for (int i = 0; i < n; ++i) x[i] = static_cast<int>(random()) >> (random() % 30);
  x[3] = 0;
  counted([&] { integers<<<1, n>>>(out, x, n); });
  for (int t = 0; t < n; ++t) {
    const int a = x[t], b = x[(t + 1) % n], c = x[(t + 2) % n];
    const auto ua = static_cast<unsigned>(a), ub = static_cast<unsigned>(b), uc = static_cast<unsigned>(c);
    const long long product = static_cast<long long>(a) * b;
    const unsigned by = uc & 63;
    unsigned reversed = 0;
    for (int i = 0; i < 32; ++i) reversed |= (ua >> i & 1) << (31 - i);
    const unsigned char bytes[] = {static_cast<unsigned char>(a),       static_cast<unsigned char>(a >> 8),
                                   static_cast<unsigned char>(a >> 16), static_cast<unsigned char>(a >> 24),
                                   static_cast<unsigned char>(b),       static_cast<unsigned char>(b >> 8),
                                   static_cast<unsigned char>(b >> 16), static_cast<unsigned char>(b >> 24)};
    const unsigned permuted = bytes[0] | bytes[5] << 8 | bytes[2] << 16 | (bytes[1] & 0x80 ? 0xff000000u : 0);
    const unsigned mask = uc % 32 + 9 > 31 ? ~0u << uc % 32 : 0x1ffu << uc % 32;
    const int expected[] = {static_cast<int>(ua + ub),
                            static_cast<int>(ua - ub),
                            static_cast<int>(ua * ub),
                            static_cast<int>(product >> 32),
                            static_cast<int>(static_cast<unsigned long long>(ua) * ub >> 32),
                            static_cast<int>(ua * ub + uc),
                            std::min(a, b),
                            static_cast<int>(std::max(ua, ub)),
                            a & 0xff,
                            a ^ b,
                            by > 31 ? 0 : static_cast<int>(ua << by),
                            by > 31 ? a >> 31 : a >> by,
                            by > 31 ? 0 : static_cast<int>(ua >> by),
                            __builtin_popcount(ua),
                            a == 0 ? 32 : __builtin_clz(ua),
                            static_cast<int>(reversed),
                            (a & b) | c,
                            static_cast<int>(permuted),
                            static_cast<int>((static_cast<unsigned long long>(ub) << 32 | ua) << (uc & 31) >> 32),
                            bits_from(ua, uc & 31, 9, false),
                            bits_from(ua, uc & 31, 9, true),
                            static_cast<int>((ub & ~mask) | (ua << uc % 32 & mask)),
                            static_cast<int>(product >> 8),
                            ~a};
    for (int i = 0; i < 24; ++i) EXPECT_EQ(out[t * 24 + i], expected[i]) << t << " " << i;
  }
}

__global__ void floats(float* out, unsigned* bits, const float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
  const float a = x[t], b = x[(t + 1) % n], c = x[(t + 2) % n];
  float r[12];
  asm("fma.rn.f32 %0, %1, %2, %3;" : "=f"(r[0]) : "f"(a), "f"(b), "f"(c));
  asm("mul.ftz.f32 %0, %1, 0f3FB8AA3B;" : "=f"(r[1]) : "f"(a));
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r[2]) : "f"(a));
  asm("lg2.approx.f32 %0, %1;" : "=f"(r[3]) : "f"(std::fabs(a)));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r[4]) : "f"(a));
  asm("rsqrt.approx.f32 %0, %1;" : "=f"(r[5]) : "f"(std::fabs(a)));
  asm("tanh.approx.f32 %0, %1;" : "=f"(r[6]) : "f"(a));
  asm("max.f32 %0, %1, %2;" : "=f"(r[7]) : "f"(a), "f"(b));
  asm("add.sat.f32 %0, %1, %2;" : "=f"(r[8]) : "f"(a), "f"(b));
  asm("sub.f32 %0, %1, 1.5;" : "=f"(r[9]) : "f"(a));
  asm("cvt.rzi.f32.f32 %0, %1;" : "=f"(r[10]) : "f"(a));
  asm("{ .reg .f64 d; cvt.f64.f32 d, %1; mul.f64 d, d, d; cvt.rn.f32.f64 %0, d; }" : "=f"(r[11]) : "f"(a));
  for (int i = 0; i < 12; ++i) out[t * 12 + i] = r[i];
  unsigned v[12];
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v[0]) : "f"(a), "f"(b));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v[1]) : "f"(a), "f"(b));
  unsigned short h, e;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e) : "f"(a), "f"(b));
  v[2] = e;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(v[3]) : "h"(e));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v[4]) : "f"(a));
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(a));
  v[5] = h;
  asm("cvt.rni.s32.f32 %0, %1;" : "=r"(v[6]) : "f"(a));
  asm("cvt.sat.u8.s32 %0, %1;" : "=r"(v[7]) : "r"(static_cast<int>(a * 100)));
  asm("fma.rn.f16x2 %0, %1, %1, %1;" : "=r"(v[8]) : "r"(v[1]));
  asm("add.rn.bf16x2 %0, %1, %1;" : "=r"(v[9]) : "r"(v[0]));
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(v[10]) : "r"(v[1]));
  asm("{ .reg .pred p; setp.gtu.f32 p, %1, %2; selp.u32 %0, 1, 0, p; }" : "=r"(v[11]) : "f"(a), "f"(b));
  for (int i = 0; i < 12; ++i) bits[t * 12 + i] = v[i];
}

unsigned word(__half2 x) {
  unsigned bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
unsigned word(__nv_bfloat162 x) {
  unsigned bits;
  std::memcpy(&bits, &x, 4);
  return bits;
}
float from_bits(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}

TEST(Ptx, FloatsAndConversions) {
  const int n = 32;
  managed<float> x(n), out(n * 12);
  managed<unsigned> bits(n * 12);
  for (int i = 0; i < n; ++i) x[i] = std::sin(static_cast<float>(i * i + 1)) * static_cast<float>(1 + i % 5);
  counted([&] { floats<<<1, n>>>(out, bits, x, n); });
  for (int t = 0; t < n; ++t) {
    const float a = x[t], b = x[(t + 1) % n], c = x[(t + 2) % n];
    const float expected[] = {std::fma(a, b, c),
                              a * 1.44269502f,
                              std::exp2(a),
                              std::log2(std::fabs(a)),
                              1 / a,
                              1 / std::sqrt(std::fabs(a)),
                              std::tanh(a),
                              std::max(a, b),
                              std::clamp(a + b, 0.0f, 1.0f),
                              a - 1.5f,
                              std::trunc(a),
                              static_cast<float>(static_cast<double>(a) * a)};
    for (int i = 0; i < 12; ++i)
      EXPECT_NEAR(out[t * 12 + i], expected[i], 1e-3 * std::fabs(expected[i]) + 1e-6) << t << " " << i;
    for (const int i : {0, 1, 7, 8, 9, 10, 11}) EXPECT_FLOAT_EQ(out[t * 12 + i], expected[i]) << t << " " << i;
    const __half2 h = __floats2half2_rn(b, a);  // the first source is the upper half
    const __nv_bfloat162 f = __floats2bfloat162_rn(b, a);
    EXPECT_EQ(bits[t * 12], word(f));
    EXPECT_EQ(bits[t * 12 + 1], word(h));
    const unsigned low = __nv_fp8_e4m3(b).__x, high = __nv_fp8_e4m3(a).__x;
    EXPECT_EQ(bits[t * 12 + 2], low | high << 8);
    __nv_fp8_e4m3 two[2];
    two[0].__x = static_cast<unsigned char>(low), two[1].__x = static_cast<unsigned char>(high);
    EXPECT_EQ(bits[t * 12 + 3], word(__halves2half2(__half(two[0]), __half(two[1]))));
    EXPECT_LE(std::fabs(from_bits(bits[t * 12 + 4]) - a), std::ldexp(std::fabs(a), -11));
    EXPECT_EQ(bits[t * 12 + 4] & 0x1fff, 0u);
    EXPECT_EQ(bits[t * 12 + 5], word(h) >> 16);
    EXPECT_EQ(static_cast<int>(bits[t * 12 + 6]), static_cast<int>(std::nearbyint(a)));
    EXPECT_EQ(bits[t * 12 + 7], static_cast<unsigned>(std::clamp(static_cast<int>(a * 100), 0, 255)));
    const auto square_and_one_more = [](__half x) {
      return __double2half(std::fma(__half2float(x), static_cast<double>(__half2float(x)), __half2float(x)));
    };
    EXPECT_EQ(bits[t * 12 + 8], word(__halves2half2(square_and_one_more(h.x), square_and_one_more(h.y))));
    EXPECT_EQ(bits[t * 12 + 9], word(__hadd2(f, f)));
    EXPECT_NEAR(__half2float(__ushort_as_half(static_cast<unsigned short>(bits[t * 12 + 10] >> 16))),
                std::exp2(__half2float(h.y)), 0.02 * std::exp2(std::fabs(a)));
    EXPECT_EQ(bits[t * 12 + 11], a > b ? 1u : 0u);
  }
}

// ---- memory

__global__ void memory(float* to, const float4* from, unsigned char* bytes, unsigned* sums) {
  __shared__ __align__(16) float s[256];
  const unsigned t = threadIdx.x;
  float a, b, c, d;
  asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(a), "=f"(b), "=f"(c), "=f"(d)
               : "l"(from + t));
  asm volatile("st.shared.v4.b32 [%0], {%4, %3, %2, %1};" ::"r"(shared_address(s + 4 * t)), "r"(__float_as_uint(a)),
               "r"(__float_as_uint(b)), "r"(__float_as_uint(c)), "r"(__float_as_uint(d))
               : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  asm volatile("ld.shared.f32 %0, [%1+4];" : "=f"(a) : "r"(shared_address(s + 4 * (63 - t))) : "memory");
  asm volatile("st.global.wt.f32 [%0 + 256], %1;" ::"l"(to + t), "f"(a) : "memory");
  int x;
  asm volatile("ld.global.s8 %0, [%1];" : "=r"(x) : "l"(bytes + t) : "memory");
  asm volatile("st.global.u8 [%0], %1;" ::"l"(bytes + t), "r"(x - 1) : "memory");
  asm volatile("red.global.add.u32 [%0], %1;" ::"l"(sums), "r"(t) : "memory");
  unsigned old;
  asm volatile("atom.global.max.u32 %0, [%1], %2;" : "=r"(old) : "l"(sums + 1), "r"(t) : "memory");
  asm volatile("atom.shared.add.f32 %0, [%1], %2;" : "=f"(a) : "r"(shared_address(s)), "f"(1.0f) : "memory");
  asm volatile("atom.global.cas.b32 %0, [%1], %2, %3;" : "=r"(old) : "l"(sums + 2), "r"(0u), "r"(t + 1) : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.f16x2 [%0], %1;" ::"l"(sums + 3), "r"(0x3c003800u) : "memory");
  __syncthreads();
  if (t == 0) to[0] = s[0];
  asm volatile("prefetch.global.L2 [%0];" ::"l"(from));
}

TEST(Ptx, Memory) {
  const int n = 64;
  managed<float> to(2 * n);
  managed<float4> from(n);
  managed<unsigned char> bytes(n);
  managed<unsigned> sums(4);
  for (int i = 0; i < n; ++i)
    from[i] = make_float4(i, i + 0.25f, i + 0.5f, i + 0.75f), bytes[i] = static_cast<unsigned char>(3 * i);
  std::memset(sums, 0, 16);
  const auto counts = counted([&] { memory<<<1, n>>>(to, from, bytes, sums); });
  for (int t = 0; t < n; ++t) {
    EXPECT_EQ(to[n + t], 63 - t + 0.5f);
    EXPECT_EQ(bytes[t], static_cast<unsigned char>(3 * t - 1));
  }
  EXPECT_EQ(to[0], 0.75f + n);
  EXPECT_EQ(sums[0], 63u * 64 / 2);
  EXPECT_EQ(sums[1], 63u);
  EXPECT_NE(sums[2], 0u);
  EXPECT_EQ(sums[3], 0x54005000u);  // 64 and 32
  const auto& m = counts.metrics;
  EXPECT_EQ(m.at("smsp__inst_executed_op_global_ld.sum"), 2 + 2);
  EXPECT_EQ(m.at("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 2 * 16 + 2);
  EXPECT_EQ(m.at("smsp__inst_executed_op_shared_st.sum"), 2);
  EXPECT_EQ(m.at("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 2 * 4);
  // Loads with a stride of 16 bytes: 4-way conflicts; one more load by one lane.
  EXPECT_EQ(m.at("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"), 2 * 4 + 1);
}

__global__ void out_of_bounds(float* to) {
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to + threadIdx.x + 1), "f"(1.0f) : "memory");
}
__global__ void without_barrier(float* to) {
  __shared__ float s[64];
  asm volatile("st.shared.f32 [%0], %1;" ::"r"(shared_address(s + threadIdx.x)), "f"(1.0f) : "memory");
  asm volatile("ld.shared.f32 %0, [%1];"
               : "=f"(to[threadIdx.x])
               : "r"(shared_address(s + 63 - threadIdx.x))
               : "memory");
}
__global__ void without_wait(float* to, const float* from) {
  __shared__ __align__(16) float s[128];
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(shared_address(s + 4 * threadIdx.x)),
               "l"(from + 4 * threadIdx.x)
               : "memory");
  asm volatile("cp.async.commit_group;");
  __syncthreads();
  to[threadIdx.x] = s[threadIdx.x];
  asm volatile("cp.async.wait_all;");
}

__global__ void half_a_warp(uint32_t* out) {
  uint32_t c[2] = {0, 0};
  if (threadIdx.x >= 16) return;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2}, {%2}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(0));
  out[threadIdx.x] = c[0] + c[1];
}

#ifdef LAB_SIMULATED_DEVICE
TEST(Ptx, ReportsAsOrdinaryAccesses) {
  managed<float> x(128);
  std::memset(x, 0, 512);
  const auto report = [](auto f) {
    const auto counts = sim::observe(f);
    static_cast<void>(cudaGetLastError());
    return counts.reports.empty() ? std::string("none") : counts.reports[0];
  };
  float* end = x + 96;
  EXPECT_NE(report([&] { out_of_bounds<<<1, 32>>>(end); }).find("out of bounds"), std::string::npos);
  EXPECT_NE(report([&] { without_barrier<<<1, 64>>>(x); }).find("race in shared memory"), std::string::npos);
  EXPECT_NE(report([&] {
              half_a_warp<<<1, 32>>>(reinterpret_cast<uint32_t*>(static_cast<float*>(x)));
            }).find("16 lanes do not participate"),
            std::string::npos);
  EXPECT_NE(report([&] { without_wait<<<1, 32>>>(x, x); }).find("copy"), std::string::npos);
}
#endif

// ---- matrices

template <int Count, bool Transposed>
__global__ void move_matrices(uint32_t* loaded, uint16_t* stored, const uint16_t* in, int stride) {
  extern __shared__ __align__(1024) uint16_t s[];
  uint16_t* second = s + 32 * stride;
  const int t = threadIdx.x;
  for (int i = t; i < 32 * stride; i += 32) s[i] = in[i];
  for (int i = t; i < 32 * stride; i += 32) second[i] = 0;
  __syncthreads();
  uint32_t r[4] = {0, 0, 0, 0};
  const uint32_t row = shared_address(s + t * stride), to = shared_address(second + t * stride);
  if (Count == 1 && !Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" ::"r"(to), "r"(r[0]) : "memory");
  } else if (Count == 1) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(row) : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(to), "r"(r[0]) : "memory");
  } else if (Count == 2 && !Transposed) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(row)
                 : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(r[0]), "r"(r[1]) : "memory");
  } else if (Count == 2) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1])
                 : "r"(row)
                 : "memory");
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(to), "r"(r[0]), "r"(r[1])
                 : "memory");
  } else if (!Transposed) {
    asm volatile("ldmatrix.sync.aligned.x4.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
    asm volatile("stmatrix.sync.aligned.x4.m8n8.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
  } else {
    asm volatile("ldmatrix.sync.aligned.x4.trans.m8n8.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
    asm volatile("stmatrix.sync.aligned.x4.trans.m8n8.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]),
                 "r"(r[1]), "r"(r[2]), "r"(r[3])
                 : "memory");
  }
  __syncthreads();
  for (int i = 0; i < 4; ++i) loaded[t * 4 + i] = r[i];
  for (int i = 0; i < 8; ++i) stored[t * 8 + i] = second[t * stride + i];
}

template <int Count, bool Transposed>
void expect_matrices(int stride, double wavefronts) {
  managed<uint16_t> in(32 * stride), stored(32 * 8);
  managed<uint32_t> loaded(32 * 4);
  for (int i = 0; i < 32 * stride; ++i) in[i] = static_cast<uint16_t>(i + 1);
  const auto counts =
      counted([&] { move_matrices<Count, Transposed><<<1, 32, 128 * stride>>>(loaded, stored, in, stride); });
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 2; ++j) {
        int row = lane / 4, column = lane % 4 * 2 + j;
        if (Transposed) std::swap(row, column);
        const uint16_t expected = i < Count ? in[(8 * i + row) * stride + column] : 0;
        EXPECT_EQ(static_cast<uint16_t>(loaded[lane * 4 + i] >> 16 * j), expected) << lane << " " << i << " " << j;
      }
  for (int row = 0; row < 32; ++row)
    for (int j = 0; j < 8; ++j) EXPECT_EQ(stored[row * 8 + j], row < 8 * Count ? in[row * stride + j] : 0) << row;
  // The kernel's own loads and stores of 16-bit elements, without conflicts, and those of the matrices.
  const auto& m = counts.metrics;
  double own_loads = 0;
  for (int j = 0; j < 8; ++j) own_loads += 1;
  EXPECT_EQ(m.at("smsp__inst_executed_op_shared_ld.sum"), own_loads) << stride;
  EXPECT_EQ(m.at("smsp__inst_executed_op_shared_st.sum"), 2 * stride) << stride;
  EXPECT_EQ(m.at("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 2 * stride) << stride;
  EXPECT_EQ(m.at("smsp__inst_executed_op_ldsm.sum"), 1) << stride;
  EXPECT_EQ(m.at("smsp__inst_executed_op_shared_stsm.sum"), 1) << stride;
  EXPECT_EQ(m.at("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum"), wavefronts) << stride;
  EXPECT_EQ(m.at("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum"), wavefronts) << stride;
}

TEST(Ptx, LoadsAndStoresMatrices) {
  // A matrix takes one wavefront if its 8 rows are in different banks: rows of 16 bytes, or 16 bytes more than 128.
  expect_matrices<1, false>(8, 1);
  expect_matrices<1, true>(8, 1);
  expect_matrices<2, false>(72, 2);
  expect_matrices<2, true>(72, 2);
  expect_matrices<4, false>(8, 4);
  expect_matrices<4, true>(8, 4);
  // Rows 128 bytes apart: 8 conflicts each. 32 bytes apart: 2.
  expect_matrices<1, false>(64, 8);
  expect_matrices<4, false>(64, 32);
  expect_matrices<4, true>(16, 8);
}

/// Runs the kernel on the registers of fragments; c holds the sums, on input and on output.
template <class Kernel>
void run_fragments(Kernel kernel, const std::vector<uint32_t>& a, const std::vector<uint32_t>& b,
                   std::vector<uint32_t>& c, int instructions) {
  managed<uint32_t> da(a.size()), db(b.size()), dc(c.size());
  std::memcpy(da, a.data(), 4 * a.size());
  std::memcpy(db, b.data(), 4 * b.size());
  std::memcpy(dc, c.data(), 4 * c.size());
  const auto counts = counted([&] { kernel<<<1, 32>>>(dc, da, db); });
  EXPECT_EQ(counts.metrics.at("sm__inst_executed_pipe_tensor.sum"), instructions);
  std::memcpy(c.data(), dc, 4 * c.size());
}

/// d += a b by one instruction, whose fragments have na, nb and nc registers.
#define FRAGMENT_KERNEL(name, na, nb, nc, ...)                              \
  __global__ void name(uint32_t* c, const uint32_t* a, const uint32_t* b) { \
    uint32_t ra[na], rb[nb], rc[nc];                                        \
    for (int i = 0; i < na; ++i) ra[i] = a[threadIdx.x * na + i];           \
    for (int i = 0; i < nb; ++i) rb[i] = b[threadIdx.x * nb + i];           \
    for (int i = 0; i < nc; ++i) rc[i] = c[threadIdx.x * nc + i];           \
    __VA_ARGS__;                                                            \
    for (int i = 0; i < nc; ++i) c[threadIdx.x * nc + i] = rc[i];           \
  }
// clang-format off
FRAGMENT_KERNEL(f16_k16, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(bf16_k16, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(s8_k32, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(u8s8_k32, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(s4_k64, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(e4m3_k32, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(e5m2_k32, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(tf32_k8, 4, 2, 4, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(f16_k8, 2, 1, 4, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
FRAGMENT_KERNEL(bf16_k8, 2, 1, 4, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
FRAGMENT_KERNEL(tf32_k4, 2, 1, 4, asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
FRAGMENT_KERNEL(s8_k16, 2, 1, 4, asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
FRAGMENT_KERNEL(s4_k32, 2, 1, 4, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                : "+r"(rc[0]), "+r"(rc[1]), "+r"(rc[2]), "+r"(rc[3]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
FRAGMENT_KERNEL(f16_f16_k16, 4, 2, 2, asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
                : "+r"(rc[0]), "+r"(rc[1]) : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1])))
FRAGMENT_KERNEL(f16_f16_k8, 2, 1, 2, asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%0, %1};"
                : "+r"(rc[0]), "+r"(rc[1]) : "r"(ra[0]), "r"(ra[1]), "r"(rb[0])))
// clang-format on

__global__ void f64_k4(double* c, const double* a, const double* b) {
  double d[2] = {c[2 * threadIdx.x], c[2 * threadIdx.x + 1]};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(a[threadIdx.x]), "d"(b[threadIdx.x]));
  c[2 * threadIdx.x] = d[0], c[2 * threadIdx.x + 1] = d[1];
}

/// An element's place, by the tables of the PTX manual: element i of the lane at place t in group g.
struct place {
  int row, column;
};
/// A register holds `in_register` elements; a lane holds `count` elements of a.
place place_of_a(int in_register, int count, int i, int g, int t) {
  const int registers = count / in_register, r = i / in_register, half = 4 * in_register;
  const bool lower = registers == 2 ? r == 1 : r == 1 || r == 3, right = registers == 4 && r >= 2;
  return {g + (lower ? 8 : 0), t * in_register + i % in_register + (right ? half : 0)};
}
place place_of_b(int in_register, int i, int g, int t) {
  return {t * in_register + i % in_register + i / in_register * 4 * in_register, g};
}
place place_of_c(int i, int g, int t) { return {g + (i < 2 ? 0 : 8), t * 2 + i % 2}; }

/// The bits of a small whole number in a format.
using encoding = uint32_t (*)(int);
uint32_t as_half(int x) { return __half_as_ushort(__half(x)); }
uint32_t as_bfloat16(int x) { return __bfloat16_as_ushort(__nv_bfloat16(static_cast<float>(x))); }
uint32_t as_tf32(int x) {
  const auto f = static_cast<float>(x);
  uint32_t bits;
  std::memcpy(&bits, &f, 4);
  return bits | 0x1fff;  // these bits are not read
}
uint32_t as_e4m3(int x) { return __nv_fp8_e4m3(static_cast<float>(x)).__x; }
uint32_t as_e5m2(int x) { return __nv_fp8_e5m2(static_cast<float>(x)).__x; }
uint32_t as_byte(int x) { return static_cast<uint8_t>(x); }
uint32_t as_nibble(int x) { return static_cast<uint32_t>(x) & 15; }
uint32_t as_int(int x) { return static_cast<uint32_t>(x); }
uint32_t as_float(int x) { return as_tf32(x) & ~0x1fffu; }

template <class Kernel>
void expect_product(const char* name, Kernel kernel, int k, encoding element, int bits, encoding sum, int sum_bits,
                    bool a_is_unsigned = false) {
  SCOPED_TRACE(name);
  constexpr int m = 16, n = 8;
  std::mt19937 random(7);
  std::vector<int> a(m * k), b(k * n), c(m * n);
  for (int& x : a) x = static_cast<int>(random() % 5) - (a_is_unsigned ? 0 : 2);
  for (int& x : b) x = static_cast<int>(random() % 5) - 2;
  for (int& x : c) x = static_cast<int>(random() % 9) - 4;
  const int in_register = 32 / bits, count_a = m * k / 32, count_b = k * n / 32, sums_in_register = 32 / sum_bits;
  std::vector<uint32_t> ra(m * k * bits / 32), rb(k * n * bits / 32), rc(m * n * sum_bits / 32);
  const auto put = [&](std::vector<uint32_t>& registers, int lane, int per_lane, int in_one, int i, uint32_t value) {
    registers[lane * (per_lane / in_one) + i / in_one] |= value << (32 / in_one * (i % in_one));
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < count_a; ++i) {
      const place p = place_of_a(in_register, count_a, i, g, t);
      put(ra, lane, count_a, in_register, i, element(a[p.row * k + p.column]));
    }
    for (int i = 0; i < count_b; ++i) {
      const place p = place_of_b(in_register, i, g, t);
      put(rb, lane, count_b, in_register, i, element(b[p.row * n + p.column]));
    }
    for (int i = 0; i < 4; ++i) {
      const place p = place_of_c(i, g, t);
      put(rc, lane, 4, sums_in_register, i, sum(c[p.row * n + p.column]));
    }
  }
  const bool in_two = bits == 4 || element == as_e4m3 || element == as_e5m2;  // as on an H200
  run_fragments(kernel, ra, rb, rc, in_two ? 2 : 1);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) {
      const place p = place_of_c(i, lane / 4, lane % 4);
      int total = c[p.row * n + p.column];
      for (int j = 0; j < k; ++j) total += a[p.row * k + j] * b[j * n + p.column];
      const uint32_t mask = sum_bits == 32 ? ~0u : 0xffffu;
      EXPECT_EQ(
          rc[lane * (4 / sums_in_register) + i / sums_in_register] >> sum_bits % 32 * (i % sums_in_register) & mask,
          sum(total))
          << p.row << " " << p.column;
    }
}

TEST(Ptx, Products) {
  expect_product("f16 k16", f16_k16, 16, as_half, 16, as_float, 32);
  expect_product("f16 k8", f16_k8, 8, as_half, 16, as_float, 32);
  expect_product("f16 sums k16", f16_f16_k16, 16, as_half, 16, as_half, 16);
  expect_product("f16 sums k8", f16_f16_k8, 8, as_half, 16, as_half, 16);
  expect_product("bf16 k16", bf16_k16, 16, as_bfloat16, 16, as_float, 32);
  expect_product("bf16 k8", bf16_k8, 8, as_bfloat16, 16, as_float, 32);
  expect_product("tf32 k8", tf32_k8, 8, as_tf32, 32, as_float, 32);
  expect_product("tf32 k4", tf32_k4, 4, as_tf32, 32, as_float, 32);
  expect_product("s8 k32", s8_k32, 32, as_byte, 8, as_int, 32);
  expect_product("s8 k16", s8_k16, 16, as_byte, 8, as_int, 32);
  expect_product("u8 k32", u8s8_k32, 32, as_byte, 8, as_int, 32, true);
  expect_product("s4 k64", s4_k64, 64, as_nibble, 4, as_int, 32);
  expect_product("s4 k32", s4_k32, 32, as_nibble, 4, as_int, 32);
  expect_product("e4m3 k32", e4m3_k32, 32, as_e4m3, 8, as_float, 32);
  expect_product("e5m2 k32", e5m2_k32, 32, as_e5m2, 8, as_float, 32);
}

TEST(Ptx, ProductOfDoubles) {
  managed<double> a(32), b(32), c(64);
  for (int i = 0; i < 32; ++i) a[i] = 1.0 / (i + 1), b[i] = i - 7.5, c[2 * i] = i, c[2 * i + 1] = -i;
  std::vector<double> before(static_cast<double*>(c), static_cast<double*>(c) + 64);
  const auto counts = counted([&] { f64_k4<<<1, 32>>>(c, a, b); });
  EXPECT_EQ(counts.metrics.at("sm__ops_path_tensor_src_fp64.sum"), 2 * 8 * 8 * 4);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) {
      const int at = (row * 4 + column / 2) * 2 + column % 2;
      double sum = before[at];
      for (int k = 0; k < 4; ++k) sum += a[row * 4 + k] * b[column * 4 + k];
      EXPECT_NEAR(c[at], sum, 1e-12) << row << " " << column;
    }
}

// ---- warps and barriers

__global__ void warp_functions(unsigned* out) {
  const unsigned t = threadIdx.x;
  unsigned r[10], inside;
  asm volatile("shfl.sync.bfly.b32 %0, %1, 5, 0x1f, 0xffffffff;" : "=r"(r[0]) : "r"(t * t));
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1c1f, 0xffffffff;" : "=r"(r[1]) : "r"(t), "r"(1));
  asm volatile("{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 3, 0x0, 0xffffffff; selp.u32 %1, 1, 0, p; }"
               : "=r"(r[2]), "=r"(inside)
               : "r"(t));
  r[3] = inside;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, 0xffffffff;" : "=r"(r[4]) : "r"(t + 100), "r"(t / 2));
  asm volatile("{ .reg .pred p; setp.lt.u32 p, %1, 9; vote.sync.ballot.b32 %0, p, 0xffffffff; }" : "=r"(r[5]) : "r"(t));
  asm volatile("{ .reg .pred p, q; setp.lt.u32 p, %1, 99; vote.sync.all.pred q, p, 0xffffffff; selp.u32 %0, 1, 0, q; }"
               : "=r"(r[6])
               : "r"(t));
  asm volatile("redux.sync.add.s32 %0, %1, 0xffffffff;" : "=r"(r[7]) : "r"(t));
  asm volatile("{ .reg .pred p; elect.sync _|p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(r[8]) : "r"(0xffffffffu));
  asm volatile("match.any.sync.b32 %0, %1, 0xffffffff;" : "=r"(r[9]) : "r"(t % 3));
  for (int i = 0; i < 10; ++i) out[t * 10 + i] = r[i];
}

TEST(Ptx, WarpFunctions) {
  managed<unsigned> out(320);
  counted([&] { warp_functions<<<1, 32>>>(out); });
  for (unsigned t = 0; t < 32; ++t) {
    unsigned same = 0;
    for (unsigned i = t % 3; i < 32; i += 3) same |= 1u << i;
    const unsigned expected[] = {
        (t ^ 5) * (t ^ 5), t % 4 == 3 ? t : t + 1, t < 3 ? t : t - 3, t >= 3, t / 2 + 100, 0x1ff, 1, 496, t == 0, same};
    for (int i = 0; i < 10; ++i) EXPECT_EQ(out[t * 10 + i], expected[i]) << t << " " << i;
  }
}

/// Warp 0 fills a buffer that warps 1 and 2 read: barrier 1 says that it is full, barrier 2 that it is empty again.
/// Warp 3 takes no part.
__global__ void producer_and_consumers(int* sums, int rounds) {
  __shared__ int buffer[32];
  const int t = threadIdx.x;
  int sum = 0;
  if (t < 32) {
    for (int i = 0; i < rounds; ++i) {
      if (i > 0) asm volatile("bar.sync 2, 96;" ::: "memory");
      buffer[t] = t * i;
      asm volatile("barrier.cta.arrive %0, %1;" ::"r"(1), "r"(96) : "memory");
    }
    asm volatile("bar.sync 2, 96;" ::: "memory");
  } else if (t < 96) {
    for (int i = 0; i < rounds; ++i) {
      asm volatile("bar.sync 1, 96;" ::: "memory");
      for (int j = 0; j < 32; ++j) sum += buffer[(j + t) % 32];
      asm volatile("bar.arrive 2, 96;" ::: "memory");
    }
  }
  asm volatile("barrier.sync 0;" ::: "memory");
  sums[t] = sum;
}

TEST(Ptx, NamedBarriers) {
  managed<int> sums(128);
  const auto counts = counted([&] { producer_and_consumers<<<1, 128>>>(sums, 5); });
  for (int t = 0; t < 128; ++t) EXPECT_EQ(sums[t], t >= 32 && t < 96 ? 496 * 10 : 0) << t;
  EXPECT_EQ(counts.metrics.at("sm__inst_executed_op_barrier.sum"), 5 + 5 + 4 * 5 + 4);
}

/// Two stages of copies by warp 0, each with a barrier in shared memory; its readers wait for the parity of a phase.
__global__ void copies_with_barriers(int* out, const int* in, int rounds) {
  __shared__ __align__(16) int stage[2][128];
  __shared__ __align__(8) uint64_t full[2], empty[2];
  const int t = threadIdx.x;
  if (t == 0)
    for (int i = 0; i < 2; ++i) {
      asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(full + i)), "r"(32) : "memory");
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(empty + i)), "r"(64) : "memory");
    }
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  __syncthreads();
  const auto wait = [](uint64_t* barrier, int parity) {
    asm volatile(
        "{\n\t.reg .pred done;\n\t"
        "LAB_WAIT:\n\t"
        "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t"
        "@done bra.uni DONE;\n\t"
        "bra.uni LAB_WAIT;\n\t"
        "DONE:\n\t}" ::"r"(shared_address(barrier)),
        "r"(parity)
        : "memory");
  };
  for (int i = 0; i < rounds; ++i) {
    const int s = i % 2, parity = i / 2 % 2;
    if (t < 32) {
      wait(empty + s, parity ^ 1);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(&stage[s][4 * t])),
                   "l"(in + 128 * i + 4 * t)
                   : "memory");
      asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(full + s)) : "memory");
    } else {
      wait(full + s, parity);
      for (int j = 0; j < 2; ++j) out[128 * i + (t - 32) * 2 + j] = stage[s][127 - (t - 32) * 2 - j] + 1;
      uint64_t state;
      asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1];"
                   : "=l"(state)
                   : "r"(shared_address(empty + s))
                   : "memory");
    }
  }
}

TEST(Ptx, BarriersInSharedMemory) {
  constexpr int rounds = 7, n = 128 * rounds;
  managed<int> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = 3 * i;
  const auto counts = counted([&] { copies_with_barriers<<<1, 96>>>(out, in, rounds); });
  for (int i = 0; i < n; ++i) EXPECT_EQ(out[i], 3 * (i / 128 * 128 + 127 - i % 128) + 1) << i;
  EXPECT_EQ(counts.metrics.at("smsp__inst_executed_op_ldgsts.sum"), rounds);
}

// In the style of moderngpu: a macro makes functions from its arguments.
#define DEVICE __device__ inline
#define SCAN_STEP(name, direction, type, r, op)                     \
  DEVICE int name(int x, int offset, int mask) {                    \
    int result;                                                     \
    asm("{ .reg .b32 r0; .reg .pred p;"                             \
        " shfl.sync." #direction                                    \
        ".b32 r0|p, %1, %2, %3, -1;"                                \
        " @p " #op "." #type " r0, r0, %1; mov." #type " %0, r0; }" \
        : "=" #r(result)                                            \
        : #r(x), "r"(offset), "r"(mask));                           \
    return result;                                                  \
  }
SCAN_STEP(add_up, up, s32, r, add)
SCAN_STEP(most_up, up, s32, r, max)
#define QUOTED(x) #x
#define TEXT(x) QUOTED(x)
#define REGISTER laneid

__global__ void scans(int* sums, int* most) {
  int lane, sum = 1;
  asm("mov.u32 %0, %%" TEXT(REGISTER) ";" : "=r"(lane));
  int largest = lane == 9 ? 50 : lane;
  for (int offset = 1; offset < 32; offset *= 2) {
    sum = add_up(sum, offset, 0);
    largest = most_up(largest, offset, 0);
  }
  sums[lane] = sum;
  most[lane] = largest;
}

TEST(Ptx, AssembledByMacros) {
  managed<int> sums(32), most(32);
  counted([&] { scans<<<1, 32>>>(sums, most); });
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(sums[i], i + 1);
    EXPECT_EQ(most[i], i < 9 ? i : 50);
  }
}

}  // namespace
