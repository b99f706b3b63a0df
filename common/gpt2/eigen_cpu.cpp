// LLM-Eigen on one core, with its widest vectors. Eigen's templates are compiled for this machine here, but for any
// machine in the simulated device's cuBLAS. Here they have another name, so that the linker does not mix them up.
#define Eigen EigenOfThisMachine
#include "eigen_pass.hpp"

namespace gpt2 {
namespace {

class on_cpu : Eigen::DefaultDevice, public eigen_pass<Eigen::DefaultDevice> {
 public:
  explicit on_cpu(const checkpoint& model) : eigen_pass<Eigen::DefaultDevice>(model, *this) {}
};

}  // namespace

std::unique_ptr<pass> make_eigen_on_cpu(const checkpoint& model) { return std::make_unique<on_cpu>(model); }

}  // namespace gpt2
