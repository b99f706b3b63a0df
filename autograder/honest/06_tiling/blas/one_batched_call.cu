// Everything by the batched call, with views of row-major matrices that know how they are stored.
#include <cassert>
#include <cmath>

#include "blas.hpp"

namespace {

struct view {
  const float* at;
  int row_length;
  long long next = 0;
  bool turned = false;
};

view turn(view v) {
  v.turned = !v.turned;
  return v;
}

void multiply(cublasHandle_t h, view left, view right, view result, int rows, int columns, int inner, float alpha = 1,
              float beta = 0, int count = 1) {
  const auto how = [](const view& v) { return v.turned ? CUBLAS_OP_T : CUBLAS_OP_N; };
  const cublasStatus_t status = cublasSgemmStridedBatched(
      h, how(right), how(left), columns, rows, inner, &alpha, right.at, right.row_length, right.next, left.at,
      left.row_length, left.next, &beta, const_cast<float*>(result.at), result.row_length, result.next, count);
  assert(status == CUBLAS_STATUS_SUCCESS);
  (void)status;
}

template <class T>
view part(const lab06::block<T>& b) {
  return {&b.whole[b.row * b.columns + b.column], b.columns};
}

}  // namespace

namespace lab06 {

void blas_product(cublasHandle_t h, float* c, const float* a, bool ta, const float* b, bool tb, int m, int n, int k) {
  const view left = ta ? turn({a, m}) : view{a, k}, right = tb ? turn({b, k}) : view{b, n};
  multiply(h, left, right, {c, n}, m, n, k);
}

void blas_block(cublasHandle_t h, float alpha, block<const float> a, block<const float> b, float beta, block<float> c,
                int m, int n, int k) {
  multiply(h, part(a), part(b), part(c), m, n, k, alpha, beta);
}

void blas_scores(cublasHandle_t h, float* scores, const float* qkv, int tokens, int heads, int d) {
  const view q{qkv, 3 * heads * d, d}, k = turn({qkv + heads * d, 3 * heads * d, d});
  multiply(h, q, k, {scores, tokens, 1ll * tokens * tokens}, tokens, tokens, d, 1 / std::sqrt(float(d)), 0, heads);
}

void blas_mix(cublasHandle_t h, float* out, const float* weights, const float* qkv, int tokens, int heads, int d) {
  const view p{weights, tokens, 1ll * tokens * tokens}, v{qkv + 2 * heads * d, 3 * heads * d, d};
  multiply(h, p, v, {out, heads * d, d}, tokens, d, tokens, 1, 0, heads);
}

}  // namespace lab06
