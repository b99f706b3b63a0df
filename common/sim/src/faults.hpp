// What checkers found, in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launches.hpp"

namespace sim {

/// Drops reports that only repeat others, and races where threads have ordered themselves in ways not followed.
void settle_reports(launched& what);
/// One sentence: what happened, where, by whom, and what to do.
std::string describe(const launched& where, const fault_report& report);
/// The host has touched device memory: ends the program, as on a machine with a GPU.
void host_access(std::uintptr_t address, std::uint64_t site);
/// What the host did wrong, in a sentence each, for the account at the program's end.
void note_host_fault(std::string what);
const std::vector<std::string>& host_faults();

}  // namespace sim
