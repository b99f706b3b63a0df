// One launch in Nsight Compute's terms.
#include "metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "basic_blocks.hpp"
#include "heap.hpp"
#include "lines.hpp"
#include "model.hpp"

namespace sim {
namespace {

/// The types' names in the tensor cores' counters.
std::string tensor_path(element a, element sum) {
  const auto name = [](element e) {
    switch (e) {
      case element::f16: return "fp16";
      case element::bf16: return "bf16";
      case element::tf32: return "tf32";
      case element::s8:
      case element::u8: return "int8";
      case element::f64: return "fp64";
      case element::f32: return "fp32";
      case element::e4m3:
      case element::e5m2: return "fp8";
      default: return "int32";
    }
  };
  const std::string from = fmt::format("src_{}", name(a));
  const bool names_sum = a == element::bf16 || a == element::tf32;
  return names_sum && sum == element::f32 ? from + "_dst_fp32" : from;
}

/// How often warps pass a block of shared-memory accesses without an active lane because nvcc predicates it: a short
/// block without stores to global memory, as in 38 public programs and the goldens.
class predication {
 public:
  explicit predication(const launch_counts& counts) {
    for (const auto& [key, c] : counts.sites) {
      const std::uintptr_t pc = site_pc(key.second);
      requests_[pc] += c.requests;
      if (key.first == space::global && site_operation(key.second) != operation::load)
        branches_.insert(block_around(pc));
    }
  }
  double passed(std::uintptr_t pc) const {
    constexpr unsigned most_instructions = 16;  // limits from 6 to 30 make as many counters agree
    const block_info* b = block_around(pc);
    if (!b || b->predicated == 0 || b->instructions > most_instructions || branches_.contains(b)) return 0;
    return std::max(0.0, requests_at(b - b->predicated) - requests_at(b));
  }

