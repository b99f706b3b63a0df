// Wrong on purpose: nine kernels where one would do.
#include <lab/device.hpp>

#include "fusion.hpp"

namespace lab04 {
void gelu(float* out, const float* in, int n, cudaStream_t stream) {
  gelu_unfused(out, in, n, stream);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab04
