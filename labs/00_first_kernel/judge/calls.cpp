// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "first_kernel.hpp"

namespace {

template <void (*function)(float*, const float*, int, cudaStream_t)>
void one_input(const lab::call& c) {
  function(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream);
}

template <void (*function)(float*, const float*, const float*, int, cudaStream_t)>
void two_inputs(const lab::call& c) {
  function(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
}

constexpr lab::entry table[] = {
    {"twice", lab::part::device, one_input<lab00::twice>},
    {"add", lab::part::device, two_inputs<lab00::add>},
    {"outer_product", lab::part::device,
     [](const lab::call& c) {
       lab00::outer_product(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                            c.stream);
     }},
    {"add_neighbours", lab::part::device, one_input<lab00::add_neighbours>},
    {"row_sums", lab::part::device, one_input<lab00::row_sums>},
    {"add_twice", lab::part::device, two_inputs<lab00::add_twice>},
    {"add_twice_in_chunks", lab::part::device, two_inputs<lab00::add_twice_in_chunks>},
    {"sum", lab::part::host,
     [](const lab::call& c) {
       *c.output<float>(0) = lab00::sum(c.input<float>(0), static_cast<std::size_t>(c.parameter(0)));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
