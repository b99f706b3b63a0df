// thrust::malloc and thrust::device_malloc: memory of the simulated device.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/cpp/detail/execution_policy.h>

#include "cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cpp {
namespace detail {

template <class Policy>
void* malloc(execution_policy<Policy>&, std::size_t bytes) {
  void* made = nullptr;
  return cudaMalloc(&made, bytes) == cudaSuccess ? made : nullptr;
}
template <class Policy, class Pointer>
void free(execution_policy<Policy>&, Pointer pointer) {
  cudaFree(thrust::raw_pointer_cast(pointer));
}

}  // namespace detail
}  // namespace cpp
}  // namespace system
THRUST_NAMESPACE_END
