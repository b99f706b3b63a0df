// How close streaming.cu comes to the bus on a GPU: calls of forward for 100 and for 2 layers beside one copy, from
// pinned memory, of as many bytes as 98 layers have; alternating, by the host's clock. The difference leaves out what a
// call allocates. The reader does nothing, so that the host's own copying is not measured; the lab's cases check the
// results.
//   cmake --build build --target lab12.solution.cuda.tables && build/bin/lab12.solution.cuda.tables [--json]
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <lab/device.hpp>
#include <lab/environment.hpp>
#include <lab/experiment.hpp>
#include <lab/statistics.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "host.hpp"

namespace {

constexpr int many = 100, few = 2, n = 1024, rounds = 60, warm_ups = 5;
constexpr std::size_t bytes = std::size_t{many - few} * n * n * sizeof(float);

std::unique_ptr<void, decltype(&cudaFreeHost)> pinned() {
  void* made = nullptr;
  LAB_CUDA_CHECK(cudaMallocHost(&made, bytes));
  return {made, &cudaFreeHost};
}

double seconds_of(const std::function<void()>& work) {
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  const auto start = std::chrono::steady_clock::now();
  work();
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

nlohmann::ordered_json spread(const std::vector<double>& of) {
  return {{"median", lab::median(of)},
          {"p10", lab::quantile(of, 0.1)},
          {"p90", lab::quantile(of, 0.9)},
          {"samples", of.size()}};
}

}  // namespace

int main(int argc, char** argv) {
  return lab::experiment(argc, argv, [](bool json) {
    nlohmann::ordered_json out{{"environment", lab::environment()}};
    const std::vector<float> ones(n, 1);
    const lab::device_buffer<float> token(n), x(n);
    const lab::device_buffer<std::byte> copied(bytes);
    LAB_CUDA_CHECK(cudaMemcpy(token.data(), ones.data(), token.bytes(), cudaMemcpyHostToDevice));
    const auto from = pinned();
    const lab12::weights none{[](void*, int, float*) {}, nullptr};
    const auto forward = [&](int layers) {
      return seconds_of([&] { lab12::forward(x.data(), token.data(), none, layers, n); });
    };
    std::vector<double> whole, setup, copy, speed;
    for (int i = 0; i < warm_ups + rounds; ++i) {
      const double of_many = forward(many), of_few = forward(few);
      const double of_copy = seconds_of(
          [&] { LAB_CUDA_CHECK(cudaMemcpyAsync(copied.data(), from.get(), bytes, cudaMemcpyHostToDevice)); });
      if (i < warm_ups) continue;
      whole.push_back(of_many);
      setup.push_back(of_few);
      copy.push_back(of_copy);
      speed.push_back(of_copy / (of_many - of_few));
    }
    out["forward"] = {{"n", n},
                      {"seconds_of_100_layers", spread(whole)},
                      {"seconds_of_2_layers", spread(setup)},
                      {"seconds_of_one_copy", spread(copy)},
                      {"speed", spread(speed)}};
    out["environment_after"] = lab::environment();
    if (json)
      std::printf("%s\n", out.dump(1).c_str());
    else
      std::printf(
          "forward, n = %d: %.2f ms for %d layers, %.2f for %d; a copy of the difference: %.2f ms, %.1f GB/s; speed "
          "%.4f (%.4f to %.4f)\n",
          n, 1e3 * lab::median(whole), many, 1e3 * lab::median(setup), few, 1e3 * lab::median(copy),
          1e-9 * bytes / lab::median(copy), lab::median(speed), lab::quantile(speed, 0.1), lab::quantile(speed, 0.9));
  });
}
