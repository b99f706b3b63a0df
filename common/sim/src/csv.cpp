// The launches in Nsight Compute's columns, so that the same script reads both.
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "launches.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "report.hpp"

namespace sim {
namespace {

std::string csv_field(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string row(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& f : fields) line += (line.empty() ? "" : ",") + csv_field(f);
  return line + "\n";
}

/// ncu's base unit of a metric, derived from its name.
std::string unit_of(const std::string& metric) {
  const auto has = [&](const char* part) { return metric.find(part) != std::string::npos; };
  if (metric.ends_with(".pct")) return "%";
  if (has("sectors_per_request")) return "sector/request";
  if (has("time_duration")) return "ns";
  if (has("bytes")) return "byte";
  if (has("__t_sectors")) return "sector";
  if (has("__t_requests")) return "request";
  if (has("inst_executed")) return "inst";
  return "";
}

/// Integers unchanged, other numbers with two decimals, no separators: as ncu prints them in the C locale.
std::string number(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

std::string program_name() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string all(path, length > 0 ? static_cast<std::size_t>(length) : 0);
  return all.substr(all.find_last_of('/') + 1);
}

std::string csv_of(const std::vector<launched>& launches) {
  std::vector<std::map<std::string, double>> metrics;
  std::set<std::string> names;  // a launch without loads has no loads per request
  for (const launched& l : launches) {
    metrics.push_back(metrics_of(l));
    for (const auto& [name, value] : metrics.back()) names.insert(name);
  }
  std::vector<std::string> header = {"ID",     "Process ID", "Process Name", "Host Name", "Kernel Name", "Context",
                                     "Stream", "Block Size", "Grid Size",    "Device",    "CC"};
  std::vector<std::string> units(header.size());
  for (const std::string& name : names) {
    header.push_back(name);
    units.push_back(unit_of(name));
  }
  std::string text = row(header) + row(units);
  const device_description& device = described_device();
  std::map<cudaStream_t, int> streams = {{nullptr, 7}};  // ncu calls the default stream 7
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const launched& l = launches[i];
    const auto size = [](const dim3& d) { return fmt::format("({}, {}, {})", d.x, d.y, d.z); };
    const int stream = streams.emplace(l.config.stream, 12 + static_cast<int>(streams.size())).first->second;
    std::vector<std::string> fields = {std::to_string(i),
                                       std::to_string(getpid()),
                                       program_name(),
                                       "127.0.0.1",
                                       l.kernel,
                                       "1",
                                       std::to_string(stream),
                                       size(l.config.block),
                                       size(l.config.grid),
                                       std::to_string(l.device),
                                       fmt::format("{}.{}", device.compute_major, device.compute_minor)};
    for (const std::string& name : names) {
      const auto found = metrics[i].find(name);
      fields.push_back(found == metrics[i].end() ? "" : number(found->second));
    }
    text += row(fields);
  }
  return text;
}

}  // namespace

void write_csv(const std::string& path) {
  std::FILE* out = path == "-" ? stdout : std::fopen(path.c_str(), "w");
  if (!out || std::fputs(csv_of(launch_log()).c_str(), out) < 0 ||
      (out != stdout ? std::fclose(out) : std::fflush(out)) != 0)
    fmt::print(stderr, "simulated device: cannot write {}: set SIM_CSV to a file in an existing folder\n", path);
}

}  // namespace sim
