// Writes a profile as a table for the terminal, as JSON, as a trace for Perfetto and chrome://tracing, and as a
// roofline.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "lab/environment.hpp"
#include "lab/plot.hpp"
#include "recording.hpp"
#include "sim/counters.hpp"

namespace lab {

int run_of(const recording& rec, const activity& a) {
  return a.segment < 0 ? -1 : rec.segments[static_cast<std::size_t>(a.segment)];
}

std::string path_of(const recording& rec, int run) {
  if (run < 0) return "";
  const range_run& r = rec.runs[static_cast<std::size_t>(run)];
  return r.parent < 0 ? r.name : path_of(rec, r.parent) + "/" + r.name;
}

std::string without_arguments(std::string name) {
  for (const char* noise : {"void ", "(anonymous namespace)::", "<unnamed>::"})
    for (std::size_t at; (at = name.find(noise)) != std::string::npos;) name.erase(at, std::string(noise).size());
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (depth == 0 && name[i] == '(') return name.substr(0, i);
  }
  return name;
}

namespace {

using json = nlohmann::ordered_json;

// ---- numbers in few characters

std::string time_text(double seconds) {
  if (seconds <= 0) return "-";
  for (const auto& [unit, factor] : {std::pair{" s", 1.0}, {" ms", 1e3}, {" us", 1e6}})
    if (seconds * factor >= 1) return fmt::format("{:.{}f}{}", seconds * factor, seconds * factor < 100 ? 2 : 0, unit);
  return fmt::format("{:.0f} ns", seconds * 1e9);
}

/// Three digits and a letter: 1.57M.
std::string short_number(double value) {
  if (value == 0) return "0";
  for (const auto& [letter, factor] : {std::pair{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}})
    if (value >= 0.9995 * factor) {
      const double v = value / factor;
      return fmt::format("{:.{}f}{}", v, v < 9.995 ? 2 : v < 99.95 ? 1 : 0, letter);
    }
  return value == std::floor(value) || value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.2g}", value);
}

/// The same with a unit: 1.57 MB/s.
std::string short_rate(double value, const char* unit) {
  const std::string number = short_number(value);
  if (number.back() <= '9') return fmt::format("{} {}", number, unit);
  return fmt::format("{} {}{}", number.substr(0, number.size() - 1), number.back(), unit);
}

std::string percent(double fraction) { return fmt::format("{:.1f}%", 100 * fraction); }
std::string share_of(double part, double whole) { return part > 0 && whole > 0 ? percent(part / whole) : "-"; }

using counters = std::initializer_list<sim::counter_name>;

double value_of(const metric_values& metrics, counters names) {
  double sum = 0;
  for (const sim::counter_name& name : names)
    if (const auto found = metrics.find(name.text); found != metrics.end()) sum += found->second;
  return sum;
}

bool has(const metric_values& metrics, counters names) {
  return std::any_of(names.begin(), names.end(), [&](const sim::counter_name& n) { return metrics.contains(n.text); });
}

// ---- figures from several counters, some of which have different names on the simulated device and on a GPU

constexpr counters dram_read{"dram__bytes_read.sum"}, dram_written{"dram__bytes_write.sum"};
constexpr counters loads{"smsp__sass_inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_ldgsts.sum",
                         "smsp__inst_executed_op_global_ld.sum"};
constexpr counters stores{"smsp__sass_inst_executed_op_global_st.sum", "smsp__inst_executed_op_global_st.sum"};
constexpr counters tensor{"sm__ops_path_tensor_src_bf16_dst_fp32.sum", "sm__ops_path_tensor_src_tf32_dst_fp32.sum"};
constexpr counters flop_counts{"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                               "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                               "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"};

