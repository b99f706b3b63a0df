// Streams' host functions, and the memory of the program that they use. Here they run at the call; on a machine with a
// GPU, at any time until the host waits for their stream. Until then, the host's accesses to that memory are races.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace sim {

/// Gives a variable another value until the scope ends, by return or exception.
template <class T>
struct for_now {
  for_now(T& place, T value) : variable(place), then(std::exchange(place, value)) {}
  ~for_now() { variable = then; }
  for_now(const for_now&) = delete;
  for_now& operator=(const for_now&) = delete;
  T& variable;
  T then;  ///< its value afterwards
};

/// Runs the function and records the memory that it uses, until `end_host_functions` ends it. Returns whether it
/// notified other threads: they may wait for it, and their work then comes after it.
bool watch_host_function(std::size_t stream, std::uint32_t work_item, const std::function<void()>& function);
/// Ends the functions for which `is_over` holds: the host has waited for them.
void end_host_functions(const std::function<bool(std::size_t stream, std::uint32_t work_item)>& is_over);
/// Tells this thread's watcher what the runtime copies or fills in the host's memory.
void tell_watcher(std::uintptr_t address, std::size_t bytes, bool store);
/// Notes that the running function, if any, has notified other threads: from now on its waiters are unknown.
void note_host_signal();

}  // namespace sim

/// Place and kind of the access that sim_host_watch is receiving.
extern __thread std::uint64_t sim_host_site;