 private:
  double requests_at(const block_info* b) const {
    const auto found = requests_.find(b->pc());
    return found == requests_.end() ? 0.0 : static_cast<double>(found->second);
  }
  std::map<std::uintptr_t, std::uint64_t> requests_;  // by program counter
  std::set<const block_info*> branches_;
};

}  // namespace

std::map<std::string, double> metrics_of(const launched& what) {
  struct sums {
    double requests = 0, sectors = 0, bytes = 0, wavefronts = 0, ideal = 0;
    double switched_off = 0;  // instructions on shared memory, in warps without an active lane
  };
  std::map<std::pair<space, operation>, sums> by, by_matrix;
  std::set<std::uint64_t>
      copies;  // where asynchronous copies are: a GPU counts their sectors as loaded, not their bytes
  for (const auto& [key, c] : what.counts.sites)
    if (site_operation(key.second) == operation::copy) copies.insert(site_pc(key.second));
  const predication predicated(what.counts);
  for (const auto& [key, counts] : what.counts.sites) {
    const site_counts c = counts.as_joined();
    const bool matrix = what.counts.matrix_accesses.count(site_pc(key.second)) > 0;
    sums& s = (matrix ? by_matrix : by)[{key.first, site_operation(key.second)}];
    s.requests += static_cast<double>(c.requests);
    if (key.first == space::shared && counts.requests > 0)
      s.switched_off += predicated.passed(site_pc(key.second)) * static_cast<double>(c.requests) /
                        static_cast<double>(counts.requests);
    s.sectors += static_cast<double>(c.sectors);
    if (key.first != space::global || !copies.contains(site_pc(key.second))) s.bytes += static_cast<double>(c.bytes);
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
    m[fmt::format("smsp__inst_executed_op_shared_{}.sum", name)] = s.requests + s.switched_off;
    m[fmt::format("smsp__sass_inst_executed_op_shared_{}.sum", name)] = s.requests;
    m[fmt::format("smsp__sass_data_bytes_mem_shared_op_{}.sum", name)] = s.bytes;
    m[fmt::format("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum", name)] = s.wavefronts;
    const sums& x = by_matrix[{space::shared, op}];  // ldsm, stsm: ldmatrix, stmatrix
    m[op == operation::load ? "smsp__inst_executed_op_ldsm.sum" : "smsp__inst_executed_op_shared_stsm.sum"] =
        x.requests;
    m[fmt::format("smsp__sass_data_bytes_mem_shared_op_{}sm.sum", name)] = x.bytes;
    m[fmt::format("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}sm.sum", name)] = x.wavefronts;
    const double lost = s.wavefronts - s.ideal + x.wavefronts - x.ideal;
    m[fmt::format("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum", name)] = lost;
    conflicts += lost;
  }
  const sums& atomics = by[{space::global, operation::atomic}];
  m["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"] = atomics.requests;
  m["l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"] = atomics.sectors;
  m["smsp__inst_executed_op_shared_atom.sum"] = by[{space::shared, operation::atomic}].requests;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] = conflicts;
  m["smsp__inst_executed_op_ldgsts.sum"] = by[{space::shared, operation::copy}].requests;
  m["sm__inst_executed_op_barrier.sum"] = static_cast<double>(what.counts.barriers);
  double tensor_instructions = 0;
  for (const auto& [a, sum] : {std::pair{element::f16, element::f32},
                               {element::bf16, element::f32},
                               {element::tf32, element::f32},
                               {element::s8, element::s32},
                               {element::f64, element::f64}})
    m[fmt::format("sm__ops_path_tensor_{}.sum", tensor_path(a, sum))] = 0;
  for (const auto& [types, t] : what.counts.tensor) {
    m[fmt::format("sm__ops_path_tensor_{}.sum", tensor_path(types.first, types.second))] +=
        static_cast<double>(t.operations);
    tensor_instructions += static_cast<double>(t.instructions);
  }
  double warpgroup_instructions = 0, warpgroup_bytes = 0;
  for (const auto& [types, t] : what.counts.warpgroup_tensor) {
    const std::string path = tensor_path(types.first, types.second);
    m[fmt::format("sm__ops_path_tensor_{}.sum", path)] += static_cast<double>(t.operations);
    if (types.first != element::e4m3 && types.first != element::e5m2)
      m[fmt::format("sm__ops_path_tensor_op_{}gmma_{}.sum", types.second == element::s32 ? "i" : "h", path)] +=
          static_cast<double>(t.operations);
    warpgroup_instructions += static_cast<double>(t.instructions);
    warpgroup_bytes += static_cast<double>(t.shared_bytes);
  }
  m["sm__inst_executed_pipe_tensor_op_gmma.sum"] = warpgroup_instructions;
  m["sm__inst_executed_pipe_tensor.sum"] = tensor_instructions + warpgroup_instructions;
  m["smsp__sass_data_bytes_mem_shared_op_gmma.sum"] = warpgroup_bytes;
  m["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"] = warpgroup_bytes / line_bytes;
  for (const auto& [op, name, path] : {std::tuple{operation::bulk_load, "ld", "xbar2l1tex_read"},
                                       {operation::bulk_store, "st", "l1tex2xbar_write"},
                                       {operation::bulk_reduce, "red", "l1tex2xbar_write"}}) {
    const sums& bulk = by[{space::global, op}];
    m[fmt::format("smsp__sass_inst_executed_op_tma_{}.sum", name)] = bulk.requests;
    m[fmt::format("l1tex__m_{}_bytes_mem_global_op_tma_{}.sum", path, name)] = bulk.bytes;
  }
  for (const auto& [op, name] :
       {std::pair{operation::remote_load, "ld"}, {operation::remote_store, "st"}, {operation::remote_atomic, "atom"}}) {
    const sums& remote = by[{space::none, op}];
    m[fmt::format("l1tex__t_requests_pipe_lsu_mem_dshared_op_{}.sum", name)] = remote.requests;
    m[fmt::format("l1tex__t_sectors_pipe_lsu_mem_dshared_op_{}.sum", name)] = remote.sectors;
    if (op != operation::remote_atomic)  // the address is in the window of shared memory
      m[fmt::format("smsp__sass_data_bytes_mem_shared_op_{}.sum", name)] += remote.bytes;
  }
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
  const double blocks = what.registers > 0 ? static_cast<double>(g.x) * g.y * g.z : 0;  // unknown for a library's work
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
  if (what.link_loaded + what.link_stored > 0) {
    m["nvlrx__bytes_data_user.sum"] = static_cast<double>(what.link_loaded);
    m["nvltx__bytes_data_user.sum"] = static_cast<double>(what.link_stored);
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
  for (const auto& [key, counts] : what.counts.sites) {
    const site_counts c = counts.as_joined();
    const operation op = site_operation(key.second);
    const bool remote = op >= operation::remote_load && op <= operation::remote_atomic;
    if (c.requests == 0 || (key.first == space::none && !remote)) continue;
    if (op == operation::copy) continue;  // counted when it ends
    const source_line at = line_of(site_pc(key.second));
    const std::string name = name_of(key.first, op);
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

}  // namespace sim
