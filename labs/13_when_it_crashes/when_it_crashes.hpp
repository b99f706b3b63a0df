// Lab 13, when it crashes: what the fixed files must define.
//
// Each function is one of the crashed programs without its main. All pointers are device pointers from cudaMalloc
// (256-byte aligned); inputs and outputs never overlap. Arrays are row-major. Sizes are at least 1 unless stated
// otherwise, and the length of each array but one (the cache of slot_rows) fits in an int. Launch on `stream`, return
// without waiting, free in `stream` what you allocate, and destroy what you create.
//
// A fix removes one bug and changes as little as possible: the rest of the file stays as it is.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lab13 {

// ---- kv_scores.cu ---------------------------------------------------------------------------------------------------

/// scores[t] = query . keys[t], for the `length` keys in the cache, which may have room for more.
void kv_scores(float* scores,       // (length)
               const float* query,  // (size)
               const float* keys,   // (length, size)
               int length, int size, cudaStream_t stream);

// ---- page_rows.cu ---------------------------------------------------------------------------------------------------

/// Each page gets `each` rows, in order, and has room for that many. Then page `hot` gets `more` rows; whenever it is
/// full, it moves to memory that is twice as large, and its old memory is freed before the next row. In the end the
/// first `each` rows of all pages are gathered in `out`. pages, each and size are at least 1.
void page_rows(float* out,         // (pages, each, size)
               const float* rows,  // (pages * each + more, size)
               int pages, int each, int hot, int more, int size, cudaStream_t stream);

// ---- row_sums.cu ----------------------------------------------------------------------------------------------------

/// sums[r] is the sum of tiles first_tile[r] to first_tile[r + 1] - 1, of 256 elements each. A row may have no tile.
/// The copy of the next tile is in flight while a block adds up one.
void row_sums(float* sums,            // (rows)
              const float* in,        // (first_tile[rows], 256)
              const int* first_tile,  // (rows + 1)
              int rows, cudaStream_t stream);

// ---- head_sums.cu ---------------------------------------------------------------------------------------------------

/// sums[h] is the sum of the first lengths[h] elements of row h, any number from 1 to `room`. `room` is a multiple of
/// 64. There may be more heads than blocks that the device can run at a time.
void head_sums(float* sums,         // (heads)
               const float* in,     // (heads, room)
               const int* lengths,  // (heads)
               int heads, int room, cudaStream_t stream);

// ---- pad_rows.cu ----------------------------------------------------------------------------------------------------

/// Row r has the elements first[r] to first[r + 1] - 1 of `in`, any number up to `room`. `room` is a multiple of 4. In
/// `out` zeros follow them. A row whose start and length are multiples of 4 is copied in vectors of 16 bytes.
void pad_rows(float* out,        // (rows, room)
              const float* in,   // (first[rows])
              const int* first,  // (rows + 1)
              int rows, int room, cudaStream_t stream);

// ---- slot_rows.cu ---------------------------------------------------------------------------------------------------

/// Row i of `out` is scale times row slots[i] of the cache, which may have more than 2^32 elements. `size` is at most
/// 1024.
void slot_rows(float* out,                // (count, size)
               const std::int8_t* cache,  // (any number, size)
               const int* slots,          // (count)
               float scale, int count, int size, cudaStream_t stream);

// ---- pick_expert.cu -------------------------------------------------------------------------------------------------

/// Token t may use expert e if bit e of allowed[t] is set; there are at most 32 experts, and no other bit is set.
/// choice[t] is the one with the largest score, and weight[t] its share in a softmax over all that the token may use.
/// Scores are finite. If it may use none, choice[t] is `experts` and weight[t] is 0.
void pick_expert(int* choice,              // (tokens)
                 float* weight,            // (tokens)
                 const float* scores,      // (tokens, experts)
                 const unsigned* allowed,  // (tokens)
                 int tokens, int experts, cudaStream_t stream);

// ---- two_streams.cu -------------------------------------------------------------------------------------------------

/// out[i] = in[i] / 2, plus in[i]^2 from `first` on. The squares are computed in a separate stream.
void two_streams(float* out, const float* in, int first, int n, cudaStream_t stream);

// ---- row_norms.cu ---------------------------------------------------------------------------------------------------

/// Each row divided by its largest absolute value. Rows may have any number of elements. Returns the error of the
/// launch, if there is one, and leaves none behind. With 0 rows there is one: no grid has 0 blocks. With a stream that
/// was destroyed there is one, too.
cudaError_t row_norms(float* out,       // (rows, size)
                      const float* in,  // (rows, size)
                      int rows, int size, cudaStream_t stream);

// ---- tree_sums.cu ---------------------------------------------------------------------------------------------------

/// sums[t] is the sum of scores in tree t, whose root is node t * nodes. child and sibling are numbers of nodes, or -1.
/// `nodes` is at most 64.
void tree_sums(float* sums,          // (trees)
               const float* scores,  // (trees, nodes)
               const int* child,     // (trees, nodes)
               const int* sibling,   // (trees, nodes)
               int trees, int nodes, cudaStream_t stream);

// ---- group_scales.cu ------------------------------------------------------------------------------------------------

/// Groups of 32 elements have a scale, the largest absolute value divided by 127; the last group may have fewer. out[i]
/// is the multiple of the scale that is nearest to in[i]. One block for each group finds its scale.
void group_scales(float* out, const float* in, int n, cudaStream_t stream);

// ---- long_rows.cu ---------------------------------------------------------------------------------------------------

/// out[r] is the largest of the first lengths[r] elements of row r, any number from 1 to `room`. A row of more than
/// 256 elements has a block for each 256.
void long_rows(float* out,          // (rows)
               const float* in,     // (rows, room)
               const int* lengths,  // (rows)
               int rows, int room, cudaStream_t stream);

// ---- prefix_hits.cpp: on the CPU, in host memory --------------------------------------------------------------------

/// hits[p] is the number of tokens in the longest prefix that prompt p shares with an earlier prompt.
/// Prompt p has the tokens first[p] to first[p + 1] - 1; a prompt may have none.
void prefix_hits(int* hits,          // (prompts)
                 const int* tokens,  // (first[prompts])
                 const int* first,   // (prompts + 1)
                 int prompts);

}  // namespace lab13
