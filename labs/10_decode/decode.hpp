// Lab 10, decode: what your files must define.
//
// A model shaped like Llama 3 writes one token at a time. Weights and the cache of keys and values are bf16, everything
// else is FP32. For each token, x = its row of the embedding; each layer does
//
//   q, k, v = qkv (x normalized with norm1)        heads of `size` numbers: `heads` in q, `kv_heads` in k and v
//   q, k rotated by their position; k and v appended to the cache, rounded to bf16
//   x = x + out * attention                        query head h uses K/V head h / (heads / kv_heads)
//   gate, up = gate_up (x normalized with norm2)
//   x = x + down (silu(gate) up)                   silu(z) = z / (1 + e^-z)
//
// and logits = embedding (x normalized with norm). Normalized with g: x[i] g[i] / sqrt(mean of x^2 + 1e-5).
//
// Matrices are row-major; row r of a product is the dot product of row r and x. width and hidden are multiples of 8,
// size is 64 or 128, heads / kv_heads is 1, 2, 4 or 8. Each array begins at a multiple of 16 bytes, and its length
// fits in an int. In the device part all pointers passed are device pointers; inputs and outputs overlap only where
// stated. Launch on `stream` and return without waiting. A server computes several texts at the same time: in other
// streams, calls to attend, decode_token and generate with other outputs, workspaces and states may run meanwhile.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab10 {

struct shape {
  int layers, width, heads, kv_heads, size, hidden, vocabulary;
  int capacity;  ///< tokens that the cache has room for
};

// ---- decode.cpp ---------------------------------------------------------------------------------------------------

/// Bytes of the weights that one token reads: all layers, the last norm, and the embedding, which the logits read whole
/// (including the row for x). A weight has 2 bytes.
std::int64_t weight_bytes(const shape& s);

/// Bytes of K and V of `tokens` tokens, in all layers.
std::int64_t cache_bytes(const shape& s, std::int64_t tokens);

/// The fewest bytes of weights and cache that a token at `position` (0 for the first) can move: weights read once, K
/// and V of all earlier tokens read once, its own K and V written once.
std::int64_t token_bytes(const shape& s, std::int64_t position);

/// Operations per byte: the operations of all matrix products and of attention (two products of `size` per query head
/// and key, its own key included), divided by token_bytes. A multiply-add counts as two.
double intensity(const shape& s, std::int64_t position);

/// The minimum time in seconds of a token at `position`, if memory moves this many bytes per second and everything else
/// is free.
double least_seconds(const shape& s, std::int64_t position, double bytes_per_second);

/// y = W x on one core; an element of `w` holds the bits of a bf16. columns is a multiple of 8.
void matvec_host(float* y,                // (rows)
                 const std::uint16_t* w,  // (rows, columns)
                 const float* x,          // (columns)
                 std::size_t rows, std::size_t columns);

// ---- decode.cu: the parts of a token ------------------------------------------------------------------------------

using bf16 = __nv_bfloat16;

/// y = W x, plus `residual` if it is not null, in one launch. y may be `residual`. columns is a multiple of 8.
void matvec(float* y,               // (rows)
            const bf16* w,          // (rows, columns)
            const float* x,         // (columns)
            const float* residual,  // (rows), or null
            int rows, int columns, cudaStream_t stream);

/// y = W (x normalized with `norm`), in one launch.
void norm_matvec(float* y,          // (rows)
                 const bf16* w,     // (rows, columns)
                 const float* x,    // (columns)
                 const bf16* norm,  // (columns)
                 int rows, int columns, cudaStream_t stream);

/// y = silu(G n) (U n) with n = x normalized with `norm`; the first `rows` rows of `w` are G, the others U. One launch.
void norm_gate(float* y,          // (rows)
               const bf16* w,     // (2 rows, columns)
               const float* x,    // (columns)
               const bf16* norm,  // (columns)
               int rows, int columns, cudaStream_t stream);

