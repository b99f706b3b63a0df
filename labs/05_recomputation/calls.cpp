// Which function of the contract answers which case. No inputs, no expected values: those are in cases.cpp.
#include <lab/call.hpp>

#include "recomputation.hpp"

namespace {

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
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
