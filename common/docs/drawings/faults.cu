// Programs with bugs, which deck 13 quotes and runs, and what the simulated device reports about them.
#include <cuda_runtime.h>

#include <lab/device.hpp>
#include <lab/profiler.hpp>

#include <functional>
#include <stdexcept>
#include <utility>

#include "counted.hpp"

namespace drawings {
namespace {

//! [add_up]
__global__ void add_up(float* sums, float* const* texts, const int* lengths) {
  const int text = blockIdx.x;
  float sum = 0;
  for (int i = threadIdx.x; i < lengths[text]; i += 32) sum += texts[text][i];
  atomicAdd(&sums[text], sum);
}
//! [add_up]

__global__ void peek(float* out, const float* in, int i) { *out = in[i]; }

__global__ void turn_around(float* out) {
  __shared__ float tile[64];
  tile[threadIdx.x] = 1;
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

/// The first report without the file's folder; empty if there is none.
std::string report_of(const std::function<void()>& run) {
  const std::vector<std::string> reports = lab::profiler({}).collect(run).reports;
  if (reports.empty()) return "";
  const std::string& first = reports.front();
  const auto file = first.find("faults.cu");
  if (file == std::string::npos) throw std::runtime_error("a report of another file: " + first);
  return first.substr(file);
}

}  // namespace

std::string reported_lengths() {
  std::vector<int> lengths = {40, 60, 50};
  std::vector<float*> texts(3);
  for (std::size_t t = 0; t < 3; ++t) {
    LAB_CUDA_CHECK(cudaMalloc(&texts[t], 64 * sizeof(float)));
    LAB_CUDA_CHECK(cudaMemset(texts[t], 0, lengths[t] * sizeof(float)));
  }
  const std::vector<float*> to_free = texts;
  lab::device_buffer<float> sums(3);
  lab::device_buffer<float*> d_texts(3);
  lab::device_buffer<int> d_lengths(3);
  LAB_CUDA_CHECK(cudaMemset(sums.data(), 0, sums.bytes()));
  //! [swap]
  std::swap(texts[0], texts[1]);
  cudaMemcpy(d_texts.data(), texts.data(), d_texts.bytes(), cudaMemcpyHostToDevice);
  cudaMemcpy(d_lengths.data(), lengths.data(), d_lengths.bytes(), cudaMemcpyHostToDevice);
  //! [swap]
  const std::string report = report_of([&] { add_up<<<3, 32>>>(sums.data(), d_texts.data(), d_lengths.data()); });
  for (float* text : to_free) LAB_CUDA_CHECK(cudaFree(text));
  return report;
}

std::vector<std::string> reported_reads() {
  lab::device_buffer<float> out(1);
  float* in = nullptr;
  LAB_CUDA_CHECK(cudaMalloc(&in, 64 * sizeof(float)));
  std::vector<std::string> all;
  const auto read = [&](int i) { all.push_back(report_of([&] { peek<<<1, 1>>>(out.data(), in, i); })); };
  read(0);
  LAB_CUDA_CHECK(cudaMemset(in, 0, 40 * sizeof(float)));
  read(0);
  read(40);
  read(64);
  LAB_CUDA_CHECK(cudaFree(in));
  read(0);
  LAB_CUDA_CHECK(cudaDeviceReset());
  return all;
}

std::string reported_race() {
  lab::device_buffer<float> out(64);
  return report_of([&] { turn_around<<<1, 64>>>(out.data()); });
}

}  // namespace drawings
