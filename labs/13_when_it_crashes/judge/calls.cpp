// Which function of the contract answers which case. No inputs, no expected values: those are in cases.cpp.
#include <lab/call.hpp>

#include "when_it_crashes.hpp"

namespace {

constexpr lab::entry table[] = {
    {"kv_scores", lab::part::device,
     [](const lab::call& c) {
       lab13::kv_scores(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                        c.stream);
     }},
    {"page_rows", lab::part::device,
     [](const lab::call& c) {
       lab13::page_rows(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.parameter(2),
                        c.parameter(3), c.parameter(4), c.stream);
     }},
    {"row_sums", lab::part::device,
     [](const lab::call& c) {
       lab13::row_sums(c.output<float>(0), c.input<float>(0), c.input<int>(1), c.parameter(0), c.stream);
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
