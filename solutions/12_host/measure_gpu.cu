// What a host pays for a GPU: launches, graphs, copies, overlap, and where one core is faster. Prints the figures of
// given/h100.md and SEEN.md; nvcc -O3 -std=c++20 -arch=native, no arguments. Medians of many runs.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                          \
  do {                                                                       \
    if (const cudaError_t e = (call); e != cudaSuccess) {                    \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
      std::exit(1);                                                          \
    }                                                                        \
  } while (false)

__global__ void nothing() {}

/// A few microseconds of work that depends on itself.
__global__ void chain(float* x, int rounds) {
  float v = x[threadIdx.x];
  for (int i = 0; i < rounds; ++i) v = v * 0.999f + 0.001f;
  x[threadIdx.x] = v;
}

/// y = W x, a warp for each row.
__global__ void product(float* y, const float* w, const float* x, int n) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (row >= n) return;
  const float4* from = reinterpret_cast<const float4*>(w + static_cast<size_t>(row) * n);
  const float4* with = reinterpret_cast<const float4*>(x);
  float sum = 0;
  for (int i = lane; i < n / 4; i += 32) {
    const float4 a = from[i], b = with[i];
    sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (lane == 0) y[row] = sum;
}

/// The same on one core.
__attribute__((noinline)) void product_host(float* y, const float* w, const float* x, int n) {
  for (int r = 0; r < n; ++r) {
    float sums[16] = {};
    const float* row = w + static_cast<size_t>(r) * n;
    for (int i = 0; i < n; i += 16)
      for (int k = 0; k < 16; ++k) sums[k] += row[i + k] * x[i + k];
    float sum = 0;
    for (const float one : sums) sum += one;
    y[r] = sum;
  }
}

template <class Run>
double median_us(int times, const Run& run) {
  run();
  std::vector<double> all;
  for (int i = 0; i < times; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    all.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count());
  }
  std::nth_element(all.begin(), all.begin() + times / 2, all.end());
  return all[times / 2];
}

int main() {
  cudaDeviceProp p;
  CHECK(cudaGetDeviceProperties(&p, 0));
  std::printf("%s\n", p.name);
  cudaStream_t s;
  CHECK(cudaStreamCreate(&s));
  const auto wait = [&] { CHECK(cudaStreamSynchronize(s)); };

  constexpr int many = 1000;
  std::printf("launch, without waiting: %.2f us each\n", median_us(21, [&] {
                                                           for (int i = 0; i < many; ++i) nothing<<<1, 32, 0, s>>>();
                                                         }) / many);
  wait();
  std::printf("launch and wait: %.2f us\n", median_us(1001, [&] { nothing<<<1, 32, 0, s>>>(), wait(); }));

  float* x;
  CHECK(cudaMalloc(&x, 1 << 20));
  CHECK(cudaMemset(x, 0, 1 << 20));
  const auto hundred = [&] {
    for (int i = 0; i < 100; ++i) chain<<<1, 128, 0, s>>>(x, 100);
  };
  std::printf("100 small kernels, launched one by one: %.1f us\n", median_us(201, [&] { hundred(), wait(); }));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
  hundred();
  CHECK(cudaStreamEndCapture(s, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  std::printf("the same as a graph: %.1f us\n", median_us(201, [&] {
                CHECK(cudaGraphLaunch(exec, s));
                wait();
              }));

  constexpr size_t most = size_t{1} << 30;
  float *device, *pinned;
  CHECK(cudaMalloc(&device, most));
  CHECK(cudaMallocHost(&pinned, most));
  std::vector<float> pageable(most / 4, 1.0f);
  std::memset(pinned, 0, most);
  for (const size_t bytes : {size_t{4} << 10, size_t{1} << 20, size_t{256} << 20}) {
    const int times = bytes > (1 << 20) ? 11 : 201;
    const double from_pageable = median_us(times, [&] {
      CHECK(cudaMemcpyAsync(device, pageable.data(), bytes, cudaMemcpyHostToDevice, s));
      wait();
    });
    const double from_pinned = median_us(times, [&] {
      CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, s));
      wait();
    });
    std::printf("copy of %zu KiB to the GPU: pageable %.1f us (%.1f GB/s), pinned %.1f us (%.1f GB/s)\n", bytes >> 10,
                from_pageable, bytes / from_pageable * 1e-3, from_pinned, bytes / from_pinned * 1e-3);
  }

  // Eight parts of 32 MiB, each copied and then worked on for about as long as its copy takes.
  constexpr size_t part = size_t{32} << 20;
  cudaStream_t more[4];
  for (auto& one : more) CHECK(cudaStreamCreate(&one));
  const double copy = median_us(11, [&] {
    CHECK(cudaMemcpyAsync(device, pinned, part, cudaMemcpyHostToDevice, s));
    wait();
  });
  int rounds = 1000;
  while (median_us(5, [&] { chain<<<1, 128, 0, s>>>(x, rounds), wait(); }) < copy) rounds += rounds / 4;
  const auto parts = [&](int streams) {
    for (int i = 0; i < 8; ++i) {
      cudaStream_t to = more[i % streams];
      CHECK(cudaMemcpyAsync(device + i * (part / 4), pinned + i * (part / 4), part, cudaMemcpyHostToDevice, to));
      chain<<<1, 128, 0, to>>>(x + 128 * i, rounds);
    }
    CHECK(cudaDeviceSynchronize());
  };
  std::printf(
      "one part: copy %.0f us, kernel about as long; eight parts in one stream %.0f us, in four streams %.0f us\n",
      copy, median_us(11, [&] { parts(1); }), median_us(11, [&] { parts(4); }));

  float *y, *with;
  CHECK(cudaMalloc(&y, 1 << 17));
  CHECK(cudaMalloc(&with, 1 << 17));
  CHECK(cudaMemset(with, 0, 1 << 17));
  std::vector<float> hx(1 << 15, 1.0f), hy(1 << 15);
  std::printf("y = W x, n x n floats:\n");
  for (int n = 64; n <= 16384; n *= 2) {
    const size_t bytes = size_t(n) * n * 4;
    const int times = n <= 1024 ? 201 : 11;
    const auto on_gpu = [&] { product<<<(n + 7) / 8, 256, 0, s>>>(y, device, with, n); };
    const double host = median_us(times, [&] { product_host(hy.data(), pageable.data(), hx.data(), n); });
    const double resident = median_us(times, [&] {
      CHECK(cudaMemcpyAsync(with, pinned, n * 4, cudaMemcpyHostToDevice, s));
      on_gpu();
      CHECK(cudaMemcpyAsync(pinned, y, n * 4, cudaMemcpyDeviceToHost, s));
      wait();
    });
    const double copied = median_us(times, [&] {
      CHECK(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, s));
      on_gpu();
      wait();
    });
    std::printf("  n %5d: one core %.1f us (%.1f GB/s), GPU %.1f us, GPU with W copied each time %.1f us\n", n, host,
                bytes / host * 1e-3, resident, copied);
  }
  if (hy[3] == 12345.0f) std::puts("?");
}
