// cuSPARSE on Eigen. A call loads its operands, in FP64, and stores its result.
#include "cusparse.h"

#include <fmt/format.h>

#include <Eigen/Sparse>
#include <algorithm>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "library.hpp"

struct cusparseContext {
  cudaStream_t stream = nullptr;
  cusparsePointerMode_t pointer_mode = CUSPARSE_POINTER_MODE_HOST;
};
struct cusparseMatDescr {
  cusparseMatrixType_t type = CUSPARSE_MATRIX_TYPE_GENERAL;
  cusparseIndexBase_t base = CUSPARSE_INDEX_BASE_ZERO;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
};
struct csrilu02Info {
  int zero_pivot = -1;
};
struct cusparseSpVecDescr {
  std::int64_t size, nonzeros;
  void *indices, *values;
  cusparseIndexType_t index_type;
  cusparseIndexBase_t base;
  cudaDataType type;
};
struct cusparseDnVecDescr {
  std::int64_t size;
  void* values;
  cudaDataType type;
};
struct cusparseDnMatDescr {
  std::int64_t rows, columns, ld;
  void* values;
  cudaDataType type;
  cusparseOrder_t order;
  int batches = 1;
  std::int64_t stride = 0;
};
/// `offsets`: row offsets in CSR, column offsets in CSC, row indices in COO; `indices`: the other coordinate.
struct cusparseSpMatDescr {
  cusparseFormat_t format;
  std::int64_t rows, columns, nonzeros;
  void *offsets, *indices, *values;
  cusparseIndexType_t offsets_type, indices_type;
  cusparseIndexBase_t base;
  cudaDataType type;
  cusparseFillMode_t fill = CUSPARSE_FILL_MODE_LOWER;
  cusparseDiagType_t diagonal = CUSPARSE_DIAG_TYPE_NON_UNIT;
  int batches = 1;
  std::int64_t offsets_stride = 0, values_stride = 0;

  /// The number of rows or columns that have an offset; COO has none.
  std::int64_t compressed() const { return format == CUSPARSE_FORMAT_CSC ? columns : rows; }
  std::int64_t offset_count() const { return format == CUSPARSE_FORMAT_COO ? nonzeros : compressed() + 1; }
};
struct cusparseSolveDescr {};

namespace {

using namespace sim;
using matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, std::int64_t>;
using dense = Eigen::MatrixXd;

}  // namespace

struct cusparseSpGEMMDescr {
  matrix product;
};

namespace {

std::size_t bytes_of(cudaDataType type) { return type == CUDA_R_32F ? 4 : type == CUDA_R_64F ? 8 : 0; }
std::size_t bytes_of(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_64I ? 8 : 4; }

double value_at(const void* values, cudaDataType type, std::int64_t i) {
  return type == CUDA_R_64F ? static_cast<const double*>(values)[i] : static_cast<const float*>(values)[i];
}
void put_value(void* values, cudaDataType type, std::int64_t i, double value) {
  if (type == CUDA_R_64F)
    static_cast<double*>(values)[i] = value;
  else
    static_cast<float*>(values)[i] = static_cast<float>(value);
}
std::int64_t index_at(const void* indices, cusparseIndexType_t type, std::int64_t i) {
  return type == CUSPARSE_INDEX_64I ? static_cast<const std::int64_t*>(indices)[i]
                                    : static_cast<const std::int32_t*>(indices)[i];
}
void put_index(void* indices, cusparseIndexType_t type, std::int64_t i, std::int64_t index) {
  if (type == CUSPARSE_INDEX_64I)
    static_cast<std::int64_t*>(indices)[i] = index;
  else
    static_cast<std::int32_t*>(indices)[i] = static_cast<std::int32_t>(index);
}

// ---- the memory that a call accesses

device_range range(const char* name, const void* begin, std::int64_t count, std::size_t bytes, bool written = false) {
  return {name, begin, static_cast<std::size_t>(std::max<std::int64_t>(count, 0)) * bytes, written};
}
device_range range(const char* name, const cusparseDnVecDescr& v, bool written = false) {
  return range(name, v.values, v.size, bytes_of(v.type), written);
}
device_range range(const char* name, const cusparseDnMatDescr& m, bool written = false) {
  const bool by_columns = m.order == CUSPARSE_ORDER_COL;
  const std::int64_t lines = by_columns ? m.columns : m.rows, in_line = by_columns ? m.rows : m.columns;
  const std::int64_t one = lines == 0 || in_line == 0 ? 0 : (lines - 1) * m.ld + in_line;
  return range(name, m.values, one + (m.batches - 1) * m.stride, bytes_of(m.type), written);
}
using ranges = std::vector<device_range>;
ranges operator+(ranges a, const ranges& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
/// `written`: the call writes the values and, if `whole`, the structure.
ranges of(const cusparseSpMatDescr& m, bool written = false, bool whole = false) {
  const std::int64_t batches = m.batches - 1;
  const std::int64_t offsets_stride = m.format == CUSPARSE_FORMAT_COO ? m.values_stride : m.offsets_stride;
  return {range("the offsets", m.offsets, m.offset_count() + batches * offsets_stride, bytes_of(m.offsets_type), whole),
          range("the indices", m.indices, m.nonzeros + batches * m.values_stride, bytes_of(m.indices_type), whole),
          range("the values", m.values, m.nonzeros + batches * m.values_stride, bytes_of(m.type), written)};
}
ranges of(const cusparseSpVecDescr& v, bool written = false) {
  return {range("the indices", v.indices, v.nonzeros, bytes_of(v.index_type)),
          range("the values", v.values, v.nonzeros, bytes_of(v.type), written)};
}

cusparseStatus_t run(cusparseHandle_t handle, const char* call, double flops, const ranges& touched,
                     const std::function<void()>& work) {
  return library_call(call, handle->stream, flops, touched, work) == cudaSuccess ? CUSPARSE_STATUS_SUCCESS
                                                                                 : CUSPARSE_STATUS_EXECUTION_FAILED;
}

/// alpha or beta: read now from the host, or from the device when the call runs.
std::function<double()> scalar(cusparseHandle_t handle, const void* at, cudaDataType type) {
  if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE) return [=] { return value_at(at, type, 0); };
  return [value = value_at(at, type, 0)] { return value; };
}

template <class... Operands>
bool real(const Operands&... operands) {
  return ((bytes_of(operands.type) != 0) && ...);
}

// ---- loading and storing

/// Calls visit(row, column, place) for each entry of a matrix, or of one in a batch; ends the call if an entry is out
/// of range.
template <class Visit>
void for_each_entry(const cusparseSpMatDescr& m, int batch, const Visit& visit) {
  const std::int64_t values = batch * m.values_stride, offsets = batch * m.offsets_stride;
  const auto entry = [&](std::int64_t along, std::int64_t place) {
    const std::int64_t other = index_at(m.indices, m.indices_type, values + place) - m.base;
    const std::int64_t row = m.format == CUSPARSE_FORMAT_CSC ? other : along;
    const std::int64_t column = m.format == CUSPARSE_FORMAT_CSC ? along : other;
    if (row < 0 || row >= m.rows || column < 0 || column >= m.columns)
      throw std::out_of_range(fmt::format("entry {} is at row {}, column {} of a matrix of {} x {}; check its indices",
                                          place, row, column, m.rows, m.columns));
    visit(row, column, values + place);
  };
  if (m.format == CUSPARSE_FORMAT_COO) {
    for (std::int64_t i = 0; i < m.nonzeros; ++i) entry(index_at(m.offsets, m.offsets_type, values + i) - m.base, i);
    return;
  }
  for (std::int64_t along = 0; along < m.compressed(); ++along) {
    const std::int64_t begin = index_at(m.offsets, m.offsets_type, offsets + along) - m.base;
    const std::int64_t end = index_at(m.offsets, m.offsets_type, offsets + along + 1) - m.base;
    if (begin < 0 || end < begin || end > m.nonzeros)
      throw std::out_of_range(
          fmt::format("offsets {} and {} are {} and {}, and there are {} entries; check the offsets", along, along + 1,
                      begin, end, m.nonzeros));
    for (std::int64_t i = begin; i < end; ++i) entry(along, i);
  }
}
matrix load(const cusparseSpMatDescr& m, int batch = 0) {
  std::vector<Eigen::Triplet<double, std::int64_t>> entries;
  for_each_entry(m, m.batches > 1 ? batch : 0, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
    entries.emplace_back(row, column, value_at(m.values, m.type, place));
  });
  matrix loaded(m.rows, m.columns);
  loaded.setFromTriplets(entries.begin(), entries.end());
  return loaded;
}
matrix apply(cusparseOperation_t op, const matrix& m) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? m : matrix(m.transpose());
}

