// From lab 11: the largest score of each row. A long row has several blocks, whose results a second kernel joins.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

constexpr int per_part = 256;

__global__ void part_max(float* out, float* parts, const float* in, const int* lengths, int room, int blocks) {
  __shared__ float largest[32];
  const int row = blockIdx.y, part = blockIdx.x, lane = threadIdx.x, length = lengths[row];
  const int end = min(length, (part + 1) * per_part);
  if (part * per_part >= length) return;
  float mine = -INFINITY;
  for (int i = part * per_part + lane; i < end; i += 32) mine = fmaxf(mine, in[row * room + i]);
  largest[lane] = mine;
  __syncwarp();
  if (lane != 0) return;
  for (int k = 1; k < 32; ++k) mine = fmaxf(mine, largest[k]);
  (length <= per_part ? out[row] : parts[row * blocks + part]) = mine;
}

__global__ void join(float* out, const float* parts, const int* lengths, int rows, int blocks) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || lengths[row] <= per_part) return;
  float largest = -INFINITY;
  for (int p = 0; p * per_part < lengths[row]; ++p) {
    largest = fmaxf(largest, parts[row * blocks + p]);
  }
  out[row] = largest;
}

}  // namespace

void long_rows(float* out, const float* in, const int* lengths, int rows, int room, cudaStream_t stream) {
  const int blocks = (room + per_part - 1) / per_part;
  float* parts;
  cudaMallocAsync(&parts, sizeof(float) * rows * blocks, stream);
  part_max<<<dim3(blocks, rows), 32, 0, stream>>>(out, parts, in, lengths, room, blocks);
  cudaFreeAsync(parts, stream);
  join<<<(rows + 31) / 32, 32, 0, stream>>>(out, parts, lengths, rows, blocks);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int rows = draw(100, 200), room = 1024, only = draw(40, rows - 1);
  std::vector<int> lengths(rows);
  for (int& length : lengths) length = draw(1, 256);
  lengths[only] = draw(300, room);
  const float* in = uploaded(std::vector<float>(rows * room, 1));
  float* out = allocate<float>(rows);
  long_rows(out, in, uploaded(lengths), rows, room, nullptr);
  check(cudaGetLastError());
  std::printf("row 0: %g\n", downloaded(out, 1)[0]);
}
