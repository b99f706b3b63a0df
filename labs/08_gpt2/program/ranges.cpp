// A pass by lab 08's forward, with the student's ranges around the course's operations; also the student's timeline.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "forward.hpp"
#include "handed_in.hpp"
#include "lab/range.hpp"

namespace {

using gpt2::operation;

/// Sends all operations to one function, `run`.
class any_operations : public lab08::operations {
 public:
  void embed() override { run(operation::embed, 0); }
  void normalize_before_attention(int layer) override { run(operation::normalize_before_attention, layer); }
  void project_to_qkv(int layer) override { run(operation::project_to_qkv, layer); }
  void multiply_queries_by_keys(int layer) override { run(operation::multiply_queries_by_keys, layer); }
  void softmax(int layer) override { run(operation::softmax, layer); }
  void weigh_values(int layer) override { run(operation::weigh_values, layer); }
  void project_attention(int layer) override { run(operation::project_attention, layer); }
  void add_attention(int layer) override { run(operation::add_attention, layer); }
  void normalize_before_mlp(int layer) override { run(operation::normalize_before_mlp, layer); }
  void expand(int layer) override { run(operation::expand, layer); }
  void gelu(int layer) override { run(operation::gelu, layer); }
  void contract(int layer) override { run(operation::contract, layer); }
  void add_mlp(int layer) override { run(operation::add_mlp, layer); }
  void normalize_last() override { run(operation::normalize_last, 0); }
  void multiply_by_embedding() override { run(operation::multiply_by_embedding, 0); }

  virtual void run(operation which, int layer) = 0;

 protected:
  ~any_operations() = default;
};

class recorded final : public any_operations {
 public:
  explicit recorded(gpt2::pass& with) : with_(with) {}
  void run(operation which, int layer) override { with_.compute(which, layer); }

  /// A range with a block's name gets that block's work, so that the profiler can report its share of the roof.
  void enter(const char* name) override {
    lab::work must;
    for (const gpt2::block b : gpt2::all_blocks)
      if (std::string(gpt2::name_of(b)) == name) must = with_.work(b).value_or(lab::work{});
    open_.push_back(std::make_unique<lab::range>(name, must));
  }
  void leave() override { open_.pop_back(); }

 private:
  gpt2::pass& with_;
  std::vector<std::unique_ptr<lab::range>> open_;
};

/// Puts the operations into the innermost range's list.
class listed final : public any_operations {
 public:
  explicit listed(gpt2::pass& with) : with_(with) {}
  void run(operation which, int layer) override {
    block& here = open_.empty() ? blocks_.emplace_back(block{"(no range)", {}}) : *open_.back();
    here.operations.emplace_back(which, layer);
  }
  void enter(const char* name) override { open_.push_back(&blocks_.emplace_back(block{name, {}})); }
  void leave() override { open_.pop_back(); }

  /// Numbers the blocks, so that no two have the same name.
  std::vector<lab08::launched_block> pass() const {
    std::vector<lab08::launched_block> all;
    for (const block& b : blocks_)
      if (!b.operations.empty())
        all.push_back({b.name + " #" + std::to_string(all.size()), [this, &b] {
                         for (const auto& [which, layer] : b.operations) with_.compute(which, layer);
                       }});
    return all;
  }

 private:
  struct block {
    std::string name;
    std::vector<std::pair<operation, int>> operations;
  };
  gpt2::pass& with_;
  std::deque<block> blocks_;
  std::vector<block*> open_;
};

}  // namespace

void gpt2::run_in_ranges(pass& with) {
  recorded on(with);
  lab08::forward(on, with.layers());
}

void gpt2::print_timeline(const std::function<void()>& once) {
  lab08::timeline t = lab08::trace(once);
  std::uint64_t end = 0;
  for (const lab08::traced_kernel& k : t.kernels) end = std::max(end, k.end);
  std::sort(t.blocks.begin(), t.blocks.end(), [](const auto& a, const auto& b) { return a.busy > b.busy; });
  const auto microseconds = [](std::uint64_t ns) { return 1e-3 * static_cast<double>(ns); };
  fmt::print("{:18} {:>9} {:>10}\n", "block", "launches", "busy, us");
  for (const lab08::traced_block& b : t.blocks)
    fmt::print("{:18} {:>9} {:>10.1f}\n", b.name.empty() ? "(no range)" : b.name, b.launches, microseconds(b.busy));
  fmt::print("{} kernels in {:.1f} us, of which the device is idle for {:.1f}; longest gap {:.1f} us\n",
             t.kernels.size(), microseconds(t.kernels.empty() ? 0 : end - t.kernels.front().begin),
             microseconds(t.idle), microseconds(t.longest_gap));
  if (t.kernels.empty()) return;
  const auto named = [](const std::string& block) { return block.empty() ? "(no range)" : block; };
  fmt::print("by your questions.cpp: speed up {} first, fuse in {} first\n", named(lab08::block_to_speed_up(t)),
             named(lab08::block_to_fuse(t)));
  fmt::print("the device waits for the host for {:.1f} us; streams overlap for {:.1f}; at most {} kernels wait\n",
             microseconds(lab08::time_waiting_for_host(t)), microseconds(lab08::time_overlapping(t)),
             lab08::most_waiting(t));
}

void gpt2::print_counters(pass& with) {
  const std::vector<std::string> metrics{"dram__bytes_read.sum",
                                         "dram__bytes_write.sum",
                                         "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
                                         "smsp__sass_thread_inst_executed_op_fmul_pred_on.sum",
                                         "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum",
                                         "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                                         "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"};
  listed blocks(with);
  lab08::forward(blocks, with.layers());
  std::vector<std::string> names;
  std::map<std::string, std::vector<double>> sums;  // ratios are never added
  for (const lab08::counted_block& b : lab08::count(blocks.pass(), metrics)) {
    const std::string name = b.name.substr(0, b.name.find(" #"));
    std::vector<double>& sum = sums[name];
    if (sum.empty()) names.push_back(name);
    sum.resize(metrics.size());
    for (std::size_t m = 0; m < std::min(metrics.size(), b.values.size()); ++m) sum[m] += b.values[m];
  }
  fmt::print("{:18} {:>10} {:>10} {:>16} {:>20}\n", "block", "DRAM, KB", "kFLOP", "sectors loaded",
             "sectors per request");
  for (const std::string& name : names) {
    const std::vector<double>& v = sums[name];
    fmt::print("{:18} {:>10.1f} {:>10.1f} {:>16} {:>20}\n", name, 1e-3 * (v[0] + v[1]), 1e-3 * (v[2] + v[3] + 2 * v[4]),
               v[5], v[6] > 0 ? fmt::format("{:.1f}", v[5] / v[6]) : "-");
  }
#ifndef GPT2_ON_GPU
  fmt::print("The simulated device does not count a library's launches: products are missing.\n");
#endif
}