std::int64_t place_in(const cusparseDnMatDescr& m, std::int64_t row, std::int64_t column, int batch) {
  return (m.batches > 1 ? batch : 0) * m.stride +
         (m.order == CUSPARSE_ORDER_COL ? column * m.ld + row : row * m.ld + column);
}
dense load(const cusparseDnMatDescr& m, int batch = 0) {
  return dense::NullaryExpr(m.rows, m.columns, [&](Eigen::Index row, Eigen::Index column) {
    return value_at(m.values, m.type, place_in(m, row, column, batch));
  });
}
dense apply(cusparseOperation_t op, const dense& m) {
  return op == CUSPARSE_OPERATION_NON_TRANSPOSE ? m : dense(m.transpose());
}
void store(const cusparseDnMatDescr& m, const dense& values, int batch = 0) {
  for (Eigen::Index column = 0; column < m.columns; ++column)
    for (Eigen::Index row = 0; row < m.rows; ++row)
      put_value(m.values, m.type, place_in(m, row, column, batch), values(row, column));
}
/// A vector is a matrix with one column.
cusparseDnMatDescr as_matrix(const cusparseDnVecDescr& v) {
  return {v.size, 1, v.size, v.values, v.type, CUSPARSE_ORDER_COL};
}

/// Stores the structure of a matrix of the same size, and its values.
void store(const cusparseSpMatDescr& m, const matrix& from) {
  const bool by_columns = m.format == CUSPARSE_FORMAT_CSC;
  const matrix lines = by_columns ? matrix(from.transpose()) : from;
  std::int64_t place = 0;
  for (Eigen::Index along = 0; along < lines.outerSize(); ++along) {
    if (m.format != CUSPARSE_FORMAT_COO) put_index(m.offsets, m.offsets_type, along, place + m.base);
    for (matrix::InnerIterator i(lines, along); i; ++i, ++place) {
      if (m.format == CUSPARSE_FORMAT_COO) put_index(m.offsets, m.offsets_type, place, along + m.base);
      put_index(m.indices, m.indices_type, place, i.col() + m.base);
      put_value(m.values, m.type, place, i.value());
    }
  }
  if (m.format != CUSPARSE_FORMAT_COO) put_index(m.offsets, m.offsets_type, lines.outerSize(), place + m.base);
}

// ---- computing

/// C = alpha op(A) op(B) + beta C; if beta is zero, C is not read.
void multiply(cusparseOperation_t op_a, cusparseOperation_t op_b, double alpha, const cusparseSpMatDescr& a,
              const cusparseDnMatDescr& b, double beta, const cusparseDnMatDescr& c) {
  for (int batch = 0; batch < c.batches; ++batch) {
    dense product = alpha * (apply(op_a, load(a, batch)) * apply(op_b, load(b, batch)));
    if (beta != 0) product += beta * load(c, batch);
    store(c, product, batch);
  }
}

