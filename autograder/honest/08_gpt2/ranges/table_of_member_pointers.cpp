#include <array>
#include <optional>
#include <string>
#include <vector>
#include "forward.hpp"

using namespace lab08;

namespace {
using step = void (operations::*)(int);
struct part { std::string name; std::vector<step> steps; };
// Made once, by constructors, before anything is called.
const std::vector<part> parts = {
    {"LayerNorm 1", {&operations::normalize_before_attention}},
    {"attention",
     {&operations::project_to_qkv, &operations::multiply_queries_by_keys, &operations::softmax,
      &operations::weigh_values, &operations::project_attention}},
    {"residual 1", {&operations::add_attention}},
    {"LayerNorm 2", {&operations::normalize_before_mlp}},
    {"MLP", {&operations::expand, &operations::gelu, &operations::contract}},
    {"residual 2", {&operations::add_mlp}}};
template <class F>
void in_range(operations& on, const char* name, F f) { const range r(on, name); f(); }
}  // namespace

void lab08::forward(operations& on, int layers) {
  in_range(on, "embedding", [&] { on.embed(); });
  for (int layer = 0; layer < layers; ++layer) {
    std::optional<range> whole;
    whole.emplace(on, "layer");
    for (const part& p : parts) in_range(on, p.name.c_str(), [&] { for (step s : p.steps) (on.*s)(layer); });
  }
  in_range(on, "final LayerNorm", [&] { on.normalize_last(); });
  in_range(on, "logits", [&] { on.multiply_by_embedding(); });
}
