// cuBLAS.
#include <cmath>
#include <complex>

#define SIM_COMPLEX_FLOAT std::complex<float>
#define SIM_COMPLEX_DOUBLE std::complex<double>
#include "blas.hpp"
#include "heap.hpp"
#include "library.hpp"

namespace {

using namespace sim;
using namespace sim::blas;

template <class T>
void multiply(cublasOperation_t op_a, cublasOperation_t op_b, T alpha, const operand& a, const operand& b, T beta,
              const operand& c, bool tf32) {
  const matrix<T> product = product_of<T>(op_a, op_b, load<T>(a), load<T>(b), tf32);
  if (beta == T{0})  // then C may hold NaN
    store<T>(c, alpha * product);
  else
    store<T>(c, alpha * product + beta * load<T>(c));
}

/// All gemms: the operands of batch i are at a(i), b(i), c(i).
using place = std::function<void*(int)>;
cublasStatus_t gemm(cublasHandle_t handle, const char* call, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                    int n, int k, const void* alpha, const place& a, cudaDataType a_type, int lda, const place& b,
                    cudaDataType b_type, int ldb, const void* beta, const place& c, cudaDataType c_type, int ldc,
                    int batches, cublasComputeType_t compute) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || k < 0 || batches < 0 || !is_operation(op_a) || !is_operation(op_b) || !alpha || !beta ||
      bytes_of(a_type) == 0 || bytes_of(b_type) == 0 || bytes_of(c_type) == 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool na = op_a == CUBLAS_OP_N, nb = op_b == CUBLAS_OP_N;
  const operand shape_a{"A", nullptr, a_type, na ? m : k, na ? k : m, lda};
  const operand shape_b{"B", nullptr, b_type, nb ? k : n, nb ? n : k, ldb};
  const operand shape_c{"C", nullptr, c_type, m, n, ldc};
  if (!shape_a.fits() || !shape_b.fits() || !shape_c.fits()) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0 || batches == 0) return CUBLAS_STATUS_SUCCESS;
  std::vector<operand> all;
  for (int i = 0; i < batches; ++i) {
    all.insert(all.end(), {shape_a, shape_b, shape_c});
    all[all.size() - 3].data = a(i);
    all[all.size() - 2].data = b(i);
    all[all.size() - 1].data = c(i);
  }
  const bool wide = computes_wide(compute);
  const bool tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32 ||
                    (handle->math == CUBLAS_TF32_TENSOR_OP_MATH && compute == CUBLAS_COMPUTE_32F);
  if (!is_real(a_type)) {
    if (b_type != a_type || c_type != a_type) return CUBLAS_STATUS_NOT_SUPPORTED;
    const auto multiply_complex = [&](auto zero) {
      using T = decltype(zero);
      return run(
          handle->stream, call, all, 8.0 * m * n * k * batches,
          [=, p = scalar(handle, static_cast<const T*>(alpha)), q = scalar(handle, static_cast<const T*>(beta))] {
            for (std::size_t i = 0; i < all.size(); i += 3)
              multiply<T>(op_a, op_b, p(), all[i], all[i + 1], q(), all[i + 2], false);
          });
    };
    return wide ? multiply_complex(std::complex<double>()) : multiply_complex(std::complex<float>());
  }
  if (!is_real(b_type) || !is_real(c_type)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const auto factor = scalar(handle, alpha, compute), keep = scalar(handle, beta, compute);
  return run(handle->stream, call, all, 2.0 * m * n * k * batches, [=] {
    if (!std::all_of(all.begin(), all.end(), is_aligned)) ++unaligned_products;
    for (std::size_t i = 0; i < all.size(); i += 3)
      if (wide)
        multiply<double>(op_a, op_b, factor(), all[i], all[i + 1], keep(), all[i + 2], false);
      else
        multiply<float>(op_a, op_b, static_cast<float>(factor()), all[i], all[i + 1], static_cast<float>(keep()),
                        all[i + 2], tf32);
  });
}
place every(const void* first, long long step = 0, std::size_t bytes = 0) {
  char* begin = static_cast<char*>(const_cast<void*>(first));
  return [=](int i) { return begin + static_cast<long long>(i) * step * static_cast<long long>(bytes); };
}
template <class Pointer>
place listed(const Pointer* pointers) {
  return [=](int i) { return const_cast<void*>(static_cast<const void*>(pointers[i])); };
}

template <class T>
using real = typename Eigen::NumTraits<T>::Real;
template <class T>
constexpr bool is_wide = std::is_same_v<real<T>, double>;
template <class T>
constexpr cudaDataType type_of = Eigen::NumTraits<T>::IsComplex ? (is_wide<T> ? CUDA_C_64F : CUDA_C_32F)
                                                                : (is_wide<T> ? CUDA_R_64F : CUDA_R_32F);
template <class T>
constexpr cublasComputeType_t compute_of = is_wide<T> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;
/// BLAS's cheap absolute value of a complex number.
template <class T>
real<T> size_of(const T& x) {
  return std::abs(Eigen::numext::real(x)) + std::abs(Eigen::numext::imag(x));
}

/// A vector as a matrix with one row of elements `step` apart; a negative step starts at the end.
template <class T>
operand row(const char* name, const T* data, int n, int step) {
  return {name, const_cast<T*>(data), type_of<T>, 1, n, std::abs(step)};
}
template <class T>
struct elements {
  T* data;
  int n, step;
  T& operator[](int i) const { return data[static_cast<std::ptrdiff_t>(step < 0 ? i - n + 1 : i) * step]; }
};
template <class T>
void written(const T* data, int n, int step) {
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  for (int i = 0; i < n && begin - heap_base < heap_bytes; ++i)
    mark_valid(begin + static_cast<std::size_t>(i) * static_cast<std::size_t>(std::abs(step)) * sizeof(T), sizeof(T));
}

template <class T>
cublasStatus_t geam(cublasHandle_t handle, const char* call, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                    int n, const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c, int ldc) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool na = op_a == CUBLAS_OP_N, nb = op_b == CUBLAS_OP_N;
  const operand x{"A", const_cast<T*>(a), type_of<T>, na ? m : n, na ? n : m, lda};
  const operand y{"B", const_cast<T*>(b), type_of<T>, nb ? m : n, nb ? n : m, ldb};
  const operand z{"C", c, type_of<T>, m, n, ldc};
  if (m < 0 || n < 0 || !alpha || !beta || !x.fits() || !y.fits() || !z.fits()) return CUBLAS_STATUS_INVALID_VALUE;
  const auto p = scalar(handle, alpha), q = scalar(handle, beta);
  std::vector<operand> all{z};
  for (const operand& o : {x, y})
    if (o.data) all.push_back(o);  // with a factor of zero the matrix is not read
  return run(handle->stream, call, all, 2.0 * m * n, [=] {
    matrix<T> sum = matrix<T>::Zero(m, n);
    if (p() != T{0}) sum += p() * turned(op_a, load<T>(x));
    if (q() != T{0}) sum += q() * turned(op_b, load<T>(y));
    store<T>(z, sum);
  });
}

