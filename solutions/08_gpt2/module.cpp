// The passes for another program, such as a Python script that compares them with PyTorch in one process (ctypes).
// Functions that return an int return 0, or 1 on failure; gpt2_error() then says what was wrong.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "lab/device.hpp"
#include "lab/range.hpp"
#include "program/handed_in.hpp"

namespace {

thread_local std::string error;

template <class F>
int guarded(F what) {
  try {
    what();
    return 0;
  } catch (const std::exception& e) {
    error = e.what();
    return 1;
  }
}

/// GPU time of the outermost ranges, by events in the legacy stream, which waits for all others and they for it: what a
/// range launched is over when its second event is reached.
class block_timer : public lab::range_listener {
 public:
  void enter(std::string_view name, double, double) override {
    spans_.emplace_back();
    spans_.back().name = name;
    LAB_CUDA_CHECK(cudaEventCreate(&spans_.back().begin));
    LAB_CUDA_CHECK(cudaEventCreate(&spans_.back().end));
    LAB_CUDA_CHECK(cudaEventRecord(spans_.back().begin, cudaStreamLegacy));
  }
  void leave() override { LAB_CUDA_CHECK(cudaEventRecord(spans_.back().end, cudaStreamLegacy)); }

  std::map<std::string, double> seconds() {
    LAB_CUDA_CHECK(cudaDeviceSynchronize());
    std::map<std::string, double> result;
    for (const span& s : spans_) {
      float milliseconds = 0;
      LAB_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, s.begin, s.end));
      result[s.name] += 1e-3 * static_cast<double>(milliseconds);
      (void)cudaEventDestroy(s.begin);
      (void)cudaEventDestroy(s.end);
    }
    return result;
  }

 private:
  struct span {
    std::string name;
    cudaEvent_t begin = nullptr, end = nullptr;
  };
  std::vector<span> spans_;
};

gpt2::pass& of(void* pass) { return *static_cast<gpt2::pass*>(pass); }

}  // namespace

extern "C" {

const char* gpt2_error() { return error.c_str(); }

int gpt2_write_random(const char* file, const char* config, unsigned long long seed, int as_bf16) {
  return guarded([&] {
    gpt2::write_checkpoint(file, gpt2::random_checkpoint(gpt2::config_named(config), seed),
                           as_bf16 ? gpt2::stored_as::bf16 : gpt2::stored_as::fp32);
  });
}

/// `kind`: "fp32", "tf32" or "bf16" of LLM-CUDA, or "eigen".
void* gpt2_open(const char* file, const char* kind) {
  void* result = nullptr;
  guarded([&] {
    const gpt2::checkpoint model = gpt2::read_checkpoint(file);
    const std::string name = kind;
    if (name == "eigen")
      result = gpt2::make_eigen_on_gpu(model).release();
    else
      result = gpt2::make_cuda(model,
                               name == "bf16"   ? gpt2::precision::bf16
                               : name == "tf32" ? gpt2::precision::tf32
                                                : gpt2::precision::fp32,
                               gpt2::handed_in())
                   .release();
  });
  return result;
}

void gpt2_close(void* pass) { delete static_cast<gpt2::pass*>(pass); }

int gpt2_load(void* pass, const int* tokens, int batch, int length) {
  return guarded([&] {
    of(pass).load({tokens, static_cast<std::size_t>(batch) * static_cast<std::size_t>(length)}, batch, length);
  });
}

/// Launches this many passes, as a graph or not, and does not wait.
int gpt2_run(void* pass, int times, int as_graph) {
  return guarded([&] {
    for (int i = 0; i < times; ++i) as_graph ? of(pass).replay() : of(pass).run();
  });
}

int gpt2_synchronize(void* pass) {
  return guarded([&] { of(pass).synchronize(); });
}

/// (batch, length, vocabulary)
int gpt2_logits(void* pass, float* out) {
  return guarded([&] {
    const std::vector<float> logits = of(pass).logits();
    std::copy(logits.begin(), logits.end(), out);
  });
}

/// GPU seconds of each of gpt2::all_blocks in one pass, all layers together.
int gpt2_blocks(void* pass, double* seconds) {
  return guarded([&] {
    block_timer timer;
    lab::range_listener::current = &timer;
    of(pass).run();
    lab::range_listener::current = nullptr;
    const auto all = timer.seconds();
    for (const gpt2::block b : gpt2::all_blocks) {
      const auto found = all.find(gpt2::name_of(b));
      *seconds++ = found == all.end() ? 0.0 : found->second;
    }
  });
}

}  // extern "C"
