// mbarriers, bulk copies, boxes of tensor maps, products of warpgroups, clusters: results against plain loops, and for
// each way of waiting, the report if it is missing. Layouts in shared memory come from tensor copies, as on a GPU.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cudaTypedefs.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>
#include <cuda/barrier>
#include <cuda/ptx>
#include <random>

#include "device_test.hpp"

namespace {

namespace cg = cooperative_groups;
using Hopper = DeviceTest;

__device__ unsigned address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ void init(uint64_t* b, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(b)), "r"(count) : "memory");
}
__device__ void expect(uint64_t* b, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(address(b)), "r"(bytes)
               : "memory");
}
__device__ void arrive(uint64_t* b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(b)) : "memory");
}
__device__ void wait(uint64_t* b, int parity) {
  asm volatile(
      "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [%0], %1;\n@p bra done;\n"
      "bra again;\ndone:\n}" ::"r"(address(b)),
      "r"(parity)
      : "memory");
}
__device__ void copy_box(void* to, const void* map, uint64_t* b, int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(address(to)),
      "l"(map), "r"(address(b)), "r"(x), "r"(y)
      : "memory");
}

bool some(const counts& c, const char* text) {
  for (const std::string& r : c.reports)
    if (r.find(text) != std::string::npos) return true;
  return false;
}

// ---- mbarriers

__global__ void phases(unsigned* out) {
  __shared__ uint64_t b;
  if (threadIdx.x == 0) init(&b, 64);
  __syncthreads();
  for (int round = 0; round < 4; ++round) {
    uint64_t state;
    unsigned over, pending;
    if (round < 3 || threadIdx.x < 32) {  // half of the threads drop out
      if (round == 2 && threadIdx.x >= 32)
        asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&b)) : "memory");
      else
        asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(address(&b)) : "memory");
      asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
      if (round == 2 && threadIdx.x >= 32) break;
      do {
        asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                     : "=r"(over)
                     : "r"(address(&b)), "l"(state)
                     : "memory");
      } while (!over);
      atomicMax(&out[round], pending);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(address(&b)) : "memory");
}

TEST_F(Hopper, PhasesOfAnMbarrier) {
  const on_device<unsigned> out(std::vector<unsigned>(4));
  const counts c = observe([&] { phases<<<1, 64>>>(out.data); });
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  const std::vector<unsigned> most = out.host();  // by round: the largest pending count
  EXPECT_EQ(most[0], 64);
  EXPECT_EQ(most[1], 64);
  EXPECT_EQ(most[3], 32);
  // An H200 does not count them as accesses.
  for (const char* name : {"st", "atom"})
    EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_" + std::string(name) + ".sum"), 0) << name;
  EXPECT_EQ(metric(c, "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum"), 0);
}

__global__ void never_initialised() {
  __shared__ uint64_t b;
  arrive(&b);
}
__global__ void too_many() {
  __shared__ uint64_t b;
  if (threadIdx.x == 0) init(&b, 40);
  __syncthreads();
  if (threadIdx.x < 33) arrive(&b);
  if (threadIdx.x >= 33) arrive(&b);  // the second phase lacks 16 arrivals
  wait(&b, 1);
}
__global__ void more_at_once() {
  __shared__ uint64_t b;
  init(&b, 1);
  asm volatile("mbarrier.arrive.shared.b64 _, [%0], 2;" ::"r"(address(&b)) : "memory");
}

TEST_F(Hopper, WrongArrivals) {
  EXPECT_TRUE(some(observe([&] { never_initialised<<<1, 1>>>(); }), "not initialised"));
  cudaDeviceReset();
  EXPECT_NE(only_report(observe([&] { more_at_once<<<1, 1>>>(); })).find("more threads arrive"), std::string::npos);
  cudaDeviceReset();
  const std::string r = only_report(observe([&] { too_many<<<1, 64>>>(); }));
  EXPECT_NE(r.find("infinite wait"), std::string::npos) << r;
  EXPECT_NE(r.find("lacks 16 arrivals and 0 bytes"), std::string::npos) << r;
}

// ---- boxes: each dimension, swizzle, element stride, outside of the tensor

struct box_case {
  unsigned dimensions;
  int at[5];
};
template <unsigned Dimensions>
__global__ void move_box(const __grid_constant__ CUtensorMap from, const __grid_constant__ CUtensorMap to,
                         unsigned char* raw, box_case c, int bytes) {
  extern __shared__ __align__(1024) unsigned char tile[];
  __shared__ uint64_t b;
  const int* at = c.at;
  if (threadIdx.x == 0) {
    init(&b, 1);
    expect(&b, bytes);
    if constexpr (Dimensions == 1) {
      asm volatile(
          "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3}], [%2];" ::"r"(
              address(tile)),
          "l"(&from), "r"(address(&b)), "r"(at[0])
          : "memory");
    } else if constexpr (Dimensions == 2) {
      copy_box(tile, &from, &b, at[0], at[1]);
    } else if constexpr (Dimensions == 3) {
      asm volatile(
          "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1, "
          "{%3, %4, %5}], [%2], %6;" ::"r"(address(tile)),
          "l"(&from), "r"(address(&b)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "l"(0ull)
          : "memory");
    } else if constexpr (Dimensions == 4) {
      asm volatile(
          "cp.async.bulk.tensor.4d.shared::cta.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
          "[%2];" ::"r"(address(tile)),
          "l"(&from), "r"(address(&b)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.tensor.5d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
          "%6, %7}], [%2];" ::"r"(address(tile)),
          "l"(&from), "r"(address(&b)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
          : "memory");
    }
  }
  __syncthreads();
  wait(&b, 0);
  for (int i = threadIdx.x; i < bytes; i += blockDim.x) raw[i] = tile[i];
  if (threadIdx.x == 0) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    if constexpr (Dimensions == 1) {
      asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(&to),
                   "r"(address(tile)), "r"(at[0])
                   : "memory");
    } else if constexpr (Dimensions == 2) {
      asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&to),
                   "r"(address(tile)), "r"(at[0]), "r"(at[1])
                   : "memory");
    } else if constexpr (Dimensions == 3) {
      asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&to),
                   "r"(address(tile)), "r"(at[0]), "r"(at[1]), "r"(at[2])
                   : "memory");
    } else if constexpr (Dimensions == 4) {
      asm volatile(
          "cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(&to),
          "r"(address(tile)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3])
          : "memory");
    } else {
      asm volatile(
          "cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(&to),
          "r"(address(tile)), "r"(at[0]), "r"(at[1]), "r"(at[2]), "r"(at[3]), "r"(at[4])
          : "memory");
    }
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
}

