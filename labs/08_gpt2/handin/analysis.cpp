// The work of each block, the minimum time for it on a given machine, and what went wrong in a published study.
#include "forward.hpp"

#include <cmath>

namespace lab08 {

work block_work(block which, const shape& of, double bytes_each) {
  // TODO(lab08.work_correct): go through the block's operations on paper; for each: FLOPs, parameters, what it reads,
  // what it writes.
  (void)which, (void)of, (void)bytes_each;
  return {};
}

double cold_seconds(const work& w, const machine& on) {
  // TODO(lab08.bounds_correct): the slower of the two
  return (void)w, (void)on, NAN;
}

double warm_seconds(const work& w, const machine& on) {
  // TODO(lab08.bounds_correct): now there are three
  return (void)w, (void)on, NAN;
}

bool memory_bound_cold(const work& w, const machine& on) {
  // TODO(lab08.bounds_correct)
  return (void)w, (void)on, false;
}

bool memory_bound_warm(const work& w, const machine& on) {
  // TODO(lab08.bounds_correct)
  return (void)w, (void)on, false;
}

double load_ratio(const loads& a, const loads& b) {
  // TODO(lab08.audit_correct): as the study has it. What did it forget to count?
  return a.global_ld / b.global_ld;
}

double residual_stream_bytes(const shape& of, double bytes_each) {
  // TODO(lab08.audit_correct): as the study has it. How many layers are there?
  return 3 * of.batch * of.tokens * of.channels * bytes_each;
}

double percent_of_peak(const double* seconds, const double* percent, int n) {
  // TODO(lab08.audit_correct): as the study has it, which gives 126.8 %.
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += percent[i];
  return (void)seconds, sum;
}

double seconds_without_waits(const double* wall, int n, double wait) {
  // TODO(lab08.audit_correct): as the study has it.
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += wall[i];
  return (void)wait, sum;
}

}  // namespace lab08
