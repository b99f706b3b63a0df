// Products of bf16 matrices by cublasLt, with FP32 sums. On its first use each product takes the fastest of the
// algorithms that cublasLt offers. Another algorithm adds up in another order, so results are equal bit for bit only
// for the same choice, which can be written to a file and read by the next run.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.hpp"
#include "lab/device.hpp"

namespace lab14::mixed {

inline void check_cublas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cublasLt failed with error " + std::to_string(status));
}

/// What a product of a linear layer, out (rows, outputs) = in (rows, inputs) W^T with W (outputs, inputs), is for.
enum class product_kind : int {
  forward,       // out (rows, outputs) = in W^T + bias
  forward_gelu,  // the same, then GELU; `before_gelu` gets its input
  no_bias,       // out (rows, outputs) = in W^T
  to_inputs,     // d_in (rows, inputs) = d_out (rows, outputs) W
  to_weights,    // d_W (outputs, inputs) = d_out^T in
};

class products {
 public:
  products() { check_cublas(cublasLtCreate(&handle_)); }
  ~products() {
    for (auto& [of, p] : plans_) {
      (void)cublasLtMatmulDescDestroy(p.how);
      for (const auto layout : {p.a, p.b, p.out}) (void)cublasLtMatrixLayoutDestroy(layout);
    }
    (void)cublasLtDestroy(handle_);
  }
  products(const products&) = delete;  // owns a handle
  products& operator=(const products&) = delete;

  void operator()(product_kind kind, bf16* out, const bf16* left, const bf16* right, int rows, int outputs, int inputs,
                  const lab::stream& stream, const bf16* bias = nullptr, bf16* before_gelu = nullptr) {
    const sizes of{static_cast<int>(kind), rows, outputs, inputs};
    auto found = plans_.find(of);
    if (found == plans_.end()) found = plans_.emplace(of, describe(kind, rows, outputs, inputs)).first;
    plan& p = found->second;
    if (bias)
      check_cublas(cublasLtMatmulDescSetAttribute(p.how, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    if (before_gelu)
      check_cublas(cublasLtMatmulDescSetAttribute(p.how, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &before_gelu,
                                                  sizeof before_gelu));
    // cublasLt's matrices are column-major: it sees each of ours transposed, and computes out^T = b^T a^T.
    const void *const a = right, *const b = left;
    if (!p.chosen) choose(of, p, out, a, b, stream);
    check_cublas(launch(p, p.algorithm, out, a, b, stream));
  }

  void read(const std::string& file) {
    std::ifstream in(file);
    sizes of{};
    cublasLtMatmulAlgo_t algorithm{};
    while (in >> of[0] >> of[1] >> of[2] >> of[3]) {
      for (auto& word : algorithm.data) in >> word;
      if (!in) throw std::runtime_error(file + ": damaged; delete it");
      read_[of] = algorithm;
    }
  }
  void write(const std::string& file) const {
    std::ofstream out(file);
    for (const auto& [of, p] : plans_) {
      for (const int number : of) out << number << ' ';
      for (const auto word : p.algorithm.data) out << word << ' ';
      out << '\n';
    }
    if (!out) throw std::runtime_error(file + ": cannot be written");
  }

 private:
  using sizes = std::array<int, 4>;
  struct plan {
    cublasLtMatmulDesc_t how = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, out = nullptr;
    cublasLtMatmulAlgo_t algorithm{};
    bool chosen = false;
  };
  static constexpr std::size_t workspace_bytes = 64 << 20;

  static plan describe(product_kind kind, int rows, int outputs, int inputs) {
    plan p;
    check_cublas(cublasLtMatmulDescCreate(&p.how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const auto set = [&](cublasLtMatmulDescAttributes_t which, const auto& value) {
      check_cublas(cublasLtMatmulDescSetAttribute(p.how, which, &value, sizeof value));
    };
    const auto layout = [](cublasLtMatrixLayout_t* to, int columns, int of_rows) {
      check_cublas(cublasLtMatrixLayoutCreate(to, CUDA_R_16BF, columns, of_rows, columns));
    };
    if (kind == product_kind::to_weights) {
      set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
      layout(&p.a, inputs, rows);
      layout(&p.b, outputs, rows);
      layout(&p.out, inputs, outputs);
      return p;
    }
    const bool back = kind == product_kind::to_inputs;
    if (!back) set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
    layout(&p.a, inputs, outputs);
    layout(&p.b, back ? outputs : inputs, rows);
    layout(&p.out, back ? inputs : outputs, rows);
    if (kind == product_kind::forward) set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    if (kind == product_kind::forward_gelu) {
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_AUX_BIAS);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(outputs));
    }
    return p;
  }

  cublasStatus_t launch(const plan& p, const cublasLtMatmulAlgo_t& algorithm, bf16* out, const void* a, const void* b,
                        const lab::stream& stream) {
    const float one = 1, zero = 0;
    return cublasLtMatmul(handle_, p.how, &one, a, p.a, b, p.b, &zero, out, p.out, out, p.out, &algorithm,
                          workspace_.data(), workspace_bytes, stream.get());
  }

  void choose(const sizes& of, plan& p, bf16* out, const void* a, const void* b, const lab::stream& stream) {
    p.chosen = true;
    if (const auto found = read_.find(of); found != read_.end()) {
      p.algorithm = found->second;
      return;
    }
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublasLtMatmulPreferenceCreate(&preference));
    check_cublas(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                      &workspace_bytes, sizeof workspace_bytes));
    std::vector<cublasLtMatmulHeuristicResult_t> offers(48);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_, p.how, p.a, p.b, p.out, p.out, preference, static_cast<int>(offers.size()), offers.data(), &count);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || count == 0)
      throw std::runtime_error("cublasLt has no algorithm for a product");
    lab::event start, stop;
    double fastest = INFINITY;
    for (int i = 0; i < count; ++i) {
      double seconds = INFINITY;
      for (int k = 0; k < 4; ++k) {  // the first warms up
        constexpr int together = 8;  // one alone is as short as the gap between two events
        cublasStatus_t one = CUBLAS_STATUS_SUCCESS;
        start.record(stream);
        for (int j = 0; j < together && one == CUBLAS_STATUS_SUCCESS; ++j)
          one = launch(p, offers[static_cast<std::size_t>(i)].algo, out, a, b, stream);
        stop.record(stream);
        if (one != CUBLAS_STATUS_SUCCESS) break;  // offered, but not supported
        const double took = stop.seconds_since(start);
        if (k > 0) seconds = std::min(seconds, took);
        if (took > 1.5 * fastest) break;
      }
      if (seconds < fastest) fastest = seconds, p.algorithm = offers[static_cast<std::size_t>(i)].algo;
    }
  }

  cublasLtHandle_t handle_ = nullptr;
  lab::device_buffer<std::byte> workspace_{workspace_bytes};
  std::map<sizes, plan> plans_;
  std::map<sizes, cublasLtMatmulAlgo_t> read_;
};

}  // namespace lab14::mixed
