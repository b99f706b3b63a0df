// Instructions of GPUs with compute capability 9.0, as functions: mbarriers, the Tensor Memory Accelerator (TMA),
// wgmma, clusters. Source: PTX ISA 8.0 and later; comments have PTX's names. nvcc needs -gencode
// arch=compute_90a,code=sm_90a.
//
// Tiles in shared memory have swizzled rows of 128 bytes: in row r, the 16 bytes that would be at 16 i are at
// 16 (i ^ r % 8). A tile starts at a multiple of 1024 bytes.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "lab/device.hpp"

namespace lab::hopper {

__device__ inline unsigned address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

// ---- Barriers ------------------------------------------------------------------------------------------------------

/// A barrier that counts arrivals and bytes (mbarrier). Its phase flips when all have arrived; a wait names the phase
/// by its parity: 0, 1, 0, …
struct arrivals {
  std::uint64_t state;

  __device__ void init(int expected) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(this)), "r"(expected));
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(this)) : "memory"); }
  /// Arrives, and keeps the phase open until `bytes` have been copied, too.
  __device__ void arrive_and_expect(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(this)), "r"(bytes) : "memory");
  }
  /// Arrives at the barrier at the same place in block `rank` of the cluster.
  __device__ void arrive_in(int rank) {
    asm volatile(
        "{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [there];\n}" ::"r"(address(this)),
        "r"(rank)
        : "memory");
  }
  // With .acquire.cluster each wait would empty the L1 cache: 0.77 of cuBLAS instead of 1.03 in lab 09's product,
  // measured on an H200. Bulk copies and wgmma do not go through L1.
  __device__ void wait(int parity) {
    asm volatile(
        "{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\n"
        "done:\n}" ::"r"(address(this)),
        "r"(parity)
        : "memory");
  }
};

/// Makes initialized barriers visible to the cluster and to TMA; follow it with a barrier of the block or cluster
/// (fence.mbarrier_init).
__device__ inline void fence_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
/// Makes this thread's writes to shared memory visible to TMA and wgmma (fence.proxy.async).
__device__ inline void fence_writes() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

/// A barrier for all threads of all blocks of the cluster (barrier.cluster).
__device__ inline void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
__device__ inline int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Barrier `number`, 1 to 15, for `threads` threads of a block (bar.sync). Some of them may arrive without waiting
/// (bar.arrive).
template <int threads>
__device__ void group_barrier(int number) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "n"(threads) : "memory");
}
template <int threads>
__device__ void group_arrive(int number) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "n"(threads) : "memory");
}

/// Sets the registers per thread of a group of 128 threads, a multiple of 8 from 24 to 240 (setmaxnreg). If one group
/// takes more than it had at launch, the block's other groups must give some up.
template <int count>
__device__ void fewer_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ void more_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// ---- TMA -----------------------------------------------------------------------------------------------------------

/// A dense row-major tensor of 2 or 3 dimensions whose boxes TMA copies. Its rows start at multiples of 16 bytes; a row
/// of a box is 128 bytes long, other edges have at most 256 elements. For bf16 and 8-bit elements. If rows are parts of
/// longer ones, their starts are `row` elements apart.
///
///   map_of(a, {m, k}, {128, 64})     128 x 64 elements of a matrix (m, k)
template <class T, std::size_t rank>
CUtensorMap map_of(const T* p, const int (&sizes)[rank], const int (&box)[rank], int row = 0) {
  static const auto encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult how;
    LAB_CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &how));
    return reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(found);
  }();
  cuuint64_t lengths[rank], pitches[rank];
  cuuint32_t edges[rank], apart[rank];
  for (std::size_t i = 0; i < rank; ++i) {  // the driver's first dimension is the contiguous one
    lengths[i] = static_cast<cuuint64_t>(sizes[rank - 1 - i]);
    pitches[i] =
        i > 0 ? pitches[i - 1] * lengths[i] : (row > 0 ? static_cast<cuuint64_t>(row) : lengths[0]) * sizeof(T);
    edges[i] = static_cast<cuuint32_t>(box[rank - 1 - i]);
    apart[i] = 1;
  }
  CUtensorMap map;
  if (encode(&map, sizeof(T) == 1 ? CU_TENSOR_MAP_DATA_TYPE_UINT8 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, rank,
             const_cast<T*>(p), lengths, pitches, edges, apart, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) != CUDA_SUCCESS)
    throw std::runtime_error("cuTensorMapEncodeTiled refuses: do rows start at multiples of 16 bytes?");
  return map;
}

