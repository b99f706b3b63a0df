#include "recomputation.hpp"
#include <stdio.h>
#define SIG(x) (1.f/(1.f+__expf(-(x))))
#define TID (blockIdx.x*blockDim.x+threadIdx.x)
#define NT (gridDim.x*blockDim.x)
#define LAUNCH(k, n, s, ...) do { k<<<((n)+255)/256, 256, 0, s>>>(__VA_ARGS__); \
	cudaError_t e = cudaGetLastError(); if (e != cudaSuccess) printf("%s\n", cudaGetErrorString(e)); } while (0)


__global__ static void fwd(float *o, const float *x, int n) {
	for (int i = TID; i < n; i += NT) o[i] = SIG(SIG(SIG(x[i])));
}
__global__ static void bwd(float *dx, const float *x, const float *dy, int n) {
	for (int i = TID; i < n; i += NT) {
		float a = SIG(x[i]), b = SIG(a), c = SIG(b);
		dx[i] = dy[i]*c*(1.f-c)*b*(1.f-b)*a*(1.f-a);
	}
}
void lab05::forward(float *out, const float *in, int n, cudaStream_t stream) { LAUNCH(fwd, n, stream, out, in, n); }
void lab05::backward(float *d_in, const float *in, const float *d_out, int n, cudaStream_t stream) { LAUNCH(bwd, n, stream, d_in, in, d_out, n); }
