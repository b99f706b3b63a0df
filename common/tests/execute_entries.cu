// Calls that a runner must survive: one is correct, each of the others wrong in its own way. All copy n floats.
#include <lab/call.hpp>
#include <lab/device.hpp>

#include <cfenv>
#include <cstdlib>
#include <stdexcept>
#include <utility>

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
void launch_nothing(const lab::call&) {
  write_to_kernel<<<0, 1>>>(nullptr);
  if (cudaGetLastError() != cudaSuccess) throw lab::broken_contract("the contract wants this error");
}
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

lab::call in_stream(lab::call c, cudaStream_t stream) {
  c.stream = stream;
  return c;
}

void copy_in_default_stream(const lab::call& c) { copy(in_stream(c, nullptr)); }

void clear_in_default_stream(const lab::call& c) {
  cudaMemsetAsync(c.output<float>(0), 0, sizeof(float) * static_cast<std::size_t>(c.parameter(0)));
  copy(c);
}

/// Copies in its own stream; if `joined`, the caller's stream waits for it.
template <bool joined>
void copy_in_own_stream(const lab::call& c) {
  static cudaStream_t own = nullptr;
  static cudaEvent_t event = nullptr;
  if (!own) cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking), cudaEventCreate(&event);
  cudaEventRecord(event, c.stream);
  cudaStreamWaitEvent(own, event);
  copy(in_stream(c, own));
  cudaEventRecord(event, own);
  if (joined) cudaStreamWaitEvent(c.stream, event);
}

void copy_and_wait_for_device(const lab::call& c) {
  copy(c);
  cudaDeviceSynchronize();
}

void copy_and_wait_for_stream(const lab::call& c) {
  copy(c);
  cudaStreamSynchronize(c.stream);
}

void copy_and_poll_stream(const lab::call& c) {
  copy(c);
  while (cudaStreamQuery(c.stream) == cudaErrorNotReady) {
  }
}

/// A different event each time.
void copy_and_poll_events(const lab::call& c) {
  copy(c);
  for (bool done = false; !done;) {
    cudaEvent_t event = nullptr;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventRecord(event, c.stream);
    done = cudaEventQuery(event) == cudaSuccess;
    cudaEventDestroy(event);
  }
}

/// Queries once whether the last call's work is done, and once for its own.
void copy_and_ask_once(const lab::call& c) {
  static cudaEvent_t event = nullptr;
  if (!event) cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
  (void)cudaEventQuery(event);
  copy(c);
  cudaEventRecord(event, c.stream);
  (void)cudaEventQuery(event);
}

void copy_by_the_host(const lab::call& c) {
  cudaMemcpy(c.output<float>(0), c.input<float>(0), sizeof(float) * static_cast<std::size_t>(c.parameter(0)),
             cudaMemcpyDeviceToDevice);
}

void write_before(const lab::call& c) {
  copy(c);
  write_before_kernel<<<1, 1, 0, c.stream>>>(c.output<float>(0));
}

void launch_too_many_threads(const lab::call& c) {
  copy_kernel<<<1, 2048, 0, c.stream>>>(c.output<float>(0), c.input<float>(0), c.parameter(0), c.parameter(0));
}

void write_to_null_and_check(const lab::call& c) {
  write_to_kernel<<<1, 1, 0, c.stream>>>(nullptr);
  LAB_CUDA_CHECK(cudaGetLastError());
}
void write_to_null_and_exit(const lab::call& c) {
  write_to_kernel<<<1, 1, 0, c.stream>>>(nullptr);
  if (cudaStreamSynchronize(c.stream) != cudaSuccess) std::exit(EXIT_FAILURE);
}

void write_to_null(const lab::call& c) { write_to_kernel<<<1, 1, 0, c.stream>>>(nullptr); }

float* kept = nullptr;

void copy_and_keep_memory(const lab::call& c) {
  if (!kept) cudaMalloc(&kept, 256);
  copy(c);
}
void copy_and_leak(const lab::call& c) {
  void* lost = nullptr;
  cudaMalloc(&lost, 256);
  copy(c);
}

