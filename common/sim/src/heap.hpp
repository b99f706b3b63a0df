// The device memory that programs allocate, and its shadow: which bytes were written, and by which block.
#pragma once

#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/api.h"

namespace sim {

constexpr std::uintptr_t heap_base =
    0x2000'0000'0000;  ///< cudaMalloc allocates only from [heap_base, heap_base + heap_bytes)
constexpr std::uintptr_t heap_bytes = std::uintptr_t{1} << 37;
/// The end of that range serves `malloc` and `new` in kernels.
constexpr std::uintptr_t kernel_heap_bytes = std::uintptr_t{1} << 33,
                         kernel_heap_base = heap_base + heap_bytes - kernel_heap_bytes;
/// After the heap's entries come those of the program's own variables, whose races are checked, too.
constexpr std::uintptr_t variable_bytes = std::uintptr_t{1} << 32;
inline bool in_kernel_heap(std::uintptr_t address) { return address - kernel_heap_base < kernel_heap_bytes; }
constexpr std::size_t line_bytes = 128, sector_bytes = 32, word_bytes = 4, bytes_per_mask = 8;

/// Which blocks loaded, or stored, a sector's words since the start of a kernel or a grid barrier: the epoch, the first
/// block, the words that only it touched, and those that several blocks touched. Words that only later blocks touched
/// are not recorded.
struct alignas(8) sector_use {  // otherwise clang 14 calls libatomic
  std::uint16_t epoch;
  std::uint8_t one, many;  ///< bit w: word w of the sector
  std::uint32_t block;
};
struct sector_shadow {
  std::atomic<sector_use> stored, loaded;
};
/// Epochs: one for each launch, and one more for each grid-wide barrier.
using epochs = std::bitset<65536>;
/// Launches with which this one may overlap; null if there are none.
struct overlapping {
  const epochs* concurrent = nullptr;  ///< those that nothing orders before it
  /// Earlier launches in its stream that may still run when it begins, or after a thread has waited for the latest.
  const epochs *at_begin = nullptr, *after_wait = nullptr;
};
/// The instructions that may have touched a 128-byte line, as numbers of recent_accesses: the last two of the last
/// warp, and of the warp before it. Only hints: blocks overwrite each other's entries.
struct line_users {
  std::atomic<std::uint64_t> of_warp, of_other;
};
struct line_shadow {
  line_users stored, loaded;
};
/// Reserved once; the operating system provides pages on first touch.
struct shadow_memory {
  std::uint8_t* valid;     ///< by word: bit b is set if byte b has been written
  sector_shadow* sectors;  ///< by sector
  sector_shadow* bytes;    ///< by 8 bytes: accesses of less than a word, with bytes in place of words
  line_shadow* lines;
};  // by address - heap_base; for the program's variables, by heap_bytes + address - program_data().begin
const shadow_memory& shadow();
std::size_t page_bytes();  ///< of the operating system: 4 KiB, on Arm also 16 and 64

struct allocation {
  std::uintptr_t begin = 0, end = 0;
  std::uint64_t number = 0;  ///< 1 for the program's first cudaMalloc
  memory_kind kind = memory_kind::device;
  std::uintptr_t pc = 0;   ///< of the allocating line
  std::string name;        ///< for messages; empty if messages use its number
  std::size_t stream = 0;  ///< of cudaMallocAsync; work_item: its number. 0: cudaMalloc, and cudaFree waits for users
  std::uint32_t work_item = 0;
  std::uint32_t freed_in = 0;  ///< the grader's call that freed it
  int device = 0;              ///< that owns the memory; for kinds other than `device`, the device that was current
  std::size_t pitch = 0, row_bytes = 0;  ///< of cudaMallocPitch: rows, each with padding; 0: no rows
  bool in_padding(std::uintptr_t address) const { return pitch != 0 && (address - begin) % pitch >= row_bytes; }
};
/// The live allocation that contains the address, or null. During a launch only the kernel's own heap changes.
const allocation* find_allocation(std::uintptr_t address);
/// The last allocation that begins at or before the address, live or freed; null if there is none.
const allocation* nearest_allocation(std::uintptr_t address, bool* freed);
/// The last live host-made allocation that begins at or before the address, or null.
const allocation* previous_allocation(std::uintptr_t address);
/// Whether the memory was freed during an earlier call by the grader: a wrong index may hit it by chance.
bool freed_in_earlier_call(std::uintptr_t address);
/// The first live host-made allocation that begins after the address, or null.
const allocation* next_allocation(std::uintptr_t address);
/// Implements `allocate` of sim/api.h; `stream`: for cudaMallocAsync, otherwise null.
cudaError_t allocate_for(void** pointer, std::size_t bytes, memory_kind kind, const void* pc,
                         const cudaStream_t* stream);
/// Notes that an allocation consists of rows.
void note_rows(const void* pointer, std::size_t pitch, std::size_t row_bytes);
void mark_valid(std::uintptr_t begin, std::size_t bytes);
bool is_valid(std::uintptr_t begin, std::size_t bytes);
/// Reserves address space for a future allocation; 0 if none is left.
std::uintptr_t reserve_place(std::size_t bytes);
/// Allocates device memory at a reserved address; false if it is allocated already.
bool allocate_at(std::uintptr_t begin, std::size_t bytes, std::uintptr_t pc);
/// Frees the live allocation that begins here; false if there is none.
bool release(std::uintptr_t begin);
void free_everything(int device);
/// How many times the host has allocated memory, or launched a graph that does, since the program's start.
std::uint64_t allocations_so_far();
void count_allocation();  ///< by the host; it is an API call, too
/// `malloc` in a kernel: null if cudaLimitMallocHeapSize leaves too little.
void* allocate_in_kernel(std::size_t bytes, std::uintptr_t pc);
/// False if no kernel allocated memory that begins here, or if it is free already.
bool free_in_kernel(std::uintptr_t begin);
/// Call after a launch: the memory that it freed may be reused.
void end_kernel_frees();
std::vector<allocation> live_allocations();
std::vector<allocation>& registered_host_memory();

}  // namespace sim
