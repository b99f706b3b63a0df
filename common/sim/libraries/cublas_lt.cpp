// cublasLt.
#include "cublasLt.h"

#include <cmath>
#include <cstring>

#include "blas.hpp"

struct cublasLtContext {};
namespace {

using namespace sim::blas;

/// Matrix i of a layout. Row-major is column-major transposed.
operand operand_at(const char* name, const void* data, const cublasLtMatrixLayoutOpaque_t& l, int i) {
  char* const begin =
      static_cast<char*>(const_cast<void*>(data)) + i * l.batch_step * static_cast<std::int64_t>(bytes_of(l.type));
  const int rows = static_cast<int>(l.rows), columns = static_cast<int>(l.columns), ld = static_cast<int>(l.ld);
  if (l.order == CUBLASLT_ORDER_ROW) return {name, begin, l.type, columns, rows, ld};
  return {name, begin, l.type, rows, columns, ld};
}
template <class T>
matrix<T> load_in(const operand& o, cublasLtOrder_t order) {
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
    const matrix<T> x = load_in<T>(a, order_a), y = load_in<T>(b, order_b);
    matrix<T> result = alpha * product_of<T>(desc.op_a, desc.op_b, x, y, tf32);
    if (beta != 0) result += beta * load_in<T>(c, order_c);
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
    if (!is_real(l->type) || !operand_at("", nullptr, *l, 0).fits() || l->batches != d_layout->batches)
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
