#include <map>
#include <stdexcept>
#include <string>
#include "recomputation.hpp"

// An activation that is asked for and is not there throws; who catches it computes it, recursively.
namespace {
struct missing : std::out_of_range {
  explicit missing(std::size_t i) : std::out_of_range("activation " + std::to_string(i)), which(i) {}
  std::size_t which;
};
class tape {
 public:
  explicit tape(lab05::network& net) : net_(net) {}
  void need(std::size_t i) const {
    try {
      (void)there_.at(i);
    } catch (const std::out_of_range&) {
      throw missing(i);
    }
  }
  void forward(std::size_t i) try {
    if (i > 0) need(i - 1);
    net_.forward(i);
    there_[i] = true;
  } catch (const missing& m) {
    forward(m.which);
    forward(i);
  }
  void drop(std::size_t i) {
    if (there_.erase(i) > 0) net_.drop(i);
  }
  bool has(std::size_t i) const { return there_.contains(i); }
  void backward(std::size_t i) { net_.backward(i); }

 private:
  lab05::network& net_;
  std::map<std::size_t, bool> there_;
};
}  // namespace

void lab05::backpropagate(network& net, const std::uint8_t* keep, std::size_t layers) {
  tape t(net);
  for (std::size_t i = 0; i < layers; ++i) {
    t.forward(i);
    if (i > 0 && !keep[i - 1]) t.drop(i - 1);
  }
  for (std::size_t i = layers; i-- > 0;) {
    if (i > 0 && !t.has(i - 1)) t.forward(i - 1);
    t.backward(i);
    t.drop(i);
  }
}
