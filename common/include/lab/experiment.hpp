// The main function of a lab's experiment, which measures something real and prints a table or JSON.
#pragma once

#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>

namespace lab {

/// Calls `run`, with true if --json was given. Returns the exit status: 1 if `run` throws, 2 for other arguments.
inline int experiment(int argc, char** argv, const std::function<void(bool json)>& run) {
  const bool json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    std::fprintf(stderr, "usage: %s [--json]\n", argv[0]);
    return 2;
  }
  try {
    run(json);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace lab