/// A tensor of bytes, or of words of 2 or 4 bytes, and the expected contents of a box.
template <unsigned Dimensions>
void expect_box(unsigned element, const std::vector<cuuint64_t>& size, const std::vector<cuuint32_t>& box,
                const std::vector<cuuint32_t>& step, CUtensorMapSwizzle swizzle, const box_case& c) {
  std::vector<cuuint64_t> pitch;
  cuuint64_t total = (size[0] * element + 15) / 16 * 16;
  for (unsigned d = 1; d < Dimensions; ++d) {
    pitch.push_back(total);
    total *= size[d];
  }
  std::vector<unsigned char> values(total), expected_out(total);
  for (std::size_t i = 0; i < total; ++i) values[i] = static_cast<unsigned char>(1 + i * 37 % 251);
  on_device<unsigned char> in(values), out(std::vector<unsigned char>{std::vector<unsigned char>(total)});
  const auto type = element == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                    : element == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                   : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CUtensorMap maps[2];
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(cuTensorMapEncodeTiled(&maps[i], type, Dimensions, i ? out.data : in.data, size.data(), pitch.data(),
                                     box.data(), step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                     CU_TENSOR_MAP_L2_PROMOTION_L2_128B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
              CUDA_SUCCESS);
  // Row after row; within each line of the swizzle, the line's number permutes the 16-byte pieces.
  const unsigned row_bytes = box[0] * element;
  const unsigned mask = swizzle == CU_TENSOR_MAP_SWIZZLE_128B  ? 7
                        : swizzle == CU_TENSOR_MAP_SWIZZLE_64B ? 3
                        : swizzle == CU_TENSOR_MAP_SWIZZLE_32B ? 1
                                                               : 0;
  std::vector<unsigned char> expected;
  std::vector<unsigned> i(Dimensions);
  unsigned rows = 1;
  for (unsigned d = 1; d < Dimensions; ++d) rows *= (box[d] + step[d] - 1) / step[d];
  expected.resize(rows * row_bytes);
  unsigned existing = 0;
  for (unsigned r = 0; r < rows; ++r) {
    bool inside = true;
    cuuint64_t begin = 0;
    unsigned rest = r;
    for (unsigned d = 1; d < Dimensions; ++d) {
      const unsigned n = (box[d] + step[d] - 1) / step[d];
      const long at = c.at[d] + static_cast<long>(rest % n * step[d]);
      rest /= n;
      inside &= at >= 0 && at < static_cast<long>(size[d]);
      begin += static_cast<cuuint64_t>(at) * pitch[d - 1];
    }
    for (unsigned b = 0; b < row_bytes; ++b) {
      const long column = c.at[0] * static_cast<long>(element) + b;
      const bool exists = inside && column >= 0 && column < static_cast<long>(size[0] * element);
      const unsigned place = r * row_bytes + b, exchanged = place ^ ((place >> 7 & mask) << 4);
      existing += exists;
      expected[exchanged] = exists ? values[begin + static_cast<cuuint64_t>(column)] : 0;
      if (exists)
        expected_out[begin + static_cast<cuuint64_t>(column)] = values[begin + static_cast<cuuint64_t>(column)];
    }
  }
  on_device<unsigned char> raw(std::vector<unsigned char>{std::vector<unsigned char>(expected.size())});
  const counts counted = observe([&] {
    move_box<Dimensions><<<1, 128, expected.size()>>>(maps[0], maps[1], raw.data, c, static_cast<int>(expected.size()));
  });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(counted.reports.empty()) << testing::PrintToString(counted.reports);
  EXPECT_EQ(raw.host(), expected);
  EXPECT_EQ(out.host(), expected_out);
  // As on an H200: the part of a box outside the tensor counts as bytes loaded, but not as bytes stored.
  EXPECT_EQ(metric(counted, "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"), expected.size());
  EXPECT_EQ(metric(counted, "l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"), existing);
}

TEST_F(Hopper, Boxes) {
  constexpr auto plain = CU_TENSOR_MAP_SWIZZLE_NONE;
  expect_box<1>(4, {100}, {64}, {1}, plain, {1, {60}});
  expect_box<2>(4, {50, 20}, {32, 8}, {1, 1}, plain, {2, {8, 3}});
  expect_box<2>(4, {50, 20}, {32, 8}, {1, 1}, plain, {2, {-3, 15}});
  expect_box<2>(2, {100, 40}, {64, 32}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_128B, {2, {16, 5}});
  expect_box<2>(1, {100, 40}, {64, 32}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_64B, {2, {-16, -5}});
  expect_box<2>(1, {100, 40}, {32, 32}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_32B, {2, {0, 20}});
  expect_box<3>(2, {24, 10, 9}, {16, 4, 3}, {1, 2, 1}, plain, {3, {8, 1, 7}});
  expect_box<4>(1, {40, 5, 4, 3}, {16, 3, 2, 2}, {1, 1, 1, 1}, plain, {4, {10, 1, 3, 0}});
  expect_box<5>(4, {8, 4, 3, 3, 3}, {4, 2, 2, 2, 2}, {1, 1, 1, 2, 1}, plain, {5, {6, 3, 0, 1, 2}});
}

TEST_F(Hopper, TensorMapsThatCannotBe) {
  const on_device<float> data(std::vector<float>(1024));
  const auto encode = [&](cuuint32_t dimensions, void* begin, std::vector<cuuint64_t> size,
                          std::vector<cuuint64_t> pitch, std::vector<cuuint32_t> box,
                          std::vector<cuuint32_t> step = {1, 1, 1, 1, 1, 1},
                          CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE) {
    CUtensorMap map;
    return cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, dimensions, begin, size.data(), pitch.data(),
                                  box.data(), step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                  CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(2, data.data, {32, 32}, {128}, {32, 32}), CUDA_SUCCESS);
  EXPECT_EQ(encode(0, data.data, {32, 32}, {128}, {32, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(6, data.data, {1, 1, 1, 1, 1, 1}, {16, 16, 16, 16, 16}, {4, 1, 1, 1, 1, 1}),
            CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data + 1, {31, 32}, {128}, {32, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 0}, {128}, {32, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 32}, {124}, {32, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 32}, {128}, {32, 257}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 32}, {128}, {30, 32}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 32}, {128}, {32, 32}, {1, 9}), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(2, data.data, {32, 32}, {128}, {32, 32}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_64B),
            CUDA_ERROR_INVALID_VALUE);
  PFN_cuTensorMapEncodeTiled found = nullptr;
  cudaDriverEntryPointQueryResult how;
  EXPECT_EQ(
      cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", reinterpret_cast<void**>(&found), cudaEnableDefault, &how),
      cudaSuccess);
  EXPECT_EQ(found, &cuTensorMapEncodeTiled);
  EXPECT_EQ(how, cudaDriverEntryPointSuccess);
}

