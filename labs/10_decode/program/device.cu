// A token on a device, by the functions of lab 10's decode.cu: part by part, or whole.
#include <cstring>

#include "decode.hpp"
#include "decoders.hpp"
#include "lab/device.hpp"
#include "lab/range.hpp"

namespace llama {
namespace {

using lab10::bf16;

__global__ void embed_kernel(float* x, const bf16* embedding, const int* token, int width) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < width) x[i] = __bfloat162float(embedding[static_cast<std::size_t>(*token) * width + i]);
}

lab::device_buffer<bf16> on_device(const numbers& from, const char* name) {
  static_assert(sizeof(bf16) == sizeof(numbers::value_type));
  lab::device_buffer<bf16> to(from.size());
  to.set_name(name);
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), from.data(), to.bytes(), cudaMemcpyHostToDevice));
  return to;
}

class on_device_pass final : public decoder {
 public:
  on_device_pass(const checkpoint& model, int capacity, bool by_parts)
      : config_(model.config),
        capacity_(capacity),
        by_parts_(by_parts),
        embedding_(on_device(model.embedding, "embedding")),
        norm_(on_device(model.norm, "last norm")),
        rotary_(static_cast<std::size_t>(capacity) * static_cast<std::size_t>(model.config.size)),
        k_(cache_size()),
        v_(cache_size()),
        place_(2),
        chosen_(static_cast<std::size_t>(capacity)),
        logits_(static_cast<std::size_t>(model.config.vocabulary)),
        scratch_(lab10::scratch_floats(shape())) {
    for (const layer& l : model.layers) {
      const auto add = [&](const numbers& from) -> const bf16* {
        weights_.push_back(on_device(from, "weights of layers"));
        return weights_.back().data();
      };
      layers_.push_back({add(l.norm1), add(l.qkv), add(l.out), add(l.norm2), add(l.gate_up), add(l.down)});
    }
    rotary_.set_name("rotary angles");
    k_.set_name("KV cache: keys");
    v_.set_name("KV cache: values");
    place_.set_name("token, position");
    chosen_.set_name("tokens chosen");
    logits_.set_name("logits");
    scratch_.set_name("scratch");
    const std::vector<float> rotary = model.rotary(capacity);
    LAB_CUDA_CHECK(cudaMemcpy(rotary_.data(), rotary.data(), rotary_.bytes(), cudaMemcpyHostToDevice));
  }

  void load(int token, int position) override {
    expect_place(config_, token, position, capacity_);
    position_ = position;
    const int place[] = {token, position};
    LAB_CUDA_CHECK(cudaMemcpyAsync(place_.data(), place, sizeof place, cudaMemcpyHostToDevice, stream_.get()));
    synchronize();  // `place` must outlive the copy
  }

  void run() override {
    if (by_parts_)
      run_parts();
    else
      lab10::decode_token(logits_.data(), model(), state(), stream_.get());
  }

  std::vector<float> logits() override {
    synchronize();
    std::vector<float> read(logits_.size());
    LAB_CUDA_CHECK(cudaMemcpy(read.data(), logits_.data(), logits_.bytes(), cudaMemcpyDeviceToHost));
    std::uint32_t bits;
    std::memcpy(&bits, read.data(), sizeof bits);
    if (bits == 0xFFFFFFFF)  // the buffer's initial contents
      throw model_error(by_parts_ ? "norm_matvec wrote no logits; finish lab 10's decode.cu, or take --pass cpu"
                                  : "decode_token wrote no logits; finish lab 10's decode.cu, or take --pass cpu");
    return read;
  }

  std::vector<int> write(int token, int position, int count) override {
    if (by_parts_ || count == 0) return decoder::write(token, position, count);
    expect_place(config_, token, position + count - 1, capacity_);
    load(token, position);
    lab10::generate(chosen_.data(), logits_.data(), model(), state(), count, stream_.get());
    (void)logits();  // throws if there are none
    std::vector<int> chosen(static_cast<std::size_t>(count));
    LAB_CUDA_CHECK(
        cudaMemcpy(chosen.data(), chosen_.data() + position, chosen.size() * sizeof(int), cudaMemcpyDeviceToHost));
    return chosen;
  }

