// The account that a program gives at its end (./course run).
#include "report.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <tuple>

#include "csv.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "lines.hpp"
#include "metrics.hpp"
#include "model.hpp"

namespace sim {

namespace {

std::string dimensions(const dim3& d) {
  return d.z > 1   ? fmt::format("{}x{}x{}", d.x, d.y, d.z)
         : d.y > 1 ? fmt::format("{}x{}", d.x, d.y)
                   : std::to_string(d.x);
}

std::string quotient(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(a) / static_cast<double>(b));
}

/// Prints what the checkers found in kernels and host code. Returns the number of errors.
int print_faults() {
  std::vector<std::string> errors;
  for (const launched& l : launch_log())
    for (const auto& [key, r] : l.counts.faults) errors.push_back(describe(l, r));
  errors.insert(errors.end(), host_faults().begin(), host_faults().end());
  if (const std::string unchecked = unchecked_launch(); !unchecked.empty()) errors.push_back(unchecked);
  std::map<std::string, std::pair<int, std::size_t>> leaks;  // by line: how often, how many bytes
  for (const allocation& a : live_allocations()) {
    const source_line at = line_of(a.pc);
    auto& [times, bytes] = leaks[fmt::format("{}:{}", at.file, at.line)];
    ++times;
    bytes += a.end - a.begin;
  }
  if (!errors.empty() || !leaks.empty()) fmt::print(stderr, "\n");
  for (const std::string& e : errors) fmt::print(stderr, "error: {}\n", e);
  for (const auto& [line, leak] : leaks)
    fmt::print(stderr, "warning: {}: {} bytes never freed{}; call cudaFree\n", line, leak.second,
               leak.first > 1 ? fmt::format(" ({} times)", leak.first) : "");
  return static_cast<int>(errors.size());
}

void print_account() {
  const auto& log = launch_log();
  if (log.empty()) {
    fmt::print(stderr, "simulated device: no kernel ran\n");
    const int errors = print_faults();
    std::fflush(stderr);
    if (errors > 0) _exit(1);
    return;
  }
  fmt::print(stderr, "\nsimulated {}, {} launches. Counts are {}, times are modelled.\n\n", described_device().name,
             log.size(),
             sampling() > 1 ? fmt::format("estimates from one block in {}", sampling()) : std::string("exact"));
  fmt::print(stderr, "{:28} {:>12} {:>9} {:>10} {:>8} {:>8} {:>9} {:>13}\n", "kernel", "grid", "block", "requests",
             "ld s/r", "st s/r", "conflicts", "modelled us");
  for (const launched& l : log) {
    std::map<std::string, double> m = metrics_of(l);
    const double requests =
        m["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] + m["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"];
    const auto rate = [&](const char* op) {
      const double r = m[fmt::format("l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum", op)];
      return r == 0 ? std::string("-")
                    : fmt::format("{:.2f}", m[fmt::format("l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", op)] / r);
    };
    fmt::print(stderr, "{:28.28} {:>12} {:>9} {:>10.0f} {:>8} {:>8} {:>9.0f} {:>13.2f}\n", l.kernel,
               dimensions(l.config.grid), dimensions(l.config.block), requests, rate("ld"), rate("st"),
               m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"], l.modelled_seconds * 1e6);
  }
  std::map<std::tuple<std::string, int, std::string>, lab::line_counters> lines;
  for (const launched& l : log)
    for (const lab::line_counters& c : lines_of(l)) {
      lab::line_counters& sum = lines[{c.file, c.line, c.operation}];
      sum.requests += c.requests;
      sum.sectors += c.sectors;
      sum.wavefronts += c.wavefronts;
      sum.ideal += c.ideal;
    }
  fmt::print(stderr, "\n{:40} {:14} {:>10} {:>9} {:>9} {:>7}\n", "line", "operation", "requests", "s/request",
             "wf/request", "ideal");
  for (const auto& [key, c] : lines) {
    const auto& [file, line, op] = key;
    const std::string at = fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), line);
    const bool shared = op.starts_with("shared");
    fmt::print(stderr, "{:40.40} {:14} {:>10} {:>9} {:>9} {:>7}\n", at, op, c.requests,
               shared ? "" : quotient(c.sectors, c.requests), shared ? quotient(c.wavefronts, c.requests) : "",
               quotient(c.ideal, c.requests));
  }
  const int errors = print_faults();
  std::fflush(stderr);
  if (errors > 0) _exit(1);
}

}  // namespace

void report_at_exit() {
  static const bool registered = [] {
    const auto set = [](const char* name) {
      const char* wanted = std::getenv(name);
      return wanted && *wanted != '\0';
    };
    static const bool csv = set("SIM_CSV"), account = set("SIM_REPORT");
    return (csv || account) && std::atexit([] {
                                 std::fflush(stdout);
                                 if (csv) write_csv(std::getenv("SIM_CSV"));
                                 if (account) print_account();
                               }) == 0;
  }();
  static_cast<void>(registered);
}

}  // namespace sim
