// For the staff's calls.cpp: what it compares before and after a call. Submissions may not call these functions.
#pragma once

#include <malloc.h>

#include <cstddef>
#include <string>

#include "../../sim/interface/sim/host_accesses.hpp"

/// Starts counting on a GPU, in programs that read its counters.
extern "C" [[gnu::weak]] void lab_count_from_here();

namespace lab {

/// Starts counting this call: calls.cpp has prepared its arguments.
inline void count_from_here() {
  if (sim_count_from_here) sim_count_from_here();
  if (lab_count_from_here) lab_count_from_here();
}

inline sim_objects objects_now() {
  sim_objects now{};
  if (sim_count_objects) sim_count_objects(&now);
  return now;
}

/// "2 allocations, 1 stream": those created since `before`; "" if there are none.
inline std::string new_objects(const sim_objects& before) {
  const sim_objects now = objects_now();
  std::string text;
  const auto add = [&](std::size_t had, std::size_t has, const char* one) {
    if (has <= had) return;
    text += (text.empty() ? "" : ", ") + std::to_string(has - had) + " " + one + (has - had > 1 ? "s" : "");
  };
  add(before.allocations, now.allocations, "allocation");
  add(before.streams, now.streams, "stream");
  add(before.events, now.events, "event");
  add(before.graphs, now.graphs, "graph");
  return text;
}

/// The bytes that malloc has allocated and that are not yet freed. Only glibc reports this.
inline std::size_t bytes_allocated() {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
  const struct mallinfo2 now = mallinfo2();
  return now.uordblks + now.hblkhd;
#else
  return 0;
#endif
}

/// While it exists, sees each memory access of this thread's host code in .cu files.
struct host_watcher : sim_host_watcher {
  host_watcher() {
    if (sim_watch_host) sim_watch_host(this);
  }
  ~host_watcher() override {
    if (sim_watch_host) sim_watch_host(nullptr);
  }
  host_watcher(const host_watcher&) = delete;  // the device points to it
  host_watcher& operator=(const host_watcher&) = delete;
};

}  // namespace lab
