// CUB's primitives for warps, blocks and the device.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <cub/util_type.cuh>  // ours, not that of an installed CUB

#include <cub/block/block_reduce.cuh>
#include <cub/cub.cuh>
#include <sim/observe.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace {

template <class T>
T* managed(int n) {
  T* data = nullptr;
  EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
  for (int i = 0; i < n; ++i) data[i] = static_cast<T>(i * 37 % 101);
  return data;
}
template <class Launch>
void expect_clean(Launch launch) {
  const auto counts = sim::observe(launch);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  for (const auto& report : counts.reports) ADD_FAILURE() << report;
}
template <int Threads, int Items>
__global__ void histograms(unsigned* out, const unsigned char* in) {
  using Histogram = cub::BlockHistogram<unsigned char, Threads, Items, 64>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ unsigned counts[64];
  unsigned char mine[Items];
  for (int i = 0; i < Items; ++i) mine[i] = in[threadIdx.x + i * Threads];
  Histogram(storage).Histogram(mine, counts);
  __syncthreads();
  Histogram(storage).Composite(mine, counts);
  __syncthreads();
  for (int b = threadIdx.x; b < 64; b += Threads) out[b] = counts[b];
}

struct Cub : testing::Test {
  void TearDown() override { cudaDeviceReset(); }
};

template <int Threads>
__global__ void reductions(int* out, const int* in, int valid) {
  using BlockReduce = cub::BlockReduce<int, Threads>;
  __shared__ typename BlockReduce::TempStorage storage;
  __shared__ typename cub::WarpReduce<int, 8>::TempStorage warp_storage;
  const int value = in[threadIdx.x];
  const int sum = BlockReduce(storage).Sum(value);
  __syncthreads();
  const int largest = BlockReduce(storage).Reduce(value, cub::Max());
  __syncthreads();
  const int some = BlockReduce(storage).Sum(value, valid);
  const int eight = cub::WarpReduce<int, 8>(warp_storage).Sum(value);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = largest;
    out[2] = some;
  }
  if (threadIdx.x == 8) out[3] = eight;
}

/// Warps of 24 lanes reduce through their storage.
template <int Storages>
__global__ void sums_of_24(int* out, const int* in) {
  using Reduce = cub::WarpReduce<int, 24>;
  __shared__ Reduce::TempStorage storage[Storages];
  if (threadIdx.x % 32 >= 24) return;
  const int sum = Reduce(storage[threadIdx.x / 32 % Storages]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 32 == 0) out[threadIdx.x / 32] = sum;
}

TEST_F(Cub, WarpsThatShareAStorage) {
  int *in = managed<int>(128), *out = managed<int>(4);
  expect_clean([&] { sums_of_24<4><<<1, 128>>>(out, in); });
  for (int w = 0; w < 4; ++w) EXPECT_EQ(out[w], std::accumulate(in + 32 * w, in + 32 * w + 24, 0));
  const auto shared = sim::observe([&] { sums_of_24<1><<<1, 128>>>(out, in); });
  ASSERT_FALSE(shared.reports.empty());
  EXPECT_NE(shared.reports[0].find("race in shared memory"), std::string::npos) << shared.reports[0];
}

template <int Threads>
void check_reductions(int valid) {
  int *in = managed<int>(Threads), *out = managed<int>(4);
  expect_clean([&] { reductions<Threads><<<1, Threads>>>(out, in, valid); });
  int sum = 0, largest = 0, some = 0, eight = 0;
  for (int i = 0; i < Threads; ++i) {
    sum += in[i];
    largest = std::max(largest, in[i]);
    if (i < valid) some += in[i];
    if (i / 8 == 1) eight += in[i];
  }
  EXPECT_EQ(out[0], sum);
  EXPECT_EQ(out[1], largest);
  EXPECT_EQ(out[2], some);
  EXPECT_EQ(out[3], eight);
}
TEST_F(Cub, HistogramOfABlock) {
  unsigned char* in = nullptr;
  ASSERT_EQ(cudaMallocManaged(&in, 96), cudaSuccess);
  unsigned *out = managed<unsigned>(64), want[64] = {};
  for (int i = 0; i < 96; ++i) ++want[in[i] = static_cast<unsigned char>(i * 7 % 50)];
  expect_clean([&] { histograms<32, 3><<<1, 32>>>(out, in); });
  for (int b = 0; b < 64; ++b) EXPECT_EQ(out[b], 2 * want[b]) << b;
}

