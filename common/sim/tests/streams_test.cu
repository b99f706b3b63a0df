// Streams and events on the modelled clock, host functions, and graphs.
#include "runtime_test.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <sim/observe.hpp>

namespace {

using Streams = RuntimeTest;
using Graphs = RuntimeTest;

TEST_F(Streams, TakeHintsAboutL2) {
  cudaStreamAttrValue value{};
  value.accessPolicyWindow = {nullptr, 0, 0.5f, cudaAccessPropertyPersisting, cudaAccessPropertyStreaming};
  EXPECT_EQ(cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, &value), cudaSuccess);
  EXPECT_EQ(cudaStreamSetAttribute(nullptr, cudaStreamAttributeAccessPolicyWindow, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(cudaCtxResetPersistingL2Cache(), cudaSuccess);
  cudaGetLastError();
}

TEST_F(Streams, OverlapOnTheModelledClock) {
  const std::size_t bytes = 100'000'000;  // 2 ms over the bus
  char *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 2 * bytes), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 2 * bytes), cudaSuccess);
  ASSERT_EQ(cudaMemset(device, 0, 2 * bytes), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto two_copies = [&](cudaStream_t first, cudaStream_t second, bool back = true) {
    cudaEvent_t start, stop[2];
    cudaEventCreate(&start);
    for (cudaEvent_t& e : stop) cudaEventCreate(&e);
    cudaEventRecord(start, first);
    cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, first);
    cudaEventRecord(stop[0], first);
    if (back)
      cudaMemcpyAsync(pinned + bytes, device + bytes, bytes, cudaMemcpyDeviceToHost, second);
    else
      cudaMemcpyAsync(device + bytes, pinned + bytes, bytes, cudaMemcpyHostToDevice, second);
    cudaEventRecord(stop[1], second);
    float ms = 0;
    EXPECT_EQ(cudaEventQuery(stop[1]), cudaErrorNotReady);
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop[1]), cudaErrorNotReady);
    EXPECT_EQ(cudaEventSynchronize(stop[1]), cudaSuccess);
    EXPECT_EQ(cudaEventQuery(stop[1]), cudaSuccess);
    EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop[1]), cudaSuccess);
    cudaDeviceSynchronize();
    return ms;
  };
  cudaStream_t a, b, free_running;
  cudaStreamCreate(&a);
  cudaStreamCreateWithPriority(&b, cudaStreamDefault, -1);
  cudaStreamCreateWithFlags(&free_running, cudaStreamNonBlocking);
  EXPECT_NEAR(two_copies(a, a), 4, 0.1);
  EXPECT_NEAR(two_copies(a, b), 2, 0.1);
  EXPECT_NEAR(two_copies(a, b, false), 4, 0.1);  // one direction has one engine
  EXPECT_NEAR(two_copies(a, nullptr), 4, 0.1);   // the legacy default stream waits for all, and all wait for it
  EXPECT_NEAR(two_copies(nullptr, b), 4, 0.1);
  EXPECT_NEAR(two_copies(free_running, nullptr), 2, 0.1);
  int priority = 0;
  EXPECT_EQ(cudaStreamGetPriority(b, &priority), cudaSuccess);
  EXPECT_EQ(priority, -1);
  cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, a);
  int polls = 0;
  while (cudaStreamQuery(a) == cudaErrorNotReady && polls < 1'000'000) ++polls;
  EXPECT_GT(polls, 100);
  EXPECT_EQ(cudaStreamDestroy(b), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(b), cudaErrorInvalidResourceHandle);
  increment<<<1, 1, 0, b>>>((int*)device, 1);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
}

