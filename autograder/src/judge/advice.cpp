// One function per kind of waste: each searches the launches of a case and says what the waste costs.
#include "judge/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "result/words.hpp"
#include "sim/counters.hpp"
#include "sim/device_file.hpp"
#include "support/text.hpp"

namespace grading {
namespace {

namespace fs = std::filesystem;

// A smaller launch ends before it can waste much.
constexpr double least_bytes_per_multiprocessor = 8 << 10;
constexpr std::uint64_t least_requests = 1024;

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

double blocks_of(const lab::launch_record& l) { return static_cast<double>(l.grid[0]) * l.grid[1] * l.grid[2]; }
std::uint32_t threads_of(const lab::launch_record& l) { return l.block[0] * l.block[1] * l.block[2]; }

double metric_of(const lab::launch_record& l, const char* name) {
  const auto found = l.metrics.find(name);
  return found == l.metrics.end() ? 0.0 : found->second;
}

/// Accesses except atomics, the most wasteful first.
std::vector<lab::line_counters> worst_lines(const std::vector<lab::launch_record>& launches) {
  std::vector<lab::line_counters> lines = lines_of(launches);
  std::erase_if(lines, [](const lab::line_counters& c) { return c.operation.ends_with("atomic"); });
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) {
    return std::pair(excess_of(a), cost_of(a)) > std::pair(excess_of(b), cost_of(b));
  });
  return lines;
}

std::string place_of(const lab::line_counters& c) { return fmt::format("{}:{}", file_name(c.file), c.line); }

/// "x.cu:12: 32 sectors per global store where 4 suffice"
std::string text_of_line(const lab::line_counters& c) {
  const double each = 1.0 / static_cast<double>(std::max<std::uint64_t>(c.requests, 1));
  const auto per_request = [&](std::uint64_t count) { return figure_text(static_cast<double>(count) * each); };
  const std::string cost = per_request(cost_of(c)), ideal = per_request(c.ideal);
  return fmt::format("{}: {} {}{} per {}{}", place_of(c), cost, is_shared(c) ? "wavefront" : "sector",
                     cost == "1" ? "" : "s", c.operation,
                     excess_of(c) == 0 ? "" : fmt::format(" where {} suffice{}", ideal, ideal == "1" ? "s" : ""));
}

void add_grid(std::vector<advice>& out, const std::vector<lab::launch_record>& launches, const lab::work& work,
              const modelled_device& device) {
  if (device.multiprocessors == 0 || work.bytes < least_bytes_per_multiprocessor * device.multiprocessors) return;
  double seconds = 0;
  const lab::launch_record* longest = nullptr;
  for (const lab::launch_record& l : launches) {
    seconds += l.modelled_seconds;
    if (!longest || l.modelled_seconds > longest->modelled_seconds) longest = &l;
  }
  constexpr double worth_telling = 5;
  const double roof = std::max(work.bytes / device.bytes_per_second, work.flops / device.flops_per_second) +
                      device.launch_seconds * static_cast<double>(launches.size());
  if (!longest || blocks_of(*longest) >= device.multiprocessors || seconds < worth_telling * roof) return;
  const double blocks = blocks_of(*longest);
  out.push_back(
      {waste::small_grid, "",
       fmt::format("the grid is too small: {:.0f} block{} for {} multiprocessors, so the rest sit idle. Modelled "
                   "time {} us, {} times the roof (launch__grid_size)",
                   blocks, blocks == 1 ? "" : "s", device.multiprocessors, figure_text(seconds * 1e6),
                   figure_text(std::round(seconds / roof)))});
}

/// The most wasteful first.
void add_lines(std::vector<advice>& out, const std::vector<lab::launch_record>& launches) {
  const std::vector<lab::line_counters> lines = worst_lines(launches);
  std::uint64_t of_shared = 0, of_global = 0;
  for (const lab::line_counters& c : lines) (is_shared(c) ? of_shared : of_global) += cost_of(c);
  for (const lab::line_counters& c : lines) {
    const bool shared = is_shared(c), load = c.operation.ends_with("load");
    const std::uint64_t all = shared ? of_shared : of_global;
    // Only lines that cost at least twice what they need, and waste a tenth of the case's traffic of that kind.
    if (c.requests < least_requests || excess_of(c) < c.ideal || 10 * excess_of(c) < all) continue;
    using name = sim::counter_name;
    const char* nsight = shared ? load ? name("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum")
                                       : name("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum")
                         : load ? name("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio")
                                : name("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio");
    out.push_back({shared ? waste::bank_conflicts
                   : load ? waste::sectors_loaded
                          : waste::sectors_stored,
                   place_of(c), fmt::format("{}{} ({})", shared ? "bank conflicts at " : "", text_of_line(c), nsight)});
  }
}

