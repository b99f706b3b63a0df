// From lab 07: a cache of keys in 8 bits that all sequences share. A sequence knows the slots of its keys.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

__global__ void fetch(float* out, const std::int8_t* cache, const int* slots, float scale, int size) {
  const int element = threadIdx.x, slot = slots[blockIdx.x];
  out[blockIdx.x * size + element] = scale * cache[slot * size + element];
}

}  // namespace

void slot_rows(float* out, const std::int8_t* cache, const int* slots, float scale, int count, int size,
               cudaStream_t stream) {
  fetch<<<count, size, 0, stream>>>(out, cache, slots, scale, size);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int size = 8 * draw(9, 15), count = draw(20, 50), far = draw(1, count - 1);
  const std::size_t held = (std::size_t{1} << 31) / size + 1000;
  std::int8_t* cache = allocate<std::int8_t>(held * size);
  std::vector<int> slots;
  for (int i = 0; i < count; ++i) {
    slots.push_back(i == far ? (1u << 31) / size : draw(0, 1000));
    check(cudaMemset(cache + static_cast<std::size_t>(slots[i]) * size, 1, size));
  }
  float* out = allocate<float>(count * size);
  slot_rows(out, cache, uploaded(slots), 0.5f, count, size, nullptr);
  check(cudaGetLastError());
  std::printf("element 0: %g\n", downloaded(out, 1)[0]);
}
