// Where the ranges go: one object per block, in a scope of its own, so that an exception ends it as well.
#include "forward.hpp"

namespace lab08 {

void forward(operations& on, int layers) {
  {
    const range block(on, "embedding");
    on.embed();
  }
  for (int layer = 0; layer < layers; ++layer) {
    const range all(on, "layer");
    {
      const range block(on, "LayerNorm 1");
      on.normalize_before_attention(layer);
    }
    {
      const range block(on, "attention");
      on.project_to_qkv(layer);
      on.multiply_queries_by_keys(layer);
      on.softmax(layer);
      on.weigh_values(layer);
      on.project_attention(layer);
    }
    {
      const range block(on, "residual 1");
      on.add_attention(layer);
    }
    {
      const range block(on, "LayerNorm 2");
      on.normalize_before_mlp(layer);
    }
    {
      const range block(on, "MLP");
      on.expand(layer);
      on.gelu(layer);
      on.contract(layer);
    }
    {
      const range block(on, "residual 2");
      on.add_mlp(layer);
    }
  }
  {
    const range block(on, "final LayerNorm");
    on.normalize_last();
  }
  const range block(on, "logits");
  on.multiply_by_embedding();
}

}  // namespace lab08
