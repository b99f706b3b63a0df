// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include <algorithm>

#include "mlp.hpp"
#include "recomputation.hpp"

namespace {

/// Inputs: widths, weights, input, gradient of the output, and a plan or a budget. Parameters: layers, batch. Outputs:
/// gradients; the number of calls to the network, and these calls; the plan.
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
  std::copy_n(keep, net.layers(), c.output<std::uint8_t>(2));
  try {
    lab05::backpropagate(net, keep, net.layers());
  } catch (const lab05::misuse&) {  // the grader finds the same misuse
  }
  auto* out = c.output<std::int64_t>(1);
  *out++ = static_cast<std::int64_t>(net.calls().size());
  for (const lab05::network_call& call : net.calls()) *out++ = call.what, *out++ = call.layer;
}

void run_backpropagate(const lab::call& c) {
  lab05::mlp net = network_of(c);
  train(net, c.input<std::uint8_t>(4), c);
}

void run_train_step(const lab::call& c) {
  lab05::mlp net = network_of(c);
  std::vector<std::uint8_t> keep(net.layers());
  lab05::choose_checkpoints(keep.data(), net.bytes().data(), net.flops().data(), net.layers(),
                            *c.input<std::int64_t>(4));
  train(net, keep.data(), c);
}

void run_choose_checkpoints(const lab::call& c) {
  lab05::choose_checkpoints(c.output<std::uint8_t>(0), c.input<std::int64_t>(0), c.input<std::int64_t>(1),
                            static_cast<std::size_t>(c.parameter(0)), *c.input<std::int64_t>(2));
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
    {"backward_digits", lab::part::device,
     [](const lab::call& c) {
       lab05::backward(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
     }},
    {"chain_host", lab::part::host,
     [](const lab::call& c) {
       const auto n = static_cast<std::size_t>(c.parameter(0));
       lab05::forward_host(c.output<float>(0), c.output<float>(2), c.input<float>(0), n);
       // A call for another chain comes in between: only `kept` may connect the two.
       const float other_in = 1.0f;
       float other_out, other_kept[2];
       lab05::forward_host(&other_out, other_kept, &other_in, 1);
       lab05::backward_host(c.output<float>(1), c.input<float>(0), c.output<float>(2), c.input<float>(1), n);
     }},
    {"choose_checkpoints", lab::part::host, run_choose_checkpoints},
    {"choose_checkpoints_long", lab::part::host, run_choose_checkpoints},
    {"backpropagate", lab::part::host, run_backpropagate},
    {"train_step", lab::part::host, run_train_step},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
