// Instructions of GPUs of compute capability 9.0 as functions: barriers that count bytes, factors of wgmma in shared
// memory, stmatrix. Source: PTX ISA 8.0 and later.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace lab::hopper {

__device__ inline unsigned address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// A barrier that counts arrivals and bytes. Its phase flips when all have come; waiting names the phase by its parity.
struct arrivals {
  std::uint64_t state;

  __device__ void init(int expected) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address(this)), "r"(expected));
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(this)) : "memory"); }
  /// Arrives, and lets the phase last until `bytes` have been copied, too.
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

/// The matrix descriptor of a factor of wgmma in shared memory, with rows of 128 bytes, swizzled as by TMA. The next
/// eight rows are `next_8` bytes away. If the factor's rows are along k, the next 128 bytes of a row are `next_line`
/// bytes away.
__device__ inline std::uint64_t factor(const void* tile, unsigned next_line, unsigned next_8) {
  const auto bits = [](unsigned x) { return static_cast<std::uint64_t>((x & 0x3ffff) >> 4); };
  return bits(address(tile)) | bits(next_line) << 16 | bits(next_8) << 32 | 1ull << 62;
}

/// Four matrices of 8 x 8 from registers to shared memory, the reverse of ldmatrix.
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
