// The device's memory: one reserved range for all allocations, and its shadow.
#include "heap.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "calls.hpp"
#include "debugger.hpp"
#include "devices.hpp"
#include "hooks.hpp"
#include "model.hpp"
#include "runtime.hpp"
#include "sim/names.h"
#include "streams.hpp"

namespace sim {
namespace {

// Each allocation is followed by a gap, where overruns are detected and do no harm.
constexpr std::size_t alignment = 256, gap = std::size_t{1} << 20;

/// Allocations by kernels. Their threads run concurrently, so entries never move.
struct kernel_heap {
  /// Accesses are checked slightly late, so memory that a kernel frees stays until the kernel ends.
  enum class state : std::uint8_t { live, leaving, gone };
  struct entry {
    allocation memory;
    state now = state::live;
  };
  std::shared_mutex mutex;
  std::map<std::uintptr_t, entry> all;  // by begin
  std::vector<std::uintptr_t> leaving;
  std::map<std::size_t, std::vector<std::uintptr_t>> gone;  // by room
  std::uintptr_t next = kernel_heap_base;
  std::size_t in_use = 0;

  /// Whole lines, so that threads with unrelated memory never seem to share one.
  static std::size_t room(std::size_t bytes) { return (bytes / line_bytes + 2) * line_bytes; }
  const allocation* find(std::uintptr_t address, bool wanted_gone) {
    const std::shared_lock lock(mutex);
    const auto after = all.upper_bound(address);
    if (after == all.begin()) return nullptr;
    const entry& found = std::prev(after)->second;
    return (found.now == state::gone) == wanted_gone ? &found.memory : nullptr;
  }
};

struct memory {
  shadow_memory shadow{};
  std::vector<allocation> live, freed;  // both sorted by begin
  std::vector<allocation> registered;   // host memory passed to cudaHostRegister
  std::uintptr_t next = heap_base + gap;
  kernel_heap of_kernels;
  std::uint64_t count = 0, by_host = 0;
  std::uint32_t call = 0;  // the grader's current call

