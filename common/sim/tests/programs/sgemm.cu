// C = alpha A B + beta C in five rungs, each launched through one dispatcher.
#include <cuda_runtime.h>

#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CEIL_DIV(M, N) (((M) + (N)-1) / (N))
#define cudaCheck(err) (cudaCheckImpl(err, __FILE__, __LINE__))
void cudaCheckImpl(cudaError_t error, const char* file, int line) {
  if (error != cudaSuccess) {
    printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
    exit(EXIT_FAILURE);
  }
}

__global__ void sgemm_naive(int M, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < static_cast<uint>(M) && y < static_cast<uint>(N)) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[x * K + i] * B[i * N + y];
    C[x * N + y] = alpha * tmp + beta * C[x * N + y];
  }
}

template <const uint BLOCKSIZE>
__global__ void sgemm_coalesced(int M, int N, int K, float alpha, const float* A, const float* B, float beta,
                                float* C) {
  const int row = blockIdx.x * BLOCKSIZE + (threadIdx.x / BLOCKSIZE);
  const int col = blockIdx.y * BLOCKSIZE + (threadIdx.x % BLOCKSIZE);
  if (row < M && col < N) {
    float tmp = 0.0;
    for (int i = 0; i < K; ++i) tmp += A[row * K + i] * B[i * N + col];
    C[row * N + col] = alpha * tmp + beta * C[row * N + col];
  }
}

template <const int BLOCKSIZE>
__global__ void sgemm_shared(int, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  const uint cRow = blockIdx.x, cCol = blockIdx.y;
  __shared__ float As[BLOCKSIZE * BLOCKSIZE];
  __shared__ float Bs[BLOCKSIZE * BLOCKSIZE];
  const uint threadCol = threadIdx.x % BLOCKSIZE, threadRow = threadIdx.x / BLOCKSIZE;
  A += cRow * BLOCKSIZE * K;
  B += cCol * BLOCKSIZE;
  C += cRow * BLOCKSIZE * N + cCol * BLOCKSIZE;
  float tmp = 0.0;
  for (int bkIdx = 0; bkIdx < K; bkIdx += BLOCKSIZE) {
    As[threadRow * BLOCKSIZE + threadCol] = A[threadRow * K + threadCol];
    Bs[threadRow * BLOCKSIZE + threadCol] = B[threadRow * N + threadCol];
    __syncthreads();
    A += BLOCKSIZE;
    B += BLOCKSIZE * N;
    for (int dotIdx = 0; dotIdx < BLOCKSIZE; ++dotIdx)
      tmp += As[threadRow * BLOCKSIZE + dotIdx] * Bs[dotIdx * BLOCKSIZE + threadCol];
    __syncthreads();
  }
  C[threadRow * N + threadCol] = alpha * tmp + beta * C[threadRow * N + threadCol];
}

template <const int BM, const int BN, const int BK, const int TM>
__global__ void sgemm_tile_1d(int, int N, int K, float alpha, const float* A, const float* B, float beta, float* C) {
  __shared__ float As[BM * BK];
  __shared__ float Bs[BK * BN];
  const uint threadCol = threadIdx.x % BN, threadRow = threadIdx.x / BN;
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  assert(BM * BK == blockDim.x);
  assert(BN * BK == blockDim.x);
  const uint innerColA = threadIdx.x % BK, innerRowA = threadIdx.x / BK;
  const uint innerColB = threadIdx.x % BN, innerRowB = threadIdx.x / BN;
  float threadResults[TM] = {0.0};
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    As[innerRowA * BK + innerColA] = A[innerRowA * K + innerColA];
    Bs[innerRowB * BN + innerColB] = B[innerRowB * N + innerColB];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      float tmpB = Bs[dotIdx * BN + threadCol];
      for (int resIdx = 0; resIdx < TM; ++resIdx)
        threadResults[resIdx] += As[(threadRow * TM + resIdx) * BK + dotIdx] * tmpB;
    }
    __syncthreads();
  }
  for (int resIdx = 0; resIdx < TM; ++resIdx)
    C[(threadRow * TM + resIdx) * N + threadCol] =
        alpha * threadResults[resIdx] + beta * C[(threadRow * TM + resIdx) * N + threadCol];
}

