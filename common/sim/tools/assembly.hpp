// What the simulated device changes in the compiler's assembly, where blocks and storage are plain to see.
#pragma once

#include <string>

namespace sim {

/// - Storage for arrays declared `extern __shared__`: all of them begin at the same place.
/// - A gap behind each shared array, so that an overrun does not reach the next one.
/// - A section `sim_blocks`: what each basic block computes (block_info in src/basic_blocks.hpp).
/// - Basic blocks that access memory need not be traced: their first access tells as much.
/// - memcpy and its kind become sim_memcpy, which observes what it copies.
/// The text is that of g++ or clang++ for x86-64 Linux.
std::string edit_assembly(const std::string& text);

/// The section that tells the run time how many registers those of ptxas' kernels take that the assembly defines.
std::string register_table(const std::string& assembly, const std::string& ptxas);

}  // namespace sim
