// The summary that a program prints at its end (./course run).
#include "report.hpp"

#include <fmt/format.h>
#include <semaphore.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <tuple>

#include "budget.hpp"
#include "devices.hpp"
#include "faults.hpp"
#include "grid.hpp"
#include "heap.hpp"
#include "lines.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "settings.hpp"
#include "sim/counters.hpp"

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

/// For a kernel that was stopped.
std::unique_ptr<launched> unfinished;

/// How the program ends; `failed`: it exits with a nonzero code.
enum class ending { stopped, failed, done };

/// Prints what the checkers found in kernels and host code and, unless the program was stopped, what it forgot to do.
/// Returns the number of errors.
int print_faults(ending how) {
  std::vector<std::string> errors;
  struct lines {
    std::size_t first, later_launches;
  };
  std::map<std::tuple<std::string, fault, std::uint64_t, std::uint64_t>, lines> same;  // loops often repeat a launch
  const auto add = [&](const launched& l) {
    for (const fault_report* r : in_order(l.counts)) {
      const auto [at, fresh] = same.try_emplace({l.kernel, r->what, r->site, r->other_site}, lines{errors.size(), 0});
      if (fresh)
        errors.push_back(describe(l, *r));
      else
        ++at->second.later_launches;
    }
  };
  for (const launched& l : launch_log()) add(l);
  if (unfinished) add(*unfinished);
  for (const auto& [key, l] : same)
    if (l.later_launches > 0)
      errors[l.first] += fmt::format("; so {} of its later launches",
                                     l.later_launches > 1 ? fmt::format("did {}", l.later_launches) : "did one");
  errors.insert(errors.end(), host_faults().begin(), host_faults().end());
  if (const std::string unchecked = unchecked_launch(); how != ending::stopped && !unchecked.empty())
    errors.push_back(unchecked);
  else if (const std::string why = refused_last_launch(); !why.empty()) {
    if (how == ending::failed)
      errors.push_back(why);  // the program checked the error and ends because of it
    else if (how == ending::done && launch_log().empty())
      note_host_warning(why);  // it fetched the error, and went on without its only kernel
  }
  std::map<std::string, std::pair<int, std::size_t>> leaks;  // by line: how many, and their bytes
  for (const allocation& a : how == ending::done ? live_allocations() : std::vector<allocation>()) {
    const source_line at = line_of(a.pc);
    auto& [times, bytes] = leaks[fmt::format("{}:{}", at.file, at.line)];
    ++times;
    bytes += a.end - a.begin;
  }
  if (unfinished || !errors.empty() || !host_warnings().empty() || !leaks.empty()) fmt::print(stderr, "\n");
  if (unfinished) {
    std::set<std::vector<std::uintptr_t>> loops;  // report one thread of each
    for (const stopped_thread& t : unfinished->stopped)
      if (loops.insert(t.loop).second) fmt::print(stderr, "stopped: {}\n", describe(*unfinished, t));
  }
  for (const std::string& e : errors) fmt::print(stderr, "error: {}\n", e);
  for (const std::string& w : host_warnings()) fmt::print(stderr, "warning: {}\n", w);
  for (const auto& [line, leak] : leaks)
    fmt::print(stderr, "warning: {}: {} bytes never freed{}; call cudaFree\n", line, leak.second,
               leak.first > 1 ? fmt::format(" ({} times)", leak.first) : "");
  return static_cast<int>(errors.size());
}

/// Prints, by kernel and grid, the launches that the budget cut short.
void print_partial_launches() {
  struct part {
    std::uint64_t launches = 0, blocks = 0, blocks_run = 0;
    std::map<std::string, bool> same;  ///< in every block that ran
  };
  std::map<std::pair<std::string, std::string>, part> parts;
  std::uint64_t launches = 0;
  for (const launched& l : launch_log()) {
    if (!l.blocks_run) continue;
    ++launches;
    part& p = parts[{l.kernel, dimensions(l.config.grid)}];
    ++p.launches;
    p.blocks += std::uint64_t{l.config.grid.x} * l.config.grid.y * l.config.grid.z;
    p.blocks_run += *l.blocks_run;
    for (const auto& [name, same] : l.same_in_blocks) p.same.try_emplace(name, true).first->second &= same;
    if (*l.blocks_run == 0)  // counted as another launch
      for (auto& [name, same] : p.same) same = false;
  }
  if (parts.empty()) return;
  fmt::print(stderr,
             "\nTo end in about {:g} s, {} of {} launches ran only some of their blocks. The results in memory are "
             "incomplete:\ndo not trust what the program says about them, nor the reports below about later launches. "
             "A count is exact\nif it was the same in all blocks that ran; otherwise it is extrapolated.\n\n"
             "{:28} {:>12} {:>9} {:>25}  counts\n",
             budget_seconds(), launches, launch_log().size(), "kernel", "grid", "launches", "blocks run");
  for (const auto& [key, p] : parts) {
    std::string exact, extrapolated;
    for (const auto& [name, same] : p.same) {
      std::string& list = same ? exact : extrapolated;
      list += (list.empty() ? "" : ", ") + name;
    }
    const char* all = "as in the previous launch";  // of the same kernel and grid
    fmt::print(stderr, "{:28.28} {:>12} {:>9} {:>25}  {}{}{}\n", key.first, key.second, p.launches,
               fmt::format("{} of {}", p.blocks_run, p.blocks), exact.empty() ? "" : "exact: " + exact,
               exact.empty() || extrapolated.empty() ? "" : "; ",
               !extrapolated.empty() ? "extrapolated: " + extrapolated
               : exact.empty()       ? all
                                     : "");
  }
}

