// Graphs made node by node, and launched.
#include "graphs.hpp"

#include <algorithm>
#include <utility>

#include "kernels.hpp"
#include "runtime.hpp"

using namespace sim;

extern "C" {

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned flags) {
  if (!graph || flags != 0) return fail(cudaErrorInvalidValue);
  *graph = new sim_graph;
  return sticky_error();
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  if (!graph) return fail(cudaErrorInvalidValue);
  delete graph;
  return sticky_error();
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t graph) {
  if (!clone || !graph) return fail(cudaErrorInvalidValue);
  *clone = new sim_graph(*graph);
  return sticky_error();
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, std::size_t* count) {
  if (!graph || !count) return fail(cudaErrorInvalidValue);
  if (nodes)
    for (std::size_t i = 0; i < std::min(*count, graph->nodes.size()); ++i) nodes[i] = graph->nodes[i].get();
  *count = nodes ? std::min(*count, graph->nodes.size()) : graph->nodes.size();
  return sticky_error();
}
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (!node || !type) return fail(cudaErrorInvalidValue);
  *type = node->type;
  return sticky_error();
}

}  // extern "C"

namespace {

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, std::size_t count,
                cudaGraphNodeType type, std::function<void(cudaStream_t)> replay) {
  if (!node || !graph || (count > 0 && !dependencies)) return fail(cudaErrorInvalidValue);
  graph->nodes.push_back(
      std::make_shared<sim_graph_node>(sim_graph_node{type, std::move(replay), {dependencies, dependencies + count}}));
  *node = graph->nodes.back().get();
  return sticky_error();
}

/// Nodes in an order that puts each after its dependencies; fewer than all if the dependencies form a cycle.
std::vector<std::shared_ptr<sim_graph_node>> in_order(const sim_graph& graph) {
  std::vector<std::shared_ptr<sim_graph_node>> order;
  const auto placed = [&](const sim_graph_node* wanted) {
    return std::any_of(order.begin(), order.end(), [&](const auto& n) { return n.get() == wanted; });
  };
  for (std::size_t before = ~std::size_t{0}; before != order.size();) {
    before = order.size();
    for (const auto& node : graph.nodes)
      if (!placed(node.get()) && std::all_of(node->after.begin(), node->after.end(), placed)) order.push_back(node);
  }
  return order;
}

}  // namespace

extern "C" {

cudaError_t cudaGraphAddKernelNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaKernelNodeParams* p) {
  if (!p || p->extra) return fail(p ? cudaErrorNotSupported : cudaErrorInvalidValue);
  const auto bound = bind_by_address(p->func, p->kernelParams);
  if (!bound) return cudaErrorInvalidDeviceFunction;
  return add(
      node, graph, dependencies, count, cudaGraphNodeTypeKernel,
      [bound, name = kernel_name(p->func), grid = p->gridDim, block = p->blockDim,
       bytes = p->sharedMemBytes](cudaStream_t stream) {
        launch(name.c_str(), {grid, block, bytes, stream, false}, bound->thread_body, bound->frame, bound->frame_bytes);
      });
}
cudaError_t cudaGraphAddMemcpyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemcpy3DParms* p) {
  if (!p) return fail(cudaErrorInvalidValue);
  return add(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
             [copy = *p](cudaStream_t stream) { cudaMemcpy3DAsync(&copy, stream); });
}
cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                     std::size_t count, void* to, const void* from, std::size_t bytes,
                                     cudaMemcpyKind kind) {
  return add(node, graph, dependencies, count, cudaGraphNodeTypeMemcpy,
             [=](cudaStream_t stream) { cudaMemcpyAsync(to, from, bytes, kind, stream); });
}
cudaError_t cudaGraphAddMemsetNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                   std::size_t count, const cudaMemsetParams* p) {
  if (!p || (p->elementSize != 1 && p->elementSize != 2 && p->elementSize != 4)) return fail(cudaErrorInvalidValue);
  const unsigned low = p->value & 0xff;
  for (unsigned byte = 1; byte < p->elementSize; ++byte)
    if (((p->value >> (8 * byte)) & 0xff) != low) return fail(cudaErrorNotSupported);  // bytes that differ
  return add(node, graph, dependencies, count, cudaGraphNodeTypeMemset, [fill = *p, low](cudaStream_t stream) {
    cudaMemset2DAsync(fill.dst, fill.pitch, static_cast<int>(low), fill.width * fill.elementSize, fill.height, stream);
  });
}
cudaError_t cudaGraphAddHostNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                 std::size_t count, const cudaHostNodeParams* p) {
  if (!p || !p->fn) return fail(cudaErrorInvalidValue);
  return add(node, graph, dependencies, count, cudaGraphNodeTypeHost,
             [call = *p](cudaStream_t) { call.fn(call.userData); });
}
cudaError_t cudaGraphAddEmptyNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                  std::size_t count) {
  return add(node, graph, dependencies, count, cudaGraphNodeTypeEmpty, [](cudaStream_t) {});
}
cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                       std::size_t count, cudaGraph_t child) {
  if (!child) return fail(cudaErrorInvalidValue);
  return add(node, graph, dependencies, count, cudaGraphNodeTypeGraph, [nodes = in_order(*child)](cudaStream_t stream) {
    for (const auto& n : nodes) n->replay(stream);
  });
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long) {
  if (!exec || !graph) return fail(cudaErrorInvalidValue);
  auto order = in_order(*graph);
  if (order.size() != graph->nodes.size()) return fail(cudaErrorInvalidValue);
  *exec = new sim_graph_exec{std::move(order)};
  return sticky_error();
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec ? sticky_error() : fail(cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  if (!exec) return fail(cudaErrorInvalidValue);
  for (const auto& node : exec->nodes) {
    node->replay(stream);
    if (sticky_error() != cudaSuccess) return sticky_error();
  }
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) {
  if (!exec) return fail(cudaErrorInvalidValue);
  delete exec;
  return sticky_error();
}

}  // extern "C"

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* info) {
  if (!exec || !graph) return fail(cudaErrorInvalidValue);
  auto order = in_order(*graph);
  const bool same = std::equal(order.begin(), order.end(), exec->nodes.begin(), exec->nodes.end(),
                               [](const auto& a, const auto& b) { return a->type == b->type; });
  if (info) *info = {same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateError, nullptr, nullptr};
  if (!same) return fail(cudaErrorGraphExecUpdateFailure);
  exec->nodes = std::move(order);
  return sticky_error();
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                     std::size_t count) {
  if (!graph || (count > 0 && (!from || !to))) return fail(cudaErrorInvalidValue);
  for (std::size_t i = 0; i < count; ++i) to[i]->after.push_back(from[i]);
  return sticky_error();
}