double counted_flops(const metric_values& m) {
  return value_of(m, flop_counts) + value_of(m, {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"}) +
         value_of(m, tensor);
}
double l2_bytes(const metric_values& m) {
  return 32 * value_of(m, {"lts__t_sectors_op_read.sum", "lts__t_sectors_op_write.sum"});
}
double dram_bytes(const metric_values& m) { return value_of(m, dram_read) + value_of(m, dram_written); }

// ---- the table

struct column {
  std::string title;
  std::size_t width;
  std::vector<std::string> cells;
};

/// The width of the terminal, or else COLUMNS, limited to 80 to 100.
std::size_t table_width() {
  winsize size{};
  const char* const columns = std::getenv("COLUMNS");
  int width = columns ? std::atoi(columns) : 100;
  if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    width = size.ws_col;
  return static_cast<std::size_t>(std::clamp(width, 80, 100));
}

/// Keeps a path's end, which says more than its beginning.
std::string fit(std::string name, std::size_t width) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return name.size() <= width ? name : ".." + name.substr(name.size() - (width - 2));
}

std::string laid_out(const std::string& title, const std::vector<std::string>& names,
                     const std::vector<column>& columns) {
  std::size_t taken = 0;
  for (const column& c : columns) taken += c.width;
  const std::size_t width = table_width() - taken;
  const std::string line(table_width(), '-');
  std::string out = line + "\n" + fmt::format("{:<{}}", title, width);
  for (const column& c : columns) out += fmt::format("{:>{}}", c.title, c.width);
  out += "\n" + line + "\n";
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += fmt::format("{:<{}}", fit(names[i], width - 1), width);
    for (const column& c : columns) out += fmt::format("{:>{}}", c.cells[i], c.width);
    out += "\n";
  }
  return out;
}

/// Splits the columns into as many tables as needed; each leaves 26 characters for the name.
std::string tables(const std::string& title, const std::vector<std::string>& names,
                   const std::vector<column>& columns) {
  std::string out;
  for (auto from = columns.begin(); from != columns.end();) {
    auto to = from;
    for (std::size_t taken = 0; to != columns.end() && taken + to->width <= table_width() - 26; ++to)
      taken += to->width;
    out += (from == columns.begin() ? "" : "\n") + laid_out(from == columns.begin() ? title : "and", names, {from, to});
    from = to;
  }
  return out;
}

std::string rates_text(const roofs& r) {
  std::vector<std::string> parts;
  for (const auto& [name, rate] : r.flops_per_second)
    parts.push_back(fmt::format("{} {}", name, short_rate(rate, "FLOP/s")));
  for (const auto& [name, rate] : r.bytes_per_second)
    parts.push_back(fmt::format("{} {}", name, short_rate(rate, "B/s")));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string wrapped(const std::string& text) {
  std::string out, line;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && line.size() + 1 + word.size() > table_width()) {
      out += line + "\n";
      line = "  ";
    } else if (!line.empty()) {
      line += " ";
    }
    line += word;
    at = end + 1;
  }
  return out + line + "\n";
}

struct kernel_sum {
  std::string name, path;
  int launches = 0;
  double seconds = 0;
};

/// Our process's thread number if the call is in a range, otherwise the system's.
std::uint64_t thread_of(const recording& rec, const activity& call) {
  const int run = run_of(rec, call);
  return run < 0 ? call.lane : static_cast<std::uint64_t>(rec.runs[static_cast<std::size_t>(run)].thread);
}

/// Kernels, copies and fills by name and range, the longest first.
std::vector<kernel_sum> kernels_of(const profile_contents& what) {
  std::map<std::pair<std::string, std::string>, kernel_sum> by;
  for (const recording& rec : what.recordings)
    for (const activity& a : rec.device.activities) {
      if (a.what == activity::kind::call) continue;
      const std::string path = path_of(rec, run_of(rec, a));
      kernel_sum& sum = by[{a.name, path}];
      sum.name = a.name;
      sum.path = path;
      ++sum.launches;
      sum.seconds += 1e-9 * static_cast<double>(a.end - a.begin);
    }
  std::vector<kernel_sum> sorted;
  for (auto& [key, sum] : by) sorted.push_back(std::move(sum));
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return sorted;
}

