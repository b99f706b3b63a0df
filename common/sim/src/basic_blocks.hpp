// The computations in the program's basic blocks.
#pragma once

#include <cstdint>

namespace sim {

struct launched;

/// The work of one execution of a basic block, from the compiler's assembly; tools/assembly.cpp writes the table.
struct block_info {
  std::int32_t site;  ///< relative to this field's own address
  std::uint16_t instructions, fadd, fmul, ffma, dadd, dmul, dfma, special;
  std::uint16_t counted;  ///< a register advances by a constant: if this is a loop, nvcc knows its step
  std::uint16_t stepped;  ///< a pointer advances by a register that is constant here
  /// For `if (x) a = b;` a GPU predicates this block instead of branching, so the warps of an earlier block execute it.
  /// How many entries earlier that block is; 0 for a branch.
  std::uint16_t predicated;
  std::uintptr_t pc() const { return reinterpret_cast<std::uintptr_t>(&site) + static_cast<std::intptr_t>(site); }
};
/// The entry of the block that this program counter marks; null if it marks none.
const block_info* block_at(std::uintptr_t pc);
/// The entry of the block that contains this program counter; null if none does.
const block_info* block_around(std::uintptr_t pc);

/// A launch's work in the host compiler's code, summed over threads; `instructions` is summed over warps.
struct executed {
  double instructions = 0, thread_instructions = 0;
  double fadd = 0, fmul = 0, ffma = 0, dadd = 0, dmul = 0, dfma = 0, special = 0;
};
executed executed_by(const launched& what);

}  // namespace sim
