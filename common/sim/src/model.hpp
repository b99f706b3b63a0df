// The simulated device and its time model.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "counts.hpp"

namespace sim {

struct configuration;
struct launched;

struct device_description {
  std::string name, chip;
  int compute_major = 0, compute_minor = 0, multiprocessors = 0;
  double sm_clock_hertz = 0, memory_bytes = 0, l2_bytes = 0;
  double copy_bytes_per_second = 0;  ///< rate of a large device-to-device copy, read + write
  double l2_bytes_per_second = 0;
  double fp32_flops_per_second = 0;
  double bf16_tensor_flops_per_second = 0, tf32_tensor_flops_per_second = 0;  ///< the manufacturer's figures
  double host_copy_bytes_per_second = 0;
  double link_bytes_per_second = 0;  ///< from one device to another; 0: they are not linked
  double launch_seconds = 0;         ///< from one kernel's start to the next, empty kernels in one stream
  double kernel_floor_seconds = 0;   ///< time of an empty kernel, from its own start to its end
  double dram_latency_seconds = 0, l2_latency_cycles = 0, l1_latency_cycles = 0, shared_latency_cycles = 0;
  double l1_bytes_per_sm = 0;  ///< includes shared memory, which takes its share
  double fp32_lanes_per_sm = 0, fp64_lanes_per_sm = 0;
  int max_threads_per_sm = 0, max_blocks_per_sm = 0;
  int registers_per_sm = 0, register_allocation_unit = 0, warp_allocation_granularity = 0;
  std::size_t shared_per_sm_bytes = 0, shared_per_block_optin_bytes = 0, shared_reserved_per_block_bytes = 0;
};
const device_description& described_device();
/// Limits that all described devices share: CUDA programming guide, technical specifications per compute capability.
constexpr unsigned max_threads_per_block = 1024, max_block_z = 64, max_grid_x = 0x7fffffff, max_grid_yz = 65535;
/// How many blocks fit on a multiprocessor, by each of its resources.
struct occupancy_limits {
  int by_blocks = 0, by_registers = 0, by_shared = 0, by_warps = 0;
  int blocks() const { return std::min({by_blocks, by_registers, by_shared, by_warps}); }
};
occupancy_limits occupancy_of(int threads, int registers, std::size_t shared_bytes);
occupancy_limits occupancy_of(const launched& what);
struct dram_traffic {
  double read_bytes = 0, written_bytes = 0;
};
dram_traffic dram_traffic_of(const launched& what);
/// The bytes that a warp may load before it evicts its own lines, if the multiprocessor's warps share L1 equally.
std::uint64_t l1_lines_of_a_warp(const configuration& config);
/// The launch's time on the device. Modelled, never measured.
double model_seconds(const launched& what);

/// How long one site's requests alone would keep L1 or L2 busy, whichever is longer, if none hit L1: its share of the
/// work, not of the time, because limits overlap.
double site_seconds(const launched& what, space where, std::uint64_t site, const site_counts& counts);
/// The launch's time minus that of an empty kernel, by source file and line: in proportion to the time that each line's
/// instructions and requests would take alone. A basic block's instructions belong to its first line.
std::map<std::pair<std::string, int>, double> seconds_by_line(const launched& what);

}  // namespace sim
