// Given: GPT-2 in training, see network.hpp. Kernels here are plain: one thread per element, one warp per row.
#include "network.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>

#include "lab/range.hpp"

namespace lab14 {
namespace {

using gpt2::tensor;

void check_cublas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS failed with error " + std::to_string(status) +
                             "; is there enough memory on the device?");
}

constexpr int block_size = 128, warps = block_size / 32;
int blocks_for(std::size_t threads) { return static_cast<int>((threads + block_size - 1) / block_size); }
std::size_t at(int i) { return static_cast<std::size_t>(i); }

__device__ std::size_t thread_index() { return static_cast<std::size_t>(blockIdx.x) * block_size + threadIdx.x; }
/// For kernels with one warp per row.
__device__ int warp_index() { return static_cast<int>(blockIdx.x) * warps + static_cast<int>(threadIdx.x) / 32; }

__device__ float warp_sum(float value) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, step);
  return value;
}
__device__ float warp_max(float value) {
  for (int step = 16; step > 0; step /= 2) value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFu, value, step));
  return value;
}

// ---- embedding -----------------------------------------------------------------------------------------------------

__global__ void embed_kernel(float* x,                // (rows, channels)
                             const float* tokens,     // (vocabulary, channels)
                             const float* positions,  // (context, channels)
                             const int* ids,          // (rows)
                             std::size_t count, int length, int channels) {
  const std::size_t i = thread_index();
  if (i >= count) return;
  const std::size_t row = i / channels, c = i % channels;
  x[i] = tokens[static_cast<std::size_t>(ids[row]) * channels + c] + positions[row % length * channels + c];
}

/// Each block takes one token, and adds up its rows in order.
__global__ void embed_tokens_backward_kernel(float* d_tokens,    // (vocabulary, channels), added to
                                             const float* d_x,   // (rows, channels)
                                             const int* ids,     // (rows)
                                             const int* order,   // (rows), grouped by token
                                             const int* starts,  // (distinct tokens + 1), in `order`
                                             int channels) {
  const int first = starts[blockIdx.x], last = starts[blockIdx.x + 1];
  float* const to = d_tokens + static_cast<std::size_t>(ids[order[first]]) * channels;
  for (int c = static_cast<int>(threadIdx.x); c < channels; c += block_size) {
    float sum = to[c];
    for (int i = first; i < last; ++i) sum += d_x[static_cast<std::size_t>(order[i]) * channels + c];
    to[c] = sum;
  }
}

__global__ void embed_positions_backward_kernel(float* d_positions,  // (context, channels), added to
                                                const float* d_x,    // (batch, length, channels)
                                                int batch, std::size_t count) {
  const std::size_t i = thread_index();  // a position's channel; one sequence has `count` of them
  if (i >= count) return;
  float sum = d_positions[i];
  for (int b = 0; b < batch; ++b) sum += d_x[static_cast<std::size_t>(b) * count + i];
  d_positions[i] = sum;
}

// ---- LayerNorm, bias, GELU -----------------------------------------------------------------------------------------

