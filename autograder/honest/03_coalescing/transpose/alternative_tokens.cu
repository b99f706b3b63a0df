%:include <lab/device.hpp>

%:include "coalescing.hpp"

namespace lab03 <%

template <int pad> __global__ void turned(float* out, const float* in, int rows, int columns) <%
  __shared__ float tile<:32:><:32 + pad:>;
  const int across = columns / 32 + (columns % 32 not_eq 0);
  const int down = blockIdx.x / across * 32, right = blockIdx.x % across * 32;
  for (int y = threadIdx.y; y < 32; y += 8)
    if (down + y < rows and right + threadIdx.x < columns)
      tile<:y:><:threadIdx.x:> = in<:(down + y) * columns + right + threadIdx.x:>;
  __syncthreads();
  for (int y = threadIdx.y; y < 32; y += 8)
    if (not (right + y >= columns or down + threadIdx.x >= rows))
      out<:(right + y) * rows + down + threadIdx.x:> = tile<:threadIdx.x:><:y:>;
%>

static void go(void (*kernel)(float*, const float*, int, int), float* out, const float* in, int rows, int columns,
               cudaStream_t stream) <%
  const dim3 threads(32, 8);
  kernel<<<(columns / 32 + (columns % 32 not_eq 0)) * (rows / 32 + (rows % 32 not_eq 0)), threads, 0, stream>>>(
      out, in, rows, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
%>

void transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) <%
  go(turned<compl 0 bitand 0>, out, in, rows, columns, stream);
%>
void transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) <%
  go(turned<1>, out, in, rows, columns, stream);
%>
void transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) <%
  transpose_padded(out, in, rows, columns, stream);
%>

%>