/// Rotates q and k, and appends k and v to one layer's cache at position *position; writes nowhere else. Numbers 2 i
/// and 2 i + 1 of a head, a and b, become a c - b s and b c + a s, where c and s are numbers 2 i and 2 i + 1 of row
/// *position of `rotary`. One launch.
void rotate_append(float* q,             // (heads, size)
                   bf16* k_cache,        // (kv_heads, capacity, size)
                   bf16* v_cache,        // (kv_heads, capacity, size)
                   const float* qkv,     // (heads + 2 kv_heads, size): q, k, v
                   const float* rotary,  // (capacity, size)
                   const int* position,  // one number below `capacity`
                   int heads, int kv_heads, int size, int capacity, cudaStream_t stream);

/// How many parts attend may split the keys of a head into.
constexpr int most_parts = 64;

/// out = softmax(q K^T / sqrt(size)) V for each query head, over the tokens 0 to *position of its K/V head. After
/// *position the cache holds NaN. The keys are split over blocks; at most two launches. Scores may be large: between
/// -1000 and 1000.
void attend(float* out,           // (heads, size)
            float* workspace,     // (heads, most_parts, size + 2), in any layout you like
            const float* q,       // (heads, size)
            const bf16* k_cache,  // (kv_heads, capacity, size)
            const bf16* v_cache,  // (kv_heads, capacity, size)
            const int* position, int heads, int kv_heads, int size, int capacity, cudaStream_t stream);

// ---- decode.cu: a whole token -------------------------------------------------------------------------------------

struct layer {
  const bf16 *norm1,  // (width)
      *qkv,           // ((heads + 2 kv_heads) size, width): rows of q, then of k, then of v
      *out,           // (width, heads size)
      *norm2,         // (width)
      *gate_up,       // (2 hidden, width): rows of gate, then of up
      *down;          // (width, hidden)
};

/// Lives on the host, as does the array `layers`; the other pointers are device pointers.
struct model {
  lab10::shape shape;
  const layer* layers;
  const bf16 *embedding,  // (vocabulary, width)
      *norm;              // (width)
  const float* rotary;    // (capacity, size)
};

/// The state that changes from token to token. Device pointers.
struct state {
  bf16 *k_cache, *v_cache;  // (layers, kv_heads, capacity, size)
  int *token, *position;    // one number each
  float* scratch;           // scratch_floats(shape), in any layout you like
};

/// Room for x, qkv, q, attention, the hidden numbers, and attend's workspace.
constexpr std::size_t scratch_floats(const shape& s) {
  const auto of_heads = static_cast<std::size_t>(s.heads) * static_cast<std::size_t>(s.size);
  return static_cast<std::size_t>(s.width) + static_cast<std::size_t>(s.hidden) +
         static_cast<std::size_t>(s.heads + 2 * s.kv_heads) * static_cast<std::size_t>(s.size) + 2 * of_heads +
         static_cast<std::size_t>(s.heads) * most_parts * static_cast<std::size_t>(s.size + 2) + 64;
}

/// The logits of token *s.token at *s.position, whose keys and values are appended to the cache; changes neither token
/// nor position. No allocation, no copy, at most 7 launches per layer and 2 more.
void decode_token(float* logits,  // (vocabulary)
                  const model& m, const state& s, cudaStream_t stream);

/// Writes `count` tokens. For each: computes the logits of *s.token at *s.position; writes the token with the largest
/// logit (the first, if several are equal) to chosen[*s.position] and to *s.token; adds 1 to *s.position. Other
/// elements of `chosen` do not change. *s.position + count is at most `capacity`. `logits` are those of the last token.
/// Repeated calls do not leave more and more graphs, streams or events behind.
void generate(int* chosen,    // (capacity)
              float* logits,  // (vocabulary)
              const model& m, const state& s, int count, cudaStream_t stream);

}  // namespace lab10
