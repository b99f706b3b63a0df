// Wrong on purpose: only as many columns as a buffer of fixed size would hold.
#include "coalescing.hpp"

#include <algorithm>

namespace lab03 {
namespace {

constexpr std::size_t line = 16;    // floats in a cache line of 64 bytes
constexpr std::size_t ahead = 128;  // floats

//! [column_sums]
/// sums[c] += in(0, c) + ... + in(count - 1, c). Without __restrict__ the compiler has to ask at run time whether the
/// sums overlap any of the rows, and with too many rows it rather gives up its vector registers. A prefetch that points
/// past the end does no harm.
template <std::size_t count>
void add_rows(float* __restrict__ sums, const float* __restrict__ in, std::size_t columns) {
  const auto add_columns = [=](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) {
      float sum = sums[c];
      for (std::size_t r = 0; r < count; ++r) sum += in[r * columns + c];
      sums[c] = sum;
    }
  };
  std::size_t c = 0;
  for (; c + line <= columns; c += line) {
    for (std::size_t r = 0; r < count; ++r) __builtin_prefetch(&in[r * columns + c + ahead]);
    add_columns(c, c + line);
  }
  add_columns(c, columns);
}
//! [column_sums]

}  // namespace

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  constexpr std::size_t most = 16'384;
  float buffer[most] = {};
  for (std::size_t r = 0; r < rows; ++r) add_rows<1>(buffer, in + r * columns, std::min(columns, most));
  std::copy_n(buffer, std::min(columns, most), sums);
}

}  // namespace lab03
