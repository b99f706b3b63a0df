// cuSOLVER on Eigen: each call loads its matrices, computes in FP64, and stores the results in LAPACK's form.
#include "cusolverDn.h"

#include <Eigen/Dense>
#include <algorithm>
#include <complex>
#include <initializer_list>
#include <limits>
#include <string>

#include "library.hpp"

struct cusolverDnContext {
  cudaStream_t stream = nullptr;
};
struct cusolverDnParams {};

namespace {

using namespace sim;

/// An element's type in memory, and its type for computing.
template <class T>
struct element {
  using type = T;
  using wide = double;
};
template <>
struct element<cuComplex> {
  using type = std::complex<float>;
  using wide = std::complex<double>;
};
template <>
struct element<cuDoubleComplex> : element<cuComplex> {
  using type = std::complex<double>;
};
template <class T>
using wide = typename element<T>::wide;
template <class S>
using matrix = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;

/// A column-major matrix in device memory.
template <class T>
auto at(const T* data, int rows, int columns, int ld) {
  using S = typename element<T>::type;
  return Eigen::Map<matrix<S>, 0, Eigen::OuterStride<>>(reinterpret_cast<S*>(const_cast<T*>(data)), rows, columns,
                                                        Eigen::OuterStride<>(ld));
}
template <class T>
matrix<wide<T>> load(const T* data, int rows, int columns, int ld) {
  return at(data, rows, columns, ld).template cast<wide<T>>();
}
template <class T, class Values>
void store(T* data, int ld, const Values& values) {
  at(data, static_cast<int>(values.rows()), static_cast<int>(values.cols()), ld) =
      values.template cast<typename element<T>::type>();
}
template <class T>
device_range range(const char* name, const T* data, int rows, int columns, int ld, bool written) {
  const std::size_t elements =
      rows == 0 || columns == 0
          ? 0
          : (static_cast<std::size_t>(columns) - 1) * static_cast<std::size_t>(ld) + static_cast<std::size_t>(rows);
  return {name, data, elements * sizeof(T), written};
}
template <class T>
device_range range(const char* name, const T* data, int count, bool written) {
  return range(name, data, count, 1, count, written);
}
device_range range_of_info(const int* info) { return range("info", info, 1, true); }

cusolverStatus_t run(cusolverDnHandle_t handle, const std::string& call, double flops,
                     const std::vector<device_range>& operands, const std::function<void()>& work) {
  return library_call(("cusolverDn" + call).c_str(), handle->stream, flops, operands, work) == cudaSuccess
             ? CUSOLVER_STATUS_SUCCESS
             : CUSOLVER_STATUS_EXECUTION_FAILED;
}
cusolverStatus_t one_element(int* elements) {
  if (!elements) return CUSOLVER_STATUS_INVALID_VALUE;
  *elements = 1;
  return CUSOLVER_STATUS_SUCCESS;
}
bool fits(int rows, int columns, int ld) { return rows >= 0 && columns >= 0 && ld >= std::max(1, rows); }
double cube(int n) { return static_cast<double>(n) * n * n; }

template <class T>
matrix<T> operand(cublasOperation_t op, const matrix<T>& m) {
  if (op == CUBLAS_OP_N) return m;
  return op == CUBLAS_OP_T ? matrix<T>(m.transpose()) : matrix<T>(m.adjoint());
}

template <class T>
cusolverStatus_t potrf(cusolverDnHandle_t handle, const char* call, cublasFillMode_t uplo, int n, T* a, int lda,
                       int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(n, n, lda)) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, cube(n) / 3, {range("A", a, n, n, lda, true), range_of_info(info)}, [=] {
    // Eigen's public class does not say which leading minor is not positive.
    matrix<wide<T>> m = load(a, n, n, lda);
    const bool lower = uplo == CUBLAS_FILL_MODE_LOWER;
    if (!lower) m.adjointInPlace();
    *info = 1 + static_cast<int>(Eigen::internal::llt_inplace<wide<T>, Eigen::Lower>::blocked(m));
    if (!lower) m.adjointInPlace();
    store(a, lda, m);
  });
}
template <class T>
cusolverStatus_t potrs(cusolverDnHandle_t handle, const char* call, cublasFillMode_t uplo, int n, int columns,
                       const T* a, int lda, T* b, int ldb, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(n, n, lda) || !fits(n, columns, ldb)) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, 2.0 * n * n * columns,
             {range("A", a, n, n, lda, false), range("B", b, n, columns, ldb, true), range_of_info(info)}, [=] {
               matrix<wide<T>> lower = load(a, n, n, lda), x = load(b, n, columns, ldb);
               if (uplo != CUBLAS_FILL_MODE_LOWER) lower.adjointInPlace();
               lower.template triangularView<Eigen::Lower>().solveInPlace(x);
               lower.adjoint().template triangularView<Eigen::Upper>().solveInPlace(x);
               store(b, ldb, x);
               *info = 0;
             });
}

