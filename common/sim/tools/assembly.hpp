// The simulated device's changes to the compiler's assembly, where basic blocks and storage are visible.
#pragma once

#include <string>

namespace sim {

class processor;

struct assembly_edits {
  bool call_at_lines = false;
  bool fast_math = false;  ///< nvcc's -use_fast_math
  bool checked_calls = false;
  std::string headers = {};  ///< the folder of our own headers
};

/// - Storage for arrays declared `extern __shared__`: all of them start at the same address.
/// - A gap after each shared array, so that an overrun does not reach the next one.
/// - A section `sim_blocks`: what each basic block computes (block_info in src/basic_blocks.hpp).
/// - Basic blocks that access memory need no trace call: their first access serves as one.
/// - memcpy and similar functions become sim_memcpy and so on, which observe their accesses; the same goes for sincos
///   and others with two results. Calls that wake other threads notify host_functions.cpp.
/// - With `checked_calls`: calls through pointers are checked first (src/guard.hpp).
/// - With `call_at_lines`: a call to the debugger's function before each line (src/debugger.hpp).
/// The text is that of g++ or clang++ for Linux.
std::string edit_assembly(const std::string& text, const assembly_edits& edits, processor& on);

/// The section that tells the runtime how many registers the assembly's kernels use, by ptxas's output.
std::string register_table(const std::string& assembly, const std::string& ptxas);

}  // namespace sim
