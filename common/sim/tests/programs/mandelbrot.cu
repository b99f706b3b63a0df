// The Mandelbrot set, by a grid-stride loop, as characters; compared with the same function on the host.
#include <cstdio>
#include <vector>

__host__ __device__ inline int escape(float cx, float cy, int limit) {
  float x = 0, y = 0;
  int k = 0;
  while (k < limit && x * x + y * y <= 4.0f) {
    const float t = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = t;
    ++k;
  }
  return k;
}

__global__ void render(int* image, int width, int height, int limit) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < width * height; i += gridDim.x * blockDim.x)
    image[i] = escape(-2.0f + 3.0f * (i % width) / width, -1.0f + 2.0f * (i / width) / height, limit);
}

int main() {
  const int width = 150, height = 50, limit = 200;
  int* image;
  if (cudaMallocManaged(&image, width * height * sizeof(int)) != cudaSuccess) return 2;
  render<<<20, 96>>>(image, width, height, limit);
  if (cudaDeviceSynchronize() != cudaSuccess) return 2;
  int different = 0;
  for (int r = 0; r < height; ++r) {
    for (int c = 0; c < width; ++c) {
      const int k = image[r * width + c];
      different += k != escape(-2.0f + 3.0f * c / width, -1.0f + 2.0f * r / height, limit);
      std::putchar(k == limit ? '#' : k > 10 ? '+' : k > 5 ? '.' : ' ');
    }
    std::putchar('\n');
  }
  cudaFree(image);
  return different < width * height / 100 ? 0 : 1;  // contraction of a * b + c may move the border
}