/// "copy.cu:12"; a long name is shortened.
std::string place_in(std::size_t width, const source_line& at) {
  std::string name = at.file.substr(at.file.find_last_of('/') + 1);
  const std::string line = fmt::format(":{}", at.line);
  if (name.size() + line.size() > width) name = name.substr(0, width - line.size() - 2) + "..";
  return name + line;
}

/// The variables that this line's allocations are assigned to: "cache" for cudaMalloc(&cache, n).
std::vector<std::string> allocated_for(const source_line& at) {
  std::ifstream in(at.file);
  std::string text;
  for (int line = 0; line < at.line && std::getline(in, text);) ++line;
  static const std::regex target(
      R"([Mm]alloc\w*\s*(?:<[^>()]*>)?\s*\(\s*(?:\(\s*void\s*\*\s*\*\s*\)|reinterpret_cast<\s*void\s*\*\*\s*>\s*\()?\s*&\s*([\w.>\[\]-]+))");
  std::vector<std::string> names;
  if (at.line > 0 && in)
    for (std::sregex_iterator found(text.begin(), text.end(), target), end; found != end; ++found)
      names.push_back(found->str(1));
  return names;
}

/// Matches calls in program counter order: a line's first call belongs to its first variable.
std::map<std::uintptr_t, std::string> allocated_for(const std::map<std::uintptr_t, source_line>& calls) {
  std::map<std::uintptr_t, std::string> result;
  for (const auto& [pc, at] : calls) {
    const std::vector<std::string> names = allocated_for(at);
    std::vector<std::uintptr_t> same;  // calls of this line
    for (const auto& [other, place] : calls)
      if (place == at) same.push_back(other);
    const auto which = static_cast<std::size_t>(std::find(same.begin(), same.end(), pc) - same.begin());
    result[pc] = names.size() == same.size() ? names[which] : fmt::format("{}", fmt::join(names, ", "));
  }
  return result;
}

/// Prints the bytes that warps loaded from and stored to each allocation; adds up allocations with the same line and
/// name.
void print_allocations() {
  struct total {
    std::set<std::uintptr_t> begins;
    std::size_t bytes = 0;
    std::uint64_t loaded = 0, stored = 0;
  };
  std::map<std::pair<std::string, std::string>, total> totals;
  constexpr std::size_t width = 28;
  std::map<std::uintptr_t, source_line> calls;  // by program counter
  for (const launched& l : launch_log())
    for (const auto& [begin, c] : l.counts.allocations)
      if (c.pc != 0 && !calls.contains(c.pc)) calls[c.pc] = line_of(c.pc);
  std::map<std::uintptr_t, std::string> names = allocated_for(calls);
  for (const launched& l : launch_log())
    for (const auto& [begin, c] : l.counts.allocations) {
      const std::string at = c.pc == 0 ? "" : place_in(width, calls[c.pc]);
      total& t = totals[{!c.name.empty() ? c.name : c.pc == 0 ? "in kernels" : names[c.pc], at}];
      if (t.begins.insert(begin).second) t.bytes += c.bytes;
      t.loaded += c.loaded;
      t.stored += c.stored;
    }
  if (totals.empty()) return;
  fmt::print(stderr, "\n{:28} {:28} {:>14} {:>14} {:>14}\n", "allocation", "line", "bytes", "loaded", "stored");
  for (const auto& [key, t] : totals)
    fmt::print(stderr, "{:28.28} {:28} {:>14} {:>14} {:>14}\n",
               t.begins.size() > 1 ? fmt::format("{} ({})", key.first, t.begins.size()) : key.first, key.second,
               t.bytes, t.loaded, t.stored);
}

