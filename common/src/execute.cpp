// Calls one contract function on the device for which this program was built. Compiled twice: for a GPU, and with
// LAB_BACKEND_SIM for the simulated device, whose cuda_runtime.h then replaces the toolkit's.
#include "lab/execute.hpp"

#include <algorithm>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "lab/call.hpp"
#include "lab/device.hpp"
#include "lab/host_accesses.hpp"
#include "lab/profiler.hpp"
#ifdef LAB_BACKEND_SIM
#include "sim/machine.h"
#include "sim/names.h"
#else
#include "lab/product.hpp"
#include "shared_memory.hpp"
#endif

namespace lab {
namespace {

using bytes_on_device = device_buffer<std::byte>;

#ifdef LAB_BACKEND_SIM
constexpr bool simulated = true;
// The simulated device's checkers report every access outside an allocation, with its source line; a red zone would
// make such an access legal.
constexpr std::size_t red_zone_bytes = 0;
constexpr double warm_up_seconds = 0.0;
using sim::begin_call;
using sim::give;
using sim::misread_factors;
using sim::take_back;
using sim::unnamed_allocations;
using sim::why_launch_failed;

/// Many error checks exit when a launch fails, and the reason would be lost, so print it first.
struct called_now {
  called_now() {
    static const int registered = std::atexit([] {
      if (const std::string why = calling ? why_launch_failed() : ""; !why.empty())
        std::fprintf(stderr, "%s\n", why.c_str());
    });
    static_cast<void>(registered);
    sim::forget_failed_launch();
    begin_call();
    calling = true;
  }
  ~called_now() { calling = false; }
  called_now(const called_now&) = delete;
  called_now& operator=(const called_now&) = delete;

 private:
  static inline bool calling = false;
};
#else
struct called_now {};
std::string why_launch_failed() { return {}; }
void begin_call() {}
void give(const void*, std::size_t) {}
void take_back(const void*) {}
void misread_factors(unsigned) {}
constexpr bool simulated = false;
std::size_t unnamed_allocations() { return 0; }
constexpr std::size_t red_zone_bytes = bytes_on_device::default_red_zone_bytes;
constexpr double warm_up_seconds = 0.2;  // an idle GPU needs that long to raise its clocks
#endif

/// A fault in the student's code, described for the student.
struct fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// This thread's rounding mode, and whether it treats subnormals as 0.
class floating_point_mode {
 public:
  /// "" if the mode is unchanged; restores the mode.
  std::string restore() const {
    if (std::fegetround() == rounding_ && now() == control_) return {};
    std::fesetround(rounding_);
#if defined(__x86_64__)
    _mm_setcsr((_mm_getcsr() & flags) | control_);
#elif defined(__aarch64__)
    __builtin_aarch64_set_fpcr(control_);
#endif
    return "leaves the processor in a different floating-point mode (rounding, or treating subnormals as 0): "
           "restore the mode";
  }

 private:
#if defined(__x86_64__)
  static constexpr unsigned flags = 0x3F;  // flags of exceptions that have occurred
  static unsigned now() { return _mm_getcsr() & ~flags; }
#elif defined(__aarch64__)
  static unsigned now() { return __builtin_aarch64_get_fpcr(); }
#else
  static unsigned now() { return 0; }
#endif
  int rounding_ = std::fegetround();
  unsigned control_ = now();
};

/// The device's copies of a request's buffers, and the call that uses them.
struct device_arguments {
  explicit device_arguments(const request& what) {
    for (std::size_t i = 0; i < what.inputs.size(); ++i) {
      inputs.emplace_back(what.inputs[i].size(), red_zone_bytes);
      LAB_CUDA_CHECK(
          cudaMemcpy(inputs[i].data(), what.inputs[i].data(), what.inputs[i].size(), cudaMemcpyHostToDevice));
      arguments.inputs.push_back(inputs[i].data());
      inputs[i].set_name("input " + std::to_string(i));
    }
    for (std::size_t i = 0; i < what.outputs.size(); ++i) {
      outputs.emplace_back(what.outputs[i].size(), red_zone_bytes);
      arguments.outputs.push_back(outputs[i].data());
      outputs[i].set_name("output " + std::to_string(i));
    }
    arguments.parameters = what.parameters;
    arguments.stream = where.get();
  }

