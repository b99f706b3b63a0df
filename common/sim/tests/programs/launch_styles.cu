// Launches where a preprocessor must find them: in macros, templates, lambdas, one-line ifs, over several lines, in
// strings that only look like one.
#include <cuda_runtime.h>

#include <cstdio>
#include <functional>
#include <vector>

#define KERNEL_LAUNCH(kernel, grid, block, ...)          \
  do {                                                   \
    kernel<<<(grid), (block)>>>(__VA_ARGS__);            \
    if (cudaGetLastError() != cudaSuccess) return false; \
  } while (0)

namespace app {
template <class T, int Step>
__global__ void add(T* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += Step;
}
namespace detail {
__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
}
}  // namespace detail
}  // namespace app

template <class T>
struct Runner {
  T* data;
  int n;
  void operator()() const { app::add<T, 2><<<(n + 63) / 64, 64>>>(data, n); }
  template <int Step>
  static void run(T* data, int n) {
    app::add<T, Step><<<dim3((n + 31) / 32), dim3(32), 0, nullptr>>>(data, n);
  }
};

bool all(int* data, int n) {
  KERNEL_LAUNCH(app::detail::add_one, (n + 255) / 256, 256, data, n);
  Runner<int>{data, n}();
  Runner<int>::run<3>(data, n);
  const auto launch = [&](int block) { app::add<int, 4><<<(n + block - 1) / block, block>>>(data, n); };
  for (int block : {32, 64}) launch(block);
  std::function<void()> later = [=] { app::add<int, 5><<<n / 100, 100>>>(data, n); };
  later();
  if (n > 0)
    app::detail::add_one<<<n / 50, 50>>>(data, n);
  else
    app::detail::add_one<<<1, 1>>>(data, n);
  for (int k = 0; k < 2; ++k) app::detail::add_one<<<n, 1>>>(data, n);
  // clang-format off
  app::add<int, 6>
      <<<            // a comment in between
          n / 10,    /* blocks */
          dim3(10)   // threads
      >>>(
          data, n);
  // clang-format on
  auto kernel = app::add<int, 7>;
  kernel<<<1, n>>>(data, n);
  const int shifted = 1 << 3 >> 2;
  const char* text = "kernel<<<1, 1>>>(text);  // not a launch";
  return shifted == 2 && text[0] == 'k' && cudaDeviceSynchronize() == cudaSuccess;
}

int main() {
  const int n = 500;
  std::vector<int> out(n);
  int* data;
  if (cudaMalloc(&data, n * sizeof(int)) != cudaSuccess) return 2;
  cudaMemset(data, 0, n * sizeof(int));
  const bool ran = all(data, n);
  if (cudaMemcpy(out.data(), data, n * sizeof(int), cudaMemcpyDeviceToHost) != cudaSuccess) return 2;
  cudaFree(data);
  int wrong = !ran;
  for (int v : out) wrong += v != 1 + 2 + 3 + 2 * 4 + 5 + 1 + 2 + 6 + 7;
  std::printf("%d, %d wrong\n", out[0], wrong);
  return wrong != 0;
}
