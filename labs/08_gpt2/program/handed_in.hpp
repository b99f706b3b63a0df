// The kernels of the hand-in that this program is built with.
#pragma once

#include "gpt2/cuda.hpp"

namespace gpt2 {

const kernels& handed_in();

}  // namespace gpt2
