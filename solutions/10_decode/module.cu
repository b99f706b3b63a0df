// Lab 10's model for measure.py, by names that Python finds. `pointers`: embedding, norm, rotary, K, V, token,
// position, scratch, then six for each layer.
#include <vector>

#include "decode.hpp"

extern "C" long long decode_scratch_floats(const int* shape) {
  return static_cast<long long>(lab10::scratch_floats(*reinterpret_cast<const lab10::shape*>(shape)));
}

extern "C" void decode_matvec(float* y, const lab10::bf16* w, const float* x, int rows, int columns,
                              cudaStream_t stream) {
  lab10::matvec(y, w, x, nullptr, rows, columns, stream);
}

extern "C" void decode_generate(int* chosen, float* logits, const int* shape, void* const* pointers, int count,
                                cudaStream_t stream) {
  const auto& s = *reinterpret_cast<const lab10::shape*>(shape);
  const auto weights = [&](int i) { return static_cast<const lab10::bf16*>(pointers[i]); };
  std::vector<lab10::layer> layers;
  for (int l = 0; l < s.layers; ++l) {
    const int first = 8 + 6 * l;
    layers.push_back({weights(first), weights(first + 1), weights(first + 2), weights(first + 3), weights(first + 4),
                      weights(first + 5)});
  }
  const lab10::model m{s, layers.data(), weights(0), weights(1), static_cast<const float*>(pointers[2])};
  const lab10::state of_token{static_cast<lab10::bf16*>(pointers[3]), static_cast<lab10::bf16*>(pointers[4]),
                              static_cast<int*>(pointers[5]), static_cast<int*>(pointers[6]),
                              static_cast<float*>(pointers[7])};
  lab10::generate(chosen, logits, m, of_token, count, stream);
}
