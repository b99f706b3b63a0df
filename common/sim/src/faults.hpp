// The checkers' reports as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "launches.hpp"

namespace sim {

/// A race, or an early read, between threads that order themselves in ways that the checkers do not track.
bool is_excused(const launch_counts& counts, const fault_report& report, bool fences_order_blocks = true);
/// Drops repeated and excused reports.
void settle_reports(launched& what);
/// By block, and within a block in order of occurrence.
std::vector<const fault_report*> in_order(const launch_counts& counts);
/// One sentence: what happened, where, in which thread, and what to do about it.
std::string describe(const launched& where, const fault_report& report);
/// The same for the place of a thread when its program was stopped.
std::string describe(const launched& where, const stopped_thread& thread);
/// The host accessed device memory: ends the program, as on a machine with a GPU.
void host_access(std::uintptr_t address, std::uint64_t site);
/// ", byte 8 of allocation 1 of 64 bytes", or the distance of an address from the nearest allocation; "" if there is
/// none.
std::string place_in_allocation(std::uintptr_t address);
/// Errors of host code, one sentence each, without repeats, for the summary at the program's end.
void note_host_fault(const std::string& what);
const std::vector<std::string>& host_faults();
/// The likely errors of host code.
void note_host_warning(const std::string& what);
const std::vector<std::string>& host_warnings();
/// A kernel shifts a number of `width` bits by `count`; reports each line once.
void note_shift(const char* file, unsigned line, std::int64_t count, int width);
/// An error of host code, also of the watched call if there is one, for the judge.
void note_fault_of_call(const std::string& what);
/// Withdraws this report: it was not an error.
void withdraw_fault(const std::string& what);
/// A copy or fill uses an address that the launch, copy or fill of this epoch has loaded or stored.
void note_copy_race(std::uintptr_t address, std::uint16_t epoch, bool stores, bool was_load);

}  // namespace sim
