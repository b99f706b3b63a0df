# A LayerNorm that reads its rows three times, twice by value.
cd "$1"
sed -i '/^void layernorm(float\* out/,/^}/d' fused.cu
cat >>fused.cu <<'TEXT'
namespace lab04 {
namespace {

struct one {
  float x;
};
__device__ __attribute__((noinline)) float same(one v) { return v.x; }

__global__ void layernorm_thrice(float* out, const float* in, int columns) {
  const one* row = reinterpret_cast<const one*>(in) + blockIdx.x * columns;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < columns; c += 32) sum += same(row[c]);
  const float mean = sum_of(sum) / columns;
  for (int c = threadIdx.x; c < columns; c += 32) squares += (same(row[c]) - mean) * (same(row[c]) - mean);
  const float scale = rsqrtf(sum_of(squares) / columns + 1e-5f);
  for (int c = threadIdx.x; c < columns; c += 32) out[blockIdx.x * columns + c] = (row[c].x - mean) * scale;
}

}  // namespace

void layernorm(float* out, const float* in, int rows, int columns, cudaStream_t stream) {
  layernorm_thrice<<<rows, 32, 0, stream>>>(out, in, columns);
  LAB_CUDA_CHECK(cudaGetLastError());
}

}  // namespace lab04
TEXT
grep -q same fused.cu
