// Finds copies and fills that race with launches in other streams, and sources that the host changes too early. The
// caller holds runtime_mutex.
#pragma once

#include <cstddef>
#include <cstdint>

#include "streams.hpp"

namespace sim {

/// A copy or fill in this stream that will use device memory; reports a race with a launch, copy or fill that nothing
/// orders before it. Construct it once, then call it for each row.
class copy_order {
 public:
  explicit copy_order(cudaStream_t stream);
  void reads(const void* begin, std::size_t bytes) const { use(begin, bytes, false); }
  void writes(const void* begin, std::size_t bytes) const { use(begin, bytes, true); }
  std::uint16_t epoch() const { return epoch_; }

 private:
  void use(const void* begin, std::size_t bytes, bool stores) const;

  std::uint16_t epoch_ = 0;  ///< 0: all work is in one stream, so it is ordered
  cudaStream_t stream_;
};

}  // namespace sim