TEST_F(Cub, Reductions) {
  check_reductions<32>(20);
  check_reductions<256>(100);
  check_reductions<80>(80);  // the last warp is half empty
  check_reductions<128>(64);
}

template <class T, int Items>
__global__ void vectorized(T* out, const T* in) {
  using BlockLoad = cub::BlockLoad<T, 64, Items, cub::BLOCK_LOAD_VECTORIZE>;
  using BlockStore = cub::BlockStore<T, 64, Items, cub::BLOCK_STORE_VECTORIZE>;
  __shared__ typename BlockLoad::TempStorage load;
  __shared__ typename BlockStore::TempStorage store;
  T items[Items];
  BlockLoad(load).Load(in, items);
  BlockStore(store).Store(out, items);
}
/// A block of two warps moves all items with this many instructions on either side.
template <class T, int Items>
void check_vectorized(double instructions, int offset = 0) {
  const int all = 64 * Items;
  T *in = managed<T>(all + offset), *out = managed<T>(all);
  const std::string load = "smsp__inst_executed_op_global_ld.sum", store = "smsp__inst_executed_op_global_st.sum";
  const auto counts = sim::observe([&] { vectorized<T, Items><<<1, 64>>>(out, in + offset); });
  for (const auto& report : counts.reports) ADD_FAILURE() << report;
  EXPECT_EQ(counts.metrics.at(load), instructions);
  EXPECT_EQ(counts.metrics.at(store), offset == 0 ? instructions : 2);
  for (int i = 0; i < all; ++i) ASSERT_EQ(out[i], in[offset + i]) << i;
}
/// Sums of all items, each block with storage that CUB supplies.
template <int Threads, int Items>
__global__ void without_storage(int* sum, int* before, const int* in) {
  int items[Items];
  cub::BlockLoad<int, Threads, Items, cub::BLOCK_LOAD_TRANSPOSE>().Load(in, items);
  const int total = cub::BlockReduce<int, Threads>().Sum(items);
  if (threadIdx.x == 0) *sum = total;
  cub::BlockScan<int, Threads>().ExclusiveSum(items, items);
  cub::BlockStore<int, Threads, Items, cub::BLOCK_STORE_TRANSPOSE>().Store(before, items);
}
TEST_F(Cub, FindsStorageItself) {
  int *in = managed<int>(384), *sum = managed<int>(1), *before = managed<int>(384);
  expect_clean([&] { without_storage<128, 3><<<1, 128>>>(sum, before, in); });
  int total = 0;
  for (int i = 0; i < 384; total += in[i++]) ASSERT_EQ(before[i], total) << i;
  EXPECT_EQ(*sum, total);
}

TEST_F(Cub, VectorizesWhereTheAlgorithmSaysSo) {
  check_vectorized<int, 4>(2);
  check_vectorized<float, 2>(2);
  check_vectorized<float, 12>(6);
  check_vectorized<int, 3>(6);  // three accesses of four bytes
  check_vectorized<double, 2>(2);
  check_vectorized<int, 4>(8, 1);  // not aligned: one by one
}

template <int Threads, int Items, cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
__global__ void scans(int* inclusive, int* exclusive, int* totals, const int* in, int n) {
  using BlockLoad = cub::BlockLoad<int, Threads, Items, Load>;
  using BlockStore = cub::BlockStore<int, Threads, Items, Store>;
  using BlockScan = cub::BlockScan<int, Threads>;
  __shared__ union {
    typename BlockLoad::TempStorage load;
    typename BlockStore::TempStorage store;
    typename BlockScan::TempStorage scan;
  } storage;
  int items[Items], results[Items], total;
  BlockLoad(storage.load).Load(in, items, n, 0);
  __syncthreads();
  BlockScan(storage.scan).InclusiveSum(items, results);
  __syncthreads();
  BlockStore(storage.store).Store(inclusive, results, n);
  __syncthreads();
  BlockScan(storage.scan).ExclusiveSum(items, results, total);
  __syncthreads();
  BlockStore(storage.store).Store(exclusive, results, n);
  __syncthreads();
  int single;
  BlockScan(storage.scan).ExclusiveScan(items[0], single, 5, cub::Max());
  totals[threadIdx.x] = single;
  if (threadIdx.x == 0) totals[Threads] = total;
}