/// op(A) X = B for one triangle of A.
dense solve(cusparseOperation_t op, const cusparseSpMatDescr& a, const dense& b) {
  const matrix loaded = apply(op, load(a));
  const bool lower = (a.fill == CUSPARSE_FILL_MODE_LOWER) == (op == CUSPARSE_OPERATION_NON_TRANSPOSE);
  const bool unit = a.diagonal == CUSPARSE_DIAG_TYPE_UNIT;
  if (!unit)
    for (Eigen::Index i = 0; i < loaded.rows(); ++i)
      if (loaded.coeff(i, i) == 0)
        throw std::domain_error(fmt::format("the diagonal of row {} is zero, so the system has no solution", i));
  if (lower && unit) return loaded.triangularView<Eigen::Lower | Eigen::UnitDiag>().solve(b);
  if (lower) return loaded.triangularView<Eigen::Lower>().solve(b);
  if (unit) return loaded.triangularView<Eigen::Upper | Eigen::UnitDiag>().solve(b);
  return loaded.triangularView<Eigen::Upper>().solve(b);
}

bool fits(cusparseOperation_t op_a, std::int64_t a_rows, std::int64_t a_columns, cusparseOperation_t op_b,
          std::int64_t b_rows, std::int64_t b_columns, std::int64_t c_rows, std::int64_t c_columns) {
  if (op_a != CUSPARSE_OPERATION_NON_TRANSPOSE) std::swap(a_rows, a_columns);
  if (op_b != CUSPARSE_OPERATION_NON_TRANSPOSE) std::swap(b_rows, b_columns);
  return a_columns == b_rows && a_rows == c_rows && b_columns == c_columns;
}
template <class A, class B, class C>
bool fits(cusparseOperation_t op_a, const A& a, cusparseOperation_t op_b, const B& b, const C& c) {
  return fits(op_a, a.rows, a.columns, op_b, b.rows, b.columns, c.rows, c.columns);
}

/// Replaces a row-sorted CSR matrix with its incomplete factors, which add no entries. Returns the row of the first
/// zero pivot, or -1.
template <class T>
int incomplete_lu(int m, int base, T* values, const int* offsets, const int* columns) {
  const auto find = [&](int row, int column) {
    const int *begin = columns + offsets[row] - base, *end = columns + offsets[row + 1] - base;
    const int* found = std::lower_bound(begin, end, column + base);
    return found != end && *found == column + base ? values + (found - columns) : nullptr;
  };
  int zero = -1;
  for (int i = 0; i < m; ++i) {
    for (int p = offsets[i] - base; p < offsets[i + 1] - base && columns[p] - base < i; ++p) {
      const int k = columns[p] - base;
      const T* pivot = find(k, k);
      if (!pivot) continue;
      values[p] /= *pivot;
      for (int q = p + 1; q < offsets[i + 1] - base; ++q)
        if (const T* above = find(k, columns[q] - base)) values[q] -= values[p] * *above;
    }
    const T* diagonal = find(i, i);
    if (zero < 0 && (!diagonal || *diagonal == 0)) zero = i + base;
  }
  return zero;
}

template <class T>
cusparseStatus_t incomplete_lu(const char* call, cusparseHandle_t handle, int m, int nonzeros, cusparseMatDescr_t a,
                               T* values, const int* offsets, const int* columns, csrilu02Info_t info) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || nonzeros < 0 || !a || !info) return CUSPARSE_STATUS_INVALID_VALUE;
  const int base = a->base;
  return run(handle, call, 2.0 * nonzeros,
             {range("the values", values, nonzeros, sizeof(T), true), range("the offsets", offsets, m + 1, sizeof(int)),
              range("the columns", columns, nonzeros, sizeof(int))},
             [=] { info->zero_pivot = incomplete_lu(m, base, values, offsets, columns); });
}

template <class T>
cusparseStatus_t count_nonzeros(const char* call, cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,
                                const T* a, int lda, int* counts, int* total) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || lda < std::max(m, 1) || !total) return CUSPARSE_STATUS_INVALID_VALUE;
  const int lines = direction == CUSPARSE_DIRECTION_ROW ? m : n;
  ranges touched = {range("A", a, n == 0 ? 0 : std::int64_t{n - 1} * lda + m, sizeof(T)),
                    range("the counts", counts, lines, sizeof(int), true)};
  if (handle->pointer_mode == CUSPARSE_POINTER_MODE_DEVICE)
    touched.push_back(range("the total", total, 1, sizeof(int), true));
  return run(handle, call, 0, touched, [=] {
    std::fill(counts, counts + lines, 0);
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < m; ++i)
        counts[direction == CUSPARSE_DIRECTION_ROW ? i : j] += a[std::int64_t{j} * lda + i] != 0;
    *total = std::accumulate(counts, counts + lines, 0);
  });
}

template <class T, class... Values>
cusparseStatus_t create(T** made, Values... values) {
  if (!made) return CUSPARSE_STATUS_INVALID_VALUE;
  *made = new T{values...};
  return CUSPARSE_STATUS_SUCCESS;
}
template <class T>
cusparseStatus_t destroy(T* made) {
  delete made;
  return CUSPARSE_STATUS_SUCCESS;
}
template <class T, class V>
cusparseStatus_t set(T* in, V T::*what, V value) {
  if (!in) return CUSPARSE_STATUS_INVALID_VALUE;
  in->*what = value;
  return CUSPARSE_STATUS_SUCCESS;
}
template <class T, class V>
cusparseStatus_t get(const T* from, V T::*what, V* value) {
  if (!from || !value) return CUSPARSE_STATUS_INVALID_VALUE;
  *value = from->*what;
  return CUSPARSE_STATUS_SUCCESS;
}
template <class Bytes>
cusparseStatus_t one_byte(Bytes* bytes) {
  if (!bytes) return CUSPARSE_STATUS_INVALID_VALUE;
  *bytes = 1;
  return CUSPARSE_STATUS_SUCCESS;
}
bool is_index(cusparseIndexType_t type) { return type == CUSPARSE_INDEX_32I || type == CUSPARSE_INDEX_64I; }

}  // namespace