/// The host copies pageable memory itself, at a fifth of the bandwidth, and does nothing else meanwhile.
TEST_F(Streams, CopiesFromPageableMemoryKeepTheHostBusy) {
  constexpr int n = 1 << 20;  // 4 MiB: 84 us if pinned, 419 us if pageable
  std::vector<int> pageable(n);
  int *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, n * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 2 * n * sizeof(int)), cudaSuccess);
  cudaStream_t copies = nullptr, kernels = nullptr;
  for (cudaStream_t* s : {&copies, &kernels}) ASSERT_EQ(cudaStreamCreate(s), cudaSuccess);
  for (const bool is_pinned : {true, false}) {
    const auto metrics = sim::observe([&] {
                           cudaMemcpyAsync(device, is_pinned ? pinned : pageable.data(), n * sizeof(int),
                                           cudaMemcpyHostToDevice, copies);
                           cudaMemsetAsync(device + n, 0, n * sizeof(int), kernels);
                         }).metrics;
    EXPECT_EQ(metrics.at("bytes_to_device"), 4 * n);
    EXPECT_EQ(metrics.at("pageable_bytes"), is_pinned ? 0 : 4 * n);
    EXPECT_NEAR(metrics.at("stream_time"), is_pinned ? 83'886 : 420'416, 100);  // pageable: the fill follows the copy
    EXPECT_EQ(metrics.at("waits"), 0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  const auto waits = [](const auto& work) {
    const auto metrics = sim::observe(work).metrics;
    return std::pair(metrics.at("waits"), metrics.at("event_waits"));
  };
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(waits([&] { cudaStreamSynchronize(copies), cudaDeviceSynchronize(); }), std::pair(2.0, 0.0));
  EXPECT_EQ(waits([&] { cudaEventRecord(event, copies), cudaEventSynchronize(event); }), std::pair(0.0, 1.0));
}

/// Copies between two streams and a kernel, each with and without ordering.
TEST_F(Streams, CopiesRaceWithKernels) {
  constexpr int n = 4096;
  int *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, n * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, n * sizeof(int)), cudaSuccess);
  cudaStream_t copies = nullptr, kernels = nullptr;
  for (cudaStream_t* s : {&copies, &kernels}) ASSERT_EQ(cudaStreamCreate(s), cudaSuccess);
  cudaEvent_t full = nullptr, free = nullptr;
  for (cudaEvent_t* e : {&full, &free}) ASSERT_EQ(cudaEventCreate(e), cudaSuccess);
  enum missing { nothing, kernel_waits, copy_waits, host_waits };
  const auto reports = [&](missing what) {
    const auto all = sim::observe([&] {
                       for (int turn = 0; turn < 2; ++turn) {
                         if (turn > 0 && what != host_waits) cudaEventSynchronize(full);
                         for (int i = 0; i < n; ++i) pinned[i] = turn + i;
                         if (turn > 0 && what != copy_waits) cudaStreamWaitEvent(copies, free, 0);
                         cudaMemcpyAsync(device, pinned, n * sizeof(int), cudaMemcpyHostToDevice, copies);
                         cudaEventRecord(full, copies);
                         if (what != kernel_waits) cudaStreamWaitEvent(kernels, full, 0);
                         increment<<<n / 256, 256, 0, kernels>>>(device, n);
                         cudaEventRecord(free, kernels);
                       }
                     }).reports;
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    std::string text;
    for (const std::string& one : all) text += one + "\n";
    return text;
  };
  EXPECT_EQ(reports(nothing), "");
  EXPECT_NE(reports(kernel_waits).find("and a copy or fill, which nothing orders before it"), std::string::npos);
  EXPECT_NE(reports(copy_waits).find("race between streams: a copy or fill into device memory, byte 0"),
            std::string::npos);
  EXPECT_NE(reports(host_waits).find("the host changed 16384 bytes of pinned memory"), std::string::npos);
  // Memory that is no longer registered may be gone when the sources are checked.
  auto registered = std::make_unique<std::vector<int>>(1 << 20);
  int* large = nullptr;
  ASSERT_EQ(cudaMalloc(&large, sizeof(int) << 20), cudaSuccess);
  const auto gone = sim::observe([&] {
    cudaHostRegister(registered->data(), sizeof(int) << 20, cudaHostRegisterDefault);
    cudaMemcpyAsync(large, registered->data(), sizeof(int) << 20, cudaMemcpyHostToDevice, copies);
    cudaHostUnregister(registered->data());
    registered.reset();
  });
  EXPECT_TRUE(gone.reports.empty());
}

