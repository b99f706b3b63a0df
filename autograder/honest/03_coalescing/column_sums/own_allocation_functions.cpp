// counts its allocations, as one does to find them
#include <cstdlib>
#include <new>
#include <vector>
#include "coalescing.hpp"

static std::size_t allocations;
void* operator new(std::size_t n) {
  ++allocations;
  if (void* p = std::malloc(n)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  std::vector<float> s(columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) s[c] += in[r * columns + c];
  for (std::size_t c = 0; c < columns; ++c) sums[c] = s[c];
}
