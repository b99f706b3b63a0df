// The same product with the library, which is column-major. blas.hpp says what each function computes, with one call
// each.
#include "blas.hpp"

#include <stdexcept>
#include <string>

namespace lab06 {
namespace {

/// Every call to cuBLAS returns a status: check it, or a refused call passes for a wrong result.
[[maybe_unused]] void expect(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS refused the call: error " + std::to_string(status) +
                             "; 7 is a wrong argument, such as a leading dimension smaller than a column");
}

}  // namespace

void blas_product(cublasHandle_t blas, float* c, const float* a, bool a_is_transposed, const float* b,
                  bool b_is_transposed, int m, int n, int k) {
  // TODO(lab06.blas_product): which matrix does cuBLAS see in the memory of a row-major C? As a product of what?
  (void)blas, (void)c, (void)a, (void)a_is_transposed, (void)b, (void)b_is_transposed, (void)m, (void)n, (void)k;
}

void blas_block(cublasHandle_t blas, float alpha, block<const float> a, block<const float> b, float beta,
                block<float> c, int m, int n, int k) {
  // TODO(lab06.blas_block): where does each block begin, and how far apart are its rows?
  (void)blas, (void)alpha, (void)a, (void)b, (void)beta, (void)c, (void)m, (void)n, (void)k;
}

void blas_scores(cublasHandle_t blas, float* scores, const float* qkv, int tokens, int heads, int head_dim) {
  // TODO(lab06.blas_scores): how far apart are two tokens of a head, and how far two heads?
  (void)blas, (void)scores, (void)qkv, (void)tokens, (void)heads, (void)head_dim;
}

void blas_mix(cublasHandle_t blas, float* out, const float* weights, const float* qkv, int tokens, int heads,
              int head_dim) {
  // TODO(lab06.blas_mix): the heads of out interleave, too.
  (void)blas, (void)out, (void)weights, (void)qkv, (void)tokens, (void)heads, (void)head_dim;
}

}  // namespace lab06
