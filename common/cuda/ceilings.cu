// Measures what this GPU's memory can do: a copy on the device, reading alone and writing alone, at two sizes.
// Throughput bars of the labs are fractions of such ceilings, never of the datasheet's figures.
#include <lab/device.hpp>
#include <lab/environment.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <vector>

namespace {

constexpr int block = 256;
constexpr int in_flight = 8;  // independent 16-byte accesses per thread

__global__ void fill_random(uint4* out,  // (n)
                            std::size_t n) {
  for (std::size_t i = blockIdx.x * std::size_t{block} + threadIdx.x; i < n; i += gridDim.x * std::size_t{block}) {
    std::uint64_t z = (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    out[i] = make_uint4(static_cast<unsigned>(z), static_cast<unsigned>(z >> 32), static_cast<unsigned>(z >> 13),
                        static_cast<unsigned>(z >> 29));
  }
}

/// Reads all of `in`. The compiler cannot drop a load: the sum would be stored if it had a value that never occurs.
__global__ void read_all(const uint4* in,  // (n), n a multiple of block * in_flight
                         unsigned* sum) {
  const uint4* mine = in + blockIdx.x * std::size_t{block * in_flight} + threadIdx.x;
  uint4 values[in_flight];
#pragma unroll
  for (int k = 0; k < in_flight; ++k) values[k] = __ldcs(mine + k * block);
  unsigned bits = 0;
#pragma unroll
  for (int k = 0; k < in_flight; ++k) bits |= values[k].x ^ values[k].y ^ values[k].z ^ values[k].w;
  if (bits == 0) *sum = bits;
}

__global__ void write_all(uint4* out) {  // (n), n a multiple of block * in_flight
  uint4* mine = out + blockIdx.x * std::size_t{block * in_flight} + threadIdx.x;
  const unsigned value = (blockIdx.x * block + threadIdx.x) * 2654435761u;
#pragma unroll
  for (int k = 0; k < in_flight; ++k)
    __stcs(mine + k * block, make_uint4(value, ~value, value + k, value ^ 0x55AA55AAu));
}

/// Prints the rate at which `work` moves `bytes`, as one JSON object: median, 10th and 90th percentile.
void print_rate(const char* name, double bytes, const lab::stream& where, const std::function<void()>& work,
                const char* separator) {
  constexpr int warm_ups = 10, samples = 50;
  std::vector<double> rates;
  lab::event start, stop;
  for (int i = 0; i < warm_ups + samples; ++i) {
    start.record(where);
    work();
    stop.record(where);
    const double seconds = stop.seconds_since(start);
    LAB_CUDA_CHECK(cudaGetLastError());
    if (i >= warm_ups) rates.push_back(bytes / seconds);
  }
  std::sort(rates.begin(), rates.end());
  std::printf("    \"%s\": {\"median\": %.5g, \"p10\": %.5g, \"p90\": %.5g, \"samples\": %d}%s\n", name,
              rates[samples / 2], rates[samples / 10], rates[samples - 1 - samples / 10], samples, separator);
}

void print_environment(const char* key) {
  std::printf("  \"%s\": {", key);
  const char* separator = "";
  for (const auto& [name, value] : lab::environment()) {
    std::printf("%s\n    \"%s\": \"%s\"", separator, name.c_str(), value.c_str());
    separator = ",";
  }
  std::printf("\n  },\n");
}

void print_ceilings() {
  int device = 0, runtime = 0, driver = 0;
  cudaDeviceProp properties;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  LAB_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
  LAB_CUDA_CHECK(cudaDriverGetVersion(&driver));
  std::printf("{\n");
  print_environment("environment");
  std::printf("  \"device\": {\"name\": \"%s\", \"multiprocessors\": %d, \"l2_bytes\": %d, \"global_bytes\": %zu},\n",
              properties.name, properties.multiProcessorCount, properties.l2CacheSize, properties.totalGlobalMem);
  std::printf("  \"cuda\": {\"runtime\": %d, \"driver\": %d},\n", runtime, driver);
  std::printf("  \"unit\": \"bytes per second; a copy counts what it reads and what it writes\",\n");

  const lab::stream where;
  const lab::device_buffer<unsigned> sum(1);
  constexpr std::size_t sizes[] = {std::size_t{1} << 30, std::size_t{1} << 32};
  for (const std::size_t bytes : sizes) {
    const std::size_t n = bytes / sizeof(uint4);
    const auto blocks = static_cast<unsigned>(n / (block * in_flight));
    const lab::device_buffer<uint4> from(n, 0), to(n, 0);
    fill_random<<<4096, block, 0, where.get()>>>(from.data(), n);
    LAB_CUDA_CHECK(cudaGetLastError());
    std::printf("  \"%zu\": {\n", bytes);
    print_rate(
        "copy", 2.0 * static_cast<double>(bytes), where,
        [&] { LAB_CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, where.get())); },
        ",");
    print_rate(
        "read", static_cast<double>(bytes), where,
        [&] { read_all<<<blocks, block, 0, where.get()>>>(from.data(), sum.data()); }, ",");
    print_rate(
        "write", static_cast<double>(bytes), where, [&] { write_all<<<blocks, block, 0, where.get()>>>(to.data()); },
        ",");
    print_rate(
        "memset", static_cast<double>(bytes), where,
        [&] { LAB_CUDA_CHECK(cudaMemsetAsync(to.data(), 0x5A, bytes, where.get())); }, "");
    std::printf("  },\n");
  }
  print_environment("environment_after");
  std::printf("  \"samples_warm_up\": 10\n}\n");
}

}  // namespace

int main() {
  try {
    print_ceilings();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device_ceilings: %s\n", e.what());
    return 1;
  }
}
