// What Hopper's instructions count as, one kernel for each. On an H100 or H200
//   python3 tensor_counters.py measure FILE.csv hopper_counters.cu
// writes all counters that the GPU has for them; tensor_counters.py compare FILE.csv PROGRAM compares.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>

namespace cg = cooperative_groups;

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void begin(uint64_t* b, int bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(b)) : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(b)), "r"(bytes) : "memory");
}
__device__ void wait(uint64_t* b) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@p bra done;\nbra "
      "again;\ndone:\n}" ::"r"(address(b))
      : "memory");
}
#define WAIT_FOR_STORES asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory")

__global__ void bulk_load(const int* in) {
  __shared__ alignas(128) int tile[2048];
  __shared__ uint64_t b;
  begin(&b, sizeof tile);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(tile)),
      "l"(in), "r"(static_cast<unsigned>(sizeof tile)), "r"(address(&b))
      : "memory");
  wait(&b);
}
__global__ void bulk_store(int* out) {
  __shared__ alignas(128) int tile[2048];
  for (int i = threadIdx.x; i < 2048; i += 32) tile[i] = i;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(address(tile)),
                 "r"(static_cast<unsigned>(sizeof tile))
                 : "memory");
    WAIT_FOR_STORES;
  }
}
__global__ void bulk_reduce(int* out) {
  __shared__ alignas(128) int tile[2048];
  for (int i = threadIdx.x; i < 2048; i += 32) tile[i] = 1;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(out),
                 "r"(address(tile)), "r"(static_cast<unsigned>(sizeof tile))
                 : "memory");
    WAIT_FOR_STORES;
  }
}
/// A box of 64 x 32 words, at (x, 0); with x = 48 it is partly outside.
__global__ void box_load(const __grid_constant__ CUtensorMap map, int x) {
  __shared__ alignas(1024) int tile[32 * 64];
  __shared__ uint64_t b;
  begin(&b, sizeof tile);
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(address(tile)),
      "l"(&map), "r"(address(&b)), "r"(x), "r"(0)
      : "memory");
  wait(&b);
}
__global__ void box_store(const __grid_constant__ CUtensorMap map, int x) {
  __shared__ alignas(1024) int tile[32 * 64];
  for (int i = threadIdx.x; i < 2048; i += 32) tile[i] = i;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(address(tile)), "r"(x), "r"(0)
                 : "memory");
    WAIT_FOR_STORES;
  }
}
__global__ void __cluster_dims__(2, 1, 1) multicast(const int* in) {
  __shared__ alignas(128) int tile[2048];
  __shared__ uint64_t b;
  begin(&b, sizeof tile);
  cg::this_cluster().sync();
  if (cg::this_cluster().block_rank() == 0)
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
        "%4;" ::"r"(address(tile)),
        "l"(in), "r"(static_cast<unsigned>(sizeof tile)), "r"(address(&b)), "h"(static_cast<uint16_t>(3))
        : "memory");
  wait(&b);
  cg::this_cluster().sync();
}
__global__ void __cluster_dims__(2, 1, 1) remote_memory(int* out) {
  __shared__ int words[32];
  words[threadIdx.x] = threadIdx.x;
  cg::this_cluster().sync();
  int* there = cg::this_cluster().map_shared_rank(words, cg::this_cluster().block_rank() ^ 1);
  out[blockIdx.x * 32 + threadIdx.x] = there[threadIdx.x];
  cg::this_cluster().sync();
}

#define PRODUCT(name, ...)                                                                             \
  __global__ void name(float* out) {                                                                   \
    __shared__ alignas(1024) int tile[2048];                                                           \
    for (int i = threadIdx.x; i < 2048; i += 128) tile[i] = 0;                                         \
    asm volatile("fence.proxy.async;" ::: "memory");                                                   \
    __syncthreads();                                                                                   \
    const uint64_t at = (address(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;        \
    float d[4] = {0, 0, 0, 0};                                                                         \
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");                                            \
    __VA_ARGS__;                                                                                       \
    asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory"); \
    out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];                                                      \
  }
// clang-format off
PRODUCT(wgmma_bf16, asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(at)))
PRODUCT(wgmma_f16, asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %4, 1, 1, 1, 0, 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(at)))
PRODUCT(wgmma_tf32, asm volatile("wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(at)))
PRODUCT(wgmma_e4m3, asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(at)))
PRODUCT(wgmma_e5m2, asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.f32.e5m2.e5m2 {%0, %1, %2, %3}, %4, %4, 1, 1, 1;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "l"(at)))
// clang-format on
__global__ void wgmma_s8(int* out) {
  __shared__ alignas(1024) int tile[2048];
  for (int i = threadIdx.x; i < 2048; i += 128) tile[i] = 0;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  const uint64_t at = (address(tile) & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
  int d[4] = {0, 0, 0, 0};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %4, 1;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "l"(at));
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
  out[threadIdx.x] = d[0] + d[1] + d[2] + d[3];
}

int main() {
  int* data;
  cudaMalloc(&data, 1 << 20);
  cudaMemset(data, 0, 1 << 20);
  void* found = nullptr;
  cudaDriverEntryPointQueryResult how;
  cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how);
  const auto encode = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  CUtensorMap map;
  const cuuint64_t size[] = {80, 64}, pitch[] = {320};
  const cuuint32_t box[] = {64, 32}, step[] = {1, 1};
  if (!encode || encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, data, size, pitch, box, step,
                        CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                        CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS) {
    std::fprintf(stderr, "hopper_counters: no tensor map\n");
    return 1;
  }
  bulk_load<<<1, 1>>>(data);
  bulk_store<<<1, 32>>>(data);
  bulk_reduce<<<1, 32>>>(data);
  for (const int x : {0, 16, 48}) box_load<<<1, 1>>>(map, x);
  for (const int x : {0, 16, 48}) box_store<<<1, 32>>>(map, x);
  multicast<<<2, 1>>>(data);
  remote_memory<<<2, 32>>>(data);
  auto* sums = reinterpret_cast<float*>(data);
  wgmma_bf16<<<1, 128>>>(sums);
  wgmma_f16<<<1, 128>>>(sums);
  wgmma_tf32<<<1, 128>>>(sums);
  wgmma_e4m3<<<1, 128>>>(sums);
  wgmma_e5m2<<<1, 128>>>(sums);
  wgmma_s8<<<1, 128>>>(data);
  const cudaError_t e = cudaDeviceSynchronize();
  cudaFree(data);
  if (e != cudaSuccess) std::fprintf(stderr, "hopper_counters: %s\n", cudaGetErrorString(e));
  return e != cudaSuccess;
}