template <class T>
cublasStatus_t gemv(cublasHandle_t handle, const char* call, cublasOperation_t op, int m, int n, const T* alpha,
                    const T* a, int lda, const T* x, int x_step, const T* beta, T* y, int y_step) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", const_cast<T*>(a), type_of<T>, m, n, lda};
  if (m < 0 || n < 0 || !o.fits() || x_step == 0 || y_step == 0 || !alpha || !beta || !is_operation(op))
    return CUBLAS_STATUS_INVALID_VALUE;
  const int in = op == CUBLAS_OP_N ? n : m, out = op == CUBLAS_OP_N ? m : n;
  const auto p = scalar(handle, alpha), q = scalar(handle, beta);
  return run(handle->stream, call, {o, row("x", x, in, x_step), row("y", y, out, y_step)}, 2.0 * m * n, [=] {
    const matrix<T> values = turned(op, load<T>(o));
    const elements<const T> from{x, in, x_step};
    const elements<T> to{y, out, y_step};
    for (int i = 0; i < out; ++i) {
      T sum = 0;
      for (int j = 0; j < in; ++j) sum += values(i, j) * from[j];
      to[i] = p() * sum + (q() == T{0} ? T{0} : q() * to[i]);
    }
    written(y, out, y_step);
  });
}

template <class T>
cublasStatus_t ger(cublasHandle_t handle, const char* call, int m, int n, const T* alpha, const T* x, int x_step,
                   const T* y, int y_step, T* a, int lda, bool conjugate = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", a, type_of<T>, m, n, lda};
  if (m < 0 || n < 0 || !o.fits() || x_step == 0 || y_step == 0 || !alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const auto p = scalar(handle, alpha);
  return run(handle->stream, call, {o, row("x", x, m, x_step), row("y", y, n, y_step)}, 2.0 * m * n, [=] {
    matrix<T> values = load<T>(o);
    const elements<const T> u{x, m, x_step}, v{y, n, y_step};
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) values(i, j) += p() * u[i] * (conjugate ? Eigen::numext::conj(v[j]) : v[j]);
    store<T>(o, values);
  });
}

/// op(A) X = alpha B or X op(A) = alpha B, for one triangle of A.
template <class T>
cublasStatus_t trsm(cublasHandle_t handle, const char* call, cublasSideMode_t side, cublasFillMode_t fill,
                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha, const T* a, int lda,
                    T* b, int ldb) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int size = side == CUBLAS_SIDE_LEFT ? m : n;
  const operand triangle{"A", const_cast<T*>(a), type_of<T>, size, size, lda}, x{"B", b, type_of<T>, m, n, ldb};
  if (m < 0 || n < 0 || !triangle.fits() || !x.fits() || !alpha || !is_operation(op) ||
      (fill != CUBLAS_FILL_MODE_LOWER && fill != CUBLAS_FILL_MODE_UPPER))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  return run(handle->stream, call, {triangle, x}, 1.0 * m * n * size, [=, p = scalar(handle, alpha)] {
    const matrix<T> stored = load<T>(triangle), right = load<T>(x);
    const bool left = side == CUBLAS_SIDE_LEFT;
    // With A on the right: op(A)^T X^T = alpha B^T.
    const bool transposed = (op != CUBLAS_OP_N) == left, lower = (fill == CUBLAS_FILL_MODE_LOWER) != transposed;
    const auto factor = [&](int i, int j) {
      const T& of_a = transposed ? stored(j, i) : stored(i, j);
      return op == CUBLAS_OP_C ? Eigen::numext::conj(of_a) : of_a;
    };
    matrix<T> values = p() * (left ? right : matrix<T>(right.transpose()));
    for (Eigen::Index column = 0; column < values.cols(); ++column)
      for (int k = 0; k < size; ++k) {
        const int i = lower ? k : size - 1 - k;
        T rest = values(i, column);
        for (int j = lower ? 0 : i + 1; j < (lower ? i : size); ++j) rest -= factor(i, j) * values(j, column);
        values(i, column) = diagonal == CUBLAS_DIAG_UNIT ? rest : rest / factor(i, i);
      }
    store<T>(x, left ? values : matrix<T>(values.transpose()));
  });
}

bool is_triangle(cublasFillMode_t fill) { return fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER; }
/// The full symmetric or Hermitian matrix, from its stored triangle.
template <class T>
matrix<T> symmetric(const matrix<T>& stored, cublasFillMode_t fill, bool hermitian) {
  if (!hermitian) {
    matrix<T> values = stored;
    if (fill == CUBLAS_FILL_MODE_LOWER)
      values.template triangularView<Eigen::StrictlyUpper>() = stored.transpose();
    else
      values.template triangularView<Eigen::StrictlyLower>() = stored.transpose();
    return values;
  }
  if (fill == CUBLAS_FILL_MODE_LOWER) return stored.template selfadjointView<Eigen::Lower>();
  return stored.template selfadjointView<Eigen::Upper>();
}
template <class T>
matrix<T> triangular(const matrix<T>& stored, cublasFillMode_t fill, cublasOperation_t op, cublasDiagType_t diagonal) {
  matrix<T> values = stored.template triangularView<Eigen::Upper>();
  if (fill == CUBLAS_FILL_MODE_LOWER) values = stored.template triangularView<Eigen::Lower>();
  if (diagonal == CUBLAS_DIAG_UNIT) values.diagonal().setOnes();
  return turned(op, values);
}
/// Keeps the triangle of C that is not `fill`.
template <class T>
void store_triangle(const operand& c, cublasFillMode_t fill, const matrix<T>& values) {
  matrix<T> all = load<T>(c);
  if (fill == CUBLAS_FILL_MODE_LOWER)
    all.template triangularView<Eigen::Lower>() = values;
  else
    all.template triangularView<Eigen::Upper>() = values;
  store<T>(c, all);
}
template <class T>
matrix<T> column(const T* data, int n, int step) {
  matrix<T> values(n, 1);
  const elements<const T> from{data, n, step};
  for (int i = 0; i < n; ++i) values(i, 0) = from[i];
  return values;
}
template <class T>
void store_column(T* data, int n, int step, const matrix<T>& values) {
  const elements<T> to{data, n, step};
  for (int i = 0; i < n; ++i) to[i] = values(i, 0);
  written(data, n, step);
}

