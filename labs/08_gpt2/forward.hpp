// Lab 08, GPT-2's forward pass: what your files must define.
//
// B sequences of T tokens, C channels, NH heads, L layers, a vocabulary of V (padded). Matrices are row-major. "FLOPs"
// are multiplications, additions and functions of single numbers (exp, tanh, ...), one each.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lab08 {

// ---- ranges.cpp: where the ranges go -------------------------------------------------------------------------------

/// The operations of a forward pass, in no particular order; each is one or more kernels. Only the block that they
/// belong to matters here. Any of them may throw.
class operations {
 public:
  virtual void embed() = 0;
  virtual void normalize_before_attention(int layer) = 0;
  virtual void project_to_qkv(int layer) = 0;
  virtual void multiply_queries_by_keys(int layer) = 0;
  virtual void softmax(int layer) = 0;
  virtual void weigh_values(int layer) = 0;
  virtual void project_attention(int layer) = 0;
  virtual void add_attention(int layer) = 0;
  virtual void normalize_before_mlp(int layer) = 0;
  virtual void expand(int layer) = 0;
  virtual void gelu(int layer) = 0;
  virtual void contract(int layer) = 0;
  virtual void add_mlp(int layer) = 0;
  virtual void normalize_last() = 0;
  virtual void multiply_by_embedding() = 0;

  virtual void enter(const char* range) = 0;
  virtual void leave() = 0;

 protected:
  ~operations() = default;
};

/// A range from here to the end of the scope, like lab::range (lab/range.hpp).
class range {
 public:
  range(operations& on, const char* name) : on_(on) { on_.enter(name); }
  ~range() { on_.leave(); }
  range(const range&) = delete;  // it ends with its scope
  range& operator=(const range&) = delete;

 private:
  operations& on_;
};

/// Runs all operations of a pass with `layers` layers, in order, each once (those of a layer once per layer). Each is
/// in a range of its block: "embedding", "LayerNorm 1", "attention", "residual 1", "LayerNorm 2", "MLP", "residual 2",
/// "final LayerNorm", "logits". A block is one range, from its first operation to its last. The blocks of a layer are
/// in a range "layer". If an operation throws, all ranges end, and the exception propagates.
void forward(operations& on, int layers);

// ---- tracer.cpp: what ran when, and for which block ----------------------------------------------------------------

/// A kernel. CUPTI gives its name, its stream's number, and its times in nanoseconds.
struct traced_kernel {
  std::string name;
  std::string block;  ///< the innermost range in which its thread launched it; "" if none
  std::uint32_t stream = 0;
  std::uint64_t begin = 0, end = 0;
  std::uint64_t launched = 0;  ///< when the call that launched it began
};
/// All kernels of the blocks with the same name.
struct traced_block {
  std::string name;
  int launches = 0;
  std::uint64_t busy = 0;  ///< nanoseconds in which at least one of them runs
};
struct timeline {
  std::vector<traced_kernel> kernels;  ///< in the order in which they begin
  std::vector<traced_block> blocks;    ///< the blocks that launch kernels, each name once, in any order
  /// Nanoseconds in which no kernel runs, after the first has begun and before the last has ended; and the longest such
  /// stretch.
  std::uint64_t idle = 0, longest_gap = 0;
};

/// Runs the pass once and returns its timeline, from the records of CUPTI's Activity API. The pass does not wait for
/// its kernels, and may use several streams and threads. CUPTI returns the records in any number of buffers and in any
/// order. A kernel's record and the record of the call that launched it, a call to the runtime or the driver, have
/// the same correlation ID.
timeline trace(const std::function<void()>& pass);

// ---- tracer.cpp: what each block did -------------------------------------------------------------------------------

/// A block of a pass; no other has its name. `launch` does not wait for its kernels.
struct launched_block {
  std::string name;
  std::function<void()> launch;
};
struct counted_block {
  std::string name;
  std::vector<double> values;  ///< one for each metric, in their order
};

/// Launches the blocks, in order, each in a range of its name, and returns what CUPTI's Range Profiler counts in each.
/// A run reads few metrics: the whole pass runs again until all have been read. Metrics are named as in Nsight Compute.
std::vector<counted_block> count(const std::vector<launched_block>& pass, const std::vector<std::string>& metrics);

// ---- questions.cpp: what to do about it ----------------------------------------------------------------------------
// Five questions about a timeline with at least one kernel. Blocks have the timeline's names; if two have the same
// answer, return either. Times are in nanoseconds.

/// The block to speed up first: its kernels run for the longest time during which no other block's kernel runs.
std::string block_to_speed_up(const timeline& of);

/// The block in which to fuse kernels first: its kernels take the least time on average.
std::string block_to_fuse(const timeline& of);

/// How long the device waits for the host: no kernel runs, and every launched kernel has ended. Counted after the first
/// kernel has begun.
std::uint64_t time_waiting_for_host(const timeline& of);

/// What several streams gain: the time in which kernels of at least two streams run.
std::uint64_t time_overlapping(const timeline& of);

/// How far ahead the host is: the largest number of kernels, at any time, that are launched but have not begun. A
/// kernel that begins at the moment of another's launch is not waiting then.
int most_waiting(const timeline& of);

// ---- analysis.cpp: FLOPs, bytes, bound -----------------------------------------------------------------------------

struct shape {
  double batch = 0, tokens = 0, channels = 0, layers = 0, heads = 0, vocabulary = 0;  ///< B, T, C, L, NH, V
};

enum class block { embedding, norm1, attention, residual1, norm2, mlp, residual2, final_norm, logits };

