// Identifies the machine with tools that every system has: /proc, uname and nvidia-smi.
#include "lab/environment.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>

namespace lab {
namespace {

/// The first line that a command prints, or "".
std::string first_line(const char* command) {
  const auto close = [](std::FILE* pipe) { (void)pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe(popen(command, "r"), close);
  std::array<char, 512> line{};
  if (!pipe || std::fgets(line.data(), line.size(), pipe.get()) == nullptr) return "";
  std::string text(line.data());
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "";
}

}  // namespace

std::map<std::string, std::string> environment() {
  std::map<std::string, std::string> found;
  const std::time_t now = std::time(nullptr);
  std::array<char, 32> date{};
  std::tm utc{};
  if (gmtime_r(&now, &utc) != nullptr && std::strftime(date.data(), date.size(), "%Y-%m-%dT%H:%M:%SZ", &utc) > 0)
    found["date"] = date.data();
  found["cpu"] = cpu_model();
#ifdef __clang__
  found["compiler"] = __VERSION__;
#else
  found["compiler"] = "g++ " __VERSION__;
#endif
  if (utsname name{}; uname(&name) == 0)
    found["system"] = std::string(name.sysname) + " " + name.release + " " + name.machine;

  const std::string gpu = first_line(
      "nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.draw,temperature.gpu "
      "--format=csv,noheader 2>/dev/null");
  std::size_t begin = 0;
  for (const char* key :
       {"gpu", "driver", "sm_clock", "memory_clock", "max_sm_clock", "power", "temperature_celsius"}) {
    if (begin >= gpu.size()) break;
    const std::size_t end = std::min(gpu.find(", ", begin), gpu.size());
    found[key] = gpu.substr(begin, end - begin);
    begin = end + 2;
  }
  std::erase_if(found, [](const auto& entry) { return entry.second.empty(); });
  return found;
}

}  // namespace lab
