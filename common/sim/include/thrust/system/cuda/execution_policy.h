// thrust::cuda::par and its stream: algorithms run at once, whatever stream they are given.
#pragma once

#include <thrust/execution_policy.h>

#include "cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cuda {
struct policy : thrust::detail::device_t {
  const policy& on(cudaStream_t) const { return *this; }
  template <class Allocator>
  const policy& operator()(Allocator&&) const {
    return *this;
  }
};
inline constexpr policy par, par_nosync;
}  // namespace cuda
}  // namespace system
namespace cuda {
using thrust::system::cuda::par;
using thrust::system::cuda::par_nosync;
}  // namespace cuda
THRUST_NAMESPACE_END
