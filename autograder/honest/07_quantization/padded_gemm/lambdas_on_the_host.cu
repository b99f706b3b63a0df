#include "quantization.hpp"
namespace lab07 {
namespace {
__host__ __device__ constexpr int up(int x, int to) { return (x + to - 1) / to * to; }
__global__ void pad_kernel(bf16* out, const bf16* in, int rows, int columns, int padded_columns, int padded_rows) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c >= padded_columns || r >= padded_rows) return;
  out[r * padded_columns + c] = r < rows && c < columns ? in[r * columns + c] : __float2bfloat16(0.0f);
}
__global__ void unpad_kernel(bf16* out, const bf16* in, int rows, int columns, int padded_columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  const int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (c < columns && r < rows) out[r * columns + c] = in[r * padded_columns + c];
}
}
void pad(bf16* out, const bf16* in, int rows, int columns, int padded_rows, int padded_columns, cudaStream_t stream) {
  const dim3 block(64, 4), grid((padded_columns + 63) / 64, (padded_rows + 3) / 4);
  pad_kernel<<<grid, block, 0, stream>>>(out, in, rows, columns, padded_columns, padded_rows);
}
void unpad(bf16* out, const bf16* in, int rows, int columns, int padded_columns, cudaStream_t stream) {
  const dim3 block(64, 4), grid((columns + 63) / 64, (rows + 3) / 4);
  unpad_kernel<<<grid, block, 0, stream>>>(out, in, rows, columns, padded_columns);
}
void padded_gemm(bf16* c, const bf16* a, const bf16* b, bf16* workspace, int m, int n, int k, cudaStream_t stream) {
  const int pn = up(n, 8), pk = up(k, 8);
  bf16* next = workspace;
  const auto take = [&](int rows, int columns) { bf16* p = next; next += up(rows * columns, 64); return p; };
  const bf16 *pa = a, *pb = b;
  bf16* pc = c;
  if (pk != k) { bf16* w = take(m, pk); pad(w, a, m, k, m, pk, stream); pa = w; }
  if (pn != n || pk != k) { bf16* w = take(pk, pn); pad(w, b, k, n, pk, pn, stream); pb = w; }
  if (pn != n) pc = take(m, pn);
  product(pc, pn, pa, pk, pb, pn, m, pn, pk, stream);
  if (pn != n) unpad(c, pc, m, n, pn, stream);
}
}  // namespace lab07
