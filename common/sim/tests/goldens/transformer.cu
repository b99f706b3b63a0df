// The kernels of a small language model: normalisations, softmax, attention, activations, loss, optimiser.
#include "goldens.hpp"

namespace {

using namespace goldens;

__device__ float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffffu, v, step);
  return v;
}
__device__ float warp_max(float v) {
  for (int step = 16; step > 0; step /= 2) v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, step));
  return v;
}
/// Gives all threads the sum over a block of whole warps.
__device__ float block_sum(float v) {
  __shared__ float of_warp[32];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0.0f;
#pragma unroll 1
  for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += of_warp[w];
  return sum;
}

// ---- normalisations over rows of `width`

__global__ void layernorm_thread_per_row(float* out, const float* in, const float* scale, const float* shift, int rows,
                                         int width) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = in + r * width;
  float mean = 0.0f, square = 0.0f;
  for (int c = 0; c < width; ++c) mean += x[c];
  mean /= static_cast<float>(width);
  for (int c = 0; c < width; ++c) {
    const float d = x[c] - mean;
    square += d * d;
  }
  const float inverse = rsqrtf(square / static_cast<float>(width) + 1e-5f);
  for (int c = 0; c < width; ++c) out[r * width + c] = (x[c] - mean) * inverse * scale[c] + shift[c];
}

__global__ void layernorm_warp_per_row(float* out, const float* in, const float* scale, const float* shift, int rows,
                                       int width) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const float* x = in + r * width;
  float sum = 0.0f, square = 0.0f;
  for (int c = lane; c < width; c += 32) {
    const float v = x[c];
    sum += v;
    square += v * v;
  }
  const float mean = warp_sum(sum) / static_cast<float>(width);
  const float inverse = rsqrtf(warp_sum(square) / static_cast<float>(width) - mean * mean + 1e-5f);
  for (int c = lane; c < width; c += 32) out[r * width + c] = (x[c] - mean) * inverse * scale[c] + shift[c];
}

__global__ void layernorm_block_per_row(float* out, const float* in, const float* scale, const float* shift,
                                        int width) {
  const float* x = in + blockIdx.x * width;
  float sum = 0.0f, square = 0.0f;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    const float v = x[c];
    sum += v;
    square += v * v;
  }
  const float mean = block_sum(sum) / static_cast<float>(width);
  const float inverse = rsqrtf(block_sum(square) / static_cast<float>(width) - mean * mean + 1e-5f);
  for (int c = threadIdx.x; c < width; c += blockDim.x)
    out[blockIdx.x * width + c] = (x[c] - mean) * inverse * scale[c] + shift[c];
}

/// A row fits in the registers of a block: read once, 16 bytes at a time.
__global__ void layernorm_quads(float4* out, const float4* in, const float4* scale, const float4* shift, int quads) {
  const int at = blockIdx.x * quads + threadIdx.x;
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  const bool mine = static_cast<int>(threadIdx.x) < quads;
  if (mine) v = in[at];
  const float width = 4.0f * static_cast<float>(quads);
  const float mean = block_sum(v.x + v.y + v.z + v.w) / width;
  const float square = block_sum(v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w) / width;
  const float inverse = rsqrtf(square - mean * mean + 1e-5f);
  if (!mine) return;
  const float4 g = scale[threadIdx.x], b = shift[threadIdx.x];
  out[at] = make_float4((v.x - mean) * inverse * g.x + b.x, (v.y - mean) * inverse * g.y + b.y,
                        (v.z - mean) * inverse * g.z + b.z, (v.w - mean) * inverse * g.w + b.w);
}

__global__ void rmsnorm(float* out, const float* in, const float* scale, int width) {
  const float* x = in + blockIdx.x * width;
  float square = 0.0f;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    const float v = x[c];
    square += v * v;
  }
  const float inverse = rsqrtf(block_sum(square) / static_cast<float>(width) + 1e-6f);
  for (int c = threadIdx.x; c < width; c += blockDim.x) out[blockIdx.x * width + c] = x[c] * inverse * scale[c];
}

// ---- softmax over rows