// ---- plain bulk copies, reductions, and libcu++'s names for them

__global__ void through_shared(int* out, const int* in, int* sums) {
  __shared__ alignas(16) int tile[256];
  __shared__ uint64_t b;
  if (threadIdx.x == 0) {
    init(&b, 1);
    expect(&b, sizeof tile);
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(address(tile)),
        "l"(in), "r"(1024), "r"(address(&b))
        : "memory");
  }
  __syncthreads();
  wait(&b, 0);
  for (int i = threadIdx.x; i < 256; i += blockDim.x) tile[i] += 1;
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out), "r"(address(tile)), "r"(1024)
                 : "memory");
    asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;" ::"l"(sums),
                 "r"(address(tile)), "r"(1024)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;" ::: "memory");
  }
}
__global__ void with_libcu(int* out, const __grid_constant__ CUtensorMap map) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
  namespace cde = cuda::device::experimental;
  __shared__ alignas(128) int tile[8][32];
  __shared__ barrier bar;
  if (threadIdx.x == 0) {
    init(&bar, blockDim.x);
    cde::fence_proxy_async_shared_cta();
  }
  __syncthreads();
  barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_global_to_shared(&tile, &map, 32, 8, bar);
    token = cuda::device::barrier_arrive_tx(bar, 1, sizeof tile);
  } else {
    token = bar.arrive();
  }
  bar.wait(std::move(token));
  tile[threadIdx.x / 32][threadIdx.x % 32] *= 2;
  cde::fence_proxy_async_shared_cta();
  __syncthreads();
  if (threadIdx.x == 0) {
    cde::cp_async_bulk_tensor_2d_shared_to_global(&map, 32, 8, &tile);
    cde::cp_async_bulk_commit_group();
    cde::cp_async_bulk_wait_group_read<0>();
  }
}
__global__ void with_cuda_ptx(int* out, const int* in) {
  namespace ptx = cuda::ptx;
  __shared__ alignas(16) int tile[64];
  __shared__ uint64_t b;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&b, 1);
    ptx::cp_async_bulk(ptx::space_cluster, ptx::space_global, tile, in, sizeof tile, &b);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &b, sizeof tile);
  }
  __syncthreads();
  while (!ptx::mbarrier_try_wait_parity(&b, 0)) {
  }
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

