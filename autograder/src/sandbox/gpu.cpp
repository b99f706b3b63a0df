// Every copy is synchronous: the judge has no work on the GPU while a runner's clock runs.
#include "sandbox/gpu.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "lab/device.hpp"
#include "shared_memory.hpp"

namespace grading {
namespace fs = std::filesystem;

namespace {

class cuda_memory : public gpu_memory {
 public:
  explicit cuda_memory(std::size_t bytes) : memory_(bytes) {}
  std::size_t bytes() const override { return memory_.bytes().size(); }
  int descriptor() const override { return memory_.descriptor(); }
  void write(std::span<const std::byte> from) override {
    LAB_CUDA_CHECK(cudaMemcpy(memory_.bytes().data(), from.data(), from.size(), cudaMemcpyHostToDevice));
    LAB_CUDA_CHECK(cudaDeviceSynchronize());
  }
  void read(std::span<std::byte> to) override {
    LAB_CUDA_CHECK(cudaMemcpy(to.data(), memory_.bytes().data(), to.size(), cudaMemcpyDeviceToHost));
  }

 private:
  lab::shared_device_memory memory_;
};

class cuda_gpu : public gpu {
 public:
  void add_to(box& what) override {
    LAB_CUDA_CHECK(cudaFree(nullptr));  // loads the driver from wherever this machine has it
    std::ifstream maps("/proc/self/maps");
    // The driver loads libraries from its own folder through the loader's search path. If it does not find them,
    // cuBLAS's FP32 product takes three times as long (4096 x 4096 x 4096 on an H200: 8.0 ms instead of 2.7).
    for (std::string line; what.driver.empty() && std::getline(maps, line);)
      if (line.find("/libcuda.so") != std::string::npos)
        what.driver = fs::canonical(line.substr(line.find('/'))).parent_path();
    if (what.driver.empty()) throw std::runtime_error("the grader is not linked with the GPU driver");
    // Only the judge's GPU: a kernel on another could still run when this one's work is done.
    const char* seen = std::getenv("CUDA_VISIBLE_DEVICES");
    const std::string all = seen ? seen : "0";
    what.variables["CUDA_VISIBLE_DEVICES"] = all.substr(0, all.find(','));
    if (const char* order = std::getenv("CUDA_DEVICE_ORDER")) what.variables["CUDA_DEVICE_ORDER"] = order;
    what.mounts.push_back({"/sys", "/sys"});
    for (const auto& entry : fs::directory_iterator("/dev"))
      if (entry.path().filename().string().starts_with("nvidia") && !entry.is_directory())
        what.devices.push_back(entry.path());
  }
  std::unique_ptr<gpu_memory> share(std::size_t bytes) override { return std::make_unique<cuda_memory>(bytes); }
};

}  // namespace

gpu* this_gpu() {
  static cuda_gpu only;
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0 ? &only : nullptr;
}

}  // namespace grading
