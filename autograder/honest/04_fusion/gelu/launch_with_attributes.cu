#include <lab/device.hpp>
#include "fusion.hpp"

static __global__ void gelu_early(const float *src, float *dst, int count)
{
    asm volatile("griddepcontrol.launch_dependents;");
    cudaGridDependencySynchronize();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
        const float v = src[i];
        const float u = 0.79788456f * (v + 0.044715f * v * v * v);
        dst[i] = 0.5f * v * (1.0f + tanhf(u));
    }
}

void lab04::gelu(float* out, const float* in, int n, cudaStream_t stream)
{
    cudaLaunchAttribute attributes[1];
    attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[0].val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = (n + 255) / 256;
    config.blockDim = 256;
    config.stream = stream;
    config.attrs = attributes;
    config.numAttrs = 1;
    LAB_CUDA_CHECK(cudaLaunchKernelEx(&config, gelu_early, in, out, n));
}