TEST_F(Hopper, BulkCopies) {
  std::vector<int> values(1024);
  std::iota(values.begin(), values.end(), 0);
  const on_device<int> in(values), out(std::vector<int>(256)), sums(std::vector<int>(256, 5));
  const counts c = observe([&] { through_shared<<<2, 64>>>(out.data, in.data, sums.data); });
  for (const std::string& r : c.reports) EXPECT_EQ(r.find("race between threads"), std::string::npos) << r;
  EXPECT_EQ(out.host()[100], 101);
  EXPECT_EQ(sums.host()[100], 5 + 2 * 101);
  CUtensorMap map;
  const cuuint64_t size[] = {64, 16}, pitch[] = {256};
  const cuuint32_t box[] = {32, 8}, step[] = {1, 1};
  ASSERT_EQ(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, in.data, size, pitch, box, step,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const counts l = observe([&] { with_libcu<<<1, 256>>>(out.data, map); });
  EXPECT_TRUE(l.reports.empty()) << testing::PrintToString(l.reports);
  EXPECT_EQ(in.host()[15 * 64 + 40], 2 * (15 * 64 + 40));
  EXPECT_EQ(in.host()[15 * 64 + 31], 15 * 64 + 31);
  const counts p = observe([&] { with_cuda_ptx<<<1, 64>>>(out.data, in.data); });
  EXPECT_TRUE(p.reports.empty()) << testing::PrintToString(p.reports);
  EXPECT_EQ(out.host()[3], 60);
}

// ---- what is missing

enum class missing { nothing, wait, emptied, read_wait, bytes, too_many_bytes, barrier, anyone };

/// One warp fetches, the others read; two buffers.
template <missing Piece>
__global__ void fetch_and_read(int* out, const int* in, int rounds) {
  __shared__ alignas(128) int buffer[2][256];
  __shared__ uint64_t full[2], empty[2];
  if (threadIdx.x == 0)
    for (int i = 0; i < 2; ++i) {
      init(full + i, 1);
      init(empty + i, 64);
    }
  __syncthreads();
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0)
      for (int i = 0; i < rounds; ++i) {
        if (Piece != missing::emptied) wait(empty + i % 2, i / 2 % 2 ^ 1);
        expect(full + i % 2, Piece == missing::bytes ? 512 : Piece == missing::too_many_bytes ? 1040 : 1024);
        for (int half = 0; half < 2; ++half)
          asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                           address(buffer[i % 2] + 128 * half)),
                       "l"(in + 256 * i + 128 * half), "r"(512), "r"(address(full + i % 2))
                       : "memory");
      }
  } else {
    for (int i = 0; i < rounds; ++i) {
      if (Piece != missing::wait) wait(full + i % 2, i / 2 % 2);
      const int t = threadIdx.x - 32;
      for (int j = 0; j < 4; ++j) out[256 * i + 4 * t + j] = buffer[i % 2][255 - 4 * t - j];
      arrive(empty + i % 2);
    }
  }
}
template <missing Piece>
__global__ void write_out(int* out, int rounds) {
  __shared__ alignas(16) int tile[64];
  for (int i = 0; i < rounds; ++i) {
    if (threadIdx.x == 0 && Piece != missing::read_wait) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    __syncthreads();
    tile[threadIdx.x] = i + threadIdx.x;
    if (Piece != missing::barrier) __syncthreads();
    if (threadIdx.x == 0)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n\tcp.async.bulk.commit_group;" ::"l"(
                       out + 64 * i),
                   "r"(address(tile))
                   : "memory");
  }
  if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// Each row of the box has a piece outside the tensor, which is not written.
__global__ void padded_rows(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) int tile[8 * 20];
  if (threadIdx.x < 16)
    for (int r = 0; r < 8; ++r) tile[20 * r + threadIdx.x] = 100 * r + static_cast<int>(threadIdx.x);
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];\n\t"
        "cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::"l"(&map),
        "r"(address(tile)), "r"(0), "r"(0)
        : "memory");
}

TEST_F(Hopper, RowsMayHavePadding) {
  const on_device<int> out(std::vector<int>(16 * 8));
  CUtensorMap map;
  const cuuint64_t size[] = {16, 8}, pitch[] = {64};
  const cuuint32_t box[] = {20, 8}, step[] = {1, 1};
  ASSERT_EQ(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, out.data, size, pitch, box, step,
                                   CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE,
                                   CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
            CUDA_SUCCESS);
  const counts c = observe([&] { padded_rows<<<1, 32>>>(map); });
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  EXPECT_EQ(out.host()[7 * 16 + 15], 715);
}

template <class Kernel>
counts fetch(Kernel kernel, int rounds = 6) {
  cudaDeviceReset();
  std::vector<int> values(256 * 6);
  std::iota(values.begin(), values.end(), 0);
  const on_device<int> in(values), out(std::vector<int>(values.size()));
  const counts c = observe([&] { kernel<<<1, 96>>>(out.data, in.data, rounds); });
  if (c.reports.empty() && rounds == 6)
    for (int i = 0; i < 6 * 256; ++i) EXPECT_EQ(out.host()[i], i / 256 * 256 + 255 - i % 256) << i;
  return c;
}
TEST_F(Hopper, WaitsThatAreMissing) {
  EXPECT_TRUE(fetch(fetch_and_read<missing::nothing>).reports.empty());
  EXPECT_TRUE(
      some(fetch(fetch_and_read<missing::wait>, 1), "before the asynchronous copy to these bytes has completed"));
  EXPECT_TRUE(some(fetch(fetch_and_read<missing::emptied>), "more threads arrive at this mbarrier"));
  EXPECT_TRUE(some(fetch(fetch_and_read<missing::bytes>), "expected fewer bytes than the copies deliver"));
  const counts c = fetch(fetch_and_read<missing::too_many_bytes>);
  EXPECT_TRUE(some(c, "infinite wait")) << testing::PrintToString(c.reports);
  EXPECT_TRUE(some(c, "lacks 0 arrivals and 16 bytes")) << testing::PrintToString(c.reports);
  cudaDeviceReset();
  const on_device<int> out(std::vector<int>(64 * 4));
  EXPECT_TRUE(observe([&] { write_out<missing::nothing><<<1, 64>>>(out.data, 4); }).reports.empty());
  EXPECT_EQ(out.host()[64 * 3 + 9], 12);
  EXPECT_TRUE(
      some(observe([&] { write_out<missing::read_wait><<<1, 64>>>(out.data, 4); }), "cp.async.bulk.wait_group.read"));
  EXPECT_TRUE(some(observe([&] { write_out<missing::barrier><<<1, 64>>>(out.data, 1); }), "race in shared memory"));
}

