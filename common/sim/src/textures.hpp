// CUDA arrays, as copies and textures see them.
#pragma once

#include "sim/texture.h"

/// Rows of texels, `pitch` bytes apart, in device memory.
struct cudaArray {
  char* begin = nullptr;
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};  ///< in texels, as the program gave it: 0 where the array has no such dimension
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
