// cuda::std is the host's standard library: its inline functions compile for kernels, too.
#pragma once

#include <utility>

namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
