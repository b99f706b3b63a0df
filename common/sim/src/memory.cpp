// The device's memory: one reserved range for all allocations, its shadow, and the program's own variables.
#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "internal.hpp"
#include "sim/names.h"

extern "C" char __start_sim_constant[] __attribute__((weak));
extern "C" char __stop_sim_constant[] __attribute__((weak));

namespace sim {
namespace {

// Past each allocation lies a gap in which an overrun is seen and harms nobody.
constexpr std::size_t alignment = 256, gap = std::size_t{1} << 20;

struct memory {
  shadow_memory shadow{};
  std::vector<allocation> live, freed;  // both sorted by begin
  std::vector<allocation> registered;   // host memory of the program's own, by cudaHostRegister
  std::uintptr_t next = heap_base + gap;
  std::uint64_t count = 0;

  memory() {
    reserve(reinterpret_cast<void*>(heap_base), heap_bytes);
    shadow.valid = static_cast<std::uint8_t*>(reserve(nullptr, heap_bytes / word_bytes));
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

/// Where `step` bytes are free: after everything so far or, once the range is used up, in the first hole.
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

// ---- the program's own storage --------------------------------------------------------------------------------------

namespace {

std::string demangled(const char* symbol) {
  int status = 0;
  char* readable = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 ? readable : symbol;
  std::free(readable);
  return name;
}

/// Calls `visit` with the name and entry of each symbol of the program.
template <class Visit>
void for_each_symbol(Visit visit) {
  const int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || fstat(file, &status) != 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* map = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (map == MAP_FAILED) return;
  const char* image = static_cast<const char*>(map);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(image);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(image + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(image + sections[i].sh_offset);
    const char* names = image + sections[sections[i].sh_link].sh_offset;
    for (std::size_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k)
      visit(names + symbols[k].st_name, symbols[k]);
  }
  munmap(map, size);
}

struct program {
  std::uintptr_t load_bias = 0;
  std::vector<std::pair<std::uintptr_t, std::uintptr_t>> writable, constant;
  std::intptr_t tls_offset = 0;
  std::size_t tls_bytes = 0;
  std::vector<shared_array> arrays;

  program() {
    dl_iterate_phdr(&program::visit, this);
    read_symbols();
  }

  static int visit(dl_phdr_info* info, std::size_t, void* self) {  // the first object is the program itself
    auto& p = *static_cast<program*>(self);
    p.load_bias = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& h = info->dlpi_phdr[i];
      if (h.p_type == PT_LOAD)
        ((h.p_flags & PF_W) ? p.writable : p.constant)
            .emplace_back(info->dlpi_addr + h.p_vaddr, info->dlpi_addr + h.p_vaddr + h.p_memsz);
      if (h.p_type == PT_TLS) {  // x86-64: the program's block ends at the thread pointer
        p.tls_bytes = (h.p_memsz + h.p_align - 1) / h.p_align * h.p_align;
        p.tls_offset = -static_cast<std::intptr_t>(p.tls_bytes);
      }
    }
    return 1;
  }

  void read_symbols() {
    for_each_symbol([this](const char* name, const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0)
        add(name, symbol);
    });
    std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }

  void add(const char* name, const Elf64_Sym& symbol) {
    // simcc's mark for the block behind `extern __shared__`; the coordinates and our own variables are not shared
    // memory.
    const bool dynamic = std::strncmp(name, "sim_dynamic_shared", 18) == 0;
    if (!dynamic && std::strncmp(name, "sim_", 4) == 0) return;
    for (const char* own : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
      if (std::strcmp(name, own) == 0) return;
    if (!dynamic && symbol.st_size == dynamic_block_bytes) return;  // a name for that block
    arrays.push_back({demangled(name), tls_offset + static_cast<std::intptr_t>(symbol.st_value), symbol.st_size,
                      dynamic, std::strncmp(name, "_ZGV", 4) == 0});
  }
  static constexpr std::size_t dynamic_block_bytes = 232448 + 16;
};

const program& self() {
  static const program& instance = *new program;
  return instance;
}

bool inside(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& ranges, std::uintptr_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [address](const auto& r) { return r.first <= address && address < r.second; });
}

}  // namespace

const std::vector<shared_array>& shared_arrays() { return self().arrays; }
std::intptr_t thread_storage_offset() { return self().tls_offset; }
std::size_t thread_storage_bytes() { return self().tls_bytes; }

bool is_program_constant(std::uintptr_t address) {
  return inside(self().constant, address) || (address >= reinterpret_cast<std::uintptr_t>(__start_sim_constant) &&
                                              address < reinterpret_cast<std::uintptr_t>(__stop_sim_constant));
}
bool is_program_variable(std::uintptr_t address) {
  return (inside(self().writable, address) && !is_program_constant(address)) ||
         std::any_of(heap().registered.begin(), heap().registered.end(),
                     [address](const allocation& a) { return a.begin <= address && address < a.end; });
}

// ---- symbols

std::string function_name(std::uintptr_t address) {
  std::string name;
  for_each_symbol([&](const char* symbol, const Elf64_Sym& entry) {
    if (ELF64_ST_TYPE(entry.st_info) == STT_FUNC && self().load_bias + entry.st_value == address)
      name = demangled(symbol);
  });
  return name;
}

std::uintptr_t function_at(std::uintptr_t pc) {
  struct extent {
    std::uintptr_t end;
    bool standard;
  };
  static const auto functions = [] {
    std::map<std::uintptr_t, extent> table;  // by begin
    for_each_symbol([&](const char* name, const Elf64_Sym& entry) {
      if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || entry.st_shndx == SHN_UNDEF) return;
      const std::string_view n = name;
      const std::uintptr_t begin = self().load_bias + entry.st_value;
      table[begin] = {begin + entry.st_size,
                      n.starts_with("_ZSt") || n.starts_with("_ZNSt") || n.starts_with("_ZNKSt")};
    });
    return table;
  }();
  const auto after = functions.upper_bound(pc);
  if (after == functions.begin()) return 0;
  const auto& [begin, found] = *std::prev(after);
  return pc < found.end && !found.standard ? begin : 0;
}

}  // namespace sim