  memory() {
    reserve(reinterpret_cast<void*>(heap_base), heap_bytes);
    shadow.valid = static_cast<std::uint8_t*>(reserve(nullptr, heap_bytes / word_bytes));
    shadow.lines =
        static_cast<line_shadow*>(reserve(nullptr, (heap_bytes + variable_bytes) / line_bytes * sizeof(line_shadow)));
    shadow.sectors = static_cast<sector_shadow*>(
        reserve(nullptr, (heap_bytes + variable_bytes) / sector_bytes * sizeof(sector_shadow)));
    shadow.bytes = static_cast<sector_shadow*>(
        reserve(nullptr, (heap_bytes + variable_bytes) / bytes_per_mask * sizeof(sector_shadow)));
  }
  static void* reserve(void* at, std::size_t bytes) {
    void* got = mmap(at, bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);
    if (got == MAP_FAILED || (at && got != at)) {
      std::perror("simulated device: cannot reserve address space; is there a limit on virtual memory (ulimit -v)?");
      std::exit(71);
    }
    leave_out_of_dumps(got, bytes);
    return got;
  }
};

memory& heap() {
  static memory& instance = *new memory;  // never destroyed: the summary at the program's end needs it
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

/// Zeroes a range; returns whole pages to the system.
void discard(void* from, std::size_t bytes) {
  const std::uintptr_t page = page_bytes(), begin = reinterpret_cast<std::uintptr_t>(from), end = begin + bytes;
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

/// An address with `step` free bytes: after all earlier allocations or, once the range is used up, in the first hole.
std::uintptr_t find_hole(memory& m, std::size_t step) {
  if (m.next + step <= kernel_heap_base) return std::exchange(m.next, m.next + step);
  m.freed.clear();
  std::uintptr_t begin = heap_base + gap;
  for (const allocation& entry : m.live) {
    if (begin + step <= entry.begin) break;
    begin = (entry.end + alignment - 1) / alignment * alignment + gap;
  }
  return begin + step <= kernel_heap_base ? begin : 0;
}

}  // namespace

const shadow_memory& shadow() { return heap().shadow; }
std::size_t page_bytes() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}
std::uint64_t allocations_so_far() { return heap().by_host; }
void count_allocation() {
  ++heap().by_host;
  ++api_calls;
}

cudaError_t allocate(void** pointer, std::size_t bytes, memory_kind kind, const void* pc) {
  return allocate_for(pointer, bytes, kind, pc, nullptr);
}

cudaError_t allocate_for(void** pointer, std::size_t bytes, memory_kind kind, const void* pc,
                         const cudaStream_t* stream) {
  if (in_kernel())
    stop_kernel(fault::trap, pc,
                "cudaMalloc in a kernel is not simulated; use malloc or new there, or allocate on the host");
  const api_call here(stream                         ? "cudaMallocAsync"
                      : kind == memory_kind::pinned  ? "cudaMallocHost"
                      : kind == memory_kind::managed ? "cudaMallocManaged"
                                                     : "cudaMalloc");
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (pointer == nullptr) return fail(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  memory& m = heap();
  double in_use = static_cast<double>(bytes);
  for (const allocation& a : m.live)
    if ((a.kind == memory_kind::device && a.device == current_device()) || kind != memory_kind::device)
      in_use += static_cast<double>(a.end - a.begin);
  const double limit = kind == memory_kind::device ? described_device().memory_bytes : static_cast<double>(heap_bytes);
  const bool fits = in_use <= std::min(limit, static_cast<double>(heap_bytes));
  const std::uintptr_t begin = fits ? find_hole(m, (bytes + alignment - 1) / alignment * alignment + gap) : 0;
  if (begin == 0) return fail(cudaErrorMemoryAllocation);
  allocation made{begin, begin + bytes, ++m.count, kind, reinterpret_cast<std::uintptr_t>(pc), {}};
  made.device = stream && is_stream(*stream) ? device_of(*stream) : current_device();
  if (stream) note_stream_allocation(made, *stream);
  insert_sorted(m.live, made);
  count_allocation();
  keep_in_dumps(begin, bytes);
  // The host may write here at any time, unobserved.
  if (kind != memory_kind::device) mark_valid(begin, bytes);
  *pointer = reinterpret_cast<void*>(begin);
  return cudaSuccess;
}

void name_allocation(const void* pointer, const std::string& name) {
  const std::scoped_lock lock(runtime_mutex());
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  for (allocation& a : heap().live)
    if (a.begin <= address && address < a.end) a.name = name;
}

void note_rows(const void* pointer, std::size_t pitch, std::size_t row_bytes) {
  const std::scoped_lock lock(runtime_mutex());
  for (allocation& a : heap().live)
    if (a.begin == reinterpret_cast<std::uintptr_t>(pointer)) {
      a.pitch = pitch;
      a.row_bytes = row_bytes;
    }
}

std::size_t unnamed_allocations() {
  const std::scoped_lock lock(runtime_mutex());
  const auto& live = heap().live;
  return static_cast<std::size_t>(
      std::count_if(live.begin(), live.end(), [](const allocation& a) { return a.name.empty(); }));
}

std::uintptr_t reserve_place(std::size_t bytes) {
  return find_hole(heap(), (bytes + alignment - 1) / alignment * alignment + gap);
}
bool allocate_at(std::uintptr_t begin, std::size_t bytes, std::uintptr_t pc) {
  memory& m = heap();
  if (find_allocation(begin)) return false;
  std::erase_if(m.freed, [&](const allocation& a) { return a.begin == begin; });
  insert_sorted(m.live, {begin, begin + bytes, ++m.count, memory_kind::device, pc, {}, true, 0, 0, current_device()});
  ++m.by_host;
  return true;
}

bool release(std::uintptr_t begin) {
  memory& m = heap();
  const auto entry = std::find_if(m.live.begin(), m.live.end(), [&](const allocation& a) { return a.begin == begin; });
  if (entry == m.live.end()) return false;
  discard(*entry);
  entry->freed_in = m.call;
  insert_sorted(m.freed, *entry);
  m.live.erase(entry);
  return true;
}

void* allocate_in_kernel(std::size_t bytes, std::uintptr_t pc) {
  std::size_t most = 0;
  cudaDeviceGetLimit(&most, cudaLimitMallocHeapSize);
  kernel_heap& h = heap().of_kernels;
  const std::size_t room = kernel_heap::room(bytes);
  const std::unique_lock lock(h.mutex);
  if (bytes == 0 || bytes > most || h.in_use + bytes > most) return nullptr;
  std::uintptr_t begin = h.next;
  if (auto& reused = h.gone[room]; !reused.empty()) {
    begin = reused.back();
    reused.pop_back();
    // The memory's former owner is unrelated to the new one.
    std::memset(static_cast<void*>(shadow().sectors + (begin - heap_base) / sector_bytes), 0,
                room / sector_bytes * sizeof(sector_shadow));
    std::memset(static_cast<void*>(shadow().bytes + (begin - heap_base) / bytes_per_mask), 0,
                room / bytes_per_mask * sizeof(sector_shadow));
    std::memset(static_cast<void*>(shadow().lines + (begin - heap_base) / line_bytes), 0,
                room / line_bytes * sizeof(line_shadow));
  } else if (begin + room > kernel_heap_base + kernel_heap_bytes) {
    return nullptr;
  } else {
    h.next += room;
  }
  h.all[begin].memory = {begin, begin + bytes, ++heap().count, memory_kind::device, pc, {}, 0, 0, 0, current_device()};
  h.all[begin].now = kernel_heap::state::live;
  h.in_use += bytes;
  return reinterpret_cast<void*>(begin);
}

bool free_in_kernel(std::uintptr_t begin) {
  kernel_heap& h = heap().of_kernels;
  const std::unique_lock lock(h.mutex);
  const auto found = h.all.find(begin);
  if (found == h.all.end() || found->second.now != kernel_heap::state::live) return false;
  found->second.now = kernel_heap::state::leaving;
  h.leaving.push_back(begin);
  h.in_use -= found->second.memory.end - begin;
  return true;
}

void end_kernel_frees() {
  kernel_heap& h = heap().of_kernels;
  const std::unique_lock lock(h.mutex);
  for (const std::uintptr_t begin : std::exchange(h.leaving, {})) {
    kernel_heap::entry& e = h.all[begin];
    discard(e.memory);
    e.now = kernel_heap::state::gone;
    h.gone[kernel_heap::room(e.memory.end - begin)].push_back(begin);
  }
}

void free_everything(int device) {
  memory& m = heap();
  for (const auto& [begin, entry] : m.of_kernels.all)
    if (entry.memory.device == device) free_in_kernel(begin);
  end_kernel_frees();
  std::erase_if(m.live, [&](allocation& a) {
    if (a.device != device) return false;
    discard(a);
    a.freed_in = m.call;
    insert_sorted(m.freed, a);
    return true;
  });
  std::erase_if(m.registered, [&](const allocation& a) { return a.device == device; });
}

std::vector<allocation> live_allocations() { return heap().live; }
std::vector<allocation>& registered_host_memory() { return heap().registered; }

const allocation* find_allocation(std::uintptr_t address) {
  if (in_kernel_heap(address)) {
    const allocation* entry = heap().of_kernels.find(address, false);
    return entry && address < entry->end ? entry : nullptr;
  }
  const allocation* entry = last_before(heap().live, address);
  return entry && address < entry->end ? entry : nullptr;
}

const allocation* nearest_allocation(std::uintptr_t address, bool* freed) {
  if (in_kernel_heap(address)) {
    const allocation* gone = heap().of_kernels.find(address, true);
    *freed = gone && address < gone->end;
    return *freed ? gone : heap().of_kernels.find(address, false);
  }
  const allocation* live = last_before(heap().live, address);
  const allocation* gone = last_before(heap().freed, address);
  *freed = gone && (!live || gone->begin > live->begin) && address < gone->end;
  return *freed ? gone : live;
}

const allocation* previous_allocation(std::uintptr_t address) { return last_before(heap().live, address); }

void begin_call() {
  const std::scoped_lock lock(runtime_mutex());
  ++heap().call;
}
bool freed_in_earlier_call(std::uintptr_t address) {
  if (in_kernel_heap(address)) return false;
  bool freed = false;
  const allocation* gone = nearest_allocation(address, &freed);
  return freed && gone->freed_in != heap().call;
}

const allocation* next_allocation(std::uintptr_t address) {
  const std::vector<allocation>& live = heap().live;
  const auto next = std::upper_bound(live.begin(), live.end(), address,
                                     [](std::uintptr_t at, const allocation& a) { return at < a.begin; });
  return next == live.end() ? nullptr : &*next;
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
