#include "coalescing.hpp"

constexpr int TILE_DIM = 32, BLOCK_ROWS = 8;

template <bool Shared, int Pad>
__global__ void transposeKernel(float *odata, const float *idata, int rows, int cols)
{
    __shared__ float tile[TILE_DIM][TILE_DIM + Pad];
    int x = blockIdx.x * TILE_DIM + threadIdx.x;
    int y = blockIdx.y * TILE_DIM + threadIdx.y;
    if constexpr (!Shared) {
        for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
            if (x < cols && y + j < rows) odata[x * rows + y + j] = idata[(y + j) * cols + x];
        return;
    }
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < cols && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * cols + x];
    __syncthreads();
    x = blockIdx.y * TILE_DIM + threadIdx.x;
    y = blockIdx.x * TILE_DIM + threadIdx.y;
    for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS)
        if (x < rows && y + j < cols) odata[(y + j) * rows + x] = tile[threadIdx.x][threadIdx.y + j];
}

template <bool Shared, int Pad>
static void run(float *out, const float *in, int rows, int columns, cudaStream_t stream)
{
    dim3 dimGrid((columns + TILE_DIM - 1) / TILE_DIM, (rows + TILE_DIM - 1) / TILE_DIM, 1);
    dim3 dimBlock(TILE_DIM, BLOCK_ROWS, 1);
    transposeKernel<Shared, Pad><<<dimGrid, dimBlock, 0, stream>>>(out, in, rows, columns);
}

namespace lab03 {
void transpose_naive(float *out, const float *in, int rows, int columns, cudaStream_t stream) { run<false, 0>(out, in, rows, columns, stream); }
void transpose_tiled(float *out, const float *in, int rows, int columns, cudaStream_t stream) { run<true, 0>(out, in, rows, columns, stream); }
void transpose_padded(float *out, const float *in, int rows, int columns, cudaStream_t stream) { run<true, 1>(out, in, rows, columns, stream); }
void transpose(float *out, const float *in, int rows, int columns, cudaStream_t stream) { run<true, 1>(out, in, rows, columns, stream); }
}
