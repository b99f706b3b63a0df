// gpt2: runs one forward pass, or writes a text, with the chosen pass. Under ./course profile the pass is profiled.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "gpt2/text.hpp"
#include "handed_in.hpp"
#include "lab/profiler.hpp"

namespace {

using namespace gpt2;

struct options {
#ifdef GPT2_ON_GPU
  std::string pass = "cuda";
#else
  std::string pass = "eigen";
#endif
  std::string checkpoint, random, write, dtype = "fp32", prompt, tokenizer, logits;
  std::vector<int> tokens;
  int batch = 4, length = 64, generate = -1, repeat = 3;
  bool graph = false, two_blocks = false, my_ranges = false, trace = false, count = false, lab11 = false, lab09 = false;
  sampling how;
  std::uint64_t seed = 1;
};

std::unique_ptr<pass> make(const options& o, const checkpoint& model) {
#ifdef GPT2_ON_GPU
  if (o.pass == "eigen-gpu") return make_eigen_on_gpu(model);
#endif
  if (o.pass == "eigen") return make_eigen_on_cpu(model);
  kernels with = handed_in();
  if (o.two_blocks) with = {.layer_norm = with.layer_norm, .causal_softmax = with.causal_softmax};
  if (o.lab11) use_attention_of_lab11(with);
  if (o.lab09) use_product_of_lab09(with);
  return make_cuda(model,
                   o.dtype == "bf16"   ? precision::bf16
                   : o.dtype == "tf32" ? precision::tf32
                                       : precision::fp32,
                   with);
}

void time_passes(const options& o, pass& with, const checkpoint& model) {
  std::vector<int> tokens = o.tokens;
  std::uint64_t state = o.seed;
  for (std::size_t i = tokens.size(); i < static_cast<std::size_t>(o.batch) * static_cast<std::size_t>(o.length); ++i)
    tokens.push_back(static_cast<int>((state = state * 6364136223846793005ull + 1442695040888963407ull) >> 33) %
                     model.config.vocabulary);
  with.forward(tokens, o.batch, o.length);
  with.synchronize();
  const auto once = [&] { o.graph ? with.replay() : o.my_ranges ? run_in_ranges(with) : with.run(); };
  if (std::getenv("LAB_PROFILE")) {
#ifdef GPT2_ON_GPU
    lab::profile p({"l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"});  // loads not in other counters
#else
    lab::profile p;
#endif
    p.run("forward", once);
    p.report();
    return;
  }
  if (o.trace) {
    once();  // the first pass captures the graph, and libraries choose their kernels in it
    with.synchronize();
    return print_timeline(once);
  }
  if (o.count) {
    with.run();  // as above
    with.synchronize();
    return print_counters(with);
  }
  double fastest = INFINITY, flops = 0;
  for (int i = 0; i < o.repeat; ++i) {
    const auto start = std::chrono::steady_clock::now();
    once();
    with.synchronize();
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  for (const block b : all_blocks) {
    const bool single = b == block::embedding || b == block::final_norm || b == block::logits;
    flops += work_of(b, model.config, o.batch, o.length, 4).flops * (single ? 1 : model.config.layers);
  }
  if (o.repeat > 0)
    fmt::print("{} of {} sequences of {} tokens: {:.3f} ms, {:.1f} GFLOP/s (fastest of {})\n", o.pass, o.batch,
               o.length, 1e3 * fastest, 1e-9 * flops / fastest, o.repeat);
  if (o.logits.empty()) return;
  const std::vector<float> logits = with.logits();
  std::ofstream out(o.logits, std::ios::binary);
  out.write(reinterpret_cast<const char*>(logits.data()), static_cast<std::streamsize>(4 * logits.size()));
  if (!out) throw model_error(o.logits + ": cannot be written; does its folder exist?");
}

void write_text(const options& o, pass& with, const checkpoint& model) {
  std::optional<tokenizer> words;
  if (!o.tokenizer.empty() || !o.prompt.empty())
    words.emplace(!o.tokenizer.empty() ? std::filesystem::path(o.tokenizer)
                                       : "." / std::filesystem::path(o.checkpoint).parent_path());
  std::vector<int> tokens = o.tokens;
  if (!o.prompt.empty()) tokens = words->encode(o.prompt);
  if (tokens.empty())
    tokens = {words && words->end_of_text() >= 0 ? words->end_of_text() : model.config.vocabulary - 1};
  const auto show = [&](int token) {
    if (words)
      fmt::print("{}", words->decode(std::span(&token, 1)));
    else
      fmt::print("{} ", token);
    std::fflush(stdout);
  };
  if (words) fmt::print("{}", words->decode(tokens));
  generate(with, model.config, tokens, o.generate, o.how, show);
  fmt::print("\n");
}

}  // namespace

int main(int argc, char** argv) try {
  options o;
  CLI::App app{"GPT-2's forward pass: times it, or generates text."};
  app.option_defaults()->always_capture_default();
  std::vector<std::string> passes{"eigen", "cuda"};
#ifdef GPT2_ON_GPU
  passes.emplace_back("eigen-gpu");
#endif
  app.add_option("--pass", o.pass, "eigen (CPU), cuda (the device; simulated without a GPU), eigen-gpu")
      ->check(CLI::IsMember(passes));
  app.add_option("--checkpoint", o.checkpoint, "llm.c's .bin (v3, v5) or .safetensors");
  app.add_option("--random", o.random,
                 "without a checkpoint: random weights for d12 (the default), d24, d36, d48, tiny, or six numbers");
  app.add_option("--write", o.write, "write the model as an llm.c checkpoint (bf16 with --dtype bf16)");
  app.add_option("--dtype", o.dtype, "data type of --pass cuda")->check(CLI::IsMember({"fp32", "tf32", "bf16"}));
  app.add_option("--batch", o.batch, "sequences");
  app.add_option("--time,--length", o.length, "tokens in each sequence");
  app.add_option("--repeat", o.repeat, "timed passes");
  app.add_flag("--graph", o.graph, "launch the pass as a CUDA graph");
  app.add_flag("--two-blocks", o.two_blocks, "use only LayerNorm and softmax as handed in, even where more is fused");
  app.add_flag("--my-ranges", o.my_ranges, "run the operations in the ranges of your ranges.cpp, not in the course's");
  app.add_flag("--trace", o.trace, "print the timeline that your tracer.cpp makes of --pass cuda");
  app.add_flag("--count", o.count,
               "print the counters that your tracer.cpp reads of --pass cuda, by the blocks of ranges.cpp");
  app.add_flag("--lab11", o.lab11, "attention by your lab 11, for heads of 64");
  app.add_flag("--lab09", o.lab09, "products by gemm_pipelined of your lab 09, with --dtype bf16");
  app.add_option("--logits", o.logits, "write the logits, floats, (batch, time, vocabulary), to this file");
  app.add_option("--tokens", o.tokens, "token numbers to start from: 1,2,3")->delimiter(',');
  app.add_option("--prompt", o.prompt,
                 "text to start from; without --checkpoint the course's own small model continues it");
  app.add_option("--tokenizer", o.tokenizer,
                 "folder with vocab.json and merges.txt, or gpt2_tokenizer.bin; by default next to the checkpoint");
  app.add_option("--generate", o.generate, "number of tokens to generate; 64 by default with a prompt");
  app.add_option("--temperature", o.how.temperature, "sampling temperature; 0: always the likeliest token");
  app.add_option("--top", o.how.top, "sample from this many likeliest tokens; 0: from all");
  app.add_option("--seed", o.seed, "seed of random weights, tokens and choices");
  CLI11_PARSE(app, argc, argv);
  o.how.seed = o.seed;
  if (o.lab09 && o.dtype != "bf16") throw model_error("lab 09 multiplies bf16; add --dtype bf16");
  if ((o.lab09 || o.lab11) && o.pass != "cuda") throw model_error("--lab09 and --lab11 are for --pass cuda; add it");
  if ((o.trace || o.count) && o.pass != "cuda") throw model_error("--trace and --count are for --pass cuda; add it");
  if (o.my_ranges && o.graph) throw model_error("a graph has no ranges; omit --graph or --my-ranges");
  if (!o.prompt.empty() && o.checkpoint.empty() && o.random.empty()) o.checkpoint = TINY_GPT2 "/model.safetensors";
  if (o.generate < 0) o.generate = o.prompt.empty() ? 0 : 64;
  const checkpoint model = o.checkpoint.empty()
                               ? random_checkpoint(config_named(o.random.empty() ? "d12" : o.random), o.seed)
                               : read_checkpoint(o.checkpoint);
  if (!o.write.empty()) {
    write_checkpoint(o.write, model, o.dtype == "bf16" ? stored_as::bf16 : stored_as::fp32);
    return 0;
  }
  const auto with = make(o, model);
  if (o.generate > 0 || !o.prompt.empty())
    write_text(o, *with, model);
  else
    time_passes(o, *with, model);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "gpt2: {}\n", error.what());
  return 1;
}