template <int Threads, int Items, cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store>
void check_scans(int n) {
  const int all = Threads * Items;
  int *in = managed<int>(all), *inclusive = managed<int>(all), *exclusive = managed<int>(all),
      *totals = managed<int>(Threads + 1);
  expect_clean([&] { scans<Threads, Items, Load, Store><<<1, Threads>>>(inclusive, exclusive, totals, in, n); });
  int sum = 0, largest = 5;
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(exclusive[i], sum) << i;
    sum += in[i];
    ASSERT_EQ(inclusive[i], sum) << i;
  }
  EXPECT_EQ(totals[Threads], sum);
  for (int t = 0; t < Threads; ++t) {
    ASSERT_EQ(totals[t], largest) << t;
    if (t * Items < n) largest = std::max(largest, in[t * Items]);
  }
}
TEST_F(Cub, LoadsScansStores) {
  check_scans<128, 4, cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(512);
  check_scans<64, 3, cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_WARP_TRANSPOSE>(150);
  check_scans<32, 2, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_DIRECT>(61);
}

template <int Threads, int Items>
__global__ void neighbours(int* left, int* right, int* few, const int* in) {
  using Neighbours = cub::BlockAdjacentDifference<int, Threads>;
  __shared__ typename Neighbours::TempStorage storage[3];
  const auto minus = [](int a, int b) { return a - b; };
  int items[Items], results[Items];
  for (int i = 0; i < Items; ++i) items[i] = in[threadIdx.x * Items + i];
  Neighbours(storage[0]).SubtractLeft(items, results, minus, 1000);
  for (int i = 0; i < Items; ++i) left[threadIdx.x * Items + i] = results[i];
  Neighbours(storage[1]).SubtractRightPartialTile(items, results, minus, 70);
  for (int i = 0; i < Items; ++i) few[threadIdx.x * Items + i] = results[i];
  Neighbours(storage[2]).SubtractRight(items, items, minus);
  for (int i = 0; i < Items; ++i) right[threadIdx.x * Items + i] = items[i];
}

TEST_F(Cub, DifferencesOfNeighbours) {
  constexpr int threads = 64, items = 3, n = threads * items;
  int *in = managed<int>(n), *left = managed<int>(n), *right = managed<int>(n), *few = managed<int>(n);
  expect_clean([&] { neighbours<threads, items><<<1, threads>>>(left, right, few, in); });
  for (int i = 0; i < n; ++i) {
    EXPECT_EQ(left[i], in[i] - (i > 0 ? in[i - 1] : 1000)) << i;
    EXPECT_EQ(right[i], in[i] - (i + 1 < n ? in[i + 1] : 0)) << i;
    EXPECT_EQ(few[i], in[i] - (i + 1 < 70 ? in[i + 1] : 0)) << i;
  }
  CubDebugExit(cudaGetLastError());
  EXPECT_EQ(CubDebug(cudaSuccess), cudaSuccess);
}

template <int Threads>
__global__ void extremes(int* places, const int* in) {
  using Pair = cub::KeyValuePair<int, float>;
  using BlockReduce = cub::BlockReduce<Pair, Threads>;
  __shared__ typename BlockReduce::TempStorage storage[2];
  const Pair mine(threadIdx.x, in[threadIdx.x]);
  const Pair largest = BlockReduce(storage[0]).Reduce(mine, cub::ArgMax());
  const Pair smallest = BlockReduce(storage[1]).Reduce(mine, cub::ArgMin());
  if (threadIdx.x > 0) return;
  places[0] = largest.key;
  places[1] = smallest.key;
}

TEST_F(Cub, PlacesOfExtremes) {
  constexpr int threads = 256;
  int *in = managed<int>(threads), *places = managed<int>(2);
  expect_clean([&] { extremes<threads><<<1, threads>>>(places, in); });
  EXPECT_EQ(places[0], std::max_element(in, in + threads) - in);  // the first of equals
  EXPECT_EQ(places[1], std::min_element(in, in + threads) - in);
}

template <class T>
void expect_order(std::vector<T> rising) {
  using Bits = typename cub::Traits<T>::UnsignedBits;
  for (std::size_t i = 0; i < rising.size(); ++i) {
    Bits bits, before{};
    std::memcpy(&bits, &rising[i], sizeof bits);
    if (i > 0) std::memcpy(&before, &rising[i - 1], sizeof before);
    const Bits turned = cub::Traits<T>::TwiddleIn(bits);
    EXPECT_EQ(cub::Traits<T>::TwiddleOut(turned), bits) << i;
    if (i > 0) EXPECT_GT(turned, cub::Traits<T>::TwiddleIn(before)) << i;
  }
}
TEST_F(Cub, BitsInOrder) {
  expect_order<float>({-INFINITY, -2, -1e-40f, 0, 1e-40f, 3, INFINITY});
  expect_order<double>({-1e300, -1, 0, 1e-300, 2});
  expect_order<__half>({__float2half(-2), __float2half(-1), __float2half(0), __float2half(5)});
  expect_order<int>({INT_MIN, -1, 0, 1, INT_MAX});
  expect_order<unsigned char>({0, 1, 127, 128, 255});
}

