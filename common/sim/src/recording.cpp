#include "recording.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "addresses.hpp"
#include "blocks.hpp"
#include "heap.hpp"
#include "launches.hpp"
#include "settings.hpp"

namespace sim {

/// Records the first warps, which have neighbours, and the last, which reach the data's edges.
std::shared_ptr<launch_recording> begin_recording(const launched& what, std::uint64_t blocks, std::uint64_t sample) {
  if (!setting("SIM_SEE")) return nullptr;
  // A kernel launched through a variable has another name, so it counts as another kernel.
  static std::size_t recorded = 0;
  using key = std::tuple<std::uintptr_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, std::size_t>;
  static std::set<key> known;
  const configuration& c = what.config;
  if (recorded == max_recorded_launches) return nullptr;
  if (what.function != 0 && !known
                                 .insert({what.function, c.grid.x, c.grid.y, c.grid.z, c.block.x, c.block.y, c.block.z,
                                          c.dynamic_shared_bytes})
                                 .second)
    return nullptr;
  ++recorded;
  auto recording = std::make_shared<launch_recording>();
  const std::size_t threads = std::size_t{c.block.x} * c.block.y * c.block.z;
  const auto warps = static_cast<std::uint32_t>((threads + lanes_per_warp - 1) / lanes_per_warp);
  for (const std::uint64_t wanted_number : {std::uint64_t{0}, std::uint64_t{1}, blocks / 2, blocks - 1}) {
    const std::uint64_t number = std::min(wanted_number, blocks - 1) / sample * sample;
    if (recording->block(number)) continue;
    recorded_block block;
    block.number = number;
    block.instructions.resize(warps);
    for (std::uint32_t w = 0; w < warps; ++w)
      if (w == 0 || w == warps - 1 || (number == 0 && w < 4))
        block.warps.push_back({w * static_cast<std::uint32_t>(lanes_per_warp), 0, {}, {}});
    recording->blocks.push_back(std::move(block));
  }
  return recording;
}

void recorded_block::add(std::uint32_t first_thread, recorded_step step, std::uint64_t instructions_in_phase) {
  if (step.where == space::shared)
    for (const std::uintptr_t a : step.addresses) {
      const std::size_t last = (a + site_bytes(step.site) - 1) / word_bytes;
      if (last >= touched.size()) touched.resize(last + 1);
      for (std::size_t w = a / word_bytes; w <= last; ++w) touched[w] = true;
    }
  const auto warp =
      std::find_if(warps.begin(), warps.end(), [=](const recorded_warp& w) { return w.first_thread == first_thread; });
  if (warp == warps.end()) return;
  step.number = warp->steps_taken++;
  if (++warp->steps_at[step.site] > max_further_steps && step.number >= max_steps) return;
  step.instructions = instructions[first_thread / lanes_per_warp] + instructions_in_phase;
  warp->steps.push_back(std::move(step));
}

void recorded_block::end_phase(const running_block& block) {
  ++phases_passed;
  std::vector<warp_phase> ended;
  for (std::size_t w = 0; w < block.shadow.paths.size(); ++w) {
    const warp_path& path = block.shadow.paths[w];
    instructions[w] += path.instructions;
    warp_phase phase{path.instructions, path.loads + path.loads_beside + path.loads_ahead, 0};
    const auto first = block.threads.begin() + static_cast<std::ptrdiff_t>(w * lanes_per_warp);
    const auto end = block.threads.end() - first < static_cast<std::ptrdiff_t>(lanes_per_warp) ? block.threads.end()
                                                                                               : first + lanes_per_warp;
    const auto waiting = std::find_if(first, end, [](const thread_state& t) { return t.now == state::at_barrier; });
    if (waiting != end) phase.waits_at = waiting->waits_at;
    ended.push_back(phase);
  }
  if (phases.size() < max_phases) phases.push_back(std::move(ended));
}

// ---- called by the observer
// --------------------------------------------------------------------------------------

namespace {

site_counts difference(const site_counts& after, const site_counts& before) {
  site_counts d = after;
  for (const auto field :
       {&site_counts::requests, &site_counts::lanes, &site_counts::bytes, &site_counts::sectors,
        &site_counts::ideal_sectors, &site_counts::lines, &site_counts::wavefronts, &site_counts::ideal_wavefronts})
    d.*field -= before.*field;
  return d;
}

}  // namespace

site_counts observer::counted_at(space where, std::uint64_t site) const {
  const auto found = counts_.sites.find({where, site & site_mask});
  return found == counts_.sites.end() ? site_counts() : found->second;
}

/// Observes a step and records its cost.
void observer::record(std::uint64_t site, std::span<const std::uintptr_t> addresses,
                      std::span<const std::uint8_t> lanes, const warp_position& where) {
  const operation op = site_operation(site);
  if (op >= operation::local && op != operation::block && op != operation::sync)
    return observe(site, addresses, lanes, where);
  const auto is_shared = [this](std::uintptr_t a) { return a - shared_begin_ < shared_bytes_; };
  recorded_step step;
  step.site = site & site_mask;
  if (op < operation::local) {
    step.where = is_shared(addresses[0]) ? space::shared : space::global;
    const auto other = std::find_if(addresses.begin(), addresses.end(),
                                    [&](std::uintptr_t a) { return is_shared(a) != (step.where == space::shared); });
    if (other != addresses.end()) return observe(site, addresses, lanes, where);  // both: rare, and two requests
    if (step.where == space::shared)
      step.lanes_per_phase = static_cast<unsigned>(lanes_per_phase(addresses, lanes, site_bytes(site)));
    for (const std::uintptr_t a : addresses)
      step.addresses.push_back(step.where == space::shared ? a - shared_begin_ : a);
  }
  for (const std::uint8_t lane : lanes) step.lanes |= 1u << lane;
  const site_counts before = counted_at(step.where, site);
  observe(site, addresses, lanes, where);
  step.cost = difference(counted_at(step.where, site), before);
  if (step.cost.requests == 0) return;  // the compiler's own access
  block_->recording->add(where.first_thread, std::move(step), path_of(where).instructions);
}

}  // namespace sim
