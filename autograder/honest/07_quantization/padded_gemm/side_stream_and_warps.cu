#include <cooperative_groups.h>
#include <cuda/std/cstdint>
#include "quantization.hpp"

namespace cg = cooperative_groups;
using lab07::bf16;

// A warp per row; two elements at a time where both sides allow.
template <int WARPS, bool PAD>
__global__ void __launch_bounds__(32 * WARPS) move_rows(bf16* __restrict__ out, const bf16* __restrict__ in, int rows, int columns, int out_rows, int out_columns, int in_pitch) {
  const auto block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const bf16 zero = __ushort_as_bfloat16(0);
  for (int r = blockIdx.x * WARPS + warp.meta_group_rank(); r < out_rows; r += gridDim.x * WARPS) {
    const bf16* __restrict__ from = in + static_cast<int64_t>(r) * in_pitch;
    bf16* __restrict__ to = out + static_cast<int64_t>(r) * out_columns;
    const bool pairs = !(reinterpret_cast<uintptr_t>(from) & 3) && !(reinterpret_cast<uintptr_t>(to) & 3);
    int c = 0;
    if (pairs && r < rows) {
      const int whole = columns / 2;
      for (int i = warp.thread_rank(); i < whole; i += 32) reinterpret_cast<__nv_bfloat162*>(to)[i] = __ldg(reinterpret_cast<const __nv_bfloat162*>(from) + i);
      c = 2 * whole;
    }
    for (c += warp.thread_rank(); c < out_columns; c += 32) {
      if constexpr (PAD)
        to[c] = r < rows && c < columns ? from[c] : zero;
      else
        to[c] = from[c];
    }
  }
}

namespace lab07 {
void pad(bf16* out, const bf16* in, int rows, int columns, int padded_rows, int padded_columns, cudaStream_t stream) {
  move_rows<8, true><<<(padded_rows + 7) / 8, 256, 0, stream>>>(out, in, rows, columns, padded_rows, padded_columns, columns);
}
void unpad(bf16* out, const bf16* in, int rows, int columns, int padded_columns, cudaStream_t stream) {
  move_rows<8, false><<<(rows + 7) / 8, 256, 0, stream>>>(out, in, rows, columns, rows, columns, padded_columns);
}
void padded_gemm(bf16* c, const bf16* a, const bf16* b, bf16* ws, int m, int n, int k, cudaStream_t stream) {
  auto align = [](int x) { return -(-x & -8); };
  const int N = align(n), K = align(k);
  const bool n_odd = N != n, k_odd = K != k;
  if (!(n_odd || k_odd)) { product(c, n, a, k, b, n, m, n, k, stream); return; }
  static thread_local cudaStream_t side = nullptr;
  static thread_local cudaEvent_t forked, joined;
  if (!side) {
    cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&forked, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&joined, cudaEventDisableTiming);
  }
  bf16 *A = ws, *B = A + (int64_t)align(m) * K, *C = B + (int64_t)K * N;
  cudaEventRecord(forked, stream);
  cudaStreamWaitEvent(side, forked, 0);
  if (k_odd) pad(A, a, m, k, m, K, side);
  pad(B, b, k, n, K, N, stream);
  cudaEventRecord(joined, side);
  cudaStreamWaitEvent(stream, joined, 0);
  product(n_odd ? C : c, N, k_odd ? A : a, K, B, N, m, N, K, stream);
  if (n_odd) unpad(c, C, m, n, N, stream);
}
}  // namespace lab07
