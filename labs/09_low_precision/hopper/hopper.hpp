// Lab 09, an optional part without points: C = A B with Hopper's own instructions. For GPUs of compute capability 9.0
// and the simulated device.
#pragma once

#include "../low_precision.hpp"

namespace lab09 {

/// Like gemm_pipelined: row-major bf16 matrices, sums in FP32. One launch on `stream`, whose blocks compute at least
/// 128 x 128 elements at a time. Only TMA copies tiles to shared memory, and only wgmma reads them there.
void gemm_hopper(bf16* c,        // (m, n)
                 const bf16* a,  // (m, k)
                 const bf16* b,  // (k, n)
                 int m, int n, int k, cudaStream_t stream);

}  // namespace lab09
