// From lab 10: a cache in pages. A page that is full moves to memory twice as large. A table on the device says where
// each page is.
#include "program.hpp"
#include "when_it_crashes.hpp"

namespace lab13 {
namespace {

struct page {
  float* memory;
  int held, room;
};

__global__ void enter(float** table, int number, float* memory) { table[number] = memory; }

__global__ void gather(float* out, float* const* table, int count) {
  const float* memory = table[blockIdx.x];
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    out[blockIdx.x * count + i] = memory[i];
  }
}

void open(page& p, int number, int room, float** table, int size, cudaStream_t stream) {
  p = {nullptr, 0, room};
  cudaMallocAsync(&p.memory, sizeof(float) * room * size, stream);
  enter<<<1, 1, 0, stream>>>(table, number, p.memory);
}

}  // namespace

void page_rows(float* out, const float* rows, int pages, int each, int hot, int more, int size, cudaStream_t stream) {
  float** table;
  cudaMallocAsync(&table, pages * sizeof(float*), stream);
  std::vector<page> cache(pages);
  for (int number = 0; number < pages; ++number) open(cache[number], number, each, table, size, stream);
  const std::size_t bytes = sizeof(float) * size;
  for (int r = 0; r < pages * each + more; ++r) {
    const int number = r < pages * each ? r / each : hot;
    page& p = cache[number];
    if (p.held == p.room) {
      float* larger;
      cudaMallocAsync(&larger, 2 * p.room * bytes, stream);
      cudaMemcpyAsync(larger, p.memory, p.held * bytes, cudaMemcpyDeviceToDevice, stream);
      cudaFreeAsync(p.memory, stream);
      p.memory = larger;
      p.room *= 2;
    }
    cudaMemcpyAsync(p.memory + p.held * size, rows + r * size, bytes, cudaMemcpyDeviceToDevice, stream);
    ++p.held;
  }
  gather<<<pages, 32, 0, stream>>>(out, table, each * size);
  for (page& p : cache) cudaFreeAsync(p.memory, stream);
  cudaFreeAsync(table, stream);
}

}  // namespace lab13

[[gnu::weak]] int main(int argc, char** argv) {
  using namespace lab13;
  drawn draw(argc, argv);
  const int pages = draw(20, 40), each = draw(2, 6), hot = draw(1, pages - 1), more = draw(1, each), size = 16;
  const std::vector<float> rows((pages * each + more) * size, 1);
  const float* in = uploaded(rows);
  float* out = allocate<float>(pages * each * size);
  page_rows(out, in, pages, each, hot, more, size, nullptr);
  check(cudaGetLastError());
  std::printf("element 0: %g\n", downloaded(out, 1)[0]);
}
