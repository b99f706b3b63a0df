// Rows, then columns, with the filter in constant memory and halos in shared memory.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <vector>

#define KERNEL_RADIUS 8
#define KERNEL_LENGTH (2 * KERNEL_RADIUS + 1)
__constant__ float c_Kernel[KERNEL_LENGTH];

extern "C" void setConvolutionKernel(float* h_Kernel) {
  cudaMemcpyToSymbol(c_Kernel, h_Kernel, KERNEL_LENGTH * sizeof(float));
}

#define BLOCKDIM_X 16
#define BLOCKDIM_Y 4
#define STEPS 4
#define HALO 1

__global__ void convolutionRowsKernel(float* d_Dst, float* d_Src, int imageW, int imageH, int pitch) {
  __shared__ float s_Data[BLOCKDIM_Y][(STEPS + 2 * HALO) * BLOCKDIM_X];
  const int baseX = (blockIdx.x * STEPS - HALO) * BLOCKDIM_X + threadIdx.x;
  const int baseY = blockIdx.y * BLOCKDIM_Y + threadIdx.y;
  if (baseY >= imageH) return;
  d_Src += baseY * pitch + baseX;
  d_Dst += baseY * pitch + baseX;
#pragma unroll
  for (int i = 0; i < STEPS + 2 * HALO; i++) {
    const int x = baseX + i * BLOCKDIM_X;
    s_Data[threadIdx.y][threadIdx.x + i * BLOCKDIM_X] = x >= 0 && x < imageW ? d_Src[i * BLOCKDIM_X] : 0;
  }
  __syncthreads();
#pragma unroll
  for (int i = HALO; i < HALO + STEPS; i++) {
    float sum = 0;
#pragma unroll
    for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
      sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.y][threadIdx.x + i * BLOCKDIM_X + j];
    d_Dst[i * BLOCKDIM_X] = sum;
  }
}

__global__ void convolutionColumnsKernel(float* d_Dst, float* d_Src, int imageH, int pitch) {
  __shared__ float s_Data[BLOCKDIM_X][(STEPS + 2 * HALO) * BLOCKDIM_X + 1];
  const int baseX = blockIdx.x * BLOCKDIM_X + threadIdx.x;
  const int baseY = (blockIdx.y * STEPS - HALO) * BLOCKDIM_X + threadIdx.y;
  d_Src += baseY * pitch + baseX;
  d_Dst += baseY * pitch + baseX;
  for (int i = 0; i < STEPS + 2 * HALO; i++) {
    const int y = baseY + i * BLOCKDIM_X;
    s_Data[threadIdx.x][threadIdx.y + i * BLOCKDIM_X] = y >= 0 && y < imageH ? d_Src[i * BLOCKDIM_X * pitch] : 0;
  }
  __syncthreads();
  for (int i = HALO; i < HALO + STEPS; i++) {
    float sum = 0;
    for (int j = -KERNEL_RADIUS; j <= KERNEL_RADIUS; j++)
      sum += c_Kernel[KERNEL_RADIUS - j] * s_Data[threadIdx.x][threadIdx.y + i * BLOCKDIM_X + j];
    d_Dst[i * BLOCKDIM_X * pitch] = sum;
  }
}

int main() {
  const int w = 192, h = 128;
  std::vector<float> in(w * h), out(w * h), mid(w * h);
  float kernel[KERNEL_LENGTH];
  for (int i = 0; i < KERNEL_LENGTH; ++i) kernel[i] = (i * 5 % 16) / 16.0f;
  for (int i = 0; i < w * h; ++i) in[i] = (i * 31 % 16);
  float *d_in, *d_mid, *d_out;
  cudaMalloc(&d_in, w * h * 4);
  cudaMalloc(&d_mid, w * h * 4);
  cudaMalloc(&d_out, w * h * 4);
  setConvolutionKernel(kernel);
  cudaMemcpy(d_in, in.data(), w * h * 4, cudaMemcpyHostToDevice);
  convolutionRowsKernel<<<dim3(w / (STEPS * BLOCKDIM_X), h / BLOCKDIM_Y), dim3(BLOCKDIM_X, BLOCKDIM_Y)>>>(d_mid, d_in,
                                                                                                          w, h, w);
  convolutionColumnsKernel<<<dim3(w / BLOCKDIM_X, h / (STEPS * BLOCKDIM_X)), dim3(BLOCKDIM_X, BLOCKDIM_X)>>>(
      d_out, d_mid, h, w);
  if (cudaMemcpy(out.data(), d_out, w * h * 4, cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  int wrong = 0;
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x)
      for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; ++k)
        if (x + k >= 0 && x + k < w) mid[y * w + x] += in[y * w + x + k] * kernel[KERNEL_RADIUS - k];
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) {
      double sum = 0;
      for (int k = -KERNEL_RADIUS; k <= KERNEL_RADIUS; ++k)
        if (y + k >= 0 && y + k < h) sum += mid[(y + k) * w + x] * kernel[KERNEL_RADIUS - k];
      wrong += !(std::fabs(sum - out[y * w + x]) < 1e-1);
    }
  for (float* p : {d_in, d_mid, d_out}) cudaFree(p);
  std::printf("%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
