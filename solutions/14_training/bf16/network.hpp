// GPT-2 in training in mixed precision, as PyTorch's autocast does it: factors of products, their gradients and the
// logits in bf16; the residual stream, its gradient, all sums, master weights and AdamW's states in FP32. A step is one
// CUDA graph.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "../../11_attention/hopper/of_gpt2.hpp"
#include "gpt2/model.hpp"
#include "kernels.hpp"
#include "lab/device.hpp"
#include "products.hpp"

namespace lab14::mixed {

/// An event whose order counts, not its time.
class order_event {
 public:
  order_event() { LAB_CUDA_CHECK(cudaEventCreateWithFlags(&handle_, cudaEventDisableTiming)); }
  ~order_event() { (void)cudaEventDestroy(handle_); }
  order_event(const order_event&) = delete;  // owns the handle
  order_event& operator=(const order_event&) = delete;
  void record(const lab::stream& where) { LAB_CUDA_CHECK(cudaEventRecord(handle_, where.get())); }
  cudaEvent_t get() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

class network {
 public:
  network(const gpt2::checkpoint& start, int batch, int length, const adamw_settings& with, const std::string& plans)
      : c_(start.config), batch_(batch), length_(length), rows_(batch * length), with_(with) {
    if (c_.head_size() != head_size || c_.channels % 64 != 0 || c_.channels > 1024 || c_.padded_vocabulary % 8 != 0 ||
        c_.padded_vocabulary > 57344 || length > c_.context || batch < 1 || length < 1)
      throw gpt2::model_error(
          "this program takes heads of 64, at most 1024 channels, at most 57344 tokens (a multiple of 8), and texts no "
          "longer than the context");
    place_tensors();
    std::vector<float> moved(count_);
    each_tensor([&](std::size_t ours, std::size_t theirs, std::size_t n) {
      std::copy_n(start.weights.begin() + static_cast<std::ptrdiff_t>(theirs), n,
                  moved.begin() + static_cast<std::ptrdiff_t>(ours));
    });
    std::vector<bf16> rounded(moved.size());
    std::transform(moved.begin(), moved.end(), rounded.begin(), [](float x) { return __float2bfloat16(x); });
    w_ = device(count_, w_), m_ = device(count_, m_), v_ = device(count_, v_);
    weights_ = device(count_, weights_), gradient_ = device(count_, gradient_);
    LAB_CUDA_CHECK(cudaMemcpy(w_->data(), moved.data(), w_->bytes(), cudaMemcpyHostToDevice));
    LAB_CUDA_CHECK(cudaMemcpy(weights_->data(), rounded.data(), weights_->bytes(), cudaMemcpyHostToDevice));
    // Positions after the text get no gradient, ever.
    LAB_CUDA_CHECK(cudaMemset(gradient_->data(), 0, gradient_->bytes()));
    for (auto* states : {&m_, &v_}) LAB_CUDA_CHECK(cudaMemset((*states)->data(), 0, (*states)->bytes()));
    make_room();
    if (!plans.empty()) multiply_.read(plans);
  }
  ~network() {
    if (graph_) (void)cudaGraphExecDestroy(graph_);
    for (const auto& slot : slots_) (void)cudaFreeHost(slot.host);
  }
  network(const network&) = delete;  // owns a graph
  network& operator=(const network&) = delete;