/// P A = L U with rows exchanged for the largest pivot or, without `pivots`, unchanged.
template <class T, class Pivot>
cusolverStatus_t getrf(cusolverDnHandle_t handle, const char* call, int m, int n, T* a, int lda, Pivot* pivots,
                       int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(m, n, lda)) return CUSOLVER_STATUS_INVALID_VALUE;
  const int size = std::min(m, n);
  std::vector<device_range> operands = {range("A", a, m, n, lda, true), range_of_info(info)};
  if (pivots) operands.push_back(range("ipiv", pivots, size, true));
  return run(handle, call, 2 * cube(size) / 3, operands, [=] {
    matrix<wide<T>> all = load(a, m, n, lda);
    *info = 0;
    for (int k = 0; k < size; ++k) {
      Eigen::Index largest = 0;
      if (pivots) {
        all.col(k).tail(m - k).cwiseAbs().maxCoeff(&largest);
        pivots[k] = static_cast<Pivot>(k + largest + 1);  // LAPACK counts from 1
        all.row(k).swap(all.row(k + largest));
      }
      if (all(k, k) == wide<T>(0)) {
        if (*info == 0) *info = k + 1;
        continue;
      }
      all.col(k).tail(m - k - 1) /= all(k, k);
      all.bottomRightCorner(m - k - 1, n - k - 1) -= all.col(k).tail(m - k - 1) * all.row(k).tail(n - k - 1);
    }
    store(a, lda, all);
  });
}
template <class T, class Pivot>
cusolverStatus_t getrs(cusolverDnHandle_t handle, const char* call, cublasOperation_t op, int n, int columns,
                       const T* a, int lda, const Pivot* pivots, T* b, int ldb, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(n, n, lda) || !fits(n, columns, ldb)) return CUSOLVER_STATUS_INVALID_VALUE;
  std::vector<device_range> operands = {range("A", a, n, n, lda, false), range("B", b, n, columns, ldb, true),
                                        range_of_info(info)};
  if (pivots) operands.push_back(range("ipiv", pivots, n, false));
  return run(handle, call, 2.0 * n * n * columns, operands, [=] {
    const matrix<wide<T>> factors = operand(op, load(a, n, n, lda));
    matrix<wide<T>> x = load(b, n, columns, ldb);
    const auto exchange = [&](int i) {
      if (pivots) x.row(i).swap(x.row(pivots[i] - 1));
    };
    if (op == CUBLAS_OP_N) {
      for (int i = 0; i < n; ++i) exchange(i);
      factors.template triangularView<Eigen::UnitLower>().solveInPlace(x);
      factors.template triangularView<Eigen::Upper>().solveInPlace(x);
    } else {
      factors.template triangularView<Eigen::Lower>().solveInPlace(x);
      factors.template triangularView<Eigen::UnitUpper>().solveInPlace(x);
      for (int i = n; i-- > 0;) exchange(i);
    }
    store(b, ldb, x);
    *info = 0;
  });
}

