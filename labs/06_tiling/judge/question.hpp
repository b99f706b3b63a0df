// The questions about tune that calls.cpp asks the judge: the next landscape's limits, a measurement, or how good a
// result is.
#pragma once

#include "tune.hpp"

namespace lab06 {

struct question {
  enum kind : int { next, time, found } what = next;
  configuration tried{};
  limits of{};         ///< the answer to `next`
  double seconds = 0;  ///< the answer to `time`; for `found`, how much too slow the results were so far, in percent
};

}  // namespace lab06
