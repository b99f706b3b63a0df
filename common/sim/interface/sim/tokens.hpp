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

/// A source's tokens with their texts.
class token_view {
 public:
  token_view(const std::string& source, const std::vector<token>& tokens) : source_(source), tokens_(tokens) {}

  std::size_t size() const { return tokens_.size(); }
  const token& operator[](std::size_t i) const { return tokens_[i]; }
  /// Empty beyond the last token.
  std::string_view text(std::size_t i) const {
    if (i >= tokens_.size()) return {};
    return std::string_view(source_).substr(tokens_[i].begin, tokens_[i].end - tokens_[i].begin);
  }
  /// The parenthesis that closes the one at `open`; size() if none does.
  std::size_t close_of(std::size_t open) const {
    int depth = 0;
    for (std::size_t i = open; i < size(); ++i)
      if ((depth += (text(i) == "(") - (text(i) == ")")) == 0) return i;
    return size();
  }

 protected:
  const std::string& source_;
  const std::vector<token>& tokens_;
};

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
