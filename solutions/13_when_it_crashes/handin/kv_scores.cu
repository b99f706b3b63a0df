// From lab 10: scores of a query and the keys in a cache, which has room for more keys than it holds.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

__global__ void score(float* scores, const float* query, const float* keys, int length, int size) {
  const int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= length) return;
  float sum = 0;
  for (int i = 0; i < size; ++i) {
    sum += query[i] * keys[t * size + i];
  }
  scores[t] = sum;
}

}  // namespace

void kv_scores(float* scores, const float* query, const float* keys, int length, int size, cudaStream_t stream) {
  score<<<(length + 63) / 64, 64, 0, stream>>>(scores, query, keys, length, size);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int size = 8 * draw(2, 6), length = 64 * draw(3, 12) + draw(5, 60), room = 1024;
  const float* query = uploaded(std::vector<float>(size, 0.5f));
  float* keys[4];
  for (float*& layer : keys) layer = allocate<float>(room * size);
  float* scores = allocate<float>(room);
  // One layer holds `length` keys, the others have the next token's already.
  const int behind = draw(0, 3);
  for (int layer = 0; layer < 4; ++layer) {
    const int held = layer == behind ? length : length + 1;
    check(cudaMemset(keys[layer], 0, sizeof(float) * held * size));
  }
  for (int layer = 0; layer < 4; ++layer) {
    kv_scores(scores, query, keys[layer], length, size, 0);
    check(cudaGetLastError());
  }
  std::printf("score 0: %g\n", downloaded(scores, length)[0]);
}
