// The main of a program that ./course profile compiled: its own main, renamed, is the work.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "lab/profiler.hpp"

extern "C" int lab_program_main(int argc, char** argv, char** environment);

namespace {

bool returned = false;

/// If the program calls exit, we can neither repeat nor report its work.
void say_why_nothing_was_profiled() {
  if (!returned)
    std::fputs("profile: the program called exit(); return from main instead, so that it can run again\n", stderr);
}

int run_again(int argc, char** argv, char** environment) {
  std::vector<std::string> words(argv, argv + argc);  // programs may change their arguments
  std::vector<char*> pointers;
  for (std::string& w : words) pointers.push_back(w.data());
  pointers.push_back(nullptr);
  return lab_program_main(argc, pointers.data(), environment);
}

}  // namespace

int main(int argc, char** argv, char** environment) {
  std::atexit(say_why_nothing_was_profiled);
  const std::string path = argc > 0 ? argv[0] : "program";
  int status = 0, runs = 0;
  std::fflush(stdout);
  const int out = dup(STDOUT_FILENO);
  try {
    lab::profile p;
    p.run(path.substr(path.rfind('/') + 1), [&] {
      if (runs++ == 1) {  // the first run has printed everything
        std::fflush(stdout);
        if (const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) {
          dup2(nowhere, STDOUT_FILENO);
          close(nowhere);
        }
      }
      if (const int failed = run_again(argc, argv, environment); failed != 0) status = failed;
    });
    returned = true;
    std::fflush(stdout);
    dup2(out, STDOUT_FILENO);
    p.report();
  } catch (const std::exception& e) {
    returned = true;
    std::fprintf(stderr, "profile: %s\n", e.what());
    return 1;
  }
  return status;
}