  std::size_t total_bytes() const {
    std::size_t total = 0;
    for (const auto* list : {&inputs, &outputs})
      for (const bytes_on_device& buffer : *list) total += buffer.bytes();
    return total;
  }

  void expect_intact() const {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (!outputs[i].intact()) throw fault("wrote outside its output " + std::to_string(i));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!inputs[i].intact()) throw fault("wrote outside its output, next to input " + std::to_string(i));
  }

  std::vector<bytes_on_device> inputs, outputs;
  // On the simulated device, this reveals work put into the default stream by mistake: nothing orders the two streams.
  stream where{simulated ? cudaStreamNonBlocking : cudaStreamDefault};
  call arguments;
};

/// A launch can fail in two ways: it is refused at once, or aborted while it runs.
void expect_success() {
  if (const cudaError_t refused = cudaGetLastError(); refused != cudaSuccess)
    throw fault("a CUDA call or launch was refused: " + describe(refused));
  if (const cudaError_t broken = cudaDeviceSynchronize(); broken != cudaSuccess)
    throw fault("the kernel was aborted: " + describe(broken));
}

/// Checks a few random windows of each output for poison that a timed call did not overwrite.
void expect_written(const device_arguments& device, const request& what, std::minstd_rand& random) {
  std::byte window[4096];
  for (std::size_t i = 0; i < device.outputs.size(); ++i) {
    const bytes_on_device& output = device.outputs[i];
    const dtype type = what.output_specs[i].type;
    if (output.bytes() == 0 || (type != dtype::f32 && type != dtype::f64 && type != dtype::bf16)) continue;
    const std::size_t size = std::min(sizeof window, output.bytes());
    for (int sample = 0; sample < 8; ++sample) {
      const std::size_t at = std::uniform_int_distribution<std::size_t>(0, output.bytes() - size)(random);
      LAB_CUDA_CHECK(cudaMemcpyAsync(window, output.data() + at, size, cudaMemcpyDeviceToHost, device.where.get()));
      device.where.synchronize();
      if (std::all_of(window, window + size, [](std::byte b) { return b == std::byte{0xFF}; }))
        throw fault("left its output unwritten in a timed call, or was still running after `stream` had finished");
    }
  }
}

#ifdef LAB_BACKEND_SIM
/// On the simulated device a product's speed is modelled, so it is not a ceiling.
struct cublas_product {
  cublas_product(const request& what, const device_arguments&) {
    throw std::invalid_argument("the ceiling \"" + what.ceiling + "\" is timed on a GPU only");
  }
  void operator()() const {}
};
#else
/// The device's ceilings for a matrix product: row-major C (m, n) = A (m, k) B (k, n), with parameters m, n, k.
/// "cublas": the case's own inputs, in FP32 without tensor cores. "cublas_aligned": bf16, with m, n and k rounded up to
/// multiples of 8, so that each row starts at a multiple of 16 bytes, on matrices filled by repeating the elements of
/// the first two inputs.
class cublas_product {
 public:
  cublas_product(const request& what, const device_arguments& device)
      : aligned_(what.ceiling == "cublas_aligned"), m_(size(what, 0)), n_(size(what, 1)), k_(size(what, 2)) {
    const dtype type = aligned_ ? dtype::bf16 : dtype::f32;
    const auto fits = [&](std::size_t i, std::int64_t count) {
      const buffer_spec& spec = what.input_specs.at(i);
      return spec.type == type && (aligned_ ? spec.size > 0 : spec.size == count);
    };
    if (device.inputs.size() < 2 || !fits(0, elements(m_, k_)) || !fits(1, elements(k_, n_)))
      throw std::invalid_argument("the ceiling \"" + what.ceiling + "\" needs parameters m, n, k and " +
                                  (aligned_ ? "two inputs of bf16" : "inputs A (m, k) and B (k, n) of f32"));
    a_ = device.inputs[0].data();
    b_ = device.inputs[1].data();
    if (aligned_) {
      for (int* side : {&m_, &n_, &k_}) *side = (*side + 7) / 8 * 8;
      a_ = repeated(device.inputs[0], elements(m_, k_), own_a_);
      b_ = repeated(device.inputs[1], elements(k_, n_), own_b_);
    }
    out_.emplace(size_bytes(type) * static_cast<std::size_t>(elements(m_, n_)), 0);
    expect(cublasCreate(&handle_));
    expect(cublasSetStream(handle_, device.where.get()));
  }
  ~cublas_product() { (void)cublasDestroy(handle_); }
  cublas_product(const cublas_product&) = delete;  // owns the handle

