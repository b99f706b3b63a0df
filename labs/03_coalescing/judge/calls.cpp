// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "coalescing.hpp"

namespace {

template <void (*f)(float*, const float*, int, int, cudaStream_t)>
void matrix(const lab::call& c) {
  f(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.stream);
}

constexpr lab::entry table[] = {
    {"sigmoid_thread_per_row", lab::part::device, matrix<lab03::sigmoid_thread_per_row>},
    {"sigmoid_thread_per_column", lab::part::device, matrix<lab03::sigmoid_thread_per_column>},
    {"copy_strided", lab::part::device, matrix<lab03::copy_strided>},
    {"copy_offset", lab::part::device, matrix<lab03::copy_offset>},
    {"copy_vectorized", lab::part::device,
     [](const lab::call& c) {
       lab03::copy_vectorized(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream);
     }},
    {"points_to_arrays", lab::part::device,
     [](const lab::call& c) {
       lab03::points_to_arrays(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(0),
                               c.parameter(0), c.stream);
     }},
    {"transpose_naive", lab::part::device, matrix<lab03::transpose_naive>},
    {"transpose_tiled", lab::part::device, matrix<lab03::transpose_tiled>},
    {"transpose_padded", lab::part::device, matrix<lab03::transpose_padded>},
    {"transpose", lab::part::device, matrix<lab03::transpose>},
    {"read_tile_columns", lab::part::device,
     [](const lab::call& c) {
       lab03::read_tile_columns(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream);
     }},
    {"column_sums", lab::part::host,
     [](const lab::call& c) {
       lab03::column_sums(c.output<float>(0), c.input<float>(0), static_cast<std::size_t>(c.parameter(0)),
                          static_cast<std::size_t>(c.parameter(1)));
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
