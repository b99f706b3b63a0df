// Which function of the contract answers which case. No inputs, no expected values: those are in cases.cpp.
#include <lab/call.hpp>

#include <algorithm>

#include "cpu_chain.hpp"
#include "mlp.hpp"
#include "recomputation.hpp"

namespace {

/// Inputs: widths, weights, input, gradient of the output, and a plan or a budget. Parameters: layers, batch. Outputs:
/// gradients; peak bytes, FLOPs of all forward calls, layers whose gradients were asked for.
lab05::mlp network_of(const lab::call& c) {
  const auto* widths = c.input<std::int64_t>(0);
  return {std::vector(widths, widths + c.parameter(0) + 1),
          c.parameter(1),
          c.input<float>(1),
          c.input<float>(2),
          c.input<float>(3),
          c.output<float>(0)};
}

void train(lab05::mlp& net, const std::uint8_t* keep, const lab::call& c) {
  lab05::backpropagate(net, keep, net.layers());
  c.output<double>(1)[0] = static_cast<double>(net.peak_bytes());
  c.output<double>(1)[1] = static_cast<double>(net.forward_flops());
  c.output<double>(1)[2] = static_cast<double>(net.layers_done());
}

void run_backpropagate(const lab::call& c) {
  lab05::mlp net = network_of(c);
  train(net, c.input<std::uint8_t>(4), c);
}

void run_train_step(const lab::call& c) {
  lab05::mlp net = network_of(c);
  std::vector<std::int64_t> bytes, flops;
  for (std::size_t i = 0; i < net.layers(); ++i) bytes.push_back(net.bytes(i)), flops.push_back(net.flops(i));
  std::vector<std::uint8_t> keep(net.layers());
  lab05::choose_checkpoints(keep.data(), bytes.data(), flops.data(), net.layers(), *c.input<std::int64_t>(4));
  train(net, keep.data(), c);
}

constexpr lab::entry table[] = {
    {"forward_stored", lab::part::device,
     [](const lab::call& c) {
       lab05::forward_stored(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(0),
                             c.parameter(0), c.stream);
     }},
    {"backward_stored", lab::part::device,
     [](const lab::call& c) {
       lab05::backward_stored(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.input<float>(2),
                              c.parameter(0), c.stream);
     }},
    {"forward", lab::part::device,
     [](const lab::call& c) { lab05::forward(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream); }},
    {"backward", lab::part::device,
     [](const lab::call& c) {
       lab05::backward(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
     }},
    {"choose_checkpoints", lab::part::host,
     [](const lab::call& c) {
       lab05::choose_checkpoints(c.output<std::uint8_t>(0), c.input<std::int64_t>(0), c.input<std::int64_t>(1),
                                 static_cast<std::size_t>(c.parameter(0)), *c.input<std::int64_t>(2));
     }},
    {"backpropagate", lab::part::host, run_backpropagate},
    {"train_step", lab::part::host, run_train_step},
    // Given: how long this machine takes, and what the judge knows of the others.
    {"cpu_chain", lab::part::host,
     [](const lab::call& c) {
       *c.output<double>(0) = lab05::recomputed_over_stored(static_cast<std::size_t>(c.parameter(0)));
     }},
    {"roofline", lab::part::host,
     [](const lab::call& c) { std::copy_n(c.input<double>(0), c.parameter(0), c.output<double>(0)); }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
