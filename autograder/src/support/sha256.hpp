// Unforgeable names for contents (FIPS 180-4).
#pragma once

#include <string>
#include <string_view>

namespace grading {

/// 64 hexadecimal digits.
std::string sha256(std::string_view text);

}  // namespace grading