__global__ void softmax_three_passes(float* out, const float* in, int rows, int width) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = in + r * width;
  float most = -1e30f, sum = 0.0f;
  for (int c = 0; c < width; ++c) most = fmaxf(most, x[c]);
  for (int c = 0; c < width; ++c) sum += expf(x[c] - most);
  const float scale = 1.0f / sum;
  for (int c = 0; c < width; ++c) out[r * width + c] = expf(x[c] - most) * scale;
}

/// Maximum and sum in one pass; the sum is scaled down when a larger maximum comes.
__global__ void softmax_online(float* out, const float* in, int rows, int width) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rows) return;
  const float* x = in + r * width;
  float most = -1e30f, sum = 0.0f;
  for (int c = 0; c < width; ++c) {
    const float v = x[c], larger = fmaxf(most, v);
    sum = sum * expf(most - larger) + expf(v - larger);
    most = larger;
  }
  const float scale = 1.0f / sum;
  for (int c = 0; c < width; ++c) out[r * width + c] = expf(x[c] - most) * scale;
}

__global__ void softmax_warp_per_row(float* out, const float* in, int rows, int width) {
  const int r = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (r >= rows) return;
  const float* x = in + r * width;
  float most = -1e30f, sum = 0.0f;
  for (int c = lane; c < width; c += 32) most = fmaxf(most, x[c]);
  most = warp_max(most);
  for (int c = lane; c < width; c += 32) sum += expf(x[c] - most);
  const float scale = 1.0f / warp_sum(sum);
  for (int c = lane; c < width; c += 32) out[r * width + c] = expf(x[c] - most) * scale;
}

// ---- attention: queries, keys, values of (length, depth), one head per block in y

__global__ void attention_scores(float* score, const float* q, const float* k, int length, int depth) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y, head = blockIdx.z;
  if (j >= length) return;
  const float* query = q + (head * length + i) * depth;
  const float* key = k + (head * length + j) * depth;
  float sum = 0.0f;
  if (j <= i)
    for (int d = 0; d < depth; ++d) sum += query[d] * key[d];
  score[(head * length + i) * length + j] = j <= i ? sum * rsqrtf(static_cast<float>(depth)) : -1e30f;
}

__global__ void attention_values(float* out, const float* weight, const float* v, int length, int depth) {
  const int d = threadIdx.x, i = blockIdx.y, head = blockIdx.z;
  float sum = 0.0f;
  for (int j = 0; j <= i; ++j) sum += weight[(head * length + i) * length + j] * v[(head * length + j) * depth + d];
  out[(head * length + i) * depth + d] = sum;
}

/// (length, heads, depth) to (heads, length, depth).
__global__ void split_heads(float* out, const float* in, int length, int heads, int depth) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= length * heads * depth) return;
  const int d = i % depth, t = i / depth % length, h = i / depth / length;
  out[i] = in[(t * heads + h) * depth + d];
}

__global__ void rotate_pairs(float2* x, const float2* angle, int pairs, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 v = x[i], a = angle[i % pairs];
  x[i] = make_float2(v.x * a.x - v.y * a.y, v.x * a.y + v.y * a.x);
}

// ---- elementwise

__global__ void embed(float* out, const int* token, const float* table, const float* position, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int t = i / width, c = i % width;
  out[i] = table[token[t] * width + c] + position[i];
}

__global__ void gelu(float* out, const float* in, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

__global__ void add_residual(float* out, const float* a, const float* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}

__global__ void add_residual_quads(float4* out, const float4* a, const float4* b, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 u = a[i], v = b[i];
  out[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
}

__global__ void add_bias(float* out, const float* bias, int width, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += bias[i % width];
}

/// Gradient of a bias: each thread sums one column.
__global__ void bias_gradient(float* gradient, const float* dout, int rows, int width) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= width) return;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r) sum += dout[r * width + c];
  gradient[c] += sum;
}

__global__ void cross_entropy(float* loss, const float* logit, const int* target, int width) {
  const float* x = logit + blockIdx.x * width;
  float sum = 0.0f;
  for (int c = threadIdx.x; c < width; c += blockDim.x) sum += expf(x[c]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) - x[target[blockIdx.x]];
}

