// Asks nvidia-smi, the one tool that every driver brings, and only where a device node exists.
#include "devices.hpp"

#include <array>
#include <cstdio>
#include <filesystem>

#include "command.hpp"

namespace grading {

const std::string& gpu_name() {
  static const std::string name = [] {
    std::string line = output_of("nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null");
    line.erase(std::min(line.find('\n'), line.size()));
    if (line.empty() && std::filesystem::exists("/dev/nvidia0")) line = "a GPU without nvidia-smi";
    return line;
  }();
  return name;
}

}  // namespace grading
