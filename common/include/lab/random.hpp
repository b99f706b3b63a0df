// Random numbers for the judge's cases. The same seed gives the same numbers on every machine, and numbers seen so far
// reveal neither the seed nor another seed's numbers: ChaCha20 and BLAKE2b (libsodium).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lab {

/// Uniform in [-1, 1), multiples of 2^-23.
std::vector<float> random_floats(std::size_t count, std::uint64_t seed);

/// Each of the 256 values is equally likely.
std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed);

/// Uniform in [-usual, usual), but one in 97 in [-far, far). Random bits choose which, so an index reveals nothing.
std::vector<float> long_tailed_floats(std::size_t count, float usual, float far, std::uint64_t seed);

/// From subnormal to almost the largest, -0 included: neither a sum nor a detour through an int keeps all of them.
std::vector<float> floats_of_any_size(std::size_t count, std::uint64_t seed);

/// Whole numbers from `least` to `most`, both included.
class random_sizes {
 public:
  explicit random_sizes(std::uint64_t seed) : seed_(seed) {}
  std::int64_t operator()(std::int64_t least, std::int64_t most);

 private:
  std::uint64_t seed_, drawn_ = 0;
};

/// The seed of one call of one case: depends on all three and reveals nothing about `secret`.
std::uint64_t derived_seed(std::uint64_t secret, std::string_view about, std::uint64_t number);

/// From the operating system's entropy; below 2^63, which any JSON reader can hold. For random choices that must come
/// after a submission's answer. Throws std::runtime_error if the system provides none.
std::uint64_t secret_seed();

}  // namespace lab
