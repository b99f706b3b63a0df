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
#include "sim/counters.hpp"

namespace sim {
namespace {

/// The metrics of tensor core operations on this type: all, and wgmma's.
struct tensor_counters {
  counter_name all;
  const char* of_warpgroups = nullptr;
};
tensor_counters counters_of(element a) {
  switch (a) {
    case element::f16: return {"sm__ops_path_tensor_src_fp16.sum", "sm__ops_path_tensor_op_hgmma_src_fp16.sum"};
    case element::bf16: return {tensor_operations, "sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum"};
    case element::tf32:
      return {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum"};
    case element::f64: return {"sm__ops_path_tensor_src_fp64.sum"};
    case element::e4m3:
    case element::e5m2: return {"sm__ops_path_tensor_src_fp8.sum"};
    default: return {"sm__ops_path_tensor_src_int8.sum", "sm__ops_path_tensor_op_igmma_src_int8.sum"};
  }
}

/// How many times warps pass, without an active lane, a block of shared-memory accesses that nvcc predicates: a
/// short block without global stores, judging by 38 public programs and the goldens.
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
    constexpr unsigned most_instructions = 16;  // with limits from 6 to 30, the same number of counters agree
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

/// Sums of the accesses of one kind.
struct sums {
  double requests = 0, sectors = 0, bytes = 0, wavefronts = 0;
  double issued = 0;  // requests, and shared-memory instructions of warps without an active lane
  double lost = 0;    // wavefronts beyond the ideal
};

}  // namespace

void add_ratios(std::map<std::string, double>& m) {
  for (const counter& c : counters) {
    if (c.name.empty() || c.formula.empty()) continue;
    const std::size_t factor = c.formula.find(" * "), slash = c.formula.find(" / ");
    const std::size_t begin = factor == std::string_view::npos ? 0 : factor + 3;
    const auto whole = m.find(std::string(c.formula.substr(slash + 3)));
    if (whole == m.end() || whole->second <= 0) continue;
    const double part = m[std::string(c.formula.substr(begin, slash - begin))];
    m[std::string(c.name)] = (begin > 0 ? std::atof(c.formula.data()) : 1) * part / whole->second;
  }
}

std::map<std::string, double> metrics_of(const std::vector<const launched*>& all) {
  std::map<std::string, double> sums;
  for (const launched* l : all)
    for (const auto& [name, value] : metrics_of(*l))
      if (name.ends_with(".sum")) sums[name] += value;
  add_ratios(sums);
  return sums;
}

bool is_metric(const std::string& name) {
  return std::any_of(std::begin(counters), std::end(counters), [&](const counter& c) {
    return c.name == name && (c.uses & counter::counted) && (name.ends_with(".sum") || !c.formula.empty());
  });
}

std::map<std::string, double> metrics_of(const launched& what) {
  std::map<std::pair<space, operation>, sums> by, by_matrix;
  std::set<std::uint64_t> copies;  // program counters of asynchronous copies: a GPU counts only their sectors as loaded
  for (const auto& [key, c] : what.counts.sites)
    if (site_operation(key.second) == operation::copy) copies.insert(site_pc(key.second));
  const predication predicated(what.counts);
  for (const auto& [key, counts] : what.counts.sites) {
    const site_counts c = counts.as_joined();
    const bool matrix = what.counts.matrix_accesses.count(site_pc(key.second)) > 0;
    sums& s = (matrix ? by_matrix : by)[{key.first, site_operation(key.second)}];
    s.requests += static_cast<double>(c.requests);
    s.issued += static_cast<double>(c.requests);
    if (key.first == space::shared && counts.requests > 0)
      s.issued += predicated.passed(site_pc(key.second)) * static_cast<double>(c.requests) /
                  static_cast<double>(counts.requests);
    s.sectors += static_cast<double>(c.sectors);
    if (key.first != space::global || !copies.contains(site_pc(key.second))) s.bytes += static_cast<double>(c.bytes);
    s.wavefronts += static_cast<double>(c.wavefronts);
    s.lost += static_cast<double>(c.wavefronts) - static_cast<double>(c.ideal_wavefronts);
  }
  std::map<std::string, double> m;
  using enum space;
  using enum operation;
  by[{shared, load}].bytes += by[{none, remote_load}].bytes;  // the address is in the window of shared memory
  by[{shared, store}].bytes += by[{none, remote_store}].bytes;
  for (const operation op : {load, store}) by[{shared, op}].lost += by_matrix[{shared, op}].lost;
  struct row {
    counter_name name;
    space where;
    operation op;
    double sums::*amount;
    bool matrix = false;
  };
  for (const auto& [name, where, op, amount, matrix] : {
           row{"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", global, load, &sums::requests},
           {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", global, store, &sums::requests},
           {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", global, atomic, &sums::requests},
           {"smsp__inst_executed_op_global_ld.sum", global, load, &sums::requests},
           {"smsp__inst_executed_op_global_st.sum", global, store, &sums::requests},
           {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", global, load, &sums::sectors},
           {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", global, store, &sums::sectors},
           {"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", global, atomic, &sums::sectors},
           {"smsp__sass_data_bytes_mem_global_op_ld.sum", global, load, &sums::bytes},
           {"smsp__sass_data_bytes_mem_global_op_st.sum", global, store, &sums::bytes},
           {"smsp__sass_inst_executed_op_tma_ld.sum", global, bulk_load, &sums::requests},
           {"smsp__sass_inst_executed_op_tma_st.sum", global, bulk_store, &sums::requests},
           {"smsp__sass_inst_executed_op_tma_red.sum", global, bulk_reduce, &sums::requests},
           {"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", global, bulk_load, &sums::bytes},
           {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum", global, bulk_store, &sums::bytes},
           {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red.sum", global, bulk_reduce, &sums::bytes},
           {"smsp__inst_executed_op_ldgsts.sum", shared, copy, &sums::requests},
           {"smsp__inst_executed_op_shared_ld.sum", shared, load, &sums::issued},
           {"smsp__inst_executed_op_shared_st.sum", shared, store, &sums::issued},
           {"smsp__inst_executed_op_shared_atom.sum", shared, atomic, &sums::requests},
           {"smsp__sass_inst_executed_op_shared_ld.sum", shared, load, &sums::requests},
           {"smsp__sass_inst_executed_op_shared_st.sum", shared, store, &sums::requests},
           {"smsp__sass_data_bytes_mem_shared_op_ld.sum", shared, load, &sums::bytes},
           {"smsp__sass_data_bytes_mem_shared_op_st.sum", shared, store, &sums::bytes},
           {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", shared, load, &sums::wavefronts},
           {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", shared, store, &sums::wavefronts},
           {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", shared, load, &sums::lost},
           {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", shared, store, &sums::lost},
           {"l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum", none, remote_load, &sums::requests},
           {"l1tex__t_requests_pipe_lsu_mem_dshared_op_st.sum", none, remote_store, &sums::requests},
           {"l1tex__t_requests_pipe_lsu_mem_dshared_op_atom.sum", none, remote_atomic, &sums::requests},
           {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum", none, remote_load, &sums::sectors},
           {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_st.sum", none, remote_store, &sums::sectors},
           {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_atom.sum", none, remote_atomic, &sums::sectors},
           {"smsp__inst_executed_op_ldsm.sum", shared, load, &sums::requests, true},
           {"smsp__inst_executed_op_shared_stsm.sum", shared, store, &sums::requests, true},
           {"smsp__sass_data_bytes_mem_shared_op_ldsm.sum", shared, load, &sums::bytes, true},
           {"smsp__sass_data_bytes_mem_shared_op_stsm.sum", shared, store, &sums::bytes, true},
           {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum", shared, load, &sums::wavefronts, true},
           {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum", shared, store, &sums::wavefronts, true},
       })
    m[name.text] = (matrix ? by_matrix : by)[{where, op}].*amount;
  m["l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"] = by[{shared, load}].lost + by[{shared, store}].lost;
  m["sm__inst_executed_op_barrier.sum"] = static_cast<double>(what.counts.barriers);
  double tensor_instructions = 0;
  for (const element a : {element::f16, element::bf16, element::tf32, element::s8, element::f64})
    m[counters_of(a).all.text] = 0;
  for (const auto& [types, t] : what.counts.tensor) {
    m[counters_of(types.first).all.text] += static_cast<double>(t.operations);
    tensor_instructions += static_cast<double>(t.instructions);
  }
  double warpgroup_instructions = 0, warpgroup_bytes = 0;
  for (const auto& [types, t] : what.counts.warpgroup_tensor) {
    const tensor_counters names = counters_of(types.first);
    m[names.all.text] += static_cast<double>(t.operations);
    if (names.of_warpgroups) m[names.of_warpgroups] += static_cast<double>(t.operations);
    warpgroup_instructions += static_cast<double>(t.instructions);
    warpgroup_bytes += static_cast<double>(t.shared_bytes);
  }
  m["sm__inst_executed_pipe_tensor_op_gmma.sum"] = warpgroup_instructions;
  m["sm__inst_executed_pipe_tensor.sum"] = tensor_instructions + warpgroup_instructions;
  m["smsp__sass_data_bytes_mem_shared_op_gmma.sum"] = warpgroup_bytes;
  m["sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"] = warpgroup_bytes / line_bytes;
  const executed e = executed_by(what);
  m["smsp__sass_thread_inst_executed_op_fadd_pred_on.sum"] = e.fadd;
  m["smsp__sass_thread_inst_executed_op_fmul_pred_on.sum"] = e.fmul;
  m["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = e.ffma;
  m["smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"] = e.dadd;
  m["smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"] = e.dmul;
  m["smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"] = e.dfma;
  m["smsp__inst_executed.sum"] = e.instructions;
  m["smsp__thread_inst_executed.sum"] = e.thread_instructions;
  const dim3 &g = what.config.grid, &b = what.config.block;
  const double blocks = what.registers > 0 ? static_cast<double>(g.x) * g.y * g.z : 0;  // unknown for a library
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
  add_ratios(m);
  return m;
}

std::vector<line_counters> lines_of(const launched& what) {
  std::map<std::tuple<std::string, int, std::string>, line_counters> lines;
  for (const auto& [key, counts] : what.counts.sites) {
    const site_counts c = counts.as_joined();
    const operation op = site_operation(key.second);
    const bool remote = op >= operation::remote_load && op <= operation::remote_atomic;
    if (c.requests == 0 || (key.first == space::none && !remote)) continue;
    if (op == operation::copy) continue;  // counted when it ends
    const source_line at = line_of(site_pc(key.second));
    const std::string name = name_of(key.first, op);
    line_counters& l = lines[{at.file, at.line, name}];
    l.file = at.file;
    l.line = at.line;
    l.operation = name;
    l.requests += c.requests;
    l.lanes += c.lanes;
    l.sectors += c.sectors;
    l.wavefronts += c.wavefronts;
    l.ideal += c.ideal_sectors + c.ideal_wavefronts;
  }
  std::vector<line_counters> sorted;
  sorted.reserve(lines.size());
  for (auto& [key, l] : lines) sorted.push_back(std::move(l));
  return sorted;
}

}  // namespace sim
