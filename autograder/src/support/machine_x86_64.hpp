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

/// In a loop that waits for another processor.
inline void pause() { __builtin_ia32_pause(); }

constexpr std::uint32_t audit_architecture = AUDIT_ARCH_X86_64;
/// System calls that only this processor has: older forms of others.
constexpr std::array<std::uint32_t, 2> starts_processes{SYS_fork, SYS_vfork};
constexpr std::array<std::uint32_t, 5> computes_and_prints{SYS_time, SYS_open, SYS_stat, SYS_access, SYS_readlink};

/// How the compiler's functions for single instructions begin, but for a pause, which is in <atomic>, too; their
/// header.
constexpr std::string_view instructions[] = {"__builtin_ia32_"};
constexpr std::string_view harmless_instruction = "__builtin_ia32_pause";
constexpr std::string_view instructions_header = "immintrin.h";

/// A pattern of further functions that compilers call by themselves.
constexpr const char* compilers_own = "__cpu_(model|indicator_init|features2)";

}  // namespace grading::machine