  void fill_cache() override {
    const numbers random = random_cache(config_, capacity_);
    for (auto* const cache : {&k_, &v_})
      LAB_CUDA_CHECK(cudaMemcpy(cache->data(), random.data(), cache->bytes(), cudaMemcpyHostToDevice));
  }

  void synchronize() override { stream_.synchronize(); }

 private:
  lab10::shape shape() const {
    return {config_.layers, config_.width,  config_.heads,      config_.kv_heads,
            config_.size,   config_.hidden, config_.vocabulary, capacity_};
  }
  lab10::model model() const { return {shape(), layers_.data(), embedding_.data(), norm_.data(), rotary_.data()}; }
  lab10::state state() const { return {k_.data(), v_.data(), place_.data(), place_.data() + 1, scratch_.data()}; }
  std::size_t cache_size() const { return static_cast<std::size_t>(config_.layers) * cache_of_layer(); }
  std::size_t cache_of_layer() const {
    return static_cast<std::size_t>(config_.kv_heads) * static_cast<std::size_t>(capacity_) *
           static_cast<std::size_t>(config_.size);
  }
  lab::range range_of(step which) const { return lab::range(name_of(which), work_of(which, config_, position_)); }

  void run_parts() {
    const auto& [layers, width, heads, kv_heads, size, hidden, vocabulary, context] = config_;
    const int of_heads = heads * size, of_qkv = (heads + 2 * kv_heads) * size;
    float* const x = scratch_.data();
    float* const gated = x + width;
    float* const qkv = gated + hidden;
    float* const q = qkv + of_qkv;
    float* const attention = q + of_heads;
    float* const workspace = attention + of_heads;
    const int* const position = place_.data() + 1;
    const cudaStream_t stream = stream_.get();
    {
      const auto here = range_of(step::embedding);
      embed_kernel<<<(width + 127) / 128, 128, 0, stream>>>(x, embedding_.data(), place_.data(), width);
      LAB_CUDA_CHECK(cudaGetLastError());
    }
    for (int i = 0; i < layers; ++i) {
      const lab10::layer& l = layers_[static_cast<std::size_t>(i)];
      bf16* const k = k_.data() + static_cast<std::size_t>(i) * cache_of_layer();
      bf16* const v = v_.data() + static_cast<std::size_t>(i) * cache_of_layer();
      {
        const auto here = range_of(step::qkv);
        lab10::norm_matvec(qkv, l.qkv, x, l.norm1, of_qkv, width, stream);
      }
      {
        const auto here = range_of(step::append);
        lab10::rotate_append(q, k, v, qkv, rotary_.data(), position, heads, kv_heads, size, capacity_, stream);
      }
      {
        const auto here = range_of(step::attention);
        lab10::attend(attention, workspace, q, k, v, position, heads, kv_heads, size, capacity_, stream);
      }
      {
        const auto here = range_of(step::out);
        lab10::matvec(x, l.out, attention, x, width, of_heads, stream);
      }
      {
        const auto here = range_of(step::gate_up);
        lab10::norm_gate(gated, l.gate_up, x, l.norm2, hidden, width, stream);
      }
      const auto here = range_of(step::down);
      lab10::matvec(x, l.down, gated, x, width, hidden, stream);
    }
    const auto here = range_of(step::logits);
    lab10::norm_matvec(logits_.data(), embedding_.data(), x, norm_.data(), vocabulary, width, stream);
  }

  config config_;
  int capacity_, position_ = 0;
  bool by_parts_;
  lab::stream stream_;
  lab::device_buffer<bf16> embedding_, norm_;
  std::vector<lab::device_buffer<bf16>> weights_;
  std::vector<lab10::layer> layers_;
  lab::device_buffer<float> rotary_;
  lab::device_buffer<bf16> k_, v_;
  lab::device_buffer<int> place_, chosen_;
  lab::device_buffer<float> logits_, scratch_;
};

}  // namespace

std::unique_ptr<decoder> make_on_device(const checkpoint& model, int capacity, bool by_parts) {
  return std::make_unique<on_device_pass>(model, capacity, by_parts);
}

}  // namespace llama
