// A pass by lab 08's forward, with the student's ranges around the course's operations; also the student's timeline.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "forward.hpp"
#include "handed_in.hpp"
#include "lab/range.hpp"

namespace {

using gpt2::operation;

class recorded final : public lab08::operations {
 public:
  explicit recorded(gpt2::pass& with) : with_(with) {}

  void embed() override { with_.compute(operation::embed, 0); }
  void normalize_before_attention(int layer) override { with_.compute(operation::normalize_before_attention, layer); }
  void project_to_qkv(int layer) override { with_.compute(operation::project_to_qkv, layer); }
  void multiply_queries_by_keys(int layer) override { with_.compute(operation::multiply_queries_by_keys, layer); }
  void softmax(int layer) override { with_.compute(operation::softmax, layer); }
  void weigh_values(int layer) override { with_.compute(operation::weigh_values, layer); }
  void project_attention(int layer) override { with_.compute(operation::project_attention, layer); }
  void add_attention(int layer) override { with_.compute(operation::add_attention, layer); }
  void normalize_before_mlp(int layer) override { with_.compute(operation::normalize_before_mlp, layer); }
  void expand(int layer) override { with_.compute(operation::expand, layer); }
  void gelu(int layer) override { with_.compute(operation::gelu, layer); }
  void contract(int layer) override { with_.compute(operation::contract, layer); }
  void add_mlp(int layer) override { with_.compute(operation::add_mlp, layer); }
  void normalize_last() override { with_.compute(operation::normalize_last, 0); }
  void multiply_by_embedding() override { with_.compute(operation::multiply_by_embedding, 0); }

  /// A range with a block's name has that block's work, so that the profiler can report its share of the roof.
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
