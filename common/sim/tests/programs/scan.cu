// Exclusive prefix sum of a long array: blocks, then the blocks' sums, then both together.
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#define NUM_BANKS 32
#define LOG_NUM_BANKS 5
#define CONFLICT_FREE_OFFSET(n) ((n) >> LOG_NUM_BANKS)

__global__ void prescan(int* g_odata, const int* g_idata, int* sums, int n) {
  extern __shared__ int temp[];
  int thid = threadIdx.x, base = blockIdx.x * 2 * blockDim.x, len = 2 * blockDim.x;
  int ai = thid, bi = thid + len / 2;
  int bankOffsetA = CONFLICT_FREE_OFFSET(ai), bankOffsetB = CONFLICT_FREE_OFFSET(bi);
  temp[ai + bankOffsetA] = base + ai < n ? g_idata[base + ai] : 0;
  temp[bi + bankOffsetB] = base + bi < n ? g_idata[base + bi] : 0;
  int offset = 1;
  for (int d = len >> 1; d > 0; d >>= 1) {
    __syncthreads();
    if (thid < d) {
      int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
      a += CONFLICT_FREE_OFFSET(a);
      b += CONFLICT_FREE_OFFSET(b);
      temp[b] += temp[a];
    }
    offset *= 2;
  }
  if (thid == 0) {
    int last = len - 1 + CONFLICT_FREE_OFFSET(len - 1);
    if (sums) sums[blockIdx.x] = temp[last];
    temp[last] = 0;
  }
  for (int d = 1; d < len; d *= 2) {
    offset >>= 1;
    __syncthreads();
    if (thid < d) {
      int a = offset * (2 * thid + 1) - 1, b = offset * (2 * thid + 2) - 1;
      a += CONFLICT_FREE_OFFSET(a);
      b += CONFLICT_FREE_OFFSET(b);
      int t = temp[a];
      temp[a] = temp[b];
      temp[b] += t;
    }
  }
  __syncthreads();
  if (base + ai < n) g_odata[base + ai] = temp[ai + bankOffsetA];
  if (base + bi < n) g_odata[base + bi] = temp[bi + bankOffsetB];
}

__global__ void uniform_add(int* data, const int* sums, int n) {
  __shared__ int uni;
  if (threadIdx.x == 0) uni = sums[blockIdx.x];
  __syncthreads();
  int i = blockIdx.x * 2 * blockDim.x + threadIdx.x;
  if (i < n) data[i] += uni;
  int j = i + blockDim.x;
  if (j < n) data[j] += uni;
}

void scan(int* out, const int* in, int n) {
  const int threads = 128, per_block = 2 * threads;
  int blocks = (n + per_block - 1) / per_block;
  size_t shared = (per_block + CONFLICT_FREE_OFFSET(per_block)) * sizeof(int);
  if (blocks == 1) {
    prescan<<<1, threads, shared>>>(out, in, nullptr, n);
    return;
  }
  int *sums, *scanned;
  cudaMalloc(&sums, blocks * sizeof(int));
  cudaMalloc(&scanned, blocks * sizeof(int));
  prescan<<<blocks, threads, shared>>>(out, in, sums, n);
  scan(scanned, sums, blocks);
  uniform_add<<<blocks, threads>>>(out, scanned, n);
  cudaFree(sums);
  cudaFree(scanned);
}

int main() {
  for (int n : {1, 255, 256, 257, 70001}) {
    std::vector<int> in(n), expected(n), out(n);
    for (int& v : in) v = rand() % 10;
    std::exclusive_scan(in.begin(), in.end(), expected.begin(), 0);
    int *d_in, *d_out;
    if (cudaMalloc(&d_in, n * sizeof(int)) || cudaMalloc(&d_out, n * sizeof(int))) return 2;
    cudaMemcpy(d_in, in.data(), n * sizeof(int), cudaMemcpyHostToDevice);
    scan(d_out, d_in, n);
    cudaMemcpy(out.data(), d_out, n * sizeof(int), cudaMemcpyDeviceToHost);
    cudaFree(d_in);
    cudaFree(d_out);
    if (cudaGetLastError() != cudaSuccess || out != expected) {
      std::printf("scan of %d elements is wrong\n", n);
      return 1;
    }
  }
  std::puts("PASSED");
}