// "the resources associated with stream will be released automatically once the device has completed all work in
// stream"
TEST_F(Streams, WorkOfDestroyedOnesIsWaitedFor) {
  int *managed = nullptr, copied = 0;
  ASSERT_EQ(cudaMallocManaged(&managed, 4), cudaSuccess);
  *managed = 0;
  const std::size_t before = sim::host_faults().size();
  for (const unsigned flags : {cudaStreamDefault, cudaStreamNonBlocking}) {
    cudaStream_t stream;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, flags), cudaSuccess);
    increment<<<1, 1, 0, stream>>>(managed, 1);
    ASSERT_EQ(cudaStreamDestroy(stream), cudaSuccess);
    if (flags == cudaStreamDefault)
      cudaMemcpy(&copied, managed, 4, cudaMemcpyDefault);  // in the default stream, which waits for it
    else
      cudaDeviceSynchronize();
    *managed += 10;
  }
  EXPECT_EQ(*managed, 22);
  EXPECT_EQ(sim::host_faults().size(), before);
}

TEST_F(Streams, WorkInOneThatIsGoneIsNotInTheGivenOne) {
  int* device = nullptr;
  cudaStream_t given = nullptr;
  ASSERT_EQ(cudaMalloc(&device, 128), cudaSuccess);
  ASSERT_EQ(cudaMemset(device, 0, 128), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&given), cudaSuccess);
  const auto call = [&] {
    cudaStream_t own = nullptr;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    increment<<<1, 32, 0, own>>>(device, 32);
    cudaStreamDestroy(own);
  };
  const std::vector<std::string> reports = sim::observe(call, given).reports;
  ASSERT_EQ(reports.size(), 1u) << testing::PrintToString(reports);
  EXPECT_NE(reports[0].find("is not in `stream`: it ran in another stream"), std::string::npos) << reports[0];
  cudaStreamDestroy(given);
  cudaFree(device);
}

// The codes are those that CUDA's documentation of cudaEventElapsedTime names.
TEST_F(Streams, EventsWithoutATime) {
  cudaEvent_t start, stop, never, untimed;
  for (cudaEvent_t* e : {&start, &stop, &never}) cudaEventCreate(e);
  cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming);
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 1024), cudaSuccess);
  cudaMemset(data, 0, 1024);
  float ms = -1;
  std::size_t before = sim::host_faults().size();
  const auto new_fault = [&] {
    EXPECT_EQ(sim::host_faults().size(), before + 1);
    before = sim::host_faults().size();
    return sim::host_faults().back();
  };
  const auto enqueue = [&] {
    cudaEventRecord(start);
    increment<<<1, 256>>>(data, 256);
    cudaEventRecord(stop);
    cudaEventRecord(untimed);
  };
  enqueue();
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, never), cudaErrorInvalidResourceHandle);
  EXPECT_NE(new_fault().find("its second event was never recorded: call cudaEventRecord first"), std::string::npos);
  EXPECT_EQ(cudaEventElapsedTime(&ms, untimed, stop), cudaErrorInvalidResourceHandle);
  EXPECT_NE(new_fault().find("its first event was created with cudaEventDisableTiming"), std::string::npos);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorNotReady);
  const std::string early = new_fault();
  EXPECT_NE(early.find("streams_test.cu:" + std::to_string(__LINE__ - 2) +
                       ": cudaEventElapsedTime failed with cudaErrorNotReady"),
            std::string::npos)
      << early;
  EXPECT_EQ(ms, -1);
  cudaDeviceSynchronize();
  // Programs that ask again are correct, whether they ask later or until there is a time.
  enqueue();
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaErrorNotReady);
  EXPECT_EQ(cudaEventSynchronize(stop), cudaSuccess);
  EXPECT_EQ(cudaEventElapsedTime(&ms, start, stop), cudaSuccess);
  enqueue();
  while (cudaEventElapsedTime(&ms, start, stop) == cudaErrorNotReady) {
  }
  EXPECT_GT(ms, 0);
  EXPECT_EQ(cudaEventQuery(never), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(never), cudaSuccess);
  EXPECT_EQ(sim::host_faults().size(), before);
  EXPECT_EQ(sim::host_faults().back(), early);
}

