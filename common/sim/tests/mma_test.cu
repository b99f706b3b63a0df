// nvcuda::wmma: products, elements of fragments, what loads and stores touch.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>
#include <mma.h>

#include <sim/observe.hpp>

using namespace nvcuda;

namespace {

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
__global__ void multiply(Sum* c, const T* a, int lda, const T* b, int ldb, Sum scale) {
  wmma::fragment<wmma::matrix_a, M, N, K, T, LayoutA> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, T, LayoutB> fb;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> fc;
  wmma::fill_fragment(fc, Sum(1));
  wmma::load_matrix_sync(fa, a, lda);
  wmma::load_matrix_sync(fb, b, ldb);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= scale;
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}
template <int M, int N, int K>
__global__ void multiply_tf32(float* c, const float* a, const float* b) {
  wmma::fragment<wmma::matrix_a, M, N, K, wmma::precision::tf32, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, M, N, K, wmma::precision::tf32, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, M, N, K, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, K);
  wmma::load_matrix_sync(fb, b, K);
  for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
  for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, N, wmma::mem_row_major);
}

template <class T>
T* managed(int n) {
  T* data = nullptr;
  EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
  for (int i = 0; i < n; ++i) data[i] = static_cast<T>(i % 7 - 3);
  return data;
}

/// The counter of products of T, added up as Sum.
template <class T, class Sum>
const std::string tensor_operations = std::is_same_v<T, double>        ? "sm__ops_path_tensor_src_fp64.sum"
                                      : std::is_same_v<T, signed char> ? "sm__ops_path_tensor_src_int8.sum"
                                                                       : "sm__ops_path_tensor_src_fp16.sum";

template <int M, int N, int K, class T, class Sum, class LayoutA, class LayoutB>
void expect_product() {
  constexpr bool a_rows = std::is_same_v<LayoutA, wmma::row_major>, b_rows = std::is_same_v<LayoutB, wmma::row_major>;
  const int lda = a_rows ? K : M, ldb = b_rows ? N : K;
  T *a = managed<T>(M * K), *b = managed<T>(K * N);
  Sum* c = managed<Sum>(M * N);
  const auto counts =
      sim::observe([&] { multiply<M, N, K, T, Sum, LayoutA, LayoutB><<<1, 32>>>(c, a, lda, b, ldb, Sum(2)); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(counts.reports.empty());
  // Each element is moved once.
  EXPECT_EQ(counts.metrics.at("smsp__sass_data_bytes_mem_global_op_ld.sum"), (M * K + K * N) * sizeof(T));
  EXPECT_EQ(counts.metrics.at("smsp__sass_data_bytes_mem_global_op_st.sum"), M * N * sizeof(Sum));
  for (const auto& [name, value] : counts.metrics)
    if (name.rfind("sm__ops_path_tensor", 0) == 0)
      EXPECT_EQ(value, (name == tensor_operations<T, Sum> ? 2 * M * N * K : 0)) << name;
  for (int i = 0; i < M; ++i)
    for (int j = 0; j < N; ++j) {
      int sum = 1;
      for (int k = 0; k < K; ++k)
        sum += static_cast<int>(a[a_rows ? i * lda + k : k * lda + i]) *
               static_cast<int>(b[b_rows ? k * ldb + j : j * ldb + k]);
      ASSERT_EQ(c[i * N + j], Sum(2 * sum)) << i << " " << j;
    }
  cudaDeviceReset();
}

TEST(Wmma, ShapesAndLayouts) {
  expect_product<16, 16, 16, signed char, int, wmma::row_major, wmma::col_major>();
  expect_product<16, 16, 16, signed char, int, wmma::col_major, wmma::row_major>();
  expect_product<32, 8, 16, signed char, int, wmma::row_major, wmma::row_major>();
  expect_product<8, 32, 16, signed char, int, wmma::col_major, wmma::col_major>();
  expect_product<8, 8, 4, double, double, wmma::row_major, wmma::col_major>();
}

TEST(Wmma, Tf32) {
  float *a = managed<float>(128), *b = managed<float>(128), *c = managed<float>(256);
  a[0] += 1.0f / 8192;  // is rounded away
  multiply_tf32<16, 16, 8><<<1, 32>>>(c, a, b);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  float sum = 0;
  for (int k = 0; k < 8; ++k) sum += static_cast<float>((k % 7 - 3) * (k % 7 - 3));
  EXPECT_EQ(c[0], sum);
  cudaDeviceReset();
}

TEST(Wmma, HalfIn) {
  expect_product<16, 16, 16, __half, float, wmma::row_major, wmma::col_major>();
  expect_product<32, 8, 16, __half, float, wmma::col_major, wmma::row_major>();
}

__global__ void too_few(int* c, const signed char* a) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> fa;
  if (threadIdx.x < 16) wmma::load_matrix_sync(fa, a, 16);
  c[threadIdx.x] = fa.x[0];
}

TEST(Wmma, NeedsTheWholeWarp) {
  signed char* a = managed<signed char>(256);
  int* c = managed<int>(32);
  const auto counts = sim::observe([&] { too_few<<<1, 32>>>(c, a); });
  ASSERT_EQ(counts.reports.size(), 1u);
  EXPECT_NE(counts.reports[0].find("mma_test.cu"), std::string::npos) << counts.reports[0];
  cudaDeviceReset();
}

}  // namespace
