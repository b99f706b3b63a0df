#define SIM_DEFINE_CHECKED_CALLS  // sim_call and sim_jump, in assembly: sim/machine.h
#include "guard.hpp"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <map>
#include <memory_resource>
#include <mutex>
#include <vector>

#include "hooks.hpp"
#include "host_functions.hpp"
#include "lines.hpp"
#include "program.hpp"

// The bounds of the program's own code: everything, until guard() is called.
extern "C" {
std::uintptr_t sim_own_code[2] = {0, ~std::uintptr_t{0}};
}

// For each OS thread: where its stack ends, the stacks of the kernel threads that it runs, and the memory that
// contained its last store. Outside the namespace and with this prefix; otherwise program.cpp would take it for a
// kernel's shared memory.
struct sim_guarded {
  std::uintptr_t stack_end;
  sim::memory_range kernel_stacks;
  sim::memory_range found;
  std::uint64_t found_in;  // the version of given_memory that contained it
};
__thread sim_guarded sim_guarded_thread;

namespace sim {
namespace {

constexpr bool holds(const memory_range& range, std::uintptr_t address, std::size_t bytes) {
  return address - range.begin < range.bytes && bytes <= range.bytes - (address - range.begin);
}

struct given_memory {
  std::mutex mutex;
  std::map<std::uintptr_t, std::size_t> blocks;
  std::uint64_t version = 0;  // of the map: a range that a thread has found may be gone
};
given_memory& given() {
  static given_memory& instance = *new given_memory;
  return instance;
}

bool is_given(std::uintptr_t address, std::size_t bytes) {
  memory_range& found = sim_guarded_thread.found;
  std::uint64_t& found_in = sim_guarded_thread.found_in;
  given_memory& all = given();
  if (holds(found, address, bytes) && found_in == __atomic_load_n(&all.version, __ATOMIC_ACQUIRE)) return true;
  const std::scoped_lock lock(all.mutex);
  const auto after = all.blocks.upper_bound(address);
  if (after == all.blocks.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  found = {begin, size};
  found_in = all.version;
  return holds(found, address, bytes);
}

/// Whether the calling thread's stack contains the address.
bool is_on_stack(std::uintptr_t address) {
  std::uintptr_t& end = sim_guarded_thread.stack_end;  // for the grader's own thread, guard() sets it
  if (end == 0) {
    const program_range stack = stack_of_thread();
    end = stack.begin + stack.bytes;
  }
  return address >= reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) && address < end;
}

/// Whether this thread's variables, except the device's own, contain the range.
bool is_thread_local(std::uintptr_t address, std::size_t bytes) {
  const auto pointer = reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer());
  const memory_range storage{pointer + static_cast<std::uintptr_t>(thread_storage_offset()), thread_storage_bytes()};
  const auto is_part = [&](const auto& variable) {
    const auto begin = reinterpret_cast<std::uintptr_t>(&variable);
    return address < begin + sizeof variable && begin < address + bytes;
  };
  return holds(storage, address, bytes) && !is_part(sim_active_worker) && !is_part(sim_running_worker) &&
         !is_part(sim_asking) && !is_part(sim_answer) && !is_part(sim_host_watch) && !is_part(sim_host_site) &&
         !is_part(sim_guarded_thread);
}

/// Memory that inline functions of <iostream>, <mutex> and <cerrno> write: a stream's settings, not its functions.
bool is_the_librarys(std::uintptr_t address, std::size_t bytes) {
  const auto is_in = [&](const void* begin, std::size_t size) {
    return holds({reinterpret_cast<std::uintptr_t>(begin), size}, address, bytes);
  };
  constexpr std::size_t settings = sizeof(void*), settings_bytes = 28;  // precision, width, flags, exceptions, state
  constexpr std::size_t fill = sizeof(std::ios_base) + sizeof(void*), fill_bytes = 2;
  for (const std::ios* s : std::initializer_list<const std::ios*>{&std::cout, &std::cerr, &std::clog, &std::cin}) {
    const auto* const begin = reinterpret_cast<const std::byte*>(s);
    if (is_in(begin + settings, settings_bytes) || is_in(begin + fill, fill_bytes)) return true;
  }
  return is_in(&errno, sizeof errno) || is_in(&std::__once_callable, sizeof std::__once_callable) ||
         is_in(&std::__once_call, sizeof std::__once_call);
}

}  // namespace

const own_parts* guarded = nullptr;

void guard(const own_parts& what) {
  sim_guarded_thread.stack_end = what.stack_end;
  sim_own_code[0] = what.code.begin;
  sim_own_code[1] = what.code.begin + what.code.bytes;
  guarded = new own_parts(what);
}