__global__ void nobody_waits(const int* in) {
  __shared__ alignas(16) int tile[64];
  __shared__ uint64_t b;
  init(&b, 1);
  expect(&b, 256);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(address(tile)),
      "l"(in), "r"(address(&b))
      : "memory");
}
__global__ void beyond(const int* in, int offset) {
  __shared__ alignas(16) int tile[64];
  __shared__ uint64_t b;
  init(&b, 1);
  expect(&b, 256);
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(address(tile)),
      "l"(in + offset), "r"(address(&b))
      : "memory");
  wait(&b, 0);
}
__global__ void no_map(const int* in) {
  __shared__ alignas(128) int tile[64];
  __shared__ uint64_t b;
  init(&b, 1);
  copy_box(tile, in, &b, 0, 0);
}

TEST_F(Hopper, CopiesThatCannotBe) {
  const on_device<int> in(std::vector<int>(96));
  EXPECT_NE(only_report(observe([&] { nobody_waits<<<1, 1>>>(in.data); })).find("no thread has waited"),
            std::string::npos);
  EXPECT_NE(only_report(observe([&] { beyond<<<1, 1>>>(in.data, 64); })).find("out of bounds"), std::string::npos);
  EXPECT_NE(only_report(observe([&] { beyond<<<1, 1>>>(in.data, 1); })).find("multiples of 16 bytes"),
            std::string::npos);
  cudaDeviceReset();
  const on_device<int> more(std::vector<int>(96));
  EXPECT_NE(only_report(observe([&] { no_map<<<1, 1>>>(more.data); })).find("this is not a tensor map"),
            std::string::npos);
}

// ---- products of a warpgroup

template <class T>
T value_of(int x) {
  return T(static_cast<float>(x));
}
template <>
signed char value_of(int x) {
  return static_cast<signed char>(x);
}
struct layouts {
  int span_a, span_b;  ///< bytes of the swizzle
  bool a_columns, b_rows;
};

__device__ uint64_t descriptor(const void* begin, unsigned leading, unsigned stride, int span) {
  const auto bits = [](unsigned x) { return static_cast<uint64_t>((x & 0x3ffff) >> 4); };
  return bits(address(begin)) | bits(leading) << 16 | bits(stride) << 32 |
         static_cast<uint64_t>(span == 128  ? 1
                               : span == 64 ? 2
                               : span == 32 ? 3
                                            : 0)
             << 62;
}
#define EIGHT_SUMS "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
constexpr int columns = 16, depth_bytes = 32;

