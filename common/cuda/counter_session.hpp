// Reads counters of this process's GPU with CUPTI's range profiler, in user ranges; the work runs once per pass.
#pragma once

#include <cuda.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "metric_plan.hpp"

namespace lab {

/// The runtime's context, created if there is none. Does not link the driver's library: programs must start without it.
CUcontext current_context();

/// Lets the current device read these metrics during the object's lifetime.
class counter_access {
 public:
  /// Throws if this process may not read counters.
  explicit counter_access(const std::vector<std::string>& metrics);
  ~counter_access();
  counter_access(const counter_access&) = delete;  // CUPTI must be ended exactly once
  counter_access& operator=(const counter_access&) = delete;
  CUcontext context() const { return context_; }
  const metric_plan& plan() const { return *plan_; }

 private:
  CUcontext context_ = nullptr;
  std::optional<metric_plan> plan_;
};

/// CUPTI's session on one context. Only one profiler at a time can have it.
class counter_session {
 public:
  /// Has room for `ranges` ranges, one after another: nesting would multiply the passes.
  counter_session(const counter_access& counters, std::size_t ranges);
  ~counter_session();
  counter_session(const counter_session&) = delete;  // owns CUPTI's object
  counter_session& operator=(const counter_session&) = delete;

  /// Call start() before and stop() after each run of the work.
  void start();
  /// False if more passes are needed.
  bool stop();

  void push(const std::string& name);
  void pop();

  /// The values of each range, by its name.
  std::map<std::string, std::map<std::string, double>> decode();

 private:
  template <class T>
  T with_object(std::size_t size) const {
    T parameters = sized<T>(size);
    parameters.pRangeProfilerObject = object_;
    return parameters;
  }
  const metric_plan& plan_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  std::vector<std::uint8_t> counter_data_;  // CUPTI writes into it until the session ends
};

}  // namespace lab