extern "C" {

cusparseStatus_t cusparseCreate(cusparseHandle_t* handle) { return create(handle); }
cusparseStatus_t cusparseDestroy(cusparseHandle_t handle) { return destroy(handle); }
cusparseStatus_t cusparseGetVersion(cusparseHandle_t, int* version) {
  return version ? (*version = CUSPARSE_VERSION, CUSPARSE_STATUS_SUCCESS) : CUSPARSE_STATUS_INVALID_VALUE;
}
const char* cusparseGetErrorName(cusparseStatus_t status) {
  static constexpr const char* names[] = {"CUSPARSE_STATUS_SUCCESS",
                                          "CUSPARSE_STATUS_NOT_INITIALIZED",
                                          "CUSPARSE_STATUS_ALLOC_FAILED",
                                          "CUSPARSE_STATUS_INVALID_VALUE",
                                          "CUSPARSE_STATUS_ARCH_MISMATCH",
                                          "CUSPARSE_STATUS_MAPPING_ERROR",
                                          "CUSPARSE_STATUS_EXECUTION_FAILED",
                                          "CUSPARSE_STATUS_INTERNAL_ERROR",
                                          "CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED",
                                          "CUSPARSE_STATUS_ZERO_PIVOT",
                                          "CUSPARSE_STATUS_NOT_SUPPORTED",
                                          "CUSPARSE_STATUS_INSUFFICIENT_RESOURCES"};
  return status < std::size(names) ? names[status] : "unrecognized error code";
}
const char* cusparseGetErrorString(cusparseStatus_t status) {
  static constexpr const char* texts[] = {
      "success",          "initialization error", "out of memory",           "invalid value",
      "arch mismatch",    "mapping error",        "kernel launch failure",   "internal error",
      "unsupported type", "zero pivot",           "operation not supported", "insufficient resources"};
  return status < std::size(texts) ? texts[status] : "unrecognized error code";
}
cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream) {
  return set(handle, &cusparseContext::stream, stream);
}
cusparseStatus_t cusparseGetStream(cusparseHandle_t handle, cudaStream_t* stream) {
  return get(handle, &cusparseContext::stream, stream);
}
cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode) {
  return set(handle, &cusparseContext::pointer_mode, mode);
}
cusparseStatus_t cusparseGetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t* mode) {
  return get(handle, &cusparseContext::pointer_mode, mode);
}

// ---- descriptions

cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t* description) { return create(description); }
cusparseStatus_t cusparseDestroyMatDescr(cusparseMatDescr_t description) { return destroy(description); }
cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t description, cusparseMatrixType_t type) {
  return set(description, &cusparseMatDescr::type, type);
}
cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t description, cusparseIndexBase_t base) {
  return set(description, &cusparseMatDescr::base, base);
}
cusparseStatus_t cusparseSetMatFillMode(cusparseMatDescr_t description, cusparseFillMode_t mode) {
  return set(description, &cusparseMatDescr::fill, mode);
}
cusparseStatus_t cusparseSetMatDiagType(cusparseMatDescr_t description, cusparseDiagType_t type) {
  return set(description, &cusparseMatDescr::diagonal, type);
}
cusparseStatus_t cusparseCreateSpVec(cusparseSpVecDescr_t* vector, std::int64_t size, std::int64_t nonzeros,
                                     void* indices, void* values, cusparseIndexType_t index_type,
                                     cusparseIndexBase_t base, cudaDataType type) {
  if (size < 0 || nonzeros < 0 || nonzeros > size || !is_index(index_type)) return CUSPARSE_STATUS_INVALID_VALUE;
  return create(vector, size, nonzeros, indices, values, index_type, base, type);
}
cusparseStatus_t cusparseDestroySpVec(cusparseConstSpVecDescr_t vector) { return destroy(vector); }
cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t* vector, std::int64_t size, void* values, cudaDataType type) {
  return size < 0 ? CUSPARSE_STATUS_INVALID_VALUE : create(vector, size, values, type);
}
cusparseStatus_t cusparseDestroyDnVec(cusparseConstDnVecDescr_t vector) { return destroy(vector); }
cusparseStatus_t cusparseDnVecGetValues(cusparseDnVecDescr_t vector, void** values) {
  return get(vector, &cusparseDnVecDescr::values, values);
}
cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void* values) {
  return set(vector, &cusparseDnVecDescr::values, values);
}