template <class T, int TransposeA, int TransposeB>
__device__ void multiply(float (&d)[8], uint64_t a, uint64_t b, int add) {
  if constexpr (std::is_same_v<T, __nv_bfloat16>)
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%0, %1, %2, %3, "
        "%4, %5, %6, %7}, %8, %9, p, 1, -1, %11, %12;}"
        : EIGHT_SUMS
        : "l"(a), "l"(b), "r"(add), "n"(TransposeA), "n"(TransposeB));
  else if constexpr (std::is_same_v<T, __half>)
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0, %1, %2, %3, %4, "
        "%5, %6, %7}, %8, %9, p, -1, 1, %11, %12;}"
        : EIGHT_SUMS
        : "l"(a), "l"(b), "r"(add), "n"(TransposeA), "n"(TransposeB));
  else if constexpr (std::is_same_v<T, float>)
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k8.f32.tf32.tf32 {%0, %1, %2, %3, "
        "%4, %5, %6, %7}, %8, %9, p, 1, -1;}"
        : EIGHT_SUMS
        : "l"(a), "l"(b), "r"(add));
  else if constexpr (std::is_same_v<T, __nv_fp8_e4m3>)
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k32.f32.e4m3.e4m3 {%0, %1, %2, %3, "
        "%4, %5, %6, %7}, %8, %9, p, 1, -1;}"
        : EIGHT_SUMS
        : "l"(a), "l"(b), "r"(add));
  else
    asm volatile(
        "{.reg .pred p; setp.ne.b32 p, %10, 0; wgmma.mma_async.sync.aligned.m64n16k32.f32.e5m2.e5m2 {%0, %1, %2, %3, "
        "%4, %5, %6, %7}, %8, %9, p, 1, -1;}"
        : EIGHT_SUMS
        : "l"(a), "l"(b), "r"(add));
}
__device__ void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ void end_products() {
  asm volatile("wgmma.commit_group.sync.aligned;\n\twgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/// A (64, 2 steps), B (2 steps, 16) come from global memory by tensor copies, one swizzle line wide along k, or along
/// m and n. `a` and `b` are stored so that their rows are the boxes' rows.
template <class T, int TransposeA, int TransposeB>
__global__ void product(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b, float* c,
                        layouts how) {
  __shared__ alignas(1024) unsigned char tile_a[64 * 128], tile_b[64 * 128];
  __shared__ uint64_t bar;
  constexpr int depth = depth_bytes / sizeof(T);
  if (threadIdx.x == 0) init(&bar, 1);
  __syncthreads();
  const int wide_a = how.span_a / sizeof(T), wide_b = how.span_b / sizeof(T);  // elements in a line
  if (threadIdx.x == 0) {
    const int boxes_a = TransposeA ? 64 / wide_a : 1, boxes_b = TransposeB ? (columns + wide_b - 1) / wide_b : 1;
    const int bytes_a = TransposeA ? 2 * depth * how.span_a : 64 * how.span_a;
    const int bytes_b = TransposeB ? 2 * depth * how.span_b : columns * how.span_b;
    expect(&bar, boxes_a * bytes_a + boxes_b * bytes_b);
    for (int i = 0; i < boxes_a; ++i) copy_box(tile_a + i * bytes_a, &map_a, &bar, i * wide_a, 0);
    for (int i = 0; i < boxes_b; ++i) copy_box(tile_b + i * bytes_b, &map_b, &bar, i * wide_b, 0);
  }
  wait(&bar, 0);
  float d[8];
  begin_products();
  const int steps = how.span_a == 32 || how.span_b == 32 ? 1 : 2;  // of k in a line
  for (int step = 0; step < steps; ++step) {
    const uint64_t a =
        TransposeA ? descriptor(tile_a + step * depth * how.span_a, 2 * depth * how.span_a, 8 * how.span_a, how.span_a)
                   : descriptor(tile_a + step * depth_bytes, 16, 8 * how.span_a, how.span_a);
    const uint64_t b =
        TransposeB ? descriptor(tile_b + step * depth * how.span_b, 2 * depth * how.span_b, 8 * how.span_b, how.span_b)
                   : descriptor(tile_b + step * depth_bytes, 16, 8 * how.span_b, how.span_b);
    multiply<T, TransposeA, TransposeB>(d, a, b, step > 0);
  }
  end_products();
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int r = 0; r < 8; ++r)
    c[(16 * warp + lane / 4 + r / 2 % 2 * 8) * columns + r / 4 * 8 + lane % 4 * 2 + r % 2] = d[r];
}

template <class T>
constexpr CUtensorMapDataType type_of = sizeof(T) == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                        : sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                                         : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
template <class T>
CUtensorMap map_of(const on_device<T>& data, unsigned width, unsigned height, unsigned box_width, unsigned box_height,
                   int span) {
  CUtensorMap map;
  const cuuint64_t size[] = {width, height}, pitch[] = {width * sizeof(T)};
  const cuuint32_t box[] = {box_width, box_height}, step[] = {1, 1};
  EXPECT_EQ(
      cuTensorMapEncodeTiled(&map, type_of<T>, 2, data.data, size, pitch, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                             span == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                             : span == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                          : CU_TENSOR_MAP_SWIZZLE_32B,
                             CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      CUDA_SUCCESS);
  return map;
}

template <class T, int TransposeA = 0, int TransposeB = 0>
void expect_product(int span_a, int span_b, const std::string& counter) {
  SCOPED_TRACE(counter + " " + std::to_string(span_a) + " " + std::to_string(span_b));
  constexpr int depth = depth_bytes / sizeof(T), k = 2 * depth;
  const int steps = span_a == 32 || span_b == 32 ? 1 : 2;
  std::mt19937 random(5);
  const auto small = [&] { return static_cast<int>(random() % 7) - 3; };
  std::vector<int> a(64 * k), b(k * columns);
  for (int& x : a) x = small();
  for (int& x : b) x = small();
  const int wide_a = span_a / static_cast<int>(sizeof(T)), wide_b = span_b / static_cast<int>(sizeof(T));
  const int width_a = TransposeA ? 64 : std::max(k, wide_a),
            width_b = TransposeB ? std::max(columns, wide_b) : std::max(k, wide_b);
  std::vector<T> stored_a(width_a * (TransposeA ? k : 64), value_of<T>(0)),
      stored_b(width_b * (TransposeB ? k : columns), value_of<T>(0));
  for (int i = 0; i < 64; ++i)
    for (int l = 0; l < k; ++l) stored_a[TransposeA ? l * width_a + i : i * width_a + l] = value_of<T>(a[i * k + l]);
  for (int l = 0; l < k; ++l)
    for (int j = 0; j < columns; ++j)
      stored_b[TransposeB ? l * width_b + j : j * width_b + l] = value_of<T>(b[l * columns + j]);
  const on_device<T> da(stored_a), db(stored_b);
  const on_device<float> dc(std::vector<float>(64 * columns));
  const CUtensorMap map_a = map_of(da, width_a, TransposeA ? k : 64, wide_a, TransposeA ? k : 64, span_a);
  const CUtensorMap map_b = map_of(db, width_b, TransposeB ? k : columns, wide_b, TransposeB ? k : columns, span_b);
  const counts c = observe([&] {
    product<T, TransposeA, TransposeB><<<1, 128>>>(map_a, map_b, dc.data, {span_a, span_b, false, false});
  });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  EXPECT_EQ(metric(c, counter), 2 * 64 * columns * depth * steps);
  EXPECT_EQ(metric(c, "sm__inst_executed_pipe_tensor_op_gmma.sum"), 4 * steps);
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_shared_op_gmma.sum"), (64 + columns) * 32 * steps);
  const std::vector<float> got = dc.host();
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < columns; ++j) {
      int sum = 0;
      for (int l = 0; l < steps * depth; ++l) sum -= a[i * k + l] * b[l * columns + j];  // one factor's scale is -1
      ASSERT_EQ(got[i * columns + j], sum) << i << " " << j;
    }
}

TEST_F(Hopper, ProductsOfAllTypesAndLayouts) {
  for (const int span_a : {32, 64, 128})
    for (const int span_b : {32, 64, 128}) {
      expect_product<__nv_bfloat16>(span_a, span_b, "sm__ops_path_tensor_src_bf16_dst_fp32.sum");
      expect_product<__half>(span_a, span_b, "sm__ops_path_tensor_op_hgmma_src_fp16.sum");
    }
  for (const int span : {32, 64, 128}) {
    expect_product<__nv_bfloat16, 1, 0>(span, 128, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum");
    expect_product<__nv_bfloat16, 0, 1>(128, span, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum");
    expect_product<__half, 1, 1>(span, span, "sm__ops_path_tensor_src_fp16.sum");
    expect_product<float>(span, span, "sm__ops_path_tensor_src_tf32_dst_fp32.sum");
    expect_product<__nv_fp8_e4m3>(span, span, "sm__ops_path_tensor_src_fp8.sum");
    expect_product<__nv_fp8_e5m2>(span, 128, "sm__ops_path_tensor_src_fp8.sum");
  }
}

/// No swizzle: A from registers or 8 x 16-byte pieces; integers; FP16 sums.
__global__ void plain_products(int* whole, __half* halves, const signed char* a, const signed char* b) {
  __shared__ alignas(128) signed char tile_a[2][64][16], tile_b[2][8][16];  // [16 bytes of k][row]
  __shared__ alignas(128) __half half_b[2][8][8];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  for (int i = t; i < 64 * 32; i += 128) tile_a[i % 32 / 16][i / 32][i % 16] = a[i];
  for (int i = t; i < 8 * 32; i += 128) tile_b[i % 32 / 16][i / 32][i % 16] = b[i];
  for (int i = t; i < 8 * 16; i += 128)
    half_b[i % 16 / 8][i / 16][i % 8] = __half(static_cast<float>(b[i / 16 * 32 + i % 16]));
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  int d[4] = {1, 2, 3, 4};
  begin_products();
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0, %1, %2, %3}, %4, %5, 1;"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "l"(descriptor(tile_a, sizeof tile_a[0], 128, 0)), "l"(descriptor(tile_b, sizeof tile_b[0], 128, 0)));
  unsigned s[2] = {0, 0}, ra[4];
  for (int r = 0; r < 4; ++r) {
    const signed char* from = a + (16 * warp + lane / 4 + r % 2 * 8) * 32 + lane % 4 * 2 + r / 2 * 8;
    const __half2 both = __floats2half2_rn(from[0], from[1]);
    ra[r] = *reinterpret_cast<const unsigned*>(&both);
  }
  asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%0, %1}, {%2, %3, %4, %5}, %6, 0, 1, 1, 0;"
               : "+r"(s[0]), "+r"(s[1])
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "l"(descriptor(half_b, sizeof half_b[0], 128, 0)));
  end_products();
  for (int r = 0; r < 4; ++r) {
    const int at = (16 * warp + lane / 4 + r / 2 * 8) * 8 + lane % 4 * 2 + r % 2;
    whole[at] = d[r] - (r + 1);
    halves[at] = __ushort_as_half(static_cast<unsigned short>(s[r / 2] >> 16 * (r % 2)));
  }
}

