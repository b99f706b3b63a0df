// The judge's view of where a submission runs: one request at a time, in memory that both see.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "lab/execute.hpp"

namespace grading {

struct answer {
  enum class ending { answered, crashed, timed_out };
  ending end = ending::answered;
  lab::response response;                    ///< if it answered
  std::string what;                          ///< if it did not answer: why, as a sentence without a full stop
  double seconds = 0;                        ///< between lab::call_gate's begin and end, by the caller's clock
  bool counted = false;                      ///< the two below were counted
  std::map<std::string, double> calls = {};  ///< system calls, by name
  double faults = 0;                         ///< page faults
  double waited = 0;       ///< part of these seconds: ready to run while the machine ran something else
  std::size_t memory = 0;  ///< peak bytes in addition to its buffers: known after start_over()
};

/// What the judge does with the memory that holds a request's buffers, as layout_of says, while the submission is
/// stopped: `give` writes all of it before the call, `take` reads it afterwards.
struct buffer_access {
  std::function<void(std::span<std::byte>)> give, take;
};

class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;  // owns memory and perhaps a process
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;

  /// Runs one request. `settle` is called after the submission has its inputs and before it begins, to flush the
  /// caches. `reply` answers the submission's questions, in the last output. Throws std::runtime_error if memory
  /// runs out.
  virtual answer run(const lab::request& what, const buffer_access& buffers = {},
                     const std::function<void()>& settle = {},
                     const std::function<void(std::span<std::byte>)>& reply = {}) = 0;

  /// From now on, runs on the core and in the physical pages of `other`, if both are processes on the host, so that
  /// neither a slow core nor slow pages make one look slower than the other. Null: its own again. `other` must live
  /// until then, and both lose their memory contents.
  virtual void stand_beside(executor* /*other*/) {}

  /// The next request, for the host part, gets a fresh process, if there are processes at all: its memory use is then
  /// known, and no earlier call has left it any memory.
  virtual void start_over() {}

  /// The first 64 KiB of what the submission has printed so far.
  virtual std::string output() { return {}; }
};

}  // namespace grading
