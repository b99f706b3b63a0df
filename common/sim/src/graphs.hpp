// Graphs: recorded work of streams, to be replayed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/graph.h"

struct sim_graph_node {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void(cudaStream_t)> replay;
  std::vector<sim_graph_node*> after;
  std::uintptr_t allocates = 0;  // the address
};
/// What a cudaGraphConditionalHandle points to.
struct sim_condition {
  unsigned value, initial;
  bool starts_over;  // with each launch
};
struct sim_graph {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;
  std::vector<std::shared_ptr<sim_condition>> conditions;
  sim_graph_node* last_captured = nullptr;
};
struct sim_graph_exec {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;  // in an order that they can run in
  std::vector<std::shared_ptr<sim_condition>> conditions;
  bool frees_first = false;  // what its last launch allocated and nothing has freed
};
