// The credit curve.
#include "credit.hpp"

#include <cmath>

namespace grading {

double credit(double ratio, const std::vector<rung>& rungs) {
  const double raised = ratio / rung_allowance;
  if (rungs.empty() || !(raised >= rungs.front().ratio)) return 0.0;
  for (std::size_t i = 1; i < rungs.size(); ++i) {
    const rung &below = rungs[i - 1], &above = rungs[i];
    if (raised >= above.ratio) continue;
    const double way = std::log(raised / below.ratio) / std::log(above.ratio / below.ratio);
    return below.share + way * (above.share - below.share);
  }
  return rungs.back().share;
}

const rung* next_rung(double ratio, const std::vector<rung>& rungs) {
  for (const rung& r : rungs)
    if (!(ratio / rung_allowance >= r.ratio)) return &r;
  return nullptr;
}

}  // namespace grading
