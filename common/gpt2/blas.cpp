// The two BLAS functions that Eigen calls with EIGEN_USE_BLAS, implemented by Eigen's own products for this machine's
// widest vectors. Matrices are column-major, as in BLAS.
#define Eigen EigenOfThisMachine
#include <Eigen/Core>

namespace {

using matrix = Eigen::Map<const Eigen::MatrixXf, 0, Eigen::OuterStride<>>;

/// The layout of matrix M in memory, where op(M) has this many rows and columns.
matrix stored(const float* m, char operation, int rows, int columns, int stride) {
  return operation == 'N' ? matrix(m, rows, columns, Eigen::OuterStride<>(stride))
                          : matrix(m, columns, rows, Eigen::OuterStride<>(stride));
}

template <class Out>
void scale(Out&& out, float by) {
  if (by == 0.0f)
    out.setZero();
  else if (by != 1.0f)
    out *= by;
}

}  // namespace

/// c = alpha op(a) op(b) + beta c; op(a) is (m, k).
extern "C" void sgemm_(const char* of_a, const char* of_b, const int* m, const int* n, const int* k, const float* alpha,
                       const float* a, const int* a_stride, const float* b, const int* b_stride, const float* beta,
                       float* c, const int* c_stride) {
  Eigen::Map<Eigen::MatrixXf, 0, Eigen::OuterStride<>> out(c, *m, *n, Eigen::OuterStride<>(*c_stride));
  scale(out, *beta);
  const matrix left = stored(a, *of_a, *m, *k, *a_stride), right = stored(b, *of_b, *k, *n, *b_stride);
  const auto add = [&](const auto& one) {
    if (*of_b == 'N')
      out.noalias() += *alpha * (one * right);
    else
      out.noalias() += *alpha * (one * right.transpose());
  };
  if (*of_a == 'N')
    add(left);
  else
    add(left.transpose());
}

/// y = alpha op(a) x + beta y; a is (m, n).
extern "C" void sgemv_(const char* of_a, const int* m, const int* n, const float* alpha, const float* a,
                       const int* a_stride, const float* x, const int* x_step, const float* beta, float* y,
                       const int* y_step) {
  using step = Eigen::InnerStride<>;
  const bool plain = *of_a == 'N';
  const Eigen::Map<const Eigen::VectorXf, 0, step> by(x, plain ? *n : *m, step(*x_step));
  Eigen::Map<Eigen::VectorXf, 0, step> out(y, plain ? *m : *n, step(*y_step));
  scale(out, *beta);
  const matrix left(a, *m, *n, Eigen::OuterStride<>(*a_stride));
  if (plain)
    out.noalias() += *alpha * (left * by);
  else
    out.noalias() += *alpha * (left.transpose() * by);
}
