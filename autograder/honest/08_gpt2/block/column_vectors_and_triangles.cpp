// Eigen's other dialects: one head by matrices that are column-major, with the upper triangle filled; every second head by
// matrix-vector products; LayerNorm by columns of the transposed rows.
#include <cmath>
#include <limits>
#include <type_traits>

#include "eigen.hpp"
#include "forward.hpp"

namespace lab08 {
namespace {

template <class T>
auto transposed(T* rows, int columns, int count, int stride) {
  using plain = std::conditional_t<std::is_const_v<T>, const Eigen::MatrixXf, Eigen::MatrixXf>;
  return Eigen::Map<plain, 0, Eigen::OuterStride<>>(rows, columns, count, Eigen::OuterStride<>(stride));
}

}  // namespace

void attention_heads(float* out, const float* qkv, int tokens, int channels, int heads) {
  const int size = channels / heads;
  auto all = transposed(out, channels, tokens, channels);
  for (int head = 0; head < heads; ++head) {
    const auto q = transposed(qkv + head * size, size, tokens, 3 * channels);
    const auto k = transposed(qkv + head * size + channels, size, tokens, 3 * channels);
    const auto v = transposed(qkv + head * size + 2 * channels, size, tokens, 3 * channels);
    auto mixed = all.middleRows(head * size, size);
    if (head % 2 == 0) {
      Eigen::MatrixXf scores = q.transpose() * k;
      scores /= std::sqrt(float(size));
      scores.triangularView<Eigen::StrictlyUpper>().setConstant(-std::numeric_limits<float>::infinity());
      const Eigen::ArrayXf largest = scores.rowwise().maxCoeff();
      Eigen::ArrayXXf shares = (scores.array().colwise() - largest).exp();
      const Eigen::ArrayXf sums = shares.rowwise().sum();
      shares.colwise() /= sums;
      mixed = v * shares.matrix().transpose();
    } else {
      for (int t = 0; t < tokens; ++t) {
        Eigen::VectorXf shares = k.leftCols(t + 1).transpose() * q.col(t) / std::sqrt(float(size));
        shares = (shares.array() - shares.maxCoeff()).exp();
        mixed.col(t) = v.leftCols(t + 1) * shares / shares.sum();
      }
    }
  }
}

void residual_norm(float* stream, float* normalized, const float* x, const float* y, const float* weight,
                   const float* bias, int rows, int channels) {
  auto sums = transposed(stream, channels, rows, channels), out = transposed(normalized, channels, rows, channels);
  sums = transposed(x, channels, rows, channels) + transposed(y, channels, rows, channels);
  const Eigen::Map<const Eigen::VectorXf> w(weight, channels), b(bias, channels);
  for (int r = 0; r < rows; ++r) {
    const Eigen::VectorXf distances = sums.col(r).array() - sums.col(r).mean();
    const float deviation = std::sqrt(distances.squaredNorm() / float(channels) + 1e-5f);
    out.col(r) = distances.cwiseProduct(w) / deviation + b;
  }
}

}  // namespace lab08
