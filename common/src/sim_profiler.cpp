// lab::profiler on the simulated device.
#include <utility>

#include "lab/profiler.hpp"

namespace lab {

struct profiler::state {
  std::vector<std::string> wanted;
};

profiler::profiler(std::vector<std::string> metrics) : state_(new state{std::move(metrics)}) {}
profiler::~profiler() = default;

profiler::result profiler::collect(const std::function<void()>& launch_once, void* stream) {
  sim::observation seen = sim::observe(launch_once, stream);
  result r{std::move(seen.metrics), std::move(seen.launches), std::move(seen.reports), {}};
  for (const std::string& name : state_->wanted)
    if (!r.metrics.contains(name) && !name.ends_with(".pct") && !name.ends_with(".ratio"))
      r.notes.push_back(name + " is not counted by the simulated device");
  return r;
}

}  // namespace lab