__global__ void layer_norm_kernel(float* out,                              // (rows, channels)
                                  float* means, float* rstds,              // (rows)
                                  const float* in,                         // (rows, channels)
                                  const float* weight, const float* bias,  // (channels)
                                  int rows, int channels) {
  const int row = warp_index(), lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  const float* const x = in + static_cast<std::size_t>(row) * channels;
  float* const y = out + static_cast<std::size_t>(row) * channels;
  float sum = 0, squares = 0;
  for (int c = lane; c < channels; c += 32) sum += x[c];
  const float mean = warp_sum(sum) / static_cast<float>(channels);
  for (int c = lane; c < channels; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  const float rstd = 1.0f / sqrtf(warp_sum(squares) / static_cast<float>(channels) + 1e-5f);
  for (int c = lane; c < channels; c += 32) y[c] = (x[c] - mean) * rstd * weight[c] + bias[c];
  if (lane == 0) means[row] = mean, rstds[row] = rstd;
}

/// out += bias, and += addend if there is one.
__global__ void bias_kernel(float* out,           // (rows, columns)
                            const float* bias,    // (columns)
                            const float* addend,  // (rows, columns) or null
                            std::size_t count, int columns) {
  const std::size_t i = thread_index();
  if (i < count) out[i] += bias[i % columns] + (addend ? addend[i] : 0.0f);
}

/// Sums of columns. A block takes 32 of them; its warps share the rows.
__global__ void bias_backward_kernel(float* d_bias,       // (columns), added to
                                     const float* d_out,  // (rows, columns)
                                     int rows, int columns) {
  __shared__ float sums[32][32];
  const int lane = static_cast<int>(threadIdx.x), warp = static_cast<int>(threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  float sum = 0;
  if (column < columns)
    for (int row = warp; row < rows; row += static_cast<int>(blockDim.y))
      sum += d_out[static_cast<std::size_t>(row) * columns + column];
  sums[warp][lane] = sum;
  __syncthreads();
  if (warp > 0 || column >= columns) return;
  for (int other = 1; other < static_cast<int>(blockDim.y); ++other) sum += sums[other][lane];
  d_bias[column] += sum;
}

__global__ void gelu_kernel(float* out, const float* in, std::size_t count) {
  const std::size_t i = thread_index();
  if (i >= count) return;
  const float x = in[i];
  out[i] = 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

// ---- attention -----------------------------------------------------------------------------------------------------

/// Each row t of a matrix becomes the softmax of scale * its first t + 1 numbers, followed by zeros.
__global__ void causal_softmax_kernel(float* scores,  // (matrices, tokens, tokens)
                                      int rows, int tokens, float scale) {
  const int row = warp_index(), lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  float* const x = scores + static_cast<std::size_t>(row) * tokens;
  const int seen = row % tokens + 1;
  float largest = -INFINITY, sum = 0;
  for (int s = lane; s < seen; s += 32) largest = fmaxf(largest, x[s]);
  largest = warp_max(largest);
  for (int s = lane; s < seen; s += 32) sum += expf(scale * (x[s] - largest));
  sum = warp_sum(sum);
  for (int s = lane; s < tokens; s += 32) x[s] = s < seen ? expf(scale * (x[s] - largest)) / sum : 0.0f;
}

/// Turns the gradient of the softmax's result into that of its input.
__global__ void causal_softmax_backward_kernel(float* d_scores,       // (matrices, tokens, tokens), in place
                                               const float* weights,  // (matrices, tokens, tokens)
                                               int rows, int tokens, float scale) {
  const int row = warp_index(), lane = static_cast<int>(threadIdx.x) % 32;
  if (row >= rows) return;
  float* const d = d_scores + static_cast<std::size_t>(row) * tokens;
  const float* const p = weights + static_cast<std::size_t>(row) * tokens;
  const int seen = row % tokens + 1;
  float sum = 0;
  for (int s = lane; s < seen; s += 32) sum += d[s] * p[s];
  sum = warp_sum(sum);
  for (int s = lane; s < tokens; s += 32) d[s] = s < seen ? scale * p[s] * (d[s] - sum) : 0.0f;
}

// ---- loss ----------------------------------------------------------------------------------------------------------

/// total += scale * the sum of the losses. One block.
__global__ void add_losses_kernel(float* total, const float* losses, int rows, float scale) {
  __shared__ float sums[warps];
  float sum = 0;
  for (int row = static_cast<int>(threadIdx.x); row < rows; row += block_size) sum += losses[row];
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  for (int warp = 1; warp < warps; ++warp) sum += sums[warp];
  *total += scale * sum;
}

// ---- work, for the profiler ----------------------------------------------------------------------------------------

lab::work operator+(const lab::work& a, const lab::work& b) { return {a.flops + b.flops, a.bytes + b.bytes}; }

/// The work of `products` products of m n k: a backward pass's two have the forward pass's sizes, in another order.
lab::work work_of_product(double m, double n, double k, int products = 1) {
  return {2 * m * n * k * products, 4 * (m * n + m * k + n * k) * products};
}
lab::work work_of_elements(double flops, double floats) { return {flops, 4 * floats}; }

void expect(bool right, const std::string& why) {
  if (!right) throw gpt2::model_error(why);
}

/// Checks the arguments before the buffers are allocated.
gpt2::config checked(const gpt2::checkpoint& start, int batch, int length) {
  const gpt2::config& c = start.config;
  gpt2::expect_sane(c, "the network");
  expect(c.channels % 4 == 0 && c.channels <= 1024,
         "a network has a multiple of 4 channels, at most 1024, not " + std::to_string(c.channels));
  expect(c.padded_vocabulary % 4 == 0,
         "the padded vocabulary is a multiple of 4, not " + std::to_string(c.padded_vocabulary));
  expect(start.weights.size() == gpt2::parameters(c), "the checkpoint has not as many weights as its configuration");
  expect(batch >= 1 && length >= 1 && length <= c.context, "a batch has at least 1 sequence, of 1 to " +
                                                               std::to_string(c.context) + " tokens, not " +
                                                               std::to_string(batch) + " of " + std::to_string(length));
  return c;
}

}  // namespace

// ---- memory --------------------------------------------------------------------------------------------------------

activation::activation(const char* name, std::size_t floats, cudaStream_t stream) : stream_(stream) {
  LAB_CUDA_CHECK(cudaMallocAsync(&data_, floats * sizeof(float), stream));
  if (sim::name_allocation) sim::name_allocation(data_, name);
}
activation::~activation() {
  if (data_) (void)cudaFreeAsync(data_, stream_);
}
activation::activation(activation&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), stream_(other.stream_) {}
activation& activation::operator=(activation&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(stream_, other.stream_);
  return *this;
}

gpt2_network::gpt2_network(const gpt2::checkpoint& start, int batch, int length, const adamw_settings& with,
                           gpt2::precision how)
    : config_(checked(start, batch, length)),
      batch_(batch),
      length_(length),
      rows_(batch * length),
      with_(with),
      compute_(how == gpt2::precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F),
      weights_(start.weights.size()),
      gradients_(start.weights.size()),
      m_(start.weights.size()),
      v_(start.weights.size()),
      inner_(at(config_.layers)),
      residual_(at(config_.layers) + 1),
      d_residual_(at(rows_) * at(config_.channels)),
      d_normal_(d_residual_.size()),
      d_wide_(4 * d_residual_.size()),
      d_gelu_(4 * d_residual_.size()),
      scores_(at(rows_) * at(config_.heads) * at(length)),
      d_scores_(scores_.size()),
      normal_(d_residual_.size()),
      mean_(at(rows_)),
      rstd_(at(rows_)),
      logits_(at(rows_) * at(config_.padded_vocabulary)),
      losses_(at(rows_)),
      loss_(1),
      partial_(std::max<std::size_t>(layer_norm_partial(rows_, config_.channels), 1)) {
  expect(how != gpt2::precision::bf16, "training is in fp32 or tf32");
  const std::pair<lab::device_buffer<float>*, const char*> names[] = {{&weights_, "weights"},
                                                                      {&gradients_, "gradients"},
                                                                      {&m_, "AdamW: m"},
                                                                      {&v_, "AdamW: v"},
                                                                      {&d_residual_, "d residual"},
                                                                      {&d_normal_, "d norm"},
                                                                      {&d_wide_, "d qkv, d GELU's input"},
                                                                      {&d_gelu_, "d GELU's output"},
                                                                      {&scores_, "attention weights"},
                                                                      {&d_scores_, "d attention weights"},
                                                                      {&normal_, "last norm"},
                                                                      {&mean_, "last mean"},
                                                                      {&rstd_, "last rstd"},
                                                                      {&logits_, "logits"},
                                                                      {&losses_, "losses"},
                                                                      {&loss_, "mean loss"},
                                                                      {&partial_, "partial"}};
  for (const auto& [buffer, name] : names) buffer->set_name(name);
  LAB_CUDA_CHECK(cudaMemcpy(weights_.data(), start.weights.data(), weights_.bytes(), cudaMemcpyHostToDevice));
  LAB_CUDA_CHECK(cudaMemset(m_.data(), 0, m_.bytes()));
  LAB_CUDA_CHECK(cudaMemset(v_.data(), 0, v_.bytes()));
  // Makes the driver keep what a step frees, for the next one.
  cudaMemPool_t pool = nullptr;
  std::uint64_t threshold = UINT64_MAX;
  LAB_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  LAB_CUDA_CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
  check_cublas(cublasCreate(&blas_));
  check_cublas(cublasSetStream(blas_, stream_.get()));
}

gpt2_network::~gpt2_network() { (void)cublasDestroy(blas_); }

std::int64_t gpt2_network::residual_bytes() const { return std::int64_t{sizeof(float)} * rows_ * config_.channels; }
std::int64_t gpt2_network::inner_bytes() const {
  return 15 * residual_bytes() + 4 * std::int64_t{sizeof(float)} * rows_;  // see make_inner
}

const float* gpt2_network::weight(tensor which, int layer) const {
  return weights_.data() + gpt2::offset_of(config_, which, layer);
}
float* gpt2_network::gradient(tensor which, int layer) const {
  return gradients_.data() + gpt2::offset_of(config_, which, layer);
}
std::vector<float> gpt2_network::read(const lab::device_buffer<float>& from) {
  stream_.synchronize();
  std::vector<float> to(from.size());
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost));
  return to;
}
float gpt2_network::mean_loss() { return read(loss_)[0]; }

