#include "basic_blocks.hpp"

#include <iterator>
#include <map>
#include <unordered_map>

#include "launches.hpp"

namespace sim {

extern "C" const block_info __start_sim_blocks[] __attribute__((weak));
extern "C" const block_info __stop_sim_blocks[] __attribute__((weak));

const block_info* block_at(std::uintptr_t pc) {
  static const auto& blocks = *[] {
    auto* table = new std::unordered_map<std::uintptr_t, const block_info*>;
    for (const block_info* b = __start_sim_blocks; b != __stop_sim_blocks; ++b) (*table)[b->pc()] = b;
    return table;
  }();
  const auto found = blocks.find(pc);
  return found == blocks.end() ? nullptr : found->second;
}

const block_info* block_around(std::uintptr_t pc) {
  static const auto& blocks = *[] {
    auto* table = new std::map<std::uintptr_t, const block_info*>;
    for (const block_info* b = __start_sim_blocks; b != __stop_sim_blocks; ++b) (*table)[b->pc()] = b;
    return table;
  }();
  const auto next = blocks.upper_bound(pc);
  return next == blocks.begin() ? nullptr : std::prev(next)->second;
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
