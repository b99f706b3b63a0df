// Which device does the machine have, and do its figures make sense?
#include <cuda_runtime.h>

#include <cstdio>

int main() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    std::puts("There are no available device(s) that support CUDA");
    return 1;
  }
  for (int dev = 0; dev < count; ++dev) {
    cudaSetDevice(dev);
    cudaDeviceProp deviceProp;
    cudaGetDeviceProperties(&deviceProp, dev);
    int driver = 0, runtime = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    size_t available = 0, total = 0;
    cudaMemGetInfo(&available, &total);
    std::printf("Device %d: \"%s\"\n", dev, deviceProp.name);
    std::printf("  driver %d.%d, runtime %d.%d, capability %d.%d\n", driver / 1000, driver % 1000 / 10, runtime / 1000,
                runtime % 1000 / 10, deviceProp.major, deviceProp.minor);
    std::printf("  %.0f MB of memory, %.0f free; %d multiprocessors; L2 %d bytes\n",
                deviceProp.totalGlobalMem / 1048576.0, available / 1048576.0, deviceProp.multiProcessorCount,
                deviceProp.l2CacheSize);
    std::printf("  shared %zu a block, %zu a multiprocessor; %d registers; warp %d\n", deviceProp.sharedMemPerBlock,
                deviceProp.sharedMemPerMultiprocessor, deviceProp.regsPerBlock, deviceProp.warpSize);
    std::printf("  %d threads per block (%d, %d, %d), %d per multiprocessor; grid (%d, %d, %d)\n",
                deviceProp.maxThreadsPerBlock, deviceProp.maxThreadsDim[0], deviceProp.maxThreadsDim[1],
                deviceProp.maxThreadsDim[2], deviceProp.maxThreadsPerMultiProcessor, deviceProp.maxGridSize[0],
                deviceProp.maxGridSize[1], deviceProp.maxGridSize[2]);
    int clock = 0, sms = 0;
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, dev);
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, dev);
    std::printf("  clock %.2f GHz\n", clock * 1e-6);
    if (sms != deviceProp.multiProcessorCount || deviceProp.warpSize != 32 || deviceProp.maxThreadsPerBlock != 1024 ||
        deviceProp.maxThreadsDim[2] != 64 || deviceProp.maxGridSize[0] != 2147483647 || deviceProp.major < 8 ||
        deviceProp.sharedMemPerBlock != 49152 || available > total || total == 0 || clock <= 0 ||
        deviceProp.regsPerBlock != 65536 || deviceProp.totalConstMem != 65536) {
      std::puts("Result = FAIL");
      return 1;
    }
  }
  std::puts("Result = PASS");
}
