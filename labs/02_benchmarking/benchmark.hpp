// Lab 02, benchmarking: what your file must define.
#pragma once

#include <cstdint>
#include <span>

namespace lab02 {

/// What a run returned. It counts as unused unless you keep it.
struct result {
  std::int64_t value = 0;
};

/// The machine and the function under test, as a benchmark sees them. Everything takes time, even reading a clock.
class machine {
 public:
  virtual ~machine() = default;

  virtual double wall_seconds() = 0;  ///< the time of day, which the system may correct at any moment
  /// Since an arbitrary moment; it is never adjusted, and advances in ticks, whose length differs between machines.
  virtual double steady_seconds() = 0;
  virtual double clock_share() = 0;  ///< the current clock rate over the highest: lower while throttled

  virtual void prepare(int count) = 0;    ///< makes inputs 0 to count - 1: all new, in new memory
  virtual void touch() = 0;               ///< writes to all memory of the inputs once, so that it is mapped and cached
  virtual void flush_caches() = 0;        ///< starts a kernel that empties all caches, and does not wait for it
  virtual void rest(double seconds) = 0;  ///< does nothing for this long; the machine cools down

  /// Calls the function on input i. The work it starts may still be running when it returns; the next call's work waits
  /// for it, the launch does not. From the eleventh call on the function is warm, if it ever is.
  virtual result run(int i) = 0;
  virtual void keep(result r) = 0;     ///< counts the result as used: a result that is never kept may be optimised away
  virtual void run_nothing() = 0;      ///< launches an empty function in the same way as run()
  virtual void wait_for_stream() = 0;  ///< waits until all work in run()'s own stream is done
  virtual void wait_for_device() = 0;  ///< waits until all work is done, whichever call started it
};

struct options {
  bool cold = false;             ///< each call finds the caches empty; otherwise each call finds them warm
  int least_samples = 11;        ///< take at least this many, even if they exceed the budget
  double relative_error = 0.01;  ///< continue until the median's standard error is at most this share of it...
  double budget_seconds = 10;    ///< ...or this much time has passed, including warm-up, on the steady clock
};

struct timing {
  double median_seconds = 0;                 ///< of one call, without the overhead
  double low_seconds = 0, high_seconds = 0;  ///< a tenth of the calls is faster than low, a tenth slower than high
  double overhead_seconds = 0;               ///< the time to launch an empty function and wait for it
  int samples = 0;                           ///< number of samples that the median is taken over
  int outliers = 0;                          ///< how many of these are outliers
  int dropped = 0;                           ///< further samples, discarded because the machine was throttled
};

/// Times the function that `m` runs.
timing benchmark(machine& m, const options& how);

/// Registers benchmarks of the loops in loops.hpp with Google Benchmark, via benchmark::RegisterBenchmark. Called once.
void register_benchmarks();

/// The question of Google Benchmark's compare.py: if both series came from the same distribution, how likely would a
/// gap this large or larger be? By the Mann-Whitney U test, two-sided, in its normal approximation, with the correction
/// for ties; 1 if all values are equal. Both series have at least 20 values, in any order.
double p_value(std::span<const double> one, std::span<const double> other);

}  // namespace lab02
