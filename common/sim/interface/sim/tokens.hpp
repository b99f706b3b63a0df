// The tokens of a C++ source, as far as launches need them: without comments, with whole strings and known directives.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

struct token {
  std::size_t begin, end;  ///< [begin, end) in the source
  char kind;               ///< 'i' identifier or number, 'p' punctuation, 's' string or character
  int directive;           ///< 0 in ordinary text, otherwise the number of its directive in the file
};

/// Punctuation is one character per token, except :: -> << <= and <<<, also written << <. In operator<<<T> the third <
/// is a separate token.
std::vector<token> tokens_of(const std::string& source);

/// The context of a token.
struct place {
  int parentheses = 0;          ///< number of open parentheses
  bool in_device_code = false;  ///< in the body of something declared __global__ or __device__
  int branch = 0;               ///< the #if, #else or #elif that contains it; 0 outside of all
};
std::vector<place> places_of(const std::string& source, const std::vector<token>& tokens);

/// One replacement in a source.
struct edit {
  std::size_t at, length;
  std::string text;
};
/// Adds those of `more` that do not change text which `edits` already replaces.
void add_beside(std::vector<edit>& edits, const std::vector<edit>& more);
/// The source with all edits made; none may overlap another.
std::string apply(const std::string& source, std::vector<edit> edits);

/// Text that makes the compiler stop with `message` on this line, unless the preprocessor skips the line.
std::string refusal(const std::string& message);

}  // namespace sim
