// GPT-2 124M's layers for a few short sequences in one kernel.
#pragma once

#include "gpt2/cuda.hpp"

namespace lab08 {

/// kernels::all_layers_bf16: for up to 4 sequences of up to 64 tokens on a GPU with compute capability 9.0.
gpt2::all_layers small_pass(const gpt2::config& of, const __nv_bfloat16* weights, const float* norms, int batch,
                            int length);

}  // namespace lab08
