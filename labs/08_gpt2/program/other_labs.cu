// Other labs' kernels for LLM-CUDA: lab 11's attention, which stores one head after the other, and lab 09's product.
#include <map>
#include <memory>
#include <type_traits>

#include "../../09_low_precision/low_precision.hpp"
#include "../../11_attention/attention.hpp"
#include "handed_in.hpp"
#include "lab/device.hpp"

namespace gpt2 {
namespace {

using bf16 = __nv_bfloat16;
constexpr int size = 64;

/// (batch, tokens, of, heads, size) to (of, batch, heads, tokens, size), or back. A block per row of a token's numbers.
template <class T, bool back>
__global__ void regroup_kernel(T* to, const T* from, int batch, int tokens, int of, int heads) {
  const int row = static_cast<int>(blockIdx.x), h = row % heads, which = row / heads % of;
  const int t = row / heads / of % tokens, b = row / heads / of / tokens;
  const std::size_t by_token = static_cast<std::size_t>(row) * size + threadIdx.x;
  const std::size_t by_head =
      (((static_cast<std::size_t>(which) * batch + b) * heads + h) * tokens + t) * size + threadIdx.x;
  to[back ? by_token : by_head] = from[back ? by_head : by_token];
}

template <class T, bool back>
void regroup(T* to, const T* from, int batch, int tokens, int of, int heads, cudaStream_t stream) {
  regroup_kernel<T, back><<<batch * tokens * of * heads, size, 0, stream>>>(to, from, batch, tokens, of, heads);
  LAB_CUDA_CHECK(cudaGetLastError());
}

/// Q, K, V and the output, one head after the other, and lse. Allocated before a graph is recorded, because the pass
/// runs once before that.
template <class T>
struct room {
  explicit room(std::size_t rows) : grouped(4 * rows * size), lse(rows) {}
  lab::device_buffer<T> grouped;
  lab::device_buffer<float> lse;
};

template <class T>
void attention(T* out, const T* qkv, int batch, int tokens, int heads, cudaStream_t stream) {
  const std::size_t rows = static_cast<std::size_t>(batch) * tokens * heads, each = rows * size;
  static std::map<std::size_t, std::unique_ptr<room<T>>> rooms;
  auto& in = rooms[rows];
  if (!in) in = std::make_unique<room<T>>(rows);
  T *const q = in->grouped.data(), *const k = q + each, *const v = k + each, *const mixed = v + each;
  regroup<T, false>(q, qkv, batch, tokens, 3, heads, stream);
  if constexpr (std::is_same_v<T, float>)
    lab11::attention_fp32(mixed, in->lse.data(), q, k, v, batch * heads, tokens, size, true, stream);
  else
    lab11::attention_bf16(mixed, in->lse.data(), q, k, v, batch * heads, tokens, size, true, stream);
  regroup<T, true>(out, mixed, batch, tokens, 1, heads, stream);
}

}  // namespace

void use_attention_of_lab11(kernels& with) {
  with.attention = attention<float>;
  with.attention_bf16 = attention<bf16>;
}

void use_product_of_lab09(kernels& with) { with.gemm_bf16 = lab09::gemm_pipelined; }

}  // namespace gpt2
