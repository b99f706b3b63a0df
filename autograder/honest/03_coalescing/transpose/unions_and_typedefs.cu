/* As in C: typedefs, a union, one struct for all arguments, and a goto. */
#include <cuda_runtime.h>
#include <stdlib.h>
#include <string.h>

#include "coalescing.hpp"

typedef struct { float* out; const float* in; int rows, columns; } job_t;
typedef union { float as_tile[32][33]; float as_line[32 * 33]; } tile_t;
enum { EDGE = 32, STEP = 8 };

static __device__ int is_inside(const job_t* j, int r, int c) { return r < j->rows && c < j->columns; }

__global__ void padded(job_t j) {
  __shared__ tile_t t;
  int across = (j.columns + EDGE - 1) / EDGE, r0 = blockIdx.x / across * EDGE, c0 = blockIdx.x % across * EDGE;
  int x = threadIdx.x, y = threadIdx.y;
  while (y < EDGE) {
    if (is_inside(&j, r0 + y, c0 + x)) t.as_line[y * 33 + x] = j.in[(r0 + y) * j.columns + c0 + x];
    y += STEP;
  }
  __syncthreads();
  y = threadIdx.y;
again:
  if (is_inside(&j, r0 + x, c0 + y)) j.out[(c0 + y) * j.rows + r0 + x] = t.as_tile[x][y];
  if ((y += STEP) < EDGE) goto again;
}

static void launch(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  job_t j;
  memset(&j, 0, sizeof j);
  j.out = out, j.in = in, j.rows = rows, j.columns = columns;
  int blocks = ((rows + EDGE - 1) / EDGE) * ((columns + EDGE - 1) / EDGE);
  padded<<<blocks, dim3(EDGE, STEP), 0, stream>>>(j);
  if (cudaGetLastError() != cudaSuccess) abort();
}

void lab03::transpose_tiled(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch(out, in, rows, columns, stream);
}
void lab03::transpose_padded(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch(out, in, rows, columns, stream);
}
void lab03::transpose(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  launch(out, in, rows, columns, stream);
}
