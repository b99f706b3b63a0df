// CUDA arrays, for copies and textures.
#pragma once

#include "sim/texture.h"

/// Rows of texels, `pitch` bytes apart, in device memory.
struct cudaArray {
  char* begin = nullptr;
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};  ///< in texels, as given by the program: 0 if the array lacks the dimension
  unsigned flags = 0;
  std::size_t pitch = 0;
  std::size_t rows() const { return extent.height > 0 ? extent.height : 1; }
  std::size_t slices() const { return extent.depth > 0 ? extent.depth : 1; }
};

namespace sim {
inline std::size_t texel_bytes(const cudaChannelFormatDesc& c) {
  return static_cast<std::size_t>(c.x + c.y + c.z + c.w) / 8;
}
}  // namespace sim
