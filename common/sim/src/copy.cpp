// Calls on memory: freeing, copying, filling, symbols, and what a pointer points to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

#include "budget.hpp"
#include "calls.hpp"
#include "copy_order.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "guard.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "host_functions.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "model.hpp"
#include "program.hpp"
#include "runtime.hpp"
#include "streams.hpp"
#include "textures.hpp"

struct sim_memory_pool {
  std::uint64_t release_threshold = 0;
  int device = 0;
};

namespace sim {
namespace {

/// One per device.
sim_memory_pool& default_pool(int device) {
  static auto& all = *[] {
    auto* const pools = new std::array<sim_memory_pool, most_devices>;
    for (int d = 0; d < most_devices; ++d) (*pools)[static_cast<std::size_t>(d)].device = d;
    return pools;
  }();
  return all[static_cast<std::size_t>(device)];
}
std::vector<std::pair<std::uintptr_t, std::uintptr_t>> symbols;  // variables whose addresses the host has taken

std::uintptr_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

/// What a pointer points to. Host code can use all but the last two; kernels all but the first two.
enum class memory_type : std::uint8_t { pageable, registered, pinned, managed, variable, device };
struct place {
  memory_type what = memory_type::pageable;
  bool fits = true;  ///< the range lies within what is allocated
  bool hosts() const { return what < memory_type::variable; }
  bool hosts_alone() const { return what < memory_type::pinned; }
  bool pinned_or_hosts() const { return what <= memory_type::pinned; }
};
place locate(const void* pointer, std::size_t bytes = 1) {
  const std::uintptr_t begin = address_of(pointer);
  if (begin - heap_base < heap_bytes) {
    const allocation* entry = find_allocation(begin);
    return {!entry || entry->kind == memory_kind::device ? memory_type::device
            : entry->kind == memory_kind::managed        ? memory_type::managed
                                                         : memory_type::pinned,
            entry && bytes <= entry->end - begin && !in_kernel_heap(begin)};  // CUDA cannot copy a kernel's heap
  }
  for (const auto& [first, last] : symbols)
    if (first <= begin && begin < last) return {memory_type::variable, bytes <= last - begin};
  for (const allocation& a : registered_host_memory())
    if (a.begin <= begin && begin < a.end) return {memory_type::registered};
  return {memory_type::pageable, pointer != nullptr};
}
bool in_heap(const void* pointer) { return address_of(pointer) - heap_base < heap_bytes; }
/// The pieces of the default stream's work that cudaMemcpy waits for. From pageable memory it may return before the
/// copy has arrived: "the function will return once the pageable buffer has been copied to the staging memory" (CUDA
/// Runtime API, "API synchronization behavior").
std::uint32_t pieces_before(const void* to, const void* from) {
  const std::scoped_lock lock(runtime_mutex());
  return locate(to).what == memory_type::device && locate(from).what == memory_type::pageable ? pieces_in(nullptr)
                                                                                              : all_pieces;
}
/// The device whose memory contains this address.
int home_of(const void* pointer) {
  const allocation* entry = find_allocation(address_of(pointer));
  return entry && entry->kind == memory_kind::device ? entry->device : current_device();
}

/// Pageable memory's share of pinned memory's rate: 10.7 GB/s for 1 MiB and 6.4 for 256 MiB, against 37.8 and 53.8 for
/// pinned memory (an H100 and its host, labs/12_host/given/h100.md). Assumed for the other devices.
constexpr double pageable_rate = 0.2;

/// Rows of `width` bytes, `height` in each of `depth` slices.
struct shape {
  std::size_t width = 0, height = 1, depth = 1;
  std::size_t bytes() const { return width * height * depth; }
};
struct pitched {
  char* begin = nullptr;
  std::size_t pitch = 0, slice = 0;
  char* row(std::size_t y, std::size_t z) const { return begin + z * slice + y * pitch; }
};

/// Copies of unwritten bytes count as unwritten. Addresses are relative to the heap.
void copy_valid(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  std::uint8_t* valid = shadow().valid;
  if (to % word_bytes == 0 && from % word_bytes == 0 && bytes % word_bytes == 0) {
    std::memmove(valid + to / word_bytes, valid + from / word_bytes, bytes / word_bytes);
    return;
  }
  std::vector<bool> written(bytes);  // read first: the ranges may overlap
  for (std::size_t i = 0; i < bytes; ++i) written[i] = valid[(from + i) / word_bytes] >> ((from + i) % word_bytes) & 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    const auto bit = static_cast<std::uint8_t>(1u << ((to + i) % word_bytes));
    std::uint8_t& word = valid[(to + i) / word_bytes];
    word = static_cast<std::uint8_t>(written[i] ? word | bit : word & ~bit);
  }
}

/// Marks the pointers to virtual tables in objects copied to the device, and unmarks them in objects copied back.
void mark_tables(char* to, const char* from, std::size_t bytes) {
  constexpr std::size_t most = 1 << 20;  // larger copies are arrays of numbers
  if (bytes > most || !has_virtual_functions() || locate(to).hosts() == locate(from).hosts()) return;
  const std::uintptr_t mark = locate(from).hosts() ? 0 : hosts_table;
  for (std::size_t i = -address_of(to) % sizeof mark; i + sizeof mark <= bytes; i += sizeof mark) {
    std::uintptr_t word = 0;
    std::memcpy(&word, to + i, sizeof word);
    if (!is_table(word ^ mark)) continue;
    word ^= hosts_table;
    std::memcpy(to + i, &word, sizeof word);
  }
}

void copy_row(char* to, const char* from, std::size_t bytes) {
  std::memmove(to, from, bytes);
  mark_tables(to, from, bytes);
  if (sim_host_watch) {
    if (locate(from).hosts()) tell_watcher(address_of(from), bytes, false);
    if (locate(to).hosts()) tell_watcher(address_of(to), bytes, true);
  }
  if (!in_heap(to)) return;
  if (in_heap(from))
    copy_valid(address_of(to) - heap_base, address_of(from) - heap_base, bytes);
  else
    mark_valid(address_of(to), bytes);
}

/// Counts unwritten bytes of device memory; sets `first` to the first of them unless it is known.
std::size_t unwritten_bytes(std::uintptr_t begin, std::size_t bytes, std::uintptr_t& first) {
  std::size_t n = 0;
  for (std::uintptr_t at = begin; at < begin + bytes;) {
    const std::uint8_t written = shadow().valid[(at - heap_base) / word_bytes];
    const std::size_t byte = at % word_bytes;
    if (written == 0xf) {
      at += word_bytes - byte;
      continue;
    }
    if (!(written >> byte & 1)) {
      if (first == 0) first = at;
      ++n;
    }
    ++at;
  }
  return n;
}

/// An impossible copy or fill. CUDA reports it only to a program that checks the error.
cudaError_t refuse(const char* what, cudaError_t error, const std::string& why) {
  const source_line at = line_of(address_of(call_of_program()));
  note_host_fault(fmt::format("{}:{}: {} failed with {}: {}", at.file, at.line, what, cudaGetErrorName(error), why));
  return fail(error);
}
std::string not_allocated(const void* pointer, std::size_t bytes, const char* end) {
  return pointer ? fmt::format("{} bytes at its {} are not all allocated{}", bytes, end,
                               in_heap(pointer) ? place_in_allocation(address_of(pointer)) : "")
                 : fmt::format("its {} is a null pointer", end);
}

/// Warns that the host gets bytes that nothing has written: `how_many` in all rows together.
void warn_of_unwritten(std::uintptr_t first, std::size_t how_many, std::size_t bytes) {
  const source_line at = line_of(address_of(call_of_program()));
  note_host_warning(fmt::format("{}:{}: a copy to the host: {} of its {} bytes were never written, the first{}",
                                at.file, at.line, how_many, bytes, place_in_allocation(first)));
}

bool is_named(const void* pointer, std::string_view begin) {
  const allocation* entry = find_allocation(address_of(pointer));
  return entry && entry->name.starts_with(begin);
}

cudaError_t copy(const pitched& to, const pitched& from, const shape& what, cudaMemcpyKind kind, cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  if (what.bytes() == 0) return cudaSuccess;
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return fail(cudaErrorInvalidMemcpyDirection);
  if ((what.height > 1 || what.depth > 1) && (to.pitch < what.width || from.pitch < what.width))
    return refuse("copy", cudaErrorInvalidPitchValue,
                  fmt::format("a row of {} bytes exceeds the pitch of {}", what.width, std::min(to.pitch, from.pitch)));
  if (is_capturing(stream)) {  // the graph may allocate the memory
    record(stream, cudaGraphNodeTypeMemcpy, [=](cudaStream_t s) { copy(to, from, what, kind, s); });
    return cudaSuccess;
  }
  const place t = locate(to.begin, what.width), f = locate(from.begin, what.width);
  const auto contradicts = [kind](const place& end, cudaMemcpyKind with_device) {
    const bool device = end.what == memory_type::device;
    return kind != cudaMemcpyDefault && (device || end.hosts_alone()) &&
           device != (kind == with_device || kind == cudaMemcpyDeviceToDevice);
  };
  for (const auto& [p, where, with_device, end] : {std::tuple{to.begin, t, cudaMemcpyHostToDevice, "destination"},
                                                   std::tuple{from.begin, f, cudaMemcpyDeviceToHost, "source"}}) {
    if (p && contradicts(where, with_device))
      return refuse("copy", cudaErrorInvalidValue,
                    fmt::format("its {} is in {} memory, but its kind says otherwise", end,
                                where.what == memory_type::device ? "device" : "host"));
    if (!p) return refuse("copy", cudaErrorInvalidValue, not_allocated(p, what.width, end));
  }
  for (std::size_t z = 0; z < what.depth; ++z)
    for (std::size_t y = 0; y < what.height; ++y)
      for (const auto& [end, row] : {std::pair{"destination", to.row(y, z)}, std::pair{"source", from.row(y, z)}})
        if (!locate(row, what.width).fits)
          return refuse("copy", cudaErrorInvalidValue, not_allocated(row, what.width, end));
  if (f.what == memory_type::device && t.pinned_or_hosts() && sampling() == 1 && !memory_is_partial() &&
      !host_shares_device_memory()) {
    std::uintptr_t first = 0;
    std::size_t unwritten = 0;
    for (std::size_t z = 0; z < what.depth; ++z)
      for (std::size_t y = 0; y < what.height; ++y)
        unwritten += unwritten_bytes(address_of(from.row(y, z)), what.width, first);
    if (unwritten > 0) warn_of_unwritten(first, unwritten, what.bytes());
  }
  for (const auto& [p, does] : {std::pair{to.begin, "writes"}, {from.begin, "reads"}})
    if (is_dead_variable(address_of(p))) {
      const source_line at = line_of(address_of(call_of_program()));
      note_host_fault(
          fmt::format("{}:{}: a graph's copy {} a local variable of a function that has returned since the "
                      "copy was captured; keep what a graph uses as long as the graph",
                      at.file, at.line, does));
    }
  if (!t.hosts_alone() || !f.hosts_alone()) bring_variables_of(current_device());
  const copy_order order(stream);
  for (const char* p : {to.begin, from.begin}) check_stream_allocation(stream, address_of(p), "a copy");
  for (std::size_t z = 0; z < what.depth; ++z)
    for (std::size_t y = 0; y < what.height; ++y) {
      order.reads(from.row(y, z), what.width);
      order.writes(to.row(y, z), what.width);
      copy_row(to.row(y, z), from.row(y, z), what.width);
    }
  const device_description& d = described_device();
  const auto amount = static_cast<double>(what.bytes());
  const bool reads = !f.pinned_or_hosts(), writes = !t.pinned_or_hosts();
  const pitched& host = reads ? to : from;
  const bool pageable = reads != writes && (reads ? t : f).what == memory_type::pageable;
  double seconds = 0, begin = 0;
  const int source = home_of(from.begin), target = home_of(to.begin);
  if (reads && writes && source != target) {
    seconds = link_seconds(source, target, amount);
    begin = advance_clock_by_link(stream, seconds, source, target);
    count_link(source, target, link_use::copy, amount);
  } else if (reads && writes) {
    seconds = 2 * amount / d.copy_bytes_per_second;
    begin = advance_clock(stream, d.launch_seconds + seconds);
  } else {
    seconds = amount / d.host_copy_bytes_per_second / (pageable ? pageable_rate : 1);
    begin = advance_clock_by_copy(stream, seconds, writes, pageable);
  }
  tell({stream_work::kind::copy,
        source != target && reads && writes ? "copy to another device"
        : reads && writes                   ? "copy on the device"
        : writes                            ? "copy to the device"
        : reads                             ? "copy to the host"
                                            : "copy on the host",
        stream, begin, seconds, amount, order.epoch(), pageable});
  if (watched_streams && writes && !reads) watched_streams->bytes_to_device += amount;
  if (const bool input = is_named(from.begin, "input"), output = is_named(to.begin, "output");
      watched_streams && (input || output) && is_guarded(address_of(call_of_program()))) {
    if (input) watched_streams->bytes_past_loads += amount;
    if (output) watched_streams->bytes_past_stores += amount;
  }
  if (reads != writes && !pageable && what.height == 1 && what.depth == 1)
    note_pinned_copy(stream, host.begin, what.width, reads, begin);
  if (watched_streams && pageable) watched_streams->pageable_bytes += amount;
  return cudaSuccess;
}

cudaError_t fill(const pitched& to, int value, const shape& what, cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  if (sticky_error() != cudaSuccess) return sticky_error();
  if (!is_stream(stream)) return fail(cudaErrorInvalidResourceHandle);
  if (what.bytes() == 0) return cudaSuccess;
  if ((what.height > 1 || what.depth > 1) && to.pitch < what.width)
    return refuse("fill", cudaErrorInvalidPitchValue,
                  fmt::format("a row of {} bytes exceeds the pitch of {}", what.width, to.pitch));
  if (is_capturing(stream)) {
    record(stream, cudaGraphNodeTypeMemset, [=](cudaStream_t s) { fill(to, value, what, s); });
    return cudaSuccess;
  }
  for (std::size_t z = 0; z < what.depth; ++z)
    for (std::size_t y = 0; y < what.height; ++y)
      if (const place p = locate(to.row(y, z), what.width); p.hosts_alone() || !p.fits)
        return refuse("fill", cudaErrorInvalidValue,
                      p.hosts_alone() && p.fits ? "its destination is in host memory"
                                                : not_allocated(to.row(y, z), what.width, "destination"));
  const copy_order order(stream);
  check_stream_allocation(stream, address_of(to.begin), "a fill");
  for (std::size_t z = 0; z < what.depth; ++z)
    for (std::size_t y = 0; y < what.height; ++y) {
      order.writes(to.row(y, z), what.width);
      std::memset(to.row(y, z), value, what.width);
      if (sim_host_watch && locate(to.row(y, z)).hosts()) tell_watcher(address_of(to.row(y, z)), what.width, true);
      if (in_heap(to.begin)) mark_valid(address_of(to.row(y, z)), what.width);
    }
  const device_description& d = described_device();
  const auto amount = static_cast<double>(what.bytes());
  const double seconds = amount / d.copy_bytes_per_second;
  tell({stream_work::kind::fill, "fill", stream, advance_clock(stream, d.launch_seconds + seconds), seconds, amount,
        order.epoch(), false, value});
  return cudaSuccess;
}

/// Fills in the default stream. The host waits if it shares the memory (CUDA runtime API, "API synchronization
/// behavior").
cudaError_t fill_at_once(const pitched& to, int value, const shape& what) {
  const cudaError_t error = fill(to, value, what, nullptr);
  if (error != cudaSuccess) return error;
  const std::scoped_lock lock(runtime_mutex());
  const allocation* entry = find_allocation(address_of(to.begin));
  return entry && entry->kind != memory_kind::device ? wait_for(nullptr, "cudaMemset") : error;
}

pitched flat(const void* pointer, std::size_t pitch = 0) {
  return {static_cast<char*>(const_cast<void*>(pointer)), pitch, 0};
}
/// A copy that the host waits for.
cudaError_t copy_at_once(const pitched& to, const pitched& from, const shape& what, cudaMemcpyKind kind,
                         const char* call) {
  const std::uint32_t awaited = pieces_before(to.begin, from.begin);
  const cudaError_t error = copy(to, from, what, kind, nullptr);
  const std::scoped_lock lock(runtime_mutex());
  return error ? error : wait_for(nullptr, call, awaited);
}

pitched at(const cudaPitchedPtr& p, const cudaPos& pos) {
  return {static_cast<char*>(p.ptr) + pos.x + p.pitch * (pos.y + p.ysize * pos.z), p.pitch, p.pitch * p.ysize};
}
pitched at(const cudaArray& a, const cudaPos& pos) {
  return {a.begin + (pos.z * a.rows() + pos.y) * a.pitch + pos.x * texel_bytes(a.channels), a.pitch,
          a.pitch * a.rows()};
}

pitched target_of(const cudaMemcpy3DParms& p) {
  return p.dstArray ? at(*p.dstArray, p.dstPos) : at(p.dstPtr, p.dstPos);
}
pitched source_of(const cudaMemcpy3DParms& p) {
  return p.srcArray ? at(*p.srcArray, p.srcPos) : at(p.srcPtr, p.srcPos);
}
shape shape_of(const cudaMemcpy3DParms& p) {
  const cudaArray_t array = p.dstArray ? p.dstArray : p.srcArray;
  const std::size_t element = array ? texel_bytes(array->channels) : 1;  // copies of arrays give widths in texels
  return {p.extent.width * element, p.extent.height, p.extent.depth};
}

std::string line_text(const void* pc) {
  const source_line line = line_of(reinterpret_cast<std::uintptr_t>(pc));
  return fmt::format("{}:{}", line.file.substr(line.file.find_last_of('/') + 1), line.line);
}

cudaError_t free_as(const char* call, void* pointer, bool pinned, const void* pc,
                    const cudaStream_t* stream = nullptr) {
  const std::scoped_lock lock(runtime_mutex());
  if (pointer == nullptr) return cudaSuccess;
  const std::uintptr_t address = address_of(pointer);
  const allocation* entry = find_allocation(address);
  bool freed = false;
  nearest_allocation(address, &freed);
  std::string why;
  if (!entry && freed)
    why = "this memory is already free: free it once, and set the pointer to null";
  else if (!entry)
    why = in_heap(pointer)
              ? "nothing is allocated there"
              : "the CUDA runtime did not allocate this memory: use free after malloc, and delete after new";
  else if (in_kernel_heap(address))
    why = "a kernel allocated this memory: free it in a kernel, with free or delete";
  else if (entry->begin != address)
    why = fmt::format("the pointer is {} bytes into allocation {}: free the pointer that the allocation returned",
                      address - entry->begin, entry->number);
  else if (pinned != (entry->kind == memory_kind::pinned))
    why = pinned ? "this is device memory: use cudaFree" : "this is pinned host memory: use cudaFreeHost";
  if (why.empty()) {
    ++api_calls;
    forget_pinned_copies(entry->begin, entry->end);
    const std::string user = stream || entry->work_item != 0 ? user_in_flight(address, stream) : "";
    if (!user.empty())
      note_fault_of_call(fmt::format(
          "{} of {} at {}: kernel {} may still use this memory: {}", call, pointer, line_text(pc), user,
          stream ? "let this stream wait for an event after it"
                 : "cudaFree does not wait for users of what cudaMallocAsync allocated; use cudaFreeAsync"));
    if (!stream && entry->work_item == 0) {  // as CUDA does
      if (watched_streams && watched_streams->waited.empty() && !watched_streams->work.empty())
        watched_streams->waited = call;
      wait_for_device(entry->device);
    }
    release(address);
    return sticky_error();
  }
  note_host_fault(fmt::format("{} of {} at {}: {}", call, pointer, line_text(pc), why));
  return fail(cudaErrorInvalidValue);
}

}  // namespace