  /// One step, asynchronously. Tokens and targets: (batch, length) each; a target may be `ignored`.
  void step(const std::vector<int>& tokens, const std::vector<int>& targets) {
    load(tokens, targets);
    if (step_ == 1) {  // it chooses algorithms by timing, which no capture can contain
      run();
    } else {
      if (!graph_) capture();
      LAB_CUDA_CHECK(cudaGraphLaunch(graph_, main_.get()));
    }
  }
  /// The mean loss of the last step; waits for that step.
  float mean_loss() {
    std::vector<float> losses(at(rows_));
    main_.synchronize();
    LAB_CUDA_CHECK(cudaMemcpy(losses.data(), losses_->data(), losses_->bytes(), cudaMemcpyDeviceToHost));
    return static_cast<float>(std::accumulate(losses.begin(), losses.end(), 0.0) / std::max(targets_in_, 1));
  }
  /// In the order of gpt2::tensor.
  std::vector<float> weights() {
    main_.synchronize();
    std::vector<float> read(count_);
    LAB_CUDA_CHECK(cudaMemcpy(read.data(), w_->data(), w_->bytes(), cudaMemcpyDeviceToHost));
    return in_their_order(read);
  }
  std::vector<float> gradients() {
    main_.synchronize();
    std::vector<bf16> read(count_);
    LAB_CUDA_CHECK(cudaMemcpy(read.data(), gradient_->data(), gradient_->bytes(), cudaMemcpyDeviceToHost));
    std::vector<float> all(count_);
    std::transform(read.begin(), read.end(), all.begin(), [](bf16 x) { return __bfloat162float(x); });
    return in_their_order(all);
  }
  void write_plans(const std::string& file) const { multiply_.write(file); }
  const lab::stream& stream() const { return main_; }

 private:
  using tensor = gpt2::tensor;
  template <class T>
  using memory = std::unique_ptr<lab::device_buffer<T>>;
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  template <class T>
  static memory<T> device(std::size_t n, const memory<T>&) {
    return std::make_unique<lab::device_buffer<T>>(n);
  }

  // ---- where tensors lie: matrices, which decay, then the final norm, then each layer's 13 vectors of C -----------

  void place_tensors() {
    count_ = 0;
    for (const tensor t : {tensor::token_embedding, tensor::position_embedding, tensor::qkv_weight,
                           tensor::projection_weight, tensor::expand_weight, tensor::contract_weight}) {
      first_[static_cast<int>(t)] = count_;
      step_of_[static_cast<int>(t)] = gpt2::size_of(c_, t);
      count_ += gpt2::size_of(c_, t) * (has_layers(t) ? at(c_.layers) : 1);
    }
    decayed_ = count_;
    for (const tensor t : {tensor::final_norm_weight, tensor::final_norm_bias, tensor::norm1_weight, tensor::norm1_bias,
                           tensor::qkv_bias, tensor::projection_bias, tensor::norm2_weight, tensor::norm2_bias,
                           tensor::expand_bias, tensor::contract_bias}) {
      first_[static_cast<int>(t)] = count_;
      step_of_[static_cast<int>(t)] = 13 * at(c_.channels);
      count_ += gpt2::size_of(c_, t);
    }
    count_ += 13 * at(c_.channels) * at(c_.layers - 1);
  }
  static bool has_layers(tensor t) {
    return t != tensor::token_embedding && t != tensor::position_embedding && t != tensor::final_norm_weight &&
           t != tensor::final_norm_bias;
  }
  std::size_t offset(tensor t, int layer = 0) const {
    return first_[static_cast<int>(t)] + at(layer) * step_of_[static_cast<int>(t)];
  }
  template <class Use>
  void each_tensor(const Use& use) const {
    for (int i = 0; i < static_cast<int>(tensor::count); ++i) {
      const auto t = static_cast<tensor>(i);
      for (int l = 0; l < (has_layers(t) ? c_.layers : 1); ++l)
        use(offset(t, l), gpt2::offset_of(c_, t, l), gpt2::size_of(c_, t));
    }
  }
  std::vector<float> in_their_order(const std::vector<float>& all) const {
    std::vector<float> moved(all.size());
    each_tensor([&](std::size_t ours, std::size_t theirs, std::size_t n) {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(ours), n,
                  moved.begin() + static_cast<std::ptrdiff_t>(theirs));
    });
    return moved;
  }
  const float* master(tensor t, int layer = 0) const { return w_->data() + offset(t, layer); }
  const bf16* weight(tensor t, int layer = 0) const { return weights_->data() + offset(t, layer); }
  bf16* gradient(tensor t, int layer = 0) const { return gradient_->data() + offset(t, layer); }
  float* partial(tensor t, int layer = 0) const { return partial_->data() + offset(t, layer) - decayed_; }
  int vectors() const { return static_cast<int>(count_ - decayed_); }