std::string table_of_part(const profile_contents& what) {
  const std::vector<profile::row> rows = what.rows();
  if (rows.empty()) return "";
  const bool device = !what.device.empty();
  double whole = 0;
  for (const profile::row& r : rows)
    if (r.path.find('/') == std::string::npos) whole += device ? r.device_seconds : r.host_seconds;

  // With a single root, no other name needs it as a prefix.
  const bool one_root = std::count_if(rows.begin(), rows.end(),
                                      [](const profile::row& r) { return r.path.find('/') == std::string::npos; }) == 1;
  const auto shown = [&](const std::string& path) {
    const std::size_t slash = path.find('/');
    return one_root && slash != std::string::npos ? path.substr(slash + 1) : path;
  };
  std::vector<std::string> names;
  column share{"share", 7, {}}, self{"self", 10, {}}, total{"total", 10, {}}, mean{"mean", 10, {}},
      calls{"calls", 7, {}}, launches{"launches", 9, {}}, flops{"FLOP/s", 8, {}}, bytes{"B/s", 8, {}},
      roof{"of roof", 8, {}};
  bool undeclared = false;
  for (const profile::row& r : rows) {
    const double seconds = device ? r.device_seconds : r.host_seconds;
    names.push_back(shown(r.path));
    share.cells.push_back(share_of(seconds, whole));
    self.cells.push_back(time_text(device ? r.device_self_seconds : r.host_self_seconds));
    total.cells.push_back(time_text(seconds));
    mean.cells.push_back(time_text(seconds / r.calls));
    calls.cells.push_back(std::to_string(r.calls));
    launches.cells.push_back(std::to_string(r.launches));
    const bool declared = r.declared.flops > 0 || r.declared.bytes > 0;
    const double f = declared ? r.declared.flops : counted_flops(r.metrics);
    const double b = declared ? r.declared.bytes : dram_bytes(r.metrics);
    undeclared = undeclared || (!declared && seconds > 0 && f + b > 0);
    const auto rate = [&](double amount) {
      return seconds > 0 && amount > 0 ? short_number(amount / seconds) + (declared ? "" : "*") : "-";
    };
    flops.cells.push_back(rate(f));
    bytes.cells.push_back(rate(b));
    roof.cells.push_back(share_of(r.bound_seconds.cold, seconds));
  }
  std::vector<column> columns{share, self, total, mean, calls};
  if (device) columns.push_back(launches);
  columns.insert(columns.end(), {flops, bytes, roof});
  const std::string times = device ? what.modelled ? "modelled times" : "GPU times" : "times";
  std::string out = fmt::format("{} by range, {}, {}\n", times, device ? what.device : processor_name(), what.when);
  out += tables("range", names, columns);

  // A second table with the counters, if any were read.
  columns.clear();
  const auto count = [&](const char* title, std::size_t width, const auto& value) {
    column c{title, width, {}};
    bool any = false;
    for (const profile::row& r : rows) {
      const auto [there, v] = value(r);
      any = any || (there && v != 0);
      c.cells.push_back(there ? short_number(v) : "-");
    }
    if (any) columns.push_back(std::move(c));
  };
  const auto sum = [](counters metrics) {
    return [=](const profile::row& r) { return std::pair(has(r.metrics, metrics), value_of(r.metrics, metrics)); };
  };
  if (device && !what.modelled) {  // the simulation's duration means nothing
    column host{"host", 10, {}};
    for (const profile::row& r : rows) host.cells.push_back(time_text(r.host_seconds));
    columns.push_back(std::move(host));
  }
  const std::size_t before = columns.size();
  count("FLOP", 8,
        [](const profile::row& r) { return std::pair(has(r.metrics, flop_counts), counted_flops(r.metrics)); });
  count("tensor", 8, sum(tensor));
  count("DRAM rd", 8, sum(dram_read));
  count("DRAM wr", 8, sum(dram_written));
  count("L2 rd", 8, [](const profile::row& r) {
    return std::pair(has(r.metrics, {"lts__t_sectors_op_read.sum"}),
                     32 * value_of(r.metrics, {"lts__t_sectors_op_read.sum"}));
  });
  count("L2 wr", 8, [](const profile::row& r) {
    return std::pair(has(r.metrics, {"lts__t_sectors_op_write.sum"}),
                     32 * value_of(r.metrics, {"lts__t_sectors_op_write.sum"}));
  });
  count("loads", 8, sum(loads));
  count("stores", 8, sum(stores));
  for (const auto& [title, name] :
       {std::pair{"instr", "instructions"}, {"cycles", "cycles"}, {"misses", "cache_misses"}})
    count(title, 8, [name = std::string(name)](const profile::row& r) {
      const auto found = r.metrics.find(name);
      return std::pair(found != r.metrics.end(), found != r.metrics.end() ? found->second : 0);
    });
  if (columns.size() > before) {
    count("ld sect", 8, sum({"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"}));
    count("st sect", 8, sum({"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"}));
    column warps{"warps/SM", 9, {}};
    bool any = false;
    for (const profile::row& r : rows) {
      const double cycles = value_of(r.metrics, {"sm__cycles_active.sum"});
      any = any || cycles > 0;
      warps.cells.push_back(cycles > 0 ? fmt::format("{:.1f}", value_of(r.metrics, {"sm__warps_active.sum"}) / cycles)
                                       : "-");
    }
    if (any) columns.push_back(std::move(warps));
  } else {
    columns.clear();  // the first table has the times
  }
  for (const auto& [title, which] : {std::pair{"if warm", &decltype(profile::row::bound_seconds)::warm},
                                     {"measured", &decltype(profile::row::bound_seconds)::measured}}) {
    column c{title, 9, {}};
    bool any = false;
    for (const profile::row& r : rows) {
      c.cells.push_back(share_of(r.bound_seconds.*which, device ? r.device_seconds : r.host_seconds));
      any = any || c.cells.back() != "-";
    }
    if (any && !columns.empty()) columns.push_back(std::move(c));
  }
  if (!columns.empty()) out += "\n" + tables("counted", names, columns);

  if (device) {
    std::vector<kernel_sum> kernels = kernels_of(what);
    const std::size_t all = kernels.size();
    kernels.resize(std::min<std::size_t>(all, 10));
    std::vector<std::string> kernel_names;
    column where{"range", table_width() / 4 + 6, {}}, n{"launches", 9, {}}, sums{"total", 10, {}},
        means{"mean", 10, {}};
    for (const kernel_sum& k : kernels) {
      const std::string name = without_arguments(k.name);
      const std::size_t most = table_width() - where.width - n.width - sums.width - means.width - 1;
      kernel_names.push_back(name.size() > most ? name.substr(0, most - 2) + ".." : name);
      where.cells.push_back(fit(shown(k.path), where.width - 1));
      n.cells.push_back(std::to_string(k.launches));
      sums.cells.push_back(time_text(k.seconds));
      means.cells.push_back(time_text(k.seconds / k.launches));
    }
    out += "\n" + laid_out(all > 10 ? fmt::format("the 10 longest of {}", all) : "kernels and copies", kernel_names,
                           {sums, means, n, where});
  }

  out += std::string(table_width(), '-') + "\n";
  if (!what.processor.flops_per_second.empty() && !device)
    out += wrapped("roofs, measured in this run on all cores: " + rates_text(what.processor));
  if (device && !what.on_device.bytes_per_second.empty())
    out += wrapped(
        fmt::format("roofs, {}: {}", what.modelled ? "modelled" : "measured in this run", rates_text(what.on_device)));
  const bool roofs_known = !(device ? what.on_device : what.processor).bytes_per_second.empty();
  if (roofs_known && std::any_of(rows.begin(), rows.end(), [](const auto& r) { return r.bound_seconds.cold > 0; }))
    out += wrapped(
        fmt::format("of roof: the least time that the declared work can take, divided by the time it took; each byte "
                    "passes DRAM once{}{}",
                    device ? " (if warm: through L2" : "", device ? "; measured: the bytes that were counted)" : ""));
  if (std::any_of(rows.begin(), rows.end(), [&](const auto& r) {
        return r.bound_seconds.cold > 1.02 * (device ? r.device_seconds : r.host_seconds);
      }))
    out += wrapped(
        "more than 100%: the range's data was still in a cache, the range does less than it declares, or something "
        "else ran while the roofs were measured");
  if (undeclared) out += "* based on what was counted: the range declares no work\n";
  return out;
}

}  // namespace