namespace {
cusparseStatus_t create_sparse(cusparseSpMatDescr_t* made, cusparseFormat_t format, std::int64_t rows,
                               std::int64_t columns, std::int64_t nonzeros, void* offsets, void* indices, void* values,
                               cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                               cusparseIndexBase_t base, cudaDataType type) {
  if (rows < 0 || columns < 0 || nonzeros < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!is_index(offsets_type) || !is_index(indices_type)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return create(made, format, rows, columns, nonzeros, offsets, indices, values, offsets_type, indices_type, base,
                type);
}
}  // namespace
cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t* made, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* row_offsets, void* column_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse(made, CUSPARSE_FORMAT_CSR, rows, columns, nonzeros, row_offsets, column_indices, values,
                       offsets_type, indices_type, base, type);
}
cusparseStatus_t cusparseCreateCsc(cusparseSpMatDescr_t* made, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* column_offsets, void* row_indices, void* values,
                                   cusparseIndexType_t offsets_type, cusparseIndexType_t indices_type,
                                   cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse(made, CUSPARSE_FORMAT_CSC, rows, columns, nonzeros, column_offsets, row_indices, values,
                       offsets_type, indices_type, base, type);
}
cusparseStatus_t cusparseCreateCoo(cusparseSpMatDescr_t* made, std::int64_t rows, std::int64_t columns,
                                   std::int64_t nonzeros, void* row_indices, void* column_indices, void* values,
                                   cusparseIndexType_t indices_type, cusparseIndexBase_t base, cudaDataType type) {
  return create_sparse(made, CUSPARSE_FORMAT_COO, rows, columns, nonzeros, row_indices, column_indices, values,
                       indices_type, indices_type, base, type);
}
cusparseStatus_t cusparseDestroySpMat(cusparseConstSpMatDescr_t m) { return destroy(m); }
cusparseStatus_t cusparseSpMatGetSize(cusparseConstSpMatDescr_t m, std::int64_t* rows, std::int64_t* columns,
                                      std::int64_t* nonzeros) {
  if (!m || !rows || !columns || !nonzeros) return CUSPARSE_STATUS_INVALID_VALUE;
  *rows = m->rows;
  *columns = m->columns;
  *nonzeros = m->nonzeros;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMatGetValues(cusparseSpMatDescr_t m, void** values) {
  return get(m, &cusparseSpMatDescr::values, values);
}
cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t m, void* values) {
  return set(m, &cusparseSpMatDescr::values, values);
}
cusparseStatus_t cusparseSpMatSetAttribute(cusparseSpMatDescr_t m, cusparseSpMatAttribute_t attribute, void* data,
                                           std::size_t bytes) {
  if (!m || !data || bytes != sizeof(cusparseFillMode_t)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (attribute == CUSPARSE_SPMAT_FILL_MODE)
    m->fill = *static_cast<cusparseFillMode_t*>(data);
  else
    m->diagonal = *static_cast<cusparseDiagType_t*>(data);
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrSetPointers(cusparseSpMatDescr_t m, void* row_offsets, void* column_indices, void* values) {
  if (!m || m->format != CUSPARSE_FORMAT_CSR) return CUSPARSE_STATUS_INVALID_VALUE;
  m->offsets = row_offsets;
  m->indices = column_indices;
  m->values = values;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCsrSetStridedBatch(cusparseSpMatDescr_t m, int batches, std::int64_t offsets_stride,
                                            std::int64_t columns_values_stride) {
  if (!m || batches < 1) return CUSPARSE_STATUS_INVALID_VALUE;
  m->batches = batches;
  m->offsets_stride = offsets_stride;
  m->values_stride = columns_values_stride;
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseCreateDnMat(cusparseDnMatDescr_t* made, std::int64_t rows, std::int64_t columns,
                                     std::int64_t ld, void* values, cudaDataType type, cusparseOrder_t order) {
  if (rows < 0 || columns < 0 || ld < (order == CUSPARSE_ORDER_COL ? rows : columns))
    return CUSPARSE_STATUS_INVALID_VALUE;
  return create(made, rows, columns, ld, values, type, order);
}
cusparseStatus_t cusparseDestroyDnMat(cusparseConstDnMatDescr_t m) { return destroy(m); }
cusparseStatus_t cusparseDnMatGetValues(cusparseDnMatDescr_t m, void** values) {
  return get(m, &cusparseDnMatDescr::values, values);
}
cusparseStatus_t cusparseDnMatSetStridedBatch(cusparseDnMatDescr_t m, int batches, std::int64_t stride) {
  if (!m || batches < 1) return CUSPARSE_STATUS_INVALID_VALUE;
  m->batches = batches;
  m->stride = stride;
  return CUSPARSE_STATUS_SUCCESS;
}

// ---- products

cusparseStatus_t cusparseAxpby(cusparseHandle_t handle, const void* alpha, cusparseConstSpVecDescr_t x,
                               const void* beta, cusparseDnVecDescr_t y) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !x || !y || x->size != y->size) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*x, *y)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseAxpby", 2.0 * static_cast<double>(y->size), of(*x) + ranges{range("y", *y, true)},
             [=, a = scalar(handle, alpha, y->type), b = scalar(handle, beta, y->type), x = *x, y = *y] {
               dense sum = b() * load(as_matrix(y));
               for (std::int64_t i = 0; i < x.nonzeros; ++i)
                 sum(index_at(x.indices, x.index_type, i) - x.base) += a() * value_at(x.values, x.type, i);
               store(as_matrix(y), sum);
             });
}
cusparseStatus_t cusparseGather(cusparseHandle_t handle, cusparseConstDnVecDescr_t y, cusparseSpVecDescr_t x) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*x, *y)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseGather", 0, of(*x, true) + ranges{range("y", *y)}, [x = *x, y = *y] {
    for (std::int64_t i = 0; i < x.nonzeros; ++i)
      put_value(x.values, x.type, i, value_at(y.values, y.type, index_at(x.indices, x.index_type, i) - x.base));
  });
}
cusparseStatus_t cusparseScatter(cusparseHandle_t handle, cusparseConstSpVecDescr_t x, cusparseDnVecDescr_t y) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*x, *y)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseScatter", 0, of(*x) + ranges{range("y", *y)}, [x = *x, y = *y] {
    for (std::int64_t i = 0; i < x.nonzeros; ++i) {
      const std::int64_t at = index_at(x.indices, x.index_type, i) - x.base;
      put_value(y.values, y.type, at, value_at(x.values, x.type, i));
      host_wrote(static_cast<char*>(y.values) + static_cast<std::size_t>(at) * bytes_of(y.type), bytes_of(y.type));
    }
  });
}

cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
                                         cusparseConstDnVecDescr_t, const void*, cusparseDnVecDescr_t, cudaDataType,
                                         cusparseSpMVAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
                                         cusparseConstDnVecDescr_t, const void*, cusparseDnVecDescr_t, cudaDataType,
                                         cusparseSpMVAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                              cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,
                              cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !x || !y) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *x, *y) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseDnMatDescr in = as_matrix(*x), out = as_matrix(*y);
  if (!fits(op, *a, CUSPARSE_OPERATION_NON_TRANSPOSE, in, out)) return CUSPARSE_STATUS_INVALID_VALUE;
  return run(handle, "cusparseSpMV", 2.0 * static_cast<double>(a->nonzeros),
             of(*a) + ranges{range("x", *x), range("y", *y, true)},
             [=, alpha = scalar(handle, alpha, compute), beta = scalar(handle, beta, compute), a = *a] {
               multiply(op, CUSPARSE_OPERATION_NON_TRANSPOSE, alpha(), a, in, beta(), out);
             });
}

