// Which thread touches which element. Each of these kernels moves the same bytes; they differ in how many sectors a
// warp asks for.
#include "coalescing.hpp"

namespace lab03 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void sigmoid_thread_per_column_kernel(float* out, const float* in, int rows, int columns) {
  // TODO(lab03.sigmoid_correct): one thread walks down one column: 1 / (1 + exp(-x)) of each element.
  // TODO(lab03.sigmoid_coalesced): at each step the 32 lanes of a warp are side by side in one row.
  (void)out, (void)in, (void)rows, (void)columns;  // delete this line once they are used
}

__global__ void copy_vectorized_kernel(float* out, const float* in, int n) {
  // TODO(lab03.vectorized_wide): one float4 per thread, in and out.
  // TODO(lab03.vectorized_correct): the last n % 4 elements one by one, and nothing after them.
  (void)out, (void)in, (void)n;  // delete this line once they are used
}

__global__ void points_to_arrays_kernel(float* x, float* y, float* z, const float* points, int n) {
  // TODO(lab03.points_correct): x[i] = points[3 i], y[i] = points[3 i + 1], z[i] = points[3 i + 2], for any n.
  // TODO(lab03.points_coalesced): load each run of floats as it is in memory, and sort it out in shared memory.
  (void)x, (void)y, (void)z, (void)points, (void)n;  // delete this line once they are used
}

}  // namespace

void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  sigmoid_thread_per_column_kernel<<<ceil_div(columns, block_size), block_size, 0, stream>>>(out, in, rows, columns);
}

void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  copy_vectorized_kernel<<<ceil_div(ceil_div(n, 4), block_size), block_size, 0, stream>>>(out, in, n);
}

void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  points_to_arrays_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(x, y, z, points, n);
}

}  // namespace lab03
