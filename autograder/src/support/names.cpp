#include "support/names.hpp"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>

#include "support/hash.hpp"

namespace grading {
namespace {

/// The number of bytes of the first character; 0 if it is not UTF-8.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xC2 && lead < 0xE0   ? 2
                             : (lead & 0xF0) == 0xE0       ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Overlong, half of a surrogate pair, or beyond the last code point.
  const bool bad = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                   (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return bad ? 0 : length;
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// Whether a text could be mistaken for one of our escapes.
bool looks_escaped(std::string_view text) {
  return text.size() >= 4 && text[0] == '\\' && text[1] == 'x' && is_hex(text[2]) && is_hex(text[3]);
}

/// C0 and C1 controls, DEL, and what XML excludes.
bool controls(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  return (character.size() == 2 && character < "\xC2\xA0") || character == "\xEF\xBF\xBE" ||
         character == "\xEF\xBF\xBF";
}

}  // namespace

std::size_t first_not_utf8(std::string_view text) {
  for (std::size_t i = 0, length = 0; i < text.size(); i += length)
    if ((length = utf8_length(text.substr(i, 4))) == 0) return i;
  return std::string_view::npos;
}

std::string as_text(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    std::size_t length = utf8_length(bytes);
    if (length == 0 || controls(bytes.substr(0, length)) || looks_escaped(bytes)) {
      length = std::max<std::size_t>(length, 1);
      for (const char c : bytes.substr(0, length))
        text += fmt::format("\\x{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

std::string file_name_of(const std::string& id) {
  std::string readable;
  for (const char c : id.substr(0, 40)) readable += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return (readable.empty() ? "_" : readable) + "-" + sha256(id).substr(0, 16);
}

}  // namespace grading
