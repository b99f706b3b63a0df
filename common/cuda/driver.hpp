// Looks up the driver's functions by name instead of linking them: programs must start without a driver.
#pragma once

#include <cuda.h>

#include <stdexcept>
#include <string>

#include "lab/device.hpp"

namespace lab {

/// `version` selects the CUDA version of the function: 12000 for CUDA 12.0.
template <class Function>
Function* driver_function(const char* name, unsigned version = 12000) {
  LAB_CUDA_CHECK(cudaFree(nullptr));  // the runtime loads the driver and creates its context on first use
  void* found = nullptr;
  LAB_CUDA_CHECK(cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault));
  if (found == nullptr) throw std::runtime_error("this GPU's driver has no " + std::string(name));
  return reinterpret_cast<Function*>(found);
}

/// Calls a function of the driver, LAB_DRIVER(cuCtxGetCurrent)(&context); throws std::runtime_error if it fails.
#define LAB_DRIVER(name)                                                                                               \
  [](auto... arguments) {                                                                                              \
    if (const CUresult status = ::lab::driver_function<decltype(::name)>(#name)(arguments...); status != CUDA_SUCCESS) \
      throw std::runtime_error(#name " failed: CUDA error " + std::to_string(status));                                 \
  }

}  // namespace lab
