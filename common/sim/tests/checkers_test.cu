// What the simulated device reports: accesses out of bounds, memory never written, races, barriers and waits.
#include <cstring>
#include <map>
#include <set>

#include "device_test.hpp"

#include <sim/names.h>
#include <cuda/atomic>
#include <sim/host_accesses.hpp>

namespace {

using Checkers = DeviceTest;

__global__ void copy(float* out, const float* in, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride + offset];
}

TEST_F(Checkers, OutOfBoundsNamesThreadAndLine) {
  const on_device<float> in(ramp(100)), out(128);
  const std::string r = only_report(observe([&] { copy<<<1, 128>>>(out.data, in.data, 128, 1, 0); }));
  EXPECT_NE(r.find("checkers_test.cu:"), std::string::npos) << r;
  EXPECT_NE(
      r.find(
          "block (0,0,0) thread (100,0,0): global load of 4 bytes out of bounds, 0 bytes past the end of allocation"),
      std::string::npos)
      << r;
  EXPECT_NE(r.find("(28 times)"), std::string::npos) << r;
}

TEST_F(Checkers, OutOfBoundsBelowAnArray) {
  const on_device<float> before(ramp(100)), in(ramp(100)), out(128);
  const std::string r = only_report(observe([&] { copy<<<1, 32>>>(out.data, in.data, 32, 1, -2); }));
  EXPECT_NE(r.find("thread (0,0,0): global load of 4 bytes out of bounds, 8 bytes before allocation"),
            std::string::npos)
      << r;
}

TEST_F(Checkers, ReadsOfUnwrittenMemory) {
  const on_device<float> in(128), out(128);
  const std::string r = only_report(observe([&] { copy<<<1, 128>>>(out.data, in.data, 128, 1, 0); }));
  EXPECT_NE(r.find("global load of 4 bytes that were never written"), std::string::npos) << r;
}

