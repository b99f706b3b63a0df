// Calls that a runner must survive: one right, the others wrong each in its own way. All copy n floats.
#include <lab/call.hpp>

#include <stdexcept>

namespace {

constexpr int block_size = 256;

__global__ void copy_kernel(float* out,       // (n)
                            const float* in,  // (n)
                            int n, int last) {
  const int i = blockIdx.x * block_size + threadIdx.x;
  if (i < last) out[i] = in[i < n ? i : 0];
}

__global__ void write_before_kernel(float* out) { out[-1] = 1.0f; }

__global__ void write_to_kernel(float* out) { *out = 1.0f; }

void copy_up_to(const lab::call& c, int last) {
  const int blocks = (last - 1) / block_size + 1;
  copy_kernel<<<blocks, block_size, 0, c.stream>>>(c.output<float>(0), c.input<float>(0), c.parameter(0), last);
}

void copy(const lab::call& c) { copy_up_to(c, c.parameter(0)); }
void copy_one_less(const lab::call& c) { copy_up_to(c, c.parameter(0) - 1); }
void copy_one_more(const lab::call& c) { copy_up_to(c, c.parameter(0) + 1); }
void do_nothing(const lab::call&) {}
void throw_text(const lab::call&) { throw std::runtime_error("thrown on purpose"); }
void throw_number(const lab::call&) { throw 3; }

__global__ void multiply_kernel(float* out, const float* a, const float* b, int n, int k) {
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += a[blockIdx.x * k + i] * b[i * n + threadIdx.x];
  out[blockIdx.x * n + threadIdx.x] = sum;
}

void multiply(const lab::call& c) {
  multiply_kernel<<<c.parameter(0), c.parameter(1), 0, c.stream>>>(c.output<float>(0), c.input<float>(0),
                                                                   c.input<float>(1), c.parameter(1), c.parameter(2));
}

__global__ void half_kernel(unsigned short* out) { out[threadIdx.x] = 0x3F00; }  // 0.5 as a bfloat16

void write_half(const lab::call& c) {
  half_kernel<<<1, c.parameter(0) * c.parameter(1), 0, c.stream>>>(c.output<unsigned short>(0));
}

void copy_at_first(const lab::call& c) {
  static int calls = 0;
  if (++calls < 6) copy(c);
}

void write_before(const lab::call& c) {
  copy(c);
  write_before_kernel<<<1, 1, 0, c.stream>>>(c.output<float>(0));
}

void launch_too_many_threads(const lab::call& c) {
  copy_kernel<<<1, 2048, 0, c.stream>>>(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(0));
}

void write_to_null(const lab::call& c) { write_to_kernel<<<1, 1, 0, c.stream>>>(nullptr); }

constexpr lab::entry table[] = {
    {"copy", lab::part::device, copy},
    {"copy_one_less", lab::part::device, copy_one_less},
    {"copy_one_more", lab::part::device, copy_one_more},
    {"copy_at_first", lab::part::device, copy_at_first},
    {"multiply", lab::part::device, multiply},
    {"write_half", lab::part::device, write_half},
    {"do_nothing", lab::part::device, do_nothing},
    {"write_before", lab::part::device, write_before},
    {"write_to_null", lab::part::device, write_to_null},
    {"launch_too_many_threads", lab::part::device, launch_too_many_threads},
    {"throw_text", lab::part::device, throw_text},
    {"throw_number", lab::part::host, throw_number},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
