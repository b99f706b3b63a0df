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
  if (figure == std::round(figure) && std::abs(figure) < 1e7) return fmt::format("{:.0f}", figure);
  return fmt::format("{:.{}g}", figure, digits);
}

std::string count_text(double value) {
  if (value != std::round(value) || std::abs(value) >= 1e15) return figure_text(value);
  std::string text = fmt::format("{:.0f}", value);
  for (std::ptrdiff_t at = std::ssize(text) - 3; at > (value < 0 ? 1 : 0); at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace grading
