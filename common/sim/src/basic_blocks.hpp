// What the program's basic blocks compute.
#pragma once

#include <cstdint>

namespace sim {

struct launched;

/// What one run of a basic block computes, as the compiler's assembly has it; tools/assembly.cpp writes the table.
struct block_info {
  std::int32_t site;  ///< relative to this field's own address
  std::uint16_t instructions, fadd, fmul, ffma, dadd, dmul, dfma, special;
  std::uint16_t counted;  ///< something goes on by a constant: where this is a loop, nvcc knows its step
  std::uint16_t unused;
};
/// Of the block that this program counter marks; null for all others.
const block_info* block_at(std::uintptr_t pc);

/// What a launch executed, summed over threads; `instructions` over warps. From the host compiler's code.
struct executed {
  double instructions = 0, thread_instructions = 0;
  double fadd = 0, fmul = 0, ffma = 0, dadd = 0, dmul = 0, dfma = 0, special = 0;
};
executed executed_by(const launched& what);

}  // namespace sim
