// The runtime API: kinds of memory, copies with a pitch, streams on the modelled clock, graphs, queries and limits.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <lab/profiler.hpp>

namespace sim {
const std::vector<std::string>& host_faults();
const std::vector<std::string>& host_warnings();
}  // namespace sim

namespace {

struct Memory : testing::Test {
  void TearDown() override {
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    cudaDeviceReset();
  }
};
using Streams = Memory;
using Graphs = Memory;
using Queries = Memory;

__global__ void increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}

TEST_F(Memory, HostMemoryThatKernelsMayTouch) {
  int *managed = nullptr, *pinned = nullptr, *mapped = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 128), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 128), cudaSuccess);
  ASSERT_EQ(cudaHostGetDevicePointer(&mapped, pinned, 0), cudaSuccess);
  std::vector<int> own(32, 5);
  ASSERT_EQ(cudaHostRegister(own.data(), 128, cudaHostRegisterMapped), cudaSuccess);
  EXPECT_EQ(cudaHostRegister(own.data(), 4, 0), cudaErrorHostMemoryAlreadyRegistered);
  for (int i = 0; i < 32; ++i) managed[i] = pinned[i] = i;
  for (int* data : {managed, mapped, own.data()}) increment<<<1, 32>>>(data, 32);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(managed[31], 32);
  EXPECT_EQ(pinned[31], 32);
  EXPECT_EQ(own[31], 6);

  cudaPointerAttributes about;
  ASSERT_EQ(cudaPointerGetAttributes(&about, managed + 3), cudaSuccess);
  EXPECT_EQ(about.type, cudaMemoryTypeManaged);
  ASSERT_EQ(cudaPointerGetAttributes(&about, pinned), cudaSuccess);
  EXPECT_EQ(about.type, cudaMemoryTypeHost);
  EXPECT_EQ(about.devicePointer, mapped);
  ASSERT_EQ(cudaPointerGetAttributes(&about, own.data()), cudaSuccess);
  EXPECT_EQ(about.type, cudaMemoryTypeHost);
  ASSERT_EQ(cudaHostUnregister(own.data()), cudaSuccess);
  ASSERT_EQ(cudaPointerGetAttributes(&about, own.data()), cudaSuccess);
  EXPECT_EQ(about.type, cudaMemoryTypeUnregistered);
  EXPECT_EQ(cudaHostUnregister(own.data()), cudaErrorHostMemoryNotRegistered);
  EXPECT_EQ(cudaThreadSynchronize(), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 128, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPrefetchAsync(managed, 129, cudaCpuDeviceId), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemAdvise(managed, 128, cudaMemAdviseSetReadMostly, 0), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(managed), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
  cudaGetLastError();
}

TEST_F(Memory, UnregisteredHostMemoryStaysOutOfReach) {
  std::vector<int> own(32);
  increment<<<1, 32>>>(own.data(), 32);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  cudaDeviceReset();
}

