// GPU memory that two processes share: the one that allocates it passes a file descriptor to the other.
#pragma once

#include <cstddef>
#include <span>

namespace lab {

class shared_device_memory {
 public:
  /// Allocates at least `bytes` on the current device. Throws std::runtime_error without a GPU or enough memory.
  explicit shared_device_memory(std::size_t bytes);
  /// Maps memory that another process has allocated, with the size that process reports. The caller still owns the
  /// descriptor.
  shared_device_memory(int descriptor, std::size_t bytes);
  ~shared_device_memory();
  shared_device_memory(const shared_device_memory&) = delete;  // owns the mapping
  shared_device_memory& operator=(const shared_device_memory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }  ///< addresses on the device
  int descriptor() const { return descriptor_; }         ///< for another process; -1 if the other process allocated it

 private:
  void map();
  unsigned long long allocation_ = 0;
  std::span<std::byte> bytes_;
  int descriptor_ = -1;
};

}  // namespace lab
