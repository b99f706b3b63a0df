// lab/tensor_core.hpp on the simulated device: layouts, counts, and an incomplete warp.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <lab/profiler.hpp>
#include <lab/tensor_core.hpp>

namespace {

template <class T>
T* managed(int n) {
  T* data = nullptr;
  EXPECT_EQ(cudaMallocManaged(&data, n * sizeof(T)), cudaSuccess);
  for (int i = 0; i < n; ++i) data[i] = static_cast<T>(static_cast<float>(i % 7 - 3));
  return data;
}

// A (16, 16) b (16, 8), row-major, from shared memory: b's rows are k, so its 8 x 8 parts are loaded transposed.
__global__ void multiply_by_mma(float* c, const __nv_bfloat16* a, const __nv_bfloat16* b) {
  __shared__ __align__(16) __nv_bfloat16 in_a[16 * 16], in_b[16 * 16];
  const unsigned lane = threadIdx.x;
  for (unsigned i = lane; i < 256; i += 32) {
    in_a[i] = a[i];
    in_b[i] = i % 16 < 8 ? b[i / 16 * 8 + i % 16] : __float2bfloat16(0.0f);
  }
  __syncwarp();
  unsigned fa[4], fb[4];
  lab::ldmatrix(fa, &in_a[lane % 16 * 16 + lane / 16 * 8]);
  lab::ldmatrix_trans(fb, &in_b[lane % 16 * 16 + lane / 16 * 8]);
  float d[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  lab::mma(d, fa, {fb[0], fb[1]});
  for (unsigned i = 0; i < 4; ++i) c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
}

TEST(TensorCore, LayoutsAndCounts) {
  auto *a = managed<__nv_bfloat16>(256), *b = managed<__nv_bfloat16>(128);
  auto* c = managed<float>(128);
  for (int i = 0; i < 256; ++i) a[i] = __float2bfloat16(static_cast<float>(i % 11 - 5));
  const auto counts = lab::profiler({}).collect([&] { multiply_by_mma<<<1, 32>>>(c, a, b); });
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_TRUE(counts.reports.empty());
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      float sum = 1;
      for (int k = 0; k < 16; ++k) sum += __bfloat162float(a[i * 16 + k]) * __bfloat162float(b[k * 8 + j]);
      ASSERT_EQ(c[i * 8 + j], sum) << i << " " << j;
    }
  EXPECT_EQ(counts.metrics.at("sm__ops_path_tensor_src_bf16_dst_fp32.sum"), 2 * 16 * 8 * 16);
  EXPECT_EQ(counts.metrics.at("smsp__inst_executed_op_ldsm.sum"), 2);
  // Rows of 32 bytes: of 8 rows, the first and the fifth are in the same banks, so each matrix takes two wavefronts.
  EXPECT_EQ(counts.metrics.at("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"), 8);
  cudaDeviceReset();
}

__global__ void half_a_warp(float* c) {
  float d[4] = {};
  if (threadIdx.x < 16) lab::mma(d, {0, 0, 0, 0}, {0, 0});
  c[threadIdx.x] = d[0];
}

TEST(TensorCore, NeedsTheWholeWarp) {
  auto* c = managed<float>(32);
  const auto counts = lab::profiler({}).collect([&] { half_a_warp<<<1, 32>>>(c); });
  EXPECT_EQ(counts.reports.size(), 1u);
  cudaDeviceReset();
}

}  // namespace
