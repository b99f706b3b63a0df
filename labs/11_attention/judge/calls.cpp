// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp. Where attention is timed,
// the first three parameters are the sizes of the ceiling, a product or chains of multiply-adds with as many
// operations; the case's own sizes follow.
#include <lab/call.hpp>

#include "attention.hpp"

namespace {

using namespace lab11;

template <class T, void (*function)(T*, float*, const T*, const T*, const T*, int, int, int, bool, cudaStream_t)>
void on_device(const lab::call& c) {
  function(c.output<T>(0), c.output<float>(1), c.input<T>(0), c.input<T>(1), c.input<T>(2), c.parameter(3),
           c.parameter(4), c.parameter(5), c.parameter(6) != 0, c.stream);
}

constexpr lab::entry table[] = {
    {"computed_scores", lab::part::host,
     [](const lab::call& c) {
       *c.output<std::int64_t>(0) =
           computed_scores(c.parameters[0], c.parameters[1], c.parameters[2], c.parameters[3] != 0);
     }},
    {"loaded_bytes", lab::part::host,
     [](const lab::call& c) {
       *c.output<std::int64_t>(0) = loaded_bytes(c.parameters[0], c.parameters[1], c.parameters[2], c.parameters[3],
                                                 c.parameters[4], c.parameters[5] != 0);
     }},
    {"merge", lab::part::host,
     [](const lab::call& c) {
       const auto rows = static_cast<std::size_t>(c.parameters[0]), size = static_cast<std::size_t>(c.parameters[1]);
       for (std::size_t i = 0; i < rows * size; ++i) c.output<float>(0)[i] = c.input<float>(0)[i];
       for (std::size_t i = 0; i < rows; ++i) c.output<float>(1)[i] = c.input<float>(1)[i];
       merge(c.output<float>(0), c.output<float>(1), c.input<float>(2), c.input<float>(3), rows, size);
     }},
    {"attention_host", lab::part::host,
     [](const lab::call& c) {
       attention_host(c.output<float>(0), c.output<float>(1), c.input<float>(0), c.input<float>(1), c.input<float>(2),
                      static_cast<std::size_t>(c.parameters[4]), static_cast<std::size_t>(c.parameters[5]),
                      c.parameters[6] != 0);
     }},
    {"attention_fp32", lab::part::device, on_device<float, attention_fp32>},
    {"attention_bf16", lab::part::device, on_device<bf16, attention_bf16>},
    {"attention_unfused", lab::part::device, on_device<float, attention_unfused>},
    {"decode_bf16", lab::part::device,
     [](const lab::call& c) {
       decode_bf16(c.output<bf16>(0), c.output<float>(1), c.input<bf16>(0), c.input<bf16>(1), c.input<bf16>(2),
                   c.parameter(0), c.parameter(1), c.parameter(2), c.stream);
     },
     false, true},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
