// Replacements for library functions, which simcc has the program call. They report what libraries write for host code,
// which would otherwise go unobserved, give kernels their own heap, and record a graded program's allocations.
#include <cxxabi.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory_resource>
#include <new>

#include "faults.hpp"
#include "guard.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "host_functions.hpp"

extern "C" void sim_host_function(const char* name) {
  sim::stop_kernel(sim::fault::trap, nullptr,
                   "call of " + std::string(name) + ", a host function, which nvcc refuses in a kernel");
  std::abort();
}

namespace sim {
namespace {

/// Whether every byte that host code writes must be reported, not only the first.
bool tells_all(const void* pc) { return sim_host_watch || is_guarded(reinterpret_cast<std::uintptr_t>(pc)); }

/// Refuses %n, which would write to memory unobserved.
void refuse_to_write_counts(const char* format, const void* pc) {
  if (!is_guarded(reinterpret_cast<std::uintptr_t>(pc))) return;
  for (const char* at = format; (at = std::strchr(at, '%')); ++at) {
    at += 1 + std::strspn(at + 1, " #+-0'123456789.*$hljztLqI");
    if (*at == 'n')
      end_program(line_of(reinterpret_cast<std::uintptr_t>(pc)),
                  "the format has %n, which writes to memory unseen; use what printf returns");
    if (*at == '\0') return;
  }
}

int print_into(char* to, std::size_t most, const char* format, va_list arguments, const void* pc) {
  if (sim_running_worker) sim_host_function("snprintf");
  refuse_to_write_counts(format, pc);
  std::size_t bytes = 1;
  if (tells_all(pc)) {
    va_list again;
    va_copy(again, arguments);
    bytes += static_cast<std::size_t>(std::max(0, std::vsnprintf(nullptr, 0, format, again)));
    va_end(again);
  }
  if (most > 0) observe_store(to, std::min(most, bytes), pc);
  return std::vsnprintf(to, most, format, arguments);
}

void free_by_kernel(void* pointer, const void* pc) {
  if (!free_in_kernel(reinterpret_cast<std::uintptr_t>(pointer)))
    stop_kernel(fault::trap, pc,
                "in a kernel, free or delete of memory that no kernel has allocated with malloc or new, or that "
                "is already free");
}

}  // namespace
}  // namespace sim

// ---- text and clocks ------------------------------------------------------------------------------------------------

#define SIM_PRINT(name, result, ...)                                  \
  extern "C" int sim_##name(__VA_ARGS__, ...) {                       \
    va_list arguments;                                                \
    va_start(arguments, format);                                      \
    sim::refuse_to_write_counts(format, __builtin_return_address(0)); \
    const int written = result;                                       \
    va_end(arguments);                                                \
    return written;                                                   \
  }
SIM_PRINT(printf, std::vprintf(format, arguments), const char* format)
SIM_PRINT(fprintf, std::vfprintf(to, format, arguments), std::FILE* to, const char* format)
SIM_PRINT(snprintf, sim::print_into(to, most, format, arguments, __builtin_return_address(0)), char* to,
          std::size_t most, const char* format)
SIM_PRINT(sprintf, sim::print_into(to, ~std::size_t{0} >> 1, format, arguments, __builtin_return_address(0)), char* to,
          const char* format)
extern "C" int sim_vprintf(const char* format, va_list arguments) {
  sim::refuse_to_write_counts(format, __builtin_return_address(0));
  return std::vprintf(format, arguments);
}
extern "C" int sim_vfprintf(std::FILE* to, const char* format, va_list arguments) {
  sim::refuse_to_write_counts(format, __builtin_return_address(0));
  return std::vfprintf(to, format, arguments);
}
extern "C" int sim_vsnprintf(char* to, std::size_t most, const char* format, va_list arguments) {
  return sim::print_into(to, most, format, arguments, __builtin_return_address(0));
}
extern "C" int sim_vsprintf(char* to, const char* format, va_list arguments) {
  return sim::print_into(to, ~std::size_t{0} >> 1, format, arguments, __builtin_return_address(0));
}
#define SIM_SECOND_RESULT(result, name, where, call, ...)                               \
  extern "C" result sim_##name(__VA_ARGS__) {                                           \
    if (sim_running_worker) sim_host_function(#name);                                   \
    if (where) sim::observe_store(where, sizeof *(where), __builtin_return_address(0)); \
    return call;                                                                        \
  }