cudaError_t allocate_pitched(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height,
                             const void* pc) {
  if (!pointer || !pitch) return fail(cudaErrorInvalidValue);
  *pitch = (width + 511) / 512 * 512;
  const cudaError_t made = allocate(pointer, *pitch * height, memory_kind::device, pc);
  if (made == cudaSuccess && *pointer) note_rows(*pointer, *pitch, width);
  return made;
}

bool allocation_around(const void* address, void** begin, std::size_t* bytes) {
  const std::scoped_lock lock(runtime_mutex());
  const allocation* const found = find_allocation(address_of(address));
  if (!found) return false;
  *begin = reinterpret_cast<void*>(found->begin);
  *bytes = found->end - found->begin;
  return true;
}
cudaError_t mapped_pointer(void** device, void* host) {
  const std::scoped_lock lock(runtime_mutex());
  if (!device) return fail(cudaErrorInvalidValue);
  *device = nullptr;
  if (const memory_type what = locate(host).what; what != memory_type::pinned && what != memory_type::registered)
    return fail(cudaErrorInvalidValue);
  *device = host;
  return cudaSuccess;
}

namespace {
/// Whether this is a device variable. Since CUDA 5, a string with a variable's name does not count.
bool is_symbol(const void* symbol) {
  const std::uintptr_t at = address_of(symbol);
  return !is_host_variable(at) && (is_program_variable(at) || (is_program_constant(at) && !variable_at(at).empty()));
}
}  // namespace

