// Where a submission runs, seen from the judge: some memory that both see, and one request at a time.
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
  std::string what;                          ///< if it did not: why, as a sentence without full stop
  double seconds = 0;                        ///< between lab::call_gate's begin and end, by the caller's clock
  bool counted = false;                      ///< the two below were counted
  std::map<std::string, double> calls = {};  ///< system calls, by name
  double faults = 0;                         ///< page faults
  double waited = 0;                         ///< of these seconds: ready to run, and the machine ran something else
  std::size_t memory = 0;                    ///< peak bytes in addition to its buffers: known after start_over()
};

class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;  // owns memory and perhaps a process
  executor& operator=(const executor&) = delete;
  virtual ~executor() = default;

  /// Page-aligned memory, at least `bytes` long, whose contents the submission gets with run(), and into which what it
  /// made of them comes back; valid until the next call of this function. Throws std::runtime_error if there is none
  /// left.
  virtual std::span<std::byte> memory(std::size_t bytes) = 0;

  /// Runs one request whose buffers lie in memory() as layout_of says. `settle` is called when the submission has its
  /// inputs and has not begun: to empty the caches. `reply` answers, in the last output, what the submission asks.
  virtual answer run(const lab::request& what, const std::function<void()>& settle = {},
                     const std::function<void(std::span<std::byte>)>& reply = {}) = 0;

  /// From now on runs on the core and in the physical pages of `other`, as far as both are processes on the host: then
  /// neither a slow core nor slow pages can make the one look slower than the other. Null: its own again. `other` must
  /// live until then, and nothing is left of what either had in memory.
  virtual void stand_beside(executor* /*other*/) {}

  /// The next request, one of the host part, gets its own process, which has run nothing yet, as far as there are
  /// processes: what it takes of memory is then known, and no earlier call has left it any.
  virtual void start_over() {}

  /// What the submission printed so far, the first 64 KiB of it.
  virtual std::string output() { return {}; }
};

}  // namespace grading
