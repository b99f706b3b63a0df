// cuBLAS and cublasLt, implemented with Eigen. Operands are converted to the compute type, and the result back.
#include "cublasLt.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>

#include "faults.hpp"
#include "heap.hpp"
#include "library.hpp"
#include "runtime.hpp"
#include "sim/float8.h"
#include "streams.hpp"

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t pointer_mode = CUBLAS_POINTER_MODE_HOST;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

namespace {

using namespace sim;
template <class T>
using matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
using stride = Eigen::OuterStride<>;

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F: return 8;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    case CUDA_C_32F:
    case CUDA_C_64F: break;  // no complex numbers
  }
  return 0;
}

/// A matrix in device memory.
struct operand {
  const char* name;
  void* data;
  cudaDataType type;
  int rows, columns, ld;
  std::size_t bytes() const {
    return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns) * bytes_of(type);
  }
  bool fits() const { return ld >= std::max(1, rows); }
};

template <class From, class T>
matrix<T> load_as(const operand& o) {
  return Eigen::Map<const matrix<From>, 0, stride>(static_cast<const From*>(o.data), o.rows, o.columns, stride(o.ld))
      .template cast<T>();
}
template <class Format, class T>
matrix<T> load_8(const operand& o) {
  return load_as<std::uint8_t, std::uint8_t>(o).unaryExpr(
      [](std::uint8_t x) { return static_cast<T>(decode8<Format>(x)); });
}
template <class T>
matrix<T> load(const operand& o) {
  switch (o.type) {
    case CUDA_R_64F: return load_as<double, T>(o);
    case CUDA_R_32F: return load_as<float, T>(o);
    case CUDA_R_32I: return load_as<std::int32_t, T>(o);
    case CUDA_R_16F: return load_as<Eigen::half, T>(o);
    case CUDA_R_16BF: return load_as<Eigen::bfloat16, T>(o);
    case CUDA_R_8I: return load_as<std::int8_t, T>(o);
    case CUDA_R_8U: return load_as<std::uint8_t, T>(o);
    case CUDA_R_8F_E4M3: return load_8<e4m3, T>(o);
    case CUDA_R_8F_E5M2: return load_8<e5m2, T>(o);
    case CUDA_C_32F:
    case CUDA_C_64F: break;
  }
  return {};
}
template <class To, class T>
void store_as(const operand& o, const matrix<T>& values) {
  Eigen::Map<matrix<To>, 0, stride>(static_cast<To*>(o.data), o.rows, o.columns, stride(o.ld)) =
      values.template cast<To>();
}
template <class T>
void store(const operand& o, const matrix<T>& values) {
  switch (o.type) {
    case CUDA_R_64F: store_as<double>(o, values); break;
    case CUDA_R_32F: store_as<float>(o, values); break;
    case CUDA_R_32I: store_as<std::int32_t>(o, values); break;
    case CUDA_R_16F: store_as<Eigen::half>(o, values); break;
    case CUDA_R_16BF: store_as<Eigen::bfloat16>(o, values); break;
    case CUDA_R_8I: store_as<std::int8_t>(o, values); break;
    case CUDA_R_8U: store_as<std::uint8_t>(o, values); break;
    case CUDA_R_8F_E4M3:  // no product gives these here
    case CUDA_R_8F_E5M2: break;
    case CUDA_C_32F:
    case CUDA_C_64F: break;
  }
  for (int j = 0; j < o.columns; ++j) {
    const auto begin = reinterpret_cast<std::uintptr_t>(o.data) + static_cast<std::size_t>(j) * o.ld * bytes_of(o.type);
    if (begin - heap_base < heap_bytes) mark_valid(begin, static_cast<std::size_t>(o.rows) * bytes_of(o.type));
  }
}

bool is_aligned(const operand& o) {
  const std::size_t step = o.columns > 1 ? static_cast<std::size_t>(o.ld) * bytes_of(o.type) : 0;
  return (reinterpret_cast<std::uintptr_t>(o.data) | step) % 16 == 0;
}