void copy_and_leave_a_stream(const lab::call& c) {
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  copy(c);
}

void copy_and_give_memory_back(const lab::call& c) {
  copy(c);
  cudaFree(std::exchange(kept, nullptr));
}

__device__ float shared_by_calls[1 << 16];

/// Copies by way of memory that all calls share.
void copy_by_static_memory(const lab::call& c) {
  const int n = c.parameter(0), blocks = (n - 1) / block_size + 1;
  float* between = nullptr;
  LAB_CUDA_CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&between), shared_by_calls));
  copy_kernel<<<blocks, block_size, 0, c.stream>>>(between, c.input<float>(0), n, n);
  copy_kernel<<<blocks, block_size, 0, c.stream>>>(c.output<float>(0), between, n, n);
}

int* volatile last_left = nullptr;

constexpr lab::entry table[] = {
    {"copy_and_keep_memory", lab::part::device, copy_and_keep_memory},
    {"copy_and_leak", lab::part::device, copy_and_leak},
    {"copy_and_leave_a_stream", lab::part::device, copy_and_leave_a_stream},
    {"round_down", lab::part::host, [](const lab::call&) { std::fesetround(FE_DOWNWARD); }},
    {"keep_for_later", lab::part::host,
     [](const lab::call&) {
       static const auto* kept = new int[100];
       (void)kept;
     }},
    {"renew_a_little_larger", lab::part::host,
     [](const lab::call&) {
       static int turn = 0;
       static char* kept = nullptr;
       delete[] kept;
       kept = new char[++turn < 4 ? 1000 : 1016];
     }},
    {"free_aligned_memory", lab::part::host, [](const lab::call&) { std::free(std::aligned_alloc(64, 256)); }},
    {"leave_memory", lab::part::host, [](const lab::call&) { last_left = new int[100]; }},
    {"copy_and_give_memory_back", lab::part::device, copy_and_give_memory_back},
    {"copy", lab::part::device, copy},
    {"copy_at_any_time", lab::part::device, copy, false, true},
    {"copy_by_static_memory", lab::part::device, copy_by_static_memory},
    {"copy_by_static_memory_at_any_time", lab::part::device, copy_by_static_memory, false, true},
    {"copy_one_less", lab::part::device, copy_one_less},
    {"copy_one_more", lab::part::device, copy_one_more},
    {"copy_in_default_stream", lab::part::device, copy_in_default_stream},
    {"clear_in_default_stream", lab::part::device, clear_in_default_stream},
    {"copy_in_own_stream", lab::part::device, copy_in_own_stream<false>},
    {"copy_in_joined_stream", lab::part::device, copy_in_own_stream<true>},
    {"copy_and_wait_for_device", lab::part::device, copy_and_wait_for_device},
    {"copy_and_wait_for_stream", lab::part::device, copy_and_wait_for_stream},
    {"copy_and_poll_stream", lab::part::device, copy_and_poll_stream},
    {"copy_and_poll_events", lab::part::device, copy_and_poll_events},
    {"copy_and_ask_once", lab::part::device, copy_and_ask_once},
    {"copy_by_the_host", lab::part::device, copy_by_the_host},
    {"copy_at_first", lab::part::device, copy_at_first},
    {"multiply", lab::part::device, multiply},
    {"write_half", lab::part::device, write_half},
    {"do_nothing", lab::part::device, do_nothing},
    {"write_before", lab::part::device, write_before},
    {"write_to_null", lab::part::device, write_to_null},
    {"write_to_null_and_check", lab::part::device, write_to_null_and_check},
    {"write_to_null_and_exit", lab::part::device, write_to_null_and_exit},
    {"launch_too_many_threads", lab::part::device, launch_too_many_threads},
    {"throw_text", lab::part::device, throw_text},
    {"launch_nothing", lab::part::device, launch_nothing},
    {"throw_number", lab::part::host, throw_number},
};

}  // namespace

std::span<const lab::entry> lab::entries() { return table; }
