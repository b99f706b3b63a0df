// A view like mdspan, int4 for 16 bytes of anything, a barrier of libcu++, 2-D and 3-D launches.
#include <cuda/barrier>
#include <cuda/std/span>
#include <lab/device.hpp>
#include <array>
#include <type_traits>

#include "coalescing.hpp"

namespace lab03 {
namespace {

template <class T, int rank>
struct view {
  T* data;
  int extent[rank], stride[rank];
  template <class... I>
  __host__ __device__ constexpr T& operator()(I... i) const {
    static_assert(sizeof...(I) == rank);
    const int index[]{static_cast<int>(i)...};
    int at = 0;
    for (int d = 0; d < rank; ++d) at += index[d] * stride[d];
    return data[at];
  }
};
template <class T>
constexpr view<T, 2> matrix(T* data, int rows, int columns) {
  return {data, {rows, columns}, {columns, 1}};
}

__global__ void sigmoids(view<float, 2> out, view<const float, 2> in) {
  const unsigned c = (blockIdx.z * gridDim.x + blockIdx.x) * blockDim.x * blockDim.y + threadIdx.y * blockDim.x + threadIdx.x;
  if (c >= static_cast<unsigned>(in.extent[1])) return;
  for (int r = 0; r < in.extent[0]; ++r) out(r, c) = __frcp_rn(1.0f + expf(-in(r, c)));
}

__global__ void quads(int4* to, const int4* from, int whole, cuda::std::span<float> out_tail, cuda::std::span<const float> in_tail) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < whole) to[i] = from[i];
  if (i < static_cast<int>(in_tail.size())) out_tail[i] = in_tail[i];
}

constexpr int threads = 96;  // a multiple of three: thread i always has coordinate i % 3

__global__ void deal(float* x, float* y, float* z, const float* points, int n) {
  using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ barrier ready;
  __shared__ float sorted[3][threads];
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  const int first = blockIdx.x * threads;
  for (int piece = 0; piece < 3; ++piece) {
    const int at = piece * threads + threadIdx.x;
    if (3 * first + at < 3 * n) sorted[at % 3][at / 3] = points[3 * first + at];
  }
  ready.arrive_and_wait();
  if (const int i = first + threadIdx.x; i < n) {
    x[i] = sorted[0][threadIdx.x];
    y[i] = sorted[1][threadIdx.x];
    z[i] = sorted[2][threadIdx.x];
  }
}

constexpr auto blocks = [](int n, int size) { return static_cast<unsigned>((n + size - 1) / size); };

}  // namespace

void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  const unsigned needed = blocks(columns, 128);
  const dim3 grid(std::min(needed, 4u), 1, (needed + 3) / 4), block(32, 4);
  sigmoids<<<grid, block, 0, stream>>>(matrix(out, rows, columns), matrix(in, rows, columns));
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}

void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  const int whole = n / 4, rest = n % 4;
  quads<<<blocks(std::max(whole, 1), 192), 192, 0, stream>>>(reinterpret_cast<int4*>(out), reinterpret_cast<const int4*>(in), whole,
                                                  {out + 4 * whole, static_cast<std::size_t>(rest)}, {in + 4 * whole, static_cast<std::size_t>(rest)});
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}

void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  deal<<<blocks(n, threads), threads, 0, stream>>>(x, y, z, points, n);
  LAB_CUDA_CHECK(cudaPeekAtLastError());
}

}  // namespace lab03