void add_occupancy(std::vector<advice>& out, const std::vector<lab::launch_record>& launches,
                   const modelled_device& device) {
  for (const lab::launch_record& l : launches) {
    // Fewer blocks would not fill a second slot per multiprocessor; a block of many threads hides latency by itself.
    constexpr std::uint32_t enough_threads = 1024;
    if (blocks_of(l) < 2.0 * device.multiprocessors || threads_of(l) >= enough_threads) continue;
    for (const auto& [limit, why] : {std::pair{"launch__occupancy_limit_shared_mem", "shared memory"},
                                     {"launch__occupancy_limit_registers", "registers"}}) {
      if (metric_of(l, limit) != 1) continue;
      out.push_back({waste::one_block, "",
                     fmt::format("only one block of {} threads fits on a multiprocessor, because of its {}: while "
                                 "that block waits, nothing else runs ({} = 1)",
                                 threads_of(l), why, limit)});
      return;
    }
  }
}

}  // namespace

bool is_shared(const lab::line_counters& c) { return c.operation.starts_with("shared"); }
std::uint64_t cost_of(const lab::line_counters& c) { return is_shared(c) ? c.wavefronts : c.sectors; }
std::uint64_t excess_of(const lab::line_counters& c) {
  return c.ideal > 0 && cost_of(c) > c.ideal ? cost_of(c) - c.ideal : 0;
}

std::vector<lab::line_counters> lines_of(const std::vector<lab::launch_record>& launches) {
  std::map<std::tuple<std::string, int, std::string>, lab::line_counters> sums;
  for (const lab::launch_record& launch : launches)
    for (const lab::line_counters& line : launch.lines) {
      lab::line_counters& sum = sums[{line.file, line.line, line.operation}];
      sum.file = line.file;
      sum.line = line.line;
      sum.operation = line.operation;
      sum.requests += line.requests;
      sum.sectors += line.sectors;
      sum.wavefronts += line.wavefronts;
      sum.ideal += line.ideal;
    }
  std::vector<lab::line_counters> lines;
  lines.reserve(sums.size());
  for (auto& [place, sum] : sums) lines.push_back(std::move(sum));
  return lines;
}

modelled_device read_modelled_device(const fs::path& source) {
  const fs::path folder = source / "common" / "sim" / "devices";
  if (!fs::exists(folder)) return {};
  const sim::device_file file(folder.string(), "h200");
  return {file.text("name"), file.whole("multiprocessors"), file.number("copy_bytes_per_second"),
          file.number("fp32_flops_per_second"), file.number("kernel_floor_seconds")};
}

std::vector<advice> advice_on(const std::vector<lab::launch_record>& launches, const lab::work& work,
                              const std::vector<std::string>& files, const modelled_device& device) {
  constexpr std::size_t most = 2;
  std::vector<lab::launch_record> theirs;
  for (const lab::launch_record& l : launches)
    if (std::any_of(l.lines.begin(), l.lines.end(), [&](const lab::line_counters& c) {
          return std::find(files.begin(), files.end(), file_name(c.file)) != files.end();
        }))
      theirs.push_back(l);
  std::vector<advice> all;
  add_grid(all, theirs, work, device);
  add_lines(all, theirs);
  add_occupancy(all, theirs, device);
  if (all.size() > most) all.resize(most);
  return all;
}

std::string worst_line(const std::vector<lab::launch_record>& launches, const condition& missed) {
  const std::string metric = missed.metric.text(), &per = missed.metric.denominator;
  const auto about = [&](const char* word) { return metric.find(word) != std::string::npos; };
  const bool shared = about("mem_shared") || about("op_shared");
  if (!shared && !about("mem_global") && !about("op_global")) return {};
  const bool per_request =
      !per.empty() && (per.find("requests") != std::string::npos || per.find("inst_executed") != std::string::npos);
  const auto beyond_the_bound = [&](const lab::line_counters& c) {
    if (!per_request) return 0.0;
    const auto cost = static_cast<double>(cost_of(c)), requests = static_cast<double>(c.requests);
    return std::max({0.0, cost - missed.max.value_or(cost / requests) * requests,
                     missed.min.value_or(cost / requests) * requests - cost});
  };
  std::vector<lab::line_counters> lines = worst_lines(launches);
  std::erase_if(lines, [&](const lab::line_counters& c) {
    const bool load = c.operation.ends_with("load");
    return c.requests == 0 || is_shared(c) != shared || (load ? about("op_st") : about("op_ld"));
  });
  const auto worst = std::max_element(lines.begin(), lines.end(), [&](const auto& a, const auto& b) {
    return beyond_the_bound(a) < beyond_the_bound(b);  // among equals, the most wasteful comes first
  });
  return worst == lines.end() ? std::string() : text_of_line(*worst);
}

}  // namespace grading