TEST_F(Streams, HostFunctionsCallNoCuda) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  int* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 128), cudaSuccess);
  cudaMemset(managed, 0, 128);
  const std::size_t before = sim::host_faults().size();
  // Its stream's earlier work is over when a host function runs, and a later kernel waits for the function.
  increment<<<1, 32, 0, stream>>>(managed, 32);
  cudaLaunchHostFunc(
      stream, [](void* p) { static_cast<int*>(p)[1] += 10; }, managed);
  increment<<<1, 32, 0, stream>>>(managed, 32);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(managed[1], 12);
  EXPECT_EQ(sim::host_faults().size(), before);
  cudaLaunchHostFunc(
      stream, [](void* p) { EXPECT_EQ(cudaGetLastError(), cudaErrorNotPermitted); }, stream);
  cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* p) { EXPECT_EQ(cudaFree(p), cudaErrorNotPermitted); }, managed, 0);
  ASSERT_EQ(sim::host_faults().size(), before + 2);
  EXPECT_NE(sim::host_faults().back().find("streams_test.cu:" + std::to_string(__LINE__ - 2) +
                                           ": a CUDA call in a host function of a stream"),
            std::string::npos)
      << sim::host_faults().back();
}

struct addition {
  int a, b;
  int* sum;
};
void add(void* data) {
  const addition& what = *static_cast<addition*>(data);
  *what.sum = what.a + what.b;
}
addition addition_for_the_host;  // not on the stack, where clang omits hooks
int sum_for_the_host, behind_a_mutex, behind_an_atomic;
int computed() { return static_cast<int>(std::strlen("once")); }
int computed_once() {
  static volatile int length = 4;
  static int first = length + computed();  // the first caller stores it, behind a guard
  return first;
}
std::mutex mutex_of_both;
std::atomic<bool> host_function_ran = false;

// A host function may run at any time until the host waits for its stream.
TEST_F(Streams, MemoryOfHostFunctions) {
  cudaStream_t stream, other;
  cudaEvent_t event;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  std::size_t before = sim::host_faults().size();
  const auto report = [&](const char* wanted) {
    ASSERT_EQ(sim::host_faults().size(), before + 1) << wanted;
    EXPECT_NE(sim::host_faults()[before++].find(wanted), std::string::npos) << sim::host_faults()[before - 1];
  };
  int sum = 0;
  addition& what = addition_for_the_host;
  what = {1, 2, &sum_for_the_host};
  cudaLaunchHostFunc(stream, add, &what);
  int seen = sum_for_the_host;
  report("host code loads what a host function of a stream may still store to, at ");
  cudaStreamSynchronize(stream);
  what.sum = &sum;
  cudaLaunchHostFunc(stream, add, &what);
  seen += sum;
  report("host code loads what a host function");
  cudaStreamSynchronize(stream);
  cudaLaunchHostFunc(stream, add, &what);
  what.a = 5;
  report("host code stores to what a host function of a stream may still load, at ");
  cudaStreamSynchronize(stream);
  int* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, 4), cudaSuccess);
  what.sum = pinned;
  cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* data) { add(data); }, &what, 0);
  seen += *pinned;
  report("host code loads what a host function");
  cudaStreamSynchronize(stream);
  EXPECT_EQ(seen, 13);

  // Each of these waits.
  what.sum = &sum;
  for (const auto& wait : std::vector<std::function<void()>>{
           [&] { cudaStreamSynchronize(stream); }, [&] { cudaDeviceSynchronize(); },
           [&] {
             while (cudaStreamQuery(stream) == cudaErrorNotReady) {
             }
           },
           [&] {
             cudaEventRecord(event, stream);
             cudaEventSynchronize(event);
           },
           [&] {
             cudaEventRecord(event, stream);
             cudaStreamWaitEvent(other, event);
             cudaStreamSynchronize(other);
           },
           [&] { cudaStreamSynchronize(nullptr); }, [&] { std::thread([&] { cudaDeviceSynchronize(); }).join(); }}) {
    cudaLaunchHostFunc(stream, add, &what);
    wait();
    what.a += sum;
  }
  // Nor are these races: both load; the function tells the host, or shares a lock with it.
  cudaLaunchHostFunc(stream, add, &what);
  seen = what.a;
  cudaDeviceSynchronize();
  cudaLaunchHostFunc(
      stream,
      [](void*) {
        behind_an_atomic = 3;
        host_function_ran.store(true, std::memory_order_release);
      },
      nullptr);
  while (!host_function_ran.load(std::memory_order_acquire)) {
  }
  EXPECT_EQ(behind_an_atomic, 3);
  cudaLaunchHostFunc(
      stream,
      [](void*) {
        const std::scoped_lock lock(mutex_of_both);
        ++behind_a_mutex;
      },
      nullptr);
  {
    const std::scoped_lock lock(mutex_of_both);
    ++behind_a_mutex;
  }
  cudaDeviceSynchronize();
  EXPECT_EQ(behind_a_mutex, 2);
  cudaLaunchHostFunc(
      stream, [](void*) { computed_once(); }, nullptr);
  EXPECT_EQ(computed_once(), 8);
  cudaDeviceSynchronize();
  EXPECT_EQ(sim::host_faults().size(), before) << sim::host_faults().back();
}

