// Host functions of streams, and the program's memory that they use. Here they run at the call; on a GPU's machine, at
// any time until the host waits for their stream. So accesses of that memory by the host meanwhile are races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace sim {

/// A variable has another value until this ends, by a return or by an exception.
template <class T>
struct for_now {
  for_now(T& place, T value) : variable(place), then(std::exchange(place, value)) {}
  ~for_now() { variable = then; }
  for_now(const for_now&) = delete;
  for_now& operator=(const for_now&) = delete;
  T& variable;
  T then;  ///< its value afterwards
};

/// Runs the function, and records the memory that it uses, until `end_host_functions` declares it over. Returns whether
/// it notified other threads: they may wait for it, and then their work comes after it.
bool watch_host_function(std::size_t stream, std::uint32_t work_item, const std::function<void()>& function);
/// The functions for which `is_over` holds are over: the host has waited for them.
void end_host_functions(const std::function<bool(std::size_t stream, std::uint32_t work_item)>& is_over);
/// The running function, if any, has notified other threads: from now on its waiters are unknown.
void note_host_signal();

}  // namespace sim

/// Place and kind of the access that sim_host_watch is receiving.
extern __thread std::uint64_t sim_host_site;
