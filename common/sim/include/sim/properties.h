// Properties that a program can query: cudaDeviceProp and the attributes, each attribute with its source.
#pragma once

#include <cstddef>

struct cudaUUID_t {
  char bytes[16];
};

struct cudaDeviceProp {
  char name[256];
  cudaUUID_t uuid;
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem, sharedMemPerBlock;
  int regsPerBlock, warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
  std::size_t totalConstMem;
  int major, minor;
  std::size_t textureAlignment, texturePitchAlignment;
  int multiProcessorCount, integrated, canMapHostMemory;
  int maxTexture1D, maxTexture1DMipmap, maxTexture2D[2], maxTexture2DMipmap[2], maxTexture2DLinear[3],
      maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap, maxTexture1DLayered[2],
      maxTexture2DLayered[3], maxTextureCubemapLayered[2];
  int maxSurface1D, maxSurface2D[2], maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap,
      maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount, unifiedAddressing,
      memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize, maxThreadsPerMultiProcessor, streamPrioritiesSupported,
      globalL1CacheSupported, localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
      pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem,
      cooperativeLaunch;
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
      accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported, sparseCudaArraySupported, hostRegisterReadOnlySupported, timelineSemaphoreInteropSupported,
      memoryPoolsSupported, gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers, deviceNumaConfig,
      deviceNumaId, mpsEnabled, hostNumaId;
  // Removed in CUDA 13; older programs print them.
  int clockRate, memoryClockRate, computeMode, deviceOverlap, kernelExecTimeoutEnabled,
      singleToDoublePrecisionPerfRatio, cooperativeMultiDeviceLaunch;
};

