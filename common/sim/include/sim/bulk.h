// Hopper's asynchronous copies and their barriers: mbarriers, bulk copies between global and shared memory, boxes of
// tensor maps, and the blocks of a cluster. PTX, cuda::barrier and cuda::ptx are built on these functions.
//
// A copy into shared memory arrives when a thread waits for its mbarrier and no thread of the block can continue; a
// copy out of shared memory arrives when its thread waits for the group. A thread that does not wait sees the old
// values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/call.h"
#include "sim/types.h"

namespace sim {

// ---- mbarriers

/// 64 bits, which a program accesses only through these functions: phase, "not initialised", bytes still expected (22
/// bits, signed), arrivals per phase (20), arrivals still expected (20).
struct mbarrier {
  unsigned long long word;
  static constexpr unsigned long long field = (1ull << 20) - 1;
  SIM_QUIET unsigned to_come() const { return static_cast<unsigned>(word & field); }
  SIM_QUIET unsigned expected() const { return static_cast<unsigned>(word >> 20 & field); }
  SIM_QUIET int bytes() const { return static_cast<int>(static_cast<long long>(word << 2) >> 42); }
  SIM_QUIET bool initialised() const { return (word >> 62 & 1) == 0; }
  SIM_QUIET unsigned phase() const { return static_cast<unsigned>(word >> 63); }
};
void init_mbarrier(mbarrier* b, unsigned count, const void* pc);
void end_mbarrier(mbarrier* b, const void* pc);
/// `count` threads arrive, `dropped` of them for the last time; expects `bytes` more (negative: bytes have arrived).
/// Returns the previous word.
unsigned long long arrive_at(mbarrier* b, unsigned count, unsigned dropped, int bytes, const void* pc);
/// Waits until the phase with this parity ends, or as long as the hardware would. Returns whether it has ended.
bool wait_for_phase(mbarrier* b, unsigned parity, const void* pc);

// ---- bulk copies

/// The operation on the target's elements.
enum class bulk_reduction : std::uint8_t { none, add, min, max, inc, dec, bit_and, bit_or, bit_xor };
enum class number : std::uint8_t { u8, u16, u32, s32, u64, s64, f16, f32, f64, bf16, tf32 };

constexpr unsigned own_rank = 0;  ///< in a copy's `ranks`: the block in whose shared memory `to` is
/// Sizes and addresses are multiples of 16 bytes. `ranks`: the cluster's blocks that get the copy, one bit each;
/// in each, the copy goes to the offset of `to` and signals the block's own `arrived`.
void copy_bulk_in(void* to, const void* from, unsigned bytes, mbarrier* arrived, unsigned ranks, const void* pc);
void copy_bulk_out(void* to, const void* from, unsigned bytes, bulk_reduction how, number type, const void* pc);
/// The box of the tensor map that begins at `at`, innermost coordinate first.
struct box_begin {
  int at[5];
  unsigned dimensions;
};
void copy_box_in(void* to, const void* map, const box_begin& begin, mbarrier* arrived, unsigned ranks, const void* pc);
void copy_box_out(const void* map, const box_begin& begin, const void* from, bulk_reduction how, const void* pc);
void commit_bulk();
/// Waits for the calling thread's copies out of shared memory, except those of the last `groups` commits.
void wait_for_bulk(unsigned groups);

// ---- clusters

/// The size of the launch's clusters in blocks; (1, 1, 1) without clusters.
dim3 cluster_shape();
dim3 rank_in_cluster();
unsigned cluster_rank();
unsigned cluster_blocks();
/// The same address in another block's shared memory; a pointer there works like any other.
void* in_block(const void* shared, unsigned rank, const void* pc);
/// The block of the cluster whose shared memory contains the address.
unsigned rank_of(const void* shared);
bool is_in_cluster(const void* address);
/// 32-bit addresses as in PTX. The block's own shared memory begins at 0.
std::size_t cluster_offset(const void* address);
void* cluster_address(std::size_t offset);
void arrive_at_cluster(const void* pc);
void wait_for_cluster(const void* pc);
/// Called at a kernel's start with the dimensions of __cluster_dims__: from then on, blocks run in clusters.
void require_cluster(unsigned x, unsigned y, unsigned z, const void* pc);
SIM_CALLED_HERE void cluster_dims(unsigned x, unsigned y = 1, unsigned z = 1) { require_cluster(x, y, z, SIM_CALLER); }

}  // namespace sim