std::string table_of(const profile_contents& what) {
  const std::string device = table_of_part(what.part(true)), host = table_of_part(what.part(false));
  if (device.empty() && host.empty()) return "nothing was profiled; call lab::profile::run\n";
  std::string out = device + (device.empty() || host.empty() ? "" : "\n") + host;
  for (const std::string& note : what.notes) out += wrapped("note: " + note);
  return out;
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

std::string json_of(const profile_contents& what) {
  json out;
  out["when"] = what.when;
  out["environment"] = environment();
  out["device"] = what.device.empty() ? json() : json{{"name", what.device}, {"modelled", what.modelled}};
  const auto put_roofs = [&](const char* key, const roofs& r) {
    for (const auto& [name, rate] : r.flops_per_second) out["roofs"][key]["flops_per_second"][name] = rate;
    for (const auto& [name, rate] : r.bytes_per_second) out["roofs"][key]["bytes_per_second"][name] = rate;
  };
  put_roofs("processor", what.processor);
  put_roofs("device", what.on_device);
  out["ranges"] = json::array();
  for (const profile::row& r : what.rows())
    out["ranges"].push_back(
        {{"path", r.path},
         {"calls", r.calls},
         {"host_seconds", r.host_seconds},
         {"host_self_seconds", r.host_self_seconds},
         {"device_seconds", r.device_seconds},
         {"device_self_seconds", r.device_self_seconds},
         {"launches", r.launches},
         {"launches_self", r.launches_self},
         {"declared", {{"flops", r.declared.flops}, {"bytes", r.declared.bytes}}},
         {"bound_seconds",
          {{"cold", r.bound_seconds.cold}, {"warm", r.bound_seconds.warm}, {"measured", r.bound_seconds.measured}}},
         {"metrics", r.metrics}});
  out["kernels"] = json::array();
  for (const kernel_sum& k : kernels_of(what))
    out["kernels"].push_back({{"name", k.name}, {"range", k.path}, {"launches", k.launches}, {"seconds", k.seconds}});
  out["notes"] = what.notes;
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

// ---- trace ----------------------------------------------------------------------------------------------------------

std::string trace_of(const profile_contents& what) {
  constexpr int host = 1, device = 2;
  // Each stream has its own track of ranges: ranges of two streams may overlap, ranges of one stream cannot.
  const auto lane_of = [](std::uint64_t stream) { return 2 * stream + 1; };
  const auto ranges_beside = [](std::uint64_t stream) { return 2 * stream; };
  json events = json::array();
  const auto name = [&](const char* what_for, int process, std::uint64_t thread, const std::string& text) {
    events.push_back({{"ph", "M"}, {"name", what_for}, {"pid", process}, {"tid", thread}, {"args", {{"name", text}}}});
  };
  nanoseconds first_host = std::numeric_limits<nanoseconds>::max(), first_device = first_host;
  for (const recording& rec : what.recordings) {
    for (const range_run& r : rec.runs) first_host = std::min(first_host, r.begin);
    for (const activity& a : rec.device.activities)
      if (a.what != activity::kind::call) first_device = std::min(first_device, a.begin);
  }
  if (!what.modelled) first_device = first_host;  // both use the host's clock; a modelled device has its own
  const auto event = [&](const std::string& text, const char* category, int process, std::uint64_t thread,
                         nanoseconds begin, nanoseconds end, json arguments) {
    const nanoseconds origin = process == host ? first_host : first_device;
    events.push_back({{"ph", "X"},
                      {"name", text},
                      {"cat", category},
                      {"pid", process},
                      {"tid", thread},
                      {"ts", 1e-3 * static_cast<double>(begin - origin)},
                      {"dur", 1e-3 * static_cast<double>(std::max<nanoseconds>(0, end - begin))},
                      {"args", std::move(arguments)}});
  };
  const auto arrow = [&](const char* of, std::uint64_t id, const char* phase, int process, std::uint64_t thread,
                         nanoseconds at) {
    json flow = {{"ph", phase},
                 {"id", id},
                 {"name", of},
                 {"cat", of},
                 {"pid", process},
                 {"tid", thread},
                 {"ts", 1e-3 * static_cast<double>(at)}};
    if (*phase == 'f') flow["bp"] = "e";
    events.push_back(std::move(flow));
  };
  std::uint64_t races_so_far = 0;
  std::set<std::uint64_t> threads, streams;
  for (const recording& rec : what.recordings) {
    // A range's extent in a stream: from the start of its first kernel to the end of its last.
    std::map<std::pair<int, std::uint64_t>, std::pair<nanoseconds, nanoseconds>> spans;
    std::map<std::uint32_t, const activity*> calls;
    std::map<std::pair<std::uint64_t, nanoseconds>, std::string> raced;  // by the later activity
    for (const activity& a : rec.device.activities) {
      if (a.what == activity::kind::call && a.correlation != 0) calls[a.correlation] = &a;
      for (const auto& o : a.overlaps)
        if (o.earlier) raced[*o.earlier] = o.what;
    }
    for (const activity& a : rec.device.activities) {
      const int run = run_of(rec, a);
      json arguments = {{"range", path_of(rec, run)}};
      if (a.what == activity::kind::call) {
        threads.insert(thread_of(rec, a));
        event(a.name, "call", host, thread_of(rec, a), a.begin, a.end, std::move(arguments));
        continue;
      }
      if (a.what == activity::kind::kernel) {
        arguments["grid"] = a.grid;
        arguments["block"] = a.block;
      } else {
        arguments["bytes"] = a.bytes;
      }
      const char* category = a.what == activity::kind::kernel ? "kernel"
                             : a.what == activity::kind::copy ? "copy"
                                                              : "fill";
      streams.insert(a.lane);
      const auto later = raced.find({a.lane, a.begin});
      const bool races = !a.overlaps.empty() || later != raced.end();
      if (races) arguments["race"] = a.overlaps.empty() ? later->second : a.overlaps.front().what;
      event((races ? "RACE: " : "") + without_arguments(a.name), category, device, lane_of(a.lane), a.begin, a.end,
            std::move(arguments));
      if (const auto call = calls.find(a.correlation); a.correlation != 0 && call != calls.end()) {
        arrow("launch", a.correlation, "s", host, thread_of(rec, *call->second), call->second->begin - first_host);
        arrow("launch", a.correlation, "f", device, lane_of(a.lane), a.begin - first_host);
      }
      for (const auto& o : a.overlaps) {
        if (!o.earlier) continue;
        auto [from, to] = std::pair(*o.earlier, std::pair(a.lane, a.begin));
        if (to.second < from.second) std::swap(from, to);  // arrows do not go back in time
        arrow("race", ++races_so_far, "s", device, lane_of(from.first), from.second - first_device);
        arrow("race", races_so_far, "f", device, lane_of(to.first), to.second - first_device);
      }
      for (int r = run; r >= 0; r = rec.runs[static_cast<std::size_t>(r)].parent) {
        const auto [span, fresh] = spans.try_emplace({r, a.lane}, a.begin, a.end);
        if (!fresh) span->second = {std::min(span->second.first, a.begin), std::max(span->second.second, a.end)};
      }
    }
    for (std::size_t i = 0; i < rec.runs.size(); ++i) {
      const range_run& r = rec.runs[i];
      const auto thread = static_cast<std::uint64_t>(r.thread);
      threads.insert(thread);
      event(r.name, "range", host, thread, r.begin, r.end,
            {{"path", path_of(rec, static_cast<int>(i))}, {"flops", r.declared.flops}, {"bytes", r.declared.bytes}});
    }
    for (const auto& [where, span] : spans)
      event(rec.runs[static_cast<std::size_t>(where.first)].name, "range", device, ranges_beside(where.second),
            span.first, span.second, {{"path", path_of(rec, where.first)}});
  }
  name("process_name", host, 0, "host");
  for (const std::uint64_t t : threads) name("thread_name", host, t, fmt::format("thread {}", t));
  if (!what.device.empty()) {
    name("process_name", device, 0, what.device + (what.modelled ? " (modelled times)" : ""));
    for (const std::uint64_t s : streams) {
      name("thread_name", device, ranges_beside(s), fmt::format("stream {}: ranges", s));
      name("thread_name", device, lane_of(s), fmt::format("stream {}", s));
    }
  }
  return json{{"displayTimeUnit", "ns"}, {"traceEvents", std::move(events)}}.dump(-1, ' ', false,
                                                                                  json::error_handler_t::replace) +
         "\n";
}

// ---- roofline -------------------------------------------------------------------------------------------------------

namespace {

struct point {
  std::string name;
  double intensity = 0, gigabytes_per_second = 0, label_at = 0;
};

/// Moves overlapping labels apart.
void spread_labels(std::vector<point>& points) {
  constexpr double apart = 1.6, near = 3;  // a line's height and a label's width, as factors on the logarithmic axes
  std::sort(points.begin(), points.end(),
            [](const point& a, const point& b) { return a.gigabytes_per_second < b.gigabytes_per_second; });
  for (std::size_t i = 0; i < points.size(); ++i) {
    points[i].label_at = points[i].gigabytes_per_second;
    for (std::size_t k = 0; k < i; ++k)
      if (std::abs(std::log(points[i].intensity / points[k].intensity)) < std::log(near))
        points[i].label_at = std::max(points[i].label_at, points[k].label_at * apart);
  }
}

}  // namespace

std::string roofline_svg_of(const profile_contents& what) {
  constexpr double least = 0.03, most = 3000;  // FLOP per byte; ranges that compute nothing are at the left edge
  const bool device = !what.device.empty();
  const roofs& r = device ? what.on_device : what.processor;
  if (what.recordings.empty() || r.bytes_per_second.empty() || r.flops_per_second.empty()) return "";
  std::vector<point> cold, warm, measured;
  double lowest = 1e30, highest = 0, fastest = 0;
  for (const auto& [name, rate] : r.bytes_per_second) highest = std::max(highest, 1e-9 * rate);
  for (const auto& [name, rate] : r.flops_per_second) fastest = std::max(fastest, 1e-9 * rate);
  const double top = highest;
  double furthest = 4 * fastest / (1e-9 * r.bytes_per_second.front().second);
  int drawn = 0;
  for (const profile::row& row : what.rows()) {
    const double seconds = device ? row.device_seconds : row.host_seconds;
    if (seconds <= 0) continue;
    const double flops = row.declared.flops > 0 ? row.declared.flops : counted_flops(row.metrics);
    const auto add = [&](std::vector<point>& to, double bytes) {
      if (bytes <= 0) return;
      const double rate = 1e-9 * bytes / seconds;
      to.push_back({row.path.substr(row.path.rfind('/') + 1), std::clamp(flops / bytes, least, most), rate, 0});
      furthest = std::max(furthest, 3 * to.back().intensity);
      lowest = std::min(lowest, rate);
      highest = std::max(highest, rate);
    };
    if (++drawn > 12) break;  // the longest come first; more would be unreadable
    add(cold, row.declared.bytes);
    add(warm, l2_bytes(row.metrics));
    add(measured, dram_bytes(row.metrics));
  }
  std::vector<point>& labelled = cold.empty() ? measured : cold;
  spread_labels(labelled);
  std::string script = fmt::format(R"(set terminal svg size 860,520 dynamic noenhanced font 'sans-serif,12'
set logscale xy
set samples 2000
set xrange [{} * 0.8 : {}]
set yrange [{} : {}]
set xtics ('0' {}, '0.1' 0.1, '0.3' 0.3, '1' 1, '3' 3, '10' 10, '30' 30, '100' 100, '300' 300, '1000' 1000) textcolor rgb '#7d8590'
set ytics textcolor rgb '#7d8590'
set xlabel 'arithmetic intensity, FLOP per byte' textcolor rgb '#7d8590'
set ylabel 'GB/s{}' textcolor rgb '#7d8590'
set border 3 linecolor rgb '#7d8590'
set tics nomirror
set key outside top center horizontal textcolor rgb '#7d8590'
)",
                                   least, std::min(furthest, most), std::min(lowest, highest) / 3, highest * 2, least,
                                   what.modelled ? ", modelled" : "");
  std::vector<std::string> curves;
  std::string data;
  const char* const colours[] = {"#d9822b", "#2f7fd6", "#3fa45b", "#8f5bd6", "#c44f4f"};
  std::size_t colour = 0;
  for (std::size_t i = 0; i < r.bytes_per_second.size(); ++i) {
    const auto& [name, rate] = r.bytes_per_second[i];
    curves.push_back(
        fmt::format("(x < {} ? {} : 1/0) with lines linewidth 2 dashtype {} linecolor rgb '{}' title '{} {}'",
                    fastest / (1e-9 * rate), 1e-9 * rate, i + 1, colours[colour++ % std::size(colours)], name,
                    short_rate(rate, "B/s")));
  }
  for (const auto& [name, rate] : r.flops_per_second)
    curves.push_back(
        fmt::format("(x > {0} / {1} ? {0} / x : 1/0) with lines linewidth 2 linecolor rgb '{2}' title '{3} {4}'",
                    1e-9 * rate, top, colours[colour++ % std::size(colours)], name, short_rate(rate, "FLOP/s")));
  const auto draw = [&](const std::vector<point>& points, int type, const char* look, const std::string& title) {
    if (points.empty()) return;
    curves.push_back(fmt::format("'-' using 1:2 with points pointtype {} pointsize 0.8 linecolor rgb '{}' title '{}'",
                                 type, look, title));
    for (const point& p : points) data += fmt::format("{} {}\n", p.intensity, p.gigabytes_per_second);
    data += "e\n";
  };
  draw(cold, 7, "#d9822b", "declared bytes (cold)");
  draw(warm, 8, "#2f7fd6", "bytes through L2 (warm)");
  draw(measured, 6, "#3fa45b", what.modelled ? "DRAM bytes, modelled" : "DRAM bytes, counted");
  if (!labelled.empty()) {
    curves.push_back("'-' using 1:3:4 with labels left offset 0.8,0.6 textcolor rgb '#7d8590' font ',10' notitle");
    for (const point& p : labelled) {
      std::string name = p.name;
      std::replace(name.begin(), name.end(), '"', '\'');
      std::erase_if(name, [](unsigned char c) { return c < ' ' || c == '\\'; });
      data += fmt::format("{} {} {} \"{}\"\n", p.intensity, p.gigabytes_per_second, p.label_at, name);
    }
    data += "e\n";
  }
  return drawn_by_gnuplot(script + fmt::format("plot {}\n{}", fmt::join(curves, ", "), data));
}

}  // namespace lab
