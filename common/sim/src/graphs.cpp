// Graphs built node by node, and their launches.
#include "graphs.hpp"

#include <algorithm>
#include <utility>

#include "calls.hpp"
#include "heap.hpp"
#include "hooks.hpp"
#include "kernels.hpp"
#include "runtime.hpp"
#include "streams.hpp"

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
  graph->nodes.push_back(std::make_shared<sim_graph_node>(
      sim_graph_node{type, std::move(replay), {dependencies, dependencies + count}, 0}));
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

void start_over(const std::vector<std::shared_ptr<sim_condition>>& conditions) {
  for (const auto& c : conditions)
    if (c->starts_over) c->value = c->initial;
}
void run(const sim_graph& graph, cudaStream_t stream) {
  start_over(graph.conditions);
  for (const auto& node : in_order(graph)) {
    if (sticky_error() != cudaSuccess) return;
    node->replay(stream);
  }
}

struct {
  std::size_t used = 0, most_used = 0;
} graph_memory;

/// The action of a node that allocates at this address.
std::function<void(cudaStream_t)> allocation_at(std::uintptr_t begin, std::size_t bytes, std::uintptr_t pc) {
  return [=](cudaStream_t) {
    const std::scoped_lock lock(runtime_mutex());
    if (!allocate_at(begin, bytes, pc)) fail(cudaErrorInvalidValue);  // the previous launch left it allocated
  };
}
void note_graph_allocation(std::size_t bytes) {
  graph_memory.used += bytes;
  graph_memory.most_used = std::max(graph_memory.most_used, graph_memory.used);
}

}  // namespace

namespace sim {
cudaError_t allocate_async(void** pointer, std::size_t bytes, cudaStream_t stream, const void* pc) {
  {
    const std::scoped_lock lock(runtime_mutex());
    if (pointer && is_capturing(stream)) {
      const std::uintptr_t begin = reserve_place(bytes);
      if (begin == 0) return fail(cudaErrorMemoryAllocation);
      record(stream, cudaGraphNodeTypeMemAlloc, allocation_at(begin, bytes, reinterpret_cast<std::uintptr_t>(pc)))
          .allocates = begin;
      note_graph_allocation(bytes);
      *pointer = reinterpret_cast<void*>(begin);
      return cudaSuccess;
    }
  }
  return allocate_for(pointer, bytes, memory_kind::device, pc, &stream);
}
}  // namespace sim

extern "C" {

[[gnu::noinline]] cudaError_t cudaGraphAddMemAllocNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                       const cudaGraphNode_t* dependencies, std::size_t count,
                                                       cudaMemAllocNodeParams* p) {
  if (!p || p->bytesize == 0) return fail(cudaErrorInvalidValue);
  const std::scoped_lock lock(runtime_mutex());
  const std::uintptr_t begin = reserve_place(p->bytesize);
  if (begin == 0) return fail(cudaErrorMemoryAllocation);
  const auto pc = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (const cudaError_t error =
          add(node, graph, dependencies, count, cudaGraphNodeTypeMemAlloc, allocation_at(begin, p->bytesize, pc)))
    return error;
  (*node)->allocates = begin;
  note_graph_allocation(p->bytesize);
  p->dptr = reinterpret_cast<void*>(begin);
  return cudaSuccess;
}
cudaError_t cudaGraphAddMemFreeNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                    std::size_t count, void* pointer) {
  return add(node, graph, dependencies, count, cudaGraphNodeTypeMemFree,
             [=](cudaStream_t stream) { cudaFreeAsync(pointer, stream); });
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (device != 0 || !value) return fail(device != 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  const bool high = attribute == cudaGraphMemAttrUsedMemHigh || attribute == cudaGraphMemAttrReservedMemHigh;
  *static_cast<std::uint64_t*>(value) = high ? graph_memory.most_used : graph_memory.used;
  return sticky_error();
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType, void* value) {
  if (device != 0 || !value) return fail(device != 0 ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
  graph_memory.most_used = graph_memory.used;  // CUDA can only reset the high-water marks
  return sticky_error();
}
cudaError_t cudaDeviceGraphMemTrim(int device) { return device == 0 ? sticky_error() : fail(cudaErrorInvalidDevice); }
void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value) {
  __atomic_store_n(&reinterpret_cast<sim_condition*>(handle)->value, value, __ATOMIC_RELAXED);
}

}  // extern "C"

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, cudaGraph_t graph,
                                             unsigned default_value, unsigned flags) {
  if (!handle || !graph) return fail(cudaErrorInvalidValue);
  const bool starts_over = (flags & cudaGraphCondAssignDefault) != 0;
  graph->conditions.push_back(
      std::make_shared<sim_condition>(sim_condition{default_value, default_value, starts_over}));
  *handle = reinterpret_cast<cudaGraphConditionalHandle>(graph->conditions.back().get());
  return sticky_error();
}

