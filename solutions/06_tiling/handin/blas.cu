// The same product with the library, which is column-major: what it sees in the memory of a row-major C = A B is the
// transposed C, and that is the transposed B times the transposed A. So B comes first, with n and m exchanged; what is
// stored transposed here is what it must transpose; and a leading dimension is the distance between two rows.
#include "blas.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace lab06 {
namespace {

constexpr float one = 1.0f, zero = 0.0f;

void expect(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS refused the call: error " + std::to_string(status) +
                             "; 7 is a wrong argument, such as a leading dimension smaller than a column");
}

template <class T>
T* first(const block<T>& of) {
  return of.whole + of.row * of.columns + of.column;
}

}  // namespace

void blas_product(cublasHandle_t blas, float* c, const float* a, bool a_is_transposed, const float* b,
                  bool b_is_transposed, int m, int n, int k) {
  const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  expect(cublasSgemm(blas, op(b_is_transposed), op(a_is_transposed), n, m, k, &one, b, b_is_transposed ? k : n, a,
                     a_is_transposed ? m : k, &zero, c, n));
}

void blas_block(cublasHandle_t blas, float alpha, block<const float> a, block<const float> b, float beta,
                block<float> c, int m, int n, int k) {
  expect(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &alpha, first(b), b.columns, first(a), a.columns, &beta,
                     first(c), c.columns));
}

//! [batched]
// A head's matrices begin head_dim elements after those of the previous head; its tokens are whole rows of qkv apart.
void blas_scores(cublasHandle_t blas, float* scores, const float* qkv, int tokens, int heads, int head_dim) {
  const int width = heads * head_dim, row = 3 * width;
  const float *q = qkv, *k = q + width;
  const float scale = 1.0f / std::sqrt(static_cast<float>(head_dim));
  const long long matrix = static_cast<long long>(tokens) * tokens;
  expect(cublasSgemmStridedBatched(blas, CUBLAS_OP_T, CUBLAS_OP_N, tokens, tokens, head_dim, &scale, k, row, head_dim,
                                   q, row, head_dim, &zero, scores, tokens, matrix, heads));
}
//! [batched]

void blas_mix(cublasHandle_t blas, float* out, const float* weights, const float* qkv, int tokens, int heads,
              int head_dim) {
  const int width = heads * head_dim, row = 3 * width;
  const float* v = qkv + 2 * width;
  const long long matrix = static_cast<long long>(tokens) * tokens;
  expect(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, head_dim, tokens, tokens, &one, v, row, head_dim,
                                   weights, tokens, matrix, &zero, out, width, head_dim, heads));
}

}  // namespace lab06
