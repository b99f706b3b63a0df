// libsodium's SHA-256, as text.
#include "support/sha256.hpp"

#include <fmt/format.h>
#include <sodium.h>

namespace grading {

std::string sha256(std::string_view text) {
  unsigned char hash[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(hash, reinterpret_cast<const unsigned char*>(text.data()), text.size());
  std::string hex;
  for (const unsigned char byte : hash) hex += fmt::format("{:02x}", byte);
  return hex;
}

}  // namespace grading