namespace {
cudaError_t add_conditional(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                            std::size_t count, cudaConditionalNodeParams& p) {
  const auto found = std::find_if(graph->conditions.begin(), graph->conditions.end(), [&](const auto& c) {
    return reinterpret_cast<cudaGraphConditionalHandle>(c.get()) == p.handle;
  });
  auto* condition = reinterpret_cast<sim_condition*>(p.handle);
  const bool fits = p.type == cudaGraphCondTypeIf      ? p.size == 1 || p.size == 2
                    : p.type == cudaGraphCondTypeWhile ? p.size == 1
                                                       : p.size > 0;
  if (!condition || !fits) return fail(cudaErrorInvalidValue);
  struct bodies_of_node {
    std::vector<std::shared_ptr<sim_graph>> graphs;
    std::vector<cudaGraph_t> pointers;
    std::shared_ptr<sim_condition> condition;  // kept, if it belongs to this graph
  };
  const auto bodies = std::make_shared<bodies_of_node>();
  if (found != graph->conditions.end()) bodies->condition = *found;
  for (unsigned i = 0; i < p.size; ++i) {
    bodies->graphs.push_back(std::make_shared<sim_graph>());
    bodies->pointers.push_back(bodies->graphs.back().get());
  }
  p.phGraph_out = bodies->pointers.data();
  return add(node, graph, dependencies, count, cudaGraphNodeTypeConditional,
             [bodies, condition, type = p.type](cudaStream_t stream) {
               const auto& graphs = bodies->graphs;
               if (type == cudaGraphCondTypeWhile) {
                 while (condition->value != 0 && sticky_error() == cudaSuccess) run(*graphs[0], stream);
                 return;
               }
               const std::size_t chosen = type == cudaGraphCondTypeSwitch ? condition->value : condition->value == 0;
               if (chosen < graphs.size()) run(*graphs[chosen], stream);
             });
}
}  // namespace

cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                             const cudaGraphEdgeData*, std::size_t count, cudaGraphNodeParams* p) {
  if (!p || !graph) return fail(cudaErrorInvalidValue);
  switch (p->type) {
    case cudaGraphNodeTypeKernel: return cudaGraphAddKernelNode(node, graph, dependencies, count, &p->kernel);
    case cudaGraphNodeTypeMemcpy:
      return cudaGraphAddMemcpyNode(node, graph, dependencies, count, &p->memcpy.copyParams);
    case cudaGraphNodeTypeMemset: return cudaGraphAddMemsetNode(node, graph, dependencies, count, &p->memset);
    case cudaGraphNodeTypeHost: return cudaGraphAddHostNode(node, graph, dependencies, count, &p->host);
    case cudaGraphNodeTypeGraph: return cudaGraphAddChildGraphNode(node, graph, dependencies, count, p->graph.graph);
    case cudaGraphNodeTypeEmpty: return cudaGraphAddEmptyNode(node, graph, dependencies, count);
    case cudaGraphNodeTypeMemAlloc: return cudaGraphAddMemAllocNode(node, graph, dependencies, count, &p->alloc);
    case cudaGraphNodeTypeMemFree: return cudaGraphAddMemFreeNode(node, graph, dependencies, count, p->free.dptr);
    case cudaGraphNodeTypeConditional: return add_conditional(node, graph, dependencies, count, p->conditional);
  }
  return fail(cudaErrorNotSupported);
}

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
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned long long flags) {
  if (!exec || !graph) return fail(cudaErrorInvalidValue);
  auto order = in_order(*graph);
  if (order.size() != graph->nodes.size()) return fail(cudaErrorInvalidValue);
  *exec =
      new sim_graph_exec{std::move(order), graph->conditions, (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0};
  return sticky_error();
}
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t) {
  return exec ? sticky_error() : fail(cudaErrorInvalidValue);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) {
  const api_call call("cudaGraphLaunch");
  if (!exec) return fail(cudaErrorInvalidValue);
  if (exec->frees_first) {
    const std::scoped_lock lock(runtime_mutex());
    for (const auto& node : exec->nodes)
      if (node->allocates != 0) release(node->allocates);
  } else {
    const std::scoped_lock lock(runtime_mutex());
    for (const auto& node : exec->nodes)
      if (node->allocates != 0 && find_allocation(node->allocates)) return fail(cudaErrorInvalidValue);
  }
  start_over(exec->conditions);
  const std::uint64_t with_this = api_calls + 1;
  {
    const graph_at_work here(frame_here());
    for (const auto& node : exec->nodes) {
      node->replay(stream);
      if (sticky_error() != cudaSuccess) break;
    }
  }
  const std::scoped_lock lock(runtime_mutex());
  advance_clock(stream, gap_after_graph());
  if (watched_streams) ++watched_streams->host_launches;
  api_calls = with_this;
  return sticky_error();
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
