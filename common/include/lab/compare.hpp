// Comparing a result with what it should be.
#pragma once

#include <span>
#include <string>

namespace lab {

/// |got - want| may be at most absolute + relative * |want|. Zero for both asks for equality.
struct tolerance {
  double absolute = 0.0;
  double relative = 0.0;
};

/// "" where all elements agree; otherwise how many differ and the first few, with their indices.
/// NaN in `got` never agrees. `row_length` > 0 prints an index as [row, column].
std::string mismatch(std::span<const float> got, std::span<const float> want, tolerance allowed,
                     std::size_t row_length = 0);
std::string mismatch(std::span<const double> got, std::span<const double> want, tolerance allowed,
                     std::size_t row_length = 0);

}  // namespace lab