template <class T>
cusolverStatus_t geqrf(cusolverDnHandle_t handle, const char* call, int m, int n, T* a, int lda, T* tau, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(m, n, lda)) return CUSOLVER_STATUS_INVALID_VALUE;
  const int size = std::min(m, n);
  return run(handle, call, 2.0 * m * n * size,
             {range("A", a, m, n, lda, true), range("tau", tau, size, true), range_of_info(info)}, [=] {
               const Eigen::HouseholderQR<matrix<wide<T>>> qr(load(a, m, n, lda));
               store(a, lda, qr.matrixQR());
               store(tau, size, qr.hCoeffs().conjugate());  // LAPACK's reflectors are the adjoints of Eigen's
               *info = 0;
             });
}
/// The first `columns` columns of Q, from geqrf's reflectors.
template <class S>
matrix<S> q_of(const matrix<S>& reflectors, const matrix<S>& tau, int columns) {
  const Eigen::Index rows = reflectors.rows();
  matrix<S> q = matrix<S>::Identity(rows, columns);
  matrix<S> work(1, columns);
  for (Eigen::Index k = tau.rows(); k-- > 0;)
    q.bottomRows(rows - k).applyHouseholderOnTheLeft(reflectors.col(k).tail(rows - k - 1), tau(k), work.data());
  return q;
}
template <class T>
cusolverStatus_t orgqr(cusolverDnHandle_t handle, const char* call, int m, int n, int k, T* a, int lda, const T* tau,
                       int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(m, n, lda) || n > m || k < 0 || k > n) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, 2.0 * m * n * k,
             {range("A", a, m, n, lda, true), range("tau", tau, k, false), range_of_info(info)}, [=] {
               store(a, lda, q_of(load(a, m, k, lda), load(tau, k, 1, k), n));
               *info = 0;
             });
}
template <class T>
cusolverStatus_t ormqr(cusolverDnHandle_t handle, const char* call, cublasSideMode_t side, cublasOperation_t op, int m,
                       int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const int size = side == CUBLAS_SIDE_LEFT ? m : n;
  if (!fits(size, k, lda) || !fits(m, n, ldc) || k > size) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, 2.0 * m * n * k,
             {range("A", a, size, k, lda, false), range("tau", tau, k, false), range("C", c, m, n, ldc, true),
              range_of_info(info)},
             [=] {
               using M = matrix<wide<T>>;
               const M q = operand(op, q_of(load(a, size, k, lda), load(tau, k, 1, k), size)), to = load(c, m, n, ldc);
               store(c, ldc, side == CUBLAS_SIDE_LEFT ? M(q * to) : M(to * q));
               *info = 0;
             });
}

template <class T, class R>
cusolverStatus_t syevd(cusolverDnHandle_t handle, const char* call, cusolverEigMode_t mode, cublasFillMode_t uplo,
                       int n, T* a, int lda, R* w, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!fits(n, n, lda)) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, 9 * cube(n), {range("A", a, n, n, lda, true), range("W", w, n, true), range_of_info(info)},
             [=] {
               matrix<wide<T>> given = load(a, n, n, lda);
               if (uplo != CUBLAS_FILL_MODE_LOWER) given.adjointInPlace();
               const bool vectors = mode == CUSOLVER_EIG_MODE_VECTOR;
               const Eigen::SelfAdjointEigenSolver<matrix<wide<T>>> solver(
                   given, vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
               *info = solver.info() == Eigen::Success ? 0 : n;
               store(w, n, solver.eigenvalues());
               if (vectors) store(a, lda, solver.eigenvectors());
             });
}