__global__ void adamw(float* weight, float* m, float* v, const float* gradient, float rate, float decay, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float g = gradient[i], w = weight[i];
  const float first = 0.9f * m[i] + 0.1f * g, second = 0.999f * v[i] + 0.001f * g * g;
  m[i] = first;
  v[i] = second;
  weight[i] = w - rate * (first / (sqrtf(second) + 1e-8f) + decay * w);
}

}  // namespace

cudaError_t run_transformer() {
  memory m;
  const int rows = 60, width = 200, n = rows * width, block = 256, grid = blocks_for(n, block);
  auto value = [](std::size_t i) { return noise(i); };
  float *in = m.filled(4 * n, value), *out = m.bytes<float>(4 * n), *scale = m.filled(4 * n, value);
  auto *in4 = reinterpret_cast<float4*>(in), *out4 = reinterpret_cast<float4*>(out);
  auto* scale4 = reinterpret_cast<float4*>(scale);
  int* token = m.filled(rows, [](std::size_t i) { return static_cast<int>(hash(i) % 50); });
  layernorm_thread_per_row<<<1, 64>>>(out, in, scale, in, rows, width);
  layernorm_warp_per_row<<<rows / 4, 128>>>(out, in, scale, in, rows, width);
  layernorm_block_per_row<<<rows, 128>>>(out, in, scale, in, width);
  layernorm_quads<<<rows, 64>>>(out4, in4, scale4, in4, width / 4);
  rmsnorm<<<rows, 128>>>(out, in, scale, width);
  softmax_three_passes<<<2, 32>>>(out, in, rows, width);
  softmax_online<<<2, 32>>>(out, in, rows, width);
  softmax_warp_per_row<<<rows / 4, 128>>>(out, in, rows, width);
  attention_scores<<<dim3(2, 40, 3), 32>>>(out, in, scale, 40, 48);
  attention_values<<<dim3(1, 40, 3), 48>>>(out, in, scale, 40, 48);
  split_heads<<<blocks_for(40 * 3 * 48, block), block>>>(out, in, 40, 3, 48);
  rotate_pairs<<<grid, block>>>(reinterpret_cast<float2*>(out), reinterpret_cast<const float2*>(in), 24, n);
  embed<<<grid, block>>>(out, token, in, scale, width, n);
  gelu<<<grid, block>>>(out, in, n);
  add_residual<<<grid, block>>>(out, in, scale, n);
  add_residual_quads<<<grid, block>>>(out4, in4, scale4, n);
  add_bias<<<grid, block>>>(out, in, width, n);
  bias_gradient<<<2, 128>>>(scale, in, rows, width);
  cross_entropy<<<rows, 64>>>(out, in, token, width);
  adamw<<<grid, block>>>(out, out + n, out + 2 * n, in, 1e-3f, 0.1f, n);
  return finished();
}

cudaError_t time_transformer() {
  memory m;
  const int rows = 8192, width = 1024, n = rows * width, block = 256, grid = n / block;
  float *in = m.bytes<float>(n, 0x3c), *out = m.bytes<float>(n), *scale = m.bytes<float>(n, 0x3c);
  float *first = m.bytes<float>(n), *second = m.bytes<float>(n);
  layernorm_thread_per_row<<<rows / 256, 256>>>(out, in, scale, in, rows, width);
  layernorm_warp_per_row<<<rows / 4, 128>>>(out, in, scale, in, rows, width);
  layernorm_quads<<<rows, 256>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in),
                                 reinterpret_cast<const float4*>(scale), reinterpret_cast<const float4*>(in),
                                 width / 4);
  softmax_online<<<rows / 256, 256>>>(out, in, rows, width);
  softmax_warp_per_row<<<rows / 4, 128>>>(out, in, rows, width);
  gelu<<<grid, block>>>(out, in, n);
  add_residual<<<grid, block>>>(out, in, scale, n);
  add_residual_quads<<<grid / 4, block>>>(reinterpret_cast<float4*>(out), reinterpret_cast<const float4*>(in),
                                          reinterpret_cast<const float4*>(scale), n / 4);
  adamw<<<grid, block>>>(out, first, second, in, 1e-3f, 0.1f, n);
  attention_scores<<<dim3(8, 256, 8), 32>>>(out, in, scale, 256, 64);
  return finished();
}