/// A kernel that accessed this address would make all further CUDA calls fail.
bool on_device(const char* call, const operand& o) {
  if (o.bytes() == 0) return true;
  const std::size_t bytes =
      (static_cast<std::size_t>(o.columns - 1) * static_cast<std::size_t>(o.ld) + static_cast<std::size_t>(o.rows)) *
      bytes_of(o.type);
  const std::string wrong = outside_device_memory(o.data, bytes);
  if (wrong.empty()) return true;
  note_host_fault(
      fmt::format("{}: {} ({} x {}, leading dimension {}) {}", call, o.name, o.rows, o.columns, o.ld, wrong));
  return false;
}

/// The time is that of the arithmetic or of the operands' bytes, whichever is longer.
cublasStatus_t run(cudaStream_t stream, const char* call, const std::vector<operand>& operands, double flops,
                   const std::function<void()>& work) {
  double bytes = 0;
  for (const operand& o : operands) bytes += static_cast<double>(o.bytes());
  const cudaError_t error = library_call(call, stream, flops, bytes, [=] {
    for (const operand& o : operands)
      if (!on_device(call, o)) {
        fail(cudaErrorIllegalAddress, true);
        return;
      }
    work();
  });
  return error == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/// alpha and beta: read now from the host, or from the device when the call runs.
template <class T>
std::function<T()> scalar(cublasHandle_t handle, const T* at) {
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE) return [at] { return *at; };
  return [value = *at] { return value; };
}
std::function<double()> scalar(cublasHandle_t handle, const void* at, cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC: return scalar(handle, static_cast<const double*>(at));
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return scalar(handle, static_cast<const std::int32_t*>(at));
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: {
      auto half = scalar(handle, static_cast<const Eigen::half*>(at));
      return [half] { return static_cast<double>(static_cast<float>(half())); };
    }
    default: return scalar(handle, static_cast<const float*>(at));
  }
}

/// TF32 keeps 10 bits of the fraction.
void round_to_tf32(matrix<float>& m) {
  for (float& x : m.reshaped()) {
    auto bits = __builtin_bit_cast(std::uint32_t, x);
    if (std::isfinite(x)) x = __builtin_bit_cast(float, (bits + 0x0fff + ((bits >> 13) & 1)) & ~0x1fffu);
  }
}

template <class T>
matrix<T> product_of(cublasOperation_t op_a, cublasOperation_t op_b, matrix<T> x, matrix<T> y, bool tf32) {
  if constexpr (std::is_same_v<T, float>)
    if (tf32) {
      round_to_tf32(x);
      round_to_tf32(y);
    }
  if (op_a == CUBLAS_OP_N && op_b == CUBLAS_OP_N) return x * y;
  if (op_b == CUBLAS_OP_N) return x.transpose() * y;
  if (op_a == CUBLAS_OP_N) return x * y.transpose();
  return x.transpose() * y.transpose();
}

template <class T>
void multiply(cublasOperation_t op_a, cublasOperation_t op_b, T alpha, const operand& a, const operand& b, T beta,
              const operand& c, bool tf32) {
  const matrix<T> product = product_of<T>(op_a, op_b, load<T>(a), load<T>(b), tf32);
  if (beta == 0)  // then C need not hold numbers
    store<T>(c, alpha * product);
  else
    store<T>(c, alpha * product + beta * load<T>(c));
}

bool computes_wide(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC || compute == CUBLAS_COMPUTE_32I ||
         compute == CUBLAS_COMPUTE_32I_PEDANTIC;
}

bool is_operation(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }

/// All the gemms: batch i has its operands at a(i), b(i), c(i).
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
constexpr cudaDataType type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;
template <class T>
constexpr cublasComputeType_t compute_of = std::is_same_v<T, double> ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F;