__global__ void forgets_the_barrier(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

TEST_F(Checkers, SharedMemoryReadBeforeItIsWritten) {
  const on_device<float> out(64);
  const std::string r = only_report(observe([&] { forgets_the_barrier<<<1, 64>>>(out.data); }));
  EXPECT_NE(r.find("race in shared memory: load of 4 bytes"), std::string::npos) << r;
  EXPECT_NE(r.find("put __syncthreads() between"), std::string::npos) << r;
}

TEST_F(Checkers, UseAfterFree) {
  const on_device<float> in(ramp(64));
  float* gone = nullptr;
  ASSERT_EQ(cudaMalloc(&gone, 256), cudaSuccess);
  ASSERT_EQ(cudaFree(gone), cudaSuccess);
  const std::string r = only_report(observe([&] { copy<<<1, 64>>>(gone, in.data, 64, 1, 0); }));
  EXPECT_NE(r.find("after cudaFree"), std::string::npos) << r;
}

TEST_F(Checkers, HostPointersAreIllegal) {
  const on_device<float> in(ramp(64));
  std::vector<float> host(64);
  const std::string r = only_report(observe([&] { copy<<<1, 64>>>(host.data(), in.data, 64, 1, 0); }));
  EXPECT_NE(r.find("not device memory; is it a host pointer, null, or below all arrays?"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  float* more = nullptr;
  EXPECT_EQ(cudaMalloc(&more, 4), cudaErrorIllegalAddress);  // sticky, as on a GPU
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

__device__ int steps_to_the_end(const int* next, int i) {
  return i < 0 ? 0 : 1 + steps_to_the_end(next, next[i]) % 7;  // so that compilers cannot make it a loop
}
__global__ void follows(const int* next, int* out) { out[threadIdx.x] = steps_to_the_end(next, threadIdx.x); }

TEST_F(Checkers, ARecursionWithoutEnd) {
  const on_device<int> next(std::vector<int>{1, 2, 0, -1}), out(4);
  const std::string r = only_report(observe([&] { follows<<<1, 4>>>(next.data, out.data); }));
  EXPECT_NE(r.find("checkers_test.cu:"), std::string::npos) << r;
  EXPECT_NE(r.find("follows: block (0,0,0) thread (0,0,0): stack overflow"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

#ifdef __x86_64__  // Arm's division gives 0
constexpr int line_of_the_mean = __LINE__ + 3;
__global__ void means(const int* sums, const int* counts, int* out) {
  const int i = static_cast<int>(threadIdx.x);
  const int mean = sums[i] / counts[i];
  out[i] = mean;
}

TEST_F(Checkers, IntegerDivisionByZero) {
  const on_device<int> sums(std::vector<int>(64, 6)), out(64);
  std::vector<int> numbers(64, 2);
  const on_device<int> twos(numbers);
  EXPECT_TRUE(observe([&] { means<<<1, 64>>>(sums.data, twos.data, out.data); }).reports.empty());
  numbers[37] = 0;
  const on_device<int> with_zero(numbers);
  const std::string r = only_report(observe([&] { means<<<1, 64>>>(sums.data, with_zero.data, out.data); }));
  EXPECT_NE(r.find("checkers_test.cu:" + std::to_string(line_of_the_mean)), std::string::npos) << r;
  EXPECT_NE(r.find("means: block (0,0,0) thread (37,0,0): integer division by zero"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}
#endif

namespace of_the_host {
float tile[64];
static int steps = 3, counters[2];
}  // namespace of_the_host
float registered[1024];
__device__ float tile_of_device[64];
#define ON_DEVICE __device__
ON_DEVICE float marked_by_a_macro[64];
#define in_device __device__
in_device float marked_by_another[64];
__managed__ float managed[64];
struct counters {
  static __device__ int mine;
};
__device__ int counters::mine;

__global__ void keeps_its_tile_with_the_host(float* out) {
  of_the_host::tile[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = of_the_host::tile[63 - threadIdx.x];
}
__global__ void reads_the_hosts(float* out, const int* from) { out[threadIdx.x] = static_cast<float>(*from); }
__global__ void has_a_tile_of_its_own(float* out) {
  static float own[64];
  own[threadIdx.x] = tile_of_device[threadIdx.x] = marked_by_a_macro[threadIdx.x] = 1;
  managed[threadIdx.x] = marked_by_another[threadIdx.x] = 1;
  if (threadIdx.x == 0) counters::mine = 1;
  out[threadIdx.x] = own[threadIdx.x] + managed[threadIdx.x];
}

TEST_F(Checkers, VariablesOfTheHostAreOutOfReach) {
  const on_device<float> out(64);
  const std::string r = only_report(observe([&] { keeps_its_tile_with_the_host<<<1, 64>>>(out.data); }));
  EXPECT_NE(r.find("store of 4 bytes of the host variable 'of_the_host::tile', which no kernel can reach; declare it "
                   "__shared__ or __device__"),
            std::string::npos)
      << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  for (const int* from : {&of_the_host::steps, of_the_host::counters + 1}) {
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
    const on_device<float> more(64);
    const std::string by_address = only_report(observe([&] { reads_the_hosts<<<1, 64>>>(more.data, from); }));
    EXPECT_NE(by_address.find("load of 4 bytes of the host variable 'of_the_host::"), std::string::npos) << by_address;
  }
}

static int static_of_a_function() {
  static int kept[4];
  const on_device<float> out(64);
  const std::string r = only_report(observe([&] { reads_the_hosts<<<1, 64>>>(out.data, kept); }));
  EXPECT_NE(r.find("of the host variable 'static_of_a_function()::kept'"), std::string::npos) << r;
  return kept[0];
}

TEST_F(Checkers, SoAreStaticVariablesOfItsFunctions) { EXPECT_EQ(static_of_a_function(), 0); }

TEST_F(Checkers, VariablesOfTheDeviceAndRegisteredOnesAreNot) {
  const on_device<float> out(64);
  EXPECT_EQ(observe([&] { has_a_tile_of_its_own<<<1, 64>>>(out.data); }).reports, std::vector<std::string>{});
  ASSERT_EQ(cudaHostRegister(registered, sizeof registered, 0), cudaSuccess);
  EXPECT_EQ(observe([&] { copy<<<1, 64>>>(registered, out.data, 64, 1, 0); }).reports, std::vector<std::string>{});
  EXPECT_EQ(cudaHostUnregister(registered), cudaSuccess);
}

__global__ void misaligned_load(float* out, const float* in) { *(float4*)out = *(const float4*)(in + 1); }

TEST_F(Checkers, Misaligned) {
#ifdef __clang__
  GTEST_SKIP() << "clang makes a memcpy of this copy, which may lie anywhere";
#endif
  const on_device<float> in(ramp(64)), out(4);
  const std::string r = only_report(observe([&] { misaligned_load<<<1, 1>>>(out.data, in.data); }));
  EXPECT_NE(r.find("misaligned global load of 16 bytes; its address must be a multiple of 16"), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorMisalignedAddress);
}

__global__ void half_returns_before_the_barrier(float* out) {
  if (threadIdx.x >= 128) return;
  __syncthreads();
  out[threadIdx.x] = 1;
}

__global__ void all_agree(int* out) {
  if (threadIdx.x >= 40) return;
  out[threadIdx.x] = __syncthreads_and(1) + 10 * __syncthreads_count(1);
}
__global__ void exited_lanes(int* out) {  // a mask may name exited lanes; none reads their values
  if (threadIdx.x >= 16) return;
  int sum = threadIdx.x;
  for (int d = 8; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  __syncwarp();
  out[threadIdx.x] = sum + __ballot_sync(0xffffffff, threadIdx.x % 2);
}

// "... will not succeed until reached by all non-exited threads in the block" (CUDA Programming Guide, on compute
// capability 7.x); and "all non-exited threads named in mask" must call a warp function.
TEST_F(Checkers, ExitedThreadsMeetNobody) {
  const on_device<float> out(128);
  EXPECT_TRUE(observe([&] { half_returns_before_the_barrier<<<1, 256>>>(out.data); }).reports.empty());
  const on_device<int> words(64);
  EXPECT_TRUE(observe([&] { all_agree<<<1, 64>>>(words.data); }).reports.empty());
  EXPECT_EQ(words.host()[39], 401);
  EXPECT_TRUE(observe([&] { exited_lanes<<<1, 64>>>(words.data); }).reports.empty());
  EXPECT_EQ(words.host()[0], 120 + 0xaaaa);
}

template <int Threads>
__global__ void two_barriers(float* out) {
  if (threadIdx.x < Threads) {
    out[threadIdx.x] = 1;
    __syncthreads();
  } else {
    out[threadIdx.x] = 2;
    __syncthreads();
  }
}

// On a GPU, whole warps may use different barriers. In a warp it is undefined: PTX, bar.sync (barrier.sync.aligned).
TEST_F(Checkers, DivergentBarrier) {
  const on_device<float> out(1024);
  EXPECT_TRUE(observe([&] { two_barriers<32><<<1, 64>>>(out.data); }).reports.empty());
#ifdef __clang__
  GTEST_SKIP() << "clang makes one barrier of the two";
#endif
  const std::string r = only_report(observe([&] { two_barriers<16><<<1, 64>>>(out.data); }));
  EXPECT_NE(r.find("thread (16,0,0): barrier not reached by all threads: thread 15 of the same warp waits at"),
            std::string::npos)
      << r;
}

// Reports are strings, and this file instruments the library's string functions: their accesses once counted as the
// kernel's.
TEST_F(Checkers, ReportsFromAFullBlock) {
#ifdef __clang__
  GTEST_SKIP() << "clang makes one barrier of the two";
#endif
  const on_device<float> out(1024);
  for (int i = 0; i < 3; ++i) {
    const std::string r = only_report(observe([&] { two_barriers<16><<<4, 1024>>>(out.data); }));
    EXPECT_NE(r.find("(4 times)"), std::string::npos) << r;
  }
  const std::string text = "a string of a length that is not kept inside the object: " + std::to_string(out.size);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess) << text;
}

__global__ void waits_for_nobody(float* out) {
  if (threadIdx.x == 0)
    __shfl_sync(0xffffffffu, 1, 0);
  else
    __syncthreads();
  out[threadIdx.x] = 1;
}

// PTX: "The behavior of shfl.sync is undefined if the executing thread is not in the membermask."
__global__ void outside_of_its_mask(int* out, unsigned mask) {
  out[threadIdx.x] = __any_sync(mask, threadIdx.x == 0);
  __syncwarp();
}
__global__ void where_they_are(int* out) {
  if (threadIdx.x % 3 == 0) out[threadIdx.x] = __popc(__activemask());
}

TEST_F(Checkers, LanesOutsideOfTheirMask) {
  const on_device<int> out(32);
  const std::string r = only_report(observe([&] { outside_of_its_mask<<<1, 32>>>(out.data, 0xffff); }));
  EXPECT_NE(r.find("thread (16,0,0): warp function with lanes missing: the calling lane itself is not in the mask"),
            std::string::npos)
      << r;
  const std::string empty = only_report(observe([&] { outside_of_its_mask<<<1, 32>>>(out.data, 0); }));
  EXPECT_NE(empty.find("thread (0,0,0): warp function with lanes missing: the mask is 0"), std::string::npos) << empty;
  EXPECT_TRUE(observe([&] { outside_of_its_mask<<<1, 32>>>(out.data, ~0u); }).reports.empty());
  EXPECT_TRUE(observe([&] { where_they_are<<<1, 32>>>(out.data); }).reports.empty());
  EXPECT_EQ(out.host()[0], 11);
}

TEST_F(Checkers, MissingLanes) {
  const on_device<float> out(32);
  const std::string r = only_report(observe([&] { waits_for_nobody<<<1, 32>>>(out.data); }));
  EXPECT_NE(r.find("lanes missing"), std::string::npos) << r;
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
}

// ---- races and waits ------------------------------------------------------------------------------------------------

__global__ void two_arrays(float* out) {
  __shared__ float first[32], second[32];
  first[threadIdx.x] = 1;
  second[threadIdx.x] = 2;
  __syncthreads();
  out[threadIdx.x] = first[threadIdx.x + 1] + second[threadIdx.x];
}

TEST_F(Checkers, FromOneSharedArrayIntoTheNext) {
  const on_device<float> out(32);
  const std::string r = only_report(observe([&] { two_arrays<<<1, 32>>>(out.data); }));
  EXPECT_NE(r.find("thread (31,0,0): shared load of 4 bytes out of bounds;"), std::string::npos) << r;
}

__global__ void dynamic_array() {
  extern __shared__ float row[];
  row[threadIdx.x] = 1;
}

TEST_F(Checkers, TooLittleDynamicSharedMemory) {
  const std::string r = only_report(observe([&] { dynamic_array<<<1, 32, 40>>>(); }));
  EXPECT_NE(r.find("thread (10,0,0): shared store of 4 bytes out of bounds, byte 40 of dynamic shared memory, and "
                   "the launch requests 40 bytes (the third argument between <<< and >>>)"),
            std::string::npos)
      << r;
}

__global__ void runs_on_in_shared_memory(float* out) {
  __shared__ float row[32];
  row[threadIdx.x] = 1;
  __syncthreads();
  float sum = 0;
  for (unsigned i = 0;; ++i) {
    sum += row[i % 4096];
    if (sum < 0) break;
  }
  *out = sum;
}
__global__ void runs_on_in_global_memory(float* x, unsigned n) {
  float sum = 0;
  for (unsigned i = 0; i < n; ++i) sum += x[i];
  x[threadIdx.x] = sum;
}
__global__ void stores_into_each_word(float* out) {
  extern __shared__ float row[];
  for (unsigned i = threadIdx.x;; ++i) row[i] = *out;
}

TEST_F(Checkers, LoopsThatRunAwayEndTheKernel) {
  const auto check = [](const std::function<void(float*)>& launch, const char* access) {
    const on_device<float> x(ramp(32));
    const counts c = observe([&] { launch(x.data); });
    ASSERT_FALSE(c.reports.empty());
    EXPECT_NE(c.reports[0].find(access), std::string::npos) << c.reports[0];
    EXPECT_NE(c.reports[0].find("; such accesses ended the kernel"), std::string::npos) << c.reports[0];
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
  };
  check([](float* x) { runs_on_in_shared_memory<<<4, 32>>>(x); }, "shared load of 4 bytes out of bounds");
  check([](float* x) { runs_on_in_global_memory<<<4, 32>>>(x, ~0u); }, "global load of 4 bytes out of bounds");
  check([](float* x) { stores_into_each_word<<<4, 32, 128>>>(x); }, "shared store of 4 bytes out of bounds");
}

__global__ void local_array(float* out, int n) {
  float local[8];
  for (int i = 0; i < n; ++i) local[i] = i;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += local[i];
  out[threadIdx.x] = sum;
}
__global__ void flattened(float* out) {
  __shared__ float tile[4][8];
  tile[0][threadIdx.x] = 1;
  __syncwarp();
  out[threadIdx.x] = tile[0][31 - threadIdx.x];
}

__device__ float table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__global__ void look_up(float* out, int i) { out[threadIdx.x] = table[i]; }

__constant__ float weights[9];
__device__ float sums_by_row[4][8], changed[8];
__global__ void weighted(float* out, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += weights[i];
  out[threadIdx.x] = sum;
}
__global__ void changes(int n) {
  for (int i = 0; i < n; ++i) changed[i] = static_cast<float>(i);
}
__global__ void rows_as_one(float* out) { out[threadIdx.x] = sums_by_row[0][threadIdx.x] += 1; }

TEST_F(Checkers, ArraysOfTheDevice) {
  const on_device<float> out(32);
  EXPECT_TRUE(observe([&] { weighted<<<1, 32>>>(out.data, 9); }).reports.empty());
  std::string r = only_report(observe([&] { weighted<<<1, 32>>>(out.data, 10); }));
  EXPECT_NE(r.find("thread (0,0,0): array out of bounds at index 9"), std::string::npos) << r;
  EXPECT_TRUE(observe([&] { changes<<<1, 1>>>(8); }).reports.empty());
  r = only_report(observe([&] { changes<<<1, 1>>>(9); }));
  EXPECT_NE(r.find("thread (0,0,0): array out of bounds at index 8"), std::string::npos) << r;
  EXPECT_EQ(observe([&] { rows_as_one<<<1, 32>>>(out.data); }).reports, std::vector<std::string>{});
}

TEST_F(Checkers, LocalArrays) {
  const on_device<float> out(32);
  EXPECT_TRUE(observe([&] { local_array<<<1, 32>>>(out.data, 8); }).reports.empty());
  const counts c = observe([&] { local_array<<<1, 32>>>(out.data, 9); });
  ASSERT_EQ(c.reports.size(), 2u);
  EXPECT_NE(c.reports[0].find("thread (0,0,0): array out of bounds at index 8"), std::string::npos) << c.reports[0];
  const counts in_table = observe([&] { look_up<<<1, 1>>>(out.data, 8); });
  ASSERT_FALSE(in_table.reports.empty());
  EXPECT_NE(in_table.reports[0].find("thread (0,0,0): array out of bounds at index 8"), std::string::npos)
      << in_table.reports[0];  // the table is not local
  EXPECT_TRUE(observe([&] { flattened<<<1, 32>>>(out.data); }).reports.empty());
}

__global__ void neighbours_in_a_warp(float* out, bool sync) {
  __shared__ float tile[32];
  tile[threadIdx.x] = 1;
  if (sync) __syncwarp();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

TEST_F(Checkers, MissingSyncwarp) {
  const on_device<float> out(32);
  EXPECT_TRUE(observe([&] { neighbours_in_a_warp<<<1, 32>>>(out.data, true); }).reports.empty());
  const std::string r = only_report(observe([&] { neighbours_in_a_warp<<<1, 32>>>(out.data, false); }));
  EXPECT_NE(r.find("put __syncwarp() between"), std::string::npos) << r;
}

__global__ void tree_without_barriers(float* out) {
  __shared__ float parts[256];
  parts[threadIdx.x] = 1;
  __syncthreads();
  for (unsigned apart = 1; apart < 256; apart *= 2)  // first within a warp, then between warps
    if (threadIdx.x % (2 * apart) == 0) parts[threadIdx.x] += parts[threadIdx.x + apart];
  if (threadIdx.x == 0) *out = parts[0];
}

TEST_F(Checkers, NamesTheBarrierThatAllNeed) {
  const on_device<float> out(1);
  const auto all = observe([&] { tree_without_barriers<<<1, 256>>>(out.data); }).reports;
  ASSERT_FALSE(all.empty());
  for (const std::string& r : all) EXPECT_NE(r.find("put __syncthreads() between"), std::string::npos) << r;
}

template <class T>
__global__ void change_own(T* out, unsigned reads_of) {
  __shared__ T own[128];
  own[threadIdx.x] = static_cast<T>(threadIdx.x);
  __syncthreads();
  const T before = own[threadIdx.x ^ reads_of];
  own[threadIdx.x] = static_cast<T>(before + 1);
  __syncthreads();
  out[threadIdx.x] = own[threadIdx.x];
}

TEST_F(Checkers, ThreadsThatShareAWord) {
  const on_device<unsigned char> bytes(128);
  const on_device<unsigned short> halves(128);
  EXPECT_TRUE(observe([&] { change_own<<<1, 128>>>(bytes.data, 0u); }).reports.empty());
  EXPECT_TRUE(observe([&] { change_own<<<1, 128>>>(halves.data, 0u); }).reports.empty());
  EXPECT_EQ(bytes.host()[127], 128);
  const std::string r = only_report(observe([&] { change_own<<<1, 128>>>(bytes.data, 64u); }));
  EXPECT_NE(
      r.find("thread (67,0,0): race in shared memory: load of 1 bytes at byte 3 of its array, and store by thread "
             "(3,0,0)"),
      std::string::npos)
      << r;
}

struct node {
  int value;
  node* next;
};
/// Each thread builds its own list.
__global__ void lists(int* out, int* kept, bool frees_twice) {
  node* first = nullptr;
  for (int i = 0; i < 4; ++i) first = new node{i, first};
  int sum = 0;
  while (node* gone = first) {
    sum += gone->value;
    first = gone->next;
    delete gone;
    if (frees_twice) delete gone;
  }
  auto* numbers = static_cast<int*>(malloc(10 * sizeof(int)));
  for (int i = 0; i < 10; ++i) numbers[i] = sum + i;
  out[blockIdx.x * blockDim.x + threadIdx.x] = numbers[9];
  if (kept && blockIdx.x == 0 && threadIdx.x == 0)
    *reinterpret_cast<int**>(kept) = numbers;
  else
    free(numbers);
}
__global__ void read_kept(int* out, int* const* kept, int i) { *out = (*kept)[i]; }
__global__ void too_much(int* out) { *out = malloc(size_t{1} << 30) == nullptr; }

TEST_F(Checkers, MemoryThatKernelsAllocate) {
  const on_device<int> out(256), kept(2);
  const counts c = observe([&] { lists<<<4, 64>>>(out.data, kept.data, false); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out.host()[0], 15);
  EXPECT_EQ(out.host()[255], 15);
  // A second launch gets the memory that the first one has freed.
  EXPECT_TRUE(observe([&] { lists<<<4, 64>>>(out.data, nullptr, false); }).reports.empty());
  const auto read = [&](int i) {
    return observe([&] { read_kept<<<1, 1>>>(out.data, reinterpret_cast<int**>(kept.data), i); });
  };
  EXPECT_TRUE(read(9).reports.empty());
  EXPECT_EQ(out.host()[0], 15);
  EXPECT_NE(only_report(read(10)).find("global load of 4 bytes out of bounds, 0 bytes past the end"),
            std::string::npos);
  int* in_kernel = nullptr;
  ASSERT_EQ(cudaMemcpy(&in_kernel, kept.data, sizeof in_kernel, cudaMemcpyDeviceToHost), cudaSuccess);
  int host = 0;
  EXPECT_EQ(cudaMemcpy(&host, in_kernel, sizeof host, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  cudaGetLastError();
  too_much<<<1, 1>>>(out.data);
  EXPECT_EQ(out.host()[0], 1);
}

__global__ void copies_itself(int* data) { cudaMemcpyAsync(data, data + 1, sizeof *data, cudaMemcpyDeviceToDevice); }
__global__ void waits_for_an_event() {
  cudaEvent_t event;
  if (cudaEventCreate(&event) == cudaSuccess) cudaEventSynchronize(event);
}
TEST_F(Checkers, CallsOfTheHostInAKernelAreReported) {
  const on_device<int> data(std::vector<int>(2));
  for (const auto& launch : std::vector<std::function<void()>>{[&] { copies_itself<<<1, 32>>>(data.data); },
                                                               [&] { waits_for_an_event<<<1, 32>>>(); }}) {
    const std::string report = only_report(observe(launch));
    EXPECT_NE(report.find("checkers_test.cu"), std::string::npos) << report;
    EXPECT_NE(report.find("this CUDA call is not simulated in a kernel"), std::string::npos) << report;
    cudaDeviceReset();
  }
}
struct shape {
  virtual __device__ int corners() const = 0;
  virtual __device__ ~shape() {}
};
struct square : shape {
  __device__ int corners() const override { return 4; }
};
__global__ void make_shape(shape** made) { *made = new square; }
__global__ void count_corners(shape** made, int* out) {
  *out = (*made)->corners();
  delete *made;
}

TEST_F(Checkers, VirtualFunctionsOfObjectsOnTheHeap) {
  const on_device<shape*> made(1);
  const on_device<int> out(1);
  EXPECT_TRUE(observe([&] { make_shape<<<1, 1>>>(made.data); }).reports.empty());
  const counts c = observe([&] { count_corners<<<1, 1>>>(made.data, out.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out.host()[0], 4);
}

struct plate {
  float side = 3;
  __host__ __device__ virtual float area() const { return side; }
};
struct tile_plate : plate {
  __host__ __device__ float area() const override { return side * side; }
};
__global__ void make_plate(tile_plate* s, bool square) {
  if (square)
    new (s) tile_plate;
  else
    new (static_cast<plate*>(s)) plate;
}
__global__ void area_of(const plate* s, float* out) { *out = s->area(); }

TEST_F(Checkers, VirtualFunctionsOfObjectsThatTheHostMade) {
  tile_plate here, back;
  tile_plate* there = nullptr;
  ASSERT_EQ(cudaMalloc(&there, sizeof *there), cudaSuccess);
  const on_device<float> out(1);
  make_plate<<<1, 1>>>(there, true);
  EXPECT_TRUE(observe([&] { area_of<<<1, 1>>>(there, out.data); }).reports.empty());
  EXPECT_EQ(out.host()[0], 9);
  ASSERT_EQ(cudaMemcpy(there, &here, sizeof here, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(static_cast<void*>(&back), there, sizeof back, cudaMemcpyDeviceToHost), cudaSuccess);
  const plate* volatile back_here = &back;
  EXPECT_EQ(back_here->area(), 9) << "a copy there and back changes nothing";
  const std::string r = only_report(observe([&] { area_of<<<1, 1>>>(there, out.data); }));
  EXPECT_NE(r.find("a virtual function of a "), std::string::npos) << r;
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaDeviceReset(), cudaSuccess);
}

TEST_F(Checkers, MemoryThatKernelsFreeTwice) {
  const on_device<int> out(64);
  const std::string r = only_report(observe([&] { lists<<<1, 64>>>(out.data, nullptr, true); }));
  EXPECT_NE(r.find("or that is already free"), std::string::npos) << r;
  cudaDeviceReset();
}

__global__ void reduce_in_place(float* out, bool sync_between) {
  __shared__ float tile[256];
  tile[threadIdx.x] = 1;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) tile[threadIdx.x] += tile[threadIdx.x + half];
    if (sync_between) __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = tile[0];
}

TEST_F(Checkers, ReductionWithoutBarrier) {
  const on_device<float> out(4);
  EXPECT_TRUE(observe([&] { reduce_in_place<<<4, 256>>>(out.data, true); }).reports.empty());
  EXPECT_EQ(out.host()[3], 256);
  const counts c = observe([&] { reduce_in_place<<<4, 256>>>(out.data, false); });
  EXPECT_FALSE(c.reports.empty());
  for (const std::string& r : c.reports) EXPECT_NE(r.find("race in shared memory"), std::string::npos) << r;
}

__global__ void shared_histogram(int* out, bool atomics) {
  __shared__ int bins[8];
  if (threadIdx.x < 8) bins[threadIdx.x] = 0;
  __syncthreads();
  if (atomics)
    atomicAdd(&bins[threadIdx.x % 8], 1);
  else
    bins[threadIdx.x % 8] += 1;
  __syncthreads();
  if (threadIdx.x < 8) out[threadIdx.x] = bins[threadIdx.x];
}

TEST_F(Checkers, AtomicsDoNotRace) {
  const on_device<int> out(8);
  EXPECT_TRUE(observe([&] { shared_histogram<<<1, 256>>>(out.data, true); }).reports.empty());
  EXPECT_EQ(out.host()[7], 32);
  EXPECT_FALSE(observe([&] { shared_histogram<<<1, 256>>>(out.data, false); }).reports.empty());
}

// The thread that stores also adds, so the last write to the counter is always an atomic.
enum class before_the_first { nothing, warp, block, flag };
template <before_the_first Waits>
__global__ void counts_from_zero(int* out) {
  __shared__ int count;
  __shared__ volatile int ready;
  if (threadIdx.x == 0) ready = 0;
  __syncthreads();
  if (threadIdx.x == 0) count = 0;
  if (Waits == before_the_first::warp) __syncwarp();
  if (Waits == before_the_first::block) __syncthreads();
  if (Waits == before_the_first::flag) {
    if (threadIdx.x == 0) {
      __threadfence_block();
      ready = 1;
    }
    while (ready == 0) {
    }
    __threadfence_block();
  }
  atomicAdd(&count, 1);
  __syncthreads();
  if (threadIdx.x == 0) *out = count;
}

TEST_F(Checkers, AStoreAndTheAtomicsAfterItDo) {
  const on_device<int> out(1);
  const std::string r =
      only_report(observe([&] { counts_from_zero<before_the_first::nothing><<<1, 128>>>(out.data); }));
  EXPECT_NE(r.find("race in shared memory: atomic of 4 bytes at byte 0 of its array, and store by thread (0,0,0)"),
            std::string::npos)
      << r;
  EXPECT_NE(r.find("__syncthreads()"), std::string::npos) << r;
  EXPECT_NE(only_report(observe([&] {
              counts_from_zero<before_the_first::nothing><<<1, 32>>>(out.data);
            })).find("__syncwarp()"),
            std::string::npos);
  EXPECT_NE(only_report(observe([&] {
              counts_from_zero<before_the_first::warp><<<1, 64>>>(out.data);
            })).find("__syncthreads()"),
            std::string::npos);
  EXPECT_TRUE(observe([&] { counts_from_zero<before_the_first::warp><<<1, 32>>>(out.data); }).reports.empty());
  EXPECT_TRUE(observe([&] { counts_from_zero<before_the_first::block><<<2, 128>>>(out.data); }).reports.empty());
  EXPECT_TRUE(observe([&] { counts_from_zero<before_the_first::flag><<<2, 128>>>(out.data); }).reports.empty());
}

// In the style of the CUDA Programming Guide's atomicAdd for doubles.
__noinline__ __device__ void add_by_compare(double* to, double value) {
  auto* bits = reinterpret_cast<unsigned long long*>(to);
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
}
__device__ void raise(float* to, float value) {
  auto* bits = reinterpret_cast<int*>(to);
  for (int old = *bits; value > __int_as_float(old);) {
    const int seen = atomicCAS(bits, old, __float_as_int(value));
    if (seen == old) break;
    old = seen;
  }
}
__global__ void by_compare(double* sum, float* largest) {
  __shared__ double of_block;
  if (threadIdx.x == 0) of_block = 0;
  __syncthreads();
  add_by_compare(&of_block, 1);
  raise(largest, static_cast<float>(threadIdx.x));
  __syncthreads();
  if (threadIdx.x == 0) add_by_compare(sum, of_block);
}
__global__ void reads_while_others_add(double* sum, double* seen) {
  if (threadIdx.x < 32)
    seen[threadIdx.x] = *sum;
  else
    add_by_compare(sum, 1);
}

TEST_F(Checkers, LoadsThatACompareAndSwapVerifies) {
  const on_device<double> sum(std::vector<double>{0}), seen(std::vector<double>(32, 0));
  const on_device<float> largest(std::vector<float>{0});
  const counts c = observe([&] { by_compare<<<4, 128>>>(sum.data, largest.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports.front();
  EXPECT_EQ(sum.host()[0], 512);
  EXPECT_EQ(largest.host()[0], 127);
  const std::string r = only_report(observe([&] { reads_while_others_add<<<1, 64>>>(sum.data, seen.data); }));
  EXPECT_NE(r.find("race between threads of a block"), std::string::npos) << r;
}

struct alignas(2) narrow {  // like half
  unsigned short bits;
};
__global__ void vectors_of_a_narrow_array(int4* out) {
  __shared__ bool flag;
  __shared__ narrow tile[256];
  if (threadIdx.x == 0) flag = true;
  for (int i = threadIdx.x; i < 256; i += 32) tile[i].bits = static_cast<unsigned short>(i);
  __syncthreads();
  if (flag) out[threadIdx.x] = reinterpret_cast<int4*>(tile)[threadIdx.x];
}

TEST_F(Checkers, SharedArraysBeginWhereAVectorMay) {
  const on_device<int4> out(32);
  const counts c = observe([&] { vectors_of_a_narrow_array<<<1, 32>>>(out.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports.front();
  EXPECT_EQ(out.host()[1].x, 8 + (9 << 16));
}

__global__ void sum_without_atomics(float* sum) {
  if (threadIdx.x == 0) *sum += 1;
}
__global__ void smooth_in_place(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i > 0 && i < n - 1) x[i] = x[i - 1] + x[i + 1];
}

TEST_F(Checkers, RacesBetweenBlocks) {
  const on_device<float> sum(std::vector<float>{0}), x(ramp(1024));
  const std::string r = only_report(observe([&] { sum_without_atomics<<<8, 32>>>(sum.data); }));
  EXPECT_NE(r.find("race between blocks"), std::string::npos) << r;
  EXPECT_TRUE(observe([&] { sum_without_atomics<<<1, 32>>>(sum.data); }).reports.empty());
  const counts c = observe([&] { smooth_in_place<<<4, 256>>>(x.data, 1024); });
  ASSERT_EQ(c.reports.size(), 2u);
  EXPECT_NE(c.reports[0].find("race between threads of a block"), std::string::npos) << c.reports[0];
  EXPECT_NE(c.reports[1].find("race between blocks"), std::string::npos) << c.reports[1];
}

__device__ unsigned int finished_blocks;
template <bool Fence = true>
__global__ void last_block_sums(float* out, float* partial) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    if (Fence) __threadfence();
    last = atomicInc(&finished_blocks, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
    *out = sum;
  }
}

template <bool Fences, class T = float>
__global__ void hands_over_by_a_flag(T* data, volatile int* flag, float* out) {
  if (blockIdx.x == 0) {
    data[threadIdx.x] = static_cast<float>(threadIdx.x);
    if (Fences) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) *flag = 1;
    return;
  }
  if (threadIdx.x == 0)
    while (*flag == 0) {
    }
  __syncthreads();
  if (Fences) __threadfence();
  out[threadIdx.x] = data[63 - threadIdx.x];
}

TEST_F(Checkers, FlagsWithoutFencesOrderNoBlocks) {
  const on_device<float> data(64), out(64);
  const auto run = [&](auto kernel) {
    const on_device<int> flag(std::vector<int>{0});
    return observe([&] { kernel<<<2, 64>>>(data.data, flag.data, out.data); });
  };
  EXPECT_EQ(run(hands_over_by_a_flag<true>).reports, std::vector<std::string>{});
  EXPECT_EQ(out.host()[0], 63);
  EXPECT_EQ(run(hands_over_by_a_flag<false, volatile float>).reports, std::vector<std::string>{});
  const std::string r = only_report(run(hands_over_by_a_flag<false>));
  EXPECT_NE(r.find("race between blocks"), std::string::npos) << r;
  EXPECT_NE(r.find(" hands the data over, __threadfence() before it and after it"), std::string::npos) << r;
}

// A fence alone tells no other block anything: the first to read does so before most others have written, in whatever
// order they run.
template <bool Flag>
__global__ void sums_behind_a_fence(float* out, float* partial, int* arrived) {
  partial[blockIdx.x] = 1;
  __threadfence();
  if (Flag) atomicAdd(arrived, 1);
  while (Flag && atomicAdd(arrived, 0) < static_cast<int>(gridDim.x)) {
  }
  __threadfence();
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
  out[blockIdx.x] = sum;
}

TEST_F(Checkers, FencesWithoutAFlagOrderNoBlocks) {
  constexpr int blocks = 256;
  const on_device<float> out(blocks), partial(blocks), again(blocks);
  const on_device<int> arrived(std::vector<int>{0});
  const counts c = observe([&] { sums_behind_a_fence<false><<<blocks, 1>>>(out.data, partial.data, arrived.data); });
  const std::string all = testing::PrintToString(c.reports);
  EXPECT_NE(all.find("race between blocks: store of 4 bytes, byte "), std::string::npos) << all;  // of any block
  EXPECT_NE(all.find("were never written"), std::string::npos) << all;
  EXPECT_EQ(observe([&] { sums_behind_a_fence<true><<<blocks, 1>>>(out.data, again.data, arrived.data); }).reports,
            std::vector<std::string>{});
  EXPECT_EQ(out.host()[0], blocks);
}

TEST_F(Checkers, FencesOrderBlocks) {
  const on_device<float> out(1), partial(64);
  const counts c = observe([&] { last_block_sums<<<64, 64>>>(out.data, partial.data); });
  EXPECT_TRUE(c.reports.empty()) << c.reports[0];
  EXPECT_EQ(out.host()[0], 64);
  const std::string without = only_report(observe([&] { last_block_sums<false><<<64, 64>>>(out.data, partial.data); }));
  EXPECT_NE(without.find("race between blocks"), std::string::npos) << without;
  EXPECT_NE(without.find(" hands the data over, __threadfence() before it and after it"), std::string::npos) << without;
}

// PTX: two operations race if they are not in each other's scope, and a fence orders only threads of its scope.
template <class Add>
__global__ void adds(int* sum, Add add) {
  add(sum);
}
__global__ void adds_per_block(int* sums, int* total) {
  atomicAdd_block(&sums[blockIdx.x], 1);
  cuda::atomic_ref<int, cuda::thread_scope_block>(sums[blockIdx.x]).fetch_add(1);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, sums[blockIdx.x]);
}
__global__ void adds_in_turn(int* lock, int* sum) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  __threadfence();
  atomicAdd_block(sum, 1);
  __threadfence();
  atomicExch(lock, 0);
}
__global__ void adds_by_phases(int* sum) {
  for (unsigned b = 0; b < gridDim.x; ++b) {
    if (blockIdx.x == b) atomicAdd_block(sum, 1);
    sim::grid_barrier(SIM_CALLER);
  }
}

TEST_F(Checkers, AtomicsOfABlockBetweenBlocks) {
  const on_device<int> sums(std::vector<int>(64, 0)), total(std::vector<int>{0});
  const auto run = [&](auto add, unsigned blocks) {
    return observe([&] { adds<<<blocks, 32>>>(sums.data, add); }).reports;
  };
  const auto in_block = [](int* p) { atomicAdd_block(p, 1); };
  const auto of_library = [](int* p) { cuda::atomic_ref<int, cuda::thread_scope_block>(*p).fetch_add(1); };
  const auto by_exchange = [](int* p) {
    int old = 0, seen = 0;
    while ((seen = atomicCAS_block(p, old, old + 1)) != old) old = seen;
  };
  const auto of_nvcc = [](int* p) { __nv_atomic_add(p, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK); };
  for (const auto& reports : {run(in_block, 4), run(of_library, 4), run(by_exchange, 4), run(of_nvcc, 4)}) {
    ASSERT_EQ(reports.size(), 1u) << testing::PrintToString(reports);
    EXPECT_NE(reports[0].find("race between blocks: atomic of 4 bytes, byte 0 of allocation"), std::string::npos);
    EXPECT_NE(reports[0].find("its scope is the block: use device scope"), std::string::npos);
  }
  const std::vector<std::string> none;
  EXPECT_EQ(run(in_block, 1), none);
  EXPECT_EQ(run(by_exchange, 1), none);
  EXPECT_EQ(run([](int* p) { atomicAdd_system(p, 1); }, 4), none);
  EXPECT_EQ(run([](int* p) { cuda::atomic_ref<int, cuda::thread_scope_device>(*p).fetch_add(1); }, 4), none);
  EXPECT_EQ(run([](int* p) { __nv_atomic_add(p, 1, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE); }, 4), none);
  EXPECT_EQ(observe([&] { adds_per_block<<<8, 64>>>(sums.data, total.data); }).reports, none);
  const on_device<int> lock(std::vector<int>{0});
  EXPECT_EQ(observe([&] { adds_in_turn<<<8, 64>>>(lock.data, total.data); }).reports, none);
  int* sum = total.data;
  void* arguments[] = {&sum};
  EXPECT_EQ(observe([&] { cudaLaunchCooperativeKernel((void*)adds_by_phases, 4, 32, arguments, 0, nullptr); }).reports,
            none);
}

template <sim::scope Fence, cuda::thread_scope Scope>
__global__ void last_of(float* out, float* partial, unsigned* arrived, bool by_atomics) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = 1;
    if (by_atomics) {
      last = cuda::atomic_ref<unsigned, Scope>(*arrived).fetch_add(1) == gridDim.x - 1;
    } else {
      Fence == sim::scope::block ? __threadfence_block() : __threadfence();
      last = atomicAdd(arrived, 1) == gridDim.x - 1;
    }
  }
  __syncthreads();
  if (last && threadIdx.x < gridDim.x) atomicAdd(out, partial[threadIdx.x]);
}

TEST_F(Checkers, FencesOfABlockOrderNoOthers) {
  const on_device<float> out(std::vector<float>{0}), partial(64);
  for (const bool by_atomics : {false, true}) {
    const on_device<unsigned> arrived(std::vector<unsigned>{0}), again(std::vector<unsigned>{0});
    EXPECT_EQ(observe([&] {
                last_of<sim::scope::device, cuda::thread_scope_device>
                    <<<64, 64>>>(out.data, partial.data, arrived.data, by_atomics);
              }).reports,
              std::vector<std::string>{});
    const counts c = observe([&] {
      last_of<sim::scope::block, cuda::thread_scope_block><<<64, 64>>>(out.data, partial.data, again.data, by_atomics);
    });
    ASSERT_EQ(c.reports.size(), by_atomics ? 2u : 1u) << testing::PrintToString(c.reports);
    const std::string all = testing::PrintToString(c.reports);
    const auto found = [&](const char* side) { return all.find(side) != std::string::npos; };  // whichever ran later
    EXPECT_TRUE(found("race between blocks: load of 4 bytes") || found("race between blocks: store of 4 bytes")) << all;
    EXPECT_NE(
        all.find("__threadfence() before it and after it, since the kernel's fences and memory orders have only block"),
        std::string::npos)
        << all;
  }
}

__global__ void grid_sums(float* out, float* partial) {
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  sim::grid_barrier(SIM_CALLER);
  float sum = 0;
  for (unsigned i = 0; i < gridDim.x * blockDim.x; ++i) sum += partial[i];
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

TEST_F(Checkers, GridBarrierNeedsACooperativeLaunch) {
  const on_device<float> out(128), partial(128);
  const std::string r = only_report(observe([&] { grid_sums<<<4, 32>>>(out.data, partial.data); }));
  EXPECT_NE(r.find("cudaLaunchCooperativeKernel"), std::string::npos) << r;
}

__global__ void fill_with(float* out, float value) { out[blockIdx.x * blockDim.x + threadIdx.x] = value; }

enum class wait { none, all, one, one_and_barrier, in_ptx };
template <wait how>
__global__ void add_early(float* out, const float* in, const float* weights) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float weight = weights[i];  // no kernel writes the weights
  if (how == wait::all || ((how == wait::one || how == wait::one_and_barrier) && threadIdx.x == 0))
    cudaGridDependencySynchronize();
  if (how == wait::in_ptx) asm volatile("griddepcontrol.wait;" ::: "memory");
  if (how == wait::one_and_barrier) __syncthreads();
  out[i] = weight + in[i];
}

enum class between { lets_first, lets_first_in_ptx, waits_first, lets_in_one_block, only_lets, only_waits };
template <between how>
__global__ void come_between(float* out) {
  if (how == between::lets_first || how == between::only_lets || (how == between::lets_in_one_block && blockIdx.x == 0))
    cudaTriggerProgrammaticLaunchCompletion();
  if (how == between::lets_first_in_ptx) asm volatile("griddepcontrol.launch_dependents;");
  if (how != between::only_lets) cudaGridDependencySynchronize();
  if (how == between::waits_first || how == between::lets_in_one_block) cudaTriggerProgrammaticLaunchCompletion();
  out[blockIdx.x * blockDim.x + threadIdx.x] = 2;
}

TEST_F(Checkers, MayBeginBeforeTheOneBefore) {
  const on_device<float> x(1024), weights(ramp(1024)), y(1024);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(4);
  config.blockDim = dim3(256);
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = 1;
  const auto report = [&](auto kernel, auto between) {
    return observe([&] {
      fill_with<<<4, 256, 0, stream>>>(x.data, 1);
      between();
      EXPECT_EQ(cudaLaunchKernelEx(&config, kernel, y.data, static_cast<const float*>(x.data),
                                   static_cast<const float*>(weights.data)),
                cudaSuccess);
      cudaStreamSynchronize(stream);
    });
  };
  const auto nothing = [] {};
  for (const auto kernel : {add_early<wait::none>, add_early<wait::one>}) {
    const std::string r = only_report(report(kernel, nothing));
    EXPECT_NE(r.find("too early: load of"), std::string::npos) << r;
    EXPECT_NE(r.find("kernel fill_with at"), std::string::npos) << r;
    EXPECT_NE(r.find("call cudaGridDependencySynchronize() first"), std::string::npos) << r;
  }
  for (const auto kernel : {add_early<wait::all>, add_early<wait::one_and_barrier>, add_early<wait::in_ptx>})
    EXPECT_TRUE(report(kernel, nothing).reports.empty());
  EXPECT_TRUE(report(add_early<wait::none>, [&] { cudaStreamSynchronize(stream); }).reports.empty());
  EXPECT_TRUE(report(add_early<wait::none>, [&] { cudaMemsetAsync(y.data, 0, 4, stream); }).reports.empty());

  // Of three kernels in a row, the last uses what the first stores.
  const on_device<float> z(1024);
  const auto last = [&](auto second, auto third) {
    return report(third, [&] { EXPECT_EQ(cudaLaunchKernelEx(&config, second, z.data), cudaSuccess); });
  };
  for (const auto second : {come_between<between::lets_first>, come_between<between::lets_first_in_ptx>}) {
    const std::string r = only_report(last(second, add_early<wait::none>));
    EXPECT_NE(r.find("kernel fill_with at"), std::string::npos) << r;
    EXPECT_TRUE(last(second, add_early<wait::all>).reports.empty());
  }
  for (const auto second : {come_between<between::waits_first>, come_between<between::lets_in_one_block>,
                            come_between<between::only_waits>})
    for (const auto third : {add_early<wait::none>, add_early<wait::all>})
      EXPECT_TRUE(last(second, third).reports.empty());
  for (const auto third : {add_early<wait::none>, add_early<wait::all>}) {
    const std::string r = only_report(last(come_between<between::only_lets>, third));
    EXPECT_NE(r.find("also in the kernels between them"), std::string::npos) << r;
  }
  config.numAttrs = 0;
  EXPECT_TRUE(report(add_early<wait::none>, nothing).reports.empty());
  cudaStreamDestroy(stream);
}

__device__ int variables[64];
}  // namespace
__device__ int x;  // whose symbol is the mangled name of a type
namespace {
__global__ void share_variable(int* out, bool waits) {
  if (threadIdx.x == 0) x = 1;
  if (waits) __syncthreads();
  out[threadIdx.x] = x;
}
__global__ void share_variable_between_blocks(int* out) {
  if (blockIdx.x == 0)
    variables[5] = 1;
  else
    out[blockIdx.x] = variables[5];
}
__global__ void count_in_variable(int* out) {
  out[blockIdx.x] = atomicAdd(&x, 1);
  variables[blockIdx.x] = out[blockIdx.x];
}

TEST_F(Checkers, RacesOnVariables) {
  const on_device<int> out(64);
  const std::string threads = only_report(observe([&] { share_variable<<<1, 64>>>(out.data, false); }));
  EXPECT_NE(threads.find("race between threads of a block: load of 4 bytes, of the variable 'x', and store"),
            std::string::npos)
      << threads;
  EXPECT_TRUE(observe([&] { share_variable<<<1, 64>>>(out.data, true); }).reports.empty());
  const std::string blocks = only_report(observe([&] { share_variable_between_blocks<<<64, 1>>>(out.data); }));
  EXPECT_NE(blocks.find("race between blocks: "), std::string::npos) << blocks;
  EXPECT_NE(blocks.find("of the variable 'variables'"), std::string::npos) << blocks;
  EXPECT_TRUE(observe([&] { count_in_variable<<<64, 1>>>(out.data); }).reports.empty());
  cudaDeviceSynchronize();
  cudaStream_t first = nullptr, second = nullptr;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
  const on_device<int> other(64);
  const std::string streams = only_report(observe([&] {
    share_variable<<<1, 64, 0, first>>>(out.data, true);
    share_variable<<<1, 64, 0, second>>>(other.data, true);
  }));
  EXPECT_NE(streams.find("race between streams: store of 4 bytes, of the variable 'x'"), std::string::npos) << streams;
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

__constant__ int coefficients[64];
__global__ void store_to_constant(const int* in) { coefficients[threadIdx.x] = in[threadIdx.x]; }
__global__ void use_constant(int* out) { out[threadIdx.x] = coefficients[threadIdx.x]; }

TEST_F(Checkers, StoresToConstants) {
  const on_device<int> in(std::vector<int>(64, 1));
  EXPECT_TRUE(observe([&] { use_constant<<<1, 64>>>(in.data); }).reports.empty());
  const std::string r = only_report(observe([&] { store_to_constant<<<1, 64>>>(in.data); }));
  EXPECT_NE(r.find("store to a __constant__ variable, which kernels can only load"), std::string::npos) << r;
}

using function = float (*)(float);
__global__ void call(function f, float* out) { out[0] = f(1); }

TEST_F(Checkers, CallsOfNoFunction) {
  const on_device<float> out(1);
  const std::string r = only_report(observe([&] { call<<<1, 1>>>(nullptr, out.data); }));
  EXPECT_NE(r.find("call through a pointer that is null"), std::string::npos) << r;
  EXPECT_NE(r.find("checkers_test.cu:"), std::string::npos) << r;
}

__global__ void store_beyond_own(int i) {
  int* p = static_cast<int*>(malloc(4096));
  p[i] = 42;
  free(p);
}

TEST_F(Checkers, StoresToMemoryThatTheKernelFrees) {
  const std::string r = only_report(observe([&] { store_beyond_own<<<1, 1>>>(1024); }));
  EXPECT_NE(r.find("global store of 4 bytes out of bounds"), std::string::npos) << r;
  EXPECT_TRUE(observe([&] { store_beyond_own<<<1, 1>>>(1023); }).reports.empty());
}

__global__ void relaxed(cuda::atomic<int>* x, int* out) {
  if (blockIdx.x == 0)
    x->store(1, cuda::memory_order_relaxed);
  else
    out[blockIdx.x] = x->load(cuda::memory_order_relaxed);
}
__global__ void relaxed_in_block(cuda::atomic<int, cuda::thread_scope_block>* x, int* out) {
  if (blockIdx.x == 0)
    x->store(1, cuda::memory_order_relaxed);
  else
    out[blockIdx.x] = x->load(cuda::memory_order_relaxed);
}

TEST_F(Checkers, RelaxedAtomicsAreNoRace) {
  const on_device<int> x(std::vector<int>(1)), out(8);
  EXPECT_TRUE(
      observe([&] { relaxed<<<8, 1>>>(reinterpret_cast<cuda::atomic<int>*>(x.data), out.data); }).reports.empty());
  using in_block = cuda::atomic<int, cuda::thread_scope_block>;
  EXPECT_EQ(observe([&] { relaxed_in_block<<<8, 1>>>(reinterpret_cast<in_block*>(x.data), out.data); }).reports.size(),
            1u);
}

__global__ void copy_one(int* out, const int* in) { *out = *in; }
__global__ void exchange(int* x) { atomicExch(x, 1); }
__global__ void add_to(int* x) { atomicAdd(x, 1); }

TEST_F(Checkers, AnExchangeWrites) {
  const on_device<int> x(1), y(1), out(1);
  EXPECT_TRUE(observe([&] { exchange<<<1, 32>>>(x.data); }).reports.empty());
  EXPECT_TRUE(observe([&] { copy_one<<<1, 1>>>(out.data, x.data); }).reports.empty());
  EXPECT_EQ(observe([&] { add_to<<<1, 1>>>(y.data); }).reports.size(), 1u);
}

TEST_F(Checkers, RacesBetweenStreams) {
  const on_device<float> x(ramp(1024)), y(1024);
  cudaStream_t first = nullptr, second = nullptr;
  cudaEvent_t done = nullptr;
  ASSERT_EQ(cudaStreamCreate(&first), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&second), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&done), cudaSuccess);
  const auto produce = [&] { fill_with<<<4, 256, 0, first>>>(x.data, 1); };
  const auto consume = [&] { copy<<<4, 256, 0, second>>>(y.data, x.data, 1024, 1, 0); };
  const std::string r = only_report(observe([&] {
    produce();
    consume();
  }));
  EXPECT_NE(r.find("race between streams: load"), std::string::npos) << r;
  EXPECT_NE(r.find("fill_with at"), std::string::npos) << r;
  cudaDeviceSynchronize();
  EXPECT_TRUE(observe([&] {
                produce();
                cudaEventRecord(done, first);
                cudaStreamWaitEvent(second, done);
                consume();
                cudaStreamSynchronize(second);
                produce();
                cudaStreamSynchronize(first);
                consume();
              }).reports.empty());
  cudaDeviceSynchronize();
  EXPECT_TRUE(observe([&] {  // the default stream waits for both
                produce();
                copy<<<4, 256>>>(y.data, x.data, 1024, 1, 0);
                consume();
              })
                  .reports.empty());
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
  cudaEventDestroy(done);
}

TEST_F(Checkers, MemoryOfAnEarlierCallIsNobodys) {
  auto* before = new on_device<float>(1024);
  const on_device<float> x(ramp(64)), out(64);
  const auto below = [&] { copy<<<1, 64>>>(out.data, x.data, 64, 1, static_cast<int>(before->data - x.data)); };
  cudaFree(before->data);
  EXPECT_NE(only_report(observe(below)).find("global load of 4 bytes after cudaFree, byte 0 of allocation"),
            std::string::npos);
  sim::begin_call();
  const std::string r = only_report(observe(below));
  EXPECT_NE(r.find("global load of 4 bytes out of bounds, below all arrays, in memory that an earlier call has freed"),
            std::string::npos)
      << r;
  before->data = nullptr;
  delete before;
}

__global__ void take_tickets(int* tickets, int* taken) { tickets[blockIdx.x] = atomicAdd(taken, 1); }

TEST_F(Checkers, GridsThatBeginWithTheirLastBlock) {
  constexpr int blocks = 1000;
  for (const bool backwards : {true, false}) {
    const on_device<int> tickets(blocks), taken(std::vector<int>{0});
    sim_begin_with_last_block(backwards);
    take_tickets<<<blocks, 1>>>(tickets.data, taken.data);
    sim_begin_with_last_block(false);
    EXPECT_EQ(taken.host()[0], blocks);
    EXPECT_EQ(tickets.host().back() < blocks / 2, backwards);
    EXPECT_EQ(tickets.host().front() < blocks / 2, !backwards);
  }
  const on_device<int> tickets(blocks), taken(std::vector<int>{0});
  sim_begin_with_every_block(3);
  take_tickets<<<blocks, 1>>>(tickets.data, taken.data);
  sim_begin_with_every_block(1);
  EXPECT_EQ(taken.host()[0], blocks);
  EXPECT_LT(tickets.host()[999], blocks / 2);
  EXPECT_GT(tickets.host()[2], blocks / 2);
}

// As lab 12 counts them: copies and fills by their size.
TEST_F(Checkers, HostAccessesOfAWatcher) {
  struct : sim_host_watcher {
    __attribute__((no_sanitize("thread"))) void see(std::uintptr_t, std::size_t bytes, bool store) override {
      (store ? stored : loaded) += bytes;
    }
    std::size_t loaded = 0, stored = 0;
  } watcher;
  static char from[1000], to[1000];
  sim_watch_host(&watcher);
  std::memcpy(to, from, sizeof to);
  std::memset(to, 1, sizeof to);
  sim_watch_host(nullptr);
  EXPECT_EQ(watcher.loaded, 1000u);
  EXPECT_EQ(watcher.stored, 2000u);
  // The runtime's copies, too, and what they move in device memory does not count.
  char *pinned = nullptr, *device = nullptr;
  cudaMallocHost(&pinned, sizeof to);
  cudaMalloc(&device, sizeof to);
  cudaMemset(device, 0, sizeof to);
  watcher.loaded = watcher.stored = 0;
  sim_watch_host(&watcher);
  cudaMemcpy(to, from, sizeof to, cudaMemcpyHostToHost);
  cudaMemcpyAsync(pinned, device, sizeof to, cudaMemcpyDeviceToHost, nullptr);
  cudaMemcpy(device, pinned, 600, cudaMemcpyHostToDevice);
  cudaMemset(pinned, 0, 300);
  sim_watch_host(nullptr);
  EXPECT_EQ(watcher.loaded / 100, 16u) << "and a few pointers";
  EXPECT_EQ(watcher.stored / 100, 23u);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(Checkers, HostAccessToDeviceMemory) {
  const on_device<float> in(ramp(4));
  EXPECT_EXIT(in.data[2] = 1, testing::KilledBySignal(SIGSEGV), "host code: store of 4 bytes in device memory");
  for (const std::size_t bytes : {in.size * sizeof *in.data, sizeof *in.data})
    EXPECT_EXIT(std::memset(in.data, 0, bytes), testing::KilledBySignal(SIGSEGV),
                "host code: store of 1 bytes in device memory");
}

}  // namespace
