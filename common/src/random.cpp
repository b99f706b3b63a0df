// A seed is hashed into a key; numbers are the key's ChaCha20 stream.
#include "lab/random.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>

#include "lab/case.hpp"

namespace lab {
namespace {

constexpr std::size_t block_bytes = 64;  // of ChaCha20
using stream_key = std::array<unsigned char, crypto_stream_chacha20_KEYBYTES>;

stream_key key_of(std::uint64_t seed) {
  [[maybe_unused]] static const int started = sodium_init();  // without it, libsodium takes portable, slow code
  stream_key key{};
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(&seed), sizeof seed, nullptr, 0);
  return key;
}

/// Bytes of the stream, starting at `block`.
void fill(void* to, std::size_t bytes, const stream_key& key, std::uint64_t block) {
  constexpr unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
  auto* out = static_cast<unsigned char*>(to);
  std::memset(out, 0, bytes);
  crypto_stream_chacha20_xor_ic(out, out, bytes, nonce, block, key.data());
}

}  // namespace

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t numbers = 16 << 10;  // in one chunk, 1024 blocks of the stream
  const stream_key key = key_of(seed);
  std::vector<float> values(count);
  const auto chunk = [&](std::size_t i) {
    const std::size_t first = i * numbers, here = std::min(numbers, count - first);
    std::array<std::uint32_t, numbers> bits;
    fill(bits.data(), sizeof bits[0] * here, key, i * (sizeof bits / block_bytes));
    for (std::size_t j = 0; j < here; ++j)  // 24 bits: every value is exact in a float
      values[first + j] = static_cast<float>(static_cast<std::int32_t>(bits[j] >> 8) - (1 << 23)) * 0x1p-23f;
  };
  for_each_index((count + numbers - 1) / numbers, chunk, numbers);
  return values;
}

std::vector<float> long_tailed_floats(std::size_t count, float usual, float far, std::uint64_t seed) {
  std::vector<float> values = random_floats(count, seed);
  for_each_index(count, [&](std::size_t i) {
    const auto whole = static_cast<std::int32_t>(values[i] * 0x1p23f);
    values[i] *= whole % 97 == 41 || whole % 97 == 41 - 97 ? far : usual;
  });
  return values;
}

std::int64_t random_sizes::operator()(std::int64_t least, std::int64_t most) {
  std::uint64_t bits = 0;
  fill(&bits, sizeof bits, key_of(seed_), drawn_++);
  return least + static_cast<std::int64_t>(bits % static_cast<std::uint64_t>(most - least + 1));
}

std::uint64_t derived_seed(std::uint64_t secret, std::string_view about, std::uint64_t number) {
  const stream_key key = key_of(secret);
  std::string text(about);
  text.append(reinterpret_cast<const char*>(&number), sizeof number);
  std::uint64_t result = 0;
  static_assert(sizeof result <= crypto_generichash_BYTES_MIN);
  std::array<unsigned char, crypto_generichash_BYTES_MIN> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                     key.data(), key.size());
  std::memcpy(&result, hash.data(), sizeof result);
  return result;
}

std::uint64_t secret_seed() {
  if (sodium_init() < 0) throw std::runtime_error("the system provides no random numbers");
  std::uint64_t seed = 0;
  randombytes_buf(&seed, sizeof seed);
  return seed >> 1;
}

}  // namespace lab
