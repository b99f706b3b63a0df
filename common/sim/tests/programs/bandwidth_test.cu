// How fast do bytes move between host and device, and within the device? Pageable and pinned memory, timed by events.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CUDA_CHECK(x)                                              \
  if (auto e = (x); e != cudaSuccess) {                            \
    std::fprintf(stderr, "%s -> %s\n", #x, cudaGetErrorString(e)); \
    std::exit(2);                                                  \
  }

enum memoryMode { PINNED, PAGEABLE };

static float seconds(cudaEvent_t start, cudaEvent_t stop) {
  float ms = 0;
  CUDA_CHECK(cudaEventSynchronize(stop));
  CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
  return ms * 1e-3f;
}

int main() {
  const size_t bytes = 8 << 20;
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreateWithFlags(&stop, cudaEventBlockingSync));
  for (memoryMode mode : {PAGEABLE, PINNED}) {
    unsigned char *h_in, *h_out, *d_a, *d_b;
    if (mode == PINNED) {
      CUDA_CHECK(cudaMallocHost(&h_in, bytes));
      CUDA_CHECK(cudaHostAlloc(&h_out, bytes, cudaHostAllocDefault));
    } else {
      h_in = static_cast<unsigned char*>(std::malloc(bytes));
      h_out = static_cast<unsigned char*>(std::malloc(bytes));
    }
    for (size_t i = 0; i < bytes; ++i) h_in[i] = static_cast<unsigned char>(i * 31);
    std::memset(h_out, 0, bytes);
    CUDA_CHECK(cudaMalloc(&d_a, bytes));
    CUDA_CHECK(cudaMalloc(&d_b, bytes));

    CUDA_CHECK(cudaEventRecord(start, 0));
    CUDA_CHECK(cudaMemcpyAsync(d_a, h_in, bytes, cudaMemcpyHostToDevice, 0));
    CUDA_CHECK(cudaEventRecord(stop, 0));
    const float up = seconds(start, stop);
    CUDA_CHECK(cudaEventRecord(start, 0));
    CUDA_CHECK(cudaMemcpyAsync(d_b, d_a, bytes, cudaMemcpyDeviceToDevice, 0));
    CUDA_CHECK(cudaEventRecord(stop, 0));
    const float across = seconds(start, stop);
    CUDA_CHECK(cudaEventRecord(start, 0));
    CUDA_CHECK(cudaMemcpyAsync(h_out, d_b, bytes, cudaMemcpyDeviceToHost, 0));
    CUDA_CHECK(cudaEventRecord(stop, 0));
    const float down = seconds(start, stop);
    CUDA_CHECK(cudaDeviceSynchronize());

    std::printf("%s: up %.1f, down %.1f, within %.1f GB/s\n", mode == PINNED ? "pinned  " : "pageable",
                bytes / up / 1e9, bytes / down / 1e9, 2 * bytes / across / 1e9);
    const bool same = std::memcmp(h_in, h_out, bytes) == 0;
    CUDA_CHECK(cudaFree(d_a));
    CUDA_CHECK(cudaFree(d_b));
    if (mode == PINNED) {
      CUDA_CHECK(cudaFreeHost(h_in));
      CUDA_CHECK(cudaFreeHost(h_out));
    } else {
      std::free(h_in);
      std::free(h_out);
    }
    if (!same || up <= 0 || down <= 0 || across <= 0) return 1;
  }
  CUDA_CHECK(cudaEventDestroy(start));
  CUDA_CHECK(cudaEventDestroy(stop));
  std::puts("Result = PASS");
}