SIM_SECOND_RESULT(long, strtol, end, std::strtol(text, end, base), const char* text, char** end, int base)
SIM_SECOND_RESULT(unsigned long, strtoul, end, std::strtoul(text, end, base), const char* text, char** end, int base)
SIM_SECOND_RESULT(long long, strtoll, end, std::strtoll(text, end, base), const char* text, char** end, int base)
SIM_SECOND_RESULT(unsigned long long, strtoull, end, std::strtoull(text, end, base), const char* text, char** end,
                  int base)
SIM_SECOND_RESULT(float, strtof, end, std::strtof(text, end), const char* text, char** end)
SIM_SECOND_RESULT(double, strtod, end, std::strtod(text, end), const char* text, char** end)
SIM_SECOND_RESULT(std::time_t, time, now, std::time(now), std::time_t* now)
SIM_SECOND_RESULT(int, clock_gettime, now, clock_gettime(which, now), clockid_t which, timespec* now)
SIM_SECOND_RESULT(int, gettimeofday, now, gettimeofday(now, zone), timeval* now, void* zone)

// ---- memory ---------------------------------------------------------------------------------------------------------

extern "C" void* sim_malloc(std::size_t bytes) {
  if (!sim_running_worker) return sim::note_given(std::malloc(bytes), bytes, __builtin_return_address(0));
  return sim::allocate_in_kernel(bytes, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));
}
extern "C" void sim_free(void* pointer) {
  if (sim_running_worker) return pointer ? sim::free_by_kernel(pointer, __builtin_return_address(0)) : void();
  sim::take_back(pointer);
  std::free(pointer);
}
#define SIM_NEW(name)                                                                                           \
  extern "C" void* sim_##name(std::size_t bytes) {                                                              \
    if (!sim_running_worker) return sim::note_given(::operator new(bytes), bytes, __builtin_return_address(0)); \
    return sim::allocate_in_kernel(bytes, reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)));       \
  }
#define SIM_DELETE(name, ...)                                               \
  extern "C" void sim_##name(void* pointer __VA_OPT__(, ) __VA_ARGS__) {    \
    if (!sim_running_worker) {                                              \
      sim::take_back(pointer);                                              \
      return ::operator delete(pointer);                                    \
    }                                                                       \
    if (pointer) sim::free_by_kernel(pointer, __builtin_return_address(0)); \
  }
SIM_NEW(_Znwm)
SIM_NEW(_Znam)
SIM_DELETE(_ZdlPv)
SIM_DELETE(_ZdaPv)
SIM_DELETE(_ZdlPvm, std::size_t)
SIM_DELETE(_ZdaPvm, std::size_t)
// Functions that kernels cannot call. `result`: the return value, by the arguments' names; `bytes`: the size of the
// memory.
#define SIM_HOST_MEMORY(name, call, bytes, ...)                       \
  extern "C" void* sim_##name(__VA_ARGS__) {                          \
    if (sim_running_worker) sim_host_function(#name);                 \
    return sim::note_given(call, bytes, __builtin_return_address(0)); \
  }
SIM_HOST_MEMORY(calloc, std::calloc(count, size), count* size, std::size_t count, std::size_t size)
SIM_HOST_MEMORY(aligned_alloc, std::aligned_alloc(alignment, size), size, std::size_t alignment, std::size_t size)
SIM_HOST_MEMORY(memalign, memalign(alignment, size), size, std::size_t alignment, std::size_t size)
SIM_HOST_MEMORY(_ZnwmSt11align_val_t, ::operator new(size, alignment), size, std::size_t size,
                std::align_val_t alignment)
SIM_HOST_MEMORY(_ZnamSt11align_val_t, ::operator new(size, alignment), size, std::size_t size,
                std::align_val_t alignment)
