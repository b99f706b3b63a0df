// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "fusion.hpp"

namespace {

template <void (*function)(float*, const float*, int, cudaStream_t)>
void elementwise(const lab::call& c) {
  function(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream);
}

template <void (*function)(float*, const float*, int, int, cudaStream_t)>
void by_rows(const lab::call& c) {
  function(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.stream);
}

template <void (*function)(float*, float*, float*, const float*, int, int, cudaStream_t)>
void by_rows_with_scratch(const lab::call& c) {
  function(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(0), c.parameter(0),
           c.parameter(1), c.stream);
}

constexpr lab::entry table[] = {
    {"gelu", lab::part::device, elementwise<lab04::gelu>},
    {"gelu_unfused", lab::part::device, elementwise<lab04::gelu_unfused>},
    {"sin2_plus_cos2", lab::part::device, elementwise<lab04::sin2_plus_cos2>},
    {"sin2_plus_cos2_unfused", lab::part::device,
     [](const lab::call& c) {
       lab04::sin2_plus_cos2_unfused(c.output<float>(0), c.output<float>(1), c.input<float>(0), c.parameter(0),
                                     c.stream);
     }},
    {"bias_gelu_residual", lab::part::device,
     [](const lab::call& c) {
       lab04::bias_gelu_residual(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.input<float>(2),
                                 c.parameter(0), c.parameter(1), c.stream);
     }},
    {"layernorm", lab::part::device, by_rows<lab04::layernorm>},
    {"layernorm_unfused", lab::part::device, by_rows_with_scratch<lab04::layernorm_unfused>},
    {"softmax", lab::part::device, by_rows<lab04::softmax>},
    {"softmax_unfused", lab::part::device, by_rows_with_scratch<lab04::softmax_unfused>},
    {"gelu_host", lab::part::host,
     [](const lab::call& c) {
       lab04::gelu_host(c.output<float>(0), c.input<float>(0), static_cast<std::size_t>(c.parameter(0)));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
