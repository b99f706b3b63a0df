#include "lab/plot.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

namespace lab {

std::string drawn_by_gnuplot(const std::string& script) {
  static std::map<std::string, std::string> drawn;  // by script: often only one of a report's drawings has changed
  if (const auto known = drawn.find(script); known != drawn.end()) return known->second;
  namespace fs = std::filesystem;
  const fs::path file = fs::temp_directory_path() / ("lab_plot_" + std::to_string(getpid()) + ".gnuplot");
  std::ofstream(file) << script;
  std::string svg;
  const auto close = [](std::FILE* pipe) { (void)pclose(pipe); };
  {
    const std::unique_ptr<std::FILE, decltype(close)> pipe(
        popen(("gnuplot '" + file.string() + "' 2>/dev/null").c_str(), "r"), close);
    std::array<char, 4096> part{};
    for (std::size_t got; pipe && (got = std::fread(part.data(), 1, part.size(), pipe.get())) > 0;)
      svg.append(part.data(), got);
  }
  std::error_code ignored;
  fs::remove(file, ignored);
  const std::size_t start = svg.find("<svg");
  return drawn[script] = start == std::string::npos ? std::string{} : svg.substr(start);
}

}  // namespace lab
