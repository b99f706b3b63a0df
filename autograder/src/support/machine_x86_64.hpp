// x86-64, for the grader.
#pragma once

#include <elf.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace grading::machine {

constexpr auto elf_machine = EM_X86_64;

/// Pauses in a loop that waits for another processor.
inline void pause() { __builtin_ia32_pause(); }

constexpr std::uint32_t audit_architecture = AUDIT_ARCH_X86_64;
/// System calls that only this processor has: older forms of other calls.
constexpr std::array<std::uint32_t, 2> starts_processes{SYS_fork, SYS_vfork};
constexpr std::array<std::uint32_t, 5> computes_and_prints{SYS_time, SYS_open, SYS_stat, SYS_access, SYS_readlink};

/// The compiler's functions for single instructions: their prefix; the one that is allowed, because <atomic> uses it,
/// too; their header.
constexpr std::string_view instructions[] = {"__builtin_ia32_"};
constexpr std::string_view harmless_instruction = "__builtin_ia32_pause";
constexpr std::string_view instructions_header = "immintrin.h";

/// A pattern for further functions that compilers call on their own.
constexpr const char* compilers_own = "__cpu_(model|indicator_init|features2)";

/// Assembly of a function that jumps to another with all its arguments, unless a kernel of the simulated device calls
/// it. NAME is its symbol, TEXT its name in messages.
constexpr std::string_view for_the_host = R"(
.globl sim_the_hosts_NAME
.type sim_the_hosts_NAME, @function
sim_the_hosts_NAME:
  movq sim_running_worker@gottpoff(%rip), %r11
  cmpq $0, %fs:(%r11)
  jne 1f
  jmp *NAME@GOTPCREL(%rip)
1:
  leaq 2f(%rip), %rdi
  jmp sim_host_function
2:
  .asciz "TEXT"
)";

}  // namespace grading::machine