// Name, CUDA's number, and the value for the properties p.
#define SIM_DEVICE_ATTRIBUTES(X)                                                           \
  X(MaxThreadsPerBlock, 1, p.maxThreadsPerBlock)                                           \
  X(MaxBlockDimX, 2, p.maxThreadsDim[0])                                                   \
  X(MaxBlockDimY, 3, p.maxThreadsDim[1])                                                   \
  X(MaxBlockDimZ, 4, p.maxThreadsDim[2])                                                   \
  X(MaxGridDimX, 5, p.maxGridSize[0])                                                      \
  X(MaxGridDimY, 6, p.maxGridSize[1])                                                      \
  X(MaxGridDimZ, 7, p.maxGridSize[2])                                                      \
  X(MaxSharedMemoryPerBlock, 8, p.sharedMemPerBlock)                                       \
  X(TotalConstantMemory, 9, p.totalConstMem)                                               \
  X(WarpSize, 10, p.warpSize)                                                              \
  X(MaxPitch, 11, p.memPitch)                                                              \
  X(MaxRegistersPerBlock, 12, p.regsPerBlock)                                              \
  X(ClockRate, 13, p.clockRate)                                                            \
  X(TextureAlignment, 14, p.textureAlignment)                                              \
  X(GpuOverlap, 15, p.deviceOverlap)                                                       \
  X(MultiProcessorCount, 16, p.multiProcessorCount)                                        \
  X(KernelExecTimeout, 17, p.kernelExecTimeoutEnabled)                                     \
  X(Integrated, 18, p.integrated)                                                          \
  X(CanMapHostMemory, 19, p.canMapHostMemory)                                              \
  X(ComputeMode, 20, p.computeMode)                                                        \
  X(SurfaceAlignment, 30, p.surfaceAlignment)                                              \
  X(ConcurrentKernels, 31, p.concurrentKernels)                                            \
  X(EccEnabled, 32, p.ECCEnabled)                                                          \
  X(PciBusId, 33, p.pciBusID)                                                              \
  X(PciDeviceId, 34, p.pciDeviceID)                                                        \
  X(TccDriver, 35, p.tccDriver)                                                            \
  X(MemoryClockRate, 36, p.memoryClockRate)                                                \
  X(GlobalMemoryBusWidth, 37, p.memoryBusWidth)                                            \
  X(L2CacheSize, 38, p.l2CacheSize)                                                        \
  X(MaxThreadsPerMultiProcessor, 39, p.maxThreadsPerMultiProcessor)                        \
  X(AsyncEngineCount, 40, p.asyncEngineCount)                                              \
  X(UnifiedAddressing, 41, p.unifiedAddressing)                                            \
  X(PciDomainId, 50, p.pciDomainID)                                                        \
  X(TexturePitchAlignment, 51, p.texturePitchAlignment)                                    \
  X(ComputeCapabilityMajor, 75, p.major)                                                   \
  X(ComputeCapabilityMinor, 76, p.minor)                                                   \
  X(StreamPrioritiesSupported, 78, p.streamPrioritiesSupported)                            \
  X(GlobalL1CacheSupported, 79, p.globalL1CacheSupported)                                  \
  X(LocalL1CacheSupported, 80, p.localL1CacheSupported)                                    \
  X(MaxSharedMemoryPerMultiprocessor, 81, p.sharedMemPerMultiprocessor)                    \
  X(MaxRegistersPerMultiprocessor, 82, p.regsPerMultiprocessor)                            \
  X(ManagedMemory, 83, p.managedMemory)                                                    \
  X(IsMultiGpuBoard, 84, p.isMultiGpuBoard)                                                \
  X(MultiGpuBoardGroupID, 85, p.multiGpuBoardGroupID)                                      \
  X(HostNativeAtomicSupported, 86, p.hostNativeAtomicSupported)                            \
  X(SingleToDoublePrecisionPerfRatio, 87, p.singleToDoublePrecisionPerfRatio)              \
  X(PageableMemoryAccess, 88, p.pageableMemoryAccess)                                      \
  X(ConcurrentManagedAccess, 89, p.concurrentManagedAccess)                                \
  X(ComputePreemptionSupported, 90, p.computePreemptionSupported)                          \
  X(CanUseHostPointerForRegisteredMem, 91, p.canUseHostPointerForRegisteredMem)            \
  X(CooperativeLaunch, 95, p.cooperativeLaunch)                                            \
  X(MaxSharedMemoryPerBlockOptin, 97, p.sharedMemPerBlockOptin)                            \
  X(HostRegisterSupported, 99, p.hostRegisterSupported)                                    \
  X(PageableMemoryAccessUsesHostPageTables, 100, p.pageableMemoryAccessUsesHostPageTables) \
  X(DirectManagedMemAccessFromHost, 101, p.directManagedMemAccessFromHost)                 \
  X(MaxBlocksPerMultiprocessor, 106, p.maxBlocksPerMultiProcessor)                         \
  X(MaxPersistingL2CacheSize, 108, p.persistingL2CacheMaxSize)                             \
  X(MaxAccessPolicyWindowSize, 109, p.accessPolicyMaxWindowSize)                           \
  X(ReservedSharedMemoryPerBlock, 111, p.reservedSharedMemPerBlock)                        \
  X(SparseCudaArraySupported, 112, p.sparseCudaArraySupported)                             \
  X(HostRegisterReadOnlySupported, 113, p.hostRegisterReadOnlySupported)                   \
  X(TimelineSemaphoreInteropSupported, 114, p.timelineSemaphoreInteropSupported)           \
  X(MemoryPoolsSupported, 115, p.memoryPoolsSupported)                                     \
  X(GPUDirectRDMASupported, 116, p.gpuDirectRDMASupported)                                 \
  X(MemoryPoolSupportedHandleTypes, 119, p.memoryPoolSupportedHandleTypes)                 \
  X(ClusterLaunch, 120, p.clusterLaunch)                                                   \
  X(IpcEventSupport, 125, p.ipcEventSupported)

enum cudaDeviceAttr {
#define SIM_ENUMERATOR(name, number, value) cudaDevAttr##name = number,
  SIM_DEVICE_ATTRIBUTES(SIM_ENUMERATOR)
#undef SIM_ENUMERATOR
};
constexpr cudaDeviceAttr cudaDevAttrCooperativeMultiDeviceLaunch = static_cast<cudaDeviceAttr>(96);
