// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp. Arrays that a function
// updates are copied from the inputs first; only what follows is counted.
#include <lab/call.hpp>
#include <lab/device.hpp>
#include <lab/host_accesses.hpp>

#include <algorithm>
#include <bit>
#include <string>

#include "step_calls.hpp"
#include "training.hpp"

namespace {

float number(const lab::call& c, std::size_t parameter) {
  return std::bit_cast<float>(static_cast<std::int32_t>(c.parameters.at(parameter)));
}

void copy(const lab::call& c, std::size_t to, std::size_t from, int floats) {
  LAB_CUDA_CHECK(cudaMemcpyAsync(c.output<float>(to), c.input<float>(from),
                                 static_cast<std::size_t>(floats) * sizeof(float), cudaMemcpyDeviceToDevice, c.stream));
}

/// `partial` ends where its buffer ends, so that a write beyond it is caught, and starts at a multiple of 256 bytes.
float* partial_of(const lab::call& c, std::size_t output, int rows, int channels) {
  const std::size_t most = 256 * static_cast<std::size_t>(channels), needed = lab14::layer_norm_partial(rows, channels);
  if (needed > most)
    throw lab::broken_contract("layer_norm_partial returned " + std::to_string(needed) + "; at most " +
                               std::to_string(most) + " are allowed");
  return c.output<float>(output) + (most - needed) / 64 * 64;
}

/// Outputs from `first`: d_x, d_weight, d_bias, partial.
void layer_norm_backward(const lab::call& c, std::size_t first) {
  const int rows = c.parameter(0), channels = c.parameter(1);
  copy(c, first, 5, rows * channels);
  copy(c, first + 1, 6, channels);
  copy(c, first + 2, 7, channels);
  float* partial = partial_of(c, first + 3, rows, channels);
  lab::count_from_here();
  lab14::layer_norm_backward(c.output<float>(first), c.output<float>(first + 1), c.output<float>(first + 2), partial,
                             c.input<float>(0), c.input<float>(1), c.input<float>(2), c.input<float>(3),
                             c.input<float>(4), rows, channels, c.stream);
}

lab14::adamw_settings settings_of(const lab::call& c) {
  return {number(c, 2), number(c, 3), number(c, 4), number(c, 5), number(c, 6)};
}

/// An entry that runs the whole network. The grader reads from the table which functions each entry calls, and regrades
/// the entry if one of them changes.
template <auto...>
constexpr auto* calling(void (*run)(const lab::call&)) {
  return run;
}

constexpr lab::entry table[] = {
    {"gelu_backward", lab::part::device,
     [](const lab::call& c) {
       lab14::gelu_backward(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
     }},
    {"layer_norm_backward", lab::part::device, [](const lab::call& c) { layer_norm_backward(c, 0); }},
    {"layer_norm_backward_again", lab::part::device,
     [](const lab::call& c) {
       layer_norm_backward(c, 0);
       if (sim_begin_with_last_block) sim_begin_with_last_block(true);  // changes bits that depend on the blocks' order
       layer_norm_backward(c, 4);
       if (sim_begin_with_last_block) sim_begin_with_last_block(false);
     }},
    {"cross_entropy", lab::part::device,
     [](const lab::call& c) {
       const int rows = c.parameter(0), vocabulary = c.parameter(1), pitch = c.parameter(2);
       copy(c, 1, 0, rows * pitch);
       lab::count_from_here();
       lab14::cross_entropy(c.output<float>(0), c.output<float>(1), c.input<int>(1), number(c, 3), rows, vocabulary,
                            pitch, c.stream);
     }},
    {"adamw_host", lab::part::host,
     [](const lab::call& c) {
       const auto n = static_cast<std::size_t>(c.parameter(0));
       for (std::size_t i = 0; i < 3; ++i) std::copy_n(c.input<float>(i), n, c.output<float>(i));
       lab14::adamw_host(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(3), n,
                         settings_of(c), c.parameter(1));
     }},
    {"adamw", lab::part::device,
     [](const lab::call& c) {
       for (std::size_t i = 0; i < 3; ++i) copy(c, i, i, c.parameter(0));
       lab::count_from_here();
       lab14::adamw(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(3), c.parameter(0),
                    settings_of(c), c.parameter(1), c.stream);
     }},
    {"choose_layers", lab::part::host, lab14::run_choose_layers},
    {"training_step", lab::part::host, lab14::run_training_step},
    {"gradients", lab::part::device,
     calling<lab14::gelu_backward, lab14::layer_norm_backward, lab14::layer_norm_partial, lab14::cross_entropy,
             lab14::adamw, lab14::training_step>(lab14::run_gradients),
     true},
    {"forty_steps", lab::part::device,
     calling<lab14::gelu_backward, lab14::layer_norm_backward, lab14::layer_norm_partial, lab14::cross_entropy,
             lab14::adamw, lab14::training_step>(lab14::run_forty_steps),
     true},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
