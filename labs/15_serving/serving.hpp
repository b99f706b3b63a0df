// Lab 15, serving: what your files must define.
//
// A server generates text for many requests at once. A step is one pass of the model that makes one token for each
// sequence in the batch. Time is simulated, in seconds; memory for K and V is given out in pages. Device pointers are
// 256-byte aligned. Sizes and counts are at least 1 unless stated otherwise.
#pragma once

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace lab15 {

// ---- advice.cpp: how many requests at once? ------------------------------------------------------------------------

/// All numbers are positive.
struct machine {
  double bytes_per_second, flops_per_second;
  double memory_bytes;  ///< for weights and cache together
};
struct model {
  double weight_bytes;
  double flops_per_token;        ///< of the weights' products
  double cache_bytes_per_token;  ///< K and V of one token, in all layers
};

/// Seconds of one step with `batch` sequences that have `context` cached tokens each: all weights are read once, each
/// sequence's cache once, and whichever takes longer, memory or arithmetic, counts. Attention's own arithmetic is not
/// counted.
double step_seconds(const machine& on, const model& of, std::int64_t batch, std::int64_t context);

/// The smallest batch that arithmetic limits: its products take at least as long as its bytes. -1 if memory is the
/// limit for every batch.
std::int64_t turning_point(const machine& on, const model& of, std::int64_t context);

/// The largest batch whose step takes at most `limit` seconds and whose cache fits into memory beside the weights; 0 if
/// there is none.
std::int64_t advise(const machine& on, const model& of, std::int64_t context, double limit);

// ---- pages.cpp: memory for K and V ---------------------------------------------------------------------------------

struct pager;  // yours

struct page_copy {
  int from = -1, to = -1;  ///< copy this page's contents before the token is written; -1: nothing to copy
};

/// All pages are free. Each has room for K and V of `page_tokens` tokens.
pager* make_pager(int pages, int page_tokens);
void free_pager(pager* p);
int free_pages(const pager* p);

/// A new sequence of `count` tokens, at least 1. Its first full pages are shared with a live sequence where all tokens
/// up to the end of the page are equal; the others are new pages, which only this sequence has. If there are several
/// candidates, any will do; share as many pages as possible. Returns the sequence's number, at least 0, which no live
/// sequence has; or -1 if there are too few free pages, and then nothing has changed.
int admit(pager* p, const int* tokens, int count);

/// A second sequence with the same tokens: it shares all pages, the last one, too. Returns its number.
int fork(pager* p, int sequence);

/// The sequence's next token. A page that another sequence shares is never written: if the token's place is in a shared
/// page, the sequence gets a copy of its own, and *copy, in which both pages are -1 before the call, says which. False
/// if this needs a page and none is free; then nothing has changed.
bool append(pager* p, int sequence, int token, page_copy* copy);

/// The sequence's first pages in order, at most `room` of them, into `table`. Returns how many it wrote.
int table_of(const pager* p, int sequence, int* table, int room);

/// The sequence ends; a page that no live sequence has is free again.
void release(pager* p, int sequence);

// ---- scheduler.cpp: continuous batching ----------------------------------------------------------------------------

/// A server on a simulated clock. Requests are numbered in order of arrival. engine.hpp has one.
class engine {
 public:
  virtual ~engine() = default;
  virtual int slots() const = 0;  ///< of the batch
  virtual int page_tokens() const = 0;
  virtual int free_pages() const = 0;
  /// Number of requests that have arrived by now, and of all that will ever arrive.
  virtual int arrived() const = 0;
  virtual int requests() const = 0;
  /// The request's tokens so far: its prompt, and what it has generated. While it runs, the cache has all of them; an
  /// admission computes them, again if it was preempted.
  virtual int tokens(int request) const = 0;
  virtual bool finished(int request) const = 0;

  /// Puts an arrived, waiting request into a free slot: needs pages for tokens(request), and takes time for them.
  virtual void admit(int request) = 0;
  /// Takes a running request out of its slot and frees its pages; it waits again.
  virtual void preempt(int request) = 0;
  /// One token for each running request; the token that it caches may need a new page. A request that now has all of
  /// its tokens is finished: it leaves, and its pages are free.
  virtual void step() = 0;
  /// Waits until the next arrival; only if nothing runs and nothing waits.
  virtual void wait() = 0;
};

/// Serves all requests, of which there may be none, and returns when all are finished. First come, first served. Before
/// each step:
/// - while the running requests need more new pages for their next tokens than are free, preempts the one that arrived
///   last;
/// - then admits the waiting request that arrived first, as long as there is a free slot, and pages for its tokens, for
///   its next one, and for the next ones of all that run; no request overtakes it.
/// Never steps with nothing running. A request alone always fits.
void serve(engine& e);

// ---- paged.cu: attention through a page table ----------------------------------------------------------------------

/// One new token for each of `sequences`. Sequence s has lengths(s) cached tokens, its own included; token t is row
/// t % 16 of page table(s, t / 16). Query head h uses K/V head h / (heads / kv_heads), as in lab 10:
///
///   out(s, h) = softmax(q(s, h) k^T / sqrt(size)) v
///
/// size is 64 or 128, heads / kv_heads is 1, 2, 4 or 8, lengths are at least 1, and there are at most 65,535 sequences.
/// One launch on `stream`, of at least one block for each sequence, without memory of its own; K and V are each read
/// once for all query heads that share them, by loads or by cp.async, not by bulk copies. Scores lie between -1000 and
/// 1000. Rows after the last token may hold anything, NaN included. Entries of the table after the last page
/// may be anything, too: old pages, for example.
inline constexpr int page_tokens = 16;
void paged_attention(float* out,              // (sequences, heads, size)
                     const float* q,          // (sequences, heads, size)
                     const __nv_bfloat16* k,  // (pages, 16, kv_heads, size)
                     const __nv_bfloat16* v,  // (pages, 16, kv_heads, size)
                     const int* table,        // (sequences, table_width)
                     const int* lengths,      // (sequences)
                     int sequences, int heads, int kv_heads, int size, int table_width, cudaStream_t stream);

// ---- batched.cpp: the weights once for all -------------------------------------------------------------------------

/// y(b) = W x(b) for each of `batch` vectors, on one thread, reading the weights from memory once. batch is 1 to 16,
/// columns is a multiple of 8.
void batched_matvec(float* y,        // (batch, rows), host
                    const float* w,  // (rows, columns)
                    const float* x,  // (batch, columns)
                    std::size_t batch, std::size_t rows, std::size_t columns);

}  // namespace lab15
