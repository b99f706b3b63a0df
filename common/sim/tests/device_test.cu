// The simulated device as a CUDA program sees it: its results, its counts, its reports.
#include <strings.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <cwchar>
#include <map>
#include <set>

#include "device_test.hpp"

#include <sim/counters.hpp>

namespace {

double loads(const counts& c) {
  return metric(c, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio");
}
double stores(const counts& c) {
  return metric(c, "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio");
}

using Sectors = DeviceTest;
using Banks = DeviceTest;
using Warps = DeviceTest;
using Blocks = DeviceTest;
using Checkers = DeviceTest;
using Runtime = DeviceTest;

// ---- sectors --------------------------------------------------------------------------------------------------------

__global__ void copy(float* out, const float* in, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride + offset];
}

double copy_loads(int stride, int offset) {
  const on_device<float> in(ramp(4096 * 64)), out(4096);
  const counts c = observe([&] { copy<<<16, 256>>>(out.data, in.data, 4096, stride, offset); });
  EXPECT_EQ(stores(c), 4);
  EXPECT_TRUE(c.reports.empty());
  return loads(c);
}

TEST_F(Sectors, ScalarLoadsByStrideAndOffset) {
  EXPECT_EQ(copy_loads(1, 0), 4);
  EXPECT_EQ(copy_loads(1, 1), 5);
  EXPECT_EQ(copy_loads(1, 8), 4);
  EXPECT_EQ(copy_loads(2, 0), 8);
  EXPECT_EQ(copy_loads(3, 0), 12);
  EXPECT_EQ(copy_loads(8, 0), 32);
  EXPECT_EQ(copy_loads(32, 0), 32);
  EXPECT_EQ(copy_loads(0, 5), 1);  // a broadcast
}

template <class T>
__global__ void copy_as(T* out, const T* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  T value = in[i];
  value.x += 1;
  out[i] = value;
}

__device__ float squashed(float x) { return 1 / (1 + expf(-x)); }
__device__ float4 squashed(float4 v) { return make_float4(squashed(v.x), squashed(v.y), squashed(v.z), squashed(v.w)); }
__global__ void squash(float4* out, const float4* in) { out[threadIdx.x] = squashed(in[threadIdx.x]); }
__global__ void squash_twice(float4* out, const float4* in) { out[threadIdx.x] = squashed(squashed(in[threadIdx.x])); }

TEST_F(Sectors, VectorsAsArgumentsAndResultsAreAccesses) {
#ifdef __clang__
  GTEST_SKIP() << "clang hands a float4 over in halves";
#endif
  const on_device<float> in(ramp(128)), out(128);
  const counts c = observe([&] { squash<<<1, 32>>>((float4*)out.data, (const float4*)in.data); });
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 16);
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 16);
  const counts twice = observe([&] { squash_twice<<<1, 32>>>((float4*)out.data, (const float4*)in.data); });
  EXPECT_EQ(metric(twice, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 16);
  EXPECT_EQ(metric(twice, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 16);
}

struct one {
  float x;
};
__device__ __attribute__((noinline)) void put(float* to, one from) { *to = from.x; }
__device__ __attribute__((noinline)) float sum_of(float4 v) { return v.x + v.y + v.z + v.w; }
__global__ void by_value(float* out, const float* in) {
  const int i = threadIdx.x;
  put(out + i, reinterpret_cast<const one*>(in)[i]);
  out[i] += sum_of(reinterpret_cast<const float4*>(in)[8 + i]);
}

TEST_F(Sectors, StructsFromMemoryByValueAreLoads) {
#ifdef __clang__
  GTEST_SKIP() << "clang hands a float4 over in halves";
#endif
  const on_device<float> in(ramp(160)), out(32);
  const counts c = observe([&] { by_value<<<1, 32>>>(out.data, in.data); });
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 4 + 16 + 4);
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_global_op_ld.sum"), 128 + 512 + 128);
}

