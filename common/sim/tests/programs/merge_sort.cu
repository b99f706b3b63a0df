// Bottom-up merge sort: each thread merges two runs until they are long, then finds its part of one merge by bisection.
#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

__device__ void merge_runs(int* out, const int* a, int na, const int* b, int nb) {
  int i = 0, j = 0;
  while (i < na || j < nb) {
    if (j >= nb || (i < na && a[i] <= b[j])) {
      out[i + j] = a[i];
      ++i;
    } else {
      out[i + j] = b[j];
      ++j;
    }
  }
}

/// How many of the first `diagonal` elements of the merged run come from a.
__device__ int merge_path(const int* a, int na, const int* b, int nb, int diagonal) {
  int low = max(0, diagonal - nb), high = min(diagonal, na);
  while (low < high) {
    const int mid = (low + high) / 2;
    if (a[mid] <= b[diagonal - 1 - mid])
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

__global__ void merge_pass(int* out, const int* in, int n, int width, int per_thread) {
  const int thread = blockIdx.x * blockDim.x + threadIdx.x;
  const int begin = thread * per_thread;
  if (begin >= n) return;
  const int first = begin / (2 * width) * (2 * width);
  const int na = min(width, n - first), nb = max(0, min(width, n - first - width));
  const int *a = in + first, *b = in + first + na;
  const int d0 = begin - first, d1 = min(d0 + per_thread, na + nb);
  const int i0 = merge_path(a, na, b, nb, d0), i1 = merge_path(a, na, b, nb, d1);
  merge_runs(out + begin, a + i0, i1 - i0, b + (d0 - i0), (d1 - i1) - (d0 - i0));
}

int main() {
  const int n = 10000;
  std::vector<int> values(n), sorted(n);
  unsigned state = 42;
  for (int& v : values) v = static_cast<int>((state = state * 1103515245u + 12345u) >> 8) % 5000;
  int *a, *b;
  if (cudaMalloc(&a, n * sizeof(int)) != cudaSuccess || cudaMalloc(&b, n * sizeof(int)) != cudaSuccess) return 2;
  cudaMemcpy(a, values.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  for (int width = 1; width < n; width *= 2) {
    const int per_thread = std::min(2 * width, 16), threads = (n + per_thread - 1) / per_thread;
    merge_pass<<<(threads + 127) / 128, 128>>>(b, a, n, width, per_thread);
    std::swap(a, b);
  }
  if (cudaMemcpy(sorted.data(), a, n * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(a);
  cudaFree(b);
  std::stable_sort(values.begin(), values.end());
  std::puts(values == sorted ? "PASSED" : "FAILED");
  return values == sorted ? 0 : 1;
}
