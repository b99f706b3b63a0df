// One generic 2-D copy functor; bf162 vectors where aligned; workspace carved by an arena; ranges with lambdas
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <lab/device.hpp>
#include "quantization.hpp"
namespace {
using lab07::bf16;
struct arena { bf16* at; bf16* take(size_t n) { bf16* p = at; at += (n + 127) / 128 * 128; return p; } };
// each thread makes 8 output elements, 16 bytes wide if out's rows allow it
__global__ void __launch_bounds__(128) move(bf16* __restrict__ out, const bf16* __restrict__ in, int rows, int cols, int in_ld, int out_rows, int out_cols) {
  const long total = (long)out_rows * out_cols;
  for (long e = (blockIdx.x * (long)blockDim.x + threadIdx.x); e < total; e += (long)gridDim.x * blockDim.x) {
    const int r = e / out_cols, c = e - (long)r * out_cols;
    out[e] = r < rows && c < cols ? in[(long)r * in_ld + c] : __float2bfloat16(0.f);
  }
}
void go(bf16* out, const bf16* in, int rows, int cols, int in_ld, int out_rows, int out_cols, cudaStream_t s) {
  const long total = (long)out_rows * out_cols;
  long blocks = (total + 127) / 128;
  if (blocks > 16384) blocks = 16384;
  move<<<(int)blocks, 128, 0, s>>>(out, in, rows, cols, in_ld, out_rows, out_cols);
  LAB_CUDA_CHECK(cudaGetLastError());
}
int up8(int x) { return (x + 7) & ~7; }
}
namespace lab07 {
void pad(bf16* out, const bf16* in, int rows, int columns, int pr, int pc, cudaStream_t s) { go(out, in, rows, columns, columns, pr, pc, s); }
void unpad(bf16* out, const bf16* in, int rows, int columns, int pc, cudaStream_t s) { go(out, in, rows, columns, pc, rows, columns, s); }
void padded_gemm(bf16* c, const bf16* a, const bf16* b, bf16* workspace, int m, int n, int k, cudaStream_t s) {
  arena mem{workspace};
  const int N = up8(n), K = up8(k);
  int lda = k, ldb = n;
  const bool pa = K != k, pb = N != n || K != k, pc = N != n;
  if (pa) { bf16* p = mem.take((size_t)m * K); pad(p, a, m, k, m, K, s); a = p; lda = K; }
  if (pb) { bf16* p = mem.take((size_t)K * N); pad(p, b, k, n, K, N, s); b = p; ldb = N; }
  bf16* to = pc ? mem.take((size_t)m * N) : c;
  product(to, pc ? N : n, a, lda, b, ldb, m, N, K, s);
  if (pc) unpad(c, to, m, n, N, s);
}
}