/// Copies the box of a matrix that begins at (row, column) to `to`, asynchronously (cp.async.bulk.tensor). `arrived`
/// counts all bytes of the box; elements outside the matrix are 0. One thread calls it, like all TMA functions.
__device__ inline void copy_box(void* to, const CUtensorMap& map, arrivals& arrived, int row, int column) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::
          "r"(address(to)),
      "l"(&map), "r"(address(&arrived)), "r"(column), "r"(row)
      : "memory");
}
/// The same for all blocks in the bit mask `ranks`: copies to the same address in each and signals each block's own
/// barrier (.multicast).
__device__ inline void multicast_box(void* to, const CUtensorMap& map, arrivals& arrived, int row, int column,
                                     unsigned short ranks) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4}], [%2], %5;" ::"r"(address(to)),
      "l"(&map), "r"(address(&arrived)), "r"(column), "r"(row), "h"(ranks)
      : "memory");
}
/// copy_box for a 3-dimensional tensor.
__device__ inline void copy_box(void* to, const CUtensorMap& map, arrivals& arrived, int plane, int row, int column) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
      "[%2];" ::"r"(address(to)),
      "l"(&map), "r"(address(&arrived)), "r"(column), "r"(row), "r"(plane)
      : "memory");
}

/// Copies a multiple of 16 bytes from global memory (cp.async.bulk).
__device__ inline void copy_bytes(void* to, const void* from, arrivals& arrived, int bytes) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %3, [%2];" ::"r"(address(to)),
      "l"(from), "r"(address(&arrived)), "r"(bytes)
      : "memory");
}
/// Copies from shared memory to the place of `to` in block `rank` of the cluster, which must be another block, and
/// signals that block's barrier.
__device__ inline void copy_to_rank(void* to, const void* from, arrivals& arrived, int rank, int bytes) {
  asm volatile(
      "{\n.reg .b32 there, barrier;\nmapa.shared::cluster.u32 there, %0, %3;\n"
      "mapa.shared::cluster.u32 barrier, %2, %3;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [there], [%1], %4, [barrier];\n}" ::"r"(
          address(to)),
      "r"(address(from)), "r"(address(&arrived)), "r"(rank), "r"(bytes)
      : "memory");
}

/// Copies a box from shared memory to the matrix; writes nothing outside it.
__device__ inline void store_box(const CUtensorMap& map, const void* from, int row, int column) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
               "r"(address(from)), "r"(column), "r"(row)
               : "memory");
}
__device__ inline void store_box(const CUtensorMap& map, const void* from, int plane, int row, int column) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(&map),
               "r"(address(from)), "r"(column), "r"(row), "r"(plane)
               : "memory");
}
/// Closes a group of this thread's stores so far (cp.async.bulk.commit_group).
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until all groups have read shared memory, so that it may be overwritten (.wait_group.read), or are done
/// (.wait_group).
__device__ inline void wait_for_reads() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ inline void wait_for_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }

// ---- wgmma ---------------------------------------------------------------------------------------------------------
// Products by 128 threads in four warps, all of which call these functions. Factors are tiles in shared memory, named
// by descriptors. A thread holds sums of rows g and g + 8 of its warp's 16 rows, two adjacent sums per 8 columns;
// lane = 4 g + t:
//
//   d[4 j], d[4 j + 1]           row 16 warp + g,     columns 8 j + 2 t and 8 j + 2 t + 1
//   d[4 j + 2], d[4 j + 3]       row 16 warp + g + 8

/// The matrix descriptor of a wgmma factor in shared memory, with rows of 128 bytes, swizzled as TMA does. The next
/// eight rows are `next_8` bytes away. If the factor's rows are not along k, the next 128 bytes of a row are
/// `next_line` bytes away. Adding i to a descriptor moves it 16 i bytes.
__device__ inline std::uint64_t factor(const void* tile, unsigned next_line, unsigned next_8) {
  const auto bits = [](unsigned x) { return static_cast<std::uint64_t>((x & 0x3ffff) >> 4); };
  return bits(address(tile)) | bits(next_line) << 16 | bits(next_8) << 32 | 1ull << 62;
}

/// Call before the first product, and after other code has touched the sums or a factor in registers (wgmma.fence).
__device__ inline void fence_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes a group of the products so far (wgmma.commit_group).
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `under_way` groups are unfinished; only then may sums be read or factors be written
/// (wgmma.wait_group).
template <int under_way>
__device__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(under_way) : "memory");
}

#define LAB_EIGHT(d, i)                                                                                       \
  "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), \
      "+f"(d[i + 7])
#define LAB_SUMS_32(d, i) LAB_EIGHT(d, i), LAB_EIGHT(d, i + 8), LAB_EIGHT(d, i + 16), LAB_EIGHT(d, i + 24)
#define LAB_SUMS_64(d, i) LAB_SUMS_32(d, i), LAB_SUMS_32(d, i + 32)
#define LAB_NUMBERS_32                                                                                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define LAB_NUMBERS_64                                                                                     \
  LAB_NUMBERS_32                                                                                           \
  ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, %48, %49, %50, %51, " \
  "%52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define LAB_NUMBERS_128                                                                                    \
  LAB_NUMBERS_64                                                                                           \
  ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, %80, %81, %82, "      \
  "%83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, %96, %97, %98, %99, %100, %101, "      \
  "%102, %103, %104, %105, %106, %107, %108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, " \
  "%119, %120, %121, %122, %123, %124, %125, %126, %127"