/// A vector as a matrix with one row, `step` apart; a negative step begins at the end.
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
    if (p() != 0) sum += p() * (na ? load<T>(x) : matrix<T>(load<T>(x).transpose()));
    if (q() != 0) sum += q() * (nb ? load<T>(y) : matrix<T>(load<T>(y).transpose()));
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
    const matrix<T> values = load<T>(o);
    const elements<const T> from{x, in, x_step};
    const elements<T> to{y, out, y_step};
    for (int i = 0; i < out; ++i) {
      T sum = 0;
      for (int j = 0; j < in; ++j) sum += (op == CUBLAS_OP_N ? values(i, j) : values(j, i)) * from[j];
      to[i] = p() * sum + (q() == 0 ? T{0} : q() * to[i]);
    }
    written(y, out, y_step);
  });
}

template <class T>
cublasStatus_t ger(cublasHandle_t handle, const char* call, int m, int n, const T* alpha, const T* x, int x_step,
                   const T* y, int y_step, T* a, int lda) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  const operand o{"A", a, type_of<T>, m, n, lda};
  if (m < 0 || n < 0 || !o.fits() || x_step == 0 || y_step == 0 || !alpha) return CUBLAS_STATUS_INVALID_VALUE;
  const auto p = scalar(handle, alpha);
  return run(handle->stream, call, {o, row("x", x, m, x_step), row("y", y, n, y_step)}, 2.0 * m * n, [=] {
    matrix<T> values = load<T>(o);
    const elements<const T> u{x, m, x_step}, v{y, n, y_step};
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i) values(i, j) += p() * u[i] * v[j];
    store<T>(o, values);
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

/// Reduces one or two vectors to a number, on the host or the device as the pointer mode says.
template <class T, class R, class Reduce>
cublasStatus_t reduction(cublasHandle_t handle, const char* call, int n, const T* x, int x_step, const T* y, int y_step,
                         R* result, Reduce reduce) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!result) return CUBLAS_STATUS_INVALID_VALUE;
  const bool host = handle->pointer_mode == CUBLAS_POINTER_MODE_HOST;
  std::vector<operand> all{row("x", x, std::max(n, 0), x_step)};
  if (y) all.push_back(row("y", y, std::max(n, 0), y_step));
  const cublasStatus_t status = run(handle->stream, call, all, 2.0 * n, [=] {
    *result = reduce(elements<const T>{x, n, x_step}, elements<const T>{y, n, y_step});
    if (!host) written(result, 1, 1);
  });
  if (status == CUBLAS_STATUS_SUCCESS && host) cudaStreamSynchronize(handle->stream);
  return status;
}

template <class T, class Better>
int extreme(const elements<const T>& x, Better better) {
  int best = 0;
  for (int i = 1; i < x.n; ++i)
    if (better(std::abs(x[i]), std::abs(x[best]))) best = i;
  return x.n > 0 ? best + 1 : 0;  // counted from 1
}

