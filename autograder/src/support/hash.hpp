// Names for contents.
#pragma once

#include <string>
#include <string_view>

namespace grading {

/// "fnv1a:..." of any text; it distinguishes versions, and is no protection against forgery.
std::string hash_of(std::string_view text);

/// 64 hexadecimal digits that nobody can forge (FIPS 180-4).
std::string sha256(std::string_view text);

}  // namespace grading
