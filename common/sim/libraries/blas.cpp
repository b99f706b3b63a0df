// Shared by cuBLAS and cublasLt, with Eigen.
#include "blas.hpp"

#include <fmt/format.h>

#include <cmath>
#include <mutex>

#include "faults.hpp"
#include "heap.hpp"
#include "library.hpp"
#include "lines.hpp"
#include "runtime.hpp"
#include "sim/float8.h"

namespace sim::blas {
namespace {

using stride = Eigen::OuterStride<>;

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
template <class To, class T>
void store_as(const operand& o, const matrix<T>& values) {
  Eigen::Map<matrix<To>, 0, stride>(static_cast<To*>(o.data), o.rows, o.columns, stride(o.ld)) =
      values.template cast<To>();
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

/// TF32 keeps 10 bits of the fraction.
void round_to_tf32(matrix<float>& m) {
  for (float& x : m.reshaped()) {
    auto bits = __builtin_bit_cast(std::uint32_t, x);
    if (std::isfinite(x)) x = __builtin_bit_cast(float, (bits + 0x0fff + ((bits >> 13) & 1)) & ~0x1fffu);
  }
}

}  // namespace

bool host_reaches(cublasHandle_t handle, const void* at) {
  const std::scoped_lock lock(runtime_state_mutex());
  const allocation* entry = find_allocation(reinterpret_cast<std::uintptr_t>(at));
  if (handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE || !entry || entry->kind != memory_kind::device) return true;
  const source_line line = line_of(reinterpret_cast<std::uintptr_t>(call_of_program()));
  note_host_fault(
      fmt::format("{}:{}: a number of this call is in device memory, and the host, which the pointer mode "
                  "names, cannot reach it; give a host address, or call cublasSetPointerMode with "
                  "CUBLAS_POINTER_MODE_DEVICE",
                  line.file, line.line));
  return false;
}

std::size_t bytes_of(cudaDataType type) {
  switch (type) {
    case CUDA_C_64F: return 16;
    case CUDA_C_32F:
    case CUDA_R_64F: return 8;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_16F:
    case CUDA_R_16BF: return 2;
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    default: break;
  }
  return 0;
}
bool is_real(cudaDataType type) { return bytes_of(type) != 0 && type != CUDA_C_32F && type != CUDA_C_64F; }

namespace {
template <class T>
matrix<T> load_real(const operand& o) {
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
    default: break;
  }
  return {};
}
template <class T>
void store_real(const operand& o, const matrix<T>& values) {
  switch (o.type) {
    case CUDA_R_64F: store_as<double>(o, values); break;
    case CUDA_R_32F: store_as<float>(o, values); break;
    case CUDA_R_32I: store_as<std::int32_t>(o, values); break;
    case CUDA_R_16F: store_as<Eigen::half>(o, values); break;
    case CUDA_R_16BF: store_as<Eigen::bfloat16>(o, values); break;
    case CUDA_R_8I: store_as<std::int8_t>(o, values); break;
    case CUDA_R_8U: store_as<std::uint8_t>(o, values); break;
    default: break;  // no product has another result type
  }
}
}  // namespace

template <class T>
matrix<T> load(const operand& o) {
  if constexpr (Eigen::NumTraits<T>::IsComplex)
    return o.type == CUDA_C_64F ? load_as<std::complex<double>, T>(o) : load_as<std::complex<float>, T>(o);
  else
    return load_real<T>(o);
}
template <class T>
void store(const operand& o, const matrix<T>& values) {
  if constexpr (!Eigen::NumTraits<T>::IsComplex)
    store_real(o, values);
  else if (o.type == CUDA_C_64F)
    store_as<std::complex<double>>(o, values);
  else
    store_as<std::complex<float>>(o, values);
  for (int j = 0; j < o.columns; ++j) {
    const auto begin = reinterpret_cast<std::uintptr_t>(o.data) + static_cast<std::size_t>(j) * o.ld * bytes_of(o.type);
    if (begin - heap_base < heap_bytes) mark_valid(begin, static_cast<std::size_t>(o.rows) * bytes_of(o.type));
  }
}

template <class T>
matrix<T> product_of(cublasOperation_t op_a, cublasOperation_t op_b, matrix<T> x, matrix<T> y, bool tf32) {
  if constexpr (std::is_same_v<T, float>)
    if (tf32) {
      round_to_tf32(x);
      round_to_tf32(y);
    }
  if constexpr (Eigen::NumTraits<T>::IsComplex) return turned(op_a, x) * turned(op_b, y);
  if (op_a == CUBLAS_OP_N && op_b == CUBLAS_OP_N) return x * y;
  if (op_b == CUBLAS_OP_N) return x.transpose() * y;
  if (op_a == CUBLAS_OP_N) return x * y.transpose();
  return x.transpose() * y.transpose();
}

bool computes_wide(cublasComputeType_t compute) {
  return compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC || compute == CUBLAS_COMPUTE_32I ||
         compute == CUBLAS_COMPUTE_32I_PEDANTIC;
}

bool is_operation(cublasOperation_t op) { return op >= CUBLAS_OP_N && op <= CUBLAS_OP_C; }

bool is_aligned(const operand& o) {
  const std::size_t step = o.columns > 1 ? static_cast<std::size_t>(o.ld) * bytes_of(o.type) : 0;
  return (reinterpret_cast<std::uintptr_t>(o.data) | step) % 16 == 0;
}

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

#define SIM_NUMBERS(T)                                   \
  template matrix<T> load(const operand&);               \
  template void store(const operand&, const matrix<T>&); \
  template matrix<T> product_of(cublasOperation_t, cublasOperation_t, matrix<T>, matrix<T>, bool);
SIM_NUMBERS(float)
SIM_NUMBERS(double)
SIM_NUMBERS(std::complex<float>)
SIM_NUMBERS(std::complex<double>)
#undef SIM_NUMBERS

}  // namespace sim::blas
