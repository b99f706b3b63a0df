// reads its constants from text, because it can
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <locale>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include "fusion.hpp"

static const std::string text = "scale = 0.79788456; cubic = 0.044715";

static float constant(const std::string& name) {
  static const std::regex line(R"((\w+)\s*=\s*([0-9.]+))");
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it)
    if ((*it)[1] == name) {
      std::istringstream in((*it)[2]);
      in.imbue(std::locale::classic());
      float v = 0;
      in >> v;
      return v;
    }
  return 0;
}

void lab04::gelu_host(float* out, const float* in, std::size_t n) {
  static const float scale = constant("scale"), cubic = constant("cubic");
  std::ostringstream log;
  log << "n = " << n;
  char buffer[32], words[] = "a b";
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, static_cast<int>(n)).ptr;
  int parsed = 0;
  std::sscanf(log.str().c_str(), "n = %d", &parsed);
  if (std::string_view(buffer, static_cast<std::size_t>(end - buffer)).empty() || !std::strtok(words, " ")) return;
  for (std::size_t i = 0; i < n; ++i)
    out[i] = 0.5f * in[i] * (1 + std::tanh(scale * (in[i] + cubic * in[i] * in[i] * in[i])));
}
