// The device that SIM_DEVICE names, how many blocks fit on it, and how long a launch would take. Times are modelled,
// never measured; tests/goldens_test.cpp and tests/program_times.py print how far they are from an H200's.
#include "model.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "basic_blocks.hpp"
#include "embedded.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "lines.hpp"
#include "settings.hpp"
#include "sim/device_file.hpp"

namespace sim {
namespace {

device_description read_description() {
  const char* wanted = setting("SIM_DEVICE");
  try {
    const std::string name = "devices/" + std::string(wanted ? wanted : "h200") + ".toml";
    const device_file file(name, toml::parse(embedded(name), name));
    device_description d;
    d.name = file.text("name");
    d.chip = file.text("chip");
    d.compute_major = file.whole("compute_capability", 0);
    d.compute_minor = file.whole("compute_capability", 1);
    d.multiprocessors = file.whole("multiprocessors");
    d.sm_clock_hertz = file.number("sm_clock_hertz");
    d.memory_bytes = file.number("memory_bytes");
    d.copy_bytes_per_second = file.number("copy_bytes_per_second");
    d.dram_latency_seconds = file.number("dram_latency_seconds");
    d.l2_bytes = file.number("l2_bytes");
    d.l2_bytes_per_second = file.number("l2_bytes_per_second");
    d.l2_latency_cycles = file.number("l2_latency_cycles");
    d.l1_bytes_per_sm = file.number("l1_bytes_per_sm");
    d.l1_latency_cycles = file.number("l1_latency_cycles");
    d.shared_latency_cycles = file.number("shared_latency_cycles");
    d.fp32_lanes_per_sm = file.number("fp32_lanes_per_sm");
    d.fp64_lanes_per_sm = file.number("fp64_lanes_per_sm");
    d.fp32_flops_per_second = file.number("fp32_flops_per_second");
    d.bf16_tensor_flops_per_second = file.number("bf16_tensor_flops_per_second");
    d.tf32_tensor_flops_per_second = file.number("tf32_tensor_flops_per_second");
    d.host_copy_bytes_per_second = file.number("host_copy_bytes_per_second");
    d.link_bytes_per_second = file.number("link_bytes_per_second");
    d.launch_seconds = file.number("launch_seconds");
    d.kernel_floor_seconds = file.number("kernel_floor_seconds");
    d.max_threads_per_sm = file.whole("max_threads_per_sm");
    d.max_blocks_per_sm = file.whole("max_blocks_per_sm");
    d.registers_per_sm = file.whole("registers_per_sm");
    d.register_allocation_unit = file.whole("register_allocation_unit");
    d.warp_allocation_granularity = file.whole("warp_allocation_granularity");
    d.shared_per_sm_bytes = static_cast<std::size_t>(file.number("shared_per_sm_bytes"));
    d.shared_per_block_optin_bytes = static_cast<std::size_t>(file.number("shared_per_block_optin_bytes"));
    d.shared_reserved_per_block_bytes = static_cast<std::size_t>(file.number("shared_reserved_per_block_bytes"));
    return d;
  } catch (const std::exception& e) {
    fmt::print(stderr, "simulated device: {}\nSet SIM_DEVICE to one of {}.\n", e.what(), embedded_devices);
    std::fflush(nullptr);
    _exit(2);  // not exit(): it waits for the workers, one of which may be the caller
  }
}

// Constants that are not in the device files. All were fitted to the H200's launches in tests/goldens and are assumed
// for the other devices, too. The programs in tests/programs, also measured on an H200, were not used for the fit.
constexpr double instruction_scale = 0.802;      // the device's instructions per instruction that assembly.cpp counts
constexpr double cycles_per_special = 2;         // a warp's 32 lanes on 16 units, as in NVIDIA's whitepapers
constexpr double cycles_per_instruction = 2.22;  // of a lone warp, from one instruction to the next
constexpr double cycles_per_block = 1.18;        // of the whole device, to schedule a block
constexpr double cycles_per_line = 1.17;         // L1 looks up a line of 128 bytes at a time
constexpr double cycles_per_barrier = 58;        // including the following access to shared memory
constexpr double miss_cycles = 27;            // what a busy device adds to the latency of a lone access that misses L1
constexpr double next_load = 0.217;           // of a latency: for each further load in the same basic block
constexpr double turns_together = 11.8;       // of an unrolled loop
constexpr double atomic_wait = 0.28;          // of DRAM's latency; many kernels ignore an atomic's result
constexpr double dram_efficiency = 0.94;      // of the rate of a 4 GiB copy
constexpr double l2_efficiency = 0.585;       // of the rate of reading a small array
constexpr double l2_share = 0.58;             // of L2: for recent writes that are not in DRAM yet
constexpr double shared_store_sectors = 4.5;  // how many times L2 handles a sector that blocks write in turn
// L2 performs the atomics on a contended line one after the other. Those on one address wait for the previous sum; nvcc
// combines integers within a warp, and L2 adds them faster than floats. Lines of one array affect each other. Measured
// on an H200 with 8,192 to 131,072 warps on 1 to 64 lines.
constexpr double cycles_per_step = 1.16, cycles_per_integer = 1.445, cycles_per_float = 3.48;
constexpr double lines_as_good_as_one = 5;
constexpr double wgmma_efficiency = 0.78;  // of the manufacturer's rate, at n = 4096: results/nvidia-h200/hopper09.json
constexpr double overlap_power = 3.21;     // 1: one limit after the other; infinite: they overlap completely

double sum_of(std::uint64_t n) { return static_cast<double>(n); }

/// The memory work of all warps.
struct work {
  double bulk_sectors = 0;  ///< from L2 to shared memory, not through L1
  double load_sectors = 0, store_sectors = 0, atomic_sectors = 0, lines = 0;
  double wavefronts = 0, shared_atomic_lanes = 0;
  double atomic_steps = 0;
  double contended = 0;       ///< cycles, of the most contended array
  double loaded_sectors = 0;  ///< distinct sectors, as far as the addresses allow
};

work work_of(const launched& what) {
  work w;
  std::map<std::uintptr_t, std::uintptr_t> ranges;  // from start to end
  for (const auto& [key, c] : what.counts.sites) {
    if (key.first == space::none) continue;
    const operation op = site_operation(key.second);
    if (key.first == space::shared) {
      w.wavefronts += sum_of(c.as_joined().wavefronts);
      if (op == operation::atomic) w.shared_atomic_lanes += sum_of(c.lanes);
      continue;
    }
    w.lines += sum_of(c.lines);
    if (op >= operation::bulk_load && op <= operation::bulk_reduce) {  // past L1
      (op == operation::bulk_load ? w.bulk_sectors : w.store_sectors) += sum_of(c.sectors);
      if (op != operation::bulk_load) continue;
      std::uintptr_t& end = ranges[c.low];
      end = std::max(end, c.high);
      continue;
    }
    if (op == operation::load) {
      w.load_sectors += sum_of(c.sectors);
      std::uintptr_t& end = ranges[c.low];
      end = std::max(end, c.high);
    } else if (op == operation::store) {
      w.store_sectors += sum_of(c.sectors);
    } else {
      w.atomic_sectors += sum_of(c.sectors);
      w.atomic_steps += sum_of(c.lines);
      const auto bytes = static_cast<double>(c.high - c.low);
      const double on_an_address = sector_bytes / std::clamp<double>(bytes, sector_bytes, line_bytes) *
                                   (site_in_warp(key.second) ? cycles_per_integer : cycles_per_float);
      const double side_by_side = 1 + std::max(0.0, bytes / line_bytes - 1) / lines_as_good_as_one;
      w.contended = std::max(w.contended, sum_of(c.lines) * std::max(cycles_per_step, on_an_address) / side_by_side);
    }
  }
  double most = 0;
  std::uintptr_t covered = 0;
  for (const auto& [begin, end] : ranges) {
    if (end > std::max(begin, covered))
      most += std::ceil(static_cast<double>(end - std::max(begin, covered)) / sector_bytes);
    covered = std::max(covered, end);
  }
  // Blocks may share data, which scaling up from a sample would count once per block.
  w.loaded_sectors = std::min(sum_of(what.counts.unique_loaded_sectors), most);
  return w;
}

double blocks_of(const configuration& c) { return static_cast<double>(c.grid.x) * c.grid.y * c.grid.z; }
int threads_of(const configuration& c) { return static_cast<int>(c.block.x * c.block.y * c.block.z); }
int warps_of(const configuration& c) { return (threads_of(c) + 31) / 32; }

/// wgmma operations, as the number of BF16 operations that take equally long.
double wgmma_operations(const launched& what) {
  double operations = 0;
  for (const auto& [types, t] : what.counts.warpgroup_tensor) {
    const bool bytes = types.first == element::e4m3 || types.first == element::e5m2 || types.first == element::s8 ||
                       types.first == element::u8;
    operations += sum_of(t.operations) * (bytes ? 0.5 : types.first == element::tf32 ? 2 : 1);
  }
  return operations;
}

/// Loaded sectors that hit L1: those that are reused before the multiprocessor's warps have loaded as much as L1 holds.
double l1_hits(const launched& what, double warps_per_sm, double blocks_per_sm) {
  const device_description& d = described_device();
  const double shared = static_cast<double>(what.static_shared_bytes + what.config.dynamic_shared_bytes +
                                            d.shared_reserved_per_block_bytes);
  const double lines = std::max(1.0, (d.l1_bytes_per_sm - blocks_per_sm * shared) / line_bytes / warps_per_sm);
  double hits = 0;
  for (std::size_t k = 0; k < what.counts.reuse.size(); ++k) {
    const double low = k == 0 ? 0 : std::exp2(k - 1.0), high = std::exp2(static_cast<double>(k));
    hits += sum_of(what.counts.reuse[k]) * std::clamp((lines - low) / (high - low), 0.0, 1.0);
  }
  return hits;
}

}  // namespace

const device_description& described_device() {
  static const device_description d = read_description();
  return d;
}

occupancy_limits occupancy_of(int threads, int registers, std::size_t shared_bytes) {
  const device_description& d = described_device();
  const int warps = (threads + 31) / 32;
  const auto up = [](int n, int unit) { return (n + unit - 1) / unit * unit; };
  // A warp's registers are in the register file of one partition of the multiprocessor.
  const int warp_registers = up(std::max(registers, 1) * 32, d.register_allocation_unit);
  const int parts = d.warp_allocation_granularity;
  const std::size_t shared = (shared_bytes + 127) / 128 * 128 + d.shared_reserved_per_block_bytes;
  return {d.max_blocks_per_sm, d.registers_per_sm / parts / warp_registers * parts / warps,
          static_cast<int>(d.shared_per_sm_bytes / shared), d.max_threads_per_sm / 32 / warps};
}

occupancy_limits occupancy_of(const launched& what) {
  return occupancy_of(threads_of(what.config), what.registers,
                      what.static_shared_bytes + what.config.dynamic_shared_bytes);
}

/// DRAM moves pairs of sectors. The latest writes stay in the part of L2 that reads leave free.
dram_traffic dram_traffic_of(const launched& what) {
  const launch_counts& c = what.counts;
  const double all = sum_of(c.unique_loaded_sectors);
  const double read =
      all > 0 ? sum_of(c.unique_loaded_pairs) * 2 * sector_bytes * work_of(what).loaded_sectors / all : 0;
  const double stored = sum_of(c.unique_stored_sectors) * sector_bytes;
  const double kept = l2_share * described_device().l2_bytes / std::max(1.0, read + stored);
  const double written = stored * std::max(0.0, 1 - kept);
  // A half-written sector must be read before it leaves L2.
  return {read + std::min(sum_of(c.shared_stores) * sector_bytes, written), written};
}

std::uint64_t l1_lines_of_a_warp(const configuration& config) {
  const device_description& d = described_device();
  const double warps =
      std::min(std::ceil(blocks_of(config) / d.multiprocessors) * warps_of(config), d.max_threads_per_sm / 32.0);
  return static_cast<std::uint64_t>(d.l1_bytes_per_sm / line_bytes / warps);
}

double model_seconds(const launched& what) {
  const device_description& d = described_device();
  const work w = work_of(what);
  const double blocks = blocks_of(what.config), warps_per_block = warps_of(what.config);
  // If the blocks do not divide evenly, the busiest multiprocessor has one more than the others.
  const double here = std::ceil(blocks / d.multiprocessors), share = here / blocks;
  const double fit = std::max(1, occupancy_of(what).blocks());
  const double resident = std::min(fit, here);

  const executed e = executed_by(what);
  const double issue = instruction_scale * e.instructions * share / 4;
  const double pipes =
      std::max({(e.fadd + e.fmul + e.ffma) / d.fp32_lanes_per_sm, (e.dadd + e.dmul + e.dfma) / d.fp64_lanes_per_sm,
                e.special / lanes_per_warp * cycles_per_special}) *
      share;
  const double l1 = (w.lines * cycles_per_line + w.wavefronts + w.shared_atomic_lanes) * share;
  const double hits = l1_hits(what, resident * warps_per_block, resident);
  const double l2_sectors = w.bulk_sectors + w.load_sectors - hits + w.store_sectors + w.atomic_sectors +
                            w.atomic_steps + sum_of(what.counts.shared_stores) * (shared_store_sectors - 1);
  const double l2 = l2_sectors * sector_bytes / (d.l2_bytes_per_second * l2_efficiency) * d.sm_clock_hertz;
  const dram_traffic traffic = dram_traffic_of(what);
  const double dram =
      (traffic.read_bytes + traffic.written_bytes) / (d.copy_bytes_per_second * dram_efficiency) * d.sm_clock_hertz;

  // A block waits for the loads of its busiest warps, and a multiprocessor holds only a limited number of blocks.
  const double missing = w.load_sectors > 0 ? std::max(0.0, 1 - hits / w.load_sectors) : 0;
  const double cold =
      w.load_sectors > 0 ? std::min(1.0, w.loaded_sectors / std::max(1.0, w.load_sectors * missing)) : 0;
  const double dram_latency = miss_cycles + d.dram_latency_seconds * d.sm_clock_hertz;
  const double miss_latency = cold * dram_latency + (1 - cold) * (miss_cycles + d.l2_latency_cycles);
  const auto cycles_of = [&](const warp_path& path) {
    const double ahead = sum_of(path.loads_ahead), turns = ahead + sum_of(path.loads_ahead_near);
    const double any_missing = turns > 0 ? 1 - std::pow(1 - ahead / turns, turns_together) : 0;
    return (sum_of(path.loads) + sum_of(path.loads_beside) * next_load) * miss_latency +
           sum_of(path.loads_near) * d.l1_latency_cycles +
           turns / turns_together * (any_missing * miss_latency + (1 - any_missing) * d.l1_latency_cycles) +
           sum_of(path.atomics) * atomic_wait * dram_latency + sum_of(path.barriers) * cycles_per_barrier +
           instruction_scale * sum_of(path.instructions) * cycles_per_instruction;
  };
  const double block = cycles_of(what.counts.path) / blocks;
  const double waiting = block * std::ceil(here / fit) + std::max(0.0, cycles_of(what.counts.longest) - block);

  const double wgmma = wgmma_operations(what) / (d.bf16_tensor_flops_per_second * wgmma_efficiency) * d.sm_clock_hertz *
                       share * d.multiprocessors;
  double sum = 0;
  for (const double cycles : {issue, pipes, wgmma, l1, l2, dram, waiting, blocks * cycles_per_block, w.contended})
    sum += std::pow(cycles, overlap_power);
  // A thread that polls the clock ends when the clock says so.
  const double polling = static_cast<double>(what.counts.clock_reads * cycles_per_clock_read) * std::ceil(here / fit);
  return d.kernel_floor_seconds + std::max(polling, std::pow(sum, 1 / overlap_power)) / d.sm_clock_hertz;
}

double site_seconds(const launched& what, space where, std::uint64_t site, const site_counts& c) {
  const device_description& d = described_device();
  const double blocks = blocks_of(what.config), share = std::ceil(blocks / d.multiprocessors) / blocks;
  const bool atomic = site_operation(site) == operation::atomic;
  if (where == space::shared) return sum_of(c.wavefronts + (atomic ? c.lanes : 0)) * share / d.sm_clock_hertz;
  const double l1 = sum_of(c.lines) * cycles_per_line * share / d.sm_clock_hertz;
  return std::max(l1,
                  sum_of(c.sectors + (atomic ? c.lines : 0)) * sector_bytes / (d.l2_bytes_per_second * l2_efficiency));
}

std::map<std::pair<std::string, int>, double> seconds_by_line(const launched& what) {
  const device_description& d = described_device();
  const double blocks = blocks_of(what.config), share = std::ceil(blocks / d.multiprocessors) / blocks;
  std::map<std::pair<std::string, int>, double> lines;
  double all = 0;
  for (const auto& [key, c] : what.counts.sites) {
    const std::uintptr_t pc = site_pc(key.second);
    double seconds = 0;
    if (const block_info* b = block_at(pc)) {
      seconds = sum_of(c.requests) * instruction_scale * b->instructions * share / 4 / d.sm_clock_hertz;
    } else if (key.first != space::none) {
      seconds = site_seconds(what, key.first, key.second, c);
    }
    if (seconds == 0) continue;
    const source_line at = line_of(pc);
    lines[{at.file, at.line}] += seconds;
    all += seconds;
  }
  const double above_floor = std::max(0.0, what.modelled_seconds - d.kernel_floor_seconds);
  for (auto& [line, seconds] : lines) seconds *= above_floor / all;
  return lines;
}

}  // namespace sim
