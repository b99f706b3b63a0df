// Softmax, cross-entropy and their gradient, in one launch. A row has 50257 logits: too many for a thread, and too many
// to read three times.
#include <lab/device.hpp>

#include "training.hpp"

namespace lab14 {
namespace {

constexpr int block_size = 256;

__global__ void cross_entropy_kernel(float* losses, float* logits, const int* targets, float scale, int vocabulary,
                                     int pitch) {
  // TODO(lab14.cross_entropy_correct): a block for each row. Which two numbers of a row does each gradient need?
  // TODO(lab14.cross_entropy_lean): can one pass find both?
  (void)losses, (void)logits, (void)targets, (void)scale, (void)vocabulary, (void)pitch;  // delete once they are used
}

}  // namespace

void cross_entropy(float* losses, float* logits, const int* targets, float scale, int rows, int vocabulary, int pitch,
                   cudaStream_t stream) {
  cross_entropy_kernel<<<rows, block_size, 0, stream>>>(losses, logits, targets, scale, vocabulary, pitch);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab14
