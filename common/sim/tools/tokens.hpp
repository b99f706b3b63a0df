// The tokens of a C++ source, as far as launches need them: comments are gone, strings are whole, directives are known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct token {
  std::size_t begin, end;  ///< [begin, end) in the source
  char kind;               ///< 'i' identifier or number, 'p' punctuation, 's' string or character
  int directive;           ///< 0 in ordinary text, else the number of the file's directive that it belongs to
};

/// Punctuation is one character per token, except :: -> << <= and <<<, also written << <. In operator<<<T> the third <
/// is a separate token.
std::vector<token> tokens_of(const std::string& source);

/// A token's surroundings.
struct place {
  int parentheses = 0;          ///< how many are open around it
  bool in_device_code = false;  ///< in the body of something declared __global__ or __device__
  int branch = 0;               ///< the #if, #else or #elif whose text it is in; 0 outside of all
};
std::vector<place> places_of(const std::string& source, const std::vector<token>& tokens);

/// One replacement in a source.
struct edit {
  std::size_t at, length;
  std::string text;
};
/// Adds those of `more` that do not change text which `edits` already replace.
void add_beside(std::vector<edit>& edits, const std::vector<edit>& more);
/// The source with all edits made; none may overlap another.
std::string apply(const std::string& source, std::vector<edit> edits);

/// Text that makes the compiler stop with `message` in this line, unless the preprocessor leaves the line out.
std::string refusal(const std::string& message);

}  // namespace sim
