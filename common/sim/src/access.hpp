// One lane's access, as the hooks record it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sim {

constexpr std::size_t lanes_per_warp = 32;

enum class operation : std::uint8_t {
  load,
  store,
  atomic,
  copy,         ///< an asynchronous copy into shared memory starts: from now on it may write
  copied,       ///< the wait for that copy has ended: it has written
  local,        ///< memory without traffic: the thread's own stack, constants, arguments
  block,        ///< a basic block begins
  sync,         ///< a warp function; the address is its mask
  remote_load,  ///< from the shared memory of another block of the cluster
  remote_store,
  remote_atomic,
  index,        ///< the address is an index out of its array's bounds; the next access shows whether that is an error
  order,        ///< the thread releases or acquires: the address is a block_order record
  bulk,         ///< a bulk copy, or a product of a warpgroup: the address is a number from observer::keep
  bulk_load,    ///< a bulk copy's bytes from global to shared memory, for the counts
  bulk_store,   ///< and from shared to global memory
  bulk_reduce,  ///< and those that it adds to or otherwise combines with the bytes there
};
enum class space : std::uint8_t { global, shared, none };

extern "C" const char __executable_start[];  // defined by the linker: the program's first byte

/// One lane's access. `site` packs the instruction's program counter, relative to the program's start (32 bits), the
/// size in bytes (8), the operation (8), and the lane's call depth as a distance on its stack (16).
struct access {
  std::uint64_t site;
  std::uintptr_t address;  ///< of a store: see hash_of_value
};
constexpr std::uint64_t site_mask = 0xffff'ffff'ffff;
inline std::uint64_t make_site(std::uintptr_t pc, std::size_t bytes, operation op, std::uint64_t depth = 0) {
  return ((pc - reinterpret_cast<std::uintptr_t>(__executable_start)) & 0xffff'ffff) | (std::uint64_t{bytes} << 32) |
         (static_cast<std::uint64_t>(op) << 40) | (depth << 48);
}
inline std::uintptr_t site_pc(std::uint64_t site) {
  return (site & 0xffff'ffff) + reinterpret_cast<std::uintptr_t>(__executable_start);
}
constexpr std::size_t site_bytes(std::uint64_t site) { return (site >> 32) & 0xff; }
constexpr operation site_operation(std::uint64_t site) { return static_cast<operation>((site >> 40) & 0x3f); }
/// An integer atomic: nvcc combines the lanes of a warp that share an address.
constexpr auto atomic_in_warp = static_cast<operation>(static_cast<unsigned>(operation::atomic) | 0x80);
constexpr bool site_in_warp(std::uint64_t site) { return (site >> 47) & 1; }
/// An atomic with block scope: between blocks it behaves like a plain load and store.
constexpr unsigned in_block_flag = 0x40;
constexpr bool site_in_block(std::uint64_t site) {
  return site_operation(site) == operation::atomic && ((site >> 46) & 1);
}
/// Whether a load or store may race with others without an error: volatile accesses may if the kernel uses fences;
/// atomics may race with each other and with volatile accesses.
enum class strength : std::uint8_t { plain, volatile_access, atomic };
constexpr operation with(operation op, strength how) {
  return static_cast<operation>(static_cast<unsigned>(op) | (static_cast<unsigned>(how) << 6));
}
constexpr strength site_strength(std::uint64_t site) {
  return site_operation(site) == operation::atomic ? strength::atomic : static_cast<strength>((site >> 46) & 3);
}
constexpr std::uint64_t site_depth(std::uint64_t site) { return site >> 48; }

/// Above the address of a plain store in its record: 16 bits of a hash of the value that it replaces.
constexpr unsigned address_bits = 48;
constexpr std::uintptr_t address_mask = (std::uintptr_t{1} << address_bits) - 1;
[[gnu::always_inline]] inline std::uint64_t hash_of_value(std::uintptr_t address, std::size_t bytes) {
  std::uint64_t parts[2] = {};
  std::memcpy(parts, reinterpret_cast<const void*>(address), std::min(bytes, sizeof parts));
  return ((parts[0] + (parts[1] << 7)) * 0x9e37'79b9'7f4a'7c15) >> address_bits;
}

}  // namespace sim
