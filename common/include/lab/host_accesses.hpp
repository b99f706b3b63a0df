// The accesses of host functions in .cu files, one by one: the simulated device's compiler puts a hook at each access
// to memory, in host functions too. For the staff's calls.cpp; a submission may not call it.
#pragma once

#include <cstddef>
#include <cstdint>

struct sim_host_watcher {
  virtual ~sim_host_watcher() = default;
  virtual void see(std::uintptr_t address, std::size_t bytes, bool store) = 0;
};

/// `who` sees the accesses of this thread outside of kernels, until it is null again. Absent on a GPU.
extern "C" [[gnu::weak]] void sim_watch_host(sim_host_watcher* who);