void gpt2_network::begin_step(const std::vector<part>& all) {
  expect(!all.empty(), "a step has at least one micro-batch");
  stream_.synchronize();  // the last step may still be reading
  tokens_.clear(), targets_.clear(), order_.clear(), targets_in_.clear(), tokens_in_.clear();
  const auto upload = [](auto& to, const std::vector<int>& from, const char* name) {
    to.emplace_back(from.size()).set_name(name);
    LAB_CUDA_CHECK(cudaMemcpy(to.back().data(), from.data(), to.back().bytes(), cudaMemcpyHostToDevice));
  };
  for (const part& m : all) {
    gpt2::expect_tokens(config_, m.tokens, batch_, length_);
    expect(m.targets.size() == m.tokens.size(), "there are not as many targets as tokens");
    for (const int target : m.targets)
      expect(target == ignored || (target >= 0 && target < config_.vocabulary),
             "target " + std::to_string(target) + " is not in the vocabulary");
    std::vector<int> order(m.tokens.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return m.tokens[at(a)] < m.tokens[at(b)]; });
    std::vector<int> starts;
    for (std::size_t i = 0; i < order.size(); ++i)
      if (i == 0 || m.tokens[at(order[i])] != m.tokens[at(order[i - 1])]) starts.push_back(static_cast<int>(i));
    tokens_in_.push_back(static_cast<int>(starts.size()));
    starts.push_back(rows_);
    order.insert(order.end(), starts.begin(), starts.end());
    upload(tokens_, m.tokens, "tokens");
    upload(targets_, m.targets, "targets");
    upload(order_, order, "rows by their tokens");
    targets_in_.push_back(static_cast<int>(
        m.targets.size() - at(static_cast<int>(std::count(m.targets.begin(), m.targets.end(), ignored)))));
  }
  expect(std::accumulate(targets_in_.begin(), targets_in_.end(), 0) > 0, "all targets of a step are ignored");
  repeat_step();
}

