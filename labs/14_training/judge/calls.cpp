// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp. Arrays that a function
// updates are copied from the inputs first; only what follows is counted.
#include <lab/call.hpp>
#include <lab/device.hpp>
#include <lab/host_accesses.hpp>

#include <algorithm>
#include <array>
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

using five = std::array<const float*, 5>;  // x, weight, mean, rstd, d_out

five inputs_of(const lab::call& c) {
  return {c.input<float>(0), c.input<float>(1), c.input<float>(2), c.input<float>(3), c.input<float>(4)};
}

/// Copies of the inputs elsewhere, so that no address tells that a call is the second one with the same numbers.
class copied {
 public:
  explicit copied(const lab::call& c) : stream_(c.stream) {
    const auto rows = static_cast<std::size_t>(c.parameter(0)), channels = static_cast<std::size_t>(c.parameter(1));
    const std::size_t floats[] = {rows * channels, channels, rows, rows, rows * channels};
    for (std::size_t i = 0; i < all_.size(); ++i) {
      LAB_CUDA_CHECK(cudaMallocAsync(&all_[i], floats[i] * sizeof(float), stream_));
      LAB_CUDA_CHECK(
          cudaMemcpyAsync(all_[i], c.input<float>(i), floats[i] * sizeof(float), cudaMemcpyDeviceToDevice, stream_));
    }
  }
  ~copied() {
    for (float* one : all_) cudaFreeAsync(one, stream_);
  }
  copied(const copied&) = delete;  // owns the memory
  copied& operator=(const copied&) = delete;
  five all() const { return {all_[0], all_[1], all_[2], all_[3], all_[4]}; }

 private:
  cudaStream_t stream_;
  std::array<float*, 5> all_{};
};

/// Outputs from `first`: d_x, d_weight, d_bias, partial.
void layer_norm_backward(const lab::call& c, std::size_t first, const five& in) {
  const int rows = c.parameter(0), channels = c.parameter(1);
  copy(c, first, 5, rows * channels);
  copy(c, first + 1, 6, channels);
  copy(c, first + 2, 7, channels);
  float* partial = partial_of(c, first + 3, rows, channels);
  lab::count_from_here();
  lab14::layer_norm_backward(c.output<float>(first), c.output<float>(first + 1), c.output<float>(first + 2), partial,
                             in[0], in[1], in[2], in[3], in[4], rows, channels, c.stream);
}

lab14::adamw_settings settings_of(const lab::call& c) {
  return {number(c, 2), number(c, 3), number(c, 4), number(c, 5), number(c, 6)};
}

constexpr lab::entry table[] = {
    {"gelu_backward", lab::part::device,
     [](const lab::call& c) {
       lab14::gelu_backward(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
     }},
    {"layer_norm_backward", lab::part::device, [](const lab::call& c) { layer_norm_backward(c, 0, inputs_of(c)); }},
    {"layer_norm_backward_again", lab::part::device,
     [](const lab::call& c) {
       const copied others(c);
       layer_norm_backward(c, 0, inputs_of(c));
       if (sim_begin_with_last_block) sim_begin_with_last_block(true);  // changes bits that depend on the blocks' order
       layer_norm_backward(c, 4, others.all());
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
    {"gradients", lab::part::device, lab14::run_gradients, true},
    {"forty_steps", lab::part::device, lab14::run_forty_steps, true},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
