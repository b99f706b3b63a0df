// Maps each case to a function of the contract. Inputs and expected values are in cases.cpp.
#include <lab/call.hpp>

#include "accounting.hpp"

namespace {

using namespace lab01;

/// Input 0 is a table of arguments with `width` doubles per row; parameter 0 is the number of rows; `f` writes
/// `results` doubles for each row to output 0.
template <int width, int results = 1, class F>
void rows(const lab::call& c, F f) {
  for (int i = 0; i < c.parameter(0); ++i) f(c.output<double>(0) + i * results, c.input<double>(0) + i * width);
}

transformer model_at(const double* in) { return {in[0], in[1], in[2], in[3], in[4]}; }

format format_at(const double* in) { return {static_cast<int>(in[0]), static_cast<int>(in[1])}; }

template <void (*f)(float*, const float*, int, cudaStream_t)>
void elementwise(const lab::call& c) {
  f(c.output<float>(0), c.input<float>(0), c.parameter(0), c.stream);
}

template <void (*f)(float*, const float*, int, int, cudaStream_t)>
void rowwise(const lab::call& c) {
  f(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(1), c.stream);
}

/// One word per formula keeps the table readable.
#define FORMULA(name, width, expression)                                                                     \
  {                                                                                                          \
#name, lab::part::host,                                                                                  \
        [](const lab::call& c) { rows<width>(c, [](double* out, const double* in) { *out = expression; }); } \
  }

constexpr lab::entry table[] = {
    FORMULA(matmul_flops, 3, matmul_flops(in[0], in[1], in[2])),
    FORMULA(linear_forward_flops, 3, linear_forward_flops(in[0], in[1], in[2])),
    FORMULA(linear_backward_flops, 4, linear_backward_flops(in[0], in[1], in[2], in[3] != 0)),
    FORMULA(training_flops, 2, training_flops(in[0], in[1])),
    FORMULA(parameters, 5, parameters(model_at(in))),
    FORMULA(attention_flops, 5, attention_flops(in[0], in[1], in[2], in[3], in[4] != 0)),
    FORMULA(forward_flops, 8, forward_flops(model_at(in), in[5], in[6], in[7] != 0)),
    FORMULA(kv_cache_bytes, 8, kv_cache_bytes(model_at(in), in[5], in[6], in[7])),
    FORMULA(stored, 3, stored(in[2], format_at(in))),
    FORMULA(elementwise_intensity, 4, elementwise_intensity(in[0], in[1], in[2], in[3])),
    FORMULA(matmul_intensity, 4, matmul_intensity(in[0], in[1], in[2], in[3])),
    FORMULA(roofline_seconds, 4, roofline_seconds(in[0], in[1], in[2], in[3])),
    FORMULA(mfu, 3, mfu(in[0], in[1], in[2])),
    FORMULA(hfu, 4, hfu(in[0], in[1], in[2], in[3])),
    FORMULA(training_days, 5, training_days(in[0], in[1], in[2], in[3], in[4])),
    FORMULA(largest_model, 3, largest_model(in[0], in[1], in[2])),
    {"training_memory", lab::part::host,
     [](const lab::call& c) {
       rows<9, 5>(c, [](double* out, const double* in) {
         const training_bytes b = training_memory(model_at(in), in[5], in[6], in[7], in[8]);
         out[0] = b.weights, out[1] = b.gradients, out[2] = b.optimizer, out[3] = b.activations, out[4] = b.batch;
       });
     }},
    {"range_of", lab::part::host,
     [](const lab::call& c) {
       rows<2, 5>(c, [](double* out, const double* in) {
         const range r = range_of(format_at(in));
         out[0] = r.bytes, out[1] = r.largest, out[2] = r.smallest_normal, out[3] = r.smallest, out[4] = r.epsilon;
       });
     }},
    // Given: which of twelve operations are memory-bound, 1 or 0. Input 0: FLOPs and bytes of each; input 1: the peaks.
    {"memory_bound", lab::part::host,
     [](const lab::call& c) {
       const double* peaks = c.input<double>(1);
       for (int i = 0; i < c.parameter(0); ++i) {
         const double *flops = c.input<double>(0) + 2 * i, *bytes = flops + 1;
         c.output<double>(0)[i] = *bytes / peaks[1] > *flops / peaks[0];
       }
     }},
    {"triad", lab::part::host,
     [](const lab::call& c) {
       triad(c.output<float>(0) + c.parameter(1), c.input<float>(0) + c.parameter(2),
             c.input<float>(1) + c.parameter(3), *c.input<float>(2), static_cast<std::size_t>(c.parameters.at(0)));
     }},
    {"fma_chains", lab::part::host,
     [](const lab::call& c) {
       fma_chains(c.output<float>(0), c.input<float>(0), c.input<float>(1),
                  static_cast<std::size_t>(c.parameters.at(0)), c.parameters.at(1));
     }},
    {"copy", lab::part::device, elementwise<copy>},
    {"device_fma_chains", lab::part::device,
     [](const lab::call& c) {
       device_fma_chains(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                         c.stream);
     }},
    {"relu", lab::part::device, elementwise<relu>},
    {"gelu", lab::part::device, elementwise<gelu>},
    {"residual_add", lab::part::device,
     [](const lab::call& c) {
       residual_add(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.stream);
     }},
    {"layer_norm", lab::part::device, rowwise<layer_norm>},
    {"softmax", lab::part::device, rowwise<softmax>},
    {"adamw", lab::part::device,
     [](const lab::call& c) {
       adamw(c.output<float>(0), c.output<float>(1), c.output<float>(2), c.input<float>(0), c.input<float>(1),
             c.input<float>(2), c.input<float>(3), c.parameter(0), c.stream);
     }},
    {"decode_linear", lab::part::device,
     [](const lab::call& c) {
       decode_linear(c.output<float>(0), c.input<float>(0), c.input<float>(1), c.parameter(0), c.parameter(1),
                     c.stream);
     }},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