cusparseStatus_t cusparseSpMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSpMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                         cusparseDnMatDescr_t, cudaDataType, cusparseSpMMAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                              const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                              const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t,
                              void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !b || !c || !fits(op_a, *a, op_b, *b, *c)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b, *c) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseSpMM", 2.0 * static_cast<double>(a->nonzeros * c->columns * c->batches),
             of(*a) + ranges{range("B", *b), range("C", *c, true)},
             [=, alpha = scalar(handle, alpha, compute), beta = scalar(handle, beta, compute), a = *a, b = *b, c = *c] {
               multiply(op_a, op_b, alpha(), a, b, beta(), c);
             });
}

cusparseStatus_t cusparseSDDMM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                          cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                          cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSDDMM_preprocess(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                          cusparseConstDnMatDescr_t, cusparseConstDnMatDescr_t, const void*,
                                          cusparseSpMatDescr_t, cudaDataType, cusparseSDDMMAlg_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSDDMM(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                               const void* alpha, cusparseConstDnMatDescr_t a, cusparseConstDnMatDescr_t b,
                               const void* beta, cusparseSpMatDescr_t c, cudaDataType compute, cusparseSDDMMAlg_t,
                               void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !b || !c || !fits(op_a, *a, op_b, *b, *c)) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b, *c) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  const std::int64_t k = op_a == CUSPARSE_OPERATION_NON_TRANSPOSE ? a->columns : a->rows;
  return run(handle, "cusparseSDDMM", 2.0 * static_cast<double>(k * c->nonzeros * c->batches),
             of(*c, true) + ranges{range("A", *a), range("B", *b)},
             [=, alpha = scalar(handle, alpha, compute), beta = scalar(handle, beta, compute), a = *a, b = *b, c = *c] {
               for (int batch = 0; batch < c.batches; ++batch) {
                 const dense left = apply(op_a, load(a, batch)), right = apply(op_b, load(b, batch));
                 for_each_entry(c, batch, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
                   double sum = alpha() * left.row(row).dot(right.col(column).transpose());
                   if (beta() != 0) sum += beta() * value_at(c.values, c.type, place);
                   put_value(c.values, c.type, place, sum);
                 });
               }
             });
}

cusparseStatus_t cusparseSpGEMM_createDescr(cusparseSpGEMMDescr_t* description) { return create(description); }
cusparseStatus_t cusparseSpGEMM_destroyDescr(cusparseSpGEMMDescr_t description) { return destroy(description); }
cusparseStatus_t cusparseSpGEMM_workEstimation(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                               cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void*,
                                               cusparseSpMatDescr_t, cudaDataType, cusparseSpGEMMAlg_t,
                                               cusparseSpGEMMDescr_t, std::size_t* bytes, void*) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSpGEMM_compute(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                        const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstSpMatDescr_t b,
                                        const void* beta, cusparseSpMatDescr_t c, cudaDataType compute,
                                        cusparseSpGEMMAlg_t, cusparseSpGEMMDescr_t description, std::size_t* bytes,
                                        void* buffer) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta || !a || !b || !c || !description || !fits(op_a, *a, op_b, *b, *c))
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b, *c) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  if (!buffer) return one_byte(bytes);
  return run(handle, "cusparseSpGEMM_compute", 2.0 * static_cast<double>(a->nonzeros), of(*a) + of(*b),
             [=, alpha = scalar(handle, alpha, compute), a = *a, b = *b] {
               description->product = apply(op_a, load(a)) * apply(op_b, load(b));
               description->product *= alpha();
               c->nonzeros = description->product.nonZeros();
             });
}
cusparseStatus_t cusparseSpGEMM_copy(cusparseHandle_t handle, cusparseOperation_t, cusparseOperation_t, const void*,
                                     cusparseConstSpMatDescr_t, cusparseConstSpMatDescr_t, const void* beta,
                                     cusparseSpMatDescr_t c, cudaDataType compute, cusparseSpGEMMAlg_t,
                                     cusparseSpGEMMDescr_t description) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!beta || !c || !description || c->nonzeros != description->product.nonZeros())
    return CUSPARSE_STATUS_INVALID_VALUE;
  return run(handle, "cusparseSpGEMM_copy", 0, of(*c, true, true), [=, beta = scalar(handle, beta, compute), c = *c] {
    if (beta() == 0) return store(c, description->product);
    matrix sum = description->product + beta() * load(c);
    if (sum.nonZeros() != c.nonzeros)
      throw std::domain_error("C has entries that the product lacks; give it the structure of the product");
    store(c, sum);
  });
}

// ---- triangular systems, incomplete factors