// A thread that waits for a host function's signal comes after everything that the function came after.
TEST_F(Streams, AHostFunctionLetsAnotherThreadGoOn) {
  cudaStream_t stream, other;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 128), cudaSuccess);
  cudaMemset(data, 0, 128);
  const std::size_t before = sim::host_faults().size();
  host_function_ran = false;
  increment<<<1, 32, 0, stream>>>(data, 32);
  cudaLaunchHostFunc(
      stream, [](void*) { host_function_ran.store(true); }, nullptr);
  std::thread([&] {
    while (!host_function_ran) std::this_thread::yield();
    increment<<<1, 32, 0, other>>>(data, 32);
    cudaStreamSynchronize(other);
  }).join();
  EXPECT_EQ(sim::host_faults().size(), before) << sim::host_faults().back();
  cudaFree(data);
}

// "The DMA to final destination may not have completed" when cudaMemcpy returns, and the stream waits for nothing.
TEST_F(Streams, AKernelBesideACopyFromPageableMemory) {
  cudaStream_t apart, blocking;
  ASSERT_EQ(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  int host[32] = {}, *pinned = nullptr, *data = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, sizeof host), cudaSuccess);
  std::fill_n(pinned, 32, 0);
  ASSERT_EQ(cudaMalloc(&data, sizeof host), cudaSuccess);
  const auto flat = [&](int* from) { cudaMemcpy(data, from, sizeof host, cudaMemcpyHostToDevice); };
  const auto deep = [&](int* from) {
    cudaMemcpy3DParms p{};
    p.srcPtr = {from, 16 * sizeof(int), 16, 2}, p.dstPtr = {data, 16 * sizeof(int), 16, 2};
    p.extent = {16 * sizeof(int), 2, 1}, p.kind = cudaMemcpyHostToDevice;
    cudaMemcpy3D(&p);
  };
  const auto races = [&](const auto& copy, int* from, cudaStream_t stream, bool waits) {
    return !sim::observe([&] {
              copy(from);
              if (waits) cudaDeviceSynchronize();
              increment<<<1, 32, 0, stream>>>(data, 32);
              cudaDeviceSynchronize();
            }).reports.empty();
  };
  const auto check = [&](const auto& copy) {
    EXPECT_TRUE(races(copy, host, apart, false));
    EXPECT_FALSE(races(copy, host, apart, true));
    EXPECT_FALSE(races(copy, host, blocking, false));
    EXPECT_FALSE(races(copy, pinned, apart, false));
  };
  check(flat);
  check(deep);
  cudaFree(data);
  cudaFreeHost(pinned);
}

__device__ int copied_variable;

TEST_F(Streams, TheHostWaitsForACopyOfAVariable) {
  cudaStream_t apart;
  ASSERT_EQ(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking), cudaSuccess);
  int *data = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 128), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, sizeof *pinned), cudaSuccess);
  cudaMemset(data, 0, 128);
  const auto races = [&](const auto& copy) {
    return !sim::observe([&] {
              increment<<<1, 32>>>(data, 32);
              copy();
              increment<<<1, 32, 0, apart>>>(data, 32);
              cudaDeviceSynchronize();
            }).reports.empty();
  };
  EXPECT_FALSE(races([&] { cudaMemcpyFromSymbol(pinned, copied_variable, sizeof *pinned); }));
  EXPECT_TRUE(
      races([&] { cudaMemcpyFromSymbolAsync(pinned, copied_variable, sizeof *pinned, 0, cudaMemcpyDeviceToHost); }));
  cudaFree(data);
  cudaFreeHost(pinned);
}

