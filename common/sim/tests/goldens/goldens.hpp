// What the files of golden kernels share. Each has two lists of launches: run_* are small and compared counter by
// counter, time_* are large enough for time and DRAM traffic to mean something. Their order is the order of the CSV
// files: add a launch at the end of its list, then measure again.
//
// So that two compilers emit the same memory instructions for a kernel, sums are kept in local variables, and loops
// that lanes leave in different iterations, or that nvcc would turn into wider accesses, are marked `#pragma unroll 1`.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

cudaError_t run_coalescing();  ///< the transposes and copies of lab 3, and patterns of single warps
cudaError_t run_access();
cudaError_t run_shared();
cudaError_t run_atomics();
cudaError_t run_blocks();
cudaError_t run_matmul();
cudaError_t run_transformer();
cudaError_t time_access();
cudaError_t time_blocks();
cudaError_t time_matmul();
cudaError_t time_transformer();

namespace goldens {

/// Device memory, freed together. Allocations that fail show in finished().
class memory {
 public:
  memory() = default;
  memory(const memory&) = delete;
  ~memory() {
    for (void* p : held_) cudaFree(p);
  }
  /// Every byte is `value`: 0x3c makes floats of 0.0115.
  template <class T>
  T* bytes(std::size_t n, int value = 0) {
    T* p = nullptr;
    if (cudaMalloc(&p, n * sizeof(T)) == cudaSuccess) {
      held_.push_back(p);
      cudaMemset(p, value, n * sizeof(T));
    }
    return p;
  }
  template <class T>
  T* copy(const std::vector<T>& host) {
    T* p = bytes<T>(host.size());
    cudaMemcpy(p, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
    return p;
  }
  /// Element i is f(i).
  template <class F>
  auto* filled(std::size_t n, F f) {
    std::vector<decltype(f(n))> host(n);
    for (std::size_t i = 0; i < n; ++i) host[i] = f(i);
    return copy(host);
  }

 private:
  std::vector<void*> held_;
};

inline cudaError_t finished() {
  const cudaError_t error = cudaDeviceSynchronize();
  return error != cudaSuccess ? error : cudaGetLastError();
}

/// The same on every machine.
inline std::uint32_t hash(std::size_t i) {
  std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761u + 12345u;
  x = (x ^ (x >> 15)) * 2246822519u;
  x = (x ^ (x >> 13)) * 3266489917u;
  return x ^ (x >> 16);
}
/// In [-1, 1).
inline float noise(std::size_t i) { return static_cast<float>(hash(i) >> 8) * (1.0f / 8388608.0f) - 1.0f; }

inline std::vector<int> permutation(std::size_t n) {
  std::vector<int> p(n);
  std::iota(p.begin(), p.end(), 0);
  for (std::size_t i = n - 1; i > 0; --i) std::swap(p[i], p[hash(i) % (i + 1)]);
  return p;
}

constexpr unsigned blocks_for(std::size_t n, std::size_t block) {
  return static_cast<unsigned>((n + block - 1) / block);
}

}  // namespace goldens
