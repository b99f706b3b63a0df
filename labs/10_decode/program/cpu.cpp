// A token on one core: the student's matvec_host, and plain loops for everything small. Also code that all decoders
// share.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "decode.hpp"
#include "decoders.hpp"
#include "lab/buffer.hpp"
#include "lab/range.hpp"
#include "lab/splitmix.hpp"

namespace llama {

const char* name_of(step which) {
  switch (which) {
    case step::embedding: return "embedding";
    case step::qkv: return "norm + qkv";
    case step::append: return "rotate + append";
    case step::attention: return "attention";
    case step::out: return "out + x";
    case step::gate_up: return "norm + gate, up";
    case step::down: return "down + x";
    default: return "norm + logits";
  }
}

lab::work work_of(step which, const config& of, int position) {
  const double width = of.width, heads = of.heads * of.size, kv = of.kv_heads * of.size;
  const auto matrix = [](double rows, double columns) {
    return lab::work{.flops = 2 * rows * columns, .bytes = 2 * rows * columns};
  };
  switch (which) {
    case step::embedding: return {.flops = 0, .bytes = 2 * width};
    case step::qkv: return matrix(heads + 2 * kv, width);
    case step::append: return {.flops = 3 * (heads + kv), .bytes = 2 * 2 * kv};
    case step::attention: return {.flops = 4 * heads * (position + 1), .bytes = 2 * 2 * kv * (position + 1)};
    case step::out: return matrix(width, heads);
    case step::gate_up: return matrix(2.0 * of.hidden, width);
    case step::down: return matrix(width, of.hidden);
    default: return matrix(of.vocabulary, width);
  }
}

void expect_place(const config& of, int token, int position, int capacity) {
  if (token < 0 || token >= of.vocabulary)
    throw model_error(fmt::format("token {} is not one of the model's {}", token, of.vocabulary));
  if (position < 0 || position >= capacity)
    throw model_error(fmt::format("the cache has room for {} tokens; ask for fewer", capacity));
}

numbers random_cache(const config& of, int capacity) {
  numbers cache(static_cast<std::size_t>(of.layers) * static_cast<std::size_t>(of.kv_heads) *
                static_cast<std::size_t>(capacity) * static_cast<std::size_t>(of.size));
  std::uint64_t state = 10;
  for (std::uint16_t& x : cache)
    x = lab::to_bfloat16(static_cast<float>(lab::splitmix64(state) >> 40) * 0x1p-24f - 0.5f).bits;
  return cache;
}

std::vector<int> decoder::write(int token, int position, int count) {
  std::vector<int> chosen;
  std::uint64_t state = 0;
  for (int i = 0; i < count; ++i) {
    load(token, position + i);
    run();
    chosen.push_back(token = gpt2::choose(logits(), {}, state));
  }
  return chosen;
}

namespace {

float widened(std::uint16_t bits) { return static_cast<float>(lab::bfloat16{bits}); }

class on_cpu final : public decoder {
 public:
  on_cpu(const checkpoint& model, int capacity)
      : model_(model),
        capacity_(capacity),
        rotary_(model.rotary(capacity)),
        k_(random_cache(model.config, capacity)),
        v_(k_) {}

  void load(int token, int position) override {
    expect_place(model_.config, token, position, capacity_);
    token_ = token, position_ = position;
  }

  void run() override {
    const config& c = model_.config;
    const auto width = static_cast<std::size_t>(c.width), of_heads = static_cast<std::size_t>(c.heads * c.size);
    {
      const auto here = range_of(step::embedding);
      x_.resize(width);
      for (std::size_t i = 0; i < width; ++i)
        x_[i] = widened(model_.embedding[static_cast<std::size_t>(token_) * width + i]);
    }
    for (int i = 0; i < c.layers; ++i) {
      const layer& l = model_.layers[static_cast<std::size_t>(i)];
      {
        const auto here = range_of(step::qkv);
        qkv_ = product(l.qkv, normalized(l.norm1));
      }
      {
        const auto here = range_of(step::append);
        append(i);
      }
      {
        const auto here = range_of(step::attention);
        attention_.assign(of_heads, 0.0f);
        for (int h = 0; h < c.heads; ++h) attend(i, h);
      }
      {
        const auto here = range_of(step::out);
        add(product(l.out, attention_));
      }
      {
        const auto here = range_of(step::gate_up);
        hidden_ = product(l.gate_up, normalized(l.norm2));
        const auto half = static_cast<std::size_t>(c.hidden);
        for (std::size_t k = 0; k < half; ++k) hidden_[k] *= hidden_[half + k] / (1.0f + std::exp(-hidden_[k]));
        hidden_.resize(half);
      }
      const auto here = range_of(step::down);
      add(product(l.down, hidden_));
    }
    const auto here = range_of(step::logits);
    logits_ = product(model_.embedding, normalized(model_.norm));
  }

