// The device's memory: one reserved range for all allocations, and its shadow.
#include "heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "hooks.hpp"
#include "model.hpp"
#include "runtime.hpp"
#include "sim/names.h"

namespace sim {
namespace {

// After each allocation comes a gap, where an overrun is detected and does no harm.
constexpr std::size_t alignment = 256, gap = std::size_t{1} << 20;

struct memory {
  shadow_memory shadow{};
  std::vector<allocation> live, freed;  // both sorted by begin
  std::vector<allocation> registered;   // the program's own host memory, by cudaHostRegister
  std::uintptr_t next = heap_base + gap;
  std::uint64_t count = 0;

  memory() {
    reserve(reinterpret_cast<void*>(heap_base), heap_bytes);
    shadow.valid = static_cast<std::uint8_t*>(reserve(nullptr, heap_bytes / word_bytes));
    shadow.lines = static_cast<line_shadow*>(reserve(nullptr, heap_bytes / line_bytes * sizeof(line_shadow)));
    shadow.sectors = static_cast<sector_shadow*>(reserve(nullptr, heap_bytes / sector_bytes * sizeof(sector_shadow)));
  }
  static void* reserve(void* at, std::size_t bytes) {
    void* got = mmap(at, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (got == MAP_FAILED || (at && got != at)) {
      std::perror("simulated device: cannot reserve address space; is there a limit on virtual memory (ulimit -v)?");
      std::exit(71);
    }
    return got;
  }
};

memory& heap() {
  static memory& instance = *new memory;  // the account at the end of the program needs it
  return instance;
}

const allocation* last_before(const std::vector<allocation>& table, std::uintptr_t address) {
  auto after = std::upper_bound(table.begin(), table.end(), address,
                                [](std::uintptr_t a, const allocation& entry) { return a < entry.begin; });
  return after == table.begin() ? nullptr : &*std::prev(after);
}

void insert_sorted(std::vector<allocation>& table, const allocation& entry) {
  table.insert(std::upper_bound(table.begin(), table.end(), entry,
                                [](const allocation& a, const allocation& b) { return a.begin < b.begin; }),
               entry);
}

/// Sets a range to zero; whole pages go back to the system.
void discard(void* from, std::size_t bytes) {
  const std::uintptr_t page = 4096, begin = reinterpret_cast<std::uintptr_t>(from), end = begin + bytes;
  const std::uintptr_t first = std::min((begin + page - 1) / page * page, end),
                       last = std::max(end / page * page, first);
  std::memset(from, 0, first - begin);
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

void discard(const allocation& entry) {
  const std::size_t bytes = entry.end - entry.begin;
  discard(reinterpret_cast<void*>(entry.begin), bytes);
  discard(shadow().valid + (entry.begin - heap_base) / word_bytes, (bytes + word_bytes - 1) / word_bytes);
}

/// A place with `step` free bytes: after everything so far or, once the range is used up, in the first hole.
std::uintptr_t find_hole(memory& m, std::size_t step) {
  if (m.next + step <= heap_base + heap_bytes) return std::exchange(m.next, m.next + step);
  m.freed.clear();
  std::uintptr_t begin = heap_base + gap;
  for (const allocation& entry : m.live) {
    if (begin + step <= entry.begin) break;
    begin = (entry.end + alignment - 1) / alignment * alignment + gap;
  }
  return begin + step <= heap_base + heap_bytes ? begin : 0;
}

}  // namespace

const shadow_memory& shadow() { return heap().shadow; }

cudaError_t allocate(void** pointer, std::size_t bytes, memory_kind kind, const void* pc) {
  if (in_kernel()) stop_kernel(fault::trap, pc, "memory cannot be allocated in a kernel here; allocate it on the host");
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  memory& m = heap();
  double in_use = static_cast<double>(bytes);
  for (const allocation& a : m.live)
    if (a.kind == memory_kind::device || kind != memory_kind::device) in_use += static_cast<double>(a.end - a.begin);
  const double limit = kind == memory_kind::device ? described_device().memory_bytes : static_cast<double>(heap_bytes);
  const bool fits = in_use <= std::min(limit, static_cast<double>(heap_bytes));
  const std::uintptr_t begin = fits ? find_hole(m, (bytes + alignment - 1) / alignment * alignment + gap) : 0;
  if (begin == 0) return fail(cudaErrorMemoryAllocation);
  insert_sorted(m.live, {begin, begin + bytes, ++m.count, kind, reinterpret_cast<std::uintptr_t>(pc), {}});
  // The host may write here at any time, unseen.
  if (kind != memory_kind::device) mark_valid(begin, bytes);
  *pointer = reinterpret_cast<void*>(begin);
  return cudaSuccess;
}

void name_allocation(const void* pointer, std::string name) {
  const std::scoped_lock lock(runtime_mutex());
  for (allocation& a : heap().live)
    if (a.begin == reinterpret_cast<std::uintptr_t>(pointer)) a.name = std::move(name);
}

bool release(std::uintptr_t begin) {
  memory& m = heap();
  const auto entry = std::find_if(m.live.begin(), m.live.end(), [&](const allocation& a) { return a.begin == begin; });
  if (entry == m.live.end()) return false;
  discard(*entry);
  insert_sorted(m.freed, *entry);
  m.live.erase(entry);
  return true;
}

void free_everything() {
  memory& m = heap();
  for (const allocation& a : m.live) {
    discard(a);
    insert_sorted(m.freed, a);
  }
  m.live.clear();
  m.registered.clear();
}

std::vector<allocation> live_allocations() { return heap().live; }
std::vector<allocation>& registered_host_memory() { return heap().registered; }

const allocation* find_allocation(std::uintptr_t address) {
  const allocation* entry = last_before(heap().live, address);
  return entry && address < entry->end ? entry : nullptr;
}

const allocation* nearest_allocation(std::uintptr_t address, bool* freed) {
  const allocation* live = last_before(heap().live, address);
  const allocation* gone = last_before(heap().freed, address);
  *freed = gone && (!live || gone->begin > live->begin) && address < gone->end;
  return *freed ? gone : live;
}

bool is_valid(std::uintptr_t begin, std::size_t bytes) {
  for (std::uintptr_t b = begin - heap_base; b < begin - heap_base + bytes; ++b)
    if (!((shadow().valid[b / word_bytes] >> (b % word_bytes)) & 1)) return false;
  return true;
}

void mark_valid(std::uintptr_t begin, std::size_t bytes) {
  std::uint8_t* valid = shadow().valid;
  const std::uintptr_t first = begin - heap_base, last = first + bytes;
  const std::uintptr_t first_whole = (first + word_bytes - 1) / word_bytes, last_whole = last / word_bytes;
  if (first_whole < last_whole) std::memset(valid + first_whole, 0x0F, last_whole - first_whole);
  for (std::uintptr_t b = first; b < std::min(last, first_whole * word_bytes); ++b)
    valid[b / word_bytes] |= static_cast<std::uint8_t>(1u << (b % word_bytes));
  for (std::uintptr_t b = std::max(first, last_whole * word_bytes); b < last; ++b)
    valid[b / word_bytes] |= static_cast<std::uint8_t>(1u << (b % word_bytes));
}

}  // namespace sim
