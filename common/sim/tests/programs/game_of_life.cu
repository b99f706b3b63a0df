// Conway's game on a torus: a glider comes back to where it was.
#include <cstdio>
#include <utility>
#include <vector>

__global__ void step(unsigned char* next, const unsigned char* now, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx != 0 || dy != 0) neighbours += now[(y + dy + height) % height * width + (x + dx + width) % width];
  next[y * width + x] = neighbours == 3 || (neighbours == 2 && now[y * width + x]);
}

int main() {
  const int width = 40, height = 40, generations = 4 * 40;
  std::vector<unsigned char> start(width * height, 0), end(width * height);
  start[1] = start[width + 2] = start[2 * width] = start[2 * width + 1] = start[2 * width + 2] = 1;
  unsigned char *a, *b;
  if (cudaMalloc(&a, start.size()) != cudaSuccess || cudaMalloc(&b, start.size()) != cudaSuccess) return 2;
  cudaMemcpy(a, start.data(), start.size(), cudaMemcpyHostToDevice);
  const dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
  for (int g = 0; g < generations; ++g) {
    step<<<grid, block>>>(b, a, width, height);
    std::swap(a, b);
  }
  if (cudaMemcpy(end.data(), a, end.size(), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(a);
  cudaFree(b);
  std::puts(start == end ? "PASSED" : "FAILED");
  return start == end ? 0 : 1;
}