cusparseStatus_t cusparseSpSV_createDescr(cusparseSpSVDescr_t* description) { return create(description); }
cusparseStatus_t cusparseSpSV_destroyDescr(cusparseSpSVDescr_t description) { return destroy(description); }
cusparseStatus_t cusparseSpSV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
                                         cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType,
                                         cusparseSpSVAlg_t, cusparseSpSVDescr_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSpSV_analysis(cusparseHandle_t, cusparseOperation_t, const void*, cusparseConstSpMatDescr_t,
                                       cusparseConstDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, cusparseSpSVAlg_t,
                                       cusparseSpSVDescr_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSV_solve(cusparseHandle_t handle, cusparseOperation_t op, const void* alpha,
                                    cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, cusparseDnVecDescr_t y,
                                    cudaDataType compute, cusparseSpSVAlg_t, cusparseSpSVDescr_t) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !a || !x || !y || a->rows != a->columns || x->size != a->rows || y->size != a->rows)
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *x, *y) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseSpSV", 2.0 * static_cast<double>(a->nonzeros),
             of(*a) + ranges{range("x", *x), range("y", *y, true)},
             [=, alpha = scalar(handle, alpha, compute), a = *a, in = as_matrix(*x), out = as_matrix(*y)] {
               store(out, solve(op, a, alpha() * load(in)));
             });
}
cusparseStatus_t cusparseSpSM_createDescr(cusparseSpSMDescr_t* description) { return create(description); }
cusparseStatus_t cusparseSpSM_destroyDescr(cusparseSpSMDescr_t description) { return destroy(description); }
cusparseStatus_t cusparseSpSM_bufferSize(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                         cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                         cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSpSM_analysis(cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void*,
                                       cusparseConstSpMatDescr_t, cusparseConstDnMatDescr_t, cusparseDnMatDescr_t,
                                       cudaDataType, cusparseSpSMAlg_t, cusparseSpSMDescr_t, void*) {
  return CUSPARSE_STATUS_SUCCESS;
}
cusparseStatus_t cusparseSpSM_solve(cusparseHandle_t handle, cusparseOperation_t op_a, cusparseOperation_t op_b,
                                    const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,
                                    cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpSMAlg_t,
                                    cusparseSpSMDescr_t) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!alpha || !a || !b || !c || a->rows != a->columns || !fits(op_a, *a, op_b, *b, *c))
    return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b, *c) || bytes_of(compute) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseSpSM", 2.0 * static_cast<double>(a->nonzeros * c->columns),
             of(*a) + ranges{range("B", *b), range("C", *c, true)},
             [=, alpha = scalar(handle, alpha, compute), a = *a, b = *b, c = *c] {
               store(c, solve(op_a, a, alpha() * apply(op_b, load(b))));
             });
}
cusparseStatus_t cusparseCreateCsrilu02Info(csrilu02Info_t* info) { return create(info); }
cusparseStatus_t cusparseDestroyCsrilu02Info(csrilu02Info_t info) { return destroy(info); }
cusparseStatus_t cusparseXcsrilu02_zeroPivot(cusparseHandle_t, csrilu02Info_t info, int* position) {
  if (!info || !position) return CUSPARSE_STATUS_INVALID_VALUE;
  *position = info->zero_pivot;
  return info->zero_pivot < 0 ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_ZERO_PIVOT;
}
#define SIM_CUSPARSE(X, T)                                                                                           \
  cusparseStatus_t cusparse##X##csrilu02_bufferSize(cusparseHandle_t, int, int, const cusparseMatDescr_t, T*,        \
                                                    const int*, const int*, csrilu02Info_t, int* bytes) {            \
    return one_byte(bytes);                                                                                          \
  }                                                                                                                  \
  cusparseStatus_t cusparse##X##csrilu02_analysis(cusparseHandle_t, int, int, const cusparseMatDescr_t, const T*,    \
                                                  const int*, const int*, csrilu02Info_t, cusparseSolvePolicy_t,     \
                                                  void*) {                                                           \
    return CUSPARSE_STATUS_SUCCESS;                                                                                  \
  }                                                                                                                  \
  cusparseStatus_t cusparse##X##csrilu02(cusparseHandle_t handle, int m, int nonzeros, const cusparseMatDescr_t a,   \
                                         T* values, const int* row_offsets, const int* columns, csrilu02Info_t info, \
                                         cusparseSolvePolicy_t, void*) {                                             \
    return incomplete_lu("cusparse" #X "csrilu02", handle, m, nonzeros, a, values, row_offsets, columns, info);      \
  }                                                                                                                  \
  cusparseStatus_t cusparse##X##nnz(cusparseHandle_t handle, cusparseDirection_t direction, int m, int n,            \
                                    const cusparseMatDescr_t, const T* a, int lda, int* by_row_or_column,            \
                                    int* total) {                                                                    \
    return count_nonzeros("cusparse" #X "nnz", handle, direction, m, n, a, lda, by_row_or_column, total);            \
  }
SIM_CUSPARSE(S, float)
SIM_CUSPARSE(D, double)
#undef SIM_CUSPARSE

// ---- conversions

cusparseStatus_t cusparseSparseToDense_bufferSize(cusparseHandle_t, cusparseConstSpMatDescr_t, cusparseDnMatDescr_t,
                                                  cusparseSparseToDenseAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseSparseToDense(cusparseHandle_t handle, cusparseConstSpMatDescr_t a, cusparseDnMatDescr_t b,
                                       cusparseSparseToDenseAlg_t, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || a->rows != b->rows || a->columns != b->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseSparseToDense", 0, of(*a) + ranges{range("B", *b, true)},
             [a = *a, b = *b] { store(b, dense(load(a))); });
}
cusparseStatus_t cusparseDenseToSparse_bufferSize(cusparseHandle_t, cusparseConstDnMatDescr_t, cusparseSpMatDescr_t,
                                                  cusparseDenseToSparseAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseDenseToSparse_analysis(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                                cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || a->rows != b->rows || a->columns != b->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  const bool offsets = b->format != CUSPARSE_FORMAT_COO;
  ranges touched = {range("A", *a)};
  if (offsets) touched.push_back(range("the offsets", b->offsets, b->offset_count(), bytes_of(b->offsets_type), true));
  return run(handle, "cusparseDenseToSparse_analysis", 0, touched, [=, a = *a] {
    const dense from = b->format == CUSPARSE_FORMAT_CSC ? dense(load(a).transpose()) : load(a);
    std::int64_t count = 0;
    for (Eigen::Index along = 0; along < from.rows(); ++along) {
      if (offsets) put_index(b->offsets, b->offsets_type, along, count + b->base);
      count += (from.row(along).array() != 0).count();
    }
    if (offsets) put_index(b->offsets, b->offsets_type, from.rows(), count + b->base);
    b->nonzeros = count;
  });
}
cusparseStatus_t cusparseDenseToSparse_convert(cusparseHandle_t handle, cusparseConstDnMatDescr_t a,
                                               cusparseSpMatDescr_t b, cusparseDenseToSparseAlg_t, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (!a || !b || a->rows != b->rows || a->columns != b->columns) return CUSPARSE_STATUS_INVALID_VALUE;
  if (!real(*a, *b)) return CUSPARSE_STATUS_NOT_SUPPORTED;
  return run(handle, "cusparseDenseToSparse_convert", 0, of(*b, true, true) + ranges{range("A", *a)}, [a = *a, b = *b] {
    const matrix from = load(a).sparseView();
    if (from.nonZeros() != b.nonzeros) throw std::domain_error("A has changed since the analysis");
    store(b, from);
  });
}
cusparseStatus_t cusparseCsr2cscEx2_bufferSize(cusparseHandle_t, int, int, int, const void*, const int*, const int*,
                                               void*, int*, int*, cudaDataType, cusparseAction_t, cusparseIndexBase_t,
                                               cusparseCsr2CscAlg_t, std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseCsr2cscEx2(cusparseHandle_t handle, int m, int n, int nonzeros, const void* values,
                                    const int* row_offsets, const int* columns, void* csc_values, int* column_offsets,
                                    int* rows, cudaDataType type, cusparseAction_t action, cusparseIndexBase_t base,
                                    cusparseCsr2CscAlg_t, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || n < 0 || nonzeros < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  if (bytes_of(type) == 0) return CUSPARSE_STATUS_NOT_SUPPORTED;
  const bool moves = action == CUSPARSE_ACTION_NUMERIC;
  const auto unchanged = [](const int* p) { return const_cast<int*>(p); };
  const cusparseSpMatDescr from{CUSPARSE_FORMAT_CSR,
                                m,
                                n,
                                nonzeros,
                                unchanged(row_offsets),
                                unchanged(columns),
                                const_cast<void*>(values),
                                CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_32I,
                                base,
                                type};
  const cusparseSpMatDescr to{CUSPARSE_FORMAT_CSC, m,    n,          nonzeros,
                              column_offsets,      rows, csc_values, CUSPARSE_INDEX_32I,
                              CUSPARSE_INDEX_32I,  base, type};
  ranges touched = of(from) + of(to, true, true);
  if (!moves) std::erase_if(touched, [](const device_range& r) { return std::string_view(r.name) == "the values"; });
  return run(handle, "cusparseCsr2csc", 0, touched, [=] {
    std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> by_column(static_cast<std::size_t>(n));
    for_each_entry(from, 0, [&](std::int64_t row, std::int64_t column, std::int64_t place) {
      by_column[static_cast<std::size_t>(column)].emplace_back(row, place);
    });
    std::int64_t count = 0;
    for (std::size_t column = 0; column < by_column.size(); ++column) {
      column_offsets[column] = static_cast<int>(count + base);
      for (const auto& [row, place] : by_column[column]) {
        rows[count] = static_cast<int>(row + base);
        if (moves) put_value(csc_values, type, count, value_at(values, type, place));
        ++count;
      }
    }
    column_offsets[n] = static_cast<int>(count + base);
  });
}
cusparseStatus_t cusparseXcsr2coo(cusparseHandle_t handle, const int* row_offsets, int nonzeros, int m, int* rows,
                                  cusparseIndexBase_t base) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || nonzeros < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return run(
      handle, "cusparseXcsr2coo", 0,
      {range("the offsets", row_offsets, m + 1, sizeof(int)), range("the rows", rows, nonzeros, sizeof(int), true)},
      [=] {
        for (int row = 0; row < m; ++row)
          std::fill(rows + std::clamp(row_offsets[row] - base, 0, nonzeros),
                    rows + std::clamp(row_offsets[row + 1] - base, 0, nonzeros), row + base);
      });
}
cusparseStatus_t cusparseXcoo2csr(cusparseHandle_t handle, const int* rows, int nonzeros, int m, int* row_offsets,
                                  cusparseIndexBase_t base) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || nonzeros < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return run(
      handle, "cusparseXcoo2csr", 0,
      {range("the rows", rows, nonzeros, sizeof(int)), range("the offsets", row_offsets, m + 1, sizeof(int), true)},
      [=] {
        for (int row = 0; row <= m; ++row)
          row_offsets[row] = static_cast<int>(std::lower_bound(rows, rows + nonzeros, row + base) - rows) + base;
      });
}
cusparseStatus_t cusparseCreateIdentityPermutation(cusparseHandle_t handle, int n, int* permutation) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (n < 0) return CUSPARSE_STATUS_INVALID_VALUE;
  return run(handle, "cusparseCreateIdentityPermutation", 0, {range("p", permutation, n, sizeof(int), true)},
             [=] { std::iota(permutation, permutation + n, 0); });
}
cusparseStatus_t cusparseXcsrsort_bufferSizeExt(cusparseHandle_t, int, int, int, const int*, const int*,
                                                std::size_t* bytes) {
  return one_byte(bytes);
}
cusparseStatus_t cusparseXcsrsort(cusparseHandle_t handle, int m, int, int nonzeros, const cusparseMatDescr_t a,
                                  const int* row_offsets, int* columns, int* permutation, void*) {
  if (!handle) return CUSPARSE_STATUS_NOT_INITIALIZED;
  if (m < 0 || nonzeros < 0 || !a) return CUSPARSE_STATUS_INVALID_VALUE;
  const int base = a->base;
  return run(handle, "cusparseXcsrsort", 0,
             {range("the offsets", row_offsets, m + 1, sizeof(int)),
              range("the columns", columns, nonzeros, sizeof(int), true),
              range("P", permutation, permutation ? nonzeros : 0, sizeof(int), true)},
             [=] {
               for (int row = 0; row < m; ++row) {
                 std::vector<std::pair<int, int>> entries;  // column, original position
                 for (int i = row_offsets[row] - base; i < row_offsets[row + 1] - base; ++i)
                   entries.emplace_back(columns[i], permutation ? permutation[i] : 0);
                 std::stable_sort(entries.begin(), entries.end(),
                                  [](const auto& x, const auto& y) { return x.first < y.first; });
                 for (std::size_t i = 0; i < entries.size(); ++i) {
                   const auto at = static_cast<std::size_t>(row_offsets[row] - base) + i;
                   columns[at] = entries[i].first;
                   if (permutation) permutation[at] = entries[i].second;
                 }
               }
             });
}

}  // extern "C"