/// A = U S V^H. Jobs: A: all columns of U or rows of V^H; S: one per singular value; O: those, in place of A; N: none.
template <class T, class R>
cusolverStatus_t gesvd(cusolverDnHandle_t handle, const char* call, signed char job_u, signed char job_vt, int m, int n,
                       T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, int* info) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  const auto known = [](signed char job) { return job == 'A' || job == 'S' || job == 'O' || job == 'N'; };
  if (!fits(m, n, lda) || m < n || !known(job_u) || !known(job_vt) || (job_u == 'O' && job_vt == 'O'))
    return CUSOLVER_STATUS_INVALID_VALUE;
  const int u_columns = job_u == 'A' ? m : job_u == 'S' ? n : 0, vt_rows = job_vt == 'A' || job_vt == 'S' ? n : 0;
  if ((u_columns > 0 && ldu < m) || (vt_rows > 0 && ldvt < n)) return CUSOLVER_STATUS_INVALID_VALUE;
  return run(handle, call, 4.0 * m * n * n + 8 * cube(n),
             {range("A", a, m, n, lda, true), range("S", s, n, true), range("U", u, m, u_columns, ldu, true),
              range("VT", vt, vt_rows, n, ldvt, true), range_of_info(info)},
             [=] {
               const int wanted = (job_u == 'N'   ? 0
                                   : job_u == 'A' ? int{Eigen::ComputeFullU}
                                                  : int{Eigen::ComputeThinU}) |
                                  (job_vt == 'N' ? 0 : int{Eigen::ComputeThinV});
               const Eigen::JacobiSVD<matrix<wide<T>>> svd(load(a, m, n, lda), static_cast<unsigned>(wanted));
               *info = 0;
               store(s, n, svd.singularValues());
               if (job_u == 'O') store(a, lda, svd.matrixU());
               if (job_vt == 'O') store(a, lda, svd.matrixV().adjoint());
               if (u_columns > 0) store(u, ldu, svd.matrixU());
               if (vt_rows > 0) store(vt, ldvt, svd.matrixV().adjoint());
             });
}

// ---- the calls with 64-bit sizes