SIM_HOST_MEMORY(_ZnwmRKSt9nothrow_t, ::operator new(size, how), size, std::size_t size, const std::nothrow_t& how)
SIM_HOST_MEMORY(_ZnamRKSt9nothrow_t, ::operator new(size, how), size, std::size_t size, const std::nothrow_t& how)
SIM_HOST_MEMORY(__cxa_allocate_exception, abi::__cxa_allocate_exception(size), size, std::size_t size)
extern "C" void* sim_realloc(void* old, std::size_t bytes) {
  if (sim_running_worker) sim_host_function("realloc");
  sim::take_back(old);
  return sim::note_given(std::realloc(old, bytes), bytes, __builtin_return_address(0));
}
extern "C" int sim_posix_memalign(void** to, std::size_t alignment, std::size_t bytes) {
  if (sim_running_worker) sim_host_function("posix_memalign");
  sim::observe_store(to, sizeof *to, __builtin_return_address(0));
  const int result = posix_memalign(to, alignment, bytes);
  if (result == 0) sim::note_given(*to, bytes, __builtin_return_address(0));
  return result;
}
#define SIM_ALIGNED_DELETE(name, ...)                                           \
  extern "C" void sim_##name(void* pointer, __VA_ARGS__) {                      \
    if (sim_running_worker) sim_host_function("delete of over-aligned memory"); \
    sim::take_back(pointer);                                                    \
    ::operator delete(pointer, alignment);                                      \
  }
SIM_ALIGNED_DELETE(_ZdlPvSt11align_val_t, std::align_val_t alignment)
SIM_ALIGNED_DELETE(_ZdaPvSt11align_val_t, std::align_val_t alignment)
SIM_ALIGNED_DELETE(_ZdlPvmSt11align_val_t, std::size_t, std::align_val_t alignment)
SIM_ALIGNED_DELETE(_ZdaPvmSt11align_val_t, std::size_t, std::align_val_t alignment)
extern "C" void sim___cxa_free_exception(void* of) {
  sim::take_back(of);
  abi::__cxa_free_exception(of);
}

// ---- functions that wake other threads, which a stream's host function may have called

#define SIM_LOCK(name, type, ...)                                      \
  extern "C" int sim_##name(type* of) {                                \
    __VA_ARGS__;                                                       \
    sim::observe_store(of, sizeof(type), __builtin_return_address(0)); \
    return name(of);                                                   \
  }
SIM_LOCK(pthread_mutex_lock, pthread_mutex_t)
SIM_LOCK(pthread_mutex_trylock, pthread_mutex_t)
SIM_LOCK(pthread_rwlock_rdlock, pthread_rwlock_t)
SIM_LOCK(pthread_rwlock_wrlock, pthread_rwlock_t)
SIM_LOCK(pthread_spin_lock, pthread_spinlock_t)
SIM_LOCK(pthread_mutex_unlock, pthread_mutex_t, sim::note_host_signal())
SIM_LOCK(pthread_rwlock_unlock, pthread_rwlock_t, sim::note_host_signal())
SIM_LOCK(pthread_spin_unlock, pthread_spinlock_t, sim::note_host_signal())
SIM_LOCK(pthread_cond_signal, pthread_cond_t, sim::note_host_signal())
SIM_LOCK(pthread_cond_broadcast, pthread_cond_t, sim::note_host_signal())
SIM_LOCK(sem_post, sem_t, sim::note_host_signal())
extern "C" int sim_pthread_once(pthread_once_t* of, void (*function)()) {
  const int result = pthread_once(of, function);
  sim::note_host_signal();
  return result;
}
extern "C" void sim___cxa_guard_release(abi::__guard* of) {
  sim::note_host_signal();
  abi::__cxa_guard_release(of);
}
extern "C" void sim__ZNSt18condition_variable10notify_oneEv(std::condition_variable* of) {
  sim::note_host_signal();
  of->notify_one();
}
extern "C" void sim__ZNSt18condition_variable10notify_allEv(std::condition_variable* of) {
  sim::note_host_signal();
  of->notify_all();
}
extern "C" ssize_t sim_write(int to, const void* from, std::size_t bytes) {
  sim::note_host_signal();
  return write(to, from, bytes);
}
