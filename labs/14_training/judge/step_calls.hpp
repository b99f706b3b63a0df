// The entries for step_cases.hpp; calls.cpp puts them in its table.
#pragma once

#include <lab/call.hpp>
#include <lab/device.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "account.hpp"
#include "network.hpp"
#include "training.hpp"

namespace lab14 {

/// Parameters: layers. Input: inner, residual, budget. Output: keep.
inline void run_choose_layers(const lab::call& c) {
  const auto* sizes = c.input<std::int64_t>(0);
  choose_layers(c.output<std::uint8_t>(0), c.parameter(0), sizes[0], sizes[1], sizes[2]);
}

/// A network that only records.
class recorded_network final : public network {
 public:
  recorded_network(int layers, std::vector<int> targets)
      : layers_(layers), targets_(std::move(targets)), calls_(layers, micro_batches(), 0, 0) {}
  int layers() const override { return layers_; }
  int micro_batches() const override { return static_cast<int>(targets_.size()); }
  int targets(int micro_batch) const override { return targets_.at(static_cast<std::size_t>(micro_batch)); }
  void zero_gradients() override { calls_.enter(network_call::zero_gradients); }
  void embed(int micro_batch) override { calls_.enter(network_call::embed, micro_batch); }
  void forward(int i) override { calls_.enter(network_call::forward, i); }
  void recompute(int i) override { calls_.enter(network_call::recompute, i); }
  void drop_inner(int i) override { calls_.enter(network_call::drop_inner, i); }
  void drop_residual(int i) override { calls_.enter(network_call::drop_residual, i); }
  void loss(int micro_batch, float scale) override { calls_.enter(network_call::loss, micro_batch, scale); }
  void backward(int i) override { calls_.enter(network_call::backward, i); }
  void backward_embedding(int micro_batch) override { calls_.enter(network_call::backward_embedding, micro_batch); }
  void update() override { calls_.enter(network_call::update); }
  const std::vector<network_call>& calls() const { return calls_.calls(); }

 private:
  int layers_;
  std::vector<int> targets_;
  recorder calls_;
};

/// Parameters: layers, micro-batches. Inputs: keep; targets of each micro-batch. Output: the number of calls, and three
/// numbers for each.
inline void run_training_step(const lab::call& c) {
  const auto* targets = c.input<std::int32_t>(1);
  recorded_network net(c.parameter(0), {targets, targets + c.parameter(1)});
  try {
    training_step(net, c.input<std::uint8_t>(0));
  } catch (const misuse&) {  // the grader finds the same error
  }
  auto* out = c.output<std::int64_t>(0);
  *out++ = static_cast<std::int64_t>(net.calls().size());
  for (const network_call& call : net.calls())
    *out++ = call.what, *out++ = call.of, *out++ = std::bit_cast<std::int32_t>(call.scale);
}

/// Parameters: context, vocabulary, padded vocabulary, layers, heads, channels, batch, length, micro-batches, steps.
/// Inputs: weights; tokens and targets, each (steps, micro-batches, batch, length); keep; the learning rate and the
/// weight decay. Outputs: losses (steps); gradients and weights after each step, each (steps, parameters).
inline void train(const lab::call& c, std::size_t first_output) {
  gpt2::checkpoint start{{.context = c.parameter(0),
                          .vocabulary = c.parameter(1),
                          .padded_vocabulary = c.parameter(2),
                          .layers = c.parameter(3),
                          .heads = c.parameter(4),
                          .channels = c.parameter(5)},
                         {}};
  const int batch = c.parameter(6), length = c.parameter(7), micro_batches = c.parameter(8), steps = c.parameter(9);
  const auto rows = static_cast<std::size_t>(batch) * static_cast<std::size_t>(length);
  const auto read = [](auto& to, const void* from) {
    LAB_CUDA_CHECK(cudaMemcpy(to.data(), from, to.size() * sizeof to[0], cudaMemcpyDeviceToHost));
  };
  start.weights.resize(gpt2::parameters(start.config));
  std::vector<int> tokens(rows * static_cast<std::size_t>(micro_batches * steps)), targets(tokens.size());
  std::vector<std::uint8_t> keep(static_cast<std::size_t>(start.config.layers));
  std::vector<float> settings(2);
  read(start.weights, c.inputs.at(0));
  read(tokens, c.inputs.at(1));
  read(targets, c.inputs.at(2));
  read(keep, c.inputs.at(3));
  read(settings, c.inputs.at(4));
  gpt2_network net(start, batch, length, {.learning_rate = settings[0], .weight_decay = settings[1]});
  auto token = tokens.begin();
  auto target = targets.begin();
  for (int step = 0; step < steps; ++step) {
    std::vector<gpt2_network::part> all;
    for (int m = 0; m < micro_batches;
         ++m, token += static_cast<std::ptrdiff_t>(rows), target += static_cast<std::ptrdiff_t>(rows))
      all.push_back(
          {{token, token + static_cast<std::ptrdiff_t>(rows)}, {target, target + static_cast<std::ptrdiff_t>(rows)}});
    net.begin_step(all);
    try {
      training_step(net, keep.data());
    } catch (const misuse& wrong) {
      throw lab::broken_contract(std::string("training_step calls ") + wrong.what());
    }
    if (const std::string why = net.calls().seen().missing(); !why.empty())
      throw lab::broken_contract("after training_step, " + why);
    const auto write = [&](std::size_t which, const std::vector<float>& from) {
      LAB_CUDA_CHECK(cudaMemcpy(c.output<float>(which) + static_cast<std::size_t>(step) * from.size(), from.data(),
                                from.size() * sizeof(float), cudaMemcpyHostToDevice));
    };
    write(first_output, {net.mean_loss()});
    write(first_output + 1, net.gradients());
    write(first_output + 2, net.weights());
  }
}

/// Trains twice: the outputs of the second run follow those of the first.
inline void run_gradients(const lab::call& c) {
  train(c, 0);
  train(c, 3);
}

inline void run_forty_steps(const lab::call& c) { train(c, 0); }

}  // namespace lab14
