// Copies and transposes of a matrix through tiles of 32 x 32, called through a table of function pointers.
#include <stdio.h>

#include <vector>

const int TILE_DIM = 32;
const int BLOCK_ROWS = 8;

__global__ void copy(float* odata, const float* idata) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * width + x] = idata[(y + j) * width + x];
}

__global__ void transposeNaive(float* odata, const float* idata) {
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM, height = gridDim.y * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[x * height + (y + j)] = idata[(y + j) * width + x];
}

template <int Padding>
__global__ void transposeTiled(float* odata, const float* idata) {
  __shared__ float tile[TILE_DIM][TILE_DIM + Padding];
  int x = blockIdx.x * TILE_DIM + threadIdx.x;
  int y = blockIdx.y * TILE_DIM + threadIdx.y;
  int width = gridDim.x * TILE_DIM, height = gridDim.y * TILE_DIM;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) tile[threadIdx.y + j][threadIdx.x] = idata[(y + j) * width + x];
  __syncthreads();
  x = blockIdx.y * TILE_DIM + threadIdx.x;
  y = blockIdx.x * TILE_DIM + threadIdx.y;
  for (int j = 0; j < TILE_DIM; j += BLOCK_ROWS) odata[(y + j) * height + x] = tile[threadIdx.x][threadIdx.y + j];
}

int main() {
  const int nx = 160, ny = 96, bytes = nx * ny * sizeof(float);
  dim3 grid(nx / TILE_DIM, ny / TILE_DIM, 1), block(TILE_DIM, BLOCK_ROWS, 1);
  std::vector<float> in(nx * ny), out(nx * ny);
  for (int i = 0; i < nx * ny; ++i) in[i] = i;
  float *d_in, *d_out;
  cudaMalloc(&d_in, bytes);
  cudaMalloc(&d_out, bytes);
  cudaMemcpy(d_in, in.data(), bytes, cudaMemcpyHostToDevice);
  void (*kernel)(float*, const float*) = nullptr;
  int wrong = 0;
  for (int k = 0; k < 4; ++k) {
    const char* name = "";
    switch (k) {
      case 0: kernel = &copy, name = "copy"; break;
      case 1: kernel = &transposeNaive, name = "naive"; break;
      case 2: kernel = &transposeTiled<0>, name = "tiled"; break;
      case 3: kernel = &transposeTiled<1>, name = "padded"; break;
    }
    cudaMemset(d_out, 0, bytes);
    kernel<<<grid, block>>>(d_out, d_in);
    if (cudaMemcpy(out.data(), d_out, bytes, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
    int here = 0;
    for (int r = 0; r < ny; ++r)
      for (int c = 0; c < nx; ++c) here += (k == 0 ? out[r * nx + c] : out[c * ny + r]) != in[r * nx + c];
    printf("%-8s %s\n", name, here ? "FAILED" : "passed");
    wrong += here;
  }
  cudaFree(d_in);
  cudaFree(d_out);
  return wrong != 0;
}
