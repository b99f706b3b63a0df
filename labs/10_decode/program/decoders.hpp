// Three ways to compute a token with lab 10's files, behind one interface.
#pragma once

#include <memory>
#include <vector>

#include "gpt2/text.hpp"
#include "lab/roofline.hpp"
#include "llama/model.hpp"

namespace llama {

/// The steps of a token; each pass puts a lab::range of this name around each.
enum class step { embedding, qkv, append, attention, out, gate_up, down, logits };
const char* name_of(step which);
/// The least that a step must do: FLOPs of products, bytes of weights and cache.
lab::work work_of(step which, const config& of, int position);

class decoder {
 public:
  virtual ~decoder() = default;
  /// Chooses the token whose logits run() computes. Throws model_error if the token or the position is out of range.
  virtual void load(int token, int position) = 0;
  /// Computes the logits of the token that was loaded last, and appends its keys and values to the cache. On a device
  /// it does not wait.
  virtual void run() = 0;
  /// Waits for the last run, and returns its logits. Throws model_error if there are none.
  virtual std::vector<float> logits() = 0;
  /// The likeliest token after `token` at `position`, then the likeliest after that, and so on: `count` tokens.
  virtual std::vector<int> write(int token, int position, int count);
  /// Fills the cache with random numbers, whose values do not affect the time to read them.
  virtual void fill_cache() = 0;
  virtual void synchronize() {}
};

/// A decoder on one core, with matvec_host for all products.
std::unique_ptr<decoder> make_on_cpu(const checkpoint& model, int capacity);
/// On the device. By parts: norm_matvec, rotate_append, attend, matvec and norm_gate, each in its own range.
/// Otherwise by decode_token, and `write` by generate.
std::unique_ptr<decoder> make_on_device(const checkpoint& model, int capacity, bool by_parts);

void expect_place(const config& of, int token, int position, int capacity);
/// A bf16's bits for each number of K or V.
numbers random_cache(const config& of, int capacity);

}  // namespace llama
