// Recursion in device code: a factorial, Ackermann's function, and quicksort of a small array by one thread.
#include <algorithm>
#include <cstdio>
#include <vector>

__device__ unsigned long long factorial(unsigned n) { return n < 2 ? 1 : n * factorial(n - 1); }

__device__ int ackermann(int m, int n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ void quicksort(int* a, int low, int high) {
  if (low >= high) return;
  const int pivot = a[(low + high) / 2];
  int i = low, j = high;
  while (i <= j) {
    while (a[i] < pivot) ++i;
    while (a[j] > pivot) --j;
    if (i <= j) {
      const int t = a[i];
      a[i++] = a[j];
      a[j--] = t;
    }
  }
  quicksort(a, low, j);
  quicksort(a, i, high);
}

__global__ void recurse(unsigned long long* factorials, int* ackermanns, int* arrays, int length) {
  const int t = threadIdx.x;
  factorials[t] = factorial(t % 21);
  ackermanns[t] = ackermann(2, t % 5);
  quicksort(arrays + t * length, 0, length - 1);
}

int main() {
  const int threads = 40, length = 30;
  std::vector<int> arrays(threads * length), a(threads);
  std::vector<unsigned long long> f(threads);
  for (int i = 0; i < threads * length; ++i) arrays[i] = i * 7919 % 1000;
  unsigned long long* d_f;
  int *d_a, *d_arrays;
  if (cudaMalloc(&d_f, threads * 8) || cudaMalloc(&d_a, threads * 4) || cudaMalloc(&d_arrays, arrays.size() * 4))
    return 2;
  cudaMemcpy(d_arrays, arrays.data(), arrays.size() * 4, cudaMemcpyHostToDevice);
  recurse<<<1, threads>>>(d_f, d_a, d_arrays, length);
  cudaMemcpy(f.data(), d_f, threads * 8, cudaMemcpyDeviceToHost);
  cudaMemcpy(a.data(), d_a, threads * 4, cudaMemcpyDeviceToHost);
  if (cudaMemcpy(arrays.data(), d_arrays, arrays.size() * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(d_f);
  cudaFree(d_a);
  cudaFree(d_arrays);
  bool ok = f[20] == 2432902008176640000ull && f[5] == 120;
  for (int t = 0; t < threads; ++t) {
    ok = ok && a[t] == 2 * (t % 5) + 3;
    ok = ok && std::is_sorted(arrays.begin() + t * length, arrays.begin() + (t + 1) * length);
  }
  std::puts(ok ? "PASSED" : "FAILED");
  return ok ? 0 : 1;
}
