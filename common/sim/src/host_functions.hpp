// Host functions of streams: which memory of the program's they use. They run at the call here, and on a GPU's machine
// at any time until the host waits for their stream; whatever the host does with that memory meanwhile is a race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace sim {

/// A variable has another value until this ends, whether by a return or by an exception.
template <class T>
struct for_now {
  for_now(T& place, T value) : variable(place), then(std::exchange(place, value)) {}
  ~for_now() { variable = then; }
  for_now(const for_now&) = delete;
  for_now& operator=(const for_now&) = delete;
  T& variable;
  T then;  ///< what it has afterwards
};

/// Runs the function, and notes what it uses: it is over once `end_host_functions` says so. Returns whether it told
/// other threads: they may wait for it, and then what they do comes after it.
bool watch_host_function(std::size_t stream, std::uint32_t work_item, const std::function<void()>& function);
/// Those for which `is_over` holds are over: the host has waited for them.
void end_host_functions(const std::function<bool(std::size_t stream, std::uint32_t work_item)>& is_over);
/// The running function, if one does, has told other threads: from now on nobody knows what waits for it.
void note_host_signal();

}  // namespace sim

/// Of the access that sim_host_watch is being told: where, and how.
extern __thread std::uint64_t sim_host_site;