cudaError_t copy_symbol(void* symbol, std::size_t symbol_bytes, std::size_t offset, void* other, std::size_t bytes,
                        bool to_symbol, const cudaStream_t* stream) {
  const api_call here(to_symbol ? "cudaMemcpyToSymbol" : "cudaMemcpyFromSymbol");
  void* const there = static_cast<char*>(symbol) + offset;
  {
    const std::scoped_lock lock(runtime_mutex());
    if (!is_symbol(symbol)) return fail(cudaErrorInvalidSymbol);
    if (!other) return fail(cudaErrorInvalidValue);
    if (offset + bytes > symbol_bytes)
      return refuse("copy", cudaErrorInvalidValue,
                    fmt::format("{} bytes from byte {} exceed the variable of {} bytes", bytes, offset, symbol_bytes));
    symbols.emplace_back(address_of(symbol), address_of(symbol) + symbol_bytes);
  }
  const pitched to = flat(to_symbol ? there : other), from = flat(to_symbol ? other : there);
  return stream ? copy(to, from, {bytes}, cudaMemcpyDefault, *stream)
                : copy_at_once(to, from, {bytes}, cudaMemcpyDefault, "a copy of a variable");
}

cudaError_t symbol_address(void** pointer, const void* symbol, std::size_t bytes) {
  const std::scoped_lock lock(runtime_mutex());
  if (!pointer) return fail(cudaErrorInvalidValue);
  if (!is_symbol(symbol)) return fail(cudaErrorInvalidSymbol);
  symbols.emplace_back(address_of(symbol), address_of(symbol) + bytes);
  *pointer = const_cast<void*>(symbol);
  return sticky_error();
}

