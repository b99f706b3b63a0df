// LLM-Eigen on one core, with the widest vectors that it has.
// Eigen's templates, compiled here for this machine and in the simulated device's cuBLAS for any, may not be mixed up
// by the linker: here they get a name of their own.
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
