#include <functional>
#include <initializer_list>
#include <stdexcept>
#include "forward.hpp"

namespace lab08 {

using action = std::function<void()>;

static void within(operations& on, const char* name, std::initializer_list<action> actions) {
  const range r{on, name};
  for (const auto& a : actions) a();
}

static void layers_from(operations& on, int layer, int end) {
  if (layer >= end) return;
  const auto step = [&](void (operations::*f)(int)) -> action { return std::bind(f, std::ref(on), layer); };
  {
    const range r{on, "layer"};
    within(on, "LayerNorm 1", {step(&operations::normalize_before_attention)});
    within(on, "attention", {step(&operations::project_to_qkv), step(&operations::multiply_queries_by_keys),
                             step(&operations::softmax), step(&operations::weigh_values), step(&operations::project_attention)});
    within(on, "residual 1", {step(&operations::add_attention)});
    within(on, "LayerNorm 2", {step(&operations::normalize_before_mlp)});
    within(on, "MLP", {step(&operations::expand), step(&operations::gelu), step(&operations::contract)});
    within(on, "residual 2", {step(&operations::add_mlp)});
  }
  layers_from(on, layer + 1, end);
}

void forward(operations& on, int layers) try {
  within(on, "embedding", {[&] { on.embed(); }});
  layers_from(on, 0, layers);
  within(on, "final LayerNorm", {[&] { on.normalize_last(); }});
  within(on, "logits", {[&] { on.multiply_by_embedding(); }});
} catch (const std::exception&) {
  throw;
}

}  // namespace lab08
