// The table of counters, for the simulated device, the profiler, rubrics, reports and the `see` page. Code that
// includes it names counters by literals, which the compiler looks up here.
#pragma once

#include <cstddef>
#include <string_view>

namespace sim {

struct counter {
  enum use : unsigned {
    counted = 1,   ///< in every call on the simulated device; others are counted in some calls, or only on a GPU
    profiled = 2,  ///< read on a GPU for ./course profile
    measured = 4,  ///< in solutions/results, whatever the rubric names
    copies = 8,    ///< includes the runtime's copies
    compared = 16  ///< by the `see` page, if there is an earlier run
  };
  std::string_view name;        ///< Nsight Compute's, if it has this counter
  std::string_view label = {};  ///< for rubrics and messages
  unsigned uses = counted;
  std::string_view formula = {};  ///< "A / B" or "3.125 * A / B"
};

/// While this counter counts, factors may be misread (sim::misread_factors): the first input of such a case is bf16.
inline constexpr const char tensor_operations[] = "sm__ops_path_tensor_src_bf16_dst_fp32.sum";
/// Bytes of inputs and of outputs that the runtime's copies, bulk copies or atomics moved.
inline constexpr const char bytes_past_loads[] = "bytes_past_loads", bytes_past_stores[] = "bytes_past_stores";

inline constexpr counter counters[] = {
    // A call
    {"launches", "kernels launched"},
    {"host_launches", "launches by the host"},
    {"allocations", "allocations"},
    {"api_calls", "API calls"},
    {"waits", "waits for a stream or the device"},
    {"event_waits", "waits for an event"},
    {"launches_copies_fills", "kernels, copies and fills in streams", counter::counted | counter::copies},
    {"streams", "streams with kernels, copies or fills"},
    {"stream_time", "modelled time of all streams", counter::counted | counter::copies},
    {"", "modelled time of all streams per byte copied", 0, "stream_time / bytes_to_device"},
    {"bytes_to_device", "bytes copied to the device", counter::counted | counter::copies},
    {"pageable_bytes", "bytes copied from or to pageable memory", counter::counted | counter::copies},
    {"unaligned_products", "products of unaligned rows by cuBLAS"},
    {"bytes_of_input_0", "bytes loaded of the first input"},
    {bytes_past_loads},
    {bytes_past_stores},
    {"copied_beside_loads"},
    {"words_copied"},
    {"", "share of the copied words that are in flight while others are loaded", 0,
     "copied_beside_loads / words_copied"},

    // A launch
    {"sm__ctas_launched.sum", "blocks"},
    {"smsp__warps_launched.sum", "warps"},
    {"launch__registers_per_thread"},
    {"launch__occupancy_limit_blocks"},
    {"launch__occupancy_limit_registers"},
    {"launch__occupancy_limit_shared_mem"},
    {"launch__occupancy_limit_warps"},
    {"launch__waves_per_multiprocessor"},
    {"sm__maximum_warps_per_active_cycle_pct"},
    {"sm__warps_active.sum", "", counter::profiled},
    {"sm__cycles_active.sum", "", counter::profiled},
    {"gpu__time_duration.sum", "kernel time", counter::counted | counter::measured},
    {"modelled_time", "modelled kernel time"},
    {"dram__bytes_read.sum", "", counter::counted | counter::profiled | counter::measured},
    {"dram__bytes_write.sum", "", counter::counted | counter::profiled | counter::measured},
    {"lts__t_sectors_op_read.sum", "", counter::profiled},
    {"lts__t_sectors_op_write.sum", "", counter::profiled},
    {"nvlrx__bytes_data_user.sum", "", 0},
    {"nvltx__bytes_data_user.sum", "", 0},

    // Instructions
    {"smsp__inst_executed.sum", "instructions", counter::counted | counter::compared},
    {"smsp__thread_inst_executed.sum"},
    {"smsp__thread_inst_executed_per_inst_executed.ratio", "", counter::counted,
     "smsp__thread_inst_executed.sum / smsp__inst_executed.sum"},
    {"sm__inst_executed_op_barrier.sum"},
    {"", "barriers per warp", 0, "sm__inst_executed_op_barrier.sum / smsp__warps_launched.sum"},
    {"smsp__sass_thread_inst_executed_op_fadd_pred_on.sum", "separate additions", counter::counted | counter::profiled},
    {"smsp__sass_thread_inst_executed_op_fmul_pred_on.sum", "separate multiplications",
     counter::counted | counter::profiled},
    {"smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "fused multiply-adds",
     counter::counted | counter::profiled},
    {"smsp__sass_thread_inst_executed_op_dadd_pred_on.sum"},
    {"smsp__sass_thread_inst_executed_op_dmul_pred_on.sum"},
    {"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum"},
    {"multiplications", "multiplications outside the tensor cores"},

    // Global memory
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "load requests", counter::counted | counter::measured},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", "store requests", counter::counted | counter::measured},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum", "atomic requests"},
    {"smsp__inst_executed_op_global_ld.sum"},
    {"smsp__inst_executed_op_global_st.sum"},
    {"smsp__sass_inst_executed_op_global_ld.sum", "", counter::profiled},
    {"smsp__sass_inst_executed_op_global_st.sum", "", counter::profiled},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "sectors loaded",
     counter::counted | counter::profiled | counter::measured | counter::compared},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "sectors stored",
     counter::counted | counter::profiled | counter::measured | counter::compared},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"},
    {"sectors_loaded_by_launches", "sectors loaded by launches"},
    {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio", "sectors per load request",
     counter::counted,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum / l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    {"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio", "sectors per store request",
     counter::counted,
     "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum / l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    {"smsp__sass_data_bytes_mem_global_op_ld.sum", "bytes loaded", counter::counted | counter::profiled},
    {"smsp__sass_data_bytes_mem_global_op_st.sum", "bytes stored", counter::counted | counter::profiled},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct", "bytes used of each loaded sector, %",
     counter::counted | counter::measured,
     "3.125 * smsp__sass_data_bytes_mem_global_op_ld.sum / l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    {"smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct", "bytes used of each stored sector, %",
     counter::counted | counter::measured,
     "3.125 * smsp__sass_data_bytes_mem_global_op_st.sum / l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    {"smsp__inst_executed_op_ldgsts.sum", "asynchronous copies"},  // cp.async: loads that op_global_ld does not count
    {"smsp__sass_inst_executed_op_ldgsts.sum", "", counter::profiled},
    {"smsp__sass_data_bytes_mem_global_op_ldgsts.sum", "", counter::profiled},
    {"smsp__sass_inst_executed_op_tma_ld.sum"},  // an SM's copy engine
    {"smsp__sass_inst_executed_op_tma_st.sum"},
    {"smsp__sass_inst_executed_op_tma_red.sum"},
    {"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum", "", counter::counted | counter::profiled},
    {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_st.sum"},
    {"l1tex__m_l1tex2xbar_write_bytes_mem_global_op_tma_red.sum"},

    // Shared memory
    {"smsp__inst_executed_op_shared_ld.sum", "shared loads", counter::counted | counter::measured},
    {"smsp__inst_executed_op_shared_st.sum", "", counter::counted | counter::measured},
    {"smsp__inst_executed_op_shared_atom.sum"},
    {"smsp__sass_inst_executed_op_shared_ld.sum"},
    {"smsp__sass_inst_executed_op_shared_st.sum"},
    {"smsp__sass_data_bytes_mem_shared_op_ld.sum", "bytes of shared loads"},
    {"smsp__sass_data_bytes_mem_shared_op_st.sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "wavefronts of shared loads",
     counter::counted | counter::measured | counter::compared},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "wavefronts of shared stores",
     counter::counted | counter::measured | counter::compared},
    {"", "wavefronts per shared load", 0,
     "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum / smsp__inst_executed_op_shared_ld.sum"},
    {"", "bytes that a shared load moves per wavefront", 0,
     "smsp__sass_data_bytes_mem_shared_op_ld.sum / smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    {"", "shared stores per asynchronous copy", 0,
     "smsp__inst_executed_op_shared_st.sum / smsp__inst_executed_op_ldgsts.sum"},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum", "shared wavefronts lost to bank conflicts",
     counter::counted | counter::measured},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", counter::counted | counter::measured},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "", counter::counted | counter::measured},
    {"", "bank conflicts per shared load", 0,
     "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum / smsp__inst_executed_op_shared_ld.sum"},
    {"smsp__inst_executed_op_ldsm.sum", "matrix loads"},
    {"smsp__inst_executed_op_shared_stsm.sum"},
    {"smsp__sass_data_bytes_mem_shared_op_ldsm.sum"},
    {"smsp__sass_data_bytes_mem_shared_op_stsm.sum"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum", "wavefronts of matrix loads"},
    {"smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_stsm.sum"},
    {"l1tex__t_requests_pipe_lsu_mem_dshared_op_ld.sum"},  // of another block of the cluster
    {"l1tex__t_requests_pipe_lsu_mem_dshared_op_st.sum"},
    {"l1tex__t_requests_pipe_lsu_mem_dshared_op_atom.sum"},
    {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_ld.sum"},
    {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_st.sum"},
    {"l1tex__t_sectors_pipe_lsu_mem_dshared_op_atom.sum"},

    // Tensor cores
    {"sm__inst_executed_pipe_tensor.sum"},
    {"sm__ops_path_tensor_src_fp16.sum"},
    {tensor_operations, "tensor operations", counter::counted | counter::profiled},
    {"sm__ops_path_tensor_src_tf32_dst_fp32.sum", "", counter::counted | counter::profiled},
    {"sm__ops_path_tensor_src_int8.sum"},
    {"sm__ops_path_tensor_src_fp64.sum"},
    {"sm__ops_path_tensor_src_fp8.sum", "", 0},
    {"sm__inst_executed_pipe_tensor_op_gmma.sum"},
    {"sm__ops_path_tensor_op_hgmma_src_fp16.sum", "", 0},
    {"sm__ops_path_tensor_op_hgmma_src_bf16_dst_fp32.sum", "", 0},
    {"sm__ops_path_tensor_op_hgmma_src_tf32_dst_fp32.sum", "", 0},
    {"sm__ops_path_tensor_op_igmma_src_int8.sum", "", 0},
    {"smsp__sass_data_bytes_mem_shared_op_gmma.sum"},
    {"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_gmma.sum"},
};

/// Whether a counter includes the runtime's copies.
constexpr bool counts_copies(std::string_view name) {
  for (const counter& c : counters)
    if (c.name == name) return (c.uses & counter::copies) != 0;
  return false;
}

/// A counter of the table: any other name is a compile-time error.
struct counter_name {
  consteval counter_name(const char* literal) : text(literal) {
    for (const counter& c : counters)
      if (c.name == literal) return;
    throw "there is no such counter in sim/counters.hpp";
  }
  constexpr operator const char*() const { return text; }
  const char* text;
};

}  // namespace sim
