// Device functions beyond arithmetic: address spaces, ending a kernel, and replacements for functions of the C library:
// assert() and clock().
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "heap.hpp"
#include "hooks.hpp"
#include "model.hpp"
#include "program.hpp"
#include "sim/device.h"

namespace sim {

namespace {
std::uintptr_t shared_begin() {
  return reinterpret_cast<std::uintptr_t>(__builtin_thread_pointer()) +
         static_cast<std::uintptr_t>(thread_storage_offset());
}
/// Programs compute with the lowest bits of offsets to avoid bank conflicts, so offsets and addresses share them.
std::uintptr_t window_begin() { return shared_begin() & ~std::uintptr_t{1023}; }
}  // namespace

bool is_shared(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) - shared_begin() < thread_storage_bytes();
}
std::size_t shared_offset(const void* address) { return reinterpret_cast<std::uintptr_t>(address) - window_begin(); }
void* shared_address(std::size_t offset) { return reinterpret_cast<void*>(window_begin() + offset); }
bool is_global(const void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  return a - heap_base < heap_bytes || is_program_variable(a);
}
unsigned multiprocessors() { return static_cast<unsigned>(described_device().multiprocessors); }
void trap(const void* pc) {
  if (!in_kernel()) std::abort();
  stop_kernel(fault::trap, pc, "");
}

}  // namespace sim

extern "C" {

/// In a kernel, prints CUDA's text and ends the launch with cudaErrorAssert. In host code, acts like the C library.
void __assert_fail(const char* assertion, const char* file, unsigned line, const char* function) noexcept {
  if (sim::in_kernel()) {
    fmt::print(stderr, "{}:{}: {}: block: [{},{},{}], thread: [{},{},{}] Assertion `{}` failed.\n", file, line,
               function, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, assertion);
    sim::stop_kernel(sim::fault::assertion, __builtin_return_address(0), assertion);
  }
  fmt::print(stderr, "{}: {}:{}: {}: Assertion `{}' failed.\n", program_invocation_short_name, file, line, function,
             assertion);
  std::abort();
}

clock_t clock() noexcept {
  if (sim::in_kernel()) return static_cast<clock_t>(sim::modelled_cycles());
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return used.tv_sec * CLOCKS_PER_SEC + used.tv_nsec / (1'000'000'000 / CLOCKS_PER_SEC);
}
}

extern "C" {
double sim_rsqrt(double x) { return 1 / std::sqrt(x); }
float sim_rsqrtf(float x) { return static_cast<float>(sim_rsqrt(x)); }
float sim_fast_expf(float x) { return std::exp(x); }
float sim_fast_exp10f(float x) { return exp10f(x); }
float sim_fast_logf(float x) { return std::log(x); }
float sim_fast_log2f(float x) { return std::log2(x); }
float sim_fast_log10f(float x) { return std::log10(x); }
float sim_fast_sinf(float x) { return std::sin(x); }
float sim_fast_cosf(float x) { return std::cos(x); }
float sim_fast_tanf(float x) { return std::tan(x); }
float sim_fast_powf(float x, float y) { return std::pow(x, y); }
float sim_fast_dividef(float x, float y) { return x / y; }
}