// clock64() and events agree: 20 million cycles at 1.98 GHz, where an H200 took 10.117 ms.
__global__ void poll_clock(long long cycles) {
  for (const long long begin = clock64(); clock64() - begin < cycles;) {
  }
}
TEST_F(Streams, AKernelTakesAsLongAsItsClockSays) {
  cudaEvent_t begin, end;
  ASSERT_EQ(cudaEventCreate(&begin), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  cudaEventRecord(begin);
  poll_clock<<<1, 1>>>(2'000'000);
  cudaEventRecord(end);
  cudaEventSynchronize(end);
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, begin, end);
  EXPECT_NEAR(milliseconds, 1.0117, 0.02);
}

__attribute__((noinline)) void capture_a_local(int* to, cudaStream_t stream) {
  int local[3] = {2, 3, 4};
  cudaMemcpyAsync(to, local, sizeof local, cudaMemcpyHostToDevice, stream);
}

TEST_F(Streams, AGraphReadsALocalThatIsGone) {
  cudaStream_t stream;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  int* data = nullptr;
  int own[3] = {2, 3, 4};
  ASSERT_EQ(cudaMalloc(&data, sizeof own), cudaSuccess);
  const std::size_t before = sim::host_faults().size();
  for (const bool gone : {false, true}) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
    gone ? capture_a_local(data, stream)
         : static_cast<void>(cudaMemcpyAsync(data, own, sizeof own, cudaMemcpyHostToDevice, stream));
    cudaStreamEndCapture(stream, &graph);
    cudaGraphInstantiate(&exec, graph, 0);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    ASSERT_EQ(sim::host_faults().size(), before + gone);
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
  }
  EXPECT_NE(sim::host_faults().back().find(": a graph's copy reads a local variable of a function that has returned"),
            std::string::npos)
      << sim::host_faults().back();
  cudaFree(data);
}

// Here a host function may even throw; what follows does not count as part of it.
TEST_F(Streams, AHostFunctionThrows) {
  const std::size_t before = sim::host_faults().size();
  EXPECT_THROW(cudaLaunchHostFunc(
                   nullptr, [](void*) { throw std::runtime_error("no layer"); }, nullptr),
               std::runtime_error);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(sim::host_faults().size(), before) << sim::host_faults().back();
}

TEST_F(Streams, HostFunctionsRun) {
  int calls = 0;
  EXPECT_EQ(cudaLaunchHostFunc(
                nullptr, [](void* p) { ++*static_cast<int*>(p); }, &calls),
            cudaSuccess);
  EXPECT_EQ(cudaStreamAddCallback(
                nullptr, [](cudaStream_t, cudaError_t, void* p) { *static_cast<int*>(p) += 10; }, &calls, 0),
            cudaSuccess);
  cudaDeviceSynchronize();
  EXPECT_EQ(calls, 11);
}

// ---- graphs

TEST_F(Graphs, CapturedWorkIsReplayed) {
  int *device = nullptr, host[64], calls = 0;
  ASSERT_EQ(cudaMalloc(&device, sizeof host), cudaSuccess);
  cudaMemset(device, 0, sizeof host);
  cudaStream_t stream, other;
  cudaEvent_t fork, join;
  cudaStreamCreate(&stream);
  cudaStreamCreate(&other);
  cudaEventCreate(&fork);
  cudaEventCreate(&join);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  cudaMemsetAsync(device, 0, 4, stream);
  cudaEventRecord(fork, stream);
  cudaStreamWaitEvent(other, fork);
  increment<<<1, 64, 0, other>>>(device, 64);
  cudaEventRecord(join, other);
  cudaStreamWaitEvent(stream, join);
  cudaMemcpyAsync(host, device, sizeof host, cudaMemcpyDeviceToHost, stream);
  cudaLaunchHostFunc(
      stream, [](void* p) { ++*static_cast<int*>(p); }, &calls);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGetLastError();
  std::size_t nodes = 0;
  EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 4u);
  EXPECT_EQ(calls, 0);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(host[0], 1);
  EXPECT_EQ(host[63], 3);
  EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
}

