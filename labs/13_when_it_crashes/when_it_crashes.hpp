// Lab 13, when it crashes: what the mended files must define.
//
// Each function is one of the crashed programs without its main. All pointers are device pointers from cudaMalloc;
// inputs and outputs never overlap, and no output is read before it is written. Arrays are row-major. Launch on `stream`
// and return without waiting.
//
// A mend removes one bug and changes as little as possible: the rest of the file stays as it is.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace lab13 {

// ---- kv_scores.cu ---------------------------------------------------------------------------------------------------

/// scores[t] = query . keys[t], for the `length` keys that the cache holds. It may have room for more.
void kv_scores(float* scores,       // (length)
               const float* query,  // (size)
               const float* keys,   // (length, size)
               int length, int size, cudaStream_t stream);

// ---- page_rows.cu ---------------------------------------------------------------------------------------------------

/// Each page gets `each` rows, in order, and has room for so many. Then page `hot` gets `more` rows; whenever it is full, it
/// moves to memory that is twice as large. In the end the first `each` rows of all pages are gathered in `out`. All memory that
/// the function allocates is free again in the end. pages, each and size are at least 1.
void page_rows(float* out,         // (pages, each, size)
               const float* rows,  // (pages * each + more, size)
               int pages, int each, int hot, int more, int size, cudaStream_t stream);

// ---- row_sums.cu ----------------------------------------------------------------------------------------------------

/// sums[r] is the sum of tiles first_tile[r] to first_tile[r + 1] - 1, of 256 elements each. A row may have no tile. The
/// copy of the next tile is under way while a block adds up one.
void row_sums(float* sums,            // (rows)
              const float* in,        // (first_tile[rows], 256)
              const int* first_tile,  // (rows + 1)
              int rows, cudaStream_t stream);

}  // namespace lab13
