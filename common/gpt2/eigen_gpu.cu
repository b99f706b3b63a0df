#pragma nv_diag_suppress 20012  // of Eigen's own defaulted functions
#define EIGEN_USE_GPU
#include "eigen_pass.hpp"
namespace gpt2 {
namespace {
struct stream_and_device {
  Eigen::GpuStreamDevice stream;
  Eigen::GpuDevice device{&stream};
};
class on_gpu : stream_and_device, public eigen_pass<Eigen::GpuDevice> {
 public:
  explicit on_gpu(const checkpoint& model) : eigen_pass<Eigen::GpuDevice>(model, device) {}
};
}  // namespace
std::unique_ptr<pass> make_eigen_on_gpu(const checkpoint& model) { return std::make_unique<on_gpu>(model); }
}  // namespace gpt2
