// Names by content.
#pragma once

#include <string>
#include <string_view>

namespace grading {

/// "fnv1a:..." of any text; distinguishes versions, but does not protect against forgery.
std::string hash_of(std::string_view text);

/// SHA-256 (FIPS 180-4) as 64 hexadecimal digits: safe against forgery.
std::string sha256(std::string_view text);

}  // namespace grading