  // ---- activations ------------------------------------------------------------------------------------------------

  struct activations {  // `in` and `middle` are residuals
    memory<float> in, middle, mean1, rstd1, mean2, rstd2, lse;
    memory<bf16> normal1, qkv, mixed, normal2, expanded, gelu;
  };

  void make_room() {
    const std::size_t n = at(rows_), x = n * at(c_.channels), stats = at(batch_) * at(c_.heads) * at(pitch_of(length_));
    const auto make = [](auto& to, std::size_t size) { to = device(size, to); };
    layers_.resize(at(c_.layers));
    for (activations& a : layers_) {
      for (auto* of : {&a.in, &a.middle}) make(*of, x);
      for (auto* of : {&a.mean1, &a.rstd1, &a.mean2, &a.rstd2}) make(*of, n);
      make(a.lse, stats);
      for (auto* of : {&a.normal1, &a.mixed, &a.normal2}) make(*of, x);
      make(a.qkv, 3 * x);
      for (auto* of : {&a.expanded, &a.gelu}) make(*of, 4 * x);
    }
    for (auto* of : {&d_out_, &d_middle_}) make(*of, x);
    make(d_wide_, 4 * x);
    make(d_qkv_, 3 * x);
    for (auto* of : {&last_, &d_residual_}) make(*of, x);
    for (auto* of : {&last_mean_, &last_rstd_, &losses_}) make(*of, n);
    for (auto* of : {&branch_, &last_normal_, &d_normal_}) make(*of, x);
    make(d_gelu_, 4 * x);
    make(logits_, n * at(c_.padded_vocabulary));
    make(delta_, stats);
    // The padding of a head's last tile is read, and must be finite.
    for (const activations& a : layers_) LAB_CUDA_CHECK(cudaMemset(a.lse->data(), 0, a.lse->bytes()));
    LAB_CUDA_CHECK(cudaMemset(delta_->data(), 0, delta_->bytes()));
    make(partial_, at(sharers) * at(vectors()));
    make(input_, 2 * n + sizeof(step_numbers) / sizeof(int));
    for (auto& slot : slots_) LAB_CUDA_CHECK(cudaMallocHost(&slot.host, input_->bytes()));
  }

  const step_numbers* numbers() const { return reinterpret_cast<const step_numbers*>(input_->data()); }
  const int* tokens() const { return input_->data() + sizeof(step_numbers) / sizeof(int); }
  const int* targets() const { return tokens() + rows_; }

  void load(const std::vector<int>& tokens, const std::vector<int>& targets) {
    gpt2::expect_tokens(c_, tokens, batch_, length_);
    if (targets.size() != tokens.size()) throw gpt2::model_error("there must be as many targets as tokens");
    for (const int t : targets)
      if (t != ignored && (t < 0 || t >= c_.vocabulary)) throw gpt2::model_error("a target is out of range");
    targets_in_ = static_cast<int>(std::count_if(targets.begin(), targets.end(), [](int t) { return t != ignored; }));
    upload& s = slots_[at(step_++ % 2)];
    if (step_ > 2) LAB_CUDA_CHECK(cudaEventSynchronize(s.copied.get()));
    const step_numbers n{1.0f / static_cast<float>(std::max(targets_in_, 1)),
                         static_cast<float>(1 / (1 - std::pow(static_cast<double>(with_.beta1), step_))),
                         static_cast<float>(1 / std::sqrt(1 - std::pow(static_cast<double>(with_.beta2), step_))), 0};
    std::memcpy(s.host, &n, sizeof n);
    std::memcpy(s.host + sizeof n / sizeof(int), tokens.data(), tokens.size() * sizeof(int));
    std::memcpy(s.host + sizeof n / sizeof(int) + tokens.size(), targets.data(), targets.size() * sizeof(int));
    LAB_CUDA_CHECK(cudaMemcpyAsync(input_->data(), s.host, input_->bytes(), cudaMemcpyHostToDevice, main_.get()));
    LAB_CUDA_CHECK(cudaEventRecord(s.copied.get(), main_.get()));
  }

