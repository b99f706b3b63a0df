// The checkers' reports as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launches.hpp"

namespace sim {

/// A race, or a read that came early, between threads that order themselves in ways that the checkers do not track.
bool is_excused(const launch_counts& counts, const fault_report& report, bool fences_order_blocks = true);
/// Drops repeated reports, and those that are excused.
void settle_reports(launched& what);
/// By block, and in each block in the order in which they happened.
std::vector<const fault_report*> in_order(const launch_counts& counts);
/// One sentence: what happened, where, in which thread, and what to do about it.
std::string describe(const launched& where, const fault_report& report);
/// Likewise, where a thread was when its program was stopped.
std::string describe(const launched& where, const stopped_thread& thread);
/// The host has touched device memory: ends the program, as on a machine with a GPU.
void host_access(std::uintptr_t address, std::uint64_t site);
/// ", byte 8 of allocation 1 of 64 bytes", or how far an address is from the nearest one; "" if there is none.
std::string place_in_allocation(std::uintptr_t address);
/// Errors of host code, one sentence each, once, for the account at the program's end.
void note_host_fault(const std::string& what);
const std::vector<std::string>& host_faults();
/// What host code most likely does wrong.
void note_host_warning(const std::string& what);
const std::vector<std::string>& host_warnings();
/// A kernel shifts a number of `width` bits by `count` of them, once for each line.
void note_shift(const char* file, unsigned line, std::int64_t count, int width);
/// The same, and of the watched call if there is one: its judge reads it.
void note_fault_of_call(const std::string& what);
/// What this says turned out to be no error.
void withdraw_fault(const std::string& what);
/// A copy or fill uses an address that the launch of this epoch, or another copy or fill, has loaded or stored.
void note_copy_race(std::uintptr_t address, std::uint16_t epoch, bool stores, bool was_load);

}  // namespace sim