  std::vector<float> logits() override { return logits_; }
  void fill_cache() override {}  // the cache holds numbers from the start

 private:
  lab::range range_of(step which) const { return lab::range(name_of(which), work_of(which, model_.config, position_)); }
  std::vector<float> product(const numbers& w, const std::vector<float>& x) const {
    std::vector<float> y(w.size() / x.size());
    lab10::matvec_host(y.data(), w.data(), x.data(), y.size(), x.size());
    return y;
  }
  std::vector<float> normalized(const numbers& norm) const {
    double squares = 0;
    for (const float x : x_) squares += static_cast<double>(x) * static_cast<double>(x);
    const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(x_.size()) + 1e-5));
    std::vector<float> result(x_.size());
    for (std::size_t i = 0; i < x_.size(); ++i) result[i] = x_[i] * factor * widened(norm[i]);
    return result;
  }
  void add(const std::vector<float>& more) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += more[i];
  }
  std::size_t place(int layer, int kv_head, int position) const {
    const config& c = model_.config;
    return ((static_cast<std::size_t>(layer) * static_cast<std::size_t>(c.kv_heads) +
             static_cast<std::size_t>(kv_head)) *
                static_cast<std::size_t>(capacity_) +
            static_cast<std::size_t>(position)) *
           static_cast<std::size_t>(c.size);
  }

  /// Rotates q in place, and appends k and v to the cache.
  void append(int layer) {
    const config& c = model_.config;
    const auto size = static_cast<std::size_t>(c.size);
    const float* const turn = rotary_.data() + static_cast<std::size_t>(position_) * size;
    for (int h = 0; h < c.heads + c.kv_heads; ++h)
      for (std::size_t i = 0; i < size; i += 2) {
        float* const pair = qkv_.data() + static_cast<std::size_t>(h) * size + i;
        const float a = pair[0], b = pair[1];
        pair[0] = a * turn[i] - b * turn[i + 1];
        pair[1] = b * turn[i] + a * turn[i + 1];
      }
    for (int h = 0; h < c.kv_heads; ++h) {
      const float* const k = qkv_.data() + static_cast<std::size_t>(c.heads + h) * size;
      const float* const v = k + static_cast<std::size_t>(c.kv_heads) * size;
      const std::size_t to = place(layer, h, position_);
      for (std::size_t i = 0; i < size; ++i) {
        k_[to + i] = lab::to_bfloat16(k[i]).bits;
        v_[to + i] = lab::to_bfloat16(v[i]).bits;
      }
    }
  }

  void attend(int layer, int head) {
    const config& c = model_.config;
    const auto size = static_cast<std::size_t>(c.size);
    const std::size_t first = place(layer, head / (c.heads / c.kv_heads), 0);
    const float* const q = qkv_.data() + static_cast<std::size_t>(head) * size;
    float* const out = attention_.data() + static_cast<std::size_t>(head) * size;
    std::vector<float> weights(static_cast<std::size_t>(position_) + 1);
    for (std::size_t t = 0; t < weights.size(); ++t) {
      float score = 0;
      for (std::size_t i = 0; i < size; ++i) score += q[i] * widened(k_[first + t * size + i]);
      weights[t] = score / std::sqrt(static_cast<float>(size));
    }
    const float most = *std::max_element(weights.begin(), weights.end());
    float sum = 0;
    for (float& w : weights) sum += w = std::exp(w - most);
    for (std::size_t t = 0; t < weights.size(); ++t)
      for (std::size_t i = 0; i < size; ++i) out[i] += weights[t] / sum * widened(v_[first + t * size + i]);
  }

  const checkpoint& model_;
  int capacity_, token_ = 0, position_ = 0;
  std::vector<float> rotary_;
  numbers k_, v_;
  std::vector<float> x_, qkv_, attention_, hidden_, logits_;
};

}  // namespace

std::unique_ptr<decoder> make_on_cpu(const checkpoint& model, int capacity) {
  return std::make_unique<on_cpu>(model, capacity);
}

}  // namespace llama
