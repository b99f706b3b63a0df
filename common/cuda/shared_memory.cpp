// Uses the driver's virtual memory management: an allocation, an address range, a mapping, and access to it.
#include "shared_memory.hpp"

#include <unistd.h>

#include <cstdint>

#include "driver.hpp"

namespace lab {
namespace {

CUmemAllocationProp properties() {
  int device = 0;
  LAB_CUDA_CHECK(cudaGetDevice(&device));
  CUmemAllocationProp what{};
  what.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  what.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  what.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  what.location.id = device;
  return what;
}

CUdeviceptr address_of(std::span<std::byte> bytes) { return reinterpret_cast<CUdeviceptr>(bytes.data()); }

}  // namespace

shared_device_memory::shared_device_memory(std::size_t bytes) {
  const CUmemAllocationProp what = properties();
  std::size_t step = 0;
  LAB_DRIVER(cuMemGetAllocationGranularity)(&step, &what, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  bytes_ = {static_cast<std::byte*>(nullptr), (bytes + step - 1) / step * step};
  LAB_DRIVER(cuMemCreate)(&allocation_, bytes_.size(), &what, 0);
  map();
  LAB_DRIVER(cuMemExportToShareableHandle)
  (&descriptor_, allocation_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
}

shared_device_memory::shared_device_memory(int descriptor, std::size_t bytes)
    : bytes_(static_cast<std::byte*>(nullptr), bytes) {
  LAB_DRIVER(cuMemImportFromShareableHandle)
  (&allocation_, reinterpret_cast<void*>(static_cast<std::intptr_t>(descriptor)),
   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  map();
}

void shared_device_memory::map() {
  CUdeviceptr address = 0;
  LAB_DRIVER(cuMemAddressReserve)(&address, bytes_.size(), 0, 0, 0);
  bytes_ = {reinterpret_cast<std::byte*>(address), bytes_.size()};
  LAB_DRIVER(cuMemMap)(address, bytes_.size(), 0, allocation_, 0);
  CUmemAccessDesc access{};
  access.location = properties().location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  LAB_DRIVER(cuMemSetAccess)(address, bytes_.size(), &access, 1);
}

shared_device_memory::~shared_device_memory() try {
  if (descriptor_ >= 0) close(descriptor_);
  LAB_DRIVER(cuMemUnmap)(address_of(bytes_), bytes_.size());
  LAB_DRIVER(cuMemAddressFree)(address_of(bytes_), bytes_.size());
  LAB_DRIVER(cuMemRelease)(allocation_);
} catch (const std::exception&) {
  // The driver frees everything when the process ends.
}

}  // namespace lab
