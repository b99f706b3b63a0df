// What a graded program's own host code and kernels may write and call.
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sim/machine.h"
#include "sim/names.h"

extern "C" const char __executable_start[], etext[];
extern __thread char sim_guarded_thread[8], sim_running_worker[8];  // the device's, whatever they are

namespace {

int mine[4];
int graders[4];
int given[4];
__device__ int on_device[4];
thread_local int of_thread[2];

sim::memory_range range(const void* begin, std::size_t bytes) {
  return {reinterpret_cast<std::uintptr_t>(begin), bytes};
}

/// Runs the code as if it were graded, in its own process.
template <class Code>
[[gnu::noinline]] void graded(const Code& code) {
  sim::guard({range(__executable_start, static_cast<std::size_t>(etext - __executable_start)), range(mine, sizeof mine),
              range(on_device, sizeof on_device), range(given, sizeof given), SIM_CALLERS_STACK});
  code();
  std::_Exit(0);
}
#define EXPECT_ALLOWED(...) EXPECT_EXIT(graded([] __VA_ARGS__), testing::ExitedWithCode(0), "")
#define EXPECT_REFUSED(why, ...) EXPECT_EXIT(graded([] __VA_ARGS__), testing::ExitedWithCode(1), why)

/// Hides the pointer and the access from the compiler.
template <class T>
T* hidden(T* pointer) {
  T* volatile kept = pointer;
  return kept;
}

struct failure : std::runtime_error {
  failure(int a, int b) : std::runtime_error("why"), first(a), second(b) {}
  int first, second;
};
struct base {
  virtual ~base() = default;
  virtual int value() const { return 1; }
};
struct derived : base {
  int value() const override { return 2; }
};

TEST(Guard, LetsHostCodeWriteWhatIsItsOwn) {
  EXPECT_ALLOWED({
    int local[3] = {};
    *hidden(local + 1) = 1;
    *hidden(mine + 3) = 1;
    *hidden(given) = 1;
    *hidden(of_thread) = 1;
    std::vector<int> grows;
    for (int i = 0; i < 1000; ++i) grows.push_back(i);
    std::map<std::string, std::list<int>> nodes;
    for (int i = 0; i < 100; ++i) nodes[std::to_string(i) + " is a longer text"].push_front(i);
    int* const numbers = static_cast<int*>(std::calloc(4, sizeof(int)));
    numbers[3] = 1;
    int* const more = static_cast<int*>(std::realloc(numbers, 4000));
    more[999] = 1;
    std::free(more);
    std::pmr::vector<int> numbers_of_a_resource(100, 1);
    numbers_of_a_resource[99] = 2;
    std::pmr::monotonic_buffer_resource pieces;
    *static_cast<int*>(hidden(pieces.allocate(100))) = 1;
    static std::once_flag once;
    std::call_once(once, [] { mine[2] = 1; });
    const auto shared = std::make_shared<std::vector<double>>(100);
    (*hidden(shared.get()))[99] = 1;
    char text[20];
    char* end = nullptr;
    std::snprintf(text, sizeof text, "%5.1f%%", 2.5);
    if (std::strtod(text, &end) != 2.5 || *end != '%' || std::to_string(1.5) != "1.500000") std::abort();
    std::cout << std::fixed << std::setprecision(3) << std::setfill('0') << std::setw(6) << 1.5 << std::endl;
    errno = 0;
    try {
      throw failure(1, 2);
    } catch (failure& e) {
      e.second = 3;
    }
    std::thread([] { *hidden(hidden(new int)) = 1; }).join();
    int* pinned = nullptr;
    cudaMallocHost(&pinned, 64);
    pinned[15] = 1;
  });
}

TEST(Guard, RefusesWhatIsNot) {
  EXPECT_REFUSED("guard_test.cu:[0-9]+: host code writes 4 bytes at .*which it does not own",
                 { *hidden(graders) = 1; });
  EXPECT_REFUSED("writes 16 bytes", { std::memcpy(hidden(graders), mine, sizeof graders); });
  EXPECT_REFUSED("writes 16 bytes", {
    void* (*volatile copies)(void*, const void*, std::size_t) = std::memcpy;
    copies(graders, mine, sizeof graders);
  });
  EXPECT_REFUSED("writes 16 bytes", { std::memset(hidden(graders), 0, sizeof graders); });
  EXPECT_REFUSED("writes 3 bytes", { std::snprintf(hidden(reinterpret_cast<char*>(graders)), 8, "%d", 27); });
  EXPECT_REFUSED("%n", { std::printf(hidden("%d%n"), 27, graders); });
  EXPECT_REFUSED("writes 8 bytes", { std::strtol("27", hidden(reinterpret_cast<char**>(graders)), 10); });
  EXPECT_REFUSED("which it does not own", { *hidden(mine + 4) = 1; });
  EXPECT_REFUSED("which it does not own", { *hidden(&sim_guarded_thread[0]) = 1; });
  EXPECT_REFUSED("which it does not own", { *hidden(&sim_running_worker[0]) = 1; });
  EXPECT_REFUSED("which it does not own", { *hidden(reinterpret_cast<int*>(stdout)) = 1; });
  EXPECT_REFUSED("which it does not own", { *reinterpret_cast<void**>(hidden(&std::cout)) = nullptr; });
  EXPECT_REFUSED("which it does not own", {
    int* const pointer = new int[4];
    delete[] pointer;
    *static_cast<volatile int*>(hidden(pointer)) = 1;
  });
  EXPECT_REFUSED("which it does not own", {
    std::unique_ptr<int[]> four(new int[4]);
    static_cast<volatile int*>(hidden(four.get()))[4] = 1;
  });
}

TEST(Guard, LetsCodeCallWhatItMay) {
  EXPECT_ALLOWED({
    const std::function<int(int)> f = [](int x) { return x + 1; };
    double (*volatile by_pointer)(double) = std::exp;
    const std::unique_ptr<base> object = std::make_unique<derived>();
    if ((*hidden(&f))(1) != 2 || by_pointer(0.0) != 1.0 || hidden(object.get())->value() != 2) std::abort();
    const failure why(1, 2);
    if (std::string(hidden(static_cast<const std::exception*>(&why))->what()) != "why") std::abort();
    for (const int how : {0, 1, 2, 3, 4, 5, 6, 7}) switch (*hidden(&how)) {
        case 0: mine[0] += 1; break;
        case 1: mine[0] *= 3; break;
        case 2: mine[1] = 7; break;
        case 3: mine[2] -= 1; break;
        case 4: std::puts("four"); break;
        case 5: mine[3] = mine[1]; break;
        default: mine[0] = 0;
      }
    void* (*volatile copies)(void*, const void*, std::size_t) = std::memcpy;
    copies(mine, given, sizeof mine);
    cudaError_t (*volatile of_cuda)() = cudaGetLastError;
    of_cuda();
  });
}

TEST(Guard, RefusesOtherCallsByAPointer) {
#ifdef __x86_64__
  EXPECT_REFUSED("guard_test.cu:[0-9]+: call through the pointer .*which a submission may not call", {
    void* (*volatile copy)(void*, const void*, std::size_t) =
        reinterpret_cast<void* (*)(void*, const void*, std::size_t)>(dlsym(RTLD_DEFAULT, "memcpy"));
    copy(graders, mine, sizeof mine);
  });
#endif
}

__global__ void writes(int* to) { *to = 1; }

TEST(Guard, HoldsForKernels) {
  EXPECT_ALLOWED({
    void* symbol = nullptr;
    cudaGetSymbolAddress(&symbol, on_device);
    writes<<<1, 1>>>(static_cast<int*>(symbol));
    if (cudaDeviceSynchronize() != cudaSuccess) std::abort();
  });
  EXPECT_ALLOWED({
    writes<<<1, 1>>>(graders);
    if (cudaDeviceSynchronize() == cudaSuccess) std::abort();
  });
}

}  // namespace
