#include "coalescing.hpp"
#include <cmath>

namespace {
struct Table {
  float weight[64];
  Table() { for (int i = 0; i < 64; ++i) weight[i] = std::cos(0.0f * i); }
  ~Table() { weight[0] = 0; }
};
Table table;
__attribute__((constructor)) void check_table() { if (table.weight[63] != 1.0f) table = Table(); }
__attribute__((constructor(200))) void first_of_all() {}
__attribute__((destructor)) void at_the_end() { table.weight[1] = 0; }
}

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  for (std::size_t c = 0; c < columns; ++c) {
    float s = 0;
    for (std::size_t r = 0; r < rows; ++r) s += in[r * columns + c] * table.weight[r % 64];
    sums[c] = s;
  }
}
