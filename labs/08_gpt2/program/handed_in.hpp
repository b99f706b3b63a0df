// What this program is built with: the hand-in of lab 08, and those of labs 09 and 11.
#pragma once

#include <functional>

#include "gpt2/cuda.hpp"

namespace gpt2 {

const kernels& handed_in();

/// with.run(), but with the ranges of ranges.cpp.
void run_in_ranges(pass& with);
/// The timeline of tracer.cpp.
void print_timeline(const std::function<void()>& once);
/// The counters of tracer.cpp, in the blocks of ranges.cpp.
void print_counters(pass& with);

/// Heads of 64 only; others are computed as before.
void use_attention_of_lab11(kernels& with);
/// Precision bf16 only.
void use_product_of_lab09(kernels& with);

}  // namespace gpt2
