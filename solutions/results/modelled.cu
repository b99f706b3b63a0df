// Solutions of labs 03, 04 and 06, for the times that the simulated device models: a table of comparison.md. In the
// root:
//   ./course run --device rtx4090 --sample 16 solutions/results/modelled.cu solutions/03_coalescing/handin/transpose.cu
//     solutions/04_fusion/handin/fused.cu solutions/06_tiling/handin/sgemm.cu -Icommon/include -Ilabs/03_coalescing
//     -Ilabs/04_fusion -Ilabs/06_tiling
#include <lab/device.hpp>

#include "../../labs/03_coalescing/coalescing.hpp"
#include "../../labs/04_fusion/fusion.hpp"
#include "../../labs/06_tiling/tiling.hpp"

int main() {
  constexpr int n = 4096, side = 1024;
  lab::device_buffer<float> in(n * n), out(n * n);
  LAB_CUDA_CHECK(cudaMemset(in.data(), 0, in.bytes()));
  lab03::transpose(out.data(), in.data(), n, n, nullptr);
  lab04::layernorm(out.data(), in.data(), n, n, nullptr);
  lab04::softmax(out.data(), in.data(), n, n, nullptr);
  lab06::sgemm(out.data(), in.data(), in.data(), side, side, side, nullptr);
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
}
