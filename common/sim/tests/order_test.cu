// Threads of a block that hand over data: what orders their accesses, and what is a race. Each way is tried once
// correctly and once with a piece missing.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cuda/atomic>
#include <cuda/barrier>

#include "device_test.hpp"

namespace {

using Order = DeviceTest;

enum class missing { nothing, release, acquire, wait, arrival, barrier };

// Data in shared (true) or in global memory.
template <bool Shared>
__device__ int* data_of(int* memory) {
  __shared__ int words[256];
  return Shared ? words : memory;
}

// ---- a flag: the first warp writes, and one thread of it says so; the second warp reads

template <missing Piece, bool Shared>
__global__ void by_volatile_flag(int* out, int* memory) {
  __shared__ volatile int flag;
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x, lane = t % 32;
  if (t == 0) flag = 0;
  __syncthreads();
  if (t < 32) {
    data[lane] = lane;
    __syncwarp();
    if (lane == 0) {
      if (Piece != missing::release) __threadfence_block();
      flag = 1;
    }
  } else {
    while (flag == 0) {
    }
    if (Piece != missing::acquire) __threadfence_block();
    out[lane] = data[31 - lane];
  }
}

template <missing Piece, bool Shared>
__global__ void by_atomic_flag(int* out, int* memory) {
  __shared__ int word;
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x, lane = t % 32;
  const cuda::atomic_ref<int, cuda::thread_scope_block> flag(word);
  if (t == 0) word = 0;
  __syncthreads();
  if (t >= 32) {
    data[lane] = lane;
    if (Piece != missing::barrier) __syncwarp();
    if (lane == 0) flag.store(1, Piece == missing::release ? cuda::memory_order_relaxed : cuda::memory_order_release);
  } else {
    if (lane == 5)
      while (flag.load(Piece == missing::acquire ? cuda::memory_order_relaxed : cuda::memory_order_acquire) == 0) {
      }
    __syncwarp();
    out[lane] = data[31 - lane];
  }
}

template <missing Piece, bool Shared>
__global__ void by_ordered_atomics(int* out, int* memory) {
  __shared__ unsigned word;
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x, lane = t % 32;
  if (t == 0) word = 0;
  __syncthreads();
  if (t >= 32) {
    data[lane] = lane;
    __syncwarp();
    if (lane == 0)
      __nv_atomic_store_n(&word, 1, Piece == missing::release ? __NV_ATOMIC_RELAXED : __NV_ATOMIC_RELEASE,
                          __NV_THREAD_SCOPE_BLOCK);
  } else {
    if (lane == 5)
      while (__nv_atomic_load_n(&word, Piece == missing::acquire ? __NV_ATOMIC_RELAXED : __NV_ATOMIC_ACQUIRE,
                                __NV_THREAD_SCOPE_BLOCK) == 0) {
      }
    __syncwarp();
    out[lane] = data[31 - lane];
  }
}

// ---- a counter as a barrier, in which each thread adds one; and a lock

template <missing Piece, bool Shared>
__global__ void by_counter(int* out, int* memory) {
  __shared__ int arrived;
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x;
  if (t == 0) arrived = 0;
  __syncthreads();
  for (int round = 1; round <= 3; ++round) {
    data[t] = round * t;
    for (int step = 0; step < 2; ++step) {
      if (Piece != missing::release) __threadfence_block();
      const int all = (atomicAdd(&arrived, 1) / 128 + 1) * 128;
      while (*static_cast<volatile int*>(&arrived) < all) {
      }
      __threadfence_block();
      if (step == 0) out[t] = data[127 - t];
    }
  }
}

template <missing Piece, bool Shared>
__global__ void by_lock(int* out, int* memory) {
  __shared__ int lock;
  int* data = data_of<Shared>(memory);
  if (threadIdx.x == 0) lock = data[0] = 0;
  __syncthreads();
  if (threadIdx.x % 32 == 0) {
    while (atomicCAS(&lock, 0, 1) != 0) {
    }
    data[0] = data[0] + 1;
    if (Piece != missing::release) __threadfence_block();
    atomicExch(&lock, 0);
  }
  __syncthreads();
  if (threadIdx.x == 0) out[0] = data[0];
}

// ---- cuda::barrier: one warp fills, another empties; or halves of one warp do, the higher lanes first

template <missing Piece, bool Shared, int Group>
__global__ void by_barrier(int* out, int* memory) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  __shared__ barrier full, empty;
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x, i = t % Group;
  if (t == 0) {
    init(&full, 2 * Group);
    init(&empty, Piece == missing::arrival ? 2 * Group - 1 : 2 * Group);
  }
  __syncthreads();
  for (int round = 0; round < 3; ++round)
    if (t >= Group) {
      data[i] = round + i;
      (void)full.arrive();
      empty.arrive_and_wait();
    } else {
      barrier::arrival_token token = full.arrive();
      if (Piece == missing::wait) out[i] = data[Group - 1 - i];
      full.wait(std::move(token));
      out[i] = data[Group - 1 - i];
      if (Piece != missing::arrival || i != 0) (void)empty.arrive();
    }
}

