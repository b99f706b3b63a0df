// A block's issued bulk copies, and the observer's records of them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/bulk.h"
#include "sim/tensor.h"

namespace sim {

/// Where the rows of a copy are. In shared memory they are contiguous, `row_bytes` each. In global memory a row may be
/// partly outside the tensor: a load fills that part, a store skips it.
struct bulk_rows {
  struct row {
    std::uintptr_t global;
    std::uint32_t skip, bytes;  ///< the part of the row that exists
  };
  std::vector<row> rows;
  std::uint32_t row_bytes = 0;
  unsigned swizzle = 0;      ///< 1, 3, 7: 16-byte pieces are exchanged within 32, 64, 128 bytes
  bool fill_nan = false;     ///< otherwise fills with zeros
  number type = number::u8;  ///< of the elements
  std::vector<char> data;    ///< bytes copied from shared memory, if `global` points into them
  std::uint32_t bytes() const { return static_cast<std::uint32_t>(rows.size()) * row_bytes; }
  std::uint32_t existing_bytes() const {
    std::uint32_t sum = 0;
    for (const row& r : rows) sum += r.bytes;
    return sum;
  }
};

/// The memory that a bulk copy or a product accesses at once: one record of a thread.
struct bulk_access {
  enum kind : std::uint8_t { arrives, leaves, product } what = arrives;
  std::shared_ptr<const bulk_rows> rows;  ///< global memory
  unsigned targets = 1;                   ///< number of blocks that receive them
  bool reduces = false;
  struct range {
    std::uintptr_t begin;
    std::uint32_t bytes;
  };
  std::vector<range> shared;  ///< written from now on, or read
  std::uint32_t agent = 0, clock = 0;
};

/// Issued but not arrived.
struct arriving_copy {
  mbarrier* barrier;  ///< in the block whose memory also contains `to`
  char* to;
  std::shared_ptr<const bulk_rows> rows;
  std::uintptr_t pc;
  std::uint32_t thread;  ///< the issuing thread
  bool from_outside;     ///< in another block
  unsigned phase;        ///< the barrier's phase at the issue
};
/// Issued but not waited for.
struct leaving_copy {
  const char* from;
  std::shared_ptr<const bulk_rows> rows;
  bulk_reduction how;
  std::uint32_t thread, group;
  std::uintptr_t flag;
  std::uint32_t clock;  ///< of the agent, afterwards
};
struct block_copies {
  std::vector<arriving_copy> arriving;
  std::vector<leaving_copy> leaving;
  std::vector<std::uint32_t> groups;  ///< by thread: number of committed groups
};

/// Groups of products that a block's warpgroups have committed.
struct block_products {
  std::vector<std::uint32_t> by_thread;
  std::vector<std::uint32_t> by_warp;  ///< the largest value of its threads: all lanes issue a product together
  std::vector<std::uint32_t> clocks;   ///< of each warpgroup's agent, after each of its last groups
};

// ---- wgmma.cpp

constexpr unsigned warps_per_warpgroup = 4;
/// The shared memory that the warpgroup reads.
std::vector<bulk_access::range> read_by(const warpgroup_product& p);
std::uint64_t operations_of_warp(const warpgroup_product& p);
/// The bytes of A and B, as if they did not overlap.
std::uint64_t shared_bytes_of(const warpgroup_product& p);
/// Called before the warp's lanes meet (bulk.cpp).
void begin_product(warpgroup_product& p, const void* pc);

// ---- tensor_maps.cpp

/// Moves the data.
void move_in(const arriving_copy& copy);
void move_out(const leaving_copy& copy);
/// The box of a tensor map in global memory; `wrong` receives an error.
std::shared_ptr<bulk_rows> rows_of_box(const void* map, const box_begin& begin, const char** wrong);

}  // namespace sim
