// Wrong on purpose: remembers its first answer for each shape, and gives it again when the numbers are new.
#include "coalescing.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace lab03 {

void column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  static std::map<std::pair<std::size_t, std::size_t>, std::vector<float>> known;
  std::vector<float>& answer = known[{rows, columns}];
  if (answer.empty()) {
    answer.assign(columns, 0.0f);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c) answer[c] += in[r * columns + c];
  }
  std::copy(answer.begin(), answer.end(), sums);
}

}  // namespace lab03
