// LLM-CUDA, see gpt2/cuda.hpp. Activations are of type T, float or bfloat16; the residual stream x is float.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <type_traits>

#include "gpt2/cuda.hpp"
#include "lab/device.hpp"

namespace gpt2 {
namespace {

using bf16 = __nv_bfloat16;

template <class T>
constexpr cudaDataType_t type_of = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_16BF;

void check_cublas(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(std::string(call) + " failed: cuBLAS error " + std::to_string(status) +
                             "; is there enough memory on the device?");
}
#define CUBLAS_CHECK(call) check_cublas((call), #call)

constexpr int block_size = 256;
int blocks_for(std::size_t threads) { return static_cast<int>((threads + block_size - 1) / block_size); }

// ---- kernels that no lab has -------------------------------------------------------------------------------

template <class T>
__global__ void embed_kernel(float* x,            // (rows, channels)
                             const T* tokens,     // (vocabulary, channels)
                             const T* positions,  // (context, channels)
                             const int* ids,      // (rows)
                             std::size_t count, int length, int channels) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_size + threadIdx.x;
  if (i >= count) return;
  const std::size_t row = i / channels, c = i % channels;
  x[i] = static_cast<float>(tokens[static_cast<std::size_t>(ids[row]) * channels + c]) +
         static_cast<float>(positions[row % length * channels + c]);
}

template <class T>
__global__ void add_kernel(float* x, const T* addend, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_size + threadIdx.x;
  if (i < count) x[i] = x[i] + static_cast<float>(addend[i]);
}

__global__ void round_kernel(bf16* out, const float* in, std::size_t count) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_size + threadIdx.x;
  if (i < count) out[i] = __float2bfloat16(in[i]);
}

/// Used if cublasLt has no such epilogue.
template <class T>
__global__ void bias_kernel(T* x, const T* bias, std::size_t count, int columns, bool gelu) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * block_size + threadIdx.x;
  if (i >= count) return;
  float v = static_cast<float>(x[i]) + static_cast<float>(bias[i % columns]);
  if (gelu) v = v / (1.0f + __expf(-2.0f * 0.79788456f * (v + 0.044715f * v * v * v)));
  x[i] = static_cast<T>(v);
}

// ---- matrix products ------------------------------------------------------------------------------------------------

class blas_handles {
 public:
  explicit blas_handles(cudaStream_t stream) {
    CUBLAS_CHECK(cublasCreate(&blas));
    CUBLAS_CHECK(cublasLtCreate(&lt));
    CUBLAS_CHECK(cublasSetStream(blas, stream));
    CUBLAS_CHECK(cublasSetWorkspace(blas, workspace.data(), workspace.bytes()));
  }
  ~blas_handles() {
    (void)cublasLtDestroy(lt);
    (void)cublasDestroy(blas);
  }
  blas_handles(const blas_handles&) = delete;  // owns the handles
  blas_handles& operator=(const blas_handles&) = delete;

  cublasHandle_t blas = nullptr;
  cublasLtHandle_t lt = nullptr;
  lab::device_buffer<std::byte> workspace{std::size_t{64} << 20, 0};
};

enum class finish { nothing, bias, bias_gelu };

