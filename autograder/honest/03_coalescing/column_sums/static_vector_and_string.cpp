#include <map>
#include <string>
#include <vector>
#include "coalescing.hpp"

// Objects with constructors, at namespace scope: made before the first call.
static std::vector<double> accumulators(1024, 0.0);
static const std::string label = "column sums, " + std::to_string(accumulators.size());
std::map<std::string, int> calls{{"column_sums", 0}, {"other", 1}};
static int ready = [] { return static_cast<int>(label.size()); }();

void lab03::column_sums(float* sums, const float* in, std::size_t rows, std::size_t columns) {
  calls["column_sums"] += ready > 0;
  accumulators.assign(columns, 0.0);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) accumulators[c] += in[r * columns + c];
  for (std::size_t c = 0; c < columns; ++c) sums[c] = static_cast<float>(accumulators[c]);
}
