#include "paged_llama.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "lab/buffer.hpp"

namespace lab15 {
namespace {

using floats = std::vector<float>;

std::size_t at(int i) { return static_cast<std::size_t>(i); }
float widened(std::uint16_t bits) { return static_cast<float>(lab::bfloat16{bits}); }
floats widened(const llama::numbers& all) {
  floats result(all.size());
  std::transform(all.begin(), all.end(), result.begin(), [](std::uint16_t x) { return widened(x); });
  return result;
}

floats product(const floats& w, const floats& x, std::size_t batch) {
  const std::size_t columns = x.size() / batch, rows = w.size() / columns;
  floats y(batch * rows);
  batched_matvec(y.data(), w.data(), x.data(), batch, rows, columns);
  return y;
}
floats normalized(const floats& x, const floats& weight) {
  floats result(x.size());
  for (std::size_t first = 0; first < x.size(); first += weight.size()) {
    double squares = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) squares += std::pow(static_cast<double>(x[first + i]), 2);
    const auto factor = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(weight.size()) + 1e-5));
    for (std::size_t i = 0; i < weight.size(); ++i) result[first + i] = x[first + i] * factor * weight[i];
  }
  return result;
}
void add(floats& to, const floats& more) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += more[i];
}

}  // namespace

paged_llama::paged_llama(const llama::checkpoint& model, int pages)
    : config_(model.config),
      rotary_(model.rotary(model.config.context)),
      embedding_(widened(model.embedding)),
      norm_(widened(model.norm)) {
  for (const int columns : {config_.width, config_.heads * config_.size, config_.hidden})
    if (columns % 8 != 0)
      throw llama::model_error("batched_matvec takes multiples of 8 columns, and a matrix of this model has " +
                               std::to_string(columns));
  for (const llama::layer& l : model.layers)
    layers_.push_back(
        {widened(l.norm1), widened(l.qkv), widened(l.out), widened(l.norm2), widened(l.gate_up), widened(l.down)});
  k_.resize(at(config_.layers) * at(pages) * page_size());
  v_.resize(k_.size());
}

std::vector<float> paged_llama::pass(std::span<const row> rows) {
  constexpr std::size_t most_together = 16;
  floats logits;
  for (std::size_t first = 0; first < rows.size(); first += most_together) {
    const floats of_some = pass_of_some(rows.subspan(first, std::min(most_together, rows.size() - first)));
    logits.insert(logits.end(), of_some.begin(), of_some.end());
  }
  return logits;
}

void paged_llama::copy_page(page_copy what) {
  for (int layer = 0; layer < config_.layers; ++layer)
    for (auto* cache : {&k_, &v_})
      std::memcpy(cache->data() + page(layer, what.to), cache->data() + page(layer, what.from),
                  page_size() * sizeof(std::uint16_t));
}

std::size_t paged_llama::page_size() const { return at(page_tokens * config_.kv_heads * config_.size); }
std::size_t paged_llama::page(int layer, int number) const {
  return (at(number) * at(config_.layers) + at(layer)) * page_size();
}
std::size_t paged_llama::place(int layer, const row& of, int position, int kv_head) const {
  return page(layer, of.table[at(position / page_tokens)]) +
         at((position % page_tokens * config_.kv_heads + kv_head) * config_.size);
}

std::vector<float> paged_llama::pass_of_some(std::span<const row> rows) {
  const std::size_t batch = rows.size(), hidden = at(config_.hidden), of_heads = at(config_.heads * config_.size);
  floats x;  // (rows, width), the residual stream
  for (const row& r : rows) {
    const auto from = embedding_.begin() + std::ptrdiff_t{r.token} * config_.width;
    x.insert(x.end(), from, from + config_.width);
  }
  for (int i = 0; i < config_.layers; ++i) {
    const weights& l = layers_[at(i)];
    floats qkv = product(l.qkv, normalized(x, l.norm1), batch), attention(batch * of_heads);
    for (std::size_t b = 0; b < batch; ++b) rotate_and_append(i, rows[b], qkv.data() + b * (qkv.size() / batch));
    for (std::size_t b = 0; b < batch; ++b)
      attend(i, rows[b], qkv.data() + b * (qkv.size() / batch), attention.data() + b * of_heads);
    add(x, product(l.out, attention, batch));
    const floats both = product(l.gate_up, normalized(x, l.norm2), batch);
    floats gated(batch * hidden);
    for (std::size_t k = 0; k < gated.size(); ++k) {
      const float* const gate = both.data() + k / hidden * 2 * hidden + k % hidden;
      gated[k] = gate[0] * gate[hidden] / (1.0f + std::exp(-gate[0]));
    }
    add(x, product(l.down, gated, batch));
  }
  return product(embedding_, normalized(x, norm_), batch);
}

void paged_llama::rotate_and_append(int layer, const row& r, float* qkv) {
  const float* const turn = rotary_.data() + at(r.position * config_.size);
  for (int h = 0; h < config_.heads + config_.kv_heads; ++h)
    for (int i = 0; i < config_.size; i += 2) {
      float* const pair = qkv + at(h * config_.size + i);
      const float a = pair[0], b = pair[1];
      pair[0] = a * turn[i] - b * turn[i + 1];
      pair[1] = b * turn[i] + a * turn[i + 1];
    }
  if (r.cached) return;
  const float *const k = qkv + at(config_.heads * config_.size), *const v = k + at(config_.kv_heads * config_.size);
  const std::size_t to = place(layer, r, r.position, 0);
  for (std::size_t i = 0; i < at(config_.kv_heads * config_.size); ++i) {
    k_[to + i] = lab::to_bfloat16(k[i]).bits;
    v_[to + i] = lab::to_bfloat16(v[i]).bits;
  }
}

void paged_llama::attend(int layer, const row& r, const float* q, float* out) const {
  const std::size_t size = at(config_.size);
  floats shares(at(r.position) + 1);
  for (int h = 0; h < config_.heads; ++h, q += size, out += size) {
    const int kv_head = h / (config_.heads / config_.kv_heads);
    for (int t = 0; t <= r.position; ++t) {
      const std::uint16_t* const k = k_.data() + place(layer, r, t, kv_head);
      float score = 0;
      for (std::size_t i = 0; i < size; ++i) score += q[i] * widened(k[i]);
      shares[at(t)] = score / std::sqrt(static_cast<float>(size));
    }
    const float most = *std::max_element(shares.begin(), shares.end());
    float sum = 0;
    for (float& s : shares) sum += s = std::exp(s - most);
    for (int t = 0; t <= r.position; ++t) {
      const std::uint16_t* const v = v_.data() + place(layer, r, t, kv_head);
      for (std::size_t i = 0; i < size; ++i) out[i] += shares[at(t)] / sum * widened(v[i]);
    }
  }
}

}  // namespace lab15