bool is_own_variable(std::uintptr_t address) {
  return holds(guarded->data, address, 1) || holds(guarded->zeros, address, 1);
}

void check_host_store(std::uintptr_t address, std::size_t bytes, std::uintptr_t pc) {
  // Warp functions run on one thread's stack and write to the other threads' stacks.
  if (holds(sim_guarded_thread.kernel_stacks, address, bytes) || is_on_stack(address) ||
      holds(guarded->data, address, bytes) || holds(guarded->zeros, address, bytes) ||
      holds(guarded->given, address, bytes) || is_given(address, bytes) || is_thread_local(address, bytes) ||
      is_the_librarys(address, bytes))
    return;
  char text[200];
  std::snprintf(text, sizeof text,
                "host code writes %zu bytes at %p, which it does not own: not on its stack, in its variables, in what "
                "it has allocated, or in what it was given",
                bytes, reinterpret_cast<void*>(address));
  end_program(line_of(pc), text);
}

void end_program(const source_line& at, const char* why) {
  const unobserved report;
  std::fflush(nullptr);
  std::fprintf(stderr, "%s:%d: %s\n", at.file.c_str(), at.line, why);
  std::_Exit(1);
}

void note_stacks(const void* begin, std::size_t bytes) {
  sim_guarded_thread.kernel_stacks = {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

void* note_given(void* memory, std::size_t bytes, const void* pc) {
  if (memory && is_guarded(reinterpret_cast<std::uintptr_t>(pc))) give(memory, bytes);
  return memory;
}

void give(const void* memory, std::size_t bytes) {
  if (!guarded) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  given_memory& all = given();
  const std::scoped_lock lock(all.mutex);
  __atomic_add_fetch(&all.version, 1, __ATOMIC_RELEASE);
  // Forget blocks that were freed elsewhere: their memory is in use again.
  auto old = all.blocks.lower_bound(begin);
  if (old != all.blocks.begin() && std::prev(old)->first + std::prev(old)->second > begin) --old;
  while (old != all.blocks.end() && old->first < begin + bytes) old = all.blocks.erase(old);
  all.blocks[begin] = bytes;
}

void take_back(const void* memory) {
  if (!guarded || !memory) return;
  given_memory& all = given();
  const std::scoped_lock lock(all.mutex);
  __atomic_add_fetch(&all.version, 1, __ATOMIC_RELEASE);
  all.blocks.erase(reinterpret_cast<std::uintptr_t>(memory));
}

}  // namespace sim

// Memory that the library allocates for std::pmr's containers also belongs to the program.
namespace sim {
namespace {
class noted_resource : public std::pmr::memory_resource {
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    give(memory, bytes);
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    take_back(memory);
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};
std::pmr::memory_resource* noted() {
  static noted_resource& instance = *new noted_resource;
  return &instance;
}
}  // namespace
}  // namespace sim
extern "C" std::pmr::memory_resource* sim__ZNSt3pmr19new_delete_resourceEv() { return sim::noted(); }
extern "C" std::pmr::memory_resource* sim__ZNSt3pmr20get_default_resourceEv() {
  std::pmr::memory_resource* const now = std::pmr::get_default_resource();
  return now == std::pmr::new_delete_resource() ? sim::noted() : now;
}

// The program's code calls foreign code. It may call the lab's, CUDA's, C++'s and the math library's functions through
// pointers to their first instruction; no other address, and no C library function.
extern "C" void sim_check_target(std::uintptr_t target, std::uintptr_t pc) {
  const sim::unobserved look_up;
  Dl_info where{};
  const bool found = dladdr(reinterpret_cast<void*>(target), &where) != 0 && where.dli_fname;
  const std::string_view file = found ? where.dli_fname : "";
  const std::string name = sim::function_name(target);
  const bool by_name =
      name.starts_with("cu") || name.starts_with("std::_Function_handler<") ||
      name.starts_with("(anonymous namespace)::") ||
      (name.starts_with("lab") && name.size() > 3 && std::isdigit(static_cast<unsigned char>(name[3])));
  // simcc's replacement for a library function.
  const bool of_simcc = name.starts_with("sim_") && dlsym(RTLD_DEFAULT, name.c_str() + 4) != nullptr;
  const bool of_library = (file.find("libstdc++") != file.npos || file.find("libm.") != file.npos ||
                           file.find("libm-") != file.npos || file.find("libgcc_s") != file.npos) &&
                          (!where.dli_saddr || where.dli_saddr == reinterpret_cast<void*>(target));
  if (by_name || of_simcc || of_library) return;
  char text[100];
  std::snprintf(text, sizeof text, "call through the pointer %p, which a submission may not call",
                reinterpret_cast<void*>(target));
  sim::end_program(sim::line_of(pc), text);
}