TEST_F(Sectors, AVectorIsOneAccess) {
  const on_device<float> in(ramp(4096)), out(4096);
  const counts two = observe([&] { copy_as<<<8, 256>>>((float2*)out.data, (const float2*)in.data); });
  EXPECT_EQ(loads(two), 8);
  EXPECT_EQ(stores(two), 8);
  const counts four = observe([&] { copy_as<<<4, 256>>>((float4*)out.data, (const float4*)in.data); });
#ifdef __clang__  // splits a float4 if one component is used alone
  EXPECT_EQ(metric(four, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 4 * 32);
  EXPECT_EQ(metric(four, "smsp__sass_data_bytes_mem_global_op_ld.sum"), 16 * 1024);
#else
  EXPECT_EQ(loads(four), 16);
  EXPECT_EQ(stores(four), 16);
  EXPECT_EQ(metric(four, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 32);
#endif
  // CUDA aligns float3 to 4 bytes: three loads of 12 sectors each.
  const on_device<float> in3(ramp(3072)), out3(3072);
  const counts three = observe([&] { copy_as<<<4, 256>>>((float3*)out3.data, (const float3*)in3.data); });
  EXPECT_EQ(metric(three, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 96);
  EXPECT_EQ(loads(three), 12);
}

// Builds pairs in place, by name or with braces alone; from variables and constants.
__global__ void build_pairs(float2* out) {
  const float x = threadIdx.x;
  out[threadIdx.x] = float2{x, x + 1};
}
__global__ void build_fours(float4* out) {
  const float x = threadIdx.x;
  out[threadIdx.x] = {x, x + 1, x + 2, x + 3};
}
__global__ void build_zeros(int4* out) { out[threadIdx.x] = {}; }

TEST_F(Sectors, AVectorBuiltInPlaceIsOneStore) {
  static_assert(std::is_trivially_copyable_v<float4> && std::is_aggregate_v<float4>);
#ifdef __clang__
  GTEST_SKIP() << "clang stores a vector that is built of single values in parts";
#endif
  const char* const requests = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum";
  const on_device<float> out(128);
  EXPECT_EQ(metric(observe([&] { build_pairs<<<1, 32>>>((float2*)out.data); }), requests), 1);
  EXPECT_EQ(metric(observe([&] { build_fours<<<1, 32>>>((float4*)out.data); }), requests), 1);
  EXPECT_EQ(out.host()[126], 33);
  EXPECT_EQ(metric(observe([&] { build_zeros<<<1, 32>>>((int4*)out.data); }), requests), 1);
  EXPECT_EQ(out.host()[126], 0);
}

__global__ void half_the_lanes(float* out) {
  if (threadIdx.x % 32 < 16)
    out[threadIdx.x] = 1;
  else
    out[threadIdx.x] = 2;
}

TEST_F(Sectors, BranchesMakeTwoRequests) {
  const on_device<float> out(64);
  const counts c = observe([&] { half_the_lanes<<<1, 64>>>(out.data); });
  // clang used to leave a kernel without inlined functions out of its table of addresses.
  for (const auto& line : c.launches.at(0).lines) EXPECT_NE(line.file.find("device_test.cu"), std::string::npos);
  // g++ may merge the two stores into one; nvcc predicates them. The sectors are the same either way.
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), 8);
}

__global__ void unequal_loops(float* out) {
  const int lane = threadIdx.x;
  for (int i = 0; i <= lane % 4; ++i) out[i * 32 + lane] = 1;
}

TEST_F(Sectors, LanesThatLeaveALoopEarly) {
  const on_device<float> out(128);
  const counts c = observe([&] { unequal_loops<<<1, 32>>>(out.data); });
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), 4);
}

__global__ void long_loop(const float* in, float* out, int n) {
  float sum = 0;
  for (int i = 0; i < n + static_cast<int>(threadIdx.x) % 2 * 100; ++i) sum += in[i * 32 + threadIdx.x];
  out[threadIdx.x] = sum;
}

__global__ void unequal_inner_loops(float* out, const float* in) {
  const int lane = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < (lane < 16 ? 1 : 2); ++j) sum += in[(i * 2 + j) * 32 + lane];
  out[lane] = sum;
}

TEST_F(Sectors, LanesReconvergeAfterInnerLoops) {
  const on_device<float> in(ramp(256)), out(32);
  const counts c = observe([&] { unequal_inner_loops<<<1, 32>>>(out.data, in.data); });
  // Each turn of the outer loop: all lanes, 4 sectors; then half of them, 2.
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 8);
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 24);
  EXPECT_EQ(metric(c, "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"), 4 * (16 + 2 * 16));
  const double lanes = metric(c, "smsp__thread_inst_executed_per_inst_executed.ratio");
  EXPECT_GT(lanes, 20);
  EXPECT_LT(lanes, 32);
}

__device__ __noinline__ float in_a_function(const float* in, int i) { return in[i] + in[i + 32]; }
__global__ void calls_in_branches(float* out, const float* in) {
  const int lane = threadIdx.x;
  float x = 0;
  if (lane % 2 == 0) x = in_a_function(in, lane);
  out[lane] = x;
}

TEST_F(Sectors, LanesReconvergeAfterCalls) {
  const on_device<float> in(ramp(64)), out(32);
  const counts c = observe([&] { calls_in_branches<<<1, 32>>>(out.data, in.data); });
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 2);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), 1);
}

__global__ void multiply(float* c, const float* a, const float* b, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

TEST_F(Sectors, MatmulsFlopsAreCounted) {
  const on_device<float> a(ramp(64 * 64)), b(ramp(64 * 64)), out(64 * 64);
  const counts c = observe([&] { multiply<<<dim3(4, 4), dim3(16, 16)>>>(out.data, a.data, b.data, 64); });
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
  EXPECT_EQ(metric(c, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 64 * 64 * 64);
#endif
  EXPECT_EQ(metric(c, "smsp__thread_inst_executed_per_inst_executed.ratio"), 32);
}

TEST_F(Sectors, MoreAccessesThanARecordHolds) {
  const on_device<float> in(ramp(3100 * 32)), out(32);
  const counts c = observe([&] { long_loop<<<1, 32>>>(in.data, out.data, 3000); });
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 3100);
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 3100 * 4);
  EXPECT_EQ(metric(c, "dram__bytes_read.sum"), 3100 * 128);
}

// ---- transposes -----------------------------------------------------------------------------------------------------

__global__ void transpose_naive(float* out, const float* in, int rows, int columns) {
  const int c = blockIdx.x * 32 + threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8) {
    const int r = blockIdx.y * 32 + k;
    if (r < rows && c < columns) out[c * rows + r] = in[r * columns + c];
  }
}

template <int pitch>
__global__ void transpose_tiled(float* out, const float* in, int rows, int columns) {
  __shared__ float tile[32][pitch];
  const int c0 = blockIdx.x * 32, r0 = blockIdx.y * 32, lane = threadIdx.x;
  for (int k = threadIdx.y; k < 32; k += 8)
    if (r0 + k < rows && c0 + lane < columns) tile[k][lane] = in[(r0 + k) * columns + c0 + lane];
  __syncthreads();
  for (int k = threadIdx.y; k < 32; k += 8)
    if (c0 + k < columns && r0 + lane < rows) out[(c0 + k) * rows + r0 + lane] = tile[lane][k];
}

