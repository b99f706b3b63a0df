// no scopes: what is open is counted, and closed where an exception is caught
#include <stdexcept>
#include "forward.hpp"
namespace lab08 {
namespace {
int depth;
void in(operations& on, const char* n) {
  on.enter(n);
  ++depth;
}
void out(operations& on) {
  on.leave();
  --depth;
}
void run(operations& on, int layers) {
  in(on, "embedding");
  on.embed();
  out(on);
  for (int l = 0; l < layers; ++l) {
    in(on, "layer");
    in(on, "LayerNorm 1");
    on.normalize_before_attention(l);
    out(on);
    in(on, "attention");
    on.project_to_qkv(l);
    on.multiply_queries_by_keys(l);
    on.softmax(l);
    on.weigh_values(l);
    on.project_attention(l);
    out(on);
    in(on, "residual 1");
    on.add_attention(l);
    out(on);
    in(on, "LayerNorm 2");
    on.normalize_before_mlp(l);
    out(on);
    in(on, "MLP");
    on.expand(l);
    on.gelu(l);
    on.contract(l);
    out(on);
    in(on, "residual 2");
    on.add_mlp(l);
    out(on);
    out(on);
  }
  in(on, "final LayerNorm");
  on.normalize_last();
  out(on);
  in(on, "logits");
  on.multiply_by_embedding();
  out(on);
}
}  // namespace
void forward(operations& on, int layers) {
  depth = 0;
  try {
    run(on, layers);
  } catch (const std::exception& e) {
    while (depth > 0) out(on);
    throw std::runtime_error("something failed");
  }
}
}  // namespace lab08