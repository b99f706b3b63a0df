#include <math_constants.h>
#include <stdio.h>
#include <stdlib.h>
#include "decode.hpp"

#define CUDA_CHECK(x) do { cudaError_t err = (x); if (err != cudaSuccess) { printf("CUDA error %s at %s:%d\n", cudaGetErrorString(err), __FILE__, __LINE__); exit(1); } } while (0)
#define LAUNCH(kernel, grid, block, shared, ...) do { kernel<<<grid, block, shared, stream>>>(__VA_ARGS__); CUDA_CHECK(cudaGetLastError()); } while (0)
#define THREADS 128

/* textbook: a tree in shared memory */
__device__ float block_sum(float mine, float* shared)
{
	int s, t = threadIdx.x;
	shared[t] = mine;
	__syncthreads();
	for (s = blockDim.x / 2; s > 0; s >>= 1) {
		if (t < s) shared[t] += shared[t + s];
		__syncthreads();
	}
	mine = shared[0];
	__syncthreads();
	return mine;
}

__global__ void row_kernel(float* y, const lab10::bf16* w, const float* x, const lab10::bf16* norm, const float* residual, int rows, int columns, int gate)
{
	__shared__ float shared[THREADS];
	int c, row = blockIdx.x;
	float a = 0, b = 0, squares = 0, root = 1;
	for (c = threadIdx.x; c < columns; c += THREADS) {
		float in = x[c];
		squares += in * in;
		if (norm) in *= __bfloat162float(norm[c]);
		a += __bfloat162float(w[(size_t)row * columns + c]) * in;
		if (gate) b += __bfloat162float(w[(size_t)(row + rows) * columns + c]) * in;
	}
	a = block_sum(a, shared);
	if (gate) b = block_sum(b, shared);
	if (norm) root = rsqrtf(block_sum(squares, shared) / columns + 1e-5f);
	if (threadIdx.x != 0) return;
	a *= root;
	if (gate) a = a / (1 + expf(-a)) * (b * root);
	if (residual) a += residual[row];
	y[row] = a;
}

__global__ void append_kernel(float* q, lab10::bf16* k_cache, lab10::bf16* v_cache, const float* qkv, const float* rotary, const int* position, int heads, int kv_heads, int size, int capacity)
{
	int h = blockIdx.x, i = threadIdx.x, p = position[0];
	float own = qkv[h * size + i], other = qkv[h * size + (i ^ 1)], c = rotary[(size_t)p * size + (i & ~1)], s = rotary[(size_t)p * size + (i | 1)];
	float turned = i & 1 ? own * c + other * s : own * c - other * s;
	if (h < heads) q[h * size + i] = turned;
	else if (h < heads + kv_heads) k_cache[((size_t)(h - heads) * capacity + p) * size + i] = __float2bfloat16_rn(turned);
	else v_cache[((size_t)(h - heads - kv_heads) * capacity + p) * size + i] = __float2bfloat16_rn(own);
}

/* a block has one head and one part of the keys: each thread one key after another, then one thread per column */
__global__ void part_kernel(float* workspace, const float* q, const lab10::bf16* k, const lab10::bf16* v, const int* position, int group, int size, int capacity)
{
	extern __shared__ float shared[];
	float* query = shared;
	float* weight = shared + size;
	int tokens = position[0] + 1, parts = gridDim.y, each = (tokens + parts - 1) / parts;
	int from = blockIdx.y * each, to = min(from + each, tokens), t, i, at;
	const lab10::bf16* keys = k + (size_t)(blockIdx.x / group) * capacity * size;
	const lab10::bf16* values = v + (size_t)(blockIdx.x / group) * capacity * size;
	float* mine = workspace + ((size_t)blockIdx.x * parts + blockIdx.y) * (size + 2);
	float highest = -CUDART_INF_F, sum = 0, total = 0;
	if ((int)threadIdx.x < size) query[threadIdx.x] = q[blockIdx.x * size + threadIdx.x];
	__syncthreads();
	for (at = from; at < to; at += THREADS) {
		int here = min(THREADS, to - at);
		float before = highest, kept;
		if ((int)threadIdx.x < here) {
			float score = 0;
			for (i = 0; i < size; i++) score += query[i] * __bfloat162float(keys[(size_t)(at + threadIdx.x) * size + i]);
			weight[threadIdx.x] = score / sqrtf((float)size);
		}
		__syncthreads();
		for (t = 0; t < here; t++) highest = fmaxf(highest, weight[t]);
		kept = expf(before - highest);
		sum *= kept;
		total *= kept;
		for (t = 0; t < here; t++) {
			float e = expf(weight[t] - highest);
			total += e;
			if ((int)threadIdx.x < size) sum += e * __bfloat162float(values[(size_t)(at + t) * size + threadIdx.x]);
		}
		__syncthreads();
	}
	if ((int)threadIdx.x < size) mine[2 + threadIdx.x] = sum;
	if (threadIdx.x == 0) mine[0] = highest, mine[1] = total;
}

