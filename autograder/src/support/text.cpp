#include "support/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

namespace grading {

void add_to_list(std::string& list, std::string_view separator, std::string_view text) {
  if (!list.empty()) list += separator;
  list += text;
}

std::string shortened_list(const std::vector<std::string>& all, std::size_t most, std::string_view separator,
                           std::string_view last_separator) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(most, all.size()));
  std::string text = fmt::format("{}", fmt::join(all.begin(), all.begin() + shown, separator));
  if (all.size() > most) text += fmt::format("{}and {} more", last_separator, all.size() - most);
  return text;
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t' ? ' ' : c;
    }
  }
  return out;
}

bool names(const std::string& text, const std::string& word) {
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !in_word(text[at - 1])) && (at + word.size() == text.size() || !in_word(text[at + word.size()])))
      return true;
  return false;
}

std::string points_text(double points) {
  std::string text = fmt::format("{:.2f}", points);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

std::string figure_text(double figure, int digits) {
  if (!std::isfinite(figure)) return "none";
  const double size = std::abs(figure);
  const bool whole = figure == std::round(figure);
  if (size >= 1e15 || (!whole && size < 999.5)) return fmt::format("{:.{}g}", figure, digits);
  const int before_the_point = size < 1 ? 1 : static_cast<int>(std::log10(size)) + 1;
  std::string text = fmt::format("{:.{}f}", figure, whole ? 0 : std::max(0, digits - before_the_point));
  for (auto at = static_cast<std::ptrdiff_t>(std::min(text.find('.'), text.size())) - 3; at > (figure < 0 ? 1 : 0);
       at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace grading
