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
/// The reports by block, and within a block in order of occurrence.
std::vector<const fault_report*> in_order(const launch_counts& counts);
/// One sentence: what happened, where, in which thread, and what to do.
std::string describe(const launched& where, const fault_report& report);
/// The same for a thread's place when the program was stopped.
std::string describe(const launched& where, const stopped_thread& thread);
/// Ends the program because the host accessed device memory, as on a machine with a GPU.
void host_access(std::uintptr_t address, std::uint64_t site);
/// ", byte 8 of allocation 1 of 64 bytes", or the address's distance to the nearest allocation; "" if there is none.
std::string place_in_allocation(std::uintptr_t address);
/// Records an error in host code (one sentence, never twice) for the summary at the program's end.
void note_host_fault(const std::string& what);
const std::vector<std::string>& host_faults();
/// The same for a likely error.
void note_host_warning(const std::string& what);
const std::vector<std::string>& host_warnings();
/// Reports, once per line, that a kernel shifts a number of `width` bits by `count`.
void note_shift(const char* file, unsigned line, std::int64_t count, int width);
/// Records an error in host code, also for the judge if a call is being watched.
void note_fault_of_call(const std::string& what);
/// Withdraws a report that was not an error after all.
void withdraw_fault(const std::string& what);
/// Reports a copy or fill of an address that this epoch's launch, copy or fill has loaded or stored.
void note_copy_race(std::uintptr_t address, std::uint16_t epoch, bool stores, bool was_load);

}  // namespace sim