  void operator()() const {
    expect(row_major_product(handle_, aligned_ ? dtype::bf16 : dtype::f32, m_, n_, k_, a_, b_, out_->data()));
  }

 private:
  static int size(const request& what, std::size_t i) { return static_cast<int>(what.parameters.at(i)); }
  static std::int64_t elements(int rows, int columns) { return std::int64_t{rows} * columns; }
  static void expect(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS)
      throw std::runtime_error("cannot measure the ceiling:  cuBLAS error " + std::to_string(status));
  }
  /// `count` bf16 numbers, repeating those of `from`.
  static const std::byte* repeated(const bytes_on_device& from, std::int64_t count,
                                   std::optional<bytes_on_device>& own) {
    own.emplace(size_bytes(dtype::bf16) * static_cast<std::size_t>(count), 0);
    for (std::size_t at = 0; at < own->bytes(); at += from.bytes())
      LAB_CUDA_CHECK(cudaMemcpy(own->data() + at, from.data(), std::min(from.bytes(), own->bytes() - at),
                                cudaMemcpyDeviceToDevice));
    return own->data();
  }

  bool aligned_;
  int m_, n_, k_;
  std::optional<bytes_on_device> own_a_, own_b_, out_;
  const std::byte *a_ = nullptr, *b_ = nullptr;
  cublasHandle_t handle_ = nullptr;
};
#endif

std::size_t l2_bytes() {
  int current = 0;
  cudaDeviceProp properties;
  LAB_CUDA_CHECK(cudaGetDevice(&current));
  LAB_CUDA_CHECK(cudaGetDeviceProperties(&properties, current));
  return static_cast<std::size_t>(std::max(properties.l2CacheSize, 0));
}

/// Times the call and its ceiling in pairs, in the order ABBA, so that drifting clocks affect both equally. Before
/// each, poisons outputs and fills L2 with other data; that work also hides the launch latency.
void time_pairs(const entry& function, const request& what, device_arguments& device, response& result) {
  std::optional<bytes_on_device> flush;
  if (device.total_bytes() <= 8 * l2_bytes()) flush.emplace(2 * l2_bytes(), 0);

  std::optional<cublas_product> product;
  if (what.ceiling == "cublas" || what.ceiling == "cublas_aligned")
    product.emplace(what, device);
  else if (what.ceiling != "copy")
    throw std::invalid_argument("no ceiling '" + what.ceiling + "' on a device");

  // The copy uses the random bits of the call's first input, if there are enough: zeros can be faster than data.
  const auto copy_bytes = static_cast<std::size_t>(what.copy_bytes);
  std::optional<bytes_on_device> own_source;
  const bool borrowed = !device.inputs.empty() && device.inputs[0].bytes() >= copy_bytes;
  if (!borrowed) own_source.emplace(copy_bytes, 0);
  const std::byte* source = borrowed ? device.inputs[0].data() : own_source->data();
  const bytes_on_device destination(copy_bytes, 0);

  const auto call_once = [&] { function.run(device.arguments); };
  const auto ceiling_once = [&] {
    if (product) return (*product)();
    LAB_CUDA_CHECK(
        cudaMemcpyAsync(destination.data(), source, copy_bytes, cudaMemcpyDeviceToDevice, device.where.get()));
  };
  event start, stop;
  const auto seconds = [&](const auto& work) {
    for (bytes_on_device& output : device.outputs) output.poison(device.where);
    if (flush) flush->poison(device.where);
    start.record(device.where);
    work();
    stop.record(device.where);
    return stop.seconds_since(start);
  };
  std::minstd_rand random(std::random_device{}());
  const auto timed_call = [&] {
    result.call_seconds.push_back(seconds(call_once));
    expect_written(device, what, random);
    expect_success();
  };
  const auto timed_ceiling = [&] { result.ceiling_seconds.push_back(seconds(ceiling_once)); };

  using clock = std::chrono::steady_clock;
  const auto began = clock::now();
  for (int i = 0; i < (simulated ? 1 : 3) || clock::now() - began < std::chrono::duration<double>(warm_up_seconds);
       ++i) {
    seconds(call_once);
    expect_success();
    seconds(ceiling_once);
  }
  for (int pair = 0; pair < what.pairs; ++pair) {
    if (pair % 2 == 1) timed_ceiling();
    timed_call();
    if (pair % 2 == 0) timed_ceiling();
  }
  // The judge checks what one more call leaves behind.
  seconds(call_once);
}

