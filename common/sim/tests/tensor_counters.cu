// What the instructions on matrices count as, one kernel for each: tensor_counters.py compares with an H200.
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

// Rows `stride` bytes apart.
#define MOVE(name, ...)                                                     \
  __global__ void name(int* out, int stride) {                              \
    extern __shared__ __align__(1024) int s[];                              \
    for (int i = threadIdx.x; i < 1152; i += 32) s[i] = i;                  \
    __syncthreads();                                                        \
    int r[4] = {0, 0, 0, 0};                                                \
    const unsigned at = __cvta_generic_to_shared(s) + threadIdx.x * stride; \
    __VA_ARGS__;                                                            \
    __syncthreads();                                                        \
    out[threadIdx.x] = r[0] + r[1] + r[2] + r[3] + s[threadIdx.x];          \
  }
#define PRODUCT(name, ...)                        \
  __global__ void name(int* out, int x) {         \
    int r[4] = {x, x, x, x};                      \
    __VA_ARGS__;                                  \
    out[threadIdx.x] = r[0] + r[1] + r[2] + r[3]; \
  }
// clang-format off
MOVE(ldmatrix_x1, asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at)))
MOVE(ldmatrix_x1_trans, asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];" : "=r"(r[0]) : "r"(at)))
MOVE(ldmatrix_x2, asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at)))
MOVE(ldmatrix_x2_trans, asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "r"(at)))
MOVE(ldmatrix_x4, asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at)))
MOVE(ldmatrix_x4_trans, asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at)))
MOVE(stmatrix_x1, asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};" :: "r"(at), "r"(r[0])))
MOVE(stmatrix_x4, asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" :: "r"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])))
PRODUCT(f16_k8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(f16_k16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(f16_f16_k16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %2, %2, %2}, {%2, %2}, {%0, %1};" : "+r"(r[0]), "+r"(r[1]) : "r"(x)))
PRODUCT(bf16_k16, asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(tf32_k4, asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(tf32_k8, asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(s8_k16, asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4}, {%4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(s8_k32, asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(s4_k64, asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(e4m3_k32, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
PRODUCT(e5m2_k32, asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%4, %4}, {%0, %1, %2, %3};" : "+r"(r[0]), "+r"(r[1]), "+r"(r[2]), "+r"(r[3]) : "r"(x)))
// clang-format on
__global__ void f64_k4(double* out, double x) {
  double r[2] = {x, x};
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%2}, {%0, %1};"
               : "+d"(r[0]), "+d"(r[1])
               : "d"(x));
  out[threadIdx.x] = r[0] + r[1];
}
template <class A, class C, int K>
__global__ void wmma_product(C* out, float x) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, K, A, row_major> a;
  fragment<matrix_b, 16, 16, K, A, row_major> b;
  fragment<accumulator, 16, 16, K, C> c;
  for (int i = 0; i < a.num_elements; ++i) a.x[i] = x;
  for (int i = 0; i < b.num_elements; ++i) b.x[i] = x;
  for (int i = 0; i < c.num_elements; ++i) c.x[i] = x;
  mma_sync(c, a, b, c);
  store_matrix_sync(out, c, 16, mem_row_major);
}

int main() {
  int* out;
  cudaMalloc(&out, 4096);
  for (int stride : {16, 32, 64, 128, 144}) {
    ldmatrix_x1<<<1, 32, 4608>>>(out, stride);
    ldmatrix_x2<<<1, 32, 4608>>>(out, stride);
    ldmatrix_x4<<<1, 32, 4608>>>(out, stride);
    ldmatrix_x1_trans<<<1, 32, 4608>>>(out, stride);
    ldmatrix_x2_trans<<<1, 32, 4608>>>(out, stride);
    ldmatrix_x4_trans<<<1, 32, 4608>>>(out, stride);
    stmatrix_x1<<<1, 32, 4608>>>(out, stride);
    stmatrix_x4<<<1, 32, 4608>>>(out, stride);
  }
  f16_k8<<<1, 32>>>(out, 0);
  f16_k16<<<1, 32>>>(out, 0);
  f16_f16_k16<<<1, 32>>>(out, 0);
  bf16_k16<<<1, 32>>>(out, 0);
  tf32_k4<<<1, 32>>>(out, 0);
  tf32_k8<<<1, 32>>>(out, 0);
  s8_k16<<<1, 32>>>(out, 0);
  s8_k32<<<1, 32>>>(out, 0);
  s4_k64<<<1, 32>>>(out, 0);
  e4m3_k32<<<1, 32>>>(out, 0);
  e5m2_k32<<<1, 32>>>(out, 0);
  f64_k4<<<1, 32>>>(reinterpret_cast<double*>(out), 0);
  wmma_product<half, float, 16><<<1, 32>>>(reinterpret_cast<float*>(out), 0);
  wmma_product<half, half, 16><<<1, 32>>>(reinterpret_cast<half*>(out), 0);
  wmma_product<signed char, int, 16><<<1, 32>>>(out, 0);
  wmma_product<nvcuda::wmma::precision::tf32, float, 8><<<1, 32>>>(reinterpret_cast<float*>(out), 0);
  const cudaError_t e = cudaDeviceSynchronize();
  cudaFree(out);
  return e != cudaSuccess;
}
