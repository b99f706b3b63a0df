// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp. A model is one array of
// weights; the state that changes from token to token is copied, since inputs must not change.
#include <lab/call.hpp>
#include <lab/device.hpp>

#include <string>

#include "decode.hpp"

namespace {

using namespace lab10;

shape shape_of(const lab::call& c) {
  return {c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3),
          c.parameter(4), c.parameter(5), c.parameter(6), c.parameter(7)};
}

/// Order in memory: the embedding, the last norm, then layer after layer.
struct parts {
  explicit parts(const lab::call& c) : of_model{shape_of(c), nullptr, nullptr, nullptr, c.input<float>(1)} {
    const shape& s = of_model.shape;
    const auto width = static_cast<std::size_t>(s.width), hidden = static_cast<std::size_t>(s.hidden);
    const auto heads = static_cast<std::size_t>(s.heads * s.size), kv = static_cast<std::size_t>(s.kv_heads * s.size);
    const bf16* next = c.input<bf16>(0);
    const auto take = [&](std::size_t count) {
      const bf16* const begin = next;
      next += count;
      return begin;
    };
    of_model.embedding = take(static_cast<std::size_t>(s.vocabulary) * width);
    of_model.norm = take(width);
    for (int i = 0; i < s.layers; ++i) {
      layer l{};
      l.norm1 = take(width);
      l.qkv = take((heads + 2 * kv) * width);
      l.out = take(width * heads);
      l.norm2 = take(width);
      l.gate_up = take(2 * hidden * width);
      l.down = take(width * hidden);
      layers.push_back(l);
    }
    of_model.layers = layers.data();

    const std::size_t cache = static_cast<std::size_t>(s.layers) * kv * static_cast<std::size_t>(s.capacity);
    const auto copy = [&](std::size_t output, std::size_t input, std::size_t bytes) {
      LAB_CUDA_CHECK(
          cudaMemcpyAsync(c.output<void>(output), c.input<void>(input), bytes, cudaMemcpyDeviceToDevice, c.stream));
    };
    copy(1, 2, cache * sizeof(bf16));
    copy(2, 3, cache * sizeof(bf16));
    copy(3, 4, 2 * sizeof(int));
    of_token = {c.output<bf16>(1), c.output<bf16>(2), c.output<int>(3), c.output<int>(3) + 1, c.output<float>(4)};
  }
  parts(const parts&) = delete;  // the model points to its layers
  parts& operator=(const parts&) = delete;

  std::vector<layer> layers;
  model of_model;
  state of_token{};
};

constexpr lab::entry table[] = {
    {"weight_bytes", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = static_cast<double>(weight_bytes(shape_of(c))); }},
    {"cache_bytes", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = static_cast<double>(cache_bytes(shape_of(c), c.parameters[8])); }},
    {"token_bytes", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = static_cast<double>(token_bytes(shape_of(c), c.parameters[8])); }},
    {"intensity", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = intensity(shape_of(c), c.parameters[8]); }},
    {"least_seconds", lab::part::host,
     [](const lab::call& c) {
       *c.output<double>(0) = least_seconds(shape_of(c), c.parameters[8], static_cast<double>(c.parameters[9]) * 1e9);
     }},
    {"matvec_host", lab::part::host,
     [](const lab::call& c) {
       matvec_host(c.output<float>(0), c.input<std::uint16_t>(0), c.input<float>(1),
                   static_cast<std::size_t>(c.parameters[0]), static_cast<std::size_t>(c.parameters[1]));
     }},
    {"matvec", lab::part::device,
     [](const lab::call& c) {
       const float* residual = nullptr;
       if (c.parameter(2) == 1) residual = c.input<float>(2);
       if (c.parameter(2) == 2) {
         LAB_CUDA_CHECK(cudaMemcpyAsync(c.output<float>(0), c.input<float>(2),
                                        static_cast<std::size_t>(c.parameters[0]) * sizeof(float),
                                        cudaMemcpyDeviceToDevice, c.stream));
         residual = c.output<float>(0);
       }
       matvec(c.output<float>(0), c.input<bf16>(0), c.input<float>(1), residual, c.parameter(0), c.parameter(1),
              c.stream);
     }},
    {"norm_matvec", lab::part::device,
     [](const lab::call& c) {
       norm_matvec(c.output<float>(0), c.input<bf16>(0), c.input<float>(1), c.input<bf16>(2), c.parameter(0),
                   c.parameter(1), c.stream);
     }},
    {"norm_gate", lab::part::device,
     [](const lab::call& c) {
       norm_gate(c.output<float>(0), c.input<bf16>(0), c.input<float>(1), c.input<bf16>(2), c.parameter(0),
                 c.parameter(1), c.stream);
     }},
    {"rotate_append", lab::part::device,
     [](const lab::call& c) {
       rotate_append(c.output<float>(0), c.output<bf16>(1), c.output<bf16>(2), c.input<float>(0), c.input<float>(1),
                     c.input<int>(2), c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3), c.stream);
     }},
    {"attend", lab::part::device,
     [](const lab::call& c) {
       attend(c.output<float>(0), c.output<float>(1), c.input<float>(0), c.input<bf16>(1), c.input<bf16>(2),
              c.input<int>(3), c.parameter(0), c.parameter(1), c.parameter(2), c.parameter(3), c.stream);
     },
     false, true},
    {"decode_token", lab::part::device,
     [](const lab::call& c) {
       const parts p(c);
       decode_token(c.output<float>(0), p.of_model, p.of_token, c.stream);
     },
     false, true},
    {"generate", lab::part::device,
     [](const lab::call& c) {
       const parts p(c);
       generate(c.output<int>(5), c.output<float>(0), p.of_model, p.of_token, c.parameter(8), c.stream);
     },
     false, true},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
