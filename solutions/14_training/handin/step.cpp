// What to keep, and the order of a training step.
#include <algorithm>

#include "training.hpp"

namespace lab14 {

void choose_layers(std::uint8_t* keep, int layers, std::int64_t inner, std::int64_t residual, std::int64_t budget) {
  // The peak is after the last layer's forward pass, which has just made its inner activations, kept or not. If the
  // last layer is among the k kept ones, those of k layers are held then, otherwise those of k + 1. When another layer
  // is recomputed, the last one's are gone and leave room.
  //! [choose]
  const std::int64_t left = budget - (std::int64_t{layers} + 1) * residual;
  const std::int64_t kept = std::clamp<std::int64_t>(left / inner, 0, layers);
  for (int i = 0; i < layers; ++i) keep[i] = i >= layers - kept;
  //! [choose]
}

void training_step(network& net, const std::uint8_t* keep) {
  const int layers = net.layers(), micro_batches = net.micro_batches();
  std::int64_t targets = 0;
  for (int m = 0; m < micro_batches; ++m) targets += net.targets(m);
  const float scale = 1.0f / static_cast<float>(targets);  // of the mean over the whole step

  net.zero_gradients();
  for (int m = 0; m < micro_batches; ++m) {
    //! [step]
    net.embed(m);
    for (int i = 0; i < layers; ++i) {
      net.forward(i);
      if (!keep[i]) net.drop_inner(i);
    }
    net.loss(m, scale);
    net.drop_residual(layers);
    for (int i = layers; i-- > 0;) {
      if (!keep[i]) net.recompute(i);
      net.backward(i);
      net.drop_inner(i);
      net.drop_residual(i);
    }
    net.backward_embedding(m);
    //! [step]
  }
  net.update();
}

}  // namespace lab14
