// Cooperative groups, and launches without <<<>>>.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace cg = cooperative_groups;

namespace {

struct managed_ints {
  explicit managed_ints(std::size_t n) {
    EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(int)), cudaSuccess);
    for (std::size_t i = 0; i < n; ++i) data[i] = -1;
  }
  ~managed_ints() { cudaFree(data); }
  int& operator[](std::size_t i) const { return data[i]; }
  int* data = nullptr;
};
int done() {
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  return cudaDeviceSynchronize();
}

__global__ void block_numbers(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  __shared__ int last;
  if (block.thread_rank() == block.size() - 1) last = static_cast<int>(block.thread_rank());
  cg::sync(block);
  const auto grid = cg::this_grid();
  if (block.thread_rank() == 0) {
    out[grid.block_rank() * 4] = last;
    out[grid.block_rank() * 4 + 1] = static_cast<int>(grid.size());
    out[grid.block_rank() * 4 + 2] = static_cast<int>(block.group_index().x);
    out[grid.block_rank() * 4 + 3] = static_cast<int>(block.dim_threads().y);
  }
}

TEST(Groups, BlocksAndGrids) {
  const managed_ints out(8);
  block_numbers<<<2, dim3(8, 6)>>>(out.data);
  ASSERT_EQ(done(), 0);
  for (int b = 0; b < 2; ++b) {
    EXPECT_EQ(out[b * 4], 47);
    EXPECT_EQ(out[b * 4 + 1], 96);
    EXPECT_EQ(out[b * 4 + 2], b);
    EXPECT_EQ(out[b * 4 + 3], 6);
  }
}

template <unsigned Size>
__device__ int tile_sum(const cg::thread_block_tile<Size>& tile, int value) {
  for (int step = tile.size() / 2; step > 0; step /= 2) value += tile.shfl_down(value, step);
  return tile.shfl(value, 0);
}
__global__ void tiles(int* sums, int* ranks, int* votes) {
  const auto block = cg::this_thread_block();
  const auto tile8 = cg::tiled_partition<8>(block);
  const auto warp = cg::tiled_partition<32>(block);
  const auto quarter = cg::tiled_partition<4>(warp);
  const unsigned i = threadIdx.x;
  sums[i] = tile_sum<8>(tile8, i);
  ranks[i] = tile8.thread_rank() * 10000 + tile8.meta_group_rank() * 100 + quarter.meta_group_rank();
  votes[i] = tile8.ballot(i % 3 == 0) | tile8.any(i == 9) << 8 | tile8.all(i >= 8) << 9 | tile8.match_any(i / 2) << 16;
}

TEST(Groups, Tiles) {
  const managed_ints sums(64), ranks(64), votes(64);
  tiles<<<1, 64>>>(sums.data, ranks.data, votes.data);
  ASSERT_EQ(done(), 0);
  for (int i = 0; i < 64; ++i) {
    const int first = i / 8 * 8;
    EXPECT_EQ(sums[i], 8 * first + 28);
    EXPECT_EQ(ranks[i], i % 8 * 10000 + i / 8 * 100 + i % 32 / 4);
    int ballot = 0;
    for (int k = 0; k < 8; ++k) ballot |= ((first + k) % 3 == 0) << k;
    EXPECT_EQ(votes[i], ballot | (first == 8) << 8 | (first >= 8) << 9 | (3 << (i % 8 / 2 * 2)) << 16);
  }
}

__global__ void coalesced(int* out) {
  const int i = threadIdx.x;
  if (i % 3 == 1) {
    const cg::coalesced_group active = cg::coalesced_threads();
    out[i] = active.thread_rank() * 1000 + active.size() * 10 + (active.shfl(i, 0) == 1);
    const auto halves = cg::tiled_partition(active, 4);
    out[32 + i] = cg::reduce(halves, 1, cg::plus<int>());
  }
}

__global__ void shuffle_vectors(int* out) {
  const auto tile = cg::tiled_partition<4>(cg::this_thread_block());
  const int i = threadIdx.x;
  const uint4 got = tile.shfl_xor(make_uint4(i, 10 * i, 100 * i, 1000 * i), 3);
  out[i] = got.x + got.y + got.z + got.w;
}
TEST(Groups, ShufflePlainTypes) {
  const managed_ints out(32);
  shuffle_vectors<<<1, 32>>>(out.data);
  ASSERT_EQ(done(), 0);
  for (int i = 0; i < 32; ++i) EXPECT_EQ(out[i], 1111 * (i ^ 3));
}

TEST(Groups, Coalesced) {
  const managed_ints out(64);
  coalesced<<<1, 32>>>(out.data);
  ASSERT_EQ(done(), 0);
  for (int i = 1; i < 32; i += 3) {  // 11 lanes
    EXPECT_EQ(out[i], i / 3 * 1000 + 111) << i;
    EXPECT_EQ(out[32 + i], i / 3 < 8 ? 4 : 3) << i;
  }
}