namespace {
cudaError_t check_managed(const void* pointer, std::size_t bytes, cudaMemLocation where) {
  const allocation* entry = find_allocation(address_of(pointer));
  if (!entry || entry->kind != memory_kind::managed || address_of(pointer) + bytes > entry->end)
    return fail(cudaErrorInvalidValue);
  if (where.type == cudaMemLocationTypeDevice && !is_device(where.id)) return fail(cudaErrorInvalidDevice);
  return sticky_error();
}
}  // namespace

cudaError_t prefetch(const void* pointer, std::size_t bytes, cudaMemLocation where, cudaStream_t stream) {
  const std::scoped_lock lock(runtime_mutex());
  if (const cudaError_t error = check_managed(pointer, bytes, where)) return error;
  advance_clock(stream, static_cast<double>(bytes) / described_device().host_copy_bytes_per_second);
  return cudaSuccess;
}
cudaError_t advise(const void* pointer, std::size_t bytes, cudaMemoryAdvise advice, cudaMemLocation where) {
  const std::scoped_lock lock(runtime_mutex());
  if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy) return fail(cudaErrorInvalidValue);
  return check_managed(pointer, bytes, where);
}

}  // namespace sim

using namespace sim;

extern "C" {

[[gnu::noinline]] cudaError_t cudaFree(void* pointer) {
  const api_call here("cudaFree");
  return free_as("cudaFree", pointer, false, __builtin_return_address(0));
}
[[gnu::noinline]] cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  const api_call here("cudaFreeAsync");
  if (const std::scoped_lock lock(runtime_mutex()); is_capturing(stream)) {
    record(stream, cudaGraphNodeTypeMemFree, [=](cudaStream_t s) { cudaFreeAsync(pointer, s); });
    return cudaSuccess;
  }
  return free_as("cudaFreeAsync", pointer, false, __builtin_return_address(0), &stream);
}
[[gnu::noinline]] cudaError_t cudaFreeHost(void* pointer) {
  const api_call here("cudaFreeHost");
  return free_as("cudaFreeHost", pointer, true, __builtin_return_address(0));
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::scoped_lock lock(runtime_mutex());
  if (!free || !total) return fail(cudaErrorInvalidValue);
  *total = static_cast<std::size_t>(described_device().memory_bytes);
  *free = *total;
  for (const allocation& a : live_allocations())
    if (a.kind == memory_kind::device && a.device == current_device()) *free -= a.end - a.begin;
  return sticky_error();
}