TEST_F(Cub, DeviceWide) {
  const int n = 1000;
  int *in = managed<int>(n), *values = managed<int>(n), *keys = nullptr, *sorted = nullptr, *result = nullptr;
  ASSERT_EQ(cudaMalloc(&keys, n * 4), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&sorted, n * 4), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&result, 4), cudaSuccess);
  for (int i = 0; i < n; ++i) values[i] = i;
  void* temporary = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(cub::DeviceReduce::Sum(temporary, bytes, in, result, n), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&temporary, bytes), cudaSuccess);
  EXPECT_EQ(cub::DeviceReduce::Sum(temporary, bytes, in, result, n), cudaSuccess);
  int sum = 0, got = 0;
  for (int i = 0; i < n; ++i) sum += in[i];
  cudaMemcpy(&got, result, 4, cudaMemcpyDeviceToHost);
  EXPECT_EQ(got, sum);
  EXPECT_EQ(cub::DeviceReduce::Max(temporary, bytes, in, result, n), cudaSuccess);
  cudaMemcpy(&got, result, 4, cudaMemcpyDeviceToHost);
  EXPECT_EQ(got, 100);
  EXPECT_EQ(cub::DeviceRadixSort::SortPairs(temporary, bytes, in, keys, values, sorted, n), cudaSuccess);
  std::vector<int> k(n), v(n);
  cudaMemcpy(k.data(), keys, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(v.data(), sorted, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 1; i < n; ++i) {
    ASSERT_LE(k[i - 1], k[i]);
    ASSERT_TRUE(k[i - 1] < k[i] || v[i - 1] < v[i]);  // stable
    ASSERT_EQ(in[v[i]], k[i]);
  }
  EXPECT_EQ(cub::DeviceScan::ExclusiveSum(temporary, bytes, in, in, n), cudaSuccess);
  EXPECT_EQ(in[n - 1], sum - (n - 1) * 37 % 101);
  int *tens = managed<int>(n), *from_tens = managed<int>(n);
  for (int i = 0; i < n; ++i) tens[i] = i / 10, from_tens[i] = 2;
  EXPECT_EQ(cub::DeviceScan::InclusiveSumByKey(temporary, bytes, tens, from_tens, values, n), cudaSuccess);
  EXPECT_EQ(values[989], 20);
  EXPECT_EQ(values[990], 2);
  EXPECT_EQ(cub::DeviceScan::ExclusiveScanByKey(temporary, bytes, tens, from_tens, values, cub::Sum(), 5, n),
            cudaSuccess);
  EXPECT_EQ(values[989], 23);
  EXPECT_EQ(values[990], 5);
}

/// The program's code in an operator counts as the kernel's.
struct weighted {
  const int* weight;
  __attribute__((always_inline)) __device__ int operator()(int a, int b) const { return a + b + *weight; }
};
template <class Collective>
__global__ void combine(int* out, const int* weight, Collective collective) {
  out[threadIdx.x] = collective(static_cast<int>(threadIdx.x), weighted{weight});
}
TEST_F(Cub, OperatorsAreObserved) {
  int *out = managed<int>(32), *weight = managed<int>(1);
  const auto loads = [&](auto collective) {
    const auto seen = sim::observe([&] { combine<<<1, 32>>>(out, weight, collective); });
    EXPECT_TRUE(seen.reports.empty()) << seen.reports[0];
    return seen.metrics.at("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum");
  };
  namespace cg = cooperative_groups;
  const auto tile = [] { return cg::tiled_partition<32>(cg::this_thread_block()); };
  *weight = 1;
  EXPECT_EQ(loads([=](int x, auto op) { return cg::reduce(tile(), x, op); }), 31);
  EXPECT_EQ(out[7], 496 + 31);
  EXPECT_EQ(loads([=](int x, auto op) { return cg::exclusive_scan(tile(), x, op); }), 30);
  EXPECT_EQ(out[31], 465 + 30);
  EXPECT_EQ(loads([](int x, auto op) {
              cub::WarpReduce<int>::TempStorage storage;
              return cub::WarpReduce<int>(storage).Reduce(x, op);
            }),
            31);
}

}  // namespace
