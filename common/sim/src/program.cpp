// The program's own storage and functions, from its symbol table.
#include "program.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>
#include <utility>

#include "heap.hpp"

extern "C" char __start_sim_constant[] __attribute__((weak));
extern "C" char __stop_sim_constant[] __attribute__((weak));

extern "C" const sim::program_variable __start_sim_host_variables[] __attribute__((weak));
extern "C" const sim::program_variable __stop_sim_host_variables[] __attribute__((weak));

namespace sim {
namespace {

std::string demangled(const char* symbol) {
  if (std::strncmp(symbol, "_Z", 2) != 0) return symbol;  // `x` alone would be the name of a type
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
  std::unordered_map<std::string, unsigned> launch_bounds;  // by the function's name
  std::map<std::uintptr_t, std::uintptr_t> tables;          // of virtual functions: begin and end

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
      if (h.p_type == PT_TLS) {  // at the same offset in each thread
        p.tls_bytes = (h.p_memsz + h.p_align - 1) / h.p_align * h.p_align;
        p.tls_offset = static_cast<char*>(info->dlpi_tls_data) - static_cast<char*>(__builtin_thread_pointer());
      }
    }
    return 1;
  }

  void read_symbols() {  // symbols without a size are names for the storage of `extern __shared__`
    for_each_symbol([this](const char* name, const Elf64_Sym& symbol) {
      if (ELF64_ST_TYPE(symbol.st_info) == STT_TLS && symbol.st_shndx != SHN_UNDEF && symbol.st_size > 0)
        add(name, symbol);
      if (std::strncmp(name, "_ZTV", 4) == 0 && std::strncmp(name, "_ZTVN3sim", 9) != 0 && symbol.st_size > 0)
        tables[load_bias + symbol.st_value] = load_bias + symbol.st_value + symbol.st_size;
      if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && std::strstr(name, "17sim_launch_bounds")) {
        const std::string local = demangled(name);
        const unsigned threads = *reinterpret_cast<const unsigned*>(load_bias + symbol.st_value);
        unsigned& known = launch_bounds[local.substr(0, local.rfind("::"))];
        known = std::max(known, threads);  // kernels of two files may have the same name
      }
    });
    std::sort(arrays.begin(), arrays.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  }

  void add(const char* name, const Elf64_Sym& symbol) {
    // simcc's mark for `extern __shared__` storage; the coordinates and our own variables are not shared memory.
    const bool dynamic = std::strncmp(name, "sim_dynamic_shared", 18) == 0;
    if (!dynamic && std::strncmp(name, "sim_", 4) == 0) return;
    for (const char* own : {"threadIdx", "blockIdx", "blockDim", "gridDim"})
      if (std::strcmp(name, own) == 0) return;
    arrays.push_back({demangled(name), tls_offset + static_cast<std::intptr_t>(symbol.st_value), symbol.st_size,
                      dynamic, std::strncmp(name, "_ZGV", 4) == 0});
  }
};

const program& self() {
  static const program& instance = *new program;
  return instance;
}

bool is_registered(std::uintptr_t address) {
  return std::any_of(registered_host_memory().begin(), registered_host_memory().end(),
                     [address](const allocation& a) { return a.begin <= address && address < a.end; });
}

bool inside(const std::vector<std::pair<std::uintptr_t, std::uintptr_t>>& ranges, std::uintptr_t address) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [address](const auto& r) { return r.first <= address && address < r.second; });
}

}  // namespace

const std::vector<shared_array>& shared_arrays() { return self().arrays; }
unsigned launch_bounds_in(const std::string& function) {
  const auto found = self().launch_bounds.find(function);
  return found == self().launch_bounds.end() ? 0 : found->second;
}
std::intptr_t thread_storage_offset() { return self().tls_offset; }
std::size_t thread_storage_bytes() { return self().tls_bytes; }

bool has_virtual_functions() { return !self().tables.empty(); }
bool is_table(std::uintptr_t address) {
  const auto after = self().tables.upper_bound(address);
  return after != self().tables.begin() && address < std::prev(after)->second;
}