TEST_F(Graphs, LaunchingOneIsOneCall) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 256), cudaSuccess);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  const auto counted = [&](const auto& work) {
    const auto metrics = sim::observe(work).metrics;
    return std::vector<double>{metrics.at("api_calls"), metrics.at("allocations"), metrics.at("launches")};
  };
  const auto token = [&](bool allocates) {
    void* own = nullptr;
    if (allocates) EXPECT_EQ(cudaMallocAsync(&own, 64, stream), cudaSuccess);
    EXPECT_EQ(cudaMemsetAsync(data, 0, 256, stream), cudaSuccess);
    for (int i = 0; i < 3; ++i) increment<<<1, 64, 0, stream>>>(data, 64);
    if (allocates) EXPECT_EQ(cudaFreeAsync(own, stream), cudaSuccess);
  };
  EXPECT_EQ(counted([&] { token(false); }), (std::vector<double>{4, 0, 3}));
  EXPECT_EQ(counted([&] { token(true); }), (std::vector<double>{6, 1, 3}));
  for (const bool allocates : {false, true}) {
    const auto captured = counted([&] {
      EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
      token(allocates);
      EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    });
    EXPECT_EQ(captured, (std::vector<double>{allocates ? 6.0 : 4.0, 0, 0}));
    ASSERT_EQ(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0), cudaSuccess);
    const auto launched = counted([&] {
      for (int i = 0; i < 5; ++i) EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    });
    EXPECT_EQ(launched, (std::vector<double>{5, allocates ? 5.0 : 0.0, 15}));
    EXPECT_EQ(cudaGraphExecDestroy(exec), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(counted([&] { EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess); }), (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(counted([&] { EXPECT_EQ(cudaMemcpy(data, data + 32, 64, cudaMemcpyDeviceToDevice), cudaSuccess); }),
            (std::vector<double>{1, 0, 0}));
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST_F(Graphs, BuiltByHand) {
  int *device = nullptr, n = 32, result = 0;
  ASSERT_EQ(cudaMalloc(&device, 128), cudaSuccess);
  cudaGraph_t graph;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t clear, kernel, copy;
  void* arguments[] = {&device, &n};
  cudaKernelNodeParams k{};
  k.func = (void*)increment;
  k.gridDim = dim3(1);
  k.blockDim = dim3(32);
  k.kernelParams = arguments;
  cudaMemsetParams m{};
  m.dst = device;
  m.elementSize = 4;
  m.width = 32;
  m.height = 1;
  m.value = 0;
  ASSERT_EQ(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &k), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemsetNode(&clear, graph, nullptr, 0, &m), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, &result, device + 5, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &clear, &kernel, 1), cudaSuccess);
  n = 0;  // the node has the value at the time it was added
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(result, 1);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &copy, &clear, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaErrorInvalidValue);  // a cycle
  cudaGetLastError();
}

// ---- queries