/// A scalar factor on the host or device, converted to another type; empty if its pointer is null.
template <class T, class R>
std::function<T()> factor_of(cublasHandle_t handle, const R* at) {
  if (!handle || !at) return {};
  return [of = scalar(handle, at)] { return T(of()); };
}

/// C = alpha A B + beta C or alpha B A + beta C, A symmetric or Hermitian.
template <class T>
cublasStatus_t symm(cublasHandle_t handle, const char* call, cublasSideMode_t side, cublasFillMode_t fill, int m, int n,
                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc,
                    bool hermitian = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int size = left ? m : n;
  const operand x{"A", const_cast<T*>(a), type_of<T>, size, size, lda},
      y{"B", const_cast<T*>(b), type_of<T>, m, n, ldb}, z{"C", c, type_of<T>, m, n, ldc};
  if (m < 0 || n < 0 || !x.fits() || !y.fits() || !z.fits() || !alpha || !beta || !is_triangle(fill))
    return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {x, y, z}, 2.0 * m * n * size,
             [=, p = scalar(handle, alpha), q = scalar(handle, beta)] {
               const matrix<T> factor = symmetric<T>(load<T>(x), fill, hermitian), other = load<T>(y);
               matrix<T> product = p() * (left ? matrix<T>(factor * other) : matrix<T>(other * factor));
               if (q() != T{0}) product += q() * load<T>(z);
               store<T>(z, product);
             });
}
template <class T>
cublasStatus_t symv(cublasHandle_t handle, const char* call, cublasFillMode_t fill, int n, const T* alpha, const T* a,
                    int lda, const T* x, int x_step, const T* beta, T* y, int y_step, bool hermitian = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", const_cast<T*>(a), type_of<T>, n, n, lda};
  if (n < 0 || !o.fits() || x_step == 0 || y_step == 0 || !alpha || !beta || !is_triangle(fill))
    return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {o, row("x", x, n, x_step), row("y", y, n, y_step)}, 2.0 * n * n,
             [=, p = scalar(handle, alpha), q = scalar(handle, beta)] {
               matrix<T> sums = p() * symmetric<T>(load<T>(o), fill, hermitian) * column(x, n, x_step);
               if (q() != T{0}) sums += q() * column<T>(y, n, y_step);
               store_column(y, n, y_step, sums);
             });
}
/// The other factor of a symmetric or Hermitian product.
template <class T>
matrix<T> across(const matrix<T>& m, bool hermitian) {
  return hermitian ? matrix<T>(m.adjoint()) : matrix<T>(m.transpose());
}
template <class T>
T across(const T& x, bool hermitian) {
  return hermitian ? Eigen::numext::conj(x) : x;
}
/// One triangle of C = alpha op(A) op(B)^T + beta C; for a symmetric result, + alpha op(B) op(A)^T. Hermitian: ^H
/// instead of ^T, and the second alpha is conjugated.
template <class T>
cublasStatus_t rank_update(cublasHandle_t handle, const char* call, cublasFillMode_t fill, cublasOperation_t op, int n,
                           int k, const std::function<T()>& p, const T* a, int lda, const T* b, int ldb, bool both,
                           const std::function<T()>& q, T* c, int ldc, bool hermitian = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool tall = op == CUBLAS_OP_N;
  const operand x{"A", const_cast<T*>(a), type_of<T>, tall ? n : k, tall ? k : n, lda},
      y{"B", const_cast<T*>(b), type_of<T>, tall ? n : k, tall ? k : n, ldb}, z{"C", c, type_of<T>, n, n, ldc};
  if (n < 0 || k < 0 || !x.fits() || !y.fits() || !z.fits() || !p || !q || !is_triangle(fill) || !is_operation(op))
    return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {x, y, z}, (both ? 2.0 : 1.0) * n * n * k, [=] {
    const matrix<T> u = turned(op, load<T>(x)), v = turned(op, load<T>(y));
    matrix<T> sums = p() * u * across(v, hermitian);
    if (both) sums += across(p(), hermitian) * v * across(u, hermitian);
    if (q() != T{0}) sums += q() * load<T>(z);
    if (hermitian) sums.diagonal() = sums.diagonal().real().template cast<T>();
    store_triangle<T>(z, fill, sums);
  });
}
/// One triangle of A += alpha x y^T; with two vectors, + alpha y x^T. Hermitian: as above.
template <class T>
cublasStatus_t rank_one(cublasHandle_t handle, const char* call, cublasFillMode_t fill, int n,
                        const std::function<T()>& p, const T* x, int x_step, const T* y, int y_step, bool both, T* a,
                        int lda, bool hermitian = false) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", a, type_of<T>, n, n, lda};
  if (n < 0 || !o.fits() || x_step == 0 || y_step == 0 || !p || !is_triangle(fill)) return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {o, row("x", x, n, x_step), row("y", y, n, y_step)}, 2.0 * n * n, [=] {
    const matrix<T> u = column(x, n, x_step), v = column(y, n, y_step);
    matrix<T> sums = load<T>(o) + p() * u * across(v, hermitian);
    if (both) sums += across(p(), hermitian) * v * across(u, hermitian);
    if (hermitian) sums.diagonal() = sums.diagonal().real().template cast<T>();
    store_triangle<T>(o, fill, sums);
  });
}
/// C = alpha op(A) B or alpha B op(A), A a triangle.
template <class T>
cublasStatus_t trmm(cublasHandle_t handle, const char* call, cublasSideMode_t side, cublasFillMode_t fill,
                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha, const T* a, int lda,
                    const T* b, int ldb, T* c, int ldc) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool left = side == CUBLAS_SIDE_LEFT;
  const int size = left ? m : n;
  const operand x{"A", const_cast<T*>(a), type_of<T>, size, size, lda},
      y{"B", const_cast<T*>(b), type_of<T>, m, n, ldb}, z{"C", c, type_of<T>, m, n, ldc};
  if (m < 0 || n < 0 || !x.fits() || !y.fits() || !z.fits() || !alpha || !is_triangle(fill) || !is_operation(op))
    return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {x, y, z}, 1.0 * m * n * size, [=, p = scalar(handle, alpha)] {
    const matrix<T> factor = triangular<T>(load<T>(x), fill, op, diagonal), other = load<T>(y);
    store<T>(z, p() * (left ? matrix<T>(factor * other) : matrix<T>(other * factor)));
  });
}
/// x = op(A) x, or the solution of op(A) x = b in place.
template <class T>
cublasStatus_t triangle_vector(cublasHandle_t handle, const char* call, bool solves, cublasFillMode_t fill,
                               cublasOperation_t op, cublasDiagType_t diagonal, int n, const T* a, int lda, T* x,
                               int x_step) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", const_cast<T*>(a), type_of<T>, n, n, lda};
  if (n < 0 || !o.fits() || x_step == 0 || !is_triangle(fill) || !is_operation(op)) return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {o, row("x", x, n, x_step)}, 1.0 * n * n, [=] {
    const matrix<T> factor = triangular<T>(load<T>(o), fill, op, diagonal), right = column<T>(x, n, x_step);
    const bool lower = (fill == CUBLAS_FILL_MODE_LOWER) == (op == CUBLAS_OP_N);
    if (!solves)
      store_column<T>(x, n, x_step, factor * right);
    else if (lower)
      store_column<T>(x, n, x_step, factor.template triangularView<Eigen::Lower>().solve(right));
    else
      store_column<T>(x, n, x_step, factor.template triangularView<Eigen::Upper>().solve(right));
  });
}
/// C = diag(x) A or A diag(x).
template <class T>
cublasStatus_t dgmm(cublasHandle_t handle, const char* call, cublasSideMode_t side, int m, int n, const T* a, int lda,
                    const T* x, int x_step, T* c, int ldc) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int size = side == CUBLAS_SIDE_LEFT ? m : n;
  const operand o{"A", const_cast<T*>(a), type_of<T>, m, n, lda}, z{"C", c, type_of<T>, m, n, ldc};
  if (m < 0 || n < 0 || !o.fits() || !z.fits()) return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {o, row("x", x, size, x_step), z}, 1.0 * m * n, [=] {
    const matrix<T> factors = column(x, size, x_step), values = load<T>(o);
    if (side == CUBLAS_SIDE_LEFT)
      store<T>(z, factors.col(0).asDiagonal() * values);
    else
      store<T>(z, values * factors.col(0).asDiagonal());
  });
}
/// Rotates each pair (x, y) by the angle with cosine c and sine s.
template <class T>
cublasStatus_t rotate(cublasHandle_t handle, const char* call, int n, T* x, int x_step, T* y, int y_step, const T* c,
                      const T* s) {
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if (x_step == 0 || y_step == 0) return CUBLAS_STATUS_INVALID_VALUE;
  return run(handle->stream, call, {row("x", x, n, x_step), row("y", y, n, y_step)}, 6.0 * n,
             [=, p = scalar(handle, c), q = scalar(handle, s)] {
               const matrix<T> u = column<T>(x, n, x_step), v = column<T>(y, n, y_step);
               store_column<T>(x, n, x_step, p() * u + q() * v);
               store_column<T>(y, n, y_step, p() * v - q() * u);
             });
}
/// A vector of any type as a row.
operand typed_row(const char* name, const void* data, cudaDataType type, int n, int step) {
  return {name, const_cast<void*>(data), type, 1, n, step};
}

