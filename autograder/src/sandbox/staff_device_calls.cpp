// The calls of the staff's own runner on a GPU: the ceilings of the device part, called like a student's function.
#include <cublas_v2.h>

#include <lab/call.hpp>
#include <lab/device.hpp>
#include <lab/product.hpp>
#include <stdexcept>
#include <string>

namespace {

/// The cost of a call that does nothing.
void nothing(const lab::call&) {}

/// One input and one output; the parameter is their size in bytes.
void copy(const lab::call& c) {
  LAB_CUDA_CHECK(cudaMemcpyAsync(c.output<std::byte>(0), c.input<std::byte>(0),
                                 static_cast<std::size_t>(c.parameters.at(0)), cudaMemcpyDeviceToDevice, c.stream));
}

/// Inputs A (m, k) and B (k, n), one output; parameters m, n, k.
void product(const lab::call& c, lab::dtype type) {
  static cublasHandle_t handle = nullptr;  // creating one takes longer than a product
  const auto expect = [](cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error("cuBLAS error " + std::to_string(status));
  };
  if (!handle) expect(cublasCreate(&handle));
  // Each request has its own stream, for which cuBLAS would allocate again.
  static const lab::device_buffer<std::byte> workspace(std::size_t{32} << 20, 0);
  expect(cublasSetStream(handle, c.stream));
  expect(cublasSetWorkspace(handle, workspace.data(), workspace.bytes()));
  expect(lab::row_major_product(handle, type, c.parameter(0), c.parameter(1), c.parameter(2), c.input<void>(0),
                                c.input<void>(1), c.output<void>(0)));
}

constexpr lab::entry table[] = {
    {"nothing", lab::part::device, nothing},
    {"copy", lab::part::device, copy},
    {"cublas", lab::part::device, [](const lab::call& c) { product(c, lab::dtype::f32); }},
    {"cublas_aligned", lab::part::device, [](const lab::call& c) { product(c, lab::dtype::bf16); }}};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