TEST_F(Memory, FreedTwiceOrElsewhere) {
  int *data = nullptr, on_host = 0;
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  EXPECT_EQ(cudaFree(data + 1), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
  const int second_free = __LINE__ + 1;
  EXPECT_EQ(cudaFree(data), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(&on_host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
  const auto& faults = sim::host_faults();
  ASSERT_GE(faults.size(), 3u);
  const std::string* last = &faults.back() - 2;
  EXPECT_NE(last[0].find(": the pointer is 4 bytes into allocation"), std::string::npos) << last[0];
  EXPECT_NE(last[1].find("runtime_test.cu:" + std::to_string(second_free) + ": this memory is already free"),
            std::string::npos)
      << last[1];
  EXPECT_NE(last[2].find("the CUDA runtime did not allocate this memory"), std::string::npos) << last[2];
  cudaGetLastError();
}

__constant__ float weights_of_copies[4];

TEST_F(Memory, CopiesThatFailAreReported) {
  float *data = nullptr, *gone = nullptr, on_host[32] = {};
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&gone, 64), cudaSuccess);
  ASSERT_EQ(cudaFree(gone), cudaSuccess);
  const std::size_t before = sim::host_faults().size();
  const auto is_reported = [](cudaError_t error, const std::string& why) {
    EXPECT_EQ(error, cudaErrorInvalidValue);
    const std::string& last = sim::host_faults().back();
    EXPECT_NE(last.find("runtime_test.cu:"), std::string::npos) << last;
    EXPECT_NE(last.find(why), std::string::npos) << last;
  };
  for (int turn = 0; turn < 2; ++turn)
    is_reported(
        cudaMemcpy(data, on_host, 64, cudaMemcpyDeviceToHost),
        "copy failed with cudaErrorInvalidValue: its destination is in device memory, but its kind says otherwise");
  EXPECT_EQ(sim::host_faults().size(), before + 1);  // one report for each line
  is_reported(cudaMemcpy(on_host, data, 128, cudaMemcpyDeviceToHost),
              ": 128 bytes at its source are not all allocated, byte 0 of allocation");
  is_reported(cudaMemcpy(gone, on_host, 64, cudaMemcpyDefault), ": 64 bytes at its destination are not all allocated");
  is_reported(cudaMemcpy(nullptr, on_host, 64, cudaMemcpyHostToDevice), ": its destination is a null pointer");
  is_reported(cudaMemset(on_host, 0, 64), "fill failed with cudaErrorInvalidValue: its destination is in host memory");
  is_reported(cudaMemset(data, 0, 65), "fill failed with cudaErrorInvalidValue: 65 bytes at its destination are not");
  is_reported(cudaMemcpyToSymbol(weights_of_copies, on_host, 20),
              ": 20 bytes from byte 0 exceed the variable of 16 bytes");
  cudaGetLastError();
}

__global__ void twice(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;
}

TEST_F(Memory, UnwrittenBytesCopiedToTheHost) {
  char *data = nullptr, *pinned = nullptr, on_host[64];
  ASSERT_EQ(cudaMalloc(&data, 64), cudaSuccess);
  ASSERT_EQ(cudaMallocHost(&pinned, 64), cudaSuccess);
  ASSERT_EQ(cudaMemset(data, 0, 50), cudaSuccess);
  const std::size_t before = sim::host_warnings().size();
  EXPECT_EQ(cudaMemcpy(on_host, data, 50, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(on_host, 10, data, 20, 10, 3, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(sim::host_warnings().size(), before);
  for (char* to : {on_host, pinned}) EXPECT_EQ(cudaMemcpy(to, data, 64, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(sim::host_warnings().size(), before + 1);
  EXPECT_NE(sim::host_warnings().back().find(": a copy to the host: 14 of its 64 bytes were never written, the first, "
                                             "byte 50 of allocation"),
            std::string::npos)
      << sim::host_warnings().back();
  cudaFree(data);
  cudaFreeHost(pinned);
}

__global__ void shifts(unsigned* out, const int* by) {
  const unsigned i = threadIdx.x;
  out[i] = ~0u >> by[i];
  out[i + 4] = i < 3 ? ~0u >> (by[i] - 1) : 0;
}

TEST_F(Memory, ShiftsByMoreBitsThanThereAre) {
  unsigned* out = nullptr;
  int* by = nullptr;
  ASSERT_EQ(cudaMallocManaged(&out, 32), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&by, 16), cudaSuccess);
  for (int i = 0; i < 4; ++i) by[i] = i + 29;  // up to 32
  const std::size_t before = sim::host_warnings().size();
  shifts<<<1, 4>>>(out, by);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  ASSERT_EQ(sim::host_warnings().size(), before + 1);
  EXPECT_NE(sim::host_warnings().back().find(": a kernel shifts a 32-bit number by 32, "), std::string::npos)
      << sim::host_warnings().back();
  EXPECT_EQ(out[2], 1u);
  EXPECT_EQ(out[6], 3u);
  cudaFree(out);
  cudaFree(by);
}

/// The last reports of host code, as many as there are since `before`, in one text.
std::string reports_since(std::size_t before) {
  std::string all;
  for (std::size_t i = before; i < sim::host_faults().size(); ++i) all += sim::host_faults()[i] + '\n';
  return all;
}

// Each collection has its own reports: the second one of a line that the first one has named, too.
TEST_F(Memory, SharedWithTheHostTooEarlyIsReportedInEachCollection) {
  float* managed = nullptr;
  cudaMallocManaged(&managed, 32 * sizeof *managed);
  float sum = 0;
  const auto too_early = [&] {
    return lab::profiler({}).collect([&] {
      twice<<<1, 32>>>(managed, 32);
      for (int i = 0; i < 32; ++i) sum += managed[i];
    });
  };
  for (int i = 0; i < 32; ++i) managed[i] = 1;
  EXPECT_EQ(too_early().reports.size(), 1u);
  cudaDeviceSynchronize();
  EXPECT_EQ(too_early().reports.size(), 1u);
  cudaDeviceSynchronize();
  EXPECT_EQ(sum, 32 * 6);
  cudaFree(managed);
}

TEST_F(Memory, SharedWithTheHostTooEarly) {
  constexpr int n = 64;
  float *managed = nullptr, *pinned = nullptr, *device = nullptr;
  cudaMallocManaged(&managed, n * sizeof *managed);
  cudaMallocHost(&pinned, n * sizeof *pinned);
  cudaMalloc(&device, n * sizeof *device);
  cudaStream_t s;
  cudaStreamCreate(&s);
  std::size_t before = sim::host_faults().size();
  for (int i = 0; i < n; ++i) managed[i] = pinned[i] = 1;
  twice<<<1, n>>>(managed, n / 2);
  EXPECT_EQ(managed[n / 2], 1) << "the kernel does not use this half";
  EXPECT_EQ(reports_since(before), "");
  const int early = __LINE__ + 1;
  const float read = managed[1];
  EXPECT_EQ(read, 2);
  EXPECT_NE(reports_since(before).find("runtime_test.cu:" + std::to_string(early) +
                                       ": host code: load of 4 bytes, byte "
                                       "4 of allocation "),
            std::string::npos)
      << reports_since(before);
  EXPECT_NE(reports_since(before).find("which kernel twice may still write"), std::string::npos);

  before = sim::host_faults().size();
  cudaDeviceSynchronize();
  managed[1] = 3;
  cudaMemcpyAsync(device, pinned, n * sizeof *pinned, cudaMemcpyHostToDevice, s);
  EXPECT_EQ(pinned[1], 1) << "both only read it";
  EXPECT_EQ(reports_since(before), "");
  pinned[1] = 5;
  EXPECT_NE(reports_since(before).find("store of 4 bytes, byte 4 of"), std::string::npos) << reports_since(before);
  EXPECT_NE(reports_since(before).find("which a copy to the device may still use"), std::string::npos);

  before = sim::host_faults().size();
  cudaMemcpyAsync(pinned, device, n * sizeof *pinned, cudaMemcpyDeviceToHost, s);
  EXPECT_EQ(pinned[1], 1);
  EXPECT_NE(reports_since(before).find("which a copy to the host may still write"), std::string::npos)
      << reports_since(before);
  before = sim::host_faults().size();
  cudaMemcpyAsync(pinned, device, n * sizeof *pinned, cudaMemcpyDeviceToHost, s);
  cudaEvent_t done;
  cudaEventCreate(&done);
  cudaEventRecord(done, s);
  while (cudaEventQuery(done) == cudaErrorNotReady) {
  }
  EXPECT_EQ(pinned[2], 1);
  EXPECT_EQ(reports_since(before), "");
  cudaEventDestroy(done);
  cudaStreamDestroy(s);
  cudaFree(managed);
  cudaFree(device);
  cudaFreeHost(pinned);
}

TEST_F(Memory, OfAStreamFreedWhileItIsUsed) {
  constexpr int n = 64;
  cudaStream_t s, other;
  cudaStreamCreate(&s);
  cudaStreamCreate(&other);
  const auto used = [&] {
    float* memory = nullptr;
    cudaMallocAsync(&memory, n * sizeof *memory, s);
    cudaMemsetAsync(memory, 0, n * sizeof *memory, s);
    twice<<<1, n, 0, s>>>(memory, n);
    return memory;
  };
  std::size_t before = sim::host_faults().size();
  EXPECT_EQ(cudaFreeAsync(used(), s), cudaSuccess);
  float* memory = used();
  cudaStreamSynchronize(s);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
  EXPECT_EQ(reports_since(before), "");
  EXPECT_EQ(cudaFree(used()), cudaSuccess);
  EXPECT_NE(reports_since(before).find("kernel twice may still use this memory: cudaFree does not wait"),
            std::string::npos)
      << reports_since(before);
  before = sim::host_faults().size();
  EXPECT_EQ(cudaFreeAsync(used(), other), cudaSuccess);
  EXPECT_NE(reports_since(before).find("let this stream wait for an event after it"), std::string::npos)
      << reports_since(before);
  cudaStreamDestroy(s);
  cudaStreamDestroy(other);
}

template <int count>
__global__ void sum_in_shared(float* out) {
  __shared__ float values[count];
  for (int i = threadIdx.x; i < count; i += blockDim.x) values[i] = 1.0f;
  __syncthreads();
  out[threadIdx.x] = values[threadIdx.x];
}

TEST_F(Memory, OfSharedArraysHasTheLimitOfTheCompiler) {
  float* out = nullptr;
  cudaMalloc(&out, 32 * sizeof *out);
  const std::size_t before = sim::host_faults().size();
  sum_in_shared<12288><<<1, 32>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(reports_since(before), "");
  sum_in_shared<12289><<<1, 32>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidKernelImage);
  EXPECT_NE(reports_since(before).find("uses 49156 bytes of __shared__ arrays; nvcc compiles no kernel with more than "
                                       "49152"),
            std::string::npos)
      << reports_since(before);
  cudaFree(out);
}

TEST_F(Memory, OfAStreamUsedInAnother) {
  constexpr int n = 64;
  cudaStream_t s, other;
  cudaStreamCreate(&s);
  cudaStreamCreate(&other);
  float *memory = nullptr, *first = nullptr;
  cudaEvent_t allocated;
  cudaEventCreate(&allocated);
  const auto allocate = [&](float** pointer) {
    EXPECT_EQ(cudaMallocAsync(pointer, n * sizeof(float), s), cudaSuccess);
    cudaEventRecord(allocated, s);
  };
  std::size_t before = sim::host_faults().size();
  allocate(&first);
  cudaStreamWaitEvent(other, allocated);
  cudaMemsetAsync(first, 0, n * sizeof(float), other);
  twice<<<1, n, 0, other>>>(first, n);
  allocate(&memory);
  cudaStreamSynchronize(s);
  cudaMemsetAsync(memory, 0, n * sizeof(float), other);
  EXPECT_EQ(reports_since(before), "");
  allocate(&memory);
  cudaMemsetAsync(memory, 0, n * sizeof(float), other);
  EXPECT_NE(reports_since(before).find("cudaMallocAsync of 256 bytes, which a fill uses in another stream: let that"),
            std::string::npos)
      << reports_since(before);
  twice<<<1, n, 0, other>>>(memory, n);
  EXPECT_NE(reports_since(before).find("256 bytes, which kernel twice uses in another stream"), std::string::npos)
      << reports_since(before);
  cudaDeviceSynchronize();
  before = sim::host_faults().size();
  twice<<<1, n, 0, other>>>(memory, n);
  EXPECT_EQ(reports_since(before), "");
  cudaDeviceReset();
}

TEST_F(Memory, PitchedCopies) {
  char* device = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&device, &pitch, 10, 4), cudaSuccess);
  EXPECT_EQ(pitch % 512, 0u);
  char host[40], back[4 * 12] = {};
  for (int i = 0; i < 40; ++i) host[i] = static_cast<char>(i);
  EXPECT_EQ(cudaMemcpy2D(device, pitch, host, 10, 10, 4, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(cudaMemset2D(device + 2, pitch, 7, 3, 2), cudaSuccess);
  EXPECT_EQ(cudaMemcpy2D(back, 12, device, pitch, 10, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 12; ++x) EXPECT_EQ(back[y * 12 + x], x >= 10 ? 0 : y < 2 && x >= 2 && x < 5 ? 7 : y * 10 + x);
  EXPECT_EQ(cudaMemcpy2D(device, pitch, host, 10, 10, 5, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy2D(device, 9, host, 10, 10, 4, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  cudaGetLastError();
}

TEST_F(Memory, BoxesInThreeDimensions) {
  cudaPitchedPtr device{};
  ASSERT_EQ(cudaMalloc3D(&device, make_cudaExtent(16, 3, 2)), cudaSuccess);
  int host[2][3][4], back[2] = {};
  for (int i = 0; i < 24; ++i) (&host[0][0][0])[i] = i;
  cudaMemcpy3DParms p{};
  p.srcPtr = make_cudaPitchedPtr(host, 16, 4, 3);
  p.dstPtr = device;
  p.extent = make_cudaExtent(16, 3, 2);
  p.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(cudaMemcpy3D(&p), cudaSuccess);
  cudaMemcpy3DParms q{};
  q.srcPtr = device;
  q.srcPos = make_cudaPos(8, 2, 1);
  q.dstPtr = make_cudaPitchedPtr(back, 8, 2, 1);
  q.extent = make_cudaExtent(8, 1, 1);
  q.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(cudaMemcpy3D(&q), cudaSuccess);
  EXPECT_EQ(back[0], 22);
  EXPECT_EQ(back[1], 23);
}

__device__ int symbol[4];
__constant__ float table[8];
__global__ void read_symbols(float* out) { out[threadIdx.x] = table[threadIdx.x] + symbol[threadIdx.x % 4]; }

TEST_F(Memory, Symbols) {
  const int values[2] = {10, 20};
  float numbers[8];
  for (int i = 0; i < 8; ++i) numbers[i] = 0.5f * i;
  EXPECT_EQ(cudaMemcpyToSymbol(symbol, values, 8, 8), cudaSuccess);
  EXPECT_EQ(cudaMemcpyToSymbol(symbol, values, 8, 12), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpyToSymbolAsync(table, numbers, sizeof numbers, 0, cudaMemcpyHostToDevice), cudaSuccess);
  int* address = nullptr;
  ASSERT_EQ(cudaGetSymbolAddress((void**)&address, symbol), cudaSuccess);
  EXPECT_EQ(cudaMemset(address, 0, 8), cudaSuccess);
  const int one = 1;
  EXPECT_EQ(cudaMemcpy(address, &one, 4, cudaMemcpyHostToDevice), cudaSuccess);
  float* out = nullptr;
  ASSERT_EQ(cudaMallocManaged(&out, 32), cudaSuccess);
  read_symbols<<<1, 8>>>(out);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(out[0], 1);
  EXPECT_EQ(out[7], 23.5f);
  int back[2];
  EXPECT_EQ(cudaMemcpyFromSymbol(back, symbol, 8, 8), cudaSuccess);
  EXPECT_EQ(back[1], 20);
  cudaGetLastError();
}

TEST_F(Memory, Pools) {
  cudaMemPool_t pool = nullptr;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  unsigned long long keep = 1 << 20, used = 0;
  EXPECT_EQ(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep), cudaSuccess);
  cudaMemAccessDesc access{{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &access, 1), cudaSuccess);
  cudaMemAccessFlags flags = cudaMemAccessFlagsProtNone;
  EXPECT_EQ(cudaMemPoolGetAccess(&flags, pool, &access.location), cudaSuccess);
  EXPECT_EQ(flags, cudaMemAccessFlagsProtReadWrite);
  access.location.id = 1;
  EXPECT_EQ(cudaMemPoolSetAccess(pool, &access, 1), cudaErrorInvalidDevice);
  int peer = 0;
  EXPECT_EQ(cudaDeviceGetP2PAttribute(&peer, cudaDevP2PAttrAccessSupported, 0, 1), cudaErrorInvalidDevice);
  cudaGetLastError();
  int* data = nullptr;
  EXPECT_EQ(cudaMallocAsync(&data, 4096, nullptr), cudaSuccess);
  EXPECT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used), cudaSuccess);
  EXPECT_EQ(used, 4096u);
  EXPECT_EQ(cudaFreeAsync(data, nullptr), cudaSuccess);
}

// ---- streams

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
  constexpr int n = 1 << 20;  // 4 MiB: 84 us, or 419
  std::vector<int> pageable(n);
  int *pinned = nullptr, *device = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, n * sizeof(int)), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device, 2 * n * sizeof(int)), cudaSuccess);
  cudaStream_t copies = nullptr, kernels = nullptr;
  for (cudaStream_t* s : {&copies, &kernels}) ASSERT_EQ(cudaStreamCreate(s), cudaSuccess);
  for (const bool is_pinned : {true, false}) {
    const auto metrics = lab::profiler({})
                             .collect([&] {
                               cudaMemcpyAsync(device, is_pinned ? pinned : pageable.data(), n * sizeof(int),
                                               cudaMemcpyHostToDevice, copies);
                               cudaMemsetAsync(device + n, 0, n * sizeof(int), kernels);
                             })
                             .metrics;
    EXPECT_EQ(metrics.at("bytes_to_device"), 4 * n);
    EXPECT_EQ(metrics.at("pageable_bytes"), is_pinned ? 0 : 4 * n);
    EXPECT_NEAR(metrics.at("stream_time"), is_pinned ? 83'886 : 420'416, 100);  // the fill is after the copy, then
    EXPECT_EQ(metrics.at("waits"), 0);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  const auto waits = [](const auto& work) {
    const auto metrics = lab::profiler({}).collect(work).metrics;
    return std::pair(metrics.at("waits"), metrics.at("event_waits"));
  };
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  EXPECT_EQ(waits([&] { cudaStreamSynchronize(copies), cudaDeviceSynchronize(); }), std::pair(2.0, 0.0));
  EXPECT_EQ(waits([&] { cudaEventRecord(event, copies), cudaEventSynchronize(event); }), std::pair(0.0, 1.0));
}

/// Copies between two streams and a kernel, each with what orders it and without.
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
    const auto all = lab::profiler({})
                         .collect([&] {
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
                         })
                         .reports;
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
  const auto gone = lab::profiler({}).collect([&] {
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
  EXPECT_NE(early.find("runtime_test.cu:" + std::to_string(__LINE__ - 2) +
                       ": cudaEventElapsedTime failed with cudaErrorNotReady"),
            std::string::npos)
      << early;
  EXPECT_EQ(ms, -1);
  cudaDeviceSynchronize();
  // Those who ask again are right: later, or until there is a time.
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
  // What its stream has done before is over; and a later kernel waits for it.
  increment<<<1, 32, 0, stream>>>(managed, 32);
  cudaLaunchHostFunc(
      stream, [](void* p) { static_cast<int*>(p)[1] += 10; }, managed);
  increment<<<1, 32, 0, stream>>>(managed, 32);
  cudaStreamSynchronize(stream);
  EXPECT_EQ(managed[1], 12);
  EXPECT_EQ(sim::host_faults().size(), before);
  cudaLaunchHostFunc(
      stream, [](void* p) { cudaStreamQuery(static_cast<cudaStream_t>(p)); }, stream);
  cudaStreamAddCallback(
      stream, [](cudaStream_t, cudaError_t, void* p) { cudaFree(p); }, managed, 0);
  ASSERT_EQ(sim::host_faults().size(), before + 2);
  EXPECT_NE(sim::host_faults().back().find("runtime_test.cu:" + std::to_string(__LINE__ - 2) +
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
addition addition_for_the_host;  // not on the stack, where clang leaves out hooks
int sum_for_the_host, behind_a_mutex, behind_an_atomic;
int computed() { return static_cast<int>(std::strlen("once")); }
int computed_once() {
  static volatile int length = 4;
  static int first = length + computed();  // who comes first stores it, behind a guard
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

// Here it may even throw; what comes after it is not in it.
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
    const auto metrics = lab::profiler({}).collect(work).metrics;
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
  n = 0;  // the node has the value from when it was added
  cudaGraphExec_t exec;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, nullptr), cudaSuccess);
  EXPECT_EQ(result, 1);
  ASSERT_EQ(cudaGraphAddDependencies(graph, &copy, &clear, 1), cudaSuccess);
  EXPECT_EQ(cudaGraphInstantiate(&exec, graph), cudaErrorInvalidValue);  // a circle
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

TEST_F(Memory, OfOtherProcessesIsNotSupported) {
  cudaIpcMemHandle_t handle;
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 128), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, data), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

const int changed = setenv("SIM_DEVICE", "no such device", 1);  // before anything asks for it

TEST_F(Queries, AProgramDoesNotChangeTheDevice) {
  ASSERT_EQ(changed, 0);
  int count = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), cudaSuccess);
  EXPECT_GT(count, 0);
}

template <int bytes>
__global__ void with_an_array(char* out) {
  __shared__ char array[bytes];
  array[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = array[63 - threadIdx.x];
}

TEST_F(Queries, OccupancyBeforeTheFirstLaunch) {
  int before = 0, after = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&before, with_an_array<40000>, 64, 0), cudaSuccess);
  char* out = nullptr;
  ASSERT_EQ(cudaMalloc(&out, 64), cudaSuccess);
  with_an_array<40000><<<1, 64>>>(out);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&after, with_an_array<40000>, 64, 0), cudaSuccess);
  EXPECT_EQ(before, 5);
  EXPECT_EQ(after, before);
  cudaFree(out);
}