/// Returns the number of errors.
int print_account(ending how) {
  const auto& log = launch_log();
  if (log.empty()) {
    fmt::print(stderr, "simulated device: no kernel {}\n", how != ending::stopped ? "ran" : "has ended");
    return print_faults(how);
  }
  fmt::print(stderr, "\nsimulated {}, {} launches. Counts are {}, times are modelled.\n\n", described_device().name,
             log.size(),
             sampling() > 1        ? fmt::format("estimates from one block in {}", sampling())
             : memory_is_partial() ? std::string("partly extrapolated (below)")
                                   : std::string("exact"));
  fmt::print(stderr, "{:28} {:>12} {:>9} {:>10} {:>8} {:>8} {:>9} {:>13}\n", "kernel", "grid", "block", "requests",
             "ld s/r", "st s/r", "conflicts", "modelled us");
  for (const launched& l : log) {
    std::map<std::string, double> m = metrics_of(l);
    const double requests =
        m["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"] + m["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"];
    const auto rate = [&](counter_name ratio) {
      return m.contains(ratio.text) ? fmt::format("{:.2f}", m[ratio.text]) : std::string("-");
    };
    fmt::print(stderr, "{:28.28} {:>12} {:>9} {:>10.0f} {:>8} {:>8} {:>9.0f} {:>13.2f}\n", l.kernel,
               dimensions(l.config.grid), dimensions(l.config.block), requests,
               rate("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"),
               rate("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"),
               m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"], l.modelled_seconds * 1e6);
  }
  std::map<std::tuple<std::string, int, std::string>, line_counters> lines;
  for (const launched& l : log)
    for (const line_counters& c : lines_of(l)) {
      line_counters& sum = lines[{c.file, c.line, c.operation}];
      sum.requests += c.requests;
      sum.sectors += c.sectors;
      sum.wavefronts += c.wavefronts;
      sum.ideal += c.ideal;
    }
  fmt::print(stderr, "\n{:40} {:14} {:>10} {:>9} {:>9} {:>7}\n", "line", "operation", "requests", "s/request",
             "wf/request", "ideal");
  for (const auto& [key, c] : lines) {
    const auto& [file, line, op] = key;
    const std::string at = place_in(40, {file, line});
    const bool shared = op.starts_with("shared");
    fmt::print(stderr, "{:40} {:14} {:>10} {:>9} {:>9} {:>7}\n", at, op, c.requests,
               shared ? "" : quotient(c.sectors, c.requests), shared ? quotient(c.wavefronts, c.requests) : "",
               quotient(c.ideal, c.requests));
  }
  print_allocations();
  fmt::print(stderr, "{}", link_table());
  print_partial_launches();
  return print_faults(how);
}

bool any_wanted() { return setting("SIM_REPORT") || setting("SIM_CSV") || setting("SIM_SEE"); }
/// Writes the requested output: the summary, the table, the warp view. Returns the number of errors in the summary.
int report(ending how) {
  if (const char* file = setting("SIM_CSV")) write_csv(file);
  const int errors = setting("SIM_REPORT") ? print_account(how) : 0;
  if (const char* file = setting("SIM_SEE")) write_page(file);
  std::fflush(stderr);
  return errors;
}

// A program stopped by Ctrl-C, a time limit or its own assert reports its counts so far. A signal handler may do almost
// nothing, so a waiting thread does it.
std::atomic<bool> reported = false;
std::atomic<int> stopped_by = 0;
sem_t stopped;
pid_t reporting_process = 0;

void note_stop(int signal) {
  if (getpid() != reporting_process) {  // a forked process has no such thread
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  stopped_by = signal;
  sem_post(&stopped);
  if (signal == SIGABRT) sleep(10);  // abort() ends the program as soon as this returns; so does the report
}

void report_when_stopped() {
  while (sem_wait(&stopped) != 0) {
  }
  if (reported.exchange(true)) return;  // the program was already ending
  const char* kernel = running_kernel();
  if (kernel) unfinished = stop_workers();
  if (unfinished) settle_reports(*unfinished);
  end_launch_log();
  fmt::print(stderr, "\nstopped by {}{}; the counts so far:\n",
             stopped_by == SIGINT    ? "SIGINT"
             : stopped_by == SIGTERM ? "SIGTERM"
                                     : "SIGABRT",
             kernel ? fmt::format(" while {} ran", kernel) : "");
  report(ending::stopped);
  std::signal(stopped_by, SIG_DFL);
  kill(getpid(), stopped_by);
}

/// Runs before main: the program may be stopped before its first launch, and its output must not be lost in a buffer.
[[gnu::constructor]] void prepare_to_be_stopped() {
  if (!any_wanted()) return;
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  reporting_process = getpid();
  sem_init(&stopped, 0, 0);
  std::thread(report_when_stopped).detach();
  for (const int signal : {SIGINT, SIGTERM, SIGABRT}) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_DFL) continue;  // ignored: the program runs in the background
    now.sa_handler = note_stop;
    now.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // a second signal ends it at once
    sigaction(signal, &now, nullptr);
  }
}

}  // namespace

void report_at_exit() {
  const auto at_exit = [](int status, void*) {
    std::fflush(stdout);
    while (reported.exchange(true)) pause();  // a signal came first and ends the program
    if (report(status == 0 ? ending::done : ending::failed) > 0) _exit(1);
  };
  static const bool registered = any_wanted() && on_exit(at_exit, nullptr) == 0;
  static_cast<void>(registered);
}

}  // namespace sim
