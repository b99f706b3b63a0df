#include "forward.hpp"
#define NT 256
namespace lab08 {
extern __shared__ float sh[];
__device__ static float red(float v, int mx)
{
	__shared__ float part[NT];
	int t = threadIdx.x, h;
	part[t] = v;
	__syncthreads();
	for (h = NT/2; h; h >>= 1) {
		if (t < h) part[t] = mx ? fmaxf(part[t], part[t+h]) : part[t]+part[t+h];
		__syncthreads();
	}
	v = part[0];
	__syncthreads();
	return v;
}
__global__ void k_ln(float *o, const float *in, const float *w, const float *b, int C)
{
	int c; float s = 0, q = 0, m, r;
	in += (size_t)blockIdx.x*C; o += (size_t)blockIdx.x*C;
	for (c = threadIdx.x; c < C; c += NT) { sh[c] = in[c]; s += sh[c]; }
	m = red(s, 0)/C;
	for (c = threadIdx.x; c < C; c += NT) { float d = sh[c]-m; q += d*d; }
	r = rsqrtf(red(q, 0)/C+1e-5f);
	for (c = threadIdx.x; c < C; c += NT) o[c] = (sh[c]-m)*r*w[c]+b[c];
}
__global__ void k_sm(float *o, const float *in, int T, float scale)
{
	int t = blockIdx.x%T, c; float m = -3.4e38f, s = 0;
	in += (size_t)blockIdx.x*T; o += (size_t)blockIdx.x*T;
	for (c = threadIdx.x; c <= t; c += NT) { sh[c] = in[c]*scale; m = fmaxf(m, sh[c]); }
	m = red(m, 1);
	for (c = threadIdx.x; c <= t; c += NT) { sh[c] = expf(sh[c]-m); s += sh[c]; }
	s = red(s, 0);
	for (c = threadIdx.x; c < T; c += NT) o[c] = c <= t ? sh[c]/s : 0;
}
void layer_norm(float* out, const float* in, const float* w, const float* b, int rows, int C, cudaStream_t s)
{ k_ln<<<rows,NT,C*sizeof(float),s>>>(out, in, w, b, C); }
void causal_softmax(float* out, const float* scores, int matrices, int T, float scale, cudaStream_t s)
{ k_sm<<<matrices*T,NT,T*sizeof(float),s>>>(out, scores, T, scale); }
}
