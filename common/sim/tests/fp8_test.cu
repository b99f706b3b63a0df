// cuda_fp8.h and cuda_fp4.h: every number of each format, and conversions from floats, doubles, halves and bfloat16s.
// The hashes were computed on a CPU with nvcc 13.0 and NVIDIA's own header: `nvcc -std=c++20 -DPRINT_HASHES fp8_test.cu
// && ./a.out`.
#include <cuda_fp4.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#ifndef PRINT_HASHES
#include <gtest/gtest.h>
#endif

namespace {

struct hash {  // FNV-1a
  std::uint64_t value = 0xcbf29ce484222325u;
  __host__ __device__ void add(std::uint64_t what) {
    for (int i = 0; i < 8; ++i) value = (value ^ (what >> 8 * i & 0xff)) * 0x100000001b3u;
  }
};

template <class To, class From>
__host__ __device__ To same_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

constexpr int hashes = 11;

template <__nv_fp8_interpretation_t as>
__host__ __device__ void conversions(hash* h) {
  for (const auto saturate : {__NV_NOSAT, __NV_SATFINITE}) {
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
      const auto bits = static_cast<unsigned short>(i);
      __half_raw half;
      half.x = bits;
      h[0].add(__nv_cvt_halfraw_to_fp8(half, saturate, as));
      __nv_bfloat16_raw bfloat;
      bfloat.x = bits;
      h[1].add(__nv_cvt_bfloat16raw_to_fp8(bfloat, saturate, as));
      // Also bits that decide ties.
      for (const std::uint32_t rest : {0x0000u, 0x0001u, 0x8000u})
        h[2].add(__nv_cvt_float_to_fp8(same_bits<float>(i << 16 | rest), saturate, as));
      // Exponents around the format's range, and mantissas with every combination of last kept and first lost bits.
      const std::uint64_t exponent = 1023 - 32 + (i >> 10), sign = i & 1;
      const std::uint64_t wide = sign << 63 | exponent << 52 | std::uint64_t{i >> 1 & 0x1ff} << 43 | (i % 3 == 0);
      h[3].add(__nv_cvt_double_to_fp8(same_bits<double>(wide), saturate, as));
    }
    for (const std::uint64_t wide : std::initializer_list<std::uint64_t>{
             0x7ff0000000000000u, 0xfff0000000000000u, 0x7ff8000000000000u, 0xfff4000000000000u, 0x0000000000000001u,
             0x8000000000000000u, 0x7fefffffffffffffu})
      h[3].add(__nv_cvt_double_to_fp8(same_bits<double>(wide), saturate, as));
  }
}

template <class one, class two, class four, __nv_fp8_interpretation_t as>
__host__ __device__ void types(hash* h) {
  for (int i = 0; i < 256; ++i) {
    one x;
    x.__x = static_cast<__nv_fp8_storage_t>(i);
    h[4].add(__nv_cvt_fp8_to_halfraw(x.__x, as).x);
    h[4].add(same_bits<std::uint32_t>(static_cast<float>(x)) &
             (static_cast<float>(x) == static_cast<float>(x) ? ~0u : 0));
    h[4].add(static_cast<bool>(x));
    if ((i & 0x7f) < 0x7c) {  // finite in both formats
      h[5].add(static_cast<std::uint64_t>(static_cast<int>(x)));
      h[5].add(static_cast<std::uint64_t>(static_cast<unsigned char>(x)));
      h[5].add(static_cast<std::uint64_t>(static_cast<short>(x)));
      h[5].add(static_cast<std::uint64_t>(static_cast<unsigned>(x)));
      h[5].add(static_cast<std::uint64_t>(static_cast<long long>(x)));
    }
    h[6].add(one(i * 3 - 300).__x);
    h[6].add(one(static_cast<unsigned long long>(i) << (i % 40)).__x);
    h[6].add(one(i * 1.37 - 100).__x);
    h[6].add(two(make_float2(i * 0.01f, -3.0f * i)).__x);
    const four all(make_float4(i * 0.3f, 2.0f, -i * 1e-3f, i * 250.0f));
    h[6].add(all.__x);
    const auto back = static_cast<float4>(all);
    h[6].add(same_bits<std::uint32_t>(back.x + back.y + back.z + back.w));
    h[6].add(two(__floats2half2_rn(i * 0.7f, i * 1e-2f)).__x);
  }
}

