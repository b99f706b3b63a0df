#include <float.h>
#include <math.h>
#include <stdio.h>
#include "attention.hpp"

#define CDIV(a, b) (((a) + (b) - 1) / (b))
#define DOT(n, x, y) ({ float s_ = 0; for (int i_ = 0; i_ < (n); i_++) s_ += (float)(x)[i_] * (float)(y)[i_]; s_; })

/* one thread, one query, two passes: first the sum, then the values, 16 columns at a time */
#define ATTENTION(name, type)                                                                                              \
	__global__ void name(type* out, float* lse, const type* q, const type* k, const type* v, int queries, int tokens, int size, int causal) \
	{                                                                                                                  \
		int i = blockIdx.x * blockDim.x + threadIdx.x, j, c, d, n;                                                 \
		float most = -FLT_MAX, sum = 0, factor = 1.0f / sqrtf((float)size);                                        \
		const type *mine, *keys, *values;                                                                          \
		if (i >= queries) return;                                                                                  \
		n = causal ? i + 1 : tokens;                                                                               \
		mine = q + ((size_t)blockIdx.y * queries + i) * size;                                                      \
		keys = k + (size_t)blockIdx.y * tokens * size;                                                             \
		values = v + (size_t)blockIdx.y * tokens * size;                                                           \
		for (j = 0; j < n; j++) {                                                                                  \
			float s = factor * DOT(size, mine, keys + (size_t)j * size), top = fmaxf(most, s);                 \
			sum = sum * expf(most - top) + expf(s - top);                                                      \
			most = top;                                                                                        \
		}                                                                                                          \
		for (c = 0; c < size; c += 64) {                                                                           \
			float part[64] = {0};                                                                              \
			for (j = 0; j < n; j++) {                                                                          \
				float w = expf(factor * DOT(size, mine, keys + (size_t)j * size) - most);                  \
				for (d = 0; d < 64; d++) part[d] += w * (float)values[(size_t)j * size + c + d];           \
			}                                                                                                  \
			for (d = 0; d < 64; d++) out[((size_t)blockIdx.y * queries + i) * size + c + d] = (type)(part[d] / sum); \
		}                                                                                                          \
		if (lse) lse[(size_t)blockIdx.y * queries + i] = most + logf(sum);                                         \
	}

ATTENTION(fp32_kernel, float)
ATTENTION(bf16_kernel, __nv_bfloat16)

static void check(const char* where)
{
	cudaError_t e = cudaGetLastError();
	if (e != cudaSuccess) fprintf(stderr, "%s: %s\n", where, cudaGetErrorString(e));
}

void lab11::attention_fp32(float* out, float* lse, const float* q, const float* k, const float* v, int heads, int tokens, int size, bool causal, cudaStream_t stream)
{
	fp32_kernel<<<dim3(CDIV(tokens, 64), heads), 64, 0, stream>>>(out, lse, q, k, v, tokens, tokens, size, causal);
	check("attention_fp32");
}

void lab11::attention_bf16(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, bool causal, cudaStream_t stream)
{
	bf16_kernel<<<dim3(CDIV(tokens, 64), heads), 64, 0, stream>>>(out, lse, q, k, v, tokens, tokens, size, causal);
	check("attention_bf16");
}

void lab11::decode_bf16(bf16* out, float* workspace, const bf16* q, const bf16* k, const bf16* v, int heads, int tokens, int size, cudaStream_t stream)
{
	(void)workspace;
	bf16_kernel<<<dim3(1, heads), 1, 0, stream>>>(out, NULL, q, k, v, 1, tokens, size, 0);
	check("decode_bf16");
}
