// Kernels for see_test.py. Blocks have at most four warps and there are at most two blocks, so that every warp is
// recorded. A comment must not end the page's script: </script><script>document.title = "owned"</script> <!-- &amp;
#include <cuda_bf16.h>
#include <cuda_pipeline.h>
#include <cuda_runtime.h>
#include <mma.h>

__global__ void copy(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}
__global__ void copy_strided(float* out, const float* in, int stride) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride];
}
__global__ void backwards_kernel(float* out, const float* in, int) { out[threadIdx.x] = in[31 - threadIdx.x]; }
struct pairs {
  int apart;
  __device__ int operator()(int i) const { return i / 2 * apart; }
};
template <class Function>
__global__ void gather_kernel(float* out, const float* in, Function from) {
  const int i = threadIdx.x;
  if (i < 32) out[i] = in[from(i)];
}
__global__ void copy_wide(float4* out, const float4* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
__global__ void copy_bytes(char* out, const char* in) { out[threadIdx.x] = in[3 * threadIdx.x + 1]; }
__global__ void transpose_naive(float* out, const float* in) {
  for (int r = threadIdx.y; r < 32; r += 4) out[threadIdx.x * 32 + r] = in[r * 32 + threadIdx.x];
}
template <int Pitch>
__global__ void transpose_shared(float* out, const float* in) {
  __shared__ float tile[32 * Pitch];
  for (int r = threadIdx.y; r < 32; r += 4) tile[r * Pitch + threadIdx.x] = in[r * 32 + threadIdx.x];
  __syncthreads();
  for (int r = threadIdx.y; r < 32; r += 4) out[r * 32 + threadIdx.x] = tile[threadIdx.x * Pitch + r];
}
__global__ void shared_wide(float4* out) {
  __shared__ float4 four[128];
  __shared__ double two[256];
  for (int k = threadIdx.x; k < 128; k += 64) four[k] = {1, 2, 3, 4};
  for (int k = threadIdx.x; k < 256; k += 64) two[k] = k;
  __syncthreads();
  out[threadIdx.x] = four[2 * threadIdx.x];
  out[threadIdx.x].x = two[threadIdx.x / 4 * 16];
  out[threadIdx.x].y = two[threadIdx.x % 16];  // the same words in both half warps, one after the other
}
__global__ void divergent(float* out) {
  const int i = threadIdx.x;
  if (i % 2 == 0)
    out[i] = 1;
  else
    out[i + 64] = 2;
  if (i < 40) out[i + 128] = 3;
}
__global__ void histogram(int* bins, const int* in) {
  __shared__ int own[32];
  if (threadIdx.x < 32) own[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&own[in[threadIdx.x] & 7], 1);
  __syncthreads();
  if (threadIdx.x < 32) atomicAdd(&bins[threadIdx.x % 16], own[threadIdx.x]);
}
__global__ void asynchronous(float* out, const float* in) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], 4);
  __pipeline_commit();
  float sum = 0;
  for (int k = 0; k < 4; ++k) sum += in[64 + k];
  __pipeline_wait_prior(0);
  __syncthreads();
  out[threadIdx.x] = sum + tile[63 - threadIdx.x];
}
/// So much shared memory that the grid takes more than one wave.
__global__ void large(float* out) {
  extern __shared__ float space[];
  space[threadIdx.x] = 1;
  if (blockIdx.x == 0) out[threadIdx.x] = 2.5f * out[32 + threadIdx.x] + space[threadIdx.x];
}
/// So many products that the tensor cores are the limit.
__global__ void products(float* out, const __nv_bfloat16* in) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> b;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0);
  load_matrix_sync(a, in, 16);
  load_matrix_sync(b, in, 16);
  for (int k = 0; k < 1000; ++k) mma_sync(sum, a, b, sum);
  store_matrix_sync(out, sum, 16, mem_row_major);
}

int main() {
  float *in = nullptr, *out = nullptr;
  if (cudaMalloc(&in, 16384) != cudaSuccess || cudaMalloc(&out, 16384) != cudaSuccess) return 1;
  cudaMemset(in, 0, 16384);
  copy<<<2, 64>>>(out, in);
  copy_strided<<<1, 64>>>(out, in, 2);
  copy_strided<<<1, 32>>>(out, in, 32);
  copy_wide<<<1, 64>>>(reinterpret_cast<float4*>(out), reinterpret_cast<float4*>(in), 50);
  copy_bytes<<<1, 48>>>(reinterpret_cast<char*>(out), reinterpret_cast<char*>(in));
  transpose_naive<<<1, dim3(32, 4)>>>(out, in);
  transpose_shared<32><<<1, dim3(32, 4)>>>(out, in);
  transpose_shared<33><<<1, dim3(32, 4)>>>(out, in);
  shared_wide<<<1, 64>>>(reinterpret_cast<float4*>(out));
  divergent<<<1, 64>>>(out);
  cudaMemset(out, 0, 16384);
  histogram<<<1, 64>>>(reinterpret_cast<int*>(out), reinterpret_cast<int*>(in));
  asynchronous<<<1, 64>>>(out, in);
  copy<<<2, 64>>>(out, in);
  for (const auto kernel : {copy_strided, backwards_kernel})
    kernel<<<1, 32>>>(out, in, 3);  // sizes and name are the same
  large<<<600, 32, 49152>>>(out);
  gather_kernel<<<1, 32>>>(out, in, pairs{8});
  products<<<1, 32>>>(out, reinterpret_cast<__nv_bfloat16*>(in));
  const bool good = cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(in);
  cudaFree(out);
  return good ? 0 : 1;
}
