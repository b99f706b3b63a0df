// Hashes a seed into a key; numbers are the key's ChaCha20 stream, or made from it.
#include "lab/random.hpp"

#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <stdexcept>

#include "lab/case.hpp"

namespace lab {
namespace {

constexpr std::size_t block_bytes = 64;  // of ChaCha20
constexpr std::size_t chunk_bytes = 64 << 10;
using stream_key = std::array<unsigned char, crypto_stream_chacha20_KEYBYTES>;

stream_key key_of(std::uint64_t seed) {
  [[maybe_unused]] static const int started = sodium_init();  // without it, libsodium uses slow, portable code
  stream_key key{};
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(&seed), sizeof seed, nullptr, 0);
  return key;
}

/// A permutation of the 32-bit numbers in which each output bit depends on all input bits (Wellons, Prospecting for
/// Hash Functions, 2018).
std::uint32_t scrambled(std::uint32_t x) {
  x = (x ^ x >> 16) * 0x21F0'AAAD;
  x = (x ^ x >> 15) * 0xD35A'2D97;
  return x ^ x >> 15;
}

/// Bytes of the stream, starting at `block`.
void fill(void* to, std::size_t bytes, const stream_key& key, std::uint64_t block) {
  constexpr unsigned char nonce[crypto_stream_chacha20_NONCEBYTES] = {};
  auto* out = static_cast<unsigned char*>(to);
  std::memset(out, 0, bytes);
  crypto_stream_chacha20_xor_ic(out, out, bytes, nonce, block, key.data());
}

/// Chunk i of a seed's numbers. The first chunk is the stream itself; every other chunk takes its key from there. So a
/// small test case reveals nothing, and a large one, whose numbers are all given, takes a fraction of the time.
void fill_chunk(std::span<std::uint32_t> words, const stream_key& key, std::size_t i) {
  const std::size_t block = i * (chunk_bytes / block_bytes);
  if (i == 0) return fill(words.data(), words.size_bytes(), key, block);
  std::array<std::uint32_t, 2> keys{};
  fill(keys.data(), sizeof keys, key, block);
  const auto [before, between] = keys;
  const auto count = static_cast<std::uint32_t>(words.size());  // same type as j: the compiler can use vectors
  for (std::uint32_t j = 0; j < count; ++j) words[j] = scrambled(scrambled(j ^ before) ^ between);
}

}  // namespace

std::vector<float> random_floats(std::size_t count, std::uint64_t seed) {
  constexpr std::size_t numbers = chunk_bytes / sizeof(std::uint32_t);
  const stream_key key = key_of(seed);
  std::vector<float> values(count);
  const auto chunk = [&](std::size_t i) {
    const std::size_t first = i * numbers, here = std::min(numbers, count - first);
    std::array<std::uint32_t, numbers> bits;
    fill_chunk(std::span(bits).first(here), key, i);
    for (std::size_t j = 0; j < here; ++j)  // 24 bits: every value is exact in a float
      values[first + j] = static_cast<float>(static_cast<std::int32_t>(bits[j] >> 8) - (1 << 23)) * 0x1p-23f;
  };
  for_each_index((count + numbers - 1) / numbers, chunk, numbers);
  return values;
}

std::vector<std::uint8_t> random_bytes(std::size_t count, std::uint64_t seed) {
  const stream_key key = key_of(seed);
  std::vector<std::uint8_t> values(count);
  const auto chunk = [&](std::size_t i) {
    const std::size_t first = i * chunk_bytes;
    std::array<std::uint32_t, chunk_bytes / sizeof(std::uint32_t)> words;
    fill_chunk(words, key, i);
    std::memcpy(&values[first], words.data(), std::min(chunk_bytes, count - first));
  };
  for_each_index((count + chunk_bytes - 1) / chunk_bytes, chunk, chunk_bytes / sizeof(std::uint32_t));
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

std::vector<float> floats_of_any_size(std::size_t count, std::uint64_t seed) {
  std::vector<float> values = long_tailed_floats(count, 1.0f, 3e38f, seed);
  for_each_index(count, [&](std::size_t i) {
    if (std::abs(values[i]) < 0.05f) values[i] *= 1e-43f;
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