  void capture() {
    cudaGraph_t recorded = nullptr;
    LAB_CUDA_CHECK(cudaStreamBeginCapture(main_.get(), cudaStreamCaptureModeThreadLocal));
    run();
    LAB_CUDA_CHECK(cudaStreamEndCapture(main_.get(), &recorded));
    const cudaError_t status = cudaGraphInstantiate(&graph_, recorded, 0);
    (void)cudaGraphDestroy(recorded);
    LAB_CUDA_CHECK(status);
  }

  // ---- a step -----------------------------------------------------------------------------------------------------

  void run() {
    forward();
    backward();
    adamw(w_->data(), m_->data(), v_->data(), weights_->data(), gradient_->data(), count_, decayed_, with_, numbers(),
          main_.get());
  }

  void forward() {
    const int c = c_.channels;
    const cudaStream_t s = main_.get();
    const auto norm = [&](const memory<float>& sum, const memory<bf16>& out, const memory<float>& mean,
                          const memory<float>& rstd, const memory<float>& x, const bf16* addend, tensor w, tensor b,
                          int l) {
      add_and_norm(sum->data(), out->data(), mean->data(), rstd->data(), x->data(), addend, master(w, l), master(b, l),
                   rows_, c, s);
    };
    embed(layers_[0].in->data(), master(tensor::token_embedding), master(tensor::position_embedding), tokens(), rows_,
          length_, c, s);
    for (int l = 0; l < c_.layers; ++l) {
      const activations& a = layers_[at(l)];
      // The MLP before this layer has its result in `branch_`, which becomes part of the residual here.
      norm(a.in, a.normal1, a.mean1, a.rstd1, l == 0 ? a.in : layers_[at(l - 1)].middle,
           l == 0 ? nullptr : branch_->data(), tensor::norm1_weight, tensor::norm1_bias, l);
      multiply_(product_kind::forward, a.qkv->data(), a.normal1->data(), weight(tensor::qkv_weight, l), rows_, 3 * c, c,
                main_, weight(tensor::qkv_bias, l));
      lab11::attention_of_gpt2(a.mixed->data(), a.lse->data(), pitch_of(length_), a.qkv->data(), batch_, length_,
                               c_.heads, s);
      multiply_(product_kind::forward, branch_->data(), a.mixed->data(), weight(tensor::projection_weight, l), rows_, c,
                c, main_, weight(tensor::projection_bias, l));
      norm(a.middle, a.normal2, a.mean2, a.rstd2, a.in, branch_->data(), tensor::norm2_weight, tensor::norm2_bias, l);
      multiply_(product_kind::forward_gelu, a.gelu->data(), a.normal2->data(), weight(tensor::expand_weight, l), rows_,
                4 * c, c, main_, weight(tensor::expand_bias, l), a.expanded->data());
      multiply_(product_kind::forward, branch_->data(), a.gelu->data(), weight(tensor::contract_weight, l), rows_, c,
                4 * c, main_, weight(tensor::contract_bias, l));
    }
    norm(last_, last_normal_, last_mean_, last_rstd_, layers_.back().middle, branch_->data(), tensor::final_norm_weight,
         tensor::final_norm_bias, 0);
    multiply_(product_kind::no_bias, logits_->data(), last_normal_->data(), weight(tensor::token_embedding), rows_,
              c_.padded_vocabulary, c, main_);
    cross_entropy(losses_->data(), logits_->data(), targets(), numbers(), rows_, c_.vocabulary, c_.padded_vocabulary,
                  s);
  }

  void gradient_of_weights(tensor t, int l, const memory<bf16>& d_out, const memory<bf16>& in, int outputs,
                           int inputs) {
    multiply_(product_kind::to_weights, gradient(t, l), d_out->data(), in->data(), rows_, outputs, inputs, main_);
  }

