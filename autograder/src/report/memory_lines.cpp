#include "report/memory_lines.hpp"

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "judge/advice.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;
using json = nlohmann::ordered_json;

/// Finds source files by name alone, in the submission and its lab: a record can contain any path, and no other file
/// may be shown.
class sources {
 public:
  sources(const result& r, const fs::path& source) {
    const fs::path lab = source / "labs" / fs::path(r.lab).filename();
    folders_ = {fs::path(r.path), lab / "given", lab};
  }

  std::string line(const std::string& file, int number) {
    const std::string name = fs::path(file).filename().string();
    const auto [found, fresh] = files_.try_emplace(name);
    if (fresh) found->second = read(name);
    if (number < 1 || static_cast<std::size_t>(number) > found->second.size()) return {};
    return found->second[static_cast<std::size_t>(number - 1)];
  }

 private:
  std::vector<std::string> read(const std::string& name) const {
    std::vector<std::string> lines;
    for (const fs::path& folder : folders_) {
      if (name.empty() || !fs::is_regular_file(folder / name)) continue;
      std::ifstream in(folder / name);
      for (std::string text; std::getline(in, text);) lines.push_back(text);
      break;
    }
    return lines;
  }

  std::vector<fs::path> folders_;
  std::map<std::string, std::vector<std::string>> files_;
};

json rows_of(const counted_case& p, sources& texts) {
  json rows = json::array();
  for (const lab::line_counters& c : lines_of(p.launches)) {
    const double each = c.requests ? 1.0 / static_cast<double>(c.requests) : 0.0;
    const auto per_request = [each](std::uint64_t count, bool applies) {
      return applies ? json(static_cast<double>(count) * each) : json();
    };
    rows.push_back({{"waste", excess_of(c) > 0},
                    {"file", fs::path(c.file).filename().string()},
                    {"line", c.line},
                    {"operation", c.operation},
                    {"requests", c.requests},
                    {"sectors", per_request(c.sectors, !is_shared(c))},
                    {"wavefronts", per_request(c.wavefronts, is_shared(c))},
                    {"ideal", per_request(c.ideal, c.ideal > 0)},
                    {"source", texts.line(c.file, c.line)}});
  }
  return rows;
}

json launch_of(const lab::launch_record& l, const modelled_device& device) {
  const auto shape = [](const auto& size) { return fmt::format("{}, {}, {}", size[0], size[1], size[2]); };
  const double blocks = static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2];
  json launch = {{"kernel", l.kernel},
                 {"grid", shape(l.grid)},
                 {"block", shape(l.block)},
                 {"microseconds", figure_text(l.modelled_seconds * 1e6)},
                 {"idle", nullptr}};
  if (blocks < device.multiprocessors)
    launch["idle"] =
        fmt::format("{:.0f} block{} on {} multiprocessors", blocks, blocks == 1 ? "" : "s", device.multiprocessors);
  return launch;
}

}  // namespace

json memory_lines(const result& r, const fs::path& source) {
  if (r.counted.empty()) return nullptr;
  sources texts(r, source);
  const modelled_device device = read_modelled_device(source);
  json cases = json::array();
  for (const counted_case& p : r.counted) {
    json launches = json::array();
    for (const lab::launch_record& l : p.launches) launches.push_back(launch_of(l, device));
    const json rows = rows_of(p, texts);
    cases.push_back({{"case", p.case_id},
                     {"device", p.backend == backend::sim ? "the simulated device" : name_of(p.backend)},
                     {"launches", launches},
                     {"lines", rows.empty() ? json() : json{{"rows", rows}}}});
  }
  return {{"cases", cases}};
}

}  // namespace grading
