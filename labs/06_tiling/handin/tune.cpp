// Which configuration is the fastest? tune.hpp says what there is to choose from.
#include "tune.hpp"

namespace lab06 {

bool fits(const configuration& what, const limits& of) {
  // TODO(lab06.fits_correct): threads, shared memory, registers.
  (void)what, (void)of;
  return true;
}

configuration tune(const limits& of, int most, double (*time)(const configuration&)) {
  // TODO(lab06.tune_found): a guess that fits everywhere, and is the fastest nowhere. Measure others.
  (void)of, (void)most, (void)time;
  return {64, 64, 8, 4, 4};
}

}  // namespace lab06