struct work {
  double flops = 0;
  double weight_bytes = 0;      ///< each parameter that the block needs, once
  double activation_bytes = 0;  ///< what its operations write, and read from each other and from other blocks
};

/// The work of one block (in one layer, if it belongs to a layer). These are its operations, and what each costs in
/// addition to its inputs and outputs, which pass through memory once per operation (no operation is fused with
/// another):
///   embedding   one addition per element; its weights are a row of C for each token, and one for each of T positions
///   LayerNorm   8 FLOPs per element, and a weight and a bias for each channel
///   residual    one addition per element: two activations in, one out
///   attention   QKV with bias; scores, of all T x T pairs, causal or not; softmax with scaling, 6 FLOPs per score;
///               weighted values; projection with bias
///   MLP         C to 4 C with bias; GELU, 9 FLOPs per element; 4 C to C with bias
///   logits      of every position, without bias
/// A bias is one addition per output, and part of the matrix product's operation. Activations and weights take
/// `bytes_each`.
work block_work(block which, const shape& of, double bytes_each);

struct machine {
  double flops_per_second = 0;
  double dram_bytes_per_second = 0;
  double l2_bytes_per_second = 0;
};

/// The minimum time by the roofline. Cold: all bytes come from DRAM. L2-warm: weights come from DRAM, since those of
/// all layers do not fit in L2; all bytes, including these, pass through it. The profiler's "if warm" sends all bytes
/// through L2 and none from DRAM, so its time is shorter for blocks with weights.
double cold_seconds(const work& w, const machine& on);
double warm_seconds(const work& w, const machine& on);

/// True if bytes, not FLOPs, determine that time.
bool memory_bound_cold(const work& w, const machine& on);
bool memory_bound_warm(const work& w, const machine& on);

// ---- analysis.cpp: the published study, audited; the handout says what went wrong in each --------------------------

/// Load instructions of a program, as counted.
struct loads {
  double global_ld = 0;  ///< smsp__sass_inst_executed_op_global_ld.sum
  double ldgsts = 0;     ///< smsp__sass_inst_executed_op_ldgsts.sum: from global to shared memory directly (cp.async)
};
/// The number of global load instructions that `a` executes, divided by that of `b`.
double load_ratio(const loads& a, const loads& b);

/// Bytes of the residual streams that a training step keeps, one after each layer.
double residual_stream_bytes(const shape& of, double bytes_each);

/// Kernel i used `percent[i]` of the peak bandwidth for `seconds[i]`. Returns the percentage over all n kernels.
double percent_of_peak(const double* seconds, const double* percent, int n);

/// Each of n regions was timed together with the following wait for the device, which takes `wait`. Returns the seconds
/// of all regions without the waits; no region takes less than zero.
double seconds_without_waits(const double* wall, int n, double wait);

// ---- blocks.cu: the two worst blocks -------------------------------------------------------------------------------
// Device pointers, 256-byte aligned, sizes at least 1; there may be more rows than a grid has blocks in y. Inputs and
// outputs do not overlap. Launch on `stream`, once, and return without waiting. LLM-CUDA (common/gpt2/cuda.cu) calls
// both.

/// out(r, c) = (in(r, c) - mean(r)) / sqrt(variance(r) + 1e-5) * weight(c) + bias(c); the variance is the mean of the
/// squared distances from the mean. channels <= 4096.
void layer_norm(float* out,           // (rows, channels)
                const float* in,      // (rows, channels)
                const float* weight,  // (channels)
                const float* bias,    // (channels)
                int rows, int channels, cudaStream_t stream);

/// For each matrix: row t is the softmax of scale * scores(t, 0 ... t), followed by zeros. Past the diagonal `scores`
/// may hold anything, even NaN or unwritten memory: do not read it. Up to the diagonal they are between -2^27 and 2^27.
/// scale > 0, tokens <= 4096.
void causal_softmax(float* out,           // (matrices, tokens, tokens)
                    const float* scores,  // (matrices, tokens, tokens)
                    int matrices, int tokens, float scale, cudaStream_t stream);

// ---- block.cpp: two blocks on the CPU, with Eigen ------------------------------------------------------------------
// Host pointers, one thread, one sequence. Sizes are at least 1; inputs and outputs do not overlap. Include "eigen.hpp"
// (given/), not <Eigen/Core>.

/// Head h uses columns h * size to (h + 1) * size - 1 of the queries, keys, values and `out`; size = channels / heads.
/// There, row t of `out` is the sum of the values of rows 0 ... t, weighted by the softmax of their keys' products with
/// query t, each divided by sqrt(size). `channels` is a multiple of `heads`; the products are between -2^14 and 2^14.
void attention_heads(float* out,        // (tokens, channels)
                     const float* qkv,  // (tokens, 3 channels): queries, keys, values
                     int tokens, int channels, int heads);

/// stream = x + y; normalized = LayerNorm of stream, as in layer_norm above.
void residual_norm(float* stream,        // (rows, channels)
                   float* normalized,    // (rows, channels)
                   const float* x,       // (rows, channels)
                   const float* y,       // (rows, channels)
                   const float* weight,  // (channels)
                   const float* bias,    // (channels)
                   int rows, int channels);

// ---- unfused.cu: given: one kernel per expression, as LLM-Eigen runs them ------------------------------------------

void layer_norm_unfused(float* out, const float* in, const float* weight, const float* bias, int rows, int channels,
                        cudaStream_t stream);
void causal_softmax_unfused(float* out, const float* scores, int matrices, int tokens, float scale,
                            cudaStream_t stream);
/// out = a + b
void residual_add(float* out, const float* a, const float* b, int n, cudaStream_t stream);

}  // namespace lab08
