// hopper.cu, at small sizes: is each row of the result, and its lse, what attention computed in double says? Ends with
// 1 if not. Runs on both devices; the course's tests run it on the simulated one.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <lab/device.hpp>
#include <vector>

using bf16 = __nv_bfloat16;

extern "C" void attention_hopper(bf16* out, float* lse, const bf16* q, const bf16* k, const bf16* v, int heads,
                                 int tokens, int causal, cudaStream_t stream);

namespace {

constexpr int size = 128, heads = 2;

/// The largest error of an element and of an lse, of a query that sees `seen` keys.
void compare(double& worst, double& worst_lse, const bf16* q, const bf16* k, const bf16* v, const bf16* out, float lse,
             int seen) {
  std::vector<double> weights(seen), sums(size);
  double most = -1e9, sum = 0;
  for (int j = 0; j < seen; ++j) {
    for (int c = 0; c < size; ++c) weights[j] += double(float(q[c])) * double(float(k[j * size + c]));
    most = std::max(most, weights[j] /= std::sqrt(double(size)));
  }
  for (double& one : weights) sum += one = std::exp(one - most);
  for (int j = 0; j < seen; ++j)
    for (int c = 0; c < size; ++c) sums[c] += weights[j] / sum * double(float(v[j * size + c]));
  for (int c = 0; c < size; ++c) {
    const double error = std::abs(sums[c] - double(float(out[c])));
    worst = std::max(worst, error == error ? error : 1e9);  // a NaN is as wrong as can be
  }
  worst_lse = std::max(worst_lse, std::abs(most + std::log(sum) - double(lse)));
}

bool is_right(int tokens, bool causal) {
  const int n = heads * tokens * size;
  std::vector<bf16> in(3 * n), out(n);
  std::vector<float> lse(heads * tokens);
  unsigned state = 1;
  for (bf16& one : in) {
    state = state * 1664525u + 1013904223u;
    one = __float2bfloat16(static_cast<float>(state >> 8 & 0xffff) / 32768.0f - 1.0f);
  }
  bf16 *device_in, *device_out;
  float* device_lse;
  LAB_CUDA_CHECK(cudaMalloc(&device_in, in.size() * sizeof(bf16)));
  LAB_CUDA_CHECK(cudaMalloc(&device_out, out.size() * sizeof(bf16)));
  LAB_CUDA_CHECK(cudaMalloc(&device_lse, lse.size() * sizeof(float)));
  LAB_CUDA_CHECK(cudaMemcpy(device_in, in.data(), in.size() * sizeof(bf16), cudaMemcpyHostToDevice));
  attention_hopper(device_out, device_lse, device_in, device_in + n, device_in + 2 * n, heads, tokens, causal, nullptr);
  LAB_CUDA_CHECK(cudaMemcpy(out.data(), device_out, out.size() * sizeof(bf16), cudaMemcpyDeviceToHost));
  LAB_CUDA_CHECK(cudaMemcpy(lse.data(), device_lse, lse.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (void* p : {static_cast<void*>(device_in), static_cast<void*>(device_out), static_cast<void*>(device_lse)})
    LAB_CUDA_CHECK(cudaFree(p));
  double worst = 0, worst_lse = 0;
  for (int h = 0; h < heads; ++h)
    for (int i = 0; i < tokens; ++i) {
      const int row = h * tokens + i, first = h * tokens * size;
      compare(worst, worst_lse, &in[row * size], &in[n + first], &in[2 * n + first], &out[row * size], lse[row],
              causal ? i + 1 : tokens);
    }
  std::printf("%3d tokens%s: off by %.2g, lse by %.2g\n", tokens, causal ? ", causal" : "", worst, worst_lse);
  return worst < 0.006 && worst_lse < 1e-5;
}

}  // namespace

int main() {
  bool right = true;
  for (const int tokens : {1, 65, 200, 300})
    for (const bool causal : {false, true}) right = is_right(tokens, causal) && right;
  return right ? 0 : 1;
}
