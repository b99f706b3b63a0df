#include "counts.hpp"

#include <bit>
#include <cmath>
#include <tuple>
#include <type_traits>
#include <utility>

#include "debugger.hpp"

namespace sim {

std::string name_of(space where, operation op) {
  const bool remote = op >= operation::remote_load && op <= operation::remote_atomic;
  const std::string memory = remote ? "cluster " : where == space::global ? "global " : "shared ";
  switch (op) {
    case operation::load:
    case operation::remote_load: return memory + "load";
    case operation::store:
    case operation::remote_store:
    case operation::copied: return memory + "store";
    case operation::bulk_load: return memory + "bulk load";
    case operation::bulk_store: return memory + "bulk store";
    case operation::bulk_reduce: return memory + "bulk reduce";
    default: return memory + "atomic";
  }
}

void site_counts::add(const site_counts& o) {
  requests += o.requests;
  lanes += o.lanes;
  bytes += o.bytes;
  sectors += o.sectors;
  lines += o.lines;
  ideal_sectors += o.ideal_sectors;
  wavefronts += o.wavefronts;
  ideal_wavefronts += o.ideal_wavefronts;
  low = std::min(low, o.low);
  high = std::max(high, o.high);
  joined_requests += o.joined_requests;
  joined_lanes += o.joined_lanes;
  joined_wavefronts += o.joined_wavefronts;
  joined_ideal += o.joined_ideal;
  runs |= o.runs;
}

site_counts site_counts::as_joined() const {
  site_counts c = *this;
  const bool sometimes = (runs & begins_run) && (runs & goes_on_with_run);
  if (sometimes || !std::has_single_bit(runs & 15u)) return c;
  const auto less = [](std::uint64_t& n, std::int64_t by) { n -= static_cast<std::uint64_t>(by); };
  less(c.requests, joined_requests);
  less(c.lanes, joined_lanes);
  less(c.wavefronts, joined_wavefronts);
  less(c.ideal_wavefronts, joined_ideal);
  return c;
}

void allocation_counts::add(operation op, std::uint64_t moved) {
  if (op != operation::store) loaded += moved;
  if (op == operation::store || op == operation::atomic) stored += moved;
  if (op == operation::atomic) uncounted += moved;
}

void fault_report::merge(const fault_report& that, std::uint64_t others_number) {
  const std::uint64_t both = occurrences + that.occurrences;
  const auto rank = [](const fault_report& r) {
    // Races between warps sort before those within a warp: fixing the former fixes the latter, too.
    return std::tuple{r.between_flags, r.is_load_beside_atomic(), r.other == party::thread_of_warp, r.block, r.thread};
  };
  const bool earlier = rank(that) < rank(*this);
  const std::uint64_t first = block == that.block ? std::min(number, others_number) : earlier ? others_number : number;
  if (earlier) *this = that;
  occurrences = both;
  number = first;
}

void launch_counts::add(fault_report report) {
  if (report.what == fault::block_race && site_operation(report.site) == operation::atomic &&
      site_operation(report.other_site) == operation::load) {
    std::swap(report.site, report.other_site);
    std::swap(report.thread, report.other_thread);
  }
  const std::uint64_t number = report.number != 0 ? report.number : ++reported;
  auto [entry, fresh] = faults.try_emplace({report.what, report.site}, report);
  if (fresh) {
    entry->second.number = number;
    if (debugged.attached) tell_debugger(*this, report);
  } else {
    entry->second.merge(report, number);
  }
}

void launch_counts::add(const launch_counts& o) {
  for (const auto& [key, counts] : o.sites) sites[key].add(counts);
  for (const auto& [key, report] : o.faults) add(report);
  for (const auto& [begin, counts] : o.allocations) {
    allocation_counts& sum = allocations[begin];
    sum.loaded += counts.loaded;
    sum.stored += counts.stored;
    sum.uncounted += counts.uncounted;
    sum.remote |= counts.remote;
    sum.link_loaded += counts.link_loaded;
    sum.link_stored += counts.link_stored;
  }
  unique_loaded_sectors += o.unique_loaded_sectors;
  unique_stored_sectors += o.unique_stored_sectors;
  unique_loaded_pairs += o.unique_loaded_pairs;
  shared_stores += o.shared_stores;
  words_copied += o.words_copied;
  copied_beside_loads += o.copied_beside_loads;
  for (std::size_t k = 0; k < reuse.size(); ++k) reuse[k] += o.reuse[k];
  barriers += o.barriers;
  collectives += o.collectives;
  for (const auto& [types, t] : o.tensor) {
    tensor[types].operations += t.operations;
    tensor[types].instructions += t.instructions;
  }
  for (const auto& [types, t] : o.warpgroup_tensor) {
    warpgroup_tensor[types].operations += t.operations;
    warpgroup_tensor[types].instructions += t.instructions;
    warpgroup_tensor[types].shared_bytes += t.shared_bytes;
  }
  matrix_accesses.insert(o.matrix_accesses.begin(), o.matrix_accesses.end());
  compared_loads.insert(o.compared_loads.begin(), o.compared_loads.end());
  path.add(o.path);
  longest.take_longer(o.longest);
  clock_reads = std::max(clock_reads, o.clock_reads);
  accesses += o.accesses;
  waits_for_kernel_before |= o.waits_for_kernel_before;
  next_begins_after_wait |= o.next_begins_after_wait;
  fenced |= o.fenced;
  fenced_for_all |= o.fenced_for_all;
  hands_over_global |= o.hands_over_global;
  ran_away |= o.ran_away;
}

void launch_counts::scale(double factor) {
  const auto apply = [factor](auto& n) {
    n = static_cast<std::remove_reference_t<decltype(n)>>(std::round(static_cast<double>(n) * factor));
  };
  for (auto& [key, c] : sites) {
    for (std::uint64_t* n :
         {&c.requests, &c.lanes, &c.bytes, &c.sectors, &c.ideal_sectors, &c.lines, &c.wavefronts, &c.ideal_wavefronts})
      apply(*n);
    for (std::int64_t* n : {&c.joined_requests, &c.joined_lanes, &c.joined_wavefronts, &c.joined_ideal}) apply(*n);
  }
  for (auto& [begin, c] : allocations) {
    apply(c.loaded);
    apply(c.stored);
    apply(c.link_loaded);
    apply(c.link_stored);
  }
  for (std::uint64_t* n : {&unique_loaded_sectors, &unique_loaded_pairs, &unique_stored_sectors, &shared_stores,
                           &barriers, &collectives, &words_copied, &copied_beside_loads})
    apply(*n);
  for (std::uint64_t& n : reuse) apply(n);
  for (auto* of : {&tensor, &warpgroup_tensor})
    for (auto& [types, t] : *of) {
      apply(t.operations);
      apply(t.instructions);
      apply(t.shared_bytes);
    }
  path.combine({}, [&](std::uint64_t n, std::uint64_t) {
    apply(n);
    return n;
  });
}

}  // namespace sim
