// Runtime API calls, for a tool that listens to each, like CUPTI.
#pragma once

#include "sim/api.h"

namespace sim {

struct stream_work;

/// A call's effects are reported between its beginning and its end.
class activity_recorder {
 public:
  virtual void begin_call(const char* name) = 0;
  virtual void fail_call(cudaError_t error) = 0;
  virtual void end_call() = 0;  ///< called without the runtime's lock
  virtual void start(const stream_work& what) = 0;

 protected:
  ~activity_recorder() = default;
};
/// Null until the program asks for records.
extern activity_recorder* call_listener;
/// The listener in host code, null in a kernel: a kernel's calls are not recorded.
activity_recorder* host_call_listener();

/// One of the program's calls, until the end of the scope; declare it before taking the runtime's lock.
class api_call {
 public:
  explicit api_call(const char* name) : to_(call_listener ? host_call_listener() : nullptr) {
    if (to_) to_->begin_call(name);
  }
  ~api_call() {
    if (to_) to_->end_call();
  }
  api_call(const api_call&) = delete;  // it ends with its scope
  api_call& operator=(const api_call&) = delete;

 private:
  activity_recorder* to_;
};

}  // namespace sim
