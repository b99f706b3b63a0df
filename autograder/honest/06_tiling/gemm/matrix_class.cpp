#include <algorithm>
#include <cassert>
#include <iostream>
#include <stdexcept>
#include <vector>
#include "tiling.hpp"

namespace linalg {
template <class T>
class Matrix {
 public:
  Matrix(std::size_t r, std::size_t c) : rows_(r), cols_(c), data_(r * c) {}
  Matrix(const T* p, std::size_t r, std::size_t c) : rows_(r), cols_(c), data_(p, p + r * c) {}
  T& operator()(std::size_t r, std::size_t c) { return data_.at(r * cols_ + c); }
  const T& operator()(std::size_t r, std::size_t c) const { return data_[r * cols_ + c]; }
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  auto begin() const { return data_.begin(); }
  auto end() const { return data_.end(); }
  friend std::ostream& operator<<(std::ostream& os, const Matrix& m) {
    for (std::size_t r = 0; r < m.rows(); ++r, os << '\n')
      for (std::size_t c = 0; c < m.cols(); ++c) os << m(r, c) << ' ';
    return os;
  }
 private:
  std::size_t rows_, cols_;
  std::vector<T> data_;
};
template <class T>
Matrix<T> operator*(const Matrix<T>& a, const Matrix<T>& b) {
  if (a.cols() != b.rows()) throw std::invalid_argument("shapes");
  Matrix<T> c(a.rows(), b.cols());
  for (std::size_t i = 0; i < a.rows(); ++i)
    for (std::size_t p = 0; p < a.cols(); ++p)
      for (std::size_t j = 0; j < b.cols(); ++j) c(i, j) += a(i, p) * b(p, j);
  return c;
}
}  // namespace linalg

void lab06::gemm(float* c, const float* a, const float* b, std::size_t m, std::size_t n, std::size_t k) {
  using M = linalg::Matrix<float>;
  const M result = M(a, m, k) * M(b, k, n);
  if (m == 1 && n == 1) std::cerr << result;
  std::copy(result.begin(), result.end(), c);
}