void gpt2_network::repeat_step() {
  calls_ = std::make_unique<recorder>(layers(), micro_batches(), inner_bytes(), residual_bytes());
}

// ---- products ------------------------------------------------------------------------------------------------------

/// Row-major out (m, n) = a (m, k) b (k, n), or += that; cuBLAS is column-major, so it computes out^T = b^T a^T.
/// `pitch` is the distance between rows in memory.
void gpt2_network::multiply(float* out, int pitch, const matrix& a, const matrix& b, int m, int n, int k, bool add,
                            int matrices, long long out_step, long long a_step, long long b_step) {
  const float one = 1, beta = add ? 1 : 0;
  const auto how = [](const matrix& x) { return x.how == op::plain ? CUBLAS_OP_N : CUBLAS_OP_T; };
  check_cublas(cublasGemmStridedBatchedEx(blas_, how(b), how(a), n, m, k, &one, b.data, CUDA_R_32F, b.pitch, b_step,
                                          a.data, CUDA_R_32F, a.pitch, a_step, &beta, out, CUDA_R_32F, pitch, out_step,
                                          matrices, compute_, CUBLAS_GEMM_DEFAULT));
}

/// out (rows, outputs) = in (rows, inputs) W^T + bias + addend, with W (outputs, inputs).
void gpt2_network::linear(float* out, const float* in, tensor weights, tensor bias, int layer, int outputs, int inputs,
                          const float* addend) {
  multiply(out, outputs, {in, op::plain, inputs}, {weight(weights, layer), op::transposed, inputs}, rows_, outputs,
           inputs, false);
  const std::size_t count = at(rows_) * at(outputs);
  bias_kernel<<<blocks_for(count), block_size, 0, stream_.get()>>>(out, weight(bias, layer), addend, count, outputs);
  LAB_CUDA_CHECK(cudaGetLastError());
}

