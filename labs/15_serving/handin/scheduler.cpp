// Which requests run in the next step? The skeleton batches statically: a batch runs until its longest request ends.
#include "serving.hpp"
#include "static_batching.hpp"

namespace lab15 {

void serve(engine& e) {
  // TODO(lab15.scheduler_correct): a slot is free as soon as its request ends. Who may have it?
  // TODO(lab15.scheduler_memory): and if there are no pages for the next tokens?
  serve_in_batches(e);
}

}  // namespace lab15
