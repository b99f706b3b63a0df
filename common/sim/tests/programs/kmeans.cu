// Lloyd's algorithm on points in the plane: nearest centre, then means by atomics in shared and global memory.
#include <cmath>
#include <cstdio>
#include <vector>

constexpr int K = 4;

__global__ void assign(const float2* points, const float2* centres, float* sums, int* counts, int n) {
  __shared__ float2 s_centres[K];
  __shared__ float s_sums[2 * K];
  __shared__ int s_counts[K];
  const int tid = threadIdx.x;
  if (tid < K) {
    s_centres[tid] = centres[tid];
    s_sums[tid] = s_sums[tid + K] = 0.0f;
    s_counts[tid] = 0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + tid;
  if (i < n) {
    const float2 p = points[i];
    float best = INFINITY;
    int best_k = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const float dx = p.x - s_centres[k].x, dy = p.y - s_centres[k].y, d = dx * dx + dy * dy;
      if (d < best) {
        best = d;
        best_k = k;
      }
    }
    atomicAdd(&s_sums[best_k], p.x);
    atomicAdd(&s_sums[best_k + K], p.y);
    atomicAdd(&s_counts[best_k], 1);
  }
  __syncthreads();
  if (tid < 2 * K) atomicAdd(&sums[tid], s_sums[tid]);
  if (tid < K) atomicAdd(&counts[tid], s_counts[tid]);
}

__global__ void update(float2* centres, const float* sums, const int* counts) {
  const int k = threadIdx.x;
  if (counts[k] > 0) centres[k] = make_float2(sums[k] / counts[k], sums[k + K] / counts[k]);
}

int main() {
  const int n = 4000;
  const float2 truth[K] = {{0, 0}, {10, 0}, {0, 10}, {10, 10}};
  std::vector<float2> points(n);
  for (int i = 0; i < n; ++i) points[i] = {truth[i % K].x + std::sin(i * 1.3f), truth[i % K].y + std::cos(i * 2.1f)};
  float2 *d_points, *d_centres, centres[K] = {{1, 2}, {7, 1}, {3, 8}, {8, 7}};
  float* sums;
  int* counts;
  if (cudaMalloc(&d_points, n * sizeof(float2)) || cudaMalloc(&d_centres, sizeof centres)) return 2;
  if (cudaMalloc(&sums, 2 * K * sizeof(float)) || cudaMalloc(&counts, K * sizeof(int))) return 2;
  cudaMemcpy(d_points, points.data(), n * sizeof(float2), cudaMemcpyHostToDevice);
  cudaMemcpy(d_centres, centres, sizeof centres, cudaMemcpyHostToDevice);
  for (int turn = 0; turn < 5; ++turn) {
    cudaMemset(sums, 0, 2 * K * sizeof(float));
    cudaMemset(counts, 0, K * sizeof(int));
    assign<<<(n + 255) / 256, 256>>>(d_points, d_centres, sums, counts, n);
    update<<<1, K>>>(d_centres, sums, counts);
  }
  if (cudaMemcpy(centres, d_centres, sizeof centres, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_points);
  cudaFree(d_centres);
  cudaFree(sums);
  cudaFree(counts);
  int astray = 0;
  for (int k = 0; k < K; ++k) astray += !(std::hypot(centres[k].x - truth[k].x, centres[k].y - truth[k].y) < 0.2f);
  std::printf("%d centres astray\n", astray);
  return astray == 0 ? 0 : 1;
}