TEST_F(Banks, TransposesAsTheHardwareCountsThem) {
  const int n = 256;
  const std::vector<float> values = ramp(n * n);
  const on_device<float> in(values), out(n * n);
  const dim3 grid(n / 32, n / 32), block(32, 8);
  const std::string conflicts = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum";
  const counts naive = observe([&] { transpose_naive<<<grid, block>>>(out.data, in.data, n, n); });
  EXPECT_EQ(loads(naive), 4);
  EXPECT_EQ(stores(naive), 32);
  const counts tiled = observe([&] { transpose_tiled<32><<<grid, block>>>(out.data, in.data, n, n); });
  EXPECT_EQ(loads(tiled), 4);
  EXPECT_EQ(stores(tiled), 4);
  EXPECT_EQ(metric(tiled, conflicts), 31 * n * n / 32);
  const counts padded = observe([&] { transpose_tiled<33><<<grid, block>>>(out.data, in.data, n, n); });
  EXPECT_EQ(loads(padded), 4);
  EXPECT_EQ(stores(padded), 4);
  EXPECT_EQ(metric(padded, conflicts), 0);
  const std::vector<float> result = out.host();
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) ASSERT_EQ(result[c * n + r], values[r * n + c]);
}

TEST_F(Banks, CountsAreByLine) {
  const on_device<float> in(ramp(1024)), out(1024);
  const counts c = observe([&] { transpose_tiled<32><<<dim3(1, 1), dim3(32, 8)>>>(out.data, in.data, 32, 32); });
  ASSERT_EQ(c.launches.size(), 1u);
  int worst_line = 0;
  for (const auto& line : c.launches[0].lines)
    if (line.operation == "shared load") {
      worst_line = line.line;
      EXPECT_NE(line.file.find("device_test.cu"), std::string::npos);
      EXPECT_EQ(line.wavefronts, 32u * line.requests);
    }
  EXPECT_GT(worst_line, 0);
}

__global__ void hinted(float4* out, const float4* in) {
  __stcs(out + threadIdx.x, __ldcs(in + threadIdx.x));  // line of `hinted`
}

TEST_F(Sectors, CacheHintsCountAtTheCallersLine) {
  const on_device<float> in(ramp(128)), out(128);
  const counts c = observe([&] { hinted<<<1, 32>>>((float4*)out.data, (const float4*)in.data); });
  EXPECT_EQ(loads(c), 16);
  EXPECT_EQ(stores(c), 16);
  for (const auto& line : c.launches.at(0).lines) EXPECT_NE(line.file.find("device_test.cu"), std::string::npos);
}

struct row {
  float x[8];
};
__global__ void copy_bytes(float* out, const float* in) {
  memcpy(out + 8 * threadIdx.x, in + 8 * threadIdx.x, 8 * sizeof(float));
  *reinterpret_cast<row*>(out + 256 + 8 * threadIdx.x) = *reinterpret_cast<const row*>(in + 256 + 8 * threadIdx.x);
}

TEST_F(Sectors, MemcpyCountsAsAccesses) {
  const on_device<float> in(ramp(512)), out(512);
  const counts c = observe([&] { copy_bytes<<<1, 32>>>(out.data, in.data); });
  EXPECT_EQ(metric(c, "dram__bytes_read.sum"), 2048);
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_global_op_st.sum"), 2048);
  EXPECT_EQ(out.host(), ramp(512));
}

__global__ void copy_rows(row* out, const row* in) {
  const row mine = in[threadIdx.x];
  out[threadIdx.x] = mine;
}

TEST_F(Sectors, CopiesOfAStructCountAtTheLineThatCopies) {
  const on_device<float> in(ramp(256)), out(256);
  const int stored = __LINE__ - 5;
  const counts c = observe([&] { copy_rows<<<1, 32>>>((row*)out.data, (const row*)in.data); });
  for (const auto& line : c.launches.at(0).lines)
    EXPECT_TRUE(line.line == stored - 1 || line.line == stored) << line.line;
  EXPECT_EQ(out.host(), ramp(256));
}

// nvcc refuses these in kernels; the host compiler does not, and an unobserved copy would meet every bar.
__global__ void copy_bytes_as_hosts_do(float* out, const float* in) {
  const int i = 8 * threadIdx.x;
  wmemcpy(reinterpret_cast<wchar_t*>(out + i), reinterpret_cast<const wchar_t*>(in + i), 8);
  bcopy(in + 256 + i, out + 256 + i, 8 * sizeof(float));
  mempcpy(out + 512 + i, in + 512 + i, 8 * sizeof(float));
  wmemset(reinterpret_cast<wchar_t*>(out + 768 + i), 0, 8);
}

TEST_F(Sectors, CopiesByFunctionsOfTheHostCountToo) {
  const on_device<float> in(ramp(768)), out(1024);
  const counts c = observe([&] { copy_bytes_as_hosts_do<<<1, 32>>>(out.data, in.data); });
  EXPECT_EQ(metric(c, "dram__bytes_read.sum"), 3 * 1024);
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_global_op_st.sum"), 4 * 1024);
  std::vector<float> want = ramp(768);
  want.resize(1024);
  EXPECT_EQ(out.host(), want);
}