__host__ __device__ void four_bits(hash* h) {
  for (const auto rounding : {cudaRoundNearest, cudaRoundZero})
    for (std::uint32_t i = 0; i < 0x10000; ++i) {
      __half_raw half;
      half.x = static_cast<unsigned short>(i);
      if (rounding == cudaRoundNearest) h[7].add(__nv_cvt_halfraw_to_fp4(half, __NV_E2M1, rounding));
      __nv_bfloat16_raw bfloat;
      bfloat.x = static_cast<unsigned short>(i);
      if (rounding == cudaRoundNearest) h[7].add(__nv_cvt_bfloat16raw_to_fp4(bfloat, __NV_E2M1, rounding));
      for (const std::uint32_t rest : {0x0000u, 0x0001u, 0x8000u}) {
        const auto x = same_bits<float>(i << 16 | rest);
        if (rounding == cudaRoundNearest) h[7].add(__nv_cvt_float_to_fp4(x, __NV_E2M1, rounding));
        h[7].add(__nv_cvt_double_to_fp4(x, __NV_E2M1, rounding));
      }
    }
  for (int i = 0; i < 256; ++i) {
    __nv_fp4x2_e2m1 two;
    two.__x = static_cast<__nv_fp4x2_storage_t>(i);
    const auto floats = static_cast<float2>(two);
    h[8].add(same_bits<std::uint32_t>(floats.x));
    h[8].add(same_bits<std::uint32_t>(floats.y));
    h[8].add(__nv_fp4_e2m1(i * 0.37 - 40).__x);
    h[8].add(__nv_fp4_e2m1(i - 100).__x);
    h[8].add(__nv_fp4x2_e2m1(make_float2(i * 0.03f, i * -0.02f)).__x);
    h[8].add(__nv_fp4x4_e2m1(make_float4(i * 0.03f, i * -0.02f, 1.3f, -i * 0.1f)).__x);
    __nv_fp4_e2m1 one;
    one.__x = static_cast<__nv_fp4_storage_t>(i & 15);
    h[8].add(static_cast<std::uint64_t>(static_cast<int>(one)));
    h[8].add(static_cast<bool>(one));
  }
}

__host__ __device__ void scales(hash* h) {
  for (const auto saturate : {__NV_NOSAT, __NV_SATFINITE})
    for (const auto rounding : {cudaRoundZero, cudaRoundPosInf})
      for (std::uint32_t i = 0; i < 0x10000; ++i) {
        __nv_bfloat16_raw bfloat;
        bfloat.x = static_cast<unsigned short>(i);
        h[9].add(__nv_cvt_bfloat16raw_to_e8m0(bfloat, saturate, rounding));
        for (const std::uint32_t rest : {0x0000u, 0x0001u, 0x8000u})
          h[9].add(__nv_cvt_float_to_e8m0(same_bits<float>(i << 16 | rest), saturate, rounding));
        const std::uint64_t wide = std::uint64_t{i & 1} << 63 | std::uint64_t{1023 - 140 + (i >> 7)} << 52 |
                                   std::uint64_t{i >> 1 & 0x3f} << 46 | (i % 3 == 0);
        h[9].add(__nv_cvt_double_to_e8m0(same_bits<double>(wide), saturate, rounding));
      }
  for (int i = 0; i < 256; ++i) {
    h[10].add(__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(i)).x);
    h[10].add(__nv_fp8_e8m0(i * 0.7f).__x);
  }
}

__host__ __device__ void all_of_them(hash* h) {
  four_bits(h);
  scales(h);
  conversions<__NV_E4M3>(h);
  conversions<__NV_E5M2>(h);
  types<__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3, __NV_E4M3>(h);
  types<__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2, __NV_E5M2>(h);
}

#ifndef PRINT_HASHES
constexpr const char* names[hashes] = {"from half",
                                       "from bfloat16",
                                       "from float",
                                       "from double",
                                       "to half, float and bool",
                                       "to integers",
                                       "from numbers, pairs and fours",
                                       "to 4 bits",
                                       "4 bits in pairs and fours",
                                       "to scales",
                                       "from scales"};
constexpr std::uint64_t nvidia[hashes] = {0xe6edf286a35efb25u, 0xa4b49fd5baa0e625u, 0x5cc10e6690f9ec25u,
                                          0x746dfa9d76753882u, 0xeb84b15bfdac7279u, 0x200d4de7167e4d87u,
                                          0x08a0eb3f828686b7u, 0x31f411f93bb47c2du, 0xad2eaad5e709871au,
                                          0x45d0c2dd85e9dc84u, 0x5e3abbb09a3b78dau};

TEST(Fp8, MatchesNvidiasHeaderBitForBit) {
  hash h[hashes];
  all_of_them(h);
  for (int i = 0; i < hashes; ++i) EXPECT_EQ(h[i].value, nvidia[i]) << names[i];
}

__global__ void scale(__nv_fp8x4_e4m3* out, const __nv_fp8x4_e4m3* in, float by) {
  const auto x = static_cast<float4>(in[threadIdx.x]);
  out[threadIdx.x] = __nv_fp8x4_e4m3(make_float4(by * x.x, by * x.y, by * x.z, by * x.w));
}

TEST(Fp8, AVectorOfFourIsOneAccess) {
  __nv_fp8x4_e4m3 *in, *out, host[32];
  for (int i = 0; i < 32; ++i) host[i] = __nv_fp8x4_e4m3(make_float4(1.0f * i, 2.0f * i, 0.5f, -4.0f));
  ASSERT_EQ(cudaMalloc(&in, sizeof host), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&out, sizeof host), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(in, host, sizeof host, cudaMemcpyDefault), cudaSuccess);
  scale<<<1, 32>>>(out, in, 2.0f);
  ASSERT_EQ(cudaMemcpy(host, out, sizeof host, cudaMemcpyDefault), cudaSuccess);
  const auto last = static_cast<float4>(host[31]);
  EXPECT_EQ(last.x, 64.0f);  // 31 was rounded to 32
  EXPECT_EQ(last.y, 128.0f);
  EXPECT_EQ(last.z, 1.0f);
  EXPECT_EQ(last.w, -8.0f);
  cudaFree(in), cudaFree(out);
}
#endif

}  // namespace

#ifdef PRINT_HASHES
int main() {
  hash h[hashes];
  all_of_them(h);
  for (const hash& one : h) std::printf("0x%016llxu,\n", static_cast<unsigned long long>(one.value));
}
#endif
