// From lab 08: the two branches of a layer run in two streams, and a third kernel adds them up.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

__global__ void halve(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] / 2;
}

__global__ void square(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * in[i];
}

__global__ void join(float* out, const float* halves, const float* squares, int first, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = halves[i];
  if (i >= first && i < n) out[i] += squares[i];
}

}  // namespace

void two_streams(float* out, const float* in, int first, int n, cudaStream_t stream) {
  const int blocks = (n + 127) / 128;
  float *halves, *squares;
  cudaMallocAsync(&halves, sizeof(float) * n, stream);
  cudaMallocAsync(&squares, sizeof(float) * n, stream);
  cudaStream_t side;
  cudaEvent_t begun, done;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  cudaEventCreateWithFlags(&begun, cudaEventDisableTiming);
  cudaEventCreateWithFlags(&done, cudaEventDisableTiming);
  cudaEventRecord(begun, stream);
  cudaStreamWaitEvent(side, begun, 0);
  halve<<<blocks, 128, 0, stream>>>(halves, in, n);
  square<<<blocks, 128, 0, side>>>(squares, in, n);
  cudaStreamWaitEvent(stream, done, 0);
  cudaEventRecord(done, side);
  join<<<blocks, 128, 0, stream>>>(out, halves, squares, first, n);
  cudaEventDestroy(begun);
  cudaEventDestroy(done);
  cudaStreamDestroy(side);
  cudaFreeAsync(halves, stream);
  cudaFreeAsync(squares, stream);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int n = draw(3000, 6000), first = draw(200, n - 1);
  const float* in = uploaded(std::vector<float>(n, 3));
  float* out = allocate<float>(n);
  two_streams(out, in, first, n, nullptr);
  check(cudaGetLastError());
  std::printf("last element: %g\n", downloaded(out, n).back());
}
