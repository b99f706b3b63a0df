// Asynchronous copies, barriers in shared memory, cuda::atomic.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/cmath>
#include <cuda/functional>
#include <cuda/pipeline>
#include <cuda/std/array>
#include <cuda/std/bitset>
#include <cuda/std/cassert>
#include <cuda/std/cfloat>
#include <cuda/std/cstdlib>
#include <cuda/std/limits>
#include <cuda/std/memory>
#include <cuda/std/numbers>
#include <cuda/std/numeric>
#include <cuda/std/version>
#include <nv/target>
#include <sim/observe.hpp>

namespace cg = cooperative_groups;

namespace {

struct Async : testing::Test {
  void SetUp() override {
    ASSERT_EQ(cudaMallocManaged(&in, 1024 * sizeof(int)), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&out, 1024 * sizeof(int)), cudaSuccess);
    for (int i = 0; i < 1024; ++i) in[i] = i;
  }
  void TearDown() override { cudaDeviceReset(); }
  template <class Launch>
  sim::observation observe(Launch launch) {
    const auto result = sim::observe(launch);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return result;
  }
  int *in = nullptr, *out = nullptr;
};

template <bool Wait>
__global__ void through_shared(int* out, const int* in) {
  __shared__ int4 tile[32];
  __pipeline_memcpy_async(&tile[threadIdx.x], (const int4*)in + threadIdx.x, 16);
  __pipeline_commit();
  if (Wait) __pipeline_wait_prior(0);
  __syncthreads();
  const int4 value = tile[threadIdx.x ^ 1];
  out[threadIdx.x] = value.x;
}

