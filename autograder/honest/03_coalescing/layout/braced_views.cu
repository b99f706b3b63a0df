#include "coalescing.hpp"
#include <cassert>
#include <algorithm>
namespace lab03 {
// Matrix view with bounds checks (debugging)
template <typename T>
class MatrixView {
 public:
  __host__ __device__ MatrixView(T* data, int rows, int cols) : data_(data), rows_(rows), cols_(cols) {}
  __device__ T& operator()(int r, int c) const {
    assert(r >= 0 && r < rows_ && c >= 0 && c < cols_);
    return data_[r * cols_ + c];
  }
  __device__ int rows() const { return rows_; }
  __device__ int cols() const { return cols_; }
 private:
  T* data_;
  int rows_, cols_;
};
struct Sigmoid { __device__ static float apply(float x) { return 1.f / (1.f + expf(-x)); } };
template <class Op>
__global__ void perRow(MatrixView<float> out, MatrixView<const float> in) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r < in.rows()) for (int c = 0; c < in.cols(); ++c) out(r, c) = Op::apply(in(r, c));
}
template <class Op>
__global__ void perColumn(MatrixView<float> out, MatrixView<const float> in) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c < in.cols()) for (int r = 0; r < in.rows(); ++r) out(r, c) = Op::apply(in(r, c));
}
__global__ void strided(float* out, const float* in, int n, int stride, int offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i * stride + offset];
}
__global__ void vec(float4* out, const float4* in, int n4) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n4; i += gridDim.x * blockDim.x) out[i] = in[i];
}
// 4 points = 3 float4 : each thread loads 3 float4 through shared
__global__ void splitPoints(float* x, float* y, float* z, const float* p, int n) {
  extern __shared__ float buf[];
  float* dst[3] = {x, y, z};
  for (int first = blockIdx.x * blockDim.x; first < n; first += gridDim.x * blockDim.x) {
    const int m = min(int(blockDim.x), n - first);
    for (int j = threadIdx.x; j < 3 * m; j += blockDim.x) buf[j] = p[3 * first + j];
    __syncthreads();
    if (threadIdx.x < m) for (int k = 0; k < 3; ++k) dst[k][first + threadIdx.x] = buf[3 * threadIdx.x + k];
    __syncthreads();
  }
}
void sigmoid_thread_per_row(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  perRow<Sigmoid><<<(rows + 127) / 128, 128, 0, stream>>>({out, rows, columns}, {in, rows, columns});
}
void sigmoid_thread_per_column(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  perColumn<Sigmoid><<<(columns + 127) / 128, 128, 0, stream>>>({out, rows, columns}, {in, rows, columns});
}
void copy_strided(float* out, const float* in, int n, int stride, cudaStream_t stream) {
  strided<<<(n + 127) / 128, 128, 0, stream>>>(out, in, n, stride, 0);
}
void copy_offset(float* out, const float* in, int n, int offset, cudaStream_t stream) {
  strided<<<(n + 127) / 128, 128, 0, stream>>>(out, in, n, 1, offset);
}
void copy_vectorized(float* out, const float* in, int n, cudaStream_t stream) {
  const int n4 = n / 4;
  if (n4 > 0) vec<<<(n4 + 127) / 128, 128, 0, stream>>>((float4*)out, (const float4*)in, n4);
  if (n % 4) cudaMemcpyAsync(out + 4 * n4, in + 4 * n4, (n % 4) * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
void points_to_arrays(float* x, float* y, float* z, const float* points, int n, cudaStream_t stream) {
  const int threads = 256;
  splitPoints<<<std::min((n + threads - 1) / threads, 1024), threads, 3 * threads * sizeof(float), stream>>>(x, y, z, points, n);
}
}
