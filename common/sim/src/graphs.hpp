// Graphs: recorded stream work, for replay.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/graph.h"

/// A member that counts the objects that contain it.
struct sim_counted {
  static inline std::atomic<std::size_t> alive = 0;
  sim_counted() { ++alive; }
  sim_counted(const sim_counted&) { ++alive; }
  ~sim_counted() { --alive; }
  sim_counted& operator=(const sim_counted&) = default;
};
struct sim_graph_node {
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  std::function<void(cudaStream_t)> replay;
  std::vector<sim_graph_node*> after;
  std::uintptr_t allocates = 0;  // the address
};
/// The target of a cudaGraphConditionalHandle.
struct sim_condition {
  unsigned value, initial;
  bool starts_over;  // resets at each launch
};
struct sim_graph {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;
  std::vector<std::shared_ptr<sim_condition>> conditions;
  sim_graph_node* last_captured = nullptr;
  sim_counted counted = {};
};
struct sim_graph_exec {
  std::vector<std::shared_ptr<sim_graph_node>> nodes;  // in a valid order of execution
  std::vector<std::shared_ptr<sim_condition>> conditions;
  bool frees_first = false;  // a launch first frees what the previous one left allocated
  sim_counted counted = {};
};