[[gnu::noinline]] cudaError_t cudaMalloc3D(cudaPitchedPtr* pointer, cudaExtent extent) {
  if (!pointer) return fail(cudaErrorInvalidValue);
  pointer->xsize = extent.width;
  pointer->ysize = extent.height;
  return allocate_pitched(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth,
                          __builtin_return_address(0));
}

cudaError_t cudaHostRegister(void* pointer, std::size_t bytes, unsigned) {
  const std::scoped_lock lock(runtime_mutex());
  const std::uintptr_t begin = address_of(pointer);
  if (!pointer || bytes == 0 || in_heap(pointer)) return fail(cudaErrorInvalidValue);
  for (const allocation& a : registered_host_memory())
    if (begin < a.end && a.begin < begin + bytes) return fail(cudaErrorHostMemoryAlreadyRegistered);
  registered_host_memory().push_back({begin, begin + bytes, 0, memory_kind::pinned, 0, {}, 0, 0, 0, current_device()});
  count_allocation();  // it pins pages, as cudaMallocHost does
  return sticky_error();
}
cudaError_t cudaHostUnregister(void* pointer) {
  const std::scoped_lock lock(runtime_mutex());
  ++api_calls;
  return std::erase_if(registered_host_memory(),
                       [&](const allocation& a) {
                         if (a.begin != address_of(pointer)) return false;
                         forget_pinned_copies(a.begin, a.end);
                         return true;
                       })
             ? sticky_error()
             : fail(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* pointer) {
  void* device = nullptr;
  if (!flags) return fail(cudaErrorInvalidValue);
  *flags = cudaHostAllocMapped;
  return mapped_pointer(&device, pointer);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  const std::scoped_lock lock(runtime_mutex());
  if (!attributes) return fail(cudaErrorInvalidValue);
  void* const p = const_cast<void*>(pointer);
  const allocation* entry = find_allocation(address_of(pointer));
  const memory_type what = locate(pointer).what;
  if (entry && entry->kind == memory_kind::device)
    *attributes = {cudaMemoryTypeDevice, entry->device, p, nullptr};
  else if (entry && entry->kind == memory_kind::managed)
    *attributes = {cudaMemoryTypeManaged, entry->device, p, p};
  else if (entry || what == memory_type::registered)
    *attributes = {cudaMemoryTypeHost, entry ? entry->device : 0, p, p};
  else if (what == memory_type::variable)
    *attributes = {cudaMemoryTypeDevice, current_device(), p, nullptr};
  else
    *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, nullptr};
  return sticky_error();
}

