#include "accounting.hpp"
#include <stdio.h>
#include <stdlib.h>
#define CHECK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e)); exit(1); } } while (0)
namespace lab01 {
static __global__ void k_copy(float *out, const float *in, int n)
{
	int i = 4*(blockIdx.x*blockDim.x + threadIdx.x);
	if (i + 3 < n) {
		*(float4*)(out+i) = *(const float4*)(in+i);
		return;
	}
	for (; i < n; i++) out[i] = in[i];
}
static __global__ void k_fma(float *out, const float *in, const float *c, int n, int rounds)
{
	int i = blockIdx.x*blockDim.x + threadIdx.x;
	if (i >= n) return;
	float x = in[i], y = c[i];
	while (rounds--) x = x*x + y;
	out[i] = x;
}
void copy(float* out, const float* in, int n, cudaStream_t s)
{
	k_copy<<<(n+1023)/1024, 256, 0, s>>>(out, in, n);
	CHECK(cudaGetLastError());
}
void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t s)
{
	k_fma<<<(n+255)/256, 256, 0, s>>>(out, in, c, n, rounds);
	CHECK(cudaGetLastError());
}
}
