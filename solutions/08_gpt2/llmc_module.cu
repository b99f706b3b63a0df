// llm.c's forward pass for measure.py: its own files, unchanged, behind four functions. Built by results/gpt2.sh with
// llm.c's flags; in bf16 with ENABLE_BF16, as llm.c names it.
#define TESTING  // llm.c: without main
#ifdef ENABLE_BF16
#include "train_gpt2.cu"
#else
#include "train_gpt2_fp32.cu"
#endif

#include <vector>

namespace {

GPT2 model;
std::vector<int> tokens;
int batch, length;

#ifdef ENABLE_BF16
// As its main does, but without memory for gradients and moments.
void prepare(const char* checkpoint, bool) {
  multi_gpu_config = multi_gpu_config_init(1, 0, 1, nullptr, nullptr, nullptr);
  common_start(true, false);
  gpt2_init_common(&model);
  gpt2_build_from_checkpoint(&model, checkpoint);
  set_zero_configs(&multi_gpu_config, 0, model.num_parameters);
  gpt2_allocate_state(&model, batch, length);
}
void release() { common_free(model); }
void forward() { gpt2_forward(&model, tokens.data(), batch, length); }
float value(floatX of) { return static_cast<float>(of); }
#else
void prepare(const char* checkpoint, bool tf32) {
  cublasCheck(cublasCreate(&cublas_handle));
  cublas_compute_type = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  cublasCheck(cublasSetMathMode(cublas_handle, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH));
  gpt2_build_from_checkpoint(&model, checkpoint);
  gpt2_forward(&model, tokens.data(), nullptr, batch, length);  // allocates
  // It reads what lies above the diagonal of the attention, never writes it, and counts on zeros there.
  cudaCheck(cudaMemset(model.acts_memory, 0, model.num_activations * sizeof(float)));
}
void release() { cublasCheck(cublasDestroy(cublas_handle)); }
void forward() { gpt2_forward(&model, tokens.data(), nullptr, batch, length); }
float value(float of) { return of; }
#endif

}  // namespace

extern "C" {

/// Reads a checkpoint in the precision of the build, FP32 (v3) or bf16 (v5); one at a time, closed before the next.
/// llm.c ends the process if something fails.
void llmc_open(const char* checkpoint, int tf32, const int* ids, int batch_size, int sequence_length) {
  batch = batch_size;
  length = sequence_length;
  tokens.assign(ids, ids + static_cast<std::size_t>(batch) * length);
  prepare(checkpoint, tf32 != 0);
}

void llmc_close() {
  gpt2_free(&model);
  release();
}

/// Launches this many passes; in bf16, waits for each.
void llmc_run(int times) {
  for (int i = 0; i < times; ++i) forward();
}

void llmc_synchronize() { cudaCheck(cudaDeviceSynchronize()); }

/// (batch, length, vocabulary), without the padding.
void llmc_logits(float* out) {
  const std::size_t rows = static_cast<std::size_t>(batch) * length;
  const std::size_t padded = model.config.padded_vocab_size, vocabulary = model.config.vocab_size;
  std::vector<std::remove_pointer_t<decltype(model.acts.output)>> all(rows * padded);
  cudaCheck(cudaMemcpy(all.data(), model.acts.output, all.size() * sizeof(all[0]), cudaMemcpyDeviceToHost));
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t i = 0; i < vocabulary; ++i) out[row * vocabulary + i] = value(all[row * padded + i]);
}

}  // extern "C"