__global__ void partitions(int* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int i = threadIdx.x;
  const auto same = cg::labeled_partition(warp, i % 5);
  out[i] = cg::reduce(same, i, cg::greater<int>());
  const auto side = cg::binary_partition(warp, i < 10);
  out[32 + i] = side.size();
  out[64 + i] = cg::inclusive_scan(warp, i);
  out[96 + i] = cg::exclusive_scan(warp, i, [](int a, int b) { return a + b; });
  const cg::thread_group group = cg::tiled_partition(cg::this_thread_block(), 16);
  group.sync();
  out[128 + i] = static_cast<int>(group.size() * 100 + group.thread_rank());
}

TEST(Groups, PartitionsReductionsScans) {
  const managed_ints out(160);
  partitions<<<1, 32>>>(out.data);
  ASSERT_EQ(done(), 0);
  for (int i = 0; i < 32; ++i) {
    int largest = i;
    while (largest + 5 < 32) largest += 5;
    EXPECT_EQ(out[i], largest);
    EXPECT_EQ(out[32 + i], i < 10 ? 10 : 22);
    EXPECT_EQ(out[64 + i], i * (i + 1) / 2);
    EXPECT_EQ(out[96 + i], i * (i - 1) / 2);
    EXPECT_EQ(out[128 + i], 1600 + i % 16);
  }
}

// ---- launches by address

template <int Factor>
__global__ void scale(int* out, int n, char offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = i * Factor + offset;
}

TEST(LaunchByAddress, TypedAndErased) {
  const managed_ints out(40);
  int n = 40;
  char offset = 3;
  void* arguments[] = {(void*)&out.data, &n, &offset};
  EXPECT_EQ(cudaLaunchKernel((void*)scale<2>, dim3(2), dim3(32), arguments, 0, nullptr), cudaSuccess);
  ASSERT_EQ(done(), 0);
  EXPECT_EQ(out[39], 81);
  EXPECT_EQ(cudaLaunchKernel(scale<5>, dim3(2), dim3(32), arguments, 0, nullptr), cudaSuccess);
  ASSERT_EQ(done(), 0);
  EXPECT_EQ(out[39], 198);
  const void* later = reinterpret_cast<const void*>(&scale<7>);
  EXPECT_EQ(cudaLaunchCooperativeKernel(later, dim3(2), dim3(32), arguments), cudaSuccess);
  ASSERT_EQ(done(), 0);
  EXPECT_EQ(out[39], 276);
  static int no_kernel;
  EXPECT_EQ(cudaLaunchKernel((const void*)&no_kernel, dim3(1), dim3(1), arguments), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidDeviceFunction);
}

TEST(LaunchByAddress, CooperativeGridMustFit) {
  const managed_ints out(40);
  int n = 40;
  char offset = 3;
  void* arguments[] = {(void*)&out.data, &n, &offset};
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)scale<2>, dim3(132 * 64 + 1), dim3(32), arguments),
            cudaErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(cudaGetLastError(), cudaErrorCooperativeLaunchTooLarge);
}

__global__ void rotate_twice(int* data, int* other) {
  const auto grid = cg::this_grid();
  const unsigned i = grid.thread_rank(), n = grid.size();
  other[(i + 1) % n] = data[i];
  grid.sync();
  data[(i + 1) % n] = other[i];
}

TEST(LaunchByAddress, BlocksOfACooperativeGridWaitForEachOther) {
  const managed_ints a(256), b(256);
  for (int i = 0; i < 256; ++i) a[i] = i;
  void* arguments[] = {(void*)&a.data, (void*)&b.data};
  EXPECT_EQ(cudaLaunchCooperativeKernel((void*)rotate_twice, dim3(8), dim3(32), arguments), cudaSuccess);
  ASSERT_EQ(done(), 0);
  for (int i = 0; i < 256; ++i) EXPECT_EQ(a[(i + 2) % 256], i);
}

__global__ void double_early(int* out) {
  asm volatile("griddepcontrol.launch_dependents;");
  cudaTriggerProgrammaticLaunchCompletion();
  asm volatile("griddepcontrol.wait;" ::: "memory");
  cudaGridDependencySynchronize();
  out[threadIdx.x] *= 2;
}

TEST(LaunchByAddress, BeforeThePreviousEnds) {
  const managed_ints out(32);
  out[5] = 1;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.attrs = &early;
  config.numAttrs = 1;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaLaunchKernelEx(&config, double_early, out.data), cudaSuccess);
  ASSERT_EQ(done(), 0);
  EXPECT_EQ(out[5], 8);
}

TEST(LaunchByAddress, Extended) {
  const managed_ints out(40);
  cudaLaunchAttribute attributes[1] = {};
  attributes[0].id = cudaLaunchAttributeCooperative;
  attributes[0].val.cooperative = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(2);
  config.blockDim = dim3(32);
  config.attrs = attributes;
  config.numAttrs = 1;
  EXPECT_EQ(cudaLaunchKernelEx(&config, scale<3>, out.data, 40, 'a'), cudaSuccess);
  ASSERT_EQ(done(), 0);
  EXPECT_EQ(out[39], 39 * 3 + 'a');
}

}  // namespace