/// The same, for sums that are used next while other products continue: the compiler cannot move their use before this
/// wait.
template <int under_way>
__device__ void wait_for_products(float (&d)[64]) {
  asm volatile("wgmma.wait_group.sync.aligned %64;" : LAB_SUMS_64(d, 0) : "n"(under_way) : "memory");
}
template <int under_way>
__device__ void wait_for_products(float (&d)[32]) {
  asm volatile("wgmma.wait_group.sync.aligned %32;" : LAB_SUMS_32(d, 0) : "n"(under_way) : "memory");
}
/// For the sums of two products: after a wait for one, code that moves the other's sums makes ptxas serialize both.
template <int under_way>
__device__ void wait_for_products(float (&d)[32], float (&e)[32]) {
  asm volatile("wgmma.wait_group.sync.aligned %64;" : LAB_SUMS_32(d, 0), LAB_SUMS_32(e, 0) : "n"(under_way) : "memory");
}

/// d = a b + (add ? d : 0), in bf16: 64 x 256 = 64 x 16 times 16 x 256. Rows of a are along k, those of b are not, as
/// in row-major matrices (wgmma.mma_async m64n256k16).
__device__ inline void multiply(float (&d)[128], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_128 "}, %128, %129, p, 1, 1, 0, 1;\n}"
      : LAB_SUMS_64(d, 0), LAB_SUMS_64(d, 64)
      : "l"(a), "l"(b), "r"(add));
}
/// d = a b^T + …, in e4m3: 64 x 256 = 64 x 32 times 32 x 256. Rows of both are along k (m64n256k32).
__device__ inline void multiply_transposed_e4m3(float (&d)[128], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %130, 0;\nwgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 "
      "{" LAB_NUMBERS_128 "}, %128, %129, p, 1, 1;\n}"
      : LAB_SUMS_64(d, 0), LAB_SUMS_64(d, 64)
      : "l"(a), "l"(b), "r"(add));
}
/// d = a b^T + …, in bf16: 64 x 128 = 64 x 16 times 16 x 128. Rows of both are along k (m64n128k16).
__device__ inline void multiply_transposed(float (&d)[64], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_64 "}, %64, %65, p, 1, 1, 0, 0;\n}"
      : LAB_SUMS_64(d, 0)
      : "l"(a), "l"(b), "r"(add));
}
/// The same with 96 columns of sums (m64n96k16).
__device__ inline void multiply_transposed(float (&d)[48], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %50, 0;\nwgmma.mma_async.sync.aligned.m64n96k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_32
      ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47}, %48, %49, p, 1, 1, 0, 0;\n}"
      : LAB_SUMS_32(d, 0), LAB_EIGHT(d, 32), LAB_EIGHT(d, 40)
      : "l"(a), "l"(b), "r"(add));
}
/// d = a b + …, in bf16: 64 x 128 = 64 x 16 times 16 x 128, a from registers: a thread holds the same elements of its
/// warp's 16 rows as for lab::mma. Rows of b are not along k.
__device__ inline void multiply(float (&d)[64], const unsigned (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %69, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_64 "}, {%64, %65, %66, %67}, %68, p, 1, 1, 1;\n}"
      : LAB_SUMS_64(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

/// The same two with 64 columns of sums and a from registers (m64n64k16).
__device__ inline void multiply_transposed(float (&d)[32], const unsigned (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : LAB_SUMS_32(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}
__device__ inline void multiply(float (&d)[32], const unsigned (&a)[4], std::uint64_t b, int add) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\nwgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
      "{" LAB_NUMBERS_32 "}, {%32, %33, %34, %35}, %36, p, 1, 1, 1;\n}"
      : LAB_SUMS_32(d, 0)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

#undef LAB_EIGHT
#undef LAB_SUMS_32
#undef LAB_SUMS_64
#undef LAB_NUMBERS_32
#undef LAB_NUMBERS_64
#undef LAB_NUMBERS_128

// ---- From sums to tiles --------------------------------------------------------------------------------------------

/// Stores four 8 x 8 matrices from registers to shared memory, the reverse of ldmatrix (tensor_core.hpp).
__device__ inline void stmatrix(void* row, unsigned r0, unsigned r1, unsigned r2, unsigned r3) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address(row)), "r"(r0), "r"(r1),
               "r"(r2), "r"(r3)
               : "memory");
}

__device__ inline unsigned packed(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

}  // namespace lab::hopper
