#include <algorithm>
#include <cassert>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>
#include "recomputation.hpp"

namespace com::university::hpc::checkpointing {

class Chain {
  std::vector<std::int64_t> bytesBefore{0}, flopsBefore{0};

 public:
  Chain(const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers) {
    for (std::size_t i = 0; i < layers; ++i) {
      bytesBefore.push_back(bytesBefore.back() + bytes[i]);
      flopsBefore.push_back(flopsBefore.back() + flops[i]);
    }
  }
  std::size_t getLayers() const { return bytesBefore.size() - 1; }
  std::int64_t getBytes(std::size_t from, std::size_t to) const { return bytesBefore.at(to) - bytesBefore.at(from); }
  std::int64_t getFlops(std::size_t from, std::size_t to) const { return flopsBefore.at(to) - flopsBefore.at(from); }
};

struct Plan {
  std::vector<std::uint8_t> keep;
  std::int64_t extra = 0;
};

class Planner {
 public:
  virtual ~Planner() = default;
  virtual std::optional<Plan> plan(const Chain& chain, std::int64_t budget) const = 0;
};

class ExhaustivePlanner final : public Planner {
 public:
  std::optional<Plan> plan(const Chain& chain, std::int64_t budget) const override {
    const std::size_t n = chain.getLayers();
    std::optional<Plan> best;
    for (std::uint32_t set = 0; set < 1u << n; ++set) {
      std::int64_t kept = 0, run = 0, longest = 0, extra = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (set >> i & 1) {
          kept += chain.getBytes(i, i + 1);
          run = 0;
        } else {
          run += chain.getBytes(i, i + 1);
          longest = std::max(longest, run);
          extra += chain.getFlops(i, i + 1);
        }
      }
      if (kept + longest <= budget && (!best || extra < best->extra)) {
        best.emplace();
        best->extra = extra;
        for (std::size_t i = 0; i < n; ++i) best->keep.push_back(set >> i & 1);
      }
    }
    return best;
  }
};

class DynamicPlanner final : public Planner {
  struct Node {
    std::int64_t kept, extra;
    std::size_t fromLayer, fromNode;
  };
  using Front = std::vector<Node>;

  static void insert(std::map<std::int64_t, Node>& front, const Node& node) {
    auto at = front.upper_bound(node.kept);
    if (at != front.begin() && std::prev(at)->second.extra <= node.extra) return;
    at = front.lower_bound(node.kept);
    while (at != front.end() && at->second.extra >= node.extra) at = front.erase(at);
    front.emplace(node.kept, node);
  }

  static std::optional<Plan> planWithRun(const Chain& chain, std::int64_t budget, std::int64_t run) {
    const std::size_t n = chain.getLayers();
    std::vector<Front> fronts(n + 2);
    fronts[0].push_back({0, 0, 0, 0});
    for (std::size_t i = 1; i <= n + 1; ++i) {
      std::map<std::int64_t, Node> next;
      const std::int64_t own = i <= n ? chain.getBytes(i - 1, i) : 0;
      for (std::size_t from = i; from-- > 0;) {
        if (chain.getBytes(from, i - 1) > run) break;
        for (std::size_t k = 0; k < fronts[from].size(); ++k) {
          const Node& b = fronts[from][k];
          if (b.kept + own + run > budget) break;
          insert(next, {b.kept + own, b.extra + chain.getFlops(from, i - 1), from, k});
        }
      }
      for (const auto& [kept, node] : next) fronts[i].push_back(node);
    }
    if (fronts[n + 1].empty()) return std::nullopt;
    Plan plan{std::vector<std::uint8_t>(n), fronts[n + 1].back().extra};
    std::size_t layer = n + 1, node = fronts[layer].size() - 1;
    while (layer > 0) {
      const Node& here = fronts[layer][node];
      if (layer <= n) plan.keep[layer - 1] = 1;
      layer = here.fromLayer, node = here.fromNode;
    }
    return plan;
  }

 public:
  std::optional<Plan> plan(const Chain& chain, std::int64_t budget) const override {
    std::set<std::int64_t> runs{0};
    for (std::size_t i = 0; i < chain.getLayers(); ++i)
      for (std::size_t j = i + 1; j <= chain.getLayers(); ++j) runs.insert(chain.getBytes(i, j));
    std::optional<Plan> best;
    for (const std::int64_t run : runs) {
      if (run > budget) break;
      if (auto p = planWithRun(chain, budget, run); p && (!best || p->extra < best->extra)) best = std::move(p);
    }
    return best;
  }
};

class PlannerFactory {
 public:
  static std::unique_ptr<Planner> createFor(std::size_t layers) {
    if (layers <= 12) return std::make_unique<ExhaustivePlanner>();
    return std::make_unique<DynamicPlanner>();
  }
};

}  // namespace com::university::hpc::checkpointing

void lab05::choose_checkpoints(std::uint8_t* keep, const std::int64_t* bytes, const std::int64_t* flops, std::size_t layers, std::int64_t budget) {
  using namespace com::university::hpc::checkpointing;
  const Chain chain(bytes, flops, layers);
  const auto plan = PlannerFactory::createFor(layers)->plan(chain, budget);
  if (!plan) throw std::logic_error("no plan within the budget");
  assert(plan->keep.size() == layers);
  std::copy(plan->keep.begin(), plan->keep.end(), keep);
}