// ---- copies

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const api_call here("cudaMemcpyAsync");
  return copy(flat(to), flat(from), {bytes}, kind, stream);
}
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const api_call here("cudaMemcpy");
  return copy_at_once(flat(to), flat(from), {bytes}, kind, "cudaMemcpy");
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream) {
  if (!is_device(to_device) || !is_device(from_device)) return fail(cudaErrorInvalidDevice);
  return copy(flat(to), flat(from), {bytes}, cudaMemcpyDeviceToDevice, stream);
}
cudaError_t cudaMemcpyPeer(void* to, int to_device, const void* from, int from_device, std::size_t bytes) {
  if (!is_device(to_device) || !is_device(from_device)) return fail(cudaErrorInvalidDevice);
  {
    const std::scoped_lock lock(runtime_mutex());
    join_default_streams(nullptr, {to_device, from_device});
  }
  const cudaError_t error = cudaMemcpyPeerAsync(to, to_device, from, from_device, bytes, nullptr);
  const std::scoped_lock lock(runtime_mutex());
  let_default_streams_wait({to_device, from_device}, nullptr);
  return error;
}
cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* p, cudaStream_t stream) {
  if (!p) return fail(cudaErrorInvalidValue);
  if (!is_device(p->dstDevice) || !is_device(p->srcDevice)) return fail(cudaErrorInvalidDevice);
  cudaMemcpy3DParms same{};
  same.srcArray = p->srcArray;
  same.srcPos = p->srcPos;
  same.srcPtr = p->srcPtr;
  same.dstArray = p->dstArray;
  same.dstPos = p->dstPos;
  same.dstPtr = p->dstPtr;
  same.extent = p->extent;
  same.kind = cudaMemcpyDeviceToDevice;
  return cudaMemcpy3DAsync(&same, stream);
}
cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return cudaMemcpy3DPeerAsync(parameters, nullptr);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  const api_call here("cudaMemcpy2DAsync");
  return copy(flat(to, to_pitch), flat(from, from_pitch), {width, height}, kind, stream);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  const api_call here("cudaMemcpy2D");
  return copy_at_once(flat(to, to_pitch), flat(from, from_pitch), {width, height}, kind, "cudaMemcpy2D");
}
cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* p, cudaStream_t stream) {
  if (!p) return fail(cudaErrorInvalidValue);
  return copy(target_of(*p), source_of(*p), shape_of(*p), p->kind, stream);
}
cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* p) {
  if (!p) return fail(cudaErrorInvalidValue);
  return copy_at_once(target_of(*p), source_of(*p), shape_of(*p), p->kind, "cudaMemcpy3D");
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t bytes, cudaStream_t stream) {
  const api_call here("cudaMemsetAsync");
  return fill(flat(pointer), value, {bytes}, stream);
}
cudaError_t cudaMemset(void* pointer, int value, std::size_t bytes) {
  const api_call here("cudaMemset");
  return fill_at_once(flat(pointer), value, {bytes});
}
cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
  return fill(flat(pointer, pitch), value, {width, height}, stream);
}
cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  const api_call here("cudaMemset2D");
  return fill_at_once(flat(pointer, pitch), value, {width, height});
}
cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
  return fill_at_once(at(pointer, {}), value, {extent.width, extent.height, extent.depth});
}

