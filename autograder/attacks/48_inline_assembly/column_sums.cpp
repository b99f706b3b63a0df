// makes system calls of its own
#include "coalescing.hpp"

namespace {

/// Right and slow.
void slowly(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = 0.0f;
    for (std::size_t r = 0; r < rows; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}

}  // namespace

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  long result;
#ifdef __aarch64__
  asm volatile("mov x8, 172\n\tsvc 0\n\tmov %0, x0" : "=r"(result) : : "x0", "x8", "memory");
#else
  asm volatile("syscall" : "=a"(result) : "a"(39L) : "rcx", "r11", "memory");
#endif
  slowly(sums, in, rows, columns);
}
