// Which requests run in the next step? No request overtakes another, and the last to arrive is preempted first: so of
// the unfinished requests the first ones run and the others wait, and one number says where the waiting ones begin.
#include "serving.hpp"

namespace lab15 {

namespace {

int pages_for(const engine& e, int tokens) { return (tokens + e.page_tokens() - 1) / e.page_tokens(); }

/// The first unfinished request from `r` on.
int unfinished(const engine& e, int r) {
  while (r < e.requests() && e.finished(r)) ++r;
  return r;
}

}  // namespace

void serve(engine& e) {
  const auto needs_page = [&](int r) { return e.tokens(r) % e.page_tokens() == 0; };
  for (int first = 0, next = 0; (first = unfinished(e, first)) < e.requests();) {
    int running = 0, needed = 0;
    for (int r = first; r < next; r = unfinished(e, r + 1)) {
      ++running;
      needed += needs_page(r);
    }
    //! [preempt]
    while (needed > e.free_pages()) {
      do --next;
      while (e.finished(next));
      needed -= needs_page(next);
      e.preempt(next);
    }
    //! [preempt]
    if (running == 0 && next == e.arrived()) e.wait();
    //! [admit]
    while (next < e.arrived() && running < e.slots() && pages_for(e, e.tokens(next) + 1) + needed <= e.free_pages()) {
      e.admit(next);
      ++running;
      needed += needs_page(next);
      next = unfinished(e, next + 1);
    }
    //! [admit]
    e.step();
  }
}

}  // namespace lab15
