#include "counted.hpp"

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <lab/device.hpp>
#include <lab/profiler.hpp>
#include <lab/tensor_core.hpp>

#include <algorithm>
#include <functional>
#include <set>
#include <stdexcept>
#include <string>

#include "../../../labs/04_fusion/fusion.hpp"

namespace drawings {
namespace {

constexpr int most_bytes = 1 << 17, most_shared_bytes = 1 << 15;

template <class T>
__global__ void load_kernel(T* out, const char* in, warp_offsets offsets) {
  out[threadIdx.x] = *reinterpret_cast<const T*>(in + offsets[threadIdx.x]);
}

template <class T>
__global__ void shared_load_kernel(T* out, warp_offsets offsets) {
  __shared__ alignas(16) char memory[most_shared_bytes];
  for (int i = threadIdx.x; i < most_shared_bytes / 4; i += 32) reinterpret_cast<int*>(memory)[i] = i;
  __syncthreads();
  out[threadIdx.x] = *reinterpret_cast<const T*>(memory + offsets[threadIdx.x]);
}

__global__ void matrix_load_kernel(unsigned* out, warp_offsets offsets) {
  __shared__ alignas(16) char memory[most_shared_bytes];
  for (int i = threadIdx.x; i < most_shared_bytes / 4; i += 32) reinterpret_cast<int*>(memory)[i] = i;
  __syncthreads();
  unsigned to[4];
  lab::ldmatrix(to, memory + offsets[threadIdx.x]);
  out[threadIdx.x] = to[0] ^ to[1] ^ to[2] ^ to[3];
}

/// Element (r, c) of a matrix with 16 or 8 columns is its own index, so a register's contents say where they came from.
__global__ void fragments_kernel(unsigned* a_of, unsigned* b_of, float* c_of) {
  __shared__ alignas(16) unsigned short index_a[16 * 16];
  __shared__ alignas(16) unsigned short index_b[16 * 8];
  __shared__ alignas(16) __nv_bfloat16 identity[16 * 16], values[16 * 8];
  const int lane = threadIdx.x;
  for (int i = lane; i < 256; i += 32) {
    index_a[i] = static_cast<unsigned short>(i);
    identity[i] = __float2bfloat16(i / 16 == i % 16 ? 1.0f : 0.0f);
  }
  for (int i = lane; i < 128; i += 32) {
    index_b[i] = static_cast<unsigned short>(i);
    values[i] = __float2bfloat16(static_cast<float>(i));  // up to 256, bf16 holds whole numbers
  }
  __syncthreads();
  unsigned a[4], b[4], ones[4], factors[4];
  const int row = lane % 16, half = lane / 16 * 8;
  lab::ldmatrix(a, index_a + row * 16 + half);
  lab::ldmatrix(ones, identity + row * 16 + half);
  lab::ldmatrix_trans(b, index_b + row * 8);
  lab::ldmatrix_trans(factors, values + row * 8);
  float d[4] = {};
  const unsigned two[2] = {factors[0], factors[1]};
  lab::mma(d, ones, two);
  for (int i = 0; i < 4; ++i) {
    a_of[lane * 4 + i] = a[i];
    c_of[lane * 4 + i] = d[i];
  }
  for (int i = 0; i < 2; ++i) b_of[lane * 2 + i] = b[i];
}

__global__ void scale_kernel(float* out, const float* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = 2.0f * x[i];
}
__global__ void add_kernel(float* out, const float* b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = out[i] + b[i];
}
__global__ void relu_kernel(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fmaxf(out[i], 0.0f);
}
__global__ void fused_kernel(float* out, const float* x, const float* b) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = fmaxf(2.0f * x[i] + b[i], 0.0f);
}

// y = s g with s = sigmoid(x), and the gradients of x and g, from s if it is stored, otherwise from x.
__device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__global__ void gate_forward_kernel(float* y, float* stored, const float* x, const float* g) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float s = sigmoid(x[i]);
  if (stored != nullptr) stored[i] = s;
  y[i] = s * g[i];
}
__global__ void gate_backward_kernel(float* d_x, float* d_g, const float* x, const float* g, const float* stored,
                                     const float* d_y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float s = stored != nullptr ? stored[i] : sigmoid(x[i]), d = d_y[i];
  d_g[i] = d * s;
  d_x[i] = d * g[i] * s * (1.0f - s);
}

std::vector<launch_bytes> bytes_of(const std::function<void()>& call) {
  const lab::profiler::result r = lab::profiler({}).collect(call);
  std::vector<launch_bytes> launches;
  for (const auto& l : r.launches)
    launches.push_back({l.metrics.at("smsp__sass_data_bytes_mem_global_op_ld.sum"),
                        l.metrics.at("smsp__sass_data_bytes_mem_global_op_st.sum")});
  return launches;
}

template <class T>
std::vector<T> on_host(const lab::device_buffer<T>& from) {
  std::vector<T> to(from.size());
  LAB_CUDA_CHECK(cudaMemcpy(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToHost));
  return to;
}

