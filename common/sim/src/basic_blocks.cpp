#include "basic_blocks.hpp"

#include <iterator>
#include <map>

#include "launches.hpp"

namespace sim {

extern "C" const block_info __start_sim_blocks[] __attribute__((weak));
extern "C" const block_info __stop_sim_blocks[] __attribute__((weak));

namespace {
/// All blocks, sorted by their start.
const std::map<std::uintptr_t, const block_info*>& all_blocks() {
  static const auto& blocks = *[] {
    auto* table = new std::map<std::uintptr_t, const block_info*>;
    for (const block_info* b = __start_sim_blocks; b != __stop_sim_blocks; ++b) (*table)[b->pc()] = b;
    return table;
  }();
  return blocks;
}
}  // namespace

const block_info* block_at(std::uintptr_t pc) {
  const auto found = all_blocks().find(pc);
  return found == all_blocks().end() ? nullptr : found->second;
}

const block_info* block_around(std::uintptr_t pc) {
  const auto next = all_blocks().upper_bound(pc);
  return next == all_blocks().begin() ? nullptr : std::prev(next)->second;
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

}  // namespace sim
