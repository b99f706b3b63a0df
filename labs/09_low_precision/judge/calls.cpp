// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "low_precision.hpp"

namespace {

using namespace lab09;

std::size_t size(const lab::call& c, std::size_t i) { return static_cast<std::size_t>(c.parameters.at(i)); }
format format_of(const lab::call& c, std::size_t i) { return static_cast<format>(c.parameter(i)); }

template <class Q, class Scale, void (*quantize)(Q*, Scale*, const float*, std::size_t)>
void quantized(const lab::call& c) {
  quantize(c.output<Q>(0), c.output<Scale>(1), c.input<float>(0), size(c, 0));
}
template <class Q, class Scale, void (*dequantize)(float*, const Q*, const Scale*, std::size_t)>
void dequantized(const lab::call& c) {
  dequantize(c.output<float>(0), c.input<Q>(0), c.input<Scale>(1), size(c, 0));
}
template <class Q, void (*product)(float*, const Q*, const float*, const float*, std::size_t, std::size_t)>
void on_host(const lab::call& c) {
  product(c.output<float>(0), c.input<Q>(0), c.input<float>(1), c.input<float>(2), size(c, 0), size(c, 1));
}
template <void (*product)(bf16*, const bf16*, const bf16*, int, int, int, cudaStream_t)>
void on_device(const lab::call& c) {
  product(c.output<bf16>(0), c.input<bf16>(0), c.input<bf16>(1), c.parameter(0), c.parameter(1), c.parameter(2),
          c.stream);
}

constexpr lab::entry table[] = {
    {"encode", lab::part::host,
     [](const lab::call& c) {
       for (std::size_t i = 0; i < size(c, 1); ++i)
         c.output<std::uint32_t>(0)[i] = encode(c.input<float>(0)[i], format_of(c, 0));
     }},
    {"decode", lab::part::host,
     [](const lab::call& c) {
       for (std::size_t i = 0; i < size(c, 1); ++i)
         c.output<float>(0)[i] = decode(c.input<std::uint32_t>(0)[i], format_of(c, 0));
     }},
    {"sum", lab::part::host,
     [](const lab::call& c) {
       *c.output<double>(0) = sum(c.input<float>(0), size(c, 0), format_of(c, 1), format_of(c, 2));
     }},
    {"softmax_sum", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = softmax_sum(c.input<float>(0), size(c, 0), format_of(c, 1)); }},
    {"variance", lab::part::host,
     [](const lab::call& c) { *c.output<double>(0) = variance(c.input<float>(0), size(c, 0), format_of(c, 1)); }},
    {"cross_entropy", lab::part::host,
     [](const lab::call& c) {
       *c.output<double>(0) = cross_entropy(c.input<float>(0), size(c, 0), size(c, 1), format_of(c, 2));
     }},
    {"descend", lab::part::host,
     [](const lab::call& c) {
       const float* start = c.input<float>(0);
       *c.output<double>(0) = descend(start[0], start[1], start[2], size(c, 0), format_of(c, 1));
     }},
    {"lost", lab::part::host,
     [](const lab::call& c) {
       *c.output<double>(0) = static_cast<double>(lost(c.input<float>(0), size(c, 0), *c.input<float>(1)));
     }},
    {"loss_scale", lab::part::host,
     [](const lab::call& c) {
       for (std::size_t r = 0; r < size(c, 0); ++r)
         c.output<double>(0)[r] = loss_scale(c.input<float>(0) + r * size(c, 1), size(c, 1));
     }},
    {"quantize_int8", lab::part::host, quantized<std::int8_t, float, quantize_int8>},
    {"quantize_int4", lab::part::host, quantized<std::uint8_t, float, quantize_int4>},
    {"quantize_mxfp4", lab::part::host, quantized<std::uint8_t, std::uint8_t, quantize_mxfp4>},
    {"dequantize_int8", lab::part::host, dequantized<std::int8_t, float, dequantize_int8>},
    {"dequantize_int4", lab::part::host, dequantized<std::uint8_t, float, dequantize_int4>},
    {"dequantize_mxfp4", lab::part::host, dequantized<std::uint8_t, std::uint8_t, dequantize_mxfp4>},
    {"matvec_int8", lab::part::host, on_host<std::int8_t, matvec_int8>},
    {"matvec_int4", lab::part::host, on_host<std::uint8_t, matvec_int4>},
    {"gemm_wmma", lab::part::device, on_device<gemm_wmma>},
    {"gemm_mma", lab::part::device, on_device<gemm_mma>},
    {"gemm_pipelined", lab::part::device, on_device<gemm_pipelined>},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
