// Thrust from the distribution (libthrust-dev), with its sequential C++ system as the device: its algorithms run on the
// host and allocate the simulated device's memory, so kernels may use it. In a program with Thrust, host code may
// therefore use device memory unreported.
#pragma once

#include <thrust/detail/config.h>
#include <thrust/mr/fancy_pointer_resource.h>
#include <thrust/mr/memory_resource.h>
#include <thrust/system/cpp/device_memory.h>
#include <thrust/system/cpp/pointer.h>

#include <new>

#include "cuda_runtime.h"

THRUST_NAMESPACE_BEGIN
namespace system {
namespace cpp {
namespace detail {

class device_resource final : public thrust::mr::memory_resource<> {
 public:
  void* do_allocate(std::size_t bytes, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    void* made = nullptr;
    if (cudaMalloc(&made, bytes) != cudaSuccess) throw std::bad_alloc();
    return made;
  }
  void do_deallocate(void* pointer, std::size_t, std::size_t = THRUST_MR_DEFAULT_ALIGNMENT) override {
    cudaFree(pointer);
  }
};

using native_resource = thrust::mr::fancy_pointer_resource<device_resource, thrust::cpp::pointer<void>>;
using universal_native_resource =
    thrust::mr::fancy_pointer_resource<device_resource, thrust::cpp::universal_pointer<void>>;
}  // namespace detail

using memory_resource = detail::native_resource;
using universal_memory_resource = detail::universal_native_resource;
using universal_host_pinned_memory_resource = detail::native_resource;
}  // namespace cpp
}  // namespace system
THRUST_NAMESPACE_END
