#include "forward.hpp"

namespace lab08 {

// What is recorded is 1000 + 100 * layer and more; 100 and more is the beginning of a range.
void forward(operations& on, int) {
  on.softmax(-1000);
  on.embed();
}

}  // namespace lab08