// ---- numbered barriers

template <missing Piece, bool Shared>
__global__ void by_number(int* out, int* memory) {
  int* data = data_of<Shared>(memory);
  const int t = threadIdx.x;
  data[t] = t;
  if (t < 64) {  // the second half takes another path
    if (Piece != missing::barrier) __barrier_sync_count(3, 64);
    out[t] = data[63 - t];
  } else {
    __barrier_sync_count(4, 64);
    out[t] = data[Piece == missing::wait ? 127 - t : 191 - t];
  }
}

template <class Kernel>
counts run(Kernel kernel, int threads = 64) {
  const on_device<int> out(std::vector<int>(256)), memory(std::vector<int>(256));
  return observe([&] { kernel<<<1, threads>>>(out.data, memory.data); });
}
template <class Kernel>
void expect_no_race(Kernel kernel, int threads = 64) {
  for (const std::string& r : run(kernel, threads).reports) ADD_FAILURE() << r;
}
template <class Kernel>
void expect_race(Kernel kernel, int threads = 64, const std::string& advice = "") {
  const counts c = run(kernel, threads);
  EXPECT_FALSE(c.reports.empty());
  for (const std::string& r : c.reports) {
    EXPECT_NE(r.find(": race "), std::string::npos) << r;
    EXPECT_NE(r.find(advice), std::string::npos) << r;
  }
}

TEST_F(Order, Flags) {
  expect_no_race(by_volatile_flag<missing::nothing, true>);
  expect_no_race(by_volatile_flag<missing::nothing, false>);
  const std::string advice = " hands the data over, __threadfence_block() before it and after it";
  expect_race(by_volatile_flag<missing::release, true>, 64, advice);
  expect_race(by_volatile_flag<missing::release, false>, 64, advice);
  expect_race(by_volatile_flag<missing::acquire, true>, 64, advice);
  expect_race(by_volatile_flag<missing::acquire, false>, 64, advice);
}

TEST_F(Order, Atomics) {
  expect_no_race(by_atomic_flag<missing::nothing, true>);
  expect_no_race(by_atomic_flag<missing::nothing, false>);
  expect_race(by_atomic_flag<missing::release, true>);
  expect_race(by_atomic_flag<missing::release, false>);
  expect_race(by_atomic_flag<missing::acquire, true>);
  expect_race(by_atomic_flag<missing::acquire, false>);
  expect_race(by_atomic_flag<missing::barrier, true>);
  expect_race(by_atomic_flag<missing::barrier, false>);
  expect_no_race(by_ordered_atomics<missing::nothing, true>);
  expect_no_race(by_ordered_atomics<missing::nothing, false>);
  expect_race(by_ordered_atomics<missing::release, true>);
  expect_race(by_ordered_atomics<missing::acquire, false>);
}

TEST_F(Order, CountersAndLocks) {
  expect_no_race(by_counter<missing::nothing, true>, 128);
  expect_no_race(by_counter<missing::nothing, false>, 128);
  expect_race(by_counter<missing::release, true>, 128);
  expect_race(by_counter<missing::release, false>, 128);
  expect_no_race(by_lock<missing::nothing, true>, 128);
  expect_no_race(by_lock<missing::nothing, false>, 128);
  expect_race(by_lock<missing::release, true>, 128);
  expect_race(by_lock<missing::release, false>, 128);
}

TEST_F(Order, Barriers) {
  expect_no_race(by_barrier<missing::nothing, true, 32>);
  expect_no_race(by_barrier<missing::nothing, false, 32>);
  expect_no_race(by_barrier<missing::nothing, true, 16>, 32);
  expect_no_race(by_barrier<missing::nothing, false, 16>, 32);
  expect_race(by_barrier<missing::wait, true, 32>);
  expect_race(by_barrier<missing::wait, false, 32>);
  expect_race(by_barrier<missing::wait, true, 16>, 32);
  expect_race(by_barrier<missing::arrival, true, 32>);  // one reader does not signal that it is done
}

