// Lab 07, given: the staircase on this device. It times products of n x n matrices, by a kernel with one tile size and
// one block per multiprocessor, and prints what your own seconds() and waves() predict. With --json it prints only the
// figures.
#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <lab/device.hpp>
#include <lab/environment.hpp>
#include <lab/execute.hpp>
#include <lab/experiment.hpp>
#include <lab/statistics.hpp>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "quantization.hpp"

namespace {

using namespace lab07;

struct step {
  std::int64_t n, k;
  double measured = 0, modelled = 0;
  double error() const { return std::abs(modelled / measured - 1); }
};

struct sweep {
  kernel by;
  std::vector<step> steps;
  double mean_error = 0, largest_error = 0;
  std::string name() const { return std::to_string(by.tile_m) + " x " + std::to_string(by.tile_n); }
};

/// This device without its rates: the sweep finds the FLOP rate, and L2 counts as fast enough.
device this_device() {
  cudaDeviceProp p{};
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&p, 0));
  device on{};
  on.multiprocessors = p.multiProcessorCount;
  on.threads_of_sm = p.maxThreadsPerMultiProcessor;
  on.blocks_of_sm = p.maxBlocksPerMultiProcessor;
  on.registers_of_sm = p.regsPerMultiprocessor;
  on.shared_bytes_of_sm = static_cast<int>(p.sharedMemPerMultiprocessor);
  on.register_unit = 256;
  on.reserved_bytes = static_cast<int>(p.reservedSharedMemPerBlock);
  on.flops_per_second = 1e12;
  on.l2_bytes_per_second = 1e30;
  return on;
}

/// The first one adds up nothing: it shows how long a launch takes. On the simulated device k is short: the staircase
/// is the same, and n^3 operations would take minutes.
std::vector<step> sizes(bool gpu) {
  std::vector<step> all{{1, 0}};
  if (!gpu)
    for (const int n : {640, 641, 1280, 1281, 1408, 1409, 1792, 1793, 2048, 2049}) all.push_back({n, 16});
  for (std::int64_t n = 256; gpu && n <= 4352; n += 64)
    for (const std::int64_t one : {n, n + 1}) all.push_back({one, one});
  return all;
}

using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

lab::device_buffer<float> on_device(const matrix& from) {
  lab::device_buffer<float> made(static_cast<std::size_t>(from.size()));
  LAB_CUDA_CHECK(cudaMemcpy(made.data(), from.data(), made.bytes(), cudaMemcpyHostToDevice));
  return made;
}

/// Checks that the timed kernel is right, also at the edges of the matrix and of k.
void check(int tile_m) {
  const int n = 2 * tile_m + 1, k = 41, ld = n + 3;
  const matrix a = matrix::Random(n, ld), b = matrix::Random(k, ld);
  matrix c(n, ld);
  const auto from_a = on_device(a), from_b = on_device(b), to = on_device(c);
  wide_tile_gemm(to.data(), from_a.data(), from_b.data(), n, k, ld, tile_m, nullptr);
  LAB_CUDA_CHECK(cudaMemcpy(c.data(), to.data(), to.bytes(), cudaMemcpyDeviceToHost));
  if (!((c.leftCols(n) - a.leftCols(k) * b.leftCols(n)).cwiseAbs().maxCoeff() < 1e-4f))
    throw std::runtime_error("the kernel of staircase.cu is wrong");
}

/// Medians of several repetitions, each of which runs every size. All have the same ld, a multiple of 32: packed
/// rows of odd length would cost more sectors, an effect of alignment and not of the staircase.
void measure(sweep& s, int repetitions) {
  const auto most = static_cast<int>(s.steps.back().n);
  const int ld = (most + 31) / 32 * 32;
  const matrix values = matrix::Random(most, ld);
  const auto a = on_device(values), b = on_device(values), c = on_device(values);
  const lab::stream stream;
  lab::event begin, end;
  std::vector<std::vector<double>> seconds(s.steps.size());
  for (int repetition = -1; repetition < repetitions; ++repetition)  // the first one is a warm-up
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
      begin.record(stream);
      wide_tile_gemm(c.data(), a.data(), b.data(), static_cast<int>(s.steps[i].n), static_cast<int>(s.steps[i].k), ld,
                     s.by.tile_m, stream.get());
      end.record(stream);
      const double took = end.seconds_since(begin);
      if (repetition >= 0) seconds[i].push_back(took);
    }
  for (std::size_t i = 0; i < s.steps.size(); ++i) s.steps[i].measured = lab::median(seconds[i]);
}

/// Sets one rate for all sizes, the median of each size's rate; the rest is your model.
void model(sweep& s, device on) {
  const auto modelled = [&](const step& at) { return seconds({at.n, at.n, at.k}, s.by, on); };
  const double launch = s.steps.front().measured;
  s.steps.erase(s.steps.begin());
  std::vector<double> rates;
  for (const step& at : s.steps) rates.push_back(on.flops_per_second * modelled(at) / (at.measured - launch));
  on.flops_per_second = lab::median(rates);
  on.launch_seconds = launch;
  for (step& at : s.steps) {
    at.modelled = modelled(at);
    s.mean_error += at.error() / static_cast<double>(s.steps.size());
    s.largest_error = std::max(s.largest_error, at.error());
  }
}

void print(const sweep& s, const device& on) {
  std::printf("tiles of %s, one block per multiprocessor\n%8s %8s %8s %14s %14s\n", s.name().c_str(), "n", "blocks",
              "waves", "device ms", "your model ms");
  for (const step& at : s.steps) {
    const shape product{at.n, at.n, at.k};
    std::printf("%8lld %8lld %8lld %14.4f %14.4f\n", static_cast<long long>(at.n),
                static_cast<long long>(tiles(product, s.by)), static_cast<long long>(waves(product, s.by, on)),
                1e3 * at.measured, 1e3 * at.modelled);
  }
  std::printf("your model is wrong by %.1f %% on average, by %.0f %% at most\n\n", 100 * s.mean_error,
              100 * s.largest_error);
}

void print_json(const std::vector<sweep>& all) {
  nlohmann::ordered_json out{{"environment", lab::environment()}};
  for (const sweep& s : all) {
    out["model_error"][s.name()] = {{"mean", s.mean_error}, {"largest", s.largest_error}};
    for (const step& at : s.steps)
      out["staircase"][s.name()].push_back(
          {{"n", at.n}, {"k", at.k}, {"seconds", at.measured}, {"modelled", at.modelled}});
  }
  std::printf("%s\n", out.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  return lab::experiment(argc, argv, [](bool json) {
    const bool gpu = lab::backend_name() == "cuda";
    const device on = this_device();
    std::vector<sweep> all;
    for (const int tile_m : {128, 256}) {
      // The kernel also reserves the rest of the shared memory.
      sweep s{{tile_m, 128, 256, 255, on.shared_bytes_of_sm - on.reserved_bytes, 4}, sizes(gpu)};
      check(tile_m);
      measure(s, gpu ? 7 : 1);
      model(s, on);
      all.push_back(std::move(s));
    }
    if (json)
      print_json(all);
    else
      for (const sweep& s : all) print(s, on);
  });
}
