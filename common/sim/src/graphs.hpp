// Graphs: recorded work of streams, to be replayed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "sim/graph.h"

struct sim_graph_node {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void(cudaStream_t)> replay;
  std::vector<sim_graph_node*> after;
};
struct sim_graph {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;
};
struct sim_graph_exec {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;  // in an order that they can run in
};