cublasStatus_t status_of(cudaError_t error) {
  return error == cudaSuccess             ? CUBLAS_STATUS_SUCCESS
         : error == cudaErrorInvalidValue ? CUBLAS_STATUS_MAPPING_ERROR
                                          : CUBLAS_STATUS_EXECUTION_FAILED;
}
cublasStatus_t move(int rows, int columns, int bytes, const void* from, int from_ld, void* to, int to_ld,
                    cudaMemcpyKind kind) {
  if (rows < 0 || columns < 0 || bytes <= 0 || from_ld < rows || to_ld < rows || from_ld <= 0 || to_ld <= 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const auto wide = [bytes](int n) { return static_cast<std::size_t>(n) * static_cast<std::size_t>(bytes); };
  return status_of(
      cudaMemcpy2D(to, wide(to_ld), from, wide(from_ld), wide(rows), static_cast<std::size_t>(columns), kind));
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

#define SIM_DEFINE_CUBLAS(X, T)                                                                                        \
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
  cublasStatus_t cublas##X##ger_v2(cublasHandle_t handle, int m, int n, const T* alpha, const T* x, int x_step,        \
                                   const T* y, int y_step, T* a, int lda) {                                            \
    return ger(handle, "cublas" #X "ger", m, n, alpha, x, x_step, y, y_step, a, lda);                                  \
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
  cublasStatus_t cublas##X##dot_v2(cublasHandle_t handle, int n, const T* x, int x_step, const T* y, int y_step,       \
                                   T* result) {                                                                        \
    return reduction(handle, "cublas" #X "dot", n, x, x_step, y, y_step, result, [](const auto& u, const auto& v) {    \
      T sum = 0;                                                                                                       \
      for (int i = 0; i < u.n; ++i) sum += u[i] * v[i];                                                                \
      return sum;                                                                                                      \
    });                                                                                                                \
  }                                                                                                                    \
  cublasStatus_t cublas##X##nrm2_v2(cublasHandle_t handle, int n, const T* x, int x_step, T* result) {                 \
    return reduction(handle, "cublas" #X "nrm2", n, x, x_step, static_cast<const T*>(nullptr), 1, result,              \
                     [](const auto& u, const auto&) {                                                                  \
                       double sum = 0;                                                                                 \
                       for (int i = 0; i < u.n; ++i) sum += static_cast<double>(u[i]) * u[i];                          \
                       return static_cast<T>(std::sqrt(sum));                                                          \
                     });                                                                                               \
  }                                                                                                                    \
  cublasStatus_t cublas##X##asum_v2(cublasHandle_t handle, int n, const T* x, int x_step, T* result) {                 \
    return reduction(handle, "cublas" #X "asum", n, x, x_step, static_cast<const T*>(nullptr), 1, result,              \
                     [](const auto& u, const auto&) {                                                                  \
                       T sum = 0;                                                                                      \
                       for (int i = 0; i < u.n; ++i) sum += std::abs(u[i]);                                            \
                       return sum;                                                                                     \
                     });                                                                                               \
  }                                                                                                                    \
  cublasStatus_t cublasI##X##amax_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {              \
    return reduction(handle, "cublasI" #X "amax", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) { return extreme(u, std::greater<T>()); });                        \
  }                                                                                                                    \
  cublasStatus_t cublasI##X##amin_v2(cublasHandle_t handle, int n, const T* x, int x_step, int* result) {              \
    return reduction(handle, "cublasI" #X "amin", n, x, x_step, static_cast<const T*>(nullptr), 1, result,             \
                     [](const auto& u, const auto&) { return extreme(u, std::less<T>()); });                           \
  }
SIM_DEFINE_CUBLAS(S, float)
SIM_DEFINE_CUBLAS(D, double)

}  // extern "C"

// ---- cublasLt -------------------------------------------------------------------------------------------------------

struct cublasLtContext {};
namespace {

/// Matrix i of a layout. Row-major is column-major transposed.
operand operand_at(const char* name, const void* data, const cublasLtMatrixLayoutOpaque_t& l, int i) {
  char* const begin =
      static_cast<char*>(const_cast<void*>(data)) + i * l.batch_step * static_cast<std::int64_t>(bytes_of(l.type));
  const int rows = static_cast<int>(l.rows), columns = static_cast<int>(l.columns), ld = static_cast<int>(l.ld);
  if (l.order == CUBLASLT_ORDER_ROW) return {name, begin, l.type, columns, rows, ld};
  return {name, begin, l.type, rows, columns, ld};
}
template <class T>
matrix<T> load(const operand& o, cublasLtOrder_t order) {
  if (order == CUBLASLT_ORDER_ROW) return load<T>(o).transpose();
  return load<T>(o);
}

template <class T>
T gelu(T x) {
  return x / 2 * (1 + std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x)));
}
template <class T>
T gelu_slope(T x) {
  const T t = std::tanh(T(0.7978845608028654) * (x + T(0.044715) * x * x * x));
  return (1 + t) / 2 + x / 2 * (1 - t * t) * T(0.7978845608028654) * (1 + T(0.134145) * x * x);
}