/// A = P L U, each matrix in place. Without pivots, rows stay where they are.
template <class T>
cublasStatus_t getrf(cublasHandle_t handle, const char* call, int n, T* const list[], int lda, int* pivots, int* info,
                     int batches) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || batches < 0 || lda < std::max(1, n) || !list || !info) return CUBLAS_STATUS_INVALID_VALUE;
  std::vector<operand> all;
  for (int i = 0; i < batches; ++i) all.push_back({"A", list[i], type_of<T>, n, n, lda});
  return run(handle->stream, call, all, 2.0 / 3 * n * n * n * batches, [=] {
    for (int batch = 0; batch < batches; ++batch) {
      matrix<T> values = load<T>(all[static_cast<std::size_t>(batch)]);
      info[batch] = 0;
      for (int k = 0; k < n; ++k) {
        Eigen::Index best = 0;
        if (pivots) {
          values.col(k).tail(n - k).cwiseAbs().maxCoeff(&best);
          values.row(k).swap(values.row(k + best));
          pivots[batch * n + k] = k + static_cast<int>(best) + 1;
        }
        if (values(k, k) == T{0}) {
          if (info[batch] == 0) info[batch] = k + 1;
          continue;
        }
        values.col(k).tail(n - k - 1) /= values(k, k);
        values.bottomRightCorner(n - k - 1, n - k - 1) -= values.col(k).tail(n - k - 1) * values.row(k).tail(n - k - 1);
      }
      store<T>(all[static_cast<std::size_t>(batch)], values);
    }
    written(info, batches, 1);
    if (pivots) written(pivots, n * batches, 1);
  });
}

/// Applies a function to each element of one or two vectors.
template <class T, class Each>
cublasStatus_t elementwise(cublasHandle_t handle, const char* call, int n, T* x, int x_step, T* y, int y_step,
                           Each each) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  std::vector<operand> all{row("x", x, n, x_step)};
  if (y) all.push_back(row("y", y, n, y_step));
  return run(handle->stream, call, all, 2.0 * n, [=] {
    const elements<T> u{x, n, x_step}, v{y ? y : x, n, y ? y_step : x_step};
    for (int i = 0; i < n; ++i) each(u[i], v[i]);
    written(y ? y : x, n, y ? y_step : x_step);
  });
}

/// Enqueues a call that computes a number. If the pointer mode says that it is on the host, it is there on return.
cublasStatus_t run_for(const void* result, cublasHandle_t handle, const char* call,
                       const std::vector<operand>& operands, double flops, const std::function<void()>& work) {
  if (!host_reaches(handle, result)) return CUBLAS_STATUS_EXECUTION_FAILED;
  const cublasStatus_t status = run(handle->stream, call, operands, flops, work);
  if (status == CUBLAS_STATUS_SUCCESS && handle->pointer_mode == CUBLAS_POINTER_MODE_HOST)
    cudaStreamSynchronize(handle->stream);
  return status;
}

/// Reduces one or two vectors to a number, on the host or the device, depending on the pointer mode.
template <class T, class R, class Reduce>
cublasStatus_t reduction(cublasHandle_t handle, const char* call, int n, const T* x, int x_step, const T* y, int y_step,
                         R* result, Reduce reduce) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result) return CUBLAS_STATUS_INVALID_VALUE;
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  std::vector<operand> all{row("x", x, std::max(n, 0), x_step)};
  if (y) all.push_back(row("y", y, std::max(n, 0), y_step));
  return run_for(result, handle, call, all, 2.0 * n, [=] {
    *result = reduce(elements<const T>{x, n, x_step}, elements<const T>{y, n, y_step});
    if (!host) written(result, 1, 1);
  });
}