__global__ void second_results(float* out, double* wide, int* whole) {
  const int i = threadIdx.x;
  const float x = 1.75f + static_cast<float>(i);
  sincosf(x, out + i, out + 32 + i);
  sincospif(x, out + 64 + i, out + 96 + i);
  __sincosf(x, out + 128 + i, out + 160 + i);
  (void)modff(x, out + 192 + i);
  (void)frexpf(x, whole + i);
  (void)remquof(x, 3, whole + 32 + i);
  sincos(x, wide + i, wide + 32 + i);
  sincospi(x, wide + 64 + i, wide + 96 + i);
  (void)modf(x, wide + 128 + i);
  (void)frexp(x, whole + 64 + i);
  (void)remquo(x, 3, whole + 96 + i);
}

TEST_F(Sectors, ResultsStoredThroughPointersCountAtTheLineThatCalls) {
  const on_device<float> out(224);
  const on_device<double> wide(160);
  const on_device<int> whole(128);
  const int last = __LINE__ - 7;
  const counts c = observe([&] { second_results<<<1, 32>>>(out.data, wide.data, whole.data); });
  EXPECT_EQ(c.reports, std::vector<std::string>{});
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_global_op_st.sum"), 4 * 224 + 8 * 160 + 4 * 128);
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"), (4 * 224 + 8 * 160 + 4 * 128) / 32);
  std::map<int, std::uint64_t> requests;
  for (const auto& line : c.launches.at(0).lines) requests[line.line] += line.requests;
  const std::map<int, std::uint64_t> two_or_one{{last - 10, 2}, {last - 9, 2}, {last - 8, 2}, {last - 7, 1},
                                                {last - 6, 1},  {last - 5, 1}, {last - 4, 2}, {last - 3, 2},
                                                {last - 2, 1},  {last - 1, 1}, {last, 1}};
  EXPECT_EQ(requests, two_or_one);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(out.host()[192 + i], 1.0f + static_cast<float>(i));
    EXPECT_EQ(out.host()[i], out.host()[128 + i]);
    EXPECT_NEAR(out.host()[i], std::sin(1.75 + i), 1e-6);
    EXPECT_NEAR(wide.host()[32 + i], std::cos(1.75 + i), 1e-12);
  }
}

TEST_F(Checkers, ResultsStoredThroughPointersStayInBounds) {
  const on_device<float> out(224);
  const on_device<double> wide(160);
  const on_device<int> whole(100);
  const std::string r = only_report(observe([&] { second_results<<<1, 32>>>(out.data, wide.data, whole.data); }));
  EXPECT_NE(r.find("global store of 4 bytes out of bounds, 0 bytes past the end"), std::string::npos) << r;
}

template <class T>
__global__ void shared_rows(T* out) {
  __shared__ T tile[128];
  tile[threadIdx.x] = T{};
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x];
}

TEST_F(Banks, WideAccessesTakeSeveralPasses) {
  const on_device<float> out(512);
  const std::string wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
  EXPECT_EQ(metric(observe([&] { shared_rows<<<1, 128>>>(out.data); }), wavefronts), 4);
  EXPECT_EQ(metric(observe([&] { shared_rows<<<1, 128>>>((float2*)out.data); }), wavefronts), 8);
  EXPECT_EQ(metric(observe([&] { shared_rows<<<1, 128>>>((float4*)out.data); }), wavefronts), 16);
}

__global__ void reads_rows(float* out) {
  __shared__ float tile[8][32];
  tile[threadIdx.y][threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 32; ++k) sum += tile[threadIdx.y][k];
  out[threadIdx.y * 32 + threadIdx.x] = sum;
}

__global__ void reads_rows_word_by_word(float* out) {
  __shared__ float tile[8][32];
  tile[threadIdx.y][threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < 32; ++k) sum += tile[threadIdx.y][k];
  out[threadIdx.y * 32 + threadIdx.x] = sum;
}

__global__ void reads_rows_of_any_length(float* out, int length) {
  extern __shared__ float tiles[];
  for (int k = threadIdx.x; k < 8 * length; k += 32) tiles[k] = 1;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < 32; ++k) sum += tiles[threadIdx.x % 8 * length + k];
  out[threadIdx.x] = sum;
}