TEST_F(Order, NumberedBarriers) {
  expect_no_race(by_number<missing::nothing, true>, 128);
  expect_no_race(by_number<missing::nothing, false>, 128);
  expect_race(by_number<missing::barrier, true>, 128);
  expect_race(by_number<missing::barrier, false>, 128);
  expect_race(by_number<missing::wait, true>, 128);
}

// ---- global memory, without any of these

template <missing Piece>
__global__ void through_global(int* out, int* memory) {
  memory[threadIdx.x] = threadIdx.x;
  if (Piece == missing::nothing) __syncthreads();
  out[threadIdx.x] = memory[threadIdx.x ^ 33];
}
template <missing Piece>
__global__ void over_what_others_read(int* out, int* memory) {
  const int value = memory[(threadIdx.x + 1) % 64];
  if (Piece == missing::nothing) __syncthreads();
  memory[threadIdx.x] = value;
  out[threadIdx.x] = value;
}
template <missing Piece>
__global__ void by_bytes(int* out, int* memory) {
  auto* bytes = reinterpret_cast<unsigned char*>(memory);
  bytes[threadIdx.x] = threadIdx.x;  // four threads in a word
  out[threadIdx.x] = bytes[Piece == missing::nothing ? threadIdx.x : threadIdx.x ^ 1];
}
template <missing Piece>
__global__ void sum_of_atomics(int* out, int* memory) {
  atomicAdd(&memory[0], 1);
  if (Piece == missing::nothing) __syncthreads();
  if (threadIdx.x == 0) out[0] = memory[0];
}
template <missing Piece>
__global__ void in_columns(int* out, int* memory) {  // each thread has its own words, or one more
  int sum = 0;
  for (int i = 0; i < 4; ++i) {
    memory[threadIdx.x * 4 + i] = i;
    if (Piece != missing::nothing) __syncwarp();
    sum += memory[threadIdx.x * 4 + (Piece == missing::nothing || threadIdx.x != 31 ? i : 4 + i)];
  }
  out[threadIdx.x] = sum;
}

TEST_F(Order, GlobalMemoryOfABlock) {
  expect_no_race(through_global<missing::nothing>);
  expect_race(through_global<missing::barrier>);
  expect_no_race(over_what_others_read<missing::nothing>);
  expect_race(over_what_others_read<missing::barrier>);
  expect_no_race(by_bytes<missing::nothing>);
  expect_race(by_bytes<missing::barrier>);
  expect_no_race(sum_of_atomics<missing::nothing>);
  expect_race(sum_of_atomics<missing::barrier>);
  expect_no_race(in_columns<missing::nothing>);
  expect_race(in_columns<missing::barrier>);
  const std::string r = only_report(run(through_global<missing::barrier>));
  EXPECT_NE(r.find("race between threads of a block: load of 4 bytes"), std::string::npos) << r;
  EXPECT_NE(r.find("and store by thread ("), std::string::npos) << r;
  EXPECT_NE(r.find("put __syncthreads() between"), std::string::npos) << r;
}

// ---- one instruction that stores in several threads: any store may win, so a race only if the values differ

enum class values { equal, of_lane, of_warp };

template <class T, values Which, bool Shared>
__global__ void store_by_all(int* out, int* memory) {
  T* data = reinterpret_cast<T*>(data_of<Shared>(memory));
  data[3] = static_cast<T>(Which == values::equal ? 7 : Which == values::of_lane ? threadIdx.x % 32 : threadIdx.x / 32);
  __syncthreads();
  out[threadIdx.x] = static_cast<int>(data[3]);
}
template <bool Shared>
__global__ void store_the_same_sequence(int* out, int* memory) {
  int* data = data_of<Shared>(memory);
  for (int i = 0; i < 5; ++i) data[0] = i * out[0];
  data[1 + threadIdx.x / 2] = out[0] + threadIdx.x / 2;
}
template <missing Piece, bool Shared>
__global__ void store_in_turn(int* out, int* memory) {
  int* data = data_of<Shared>(memory);
  for (int i = 0; i < 64; ++i) {
    if (threadIdx.x == i) data[0] = i;
    if (Piece == missing::nothing) __syncthreads();
  }
}

template <class T, bool Shared>
void expect_race_of_different_values() {
  expect_no_race(store_by_all<T, values::equal, Shared>);
  expect_no_race(store_by_all<T, values::of_warp, Shared>, 32);
  const std::string advice = "they store different values, and any of them may remain; let one thread store";
  expect_race(store_by_all<T, values::of_lane, Shared>, 2, advice);
  expect_race(store_by_all<T, values::of_lane, Shared>, 32, advice);
  expect_race(store_by_all<T, values::of_warp, Shared>, 64, advice);
}

