// Lab 11, attention: what your files must define.
//
// Attention of one head: out = softmax(q k^T / sqrt(size)) v, the softmax row by row. `lse` is the natural logarithm of
// the sum of e^score over the keys that a query sees. If `causal`, query i sees keys 0 to i, otherwise all of them.
// All arrays are row-major. size is 64 or 128, tokens 1 to 1,000,000, heads 1 to 65,535, the most blocks a grid has
// in y. Scores are finite and may be large: between -1000 and 1000. Elements of q, k and v may be as large as their
// type allows.
//
// Host pointers in the host part. In the device part all pointers are device pointers from cudaMalloc (256-byte
// aligned); inputs and outputs never overlap, and an int can count an array's elements. Launch on `stream` and return
// without waiting.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab11 {

// ---- attention.cpp ------------------------------------------------------------------------------------------------

/// A kernel computes scores in tiles of `queries` queries times `keys` keys. The last tile in each direction may be
/// smaller. If causal, it omits the tiles that none of their queries sees, and computes every other tile whole. How
/// many scores does it compute for one head?
std::int64_t computed_scores(std::int64_t tokens, std::int64_t queries, std::int64_t keys, bool causal);

/// How many bytes does such a kernel load for one head, if each block has `queries` queries, loads them once, and loads
/// K and V for each tile of scores that it computes? An element has `bytes` bytes.
std::int64_t loaded_bytes(std::int64_t tokens, std::int64_t size, std::int64_t bytes, std::int64_t queries,
                          std::int64_t keys, bool causal);

/// Joins two results for the same queries, over two sets of keys that share no key: afterwards out and lse are as if
/// computed over all keys. lse = -infinity means no keys; its row of out is 0.
void merge(float* out,              // (rows, size)
           float* lse,              // (rows)
           const float* other_out,  // (rows, size)
           const float* other_lse,  // (rows)
           std::size_t rows, std::size_t size);

/// One head, on one thread, and never a matrix of tokens x tokens.
void attention_host(float* out,      // (tokens, size)
                    float* lse,      // (tokens)
                    const float* q,  // (tokens, size)
                    const float* k,  // (tokens, size)
                    const float* v,  // (tokens, size)
                    std::size_t tokens, std::size_t size, bool causal);

// ---- attention.cu -------------------------------------------------------------------------------------------------

/// Attention in one launch. A block has 64 queries of one head, and loads K and V in tiles of at most 64 keys, without
/// the tiles that only later queries see.
void attention_fp32(float* out,      // (heads, tokens, size)
                    float* lse,      // (heads, tokens)
                    const float* q,  // (heads, tokens, size)
                    const float* k,  // (heads, tokens, size)
                    const float* v,  // (heads, tokens, size)
                    int heads, int tokens, int size, bool causal, cudaStream_t stream);

using bf16 = __nv_bfloat16;

/// The same on tensor cores (lab/tensor_core.hpp), as fast as you can make it; a block has at least 64 queries. Scores
/// and sums are FP32; weights e^(score - maximum) may be rounded to bf16 before they are multiplied by V.
void attention_bf16(bf16* out,      // (heads, tokens, size)
                    float* lse,     // (heads, tokens)
                    const bf16* q,  // (heads, tokens, size)
                    const bf16* k,  // (heads, tokens, size)
                    const bf16* v,  // (heads, tokens, size)
                    int heads, int tokens, int size, bool causal, cudaStream_t stream);

/// The maximum number of parts into which decode_bf16 may split a head's keys.
constexpr int most_parts = 64;

/// One query per head, as when a model writes its next token: out = softmax(q K^T / sqrt(size)) V. A head's keys are
/// split over blocks, so that a few heads fill the device; at most two launches. Calls with other outputs and
/// workspaces may run at the same time, in other streams.
void decode_bf16(bf16* out,         // (heads, size)
                 float* workspace,  // (heads, most_parts, size + 2), in any layout you like
                 const bf16* q,     // (heads, size)
                 const bf16* k,     // (heads, tokens, size)
                 const bf16* v,     // (heads, tokens, size)
                 int heads, int tokens, int size, cudaStream_t stream);

// ---- given --------------------------------------------------------------------------------------------------------

/// Three launches, and the matrix of scores in memory; given/unfused.cu.
void attention_unfused(float* out,     // (heads, tokens, size)
                       float* scores,  // (heads, tokens, tokens)
                       const float* q, const float* k, const float* v, int heads, int tokens, int size, bool causal,
                       cudaStream_t stream);

}  // namespace lab11