__global__ void adds_halves(float* out) {
  __shared__ float s[32];
  s[threadIdx.x] = 1;
  for (unsigned half = 16; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = s[0];
}

// nvcc unrolls, and its assembler joins four adjacent loads into one: see matmul_tiled_unrolled in goldens/matmul.cu,
// and CUB's reductions in public programs.
TEST_F(Banks, LoadsOfNeighboursAreJoinedWhereTheirPlaceIsKnown) {
  const on_device<float> out(256);
  const std::string loads = "smsp__inst_executed_op_shared_ld.sum";
  const std::string wavefronts = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum";
  const counts joined = observe([&] { reads_rows<<<1, dim3(32, 8)>>>(out.data); });
  EXPECT_EQ(metric(joined, loads), 8 * 32 / 4);
  EXPECT_EQ(metric(joined, wavefronts), 2 * 8 * 32 / 4);
  EXPECT_EQ(out.host(), std::vector<float>(256, 32));
  EXPECT_EQ(metric(observe([&] { reads_rows_word_by_word<<<1, dim3(32, 8)>>>(out.data); }), loads), 8 * 32);
  EXPECT_EQ(metric(observe([&] { reads_rows_of_any_length<<<1, 32, 8 * 32 * 4>>>(out.data, 32); }), loads), 32);
  EXPECT_EQ(metric(observe([&] { adds_halves<<<1, 32>>>(out.data); }), loads), 2 * 5 + 1);  // s[0] and s[1] separately
}

__global__ void one_thread_stores(float* out) {
  __shared__ float s[256];
  const int t = threadIdx.x;
  s[t] = 1;
  __syncthreads();
  if (t == 0) s[33] = s[1] + 1;
  __syncthreads();
  out[t] = s[33];
}

// Seven of the eight warps pass the second store with no active lane, as in HeCBench's fpc, filter, scan2 and others.
TEST_F(Banks, PredicatedInstructionsCountForWarpsWithoutAnActiveLane) {
#ifdef __clang__
  GTEST_SKIP() << "clang's blocks are in another order";
#endif
  const on_device<float> out(256);
  const counts c = observe([&] { one_thread_stores<<<1, 256>>>(out.data); });
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_st.sum"), 8 + 8);
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_ld.sum"), 8 + 8);
  EXPECT_EQ(metric(c, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 8 + 1);
}

__global__ void dynamic_sum(float* out, const float* in) {
  extern __shared__ float buffer[];
  buffer[threadIdx.x] = in[threadIdx.x];
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) buffer[threadIdx.x] += buffer[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = buffer[0];
}

TEST_F(Blocks, DynamicSharedMemory) {
  const on_device<float> in(ramp(256)), out(1);
  const counts c = observe([&] { dynamic_sum<<<1, 256, 256 * sizeof(float)>>>(out.data, in.data); });
  EXPECT_EQ(out.host()[0], 255 * 256 / 2);
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  const counts short_of_one = observe([&] { dynamic_sum<<<1, 256, 255 * sizeof(float)>>>(out.data, in.data); });
  bool found = false;
  for (const std::string& r : short_of_one.reports)
    found |= r.find("thread (255,0,0): shared store of 4 bytes out of bounds") != std::string::npos;
  EXPECT_TRUE(found);
}

// ---- warps and blocks -----------------------------------------------------------------------------------------------

__global__ void warp_functions(int* out) {
  const int lane = threadIdx.x;
  const unsigned all = 0xffffffffu;
  out[lane] = __shfl_sync(all, lane, 5);
  out[32 + lane] = __shfl_up_sync(all, lane, 3);
  out[64 + lane] = __shfl_down_sync(all, lane, 3, 16);
  out[96 + lane] = __shfl_xor_sync(all, lane, 1);
  out[128 + lane] = static_cast<int>(__ballot_sync(all, lane % 2));
  out[160 + lane] = __any_sync(all, lane == 7) + 2 * __all_sync(all, lane == 7);
  int sum = lane;
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(all, sum, d);
  out[192 + lane] = sum;
  if (lane < 8)
    out[224 + lane] = __shfl_xor_sync(0xffu, lane, 4);
  else
    out[224 + lane] = static_cast<int>(__ballot_sync(0xffffff00u, 1));
}

TEST_F(Warps, FunctionsOverLanes) {
  const on_device<int> out(256);
  const counts c = observe([&] { warp_functions<<<1, 32>>>(out.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  const std::vector<int> r = out.host();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(r[lane], 5);
    EXPECT_EQ(r[32 + lane], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(r[64 + lane], lane % 16 < 13 ? lane + 3 : lane);
    EXPECT_EQ(r[96 + lane], lane ^ 1);
    EXPECT_EQ(static_cast<unsigned>(r[128 + lane]), 0xaaaaaaaau);
    EXPECT_EQ(r[160 + lane], 1);
    EXPECT_EQ(static_cast<unsigned>(r[224 + lane]), lane < 8 ? lane ^ 4 : 0xffffff00u);
  }
  EXPECT_EQ(r[192], 31 * 32 / 2);
}

__global__ void who_is_here(unsigned* out) {
  const int lane = threadIdx.x;
  out[lane] = __activemask();
  if (lane % 3 == 0)
    out[32 + lane] = __activemask();
  else
    out[32 + lane] = 0;
  for (int i = 0; i < lane / 8; ++i) out[64 + 32 * i + lane] = __activemask();
}

TEST_F(Warps, ActiveMaskHasTheLanesThatArriveTogether) {
  const on_device<unsigned> out(std::vector<unsigned>(64 + 96, 0u));
  who_is_here<<<1, 32>>>(out.data);
  const std::vector<unsigned> r = out.host();
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(r[lane], 0xffffffffu);
    EXPECT_EQ(r[32 + lane], lane % 3 == 0 ? 0x49249249u : 0u);
    for (int i = 0; i < lane / 8; ++i) EXPECT_EQ(r[64 + 32 * i + lane], 0xffffffffu << (8 * (i + 1)));
  }
}

__global__ void hand_over(int* out) {
  __shared__ volatile int turn;
  if (threadIdx.x == 0) turn = 0;
  __syncthreads();
  // The first warp waits for the last one.
  if (threadIdx.x == 0)
    while (turn == 0) sim::spin();
  if (threadIdx.x == 96) turn = 7;
  if (threadIdx.x == 0) *out = turn;
}

// As in public programs: all lanes pass on a variable that only one of them has set.
__global__ void warp_aggregated(int* out, int* counter) {
  const unsigned active = __activemask();
  const int leader = __ffs(static_cast<int>(active)) - 1, lane = static_cast<int>(threadIdx.x % 32);
  int before;
  if (lane == leader) before = atomicAdd(counter, __popc(active));
  before = __shfl_sync(active, before, leader);
  out[threadIdx.x] = before + __popc(active & ((1u << lane) - 1));
}

TEST_F(Warps, OneLaneSetsWhatAllPassOn) {
  const on_device<int> out(40), counter(std::vector<int>{0});
  warp_aggregated<<<1, 40>>>(out.data, counter.data);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(out.host()[static_cast<std::size_t>(i)], i);
}

TEST_F(Warps, ThreadsWaitForLaterWarps) {
  const on_device<int> out(1);
  hand_over<<<1, 128>>>(out.data);
  EXPECT_EQ(out.host()[0], 7);
}

__global__ void count_all(int* total, float* sum, unsigned* highest) {
  atomicAdd(total, 1);
  atomicAdd(sum, 0.5f);
  atomicMax(highest, blockIdx.x * blockDim.x + threadIdx.x);
}

TEST_F(Blocks, AtomicsAcrossBlocks) {
  const on_device<int> total(std::vector<int>{0});
  const on_device<float> sum(std::vector<float>{0});
  const on_device<unsigned> highest(std::vector<unsigned>{0});
  const counts c = observe([&] { count_all<<<100, 256>>>(total.data, sum.data, highest.data); });
  EXPECT_EQ(total.host()[0], 25600);
  EXPECT_EQ(sum.host()[0], 12800);
  EXPECT_EQ(highest.host()[0], 25599u);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"), 3 * 800);
  EXPECT_TRUE(c.reports.empty());
}

__constant__ float factors[4];
__constant__ const float fixed[2] = {1.5f, 2.5f};
__device__ int device_counter;

__global__ void use_program_variables(float* out) {
  out[threadIdx.x] = factors[threadIdx.x % 4];
  atomicAdd(&device_counter, 1);
}

TEST_F(Blocks, ConstantAndDeviceVariables) {
  const float values[4] = {1, 2, 3, 4};
  ASSERT_EQ(cudaMemcpyToSymbol(factors, values, sizeof values), cudaSuccess);
  const on_device<float> out(32);
  const counts c = observe([&] { use_program_variables<<<1, 32>>>(out.data); });
  EXPECT_TRUE(c.reports.empty());
  EXPECT_EQ(out.host()[6], 3);
  int counted = 0;
  ASSERT_EQ(cudaMemcpyFromSymbol(&counted, device_counter, sizeof counted), cudaSuccess);
  EXPECT_EQ(counted, 32);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 0);  // constants take another path
}

__global__ void where_am_i(uint3* threads, uint3* blocks) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned i = block * 24 + threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  threads[i] = threadIdx;
  blocks[i] = blockIdx;
}

TEST_F(Blocks, Coordinates) {
  const on_device<uint3> threads(24 * 24), blocks(24 * 24);
  where_am_i<<<dim3(2, 3, 4), dim3(4, 3, 2)>>>(threads.data, blocks.data);
  const auto t = threads.host(), b = blocks.host();
  EXPECT_EQ(t[23].x * 100 + t[23].y * 10 + t[23].z, 321u);
  EXPECT_EQ(b[24 * 23].x * 100 + b[24 * 23].y * 10 + b[24 * 23].z, 123u);
}

// ---- the runtime API ------------------------------------------------------------------------------------------------

TEST_F(Runtime, RefusesLaunchesOverTheLimits) {
  const on_device<float> out(1);
  const auto launch = [&](dim3 grid, dim3 block, std::size_t shared) {
    copy<<<grid, block, shared>>>(out.data, out.data, 0, 1, 0);
    return cudaGetLastError();
  };
  EXPECT_EQ(launch(1, 1024, 0), cudaSuccess);
  EXPECT_EQ(launch(1, 1025, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(0, 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, dim3(1, 1, 65), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(dim3(1, 65536), 32, 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(launch(1, 32, 49 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Runtime, ChecksCopies) {
  const on_device<float> in(ramp(64));
  std::vector<float> host(128);
  EXPECT_EQ(cudaMemcpy(host.data(), in.data, 65 * 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), in.data, 64 * 4, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), in.data, 64 * 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(host[63], 63);
  float* p = nullptr;
  EXPECT_EQ(cudaMalloc(&p, std::size_t{1} << 40), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&p, 100), cudaSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p) % 256, 0u);
  EXPECT_EQ(cudaFree(p + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(p), cudaSuccess);
  EXPECT_EQ(cudaFree(p), cudaErrorInvalidValue);
}

TEST_F(Runtime, EventsGoByTheModelledClock) {
  const std::size_t n = 1 << 24;
  const on_device<float> a(n), b(n);
  cudaEvent_t start = nullptr, stop = nullptr;
  cudaEventCreate(&start);
  cudaEventCreate(&stop);
  cudaMemset(a.data, 0, n * 4);
  float first = 0, second = 0;
  for (float* ms : {&first, &second}) {
    cudaEventRecord(start);
    cudaMemcpyAsync(b.data, a.data, n * 4, cudaMemcpyDeviceToDevice);
    cudaEventRecord(stop);
    cudaEventSynchronize(stop);
    EXPECT_EQ(cudaEventElapsedTime(ms, start, stop), cudaSuccess);
  }
  EXPECT_EQ(first, second);  // no noise: it is a model
  EXPECT_NEAR(first, 1e3 * (2.0 * n * 4 / 4.25e12 + 2.5e-6), 1e-4);
  cudaEventDestroy(start);
  cudaEventDestroy(stop);
}

TEST_F(Runtime, SlowAccessIsModelledSlower) {
  const int n = 2048;
  const on_device<float> in(ramp(n * n)), out(n * n);
  const dim3 grid(n / 32, n / 32), block(32, 8);
  const auto modelled = [&](auto kernel) {
    return metric(observe([&] { kernel<<<grid, block>>>(out.data, in.data, n, n); }), "gpu__time_duration.sum");
  };
  EXPECT_GT(modelled(transpose_naive), 1.5 * modelled(transpose_tiled<33>));
}

template <class T>
__global__ void add_to_one(T* sum) {
  atomicAdd(sum, T{1});
}
__global__ void sum_columns(float* out, const float* in, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += in[i * 96 + threadIdx.x];
  out[threadIdx.x] = sum;
}
__global__ void sum_strided(float* out, const float* in, int n) {
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) sum += in[i];
  out[threadIdx.x] = sum;
}
__global__ void sum_by_own_step(float* out, const float* in, int n) {
  const int step = blockDim.x;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += step) sum += in[i];
  out[threadIdx.x] = sum;
}
__global__ void sum_columns_in_memory(float* out, const float* in, int n) {
  for (int i = 0; i < n; ++i) out[threadIdx.x] += in[i * 96 + threadIdx.x];
}
__global__ void follow(float* out, const float* in, int n) {
  int at = static_cast<int>(threadIdx.x);
  for (int i = 0; i < n; ++i) at = static_cast<int>(in[at]);
  out[threadIdx.x] = static_cast<float>(at);
}
__global__ void sum_by_one(float* out, const float* in, int n) {
  if (threadIdx.x / 32 == 7)
    for (int i = 0; i < n; ++i) out[threadIdx.x] += in[i * 32];
}

/// A random chain, in which each element names the next.
std::vector<float> random_chain(unsigned n) {
  std::vector<float> next(n);
  for (unsigned i = 0; i < n; ++i) next[i] = static_cast<float>((i * 2'654'435'761u >> 12) % n);
  return next;
}
double modelled(const std::function<void()>& launch) { return metric(observe(launch), "gpu__time_duration.sum"); }

/// The distance to the nearest of n points. Each warp begins with its own points, or with the first ones.
template <bool own>
__global__ void nearest(float* out, const float* points, int n) {
  const float mine = points[own ? threadIdx.x : threadIdx.x % 32];
  float best = 1e9f;
  for (int i = 0; i < n; ++i) {
    if (i == static_cast<int>(threadIdx.x)) continue;
    const float there = points[i];
    if (fabsf(there - mine) < best) out[threadIdx.x] = best = fabsf(there - mine);
  }
}
/// Neighbouring threads add to neighbouring words, so a warp adds to one cache line.
template <class T>
__global__ void add_to_several(T* sums, unsigned n) {
  atomicAdd(&sums[(blockIdx.x * blockDim.x + threadIdx.x) % n], T{1});
}
/// Each thread adds to 64 bins, one after another.
__global__ void count_bins(int* bins, const int* numbers) {
  for (int i = static_cast<int>(threadIdx.x); i < 64 * 32; i += 32) atomicAdd(&bins[i], numbers[threadIdx.x]);
}
__global__ void shifted_roots(float* out, const float* in, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += sqrtf(sum) + in[0];
  out[threadIdx.x] = sum;
}
__global__ void functions(float* out, const float* in) {
  const float x = in[threadIdx.x];
  out[threadIdx.x] = __expf(x) > 2 ? 1 / x : x;
}

TEST_F(Runtime, AtomicsOnOneAddressWaitForEachOther) {
  const on_device<float> floats(1);
  const on_device<int> integers(1);
  cudaMemset(floats.data, 0, 4);
  cudaMemset(integers.data, 0, 4);
  const double one_by_one = modelled([&] { add_to_one<<<64, 256>>>(floats.data); });
  const double by_warp = modelled([&] { add_to_one<<<64, 256>>>(integers.data); });
  EXPECT_GT(one_by_one, 20'000);  // an H200 takes 16.3 us for half as many
  EXPECT_LT(by_warp, 4'000);      // and 2.3 us there
}

// Measured on an H200 with Nsight Compute: 1,024 blocks of 256 threads.
TEST_F(Runtime, ContendedAtomicsTakeAboutAsLongAsOnAnH200) {
  const on_device<float> floats(std::vector<float>(2048, 0));
  const on_device<int> integers(std::vector<int>(2048, 0));
  const auto within_a_quarter = [](double got, double measured) { EXPECT_NEAR(got, measured, measured / 4); };
  within_a_quarter(modelled([&] { add_to_one<<<1024, 256>>>(integers.data); }), 7'616);
  within_a_quarter(modelled([&] { add_to_one<<<1024, 256>>>(floats.data); }), 462'400);
  within_a_quarter(modelled([&] { add_to_several<<<1024, 256>>>(integers.data, 32); }), 21'984);
  within_a_quarter(modelled([&] { add_to_several<<<1024, 256>>>(floats.data, 32); }), 21'984);
  within_a_quarter(modelled([&] { add_to_several<<<1024, 256>>>(integers.data, 128); }), 11'360);
  within_a_quarter(modelled([&] { add_to_several<<<1024, 256>>>(integers.data, 2048); }), 3'360);
}

TEST_F(Runtime, AtomicsAtAKnownDistanceDoNotWaitForEachOther) {
  const on_device<int> bins(std::vector<int>(64 * 32)), numbers(std::vector<int>(32, 1));
  EXPECT_LT(modelled([&] { count_bins<<<1, 32>>>(bins.data, numbers.data); }), 9'000);  // 64 round trips take 14 us
}

// A GPU's warps run at the same time: what another warp loads at its start is in L1 when this one gets there.
TEST_F(Runtime, WarpsFindInL1WhatOthersLoadEarlier) {
  const on_device<float> points(ramp(1024)), out(1024);
  const double own = modelled([&] { nearest<true><<<1, 1024>>>(out.data, points.data, 1024); });
  const double first = modelled([&] { nearest<false><<<1, 1024>>>(out.data, points.data, 1024); });
  EXPECT_LT(own, first - 20'000);
}

TEST_F(Runtime, LoadsLeaveALoopThatCallsMathFunctions) {
#ifdef __clang__
  GTEST_SKIP() << "clang is given -fno-builtin";
#endif
  const on_device<float> in(std::vector<float>(1, 1)), out(32);
  const counts c = observe([&] { shifted_roots<<<1, 32>>>(out.data, in.data, 8); });
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 1);
}

TEST_F(Runtime, DivisionsAndFunctionsCountWhatNvccMakesOfThem) {
  const on_device<float> in(std::vector<float>(32, 1)), out(32);
  const counts c = observe([&] { functions<<<1, 32>>>(out.data, in.data); });
  EXPECT_EQ(metric(c, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"), 32 * 2);  // the reciprocal's
  EXPECT_EQ(metric(c, "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"), 32);      // that of __expf
}

TEST_F(Runtime, LoadsThatWaitForEachOtherAreModelledSlower) {
  const int n = 200;
  const on_device<float> in(std::vector<float>(n * 96, 7)), out(std::vector<float>(256));
  const double together = modelled([&] { sum_columns<<<1, 96>>>(out.data, in.data, n); });
  const double by_steps = modelled([&] { sum_strided<<<1, 96>>>(out.data, in.data, n * 96); });
  const double by_stores = modelled([&] { sum_columns_in_memory<<<1, 96>>>(out.data, in.data, n); });
  const on_device<float> scattered(random_chain(1 << 20));
  const double by_addresses = modelled([&] { follow<<<1, 96>>>(out.data, scattered.data, n); });
  EXPECT_GT(by_steps, 3 * together);
#ifndef __clang__  // clang keeps the index
  // An int cannot overflow, so nvcc unrolls by four; blockDim.x is unsigned.
  const double by_own_step = modelled([&] { sum_by_own_step<<<1, 96>>>(out.data, in.data, n * 96); });
  EXPECT_LT(by_own_step, by_steps / 2);
#endif
  EXPECT_GT(by_stores, 3 * together);
  EXPECT_GT(by_addresses, 3 * together);
  // One slow warp out of eight delays the block as much as eight slow ones.
  const double by_one = modelled([&] { sum_by_one<<<1, 256>>>(out.data, in.data, n); });
  EXPECT_GT(by_one, 3 * together);
}

// A multiprocessor with a second block takes twice as long, even if no other has one.
__global__ void busy_kernel(int* out) {
  __shared__ int words[1024];
  for (int i = 0; i < 4; ++i) words[i * 256 + threadIdx.x] = i;
  __syncthreads();
  int sum = 0;
  for (int i = 0; i < 256; ++i) sum += *static_cast<volatile int*>(&words[(threadIdx.x * 32 + i) % 1024]);
  out[blockIdx.x * 256 + threadIdx.x] = sum;
}

TEST_F(Runtime, OneBlockTooManyTakesAnotherWave) {
  const on_device<int> out(std::vector<int>(265 * 256));
  const auto working = [&](int blocks) {
    return metric(observe([&] { busy_kernel<<<blocks, 256>>>(out.data); }), "gpu__time_duration.sum") - 1900.0;
  };
  const double wave = working(132);
  EXPECT_NEAR(working(1), wave, 0.01 * wave);
  EXPECT_NEAR(working(133), 2 * wave, 0.02 * wave);
  EXPECT_NEAR(working(264), 2 * wave, 0.02 * wave);
  EXPECT_NEAR(working(265), 3 * wave, 0.03 * wave);
}

__global__ void all_sorts(float* data, double* more, int* total) {
  __shared__ float words[64];
  words[threadIdx.x] = data[threadIdx.x];
  atomicAdd(&total[1], 1);
  __syncthreads();
  data[threadIdx.x] = words[63 - threadIdx.x] * 2.0f + 1.0f;
  more[threadIdx.x] = more[threadIdx.x] * 2.0 + 1.0;
}

TEST_F(Runtime, CountersHaveTheRubricsNames) {
  const on_device<float> data(std::vector<float>(64));
  const on_device<double> more(std::vector<double>(64));
  const on_device<int> total(std::vector<int>(2));
  const counts c = observe([&] { all_sorts<<<1, 64>>>(data.data, more.data, total.data); });
  std::set<std::string> counted, known;
  for (const sim::counter& one : sim::counters)
    if (one.uses & sim::counter::counted) known.emplace(one.name);
  for (const auto& [name, value] : c.metrics) counted.insert(name);
  for (const auto& [name, value] : c.launches.at(0).metrics) counted.insert(name);
  EXPECT_EQ(counted, known) << "sim/counters.hpp must list what metrics_of() in metrics.cpp gives";
}

// ---- what constant expressions may hold

__host__ __device__ constexpr int sum_below(int n) {
  int sum = 0;
#pragma unroll 1
  for (int i = 0; i < n; ++i) sum += i;
  return sum;
}
static_assert(sum_below(4) == 6, "a loop that simcc marks is constant still");

__global__ void sums_below(int* n) { n[threadIdx.x] = sum_below(n[threadIdx.x]); }

TEST_F(Runtime, RolledLoopsMayBeConstant) {
  const on_device<int> n(std::vector<int>{4, 5});
  sums_below<<<1, 2>>>(n.data);
  EXPECT_EQ(n.host(), (std::vector<int>{6, 10}));
}

}  // namespace