/// The request's inputs and parameters; the caller adds the outputs.
call call_of(const request& what) {
  call made;
  for (const auto& input : what.inputs) made.inputs.push_back(input.data());
  made.parameters = what.parameters;
  made.ask = [] {};
  return made;
}

void run_resident(const entry& function, const request& what, call_gate& gate) {
  if (simulated || what.what != action::run)
    throw std::invalid_argument("resident buffers are for action::run on a GPU");
  const stream where;
  call arguments = call_of(what);
  for (const auto& output : what.outputs) arguments.outputs.push_back(output.data());
  arguments.stream = where.get();
  bytes_on_device flush(2 * l2_bytes(), 0);
  gate.begin();
  flush.poison(where);  // flushes L2, and returns the GPU to this process
  where.synchronize();
  gate.begin();
  function.run(arguments);
  expect_success();
  gate.end();
}

/// Runs the function on other numbers at the same addresses, so that a function that caches results by address returns
/// wrong ones. Returns false on a fault, which the call that counts will report.
bool rehearse(const entry& function, const request& what, std::optional<device_arguments>& device) {
  for (std::size_t i = 0; i < device->inputs.size(); ++i)
    if (const dtype type = what.input_specs[i].type; type == dtype::f32 || type == dtype::f64 || type == dtype::bf16)
      LAB_CUDA_CHECK(cudaMemset(device->inputs[i].data(), 0, device->inputs[i].bytes()));
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  bool fine = true;
  try {
    function.run(device->arguments);
    expect_success();
  } catch (...) {
    fine = false;
  }
  begin_call();
  if (!fine) {
    device.reset();
    (void)cudaDeviceReset();
    device.emplace(what);
    return false;
  }
  for (std::size_t i = 0; i < device->inputs.size(); ++i)
    LAB_CUDA_CHECK(
        cudaMemcpy(device->inputs[i].data(), what.inputs[i].data(), what.inputs[i].size(), cudaMemcpyHostToDevice));
  for (bytes_on_device& output : device->outputs) output.poison();
  return true;
}

/// Calls the function in two streams that nothing orders, on separate buffers; returns the first report about memory
/// that both calls use, otherwise "".
std::string race_of_two_calls(const entry& function, const request& what) {
  const device_arguments one(what), other(what);
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  const auto counted = profiler({}).collect([&] {
    function.run(one.arguments);
    function.run(other.arguments);
  });
  expect_success();
  const auto race = std::find_if(counted.reports.begin(), counted.reports.end(), [](const std::string& report) {
    return report.find("race between streams") != std::string::npos;
  });
  return race == counted.reports.end() ? "" : "two calls at the same time, on separate buffers: " + *race;
}

