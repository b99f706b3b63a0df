// Which configuration is the fastest? tune.hpp says what there is to choose from.
#include "tune.hpp"

namespace lab06 {

bool fits(const configuration& what, const limits& of) {
  // TODO(lab06.fits_correct): threads, shared memory, registers.
  (void)what, (void)of;
  return true;
}

configuration tune(const limits& of, int most, double (*time)(const configuration&)) {
  // TODO(lab06.tune_found): this is no configuration at all. Measure some, and return the fastest.
  (void)of, (void)most, (void)time;
  return {};
}

}  // namespace lab06
