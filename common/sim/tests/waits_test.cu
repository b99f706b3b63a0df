// Kernels whose threads wait for each other: which finish, and which are reported because nothing can end the wait.
#include <cooperative_groups.h>

#include "device_test.hpp"

namespace {

using Waits = DeviceTest;

__global__ void wait_for_the_next_block(volatile int* flags) {
  // Blocks begin in order, so each waits for one that has not begun.
  if (threadIdx.x == 0 && blockIdx.x + 1 < gridDim.x)
    while (flags[blockIdx.x + 1] == 0) {
    }
  __syncthreads();
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

TEST_F(Waits, ForLaterBlocks) {
  const on_device<int> flags(std::vector<int>(16, 0));
  const counts c = observe([&] { wait_for_the_next_block<<<16, 64>>>(flags.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(flags.host()[0], 1);
}

__global__ void lock_and_add(int* lock, int* sum) {
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    *sum = *sum + 1;
    __threadfence();
    atomicExch(lock, 0);
  }
}

TEST_F(Waits, SpinLocks) {
  const on_device<int> lock(std::vector<int>{0}), sum(std::vector<int>{0});
  const counts c = observe([&] { lock_and_add<<<16, 128>>>(lock.data, sum.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(sum.host()[0], 64);
}

// Lane 0 fills its records to a different point in each block: it is interrupted at each of its hooks in turn, and lane
// 1 then holds the lock from beginning to end.
__global__ void lock_after_many_loads(const int* words, int* locks, int* sums) {
  int ones = 0;
  if (threadIdx.x == 0)
    for (unsigned i = 0; i < blockIdx.x; ++i) ones += words[i];
  int* lock = locks + blockIdx.x;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  sums[blockIdx.x] += ones + 1;
  __threadfence();
  atomicExch(lock, 0);
}

TEST_F(Waits, AnInterruptedLockOrdersItsHolders) {
  constexpr int blocks = 600;
  const on_device<int> words(std::vector<int>(blocks, 1)), locks(std::vector<int>(blocks, 0)),
      sums(std::vector<int>(blocks, 0));
  const counts c = observe([&] { lock_after_many_loads<<<blocks, 2>>>(words.data, locks.data, sums.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(sums.host().back(), blocks + 1);
}

// A hand-written grid-wide barrier: each block has 100 KiB of shared memory, and a multiprocessor has 228 KiB.
__global__ void meet_in_a_counter(int* arrived) {
  extern __shared__ char most_of_shared_memory[];
  atomicAdd(arrived, 1);
  while (atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {
  }
}

TEST_F(Waits, ForBlocksThatDoNotFit) {
  constexpr int bytes = 100 * 1024;
  ASSERT_EQ(cudaFuncSetAttribute(meet_in_a_counter, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes), cudaSuccess);
  int fit = 0;
  ASSERT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, meet_in_a_counter, 1, bytes), cudaSuccess);
  EXPECT_EQ(fit, 2);
  cudaDeviceProp device;
  ASSERT_EQ(cudaGetDeviceProperties(&device, 0), cudaSuccess);
  const int blocks = fit * device.multiProcessorCount;
  const on_device<int> few(std::vector<int>{0}), many(std::vector<int>{0});
  EXPECT_EQ(observe([&] { meet_in_a_counter<<<blocks, 1, bytes>>>(few.data); }).reports, std::vector<std::string>{});
  const std::string r = only_report(observe([&] { meet_in_a_counter<<<blocks + 64, 1, bytes>>>(many.data); }));
  EXPECT_NE(r.find("infinite wait"), std::string::npos) << r;
  EXPECT_NE(r.find("only " + std::to_string(blocks) + " of its " + std::to_string(blocks + 64) + " blocks fit"),
            std::string::npos)
      << r;
}

__global__ void wait_forever(volatile int* flag) {
  while (*flag == 0) {
  }
}

TEST_F(Waits, Infinite) {
  const on_device<int> flag(std::vector<int>{0});
  const std::string r = only_report(observe([&] { wait_forever<<<4, 64>>>(flag.data); }));
  EXPECT_NE(r.find("infinite wait"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
}

// The number of polls is the kernel's only state. Compilers keep it in a floating-point register if calls preserve
// such registers.
__global__ void poll_for_long(const volatile int* flag, float* polls) {
  float count = 0;
  while (*flag == 0 && count < 100000.0f) count += 1;
  *polls = count;
}

TEST_F(Waits, ThatCountInFloatingPoint) {
  const on_device<int> flag(std::vector<int>{0});
  const on_device<float> polls(1);
  const counts c = observe([&] { poll_for_long<<<1, 1>>>(flag.data, polls.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(polls.host()[0], 100000.0f);
}

__global__ void wait_for_either(volatile int* flags) {
  while (flags[0] == 0 || flags[1] == 1) {
  }
}

TEST_F(Waits, InfiniteIsOneReportALine) {
  const on_device<int> flags(std::vector<int>{1, 1});
  const std::string r = only_report(observe([&] { wait_for_either<<<1, 32>>>(flags.data); }));
  EXPECT_NE(r.find("infinite wait"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
}

__global__ void wait_warp_by_warp(volatile int* flag) {
  while (*flag == 0) __syncwarp();
}

__global__ void wait_block_by_block(volatile int* flag) {
  while (*flag == 0) __syncthreads();
}

TEST_F(Waits, InfiniteAroundAWarpFunctionOrABarrier) {
  for (const auto kernel : {wait_warp_by_warp, wait_block_by_block}) {
    const on_device<int> flag(std::vector<int>{0});  // freed by the reset below
    const std::string r = only_report(observe([&] { kernel<<<32, 64>>>(flag.data); }));
    EXPECT_NE(r.find("infinite wait"), std::string::npos) << r;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchTimeout);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  }
}

__global__ void wait_for_the_next_warp_by_warp(volatile int* flags) {
  if (threadIdx.x < 32 && blockIdx.x + 1 < gridDim.x)
    while (!__any_sync(0xffffffff, flags[blockIdx.x + 1])) {
    }
  __syncthreads();
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

TEST_F(Waits, ForTheNextAroundAWarpFunction) {
  const on_device<int> flags(std::vector<int>(16, 0));
  const counts c = observe([&] { wait_for_the_next_warp_by_warp<<<16, 64>>>(flags.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(flags.host()[0], 1);
}

// Their state never repeats: they count each iteration.
__global__ void count_until_the_next(volatile int* flags, int* turns) {
  int n = 0;
  if (blockIdx.x + 1 < gridDim.x)
    while (!flags[blockIdx.x + 1]) ++n;
  turns[blockIdx.x * blockDim.x + threadIdx.x] = n;
  __syncthreads();
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

__global__ void count_until_the_next_warp_by_warp(volatile int* flags, int* turns) {
  int n = 0;
  if (threadIdx.x < 32 && blockIdx.x + 1 < gridDim.x)
    while (!__any_sync(0xffffffff, flags[blockIdx.x + 1])) ++n;
  turns[blockIdx.x * blockDim.x + threadIdx.x] = n;
  __syncthreads();
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

__global__ void count_until_the_next_block_by_block(volatile int* flags, int* turns) {
  int n = 0;
  if (blockIdx.x + 1 < gridDim.x)
    while (!__syncthreads_or(flags[blockIdx.x + 1])) ++n;
  turns[blockIdx.x * blockDim.x + threadIdx.x] = n;
  if (threadIdx.x == 0) flags[blockIdx.x] = 1;
}

// The warps of one block wait for each other, the first for the last.
__global__ void count_until_the_next_warp(volatile int* flags, int* turns) {
  const unsigned warp = threadIdx.x / 32, warps = blockDim.x / 32;
  int n = 0;
  if (warp + 1 < warps)
    while (!flags[warp + 1]) ++n;
  turns[blockIdx.x * blockDim.x + threadIdx.x] = n;
  flags[warp] = 1;
}

TEST_F(Waits, CountTheirTurns) {
  for (const auto kernel :
       {count_until_the_next, count_until_the_next_warp_by_warp, count_until_the_next_block_by_block}) {
    const on_device<int> flags(std::vector<int>(5, 0)), turns(std::vector<int>(5 * 64, 0));
    const counts c = observe([&] { kernel<<<5, 64>>>(flags.data, turns.data); });
    EXPECT_TRUE(c.reports.empty()) << c.reports[0];
    EXPECT_EQ(flags.host()[0], 1);
    EXPECT_GT(turns.host()[0], 0);
  }
  const on_device<int> flags(std::vector<int>(4, 0)), turns(std::vector<int>(128, 0));
  observe(
      [&] { count_until_the_next_warp<<<1, 128>>>(flags.data, turns.data); });  // in shared memory it would be a race
  EXPECT_EQ(flags.host()[0], 1);
}

// Only memory shows their progress: stacks and registers are the same in each iteration.
__global__ void count_in_memory(int* counters, int turns) {
  while (atomicAdd(&counters[blockIdx.x], 1) < turns) {
  }
}

__global__ void count_in_memory_warp_by_warp(int* counters, int turns) {
  while (atomicAdd(&counters[blockIdx.x], 1) < turns) __syncwarp();
}

__global__ void count_in_memory_block_by_block(int* counters, int turns) {
  __shared__ int turn;
  do {
    __syncthreads();
    if (threadIdx.x == 0) turn = counters[blockIdx.x]++;
    __syncthreads();
  } while (turn < turns);
}

TEST_F(Waits, CountInMemory) {
  for (const auto kernel : {count_in_memory, count_in_memory_warp_by_warp, count_in_memory_block_by_block}) {
    const on_device<int> counters(std::vector<int>(16, 0));
    const counts c = observe([&] { kernel<<<16, 1>>>(counters.data, 20'000); });
    EXPECT_TRUE(c.reports.empty()) << c.reports[0];
    EXPECT_GE(counters.host()[1], 20'000);
  }
}

__global__ void hand_on_behind_a_grid_barrier(int* out) {
  __shared__ int word;
  const auto grid = cooperative_groups::this_grid();
  if (threadIdx.x == 0) word = static_cast<int>(blockIdx.x);
  grid.sync();
  out[grid.thread_rank()] = word;
  grid.sync();
  if (threadIdx.x == 33) word = -1;
}

TEST_F(Waits, ForTheGridAreForTheBlockToo) {
  const on_device<int> out(std::vector<int>(4 * 64, 7));
  int* data = out.data;
  void* arguments[] = {&data};
  const counts c = observe([&] {
    EXPECT_EQ(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(hand_on_behind_a_grid_barrier), dim3(4),
                                          dim3(64), arguments, 0, nullptr),
              cudaSuccess);
  });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out.host()[255], 3);
}

__global__ void wait_for_the_clock(long long cycles, volatile int* flag, int* given_up) {
  const long long begin = clock64();
  while (*flag == 0)
    if (clock64() - begin > cycles) {
      if (threadIdx.x == 0) atomicAdd(given_up, 1);
      break;
    }
}

TEST_F(Waits, UntilATimeHasPassed) {
  const on_device<int> flag(std::vector<int>{0}), given_up(std::vector<int>{0});
  const counts c = observe([&] { wait_for_the_clock<<<2, 64>>>(10'000'000, flag.data, given_up.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(given_up.host()[0], 2);
}

// Each thread is interrupted several times within one call: that is progress.
__global__ void fill_large_arrays(int* out, int value) {
  char filled[32768], copied[16384];
  memset(filled, value, sizeof filled);
  memcpy(copied, filled, value ? sizeof copied : 1);
  out[blockIdx.x * blockDim.x + threadIdx.x] = copied[value];
}

TEST_F(Waits, LongCopiesDoNotWait) {
  const on_device<int> out(16 * 32);
  const counts c = observe([&] { fill_large_arrays<<<16, 32>>>(out.data, 3); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out.host().back(), 3);
}

}  // namespace
