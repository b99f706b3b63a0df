// Counting before running. Each function is one line or a few; accounting.hpp says what it must count, and
// given/transformer.hpp, which runs a model with numbers that count, has the fine print.
#include "accounting.hpp"

namespace lab01 {
namespace {

constexpr double unknown = -1;  // no count is negative

}  // namespace

// TODO(lab01.flops_correct): how many multiplications and additions go into one element of the product?
double matmul_flops(double, double, double) { return unknown; }

double linear_forward_flops(double, double, double) { return unknown; }

// TODO(lab01.flops_correct): write the two gradients as matrix products first.
double linear_backward_flops(double, double, double, bool) { return unknown; }

double training_flops(double, double) { return unknown; }

// TODO(lab01.transformer_correct): go through the weights in given/transformer.hpp one by one.
double parameters(const transformer&) { return unknown; }

double attention_flops(double, double, double, double, bool) { return unknown; }

double forward_flops(const transformer&, double, double, bool) { return unknown; }

// TODO(lab01.memory_correct): look for keep() in given/transformer.hpp.
training_bytes training_memory(const transformer&, double, double, double, double) {
  return {unknown, unknown, unknown, unknown, unknown};
}

double kv_cache_bytes(const transformer&, double, double, double) { return unknown; }

// TODO(lab01.formats_correct): the bias of the exponent is 2^(exponent_bits - 1) - 1.
range range_of(format) { return {unknown, unknown, unknown, unknown, unknown}; }

// TODO(lab01.formats_correct): how far apart are the numbers that can be stored near `value`?
double stored(double, format) { return unknown; }

// TODO(lab01.planning_correct)
double elementwise_intensity(double, double, double, double) { return unknown; }

double matmul_intensity(double, double, double, double) { return unknown; }

double roofline_seconds(double, double, double, double) { return unknown; }

double mfu(double, double, double) { return unknown; }

double hfu(double, double, double, double) { return unknown; }

double training_days(double, double, double, double, double) { return unknown; }

double largest_model(double, double, double) { return unknown; }

}  // namespace lab01