  void backward() {
    const int c = c_.channels, v = c_.padded_vocabulary, pitch = vectors();
    const cudaStream_t s = main_.get();
    const auto norm = [&](const memory<bf16>& rounded, float* of_d, bool fresh, const memory<float>& x,
                          const memory<float>& mean, const memory<float>& rstd, tensor w, tensor b, int l) {
      norm_backward(d_residual_->data(), rounded->data(), partial(w, l), partial(b, l), of_d, pitch, fresh, x->data(),
                    mean->data(), rstd->data(), master(w, l), d_normal_->data(), rows_, c, s);
    };
    const auto to_inputs = [&](const memory<bf16>& d_in, const memory<bf16>& d_out, tensor t, int l, int outputs,
                               int inputs) {
      multiply_(product_kind::to_inputs, d_in->data(), d_out->data(), weight(t, l), rows_, outputs, inputs, main_);
    };
    const int last = c_.layers - 1;
    gradient_of_weights(tensor::token_embedding, 0, logits_, last_normal_, v, c);
    to_inputs(d_normal_, logits_, tensor::token_embedding, 0, v, c);
    norm(d_out_, partial(tensor::contract_bias, last), true, last_, last_mean_, last_rstd_, tensor::final_norm_weight,
         tensor::final_norm_bias, 0);
    for (int l = last; l >= 0; --l) {
      const activations& a = layers_[at(l)];
      gradient_of_weights(tensor::contract_weight, l, d_out_, a.gelu, c, 4 * c);
      to_inputs(d_gelu_, d_out_, tensor::contract_weight, l, c, 4 * c);
      gelu_backward(d_wide_->data(), partial(tensor::expand_bias, l), pitch, a.expanded->data(), d_gelu_->data(), rows_,
                    4 * c, s);
      gradient_of_weights(tensor::expand_weight, l, d_wide_, a.normal2, 4 * c, c);
      to_inputs(d_normal_, d_wide_, tensor::expand_weight, l, 4 * c, c);
      norm(d_middle_, partial(tensor::projection_bias, l), false, a.middle, a.mean2, a.rstd2, tensor::norm2_weight,
           tensor::norm2_bias, l);
      gradient_of_weights(tensor::projection_weight, l, d_middle_, a.mixed, c, c);
      to_inputs(d_normal_, d_middle_, tensor::projection_weight, l, c, c);
      attention_backward(d_qkv_->data(), delta_->data(), a.qkv->data(), a.mixed->data(), a.lse->data(),
                         d_normal_->data(), batch_, length_, c_.heads, s);
      gradient_of_weights(tensor::qkv_weight, l, d_qkv_, a.normal1, 3 * c, c);
      column_sums(partial(tensor::qkv_bias, l), pitch, d_qkv_->data(), rows_, 3 * c, s);
      to_inputs(d_normal_, d_qkv_, tensor::qkv_weight, l, 3 * c, c);
      norm(d_out_, l == 0 ? nullptr : partial(tensor::contract_bias, l - 1), false, a.in, a.mean1, a.rstd1,
           tensor::norm1_weight, tensor::norm1_bias, l);
    }
    embed_backward(gradient(tensor::token_embedding), gradient(tensor::position_embedding), d_residual_->data(),
                   tokens(), rows_, length_, c, s);
    sum_partial(gradient_->data() + decayed_, partial_->data(), pitch, s);
  }

  gpt2::config c_;
  int batch_, length_, rows_;
  adamw_settings with_;
  std::size_t first_[static_cast<int>(tensor::count)] = {}, step_of_[static_cast<int>(tensor::count)] = {}, count_ = 0,
              decayed_ = 0;
  int step_ = 0, targets_in_ = 0;
  lab::stream main_{cudaStreamNonBlocking};
  products multiply_;
  memory<float> w_, m_, v_, partial_, last_, last_mean_, last_rstd_, d_residual_, losses_, delta_;
  memory<bf16> weights_, gradient_, branch_, last_normal_, d_normal_, d_gelu_, d_out_, d_middle_, d_wide_, d_qkv_,
      logits_;
  memory<int> input_;
  std::vector<activations> layers_;
  struct upload {
    int* host = nullptr;
    order_event copied;
  };
  upload slots_[2];
  cudaGraphExec_t graph_ = nullptr;
};

}  // namespace lab14::mixed