__global__ void merge_kernel(float* out, const float* workspace, int parts, int size)
{
	const float* all = workspace + (size_t)blockIdx.x * parts * (size + 2);
	float top = all[0], num = 0, den = 0;
	int p;
	for (p = 1; p < parts; p++) top = fmaxf(top, all[p * (size + 2)]);
	for (p = 0; p < parts; p++) {
		const float* one = all + p * (size + 2);
		float share = one[1] > 0 ? expf(one[0] - top) : 0;
		den += share * one[1];
		num += share * one[2 + threadIdx.x];
	}
	out[blockIdx.x * size + threadIdx.x] = num / den;
}

__global__ void embed_kernel(float* x, const lab10::bf16* table, const int* token, int width)
{
	for (int i = threadIdx.x; i < width; i += blockDim.x) x[i] = __bfloat162float(table[(size_t)token[0] * width + i]);
}

__global__ void argmax_kernel(int* chosen, const float* logits, int n, int* token, int* position)
{
	__shared__ float value[THREADS];
	__shared__ int index[THREADS];
	int i, s, t = threadIdx.x;
	value[t] = -CUDART_INF_F;
	index[t] = n;
	for (i = t; i < n; i += THREADS)
		if (logits[i] > value[t]) value[t] = logits[i], index[t] = i;
	for (s = THREADS / 2; s > 0; s /= 2) {
		__syncthreads();
		if (t < s && (value[t + s] > value[t] || (value[t + s] == value[t] && index[t + s] < index[t]))) value[t] = value[t + s], index[t] = index[t + s];
	}
	if (t == 0) {
		chosen[position[0]] = token[0] = index[0];
		position[0]++;
	}
}

namespace lab10 {
void matvec(float* y, const bf16* w, const float* x, const float* residual, int rows, int columns, cudaStream_t stream) { LAUNCH(row_kernel, rows, THREADS, 0, y, w, x, NULL, residual, rows, columns, 0); }
void norm_matvec(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) { LAUNCH(row_kernel, rows, THREADS, 0, y, w, x, norm, NULL, rows, columns, 0); }
void norm_gate(float* y, const bf16* w, const float* x, const bf16* norm, int rows, int columns, cudaStream_t stream) { LAUNCH(row_kernel, rows, THREADS, 0, y, w, x, norm, NULL, rows, columns, 1); }
void rotate_append(float* q, bf16* k_cache, bf16* v_cache, const float* qkv, const float* rotary, const int* position, int heads, int kv_heads, int size, int capacity, cudaStream_t stream)
{
	LAUNCH(append_kernel, heads + 2 * kv_heads, size, 0, q, k_cache, v_cache, qkv, rotary, position, heads, kv_heads, size, capacity);
}
void attend(float* out, float* workspace, const float* q, const bf16* k_cache, const bf16* v_cache, const int* position, int heads, int kv_heads, int size, int capacity, cudaStream_t stream)
{
	int parts = capacity < 8 * 256 ? 8 : most_parts;
	LAUNCH(part_kernel, dim3(heads, parts), THREADS, (size + THREADS) * sizeof(float), workspace, q, k_cache, v_cache, position, heads / kv_heads, size, capacity);
	LAUNCH(merge_kernel, heads, size, 0, out, workspace, parts, size);
}
void decode_token(float* logits, const model& m, const state& s, cudaStream_t stream)
{
	const shape d = m.shape;
	float* x = s.scratch;
	float* workspace = x + d.width;
	float* hidden = workspace + (size_t)d.heads * most_parts * (d.size + 2);
	float* q = hidden + d.hidden;
	float* attention = q + d.heads * d.size;
	float* qkv = attention + d.heads * d.size;
	int l, rows = (d.heads + 2 * d.kv_heads) * d.size;
	LAUNCH(embed_kernel, 1, 256, 0, x, m.embedding, s.token, d.width);
	for (l = 0; l < d.layers; l++) {
		size_t cache = (size_t)l * d.kv_heads * d.capacity * d.size;
		norm_matvec(qkv, m.layers[l].qkv, x, m.layers[l].norm1, rows, d.width, stream);
		rotate_append(q, s.k_cache + cache, s.v_cache + cache, qkv, m.rotary, s.position, d.heads, d.kv_heads, d.size, d.capacity, stream);
		attend(attention, workspace, q, s.k_cache + cache, s.v_cache + cache, s.position, d.heads, d.kv_heads, d.size, d.capacity, stream);
		matvec(x, m.layers[l].out, attention, x, d.width, d.heads * d.size, stream);
		norm_gate(hidden, m.layers[l].gate_up, x, m.layers[l].norm2, d.hidden, d.width, stream);
		matvec(x, m.layers[l].down, hidden, x, d.width, d.hidden, stream);
	}
	norm_matvec(logits, m.embedding, x, m.norm, d.vocabulary, d.width, stream);
}
void generate(int* chosen, float* logits, const model& m, const state& s, int count, cudaStream_t stream)
{
	int i;
	for (i = 0; i < count; i++) {
		decode_token(logits, m, s, stream);
		LAUNCH(argmax_kernel, 1, THREADS, 0, chosen, logits, m.shape.vocabulary, s.token, s.position);
	}
}
}
