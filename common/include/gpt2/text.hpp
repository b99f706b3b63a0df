// Byte-level byte-pair encoding of text to tokens and back (Radford et al., 2019), and greedy or sampled generation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpt2/pass.hpp"

namespace gpt2 {

class tokenizer {
 public:
  /// Reads a folder with GPT-2's vocab.json and merges.txt, or llm.c's gpt2_tokenizer.bin or its folder. Throws
  /// model_error.
  explicit tokenizer(const std::filesystem::path& where);
  /// The same from the files' contents.
  static tokenizer from_vocabulary(const std::string& vocab_json, const std::string& merges, const std::string& name);
  static tokenizer from_llmc(std::span<const std::byte> file, const std::string& name);

  /// "<|endoftext|>" is one token. Distinguishes letters, numbers and spaces exactly in ASCII, and by blocks of code
  /// points beyond it.
  std::vector<int> encode(const std::string& text) const;
  /// Throws model_error if a token is not in the vocabulary.
  std::string decode(std::span<const int> tokens) const;
  int size() const { return static_cast<int>(bytes_.size()); }
  int end_of_text() const { return end_of_text_; }

 private:
  tokenizer() = default;
  void add(int id, std::string bytes, const std::string& name);
  void expect_all_bytes(const std::string& name) const;
  int rank(const std::string& left, const std::string& right) const;

  std::vector<std::string> bytes_;                             // by token
  std::map<std::string, int> ids_;                             // and back
  std::map<std::pair<std::string, std::string>, int> merges_;  // the rank; without ranks, the lower token goes first
  int end_of_text_ = -1;
};

struct sampling {
  double temperature = 0;  ///< 0: always the likeliest token; of equal ones the first
  int top = 0;             ///< choose among this many of the likeliest tokens; 0: among all
  std::uint64_t seed = 1;
};

/// Chooses the next token from its logits; `state` is the random number generator's. Throws model_error if a logit is
/// NaN.
int choose(const std::vector<float>& logits, const sampling& how, std::uint64_t& state);

/// Appends `count` tokens to `tokens`, and calls `made` with each. Recomputes the whole text for each token. Throws
/// model_error if the text becomes longer than the model's context.
std::vector<int> generate(pass& with, const config& of, std::vector<int> tokens, int count, const sampling& how,
                          const std::function<void(int)>& made = {});

}  // namespace gpt2