// ---- memory pools: all free memory immediately

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (!pool || !is_device(device)) return fail(pool ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  *pool = &default_pool(device);
  return sticky_error();
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) { return cudaDeviceGetDefaultMemPool(pool, device); }
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return is_device(device) && pool ? sticky_error() : fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (!pool || !properties) return fail(cudaErrorInvalidValue);
  if (properties->handleTypes != cudaMemHandleTypeNone) return fail(cudaErrorNotSupported);
  if (!is_device(properties->location.id)) return fail(cudaErrorInvalidDevice);
  *pool = new sim_memory_pool;
  (*pool)->device = properties->location.id;
  return sticky_error();
}
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t*, void*) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenMemHandle(void**, cudaIpcMemHandle_t, unsigned) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcCloseMemHandle(void*) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t*, cudaEvent_t) { return fail(cudaErrorNotSupported); }
cudaError_t cudaIpcOpenEventHandle(cudaEvent_t*, cudaIpcEventHandle_t) { return fail(cudaErrorNotSupported); }
cudaError_t cudaMemPoolExportToShareableHandle(void*, cudaMemPool_t, cudaMemAllocationHandleType, unsigned) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t*, void*, cudaMemAllocationHandleType, unsigned) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData*, void*) { return fail(cudaErrorNotSupported); }
cudaError_t cudaMemPoolImportPointer(void**, cudaMemPool_t, cudaMemPoolPtrExportData*) {
  return fail(cudaErrorNotSupported);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  if (!pool || pool == &default_pool(pool->device)) return fail(cudaErrorInvalidValue);
  delete pool;
  return sticky_error();
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* access, std::size_t count) {
  if (!pool || (!access && count > 0)) return fail(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& [where, flags] = access[i];
    if (where.type != cudaMemLocationTypeDevice || !is_device(where.id) ||
        (where.id == pool->device ? flags != cudaMemAccessFlagsProtReadWrite : !are_linked(where.id, pool->device)))
      return fail(cudaErrorInvalidDevice);
    set_pool_access(where.id, pool->device, flags == cudaMemAccessFlagsProtReadWrite);
  }
  return sticky_error();
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  if (!flags || !pool || !location) return fail(cudaErrorInvalidValue);
  if (location->type != cudaMemLocationTypeDevice || !is_device(location->id)) return fail(cudaErrorInvalidDevice);
  *flags = location->id == pool->device || has_pool_access(location->id, pool->device) ? cudaMemAccessFlagsProtReadWrite
                                                                                       : cudaMemAccessFlagsProtNone;
  return sticky_error();
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t) {
  return pool ? sticky_error() : fail(cudaErrorInvalidValue);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return fail(cudaErrorInvalidValue);
  if (attribute == cudaMemPoolAttrReleaseThreshold) pool->release_threshold = *static_cast<std::uint64_t*>(value);
  return sticky_error();
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return fail(cudaErrorInvalidValue);
  if (attribute < cudaMemPoolAttrReleaseThreshold) {
    *static_cast<int*>(value) = 1;
    return sticky_error();
  }
  std::uint64_t used = 0;
  for (const allocation& a : live_allocations())
    if (a.kind == memory_kind::device && a.device == pool->device) used += a.end - a.begin;
  *static_cast<std::uint64_t*>(value) = attribute == cudaMemPoolAttrReleaseThreshold ? pool->release_threshold : used;
  return sticky_error();
}

}  // extern "C"