bool has(cublasLtEpilogue_t epilogue, int part) { return (epilogue & part) == part; }
bool is_supported(cublasLtEpilogue_t epilogue) {
  switch (epilogue) {
    case CUBLASLT_EPILOGUE_DEFAULT:
    case CUBLASLT_EPILOGUE_RELU:
    case CUBLASLT_EPILOGUE_BIAS:
    case CUBLASLT_EPILOGUE_RELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU:
    case CUBLASLT_EPILOGUE_GELU_BIAS:
    case CUBLASLT_EPILOGUE_GELU_AUX:
    case CUBLASLT_EPILOGUE_GELU_AUX_BIAS:
    case CUBLASLT_EPILOGUE_DGELU:
    case CUBLASLT_EPILOGUE_BGRADA:
    case CUBLASLT_EPILOGUE_BGRADB: return true;
  }
  return false;
}

/// One product with everything that its descriptor specifies.
struct matmul {
  cublasLtMatmulDescOpaque_t desc;
  operand a, b, c, d, bias, aux;
  cublasLtOrder_t order_a, order_b, order_c, order_d;
  bool tf32;

  template <class T>
  void operator()(T alpha, T beta) const {
    const matrix<T> x = load<T>(a, order_a), y = load<T>(b, order_b);
    matrix<T> result = alpha * product_of<T>(desc.op_a, desc.op_b, x, y, tf32);
    if (beta != 0) result += beta * load<T>(c, order_c);
    const cublasLtEpilogue_t what = desc.epilogue;
    if (has(what, CUBLASLT_EPILOGUE_BIAS)) result.colwise() += load<T>(bias).col(0);
    if (what == CUBLASLT_EPILOGUE_DGELU) {
      result.array() *= load<T>(aux).unaryExpr(&gelu_slope<T>).array();
    } else if (has(what, CUBLASLT_EPILOGUE_GELU)) {
      if (aux.data) store<T>(aux, result);
      result = result.unaryExpr(&gelu<T>).eval();
    }
    if (has(what, CUBLASLT_EPILOGUE_RELU)) result = result.cwiseMax(T(0)).eval();
    if (what == CUBLASLT_EPILOGUE_BGRADA)
      store<T>(bias,
               desc.op_a == CUBLAS_OP_N ? matrix<T>(x.rowwise().sum()) : matrix<T>(x.colwise().sum().transpose()));
    if (what == CUBLASLT_EPILOGUE_BGRADB)
      store<T>(bias,
               desc.op_b == CUBLAS_OP_N ? matrix<T>(y.colwise().sum().transpose()) : matrix<T>(y.rowwise().sum()));
    store<T>(d, order_d == CUBLASLT_ORDER_ROW ? matrix<T>(result.transpose()) : result);
  }
};

