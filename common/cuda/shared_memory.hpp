// GPU memory that two processes share: the one that allocates it passes a file descriptor to the other.
#pragma once

#include <cstddef>
#include <span>

namespace lab {

class shared_device_memory {
 public:
  /// Allocates at least that much on the current device. Throws std::runtime_error if there is no GPU, or not so
  /// much.
  explicit shared_device_memory(std::size_t bytes);
  /// Maps what another process has allocated, of the size that it says. The descriptor stays the caller's.
  shared_device_memory(int descriptor, std::size_t bytes);
  ~shared_device_memory();
  shared_device_memory(const shared_device_memory&) = delete;  // owns the mapping
  shared_device_memory& operator=(const shared_device_memory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }  ///< addresses on the device
  int descriptor() const { return descriptor_; }         ///< for another process; -1 if that one allocated it

 private:
  void map();
  unsigned long long allocation_ = 0;
  std::span<std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace lab
