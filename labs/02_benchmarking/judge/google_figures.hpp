// The graded benchmarks of google.cpp, and the runner's figures for each.
#pragma once

#include <cstddef>
#include <string>

namespace lab02 {

struct google_run {
  const char* loop;
  std::size_t n;
  double bytes, flops;  ///< per iteration; 0: not required
  std::string name() const { return loop + ("/" + std::to_string(n)); }
};

inline constexpr google_run google_runs[] = {
    {"sum", 4096, 16384, 4096},
    {"sum", 32768, 131072, 32768},
    {"sum", 262144, 1048576, 262144},
    {"sum", 2097152, 8388608, 2097152},
    {"scale", 4096, 32768, 4096},
    {"scale", 32768, 262144, 32768},
    {"scale", 262144, 2097152, 262144},
    {"scale", 2097152, 16777216, 2097152},
    {"sort", 16, 0, 0},
    {"sort", 1024, 0, 0},
    {"sort", 16384, 0, 0},
};

struct google_figures {
  double seconds = 0;                        ///< per iteration; 0: no such benchmark
  double real_seconds = 0, cpu_seconds = 0;  ///< rates are per second of one or the other
  double bytes_per_second = 0, flops_per_second = 0;
  double plain_seconds = 0;  ///< of the loop without Google Benchmark
};

}  // namespace lab02