void run_on_device(const entry& function, const request& what, call_gate& gate, response& result) {
  if (what.resident) return run_resident(function, what, gate);
  [[maybe_unused]] const called_now here;
  gate.begin();
  misread_factors(what.misread);
  std::optional<device_arguments> made(std::in_place, what);
  constexpr std::size_t most_to_rehearse = std::size_t{64}
                                           << 10;  // bytes: few functions are wrong only for large inputs
  const bool rehearsed =
      simulated && !function.own_streams && made->total_bytes() <= most_to_rehearse && rehearse(function, what, made);
  device_arguments& device = *made;
  LAB_CUDA_CHECK(cudaDeviceSynchronize());  // the call's stream may not wait for work in the default stream
  if (what.what == action::time) {
    time_pairs(function, what, device, result);
  } else if (simulated || what.what == action::profile) {
    // The simulated device counts and checks everything it runs. If a kernel's fault makes the function throw, the
    // device's report says more than the exception.
    std::exception_ptr thrown;
    bool by_contract = false;
    const auto run = [&] {
      try {
        function.run(device.arguments);
      } catch (const broken_contract&) {
        thrown = std::current_exception();
        by_contract = true;
      } catch (...) {
        thrown = std::current_exception();
      }
    };
    const std::size_t kept = unnamed_allocations();  // kept by earlier calls: our own allocations have names
    const sim_objects before = objects_now();
    const auto counted = profiler(what.metrics).collect(run, function.own_streams ? nullptr : device.where.get());
    result.metrics = counted.metrics;
    if (kept > 0) result.metrics["allocations"] += static_cast<double>(kept);
    result.launches = counted.launches;
    result.reports = counted.reports;
    result.notes = counted.notes;
    if (!by_contract && (thrown || cudaPeekAtLastError() != cudaSuccess))
      if (const std::string why = why_launch_failed(); result.reports.empty() && !why.empty())
        result.reports.push_back(why);
    // What the first call keeps for later calls is not a leak.
    if (const std::string left = new_objects(before); rehearsed && !left.empty())
      result.reports.push_back("each such call leaks " + left + ": free or destroy it, or reuse it in the next call");
    if (thrown) std::rethrow_exception(thrown);
  } else {
    function.run(device.arguments);
  }
  expect_success();
  for (std::size_t i = 0; i < device.outputs.size(); ++i)
    LAB_CUDA_CHECK(
        cudaMemcpy(what.outputs[i].data(), device.outputs[i].data(), what.outputs[i].size(), cudaMemcpyDeviceToHost));
  device.expect_intact();
  // Last: what these calls keep, such as memory for each stream, must not change the counts.
  constexpr std::size_t most_to_call_twice = std::size_t{192} << 10;  // bytes
  if (simulated && function.concurrent && what.what != action::time && what.misread == 0 && result.reports.empty() &&
      device.total_bytes() <= most_to_call_twice)
    if (const std::string race = race_of_two_calls(function, what); !race.empty()) result.reports.push_back(race);
}

void run_on_host(const entry& function, const request& what, call_gate& gate) {
  if (what.what == action::time) throw std::invalid_argument("action::time is for the device part only");
  call arguments = call_of(what);
  for (const auto& output : what.outputs) arguments.outputs.push_back(output.data());
  arguments.ask = [&gate] { gate.ask(); };
  gate.begin();
  function.run(arguments);
}

struct lent_memory {
  void operator()(std::byte* memory) const {
    take_back(memory);
    std::free(memory);
  }
};