TEST_F(Hopper, ProductsWithoutSwizzle) {
  std::vector<signed char> a(64 * 32), b(8 * 32);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<signed char>(i * 7 % 11 - 5);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<signed char>(i * 5 % 13 - 6);
  const on_device<signed char> da(a), db(b);
  const on_device<int> whole(std::vector<int>(64 * 8));
  const on_device<__half> halves(std::vector<__half>(64 * 8));
  const counts c = observe([&] { plain_products<<<1, 128>>>(whole.data, halves.data, da.data, db.data); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  EXPECT_EQ(metric(c, "sm__ops_path_tensor_op_igmma_src_int8.sum"), 2 * 64 * 8 * 32);
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 8; ++j) {
      int sum = 0, first = 0;
      for (int k = 0; k < 32; ++k) {
        sum += a[i * 32 + k] * b[j * 32 + k];
        if (k == 15) first = sum;
      }
      ASSERT_EQ(whole.host()[i * 8 + j], sum) << i << " " << j;
      ASSERT_EQ(static_cast<float>(halves.host()[i * 8 + j]), first) << i << " " << j;
    }
}

template <missing Piece>
__global__ void over_a_product(float* out) {
  __shared__ alignas(1024) __nv_bfloat16 tile[64 * 64];
  const int t = threadIdx.x;
  float d[8];
  for (int round = 0; round < 2; ++round) {
    if (t < 128 || Piece == missing::nothing)
      for (int i = t; i < 64 * 64; i += blockDim.x) tile[i] = __nv_bfloat16(static_cast<float>(i % 3));
    asm volatile("fence.proxy.async;" ::: "memory");
    if (Piece != missing::barrier) asm volatile("bar.sync 1, 128;" ::: "memory");
    begin_products();
    multiply<__nv_bfloat16, 0, 0>(d, descriptor(tile, 16, 1024, 128), descriptor(tile, 16, 1024, 128), 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    if (Piece == missing::wait)
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
    else
      asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    asm volatile("bar.sync 2, 128;" ::: "memory");
  }
  out[t] = d[0];
}
__global__ void not_all_warps() {
  __shared__ alignas(1024) __nv_bfloat16 tile[64 * 64];
  for (int i = threadIdx.x; i < 64 * 64; i += 128) tile[i] = __nv_bfloat16(1.0f);
  __syncthreads();
  float d[8];
  if (threadIdx.x < 96) {
    multiply<__nv_bfloat16, 0, 0>(d, descriptor(tile, 16, 1024, 128), descriptor(tile, 16, 1024, 128), 0);
    end_products();
  }
}

TEST_F(Hopper, ProductsThatAreNotAwaited) {
  const on_device<float> out(std::vector<float>(128));
  const auto run = [&](auto kernel) { return observe([&] { kernel<<<1, 128>>>(out.data); }); };
  const counts good = run(over_a_product<missing::nothing>);
  EXPECT_TRUE(good.reports.empty()) << testing::PrintToString(good.reports);
  EXPECT_TRUE(some(run(over_a_product<missing::wait>), "wgmma.wait_group"));
  EXPECT_TRUE(some(run(over_a_product<missing::barrier>), "race in shared memory"));
  EXPECT_TRUE(some(observe([&] { not_all_warps<<<1, 128>>>(); }), "infinite wait"));
}

// ---- clusters

__global__ void __cluster_dims__(2, 2, 1) ranks(int* out) {
  const auto cluster = cg::this_cluster();
  unsigned rank, x, y, count, id;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(x));
  asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(y));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  asm("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  if (threadIdx.x == 0)
    out[blockIdx.y * gridDim.x + blockIdx.x] =
        static_cast<int>(rank + 10 * x + 100 * y + 1000 * count + 10000 * id + (cluster.block_rank() != rank));
}
/// Each thread adds to a word of each block's memory, then reads the next block's.
template <missing Piece>
__global__ void add_to_all(int* out) {
  __shared__ alignas(32) int words[64];
  const auto cluster = cg::this_cluster();
  words[threadIdx.x] = 0;
  cluster.sync();
  for (unsigned r = 0; r < cluster.num_blocks(); ++r) {
    int* there = cluster.map_shared_rank(words, static_cast<int>(r));
    atomicAdd(&there[threadIdx.x], static_cast<int>(10 * cluster.block_rank() + 1));
  }
  cluster.sync();
  const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
  out[blockIdx.x * 64 + threadIdx.x] = *cluster.map_shared_rank(&words[63 - threadIdx.x], static_cast<int>(next));
  if (Piece != missing::barrier) cluster.sync();
  if (Piece == missing::anyone) out[0] = *cluster.map_shared_rank(words, 9);
}

TEST_F(Hopper, RanksInAClusterAndItsMemory) {
  const on_device<int> out(std::vector<int>(4 * 64));
  EXPECT_TRUE(observe([&] { ranks<<<dim3(4, 2), 32>>>(out.data); }).reports.empty());
  EXPECT_EQ(out.host()[0], 4000);
  EXPECT_EQ(out.host()[1], 4000 + 11);
  EXPECT_EQ(out.host()[4 + 2], 14000 + 100 + 2);
  cudaLaunchConfig_t config{};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim = {4, 1, 1};
  config.gridDim = 4;
  config.blockDim = 64;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const counts c = observe([&] { cudaLaunchKernelEx(&config, add_to_all<missing::nothing>, out.data); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  for (const int x : out.host()) EXPECT_EQ(x, 1 + 11 + 21 + 31);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_dshared_op_atom.sum"), 4 * 2 * 3);  // not its own block's
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_atom.sum"), 4 * 2);
  EXPECT_EQ(metric(c, "l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum"), 4 * 2);
  EXPECT_EQ(metric(c, "l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum"), 4 * 2 * 4);
  EXPECT_EQ(metric(c, "smsp__sass_data_bytes_mem_shared_op_ld.sum"), 4 * 64 * 4);
  EXPECT_EQ(metric(c, "smsp__inst_executed_op_shared_ld.sum"), 0);
  const counts wrong = observe([&] { cudaLaunchKernelEx(&config, add_to_all<missing::anyone>, out.data); });
  EXPECT_TRUE(some(wrong, "a rank that the cluster does not have")) << testing::PrintToString(wrong.reports);
}

TEST_F(Hopper, ClustersThatCannotBe) {
  const on_device<int> out(std::vector<int>(64));
  ranks<<<3, 32>>>(out.data);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidClusterSize);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
}

/// Block 0 sends to both; each tells both that it has read.
__global__ void __cluster_dims__(2, 1, 1) multicast(int* out, const int* in, int rounds) {
  __shared__ alignas(128) int tile[128];
  __shared__ uint64_t full, empty;
  const unsigned rank = cg::this_cluster().block_rank(), t = threadIdx.x;
  if (t == 0) {
    init(&full, 1);
    init(&empty, 2);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
  for (int i = 0; i < rounds; ++i) {
    if (t == 0) {
      wait(&empty, i % 2 ^ 1);
      expect(&full, sizeof tile);
      asm volatile(
          "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], "
          "%4;" ::"r"(address(tile + 64 * rank)),
          "l"(in + 128 * i + 64 * rank), "r"(256), "r"(address(&full)), "h"(static_cast<uint16_t>(3))
          : "memory");
    }
    wait(&full, i % 2);
    out[(i * 2 + rank) * 128 + t] = tile[127 - t];
    __syncthreads();
    if (t < 2)
      asm volatile(
          "{.reg .b32 there; mapa.shared::cluster.u32 there, %0, %1;\n\t"
          "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];}" ::"r"(address(&empty)),
          "r"(t)
          : "memory");
  }
  asm volatile("barrier.cluster.arrive.aligned;\n\tbarrier.cluster.wait.aligned;" ::: "memory");
}

TEST_F(Hopper, Multicast) {
  std::vector<int> values(128 * 5);
  std::iota(values.begin(), values.end(), 7);
  const on_device<int> in(values), out(std::vector<int>(2 * values.size()));
  const counts c = observe([&] { multicast<<<2, 128>>>(out.data, in.data, 5); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(c.reports.empty()) << testing::PrintToString(c.reports);
  for (int i = 0; i < 10 * 128; ++i) EXPECT_EQ(out.host()[i], values[i / 256 * 128 + 127 - i % 128]) << i;
  EXPECT_EQ(metric(c, "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"), 2 * 5 * 512);
}

}  // namespace