/// Even blocks end before their copy arrives, so it never does.
__global__ void leave_in_flight(int* out, const int* in) {
  __shared__ int tile[32];
  const int i = threadIdx.x;
  if (blockIdx.x % 2 == 0) {
    __pipeline_memcpy_async(&tile[i], in + i, 4);
    __pipeline_commit();
    return;
  }
  __pipeline_memcpy_async(&tile[i], in + i, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  out[blockIdx.x / 2 * 32 + i] = tile[i ^ 1];
}

TEST_F(Async, ACopyInFlightEndsWithItsBlock) {
  const auto seen = observe([&] { leave_in_flight<<<64, 32>>>(out, in); });
  EXPECT_TRUE(seen.reports.empty()) << seen.reports[0];
  EXPECT_EQ(out[1023], 30);
}

/// Copies the next tile while adding up this one. `all` waits for both tiles; `all_but_one` never waits for `beside`.
enum class awaits { the_oldest, all, all_but_one };
template <awaits how>
__global__ void add_tiles(int* out, const int* in, int tiles) {
  __shared__ int tile[2][32], beside;
  __shared__ cuda::barrier<cuda::thread_scope_block> never;
  const unsigned i = threadIdx.x;
  int sum = 0;
  if (how == awaits::all_but_one && i == 0) {
    init(&never, 1);
    cuda::memcpy_async(&beside, in, sizeof beside, never);
  }
  __pipeline_memcpy_async(&tile[0][i], in + i, 4);
  __pipeline_commit();
  for (int t = 0; t < tiles; ++t) {
    if (t + 1 < tiles) __pipeline_memcpy_async(&tile[(t + 1) % 2][i], in + (t + 1) * 32 + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    if (how != awaits::the_oldest) __pipeline_wait_prior(0);
    __syncthreads();
    sum += tile[t % 2][i ^ 1];
    __syncthreads();
  }
  out[i] = sum;
}

TEST_F(Async, CopiesBesideLoadsAreCounted) {
  const auto beside = observe([&] { add_tiles<awaits::the_oldest><<<1, 32>>>(out, in, 4); });
  EXPECT_TRUE(beside.reports.empty()) << beside.reports[0];
  EXPECT_EQ(beside.metrics.at("words_copied"), 4 * 32);
  EXPECT_EQ(beside.metrics.at("copied_beside_loads"), 3 * 32) << "nothing is loaded before the first tile has arrived";
  for (const auto kernel : {add_tiles<awaits::all>, add_tiles<awaits::all_but_one>})
    EXPECT_EQ(observe([&] { kernel<<<1, 32>>>(out, in, 4); }).metrics.at("copied_beside_loads"), 0);
}

TEST_F(Async, CopiesWhenWaitedFor) {
  const auto good = observe([&] { through_shared<true><<<1, 32>>>(out, in); });
  EXPECT_TRUE(good.reports.empty());
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(good.metrics.at("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"), 16);
  EXPECT_EQ(good.metrics.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"), 1);
  EXPECT_EQ(good.metrics.at("smsp__inst_executed_op_ldgsts.sum"), 1);
  EXPECT_EQ(good.metrics.at("smsp__sass_data_bytes_mem_shared_op_st.sum"), 0);  // as on an H200
  EXPECT_EQ(good.metrics.at("smsp__sass_data_bytes_mem_global_op_ld.sum"), 0);
  const auto early = observe([&] { through_shared<false><<<1, 32>>>(out, in); });
  ASSERT_EQ(early.reports.size(), 1u);
  EXPECT_NE(early.reports[0].find("async_test.cu"), std::string::npos) << early.reports[0];
  EXPECT_NE(early.reports[0].find("before the asynchronous copy to these bytes has completed"), std::string::npos)
      << early.reports[0];
}

__global__ void two_stages(int* out, const int* in, int steps) {
  __shared__ int buffer[2][64];
  const int i = threadIdx.x;
  int sum = 0;
  for (int step = 0; step < steps + 1; ++step) {
    if (step < steps) __pipeline_memcpy_async(&buffer[step % 2][i], in + step * 64 + i, 4, i == 63 ? 4 : 0);
    __pipeline_commit();
    if (step == 0) continue;
    __pipeline_wait_prior(1);
    __syncthreads();
    sum += buffer[(step - 1) % 2][63 - i];
    __syncthreads();
  }
  out[i] = sum;
}

TEST_F(Async, GroupsOfCopiesInOrder) {
  EXPECT_TRUE(observe([&] { two_stages<<<1, 64>>>(out, in, 4); }).reports.empty());
  EXPECT_EQ(out[0], 0);  // filled with zeros
  EXPECT_EQ(out[1], 4 * 62 + 64 * 6);
}

// Two buffers, each filled while the other is read. A race unless all have left a buffer before the next copy into it.
enum class barrier_before { read, copy };
template <barrier_before Missing>
__global__ void two_buffers(int* out, const int* in, int steps) {
  __shared__ int buffer[2][64];
  const int i = threadIdx.x;
  int sum = 0;
  __pipeline_memcpy_async(&buffer[0][i], in + i, 4);
  __pipeline_commit();
  for (int step = 0; step < steps; ++step) {
    if (step + 1 < steps) __pipeline_memcpy_async(&buffer[(step + 1) % 2][i], in + (step + 1) * 64 + i, 4);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    if (Missing != barrier_before::read) __syncthreads();
    sum += buffer[step % 2][63 - i];
    if (Missing != barrier_before::copy) __syncthreads();
  }
  out[i] = sum;
}
// The threads pass the barrier, but the copy has not arrived.
__global__ void awaited_too_late(int* out, const int* in) {
  __shared__ int buffer[64];
  buffer[threadIdx.x] = 0;
  __syncthreads();
  __pipeline_memcpy_async(&buffer[threadIdx.x], in + threadIdx.x, 4);
  __pipeline_commit();
  __syncthreads();
  const int early = buffer[63 - threadIdx.x];
  __syncthreads();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = early;
}

TEST_F(Async, CopiesOverWhatOthersStillRead) {
  const auto early = observe([&] { two_buffers<barrier_before::copy><<<1, 64>>>(out, in, 8); });
  ASSERT_EQ(early.reports.size(), 1u);
  EXPECT_NE(early.reports[0].find("race in shared memory"), std::string::npos) << early.reports[0];
  EXPECT_NE(early.reports[0].find("asynchronous copy"), std::string::npos) << early.reports[0];
  EXPECT_NE(early.reports[0].find("put __syncthreads() between"), std::string::npos) << early.reports[0];
  EXPECT_FALSE(observe([&] { two_buffers<barrier_before::read><<<1, 64>>>(out, in, 8); }).reports.empty());
  const auto late = observe([&] { awaited_too_late<<<1, 64>>>(out, in); });
  ASSERT_EQ(late.reports.size(), 1u);
  EXPECT_NE(late.reports[0].find("wait for the copy"), std::string::npos) << late.reports[0];
}

__global__ void by_group(int* out, const int* in) {
  __shared__ alignas(16) int tile[128];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in, sizeof tile);
  cg::wait(block);
  out[block.thread_rank()] = tile[127 - block.thread_rank()];
}
template <int Stages>
__global__ void by_pipeline(int* out, const int* in, int steps) {
  __shared__ int tile[Stages][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, Stages> state;
  const auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int step = 0, fetched = 0; step < steps; ++step) {
    for (; fetched < steps && fetched < step + Stages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tile[fetched % Stages], in + fetched * 64, sizeof(int) * 64, pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tile[step % Stages][63 - block.thread_rank()];
    pipe.consumer_release();
  }
  out[block.thread_rank()] = sum;
}

TEST_F(Async, GroupsAndPipelines) {
  EXPECT_TRUE(observe([&] { by_group<<<1, 64>>>(out, in); }).reports.empty());
  EXPECT_EQ(out[3], 124);
  EXPECT_TRUE(observe([&] { by_pipeline<2><<<1, 64>>>(out, in, 5); }).reports.empty());
  EXPECT_EQ(out[3], 5 * 60 + 64 * 10);
  EXPECT_TRUE(observe([&] { by_pipeline<3><<<1, 64>>>(out, in, 5); }).reports.empty());
  EXPECT_EQ(out[3], 5 * 60 + 64 * 10);
}

__global__ void by_barrier(int* out, const int* in) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier bar;
  __shared__ int tile[128], turn[128];
  const int i = threadIdx.x;
  if (i == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[i], in + i, sizeof(int), bar);
  barrier::arrival_token token = bar.arrive();
  turn[i] = -i;
  bar.wait(std::move(token));
  out[i] = tile[127 - i];
  bar.arrive_and_wait();
  out[128 + i] = turn[127 - i];
}

/// Addresses of any type, as when a tile of structs comes from an array of another type.
__global__ void through_untyped_copies(int* out, const int* in) {
  __shared__ alignas(16) char tile[4][32 * sizeof(int)];
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  const auto block = cg::this_thread_block();
  const unsigned i = block.thread_rank();
  auto pipe = cuda::make_pipeline();
  if (i == 0) init(&bar, block.size());
  block.sync();
  pipe.producer_acquire();
  cuda::memcpy_async(tile[0] + 4 * i, in + i, 4, pipe);
  cuda::memcpy_async(block, tile[1], in + 32, cuda::aligned_size_t<16>(32 * 4), pipe);
  pipe.producer_commit();
  pipe.consumer_wait();
  cuda::memcpy_async(tile[2] + 4 * i, in + 64 + i, cuda::aligned_size_t<4>(4), bar);
  cuda::memcpy_async(block, tile[3], in + 96, 32 * 4, bar);
  bar.arrive_and_wait();
  block.sync();
  for (int k = 0; k < 4; ++k) out[32 * k + i] = reinterpret_cast<const int*>(tile[k])[31 - i];
  pipe.consumer_release();
}

TEST_F(Async, UntypedCopies) {
  const auto result = observe([&] { through_untyped_copies<<<1, 32>>>(out, in); });
  EXPECT_EQ(result.reports, std::vector<std::string>{});
  for (int i = 0; i < 128; ++i) EXPECT_EQ(out[i], i / 32 * 32 + 31 - i % 32);
}

TEST_F(Async, Barriers) {
  EXPECT_TRUE(observe([&] { by_barrier<<<1, 128>>>(out, in); }).reports.empty());
  EXPECT_EQ(out[5], 122);
  EXPECT_EQ(out[128 + 5], -122);
}

__device__ cuda::atomic<int, cuda::thread_scope_device> counter;
__global__ void count(int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> largest(out[0]);
  cuda::std::array<int, 2> values = {1, 2};
  volatile auto* const shared_counter = &counter;
  shared_counter->fetch_add(values[threadIdx.x % 2], cuda::memory_order_relaxed);
  largest.fetch_max(static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x));
}

TEST_F(Async, Atomics) {
  out[0] = cuda::std::numeric_limits<int>::min();
  const auto r = observe([&] { count<<<4, 64>>>(out); });
  EXPECT_TRUE(r.reports.empty());
  int total = 0;
  cudaMemcpyFromSymbol(&total, counter, sizeof total);
  EXPECT_EQ(total, 384);
  EXPECT_EQ(out[0], 255);
  EXPECT_EQ(cuda::ceil_div(10, 4), 3);
}

__global__ void use_library(float* to) {
  assert(to != nullptr);
  const int some[] = {1, 2, 3};
  const auto twice = cuda::proclaim_return_type<float>([](int x) { return 2 * x; });
  to[0] = cuda::std::numbers::pi_v<float>;
  to[1] = cuda::maximum<>{}(1, 2) + cuda::minimum<float>{}(1, 2);
  to[2] = cuda::std::accumulate(some, some + 3, 0) + twice(3) + cuda::std::bitset<8>(5).count() + FLT_RADIX;
}
TEST_F(Async, OfTheLibraryWhatKernelsUse) {
  float* to = nullptr;
  cudaMallocManaged(&to, 3 * sizeof *to);
  use_library<<<1, 1>>>(to);
  cudaDeviceSynchronize();
  EXPECT_FLOAT_EQ(to[0], 3.14159265f);
  EXPECT_EQ(to[1], 3);
  EXPECT_EQ(to[2], 6 + 6 + 2 + 2);
  cudaFree(to);
}

__host__ __device__ int side() {
  NV_IF_TARGET(NV_IS_DEVICE, (int a = 1, b = 0; return a + b;), (return 2;))
  return 0;
}
__host__ __device__ int architecture() {
  int is = 1;
  NV_IF_TARGET(NV_IS_HOST, (is = 3;))
  NV_DISPATCH_TARGET(NV_PROVIDES_SM_100, (is = 100;), NV_PROVIDES_SM_90, (is = 90;), NV_ANY_TARGET, (is += 4;))
  return is;
}
__global__ void ask(int* to) { to[0] = side(), to[1] = architecture(); }
TEST_F(Async, CodeKnowsWhereItRuns) {
  ask<<<1, 1>>>(out);
  cudaDeviceSynchronize();
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[1], 90);
  EXPECT_EQ(side(), 2);
  EXPECT_EQ(architecture(), 7);
}

// The last lane to arrive does not wait, but stays with its warp.
__global__ void store_after_barrier(int* out) {
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  bar.arrive_and_wait();
  out[threadIdx.x] = 1;
}
TEST_F(Async, AWarpLeavesABarrierTogether) {
  const auto seen = observe([&] { store_after_barrier<<<1, 96>>>(out); });
  EXPECT_TRUE(seen.reports.empty()) << seen.reports[0];
  EXPECT_EQ(seen.metrics.at("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"), 3);
}

}  // namespace