/// Calls `f` with null pointers to the element type and to the type of its absolute values. The call's other types must
/// be one of these.
template <class Call>
cusolverStatus_t with_type(cudaDataType type, std::initializer_list<cudaDataType> same,
                           std::initializer_list<cudaDataType> of_absolute_values, std::initializer_list<int64_t> sizes,
                           Call f) {
  const bool wide = type == CUDA_R_64F || type == CUDA_C_64F;
  if (!wide && type != CUDA_R_32F && type != CUDA_C_32F) return CUSOLVER_STATUS_MATRIX_TYPE_NOT_SUPPORTED;
  for (const cudaDataType t : same)
    if (t != type) return CUSOLVER_STATUS_INVALID_VALUE;
  for (const cudaDataType t : of_absolute_values)
    if (t != (wide ? CUDA_R_64F : CUDA_R_32F)) return CUSOLVER_STATUS_INVALID_VALUE;
  for (const int64_t n : sizes)
    if (n < 0 || n > std::numeric_limits<int>::max()) return CUSOLVER_STATUS_INVALID_VALUE;
  float* const narrow_real = nullptr;
  double* const wide_real = nullptr;
  switch (type) {
    case CUDA_R_32F: return f(narrow_real, narrow_real);
    case CUDA_R_64F: return f(wide_real, wide_real);
    case CUDA_C_32F: return f(static_cast<cuComplex*>(nullptr), narrow_real);
    default: return f(static_cast<cuDoubleComplex*>(nullptr), wide_real);
  }
}
cusolverStatus_t no_workspace(size_t* device_bytes, size_t* host_bytes) {
  if (!device_bytes || !host_bytes) return CUSOLVER_STATUS_INVALID_VALUE;
  *device_bytes = sizeof(cuDoubleComplex);  // not 0: programs allocate it
  *host_bytes = 0;
  return CUSOLVER_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cusolverStatus_t cusolverDnCreate(cusolverDnHandle_t* handle) {
  if (!handle) return CUSOLVER_STATUS_INVALID_VALUE;
  *handle = new cusolverDnContext;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroy(cusolverDnHandle_t handle) {
  delete handle;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetStream(cusolverDnHandle_t handle, cudaStream_t stream) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnGetStream(cusolverDnHandle_t handle, cudaStream_t* stream) {
  if (!handle) return CUSOLVER_STATUS_NOT_INITIALIZED;
  if (!stream) return CUSOLVER_STATUS_INVALID_VALUE;
  *stream = handle->stream;
  return CUSOLVER_STATUS_SUCCESS;
}

#define SIM_CUSOLVER(X, T, R)                                                                                       \
  cusolverStatus_t cusolverDn##X##potrf_bufferSize(cusolverDnHandle_t, cublasFillMode_t, int, T*, int,              \
                                                   int* elements) {                                                 \
    return one_element(elements);                                                                                   \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##potrf(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, T* a, int lda, T*, \
                                        int, int* info) {                                                           \
    return potrf(handle, #X "potrf", uplo, n, a, lda, info);                                                        \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##potrs(cusolverDnHandle_t handle, cublasFillMode_t uplo, int n, int columns,       \
                                        const T* a, int lda, T* b, int ldb, int* info) {                            \
    return potrs(handle, #X "potrs", uplo, n, columns, a, lda, b, ldb, info);                                       \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##getrf_bufferSize(cusolverDnHandle_t, int, int, T*, int, int* elements) {          \
    return one_element(elements);                                                                                   \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##getrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T*, int* pivots,    \
                                        int* info) {                                                                \
    return getrf(handle, #X "getrf", m, n, a, lda, pivots, info);                                                   \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##getrs(cusolverDnHandle_t handle, cublasOperation_t op, int n, int columns,        \
                                        const T* a, int lda, const int* pivots, T* b, int ldb, int* info) {         \
    return getrs(handle, #X "getrs", op, n, columns, a, lda, pivots, b, ldb, info);                                 \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##geqrf_bufferSize(cusolverDnHandle_t, int, int, T*, int, int* elements) {          \
    return one_element(elements);                                                                                   \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##geqrf(cusolverDnHandle_t handle, int m, int n, T* a, int lda, T* tau, T*, int,    \
                                        int* info) {                                                                \
    return geqrf(handle, #X "geqrf", m, n, a, lda, tau, info);                                                      \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##gesvd_bufferSize(cusolverDnHandle_t, int, int, int* elements) {                   \
    return one_element(elements);                                                                                   \
  }                                                                                                                 \
  cusolverStatus_t cusolverDn##X##gesvd(cusolverDnHandle_t handle, signed char job_u, signed char job_vt, int m,    \
                                        int n, T* a, int lda, R* s, T* u, int ldu, T* vt, int ldvt, T*, int, R*,    \
                                        int* info) {                                                                \
    return gesvd(handle, #X "gesvd", job_u, job_vt, m, n, a, lda, s, u, ldu, vt, ldvt, info);                       \
  }
#define SIM_CUSOLVER_NAMED(X, T, R, orgqr_, ormqr_, syevd_)                                                           \
  cusolverStatus_t cusolverDn##X##orgqr_##_bufferSize(cusolverDnHandle_t, int, int, int, const T*, int, const T*,     \
                                                      int* elements) {                                                \
    return one_element(elements);                                                                                     \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##orgqr_(cusolverDnHandle_t handle, int m, int n, int k, T* a, int lda, const T* tau, \
                                         T*, int, int* info) {                                                        \
    return orgqr(handle, #X #orgqr_, m, n, k, a, lda, tau, info);                                                     \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##ormqr_##_bufferSize(cusolverDnHandle_t, cublasSideMode_t, cublasOperation_t, int,   \
                                                      int, int, const T*, int, const T*, const T*, int,               \
                                                      int* elements) {                                                \
    return one_element(elements);                                                                                     \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##ormqr_(cusolverDnHandle_t handle, cublasSideMode_t side, cublasOperation_t op,      \
                                         int m, int n, int k, const T* a, int lda, const T* tau, T* c, int ldc, T*,   \
                                         int, int* info) {                                                            \
    return ormqr(handle, #X #ormqr_, side, op, m, n, k, a, lda, tau, c, ldc, info);                                   \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##syevd_##_bufferSize(cusolverDnHandle_t, cusolverEigMode_t, cublasFillMode_t, int,   \
                                                      const T*, int, const R*, int* elements) {                       \
    return one_element(elements);                                                                                     \
  }                                                                                                                   \
  cusolverStatus_t cusolverDn##X##syevd_(cusolverDnHandle_t handle, cusolverEigMode_t mode, cublasFillMode_t uplo,    \
                                         int n, T* a, int lda, R* w, T*, int, int* info) {                            \
    return syevd(handle, #X #syevd_, mode, uplo, n, a, lda, w, info);                                                 \
  }
SIM_CUSOLVER_TYPES(SIM_CUSOLVER, SIM_CUSOLVER_NAMED)

cusolverStatus_t cusolverDnCreateParams(cusolverDnParams_t* params) {
  if (!params) return CUSOLVER_STATUS_INVALID_VALUE;
  *params = new cusolverDnParams;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnDestroyParams(cusolverDnParams_t params) {
  delete params;
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnSetAdvOptions(cusolverDnParams_t, cusolverDnFunction_t, cusolverAlgMode_t) {
  return CUSOLVER_STATUS_SUCCESS;
}
cusolverStatus_t cusolverDnXpotrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cublasFillMode_t, int64_t,
                                             cudaDataType, const void*, int64_t, cudaDataType, size_t* device_bytes,
                                             size_t* host_bytes) {
  return no_workspace(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXpotrf(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo, int64_t n,
                                  cudaDataType a_type, void* a, int64_t lda, cudaDataType compute, void*, size_t, void*,
                                  size_t, int* info) {
  return with_type(a_type, {compute}, {}, {n, lda}, [=](auto* t, auto*) {
    return potrf(handle, "Xpotrf", uplo, static_cast<int>(n), static_cast<decltype(t)>(a), static_cast<int>(lda), info);
  });
}
cusolverStatus_t cusolverDnXpotrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasFillMode_t uplo, int64_t n,
                                  int64_t columns, cudaDataType a_type, const void* a, int64_t lda, cudaDataType b_type,
                                  void* b, int64_t ldb, int* info) {
  return with_type(a_type, {b_type}, {}, {n, columns, lda, ldb}, [=](auto* t, auto*) {
    using pointer = decltype(t);
    return potrs(handle, "Xpotrs", uplo, static_cast<int>(n), static_cast<int>(columns),
                 static_cast<pointer>(const_cast<void*>(a)), static_cast<int>(lda), static_cast<pointer>(b),
                 static_cast<int>(ldb), info);
  });
}
cusolverStatus_t cusolverDnXgetrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
                                             const void*, int64_t, cudaDataType, size_t* device_bytes,
                                             size_t* host_bytes) {
  return no_workspace(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXgetrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType a_type, void* a, int64_t lda, int64_t* pivots, cudaDataType compute,
                                  void*, size_t, void*, size_t, int* info) {
  return with_type(a_type, {compute}, {}, {m, n, lda}, [=](auto* t, auto*) {
    return getrf(handle, "Xgetrf", static_cast<int>(m), static_cast<int>(n), static_cast<decltype(t)>(a),
                 static_cast<int>(lda), pivots, info);
  });
}
cusolverStatus_t cusolverDnXgetrs(cusolverDnHandle_t handle, cusolverDnParams_t, cublasOperation_t op, int64_t n,
                                  int64_t columns, cudaDataType a_type, const void* a, int64_t lda,
                                  const int64_t* pivots, cudaDataType b_type, void* b, int64_t ldb, int* info) {
  return with_type(a_type, {b_type}, {}, {n, columns, lda, ldb}, [=](auto* t, auto*) {
    using pointer = decltype(t);
    return getrs(handle, "Xgetrs", op, static_cast<int>(n), static_cast<int>(columns),
                 static_cast<pointer>(const_cast<void*>(a)), static_cast<int>(lda), pivots, static_cast<pointer>(b),
                 static_cast<int>(ldb), info);
  });
}
cusolverStatus_t cusolverDnXgeqrf_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, int64_t, int64_t, cudaDataType,
                                             const void*, int64_t, cudaDataType, const void*, cudaDataType,
                                             size_t* device_bytes, size_t* host_bytes) {
  return no_workspace(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXgeqrf(cusolverDnHandle_t handle, cusolverDnParams_t, int64_t m, int64_t n,
                                  cudaDataType a_type, void* a, int64_t lda, cudaDataType tau_type, void* tau,
                                  cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  return with_type(a_type, {tau_type, compute}, {}, {m, n, lda}, [=](auto* t, auto*) {
    using pointer = decltype(t);
    return geqrf(handle, "Xgeqrf", static_cast<int>(m), static_cast<int>(n), static_cast<pointer>(a),
                 static_cast<int>(lda), static_cast<pointer>(tau), info);
  });
}
cusolverStatus_t cusolverDnXsyevd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, cusolverEigMode_t,
                                             cublasFillMode_t, int64_t, cudaDataType, const void*, int64_t,
                                             cudaDataType, const void*, cudaDataType, size_t* device_bytes,
                                             size_t* host_bytes) {
  return no_workspace(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXsyevd(cusolverDnHandle_t handle, cusolverDnParams_t, cusolverEigMode_t mode,
                                  cublasFillMode_t uplo, int64_t n, cudaDataType a_type, void* a, int64_t lda,
                                  cudaDataType w_type, void* w, cudaDataType compute, void*, size_t, void*, size_t,
                                  int* info) {
  return with_type(a_type, {compute}, {w_type}, {n, lda}, [=](auto* t, auto* r) {
    return syevd(handle, "Xsyevd", mode, uplo, static_cast<int>(n), static_cast<decltype(t)>(a), static_cast<int>(lda),
                 static_cast<decltype(r)>(w), info);
  });
}
cusolverStatus_t cusolverDnXgesvd_bufferSize(cusolverDnHandle_t, cusolverDnParams_t, signed char, signed char, int64_t,
                                             int64_t, cudaDataType, const void*, int64_t, cudaDataType, const void*,
                                             cudaDataType, const void*, int64_t, cudaDataType, const void*, int64_t,
                                             cudaDataType, size_t* device_bytes, size_t* host_bytes) {
  return no_workspace(device_bytes, host_bytes);
}
cusolverStatus_t cusolverDnXgesvd(cusolverDnHandle_t handle, cusolverDnParams_t, signed char job_u, signed char job_vt,
                                  int64_t m, int64_t n, cudaDataType a_type, void* a, int64_t lda, cudaDataType s_type,
                                  void* s, cudaDataType u_type, void* u, int64_t ldu, cudaDataType vt_type, void* vt,
                                  int64_t ldvt, cudaDataType compute, void*, size_t, void*, size_t, int* info) {
  return with_type(a_type, {u_type, vt_type, compute}, {s_type}, {m, n, lda, ldu, ldvt}, [=](auto* t, auto* r) {
    using pointer = decltype(t);
    return gesvd(handle, "Xgesvd", job_u, job_vt, static_cast<int>(m), static_cast<int>(n), static_cast<pointer>(a),
                 static_cast<int>(lda), static_cast<decltype(r)>(s), static_cast<pointer>(u), static_cast<int>(ldu),
                 static_cast<pointer>(vt), static_cast<int>(ldvt), info);
  });
}

}  // extern "C"