TEST_F(Queries, Occupancy) {
  int blocks = 0, grid = 0, block = 0;
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 256, 0), cudaSuccess);
  EXPECT_EQ(blocks, 8);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 32, 0), cudaSuccess);
  EXPECT_EQ(blocks, 32);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 256, 100 * 1024), cudaSuccess);
  EXPECT_EQ(blocks, 2);
  EXPECT_EQ(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, increment, 2000, 0), cudaSuccess);
  EXPECT_EQ(blocks, 0);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSize(&grid, &block, increment, 0, 0), cudaSuccess);
  EXPECT_EQ(block, 1024);
  EXPECT_EQ(grid, 264);
  EXPECT_EQ(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &block, increment, [](int t) { return t * 200; }),
            cudaSuccess);
  EXPECT_EQ(block, 576);  // two blocks, not one of 1024
}

__global__ void take_shared(int* out) {
  extern __shared__ int words[];
  words[threadIdx.x] = 1;
  *out = words[threadIdx.x];
}

TEST_F(Queries, SharedMemoryIsAllowedToOneKernel) {
  int* out = nullptr;
  ASSERT_EQ(cudaMalloc(&out, 4), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(increment, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFuncSetAttribute(take_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000), cudaSuccess);
  take_shared<<<1, 1, 100'000>>>(out);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  cudaFuncAttributes attributes;
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, take_shared), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100'000);
  EXPECT_EQ(cudaFuncGetAttributes(&attributes, increment), cudaSuccess);
  EXPECT_EQ(attributes.maxDynamicSharedSizeBytes, 100'000);
  cudaDeviceSynchronize();
  cudaFree(out);
}

TEST_F(Queries, TextsAndLimits) {
  EXPECT_STREQ(cudaGetErrorName(cudaErrorStreamCaptureUnsupported), "cudaErrorStreamCaptureUnsupported");
  EXPECT_STREQ(cudaGetErrorString(cudaErrorInvalidConfiguration), "invalid configuration argument");
  EXPECT_EQ(static_cast<int>(cudaErrorCooperativeLaunchTooLarge), 720);
  std::size_t stack = 0;
  EXPECT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetLimit(&stack, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(stack, 4096u);
  int value = 0;
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrCooperativeLaunch, 0), cudaSuccess);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(cudaDeviceGetAttribute(&value, cudaDevAttrMaxBlocksPerMultiprocessor, 0), cudaSuccess);
  EXPECT_EQ(value, 32);
  cudaFuncAttributes about{};
  EXPECT_EQ(cudaFuncGetAttributes(&about, increment), cudaSuccess);
  EXPECT_EQ(about.maxThreadsPerBlock, 1024);
  EXPECT_EQ(cudaFuncSetCacheConfig(increment, cudaFuncCachePreferL1), cudaSuccess);
}

}  // namespace