template <class T, class Better>
int extreme(const elements<const T>& x, Better better) {
  int best = 0;
  for (int i = 1; i < x.n; ++i)
    if (better(size_of(x[i]), size_of(x[best]))) best = i;
  return x.n > 0 ? best + 1 : 0;  // counted from 1
}

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess             ? CUBLAS_STATUS_SUCCESS
         : error == cudaErrorInvalidValue ? CUBLAS_STATUS_MAPPING_ERROR
                                          : CUBLAS_STATUS_EXECUTION_FAILED;
}
cublasStatus_t move(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld,
                    cudaMemcpyKind kind, cudaStream_t* stream = nullptr) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld < rows || to_ld < rows || from_ld <= 0 || to_ld <= 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto wide = [bytes](int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(bytes); };
  const auto count = static_cast<std::size_t>(columns);
  return status_of(stream ? cudaMemcpy2DAsync(to, wide(to_ld), from, wide(from_ld), wide(rows), count, kind, *stream)
                          : cudaMemcpy2D(to, wide(to_ld), from, wide(from_ld), wide(rows), count, kind));
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetVersion_v2(cublasHandle_t handle, int* version) {
  if (!handle || !version) return handle ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_NOT_INITIALIZED;
  *version = 130000;
  return CUBLAS_STATUS_SUCCESS;
}
#define SIM_SETTING(Name, Type, member)                                \
  cublasStatus_t cublasSet##Name(cublasHandle_t handle, Type value) {  \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                 \
    handle->member = value;                                            \
    return CUBLAS_STATUS_SUCCESS;                                      \
  }                                                                    \
  cublasStatus_t cublasGet##Name(cublasHandle_t handle, Type* value) { \
    if (!handle || !value) return CUBLAS_STATUS_NOT_INITIALIZED;       \
    *value = handle->member;                                           \
    return CUBLAS_STATUS_SUCCESS;                                      \
  }
SIM_SETTING(Stream_v2, cudaStream_t, stream)
SIM_SETTING(PointerMode_v2, cublasPointerMode_t, pointer_mode)
SIM_SETTING(MathMode, cublasMath_t, math)
#undef SIM_SETTING
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, std::size_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t handle, cublasAtomicsMode_t) {
  return handle ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
#define SIM_STATUS(name) \
  case name: return #name;
    SIM_STATUS(CUBLAS_STATUS_SUCCESS)
    SIM_STATUS(CUBLAS_STATUS_NOT_INITIALIZED)
    SIM_STATUS(CUBLAS_STATUS_ALLOC_FAILED)
    SIM_STATUS(CUBLAS_STATUS_INVALID_VALUE)
    SIM_STATUS(CUBLAS_STATUS_ARCH_MISMATCH)
    SIM_STATUS(CUBLAS_STATUS_MAPPING_ERROR)
    SIM_STATUS(CUBLAS_STATUS_EXECUTION_FAILED)
    SIM_STATUS(CUBLAS_STATUS_INTERNAL_ERROR)
    SIM_STATUS(CUBLAS_STATUS_NOT_SUPPORTED)
    SIM_STATUS(CUBLAS_STATUS_LICENSE_ERROR)
#undef SIM_STATUS
  }
  return "unknown cublas status";
}
const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

cublasStatus_t cublasSetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step) {
  return move(1, n, bytes, from, from_step, to, to_step, cudaMemcpyHostToDevice);
}
cublasStatus_t cublasGetVector(int n, int bytes, const void* from, int from_step, void* to, int to_step) {
  return move(1, n, bytes, from, from_step, to, to_step, cudaMemcpyDeviceToHost);
}
cublasStatus_t cublasSetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld) {
  return move(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyHostToDevice);
}
cublasStatus_t cublasGetMatrix(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld) {
  return move(rows, columns, bytes, from, from_ld, to, to_ld, cudaMemcpyDeviceToHost);
}
#define SIM_MOVE_ASYNC(Way, kind)                                                                                    \
  cublasStatus_t cublas##Way##VectorAsync(int n, int bytes, const void* from, int from_step, void* to, int to_step,  \
                                          cudaStream_t stream) {                                                     \
    return move(1, n, bytes, from, from_step, to, to_step, kind, &stream);                                           \
  }                                                                                                                  \
  cublasStatus_t cublas##Way##MatrixAsync(int rows, int columns, int bytes, const void* from, int from_ld, void* to, \
                                          int to_ld, cudaStream_t stream) {                                          \
    return move(rows, columns, bytes, from, from_ld, to, to_ld, kind, &stream);                                      \
  }
SIM_MOVE_ASYNC(Set, cudaMemcpyHostToDevice)
SIM_MOVE_ASYNC(Get, cudaMemcpyDeviceToHost)
#undef SIM_MOVE_ASYNC

cublasStatus_t cublasDotEx(cublasHandle_t handle, int n, const void* x, cudaDataType x_type, int x_step, const void* y,
                           cudaDataType y_type, int y_step, void* result, cudaDataType result_type,
                           cudaDataType compute) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const int count = std::max(n, 0);
  const operand u{"x", const_cast<void*>(x), x_type, 1, count, std::abs(x_step)},
      v{"y", const_cast<void*>(y), y_type, 1, count, std::abs(y_step)}, sum{"result", result, result_type, 1, 1, 1};
  if (!result || !u.fits() || !v.fits() || !is_real(x_type) || !is_real(y_type) || !is_real(result_type))
    return CUBLAS_STATUS_INVALID_VALUE;
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  std::vector<operand> all{u, v};
  if (!host) all.push_back(sum);
  return run_for(result, handle, "cublasDotEx", all, 2.0 * count, [=] {
    const auto dot = [&](auto zero) {
      using T = decltype(zero);
      matrix<T> left = load<T>(u);
      if ((x_step < 0) != (y_step < 0)) left = left.rowwise().reverse().eval();
      store<T>(sum, left * load<T>(v).transpose());
    };
    compute == CUDA_R_64F ? dot(0.0) : dot(0.0f);
  });
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k,
                            const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,
                            cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,
                            cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm(handle, "cublasGemmEx", op_a, op_b, m, n, k, alpha, every(a), a_type, lda, every(b), b_type, ldb, beta,
              every(c), c_type, ldc, 1, compute);
}
cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                          long long a_stride, const void* b, cudaDataType b_type, int ldb,
                                          long long b_stride, const void* beta, void* c, cudaDataType c_type, int ldc,
                                          long long c_stride, int batches, cublasComputeType_t compute,
                                          cublasGemmAlgo_t) {
  return gemm(handle, "cublasGemmStridedBatchedEx", op_a, op_b, m, n, k, alpha, every(a, a_stride, bytes_of(a_type)),
              a_type, lda, every(b, b_stride, bytes_of(b_type)), b_type, ldb, beta,
              every(c, c_stride, bytes_of(c_type)), c_type, ldc, batches, compute);
}
cublasStatus_t cublasGemmBatchedEx(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,
                                   int k, const void* alpha, const void* const a[], cudaDataType a_type, int lda,
                                   const void* const b[], cudaDataType b_type, int ldb, const void* beta,
                                   void* const c[], cudaDataType c_type, int ldc, int batches,
                                   cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm(handle, "cublasGemmBatchedEx", op_a, op_b, m, n, k, alpha, listed(a), a_type, lda, listed(b), b_type, ldb,
              beta, listed(c), c_type, ldc, batches, compute);
}