bool is_program_constant(std::uintptr_t address) {
  return inside(self().constant, address) || (address >= reinterpret_cast<std::uintptr_t>(__start_sim_constant) &&
                                              address < reinterpret_cast<std::uintptr_t>(__stop_sim_constant));
}
bool is_program_variable(std::uintptr_t address) {
  return (inside(self().writable, address) && !is_program_constant(address)) || is_registered(address);
}

program_range program_data() {
  static const program_range range = [] {
    program_range all{~std::uintptr_t{0}, 0};
    std::uintptr_t end = 0;
    for (const auto& [first, last] : self().writable) {
      all.begin = std::min(all.begin, first / line_bytes * line_bytes);
      end = std::max(end, last);
    }
    all.bytes = end > all.begin && end - all.begin < variable_bytes ? end - all.begin : 0;
    return all;
  }();
  return range;
}

std::string variable_at(std::uintptr_t address) {
  std::string name;
  for_each_symbol([&](const char* symbol, const Elf64_Sym& entry) {
    if (ELF64_ST_TYPE(entry.st_info) == STT_OBJECT && address - (self().load_bias + entry.st_value) < entry.st_size)
      name = demangled(symbol);
  });
  constexpr std::string_view unnamed = "(anonymous namespace)::";
  for (std::size_t at; (at = name.find(unnamed)) != std::string::npos;) name.erase(at, unnamed.size());
  return name;
}

bool in_one_variable(std::uintptr_t address, std::uintptr_t other) {
  static const auto ends = [] {
    std::map<std::uintptr_t, std::uintptr_t> by_begin;
    for_each_symbol([&](const char*, const Elf64_Sym& entry) {
      const std::uintptr_t begin = self().load_bias + entry.st_value;
      if (ELF64_ST_TYPE(entry.st_info) == STT_OBJECT) by_begin[begin] = begin + entry.st_size;
    });
    return by_begin;
  }();
  const auto after = ends.upper_bound(address);
  return after != ends.begin() && address < std::prev(after)->second && other >= std::prev(after)->first &&
         other < std::prev(after)->second;
}

namespace {
/// The start of the host variable at this address; 0 if there is none.
std::uintptr_t host_variable_around(std::uintptr_t address) {
  static const auto table = [] {
    std::map<std::uintptr_t, std::uintptr_t> ends;  // by begin
    for (const program_variable* v = __start_sim_host_variables; v != __stop_sim_host_variables; ++v)
      ends[v->begin()] = v->begin() + static_cast<std::uintptr_t>(v->bytes);
    return ends;
  }();
  const auto after = table.upper_bound(address);
  return after != table.begin() && address < std::prev(after)->second ? std::prev(after)->first : 0;
}
}  // namespace

bool is_host_variable(std::uintptr_t address) { return host_variable_around(address) != 0; }

std::string host_variable_at(std::uintptr_t address) {
  const std::uintptr_t begin = host_variable_around(address);
  if (begin == 0 || is_registered(address)) return {};
  const std::string name = variable_at(begin);
  return name.empty() ? "?" : name;
}

program_range stack_of_thread() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return {};
  pthread_attr_getstack(&attributes, &begin, &bytes);
  pthread_attr_destroy(&attributes);
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
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
  static const auto& functions = *[] {  // never destroyed: the warp view needs it at the end
    auto* const by_begin = new std::map<std::uintptr_t, extent>;
    auto& table = *by_begin;
    for_each_symbol([&](const char* name, const Elf64_Sym& entry) {
      if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || entry.st_shndx == SHN_UNDEF) return;
      const std::string_view n = name;
      const std::uintptr_t begin = self().load_bias + entry.st_value;
      table[begin] = {begin + entry.st_size,
                      n.starts_with("_ZSt") || n.starts_with("_ZNSt") || n.starts_with("_ZNKSt")};
    });
    return by_begin;
  }();
  const auto after = functions.upper_bound(pc);
  if (after == functions.begin()) return 0;
  const auto& [begin, found] = *std::prev(after);
  return pc < found.end && !found.standard ? begin : 0;
}

}  // namespace sim
