// Measures a GPU's roofs, in the same run as the work compared with them.
#include "roofs.hpp"

#include <cublas_v2.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "lab/device.hpp"

namespace lab {
namespace {

constexpr int block = 256;

__global__ void fill_random(std::uint16_t* out,  // (n) bf16 numbers from 1 to 2, two per float
                            std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < n; i += gridDim.x * std::size_t{block})
    out[i] = static_cast<std::uint16_t>(0x3F80u | ((static_cast<unsigned>(i) * 2654435761u) >> 25));
}

constexpr int chains = 8, steps = 4096;

/// Independent chains of multiply-adds; stores a result only if it has a value that never occurs.
__global__ void multiply_add(float* out, float a, float b) {
  float x[chains];
#pragma unroll
  for (int k = 0; k < chains; ++k) x[k] = static_cast<float>(threadIdx.x + k);
  for (int i = 0; i < steps; ++i)
#pragma unroll
    for (int k = 0; k < chains; ++k) x[k] = fmaf(x[k], a, b);
  float sum = 0.0f;
#pragma unroll
  for (int k = 0; k < chains; ++k) sum += x[k];
  if (sum == 12345.678f) *out = sum;
}

/// Reads `in` repeatedly, bypassing L1; stores a result only if it has a value that never occurs.
__global__ void read_again(unsigned* out, const uint4* in, std::size_t n, int rounds) {
  unsigned bits = 0;
  for (int r = 0; r < rounds; ++r)
#pragma unroll 8
    for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < n; i += gridDim.x * std::size_t{block}) {
      const uint4 v = __ldcg(in + i);
      bits |= v.x ^ v.y ^ v.z ^ v.w;
    }
  if (bits == 0) *out = bits;
}

/// The median of several runs, after the same number of warm-up runs.
double seconds_of(const stream& where, const std::function<void()>& work) {
  constexpr std::size_t samples = 9;
  std::vector<double> seconds;
  event start, stop;
  for (std::size_t i = 0; i < 2 * samples; ++i) {
    start.record(where);
    work();
    stop.record(where);
    LAB_CUDA_CHECK(cudaGetLastError());
    const double s = stop.seconds_since(start);
    if (i >= samples) seconds.push_back(s);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[samples / 2];
}

double product_rate(cublasHandle_t handle, const stream& where, cudaDataType type, cublasComputeType_t compute,
                    std::size_t element_bytes) {
  constexpr int n = 8192;
  constexpr std::size_t elements = std::size_t{n} * n;
  const device_buffer<std::byte> a(elements * element_bytes, 0), b(elements * element_bytes, 0),
      c(elements * element_bytes, 0);
  for (const auto* matrix : {&a, &b})
    fill_random<<<1024, block, 0, where.get()>>>(reinterpret_cast<std::uint16_t*>(matrix->data()), matrix->bytes() / 2);
  LAB_CUDA_CHECK(cudaGetLastError());
  const float one = 1.0f, zero = 0.0f;
  const double seconds = seconds_of(where, [&] {
    const cublasStatus_t status =
        cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a.data(), type, n, b.data(), type, n, &zero,
                     c.data(), type, n, compute, CUBLAS_GEMM_DEFAULT);
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS error " + std::to_string(status));
  });
  return 2.0 * n * n * n / seconds;
}

}  // namespace

roofs measured_roofs() {
  int device = 0;
  cudaDeviceProp properties;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  const stream where;
  const auto blocks =
      static_cast<unsigned>(properties.multiProcessorCount * (properties.maxThreadsPerMultiProcessor / block));
  roofs r;

  const device_buffer<float> never(1);
  r.flops_per_second.emplace_back("FP32", 2.0 * chains * steps * blocks * block / seconds_of(where, [&] {
                                            multiply_add<<<blocks, block, 0, where.get()>>>(never.data(), 0.999f, 0.5f);
                                          }));
  {
    constexpr std::size_t bytes = std::size_t{1} << 30;
    const device_buffer<std::byte> from(bytes, 0), to(bytes, 0);
    fill_random<<<blocks, block, 0, where.get()>>>(reinterpret_cast<std::uint16_t*>(from.data()), bytes / 2);
    r.bytes_per_second.emplace_back(
        "DRAM", 2.0 * bytes / seconds_of(where, [&] {
                  LAB_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, where.get()));
                }));
  }
  {
    constexpr int rounds = 32;
    const std::size_t n = static_cast<std::size_t>(properties.l2CacheSize) / 4 / sizeof(uint4);
    const device_buffer<uint4> cached(n, 0);
    fill_random<<<blocks, block, 0, where.get()>>>(reinterpret_cast<std::uint16_t*>(cached.data()), cached.bytes() / 2);
    r.bytes_per_second.emplace_back("L2", static_cast<double>(cached.bytes()) * rounds / seconds_of(where, [&] {
                                            read_again<<<blocks, block, 0, where.get()>>>(
                                                reinterpret_cast<unsigned*>(never.data()), cached.data(), n, rounds);
                                          }));
  }
  if (properties.major >= 8) {  // bf16 and TF32
    cublasHandle_t handle = nullptr;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS failed to start");
    try {
      cublasSetStream(handle, where.get());
      r.flops_per_second.emplace_back("TF32 tensor",
                                      product_rate(handle, where, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 4));
      r.flops_per_second.emplace_back("bf16 tensor", product_rate(handle, where, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 2));
    } catch (...) {
      cublasDestroy(handle);
      throw;
    }
    cublasDestroy(handle);
  }
  return r;
}

}  // namespace lab
