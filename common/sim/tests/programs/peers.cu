// All devices of the machine, in one process: copies and kernels between them, each device's own variables, streams and
// events. With one device it has nothing to do.
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                              \
  do {                                                                           \
    const cudaError_t error = (call);                                            \
    if (error != cudaSuccess) {                                                  \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error)); \
      std::exit(1);                                                              \
    }                                                                            \
  } while (0)

constexpr int n = 1 << 16, threads = 256;

__device__ int calls;
__constant__ int factor = 1;

__global__ void fill(int* data, int first) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] = first + i * factor;
  if (i == 0) calls += 1;
}
__global__ void add_from(int* data, const int* peer) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  data[i] += peer[i];
}
__global__ void store_to(int* peer, const int* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  peer[i] = data[i];
}

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  std::printf("%d devices\n", devices);
  if (devices < 2) return 0;

  std::vector<int*> data(devices), inbox(devices);
  std::vector<cudaStream_t> stream(devices);
  std::vector<cudaEvent_t> filled(devices), added(devices);
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaMalloc(&data[d], n * sizeof(int)));
    CHECK(cudaMalloc(&inbox[d], n * sizeof(int)));
    CHECK(cudaStreamCreate(&stream[d]));
    CHECK(cudaEventCreate(&filled[d]));
    CHECK(cudaEventCreate(&added[d]));
    const int own = d + 1;
    CHECK(cudaMemcpyToSymbol(factor, &own, sizeof own));
  }
  // Each device fills its own memory and sends it to the next, which adds both; the copy needs no peer access.
  for (int d = 0; d < devices; ++d) {
    const int next = (d + 1) % devices;
    CHECK(cudaSetDevice(d));
    fill<<<n / threads, threads, 0, stream[d]>>>(data[d], d);
    CHECK(cudaMemcpyPeerAsync(inbox[next], next, data[d], d, n * sizeof(int), stream[d]));
    CHECK(cudaEventRecord(filled[d], stream[d]));
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamWaitEvent(stream[d], filled[(d + devices - 1) % devices], 0));
    add_from<<<n / threads, threads, 0, stream[d]>>>(inbox[d], data[d]);
    CHECK(cudaEventRecord(added[d], stream[d]));
  }
  std::vector<int> host(n);
  for (int d = 0; d < devices; ++d) {
    const int before = (d + devices - 1) % devices;
    CHECK(cudaSetDevice(d));
    CHECK(cudaStreamSynchronize(stream[d]));
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, filled[d], added[d]));
    CHECK(cudaMemcpy(host.data(), inbox[d], n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i)
      if (host[i] != d + i * (d + 1) + before + i * (before + 1)) {
        std::printf("device %d, element %d: %d\n", d, i, host[i]);
        return 1;
      }
    int count = 0;
    CHECK(cudaMemcpyFromSymbol(&count, calls, sizeof count));
    if (count != 1 || milliseconds < 0) {
      std::printf("device %d counts %d calls\n", d, count);
      return 1;
    }
    cudaPointerAttributes about;
    CHECK(cudaPointerGetAttributes(&about, inbox[before]));
    if (about.device != before) return 1;
  }

  // Kernels that load from and store to a peer's memory.
  int can = 0;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
  if (!can) {
    std::printf("no peer access\n");
  } else {
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    CHECK(cudaMemcpy(inbox[0], data[0], n * sizeof(int), cudaMemcpyDeviceToDevice));
    add_from<<<n / threads, threads>>>(inbox[0], data[1]);
    store_to<<<n / threads, threads>>>(inbox[1], inbox[0]);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), inbox[1], n * sizeof(int), cudaMemcpyDefault));
    for (int i = 0; i < n; ++i)
      if (host[i] != 0 + i + 1 + 2 * i) {
        std::printf("peer access, element %d: %d\n", i, host[i]);
        return 1;
      }
    CHECK(cudaDeviceDisablePeerAccess(1));
  }
  for (int d = 0; d < devices; ++d) {
    CHECK(cudaSetDevice(d));
    CHECK(cudaEventDestroy(filled[d]));
    CHECK(cudaEventDestroy(added[d]));
    CHECK(cudaStreamDestroy(stream[d]));
    CHECK(cudaFree(data[d]));
    CHECK(cudaFree(inbox[d]));
  }
  std::printf("PASS\n");
  return 0;
}