TEST_F(Graphs, AllocateAndFreeMemory) {
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphNode_t allocated = nullptr, cleared = nullptr, counted = nullptr, copied = nullptr, freed = nullptr;
  cudaMemAllocNodeParams memory = {};
  memory.poolProps = {cudaMemAllocationTypePinned, cudaMemHandleTypeNone, {cudaMemLocationTypeDevice, 0}, 0};
  memory.bytesize = 128;
  ASSERT_EQ(cudaGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &memory), cudaSuccess);
  auto* data = static_cast<int*>(memory.dptr);
  const cudaMemsetParams zero{data, 128, 0, 4, 32, 1};
  ASSERT_EQ(cudaGraphAddMemsetNode(&cleared, graph, &allocated, 1, &zero), cudaSuccess);
  int n = 32;
  void* arguments[] = {&data, &n};
  cudaGraphNodeParams kernel = {cudaGraphNodeTypeKernel};
  kernel.kernel = {(void*)increment, dim3(1), dim3(32), 0, arguments, nullptr};
  ASSERT_EQ(cudaGraphAddNode(&counted, graph, &cleared, nullptr, 1, &kernel), cudaSuccess);
  int last = 0;
  ASSERT_EQ(cudaGraphAddMemcpyNode1D(&copied, graph, &counted, 1, &last, data + 31, 4, cudaMemcpyDeviceToHost),
            cudaSuccess);
  cudaGraphExec_t leaves = nullptr, frees_first = nullptr, exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&leaves, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&frees_first, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch), cudaSuccess);
  ASSERT_EQ(cudaGraphAddMemFreeNode(&freed, graph, &copied, 1, data), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);

  EXPECT_EQ(cudaMemset(data, 0, 4), cudaErrorInvalidValue);  // nothing is allocated there yet
  for (int times = 0; times < 2; ++times) {
    last = 0;
    EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
    EXPECT_EQ(last, 1);
  }
  EXPECT_EQ(cudaGraphLaunch(leaves, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(leaves, nullptr), cudaErrorInvalidValue);  // still allocated
  EXPECT_EQ(cudaGraphLaunch(frees_first, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(frees_first, nullptr), cudaSuccess);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  for (const cudaGraphExec_t e : {leaves, frees_first, exec}) cudaGraphExecDestroy(e);
  cudaGetLastError();
}

TEST_F(Graphs, CaptureAllocations) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  int *data = nullptr, last = 0;
  ASSERT_EQ(cudaMallocAsync(&data, 128, stream), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(data, 0, 128, stream), cudaSuccess);
  increment<<<1, 32, 0, stream>>>(data, 32);
  ASSERT_EQ(cudaMemcpyAsync(&last, data + 31, 4, cudaMemcpyDeviceToHost, stream), cudaSuccess);
  ASSERT_EQ(cudaFreeAsync(data, stream), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  for (int times = 0; times < 2; ++times) {
    last = 0;
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    EXPECT_EQ(last, 1);
  }
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);  // each launch has freed it
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

__global__ void count_down(int* left, int* rounds, cudaGraphConditionalHandle more) {
  ++*rounds;
  cudaGraphSetConditional(more, --*left > 0);
}
__global__ void choose(const int* number, cudaGraphConditionalHandle which) {
  cudaGraphSetConditional(which, static_cast<unsigned>(*number));
}
__global__ void note(int* place, int what) { *place = what; }

TEST_F(Graphs, HaveConditions) {
  int* state = nullptr;  // left, rounds, chosen, noted
  ASSERT_EQ(cudaMallocManaged(&state, 4 * sizeof(int)), cudaSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaGraphCreate(&graph, 0), cudaSuccess);
  cudaGraphConditionalHandle more = 0, which = 0;
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&more, graph, 1, cudaGraphCondAssignDefault), cudaSuccess);
  ASSERT_EQ(cudaGraphConditionalHandleCreate(&which, graph), cudaSuccess);
  cudaGraphNode_t loop = nullptr, chooser = nullptr, branch = nullptr, body = nullptr;
  cudaGraphNodeParams condition = {cudaGraphNodeTypeConditional};
  condition.conditional = {more, cudaGraphCondTypeWhile, 1, nullptr};
  ASSERT_EQ(cudaGraphAddNode(&loop, graph, nullptr, nullptr, 0, &condition), cudaSuccess);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCaptureToGraph(stream, condition.conditional.phGraph_out[0], nullptr, nullptr, 0,
                                          cudaStreamCaptureModeGlobal),
            cudaSuccess);
  count_down<<<1, 1, 0, stream>>>(state, state + 1, more);
  ASSERT_EQ(cudaStreamEndCapture(stream, nullptr), cudaSuccess);

  int* number = state + 2;
  int *noted = state + 3, what = 7;
  void *chosen_by[] = {&number, &which}, *note_arguments[] = {&noted, &what};
  cudaGraphNodeParams kernel = {cudaGraphNodeTypeKernel};
  kernel.kernel = {(void*)choose, dim3(1), dim3(1), 0, chosen_by, nullptr};
  ASSERT_EQ(cudaGraphAddNode(&chooser, graph, &loop, 1, &kernel), cudaSuccess);
  condition.conditional = {which, cudaGraphCondTypeSwitch, 2, nullptr};
  ASSERT_EQ(cudaGraphAddNode(&branch, graph, &chooser, 1, &condition), cudaSuccess);
  kernel.kernel = {(void*)note, dim3(1), dim3(1), 0, note_arguments, nullptr};
  ASSERT_EQ(cudaGraphAddNode(&body, condition.conditional.phGraph_out[1], nullptr, 0, &kernel), cudaSuccess);
  condition.conditional = {which, cudaGraphCondTypeIf, 3, nullptr};
  EXPECT_EQ(cudaGraphAddNode(&branch, graph, nullptr, 0, &condition), cudaErrorInvalidValue);

  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (const int chosen : {1, 0, 2}) {
    state[0] = 5;
    state[1] = state[3] = 0;
    state[2] = chosen;
    ASSERT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(state[1], 5);
    EXPECT_EQ(state[3], chosen == 1 ? 7 : 0) << chosen;
  }
  cudaGraphExecDestroy(exec);
  cudaGetLastError();
}

}  // namespace