template <class T>
cublasStatus_t set(T& member, const void* value, std::size_t bytes) {
  if (!value || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, value, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t destroy(T* object) {
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return destroy(handle); }
std::size_t cublasLtGetVersion() { return 130000; }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t) {
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = new cublasLtMatmulDescOpaque_t{compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t desc, std::size_t bytes,
                                               cublasComputeType_t compute, cudaDataType_t) {
  if (!desc || bytes != sizeof *desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = {compute};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) { return destroy(desc); }
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t which,
                                              const void* value, std::size_t bytes) {
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  switch (which) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return set(desc->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return set(desc->pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return set(desc->op_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return set(desc->op_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(desc->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(desc->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return set(desc->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return set(desc->aux_ld, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(desc->bias_type, value, bytes);
    case CUBLASLT_MATMUL_DESC_FAST_ACCUM:  // sums are FP32
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:  // the compute type's
    case CUBLASLT_MATMUL_DESC_TRANSC: return value ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, std::uint64_t rows,
                                          std::uint64_t columns, std::int64_t ld) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t{type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t bytes, cudaDataType type,
                                                 std::uint64_t rows, std::uint64_t columns, std::int64_t ld) {
  if (!layout || bytes != sizeof *layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = {type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t which,
                                                const void* value, std::size_t bytes) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  switch (which) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return set(layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return set(layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return set(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return set(layout->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return set(layout->ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(layout->batches, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(layout->batch_step, value, bytes);
  }
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = new cublasLtMatmulPreferenceOpaque_t();
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t, const void* value,
                                                    std::size_t) {
  return preference && value ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !a || !b || !c || !d || !preference || wanted < 1 || !results || !found)
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  if (!is_supported(desc->epilogue)) return CUBLAS_STATUS_NOT_SUPPORTED;
  *results = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t stream) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!desc || !alpha || !beta || !a_layout || !b_layout || !c_layout || !d_layout || !is_operation(desc->op_a) ||
      !is_operation(desc->op_b))
    return CUBLAS_STATUS_INVALID_VALUE;
  const cublasLtEpilogue_t what = desc->epilogue;
  if (!is_supported(what)) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool na = desc->op_a == CUBLAS_OP_N, nb = desc->op_b == CUBLAS_OP_N;
  const std::uint64_t m = d_layout->rows, n = d_layout->columns, k = na ? a_layout->columns : a_layout->rows;
  const bool has_bias = has(what, CUBLASLT_EPILOGUE_BIAS) || what >= CUBLASLT_EPILOGUE_BGRADA;
  const bool has_aux = has(what, 128);
  if ((na ? a_layout->rows : a_layout->columns) != m || (nb ? b_layout->rows : b_layout->columns) != k ||
      (nb ? b_layout->columns : b_layout->rows) != n || c_layout->rows != m || c_layout->columns != n ||
      (has_bias && !desc->bias) || (has_aux && (!desc->aux || d_layout->batches > 1)))
    return CUBLAS_STATUS_INVALID_VALUE;
  for (const cublasLtMatrixLayout_t l : {a_layout, b_layout, c_layout, d_layout})
    if (bytes_of(l->type) == 0 || !operand_at("", nullptr, *l, 0).fits() || l->batches != d_layout->batches)
      return CUBLAS_STATUS_INVALID_VALUE;

  std::vector<matmul> all;
  std::vector<operand> operands;
  const auto bias_type = desc->bias_type < 0 ? d_layout->type : static_cast<cudaDataType>(desc->bias_type);
  const int rows = static_cast<int>(m), columns = static_cast<int>(n);
  const int biases = what == CUBLASLT_EPILOGUE_BGRADB ? columns : rows;
  for (int i = 0; i < d_layout->batches; ++i) {
    matmul one{*desc,
               operand_at("A", a, *a_layout, i),
               operand_at("B", b, *b_layout, i),
               operand_at("C", c, *c_layout, i),
               operand_at("D", d, *d_layout, i),
               {"bias", has_bias ? desc->bias : nullptr, bias_type, biases, 1, biases},
               {"auxiliary matrix", has_aux ? desc->aux : nullptr, d_layout->type, rows, columns,
                static_cast<int>(desc->aux_ld)},
               a_layout->order,
               b_layout->order,
               c_layout->order,
               d_layout->order,
               desc->compute == CUBLAS_COMPUTE_32F_FAST_TF32};
    if (has_aux && !one.aux.fits()) return CUBLAS_STATUS_INVALID_VALUE;
    operands.insert(operands.end(), {one.a, one.b, one.d});
    if (c) operands.push_back(one.c);
    if (has_bias) operands.push_back(one.bias);
    if (has_aux) operands.push_back(one.aux);
    all.push_back(one);
  }
  cublasContext pointers{stream, desc->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE ? CUBLAS_POINTER_MODE_DEVICE
                                                                                    : CUBLAS_POINTER_MODE_HOST};
  const auto factor = scalar(&pointers, alpha, desc->compute), keep = scalar(&pointers, beta, desc->compute);
  const bool wide = computes_wide(desc->compute);
  return run(stream, "cublasLtMatmul", operands, 2.0 * m * n * k * d_layout->batches, [=] {
    for (const matmul& one : all)
      if (wide)
        one(factor(), keep());
      else
        one(static_cast<float>(factor()), static_cast<float>(keep()));
  });
}

}  // extern "C"