/// d_in (rows, inputs) = d_out (rows, outputs) W; d_W += d_out^T in; d_bias += the sum over rows of d_out.
void gpt2_network::linear_backward(float* d_in, const float* in, const float* d_out, tensor weights, tensor bias,
                                   int layer, int outputs, int inputs) {
  multiply(gradient(weights, layer), inputs, {d_out, op::transposed, outputs}, {in, op::plain, inputs}, outputs, inputs,
           rows_, true);
  const int sharing = std::min(32, (rows_ + 7) / 8);
  bias_backward_kernel<<<(outputs + 31) / 32, dim3(32, sharing), 0, stream_.get()>>>(gradient(bias, layer), d_out,
                                                                                     rows_, outputs);
  LAB_CUDA_CHECK(cudaGetLastError());
  multiply(d_in, inputs, {d_out, op::plain, outputs}, {weight(weights, layer), op::plain, inputs}, rows_, inputs,
           outputs, false);
}

void gpt2_network::normalize(float* out, float* mean, float* rstd, const float* x, tensor weights, tensor bias,
                             int layer) {
  layer_norm_kernel<<<(rows_ + warps - 1) / warps, block_size, 0, stream_.get()>>>(
      out, mean, rstd, x, weight(weights, layer), weight(bias, layer), rows_, config_.channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gpt2_network::normalize_backward(const float* x, const float* mean, const float* rstd, const float* d_out,
                                      tensor weights, tensor bias, int layer) {
  layer_norm_backward(d_residual_.data(), gradient(weights, layer), gradient(bias, layer), partial_.data(), x,
                      weight(weights, layer), mean, rstd, d_out, rows_, config_.channels, stream_.get());
}

// ---- attention: one product for all heads of a sequence ------------------------------------------------------------

/// Computes `scores_`, (batch, heads, tokens, tokens), from queries and keys.
void gpt2_network::attention_weights(const float* qkv) {
  const int c = config_.channels, size = config_.head_size(), t = length_, heads = config_.heads;
  const long long square = static_cast<long long>(t) * t;
  for (int b = 0; b < batch_; ++b) {
    const float* const q = qkv + at(b * t) * 3 * at(c);
    multiply(scores_.data() + b * heads * square, t, {q, op::plain, 3 * c}, {q + c, op::transposed, 3 * c}, t, t, size,
             false, heads, square, size, size);
  }
  const int rows = rows_ * heads;
  causal_softmax_kernel<<<(rows + warps - 1) / warps, block_size, 0, stream_.get()>>>(
      scores_.data(), rows, t, 1.0f / std::sqrt(static_cast<float>(size)));
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gpt2_network::attend(float* mixed, const float* qkv) {
  const int c = config_.channels, size = config_.head_size(), t = length_, heads = config_.heads;
  const long long square = static_cast<long long>(t) * t;
  attention_weights(qkv);
  for (int b = 0; b < batch_; ++b)
    multiply(mixed + at(b * t) * at(c), c, {scores_.data() + b * heads * square, op::plain, t},
             {qkv + at(b * t) * 3 * at(c) + 2 * c, op::plain, 3 * c}, t, size, t, false, heads, size, square, size);
}

void gpt2_network::attend_backward(float* d_qkv, const float* qkv, const float* d_mixed) {
  const int c = config_.channels, size = config_.head_size(), t = length_, heads = config_.heads;
  const long long square = static_cast<long long>(t) * t;
  attention_weights(qkv);  // again: they are larger than everything that a layer keeps
  const auto of_sequences = [&](const auto& multiply_one) {
    for (int b = 0; b < batch_; ++b)
      multiply_one(at(b * t) * 3 * at(c), d_mixed + at(b * t) * at(c), scores_.data() + b * heads * square,
                   d_scores_.data() + b * heads * square);
  };
  of_sequences([&](std::size_t first, const float* d_out, const float* weights, float* d_weights) {
    multiply(d_qkv + first + 2 * c, 3 * c, {weights, op::transposed, t}, {d_out, op::plain, c}, t, size, t, false,
             heads, size, square, size);
    multiply(d_weights, t, {d_out, op::plain, c}, {qkv + first + 2 * c, op::transposed, 3 * c}, t, t, size, false,
             heads, square, size, size);
  });
  const int rows = rows_ * heads;
  causal_softmax_backward_kernel<<<(rows + warps - 1) / warps, block_size, 0, stream_.get()>>>(
      d_scores_.data(), scores_.data(), rows, t, 1.0f / std::sqrt(static_cast<float>(size)));
  LAB_CUDA_CHECK(cudaGetLastError());
  of_sequences([&](std::size_t first, const float*, const float*, const float* d_weights) {
    multiply(d_qkv + first, 3 * c, {d_weights, op::plain, t}, {qkv + first + c, op::plain, 3 * c}, t, size, t, false,
             heads, size, square, size);
    multiply(d_qkv + first + c, 3 * c, {d_weights, op::transposed, t}, {qkv + first, op::plain, 3 * c}, t, size, t,
             false, heads, size, square, size);
  });
}

// ---- the calls of a step -------------------------------------------------------------------------------------------

void gpt2_network::zero_gradients() {
  calls_->enter(network_call::zero_gradients);
  const lab::range phase("zero gradients", work_of_elements(0, static_cast<double>(gradients_.size())));
  LAB_CUDA_CHECK(cudaMemsetAsync(gradients_.data(), 0, gradients_.bytes(), stream_.get()));
  LAB_CUDA_CHECK(cudaMemsetAsync(loss_.data(), 0, loss_.bytes(), stream_.get()));
}

void gpt2_network::embed(int micro_batch) {
  calls_->enter(network_call::embed, micro_batch);
  const lab::range phase("forward"), block("embedding", work_of_elements(0, 3.0 * rows_ * config_.channels));
  const std::size_t count = d_residual_.size();
  residual_[0] = activation("residuals", count, stream_.get());
  embed_kernel<<<blocks_for(count), block_size, 0, stream_.get()>>>(
      residual_[0].data(), weight(tensor::token_embedding), weight(tensor::position_embedding),
      tokens_[at(micro_batch)].data(), count, length_, config_.channels);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gpt2_network::forward(int i) {
  calls_->enter(network_call::forward, i);
  const lab::range phase("forward");
  make_inner(i, true);
}

void gpt2_network::recompute(int i) {
  calls_->enter(network_call::recompute, i);
  const lab::range phase("recompute");
  make_inner(i, false);
}

void gpt2_network::make_inner(int i, bool also_residual) {
  const int c = config_.channels;
  const cudaStream_t stream = stream_.get();
  const std::size_t rows = at(rows_), n = rows * at(c);
  const double r = rows_, x = r * c, pairs = r * length_ * config_.heads;
  const float* const in = residual_[at(i)].data();
  inner& a = inner_[at(i)];
  const auto norm = [&](const char* name, activation& out, activation& mean, activation& rstd, const float* from,
                        tensor weights, tensor bias) {
    const lab::range block(name, work_of_elements(8 * x, 2 * x));
    out = activation("norms", n, stream);
    mean = activation("means", rows, stream);
    rstd = activation("rstds", rows, stream);
    normalize(out.data(), mean.data(), rstd.data(), from, weights, bias, i);
  };
  norm("LayerNorm 1", a.normal1, a.mean1, a.rstd1, in, tensor::norm1_weight, tensor::norm1_bias);
  {
    const lab::range block("attention", work_of_product(r, 4.0 * c, c) + lab::work{4 * x * length_, 4 * 2 * pairs});
    a.qkv = activation("queries, keys, values", 3 * n, stream);
    a.mixed = activation("attention", n, stream);
    a.middle = activation("residuals in layers", n, stream);
    linear(a.qkv.data(), a.normal1.data(), tensor::qkv_weight, tensor::qkv_bias, i, 3 * c, c, nullptr);
    attend(a.mixed.data(), a.qkv.data());
    linear(a.middle.data(), a.mixed.data(), tensor::projection_weight, tensor::projection_bias, i, c, c, in);
  }
  norm("LayerNorm 2", a.normal2, a.mean2, a.rstd2, a.middle.data(), tensor::norm2_weight, tensor::norm2_bias);
  const lab::range block("MLP", work_of_product(r, 4.0 * c, c, also_residual ? 2 : 1));
  a.expanded = activation("GELU's inputs", 4 * n, stream);
  a.gelu = activation("GELU's outputs", 4 * n, stream);
  linear(a.expanded.data(), a.normal2.data(), tensor::expand_weight, tensor::expand_bias, i, 4 * c, c, nullptr);
  gelu_kernel<<<blocks_for(4 * n), block_size, 0, stream>>>(a.gelu.data(), a.expanded.data(), 4 * n);
  LAB_CUDA_CHECK(cudaGetLastError());
  if (!also_residual) return;
  residual_[at(i) + 1] = activation("residuals", n, stream);
  linear(residual_[at(i) + 1].data(), a.gelu.data(), tensor::contract_weight, tensor::contract_bias, i, c, 4 * c,
         a.middle.data());
}

void gpt2_network::drop_inner(int i) {
  calls_->enter(network_call::drop_inner, i);
  inner_[at(i)] = {};
}

void gpt2_network::drop_residual(int i) {
  calls_->enter(network_call::drop_residual, i);
  residual_[at(i)] = {};
}

void gpt2_network::loss(int micro_batch, float scale) {
  calls_->enter(network_call::loss, micro_batch, scale);
  const int c = config_.channels, v = config_.padded_vocabulary;
  const double x = static_cast<double>(rows_) * c;
  const float* const in = residual_.back().data();
  const float* const embedding = weight(tensor::token_embedding);
  {
    const lab::range phase("forward");
    {
      const lab::range block("final LayerNorm", work_of_elements(8 * x, 2 * x));
      normalize(normal_.data(), mean_.data(), rstd_.data(), in, tensor::final_norm_weight, tensor::final_norm_bias, 0);
    }
    const lab::range block("logits", work_of_product(rows_, v, c));
    multiply(logits_.data(), v, {normal_.data(), op::plain, c}, {embedding, op::transposed, c}, rows_, v, c, false);
  }
  {
    const lab::range phase("loss", work_of_elements(5.0 * rows_ * v, 2.0 * rows_ * v));
    cross_entropy(losses_.data(), logits_.data(), targets_[at(micro_batch)].data(), scale, rows_, config_.vocabulary, v,
                  stream_.get());
    add_losses_kernel<<<1, block_size, 0, stream_.get()>>>(loss_.data(), losses_.data(), rows_, scale);
    LAB_CUDA_CHECK(cudaGetLastError());
  }
  const lab::range phase("backward");
  {
    const lab::range block("logits", work_of_product(rows_, v, c, 2));
    multiply(gradient(tensor::token_embedding), c, {logits_.data(), op::transposed, v}, {normal_.data(), op::plain, c},
             v, c, rows_, true);
    multiply(d_normal_.data(), c, {logits_.data(), op::plain, v}, {embedding, op::plain, c}, rows_, c, v, false);
  }
  const lab::range block("final LayerNorm", work_of_elements(20 * x, 4 * x));
  LAB_CUDA_CHECK(cudaMemsetAsync(d_residual_.data(), 0, d_residual_.bytes(), stream_.get()));
  normalize_backward(in, mean_.data(), rstd_.data(), d_normal_.data(), tensor::final_norm_weight,
                     tensor::final_norm_bias, 0);
}

void gpt2_network::backward(int i) {
  calls_->enter(network_call::backward, i);
  const int c = config_.channels;
  const double r = rows_, x = r * c, pairs = r * length_ * config_.heads;
  const inner& a = inner_[at(i)];
  float* const d = d_residual_.data();
  const lab::range phase("backward");
  {
    const lab::range block("MLP", work_of_product(r, 4.0 * c, c, 4) + work_of_elements(0, 12 * x));
    linear_backward(d_gelu_.data(), a.gelu.data(), d, tensor::contract_weight, tensor::contract_bias, i, c, 4 * c);
    gelu_backward(d_wide_.data(), a.expanded.data(), d_gelu_.data(), static_cast<int>(d_wide_.size()), stream_.get());
    linear_backward(d_normal_.data(), a.normal2.data(), d_wide_.data(), tensor::expand_weight, tensor::expand_bias, i,
                    4 * c, c);
  }
  const auto norm = [&](const char* name, const float* from, const activation& mean, const activation& rstd,
                        tensor weights, tensor bias) {
    const lab::range block(name, work_of_elements(20 * x, 4 * x));
    normalize_backward(from, mean.data(), rstd.data(), d_normal_.data(), weights, bias, i);
  };
  norm("LayerNorm 2", a.middle.data(), a.mean2, a.rstd2, tensor::norm2_weight, tensor::norm2_bias);
  {
    const lab::range block("attention", work_of_product(r, 4.0 * c, c, 2) + lab::work{10 * x * length_, 4 * 6 * pairs});
    float* const d_mixed = d_normal_.data();
    linear_backward(d_mixed, a.mixed.data(), d, tensor::projection_weight, tensor::projection_bias, i, c, c);
    attend_backward(d_wide_.data(), a.qkv.data(), d_mixed);
    linear_backward(d_normal_.data(), a.normal1.data(), d_wide_.data(), tensor::qkv_weight, tensor::qkv_bias, i, 3 * c,
                    c);
  }
  norm("LayerNorm 1", residual_[at(i)].data(), a.mean1, a.rstd1, tensor::norm1_weight, tensor::norm1_bias);
}

void gpt2_network::backward_embedding(int micro_batch) {
  calls_->enter(network_call::backward_embedding, micro_batch);
  const lab::range phase("backward"), block("embedding", work_of_elements(0, 6.0 * rows_ * config_.channels));
  const std::size_t m = at(micro_batch), count = at(length_) * at(config_.channels);
  embed_tokens_backward_kernel<<<tokens_in_[m], block_size, 0, stream_.get()>>>(
      gradient(tensor::token_embedding), d_residual_.data(), tokens_[m].data(), order_[m].data(),
      order_[m].data() + rows_, config_.channels);
  LAB_CUDA_CHECK(cudaGetLastError());
  embed_positions_backward_kernel<<<blocks_for(count), block_size, 0, stream_.get()>>>(
      gradient(tensor::position_embedding), d_residual_.data(), batch_, count);
  LAB_CUDA_CHECK(cudaGetLastError());
}

void gpt2_network::update() {
  calls_->enter(network_call::update);
  const double n = static_cast<double>(weights_.size());
  const lab::range phase("update", work_of_elements(12 * n, 7 * n));
  ++step_;
  const auto decays = [](int which) {
    switch (static_cast<tensor>(which)) {
      case tensor::token_embedding:
      case tensor::position_embedding:
      case tensor::qkv_weight:
      case tensor::projection_weight:
      case tensor::expand_weight:
      case tensor::contract_weight: return true;
      default: return false;
    }
  };
  // One call for adjacent tensors of the same kind.
  for (int first = 0, last = 0; first < static_cast<int>(tensor::count); first = last) {
    while (last < static_cast<int>(tensor::count) && decays(last) == decays(first)) ++last;
    const std::size_t begin = gpt2::offset_of(config_, static_cast<tensor>(first)),
                      end = gpt2::offset_of(config_, static_cast<tensor>(last));
    adamw_settings with = with_;
    if (!decays(first)) with.weight_decay = 0;
    adamw(weights_.data() + begin, m_.data() + begin, v_.data() + begin, gradients_.data() + begin,
          static_cast<int>(end - begin), with, step_, stream_.get());
  }
}

}  // namespace lab14
