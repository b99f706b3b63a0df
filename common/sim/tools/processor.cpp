#include "processor.hpp"

#include <cctype>

namespace sim {

using std::string_view;

string_view trim(string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}
string_view first_word(string_view s) {
  std::size_t n = 0;
  while (n < s.size() && s[n] != ' ' && s[n] != '\t') ++n;
  return s.substr(0, n);
}
string_view name_at(string_view s, std::size_t at, bool backwards) {
  const auto in_name = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$';
  };
  std::size_t begin = at, end = at;
  while (backwards && begin > 0 && in_name(s[begin - 1])) --begin;
  while (!backwards && end < s.size() && in_name(s[end])) ++end;
  return s.substr(begin, end - begin);
}
std::vector<string_view> split(string_view operands) {
  std::vector<string_view> parts;
  for (std::size_t begin = 0, at = 0, depth = 0; at <= operands.size(); ++at) {
    if (at == operands.size() || (operands[at] == ',' && depth == 0)) {
      parts.push_back(trim(operands.substr(begin, at - begin)));
      begin = at + 1;
    } else {
      depth += (operands[at] == '(' || operands[at] == '[') - (operands[at] == ')' || operands[at] == ']');
    }
  }
  return parts;
}

std::unique_ptr<processor> this_processor() {
#if defined(__x86_64__)
  return x86_64();
#elif defined(__aarch64__)
  return arm64();
#else
#error "simcc reads the assembly of x86-64 and of 64-bit Arm"
#endif
}

}  // namespace sim
