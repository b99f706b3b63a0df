// Which function of the contract answers which case. No inputs, no expected values: those are in cases.cpp.
#include <lab/call.hpp>

#include "tiling.hpp"

namespace {

template <void (*multiply)(float*, const float*, const float*, int, int, int, cudaStream_t)>
void on_device(const lab::call& c) {
  multiply(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1), c.parameter(2),
           c.stream);
}

constexpr lab::entry table[] = {
    {"sgemm_naive", lab::part::device, on_device<lab06::sgemm_naive>},
    {"sgemm_coalesced", lab::part::device, on_device<lab06::sgemm_coalesced>},
    {"sgemm_tiled", lab::part::device, on_device<lab06::sgemm_tiled>},
    {"sgemm_1d", lab::part::device, on_device<lab06::sgemm_1d>},
    {"sgemm_2d", lab::part::device, on_device<lab06::sgemm_2d>},
    {"sgemm_vectorized", lab::part::device, on_device<lab06::sgemm_vectorized>},
    {"sgemm_pipelined", lab::part::device, on_device<lab06::sgemm_pipelined>},
    {"sgemm_warptiled", lab::part::device, on_device<lab06::sgemm_warptiled>},
    {"sgemm", lab::part::device, on_device<lab06::sgemm>},
    {"gemm", lab::part::host,
     [](const lab::call& c) {
       const auto size = [&](std::size_t i) { return static_cast<std::size_t>(c.parameters.at(i)); };
       lab06::gemm(c.output<float>(0), c.input<float>(0), c.input<float>(1), size(0), size(1), size(2));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
