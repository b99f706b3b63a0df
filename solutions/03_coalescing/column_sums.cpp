// The sum of each column on one core, at the speed of memory. Rows are walked from end to end, so that each cache line
// is used whole and the prefetchers see long runs; six rows together, so that the sums, which stay in the cache, are
// read and written once for six rows of the matrix. How six was found: WORKLOG.md.
#include "coalescing.hpp"

#include <algorithm>

namespace lab03 {
namespace {

//! [column_sums]
/// sums[c] += in(0, c) + ... + in(count - 1, c). Without __restrict__ the compiler has to ask at run time whether the
/// sums overlap any of the rows, and with too many rows it rather gives up its vector registers.
template <std::size_t count>
void add_rows(float* __restrict__ sums, const float* __restrict__ in, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float sum = sums[c];
    for (std::size_t r = 0; r < count; ++r) sum += in[r * columns + c];
    sums[c] = sum;
  }
}
//! [column_sums]

}  // namespace

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  constexpr std::size_t together = 6;
  std::fill_n(sums, columns, 0.0f);
  std::size_t r = 0;
  for (; r + together <= rows; r += together) add_rows<together>(sums, in + r * columns, columns);
  for (; r < rows; ++r) add_rows<1>(sums, in + r * columns, columns);
}

}  // namespace lab03
