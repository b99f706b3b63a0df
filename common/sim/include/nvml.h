// NVML's questions about a device's name, clocks and memory, as benchmarks ask them. What a simulated device has not,
// such as a temperature, is not supported.
#pragma once

#include <cstring>

#include "cuda_runtime.h"

enum nvmlReturn_t { NVML_SUCCESS = 0, NVML_ERROR_INVALID_ARGUMENT = 2, NVML_ERROR_NOT_SUPPORTED = 3 };
enum nvmlClockType_t { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };
enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU = 0 };
using nvmlDevice_t = struct nvmlDevice_st*;  // the device's number and one
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
#define NVML_DEVICE_NAME_BUFFER_SIZE 64

namespace sim {
inline nvmlReturn_t nvml_properties(nvmlDevice_t device, const void* result, cudaDeviceProp* p) {
  const int number = static_cast<int>(reinterpret_cast<std::size_t>(device)) - 1;
  return result && cudaGetDeviceProperties(p, number) == cudaSuccess ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}
}  // namespace sim

inline nvmlReturn_t nvmlInit() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlInit_v2() { return NVML_SUCCESS; }
inline nvmlReturn_t nvmlShutdown() { return NVML_SUCCESS; }
inline const char* nvmlErrorString(nvmlReturn_t result) {
  return result == NVML_SUCCESS                  ? "Success"
         : result == NVML_ERROR_INVALID_ARGUMENT ? "Invalid Argument"
                                                 : "Not Supported";
}
inline nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  int devices = 0;
  if (!count || cudaGetDeviceCount(&devices) != cudaSuccess) return NVML_ERROR_INVALID_ARGUMENT;
  *count = static_cast<unsigned>(devices);
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* device) {
  unsigned count = 0;
  if (!device || nvmlDeviceGetCount(&count) != NVML_SUCCESS || index >= count) return NVML_ERROR_INVALID_ARGUMENT;
  *device = reinterpret_cast<nvmlDevice_t>(std::size_t{index} + 1);
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  cudaDeviceProp p;
  const nvmlReturn_t result = sim::nvml_properties(device, name, &p);
  if (result == NVML_SUCCESS && length > 0) std::strncpy(name, p.name, length - 1)[length - 1] = 0;
  return result;
}
inline nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* megahertz) {
  cudaDeviceProp p;
  const nvmlReturn_t result = sim::nvml_properties(device, megahertz, &p);
  if (result == NVML_SUCCESS)
    *megahertz = static_cast<unsigned>((type == NVML_CLOCK_MEM ? p.memoryClockRate : p.clockRate) / 1000);
  return result;
}
inline nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned* megahertz) {
  return nvmlDeviceGetClockInfo(device, type, megahertz);
}
inline nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  cudaDeviceProp p;
  std::size_t free = 0, total = 0;
  const nvmlReturn_t result = sim::nvml_properties(device, memory, &p);
  if (result != NVML_SUCCESS || cudaMemGetInfo(&free, &total) != cudaSuccess) return NVML_ERROR_INVALID_ARGUMENT;
  *memory = {total, free, total - free};
  return NVML_SUCCESS;
}
inline nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
inline nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
inline nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
