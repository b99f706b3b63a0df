// 64-bit Arm, for the grader. It lacks the older system calls.
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace grading::machine {

constexpr auto elf_machine = EM_AARCH64;

/// Pauses in a loop that waits for another processor.
inline void pause() { asm volatile("yield"); }

constexpr std::uint32_t audit_architecture = AUDIT_ARCH_AARCH64;
constexpr std::array<std::uint32_t, 0> starts_processes{};
constexpr std::array<std::uint32_t, 0> computes_and_prints{};

constexpr std::string_view instructions[] = {"__builtin_aarch64_", "__builtin_arm_", "__builtin_neon_"};
constexpr std::string_view harmless_instruction = "__builtin_arm_yield";
constexpr std::string_view instructions_header = "arm_neon.h";

/// Atomics: one of the compiler's functions detects which instructions the processor has.
constexpr const char* compilers_own = "__aarch64_(cas|swp|ld(add|clr|eor|set))\\d+_(relax|acq|rel|acq_rel|sync)";

/// Assembly of a function that jumps to another with all its arguments, unless a kernel of the simulated device calls
/// it. NAME is its symbol, TEXT its name in messages.
constexpr std::string_view for_the_host = R"(
.globl sim_the_hosts_NAME
.type sim_the_hosts_NAME, @function
sim_the_hosts_NAME:
  adrp x16, :gottprel:sim_running_worker
  ldr x16, [x16, :gottprel_lo12:sim_running_worker]
  mrs x17, tpidr_el0
  ldr x16, [x17, x16]
  cbnz x16, 1f
  b NAME
1:
  adr x0, 2f
  b sim_host_function
2:
  .asciz "TEXT"
  .balign 4
)";

}  // namespace grading::machine
