// Where the ranges go: an object a block, in a scope of its own, so that an exception ends it as well.
#include "forward.hpp"

namespace lab08 {

void forward(operations& on, int layers) {
  {
    range(on, "embedding");
    on.embed();
  }
  for (int layer = 0; layer < layers; ++layer) {
    const range all(on, "layer");
    {
      range(on, "LayerNorm 1");
      on.normalize_before_attention(layer);
    }
    {
      range(on, "attention");
      on.project_to_qkv(layer);
      on.multiply_queries_by_keys(layer);
      on.softmax(layer);
      on.weigh_values(layer);
      on.project_attention(layer);
    }
    {
      range(on, "residual 1");
      on.add_attention(layer);
    }
    {
      range(on, "LayerNorm 2");
      on.normalize_before_mlp(layer);
    }
    {
      range(on, "MLP");
      on.expand(layer);
      on.gelu(layer);
      on.contract(layer);
    }
    {
      range(on, "residual 2");
      on.add_mlp(layer);
    }
  }
  {
    range(on, "final LayerNorm");
    on.normalize_last();
  }
  range(on, "logits");
  on.multiply_by_embedding();
}

}  // namespace lab08