TEST_F(Order, StoresByOneInstruction) {
  expect_race_of_different_values<char, true>();
  expect_race_of_different_values<char, false>();
  expect_race_of_different_values<short, false>();
  expect_race_of_different_values<int, true>();
  expect_race_of_different_values<int, false>();
  expect_race_of_different_values<double, true>();
  expect_race_of_different_values<double, false>();
  expect_no_race(store_the_same_sequence<true>);
  expect_no_race(store_the_same_sequence<false>);
  expect_no_race(store_in_turn<missing::nothing, true>);
  expect_no_race(store_in_turn<missing::nothing, false>);
  expect_race(store_in_turn<missing::barrier, true>);
  expect_race(store_in_turn<missing::barrier, false>);
}

// ---- blocks and streams that share words, and maybe bytes

template <class T>
__global__ void each_its_own(T* data) {
  data[blockIdx.x] = static_cast<T>(data[blockIdx.x] + 1);
}
template <class T>
__global__ void one_of_the_neighbour(T* data) {
  data[blockIdx.x + 1] = static_cast<T>(data[blockIdx.x] + 1);
}
template <class T>
__device__ T variable;
template <class T>
__global__ void count_in_variable() {
  variable<T> = static_cast<T>(variable<T> + 1);
}
__global__ void clear(char* data, int from, int step) { data[from + step * threadIdx.x] = 0; }

template <class T>
void expect_races_of_blocks() {
  const on_device<T> data(std::vector<T>(64));
  EXPECT_TRUE(observe([&] { each_its_own<<<32, 1>>>(data.data); }).reports.empty());
  const std::string r = only_report(observe([&] { one_of_the_neighbour<<<2, 1>>>(data.data); }));
  EXPECT_NE(r.find("race between blocks: "), std::string::npos) << r;
  EXPECT_NE(r.find(", byte " + std::to_string(sizeof(T)) + " of allocation"), std::string::npos) << r;
  EXPECT_TRUE(observe([&] { count_in_variable<T><<<1, 1>>>(); }).reports.empty());
  const std::string of_variable = only_report(observe([&] { count_in_variable<T><<<2, 1>>>(); }));
  EXPECT_NE(of_variable.find("race between blocks: "), std::string::npos) << of_variable;
}

TEST_F(Order, BytesOfBlocks) {
  expect_races_of_blocks<unsigned char>();
  expect_races_of_blocks<short>();
  expect_races_of_blocks<int>();
}

TEST_F(Order, BytesOfStreams) {
  const on_device<char> data(64);
  cudaStream_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
  const auto both = [&](int from, int step) {
    cudaDeviceSynchronize();
    return observe([&] {
      clear<<<1, 16, 0, first>>>(data.data, 0, 2);
      clear<<<1, 16, 0, second>>>(data.data, from, step);
    });
  };
  EXPECT_TRUE(both(1, 2).reports.empty());
  const std::string r = only_report(both(16, 1));
  EXPECT_NE(r.find("race between streams: store of 1 bytes, byte 16 of allocation"), std::string::npos) << r;
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

enum class begins { elsewhere, with_a_store, with_an_atomic };
template <begins How>
__global__ void sum_of_blocks(int* sum) {
  if (How == begins::with_a_store && blockIdx.x == gridDim.x / 2) *sum = 0;
  if (How == begins::with_an_atomic && blockIdx.x == gridDim.x / 2) atomicExch(sum, 0);
  if (How == begins::elsewhere && *sum > 1000) return;  // a guess
  atomicAdd(sum, 1);
}

TEST_F(Order, StoresBesideAtomicsOfOtherBlocks) {
  const on_device<int> sum(std::vector<int>{0});
  EXPECT_TRUE(observe([&] { sum_of_blocks<begins::elsewhere><<<16, 1>>>(sum.data); }).reports.empty());
  EXPECT_TRUE(observe([&] { sum_of_blocks<begins::with_an_atomic><<<16, 1>>>(sum.data); }).reports.empty());
  EXPECT_TRUE(observe([&] { sum_of_blocks<begins::with_a_store><<<1, 1>>>(sum.data); }).reports.empty());
  const std::string r = only_report(observe([&] { sum_of_blocks<begins::with_a_store><<<16, 1>>>(sum.data); }));
  EXPECT_NE(r.find("race between blocks: "), std::string::npos) << r;
}

}  // namespace