/// Calls a host function repeatedly, with the same inputs and separate outputs; returns a report if it leaks memory,
/// otherwise "". The first calls may allocate what later ones use. Needs a glibc without per-thread caches of freed
/// blocks, because those count as allocated.
std::string repeat_on_host(const entry& function, const request& what) {
  using clock = std::chrono::steady_clock;
  constexpr std::size_t most_calls = 4;
  constexpr auto longest = std::chrono::milliseconds(100);  // calls slow functions fewer times
  constexpr std::size_t page = 4096;
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  if (!tunables || tunables != exact_malloc) return {};
  std::vector<std::unique_ptr<std::byte, lent_memory>> own;
  call arguments = call_of(what);
  for (const auto& output : what.outputs) {
    const std::size_t bytes = (output.size() / page + 1) * page;
    own.emplace_back(static_cast<std::byte*>(std::aligned_alloc(page, bytes)));
    give(own.back().get(), bytes);
    std::fill_n(own.back().get(), bytes, std::byte{0xFF});
    arguments.outputs.push_back(own.back().get());
  }
  const auto began = clock::now();
  function.run(arguments);
  // A leak grows with every call. A kept block that is reallocated elsewhere in the heap may take 16 bytes more.
  std::size_t before = bytes_allocated(), left = ~std::size_t{0}, calls = 0;
  for (; calls < most_calls && clock::now() - began < longest; ++calls) {
    function.run(arguments);
    const std::size_t now = bytes_allocated();
    left = std::min(left, now > before ? now - before : 0);
    before = now;
  }
  if (left == 0 || calls < 2) return {};
  return "each such call leaves about " + std::to_string(left) + " bytes allocated: free what it allocates";
}

void expect_sizes(const std::vector<buffer_spec>& specs, const std::vector<std::span<std::byte>>& spans) {
  bool equal = specs.size() == spans.size();
  for (std::size_t i = 0; equal && i < specs.size(); ++i) equal = specs[i].bytes() == spans[i].size();
  if (!equal) throw std::invalid_argument("a request's buffers are not as large as its specs say");
}

}  // namespace

bool start_threads() {
  const cudaError_t error = cudaSetDevice(0);  // makes CUDA read its environment before a submission can change it
  if (simulated) LAB_CUDA_CHECK(error);
  return simulated;
}

[[gnu::noinline]] void guard([[maybe_unused]] const submission_parts& what) {
#ifdef LAB_BACKEND_SIM
  const auto range = [](std::span<const std::byte> bytes) {
    return sim::memory_range{reinterpret_cast<std::uintptr_t>(bytes.data()), bytes.size()};
  };
  sim::guard({range(what.code), range(what.data), range(what.zeros), range(what.given), SIM_CALLERS_STACK});
#endif
}

std::span<std::byte> map_device_memory([[maybe_unused]] int descriptor, [[maybe_unused]] std::size_t bytes) {
#ifdef LAB_BACKEND_SIM
  throw std::runtime_error("the simulated device's memory cannot be shared with other processes");
#else
  static std::optional<shared_device_memory> mapped;  // from the only judge, for the life of this process
  mapped.emplace(descriptor, bytes);
  return mapped->bytes();
#endif
}

std::string backend_name() { return simulated ? "sim" : "cuda"; }

response execute(const request& what, call_gate& gate) {
  response result;
  bool on_device = false;
  const entry* called = nullptr;
  const floating_point_mode mode;
  try {
    expect_sizes(what.input_specs, what.inputs);
    expect_sizes(what.output_specs, what.outputs);
    const auto all = entries();
    const auto found = std::find_if(all.begin(), all.end(), [&](const entry& e) { return e.name == what.entry; });
    if (found == all.end()) throw std::invalid_argument("no function '" + what.entry + "' in this lab");
    if (found->where == part::host) {
      run_on_host(*found, what, gate);
      called = &*found;
    } else {
      on_device = true;
      run_on_device(*found, what, gate, result);
    }
  } catch (const std::exception& e) {
    result.error = e.what();
  } catch (...) {
    result.error = "threw an object that is not a std::exception";
  }
  gate.end();
  const auto complain = [&](const std::string& why) {
    if (result.error.empty()) result.error = why;
  };
  if (called && what.again) try {
      complain(repeat_on_host(*called, what));
    } catch (const std::exception& error) {
      complain(std::string("fails when it is called again: ") + error.what());
    } catch (...) {
      complain("fails when it is called again");
    }
  complain(mode.restore());
  // After a fault in a kernel every later call fails too, until the device is reset. All our buffers have been freed by
  // now.
  if (on_device && !result.error.empty() &&
      (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess))
    (void)cudaDeviceReset();
  return result;
}

}  // namespace lab