int counted(const std::string& metric, const std::function<void()>& launch) {
  const lab::profiler::result r = lab::profiler({}).collect(launch);
  if (!r.reports.empty()) throw std::runtime_error("the simulated device reports: " + r.reports[0]);
  return static_cast<int>(r.metrics.at(metric));
}

template <class T>
int sectors_of(const warp_offsets& offsets) {
  lab::device_buffer<char> in(most_bytes);
  lab::device_buffer<T> out(32);
  return counted("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
                 [&] { load_kernel<<<1, 32>>>(out.data(), in.data(), offsets); });
}

template <class T>
int wavefronts_of(const warp_offsets& offsets) {
  lab::device_buffer<T> out(32);
  return counted("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                 [&] { shared_load_kernel<<<1, 32>>>(out.data(), offsets); });
}

}  // namespace

int counted_sectors(const warp_offsets& offsets, int bytes) {
  switch (bytes) {
    case 2: return sectors_of<unsigned short>(offsets);
    case 4: return sectors_of<float>(offsets);
    case 8: return sectors_of<float2>(offsets);
    default: return sectors_of<float4>(offsets);
  }
}

int counted_wavefronts(const warp_offsets& offsets, int bytes) {
  switch (bytes) {
    case 4: return wavefronts_of<float>(offsets);
    case 8: return wavefronts_of<float2>(offsets);
    default: return wavefronts_of<float4>(offsets);
  }
}

int counted_matrix_wavefronts(const warp_offsets& offsets) {
  lab::device_buffer<unsigned> out(32);
  return counted("smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm.sum",
                 [&] { matrix_load_kernel<<<1, 32>>>(out.data(), offsets); });
}

fragments found_fragments() {
  lab::device_buffer<unsigned> a(32 * 4), b(32 * 2);
  lab::device_buffer<float> c(32 * 4);
  fragments_kernel<<<1, 32>>>(a.data(), b.data(), c.data());
  LAB_CUDA_CHECK(cudaDeviceSynchronize());
  const auto a_of = on_host(a), b_of = on_host(b);
  const auto c_of = on_host(c);
  fragments f{};
  const auto from = [](unsigned index, int columns) {
    return element{static_cast<int>(index) / columns, static_cast<int>(index) % columns};
  };
  for (std::size_t lane = 0; lane < 32; ++lane)
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t half = 0; half < 2; ++half)
        f.a[lane][2 * i + half] = from(a_of[lane * 4 + i] >> 16 * half & 0xffff, 16);
      f.b[lane][i] = from(b_of[lane * 2 + i / 2] >> 16 * (i % 2) & 0xffff, 8);
      f.c[lane][i] = from(static_cast<unsigned>(c_of[lane * 4 + i]), 8);
    }
  return f;
}

std::vector<launch_bytes> counted_gelu_unfused(int n) {
  lab::device_buffer<float> in(static_cast<std::size_t>(n)), out(static_cast<std::size_t>(n));
  LAB_CUDA_CHECK(cudaMemset(in.data(), 0, in.bytes()));
  return bytes_of([&] { lab04::gelu_unfused(out.data(), in.data(), n, nullptr); });
}

std::vector<launch_bytes> counted_chain(int n, bool fused) {
  const auto size = static_cast<std::size_t>(n);
  lab::device_buffer<float> x(size), b(size), out(size);
  for (auto* array : {&x, &b}) LAB_CUDA_CHECK(cudaMemset(array->data(), 0, array->bytes()));
  return bytes_of([&] {
    if (fused) {
      fused_kernel<<<n / 256, 256>>>(out.data(), x.data(), b.data());
      return;
    }
    scale_kernel<<<n / 256, 256>>>(out.data(), x.data());
    add_kernel<<<n / 256, 256>>>(out.data(), b.data());
    relu_kernel<<<n / 256, 256>>>(out.data());
  });
}

std::vector<launch_bytes> counted_gate(int n, bool stored) {
  const auto size = static_cast<std::size_t>(n);
  lab::device_buffer<float> x(size), g(size), s(size), y(size), d_y(size), d_x(size), d_g(size);
  for (auto* array : {&x, &g, &d_y}) LAB_CUDA_CHECK(cudaMemset(array->data(), 0, array->bytes()));
  float* between = stored ? s.data() : nullptr;
  return bytes_of([&] {
    gate_forward_kernel<<<n / 256, 256>>>(y.data(), between, x.data(), g.data());
    gate_backward_kernel<<<n / 256, 256>>>(d_x.data(), d_g.data(), x.data(), g.data(), between, d_y.data());
  });
}

std::vector<int> touched_sectors(const warp_offsets& offsets, int bytes) {
  std::set<int> touched;
  for (const int offset : offsets)
    for (int s = offset / sector_bytes; s <= (offset + bytes - 1) / sector_bytes; ++s) touched.insert(s);
  if (static_cast<int>(touched.size()) != counted_sectors(offsets, bytes))
    throw std::runtime_error("a drawing would not show the sectors that the simulated device counts");
  return {touched.begin(), touched.end()};
}

}  // namespace drawings