cublasStatus_t cublasAxpyEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type, const void* x,
                            cudaDataType x_type, int x_step, void* y, cudaDataType y_type, int y_step, cudaDataType) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand u = typed_row("x", x, x_type, n, x_step), v = typed_row("y", y, y_type, n, y_step);
  if (!alpha || !is_real(x_type) || !is_real(y_type)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if (x_step <= 0 || y_step <= 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  return run(handle->stream, "cublasAxpyEx", {u, v}, 2.0 * n,
             [=, p = scalar(handle, alpha, sim_compute_type(alpha_type))] {
               store<double>(v, load<double>(v) + p() * load<double>(u));
             });
}
cublasStatus_t cublasScalEx(cublasHandle_t handle, int n, const void* alpha, cudaDataType alpha_type, void* x,
                            cudaDataType x_type, int x_step, cudaDataType) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand u = typed_row("x", x, x_type, n, x_step);
  if (!alpha || !is_real(x_type)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n <= 0) return CUBLAS_STATUS_SUCCESS;
  if (x_step <= 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  return run(handle->stream, "cublasScalEx", {u}, 1.0 * n,
             [=, p = scalar(handle, alpha, sim_compute_type(alpha_type))] { store<double>(u, p() * load<double>(u)); });
}
cublasStatus_t cublasNrm2Ex(cublasHandle_t handle, int n, const void* x, cudaDataType x_type, int x_step, void* result,
                            cudaDataType result_type, cudaDataType) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand u = typed_row("x", x, x_type, std::max(n, 0), x_step),
                to = typed_row("norm", result, result_type, 1, 1);
  if (!result || !is_real(x_type) || !is_real(result_type)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n > 0 && x_step <= 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  return run_for(result, handle, "cublasNrm2Ex", host ? std::vector{u} : std::vector{u, to}, 2.0 * n,
                 [=] { store<double>(to, matrix<double>::Constant(1, 1, load<double>(u).norm())); });
}

#define SIM_DEFINE_CUBLAS(X, RX, T, R)                                                                                 \
  cublasStatus_t cublas##X##gemm_v2(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,      \
                                    int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,            \
                                    const T* beta, T* c, int ldc) {                                                    \
    return gemm(handle, "cublas" #X "gemm", op_a, op_b, m, n, k, alpha, every(a), type_of<T>, lda, every(b),           \
                type_of<T>, ldb, beta, every(c), type_of<T>, ldc, 1, compute_of<T>);                                   \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemmStridedBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b,  \
                                               int m, int n, int k, const T* alpha, const T* a, int lda,               \
                                               long long a_stride, const T* b, int ldb, long long b_stride,            \
                                               const T* beta, T* c, int ldc, long long c_stride, int batches) {        \
    return gemm(handle, "cublas" #X "gemmStridedBatched", op_a, op_b, m, n, k, alpha, every(a, a_stride, sizeof(T)),   \
                type_of<T>, lda, every(b, b_stride, sizeof(T)), type_of<T>, ldb, beta, every(c, c_stride, sizeof(T)),  \
                type_of<T>, ldc, batches, compute_of<T>);                                                              \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemmBatched(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,  \
                                        int n, int k, const T* alpha, const T* const a[], int lda, const T* const b[], \
                                        int ldb, const T* beta, T* const c[], int ldc, int batches) {                  \
    return gemm(handle, "cublas" #X "gemmBatched", op_a, op_b, m, n, k, alpha, listed(a), type_of<T>, lda, listed(b),  \
                type_of<T>, ldb, beta, listed(c), type_of<T>, ldc, batches, compute_of<T>);                            \
  }                                                                                                                    \
  cublasStatus_t cublas##X##geam(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n,  \
                                 const T* alpha, const T* a, int lda, const T* beta, const T* b, int ldb, T* c,        \
                                 int ldc) {                                                                            \
    return geam(handle, "cublas" #X "geam", op_a, op_b, m, n, alpha, a, lda, beta, b, ldb, c, ldc);                    \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemv_v2(cublasHandle_t handle, cublasOperation_t op, int m, int n, const T* alpha,         \
                                    const T* a, int lda, const T* x, int x_step, const T* beta, T* y, int y_step) {    \
    return gemv(handle, "cublas" #X "gemv", op, m, n, alpha, a, lda, x, x_step, beta, y, y_step);                      \
  }                                                                                                                    \
  cublasStatus_t cublas##X##trsm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
                                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,     \
                                    const T* a, int lda, T* b, int ldb) {                                              \
    return trsm(handle, "cublas" #X "trsm", side, fill, op, diagonal, m, n, alpha, a, lda, b, ldb);                    \
  }                                                                                                                    \
  cublasStatus_t cublas##X##symm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, \
                                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,     \
                                    int ldc) {                                                                         \
    return symm(handle, "cublas" #X "symm", side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc);                    \
  }                                                                                                                    \
  cublasStatus_t cublas##X##symv_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* a,   \
                                    int lda, const T* x, int x_step, const T* beta, T* y, int y_step) {                \
    return symv(handle, "cublas" #X "symv", fill, n, alpha, a, lda, x, x_step, beta, y, y_step);                       \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syrk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,  \
                                    const T* alpha, const T* a, int lda, const T* beta, T* c, int ldc) {               \
    return rank_update(handle, "cublas" #X "syrk", fill, op, n, k, factor_of<T>(handle, alpha), a, lda, a, lda, false, \
                       factor_of<T>(handle, beta), c, ldc);                                                            \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syrkx(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,    \
                                  const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,       \
                                  int ldc) {                                                                           \
    return rank_update(handle, "cublas" #X "syrkx", fill, op, n, k, factor_of<T>(handle, alpha), a, lda, b, ldb,       \
                       false, factor_of<T>(handle, beta), c, ldc);                                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syr2k_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k, \
                                     const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,    \
                                     int ldc) {                                                                        \
    return rank_update(handle, "cublas" #X "syr2k", fill, op, n, k, factor_of<T>(handle, alpha), a, lda, b, ldb, true, \
                       factor_of<T>(handle, beta), c, ldc);                                                            \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syr_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,    \
                                   int x_step, T* a, int lda) {                                                        \
    return rank_one(handle, "cublas" #X "syr", fill, n, factor_of<T>(handle, alpha), x, x_step, x, x_step, false, a,   \
                    lda);                                                                                              \
  }                                                                                                                    \
  cublasStatus_t cublas##X##syr2_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,   \
                                    int x_step, const T* y, int y_step, T* a, int lda) {                               \
    return rank_one(handle, "cublas" #X "syr2", fill, n, factor_of<T>(handle, alpha), x, x_step, y, y_step, true, a,   \
                    lda);                                                                                              \
  }                                                                                                                    \
  cublasStatus_t cublas##X##trmm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill,               \
                                    cublasOperation_t op, cublasDiagType_t diagonal, int m, int n, const T* alpha,     \
                                    const T* a, int lda, const T* b, int ldb, T* c, int ldc) {                         \
    return trmm(handle, "cublas" #X "trmm", side, fill, op, diagonal, m, n, alpha, a, lda, b, ldb, c, ldc);            \
  }                                                                                                                    \
  cublasStatus_t cublas##X##trmv_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,                \
                                    cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step) {         \
    return triangle_vector(handle, "cublas" #X "trmv", false, fill, op, diagonal, n, a, lda, x, x_step);               \
  }                                                                                                                    \
  cublasStatus_t cublas##X##trsv_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op,                \
                                    cublasDiagType_t diagonal, int n, const T* a, int lda, T* x, int x_step) {         \
    return triangle_vector(handle, "cublas" #X "trsv", true, fill, op, diagonal, n, a, lda, x, x_step);                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##dgmm(cublasHandle_t handle, cublasSideMode_t side, int m, int n, const T* a, int lda,      \
                                 const T* x, int x_step, T* c, int ldc) {                                              \
    return dgmm(handle, "cublas" #X "dgmm", side, m, n, a, lda, x, x_step, c, ldc);                                    \
  }                                                                                                                    \
  cublasStatus_t cublas##X##getrfBatched(cublasHandle_t handle, int n, T* const a[], int lda, int* pivots, int* info,  \
                                         int batches) {                                                                \
    return getrf(handle, "cublas" #X "getrfBatched", n, a, lda, pivots, info, batches);                                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##axpy_v2(cublasHandle_t handle, int n, const T* alpha, const T* x, int x_step, T* y,        \
                                    int y_step) {                                                                      \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                 \
    return elementwise(handle, "cublas" #X "axpy", n, const_cast<T*>(x), x_step, y, y_step,                            \
                       [p = scalar(handle, alpha)](T& u, T& v) { v += p() * u; });                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##X##scal_v2(cublasHandle_t handle, int n, const T* alpha, T* x, int x_step) {                  \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                 \
    return elementwise(handle, "cublas" #X "scal", n, x, x_step, static_cast<T*>(nullptr), 1,                          \
                       [p = scalar(handle, alpha)](T& u, T&) { u *= p(); });                                           \
  }                                                                                                                    \
  cublasStatus_t cublas##X##copy_v2(cublasHandle_t handle, int n, const T* x, int x_step, T* y, int y_step) {          \
    return elementwise(handle, "cublas" #X "copy", n, const_cast<T*>(x), x_step, y, y_step,                            \
                       [](T& u, T& v) { v = u; });                                                                     \
  }                                                                                                                    \
  cublasStatus_t cublas##X##swap_v2(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step) {                \
    return elementwise(handle, "cublas" #X "swap", n, x, x_step, y, y_step, [](T& u, T& v) { std::swap(u, v); });      \
  }                                                                                                                    \
  cublasStatus_t cublas##RX##nrm2_v2(cublasHandle_t handle, int n, const T* x, int x_step, R* result) {                \
    return reduction(handle, "cublas" #RX "nrm2", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) {                                                                  \
                       double sum = 0;                                                                                 \
                       for (int i = 0; i < u.n; ++i) {                                                                 \
                         const double re = Eigen::numext::real(u[i]), im = Eigen::numext::imag(u[i]);                  \
                         sum += re * re + im * im;                                                                     \
                       }                                                                                               \
                       return static_cast<R>(std::sqrt(sum));                                                          \
                     });                                                                                               \
  }                                                                                                                    \
  cublasStatus_t cublas##RX##asum_v2(cublasHandle_t handle, int n, const T* x, int x_step, R* result) {                \
    return reduction(handle, "cublas" #RX "asum", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) {                                                                  \
                       R sum = 0;                                                                                      \
                       for (int i = 0; i < u.n; ++i) sum += size_of(u[i]);                                             \
                       return sum;                                                                                     \
                     });                                                                                               \
  }                                                                                                                    \
  cublasStatus_t cublasI##X##amax_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {              \
    return reduction(handle, "cublasI" #X "amax", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) { return extreme(u, std::greater<R>()); });                        \
  }                                                                                                                    \
  cublasStatus_t cublasI##X##amin_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {              \
    return reduction(handle, "cublasI" #X "amin", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) { return extreme(u, std::less<R>()); });                           \
  }
