// The runtime API's queries and limits.
#include "runtime_test.hpp"

#include <cstdlib>
#include <cstring>
#include <thread>

namespace {

using Queries = RuntimeTest;

const int changed = setenv("SIM_DEVICE", "no such device", 1);  // before anything asks for it

TEST_F(Queries, AProgramDoesNotChangeTheDevice) {
  ASSERT_EQ(changed, 0);
  int count = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_GT(count, 0);
}

template <int bytes>
__global__ void with_an_array(char* out) {
  __shared__ char array[bytes];
  array[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = array[63 - threadIdx.x];
}

TEST_F(Queries, OccupancyBeforeTheFirstLaunch) {
  int before = 0, after = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&before, with_an_array<40000>, 64, 0), cudaSuccess);
  char* out = nullptr;
  ASSERT_EQ(cudaMalloc(&out, 64), cudaSuccess);
  with_an_array<40000><<<1, 64>>>(out);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&after, with_an_array<40000>, 64, 0), cudaSuccess);
  EXPECT_EQ(before, 5);
  EXPECT_EQ(after, before);
  cudaFree(out);
}

TEST_F(Queries, Occupancy) {
  int blocks = 0, grid = 0, block = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 32, 0), cudaSuccess);
  EXPECT_EQ(blocks, 32);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 256, 100 * 1024), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 2000, 0), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, increment, 0, 0), cudaSuccess);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 264);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, increment, [](int t) { return t * 200; }),
            cudaSuccess);
  EXPECT_EQ(block, 576);  // two blocks, not one of 1024
}

__global__ void take_shared(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x] = 1;
  *out = words[threadIdx.x];
}

TEST_F(Queries, SharedMemoryIsAllowedToOneKernel) {
  int* out = nullptr;
  ASSERT_EQ(cudaMalloc(&out, 4), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(increment, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(take_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, take_shared), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100'000);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, increment), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100'000);
  cudaDeviceSynchronize();
  cudaFree(out);
}

TEST_F(Queries, ErrorsAreTheThreadsOwn) {
  EXPECT_EQ(cudaSetDevice(99), cudaErrorInvalidDevice);
  std::thread([] { EXPECT_EQ(cudaGetLastError(), cudaSuccess); }).join();
  EXPECT_EQ(cudaPeekAtLastError(), cudaErrorInvalidDevice);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDevice);
}

TEST_F(Queries, TextsAndLimits) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorStreamCaptureUnsupported), "cudaErrorStreamCaptureUnsupported");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
  EXPECT_EQ(static_cast<int>(cudaErrorCooperativeLaunchTooLarge), 720);
  std::size_t stack = 0;
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&stack, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(stack, 4096u);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlocksPerMultiprocessor, 0), cudaSuccess);
  EXPECT_EQ(value, 32);
  cudaFuncAttributes about{};
  EXPECT_EQ(cudaFuncGetAttributes(&about, increment), cudaSuccess);
  EXPECT_EQ(about.maxThreadsPerBlock, 1024);
  EXPECT_EQ(cudaFuncSetCacheConfig(increment, cudaFuncCachePreferL1), cudaSuccess);
}

}  // namespace
