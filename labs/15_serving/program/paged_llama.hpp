// A Llama on one core, with K and V in pages. One pass takes any tokens: the next ones of several sequences, or many of
// one, which is how a prompt is computed. Products are your batched_matvec's, for up to 16 tokens at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "llama/model.hpp"
#include "serving.hpp"

namespace lab15 {

class paged_llama {
 public:
  /// A token whose sequence has the pages `table`. If it is `cached`, K and V are there already.
  struct row {
    int token = 0, position = 0;
    std::span<const int> table;
    bool cached = false;
  };

  /// Throws model_error if the model has sizes that batched_matvec does not take.
  paged_llama(const llama::checkpoint& model, int pages);

  /// The logits of each row, (rows, vocabulary). Rows of one sequence are in the order of their positions.
  std::vector<float> pass(std::span<const row> rows);

  void copy_page(page_copy what);

  const llama::config& config() const { return config_; }

 private:
  struct weights {
    std::vector<float> norm1, qkv, out, norm2, gate_up, down;
  };

  /// Numbers in a page of one layer, (16, kv_heads, size), and the first of them.
  std::size_t page_size() const;
  std::size_t page(int layer, int number) const;
  std::size_t place(int layer, const row& of, int position, int kv_head) const;
  std::vector<float> pass_of_some(std::span<const row> rows);
  void rotate_and_append(int layer, const row& r, float* qkv);
  void attend(int layer, const row& r, const float* q, float* out) const;

  llama::config config_;
  std::vector<float> rotary_, embedding_, norm_;
  std::vector<weights> layers_;
  llama::numbers k_, v_;  // (pages, layers, 16, kv_heads, size)
};

}  // namespace lab15