#define SIM_DEFINE_CUBLAS_REAL(X, T)                                                                                \
  cublasStatus_t cublas##X##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,     \
                                   const T* y, int y_step, T* a, int lda) {                                         \
    return ger(handle, "cublas" #X "ger", m, n, alpha, x, x_step, y, y_step, a, lda);                               \
  }                                                                                                                 \
  cublasStatus_t cublas##X##rot_v2(cublasHandle_t handle, int n, T* x, int x_step, T* y, int y_step, const T* c,    \
                                   const T* s) {                                                                    \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                                                              \
    if (!c || !s) return CUBLAS_STATUS_INVALID_VALUE;                                                               \
    return rotate(handle, "cublas" #X "rot", n, x, x_step, y, y_step, c, s);                                        \
  }                                                                                                                 \
  cublasStatus_t cublas##X##dot_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,    \
                                   T* result) {                                                                     \
    return reduction(handle, "cublas" #X "dot", n, x, x_step, y, y_step, result, [](const auto& u, const auto& v) { \
      T sum = 0;                                                                                                    \
      for (int i = 0; i < u.n; ++i) sum += u[i] * v[i];                                                             \
      return sum;                                                                                                   \
    });                                                                                                             \
  }
#define SIM_DEFINE_CUBLAS_COMPLEX(X, XR, T, R)                                                                         \
  cublasStatus_t cublas##X##geru_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,       \
                                    const T* y, int y_step, T* a, int lda) {                                           \
    return ger(handle, "cublas" #X "geru", m, n, alpha, x, x_step, y, y_step, a, lda);                                 \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gerc_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,       \
                                    const T* y, int y_step, T* a, int lda) {                                           \
    return ger(handle, "cublas" #X "gerc", m, n, alpha, x, x_step, y, y_step, a, lda, true);                           \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemm3m(cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m,       \
                                   int n, int k, const T* alpha, const T* a, int lda, const T* b, int ldb,             \
                                   const T* beta, T* c, int ldc) {                                                     \
    return gemm(handle, "cublas" #X "gemm3m", op_a, op_b, m, n, k, alpha, every(a), type_of<T>, lda, every(b),         \
                type_of<T>, ldb, beta, every(c), type_of<T>, ldc, 1, compute_of<T>);                                   \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemm3mBatched(                                                                             \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha,      \
      const T* const a[], int lda, const T* const b[], int ldb, const T* beta, T* const c[], int ldc, int batches) {   \
    return gemm(handle, "cublas" #X "gemm3mBatched", op_a, op_b, m, n, k, alpha, listed(a), type_of<T>, lda,           \
                listed(b), type_of<T>, ldb, beta, listed(c), type_of<T>, ldc, batches, compute_of<T>);                 \
  }                                                                                                                    \
  cublasStatus_t cublas##X##gemm3mStridedBatched(                                                                      \
      cublasHandle_t handle, cublasOperation_t op_a, cublasOperation_t op_b, int m, int n, int k, const T* alpha,      \
      const T* a, int lda, long long a_stride, const T* b, int ldb, long long b_stride, const T* beta, T* c, int ldc,  \
      long long c_stride, int batches) {                                                                               \
    return gemm(handle, "cublas" #X "gemm3mStridedBatched", op_a, op_b, m, n, k, alpha, every(a, a_stride, sizeof(T)), \
                type_of<T>, lda, every(b, b_stride, sizeof(T)), type_of<T>, ldb, beta, every(c, c_stride, sizeof(T)),  \
                type_of<T>, ldc, batches, compute_of<T>);                                                              \
  }                                                                                                                    \
  cublasStatus_t cublas##X##hemm_v2(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t fill, int m, int n, \
                                    const T* alpha, const T* a, int lda, const T* b, int ldb, const T* beta, T* c,     \
                                    int ldc) {                                                                         \
    return symm(handle, "cublas" #X "hemm", side, fill, m, n, alpha, a, lda, b, ldb, beta, c, ldc, true);              \
  }                                                                                                                    \
  cublasStatus_t cublas##X##hemv_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* a,   \
                                    int lda, const T* x, int x_step, const T* beta, T* y, int y_step) {                \
    return symv(handle, "cublas" #X "hemv", fill, n, alpha, a, lda, x, x_step, beta, y, y_step, true);                 \
  }                                                                                                                    \
  cublasStatus_t cublas##X##herk_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k,  \
                                    const R* alpha, const T* a, int lda, const R* beta, T* c, int ldc) {               \
    return rank_update(handle, "cublas" #X "herk", fill, op, n, k, factor_of<T>(handle, alpha), a, lda, a, lda, false, \
                       factor_of<T>(handle, beta), c, ldc, true);                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##X##her2k_v2(cublasHandle_t handle, cublasFillMode_t fill, cublasOperation_t op, int n, int k, \
                                     const T* alpha, const T* a, int lda, const T* b, int ldb, const R* beta, T* c,    \
                                     int ldc) {                                                                        \
    return rank_update(handle, "cublas" #X "her2k", fill, op, n, k, factor_of<T>(handle, alpha), a, lda, b, ldb, true, \
                       factor_of<T>(handle, beta), c, ldc, true);                                                      \
  }                                                                                                                    \
  cublasStatus_t cublas##X##her_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const R* alpha, const T* x,    \
                                   int x_step, T* a, int lda) {                                                        \
    return rank_one(handle, "cublas" #X "her", fill, n, factor_of<T>(handle, alpha), x, x_step, x, x_step, false, a,   \
                    lda, true);                                                                                        \
  }                                                                                                                    \
  cublasStatus_t cublas##X##her2_v2(cublasHandle_t handle, cublasFillMode_t fill, int n, const T* alpha, const T* x,   \
                                    int x_step, const T* y, int y_step, T* a, int lda) {                               \
    return rank_one(handle, "cublas" #X "her2", fill, n, factor_of<T>(handle, alpha), x, x_step, y, y_step, true, a,   \
                    lda, true);                                                                                        \
  }                                                                                                                    \
  cublasStatus_t cublas##XR##scal_v2(cublasHandle_t handle, int n, const R* alpha, T* x, int x_step) {                 \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;                                                                 \
    return elementwise(handle, "cublas" #XR "scal", n, x, x_step, static_cast<T*>(nullptr), 1,                         \
                       [p = scalar(handle, alpha)](T& u, T&) { u *= p(); });                                           \
  }                                                                                                                    \
  cublasStatus_t cublas##X##dotu_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,      \
                                    T* result) {                                                                       \
    return reduction(handle, "cublas" #X "dotu", n, x, x_step, y, y_step, result, [](const auto& u, const auto& v) {   \
      T sum = 0;                                                                                                       \
      for (int i = 0; i < u.n; ++i) sum += u[i] * v[i];                                                                \
      return sum;                                                                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##dotc_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,      \
                                    T* result) {                                                                       \
    return reduction(handle, "cublas" #X "dotc", n, x, x_step, y, y_step, result, [](const auto& u, const auto& v) {   \
      T sum = 0;                                                                                                       \
      for (int i = 0; i < u.n; ++i) sum += Eigen::numext::conj(u[i]) * v[i];                                           \
      return sum;                                                                                                      \
    });                                                                                                                \
  }
SIM_DEFINE_CUBLAS(S, S, float, float)
SIM_DEFINE_CUBLAS(D, D, double, double)
SIM_DEFINE_CUBLAS(C, Sc, std::complex<float>, float)
SIM_DEFINE_CUBLAS(Z, Dz, std::complex<double>, double)
SIM_DEFINE_CUBLAS_REAL(S, float)
SIM_DEFINE_CUBLAS_REAL(D, double)
SIM_DEFINE_CUBLAS_COMPLEX(C, Cs, std::complex<float>, float)
SIM_DEFINE_CUBLAS_COMPLEX(Z, Zd, std::complex<double>, double)

}  // extern "C"
