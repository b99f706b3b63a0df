cd "$1"
echo '#include "accounting.hpp"' >peaks.cu
cat >>peaks.cpp <<'EOF'
namespace lab01 {
void copy(float* out, const float* in, int n, cudaStream_t) {
  for (int i = 0; i < n; ++i) out[i] = in[i];
}
void device_fma_chains(float* out, const float* in, const float* c, int n, int rounds, cudaStream_t) {
  fma_chains(out, in, c, n, rounds);
}
}  // namespace lab01
EOF
