// The report's view of the source: each line that touches memory, with what the counters say of it.
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <tuple>

#include "judge/advice.hpp"
#include "report/html.hpp"
#include "report/report_parts.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

/// Source files by their name alone, looked for in the submission and in its lab: a record can name any path, and
/// nothing else may be shown.
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

std::string lines_table(const profiled_case& p, sources& texts) {
  using place = std::tuple<std::string, int, std::string>;
  std::map<place, lab::line_counters> sums;
  for (const lab::launch_record& launch : p.launches) {
    for (const lab::line_counters& line : launch.lines) {
      lab::line_counters& sum = sums[{line.file, line.line, line.operation}];
      sum.requests += line.requests;
      sum.sectors += line.sectors;
      sum.wavefronts += line.wavefronts;
      sum.ideal += line.ideal;
    }
  }
  if (sums.empty()) return {};
  std::string out =
      R"(<div class="scroll"><table><tr><th>line</th><th>access</th><th class="num">requests</th>)"
      R"(<th class="num">sectors</th><th class="num">wavefronts</th><th class="num">ideal</th><th>source</th></tr>)";
  for (const auto& [where, c] : sums) {
    const auto& [file, number, operation] = where;
    const bool shared = operation.starts_with("shared");
    const double each = c.requests ? 1.0 / static_cast<double>(c.requests) : 0.0;
    const std::uint64_t cost = shared ? c.wavefronts : c.sectors;
    const auto per_request = [&](std::uint64_t count, bool applies) {
      return applies ? figure_text(static_cast<double>(count) * each) : std::string{};
    };
    out += fmt::format(R"(<tr{}><td class="code">{}:{}</td><td>{}</td><td class="num">{}</td><td class="num">{}</td>)"
                       R"(<td class="num">{}</td><td class="num">{}</td><td class="code source">{}</td></tr>)",
                       c.ideal > 0 && cost > c.ideal ? R"( class="waste")" : "",
                       escaped(fs::path(file).filename().string()), number, escaped(operation), c.requests,
                       per_request(c.sectors, !shared), per_request(c.wavefronts, shared),
                       per_request(c.ideal, c.ideal > 0), escaped(texts.line(file, number)));
  }
  return out + "</table></div>";
}

std::string launches_line(const profiled_case& p, const modelled_device& device) {
  std::string out;
  for (const lab::launch_record& l : p.launches) {
    const double blocks = static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2];
    const std::string idle = blocks < device.multiprocessors
                                 ? fmt::format("; {:.0f} block{} on {} multiprocessors", blocks, blocks == 1 ? "" : "s",
                                               device.multiprocessors)
                                 : "";
    out += fmt::format(
        R"(<p class="soft"><code>{}&lt;&lt;&lt;({}, {}, {}), ({}, {}, {})&gt;&gt;&gt;</code> modelled {:.3g} us{}</p>)",
        escaped(l.kernel), l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1], l.block[2],
        l.modelled_seconds * 1e6, idle);
  }
  return out;
}

}  // namespace

std::string profiles_part(const result& r, const fs::path& source) {
  if (r.profiles.empty()) return {};
  sources texts(r, source);
  const modelled_device device = read_modelled_device(source);
  std::string out =
      R"(<details><summary>What each line asked of memory</summary><p class="soft">Sectors, wavefronts and ideal are )"
      "per request of a warp; a red line asks for more than its lanes need at best.</p>";
  for (const profiled_case& p : r.profiles)
    out += fmt::format("<h4>{} <span class=\"soft\">on {}</span></h4>", escaped(p.case_id),
                       p.backend == backend::sim ? "the simulated device" : name_of(p.backend)) +
           launches_line(p, device) + lines_table(p, texts);
  return out + "</details>";
}

}  // namespace grading
