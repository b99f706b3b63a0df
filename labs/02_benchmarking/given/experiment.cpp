// Lab 02, given: the lecture's two tables on this computer, timed by your own benchmark(). Matrix products by Eigen on
// one core and, on a GPU, by cuBLAS in FP32; the MLP of mlp.cu, and the same by Eigen. On a GPU it also compares your
// benchmark() with CUDA events. With --json, it prints only the figures; with an option of Google Benchmark, it runs
// your own benchmarks instead.
#include <cublas_v2.h>

#include <Eigen/Dense>
#include <cmath>
#include <cstdio>
#include <functional>
#include <lab/device.hpp>
#include <lab/environment.hpp>
#include <lab/execute.hpp>
#include <lab/experiment.hpp>
#include <lab/product.hpp>
#include <lab/statistics.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "loops.hpp"
#include "mlp.hpp"
#include "real_machine.hpp"

namespace {

using namespace lab02;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// Work that gives the same result on every call, on the CPU or in the GPU's default stream.
class repeated : public real_machine {
 public:
  explicit repeated(std::function<void()> work, bool on_gpu) : work_(std::move(work)), on_gpu_(on_gpu) {}
  void prepare(int) override {}  // a matrix product takes the same time whatever the values
  void touch() override {}
  result run(int) override {
    work_();
    return {};
  }
  void wait_for_stream() override { wait_for_device(); }
  void wait_for_device() override {
    if (on_gpu_) LAB_CUDA_CHECK(cudaDeviceSynchronize());
  }

 private:
  std::function<void()> work_;
  bool on_gpu_;
};

timing timed(bool on_gpu, std::function<void()> work) {
  repeated m(std::move(work), on_gpu);
  return lab02::benchmark(m, {false, 11, 0.01, 2.0});
}

/// Values on the GPU. Any will do, but memory that is not initialized may hold NaN.
lab::device_buffer<float> on_gpu(std::size_t count) {
  lab::device_buffer<float> made(count);
  const std::vector<float> values(count, 0.01f);
  LAB_CUDA_CHECK(cudaMemcpy(made.data(), values.data(), made.bytes(), cudaMemcpyHostToDevice));
  return made;
}

/// A product of n x n matrices in the GPU's default stream.
class gpu_product {
 public:
  explicit gpu_product(int n) : n_(n) { cublasCreate(&handle_); }
  ~gpu_product() { cublasDestroy(handle_); }
  gpu_product(const gpu_product&) = delete;  // owns the handle
  gpu_product& operator=(const gpu_product&) = delete;
  void launch() const { lab::row_major_product(handle_, lab::dtype::f32, n_, n_, n_, a_.data(), b_.data(), c_.data()); }

 private:
  int n_;
  std::size_t elements_ = static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_);
  lab::device_buffer<float> a_ = on_gpu(elements_), b_ = on_gpu(elements_), c_ = on_gpu(elements_);
  cublasHandle_t handle_ = nullptr;
};

timing product(bool gpu, int n) {
  if (!gpu) {
    const matrix a = matrix::Random(n, n), b = matrix::Random(n, n);
    matrix c(n, n);
    return timed(false, [&] { c.noalias() = a * b; });
  }
  const gpu_product p(n);
  return timed(true, [&] { p.launch(); });
}

constexpr int compared_n = 4096;

/// The seconds that benchmark() reports for a product over those between two CUDA events around it, alternating.
std::vector<double> against_events() {
  const gpu_product p(compared_n);
  const lab::stream where;
  lab::event start, stop;
  std::vector<double> ratios;
  for (int round = 0; round < 11; ++round) {
    const double reported = timed(true, [&] { p.launch(); }).median_seconds;
    std::vector<double> seconds;
    for (int i = 0; i < 11; ++i) {
      LAB_CUDA_CHECK(cudaDeviceSynchronize());
      start.record(where);
      p.launch();
      stop.record(where);
      seconds.push_back(stop.seconds_since(start));
    }
    ratios.push_back(reported / lab::median(seconds));
  }
  return ratios;
}