template <const int BM, const int BN, const int BK, const int TM, const int TN>
__global__ void sgemm_vectorized(int, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  const int threadCol = threadIdx.x % (BN / TN), threadRow = threadIdx.x / (BN / TN);
  __shared__ __align__(16) float As[BM * BK];
  __shared__ __align__(16) float Bs[BK * BN];
  A += blockIdx.y * BM * K;
  B += blockIdx.x * BN;
  C += blockIdx.y * BM * N + blockIdx.x * BN;
  const int innerRowA = threadIdx.x / (BK / 4), innerColA = threadIdx.x % (BK / 4);
  const int innerRowB = threadIdx.x / (BN / 4), innerColB = threadIdx.x % (BN / 4);
  float threadResults[TM * TN] = {0.0}, regM[TM] = {0.0}, regN[TN] = {0.0};
  for (int bkIdx = 0; bkIdx < K; bkIdx += BK) {
    float4 tmp = reinterpret_cast<float4*>(&A[innerRowA * K + innerColA * 4])[0];
    As[(innerColA * 4 + 0) * BM + innerRowA] = tmp.x;
    As[(innerColA * 4 + 1) * BM + innerRowA] = tmp.y;
    As[(innerColA * 4 + 2) * BM + innerRowA] = tmp.z;
    As[(innerColA * 4 + 3) * BM + innerRowA] = tmp.w;
    reinterpret_cast<float4*>(&Bs[innerRowB * BN + innerColB * 4])[0] =
        reinterpret_cast<float4*>(&B[innerRowB * N + innerColB * 4])[0];
    __syncthreads();
    A += BK;
    B += BK * N;
    for (int dotIdx = 0; dotIdx < BK; ++dotIdx) {
      for (int i = 0; i < TM; ++i) regM[i] = As[dotIdx * BM + threadRow * TM + i];
      for (int i = 0; i < TN; ++i) regN[i] = Bs[dotIdx * BN + threadCol * TN + i];
      for (int m = 0; m < TM; ++m)
        for (int k = 0; k < TN; ++k) threadResults[m * TN + k] += regM[m] * regN[k];
    }
    __syncthreads();
  }
  for (int m = 0; m < TM; m += 1)
    for (int k = 0; k < TN; k += 4) {
      float4 tmp = reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN + k])[0];
      tmp.x = alpha * threadResults[m * TN + k] + beta * tmp.x;
      tmp.y = alpha * threadResults[m * TN + k + 1] + beta * tmp.y;
      tmp.z = alpha * threadResults[m * TN + k + 2] + beta * tmp.z;
      tmp.w = alpha * threadResults[m * TN + k + 3] + beta * tmp.w;
      reinterpret_cast<float4*>(&C[(threadRow * TM + m) * N + threadCol * TN + k])[0] = tmp;
    }
}

void run_kernel(int number, int M, int N, int K, float alpha, float* A, float* B, float beta, float* C) {
  switch (number) {
    case 0: sgemm_naive<<<dim3(CEIL_DIV(M, 32), CEIL_DIV(N, 32)), dim3(32, 32)>>>(M, N, K, alpha, A, B, beta, C); break;
    case 1:
      sgemm_coalesced<32><<<dim3(CEIL_DIV(M, 32), CEIL_DIV(N, 32)), dim3(32 * 32)>>>(M, N, K, alpha, A, B, beta, C);
      break;
    case 2: sgemm_shared<32><<<dim3(M / 32, N / 32), dim3(32 * 32)>>>(M, N, K, alpha, A, B, beta, C); break;
    case 3:
      sgemm_tile_1d<64, 64, 8, 8><<<dim3(N / 64, M / 64), dim3((64 * 64) / 8)>>>(M, N, K, alpha, A, B, beta, C);
      break;
    case 4: {
      const uint BK = 8, TM = 8, TN = 8, BM = 128, BN = 128;
      dim3 gridDim(CEIL_DIV(N, BN), CEIL_DIV(M, BM));
      dim3 blockDim((BM * BN) / (TM * TN));
      sgemm_vectorized<BM, BN, BK, TM, TN><<<gridDim, blockDim>>>(M, N, K, alpha, A, B, beta, C);
      break;
    }
    default: throw "Unknown kernel number";
  }
}

int main() {
  const int n = 128, size = n * n;
  const float alpha = 0.5f, beta = 3.0f;
  std::vector<float> A(size), B(size), C(size), out(size);
  for (int i = 0; i < size; ++i) {
    A[i] = (i * 7 % 11) * 0.1f;
    B[i] = (i * 5 % 13) * 0.1f;
    C[i] = i % 3;
  }
  float *dA, *dB, *dC;
  cudaCheck(cudaMalloc((void**)&dA, sizeof(float) * size));
  cudaCheck(cudaMalloc((void**)&dB, sizeof(float) * size));
  cudaCheck(cudaMalloc((void**)&dC, sizeof(float) * size));
  cudaCheck(cudaMemcpy(dA, A.data(), sizeof(float) * size, cudaMemcpyHostToDevice));
  cudaCheck(cudaMemcpy(dB, B.data(), sizeof(float) * size, cudaMemcpyHostToDevice));
  for (int kernel = 0; kernel < 5; ++kernel) {
    cudaCheck(cudaMemcpy(dC, C.data(), sizeof(float) * size, cudaMemcpyHostToDevice));
    run_kernel(kernel, n, n, n, alpha, dA, dB, beta, dC);
    cudaCheck(cudaGetLastError());
    cudaCheck(cudaMemcpy(out.data(), dC, sizeof(float) * size, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int r = 0; r < n; ++r)
      for (int c = 0; c < n; ++c) {
        double sum = 0;
        for (int k = 0; k < n; ++k) sum += double(A[r * n + k]) * B[k * n + c];
        wrong += !(std::fabs(alpha * sum + beta * C[r * n + c] - out[r * n + c]) < 1e-3);
      }
    printf("kernel %d: %d wrong\n", kernel, wrong);
    if (wrong) return 1;
  }
  cudaFree(dA);
  cudaFree(dB);
  cudaFree(dC);
  return 0;
}