/// out (rows, outputs) = finish(in (rows, inputs) W^T), with W (outputs, inputs). cublasLt is column-major, so it
/// computes out^T = W in^T. Keeps the fastest algorithm that it offers; if it has no epilogue for `finish`, a kernel
/// does that.
template <class T>
class linear_plan {
 public:
  linear_plan(const blas_handles& blas, int rows, int outputs, int inputs, finish what, cublasComputeType_t compute)
      : blas_(blas), rows_(rows), outputs_(outputs), inputs_(inputs), what_(what), compute_(compute) {
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&weight_, type_of<T>, inputs, outputs, inputs));
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&in_, type_of<T>, inputs, rows, inputs));
    CUBLAS_CHECK(cublasLtMatrixLayoutCreate(&out_, type_of<T>, outputs, rows, outputs));
  }
  ~linear_plan() {
    if (desc_) (void)cublasLtMatmulDescDestroy(desc_);
    for (const auto layout : {weight_, in_, out_}) (void)cublasLtMatrixLayoutDestroy(layout);
  }
  linear_plan(const linear_plan&) = delete;  // owns cublasLt's objects
  linear_plan& operator=(const linear_plan&) = delete;

  void operator()(T* out, const T* in, const T* weight, const T* bias, const lab::stream& stream) {
    if (!desc_) choose(out, in, weight, bias, stream);
    launch(out, in, weight, bias, algorithm_, stream);
    const std::size_t count = static_cast<std::size_t>(rows_) * outputs_;
    if (what_ == finish::nothing || in_epilogue_) return;
    bias_kernel<<<blocks_for(count), block_size, 0, stream.get()>>>(out, bias, count, outputs_,
                                                                    what_ == finish::bias_gelu);
    LAB_CUDA_CHECK(cudaGetLastError());
  }

 private:
  void launch(T* out, const T* in, const T* weight, const T* bias, const cublasLtMatmulAlgo_t& algorithm,
              const lab::stream& stream) {
    if (in_epilogue_)
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    const float one = 1, zero = 0;
    CUBLAS_CHECK(cublasLtMatmul(blas_.lt, desc_, &one, weight, weight_, in, in_, &zero, out, out_, out, out_,
                                &algorithm, blas_.workspace.data(), blas_.workspace.bytes(), stream.get()));
  }

  void describe(bool with_epilogue) {
    if (desc_) (void)cublasLtMatmulDescDestroy(desc_);
    CUBLAS_CHECK(cublasLtMatmulDescCreate(&desc_, compute_, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed));
    in_epilogue_ = with_epilogue;
    if (!with_epilogue) return;
    const cublasLtEpilogue_t epilogue =
        what_ == finish::bias_gelu ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_BIAS;
    CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof epilogue));
  }

  std::vector<cublasLtMatmulHeuristicResult_t> offers() {
    constexpr int most = 64;
    std::vector<cublasLtMatmulHeuristicResult_t> results(most);
    cublasLtMatmulPreference_t preference = nullptr;
    CUBLAS_CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t bytes = blas_.workspace.bytes();
    CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                                      sizeof bytes));
    // Every tensor begins at a multiple of `channels`, which divides all dimensions except the rows.
    const std::size_t step = static_cast<std::size_t>(std::gcd(inputs_, outputs_)) * sizeof(T);
    const auto alignment = static_cast<std::uint32_t>(std::min<std::size_t>(step & (~step + 1), 256));
    for (const auto of : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(preference, of, &alignment, sizeof alignment));
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(blas_.lt, desc_, weight_, in_, out_, out_, preference,
                                                                 most, results.data(), &found);
    (void)cublasLtMatmulPreferenceDestroy(preference);
    results.resize(status == CUBLAS_STATUS_SUCCESS ? static_cast<std::size_t>(found) : 0);
    return results;
  }

  void choose(T* out, const T* in, const T* weight, const T* bias, const lab::stream& stream) {
    describe(what_ != finish::nothing);
    if (in_epilogue_)
      CUBLAS_CHECK(cublasLtMatmulDescSetAttribute(desc_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    auto candidates = offers();
    if (candidates.empty() && in_epilogue_) {
      describe(false);
      candidates = offers();
    }
    if (candidates.empty())
      throw std::runtime_error("cublasLt has no algorithm for a product of " + std::to_string(rows_) + " x " +
                               std::to_string(inputs_) + " and " + std::to_string(inputs_) + " x " +
                               std::to_string(outputs_));
    algorithm_ = candidates.front().algo;
    double fastest = INFINITY;
    lab::event start, stop;
    for (const auto& candidate : candidates) {
      if (candidates.size() == 1) break;
      double seconds = INFINITY;
      try {
        for (int i = 0; i < 4; ++i) {  // the first one warms up
          constexpr int together = 8;  // a single product is as short as the gap between two events
          start.record(stream);
          for (int k = 0; k < together; ++k) launch(out, in, weight, bias, candidate.algo, stream);
          stop.record(stream);
          const double took = stop.seconds_since(start) / together;
          if (i == 0) continue;
          seconds = std::min(seconds, took);
          if (took > 1.5 * fastest) break;
        }
      } catch (const std::runtime_error&) {
        continue;  // offered, but not supported
      }
      if (seconds < fastest) fastest = seconds, algorithm_ = candidate.algo;
    }
  }

  const blas_handles& blas_;
  int rows_, outputs_, inputs_;
  finish what_;
  cublasComputeType_t compute_;
  bool in_epilogue_ = false;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t weight_ = nullptr, in_ = nullptr, out_ = nullptr;
  cublasLtMatmulAlgo_t algorithm_{};
};

constexpr tensor norm_tensors[] = {tensor::norm1_weight, tensor::norm1_bias,        tensor::norm2_weight,
                                   tensor::norm2_bias,   tensor::final_norm_weight, tensor::final_norm_bias};

// ---- the pass -------------------------------------------------------------------------------------------------------

template <class T>
class cuda_pass final : public pass {
 public:
  cuda_pass(const checkpoint& model, precision how, const kernels& with)
      : config_(model.config),
        with_(with),
        compute_(how == precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
        weights_(model.weights.size()),
        norms_(norm_floats(model)) {
    if (!with.layer_norm || !with.causal_softmax)
      throw std::invalid_argument("a pass needs layer_norm and causal_softmax");
    upload(weights_, model.weights);
    if (rounded && with.gemm_bf16) upload(transposed_.emplace(model.weights.size()), transposed(model));
    // LayerNorms take their weights as floats.
    std::vector<float> norms;
    for (const tensor which : norm_tensors)
      norms.insert(norms.end(), model.at(which), model.at(which) + size_of_all(which));
    upload(norms_, norms);
  }
  ~cuda_pass() override {
    if (graph_) (void)cudaGraphExecDestroy(graph_);
  }

  void load(std::span<const int> tokens, int batch, int length) override {
    expect_tokens(config_, tokens, batch, length);
    if (batch != batch_ || length != length_) make_room(batch, length);
    LAB_CUDA_CHECK(
        cudaMemcpyAsync(ids_->data(), tokens.data(), tokens.size_bytes(), cudaMemcpyHostToDevice, stream_.get()));
  }

  void compute(operation which, int layer) override {
    const int c = config_.channels;
    switch (which) {
      case operation::embed:
        embed_kernel<<<blocks_for(x_->size()), block_size, 0, stream_.get()>>>(
            x_->data(), weight(tensor::token_embedding), weight(tensor::position_embedding), ids_->data(), x_->size(),
            length_, c);
        LAB_CUDA_CHECK(cudaGetLastError());
        break;
      case operation::normalize_before_attention:
        normalize(layer == 0 ? nullptr : out_->data(), tensor::norm1_weight, tensor::norm1_bias, layer);
        break;
      case operation::project_to_qkv:
        linear(qkv_->data(), normed_->data(), tensor::qkv_weight, tensor::qkv_bias, layer, 3 * c, c, finish::bias);
        break;
      case operation::multiply_queries_by_keys:
        if (fused_attention())
          attention()(mixed_->data(), qkv_->data(), batch_, length_, config_.heads, stream_.get());
        else
          multiply_queries_by_keys();
        break;
      case operation::softmax:
        if (!fused_attention()) softmax();
        break;
      case operation::weigh_values:
        if (!fused_attention()) weigh_values();
        break;
      case operation::project_attention:
        linear(out_->data(), mixed_->data(), tensor::projection_weight, tensor::projection_bias, layer, c, c,
               finish::bias);
        break;
      case operation::normalize_before_mlp:
        normalize(out_->data(), tensor::norm2_weight, tensor::norm2_bias, layer);
        break;
      case operation::expand:
        linear(hidden_->data(), normed_->data(), tensor::expand_weight, tensor::expand_bias, layer, 4 * c, c,
               finish::bias_gelu);
        break;
      case operation::gelu: break;  // the previous product's epilogue did it
      case operation::contract:
        linear(out_->data(), hidden_->data(), tensor::contract_weight, tensor::contract_bias, layer, c, 4 * c,
               finish::bias);
        break;
      case operation::add_attention:
      case operation::add_mlp:
        if (add_and_norm()) break;
        add_kernel<<<blocks_for(x_->size()), block_size, 0, stream_.get()>>>(x_->data(), out_->data(), x_->size());
        LAB_CUDA_CHECK(cudaGetLastError());
        break;
      case operation::normalize_last:
        normalize(out_->data(), tensor::final_norm_weight, tensor::final_norm_bias, 0);
        break;
      case operation::multiply_by_embedding:
        linear(logits_->data(), normed_->data(), tensor::token_embedding, tensor::count, 0, config_.padded_vocabulary,
               c, finish::nothing);
        break;
    }
  }
  std::optional<lab::work> work(block which) const override {
    if (add_and_norm() && (which == block::residual1 || which == block::residual2)) return {};
    return work_of(which, config_, batch_, length_, sizeof(T)).total();
  }
  int layers() const override { return config_.layers; }

  void replay() override {
    if (!graph_) {
      run();  // the first run chooses algorithms by timing them, which a recording cannot do
      LAB_CUDA_CHECK(cudaStreamBeginCapture(stream_.get(), cudaStreamCaptureModeThreadLocal));
      record();
      cudaGraph_t recorded = nullptr;
      LAB_CUDA_CHECK(cudaStreamEndCapture(stream_.get(), &recorded));
      const cudaError_t status = cudaGraphInstantiate(&graph_, recorded, 0);
      (void)cudaGraphDestroy(recorded);
      LAB_CUDA_CHECK(status);
    }
    LAB_CUDA_CHECK(cudaGraphLaunch(graph_, stream_.get()));
  }

  void synchronize() override { stream_.synchronize(); }

  std::vector<float> logits() override { return read_logits(0, rows()); }
  std::vector<float> logits_at(int sequence, int position) override {
    return read_logits(static_cast<std::size_t>(sequence) * length_ + position, 1);
  }

 private:
  static constexpr bool rounded = std::is_same_v<T, bf16>;
  std::size_t size_of_all(tensor which) const {
    return offset_of(config_, static_cast<tensor>(static_cast<int>(which) + 1)) - offset_of(config_, which);
  }
  static std::size_t norm_floats(const checkpoint& model) {
    return static_cast<std::size_t>(model.config.channels) * (4 * static_cast<std::size_t>(model.config.layers) + 2);
  }
  /// All weights, with each matrix transposed in its place.
  static std::vector<float> transposed(const checkpoint& model) {
    std::vector<float> result = model.weights;
    const config& c = model.config;
    const auto n = static_cast<std::size_t>(c.channels);
    for (const tensor which : {tensor::token_embedding, tensor::qkv_weight, tensor::projection_weight,
                               tensor::expand_weight, tensor::contract_weight})
      for (int l = 0; l < (which == tensor::token_embedding ? 1 : c.layers); ++l) {
        const std::size_t columns = which == tensor::contract_weight ? 4 * n : n, rows = size_of(c, which) / columns;
        float* const to = result.data() + offset_of(c, which, l);
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t k = 0; k < columns; ++k) to[k * rows + r] = model.at(which, l)[r * columns + k];
      }
    return result;
  }
  template <class U>
  static void upload(const lab::device_buffer<U>& to, const std::vector<float>& from) {
    if constexpr (std::is_same_v<U, float>) {
      LAB_CUDA_CHECK(cudaMemcpy(to.data(), from.data(), to.bytes(), cudaMemcpyHostToDevice));
    } else {
      std::vector<bf16> converted(from.size());
      for (std::size_t i = 0; i < from.size(); ++i) converted[i] = __float2bfloat16(from[i]);
      LAB_CUDA_CHECK(cudaMemcpy(to.data(), converted.data(), to.bytes(), cudaMemcpyHostToDevice));
    }
  }
  const T* weight(tensor which, int layer = 0) const { return weights_.data() + offset_of(config_, which, layer); }
  const float* norm(tensor which, int layer) const {
    std::size_t offset = 0;
    for (const tensor t : norm_tensors) {
      if (t == which) break;
      offset += size_of_all(t);
    }
    return norms_.data() + offset + static_cast<std::size_t>(layer) * config_.channels;
  }
  std::size_t rows() const { return static_cast<std::size_t>(batch_) * length_; }

  std::vector<float> read_logits(std::size_t first, std::size_t count) {
    synchronize();
    const auto padded = static_cast<std::size_t>(config_.padded_vocabulary),
               v = static_cast<std::size_t>(config_.vocabulary);
    std::vector<T> read(count * padded);
    LAB_CUDA_CHECK(
        cudaMemcpy(read.data(), logits_->data() + first * padded, read.size() * sizeof(T), cudaMemcpyDeviceToHost));
    std::vector<float> out;
    out.reserve(count * v);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < v; ++i) out.push_back(static_cast<float>(read[r * padded + i]));
    return out;
  }

  /// A pass for the graph.
  void record() {
    if constexpr (rounded)
      if (all_layers_) {
        all_layers_(ids_->data(), normed_->data(), stream_.get());
        compute(operation::multiply_by_embedding, 0);
        return;
      }
    run();
  }

  void make_room(int batch, int length) {
    if (graph_) (void)cudaGraphExecDestroy(std::exchange(graph_, nullptr));
    plans_.clear();
    batch_ = batch, length_ = length;
    const std::size_t n = rows(), c = static_cast<std::size_t>(config_.channels);
    ids_.emplace(n);
    x_.emplace(n * c);
    for (auto* x : {&normed_, &mixed_, &out_}) x->emplace(n * c);
    if constexpr (rounded) normed_float_.emplace(n * c);
    qkv_.emplace(n * 3 * c);
    hidden_.emplace(n * 4 * c);
    logits_.emplace(n * static_cast<std::size_t>(config_.padded_vocabulary));
    if constexpr (rounded)
      if (with_.all_layers_bf16)
        all_layers_ = with_.all_layers_bf16(config_, weights_.data(), norms_.data(), batch, length);
    if (fused_attention()) return;
    const std::size_t squares = static_cast<std::size_t>(batch) * config_.heads * length * length;
    scores_.emplace(squares);
    probabilities_.emplace(squares);
    if constexpr (rounded) probabilities_rounded_.emplace(squares);
    point_at_heads();
  }

  /// The kernel for everything in attention between the products, or null.
  auto attention() const {
    if constexpr (rounded)
      return with_.attention_bf16;
    else
      return with_.attention;
  }
  bool fused_attention() const { return attention() && config_.head_size() == 64; }

  // ---- attention by cuBLAS: the matrices of all heads in one call. Computes a long text's rows in parts, because the
  // top rows need only the first columns.

  static constexpr int rows_in_part = 256;
  struct part {
    int first, rows;
  };
  enum pointer { query, key, value, score, probability, mixed, pointers };

  void point_at_heads() {
    parts_.clear();
    for (int first = 0; first < length_; first += rows_in_part)
      parts_.push_back({first, std::min(rows_in_part, length_ - first)});
    const std::size_t c = static_cast<std::size_t>(config_.channels), t = static_cast<std::size_t>(length_);
    const std::size_t size = static_cast<std::size_t>(config_.head_size());
    const T* p = probability_data();
    std::vector<const void*> all;
    for (const part& of : parts_)
      for (int which = 0; which < pointers; ++which)
        for (std::size_t b = 0; b < static_cast<std::size_t>(batch_); ++b)
          for (std::size_t h = 0; h < static_cast<std::size_t>(config_.heads); ++h) {
            const std::size_t first = static_cast<std::size_t>(of.first);
            const std::size_t matrix = (b * static_cast<std::size_t>(config_.heads) + h) * t * t + first * t;
            const T* qkv = qkv_->data() + b * t * 3 * c + h * size;
            switch (which) {
              case query: all.push_back(qkv + first * 3 * c); break;
              case key: all.push_back(qkv + c); break;
              case value: all.push_back(qkv + 2 * c); break;
              case score: all.push_back(scores_->data() + matrix); break;
              case probability: all.push_back(p + matrix); break;
              default: all.push_back(mixed_->data() + (b * t + first) * c + h * size); break;
            }
          }
    heads_.emplace(all.size());
    LAB_CUDA_CHECK(cudaMemcpy(heads_->data(), all.data(), heads_->bytes(), cudaMemcpyHostToDevice));
  }
  const T* probability_data() const {
    if constexpr (rounded)
      return probabilities_rounded_->data();
    else
      return probabilities_->data();
  }

  int matrices() const { return batch_ * config_.heads; }
  const void** of_part(std::size_t p, pointer which) const {
    return heads_->data() + (p * pointers + which) * static_cast<std::size_t>(matrices());
  }
  void* const* writable(std::size_t p, pointer which) const {
    return reinterpret_cast<void* const*>(const_cast<void**>(of_part(p, which)));
  }

  void multiply_queries_by_keys() {
    const int c = config_.channels;
    const float one = 1, zero = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const int seen = parts_[p].first + parts_[p].rows;
      CUBLAS_CHECK(cublasGemmBatchedEx(blas_.blas, CUBLAS_OP_T, CUBLAS_OP_N, seen, parts_[p].rows, config_.head_size(),
                                       &one, of_part(p, key), type_of<T>, 3 * c, of_part(p, query), type_of<T>, 3 * c,
                                       &zero, writable(p, score), CUDA_R_32F, length_, matrices(), compute_,
                                       CUBLAS_GEMM_DEFAULT));
    }
  }

  void softmax() {
    with_.causal_softmax(probabilities_->data(), scores_->data(), matrices(), length_,
                         1.0f / std::sqrt(static_cast<float>(config_.head_size())), stream_.get());
    if constexpr (rounded) round(probabilities_rounded_->data(), *probabilities_);
  }

  void weigh_values() {
    const int c = config_.channels;
    const float one = 1, zero = 0;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      const int seen = parts_[p].first + parts_[p].rows;
      CUBLAS_CHECK(cublasGemmBatchedEx(blas_.blas, CUBLAS_OP_N, CUBLAS_OP_N, config_.head_size(), parts_[p].rows, seen,
                                       &one, of_part(p, value), type_of<T>, 3 * c, of_part(p, probability), type_of<T>,
                                       length_, &zero, writable(p, mixed), type_of<T>, c, matrices(), compute_,
                                       CUBLAS_GEMM_DEFAULT));
    }
  }

  void round(bf16* to, const lab::device_buffer<float>& from) {
    round_kernel<<<blocks_for(from.size()), block_size, 0, stream_.get()>>>(to, from.data(), from.size());
    LAB_CUDA_CHECK(cudaGetLastError());
  }

  // ---- steps

  void linear(T* out, const T* in, tensor weight_of, tensor bias_of, int layer, int outputs, int inputs, finish what) {
    if constexpr (rounded)
      if (transposed_ && outputs % 8 == 0 && inputs % 8 == 0) {
        const std::size_t count = rows() * static_cast<std::size_t>(outputs);
        with_.gemm_bf16(out, in, transposed_->data() + offset_of(config_, weight_of, layer), static_cast<int>(rows()),
                        outputs, inputs, stream_.get());
        if (what == finish::nothing) return;
        bias_kernel<<<blocks_for(count), block_size, 0, stream_.get()>>>(out, weight(bias_of, layer), count, outputs,
                                                                         what == finish::bias_gelu);
        LAB_CUDA_CHECK(cudaGetLastError());
        return;
      }
    auto& plan = plans_[{outputs, inputs, what}];
    if (!plan)
      plan = std::make_unique<linear_plan<T>>(blas_, static_cast<int>(rows()), outputs, inputs, what, compute_);
    (*plan)(out, in, weight(weight_of, layer), what == finish::nothing ? nullptr : weight(bias_of, layer), stream_);
  }

  void layer_norm(tensor weight_of, tensor bias_of, int layer) {
    float* out;
    if constexpr (rounded)
      out = normed_float_->data();
    else
      out = normed_->data();
    with_.layer_norm(out, x_->data(), norm(weight_of, layer), norm(bias_of, layer), static_cast<int>(rows()),
                     config_.channels, stream_.get());
    if constexpr (rounded) round(normed_->data(), *normed_float_);
  }

  /// The kernel that both adds and normalizes, or null.
  auto add_and_norm() const {
    if constexpr (rounded)
      return with_.add_and_norm_bf16;
    else
      return with_.add_and_norm;
  }

  /// Normalizes the residual stream; if one kernel does both, first adds `addend`.
  void normalize(const T* addend, tensor weight_of, tensor bias_of, int layer) {
    if (const auto both = add_and_norm())
      both(x_->data(), normed_->data(), addend, norm(weight_of, layer), norm(bias_of, layer), static_cast<int>(rows()),
           config_.channels, stream_.get());
    else
      layer_norm(weight_of, bias_of, layer);
  }

  config config_;
  kernels with_;
  cublasComputeType_t compute_;
  int batch_ = 0, length_ = 0;
  lab::stream stream_;
  blas_handles blas_{stream_.get()};
  lab::device_buffer<T> weights_;
  std::optional<lab::device_buffer<T>> transposed_;  // the matrices as (inputs, outputs), for gemm_bf16
  lab::device_buffer<float> norms_;
  std::optional<lab::device_buffer<int>> ids_;
  std::optional<lab::device_buffer<float>> x_, normed_float_, scores_, probabilities_;
  std::optional<lab::device_buffer<T>> normed_, mixed_, out_, qkv_, hidden_, logits_, probabilities_rounded_;
  std::optional<lab::device_buffer<const void*>> heads_;
  std::vector<part> parts_;
  std::map<std::tuple<int, int, finish>, std::unique_ptr<linear_plan<T>>> plans_;
  all_layers all_layers_;
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace

std::unique_ptr<pass> make_cuda(const checkpoint& model, precision how, const kernels& with) {
  if (how == precision::bf16) return std::make_unique<cuda_pass<bf16>>(model, how, with);
  return std::make_unique<cuda_pass<float>>(model, how, with);
}

}  // namespace gpt2
