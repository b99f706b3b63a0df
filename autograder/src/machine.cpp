// What a measurement must carry with it: the machine, its compiler and its system.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "devices.hpp"
#include "result.hpp"

namespace grading {
namespace {

/// The value of the first line "key<separator>value" of a file, without quotes; "" where there is none.
std::string field(const char* file, const std::string& key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(key, 0) != 0) continue;
    const std::size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    const std::size_t first = line.find_first_not_of(" \t\"", at + 1);
    const std::size_t last = line.find_last_not_of(" \t\"");
    return first == std::string::npos ? std::string{} : line.substr(first, last - first + 1);
  }
  return {};
}

}  // namespace

machine this_machine() {
  machine result;
  result.cpu = field("/proc/cpuinfo", "model name", ':');
  if (result.cpu.empty()) result.cpu = "unknown CPU";
  result.cores = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__clang__)
  result.compiler = "clang " __clang_version__;
#else
  result.compiler = "g++ " __VERSION__;
#endif
  utsname kernel{};
  uname(&kernel);
  result.os = fmt::format("{}, {} {}", field("/etc/os-release", "PRETTY_NAME", '='), kernel.sysname, kernel.release);
  result.gpu = gpu_name();
  return result;
}

}  // namespace grading
