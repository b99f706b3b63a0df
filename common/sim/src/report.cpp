// What a launch did, in words and under Nsight Compute's names; and the account that a program gives at its end.
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <fmt/ranges.h>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "inlined.hpp"
#include "internal.hpp"
#include "metrics.hpp"

namespace sim {

// ---- source lines ---------------------------------------------------------------------------------------------------

source_line line_of(std::uintptr_t pc) {
  static std::mutex mutex;
  static auto& known = *new std::unordered_map<std::uintptr_t, source_line>;  // the account at the end needs it
  const std::scoped_lock lock(mutex);
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  static Dwfl* session = [] {
    static char* no_path = nullptr;
    static const Dwfl_Callbacks callbacks = {dwfl_linux_proc_find_elf, dwfl_standard_find_debuginfo, nullptr, &no_path};
    Dwfl* s = dwfl_begin(&callbacks);
    if (s && dwfl_linux_proc_report(s, getpid()) == 0) dwfl_report_end(s, nullptr, nullptr);
    return s;
  }();
  source_line line{"?", 0};
  if (session)  // a return address is one past the call
    if (Dwfl_Line* found = dwfl_getsrc(session, pc - 1))
      if (const char* file = dwfl_lineinfo(found, nullptr, &line.line, nullptr, nullptr, nullptr)) {
        line.file = file;
        line = outside_headers(session, pc - 1, line);
      }
  return known[pc] = line;
}

// ---- basic blocks ---------------------------------------------------------------------------------------------------

extern "C" const block_info __start_sim_blocks[] __attribute__((weak));
extern "C" const block_info __stop_sim_blocks[] __attribute__((weak));

const block_info* block_at(std::uintptr_t pc) {
  static const auto& blocks = *[] {
    auto* table = new std::unordered_map<std::uintptr_t, const block_info*>;
    for (const block_info* b = __start_sim_blocks; b != __stop_sim_blocks; ++b)
      (*table)[reinterpret_cast<std::uintptr_t>(&b->site) + static_cast<std::intptr_t>(b->site)] = b;
    return table;
  }();
  const auto found = blocks.find(pc);
  return found == blocks.end() ? nullptr : found->second;
}

executed executed_by(const launched& what) {
  executed sum;
  for (const auto& [key, c] : what.counts.sites) {
    const block_info* b = block_at(site_pc(key.second));
    if (!b) continue;
    const auto lanes = static_cast<double>(c.lanes);
    sum.instructions += static_cast<double>(c.requests) * b->instructions;
    sum.thread_instructions += lanes * b->instructions;
    sum.fadd += lanes * b->fadd;
    sum.fmul += lanes * b->fmul;
    sum.ffma += lanes * b->ffma;
    sum.dadd += lanes * b->dadd;
    sum.dmul += lanes * b->dmul;
    sum.dfma += lanes * b->dfma;
    sum.special += lanes * b->special;
  }
  return sum;
}

// ---- one launch in Nsight Compute's words ---------------------------------------------------------------------------

std::map<std::string, double> metrics_of(const launched& what) {
  struct sums {
    double requests = 0, sectors = 0, bytes = 0, wavefronts = 0, ideal = 0;
  };
  std::map<std::pair<space, operation>, sums> by;
  for (const auto& [key, c] : what.counts.sites) {
    sums& s = by[{key.first, site_operation(key.second)}];
    s.requests += static_cast<double>(c.requests);
    s.sectors += static_cast<double>(c.sectors);
    s.bytes += static_cast<double>(c.bytes);
    s.wavefronts += static_cast<double>(c.wavefronts);
    s.ideal += static_cast<double>(c.ideal_wavefronts);
  }
  std::map<std::string, double> m;
  double conflicts = 0;
  for (const auto& [op, name] : {std::pair{operation::load, "ld"}, {operation::store, "st"}}) {
    const sums& g = by[{space::global, op}];
    m[fmt::format("l1tex__t_requests_pipe_lsu_mem_global_op_{}.sum", name)] = g.requests;
    m[fmt::format("l1tex__t_sectors_pipe_lsu_mem_global_op_{}.sum", name)] = g.sectors;
    m[fmt::format("smsp__inst_executed_op_global_{}.sum", name)] = g.requests;
    m[fmt::format("smsp__sass_data_bytes_mem_global_op_{}.sum", name)] = g.bytes;
    if (g.sectors > 0) {
      m[fmt::format("smsp__sass_average_data_bytes_per_sector_mem_global_op_{}.pct", name)] =
          100 * g.bytes / (g.sectors * sector_bytes);
      m[fmt::format("l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_{}.ratio", name)] =
          g.sectors / g.requests;
    }
    const sums& s = by[{space::shared, op}];
    m[fmt::format("smsp__inst_executed_op_shared_{}.sum", name)] = s.requests;
    m[fmt::format("smsp__sass_data_bytes_mem_shared_op_{}.sum", name)] = s.bytes;
    m[fmt::format("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", name)] = s.wavefronts;
    m[fmt::format("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum", name)] = s.wavefronts - s.ideal;
    conflicts += s.wavefronts - s.ideal;
  }
  const sums& atomics = by[{space::global, operation::atomic}];
  m["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"] = atomics.requests;
  m["l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"] = atomics.sectors;
  m["smsp__inst_executed_op_shared_atom.sum"] = by[{space::shared, operation::atomic}].requests;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] = conflicts;
  m["smsp__inst_executed_op_ldgsts.sum"] = by[{space::shared, operation::copy}].requests;
  m["sm__inst_executed_op_barrier.sum"] = static_cast<double>(what.counts.barriers);
  const executed e = executed_by(what);
  m["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"] = e.fadd;
  m["smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"] = e.fmul;
  m["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = e.ffma;
  m["smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"] = e.dadd;
  m["smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"] = e.dmul;
  m["smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"] = e.dfma;
  m["smsp__inst_executed.sum"] = e.instructions;
  m["smsp__thread_inst_executed.sum"] = e.thread_instructions;
  if (e.instructions > 0)
    m["smsp__thread_inst_executed_per_inst_executed.ratio"] = e.thread_instructions / e.instructions;
  const dim3 &g = what.config.grid, &b = what.config.block;
  const double blocks = what.registers > 0 ? static_cast<double>(g.x) * g.y * g.z : 0;  // none known of a library's
  const unsigned warps = (b.x * b.y * b.z + lanes_per_warp - 1) / lanes_per_warp;
  m["sm__ctas_launched.sum"] = blocks;
  m["smsp__warps_launched.sum"] = blocks * warps;
  if (what.registers > 0) {
    const occupancy_limits fit = occupancy_of(what);
    const device_description& d = described_device();
    m["launch__registers_per_thread"] = what.registers;
    m["launch__occupancy_limit_blocks"] = fit.by_blocks;
    m["launch__occupancy_limit_registers"] = fit.by_registers;
    m["launch__occupancy_limit_shared_mem"] = fit.by_shared;
    m["launch__occupancy_limit_warps"] = fit.by_warps;
    m["launch__waves_per_multiprocessor"] = blocks / std::max(1, fit.blocks()) / d.multiprocessors;
    m["sm__maximum_warps_per_active_cycle_pct"] = 100.0 * fit.blocks() * warps / (d.max_threads_per_sm / 32);
  }
  // Modelled.
  const dram_traffic traffic = dram_traffic_of(what);
  m["dram__bytes_read.sum"] = traffic.read_bytes;
  m["dram__bytes_write.sum"] = traffic.written_bytes;
  m["gpu__time_duration.sum"] = what.modelled_seconds * 1e9;
  return m;
}

std::vector<lab::line_counters> lines_of(const launched& what) {
  std::map<std::tuple<std::string, int, std::string>, lab::line_counters> lines;
  for (const auto& [key, c] : what.counts.sites) {
    if (key.first == space::none) continue;
    const source_line at = line_of(site_pc(key.second));
    const operation op = site_operation(key.second);
    if (op == operation::copy) continue;  // counted where it ends
    const std::string name = fmt::format("{} {}", key.first == space::global ? "global" : "shared",
                                         op == operation::load                               ? "load"
                                         : op == operation::store || op == operation::copied ? "store"
                                                                                             : "atomic");
    lab::line_counters& l = lines[{at.file, at.line, name}];
    l.file = at.file;
    l.line = at.line;
    l.operation = name;
    l.requests += c.requests;
    l.lanes += c.lanes;
    l.sectors += c.sectors;
    l.wavefronts += c.wavefronts;
    l.ideal += c.ideal_sectors + c.ideal_wavefronts;
  }
  std::vector<lab::line_counters> sorted;
  sorted.reserve(lines.size());
  for (auto& [key, l] : lines) sorted.push_back(std::move(l));
  return sorted;
}

namespace {

std::string coordinates(std::uint64_t i, const dim3& of) {
  return fmt::format("({},{},{})", i % of.x, i / of.x % of.y, i / of.x / of.y);
}

const char* verb(operation op) {
  switch (op) {
    case operation::load: return "load";
    case operation::store: return "store";
    case operation::copy:
    case operation::copied: return "asynchronous copy";
    default: return "atomic";
  }
}

std::string line_text(std::uint64_t site) {
  const source_line at = line_of(site_pc(site));
  return fmt::format("{}:{}", at.file, at.line);
}

/// The lines of a launch that loaded, or that stored, near this address.
std::string lines_that_touch(const launched& where, std::uintptr_t address, bool loads) {
  std::vector<std::string> lines;
  for (const auto& [key, c] : where.counts.sites) {
    if (key.first != space::global || (site_operation(key.second) == operation::load) != loads) continue;
    if (address < c.low || address >= c.high) continue;
    const std::string line = line_text(key.second);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (lines.size() > 3) lines.resize(3);
  return lines.empty() ? "an unknown line" : fmt::format("{}", fmt::join(lines, " or "));
}

std::string place_in_allocation(std::uintptr_t address) {
  bool freed = false;
  const allocation* a = nearest_allocation(address, &freed);
  if (!a) return "";
  const std::string name = a->name.empty() ? fmt::format("allocation {}", a->number) : a->name;
  return address < a->end
             ? fmt::format(", byte {} of {} of {} bytes", address - a->begin, name, a->end - a->begin)
             : fmt::format(", {} bytes past the end of {} of {} bytes", address - a->end, name, a->end - a->begin);
}

}  // namespace

void settle_reports(launched& what) {
  auto& faults = what.counts.faults;
  const launch_counts& c = what.counts;
  std::erase_if(faults, [&](const auto& entry) {
    const fault_report& r = entry.second;
    if (r.what == fault::global_race || r.what == fault::stream_race) return c.fenced || c.hands_over_global;
    // What a block hands over is marked as written a little later than it is.
    if (r.what == fault::uninitialised && r.where == space::global)
      return (c.fenced || c.hands_over_global) && is_valid(r.address, site_bytes(r.site));
    return r.what == fault::shared_race && r.detail.empty() && c.fenced && c.hands_over_shared;
  });
  // A waiting loop may have several loads in one line, and a compiler copies loops.
  std::map<std::string, fault_report*> waits;
  for (auto next = faults.begin(); next != faults.end();) {
    fault_report& r = next->second;
    fault_report* kept = r.what == fault::infinite_wait ? waits.try_emplace(line_text(r.site), &r).first->second : &r;
    if (kept == &r) {
      ++next;
    } else {
      kept->merge(r);
      next = faults.erase(next);
    }
  }
  std::erase_if(faults, [&](const auto& entry) {
    const fault_report& r = entry.second;
    return std::any_of(faults.begin(), faults.end(), [&](const auto& other) {
      const fault_report& o = other.second;
      // A race is seen from both sides.
      const auto pc = [](std::uint64_t site) { return site & 0xffff'ffff; };
      if (r.what == fault::shared_race && site_operation(r.site) != operation::load)
        return o.what == r.what && pc(o.site) == pc(r.other_site) && pc(o.other_site) == pc(r.site) &&
               site_operation(o.site) == operation::load;
      // What is read too early is a race in the first place.
      if (r.what == fault::uninitialised && r.where == space::shared)
        return o.what == fault::shared_race && (o.site == r.site || pc(o.other_site) == pc(r.site));
      if (r.what != fault::global_race || o.what != r.what || site_operation(r.site) != operation::load ||
          site_operation(o.site) == operation::load)
        return false;
      const site_counts& load = c.sites.at({space::global, r.site});
      const site_counts& store = c.sites.at({space::global, o.site});
      return store.low <= r.address && r.address < store.high && load.low <= o.address && o.address < load.high;
    });
  });
}

std::string describe(const launched& where, const fault_report& r) {
  const auto& block = where.config.block;
  const std::string thread =
      fmt::format("block {} thread {}", coordinates(r.block, where.config.grid), coordinates(r.thread, block));
  const operation op = site_operation(r.site);
  const std::string access = fmt::format("{} of {} bytes", verb(op), site_bytes(r.site));
  const char* memory = r.where == space::global ? "global" : "shared";
  const std::string place =
      r.where == space::global && r.what != fault::illegal_address ? place_in_allocation(r.address) : "";
  std::string what;
  switch (r.what) {
    case fault::out_of_bounds:
      what = fmt::format("{} {} out of bounds{}; check the index against the size", memory, access,
                         r.where == space::shared ? r.detail : place);
      break;
    case fault::use_after_free: what = fmt::format("{} {} after cudaFree{}", memory, access, place); break;
    case fault::misaligned:
      what = fmt::format("misaligned {} {}; its address must be a multiple of {}", memory, access, site_bytes(r.site));
      break;
    case fault::uninitialised:
      what = r.detail.empty() ? fmt::format("{} {} that nobody has written{}; write them first{}", memory, access,
                                            place, r.where == space::shared ? ", and put __syncthreads() between" : "")
                              : fmt::format(
                                    "{} {} before the asynchronous copy into them has arrived; wait for the copy "
                                    "(__pipeline_wait_prior), and put __syncthreads() after the wait",
                                    memory, access);
      break;
    case fault::illegal_address:
      what = fmt::format("{} at {:#x}, which is no device memory; is it a host pointer, or null?", access, r.address);
      break;
    case fault::divergent_barrier:
      what = fmt::format(
          "barrier not reached by all threads: {}; move it out of the branch, or let nobody return before it",
          r.detail);
      break;
    case fault::assertion: what = fmt::format("assertion failed: {}", r.detail); break;
    case fault::trap: what = "__trap() stopped the kernel"; break;
    case fault::missing_lane:
      what = fmt::format("warp function with lanes missing: {}; give it the mask of the lanes that call it", r.detail);
      break;
    case fault::shared_race:
      what =
          r.detail == "copy"
              ? fmt::format(
                    "race in shared memory: {} at byte {} of its array, before the asynchronous copy into them has "
                    "arrived that thread {} made at {}; wait for the copy (__pipeline_wait_prior), and put "
                    "__syncthreads() after the wait",
                    access, r.address, coordinates(r.other_thread, block), line_text(r.other_site))
              : fmt::format("race in shared memory: {} at byte {} of its array, and {} by thread {} at {}; put {}",
                            access, r.address, verb(site_operation(r.other_site)), coordinates(r.other_thread, block),
                            line_text(r.other_site),
                            r.detail.empty() ? "__syncthreads() between"
                                             : "__syncwarp() between (or __syncthreads(), where other warps share it)");
      break;
    case fault::global_race:
      what = fmt::format(
          "race between blocks: {}{}, and {} by block {} at {}; blocks run in any order: use two launches, an atomic, "
          "or a barrier of the grid",
          access, place, op == operation::load ? "store" : "load", coordinates(r.other_block, where.config.grid),
          lines_that_touch(where, r.address, op != operation::load));
      break;
    case fault::stream_race: {
      const launched* other = nullptr;
      for (const launched& l : launch_log())
        if (l.first_epoch <= r.other_block && r.other_block <= l.last_epoch) other = &l;
      what = fmt::format(
          "race between streams: {}{}, and kernel {} at {}, which nothing orders before it; use cudaStreamWaitEvent or "
          "cudaStreamSynchronize between the launches",
          access, place, other ? other->kernel : "?",
          other ? lines_that_touch(*other, r.address, op != operation::load) : "?");
      break;
    }
    case fault::local_bounds:
      what = r.detail.empty()
                 ? fmt::format("{} of another thread's local variable; hand it over in shared or global memory", access)
                 : fmt::format("local array out of bounds{}; check the index against its size", r.detail);
      break;
    case fault::infinite_wait:
      what =
          "infinite wait: the thread goes round in a circle, and nobody is left to change what it waits for; check "
          "who should, and whether that thread or block can run";
      break;
    case fault::not_cooperative:
      what = "barrier of the grid in an ordinary launch; launch with cudaLaunchCooperativeKernel";
      break;
  }
  return fmt::format("{}: {}: {}: {}{}", line_text(r.site), where.kernel, thread, what,
                     r.occurrences > 1 ? fmt::format(" ({} times)", r.occurrences) : "");
}

void host_access(std::uintptr_t address, std::uint64_t site) {
  if (library_at_work()) return;
  const allocation* entry = find_allocation(address);
  if (entry && entry->kind != memory_kind::device) return;
  if (entry && host_shares_device_memory()) {
    if (site_operation(site) != operation::load) host_wrote(reinterpret_cast<const void*>(address), site_bytes(site));
    return;
  }
  std::fflush(stdout);
  fmt::print(stderr,
             "error: {}: host code: {} of {} bytes in device memory{}; copy it with cudaMemcpy, or use "
             "cudaMallocManaged\n",
             line_text(site), verb(site_operation(site)), site_bytes(site), place_in_allocation(address));
  std::fflush(stderr);
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

// ---- the account at the end of a program (./course run) -------------------------------------------------------------

namespace {

std::string dimensions(const dim3& d) {
  return d.z > 1   ? fmt::format("{}x{}x{}", d.x, d.y, d.z)
         : d.y > 1 ? fmt::format("{}x{}", d.x, d.y)
                   : std::to_string(d.x);
}

std::string quotient(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? "-" : fmt::format("{:.2f}", static_cast<double>(a) / static_cast<double>(b));
}

/// What checkers found in kernels and in host code; how many errors.
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
