// Tiled matrix multiplication; the tile's width is a template parameter chosen at run time.
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include <vector>

template <typename T>
static void check(T result, char const* const func, const char* const file, int const line) {
  if (result) {
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\"\n", file, line, (unsigned)result, cudaGetErrorName(result),
            func);
    exit(EXIT_FAILURE);
  }
}
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)

template <int BLOCK_SIZE>
__global__ void MatrixMulCUDA(float* C, float* A, float* B, int wA, int wB) {
  int bx = blockIdx.x;
  int by = blockIdx.y;
  int tx = threadIdx.x;
  int ty = threadIdx.y;
  int aBegin = wA * BLOCK_SIZE * by;
  int aEnd = aBegin + wA - 1;
  int bStep = BLOCK_SIZE * wB;
  float Csub = 0;
  for (int a = aBegin, b = BLOCK_SIZE * bx; a <= aEnd; a += BLOCK_SIZE, b += bStep) {
    __shared__ float As[BLOCK_SIZE][BLOCK_SIZE];
    __shared__ float Bs[BLOCK_SIZE][BLOCK_SIZE];
    As[ty][tx] = A[a + wA * ty + tx];
    Bs[ty][tx] = B[b + wB * ty + tx];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < BLOCK_SIZE; ++k) Csub += As[ty][k] * Bs[k][tx];
    __syncthreads();
  }
  C[wB * BLOCK_SIZE * by + BLOCK_SIZE * bx + wB * ty + tx] = Csub;
}

int run(int block_size) {
  dim3 dimsA(5 * block_size, 4 * block_size, 1), dimsB(6 * block_size, 5 * block_size, 1);
  assert(dimsA.x == dimsB.y);
  const float valB = 0.01f;
  std::vector<float> h_A(dimsA.x * dimsA.y, 1.0f), h_B(dimsB.x * dimsB.y, valB), h_C(dimsB.x * dimsA.y);
  float *d_A, *d_B, *d_C;
  checkCudaErrors(cudaMalloc(&d_A, h_A.size() * sizeof(float)));
  checkCudaErrors(cudaMalloc(reinterpret_cast<void**>(&d_B), h_B.size() * sizeof(float)));
  checkCudaErrors(cudaMalloc(reinterpret_cast<void**>(&d_C), h_C.size() * sizeof(float)));
  cudaStream_t stream;
  checkCudaErrors(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  checkCudaErrors(cudaMemcpyAsync(d_A, h_A.data(), h_A.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  checkCudaErrors(cudaMemcpyAsync(d_B, h_B.data(), h_B.size() * sizeof(float), cudaMemcpyHostToDevice, stream));
  dim3 threads(block_size, block_size);
  dim3 grid(dimsB.x / threads.x, dimsA.y / threads.y);
  if (block_size == 16) {
    MatrixMulCUDA<16><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
  } else {
    MatrixMulCUDA<32><<<grid, threads, 0, stream>>>(d_C, d_A, d_B, dimsA.x, dimsB.x);
  }
  checkCudaErrors(cudaGetLastError());
  checkCudaErrors(cudaMemcpyAsync(h_C.data(), d_C, h_C.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
  checkCudaErrors(cudaStreamSynchronize(stream));
  bool correct = true;
  for (size_t i = 0; i < h_C.size(); i++) {
    double error = fabs(h_C[i] - dimsA.x * valB) / fabs(h_C[i]) / dimsA.x;
    if (!(error <= 1.e-6)) correct = false;
  }
  checkCudaErrors(cudaFree(d_A));
  checkCudaErrors(cudaFree(d_B));
  checkCudaErrors(cudaFree(d_C));
  checkCudaErrors(cudaStreamDestroy(stream));
  printf("block %d: Result = %s\n", block_size, correct ? "PASS" : "FAIL");
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main() { return run(16) | run(32); }
