// Other programs, through the shell.
#include "support/command.hpp"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

namespace grading {

std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return text;
  char piece[4096];
  for (std::size_t got; (got = std::fread(piece, 1, sizeof piece, pipe)) > 0;) text.append(piece, got);
  pclose(pipe);
  return text;
}

int run_command(const std::string& command) {
  std::fflush(nullptr);  // flush earlier output first
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::string quoted(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace grading
