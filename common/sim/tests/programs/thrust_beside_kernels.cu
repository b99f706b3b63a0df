// Thrust's vectors and algorithms, and a kernel on the same memory: Thrust's own, and the program's.
#include <thrust/complex.h>
#include <thrust/device_free.h>
#include <thrust/device_malloc.h>
#include <thrust/device_ptr.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/host_vector.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform_reduce.h>

#include <cstdio>

__global__ void twice(int* p, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] *= 2;
}

struct square {
  __host__ __device__ long long operator()(int x) const { return 1LL * x * x; }
};

int main() {
  const int n = 1000;
  thrust::device_vector<int> v(n), keys(n);
  thrust::sequence(v.begin(), v.end());
  twice<<<4, 256>>>(thrust::raw_pointer_cast(v.data()), n);
  thrust::copy(v.begin(), v.end(), keys.begin());
  thrust::sort_by_key(thrust::cuda::par.on(nullptr), keys.begin(), keys.end(), v.begin(), thrust::greater<int>());
  const int sum = thrust::reduce(v.begin(), v.end());
  const long long squares = thrust::transform_reduce(v.begin(), v.end(), square(), 0LL, thrust::plus<long long>());
  const thrust::host_vector<int> h = v;

  int* raw = nullptr;
  cudaMalloc(&raw, n * sizeof(int));
  thrust::fill(thrust::device, raw, raw + n, 3);
  twice<<<4, 256>>>(raw, n);
  thrust::device_ptr<int> first(raw);
  thrust::exclusive_scan(first, first + n, first);
  const int last = first[n - 1];
  cudaFree(raw);

  const thrust::device_ptr<int> own = thrust::device_malloc<int>(n);
  const int seven = 7;
  cudaMemcpy(own.get() + n - 1, &seven, sizeof seven, cudaMemcpyHostToDevice);
  twice<<<1, 1>>>(own.get() + n - 1, 1);
  const int fourteen = own[n - 1];
  thrust::device_free(own);

  const thrust::complex<float> z = thrust::complex<float>(1, 2) * thrust::complex<float>(3, 4);
  const bool right = sum == n * (n - 1) && h[0] == 2 * (n - 1) && h[n - 1] == 0 && last == 6 * (n - 1) &&
                     squares == 4LL * (n - 1) * n * (2 * n - 1) / 6 && z.real() == -5 && z.imag() == 10 &&
                     fourteen == 14;
  std::printf(right ? "PASS\n" : "FAIL: %d %d %d %lld\n", sum, h[0], last, squares);
  return right ? 0 : 1;
}
