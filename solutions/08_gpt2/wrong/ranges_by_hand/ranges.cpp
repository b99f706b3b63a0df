// By hand: an operation that throws leaves its ranges open.
#include "forward.hpp"

namespace lab08 {

void forward(operations& on, int layers) {
  on.enter("embedding");
  on.embed();
  on.leave();
  for (int layer = 0; layer < layers; ++layer) {
    on.enter("layer");
    on.enter("LayerNorm 1");
    on.normalize_before_attention(layer);
    on.leave();
    on.enter("attention");
    on.project_to_qkv(layer);
    on.multiply_queries_by_keys(layer);
    on.softmax(layer);
    on.weigh_values(layer);
    on.project_attention(layer);
    on.leave();
    on.enter("residual 1");
    on.add_attention(layer);
    on.leave();
    on.enter("LayerNorm 2");
    on.normalize_before_mlp(layer);
    on.leave();
    on.enter("MLP");
    on.expand(layer);
    on.gelu(layer);
    on.contract(layer);
    on.leave();
    on.enter("residual 2");
    on.add_mlp(layer);
    on.leave();
    on.leave();
  }
  on.enter("final LayerNorm");
  on.normalize_last();
  on.leave();
  on.enter("logits");
  on.multiply_by_embedding();
  on.leave();
}

}  // namespace lab08
