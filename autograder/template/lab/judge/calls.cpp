// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "topic.hpp"

namespace {

constexpr lab::entry table[] = {
    {"scale", lab::part::device,
     [](const lab::call& c) { lab00::scale(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream); }},
    {"scale_host", lab::part::host,
     [](const lab::call& c) {
       lab00::scale_host(c.output<float>(0), c.input<float>(0), static_cast<std::size_t>(c.parameter(0)));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
