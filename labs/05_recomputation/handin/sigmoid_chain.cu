// Three sigmoids, forward and backward, with nothing kept in between but the input. The given version (given/stored.cu)
// moves eight arrays through memory in one step; count how many yours needs.
#include "recomputation.hpp"

namespace lab05 {
namespace {

constexpr int block_size = 256;

int ceil_div(int a, int b) { return (a - 1) / b + 1; }

__global__ void forward_kernel(float* out, const float* in, int n) {
  // TODO(lab05.forward_correct): out[i] = sigmoid(sigmoid(sigmoid(in[i])))
  // TODO(lab05.forward_lean): one load and one store per element.
  (void)out, (void)in, (void)n;  // delete this line once they are used
}

__global__ void backward_kernel(float* d_in, const float* in, const float* d_out, int n) {
  // TODO(lab05.backward_correct): d_in[i] = d_out[i] times the derivative of the chain at in[i]
  // TODO(lab05.backward_lean): recompute the intermediate results, in registers.
  (void)d_in, (void)in, (void)d_out, (void)n;  // delete this line once they are used
}

}  // namespace

void forward(float* out, const float* in, int n, cudaStream_t stream) {
  forward_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(out, in, n);
}

void backward(float* d_in, const float* in, const float* d_out, int n, cudaStream_t stream) {
  backward_kernel<<<ceil_div(n, block_size), block_size, 0, stream>>>(d_in, in, d_out, n);
}

}  // namespace lab05
