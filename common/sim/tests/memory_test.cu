// The runtime API for memory: its kinds, pitched copies, symbols, pools, wrong frees and copies.
#include "runtime_test.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>

#include <sim/observe.hpp>

namespace {

using Memory = RuntimeTest;

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
  EXPECT_NE(last[1].find("memory_test.cu:" + std::to_string(second_free) + ": this memory is already free"),
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
    EXPECT_NE(last.find("memory_test.cu:"), std::string::npos) << last;
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

/// All reports of host code since `before`, in one text.
std::string reports_since(std::size_t before) {
  std::string all;
  for (std::size_t i = before; i < sim::host_faults().size(); ++i) all += sim::host_faults()[i] + '\n';
  return all;
}

// Each collection has its own reports, even about a line that an earlier collection has named.
TEST_F(Memory, SharedWithTheHostTooEarlyIsReportedInEachCollection) {
  float* managed = nullptr;
  cudaMallocManaged(&managed, 32 * sizeof *managed);
  float sum = 0;
  const auto too_early = [&] {
    return sim::observe([&] {
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
  EXPECT_NE(reports_since(before).find("memory_test.cu:" + std::to_string(early) +
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

TEST_F(Memory, FillsOfManagedMemoryAreOverWhenTheCallReturns) {
  int* managed = nullptr;
  cudaStream_t apart;
  ASSERT_EQ(cudaMallocManaged(&managed, 256), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&apart, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaMemset(managed, 0, 256), cudaSuccess);
  EXPECT_TRUE(sim::observe([&] { increment<<<1, 64, 0, apart>>>(managed, 64); }, apart).reports.empty());
  cudaStreamDestroy(apart);
  cudaFree(managed);
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

__global__ void fill_rows(char* rows, std::size_t pitch, int width, int height) {
  const int x = threadIdx.x, y = threadIdx.y;
  if (x < width && y < height) *reinterpret_cast<int*>(rows + y * pitch + x * sizeof(int)) = x;
}

TEST_F(Memory, PaddingOfPitchedRows) {
  char* rows = nullptr;
  std::size_t pitch = 0;
  ASSERT_EQ(cudaMallocPitch(&rows, &pitch, 10 * sizeof(int), 4), cudaSuccess);
  const auto fill = [&](int width) {
    return sim::observe([&] { fill_rows<<<1, dim3(16, 4)>>>(rows, pitch, width, 4); }).reports;
  };
  EXPECT_EQ(fill(10), std::vector<std::string>{});
  const std::string r = testing::PrintToString(fill(11));
  EXPECT_NE(r.find("thread (10,0,0): global store of 4 bytes out of bounds, in the padding after row 0 of allocation"),
            std::string::npos)
      << r;
  EXPECT_NE(r.find(": its rows have 40 bytes, 512 apart; check the index"), std::string::npos) << r;
  EXPECT_NE(r.find("(4 times)"), std::string::npos) << r;
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
  // Neither by name, as before CUDA 5, nor by address.
  const char* name = "symbol";
  EXPECT_EQ(cudaMemcpyToSymbol(name, values, 8), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol("symbol", values, 4), cudaErrorInvalidSymbol);
  EXPECT_EQ(cudaMemcpyToSymbol((char*)&symbol, values, 8), cudaErrorInvalidSymbol);
  EXPECT_STREQ(name, "symbol");
  cudaGetLastError();
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

TEST_F(Memory, OfOtherProcessesIsNotSupported) {
  cudaIpcMemHandle_t handle;
  int* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 128), cudaSuccess);
  EXPECT_EQ(cudaIpcGetMemHandle(&handle, data), cudaErrorNotSupported);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotSupported);
}

}  // namespace
