// The two peaks of the device. You write the launches too: only the names are given.
#include "accounting.hpp"

namespace lab01 {
namespace {

constexpr int block_size = 256;

__global__ void copy_kernel(float* out, const float* in, int n) {
  // TODO(lab01.device_peaks_correct): any n, including one that is not a multiple of your vector width.
  // TODO(lab01.copy_wide): 16 bytes per lane.
  (void)out, (void)in, (void)n;  // delete this line once they are used
}

__global__ void fma_kernel(float* out, const float* in, const float* c, int n, int rounds) {
  // TODO(lab01.device_peaks_correct): x <- x * x + c[i], `rounds` times, for each element.
  // TODO(lab01.fma_fused): one fused instruction per step, and no others.
  (void)out, (void)in, (void)c, (void)n, (void)rounds;  // delete this line once they are used
}

}  // namespace

void copy(float* out, const float* in, int n, cudaStream_t stream) {
  copy_kernel<<<(n - 1) / block_size + 1, block_size, 0, stream>>>(out, in, n);
}

void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t stream) {
  fma_kernel<<<(n - 1) / block_size + 1, block_size, 0, stream>>>(out, in, c, n, rounds);
}

}  // namespace lab01
