// The gradients of GELU and LayerNorm. Neither multiplies matrices: their time is that of the bytes that they move.
#include <lab/device.hpp>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int block_size = 256;

constexpr int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void gelu_backward_kernel(float* d_in, const float* in, const float* d_out, int n) {
  // TODO(lab14.gelu_correct): differentiate the contract's formula on paper first. in is inside the tanh three times.
  (void)d_in, (void)in, (void)d_out, (void)n;  // delete this line once they are used
}

}  // namespace

void gelu_backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  gelu_backward_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(d_in, in, d_out, n);
  LAB_CUDA_CHECK(cudaGetLastError());
}

std::size_t layer_norm_partial(int rows, int channels) {
  (void)rows;
  return static_cast<std::size_t>(channels);
}

void layer_norm_backward(float* d_x, float* d_weight, float* d_bias, float* partial, const float* x,
                         const float* weight, const float* mean, const float* rstd, const float* d_out, int rows,
                         int channels, cudaStream_t stream) {
  // TODO(lab14.layer_norm_correct): d_x first, a row at a time. Then decide which thread sums which column: all rows
  // of a block add to the same channels, so their sums can stay where they are until the block is done.
  (void)d_x, (void)d_weight, (void)d_bias, (void)partial, (void)x, (void)weight, (void)mean, (void)rstd;
  (void)d_out, (void)rows, (void)channels, (void)stream;  // delete these two lines once they are used
}

}  // namespace lab14