struct shape {
  const char* name;
  int steps = 2, layers = 4, batch = 256, width = 256;
  double work() const { return 1.0 * steps * layers * batch * width * width; }
};

timing network(bool gpu, const shape& s) {
  const auto state = static_cast<std::size_t>(s.batch) * static_cast<std::size_t>(s.width);
  if (!gpu) {
    const matrix x = matrix::Random(s.batch, s.width), w = matrix::Random(s.width, s.width) * 0.1f;
    matrix out, next;
    return timed(false, [&] {
      for (int step = 0; step < s.steps; ++step) {
        out = x;
        for (int layer = 0; layer < s.layers; ++layer) {
          next.noalias() = out * w;
          out = 0.5f * next.array() * (1.0f + (0.79788456f * (next.array() + 0.044715f * next.array().cube())).tanh());
        }
      }
    });
  }
  const auto out = on_gpu(state), scratch = on_gpu(state), x = on_gpu(state);
  const auto w = on_gpu(static_cast<std::size_t>(s.width) * static_cast<std::size_t>(s.width));
  return timed(
      true, [&] { mlp(out.data(), scratch.data(), x.data(), w.data(), s.layers, s.batch, s.width, s.steps, nullptr); });
}

struct row {
  std::string table, name;
  timing time;
  double figure = 0;
  const char* unit = "";
};

std::vector<row> tables(bool gpu) {
  const std::string place = gpu ? "GPU" : "CPU";
  std::vector<row> all;
  for (int n = gpu ? 1024 : 128; n <= (gpu ? 16384 : 2048); n *= 2) {
    const timing t = product(gpu, n);
    all.push_back(
        {place + ", product of n x n matrices", std::to_string(n), t, 2e-9 * n * n * n / t.median_seconds, "GFLOP/s"});
  }
  const shape shapes[] = {
      {"base"}, {"steps x5", 10}, {"layers x5", 2, 20}, {"batch x5", 2, 4, 1280}, {"width x5", 2, 4, 256, 1280}};
  double base = 0;
  for (const shape& s : shapes) {
    const timing t = network(gpu, s);
    if (base == 0) base = t.median_seconds;
    all.push_back({place + ", MLP of 4 layers, batch and width 256, 2 steps", s.name, t, t.median_seconds / base,
                   s.width > 256 ? "times, for 25 times the work" : "times"});
  }
  return all;
}

void print(const std::vector<row>& rows, const std::vector<double>& ratios) {
  std::string table;
  for (const row& r : rows) {
    if (r.table != table) std::printf("%s\n", r.table.c_str());
    table = r.table;
    std::printf("  %-10s %10.4f ms %10.4g %s\n", r.name.c_str(), 1e3 * r.time.median_seconds, r.figure, r.unit);
  }
  if (!ratios.empty())
    std::printf("GPU, product of %d x %d matrices: your benchmark reports %.4f of the time between CUDA events\n",
                compared_n, compared_n, lab::median(ratios));
}

void print_json(const std::vector<row>& rows, const std::vector<double>& ratios) {
  nlohmann::ordered_json all{{"environment", lab::environment()}};
  for (const row& r : rows)
    all["tables"][r.table].push_back(
        {{"case", r.name}, {"seconds", r.time.median_seconds}, {"samples", r.time.samples}, {r.unit, r.figure}});
  if (!ratios.empty())
    all["against_events"] = {{"n", compared_n},
                             {"ratio",
                              {{"median", lab::median(ratios)},
                               {"p10", lab::quantile(ratios, 0.1)},
                               {"p90", lab::quantile(ratios, 0.9)},
                               {"rounds", ratios.size()}}},
                             {"off", std::abs(lab::median(ratios) - 1)}};
  std::printf("%s\n", all.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]).starts_with("--benchmark_")) {
    register_benchmarks();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
  }
  return lab::experiment(argc, argv, [](bool json) {
    std::vector<row> rows = tables(false);
    std::vector<double> ratios;
    if (lab::backend_name() == "cuda") {
      for (row& r : tables(true)) rows.push_back(std::move(r));
      ratios = against_events();
    }
    json ? print_json(rows, ratios) : print(rows, ratios);
  });
}
