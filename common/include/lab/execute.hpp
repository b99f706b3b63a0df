// One request to the program with the student's functions, and its answer. The same two structs serve within one
// process (GoogleTest, Google Benchmark) and across processes (judge and runner).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../../sim/interface/sim/observe.hpp"
#include "lab/buffer.hpp"

namespace lab {

enum class action {
  run,      ///< call once
  profile,  ///< call and count; on a GPU the call is repeated, once for each pass over the counters
  time,     ///< device part only: event-timed pairs of the call and of a ceiling, L2 flushed
};

struct request {
  std::string entry;
  action what = action::run;
  std::vector<std::int64_t> parameters;
  std::vector<buffer_spec> input_specs, output_specs;
  std::vector<std::span<std::byte>> inputs, outputs;  ///< one span for each spec, in host memory unless `resident`
  bool resident =
      false;           ///< action::run of a device entry: the spans are in device memory and go to the entry unchanged
  bool again = false;  ///< host part: repeat the call after the one that counts, to find what each leaves behind
  // Set by the judge for the process that will run it:
  bool on_host = false;              ///< a host entry
  bool count_calls = false;          ///< its system calls are counted
  int threads = 1;                   ///< it may have this many threads at a time
  std::vector<std::string> metrics;  ///< Nsight Compute names; used by action::profile on a GPU
  unsigned misread = 0;              ///< simulated device: see sim::misread_factors
  int pairs = 0;                     ///< used by action::time
  std::string ceiling = "copy";  ///< action::time: "copy", device to device, or a product: "cublas", "cublas_aligned"
  double copy_bytes = 0;         ///< action::time: bytes that the copy reads; it writes the same number
};

using sim::launch_record;
using sim::line_counters;

struct response {
  std::string error;                    ///< "" or why the call failed
  std::vector<std::string> reports;     ///< the findings of the simulated device's checkers, one sentence each
  std::vector<launch_record> launches;  ///< simulated device only
  std::map<std::string, double>
      metrics;                     ///< sums over all launches, by Nsight Compute name; missing = not available here
  std::vector<std::string> notes;  ///< limitations, such as counters that this user may not read
  std::vector<double> call_seconds, ceiling_seconds;  ///< action::time: pairs
};

/// The GLIBC_TUNABLES that make the count of malloc's bytes exact.
constexpr std::string_view exact_malloc = "glibc.malloc.tcache_count=0";

/// For callers that write, read and time from another process. Calls `begin` when the inputs are needed, `end` when the
/// outputs are complete. On the host, and for resident buffers, these enclose only the student's function; otherwise
/// also the copies to and from the device. Calls `begin` twice for resident buffers: when the inputs are needed, and
/// when the caches are cold and the clock may start.
struct call_gate {
  virtual ~call_gate() = default;
  virtual void begin() {}
  virtual void end() {}
  virtual void ask() {}  ///< host part, between begin and end: the last output holds a question, on return its answer
};

/// Calls the entry in this process, on the device for which this program was built. A fault in the student's code never
/// throws; it sets `error`. Always calls gate.end(), and gate.begin() before it unless the request is invalid.
response execute(const request& what, call_gate& gate);
inline response execute(const request& what) {
  call_gate open;
  return execute(what, open);
}

/// Starts all threads that calls will need, so that none starts later. Returns false on a GPU, whose driver may start
/// threads at any time.
bool start_threads();

/// Lets the submission's kernels and host code in .cu files write only its own variables, its stack from the caller's
/// frame down, what it allocates, and `given`. Does nothing on a GPU.
struct submission_parts {
  std::span<const std::byte> code, data, zeros, given;
};
void guard(const submission_parts& what);

/// Maps another process's shared_device_memory, for resident buffers. Throws std::runtime_error without a GPU.
std::span<std::byte> map_device_memory(int descriptor, std::size_t bytes);

/// "sim" or "cuda": the device on which `execute` runs the device part.
std::string backend_name();

std::string to_json(const request& what);            ///< without the contents of the buffers
request request_from_json(const std::string& text);  ///< spans are empty; throws std::runtime_error
std::string to_json(const response& what);
response response_from_json(const std::string& text);

}  // namespace lab
