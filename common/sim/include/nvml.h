// NVML's queries of a device's name, clocks and memory, as benchmarks use them. Queries that a simulated device cannot
// answer, such as temperature, are not supported.
#pragma once

#include <cstdio>
#include <cstring>

#include "cuda_runtime.h"

#define SIM_NVML_ERRORS(EACH)                                              \
  EACH(UNINITIALIZED, 1, "Uninitialized")                                  \
  EACH(INVALID_ARGUMENT, 2, "Invalid Argument")                            \
  EACH(NOT_SUPPORTED, 3, "Not Supported")                                  \
  EACH(NO_PERMISSION, 4, "Insufficient Permissions")                       \
  EACH(ALREADY_INITIALIZED, 5, "Already Initialized")                      \
  EACH(NOT_FOUND, 6, "Not Found")                                          \
  EACH(INSUFFICIENT_SIZE, 7, "Insufficient Size")                          \
  EACH(INSUFFICIENT_POWER, 8, "Insufficient External Power")               \
  EACH(DRIVER_NOT_LOADED, 9, "Driver Not Loaded")                          \
  EACH(TIMEOUT, 10, "Timeout")                                             \
  EACH(IRQ_ISSUE, 11, "Interrupt Request Issue")                           \
  EACH(LIBRARY_NOT_FOUND, 12, "NVML Shared Library Not Found")             \
  EACH(FUNCTION_NOT_FOUND, 13, "Function Not Found")                       \
  EACH(CORRUPTED_INFOROM, 14, "Corrupted infoROM")                         \
  EACH(GPU_IS_LOST, 15, "GPU is lost")                                     \
  EACH(RESET_REQUIRED, 16, "GPU requires reset")                           \
  EACH(OPERATING_SYSTEM, 17, "GPU access blocked by the operating system") \
  EACH(LIB_RM_VERSION_MISMATCH, 18, "Driver/library version mismatch")     \
  EACH(IN_USE, 19, "In use by another client")                             \
  EACH(MEMORY, 20, "Insufficient Memory")                                  \
  EACH(NO_DATA, 21, "No data")                                             \
  EACH(VGPU_ECC_NOT_SUPPORTED, 22, "vGPU ECC Not Supported")               \
  EACH(INSUFFICIENT_RESOURCES, 23, "Insufficient Resources")               \
  EACH(FREQ_NOT_SUPPORTED, 24, "Frequency Not Supported")                  \
  EACH(ARGUMENT_VERSION_MISMATCH, 25, "Argument version mismatch")         \
  EACH(DEPRECATED, 26, "Deprecated")                                       \
  EACH(NOT_READY, 27, "Not Ready")                                         \
  EACH(GPU_NOT_FOUND, 28, "GPU not found")                                 \
  EACH(INVALID_STATE, 29, "Invalid State")                                 \
  EACH(UNKNOWN, 999, "Unknown Error")
enum nvmlReturn_t {
  NVML_SUCCESS = 0,
#define SIM_NVML_ERROR(name, number, text) NVML_ERROR_##name = number,
  SIM_NVML_ERRORS(SIM_NVML_ERROR)
#undef SIM_NVML_ERROR
};
enum nvmlClockType_t { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2, NVML_CLOCK_VIDEO = 3 };
enum nvmlTemperatureSensors_t { NVML_TEMPERATURE_GPU = 0 };
using nvmlDevice_t = struct nvmlDevice_st*;  // the device's number plus one
struct nvmlMemory_t {
  unsigned long long total, free, used;
};
struct nvmlUtilization_t {
  unsigned gpu, memory;
};
#define NVML_DEVICE_NAME_BUFFER_SIZE 64
#define NVML_DEVICE_NAME_V2_BUFFER_SIZE 96
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE 16
#define NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE 32
struct nvmlPciInfo_t {
  char busIdLegacy[NVML_DEVICE_PCI_BUS_ID_BUFFER_V2_SIZE];
  unsigned domain, bus, device;
  unsigned pciDeviceId, pciSubSystemId;
  char busId[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
};

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
  switch (result) {
    case NVML_SUCCESS: return "Success";
#define SIM_NVML_ERROR(name, number, text) \
  case NVML_ERROR_##name: return text;
      SIM_NVML_ERRORS(SIM_NVML_ERROR)
#undef SIM_NVML_ERROR
  }
  return "Unknown Error";
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
inline nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t* pci) {
  cudaDeviceProp p;
  const nvmlReturn_t result = sim::nvml_properties(device, pci, &p);
  if (result != NVML_SUCCESS) return result;
  *pci = {};
  pci->domain = static_cast<unsigned>(p.pciDomainID);
  pci->bus = static_cast<unsigned>(p.pciBusID);
  pci->device = static_cast<unsigned>(p.pciDeviceID);
  std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0", pci->domain & 0xffff, pci->bus & 0xff,
                pci->device & 0xff);
  std::snprintf(pci->busId, sizeof pci->busId, "%08X:%02X:%02X.0", pci->domain, pci->bus & 0xff, pci->device & 0xff);
  return NVML_SUCCESS;
}
#define nvmlDeviceGetPciInfo_v2 nvmlDeviceGetPciInfo
#define nvmlDeviceGetPciInfo_v3 nvmlDeviceGetPciInfo
inline nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t*) { return NVML_ERROR_NOT_SUPPORTED; }
inline nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t, unsigned*) { return NVML_ERROR_NOT_SUPPORTED; }
inline nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
inline nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, nvmlTemperatureSensors_t, unsigned*) {
  return NVML_ERROR_NOT_SUPPORTED;
}
